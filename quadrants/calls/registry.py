"""Which kind an annotation is of."""

from __future__ import annotations

from typing import Any, TypeVar

from quadrants.calls.constant import Constant
from quadrants.calls.kind import Kind
from quadrants.calls.optional import Optional
from quadrants.lang import parameters

K = TypeVar("K", bound=type[Kind])

RESERVED = ("scalar", "array", "grad", "flags", "view", "token")  # slots that are packed otherwise
OURS: list[type[Kind]] = []  # no two of them suit one annotation
_registered: list[type[Kind]] = []


def register(kind: K) -> K:
    """Decorator: have parameters whose annotation suits `kind` be of that kind. The last one registered is asked first,
    and those of the package behind them all.
    """
    if kind.slot and kind.slot in {*RESERVED, *(known.slot for known in (*_registered, *OURS))}:
        raise ValueError(f"there is a kind with slots called {kind.slot!r} already")
    _registered.insert(0, kind)
    return kind


def of(annotation: Any) -> Kind | None:
    """The kind of what is annotated so; None if there is none."""
    for kind in (*_registered, *OURS):
        if kind.suits(annotation):
            return kind(annotation)
    base = parameters.optional_base(annotation)
    inner = None if base is None else of(base)
    return None if inner is None else Optional(annotation, inner)


def of_parameter(annotation: Any, index: int, name: str) -> Kind:
    """The kind of a kernel's parameter. Raises QuadrantsSyntaxError for annotations that none may have."""
    kind = of(annotation)
    if isinstance(kind, Optional) and kind.inner.optional:
        return kind
    parameters.check_annotation(annotation, index, name, "kernel", known=kind is not None)
    assert kind is not None  # checked just before
    return kind


def of_member(annotation: Any) -> Kind | None:
    """The kind of a member of a dataclass; None for what is not read out of an object by its members alone."""
    if getattr(annotation, "_qd_data_oriented", False):
        return None
    return Constant(annotation) if Constant.suits(annotation) else of(annotation)


def with_slot(slot: str) -> type[Kind]:
    """The kind whose values a launch passes under that name."""
    return next(kind for kind in (*_registered, *OURS) if kind.slot == slot)
