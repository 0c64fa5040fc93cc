"""Defects that were cured, put back one at a time: the hunt must find each. A subject of the hunt, as `programs` is.

`QD_FUZZ_MUTANT` names the defect; a worker process applies it when it imports this module.
"""

from __future__ import annotations

import os

from .programs import check, check_seed, program

VARIABLE = "QD_FUZZ_MUTANT"


def index_sums() -> None:
    """`x[i + 1]` of a field of several levels is split as `i + (1 / 4)`."""
    from quadrants.ir import nodes as n
    from quadrants.passes import lower_places

    whole = lower_places._digit

    def digit(e, divisor, extent):
        if isinstance(e, n.Binary) and e.op in ("add", "sub"):
            return n.Binary(e.op, e.a, whole(e.b, divisor, extent), e.type)
        return whole(e, divisor, extent)

    lower_places._digit = digit


def component_indices() -> None:
    """`s[i].v[j & 1]` is at `(start + j) & 1`."""
    from quadrants.ir import nodes as n
    from quadrants.passes import lower_places

    loose = ("bit_and", "bit_or", "bit_xor", "shl", "shr")
    whole, component = lower_places._sum, lower_places._Lowering.component

    def plus(a, b):
        if isinstance(b, n.Binary) and b.op in loose:
            return n.Binary(b.op, whole(a, b.a), b.b, b.type)
        return whole(a, b)

    def inside(self, place):
        lower_places._sum = plus
        try:
            return component(self, place)
        finally:
            lower_places._sum = whole

    lower_places._Lowering.component = inside


def clamped_components() -> None:
    """`boundary="clamp"` leaves the indices of components as they are."""
    from quadrants.lang import access

    access._is_clamped = lambda place: False


def frozen_members() -> None:
    """Numbers of objects inside of an object with template_primitives=False are constants."""
    from quadrants.frontend import arguments

    arguments._is_part = lambda obj: False


def wide_indices() -> None:
    """An index of 32 bits that overflows into the range does so in 64 bits instead."""
    from quadrants.ir.types import i64
    from quadrants.passes import lower_places

    lower_places._Lowering.width = lambda self, indices: i64
    lower_places._Lowering.span = lambda self, e: (0, 0)


def names_of_helpers() -> None:
    """Two helpers of one name: max of two vectors, and the method."""
    from quadrants.emit.prelude import Prelude

    Prelude.unique = lambda self, name, key: name


def names_of_structs() -> None:
    """Struct classes are named like types of the text."""
    from quadrants.emit import prelude_rules

    def struct(p, t):
        members = tuple((p.member(name), kind) for name, kind in t.members)
        return p.add("struct", f"qd_{t.name}", "declare", members, needs=tuple(kind for _, kind in t.members))

    prelude_rules.RULES["struct"] = struct


def negated_truths() -> None:
    """`-(a > b) * 5` loses its parentheses."""
    from quadrants.emit import operators
    from quadrants.emit.text import UNARY, Text
    from quadrants.ir.types import u1

    whole = operators.Operators.unary

    def unary(self, op, t, a):
        return Text(a.bare, UNARY) if op == "neg" and t is u1 else whole(self, op, t, a)

    operators.Operators.unary = unary


def plain_casts() -> None:
    """Reals become integers by the cast of C."""
    from quadrants.emit import operators
    from quadrants.emit.text import cast
    from quadrants.ir.types import u1

    whole = operators.Operators.converted

    def converted(self, have, t, a):
        if have.is_real and not t.is_real and t is not u1:
            return cast(self.type(t), a)
        return whole(self, have, t, a)

    operators.Operators.converted = converted


def shifted_truths() -> None:
    """`(a > b) << 4` is a truth value of 16."""
    from quadrants.lang import debug_checks

    debug_checks.SHIFTS = frozenset()


def narrow_bounds() -> None:
    """`qd.ndrange` cuts its bounds to 32 bits."""
    from quadrants.frontend import ndrange

    ndrange._is_wide = lambda t: False


def constants_of_numpy() -> None:
    """Numbers of NumPy that are known while a kernel is compiled wrap at their width."""
    from quadrants.frontend import operators

    operators.on_host = lambda operation, *operands: operation(*operands)


def lists_by_name() -> None:
    """A func that is passed a list of run-time values reads variables of its caller."""
    from quadrants.frontend import emitted_funcs
    from quadrants.lang.kernel_object import KernelObject

    emitted_funcs.holds_run_time = lambda x: isinstance(x, KernelObject)


MUTANTS = {
    f.__name__: f
    for f in (
        index_sums, component_indices, clamped_components, frozen_members, wide_indices, names_of_helpers,
        names_of_structs, negated_truths, plain_casts, shifted_truths, narrow_bounds, constants_of_numpy,
        lists_by_name,
    )
}  # fmt: skip


if os.environ.get(VARIABLE):
    MUTANTS[os.environ[VARIABLE]]()


__all__ = ["check", "check_seed", "program"]
