"""Types, expressions and containers as the grammar knows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..model.numbers import DTYPES, DType

INTS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
SIGNED = ("i8", "i16", "i32", "i64")
REALS = ("f16", "f32", "f64")


def dtype(name: str) -> DType:
    return DTYPES[name]


@dataclass(frozen=True)
class Type:
    """Numbers, vectors (one axis) and matrices."""

    dtype: DType
    shape: tuple = ()

    @property
    def real(self) -> bool:
        return self.dtype.real

    @property
    def text(self) -> str:
        scalar = f"qd.{self.dtype.name}"
        if not self.shape:
            return scalar
        sizes = ", ".join(map(str, self.shape))
        return f"qd.types.{'vector' if len(self.shape) == 1 else 'matrix'}({sizes}, {scalar})"

    def element(self) -> Type:
        return Type(self.dtype)


U1, I32 = Type(dtype("u1")), Type(dtype("i32"))


@dataclass(frozen=True, eq=False)
class StructDecl:
    """A struct class. members: (name, Type or StructDecl); methods: (name, Func)."""

    name: str
    members: tuple
    methods: list = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.name


@dataclass(frozen=True)
class Expr:
    """Text that needs no parentheses around it, or has them. `low`, `high`: bounds of an integer, if known.

    `literal`: Python's own arithmetic until it meets a run-time value.
    """

    text: str
    type: Type
    low: int | None = None
    high: int | None = None
    literal: bool = False

    @property
    def ranged(self) -> bool:
        return self.low is not None


def integer(text: str, type: Type, low: int | None, high: int | None, literal: bool = False) -> Expr:
    """An integer with bounds, which are dropped where the type cannot hold them."""
    if low is not None and not type.shape:
        bits = type.dtype.bits
        least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type.dtype.signed else (0, (1 << bits) - 1)
        if least <= low <= high <= most:
            return Expr(text, type, low, high, literal)
    return Expr(text, type, None, None, literal)


@dataclass(eq=False)
class Container:
    """Something with cells. `access`: how kernels name it; `host`: how `main` does.

    `annotation`, `argument`: of the parameter that hands it over; None for globals and members.
    """

    access: str
    host: str
    type: Type | StructDecl
    shape: tuple
    offset: tuple
    declaration: list
    annotation: str | None = None
    argument: str | None = None
    blocked: bool = False
    fresh: bool = False  # a NumPy array: `host` is the array itself
    clamped: bool = False  # an index out of range stands for the nearest one in range
    loops: bool = True  # struct-for is possible


@dataclass
class Var:
    """A variable in sight."""

    name: str
    type: Type | StructDecl
    writable: bool = True
    low: int | None = None
    high: int | None = None
    level: int = 0  # 0: of the kernel's top, which parallel loops share
    constant: bool = False  # known while the program is read


@dataclass
class Own:
    """In a parallel loop: the cell of a container that belongs to the iteration. `index`: its text, in some form."""

    container: Container
    index: Callable[[], str]


@dataclass
class FuncDecl:
    """A func. params: (name, Type, StructDecl or None for containers, mode)."""

    name: str
    params: list
    results: list  # types
    lines: list
    parallel_ok: bool = True  # it writes nothing but its parameters
    real: bool = False
    default_last: bool = False
    receiver: bool = False


def indented(lines: list) -> list:
    return ["    " + line for line in lines]
