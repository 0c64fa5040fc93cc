"""Long texts whose tasks several compilers make: how they are shared out, and what user's templates do to that."""

import pytest

from quadrants.emit import dialects, sample, units
from quadrants.emit.records import EmittedFunction, EmittedTask
from quadrants.emit.render import render

pytestmark = pytest.mark.cpu_only


def task(number: int, size: int, *calls: str) -> EmittedTask:
    return EmittedTask(f"t{number}", "serial", [], ["x" * size], number=number, calls=frozenset(calls))


def tasks(*sizes: int) -> list[EmittedTask]:
    return [task(number, size) for number, size in enumerate(sizes)]


def function(name: str, size: int, *calls: str) -> EmittedFunction:
    return EmittedFunction(name, "", [], [], ["x" * size], calls=frozenset(calls))


@pytest.mark.parametrize(
    "sizes,count",
    [
        ((), 1),
        ((90_000,), 1),
        ((3000, 3000), 1),  # too short
        ((9000, 9000), 2),
        ((9000, 1000, 8000), 2),
        ((40_000, 5000, 5000), 1),  # one task has most of it
        ((9000,) * 30, units.MOST),
    ],
)
def test_long_texts_are_shared_out(sizes, count):
    made = tasks(*sizes)
    assert units.share_out(made, []) == count
    filled = [sum(len(t.lines[0]) for t in made if t.unit == unit) for unit in range(count)]
    assert sum(filled) == sum(sizes)
    if count > 1:
        assert min(filled) >= 0.6 * max(filled)


def test_a_function_is_work_for_every_unit_that_comes_to_it():
    functions = [function("f", 20_000, "g"), function("g", 20_000, "g")]
    assert units.share_out([task(0, 4000, "f"), task(1, 4000, "f")], functions) == 1  # twice the same
    assert units.share_out([task(0, 4000, "f"), task(1, 30_000)], functions) == 2
    assert units.share_out([task(0, 4000, "g"), task(1, 100, "g"), task(2, 20_000)], functions) == 2


def test_tasks_that_share_a_function_stay_together():
    functions = [function("f", 20_000), function("g", 20_000)]
    made = [task(0, 100, "f"), task(1, 100, "g"), task(2, 100, "f"), task(3, 100, "g")]
    assert units.share_out(made, functions) == 2
    assert made[0].unit == made[2].unit != made[1].unit == made[3].unit


@pytest.fixture
def short(monkeypatch):
    """Texts need not be long."""
    monkeypatch.setattr(units, "share_out", lambda tasks, functions: 2)


def rendered(name, template_path=None):
    return render(sample.module(), dialects.get(name), {"debug": True}, template_path)


def test_only_a_text_that_is_shared_has_guards(short):
    assert rendered("c").units == 2 and "QD_UNITS" in rendered("c").text
    assert rendered("cuda").units == 1 and "QD_UNITS" not in rendered("cuda").text


@pytest.mark.parametrize(
    "block,text",
    [
        ("entry", "{{ super() | replace('#if', '//') | replace('#endif', '//') }}"),
        ("tasks", "{{ super() | replace('#if', '//') | replace('#endif', '//') }}"),
    ],
)
def test_a_template_without_guards_is_for_one_compiler(short, tmp_path, block, text):
    (tmp_path / "c").mkdir()
    override = f'{{% extends "builtin/c/task.c.j2" %}}{{% block {block} %}}{text}{{% endblock %}}'
    (tmp_path / "c" / "task.c.j2").write_text(override)
    made = rendered("c", [str(tmp_path)])
    assert "QD_UNITS" in made.text and made.units == 1
