"""Buffer views in kernel scope: a 1-d array, an offset and a size, all three known to the tracer as expressions.

Without debug mode `v[i]` is `array[offset + i]` and nothing else. In debug mode every access and every new window is
checked; what then fails the launch carries the stack of calls, a constant of the place in the program."""

from __future__ import annotations

from dataclasses import dataclass

from quadrants.calls.view import not_a_view
from quadrants.errors import (
    QuadrantsCompilationError,
    QuadrantsIndexError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
from quadrants.frontend.memory import Memory
from quadrants.frontend.refs import ArrayRef
from quadrants.frontend.state import State
from quadrants.ir.nodes import ArrayDecl, Binary, Const, Extent, Load, Var, VarPlace
from quadrants.ir.types import i32, i64, u1
from quadrants.lang import access, typed
from quadrants.lang.described import type_name
from quadrants.lang.func import Func
from quadrants.lang.value import Value

LONG_CALLSTACK = 1024  # characters


@dataclass(slots=True, eq=False, repr=False)
class ViewRef:
    """A view in kernel scope. `offset` and `size` are i32 Values that no later statement changes.

    `variables` are those that a launch fills, for a parameter; empty for a window made in the kernel.
    """

    decl: ArrayDecl
    offset: Value
    size: Value
    variables: tuple = ()


class Views:
    """What a buffer view can do in a kernel."""

    __slots__ = ("options", "names", "positions", "reports", "writer", "declared", "functions", "memory")

    def __init__(self, state: State, memory: Memory) -> None:
        self.options = state.options
        self.names = state.names
        self.positions = state.positions
        self.reports = state.reports
        self.writer = state.writer
        self.declared = state.declared
        self.functions = state.functions
        self.memory = memory

    def view_parameter(self, source: tuple, name: str, annotation, x) -> ViewRef:
        """The view found at `source`: its array and two numbers are read at every launch."""
        found = self.declared.bound.get(source)
        if found is not None:
            return found
        self.check_view_element(annotation, x, name)
        clamp = getattr(annotation, "boundary", 0) == 1
        decl = ArrayDecl(
            name=self.names.array_name(name), kind="array", type=x.arr.element_type, ndim=1, label=name, source=source,
            clamp=clamp, extents=clamp or self.options.check_bounds and not self.options.debug,
        )  # fmt: skip
        self.declared.add_array(decl)
        variables = tuple(
            Var(self.names.global_name(f"{name}_{part}"), i32, natural=True) for part in ("offset", "size")
        )
        offset, size = (Value(self.writer.variable(v).expr) for v in variables)
        ref = self.declared.bound[source] = ViewRef(decl, offset, size, variables)
        self.declared.bind_source(source, "view", ref)
        return ref

    def check_view_element(self, annotation, x, name: str) -> None:
        """The element type that `BufferView[dtype]` asks for."""
        wanted = getattr(annotation, "dtype", None)
        if wanted is None:
            return
        wanted = wanted.ir_type() if hasattr(wanted, "ir_type") else self.options.resolve_dtype(wanted)
        if wanted != x.arr.element_type:
            raise QuadrantsTypeError(f"Expect element type {wanted} for argument {name}, but get {x.arr.element_type}")

    def view_argument(self, func: Func, name: str, x) -> ViewRef:
        """A func's parameter that is declared as a view."""
        if not isinstance(x, ViewRef):
            got = x.type if isinstance(x, Value) else type(x).__name__
            raise QuadrantsSyntaxError(f"{func.fn.__name__}: {not_a_view(name, got)}")
        return x

    # ------------------------------------------------------------ what a view can do

    def subscript_view(self, view: ViewRef, indices) -> Value | ViewRef:
        """`v[i]`, or the view `v[a:b]`."""
        flat = access.flatten_indices(indices)
        if any(isinstance(x, slice) for x in flat):
            if len(flat) != 1:
                raise QuadrantsSyntaxError("BufferView only supports 1D slicing in kernels: write v[begin:end].")
            return self._sliced(view, flat[0])
        if len(flat) != 1:
            raise QuadrantsIndexError(f"BufferView with dim 1 accessed with indices of dim {len(flat)}")
        index = Value(access.index_value(flat[0], 0))
        if self.options.debug:
            (index,) = self._held_as_i32("access", (index,), (view.offset, view.size))
            inside = typed.binary("logic_and", typed.binary("ge", index, 0), typed.binary("lt", index, view.size))
            self._check_view("access", inside, (index, view.offset, view.size))
        return self.memory.array_cell(view.decl, (self._in_array(view, index.expr),))

    def _in_array(self, view: ViewRef, e):
        """The index in its array of index `e` of a view."""
        if view.decl.clamp:  # before the offset is added, which may leave i32
            last = typed.binary("sub", Value(self.memory.extents(view.decl)[0]), 1)
            first, last = typed.binary("sub", 0, view.offset), typed.binary("sub", last, view.offset)
            e = access.limited(access.saturated(e), first, last)
        if self.options.check_bounds:
            (e,) = self.memory.check_width((e,), self.memory.bounds_site(view.decl))
        return typed.binary("add", view.offset, Value(access.narrowed(e))).expr

    def _sliced(self, view: ViewRef, s: slice) -> ViewRef:
        if s.step is not None:
            raise QuadrantsSyntaxError(
                "BufferView does not support an explicit step in kernels: write v[begin:end]; the step is always one."
            )
        begin = self._bound(0 if s.start is None else s.start, "begin")
        end = view.size if s.stop is None else self._bound(s.stop, "end")
        if not access.may_exceed_i32(begin.expr) and not access.may_exceed_i32(end.expr):
            return self.subview(view, begin, typed.binary("sub", end, begin))
        begin, end = self.writer.temp(begin), self.writer.temp(end)
        return self.subview(view, begin, typed.binary("sub", typed.cast(end, i64), typed.cast(begin, i64)))

    def subview(self, view: ViewRef, offset, size) -> ViewRef:
        """The window of `size` elements from element `offset` of a view on."""
        offset, size = self.writer.temp(self._bound(offset, "offset")), self._held(self._bound(size, "size"))
        if self.options.debug:
            offset, size = self._check_window("subview", offset, size, view.size)
        return ViewRef(view.decl, self.writer.temp(typed.binary("add", view.offset, offset)), size)

    def _held(self, size: Value) -> Value:
        """A size that no later statement changes: most windows are not asked for it, so it costs nothing until then."""
        return self.writer.temp(size) if self.options.debug or not _is_lasting(size.expr) else size

    def view_attribute(self, view: ViewRef, name: str):
        if name == "size":
            return view.size
        if name == "shape":
            return (view.size,)
        if name == "offset":
            return view.offset
        if name == "dtype":
            return typed.element_dtype(view.decl.type)
        if name == "subview":
            return lambda offset, size: self.subview(view, offset, size)
        raise QuadrantsCompilationError(
            f"A BufferView has no attribute '{name}' in kernels; it has size, shape, offset, dtype and "
            "subview(offset, size)."
        )

    def construct_view(self, arr, offset, size) -> ViewRef:
        """`BufferView(arr, offset, size)` in kernel scope."""
        if isinstance(arr, ViewRef):
            raise QuadrantsCompilationError(
                "Cannot nest BufferView: take a window of a view with view.subview(offset, size) or view[begin:end]."
            )
        if not isinstance(arr, ArrayRef):
            raise QuadrantsCompilationError(
                "BufferView requires a 1D ndarray parameter; fields and compile-time values cannot be viewed."
            )
        decl = arr.decl
        if decl.ndim != 1:
            raise QuadrantsCompilationError(f"BufferView requires a 1D ndarray; '{decl.label}' has {decl.ndim} axes.")
        if arr.grad is not None:
            raise QuadrantsCompilationError("BufferView does not support ndarrays with gradients.")
        offset, size = self.writer.temp(self._bound(offset, "offset")), self.writer.temp(self._bound(size, "size"))
        if self.options.debug:
            length = self.writer.temp(Value(Extent(decl, 0, i32)))
            offset, size = self._check_window("construction", offset, size, length)
        return ViewRef(decl, offset, size)

    def _bound(self, x, what: str) -> Value:
        """A bound of a window: as i32, but in its own dtype where it is checked whether i32 holds it."""
        found = _integer(x, what)
        return found if self.options.debug else Value(access.narrowed(found.expr))

    # ------------------------------------------------------------ debug mode

    def _check_window(self, kind: str, offset: Value, size: Value, length: Value) -> tuple:
        """Offset and size as i32, behind a check that the window lies in `length` elements."""
        offset, size = self._held_as_i32(kind, (offset, size), (length,))
        self._check_view(kind, _fits(offset, size, length), (offset, size, length))
        return offset, size

    def _held_as_i32(self, kind: str, numbers: tuple, others: tuple) -> tuple:
        """Numbers that no later statement changes, behind a check that i32 holds them."""
        numbers = tuple(map(self.writer.temp, numbers))
        wide = [x.expr for x in numbers if access.may_exceed_i32(x.expr)]
        if wide:
            self._check_view(kind, Value(access.fit_indices(wide)), (*numbers, *others))
        return tuple(self.writer.temp(Value(access.narrowed(x.expr))) for x in numbers)

    def _check_view(self, kind: str, cond: Value, values: tuple) -> None:
        stack = () if kind == "construction" else self._callstack()
        self.functions.stack_matters = True
        self.writer.check(cond.expr, ("view", kind, stack), tuple(v.expr for v in values))

    def _callstack(self) -> tuple:
        """One line per function from the kernel inwards; neighbours of one name and file collapse."""
        lines: list = []
        for frame in self.positions.frames:
            file, line = frame.source.file, self.positions.line_of(frame)
            if lines and lines[-1][:2] == (frame.name, file):
                lines[-1] = (frame.name, file, line)
            else:
                lines.append((frame.name, file, line))
        out = tuple(f"{'  ' * depth}{name} ({file}:{line})" for depth, (name, file, line) in enumerate(lines))
        if sum(map(len, out)) + len(out) > LONG_CALLSTACK:
            self.reports.log_warning(
                f"Large callstack strings increase compiled binary size: the calls that lead to this BufferView access "
                f"take {sum(map(len, out))} characters. Run without debug=True, or nest fewer functions."
            )
        return out


def _integer(x, what: str) -> Value:
    """A bound of a window, as i32 or in a dtype that has values which i32 does not hold."""
    if isinstance(x, Value):
        if not x.is_scalar or x.type.is_real:
            raise QuadrantsTypeError(f"BufferView: {what} must be an integer, got {x.type}")
        constant = access.constant_of(x)
        if constant is None:
            return x if access.may_exceed_i32(x.expr) else typed.cast(x, i32)
        x = constant
    if isinstance(x, bool) or not hasattr(x, "__index__"):
        raise QuadrantsTypeError(f"BufferView: {what} must be an integer, got {type_name(x)}")
    if x < 0:
        raise QuadrantsSyntaxError(f"BufferView: {what}={x}; negative bounds are not supported in kernels.")
    return Value(access.index_value(int(x), 0))


def _is_lasting(e) -> bool:
    """Whether an expression of constants and variables that are never assigned has the same value wherever it is."""
    if isinstance(e, Binary):
        return e.loc is None and _is_lasting(e.a) and _is_lasting(e.b)
    return isinstance(e, Const) or isinstance(e, Load) and isinstance(e.place, VarPlace) and not e.place.var.mutable


def _fits(offset: Value, size: Value, length: Value) -> Value:
    """Whether a window lies in `length` elements; written so that nothing overflows."""
    test = typed.binary("logic_and", typed.binary("ge", offset, 0), typed.binary("ge", size, 0))
    inside = typed.binary("logic_and", test, typed.binary("le", offset, typed.binary("sub", length, size)))
    return inside if inside.type is u1 else typed.cast(inside, u1)
