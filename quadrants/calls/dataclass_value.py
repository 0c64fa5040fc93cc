"""`s: State`, a dataclass: its members are arguments of their own, each as its annotation says."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from quadrants._ext.core import intern_token
from quadrants.calls import registry
from quadrants.calls.kind import Call, Kind, Source
from quadrants.errors import QuadrantsRuntimeTypeError, QuadrantsSyntaxError
from quadrants.lang import parameters

if TYPE_CHECKING:
    from quadrants.calls.declarer import Declarer


class Dataclass(Kind):
    @classmethod
    def suits(cls, annotation: Any) -> bool:
        return parameters.is_dataclass(annotation)

    def token(self, x: Any, name: str) -> int | tuple[int]:
        """All instances share one; their members are compared one by one."""
        if not isinstance(x, self.annotation):
            raise QuadrantsRuntimeTypeError(
                f"Argument {name} (type={type(x)}) cannot be converted into required type {self.annotation.__name__}; "
                f"pass an instance, as {self.annotation.__name__}({_constructor(self.annotation)}) makes one"
            )
        token = intern_token(("dataclass", type(x)))
        return (token,) if type(x).__weakrefoffset__ else token

    def check(self, call: Call, name: str, x: Any) -> None:
        for key, kind in members(self.annotation).items():
            try:
                value = getattr(x, key)
            except AttributeError:
                raise QuadrantsRuntimeTypeError(
                    f"Argument {name} (type={type(x)}) cannot be converted into required type "
                    f"{self.annotation.__name__}: it has no attribute '{key}'"
                ) from None
            if kind is not None:
                kind.check(call, f"{name}.{key}", value)

    def declare(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        return declarer.object(source, x, members(self.annotation))


def _constructor(cls: type) -> str:
    return ", ".join(f"{name}=.." for name in parameters.dataclass_members(cls))


@functools.cache
def members(cls: type) -> dict[str, Kind | None]:
    """The kinds of the members of a dataclass, None for what no kernel can use."""
    return {name: registry.of_member(a) for name, a in parameters.dataclass_members(cls).items()}


def no_kind(cls: type, name: str) -> QuadrantsSyntaxError:
    """The error for a member that no kernel can use."""
    annotation = parameters.dataclass_members(cls)[name]
    if getattr(annotation, "_qd_data_oriented", False):
        return QuadrantsSyntaxError(
            f"{cls.__name__}.{name} is a @qd.data_oriented object: it cannot be flattened into a typed-dataclass "
            "kernel arg; pass it through qd.template()."
        )
    return QuadrantsSyntaxError(
        f"Invalid type annotation of {cls.__name__}.{name}: {annotation}; a member is a dtype, an array, qd.Tensor, "
        "qd.template(), a vector, matrix or struct type, a dataclass or Final[...]."
    )
