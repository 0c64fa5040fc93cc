"""The tracer: walks the AST of a kernel once per specialisation and builds IR.

State that every part shares: the block being filled, the stack of frames, declarations made so far. The parts
(statements, loops, expressions, calls, ...) are mixins, one file each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import contextmanager

from quadrants import banner
from quadrants.errors import (
    QuadrantsCompilationError,
    QuadrantsRuntimeError,
    QuadrantsRuntimeTypeError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
from quadrants.frontend.arguments import Arguments
from quadrants.frontend.atomics import Atomics
from quadrants.frontend.calls import Calls
from quadrants.frontend.companions import Companions
from quadrants.frontend.containers import Containers
from quadrants.frontend.differentiated import Differentiated
from quadrants.frontend.expressions import Expressions
from quadrants.frontend.frame import Frame
from quadrants.frontend.graphs import Graphs
from quadrants.frontend.loops import Loops
from quadrants.frontend.memory import Memory
from quadrants.frontend.order import Order
from quadrants.frontend.output import Output
from quadrants.frontend.purity import Purity
from quadrants.frontend.realcall import RealCalls
from quadrants.frontend.returns import Returns
from quadrants.frontend.simt import Simt
from quadrants.frontend.statements import Statements
from quadrants.frontend.structcell import StructCell
from quadrants.frontend.views import Views
from quadrants.ir.names import identifier, is_reserved
from quadrants.ir.nodes import (
    Builtin,
    Cast,
    Cell,
    Check,
    Const,
    Declare,
    ElemPlace,
    Load,
    Loc,
    MatOp,
    MemberPlace,
    Store,
    Var,
    VarPlace,
)
from quadrants.ir.types import DType, StructType, f32, f64, i32
from quadrants.lang import access, typed
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.value import Value

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Tracer(
    Statements,
    Containers,
    Loops,
    Graphs,
    Expressions,
    Order,
    Calls,
    RealCalls,
    Arguments,
    Output,
    Returns,
    Memory,
    Companions,
    Differentiated,
    Views,
    Purity,
    Atomics,
    Simt,
):
    def __init__(self, options):
        self.options = options
        self.default_fp = options.get("default_fp", f32)
        self.default_ip = options.get("default_ip", i32)
        self.debug = bool(options.get("debug"))
        self.ad_mode = options.get("ad_mode", "")
        self.inlines_all = bool(self.ad_mode)  # derivatives are made of the body of one kernel
        self.check_bounds = bool(options.get("check_out_of_bound")) or self.debug
        self.short_circuit = options.get("short_circuit_operators", True)
        self.unrolling_limit = options.get("unrolling_limit", 32)
        self.block: list = []
        self.frames: list = []
        self.functions: dict = {}
        self.function_list: list = []
        self.def_lines: dict = {}
        self.arrays: list = []
        self.fields: dict = {}
        self.bindings: list = []
        self.bound: dict = {}
        self.sites: list = []
        self.local_names: set = set()
        self.global_names: set = set()
        self.all_names: set = set()
        self.hint = ""
        self.loop_stack: list = []
        self.static_depths: list = []
        self.parallel_depth = 0
        self.in_function = 0
        self.runtime_depth = 0
        self.loop_config = None
        self.keep: list = []
        self.call_stack: list = []
        self.purity = False
        self.kernel_name = ""
        self.warned: set = set()
        self.outside: set = set()
        self.stack_matters = False
        self.parameter_annotations: dict = {}
        self.attributes: dict = {}  # sources that were read off template objects, in order
        self.selecting: set = set()  # those of them by which launches choose the specialisation
        self.prints = False
        self.called: list = []
        self.inline_only: set = set()
        self.regions: list = []
        self.labels: list = []
        self.parameter_variables: set = set()

    # ------------------------------------------------------------ frames, positions, errors

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    @property
    def top_level(self) -> bool:
        """Whether a runtime `for` met now becomes a task of the kernel."""
        return self.runtime_depth == 0 and not self.in_function

    def loc(self) -> Loc:
        return Loc(tuple((f.source.file, self.line_of(f), identifier(f.name)) for f in self.frames))

    def note_def(self, frame: Frame) -> None:
        """Of functions of one name the first counts."""
        name, line = identifier(frame.name), frame.source.tree.lineno + frame.source.line0
        self.def_lines[name] = min(line, self.def_lines.get(name, line))

    @staticmethod
    def line_of(frame: Frame) -> int:
        line = getattr(frame.node, "lineno", 1)
        return line + frame.source.line0

    def error_frames(self) -> list:
        out = []
        for f in self.frames:
            node = f.node or f.source.tree
            out.append(
                banner.Frame(
                    file=f.source.file,
                    line=node.lineno + f.source.line0,
                    col=node.col_offset + f.source.indent,
                    end_line=(node.end_lineno or node.lineno) + f.source.line0,
                    end_col=(node.end_col_offset or node.col_offset) + f.source.indent,
                    function=f.name,
                )
            )
        return out

    def reported_loc(self) -> Loc:
        """The place for a report that is printed while the kernel runs: the innermost line that is the user's own.

        A func that stays a function has many callers, so its report cannot name one.
        """
        frames = self.error_frames()
        k = len(frames) - 1
        while k > 0 and self.frames[k].kind == "inline" and frames[k].file.startswith(_PACKAGE):
            k -= 1
        return Loc(self.loc().frames, banner.format_frame(frames[k]).rstrip("\n"))

    def translate_error(self, error: BaseException) -> BaseException:
        """The user's banner around an error met while tracing; foreign exceptions become compilation errors."""
        if getattr(error, "_qd_located", False):
            return error
        frames = self.error_frames()
        if isinstance(error, QuadrantsCompilationError):
            kind, message = type(error), str(error)
        elif type(error) in (RuntimeError, QuadrantsRuntimeError, QuadrantsRuntimeTypeError):
            kind, message = type(error), str(error)
        elif isinstance(error, RecursionError):
            kind = QuadrantsSyntaxError
            message = "Nested too deeply: split the expression, or end the recursion of a @qd.func with qd.static."
        else:
            kind, message = QuadrantsCompilationError, f"{type(error).__name__}: {error}"
        located = kind(banner.format_banner(frames, message))
        located._qd_located = True
        return located

    # ------------------------------------------------------------ names, variables, blocks

    def unique_name(self, base: str) -> str:
        """A name for a local: unused in the enclosing blocks and by functions and arrays."""
        name = self._fresh(base, lambda n: n in self.local_names or n in self.global_names)
        self.local_names.add(name)
        self.all_names.add(name)
        return name

    def global_name(self, base: str, along: Callable[[str], Iterable[str]] = lambda _: ()) -> str:
        """A name for a function, parameter or array: never used before in this kernel, nor those `along(name)`."""
        name = self._fresh(base, lambda n: n in self.all_names or not self.all_names.isdisjoint(along(n)))
        self.global_names |= {name, *along(name)}
        self.all_names |= {name, *along(name)}
        return name

    @staticmethod
    def _fresh(base: str, taken) -> str:
        base = identifier(base)
        if is_reserved(base):
            base = f"{base.lstrip('_') or 'x'}_"
            base = f"user_{base}" if base.startswith("qd_") else base
        if not taken(base):
            return base
        k = 1
        while taken(f"{base}_{k}"):
            k += 1
        return f"{base}_{k}"

    def emit(self, stmt) -> None:
        if stmt.loc is None:
            stmt.loc = self.loc()
        self.block.append(stmt)

    @contextmanager
    def static_scope(self):
        """Names bound inside end with it. After an error in a called function the innermost frame is another one."""
        frame = self.frame
        frame.scopes.append({})
        try:
            yield
        finally:
            frame.scopes.pop()

    @contextmanager
    def in_block(self, block: list, fresh_names: bool = True):
        saved, self.block = self.block, block
        names = set(self.local_names) if fresh_names else None
        try:
            with self.static_scope():
                yield block
        finally:
            self.block = saved
            if names is not None:
                self.local_names = names

    @contextmanager
    def runtime_control(self):
        """Inside a run-time if, for or while: no tasks, no returns."""
        frame = self.frame
        self.runtime_depth += 1
        frame.control_depth += 1
        try:
            yield
        finally:
            self.runtime_depth -= 1
            frame.control_depth -= 1

    def new_var(self, name: str, t, mutable: bool = True) -> Var:
        level = 1 if (self.parallel_depth or self.in_function) else 0
        return Var(self.unique_name(name), t, mutable, level=level)

    def declare(self, name: str, expr, mutable: bool = True) -> Value:
        var = self.new_var(name, expr.type, mutable)
        self.emit(Declare(var, expr))
        return self.variable(var)

    def temp(self, value, name: str = "t") -> Value:
        """A value that may be read several times: itself when it is a constant or an unassigned variable."""
        v = typed.to_value(value)
        e = v.expr
        if isinstance(e, Const):
            return v
        if isinstance(e, Load) and is_settled(e.place):
            return v
        held = self.declare(name, e, mutable=False)
        held.place.var.temporary = True
        return held

    def named(self, expr, name: str) -> Value:
        """Declare a user's variable; takes over a temporary that was made for this very value."""
        last = self.block[-1] if self.block else None
        if (
            isinstance(last, Declare)
            and isinstance(expr, Load)
            and isinstance(expr.place, VarPlace)
            and expr.place.var is last.var
            and last.var.temporary
        ):
            last.var.temporary = False
            last.var.name = self.unique_name(name)
            last.var.mutable = True
            return self.variable(last.var)
        return self.declare(name, expr)

    # ------------------------------------------------------------ assignment

    def assign_to(self, target, value) -> None:
        """Store `value` to a place: a variable, cell, component, slice or struct cell."""
        if isinstance(target, StructCell):
            self._assign_struct_cell(target, value)
            return
        if isinstance(target, KernelObject):
            target.assign(value)
            return
        if isinstance(target, Value) and target.immutable:
            raise self.immutable_error(target.immutable)
        targets = getattr(target, "targets", None)
        if targets is not None:
            self._assign_slice(target, targets, value)
            return
        if not isinstance(target, Value) or target.place is None:
            raise self.syntax_error("cannot assign to this expression: it is not a variable or an element")
        t = target.type
        expr = self.convert_for(value, t)
        place = target.place
        if isinstance(place, Cell) and place.array.components is not None:
            held = self.temp(Value(expr))
            for k, part in enumerate(self.component_places(place)):
                element = held[k] if len(t.shape) == 1 else held[k // t.shape[1], k % t.shape[1]]
                self._store(part, element.expr)
            return
        self._store(place, expr)

    def _store(self, place, expr) -> None:
        self.emit(Store(place, expr))

    def convert_for(self, value, t):
        from quadrants.lang import structs

        if isinstance(t, StructType) and isinstance(value, dict):
            return structs.construct(t, (), value).expr
        e = typed.to_expr(value)
        converted = typed.convert_expr(e, t)
        self._note_loss(e, t)
        return converted

    def _note_loss(self, e, t) -> None:
        """Log an assignment that drops digits; literals that the target holds exactly are silent."""
        if isinstance(t, StructType) or (isinstance(e, Const) and float(e.value).is_integer()):
            return
        have, want = typed.element_dtype(e.type), typed.element_dtype(t)
        narrower = have.is_real == want.is_real and have.bits > want.bits
        if want.kind != "b" and (have.is_real and not want.is_real or narrower):
            self.log_once(f"Assign may lose precision: {want} <- {have}")

    def component_places(self, place) -> list:
        """The places of a cell whose components live in separate arrays."""
        indices = tuple(self.temp(Value(e)).expr for e in place.indices)
        return [Cell(part, indices, part.type) for part in place.array.components]

    def _assign_slice(self, target, targets, value) -> None:
        held = self.temp(Value(typed.convert_expr(typed.to_expr(value), target.type)))
        shape = target.shape
        for k, part in enumerate([self.stable_target(t) for t in targets]):
            self.assign_to(part, held[k] if len(shape) == 1 else held[k // shape[1], k % shape[1]])

    def _assign_struct_cell(self, target: StructCell, value) -> None:
        if isinstance(value, dict):
            items = value
        else:
            v = value.as_value() if isinstance(value, StructCell) else typed.to_value(value)
            if not v.is_struct:
                raise QuadrantsTypeError(f"cannot assign '{v.type}' to a struct")
            if [k for k, _ in v.type.members] != target.keys:
                raise QuadrantsTypeError(
                    f"Member mismatch between structs: {target.keys} and {[k for k, _ in v.type.members]}"
                )
            held = self.temp(v)
            items = {k: access.member(held, k) for k in target.keys}
        for key, item in items.items():
            self.assign_to(target.member(key), item)

    # ------------------------------------------------------------ checks that may fail at run time

    def check(self, cond, message, values=()) -> None:
        """Fail the launch with `message` (a site description) unless `cond` holds."""
        if isinstance(cond, Const) and cond.value:
            return
        self.sites.append((message, self.error_frames(), self.kernel_name))
        exprs = tuple(e if isinstance(e.type, DType) else Cast(e, f32) for e in values)
        self.emit(Check(cond, len(self.sites) - 1, exprs))

    def is_local_place(self, place) -> bool:
        """Whether a place is private to this thread: its root is a variable declared inside the loop or function."""
        while not isinstance(place, VarPlace):
            if isinstance(place, Cell):
                return False
            place = place.base
        var = place.var
        if var.by_ref or self.in_function:
            return True
        return var.level > 0 or self.parallel_depth == 0

    def thread_index(self) -> Value:
        return Value(Builtin("thread_index", i32))

    def frexp(self, x):
        """(mantissa, exponent) of a real value."""
        held = self.temp(x)
        if held.type not in (f32, f64):
            raise QuadrantsTypeError(f"'frexp' takes f32 or f64, however '{held.type}' is provided")
        mantissa = Value(MatOp("frexp_mantissa", (held.expr,), held.type))
        exponent = Value(MatOp("frexp_exponent", (held.expr,), i32))
        return mantissa, exponent


def is_settled(place) -> bool:
    """Whether a place is a variable that is never assigned again, or a fixed component of one."""
    while isinstance(place, (ElemPlace, MemberPlace)):
        if isinstance(place, ElemPlace) and not all(isinstance(i, Const) for i in place.indices):
            return False
        place = place.base
    return isinstance(place, VarPlace) and not place.var.mutable
