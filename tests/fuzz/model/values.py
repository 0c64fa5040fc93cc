"""Vectors, matrices and structs as values."""

from __future__ import annotations

import math

from .errors import Undefined, Unmodelled
from .numbers import Defaults, DType, Num, convert, literal, promote

CONSTANTS = (bool, int, float)
SETS = ("xyzw", "rgba", "stpq")


def is_constant(x) -> bool:
    """Whether arithmetic with `x` is still Python's own."""
    return isinstance(x, CONSTANTS)


class Tensor:
    """A small vector (shape of one axis) or matrix, row-major."""

    __slots__ = ("shape", "items")

    def __init__(self, shape: tuple, items: list):
        if len(items) != math.prod(shape):
            raise Unmodelled("a tensor with too few or too many elements")
        self.shape, self.items = tuple(shape), items

    @classmethod
    def of(cls, x, dtype: DType | None = None) -> Tensor:
        """`qd.Vector` and `qd.Matrix` of nested lists: the common type of all elements, or `dtype`."""
        if isinstance(x, Tensor):
            return x
        rows = list(x)
        nested = bool(rows) and isinstance(rows[0], (list, tuple))
        items = [e for row in rows for e in row] if nested else rows
        if any(not isinstance(e, (Num, *CONSTANTS)) for e in items):
            raise Unmodelled("elements of a tensor that are no numbers")
        numbers = [literal(int(e), Defaults.ip) if isinstance(e, bool) else literal(e) for e in items]
        shape = (len(rows), len(rows[0])) if nested else (len(rows),)
        return cls(shape, numbers).cast(dtype) if dtype else cls(shape, numbers).unified()

    def unified(self) -> Tensor:
        if not self.items:
            return self
        return self.cast(self.dtype)

    @property
    def dtype(self) -> DType:
        dtype = self.items[0].dtype
        for e in self.items:
            dtype = promote(dtype, e.dtype)
        return dtype

    def cast(self, dtype: DType) -> Tensor:
        return Tensor(self.shape, [convert(e, dtype) for e in self.items])

    def copy(self) -> Tensor:
        return Tensor(self.shape, list(self.items))

    def offset(self, indices) -> int:
        flat = 0
        if len(indices) != len(self.shape):
            raise Unmodelled("a wrong number of component indices")
        for i, extent in zip(indices, self.shape):
            if not 0 <= i < extent:
                raise Undefined("a component index out of range")
            flat = flat * extent + i
        return flat

    def rows(self) -> list:
        if len(self.shape) == 1:
            return list(self.items)
        n, m = self.shape
        return [self.items[k * m : (k + 1) * m] for k in range(n)]

    def matmul(self, other) -> object:
        from .operations import binary

        a = self.rows() if len(self.shape) == 2 else [list(self.items)]
        b = other.rows() if len(other.shape) == 2 else [[e] for e in other.items]
        if len(a[0]) != len(b):
            raise Unmodelled("shapes of a product")

        def entry(row, k):
            total = binary("*", row[0], b[0][k])
            for n in range(1, len(b)):
                total = binary("+", total, binary("*", row[n], b[n][k]))
            return total

        items = [entry(row, k) for row in a for k in range(len(b[0]))]
        shape = (*self.shape[:-1], *other.shape[1:])
        return Tensor(shape, items) if shape else items[0]

    def __repr__(self) -> str:
        return repr(self.rows())


class StructType:
    """`qd.dataclass` and `qd.types.struct`: members by name, in order."""

    def __init__(self, name: str, members: dict, methods: dict):
        self.name, self.members, self.methods = name, members, methods

    def __call__(self, *values, **named):
        given = {**dict(zip(self.members, values)), **named}
        return Struct(self, {m: initial(t, given.get(m, 0)) for m, t in self.members.items()})

    def field(self, shape=None, **options):
        from .containers import StructField

        return StructField(self, shape, **options)


class TensorType:
    """`qd.types.vector` and `qd.types.matrix`."""

    def __init__(self, shape: tuple, dtype):
        self.shape, self.dtype = shape, dtype

    def __call__(self, *values):
        from .operations import scalar_type

        flat = []
        for v in values:
            flat += v.items if isinstance(v, Tensor) else v if isinstance(v, (list, tuple)) else [v]
        if len(flat) == 1:
            flat = flat * math.prod(self.shape)
        return Tensor(self.shape, [literal(e) for e in flat]).cast(scalar_type(self.dtype))

    def field(self, shape=None, **options):
        from .containers import Field

        return Field(self.dtype, self.shape, shape, **options)

    def ndarray(self, shape):
        from .containers import Field

        return Field(self.dtype, self.shape, shape)


class Struct:
    """A value of a struct type."""

    __slots__ = ("type", "members")

    def __init__(self, type: StructType, members: dict):
        self.type, self.members = type, members

    def copy(self) -> Struct:
        return Struct(self.type, {name: copied(x) for name, x in self.members.items()})


def copied(x):
    return x.copy() if isinstance(x, (Tensor, Struct)) else x


def initial(type, x):
    """`x` as a value of a type: numbers are converted and broadcast, tensors converted element by element."""
    if isinstance(type, StructType):
        if is_constant(x):
            return Struct(type, {m: initial(t, x) for m, t in type.members.items()})
        return x.copy()
    if isinstance(type, TensorType):
        from .operations import scalar_type

        if isinstance(x, (list, tuple)):
            x = Tensor.of(x)
        if isinstance(x, Tensor):
            if x.shape != type.shape:
                raise Unmodelled("shapes of an assignment")
            return x.cast(scalar_type(type.dtype))
        return Tensor(type.shape, [convert(literal(x), scalar_type(type.dtype))] * math.prod(type.shape))
    from .operations import scalar_type

    return convert(literal(x), scalar_type(type))


def type_of(x):
    """The type of a value."""
    if isinstance(x, Num):
        return x.dtype
    if isinstance(x, Struct):
        return x.type
    return TensorType(x.shape, x.dtype)


def letters(word: str, length: int) -> list | None:
    """The components that a swizzle names, None when the word is none."""
    for names in SETS:
        if 1 <= len(word) <= 4 and all(c in names[:length] for c in word):
            return [names.index(c) for c in word]
    return None
