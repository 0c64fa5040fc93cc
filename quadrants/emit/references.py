"""Expressions and places of a language without pointers: memory is reached through references, which are blocks.

    x[i] = y[i]                 x[i].v = y[i].v
    the address of x[i]         x[i]
    that of its second number   qd_f32_at(uint64_t(x[i]) + 4ul)

A reference is a value like any other; what it leads to is its member `v`. An index in brackets has 32 bits; a wider one
is added to the address. Memory and aggregates have bytes where variables have truth values.
"""

from __future__ import annotations

import math
from typing import Any

from quadrants.emit import text as t_
from quadrants.emit import words
from quadrants.emit.blocks import BlockPrinter
from quadrants.emit.records import SharedUpdate
from quadrants.emit.spelling import CLEARER
from quadrants.emit.text import ADD, AND, EQUALITY, MUL, OR, UNARY, Text
from quadrants.errors import QuadrantsTypeError
from quadrants.ir import nodes as n
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
    i32,
    i64,
    scalar,
    size_align,
    struct_offsets,
    tensor,
    u1,
    u32,
    u64,
)
from quadrants.ir.words import native, shared_array

# Arithmetic and bits of truth values, as logic.
_LOGIC = {
    "add": "", "sub": "", "bit_xor": "", "mul": "all", "bit_and": "all", "min": "all", "bit_or": "any", "max": "any",
}  # fmt: skip
_ORDERED = ("lt", "le", "gt", "ge")
_TO_WHOLE = ("floor", "ceil", "round")


class ReferencePrinter(BlockPrinter):
    """frame_offsets: of the variables that all threads see, by id, in bytes. words: the arrays of words, by id, and
    updates: what the body asks for; see `emit.words`."""

    frame_offsets: dict[int, int] = {}
    words: frozenset[int] = frozenset()

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.updates: dict[str, SharedUpdate] = {}

    def reference(self, t: ValueType) -> str:
        """The type of a reference to a value in the memory of the device."""
        return self.need("reference", t)

    def cast(self, type_name: str, a: Text) -> Text:
        return t_.call(type_name, a)

    def condition(self, e: n.Expr) -> Text:
        return self.truth(scalar(e.type), self.text(e))

    def truth(self, t: DType, a: Text) -> Text:
        return a if t is u1 else t_.infix("!=", EQUALITY, a, self.constant(0, t))

    def to_memory(self, t: ValueType, a: Text) -> Text:
        return t_.call(self.prelude.stored(u1), a) if t is u1 else a

    def from_memory(self, t: ValueType, a: Text) -> Text:
        return t_.call(self.type(u1), a) if t is u1 else a

    def has_words(self, place: n.Place) -> bool:
        decl = shared_array(place)
        return decl is not None and decl.id in self.words

    def stored(self, place: n.Place, a: Text) -> Text:
        if self.has_words(place):
            return t_.call(self.need("word", "to", place.type), a)
        return self.to_memory(place.type, a) if self.in_memory(place) else a

    def in_memory(self, place: n.Place) -> bool:
        """Whether a place has values as memory has them."""
        if isinstance(place, n.VarPlace):
            return place.var.shared
        return not (isinstance(place, n.Slot) and place.array.id in self.private_arrays)

    def size_of(self, t: ValueType) -> Text:
        return t_.name(f"{size_align(t)[0]}{self.dialect.suffixes['i64']}")

    def pointed_type(self, t: ValueType) -> str:
        return self.reference(t)

    def array_pointer(self, decl: n.ArrayDecl, source: Text) -> tuple[str, Text]:
        found = self.reference(decl.type if elements(decl) > 1 else element_dtype(decl.type))
        return found, t_.call(found, source)

    # ------------------------------------------------------------ expressions

    def print_Load(self, e: n.Load) -> Text:
        loaded = self.loaded.get(id(e))
        if loaded is not None:
            return loaded
        found = self.place(e.place)
        if self.has_words(e.place):
            return t_.call(self.need("word", "of", e.type), found)
        return self.from_memory(e.type, found) if self.in_memory(e.place) else found

    def print_Elem(self, e: n.Elem) -> Text:
        return self.from_memory(e.type, super().print_Elem(e))

    def print_Member(self, e: n.Member) -> Text:
        return self.from_memory(e.type, super().print_Member(e))

    def in_aggregate(self, e: n.Expr) -> Text:
        return self.to_memory(e.type, super().in_aggregate(e))

    def chosen(self, e: n.Expr) -> Text:
        """A side of a choice. Compilers mix up layouts of what is in memory and what is not: it has to be a value."""
        if (
            isinstance(e, n.Load)
            and not isinstance(e.type, DType)
            and self.in_memory(e.place)
            and not self.has_words(e.place)
        ):
            return t_.call(self.need("reference_value", e.type), self.text(e))
        return self.text(e)

    def hidden(self, t: DType, a: Text) -> Text:
        """A real number as one of which the driver does not find out by itself that it is 0."""
        return a if self.dialect.known_zeros else t_.call(self.need("cast", "hidden", t, t), a)

    def converted(self, have: DType, t: DType, a: Text) -> Text:
        if t.is_real and not have.is_real:
            return self.hidden(t, super().converted(have, t, a))
        if have is i32 and t is i64:
            return t_.call(self.need("cast", "wide", have, t), a)
        if have is f64 and t is f16:
            return t_.call(self.need("cast", "once", have, t), a)
        if have is f16 and t is f32:
            return t_.call(self.need("cast", "rounded", have, t), a)
        if have is f16 and t is not u1:
            return self.converted(f32, t, self.converted(f16, f32, a))
        if have is f32 and t is f64:
            return t_.call(self.need("cast", "kept", have, t), a)
        return super().converted(have, t, a)

    def bit_cast(self, have: DType, t: DType, a: Text) -> Text:
        found = super().bit_cast(have, t, a)
        if t.is_real and not have.is_real:
            return self.hidden(t, found)
        if self.dialect.typed_bits or not have.is_real or t.is_real:
            return found
        return t_.infix("+", ADD, found, self.print_Builtin(n.Builtin("zero", t)))

    def print_Const(self, e: n.Const) -> Text:
        """A zero as one that the driver does not know of, also where it would follow a variable to it; and, where each
        operation shall be that of the type, any number, as operations may make zeros of others.
        """
        if self.dialect.known_zeros or not e.type.is_real:
            return super().print_Const(e)
        if e.value != 0:
            const = super().print_Const(e)
            return const if self.options.get("fast_math") else self.hidden(e.type, const)
        zero = self.print_Builtin(n.Builtin("zero", e.type))
        return self.unary("neg", e.type, zero) if math.copysign(1, e.value) < 0 else zero

    def print_Builtin(self, e: n.Builtin) -> Text:
        if e.name == "zero":  # grids have two axes
            return self.cast(self.type(e.type), t_.name("gl_WorkGroupID.z"))
        return super().print_Builtin(e)

    def constant(self, value: float, t: DType) -> Text:
        if t in (i32, u32) and not t.min <= value <= t.max:  # an index that no array has; C makes its literal wider
            t = i64
        return super().constant(value, t)

    def checked_arithmetic(self, e: n.Binary) -> Text:
        return super().checked_arithmetic(n.Binary(e.op, self.held(e.a), self.held(e.b), e.type, e.loc, e.exact))

    @staticmethod
    def held(e: n.Expr) -> n.Expr:
        """A constant as its type holds it, as parameters convert nothing: if it does not, a check has failed."""
        if not isinstance(e, n.Const) or e.type not in (i32, u32) or e.type.min <= e.value <= e.type.max:
            return e
        wrapped = int(e.value) % 2**32
        return n.Const(wrapped - 2**32 * (e.type is i32 and wrapped >= 2**31), e.type)

    def unary(self, op: str, t: DType, a: Text) -> Text:
        if op == "logic_not":
            return t_.prefix("!", self.truth(t, a))
        if op == "abs" and t is u1:
            return a
        if op == "sqrt" and self.rounds_right(t):
            return t_.call(self.need("float", "nearest_root", t), a)
        made = super().unary(op, t, a)
        return self.hidden(t, made) if t.is_real and op in _TO_WHOLE else made

    def binary(self, op: str, t: DType, tb: DType, a: Text, b: Text, count: n.Expr | None = None) -> Text:
        if op in ("logic_and", "logic_or"):
            symbol, precedence = ("&&", AND) if op == "logic_and" else ("||", OR)
            a, b = self.truth(t, a), self.truth(tb, b)
            return t_.infix(symbol, precedence, a, b, CLEARER.get(precedence, 0))
        if t is u1 and op in _LOGIC:
            # && and || are branches, of which NVIDIA's compiler made 0 for `yes | (m > 0)`.
            both = _LOGIC[op]
            return t_.call(both, t_.call("bvec2", a, b)) if both else t_.infix("!=", EQUALITY, a, b, UNARY)
        if t is u1 and op in _ORDERED:
            a, b = self.cast(self.type(i32), a), self.cast(self.type(i32), b)
            return super().binary(op, i32, i32, a, b, count)
        if t is u1 and op in ("shl", "shr"):
            return t_.call(self.need("int", op, t), a, b)
        if op in ("shl", "shr") and t.bits < 32 and not (isinstance(count, n.Const) and 0 <= count.value < t.bits):
            # Operations on them have no more bits than they have, where a shift has 32.
            return t_.call(self.need("int", op, t), a, b if tb is t else self.cast(self.type(t), b))
        if op in ("shl", "shr") and t.bits == 64:
            b = self.cast(self.type(i32), b)
        if op == "powi" and tb.is_signed and self.rounds_right(t):
            return t_.call(self.need("float", "nearest_powi", t, tb), a, b)
        function = self.quotient(op, t, count)
        if function:
            return t_.call(self.need("float", function, t), a, b)
        return super().binary(op, t, tb, a, b, count)

    def rounds_right(self, t: ValueType) -> bool:
        """Whether quotients and roots shall be the nearest numbers: devices may be a few units off."""
        return t in (f16, f32) and not self.options.get("fast_math")

    def quotient(self, op: str, t: ValueType, divisor: n.Expr | None) -> str:
        """The helper that divides, "" where the operation of the language does."""
        if op not in ("raw_div", "truediv"):
            return ""
        known = abs(divisor.value) if isinstance(divisor, n.Const) else 0
        # Beyond 2**126 devices need not know the reciprocal.
        near = 0 < known < 2**125
        if self.rounds_right(t):
            return "" if near and math.frexp(known)[0] == 0.5 else "nearest_quotient"
        return "quotient" if t is f32 and not near else ""

    def compound(self, place: n.VarPlace, value: n.Binary) -> str:
        return "" if self.quotient(value.op, value.type, value.b) else super().compound(place, value)

    def counts_freely(self, count: n.Expr | None, t: DType) -> bool:
        if t.bits < 8:
            return False
        return not (isinstance(count, n.Const) and 0 <= count.value < max(t.bits, 32))

    def lane_member(self, member: str) -> Text:
        return t_.member(self.lane(), member)

    def print_Rand(self, e: n.Rand) -> Text:
        return t_.call(self.need("random", "draw", e.type), self.lane_member("rng"))

    def argument(self, a: n.Expr | n.Place) -> Text:
        if isinstance(a, n.VarPlace):
            return self.place(a)
        assert not isinstance(a, n.PLACES)
        return self.text(a)

    def print_Intrinsic(self, e: n.Intrinsic) -> Text:
        if e.op == "address":
            (place,) = e.args
            assert isinstance(place, n.PLACES)
            return self.cast(self.type(e.type), self.number_of(self.place(place)))
        return super().print_Intrinsic(e)

    def print_Volatile(self, e: n.Volatile) -> Text:
        place = self.place(e.place)
        if self.has_words(e.place):
            return t_.call(self.need("word", "of", e.type), place)
        if place.pointer is None:  # of a block or a thread
            return self.from_memory(e.type, place)
        return self.from_memory(e.type, t_.call(self.need("reference_volatile", e.type), self.number_of(place)))

    # ------------------------------------------------------------ atomics

    def print_Atomic(self, e: n.Atomic) -> Text:
        place, values = self.place(e.place), self.texts(e.args)
        plain = self.plain or e.plain or self.private(e.place)
        decl = shared_array(e.place)
        if decl is not None and (decl.id in self.words or not plain and not self.native(e.op, e.type)):
            return self.update_of_block(e, decl, values)
        if not plain and self.native(e.op, e.type):
            if e.op == "sub":
                values = [t_.prefix("-", v) for v in values]
            return t_.call(words.ATOMICS[e.op], place, *values)
        if place.pointer is None:
            return t_.call(self.need("plain", e.op, e.type, ""), place, *values)
        name = self.need("plain" if plain else "atomic", e.op, e.type, place.space)
        return t_.call(name, t_.address(place), *values)

    def stmt_Store(self, s: n.Store) -> None:
        at = self.place(s.place).pointer if self.is_in_array(s.place) else None
        if at is None:
            super().stmt_Store(s)
            return
        value = self.stored(s.place, self.text(s.value))
        self.put_marked(f"{t_.call(self.need('reference_store', s.place.type), at, value).bare};")

    def _plain_update(self, e: n.Expr) -> str:
        return "" if isinstance(e, n.Atomic) and self.is_in_array(e.place) else super()._plain_update(e)

    def is_in_array(self, place: n.Place) -> bool:
        """Whether a place is in an array of the device. See `store` in reference.j2."""
        while isinstance(place, (n.MemberPlace, n.ElemPlace)):
            place = place.base
        return isinstance(place, n.Slot) and self.space(place.array) == self.dialect.space_device

    def stmt_Eval(self, s: n.Eval) -> None:
        e = s.value
        if isinstance(e, n.Atomic) and self.has_words(e.place):
            self.put_marked(f"{self.text(e).bare};")
        elif isinstance(e, n.Atomic) and (isinstance(e.type, TensorType) or self.is_joined(e)):
            place = self.place(e.place)
            op = f"{e.op}_whole" if isinstance(e.type, TensorType) else e.op
            name = self.need("joined", op, e.type, place.space)
            self.put_marked(f"{t_.call(name, t_.address(place), *self.texts(e.args)).bare};")
        else:
            super().stmt_Eval(s)

    def updates_whole(self) -> bool:
        return super().updates_whole() and self.native("add", f32)

    def is_joined(self, e: n.Atomic) -> bool:
        """Whether lanes do an atomic together, which would be a loop otherwise."""
        if e.op not in words.JOINED or self.plain or e.plain or self.native(e.op, e.type) or scalar(e.type) is u1:
            return False
        return not self.private(e.place) and self.place(e.place).pointer is not None

    def update_of_block(self, e: n.Atomic, decl: n.ArrayDecl, values: list[Text]) -> Text:
        t = scalar(e.type)
        if t is u1:
            raise QuadrantsTypeError(f"there is no atomic_{e.op} on u1. Take i32 for the shared array.")
        made = words.update(self.prelude, e.op, t, decl, self.words)
        self.updates[made.name] = made
        base = e.place
        components = []
        if isinstance(base, n.ElemPlace):
            components.append(self.text(flat_index(base.indices, tensor(base.base.type))))
            base = base.base
        assert isinstance(base, n.Slot)
        at = [self.cast(self.type(i32), one) for one in (self.index(base.index), *components)]
        return t_.call(made.name, *at, *values)

    def native(self, op: str, t: ValueType) -> bool:
        """Whether the language has an operation on the place itself."""
        return native(op, t, self.dialect.spelling.float_atomics)

    # ------------------------------------------------------------ places

    def place_VarPlace(self, p: n.VarPlace) -> Text:
        var = p.var
        if var.by_ref:
            return t_.name(var.name)
        found = super().place_VarPlace(p)
        if not var.shared or var.id in self.parameters:
            return found
        at = self.moved(t_.name("frame"), t_.name(f"{self.frame_offsets[var.id]}ul"), var.type)
        return Text(found.bare, found.precedence, at, found.space)

    def place_MemberPlace(self, p: n.MemberPlace) -> Text:
        base = self.place(p.base)
        found = t_.member(base, self.prelude.member(p.name))
        if base.pointer is None:
            return found
        t = p.base.type
        assert isinstance(t, StructType)
        offset = t_.name(f"{struct_offsets(t)[p.name]}ul")
        return Text(found.bare, found.precedence, self.moved(base.pointer, offset, p.type), found.space)

    def place_ElemPlace(self, p: n.ElemPlace) -> Text:
        base = self.place(p.base)
        index = self.text(flat_index(p.indices, tensor(p.base.type)))
        found = t_.component(base, index)
        if base.pointer is None:
            return found
        size = t_.name(f"{element_dtype(p.base.type).size}ul")
        offset = t_.infix("*", MUL, size, self.cast(self.type(u64), index))
        return Text(found.bare, found.precedence, self.moved(base.pointer, offset, p.type), found.space)

    def place_Slot(self, p: n.Slot) -> Text:
        decl = p.array
        self.use_array(decl)
        if isinstance(p.type, StructType):
            raise NotImplementedError("struct cells are stored member by member")
        space = self.space(decl)
        whole = decl.type if elements(decl) > 1 else element_dtype(decl.type)
        if space != self.dialect.space_device:
            at = self.index(p.index)
            if scalar(p.index.type).bits == 64:  # no array of a thread or block has that many
                at = self.cast(self.type(i32), at)
            return t_.element(t_.name(decl.name, space), at)
        at = self.element_address(t_.name(decl.name), p.index, whole)
        if not isinstance(p.type, DType) and elements(decl) == 1:
            at = t_.call(self.reference(p.type), at)
        return Text(t_.member(at, "v").bare, pointer=at, space=space)

    def element_address(self, array: Text, index: n.Expr, t: ValueType) -> Text:
        """The address of an element."""
        wide = scalar(index.type).bits == 64
        if isinstance(index, n.Const):  # one that no index has may be of any size
            wide = not -(2**31) < index.value < 2**31
        if not wide:
            return t_.element(array, self.index(index))
        if isinstance(index, n.Const):
            offset = self.constant(int(index.value) % 2**64, u64)
        else:
            offset = self.cast(self.type(u64), self.cast(self.type(scalar(index.type)), self.index(index)))
        return self.moved(array, t_.infix("*", MUL, t_.name(f"{size_align(t)[0]}ul"), offset), t)

    def moved(self, reference: Text, offset: Text, t: ValueType) -> Text:
        """A reference to what is some bytes behind what another one leads to."""
        return t_.call(self.reference(t), t_.infix("+", ADD, self.number_of(reference), offset))

    def number_of(self, place: Text) -> Text:
        return self.cast(self.type(u64), place.pointer or place)

    def place_Choice(self, p: n.Choice) -> Text:
        raise AssertionError("a language without pointers has no choice between places")

    def exact(self, e: n.Expr, settled: bool = False) -> Text:
        if isinstance(e, n.Cast) and scalar(e.a.type).kind in "bu":  # no language converts these by itself
            return self.text(e)
        return super().exact(e, settled)

    # ------------------------------------------------------------ statements

    def stmt_Check(self, s: n.Check) -> None:
        self.uses_check = True
        kinds = "".join("f" if scalar(v.type).is_real else "u" if scalar(v.type) is u64 else "i" for v in s.values)
        types = {"f": self.dialect.spelling.failure_real, "u": u64, "i": i64}
        values = [self.told(v, types[kind]) for kind, v in zip(kinds, s.values)]
        failure = t_.call(self.need("check", "fail", kinds), self.lane(), t_.name(str(s.site)), *values)
        self.put_marked(t_.unless(self.condition(s.cond), failure))

    def told(self, e: n.Expr, t: DType) -> Text:
        """A value of a failure. A constant may be one that its type does not hold."""
        if isinstance(e, n.Const) and not t.is_real:
            return self.constant(int(e.value), t)
        return self.cast(self.type(t), self.text(e))

    def _recorded_value(self, e: n.Expr, spec: str) -> tuple[str, str, Text]:
        form, kind, text = super()._recorded_value(e, spec)
        if e.type is f16:
            return form, kind, self.converted(f16, f32, text)
        return form, kind, self.cast(self.type(i32), text) if e.type is u1 else text
