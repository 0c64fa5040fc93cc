"""What the disk has of a kernel is all of its recipe."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest

from quadrants import banner
from quadrants.emit.launches import Launch
from quadrants.emit.regions import LaunchRegion
from quadrants.emit.stack_record import KeptDepths, StackPlan
from quadrants.fastcache import entry
from quadrants.ir.types import StructType, f32, i32, tensor_type, u1
from quadrants.runtime.recipe import Recipe, Slot

RECORDS = (Recipe, Slot, Launch, LaunchRegion, StackPlan, KeptDepths)
# Of the fields of one process, whose kernels are not kept.
APART = {Recipe: ["cells", "written_cells", "keep"], KeptDepths: ["cells"]}
CELL = StructType((("a", f32), ("b", tensor_type((2, 2), i32))), "Cell")


def distinct():
    """Every member of every record has a value that no other member has and that is no default."""
    number = itertools.count(1000)

    def fill(cls, **members):
        for f in dataclasses.fields(cls):
            if f.name not in members and f.name not in APART.get(cls, ()):
                members[f.name] = value(f)
        return cls(**members)

    def value(f):
        kind = f.type if isinstance(f.type, str) else f.type.__name__
        if kind == "bool":
            return not f.default
        if kind == "str":
            return f"{f.name} {next(number)}"
        if kind.startswith("tuple") or kind == "int | tuple | None":
            return next(number), (next(number), ("text", -1), ()), None, True, 0.5
        assert kind == "int", f"a member of a new kind: {f.name}: {kind}"
        return next(number)

    frames = [banner.Frame("a.py", 1, 2, 3, 4, "f"), banner.Frame("b.py", 5, 6, 7, 8, "g")]
    return fill(
        Recipe,
        slots=[fill(Slot, type=t) for t in (f32, tensor_type((3,), i32), CELL, None)],
        results=[(u1, 8), (CELL, 16)],
        sites=[(("text", (1, 2), None), frames, "kernel"), (("other",), [], "")],
        regions=(fill(LaunchRegion), fill(LaunchRegion)),
        launches=(fill(Launch), fill(Launch, count=None)),
        stacks=fill(StackPlan),
        kept=fill(KeptDepths),
    )


def again(recipe: Recipe) -> Recipe:
    return entry.decode(entry.Entry([], [], recipe, "key").encode()).recipe


pytestmark = pytest.mark.cpu_only


@pytest.mark.parametrize("cls", RECORDS)
def test_the_members_that_are_kept_are_those_of_the_record(cls):
    assert sorted(entry.members(cls) + APART.get(cls, [])) == sorted(f.name for f in dataclasses.fields(cls))


def test_every_record_in_a_recipe_is_one_of_these():
    found = set()

    def look(x):
        if dataclasses.is_dataclass(x):
            found.add(type(x))
            for f in dataclasses.fields(x):
                look(getattr(x, f.name))
        elif isinstance(x, (list, tuple)):
            for item in x:
                look(item)

    look(distinct())
    assert {cls for cls in found if cls.__module__ != "quadrants.ir.types"} == set(RECORDS)


def test_every_member_comes_back():
    recipe = distinct()
    assert again(recipe) == recipe
    assert again(Recipe("k", "e", 0)) == Recipe("k", "e", 0)


@pytest.mark.parametrize("cls, name", [(cls, name) for cls in RECORDS for name in entry.members(cls)])
def test_an_entry_that_lacks_a_member_is_none(cls, name):
    def without(x):
        if isinstance(x, dict):
            mine = sorted(x) == sorted(entry.members(cls))
            return {k: without(v) for k, v in x.items() if not (mine and k == name)}
        return [without(item) for item in x] if isinstance(x, list) else x

    whole = json.loads(entry.Entry([], [], distinct(), "key").encode())
    with pytest.raises(ValueError, match=f"not the members of a {cls.__name__}"):
        entry.decode(json.dumps(without(whole)).encode())


@pytest.mark.parametrize("name", APART[Recipe])
def test_what_belongs_to_one_process_is_refused(name):
    recipe = distinct()
    setattr(recipe, name, (object(),))
    with pytest.raises(ValueError, match=name):
        entry.Entry([], [], recipe, "key").encode()


def test_a_value_without_a_codec_is_refused():
    recipe = distinct()
    recipe.status = np.int32(4)
    with pytest.raises(TypeError, match="a codec of its own"):
        entry.Entry([], [], recipe, "key").encode()
