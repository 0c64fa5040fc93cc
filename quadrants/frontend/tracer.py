"""The tracer: walks the AST of a kernel once per specialisation and builds IR.

State that every part shares: the block being filled, the stack of frames, declarations made so far. The parts
(statements, loops, expressions, calls, ...) are mixins, one file each.
"""

from __future__ import annotations

from quadrants.errors import (
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
from quadrants.frontend.arguments import Arguments
from quadrants.frontend.atomics import Atomics
from quadrants.frontend.calls import Calls
from quadrants.frontend.companions import Companions
from quadrants.frontend.containers import Containers
from quadrants.frontend.declared import Declared
from quadrants.frontend.differentiated import Differentiated
from quadrants.frontend.expressions import Expressions
from quadrants.frontend.flow import Flow
from quadrants.frontend.functions import Functions
from quadrants.frontend.graphs import Graphs
from quadrants.frontend.loops import Loops
from quadrants.frontend.memory import Memory
from quadrants.frontend.names import Names
from quadrants.frontend.options import Options
from quadrants.frontend.order import Order
from quadrants.frontend.output import Output
from quadrants.frontend.positions import Positions
from quadrants.frontend.purity import Purity
from quadrants.frontend.realcall import RealCalls
from quadrants.frontend.record import Record
from quadrants.frontend.reports import Reports
from quadrants.frontend.returns import Returns
from quadrants.frontend.simt import Simt
from quadrants.frontend.statements import Statements
from quadrants.frontend.structcell import StructCell
from quadrants.frontend.views import Views
from quadrants.frontend.writer import Writer
from quadrants.ir.nodes import (
    Builtin,
    Cell,
    Const,
    MatOp,
    Store,
)
from quadrants.ir.types import StructType, f32, f64, i32
from quadrants.lang import access, typed
from quadrants.lang.kernel_object import KernelObject
from quadrants.lang.value import Value


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
    Atomics,
    Simt,
):
    def __init__(self, options: Options, record: Record | None = None):
        self.options = options
        self.names = Names()
        self.positions = Positions()
        self.reports = Reports(self.positions)
        self.flow = Flow(self.positions)
        self.writer = Writer(options, self.names, self.positions, self.flow)
        self.declared = Declared()
        self.functions = Functions(options, self.positions)
        self.purity = Purity(options, self.positions, self.reports, record)
        self.outside: set = set()
        self.regions: list = []
        self.labels: list = []
        self._serve_language()

    def _serve_language(self) -> None:
        """What `KernelTracer` declares and parts have."""
        self.default_fp, self.default_ip = self.options.default_fp, self.options.default_ip
        self.debug, self.check_bounds = self.options.debug, self.options.check_bounds
        self.arch_name = self.options.arch_name
        self.resolve_dtype = self.options.resolve_dtype
        self.emit, self.declare, self.temp = self.writer.emit, self.writer.declare, self.writer.temp
        self.check, self.reported_loc = self.writer.check, self.positions.reported_loc

    @property
    def top_level(self) -> bool:
        return self.flow.top_level

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
            raise QuadrantsSyntaxError("cannot assign to this expression: it is not a variable or an element")
        t = target.type
        expr = self.convert_for(value, t)
        place = target.place
        if isinstance(place, Cell) and place.array.components is not None:
            held = self.writer.temp(Value(expr))
            for k, part in enumerate(self.component_places(place)):
                element = held[k] if len(t.shape) == 1 else held[k // t.shape[1], k % t.shape[1]]
                self._store(part, element.expr)
            return
        self._store(place, expr)

    def _store(self, place, expr) -> None:
        self.writer.emit(Store(place, expr))

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
            self.reports.log_once(f"Assign may lose precision: {want} <- {have}")

    def component_places(self, place) -> list:
        """The places of a cell whose components live in separate arrays."""
        indices = tuple(self.writer.temp(Value(e)).expr for e in place.indices)
        return [Cell(part, indices, part.type) for part in place.array.components]

    def _assign_slice(self, target, targets, value) -> None:
        held = self.writer.temp(Value(typed.convert_expr(typed.to_expr(value), target.type)))
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
            held = self.writer.temp(v)
            items = {k: access.member(held, k) for k in target.keys}
        for key, item in items.items():
            self.assign_to(target.member(key), item)

    def thread_index(self) -> Value:
        return Value(Builtin("thread_index", i32))

    def frexp(self, x):
        """(mantissa, exponent) of a real value."""
        held = self.writer.temp(x)
        if held.type not in (f32, f64):
            raise QuadrantsTypeError(f"'frexp' takes f32 or f64, however '{held.type}' is provided")
        mantissa = Value(MatOp("frexp_mantissa", (held.expr,), held.type))
        exponent = Value(MatOp("frexp_exponent", (held.expr,), i32))
        return mantissa, exponent
