"""Which pointers may be declared to share their memory with no other."""

from __future__ import annotations

from collections.abc import Set

from quadrants.ir import walk
from quadrants.ir.nodes import MEMORY, Atomic, Call, Choice, Module, Place, Store, Task
from quadrants.ir.sparse import Memory
from quadrants.ir.types import element_dtype


def disjoint(module: Module) -> set[int]:
    """Numbers of the field declarations that no other array of the kernel can overlap."""
    if any(d.kind != "field" for d in module.arrays):
        return set()
    seen: dict[tuple[int, int], list[int]] = {}
    for d in module.arrays:
        cell = d.source
        count = d.type.count if hasattr(d.type, "count") else 1
        for k in range(count):
            key = (id(cell.tree), cell.offset + k * element_dtype(d.type).size)
            seen.setdefault(key, []).append(d.number)
    shared = {number for numbers in seen.values() if len(numbers) > 1 for number in numbers}
    sparse = {d.number for d in module.arrays if d.within is not None or isinstance(d.source, Memory)}
    return {d.number for d in module.arrays} - shared - sparse - _written_in_functions(module)


def _written_in_functions(module: Module) -> set[int]:
    """Numbers of the arrays that somebody writes and that functions use: a task and a function it calls have a pointer
    each, and neither may then claim to be the only one.
    """
    if not module.functions:
        return set()
    used: set[int] = set()
    written: set[int] = set()
    for body, is_function in (*((f.body, True) for f in module.functions), *((t.body, False) for t in module.tasks)):
        for node in walk.walk(body):
            if isinstance(node, MEMORY) and is_function:
                used.add(node.array.number)
            elif isinstance(node, (Store, Atomic)):
                written |= _numbers(node.place)
    return used & written


def only_read(task: Task, candidates: Set[int]) -> Set[int]:
    """Of some arrays, those whose pointer may be declared `restrict` in a task of a device.

    Compilers for devices read through such a pointer by way of a cache that no write reaches. Whether the task writes
    the array by another pointer they may not see: so it may not write it at all, and no function that it calls may have
    pointers of its own.
    """
    written: set[int] = set()
    seen: set[int] = set()
    bodies = [task.body]
    while bodies:
        called = bool(seen)
        for node in walk.walk(bodies.pop()):
            if isinstance(node, MEMORY) and called:
                return set()
            written.update(number for place in walk.written_places(node) for number in _numbers(place))
            if isinstance(node, Call) and id(node.func) not in seen:
                seen.add(id(node.func))
                bodies.append(node.func.body)
    return candidates - written


def _numbers(place: Place) -> set[int]:
    """The arrays that a place may be in."""
    found = walk.root(place)
    if isinstance(found, Choice):
        return {number for x in found.places for number in _numbers(x)}
    return {found.array.number} if isinstance(found, MEMORY) else set()
