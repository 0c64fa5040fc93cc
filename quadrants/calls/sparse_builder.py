"""`B: qd.types.sparse_matrix_builder()`: a qd.linalg.SparseMatrixBuilder, of which a launch passes the arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quadrants._ext.core import intern_token
from quadrants.calls.kind import Call, Kind, Source
from quadrants.errors import QuadrantsRuntimeTypeError
from quadrants.lang import parameters
from quadrants.lang.described import type_name

if TYPE_CHECKING:
    from quadrants.calls.declarer import Declarer


class SparseBuilder(Kind):
    @classmethod
    def suits(cls, annotation: Any) -> bool:
        return parameters.is_sparse_builder(annotation)

    def token(self, x: Any, name: str) -> int | tuple[int]:
        _check(x, name)
        return (intern_token(("sparse builder", x.dtype)),)

    def check(self, call: Call, name: str, x: Any) -> None:
        _check(x, name)  # the core asks for no token of what has one

    def declare(self, declarer: Declarer, source: Source, name: str, x: Any) -> Any:
        from quadrants.lang.triplets import Triplets  # of the frontend, which a kernel from the disk does not need

        index, path = source
        arrays = [
            declarer.array((index, (*path, member)), f"{name}.{member}", getattr(x, member)).decl
            for member in ("rows", "columns", "values", "count")
        ]
        return Triplets(*arrays)


def _check(x: Any, name: str) -> None:
    if not getattr(type(x), "_qd_sparse_builder", False):
        raise QuadrantsRuntimeTypeError(
            f"Argument '{name}' expects a sparse matrix builder, got {type_name(x)}; pass a "
            "qd.linalg.SparseMatrixBuilder"
        )
