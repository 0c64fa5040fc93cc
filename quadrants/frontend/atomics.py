"""Atomic operations: which targets and operands they take, and one IR node for each scalar."""

from __future__ import annotations

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.old_values import LazyTensor, OldValue
from quadrants.frontend.places import Places, immutable_error
from quadrants.frontend.refs import ArrayRef
from quadrants.frontend.state import State
from quadrants.frontend.structcell import StructCell
from quadrants.ir import walk
from quadrants.ir.nodes import Atomic, Binary, Const, Eval, Loc
from quadrants.ir.types import StructType, TensorType, element_dtype, promote, tensor_type, u1
from quadrants.lang import tensor, typed
from quadrants.lang.debug_checks import REPORTED
from quadrants.lang.kinds import FIELD_KINDS, kind_of
from quadrants.lang.value import Value

BITWISE = ("and", "or", "xor")


class Atomics:
    """Emits atomic operations."""

    __slots__ = ("options", "positions", "reports", "writer", "places")

    def __init__(self, state: State, places: Places) -> None:
        self.options = state.options
        self.positions = state.positions
        self.reports = state.reports
        self.writer = state.writer
        self.places = places

    def atomic_target(self, x, op: str) -> Value:
        """The first operand of `atomic_<op>`: something that can be written, or QuadrantsSyntaxError."""
        name = f"atomic_{op}"
        if kind_of(x) in FIELD_KINDS or isinstance(x, ArrayRef):
            raise QuadrantsSyntaxError(
                f"cannot use a Field directly as the first operand of '{name}'; index it: qd.{name}(x[i], ...)"
            )
        refusal = f"cannot use a non-writable target as the first operand of '{name}'"
        if isinstance(x, StructCell) or isinstance(x, Value) and isinstance(x.type, StructType):
            raise QuadrantsSyntaxError(f"{refusal}: a whole struct; use its members")
        if not isinstance(x, Value) or x.place is None:
            raise QuadrantsSyntaxError(f"{refusal}; index the field or array first.")
        if x.immutable:
            raise QuadrantsSyntaxError(f"{refusal}. {immutable_error(x.immutable)}")
        if (var := walk.fixed_var(x.place)) is not None:
            raise QuadrantsSyntaxError(f"{refusal}: '{var.name}' cannot be assigned; copy it to another name first.")
        return x

    @staticmethod
    def _check_kinds(op: str, augmented: str, t, operands: list) -> None:
        """QuadrantsTypeError for dtypes that the operation does not have."""
        dtypes = [element_dtype(t), *(element_dtype(e.type) for e in operands)]
        if dtypes[0] is u1 and not augmented and op not in BITWISE:
            raise QuadrantsTypeError(f"'atomic_{op}' does not work on u1; use an integer type such as qd.i32")
        if op not in (*BITWISE, "cas") or not any(d.is_real for d in dtypes):
            return
        names = " and ".join(f"'{x}'" for x in (t, *(e.type for e in operands)))
        if augmented:
            raise QuadrantsTypeError(f"unsupported operand type(s) for '{typed.OPS[augmented].symbol}': {names}")
        name = "atomic_cas" if op == "cas" else f"atomic_bit_{op}"
        raise QuadrantsTypeError(
            f"'{name}' requires integer operands, got {names}. Declare the cells with an integer type, such as qd.i32, "
            "and write qd.cast(value, qd.i32) for the operand."
        )

    @staticmethod
    def _check_packed(op: str, augmented: str, place) -> None:
        """QuadrantsTypeError for atomics that quantised numbers do not have."""
        cell = walk.root_cell(place)
        packed = (cell.array.components or (cell.array,))[0].packed if cell is not None else None
        if packed is not None and op not in ("add", "sub") and not augmented:
            raise QuadrantsTypeError(
                f"'atomic_{op}' does not work on a field of the quantised type {packed.format}: it has atomic_add and "
                "atomic_sub. Write x[i] = ..., where no other thread changes the same element"
            )

    def _note_atomic_loss(self, op: str, t, e) -> None:
        """Log an operand that does not fit the target; literals that it holds exactly are silent."""
        want, have = element_dtype(t), element_dtype(e.type)
        exact = isinstance(e, Const) and float(e.value).is_integer()
        if promote(want, have) is not want and not exact:
            self.reports.log_once(f"Atomic {op} may lose precision: {want} <- {have}")

    def atomic(self, op: str, target: Value, value, augmented: str = "", extra=()) -> OldValue | LazyTensor:
        """Emit an atomic on a place; elementwise on tensors. Returns the old value."""
        symbol = augmented or op
        t = target.type
        dtype = element_dtype(t)
        expr = typed.to_expr(value)
        if isinstance(t, StructType) or isinstance(expr.type, StructType):
            raise QuadrantsTypeError(f"unsupported operand type(s) for 'atomic_{op}': '{t}' and '{expr.type}'")
        if isinstance(expr.type, TensorType) and (not isinstance(t, TensorType) or t.shape != expr.type.shape):
            name = typed.OPS[symbol].symbol if symbol in typed.OPS else f"atomic_{op}"
            name = name if augmented else f"atomic_{op}"
            raise QuadrantsTypeError(f"unsupported operand type(s) for '{name}': '{t}' and '{expr.type}'")
        self._check_packed(op, augmented, target.place)
        self._check_kinds(op, augmented, t, [expr, *extra])
        self._note_atomic_loss(op, t, expr)
        if not isinstance(t, TensorType):
            args = (typed.cast_expr(expr, dtype),) + tuple(typed.cast_expr(e, dtype) for e in extra)
            return self.emit_atomic(op, target.place, args, t)
        held = self.writer.temp(Value(typed.convert_expr(expr, tensor_type(t.shape, dtype))))
        stable = self.places.stable_target(target)
        places = self.places.component_targets(stable)
        olds = []
        for k, place in enumerate(places):
            item = held[k] if len(t.shape) == 1 else held[k // t.shape[1], k % t.shape[1]]
            olds.append(self.emit_atomic(op, place, (item.expr,), dtype))
        return LazyTensor(lambda: tensor.make(olds, t))

    def emit_atomic(self, op: str, place, args: tuple, t):
        """An atomic whose old value is declared only if somebody reads it."""
        if self.options.debug and not self.options.ad_mode and op in REPORTED and t.kind in "iu":
            loc = self.positions.reported_loc()
            if loc is not None:
                return self._reported_atomic(op, place, args[0], t, loc)
        node = Atomic(op, place, args, t)
        stmt = Eval(node)
        self.writer.emit(stmt)
        return OldValue(self.writer, self.writer.block, stmt, node)

    def _reported_atomic(self, op: str, place, arg, t, loc: Loc):
        """The same with a report of overflow, which needs the old value: so no reduction gathers such updates."""
        arg = self.writer.temp(Value(arg)).expr
        old = self.writer.declare("old", Atomic(op, place, (arg,), t), mutable=False)
        self.writer.emit(Eval(Binary(op, old.expr, arg, t, loc)))
        found = OldValue(self.writer, self.writer.block, None, None)
        found.value = old
        return found
