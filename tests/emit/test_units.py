"""Long texts whose tasks several compilers make: how they are shared out, and what user's templates do to that."""

import pytest

from quadrants.emit import dialects, sample, units
from quadrants.emit.records import EmittedFunction, EmittedTask
from quadrants.emit.render import render

pytestmark = pytest.mark.cpu_only

C, CUDA = dialects.get("c"), dialects.get("cuda")


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
        ((9000,) * 30, C.most_units),
    ],
)
def test_long_texts_are_shared_out(sizes, count):
    made = tasks(*sizes)
    assert units.share_out(made, [], C) == count
    if count > 1:
        filled = [sum(len(t.lines[0]) for t in made if t.units == 1 << unit) for unit in range(count)]
        assert sum(filled) == sum(sizes) and min(filled) >= 0.6 * max(filled)


def test_small_functions_are_made_where_they_are_called():
    f, g = function("f", 300, "g"), function("g", 200)
    made = [task(0, 9000, "f"), task(1, 8800, "f")]
    assert units.share_out(made, [f, g], C) == 2
    assert {t.units for t in made} == {1, 2}
    assert f.units == g.units == 3 and not f.apart and not g.apart


def test_tasks_that_share_a_large_function_stay_together():
    f, g = function("f", 20_000), function("g", 20_000)
    made = [task(0, 100, "f"), task(1, 100, "g"), task(2, 100, "f"), task(3, 100, "g")]
    assert units.share_out(made, [f, g], C) == 2
    assert made[0].units == made[2].units == f.units != made[1].units == made[3].units == g.units
    assert not f.apart and not g.apart


def test_large_functions_stand_apart_where_one_task_calls_all():
    """As in a physics engine: one task, which calls everything else."""
    names = "abcdefgh"
    leaves = [function(name, 10_000 + k, "tiny") for k, name in enumerate(names)]
    near, far, tiny = function("near", 500, *"abcd"), function("far", 500, *"efgh"), function("tiny", 50)
    only = task(0, 1000, "near", "far")
    functions = [*leaves, near, far, tiny]
    assert units.share_out([only], functions, C) == C.most_units
    assert tiny.units == 2**C.most_units - 1 and not tiny.apart
    for f in leaves:
        assert f.units.bit_count() == 1
    assert sum(f.apart for f in leaves) >= C.most_units - 2
    for unit in range(C.most_units):
        assert 9000 < sum(len(x.lines[0]) for x in (only, *functions) if x.units >> unit & 1) < 15_000


def test_what_is_called_from_elsewhere_has_one_home():
    shared = function("shared", 30_000)
    made = [task(k, 30_000, "shared") for k in range(3)]
    count = units.share_out(made, [shared], C)
    assert count == 4 and shared.apart and shared.units.bit_count() == 1


def test_recursion_is_no_way_out():
    f, g = function("f", 20_000, "g"), function("g", 20_000, "f")
    only = task(0, 100, "f")
    count = units.share_out([only], [f, g], C)
    assert count == 2 and f.apart and g.apart and f.units != g.units


def test_code_that_is_not_linked_is_shared_by_whole_tasks():
    """The largest first and alone; no function apart."""
    big, f = function("big", 50_000), function("f", 9000)
    made = [task(0, 100, "f"), task(1, 100, "big"), task(2, 20_000), task(3, 100, "f"), task(4, 50)]
    count = units.share_out(made, [big, f], CUDA)
    assert made[1].units == 1 and made[2].units == 2
    assert not any(t.units & 1 for t in made if t is not made[1])
    assert sorted({t.units for t in made}) == [1 << k for k in range(count)] and count >= 3
    assert not big.apart and not f.apart
    assert units.share_out(tasks(9000), [], CUDA) == units.share_out(tasks(90_000), [], CUDA) == 1


def test_launches_know_the_unit_of_their_task(monkeypatch):
    monkeypatch.setattr(units, "FAIR", 20)
    made = rendered("cuda")
    assert made.units > 1 and {launch.unit for launch in made.launches} == set(range(made.units))
    for launch in made.launches:
        head = made.text.index(f"{launch.name}(")
        guard = made.text.rindex("QD_UNITS & ", 0, head)
        assert made.text[guard:].split()[2] == str(1 << launch.unit)
    monkeypatch.undo()
    assert rendered("cuda").units == 1 and all(launch.unit == 0 for launch in rendered("cuda").launches)


@pytest.fixture
def short(monkeypatch):
    """Texts need not be long."""
    monkeypatch.setattr(units, "share_out", lambda tasks, functions, dialect: min(2, dialect.most_units))
    # every task and function is of units 0: the guards stand in the text


def rendered(name, template_path=None):
    return render(sample.module(), dialects.get(name), {"debug": True}, template_path)


def test_only_a_text_that_is_shared_has_guards(short):
    assert rendered("c").units == 2 and "QD_UNITS" in rendered("c").text
    assert rendered("cuda").units == 2 and "QD_UNITS" in rendered("cuda").text
    assert rendered("hip").units == 1 and "QD_UNITS" not in rendered("hip").text


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
