"""Small vectors and matrices in kernel scope: construction, products, reductions, methods."""

from __future__ import annotations

import numpy as np

from quadrants.errors import QuadrantsCompilationError, QuadrantsTypeError
from quadrants.ir.nodes import Const, Elem, Make, MatOp
from quadrants.ir.types import DType, TensorType, element_dtype, promote, tensor_type, u1
from quadrants.lang import constants, scope, typed
from quadrants.lang.described import type_name
from quadrants.lang.value import Value


def temp(x) -> Value:
    """`x` as a value that may be read several times."""
    return scope.require().temp(typed.to_value(x))


def parts(x) -> list:
    """The elements of a tensor value in row-major order, as Values."""
    v = temp(x)
    t = v.type
    if not isinstance(t, TensorType):
        return [v]
    if len(t.shape) == 1:
        return [v[i] for i in range(t.shape[0])]
    return [v[i, j] for i in range(t.shape[0]) for j in range(t.shape[1])]


def is_sequence(x) -> bool:
    if isinstance(x, np.ndarray):
        return x.ndim > 0
    return isinstance(x, (list, tuple)) or getattr(x, "_qd_host_matrix", False)


def make(elements: list, t: TensorType) -> Value:
    return Value(Make(tuple(typed.cast_expr(typed.to_expr(e), t.dtype) for e in elements), t))


def _element(x, dt):
    """One entry of a literal vector: bools count as default_ip."""
    if isinstance(x, Value):
        if not x.is_scalar:
            raise QuadrantsCompilationError(
                "An element of a vector or matrix literal is itself a vector or matrix; "
                "use qd.Matrix.rows([...]), qd.Matrix.cols([...]) or a typed constructor such as qd.math.vec3(v, 1.0)."
            )
        return x.expr
    x = typed.unboxed(x)
    if not typed.is_number(x):
        raise QuadrantsTypeError(f"Element type of the matrix is invalid. Got {type_name(x)}")
    if isinstance(x, (bool, np.bool_)):
        x = int(x)
    return constants.literal(x)


def construct(arr, dt: DType | None = None) -> Value:
    """qd.Vector / qd.Matrix in kernel scope: rank follows the nesting of `arr`."""
    if isinstance(arr, np.ndarray):
        arr = arr.tolist()
    if getattr(arr, "_qd_host_matrix", False):
        arr = arr.to_list()
    if isinstance(arr, Value) or not isinstance(arr, (list, tuple)):
        raise QuadrantsCompilationError(
            "A Matrix/Vector is made from a list, tuple or numpy array; to copy a vector simply assign it."
        )
    if len(arr) and (isinstance(arr[0], Value) and arr[0].is_tensor):
        _element(arr[0], dt)
    if len(arr) and is_sequence(arr[0]):
        rows = [list(r) if is_sequence(r) else None for r in arr]
        if any(r is None or len(r) != len(rows[0]) for r in rows):
            raise QuadrantsCompilationError("All rows of a matrix must have the same length.")
        shape = (len(rows), len(rows[0]))
        flat = [e for row in rows for e in row]
    else:
        shape, flat = (len(arr),), list(arr)
    exprs = [_element(e, dt) for e in flat]
    if dt is None:
        dt = scope.default_ip() if not exprs else exprs[0].type
        for e in exprs[1:]:
            dt = promote(dt, e.type)
    t = tensor_type(shape, dt)
    return Value(Make(tuple(typed.cast_expr(e, dt) for e in exprs), t))


def flatten(args) -> list:
    """Arguments of a typed constructor, left to right, tensors and one level of lists expanded."""
    out = []
    for a in args:
        if isinstance(a, Value) and a.is_tensor:
            out.extend(parts(a))
        elif is_sequence(a):
            items = np.ravel(a).tolist() if isinstance(a, np.ndarray) else list(a)
            for item in items:
                if is_sequence(item):
                    out.extend(list(item))
                elif isinstance(item, Value) and item.is_tensor:
                    out.extend(parts(item))
                else:
                    out.append(item)
        else:
            out.append(a)
    return out


def of_type(t: TensorType, args: tuple) -> Value:
    """`vec3(...)` in kernel scope."""
    if len(args) == 1:
        x = args[0]
        if isinstance(x, Value) and x.is_tensor:
            if x.shape == t.shape:
                return x
            raise QuadrantsCompilationError(f"cannot make a {t} from a value of type {x.type}")
        if not is_sequence(x):
            return Value(typed.splat(typed.to_expr(x), t))
    elements = flatten(args)
    if len(elements) != t.count:
        raise QuadrantsCompilationError(f"A value of type {t} has {t.count} elements, but {len(elements)} were given.")
    return make(elements, t)


def filled(value, dt: DType, n: int, m=None) -> Value:
    shape = (n,) if m is None else (n, m)
    return Value(typed.splat(constants.of_type(value, dt), tensor_type(shape, dt)))


def identity(dt: DType, n: int) -> Value:
    return make([int(i == j) for i in range(n) for j in range(n)], tensor_type((n, n), dt))


def diag(dim: int, val) -> Value:
    e = typed.to_expr(val)
    dt = promote(element_dtype(e.type), scope.default_ip())
    v = temp(Value(e))
    return make([v if i == j else 0 for i in range(dim) for j in range(dim)], tensor_type((dim, dim), dt))


def unit(n: int, i, dt=None) -> Value:
    dt = dt or scope.default_ip()
    if isinstance(i, Value):
        at = temp(i)
        return make([typed.binary("eq", at, k) for k in range(n)], tensor_type((n,), dt))
    if not 0 <= i < n:
        raise QuadrantsCompilationError(f"unit vector index {i} is outside 0..{n - 1}")
    return make([int(k == i) for k in range(n)], tensor_type((n,), dt))


def stack(items, as_rows: bool) -> Value:
    if not isinstance(items, (list, tuple)) or not items:
        raise QuadrantsCompilationError("rows/cols need a list of vectors")
    lines = [parts(x) if isinstance(x, Value) else list(x) for x in items]
    shapes = [(len(x),) for x in lines]
    if any(s != shapes[0] for s in shapes):
        raise QuadrantsCompilationError(f"required shapes to be the same, got shapes {shapes}")
    rows = lines if as_rows else [list(r) for r in zip(*lines)]
    return construct(rows)


# ---------------------------------------------------------------- products and reductions


def _tensor(x, message: str) -> Value:
    v = typed.to_value(x)
    if not v.is_tensor:
        raise QuadrantsCompilationError(message)
    return v


def _promoted(*values):
    t = values[0].type.dtype
    for v in values[1:]:
        t = promote(t, v.type.dtype)
    return t, [typed.cast_expr(v.expr, t) for v in values]


def matmul(a, b) -> Value:
    a = _tensor(a, "matrix multiplication needs two vectors or matrices")
    b = _tensor(b, "matrix multiplication needs two vectors or matrices")
    if a.shape[-1] != b.shape[0]:
        raise QuadrantsCompilationError(f"dimension mismatch between {a.shape} and {b.shape} for matrix multiplication")
    t, args = _promoted(a, b)
    shape = a.shape[:-1] + b.shape[1:]
    return Value(MatOp("dot" if not shape else "matmul", tuple(args), tensor_type(shape, t) if shape else t))


def _same_shape(a, b, op: str):
    if a.shape != b.shape:
        raise QuadrantsTypeError(f"unsupported operand type(s) for '{op}': '{a.type}' and '{b.type}'")


def dot(a, b) -> Value:
    a, b = typed.to_value(a), typed.to_value(b)
    for v, side in ((a, "lhs"), (b, "rhs")):
        if len(v.shape) != 1:
            raise QuadrantsCompilationError(f"{side} for dot is not a vector")
    _same_shape(a, b, "*")
    t, args = _promoted(a, b)
    return Value(MatOp("dot", tuple(args), t))


def frobenius_inner(a, b) -> Value:
    a, b = _tensor(a, "not tensor type"), _tensor(b, "not tensor type")
    _same_shape(a, b, "*")
    t, args = _promoted(a, b)
    return Value(MatOp("dot", tuple(args), t))


def cross(a, b) -> Value:
    a, b = _tensor(a, "lhs for cross is not a vector"), _tensor(b, "rhs for cross is not a vector")
    if len(a.shape) != 1 or len(b.shape) != 1 or a.shape != b.shape:
        raise QuadrantsCompilationError(f"required shapes to be the same, got shapes {[a.shape, b.shape]}")
    n = a.shape[0]
    if n not in (2, 3):
        raise QuadrantsCompilationError(f"only dimension < 4 is supported, got shape {a.shape}")
    t, args = _promoted(a, b)
    return Value(MatOp("cross", tuple(args), t if n == 2 else tensor_type((3,), t)))


def outer_product(a, b) -> Value:
    a, b = _tensor(a, "lhs for outer_product is not a vector"), _tensor(b, "rhs for outer_product is not a vector")
    if len(a.shape) != 1 or len(b.shape) != 1:
        raise QuadrantsCompilationError("outer_product needs two vectors")
    t, args = _promoted(a, b)
    return Value(MatOp("outer", tuple(args), tensor_type((a.shape[0], b.shape[0]), t)))


def transpose(a) -> Value:
    if len(a.shape) == 1:
        raise QuadrantsCompilationError(
            "`transpose()` cannot apply to a vector. If you want something like `a @ b.transpose()`, "
            "write `a.outer_product(b)` instead."
        )
    n, m = a.shape
    return Value(MatOp("transpose", (a.expr,), tensor_type((m, n), a.type.dtype)))


def _square(a) -> int:
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise QuadrantsCompilationError(f"expected a square matrix, got shape {a.shape}")
    return a.shape[0]


def trace(a) -> Value:
    _square(a)
    return Value(MatOp("trace", (a.expr,), a.type.dtype))


def determinant(a) -> Value:
    n = _square(a)
    if n > 4:
        raise QuadrantsCompilationError(f"only dimension < 5 is supported, got shape {a.shape}")
    return Value(MatOp("determinant", (a.expr,), a.type.dtype))


def inverse(a) -> Value:
    n = _square(a)
    if n > 12:
        raise QuadrantsCompilationError(f"only dimension < 13 is supported, got shape {a.shape}")
    t = promote(a.type.dtype, scope.default_fp())
    return Value(MatOp("inverse", (typed.cast_expr(a.expr, t),), tensor_type(a.shape, t)))


def reduce(op: str, a) -> Value:
    """sum, max, min keep the element type; any, all give u1."""
    if op in ("any", "all"):
        return Value(MatOp(op, (typed.truth(a.expr),), u1))
    return Value(MatOp(op, (a.expr,), a.type.dtype))


def norm_sqr(a) -> Value:
    return Value(MatOp("norm_sqr", (a.expr,), a.type.dtype))


def _add_eps(x, eps):
    return x if isinstance(eps, (int, float)) and eps == 0 else typed.binary("add", x, eps)


def norm(a, eps=0) -> Value:
    return typed.unary("sqrt", _add_eps(norm_sqr(a), eps))


def norm_inv(a, eps=0) -> Value:
    return typed.binary("truediv", 1.0, norm(a, eps))


def normalized(a, eps=0) -> Value:
    if len(a.shape) != 1:
        raise QuadrantsCompilationError(f"expected a vector, got shape {a.shape}")
    v = temp(a)
    scale = temp(typed.binary("truediv", 1.0, _add_eps(norm(v), eps)))
    return typed.binary("mul", scale, v)


def element(a: Value, index: int) -> Value:
    """Row-major element of a value."""
    shape = a.shape
    indices = (index,) if len(shape) == 1 else (index // shape[1], index % shape[1])
    return Value(Elem(a.expr, tuple(Const(i, scope.default_ip()) for i in indices), a.type.dtype))
