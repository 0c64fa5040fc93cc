"""`python -m quadrants templates`."""

from __future__ import annotations

import pytest

from quadrants import cli
from quadrants.emit import commands, dialects, environment, sample

pytestmark = pytest.mark.sampled


def run(capsys, *argv: str) -> tuple[int, str, str]:
    status = cli.main(["templates", *map(str, argv)])
    return status, *capsys.readouterr()


def test_list_names_every_template_and_what_is_in_force(capsys, tmp_path):
    status, out, _ = run(capsys, "list")
    assert status == 0 and all("built-in" in line for line in out.splitlines())
    listed = {line.split()[0] for line in out.splitlines()}
    assert {"c/task.c.j2", "cuda/task.cu.j2", "hip/task.hip.j2", "_base/kernel.j2"} <= listed
    run(capsys, "eject", "c/prelude/print.j2", tmp_path)
    _, out, _ = run(capsys, "list", "--path", tmp_path)
    assert [line.split() for line in out.splitlines() if "built-in" not in line] == [
        ["c/prelude/print.j2", str(tmp_path / "c/prelude/print.j2")]
    ]


def test_show_prints_what_is_in_force(capsys, tmp_path):
    builtin = (environment.builtin_folder() / "c/task.c.j2").read_text()
    assert run(capsys, "show", "c/task.c.j2") == (0, builtin, "")
    run(capsys, "eject", "c/task.c.j2", tmp_path)
    assert run(capsys, "show", "c/task.c.j2", "--path", tmp_path)[1] == (tmp_path / "c/task.c.j2").read_text()
    assert run(capsys, "show", "builtin/c/task.c.j2", "--path", tmp_path)[1] == builtin


@pytest.mark.parametrize("name", commands.names())
@pytest.mark.parametrize("whole", [False, True])
def test_what_is_ejected_changes_nothing_and_has_no_problem(capsys, tmp_path, name, whole):
    assert run(capsys, "eject", name, tmp_path, *["--whole"] * whole)[0] == 0
    status, out, _ = run(capsys, "check", tmp_path)
    assert (status, out) == (0, "1 template, no problems\n")
    for dialect in dialects.names():
        assert sample.rendered(dialect, tmp_path).split() == sample.rendered(dialect).split()


def test_eject_replaces_only_when_told(capsys, tmp_path):
    assert run(capsys, "eject", "c/task.c.j2", tmp_path)[0] == 0
    (tmp_path / "c/task.c.j2").write_text("mine")
    status, _, err = run(capsys, "eject", "c/task.c.j2", tmp_path)
    assert status == 2 and "--force" in err and (tmp_path / "c/task.c.j2").read_text() == "mine"
    assert run(capsys, "eject", "c/task.c.j2", tmp_path, "--force")[0] == 0
    assert (tmp_path / "c/task.c.j2").read_text() != "mine"


@pytest.mark.parametrize("action", [["show", "c/none.j2"], ["eject", "c/none.j2", "folder"], ["check", "no/folder"]])
def test_names_and_folders_that_do_not_exist(capsys, action):
    status, _, err = run(capsys, *action)
    assert status == 2 and "there is no" in err


EXTENDS = '{% extends "builtin/c/task.c.j2" %}\n'


@pytest.mark.parametrize(
    "name, text, line, message",
    [
        ("c/task.c.j2", EXTENDS + "{% block haeder %}{% endblock %}", 2, "unknown block 'haeder'"),
        ("c/task.c.j2", EXTENDS + "{% block header %}\n{{ name }}{% endblock %}", 3, "unknown variable 'name'"),
        ("c/task.c.j2", EXTENDS + "{% block header %}{{ tasks[0].nam }}{% endblock %}", 2, "no attribute 'nam'"),
        ("c/task.c.j2", EXTENDS + "{% block header %}{% for %}{% endblock %}", 2, "Expected"),
        ("c/task.c.j2", '{% extends "built-in/c/task.c.j2" %}', 1, "no template 'built-in/c/task.c.j2'"),
        ("c/task.j2", EXTENDS, 1, "nothing looks for a template named 'c/task.j2'"),
        ("c/prelude/print.j2", "\n{% macro declar(name) %}{% endmacro %}", 2, "no helper is made by a macro 'declar'"),
        ("c/prelude/print.j2", "{% macro declare(name) %}{{ dtype }}{% endmacro %}", 1, "unknown variable 'dtype'"),
        (
            "c/prelude/print.j2",
            "{% macro declare(name, extra) %}{{ extra }}{% endmacro %}",
            1,
            "'extra' was not provided",
        ),
        ("c/task.c.j2", '{% extends "c/task.c.j2" %}', 1, "extends itself; write {% extends 'builtin/c/task.c.j2' %}"),
        ("c/prelude/random.j2", "{% macro mix(name) %}{{ c.d.e }}{% endmacro %}", 1, "has no attribute 'd'"),
    ],
)
def test_check_finds(capsys, tmp_path, name, text, line, message):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    status, out, _ = run(capsys, "check", tmp_path)
    assert status == 1
    assert out.startswith(f"{path}:{line}: ") and message in out.splitlines()[0]
    assert out.endswith("1 template, 1 problem\n")


def test_check_finds_a_text_without_tasks(capsys, tmp_path):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "task.c.j2").write_text("nothing at all")
    status, out, _ = run(capsys, "check", tmp_path)
    assert status == 1 and out.startswith(f"{tmp_path}/c: a text without tasks")


def test_check_allows_macros_of_the_extended_template_and_own_files(capsys, tmp_path):
    (tmp_path / "cuda").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "note.j2").write_text("// {{ kernel }}\n")
    (tmp_path / "cuda" / "task.cu.j2").write_text(
        '{% extends "builtin/cuda/task.cu.j2" %}\n'
        '{% block entry %}{% include "mine/note.j2" %}{{ index_type(tasks[1]) }} x;\n{% endblock %}'
    )
    status, out, _ = run(capsys, "check", tmp_path)
    assert status == 0, out
    assert sample.rendered("cuda", tmp_path).endswith("// sample\nuint64_t x;\n")
