"""What the disk has of a kernel is all of its recipe."""

from __future__ import annotations

import dataclasses
import itertools
import json
import types
import typing

import numpy as np
import pytest

from quadrants import banner
from quadrants.fastcache import entry
from quadrants.ir.types import StructType, ValueType, f32, i32, tensor_type, u1
from quadrants.launch import codec
from quadrants.launch.adstack_plan import ArgumentPart, ComputedDepth, KeptDepths, Sizing, StackPlan
from quadrants.launch.recipe import Recipe, Result, Site, Slot
from quadrants.launch.tasks import GatePlaces, HeapStack, LaunchRegion, Program, TaskLaunch

RECORDS = (Recipe, Slot, TaskLaunch, LaunchRegion, StackPlan, KeptDepths)
PARTS = (Result, Site, HeapStack, GatePlaces, ComputedDepth, Sizing, ArgumentPart, banner.Frame)
# Of the fields of one process, whose kernels are not kept.
APART = {Recipe: ["cells", "written_cells", "keep", "pools"], KeptDepths: ["cells"]}
CELL = StructType((("a", f32), ("b", tensor_type((2, 2), i32))), "Cell")
_number = itertools.count(1000)


def value(kind, default=None):
    """A value of an annotated type that no other member has and that is no default."""
    if kind is bool:
        return not default
    if kind is str:
        return f"text {next(_number)}"
    if kind == ValueType or kind == ValueType | None:
        return tensor_type((next(_number),), f32)
    if dataclasses.is_dataclass(kind):
        return fill(kind)
    if hasattr(kind, "_fields"):
        return kind(*[value(hint) for hint in typing.get_type_hints(kind).values()])
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (list, tuple) and (origin is list or parts[1:] == (...,)):
        return origin(value(parts[0]) for _ in range(2))
    if origin in (types.UnionType, typing.Union):
        return value(Program if Program in parts else parts[0])
    if kind in (tuple, typing.Any) or origin is tuple:
        return next(_number), (next(_number), ("text", -1), ()), None, True, 0.5
    assert kind is int, kind
    return next(_number)


def fill(cls, **members):
    hints = typing.get_type_hints(cls)
    for f in dataclasses.fields(cls):
        if f.name not in members and f.name not in APART.get(cls, ()):
            members[f.name] = value(hints[f.name], f.default)
    return cls(**members)


def distinct():
    """Every member of every record has a value that no other member has and that is no default."""
    types_of_values = (f32, tensor_type((3,), i32), CELL, None)
    return fill(
        Recipe,
        slots=[fill(Slot, type=t) for t in types_of_values],
        results=[Result(u1, 8), Result(CELL, 16)],
        launches=(fill(TaskLaunch), fill(TaskLaunch, count=None, gate=None), fill(TaskLaunch, count=7)),
    )


def again(recipe: Recipe) -> Recipe:
    return entry.decode(entry.Entry([], [], recipe, "key").encode()).recipe


pytestmark = pytest.mark.cpu_only


@pytest.mark.parametrize("cls", RECORDS)
def test_the_members_that_are_kept_are_those_of_the_record(cls):
    assert sorted(codec.members(cls) + APART.get(cls, [])) == sorted(f.name for f in dataclasses.fields(cls))


def test_every_record_in_a_recipe_is_one_of_these():
    found = set()

    def look(x):
        if dataclasses.is_dataclass(x):
            found.add(type(x))
            for f in dataclasses.fields(x):
                look(getattr(x, f.name))
        elif isinstance(x, (list, tuple)):
            if hasattr(x, "_fields"):
                found.add(type(x))
            for item in x:
                look(item)

    look(distinct())
    assert {cls for cls in found if cls.__module__ != "quadrants.ir.types"} == {*RECORDS, *PARTS}


def kinds(x):
    """The types of a value and of all that it is made of."""
    if dataclasses.is_dataclass(x):
        return type(x), [kinds(getattr(x, f.name)) for f in dataclasses.fields(x)]
    return (type(x), [kinds(item) for item in x]) if isinstance(x, (list, tuple)) else type(x)


def test_every_member_comes_back():
    recipe = distinct()
    found = again(recipe)
    assert found == recipe
    assert kinds(found) == kinds(recipe)
    assert again(Recipe("k", "e", 0)) == Recipe("k", "e", 0)


@pytest.mark.parametrize("cls, name", [(cls, name) for cls in RECORDS for name in codec.members(cls)])
def test_an_entry_that_lacks_a_member_is_none(cls, name):
    def without(x):
        if isinstance(x, dict):
            mine = sorted(x) == sorted(codec.members(cls))
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
    with pytest.raises(TypeError, match="no plain value"):
        entry.Entry([], [], recipe, "key").encode()
