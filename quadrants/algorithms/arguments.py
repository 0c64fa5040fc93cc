"""What the algorithms refuse of arrays and counts while a kernel is compiled: wrong dtypes would be wrong results."""

from __future__ import annotations

from typing import Any

import quadrants as qd
from quadrants.algorithms import choices
from quadrants.errors import QuadrantsTypeError
from quadrants.lang.value import Value


def check(algorithm: str, *arrays: tuple) -> None:
    """arrays: (name, the array, its axes, its dtype, what that has to be), without the last two where any will do.

    Errors:
        QuadrantsTypeError: another dtype, other than one axis, or a field with an offset.
        ValueError: one array twice, of which something is written.
    """
    _check_distinct(algorithm, [(name, array) for name, array, *_ in arrays])
    for name, array, axes, *dtypes in arrays:
        dtype, wanted = dtypes or (None, None)
        what = f"qd.algorithms.{algorithm}: {name}"
        if axes != 1:
            raise QuadrantsTypeError(f"{what} must have one axis, and has {axes}")
        if any(getattr(array, "_offset", None) or ()):
            raise QuadrantsTypeError(
                f"{what} is a field with an offset of {tuple(array._offset)}, and elements 0 .. n - 1 are worked on; "
                "pass a field without one"
            )
        if dtypes and _is_of_tensors(array):
            raise QuadrantsTypeError(
                f"{what} is an array of vectors or matrices, and numbers are worked on; pass an array of one component"
            )
        if dtype != wanted:
            raise QuadrantsTypeError(f"{what} is an array of {dtype}, not of {wanted}{_why(algorithm, name, dtype)}")


def _is_of_tensors(array: Any) -> bool:
    declared = getattr(array, "decl", None)  # of arguments of kernels
    if declared is not None:
        return hasattr(declared.type, "shape")
    return bool(getattr(array, "_element_shape", ()))


# What is read and never written may be one array.
_READ = frozenset(("arr", "flags", "keys_in", "values_in"))


def _check_distinct(algorithm: str, arrays: list) -> None:
    for number, (name, array) in enumerate(arrays):
        for earlier, other in arrays[:number]:
            if array is other and not {name, earlier} <= _READ:
                raise ValueError(f"qd.algorithms.{algorithm}: {name} is the array {earlier}; pass another one")


def _why(algorithm: str, name: str, dtype: Any) -> str:
    if name == "scratch":
        return f"; qd.algorithms.{_HELPERS[algorithm]} tells its length"
    said = {"keys": "key_dtype", "arr": "dtype", "values_in": "value_dtype"}.get(name)
    return f"; pass {said}=qd.{dtype} for it" if said and dtype in choices.DTYPES else ""


_HELPERS = {
    **dict.fromkeys(("reduce_add", "reduce_min", "reduce_max"), "reduce_scratch_slots"),
    **dict.fromkeys(("exclusive_scan_add", "exclusive_scan_min", "exclusive_scan_max"), "exclusive_scan_scratch_slots"),
    "select": "select_scratch_slots",
    "reduce_by_key_add": "reduce_by_key_scratch_slots",
    "sort": "sort_scratch_slots",
}


def scratch_of(dtype: Any) -> Any:
    """The dtype of the scratch of folds and scans of `dtype`."""
    return qd.u64 if choices.width(dtype) == 64 else qd.u32


def is_tensor(n: Any) -> bool:
    return not isinstance(n, Value) and not hasattr(n, "__index__") and not isinstance(n, float)


def check_count(algorithm: str, n: Any) -> None:
    """QuadrantsTypeError: n is no integer."""
    if is_tensor(n):
        raise QuadrantsTypeError(
            f"qd.algorithms.{algorithm}: n must be an integer; pass an element of it, as n[()] or n[0]"
        )
    if isinstance(n, float) or (isinstance(n, Value) and getattr(n.type, "kind", "f") == "f"):
        raise QuadrantsTypeError(f"qd.algorithms.{algorithm}: n must be an integer; write qd.i32(n)")
