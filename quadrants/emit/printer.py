"""IR expressions and places as text of a C-family dialect.

Every method gives a `Text`, made of others by the constructors of `emit.text` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quadrants.emit import text as t_
from quadrants.emit.arithmetic import SignedArithmetic
from quadrants.emit.constants import Constants
from quadrants.emit.elementwise import Elementwise
from quadrants.emit.members import element_type
from quadrants.emit.operators import Operators
from quadrants.emit.prelude_simt import takes_lane
from quadrants.emit.printed import PrintedLines
from quadrants.emit.text import Text
from quadrants.ir import nodes as n
from quadrants.ir.conversion import converted
from quadrants.ir.places import elements, flat_index
from quadrants.ir.types import (
    DType,
    StructType,
    TensorType,
    ValueType,
    element_dtype,
    f16,
    f32,
    f64,
    scalar,
    tensor,
    u16,
)
from quadrants.ir.walk import root_var

if TYPE_CHECKING:
    from quadrants.emit.dialects import Dialect
    from quadrants.emit.prelude import Prelude


class Printer(SignedArithmetic, Operators, Elementwise, Constants):
    """Prints expressions; knows which arrays, parameters and features the text uses."""

    def __init__(self, dialect: Dialect, prelude: Prelude, options: dict[str, Any]) -> None:
        self.dialect = dialect
        self.prelude = prelude
        self.options = options
        self.arrays: dict[int, n.ArrayDecl] = {}
        self.extents: set[tuple[int, int]] = set()  # (id of an array, axis)
        self.values: dict[int, n.Var] = {}
        self.uses_lane = False
        self.calls: set[str] = set()
        self.uses_frame = False
        self.plain = False

    parameters: dict[int, n.Var] = {}
    loaded: dict[int, Text] = {}  # id of a load -> the register that has its value
    needs_lane: set[str] = set()
    printed: PrintedLines
    private_arrays: frozenset[int] = frozenset()  # ids of those that a thread declares for itself

    def type(self, t: ValueType) -> str:
        return self.prelude.type(t)

    def need(self, family: str, *params: Any) -> str:
        return self.prelude.need(family, *params)

    # ------------------------------------------------------------ what languages without pointers write otherwise

    def cast(self, type_name: str, a: Text) -> Text:
        """A value as one of another type."""
        return t_.cast(type_name, a)

    def condition(self, e: n.Expr) -> Text:
        """What a branch or a loop asks."""
        return self.text(e)

    def to_memory(self, t: ValueType, a: Text) -> Text:
        """A value as memory has it, arguments and aggregates included."""
        return a

    def from_memory(self, t: ValueType, a: Text) -> Text:
        """The reverse of `to_memory`."""
        return a

    def stored(self, place: n.Place, a: Text) -> Text:
        """A value of the type of a place as that place has it."""
        return a

    def declared_type(self, t: ValueType) -> str:
        """The type of a variable, with what a declaration says of it besides."""
        return self.type(t)

    def size_of(self, t: ValueType) -> Text:
        """The bytes of a type in memory."""
        return t_.size_of(self.type(t))

    def pointed_type(self, t: ValueType) -> str:
        """How a pointer to such in the memory of the device is declared, but for what says that it is one."""
        return self.dialect.space_device + self.type(t)

    def array_pointer(self, decl: n.ArrayDecl, source: Text) -> tuple[str, Text]:
        """What the local that leads to an array points to, and its value. source: what the argument block has."""
        space, pointed = self.dialect.space_device, element_type(self.prelude, decl)
        return space + pointed, t_.pointer(pointed, space, source) if self.dialect.address else source

    # ------------------------------------------------------------ expressions

    def text(self, e: n.Expr) -> Text:
        found: Text = getattr(self, "print_" + type(e).__name__)(e)
        return found

    def texts(self, items: Sequence[n.Expr]) -> list[Text]:
        return [self.text(e) for e in items]

    def print_Const(self, e: n.Const) -> Text:
        return self.constant(e.value, e.type)

    def print_Load(self, e: n.Load) -> Text:
        return self.loaded.get(id(e)) or self.place(e.place)

    def print_Unary(self, e: n.Unary) -> Text:
        if self.wraps(e):
            return self.wrapped(e)
        if isinstance(e.type, TensorType):
            return self.mapped_unary(e)
        t = e.a.type
        assert isinstance(t, DType)
        return self.unary(e.op, t, self.text(e.a))

    def print_Binary(self, e: n.Binary) -> Text:
        if e.exact:
            return self.exact(e)
        if e.loc is not None:
            return self.checked_arithmetic(e)
        if isinstance(e.type, TensorType):
            return self.mapped_binary(e)
        if e.op in ("powi", "pow"):
            found = self.power(e)
            if found is not None:
                return found
        if self.wraps(e):
            return self.wrapped(e)
        ta, tb = e.a.type, e.b.type
        assert isinstance(ta, DType) and isinstance(tb, DType)
        return self.binary(e.op, ta, tb, self.text(e.a), self.text(e.b), count=e.b)

    def power(self, e: n.Binary) -> Text | None:
        """A power with a small constant exponent as products; None where it takes a function."""
        t = scalar(e.a.type)
        if t is f16 and not self.dialect.spelling.half_arithmetic:
            return None
        if e.op == "pow":
            halves = self.halves(e.b, t)
            return t_.call(self.need("float", "half_power", t, halves), self.text(e.a)) if halves else None
        if not isinstance(e.b, n.Const) or e.b.value not in (2, 3):
            return None
        if _repeatable(e.a):
            product = n.Binary("mul", e.a, e.a, t)
            return self.text(n.Binary("mul", product, e.a, t) if e.b.value == 3 else product)
        if t in (f32, f64):
            return t_.call(self.need("float", "half_power", t, 2 * e.b.value), self.text(e.a))
        return None

    def halves(self, exponent: n.Expr, t: DType) -> int:
        """Twice a constant exponent for which square root and products do, within the freedom of fast_math; else 0."""
        if not self.options.get("fast_math") or t not in (f32, f64) or not isinstance(exponent, n.Const):
            return 0
        halves = 2 * float(exponent.value)
        return int(halves) if halves.is_integer() and abs(halves) <= 8 else 0

    def checked_arithmetic(self, e: n.Binary) -> Text:
        assert e.loc is not None
        operands = (e.type, e.a.type, e.b.type) if isinstance(e.type, TensorType) else ()
        name = self.need("check", e.op, element_dtype(e.a.type), *operands)
        if self.dialect.spelling.string:
            where = t_.string(e.loc.text)
        else:
            where = t_.name(str(self.printed.overflow(e.op, e.loc.text)))
        return t_.call(name, self.lane(), where, self.text(e.a), self.text(e.b))

    def lane(self) -> Text:
        self.uses_lane = True
        return t_.name(self.dialect.lane)

    def lane_member(self, member: str) -> Text:
        return t_.through(self.lane(), member)

    def print_Select(self, e: n.Select) -> Text:
        if isinstance(e.cond.type, TensorType):
            return self.mapped_select(e)
        if isinstance(e.type, TensorType) and not (e.a.type == e.b.type == e.type):
            return self.mapped_select(e)
        found = t_.select(self.condition(e.cond), self.chosen(e.a), self.chosen(e.b))
        return self.narrowed("neg", e.type, found) if e.type is f16 else found

    def chosen(self, e: n.Expr) -> Text:
        """A side of a choice. Where types tell of memory, that of a tensor or struct has to be a value, in none."""
        if self.private_space and isinstance(e, n.Load) and not isinstance(e.type, DType):
            return t_.call(self.type(e.type), self.text(e))
        return self.text(e)

    def print_Cast(self, e: n.Cast) -> Text:
        if isinstance(e.type, TensorType):
            return self.mapped_cast(e)
        have, t = e.a.type, e.type
        assert isinstance(have, DType) and isinstance(t, DType)
        if e.bits:
            return self.bit_cast(have, t, self.text(e.a))
        if isinstance(e.a, n.Const) and not t.is_real:
            return self.constant(converted(e.a.value, t), t)
        return self.converted(have, t, self.text(e.a))

    def print_Make(self, e: n.Make) -> Text:
        return self.literal(e.type, e.parts)

    def literal(self, t: ValueType, parts: Sequence[n.Expr]) -> Text:
        """A tensor or struct of these elements or members."""
        texts = [self.in_aggregate(e) for e in parts]
        return t_.name(self.prelude.literal(t, [text.at(t_.TERNARY) for text in texts]))

    def in_aggregate(self, e: n.Expr) -> Text:
        """A member, which some compilers must not see to be chosen."""
        if self.dialect.chosen_members or not isinstance(e, n.Select) or not isinstance(e.type, TensorType):
            return self.text(e)
        return self.mapped("value", t_.name("{a}"), e.type, e)

    def print_Elem(self, e: n.Elem) -> Text:
        return t_.component(self.text(e.a), self.text(flat_index(e.indices, tensor(e.a.type))))

    def print_Member(self, e: n.Member) -> Text:
        return t_.member(self.text(e.a), self.prelude.member(e.name))

    def print_MatOp(self, e: n.MatOp) -> Text:
        types = [e.type] if e.op == "splat" else [a.type for a in e.args[: 2 if e.op in ("matmul", "outer") else 1]]
        family = "float" if e.op in ("frexp_mantissa", "frexp_exponent") else "linalg"
        return t_.call(self.need(family, e.op, *types), *self.texts(e.args))

    def print_Call(self, e: n.Call) -> Text:
        args = [self.argument(a) for a in e.args]
        if e.func.name in self.needs_lane:
            args.insert(0, self.lane())
        name = self.prelude.function(e.func.name)
        self.calls.add(name)
        return t_.call(name, *args)

    def argument(self, a: n.Expr | n.Place) -> Text:
        """A value, or the address of a variable passed by reference."""
        if isinstance(a, n.VarPlace):
            return t_.address(self.place(a))
        assert not isinstance(a, n.PLACES)
        return self.text(a)

    def print_Extent(self, e: n.Extent) -> Text:
        self.use_array(e.array)
        self.extents.add((e.array.id, e.axis))
        return t_.name(f"{e.array.name}_shape{e.axis}")

    def print_Rand(self, e: n.Rand) -> Text:
        return t_.call(self.need("random", "draw", e.type), t_.address(self.lane_member("rng")))

    def print_Builtin(self, e: n.Builtin) -> Text:
        if "." in e.name:
            return t_.call(self.need(*e.name.split(".")), *self.place_of_thread(e.name))
        return self.lane_member("worker")

    def print_Intrinsic(self, e: n.Intrinsic) -> Text:
        if e.op == "address":
            (place,) = e.args
            assert isinstance(place, n.PLACES)
            return self.cast(self.type(e.type), t_.address(self.place(place)))
        name = self.need(*e.op.split("."), *e.params)
        return t_.call(name, *self.place_of_thread(e.op), *[self.argument(a) for a in e.args])

    def place_of_thread(self, helper: str) -> list[Text]:
        """What a helper is handed first that asks where the thread is."""
        return [self.lane()] if takes_lane(self.dialect.spelling, *helper.split(".")) else []

    def print_Volatile(self, e: n.Volatile) -> Text:
        if e.type is f16:  # a class in some dialects: its bits are read
            return self.bit_cast(u16, f16, t_.volatile(self.type(u16), self.place(e.place)))
        return t_.volatile(self.type(e.type), self.place(e.place))

    def print_Atomic(self, e: n.Atomic) -> Text:
        family = "plain" if self.plain or e.plain or self.private(e.place) else "atomic"
        op = f"{e.op}_whole" if isinstance(e.type, TensorType) else e.op
        place = self.place(e.place)
        return t_.call(self.need(family, op, e.type, place.space), t_.address(place), *self.texts(e.args))

    @staticmethod
    def private(place: n.Place) -> bool:
        var = root_var(place)
        return var is not None and not var.shared

    # ------------------------------------------------------------ places

    def place(self, p: n.Place) -> Text:
        found: Text = getattr(self, "place_" + type(p).__name__)(p)
        return found

    def place_VarPlace(self, p: n.VarPlace) -> Text:
        var = p.var
        if var.by_ref:
            return t_.pointed(t_.name(var.name, self.private_space))
        if var.id in self.parameters:
            self.values[var.id] = var
        elif var.shared:
            self.uses_frame = True
            return t_.name(self.dialect.frame + var.name, self.dialect.space_device)
        return t_.name(var.name, self.private_space)

    @property
    def private_space(self) -> str:
        """The qualifier of the memory of a thread's own variables."""
        return self.dialect.spelling.private

    def place_MemberPlace(self, p: n.MemberPlace) -> Text:
        return t_.member(self.place(p.base), self.prelude.member(p.name))

    def place_ElemPlace(self, p: n.ElemPlace) -> Text:
        return t_.component(self.place(p.base), self.text(flat_index(p.indices, tensor(p.base.type))))

    def place_Slot(self, p: n.Slot) -> Text:
        decl = p.array
        self.use_array(decl)
        if isinstance(p.type, StructType):
            raise NotImplementedError("struct cells are stored member by member")
        found = t_.element(t_.name(decl.name, self.space(decl)), self.index(p.index))
        # A whole vector or matrix where its numbers lie side by side, beside others.
        alone = isinstance(p.type, DType) or elements(decl) > 1
        return found if alone else t_.as_type(self.type(p.type), found)

    def place_Choice(self, p: n.Choice) -> Text:
        *first, last = [t_.address(self.place(place)) for place in p.places]
        index, pointer = self.text(p.index), last
        for k in range(len(first) - 1, -1, -1):
            pointer = t_.select(t_.infix("==", t_.EQUALITY, index, t_.name(str(k)), t_.UNARY), first[k], pointer)
        return t_.pointed(t_.parenthesised(pointer))

    def space(self, decl: n.ArrayDecl) -> str:
        """The qualifier of the memory that an array is in."""
        if decl.id in self.private_arrays:
            return self.private_space
        return self.dialect.space_shared if decl.kind == "shared" else self.dialect.space_device

    def use_array(self, decl: n.ArrayDecl) -> None:
        self.arrays[decl.id] = decl


def _repeatable(e: n.Expr) -> bool:
    if isinstance(e, n.Const):
        return True
    if not isinstance(e, n.Load):
        return False
    p = e.place
    while isinstance(p, (n.ElemPlace, n.MemberPlace)):
        if isinstance(p, n.ElemPlace) and not all(isinstance(i, n.Const) for i in p.indices):
            return False
        p = p.base
    return isinstance(p, n.VarPlace)
