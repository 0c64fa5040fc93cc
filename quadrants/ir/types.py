"""Types of the intermediate representation: primitives, small tensors, structs.

Primitive types are singletons (`f32 is f32`, also after pickling) and are the very objects a user sees as `qd.f32`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any


class DType:
    """A primitive scalar type. kind: 'f' real, 'i' signed, 'u' unsigned, 'b' boolean (u1)."""

    __slots__ = ("name", "kind", "bits", "size", "numpy_name", "rank")

    # Set by the language layer: what calling `qd.f32(x)` means. The IR itself gives it no meaning.
    call_hook: Callable[..., Any] | None = None

    def __init__(self, name: str, kind: str, bits: int, numpy_name: str) -> None:
        self.name = name
        self.kind = kind
        self.bits = bits
        self.size = max(1, bits // 8)
        self.numpy_name = numpy_name
        self.rank = (1 if kind == "f" else 0, bits, 1 if kind in "ub" else 0)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if DType.call_hook is None:
            raise TypeError(f"{self.name} is not callable here")
        return DType.call_hook(self, *args, **kwargs)

    def to_string(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Callable[[str], DType], tuple[str]]:
        return (primitive, (self.name,))

    def __or__(self, other: object) -> DType:
        raise TypeError(f"unsupported operand type(s) for |: '{self.name}' and '{type(other).__name__}'")

    @property
    def is_real(self) -> bool:
        return self.kind == "f"

    @property
    def is_integral(self) -> bool:
        return self.kind != "f"

    @property
    def is_signed(self) -> bool:
        return self.kind in "fi"

    @property
    def min(self) -> int:
        return -(1 << (self.bits - 1)) if self.kind == "i" else 0

    @property
    def max(self) -> int:
        return (1 << (self.bits - 1 if self.kind == "i" else self.bits)) - 1


f16 = DType("f16", "f", 16, "float16")
f32 = DType("f32", "f", 32, "float32")
f64 = DType("f64", "f", 64, "float64")
i8 = DType("i8", "i", 8, "int8")
i16 = DType("i16", "i", 16, "int16")
i32 = DType("i32", "i", 32, "int32")
i64 = DType("i64", "i", 64, "int64")
u1 = DType("u1", "b", 1, "bool")
u8 = DType("u8", "u", 8, "uint8")
u16 = DType("u16", "u", 16, "uint16")
u32 = DType("u32", "u", 32, "uint32")
u64 = DType("u64", "u", 64, "uint64")

PRIMITIVES = {t.name: t for t in (f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64)}
REAL = frozenset((f16, f32, f64))
INTEGRAL = frozenset(t for t in PRIMITIVES.values() if t not in REAL)

SMALLEST_NORMAL = {f32: 2.0**-126, f64: 2.0**-1022}


def primitive(name: str) -> DType:
    """The singleton of that name, e.g. 'f32'."""
    return PRIMITIVES[name]


def flushed(value: float, t: DType) -> float:
    """A real number as it is where subnormal numbers of type `t` are flushed to 0, whose sign they keep."""
    return value * 0.0 if abs(value) < SMALLEST_NORMAL.get(t, 0.0) else value


def promote(a: DType, b: DType) -> DType:
    """Result type of arithmetic: real beats integer, wider beats narrower, unsigned beats signed at equal width."""
    return a if a.rank >= b.rank else b


@dataclass(frozen=True)
class TensorType:
    """A small vector (rank 1) or matrix (rank 2) held as a value. Use `tensor_type` so equal types are identical."""

    shape: tuple[int, ...]
    dtype: DType

    @property
    def count(self) -> int:
        n = 1
        for extent in self.shape:
            n *= extent
        return n

    def with_dtype(self, dtype: DType) -> TensorType:
        return tensor_type(self.shape, dtype)

    def __repr__(self) -> str:
        return f"[Tensor ({', '.join(map(str, self.shape))}) {self.dtype}]"


@cache
def tensor_type(shape: tuple[int, ...], dtype: DType) -> TensorType:
    return TensorType(shape, dtype)


@dataclass(frozen=True)
class StructType:
    """A value struct. members: tuple of (name, type); equality is by members; name and methods ride along."""

    members: tuple[tuple[str, ValueType], ...]
    name: str = "struct"
    methods: dict[str, Any] | None = None  # name -> user function; not part of equality

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StructType) and self.members == other.members

    def __hash__(self) -> int:
        return hash(self.members)

    def member(self, name: str) -> ValueType | None:
        for key, kind in self.members:
            if key == name:
                return kind
        return None

    def __repr__(self) -> str:
        return "struct{" + ", ".join(f"{k}: {t}" for k, t in self.members) + "}"


ValueType = DType | TensorType | StructType


def result_struct(types: tuple[ValueType, ...]) -> StructType:
    """The struct in which a function hands back several results; members r0, r1, ..."""
    return StructType(tuple((f"r{k}", t) for k, t in enumerate(types)), "result")


def element_dtype(t: ValueType) -> DType:
    """The scalar dtype of a scalar or tensor type."""
    return t.dtype if isinstance(t, TensorType) else t  # type: ignore[return-value]  # structs have none: not asked


def scalar(t: ValueType) -> DType:
    """A type that is known to be a scalar one."""
    assert isinstance(t, DType)
    return t


def tensor(t: ValueType) -> TensorType:
    """The same of a vector or matrix."""
    assert isinstance(t, TensorType)
    return t


def size_align(t: ValueType) -> tuple[int, int]:
    """(size, alignment) in bytes under C rules."""
    if isinstance(t, DType):
        return t.size, t.size
    if isinstance(t, TensorType):
        return t.count * t.dtype.size, t.dtype.size
    size, align = 0, 1
    for _, kind in t.members:
        s, a = size_align(kind)
        size = -(-size // a) * a + s
        align = max(align, a)
    return -(-size // align) * align, align


def struct_offsets(t: StructType) -> dict[str, int]:
    """Byte offset of every member under C rules."""
    out: dict[str, int] = {}
    size = 0
    for key, kind in t.members:
        s, a = size_align(kind)
        size = -(-size // a) * a
        out[key] = size
        size += s
    return out
