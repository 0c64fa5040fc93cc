"""Enumerations of the public surface."""

from __future__ import annotations

from enum import IntEnum


class Named(IntEnum):
    """An enumeration whose members are printed as programs write them."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    __str__ = __repr__


class Layout(Named):
    """How a field stores elements of several components: together (AOS) or one array a component (SOA).

    v = qd.Vector.field(3, qd.f32, shape=8, layout=qd.Layout.SOA)
    """

    AOS = 0
    SOA = 1
    NULL = 2


class Backend(IntEnum):
    """What a `qd.tensor` is kept in.

    t = qd.tensor(qd.f32, shape=8, backend=qd.Backend.FIELD)
    """

    FIELD = 0
    NDARRAY = 1


class BoundaryMode(Named):
    """What an index outside an array does: undefined (UNSAFE), or it is limited to the valid range (CLAMP)."""

    UNSAFE = 0
    CLAMP = 1


class AutodiffMode(Named):
    """Which derivative code of a kernel is meant."""

    FORWARD = 0
    REVERSE = 1
    NONE = 2
    VALIDATION = 3


class SNodeGradType(Named):
    """Which companion of a field is meant."""

    PRIMAL = 0
    ADJOINT = 1
    DUAL = 2
    ADJOINT_CHECKBIT = 3
