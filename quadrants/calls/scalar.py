"""Numbers: `n: qd.i32`, `x: float`. The launch core packs them, and they select nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadrants._ext.core import SCALAR
from quadrants.calls.kind import Kind, Source
from quadrants.lang import parameters

if TYPE_CHECKING:
    from quadrants.calls.declarer import Declarer


class Scalar(Kind):
    core = SCALAR
    selects = "type"

    @classmethod
    def suits(cls, annotation: Any) -> bool:
        return parameters.is_scalar(annotation)

    def declare(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        return declarer.number(source, name, self.annotation)
