"""Register tiles: an N x N matrix spread over N neighbouring lanes, of which lane t holds row t in N registers.

        lane 0    r[0] r[1] ... r[N-1]
        lane 1    r[0] r[1] ... r[N-1]          column k of row t: register r[k] of lane t
        ...

Lanes see one another's rows by shuffles alone: no shared memory, no barrier. Loops over registers are unrolled, so that
no register is indexed by a run-time number.
"""

from __future__ import annotations

from typing import Any

from quadrants.arch import Arch
from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.ir.nodes import Const, ElemPlace, Load, Store
from quadrants.ir.types import DType, f32, f64, i32, tensor_type, u32
from quadrants.lang import access, scope, structs, typed
from quadrants.lang.described import type_name
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.simt import kernel_scope as at
from quadrants.lang.simt.lanes import group_size
from quadrants.lang.simt.tile_slices import BlockSlice, ColumnSlice, lane_of, log2_of
from quadrants.lang.value import Value


class Tile(KernelObject):
    """A tile in a kernel; made by `zeros` and `eye` of `Tile16x16` and `Tile32x32`."""

    SIZE = 0
    what = "tile"

    def __init__(self, var: Value, fresh: bool = False):
        self.var, self.fresh = var, fresh

    @classmethod
    def _tracer(cls):
        tracer = at.tracer_of(cls.__name__)
        if at.is_host(tracer) or not at.has_lanes(tracer):
            raise QuadrantsSyntaxError(
                f"{cls.__name__} requires a GPU backend with subgroups, such as qd.cuda. "
                f"Current arch is {Arch(tracer.arch_name)!r}, which has none"
            )
        if cls.SIZE > group_size():
            raise QuadrantsSyntaxError(
                f"{cls.__name__} requires subgroups of {cls.SIZE} lanes or more, and those of this device have "
                f"{group_size()}. Current arch is {Arch(tracer.arch_name)!r}"
            )
        block_dim = tracer.need_lanes(cls.SIZE)
        if not tracer.in_threads or block_dim is not None and block_dim < cls.SIZE:
            here = f"a block has {block_dim} threads" if tracer.in_threads else "no parallel loop is around it"
            raise QuadrantsSyntaxError(
                f"{cls.__name__} is held by {cls.SIZE} lanes together, and {here}. Write "
                f"`qd.loop_config(block_dim={cls.SIZE})` and `for i in range(count * {cls.SIZE})`, and make it there."
            )
        return tracer

    @classmethod
    def zeros(cls, *, dtype: Any = None) -> Tile:
        """A tile of zeros. dtype: qd.f32 or qd.f64, None for the default of `qd.init`."""
        tracer = cls._tracer()
        t = tracer.default_fp if dtype is None else at.dtype_of(dtype)
        if t not in (f32, f64):
            raise QuadrantsTypeError(f"{cls.__name__}: dtype must be f32 or f64, got {t}")
        return cls(tracer.declare("tile", structs.zero(tensor_type((cls.SIZE,), t))), fresh=True)

    @classmethod
    def eye(cls, *, dtype: Any = None) -> Tile:
        """The identity. dtype: qd.f32 or qd.f64, None for the default of `qd.init`."""
        tile = cls.zeros(dtype=dtype)
        tile.eye_()
        return tile

    # ------------------------------------------------------------ what the frontend asks

    @property
    def dtype(self) -> DType:
        t: DType = self.var.type.dtype
        return t

    @property
    def r(self) -> Registers:
        """The registers of the calling lane: t.r[j], j known at compile time."""
        return Registers(self)

    def named(self, name: str) -> Tile:
        tracer = scope.require()
        if self.fresh:
            self.fresh = False  # another name of it, `v = w = Tile.eye()`, gets a copy
            tracer.rename(self.var, name)
            return type(self)(self.var)
        return type(self)(tracer.declare(name, self.var.expr))

    def snapshot(self) -> Tile:
        return self if self.fresh else type(self)(scope.require().declare("tile", self.var.expr), fresh=True)

    def passed(self, name: str) -> Tile:
        return self.named(name)

    def rebound(self, value: Any, innermost: bool) -> Tile:
        if not isinstance(value, Tile) or type(value) is not type(self):
            raise QuadrantsTypeError(
                f"A name of a {type(self).__name__} can only be assigned another one; to load from an array write "
                "t[:] = a[r0:r1, c0:c1]"
            )
        scope.require().assign_to(self.var, value.var)
        return self

    def subscript(self, indices: tuple) -> WholeTile:
        if len(indices) != 1 or indices[0] != slice(None):
            raise QuadrantsSyntaxError("A tile is indexed by [:] alone; its registers are t.r[j].")
        return WholeTile(self)

    def augment(self, op: str, value: Any) -> None:
        if not isinstance(value, OuterProduct):
            raise QuadrantsTypeError(
                f"unsupported augmented assignment with {type_name(value)}: write t -= qd.outer(a, b)"
            )
        if op != "sub":
            raise QuadrantsTypeError(f"unsupported augmented assignment op '{op}': only t -= qd.outer(a, b) exists")
        self._subtract(value)

    # ------------------------------------------------------------ pieces of the algorithms

    def register(self, k: Value) -> Value:
        """Register k of this lane, readable and writable."""
        place = ElemPlace(self.var.place, (k.expr,), self.dtype)
        return Value(Load(place, self.dtype), place)

    def each(self, visit, begin: Any = 0) -> None:
        """`visit(k)` for the registers from `begin` on."""
        scope.require().repeat(begin, self.SIZE, visit, unroll="full")

    def of_lane(self, value: Value, lane: Any) -> Value:
        """`value` of a lane."""
        tracer = scope.require()
        index = typed.cast(typed.to_value(lane), u32)
        log2 = log2_of(self.SIZE)
        params = (value.type,) if log2 is None else (value.type, log2)
        return tracer.intrinsic("subgroup.shuffle", (value, index), value.type, params)

    def set(self, register: Value, value: Value) -> None:
        scope.require().emit(Store(register.place, typed.cast_expr(value.expr, self.dtype)))

    def number(self, x: float) -> Value:
        return Value(Const(x, self.dtype))

    def lane(self) -> Value:
        return scope.require().temp(lane_of(self.SIZE), "lane_id")

    # ------------------------------------------------------------ operations

    def eye_(self) -> None:
        """Become the identity."""
        lane = self.lane()

        def element(k):
            on_diagonal = typed.binary("eq", lane, k)
            self.set(self.register(k), typed.select(on_diagonal, self.number(1.0), self.number(0.0)))

        self.each(element)

    def load_from(self, block: BlockSlice) -> None:
        """`t[:] = block`"""
        block.each(self.SIZE, lambda k, cell: self.set(self.register(k), Value(Load(cell, cell.type))))

    def store_to(self, block: BlockSlice) -> None:
        """`block = t`"""
        tracer = scope.require()

        def element(k, cell):
            tracer.emit(Store(cell, typed.cast_expr(self.register(k).expr, cell.type)))

        block.each(self.SIZE, element)

    def _subtract(self, product: OuterProduct) -> None:
        """t[i, j] -= a_i b_j"""
        a, b = product.factors(self.dtype, self.SIZE)

        def element(k):
            other = self.of_lane(b, k)
            self.set(self.register(k), typed.binary("sub", self.register(k), typed.binary("mul", a, other)))

        self.each(element)

    def cholesky_(self, eps: Any) -> None:
        """Replace the lower triangle by L with L L^T = A; only the lower triangle is read.

        eps: pivot k is sqrt(max(x, eps)), with the `eps` of lane k. The strict upper triangle stays as it was.
        """
        tracer = self._tracer()
        eps = tracer.temp(typed.cast(typed.to_value(eps), self.dtype), "eps")
        lane = self.lane()

        def column(k):
            """Column k of L; then what it contributes to the columns behind it."""
            own = self.register(k)
            least = eps if isinstance(eps.expr, Const) else self.of_lane(eps, k)
            pivot = self.of_lane(own, k)
            pivot = typed.select(typed.binary("gt", pivot, least), pivot, least)  # least for NaN too
            root = tracer.temp(typed.unary("sqrt", pivot), "root")
            below = typed.select(typed.binary("eq", lane, k), root, typed.binary("truediv", own, root))
            self.set(own, typed.select(typed.binary("ge", lane, k), below, own))
            held = tracer.temp(Value(own.expr), "held")
            self.each(lambda j: update(held, j), begin=typed.binary("add", k, 1))

        def update(held, j):
            other = self.of_lane(held, j)
            left = typed.binary("sub", self.register(j), typed.binary("mul", held, other))
            self.set(self.register(j), typed.select(typed.binary("ge", lane, j), left, self.register(j)))

        self.each(column)

    def solve_triangular_(self, B: Any, lower: bool = True) -> None:
        """Replace the tile B by X with X L^T = B, where L is the lower triangle of this tile."""
        if lower is not True:
            raise QuadrantsTypeError("solve_triangular_: only lower=True is supported")
        if not isinstance(B, Tile) or type(B) is not type(self):
            raise QuadrantsTypeError(f"solve_triangular_ takes another {type(self).__name__}, got {type_name(B)}")
        tracer = self._tracer()
        if B.var.place.var is self.var.place.var:
            self.snapshot().solve_triangular_(B)
            return

        def column(k):
            """Column k of X; then what it contributes to the columns behind it, which do not wait for one another."""
            own, factor = B.register(k), self.register(k)
            solved = tracer.temp(typed.binary("truediv", own, self.of_lane(factor, k)), "solved")
            B.set(own, solved)
            held = tracer.temp(Value(factor.expr), "held")
            self.each(lambda j: update(solved, held, j), begin=typed.binary("add", k, 1))

        def update(solved, held, j):
            other = self.of_lane(held, j)
            B.set(B.register(j), typed.binary("sub", B.register(j), typed.binary("mul", solved, other)))

        self.each(column)


class Tile16x16(Tile):
    """A 16 x 16 matrix over 16 lanes.

    t = qd.simt.Tile16x16.eye(dtype=qd.f32)
    """

    SIZE = 16


class Tile32x32(Tile):
    """A 32 x 32 matrix over 32 lanes.

    t = qd.simt.Tile32x32.eye(dtype=qd.f32)
    """

    SIZE = 32


class WholeTile(KernelObject):
    """`t[:]`"""

    what = "tile"

    def __init__(self, tile: Tile):
        self.tile = tile

    def assign(self, value: Any) -> None:
        if not isinstance(value, BlockSlice):
            raise QuadrantsTypeError("Tile[:] can only be assigned from an array slice: t[:] = a[r0:r1, c0:c1]")
        self.tile.load_from(value)


class Registers(KernelObject):
    """`t.r`"""

    what = "row of registers"

    def __init__(self, tile: Tile):
        self.tile = tile

    def subscript(self, indices: tuple) -> Value:
        index = indices[0] if len(indices) == 1 else indices
        if isinstance(index, Value):
            index = access.constant_of(index)
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise QuadrantsSyntaxError("A register of a tile requires a python-int index: t.r[j], j from qd.static")
        if not 0 <= int(index) < self.tile.SIZE:
            raise QuadrantsSyntaxError(f"t.r[{int(index)}] is out of range: a lane has {self.tile.SIZE} registers")
        return self.tile.register(at.const(int(index), i32))


class OuterProduct(KernelObject):
    """`qd.outer(a, b)`"""

    what = "outer product"

    def __init__(self, a: Any, b: Any):
        self.a, self.b = a, b

    def factors(self, t: DType, size: int) -> tuple:
        """The two values of this lane of a tile, read here; one read where both are the same."""
        a = _factor(self.a, t, size)
        return a, a if self.b is self.a else _factor(self.b, t, size)

    def __add__(self, other: Any):
        raise QuadrantsTypeError("OuterProduct does not support composition: write one `t -= qd.outer(a, b)` for each")

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __add__

    def __neg__(self):
        return self + self


def _factor(x: Any, t: DType, size: int) -> Value:
    value = x.read(size) if isinstance(x, ColumnSlice) else typed.to_value(x)
    if not isinstance(value.type, DType):
        raise QuadrantsTypeError(f"qd.outer takes scalars of each lane or columns a[r0:r1, c], got {value.type}")
    return scope.require().temp(typed.cast(value, t), "factor")


def outer(a: Any, b: Any) -> OuterProduct:
    """The product a_i b_j of two per-lane scalars or columns `x[r0:r1, c]`, for `tile -= qd.outer(a, b)`.

    tile -= qd.outer(a, b)
    """
    tracer = at.tracer_of("outer")
    held = tracer.temp(a) if isinstance(a, Value) else a
    if b is a:
        return OuterProduct(held, held)
    return OuterProduct(held, tracer.temp(b) if isinstance(b, Value) else b)
