"""Rules of the tensor families: `map` (one scalar expression for every element) and `linalg`.

need("linalg", op, type, ...)         result in brackets; all operands of one call have one dtype
  splat            type                (x) [type]: every element x
  sum max min      type                (a) [dtype]: left fold, row major; a u1 sum is taken mod 2
  any all          type                (a) [u1]
  norm_sqr         type                (a) [dtype]: sum of squares
  dot              type                (a, b) [dtype]: sum of products, vectors or matrices of one shape
  cross            type                (a, b) [dtype for vec2, type for vec3]
  outer            type a, type b      (a, b) [n x m]
  matmul           type a, type b      (a, b) [mat @ mat, mat @ vec, vec @ mat]
  transpose        type                (a) [m x n]
  row column       type                (a, int32_t i) [vector]
  trace            type                (a) [dtype]; square
  determinant      type                (a) [dtype]; 1x1 to 4x4
  inverse          type                (a) [type]; real, 1x1 to 12x12
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quadrants.emit.prelude_spelling import Spelling, modular_type, suffix
from quadrants.ir.types import TensorType, ValueType, element_dtype, i32, tensor_type, u1

if TYPE_CHECKING:
    from quadrants.emit.prelude import Prelude

LINALG = frozenset(
    "splat sum max min any all norm_sqr dot cross outer matmul transpose row column trace determinant inverse".split()
)


# Elementwise operations that a dialect with operators writes as a + b.
OPERATORS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "neg": "-"}


def _operator(spelling: Spelling, stem: str, result: TensorType, operands: Sequence[ValueType]) -> str:
    """The symbol by which an elementwise operation is called, or "" where it has a name."""
    fits = all(t in (result, result.dtype) for t in operands) and result.dtype is not u1
    return OPERATORS.get(stem, "") if spelling.operators and fits else ""


def map_(p: Prelude, stem: str, spelling: str, result: TensorType, *operands: ValueType) -> str:
    for t in operands:
        if isinstance(t, TensorType) and t.shape != result.shape:
            raise ValueError(f"'{stem}' cannot combine {t} with a result of type {result}")
    if stem.startswith(("cast_", "bit_cast_")) and len(operands) == 1:
        # qd_vec3_i32_from_f32
        parts = [suffix(result), "bits_of" if stem.startswith("bit") else "from", element_dtype(operands[0]).name]
        name = p.unique("_".join(["qd", *parts]), (stem, spelling, result, *operands))
        return p.add("map", name, "elementwise", spelling, result, operands, needs=(result, *operands))
    if all(t in (result, result.dtype) for t in operands):
        # qd_mul_vec3_f32 of two vectors, qd_mul_vec3_f32_vs of a vector and a scalar.
        kinds = "".join("v" if t is result else "s" for t in operands)
        parts = [suffix(result)] + ([kinds] if "s" in kinds else [])
    else:
        parts = [suffix(t) for t in (result, *operands)]
    name = p.unique("_".join(["qd", stem, *parts]), (stem, spelling, result, *operands))
    symbol = _operator(p.spelling, stem, result, operands)
    p.add(
        "map", name, "elementwise", spelling, result, operands,
        needs=(result, *operands), shown=symbol and f"operator{symbol}",
    )  # fmt: skip
    return symbol or name


def linalg(p: Prelude, op: str, t: TensorType, other: TensorType | None = None) -> str:
    if op not in LINALG or not isinstance(t, TensorType):
        raise ValueError(f"the prelude has no function '{op}' of {t}")
    result, calls, needs = _signature(op, t, other)
    parts = [t] if other is None else [t, other]
    # `max` of the elements of a vector and of two vectors, element by element, are both of that vector's type.
    name = p.unique(f"qd_{op}_" + "_".join(map(suffix, parts)), ("linalg", op, *parts))
    names = [p.need(*call) for call in calls]
    if p.spelling.modular(t.dtype):
        needs = (*needs, modular_type(t.dtype))
    return p.add("linalg", name, op, *parts, result, *names, needs=(*parts, result, *needs, *calls))


Signature = tuple[ValueType, tuple[tuple[Any, ...], ...], tuple[ValueType, ...]]


def _signature(op: str, t: TensorType, other: TensorType | None) -> Signature:
    """(result type, helpers called, further types) of an operation, or ValueError when it is not defined."""
    shape, dtype = t.shape, t.dtype
    rank = len(shape)
    square = rank == 2 and shape[0] == shape[1]
    if other is not None and (op not in ("outer", "matmul") or other.dtype is not dtype):
        raise ValueError(f"'{op}' of {t} and {other} is not defined")
    if op == "splat":
        return t, (), ()
    if op in ("sum", "norm_sqr", "dot"):
        return dtype, (), ()
    if op in ("min", "max"):
        return dtype, (("scalar", op, dtype),), ()
    if op in ("any", "all"):
        return u1, (), ()
    if op == "cross" and shape in ((2,), (3,)):
        return (dtype if shape == (2,) else t), (), ()
    if op == "outer" and rank == 1 and other is not None and len(other.shape) == 1:
        return tensor_type((shape[0], other.shape[0]), dtype), (), ()
    if op == "matmul" and other is not None and shape[-1] == other.shape[0] and rank + len(other.shape) > 2:
        return tensor_type(shape[:-1] + other.shape[1:], dtype), (), ()
    if op == "transpose" and rank == 2:
        return tensor_type(shape[::-1], dtype), (), ()
    if op in ("row", "column") and rank == 2:
        return tensor_type((shape[op == "row"],), dtype), (), (i32,)
    if op == "trace" and square or op == "determinant" and square and shape[0] <= 4:
        return dtype, (), ()
    if op == "inverse" and square and shape[0] <= 12 and dtype.is_real:
        return t, ((("scalar", "abs", dtype),) if shape[0] > 4 else ()), ()
    raise ValueError(f"'{op}' of {t}{f' and {other}' if other is not None else ''} is not defined")
