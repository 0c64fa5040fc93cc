"""`v: qd.BufferView[qd.f32]`: a window of a one-dimensional ndarray. A launch passes its array, offset and size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadrants.calls.array import Array, element_axes
from quadrants.calls.kind import Call, Kind, Source
from quadrants.errors import QuadrantsRuntimeTypeError
from quadrants.lang import parameters
from quadrants.lang.described import type_name
from quadrants.lang.kinds import kind_of

if TYPE_CHECKING:
    from quadrants.calls.declarer import Declarer


class View(Kind):
    optional = True

    def __init__(self, annotation: Any):
        super().__init__(annotation)
        self.selects = f"array{element_axes(annotation)}"

    @classmethod
    def suits(cls, annotation: Any) -> bool:
        return parameters.is_view_annotation(annotation)

    def token(self, x: Any, name: str) -> int | tuple[int]:
        raise QuadrantsRuntimeTypeError(not_a_view(name, type_name(x)))

    def check(self, call: Call, name: str, x: Any) -> None:
        if kind_of(x) != "view":
            return
        x.get_ndarray()._live()
        from quadrants.lang._template_mapper import argument_checks_enabled

        if not isinstance(self.annotation, type) and argument_checks_enabled():
            Array(self.annotation.ndarray_type).check_ndarray(name, x.arr, x)

    def declare(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        if kind_of(x) != "view":
            raise QuadrantsRuntimeTypeError(not_a_view(name, type_name(x)))
        return declarer.view(source, name, x, self.annotation)


def not_a_view(name: str, got: Any) -> str:
    """The complaint about something passed where a view is declared."""
    return f"Argument '{name}' expects a BufferView, got {got}; slice a 1-d ndarray: a[begin:end]"
