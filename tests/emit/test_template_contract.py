"""The documented blocks and variables are what the skeletons really have."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from jinja2 import meta, nodes

from quadrants.emit import dialects, environment, sample, template_errors
from quadrants.emit.records import Axis, EmittedFunction, EmittedTask, Local, Rows, TripCount
from quadrants.emit.render import Renderer

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "templates.md"
SKELETONS = {name: dialects.get(name).template for name in dialects.names()}


def parsed_text(name: str) -> str:
    env = environment.environment()
    return env.loader.get_source(env, name)[0]


def parsed(name: str):
    return environment.environment().parse(parsed_text(name))


def rows(heading: str) -> list[str]:
    """First cells of the table of the guide with this heading."""
    table = GUIDE.read_text().split(f"| {heading} |")[1].split("\n\n")[0]
    return re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)


@pytest.mark.parametrize("name", [*SKELETONS.values(), "_base/kernel.j2"])
def test_blocks(name):
    found = [block.name for block in parsed(name).find_all(nodes.Block)]
    assert set(found) <= {*template_errors.BLOCKS, *template_errors.INNER}
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
def test_every_inner_block_is_rendered_for_every_task(dialect, tmp_path):
    assert list(template_errors.INNER) == rows("inner block")
    target = tmp_path / SKELETONS[dialect]
    target.parent.mkdir(parents=True)
    marks = "".join(
        f"{{% block {b} %}}@begin {b} {{{{ task.name }}}}\n{{{{ super() }}}}@end {b}\n{{% endblock %}}\n"
        for b in template_errors.INNER
    )
    target.write_text(f'{{% extends "builtin/{SKELETONS[dialect]}" %}}\n{marks}')
    text = sample.rendered(dialect, tmp_path)
    for task in ("sample_0_serial", "sample_1_range_for", "sample_2_serial"):
        for block in ("task_head", "task_body", "reduction"):
            assert text.count(f"@begin {block} {task}\n") == 1
    (indices,) = re.findall(r"@begin indices sample_1_range_for\n(.*?)@end indices", text, re.DOTALL)
    assert re.search(r"^ *const int(32_t)? i = ", indices, re.MULTILINE)
    # Apart from the marks the text is as it was.
    assert [line for line in text.splitlines() if "@" not in line] == sample.rendered(dialect).splitlines()


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
    own |= {line.target for line in tree.find_all(nodes.Import)}
    assert meta.find_undeclared_variables(tree) - own <= set(template_errors.VARIABLES)


def test_attributes_are_the_documented_ones():
    guide = GUIDE.read_text()
    for record in (EmittedTask, EmittedFunction):
        for attribute in fields(record):
            assert f"`{attribute.name}`" in guide, attribute.name
    for name in (*Axis._fields, *Local._fields, *TripCount._fields, *(f.name for f in fields(Rows))):
        assert f"`{name}`" in guide, name
    renderer = Renderer(sample.module(), dialects.get("c"), {"debug": True})
    task = renderer.task(1)
    assert isinstance(task.loop[0], Axis)
    assert list(renderer.trip_counts()) == ["sample_1_range_for"]


def test_the_version_of_the_contract_is_the_documented_one():
    assert f"Version {template_errors.CONTRACT}\nof the contract" in GUIDE.read_text()
    assert f"(version {template_errors.CONTRACT} of this contract)" in parsed_text("_base/kernel.j2")
