"""From what the frontend bound to a Plan of the launch core: packing, results, failure messages."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from quadrants import session
from quadrants._ext.core import KeptDepths, Plan
from quadrants.calls import registry
from quadrants.calls.tokens import member_token
from quadrants.data import external
from quadrants.data.sparse.pools import PoolMemory
from quadrants.ir.types import DType, TensorType, ValueType, element_dtype, primitive, struct_offsets
from quadrants.lang.annotations import tuple_items
from quadrants.lang.graphs import GraphStatus
from quadrants.lang.kinds import holds_numbers, is_external, is_number, unwrapped
from quadrants.launch.recipe import Recipe, Result, Slot
from quadrants.profiler import kernel_records
from quadrants.runtime import failures, sparse_pools, task_table
from quadrants.runtime.foreign import external_packer, flags_packer

if TYPE_CHECKING:
    from quadrants._ext.core import DeviceProgram
    from quadrants.runtime.interface import Kernel, Reader

Source = tuple[int, tuple[str, ...]]  # a parameter, and the names of the attributes on the way
Member = tuple[int, tuple[str, ...], int]  # the same, and the token of what is there


def make_plan(
    kernel: Kernel, args: tuple[Any, ...], recipe: Recipe, entry: int, keepalive: Any,
    program: DeviceProgram | None = None,
) -> Plan:  # fmt: skip
    """Describe one specialisation to the launch core: a function at `entry`, or the tasks of a device's `program`."""
    if program is not None:
        recipe = _behind_the_block(recipe, program)
    block = bytearray(recipe.size)
    owners: list[Any] = [keepalive]
    for offset in recipe.kept.places if recipe.kept is not None else ():
        struct.pack_into("=q", block, offset, -1)
    for offset, cell in recipe.cells:
        struct.pack_into("=Q", block, offset, cell.tree.buffer.ptr + cell.offset)
        grows = program is not None and isinstance(cell.tree, PoolMemory)
        owners.append(cell.tree if grows else cell.tree.buffer)
    members, pack, sources = _members_and_packing(kernel, args, recipe)
    task_table.register(recipe.name, recipe.task_ids)
    kernel.graph_do_while_levels = _levels(kernel, recipe)
    sites = [failures.of_site(site) for site in recipe.sites]
    return Plan(
        entry, bytes(block), members, pack, _reader(kernel, recipe), sites, (owners, recipe.keep), recipe.name,
        device=program, brief=recipe.brief, reach=external.reach(), tasks=len(recipe.tasks),
        status=(recipe.status, recipe.labels) if recipe.status >= 0 else None,
        writes=(_written_integers(recipe, sources), [cell.writes for cell in recipe.written_cells]),
        kept=_kept(recipe, sources), attributes=_attributes(recipe, args, members),
        reals=_reals(kernel, recipe),
        before=sparse_pools.before_launch(recipe) if recipe.pools and program is not None else None,
    )  # fmt: skip


def _reals(kernel: Kernel, recipe: Recipe) -> list[Source]:
    """Members that are real numbers because they were when the kernel was compiled, and not as a dataclass says."""
    found = [s for s in recipe.slots if s.path and isinstance(s.type, DType) and s.kind == "scalar" and s.type.is_real]
    return [(s.param, s.path) for s in found if not dataclasses.is_dataclass(kernel.parameters[s.param][1])]


def _attributes(recipe: Recipe, args: tuple[Any, ...], members: list[Member]) -> list[tuple[Any, ...]]:
    """What was read off objects, with the numbers that are constants of the code now."""
    passed = {(param, path) for param, path, _ in members}
    found = [((param, path), _resolve(args[param], path)) for param, path in recipe.attributes]
    return [(*place, None if place in passed else _constant(x)) for place, x in found]


def _constant(x: Any) -> Any:
    """A copy of a number, or of an array or a container of numbers, which may be changed in place; None for anything
    else."""
    numbers = holds_numbers(x) if type(x) in (list, tuple, dict) else is_number(x) or type(x) is np.ndarray
    return copy.deepcopy(x) if numbers else None


def _written_integers(recipe: Recipe, sources: list[int]) -> list[int]:
    """Where the integers come from that the kernel may write. Views do not say what they are of."""
    slots = [(k, recipe.slots[k].type) for k in recipe.written]
    return [sources[k] for k, t in slots if t is None or element_dtype(t).is_integral]


def _kept(recipe: Recipe, sources: list[int]) -> KeptDepths | None:
    kept = recipe.kept
    if kept is None:
        return None
    return KeptDepths(kept.places, kept.values, [sources[k] for k in kept.slots], [cell.writes for cell in kept.cells])


@dataclasses.dataclass(slots=True, frozen=True)
class LoopLevel:
    """A `qd.graph.do_while` loop: its flag, as `flag` or `self.flag`, and the index of the loop around it, or -1."""

    cond_arg_name: str
    parent_id: int


def _levels(kernel: Kernel, recipe: Recipe) -> list[LoopLevel]:
    """The loops of a kernel, outer ones before inner ones."""
    number: dict[int, int] = {-1: -1}
    levels: list[LoopLevel] = []
    for k, region in enumerate(recipe.regions):
        outer = number[region.parent]
        number[k] = outer
        if region.kind == "loop":
            number[k] = len(levels)
            param, path = region.source
            levels.append(LoopLevel(".".join((kernel.parameters[param][0], *path)), outer))
    return levels


def _behind_the_block(recipe: Recipe, program: DeviceProgram) -> Recipe:
    """What a launch reads back from the device lies behind the arguments: start of the frame, times, checkpoints."""
    size = recipe.size + program.tail_bytes
    checkpoints = 8 if any(r.kind == "checkpoint" for r in recipe.regions) else 0
    return dataclasses.replace(
        recipe,
        size=size,
        results=[Result(t, recipe.size + offset) for t, offset in recipe.results],
        times=recipe.size + recipe.prefix if program.tail_bytes - checkpoints > recipe.prefix else -1,
        status=size - checkpoints if checkpoints else -1,
    )


def _members_and_packing(
    kernel: Kernel, args: tuple[Any, ...], recipe: Recipe
) -> tuple[list[Member], list[tuple[Any, ...]], list[int]]:
    members: list[Member] = []
    pack: list[tuple[Any, ...]] = []
    sources: list[int] = []
    index_of: dict[Source, int] = {}
    count = len(kernel.parameters)
    for number, slot in enumerate(recipe.slots):
        source, place = slot.param, (slot.param, slot.path)
        if slot.path:
            if place not in index_of:
                index_of[place] = len(members)
                members.append((*place, _member_token(args[slot.param], slot.path, slot.kind)))
            source = count + index_of[place]
        sources.append(source)
        if slot.offset < 0:
            continue
        name = ".".join((kernel.parameters[slot.param][0], *slot.path))
        if slot.kind in ("array", "grad", "flags", "view"):
            foreign = is_external(_resolve(args[slot.param], slot.path))
            pack.append(_pack_array(slot, source, name, number in recipe.written, foreign))
        elif slot.kind == "scalar":
            assert isinstance(slot.type, DType)
            pack.append((slot.type.name, source, slot.offset, None))
        else:
            pack.append(("call", source, slot.offset, registry.with_slot(slot.kind).packer(slot.type, name)))
    return members + _told_apart(kernel, args, index_of), pack, sources


def _pack_array(slot: Slot, source: int, name: str, written: bool, foreign: bool) -> tuple[Any, ...]:
    """How memory goes into the block: that of an array, of its gradient, of its flags, or what a view is of."""
    shape = slot.type.shape if isinstance(slot.type, TensorType) else None
    if slot.kind == "view":
        return ("view", source, slot.offset, (slot.shape, *slot.window))
    if slot.kind == "grad":
        return ("call", source, slot.offset, external_packer(name, slot.shape, slot.ndim, shape, True))
    if slot.kind == "flags":
        return ("call", source, slot.offset, flags_packer(name, slot.shape, slot.ndim))
    # The token of a member says nothing about the extents of its elements: Python compares them at each launch.
    element = shape if slot.path else None
    python = external_packer(name, slot.shape, slot.ndim, element, written=written) if foreign else None
    if element and python:
        return ("call", source, slot.offset, python)
    return ("array", source, slot.offset, (slot.shape, -1, slot.ndim, python))


def _told_apart(kernel: Kernel, args: tuple[Any, ...], known: dict[Source, int]) -> list[Member]:
    """Members that this specialisation does not read and earlier ones select by: it must not pass for them.

    An attribute that was an array is a field now, which is part of the code; the next launch may find an array again.
    """
    found: dict[Source, int] = {}
    for plan in kernel._plans:
        for param, path, token in plan.members:
            if token and (param, path) not in known and (param, path) not in found:
                with contextlib.suppress(AttributeError):  # there is none now, and one will be another case
                    found[param, path] = _member_token(args[param], path, "token")
    return [(*place, token) for place, token in found.items()]


def _member_token(obj: Any, path: tuple[str, ...], kind: str) -> int:
    selects = kind in ("array", "grad", "flags", "view", "token")  # what is passed by value does not
    return member_token(_resolve(obj, path)) if selects else 0


def _resolve(obj: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        obj = getattr(obj, name)
    return unwrapped(obj)


# ---------------------------------------------------------------- results


def _reader(kernel: Kernel, recipe: Recipe) -> tuple[str, int] | Reader | None:
    """None, (dtype name, offset), or a function from the block to the Python result."""
    reader = _result_reader(kernel, recipe)
    if recipe.times < 0:
        return reader
    if isinstance(reader, tuple):
        dtype = primitive(reader[0])
        offset = reader[1]
        return lambda block: _timed(recipe, block, lambda b: _number(dtype, b, offset))
    return lambda block: _timed(recipe, block, reader)


def _timed(recipe: Recipe, block: memoryview, reader: Reader | None) -> Any:
    """Note when every task began and ended, then read the result."""
    times = np.frombuffer(block, np.float64, 2 * len(recipe.tasks), recipe.times)
    for name, begin, end in zip(recipe.tasks, times[::2].tolist(), times[1::2].tolist()):
        if begin or end or not recipe.regions:  # else it was left out of this launch
            kernel_records.append(name, begin, end - begin)
    return reader(block) if reader is not None else None


def _status_reader(recipe: Recipe) -> Reader:
    """How the launch ended, out of the number of the checkpoint that ended it."""

    def read_status(block: memoryview) -> GraphStatus:
        (number,) = struct.unpack_from("=i", block, recipe.status + 4)
        session.get_runtime().prog.graph_last_yield = number or -1
        return GraphStatus(True, recipe.labels[number - 1]) if number else GraphStatus(False)

    return read_status


def _result_reader(kernel: Kernel, recipe: Recipe) -> tuple[str, int] | Reader | None:
    if recipe.status >= 0:
        return _status_reader(recipe)
    if not recipe.results:
        return None
    annotation = kernel.fn.__annotations__["return"]
    items = tuple_items(annotation)
    if items is None:
        t, offset = recipe.results[0]
        if isinstance(t, DType):
            return (t.name, offset)
        return lambda block: read(t, annotation, block, offset)
    results = list(zip(recipe.results, items))
    return lambda block: tuple(read(t, a, block, offset) for (t, offset), a in results)


def read(t: ValueType, annotation: Any, block: memoryview, offset: int) -> Any:
    """One result: a number, qd.Vector, qd.Matrix or qd.Struct."""
    if isinstance(t, DType):
        return _number(t, block, offset)
    if isinstance(t, TensorType):
        return _tensor(t, block, offset)
    from quadrants.lang.struct import Struct

    members = getattr(annotation, "members", {})
    values = {
        key: read(kind, members.get(key), block, offset + at)
        for (key, kind), at in zip(t.members, struct_offsets(t).values())
    }
    if callable(annotation) and hasattr(annotation, "members"):
        return annotation(**values)
    return Struct(values)


def _number(t: DType, block: memoryview, offset: int) -> int | float:
    value = np.frombuffer(block, t.numpy_name, 1, offset)[0].item()
    return int(value) if isinstance(value, bool) else value


def _tensor(t: TensorType, block: memoryview, offset: int) -> Any:
    from quadrants.lang.matrix import Matrix, Vector, wrap

    data = np.frombuffer(block, t.dtype.numpy_name, t.count, offset).reshape(t.shape).copy()
    return wrap(data, Vector if len(t.shape) == 1 else Matrix)
