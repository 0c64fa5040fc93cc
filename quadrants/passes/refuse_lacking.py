"""Kernels that need what the device has not: refused before its compiler sees them, whose words name no such line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quadrants.errors import QuadrantsCompilationError, QuadrantsRuntimeError, QuadrantsTypeError
from quadrants.ir import nodes as n
from quadrants.ir import walk, words
from quadrants.ir.abilities import Abilities
from quadrants.ir.lacks import NARROWER, Lacks
from quadrants.ir.ops import OPS
from quadrants.ir.types import StructType, ValueType, element_dtype
from quadrants.passes.user_lines import at_users_line, definition, located

_WORD_ROOM = 32 << 10  # bytes that every device has


def refuse_lacking(module: n.Module, lacks: Lacks) -> n.Module:
    """Raise, with the line, at the first value, atomic or block that the device has not."""
    parallel = any(task.loop is not None for task in module.tasks)
    check = _Check(module, lacks)
    for task in module.tasks:
        check.block(task)
    if not lacks.types and not lacks.atomics:
        return module
    for f in module.functions:
        for v in f.params:
            check.value(v.type, v, f.loc)
        check.statements(f.body, parallel, f.loc)
    for task in module.tasks:
        bounds = walk.bounds_of(task)
        check.statements((task.pre, bounds, task.body, task.reductions), task.loop is not None, _loc_of(task))
    arguments: list[n.Var | n.ArrayDecl] = [*module.params, *module.arrays]
    for what in arguments:
        check.value(what.type, what, definition(module))
    return module


def refuse_wide_words(module: n.Module, able: Abilities) -> n.Module:
    """Raise, with the line, where shared arrays have no room as words."""
    arrays = words.arrays_of_words(module.tasks, bool(able.word_sums))
    room = able.lacks.shared_bytes or _WORD_ROOM
    for task in module.tasks:
        needed = words.bytes_with_words(task, arrays)
        if arrays and needed > room:
            text = f"Requested dynamic shared memory size of {needed} bytes, but the device supports max capacity of "
            text += f"{room} bytes: on {able.arch} numbers of shared arrays that atomics change take 4 bytes or more"
            raise QuadrantsRuntimeError(
                at_users_line(_loc_of(task) or definition(module), f"{text}. Make them smaller.")
            )
    return module


class _Check:
    def __init__(self, module: n.Module, lacks: Lacks) -> None:
        self.module = module
        self.lacks = lacks

    def statements(self, body: Any, parallel: bool, loc: n.Loc | None) -> None:
        """parallel: others may run what is in it at the same time."""
        for node, at in located(body, loc):
            if isinstance(node, n.Declare):
                self.value(node.var.type, node, at)
            elif isinstance(node, n.Atomic) and parallel and not node.plain:
                self.atomic(node, at)
            found = getattr(node, "type", None)
            if found is not None:
                self.value(found, node, at)

    def block(self, task: n.Task) -> None:
        loop, most, room = task.loop, self.lacks.block_threads, self.lacks.shared_bytes
        asked = loop.config.block_dim if loop is not None and loop.config is not None else None
        if most and asked is not None and asked > most:
            text = f"block_dim={asked}, and {self.lacks.device} has no block of more than {most} threads"
            self.refuse(f"{text}. Ask for {most} or fewer.", _loc_of(task), QuadrantsCompilationError)
        if room and task.shared_bytes > room:
            arrays = ", ".join(f"'{array.label or array.name}'" for array, _ in task.shared_arrays)
            text = f"Requested dynamic shared memory size of {task.shared_bytes} bytes, but the device supports max "
            text += f"capacity of {room} bytes. That is what a block has for {arrays} on {self.lacks.device}"
            self.refuse(f"{text}. Make them smaller.", _loc_of(task), QuadrantsRuntimeError)

    def value(self, t: ValueType, what: n.Node | n.Var | n.ArrayDecl, loc: n.Loc | None) -> None:
        for name in _primitives(t):
            if name in self.lacks.types:
                wanted = f"{_called(what)} is of type {t}, and {self.lacks.no_type(name)}"
                self.refuse(f"{wanted}. {_instead(name)}", loc)

    def atomic(self, node: n.Atomic, loc: n.Loc | None) -> None:
        var = walk.root_var(node.place)
        if var is not None and not var.shared:
            return
        name = element_dtype(node.place.type).name
        if (node.op, name) in self.lacks.atomics:
            shared = f"{_called(node.place)} is changed by many threads"
            self.refuse(f"{shared}, and {self.lacks.no_atomic(node.op, name)}. {_instead(name)}", loc)

    def refuse(self, text: str, loc: n.Loc | None, kind: type[Exception] = QuadrantsTypeError) -> None:
        raise kind(at_users_line(loc or definition(self.module), text))


def _loc_of(task: n.Task) -> n.Loc | None:
    return task.loop.loc if task.loop is not None else None


def _primitives(t: ValueType) -> Iterator[str]:
    if isinstance(t, StructType):
        for _, member in t.members:
            yield from _primitives(member)
    else:
        yield element_dtype(t).name


def _called(node: n.Node | n.Var | n.ArrayDecl) -> str:
    """How a message calls a value, a place, what is declared or an argument."""
    if isinstance(node, (n.Var, n.ArrayDecl)):
        return f"argument '{node.name}'"
    if isinstance(node, n.Declare):
        return _called(node.init) if node.var.temporary else f"'{node.var.name}'"
    if isinstance(node, (n.Load, n.Volatile)):
        return _called(node.place)
    if isinstance(node, n.PLACES):
        return _called_place(node)
    if isinstance(node, n.Const):
        return f"the number {node.value}"
    if isinstance(node, n.Cast):
        return f"what is cast from {node.a.type}"
    if isinstance(node, (n.Unary, n.Binary)):
        return f"the result of '{OPS[node.op].symbol}'" if node.op in OPS else "a result"
    if isinstance(node, n.Call):
        return f"the result of '{node.func.name}'"
    return "a random number" if isinstance(node, n.Rand) else "a value"


def _called_place(place: n.Place) -> str:
    at = walk.root(place)
    if isinstance(at, n.Choice):
        return _called(at.places[0])
    if isinstance(at, n.VarPlace):
        return "a value" if at.var.temporary else f"'{at.var.name}'"
    return f"'{at.array.label or at.array.name}'"


def _instead(name: str) -> str:
    other = f"Use {NARROWER[name]} instead, or another arch" if name in NARROWER else "Use another arch"
    return f"{other}, such as qd.cpu."
