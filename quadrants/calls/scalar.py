"""Numbers: `n: qd.i32`, `x: float`. The launch core packs them, and they select nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadrants._ext.core import SCALAR
from quadrants.calls.kind import Kind, Source
from quadrants.errors import QuadrantsRuntimeTypeError
from quadrants.lang import parameters
from quadrants.lang.primitive_types import resolve_dtype

if TYPE_CHECKING:
    from quadrants.calls.declarer import Declarer


class Scalar(Kind):
    core = SCALAR
    selects = "type"

    @classmethod
    def suits(cls, annotation: Any) -> bool:
        return parameters.is_scalar(annotation)

    def check_number(self, name: str, x: Any) -> None:
        wanted = resolve_dtype(self.annotation)
        whole = hasattr(type(x), "__index__") or type(x).__name__ in ("bool", "bool_")
        if not whole and not (wanted.is_real and hasattr(type(x), "__float__")):
            raise QuadrantsRuntimeTypeError.get((name,), wanted, type(x))

    def declare(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        return declarer.number(source, name, self.annotation)
