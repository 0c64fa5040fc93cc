"""The documented blocks and variables are what the skeletons really have."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from jinja2 import meta, nodes

from quadrants.emit import dialects, environment, sample, template_errors
from quadrants.emit.render import Piece, Renderer

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "templates.md"
SKELETONS = {name: dialects.get(name).template for name in dialects.names()}


def parsed(name: str):
    env = environment.environment()
    return env.parse(env.loader.get_source(env, name)[0])


def rows(heading: str) -> list[str]:
    """First cells of the table of the guide with this heading."""
    table = GUIDE.read_text().split(f"| {heading} |")[1].split("\n\n")[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


@pytest.mark.parametrize("name", [*SKELETONS.values(), "_base/kernel.j2"])
def test_blocks(name):
    found = [block.name for block in parsed(name).find_all(nodes.Block)]
    assert set(found) <= set(template_errors.BLOCKS)
    if name == "_base/kernel.j2":
        assert found == list(template_errors.BLOCKS) == rows("block")


@pytest.mark.parametrize("dialect", SKELETONS)
def test_every_block_of_a_skeleton_has_its_text(dialect, tmp_path):
    target = tmp_path / SKELETONS[dialect]
    target.parent.mkdir(parents=True)
    marks = "".join(
        f"{{% block {b} %}}@begin {b}\n{{{{ super() }}}}@end {b}\n{{% endblock %}}\n" for b in template_errors.BLOCKS
    )
    target.write_text(f'{{% extends "builtin/{SKELETONS[dialect]}" %}}\n{marks}')
    text = sample.rendered(dialect, tmp_path)
    order = re.findall(r"@begin (\w+)\n(.*?)@end \1", text, re.DOTALL)
    assert [block for block, _ in order] == list(template_errors.BLOCKS)
    assert all(body.strip() for _, body in order)


@pytest.mark.parametrize("dialect", SKELETONS)
def test_variables_are_the_documented_ones(dialect, tmp_path):
    assert rows("variable") == list(template_errors.VARIABLES)
    target = tmp_path / SKELETONS[dialect]
    target.parent.mkdir(parents=True)
    # Every documented variable exists, and the skeleton uses no other.
    uses = "".join(f"{{% set _ = {name} %}}" for name in template_errors.VARIABLES)
    target.write_text(f'{{% extends "builtin/{SKELETONS[dialect]}" %}}{{% block header %}}{uses}{{% endblock %}}')
    assert sample.rendered(dialect, tmp_path)
    tree = parsed(SKELETONS[dialect])
    own = {macro.name for macro in tree.find_all(nodes.Macro)}
    own |= {name.name for name in tree.find_all(nodes.Name) if name.ctx == "store"}
    own |= {name for line in tree.find_all(nodes.FromImport) for name in line.names}
    assert meta.find_undeclared_variables(tree) - own <= set(template_errors.VARIABLES)


def test_attributes_are_the_documented_ones():
    guide = GUIDE.read_text()
    for attribute in fields(Piece):
        assert f"`{attribute.name}`" in guide, attribute.name
    renderer = Renderer(sample.module(), dialects.get("c"), {"debug": True})
    task = renderer.task(renderer.module.tasks[1], 1)
    assert {"name", "begin", "extent", "constant"} <= set(task.loop[0])
    launch = renderer.launch_lines([task, task, task])
    assert all(set(entry) == {"extents", "locals", "constant"} for entry in launch.values())
