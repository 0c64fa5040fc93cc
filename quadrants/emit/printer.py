"""IR expressions and places as text of a C-family dialect."""

from __future__ import annotations

import math

from quadrants.emit.arithmetic import WRAPPING, SignedArithmetic, unsigned_of
from quadrants.emit.cells import CellIndices, cell_unit
from quadrants.emit.ranges import carries
from quadrants.emit.spelling import (
    ADD,
    BAND,
    BOOLEAN,
    BOR,
    BXOR,
    EQUALITY,
    FUNCTIONS,
    INFIX,
    MUL,
    OR,
    PRIMARY,
    TERNARY,
    UNARY,
    narrow,
    paren,
)
from quadrants.ir import nodes as n
from quadrants.ir.types import DType, StructType, TensorType, element_dtype, f16, f32, f64, flushed, u1, u16, u32


class Printer(SignedArithmetic, CellIndices):
    """Prints expressions; knows which arrays, parameters and features the text used since `start`."""

    def __init__(self, dialect, prelude, options):
        self.dialect = dialect
        self.prelude = prelude
        self.options = options
        self.arrays: dict = {}
        self.values: dict = {}
        self.uses_lane = False
        self.uses_frame = False
        self.plain = False
        self.bits32 = True

    def start(self) -> None:
        """Begin a function or task: what it uses is collected anew."""
        self.arrays, self.values = {}, {}
        self.uses_lane = self.uses_frame = False

    def type(self, t) -> str:
        return self.prelude.type(t)

    # ------------------------------------------------------------ expressions

    def text(self, e, need: int = 0) -> str:
        indexing = self.indexing
        if indexing and not carries(e):
            self.indexing = False
        text, have = getattr(self, "print_" + type(e).__name__)(e)
        self.indexing = indexing
        return paren(text, have, need)

    def print_Const(self, e):
        return self.constant(e.value, e.type)

    def constant(self, value, t: DType):
        if t.is_real:
            return self._real(float(value), t)
        value = int(value)
        if t is u1:
            return self.dialect.booleans[bool(value)], PRIMARY
        suffix = self.dialect.suffixes.get(t.name, "")
        if value == t.min and t.kind == "i" and t.bits >= 32:
            return f"(-{t.max}{suffix} - 1)", PRIMARY
        text = f"{value}{suffix}"
        if t.bits < 32:
            return f"({self.type(t)}){paren(text, PRIMARY if value >= 0 else UNARY, PRIMARY)}", UNARY
        return text, PRIMARY if value >= 0 else UNARY

    def _real(self, value: float, t: DType):
        if math.isnan(value):
            return self.dialect.literals[(t.name, "nan")], PRIMARY
        if math.isinf(value):
            text = self.dialect.literals[(t.name, "inf")]
            return (text, PRIMARY) if value > 0 else (f"-{text}", UNARY)
        if t.name in self.dialect.flushes:
            value = flushed(value, t)
        text = _shortest(value, t) + self.dialect.suffixes.get(t.name, "")
        have = UNARY if value < 0 or text[0] == "-" else PRIMARY
        if t is f16:
            return f"({self.type(t)}){paren(text + 'f', have, PRIMARY)}", UNARY
        return text, have

    def print_Load(self, e):
        place = e.place
        if id(e) in self.loaded:
            return self.loaded[id(e)], PRIMARY
        if isinstance(place, n.Cell) and isinstance(place.type, TensorType):
            return self._load_tensor_cell(place)
        return self.place(place)

    def print_Unary(self, e):
        t = element_dtype(e.a.type)
        if self.wraps(e):
            return self.wrapped(e)
        if isinstance(e.type, TensorType):
            spelling = self.unary_text(e.op, t, "{a}", UNARY)[0]
            if e.op == "neg" and self.may_wrap("neg", t):
                spelling = f"({self.type(t)})-({self.type(unsigned_of(t))}){{a}}"
            return self._map(e.op, spelling, e.type, e.a)
        return self.unary_text(e.op, t, None, 0, e.a)

    def unary_text(self, op: str, t: DType, text, have, e=None):
        def operand(need):
            return self.text(e, need) if e is not None else paren(text, PRIMARY, need)

        if op == "neg":
            if t is u1:
                return operand(0), (PRIMARY if e is None else 0) or UNARY
            return self._narrowed("neg", t, _negated(operand(UNARY)), UNARY)
        if op == "bit_not":
            symbol = "!" if t is u1 else "~"
            return self._narrowed("bit_not", t, f"{symbol}{operand(UNARY)}", UNARY)
        if op == "logic_not":
            return f"!{operand(UNARY)}", UNARY
        if op in ("isnan", "isinf") and not t.is_real:
            return "0", PRIMARY
        name = self.prelude.need("scalar", op, t)
        return f"{name}({operand(0)})", PRIMARY

    def _narrowed(self, op: str, t: DType, text: str, have: int):
        if narrow(op, t):
            return f"({self.type(t)}){paren(text, have, UNARY)}", UNARY
        return text, have

    def print_Binary(self, e):
        t = element_dtype(e.a.type)
        if e.loc is not None:
            return self._checked_arithmetic(e, t)
        if isinstance(e.type, TensorType):
            if e.op == "powi" and isinstance(e.b, n.Const) and e.b.value in (2, 3) and t in (f32, f64):
                stem, factors = ("square", 2) if e.b.value == 2 else ("cube", 3)
                return self._map(stem, f"({' * '.join(['{a}'] * factors)})", e.type, e.a)
            spelling = self.binary_text(e.op, t, element_dtype(e.b.type), "{a}", "{b}", PRIMARY, PRIMARY)[0]
            stem = e.op
            if e.op in WRAPPING and self.may_wrap(e.op, t):
                stem, spelling = (f"index_{e.op}", spelling) if self.indexing else (e.op, self.elementwise(e.op, t))
            return self._map(stem, spelling, e.type, e.a, e.b)
        if e.op == "powi":
            power = self._small_power(e)
            if power is not None:
                return power
            if isinstance(e.b, n.Const) and e.b.value in (2, 3) and t in (f32, f64):
                return f"{self.prelude.need('float', 'half_power', t, 2 * e.b.value)}({self.text(e.a)})", PRIMARY
        if e.op == "pow":
            halves = self._halves(e.b, t)
            if halves:
                return f"{self.prelude.need('float', 'half_power', t, halves)}({self.text(e.a)})", PRIMARY
        if self.wraps(e):
            return self.wrapped(e)
        return self.binary_text(e.op, t, element_dtype(e.b.type), e.a, e.b)

    def _operand(self, x, have, need):
        return paren(x, have, need) if isinstance(x, str) else self.text(x, need)

    def binary_text(self, op: str, t: DType, tb: DType, a, b, have_a=0, have_b=0):
        infix = (BOOLEAN.get(op) if t is u1 else None) or INFIX.get(op)
        if infix is not None:
            symbol, precedence = infix
            need = precedence
            # Mixed bit and logic operators read better, and warn less, inside parentheses.
            if precedence in (BAND, BXOR, BOR, OR) or precedence == EQUALITY:
                need = UNARY if precedence != OR else EQUALITY
            left = self._operand(a, have_a, need)
            right = self._operand(b, have_b, need + 1 if need < UNARY else need)
            if op == "mul" and t is u16 and not self.dialect.signed_wraps:
                # Both become int, which the product may exceed.
                left = f"({self.type(u32)}){self._operand(a, have_a, UNARY)}"
            if op in ("shl", "shr") and self.counts_freely(b, t):
                right = f"({self._operand(b, have_b, UNARY)} & {max(t.bits, 32) - 1})"
            return self._narrowed(op, t, f"{left} {symbol} {right}", precedence)
        if op == "powi":
            name = self.prelude.need("scalar", "powi", t, tb)
        elif op in ("raw_div", "truediv") and t.is_real:
            text = f"{self._operand(a, have_a, MUL)} / {self._operand(b, have_b, MUL + 1)}"
            return self._narrowed("truediv", t, text, MUL)
        elif t is u1 and op in ("max", "min"):
            symbol = "|" if op == "max" else "&"
            return f"{self._operand(a, have_a, UNARY)} {symbol} {self._operand(b, have_b, UNARY)}", BOR
        else:
            name = self.prelude.need("scalar", FUNCTIONS[op], t)
        return f"{name}({self._operand(a, have_a, 0)}, {self._operand(b, have_b, 0)})", PRIMARY

    def _small_power(self, e):
        """`x * x` for a square of something cheap to repeat."""
        if isinstance(e.b, n.Const) and e.b.value in (2, 3) and _repeatable(e.a):
            if self.may_wrap("mul", e.a.type):
                product = n.Binary("mul", e.a, e.a, e.a.type)
                return self.print_Binary(n.Binary("mul", product, e.a, e.a.type) if e.b.value == 3 else product)
            x = self.text(e.a, MUL + 1)
            return self._narrowed("mul", e.a.type, " * ".join([x] * int(e.b.value)), MUL)
        return None

    def _halves(self, exponent, t: DType) -> int:
        """Twice a constant exponent for which square root and products do, within the freedom of fast_math; else 0."""
        if not self.options.get("fast_math") or t not in (f32, f64) or not isinstance(exponent, n.Const):
            return 0
        halves = 2 * float(exponent.value)
        return int(halves) if halves.is_integer() and abs(halves) <= 8 else 0

    def _checked_arithmetic(self, e, t: DType):
        self.uses_lane = True
        operands = (e.type, e.a.type, e.b.type) if isinstance(e.type, TensorType) else ()
        name = self.prelude.need("check", e.op, t, *operands)
        where = _c_string(e.loc.text)
        return f"{name}({self.lane()}, {where}, {self.text(e.a)}, {self.text(e.b)})", PRIMARY

    def lane(self) -> str:
        self.uses_lane = True
        return self.dialect.lane

    def _map(self, stem: str, spelling: str, result, *operands):
        if not spelling.startswith("("):
            spelling = f"({spelling})"
        types = [o.type for o in operands]
        name = self.prelude.need("map", stem, spelling, result, *types)
        if name == "-" and len(operands) == 1:
            return _negated(self.text(operands[0], UNARY)), UNARY
        if name in ("+", "-", "*", "/"):
            need = INFIX[stem][1]
            return f"{self.text(operands[0], need)} {name} {self.text(operands[1], need + 1)}", need
        return f"{name}({', '.join(self.text(o) for o in operands)})", PRIMARY

    def print_Select(self, e):
        if isinstance(e.cond.type, TensorType):
            return self._map("select", "({a} ? {b} : {c})", e.type, e.cond, e.a, e.b)
        if isinstance(e.type, TensorType) and not (e.a.type == e.b.type == e.type):
            return self._map("select", "({a} ? {b} : {c})", e.type, e.cond, e.a, e.b)
        text = f"{self.text(e.cond, TERNARY + 1)} ? {self.text(e.a, TERNARY + 1)} : {self.text(e.b, TERNARY)}"
        return self._narrowed("neg", e.type, text, TERNARY) if element_dtype(e.type) is f16 else (text, TERNARY)

    def print_Cast(self, e):
        have, t = element_dtype(e.a.type), element_dtype(e.type)
        if isinstance(e.type, TensorType):
            spelling = self.cast_text(have, t, "{a}", e.bits)
            return self._map(f"{'bit_cast' if e.bits else 'cast'}_{have}_{t}", spelling, e.type, e.a)
        if t is u1 and not e.bits:
            zero = self.constant(0.0 if have.is_real else 0, have)[0]
            return f"{self.text(e.a, EQUALITY + 1)} != {zero}", EQUALITY
        if e.bits:
            return f"{self.prelude.need('cast', 'bit_cast', have, t)}({self.text(e.a)})", PRIMARY
        return f"({self.type(t)}){self.text(e.a, UNARY)}", UNARY

    def cast_text(self, have: DType, t: DType, text: str, bits: bool) -> str:
        if bits:
            return f"{self.prelude.need('cast', 'bit_cast', have, t)}({text})"
        if t is u1:
            return f"({text} != 0)"
        return f"(({self.type(t)}){text})"

    def print_Make(self, e):
        return self.prelude.literal(e.type, [self.text(p) for p in e.parts]), PRIMARY

    def print_Elem(self, e):
        return f"{self.text(e.a, PRIMARY)}.v[{self.flat_index(e.indices, e.a.type)}]", PRIMARY

    def print_Member(self, e):
        return f"{self.text(e.a, PRIMARY)}.{self.prelude.member(e.name)}", PRIMARY

    def print_MatOp(self, e):
        args = [a for a in e.args]
        if e.op in ("frexp_mantissa", "frexp_exponent"):
            name = self.prelude.need("float", e.op, e.args[0].type)
        elif e.op == "splat":
            name = self.prelude.need("linalg", "splat", e.type)
        elif e.op in ("matmul", "outer"):
            name = self.prelude.need("linalg", e.op, args[0].type, args[1].type)
        else:
            name = self.prelude.need("linalg", e.op, args[0].type)
        return f"{name}({', '.join(self.text(a) for a in args)})", PRIMARY

    def print_Call(self, e):
        args = [self.argument(a) for a in e.args]
        if e.func.name in self.needs_lane:
            args.insert(0, self.lane())
        return f"{e.func.name}({', '.join(args)})", PRIMARY

    def argument(self, a) -> str:
        """A value, or the address of a variable passed by reference."""
        if isinstance(a, n.VarPlace):
            if a.var.by_ref:
                return a.var.name
            return f"&{self.place(a)[0]}"
        return self.text(a)

    def print_Extent(self, e):
        self.use_array(e.array)
        return f"{e.array.name}_shape{e.axis}", PRIMARY

    def print_Rand(self, e):
        return f"{self.prelude.need('random', 'draw', e.type)}(&{self.lane()}->rng)", PRIMARY

    def print_Builtin(self, e):
        if "." in e.name:
            return f"{self.prelude.need(*e.name.split('.'))}()", PRIMARY
        return f"{self.lane()}->worker", PRIMARY

    def print_Intrinsic(self, e):
        if e.op == "address":
            return f"({self.type(e.type)}){self.address(e.args[0])}", UNARY
        name = self.prelude.need(*e.op.split("."), *e.params)
        return f"{name}({', '.join(self.argument(a) for a in e.args)})", PRIMARY

    def print_Volatile(self, e):
        place, t = e.place, self.type(e.type)
        if e.type is f16:  # a class in some dialects: its bits are read
            bits = self.type(u16)
            back = self.prelude.need("cast", "bit_cast", u16, f16)
            return f"{back}(*(const volatile {bits} *){self.address(place)})", PRIMARY
        return f"(*(const volatile {t} *){self.address(place)})", PRIMARY

    def print_Atomic(self, e):
        family = "plain" if self.plain or e.plain or self._private(e.place) else "atomic"
        op = f"{e.op}_whole" if isinstance(e.type, TensorType) else e.op
        name = self.prelude.need(family, op, e.type)
        args = ", ".join(self.text(a) for a in e.args)
        return f"{name}({self.address(e.place)}, {args})", PRIMARY

    @staticmethod
    def _private(place) -> bool:
        from quadrants.ir.walk import root_var

        var = root_var(place)
        return var is not None and not var.shared

    # ------------------------------------------------------------ places

    def address(self, place) -> str:
        text, _ = self.place(place)
        return text[2:-1] if text.startswith("(*") and text.endswith(")") and "(" not in text[2:] else f"&{text}"

    def place(self, p):
        return getattr(self, "place_" + type(p).__name__)(p)

    def place_VarPlace(self, p):
        var = p.var
        if var.by_ref:
            return f"(*{var.name})", PRIMARY
        if var.id in self.parameters:
            self.values[var.id] = var
        elif var.shared:
            self.uses_frame = True
            return f"{self.dialect.frame}{var.name}", PRIMARY
        return var.name, PRIMARY

    def place_MemberPlace(self, p):
        return f"{self.place(p.base)[0]}.{self.prelude.member(p.name)}", PRIMARY

    def place_ElemPlace(self, p):
        if isinstance(p.base, n.Cell):
            return self._cell_component(p.base, p.indices)
        return f"{self.place(p.base)[0]}.v[{self.flat_index(p.indices, p.base.type)}]", PRIMARY

    def flat_index(self, indices, t: TensorType) -> str:
        if len(indices) == 1:
            return self.text(indices[0])
        i, j = indices
        m = t.shape[1]
        if isinstance(i, n.Const) and isinstance(j, n.Const):
            return str(i.value * m + j.value)
        if isinstance(i, n.Const):
            return f"{i.value * m} + {self.text(j, ADD)}" if i.value else self.text(j)
        return f"{self.text(i, MUL)} * {m} + {self.text(j, ADD)}"

    def place_Cell(self, p):
        decl = p.array
        self.use_array(decl)
        if isinstance(p.type, StructType):
            raise NotImplementedError("struct cells are stored member by member")
        if isinstance(p.type, TensorType):
            return self._tensor_cell(p)
        return f"{decl.name}[{self.cell_index(p)}]", PRIMARY

    def _load_tensor_cell(self, p):
        if p.array.components is not None:
            texts = [self.place(n.Cell(c, p.indices, c.type))[0] for c in p.array.components]
            return self.prelude.literal(p.type, texts), PRIMARY
        self.use_array(p.array)
        return self._tensor_cell(p)

    def _tensor_cell(self, p):
        """A whole vector or matrix in memory: its components lie side by side."""
        decl = p.array
        if cell_unit(decl) == 1:
            return f"(*({self.type(p.type)} *)&{decl.name}[{self.cell_index(p)}])", PRIMARY
        return f"{decl.name}[{self.cell_index(p)}]", PRIMARY

    def _cell_component(self, cell, indices):
        decl = cell.array
        t = cell.type
        if decl.components is not None:
            return self._separate_component(cell, indices, t)
        self.use_array(decl)
        flat = self.flat_index(indices, t)
        if cell_unit(decl) == 1:
            base = self.cell_index(cell)
            return f"{decl.name}[{base} + {flat}]" if flat != "0" else f"{decl.name}[{base}]", PRIMARY
        return f"{decl.name}[{self.cell_index(cell)}].v[{flat}]", PRIMARY

    def _separate_component(self, cell, indices, t):
        parts = cell.array.components
        texts = [self.place(n.Cell(c, cell.indices, c.type))[0] for c in parts]
        if all(isinstance(i, n.Const) for i in indices):
            return texts[int(self.flat_index(indices, t))], PRIMARY
        flat = self.flat_index(indices, t)
        choice = f"&{texts[-1]}"
        for k in range(len(texts) - 2, -1, -1):
            choice = f"{paren(flat, 0, UNARY)} == {k} ? &{texts[k]} : {choice}"
        return f"(*({choice}))", PRIMARY

    def use_array(self, decl) -> None:
        self.arrays[decl.id] = decl

    parameters: dict = {}
    loaded: dict = {}  # id of a load -> the register that has its value
    needs_lane: set = set()


def _negated(text: str) -> str:
    return f"-({text})" if text.startswith("-") else f"-{text}"


def _repeatable(e) -> bool:
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


def _shortest(value: float, t: DType) -> str:
    """The shortest decimal text that reads back as the same value of type `t`."""
    if t.bits <= 32:
        import numpy as np

        text = str(np.float32(value))
    else:
        text = repr(value)
    return text if any(c in text for c in ".en") else text + ".0"


def _c_string(text: str) -> str:
    out = []
    for ch in text:
        if ch in '"\\':
            out.append("\\" + ch)
        elif ch == "\n":
            out.append("\\n")
        elif ch == "\t":
            out.append("\\t")
        elif ch == "?":
            out.append("\\?")
        elif 32 <= ord(ch) < 127:
            out.append(ch)
        else:
            out.extend(f"\\{byte:03o}" for byte in ch.encode())
    return '"' + "".join(out) + '"'
