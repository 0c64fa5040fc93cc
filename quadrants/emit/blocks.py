"""IR statements as indented lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quadrants.emit import text as t_
from quadrants.emit.printed import pieces, recorded
from quadrants.emit.printer import Printer
from quadrants.emit.vectors import whole_updates
from quadrants.ir import nodes as n
from quadrants.ir.types import DType, ValueType, scalar, u64

if TYPE_CHECKING:
    from quadrants.emit.dialects import Dialect
    from quadrants.emit.prelude import Prelude

INDENT = "    "


class BlockPrinter(Printer):
    """Prints statements into `self.lines`."""

    def __init__(self, dialect: Dialect, prelude: Prelude, options: dict[str, Any]) -> None:
        super().__init__(dialect, prelude, options)
        self.lines: list[str] = []
        self.depth = 1
        self.line_of: tuple[int, str] | None = None
        self.label = 0
        self.uses_check = False

    def put(self, text: str) -> None:
        self.lines.append(INDENT * self.depth + text)

    def block(self, body: Sequence[n.Stmt]) -> None:
        self.depth += 1
        self.statements(body)
        self.depth -= 1

    def statements(self, body: Sequence[n.Stmt]) -> None:
        for s in whole_updates(body) if self.updates_whole() else body:
            self.statement(s)

    def updates_whole(self) -> bool:
        """Whether additions to all components of a vector are one."""
        return self.dialect.whole_updates and not self.plain

    def statement(self, s: n.Stmt) -> None:
        self.mark(s)
        getattr(self, "stmt_" + type(s).__name__)(s)

    def mark(self, s: n.Stmt) -> None:
        """A comment with function and line wherever the user's line changes."""
        if s.loc is None:
            return
        _, line, function = s.loc.frames[-1]
        if (line, function) != self.line_of:
            self.line_of = (line, function)
            self.pending = f"{self.dialect.comment} {function}:{line - self.first_lines.get(function, line) + 1}"
        else:
            self.pending = ""

    pending = ""
    first_lines: dict[str, int] = {}

    def put_marked(self, text: str) -> None:
        line = INDENT * self.depth + text
        if self.pending:
            line = f"{line:<72}  {self.pending}"
            self.pending = ""
        self.lines.append(line)

    # ------------------------------------------------------------ statements

    def stmt_Declare(self, s: n.Declare) -> None:
        var = s.var
        if var.shared:
            self.uses_frame = True
            place = n.VarPlace(var, var.type)
            self.put_marked(t_.assign(self.place(place), self.stored(place, self.text(s.init))) + ";")
            return
        const = "" if var.mutable else "const "
        self.put_marked(f"{const}{self.declared_type(var.type)} {var.name} = {self.text(s.init).bare};")

    def stmt_Store(self, s: n.Store) -> None:
        place = s.place
        if isinstance(place, n.VarPlace) and isinstance(s.value, n.Binary):
            compound = self.compound(place, s.value)
            if compound:
                self.put_marked(compound)
                return
        self.put_marked(t_.assign(self.place(place), self.stored(place, self.text(s.value))) + ";")

    def compound(self, place: n.VarPlace, value: n.Binary) -> str:
        """`x += e` for `x = x + e`, where the type is computed at its own width."""
        symbols = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "bit_and": "&", "bit_or": "|", "bit_xor": "^"}
        a = value.a
        if (
            value.op not in symbols
            or value.loc is not None
            or not isinstance(value.type, DType)
            or value.type.bits < 32
        ):
            return ""
        if isinstance(a, n.Load) and isinstance(a.place, n.VarPlace) and a.place.var is place.var:
            operand = self.text(value.b) if value.exact else self.unsigned_operand(value.op, value.b)
            return t_.assign(self.place(place), operand, symbols[value.op]) + ";"
        return ""

    def stmt_Eval(self, s: n.Eval) -> None:
        self.put_marked(f"{self._plain_update(s.value) or self.text(s.value).bare};")

    def _plain_update(self, e: n.Expr) -> str:
        """`place += value` for an update that no other thread can see half done."""
        symbols = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}
        if not isinstance(e, n.Atomic) or e.op not in symbols or not (self.plain or e.plain or self.private(e.place)):
            return ""
        if not isinstance(e.type, DType) or e.type.bits < 32:
            return ""
        return t_.assign(self.place(e.place), self.unsigned_operand(e.op, e.args[0]), symbols[e.op])

    def stmt_If(self, s: n.If) -> None:
        cond = self.condition(s.cond).bare
        if not s.then and s.orelse:
            self.put_marked(f"if (!({cond})) {{")
            self.block(s.orelse)
            self.put("}")
            return
        self.put_marked(f"if ({cond}) {{")
        self.block(s.then)
        while len(s.orelse) == 1 and isinstance(s.orelse[0], n.If):
            s = s.orelse[0]
            self.put(f"}} else if ({self.condition(s.cond).bare}) {{")
            self.block(s.then)
        if s.orelse:
            self.put("} else {")
            self.block(s.orelse)
        self.put("}")

    def stmt_For(self, s: n.For) -> None:
        """A sequential loop, nested for every axis; break leaves the whole product."""
        label = ""
        if s.has_break and len(s.vars) > 1:
            self.label += 1
            label = f"leave_{self.label}"
        self.break_labels.append(label)
        empty_rank = not s.vars
        if empty_rank:
            self.put_marked("{")
        if s.unroll and self.dialect.unroll:
            self.put(self.dialect.unroll[s.unroll])
        for var, (begin, end) in zip(s.vars, s.bounds):
            if s.backward:
                self.put_marked(self.backward_header(var, self.text(begin), self.text(end)))
            else:
                self.put_marked(self.for_header(var, self.text(begin), self.text(end)))
            self.depth += 1
        if empty_rank:
            self.depth += 1
        self.statements(s.body)
        for _ in range(max(1, len(s.vars))):
            self.depth -= 1
            self.put("}")
        self.break_labels.pop()
        if label:
            self.put(f"{label}:;")

    def backward_header(self, var: n.Var, begin: t_.Text, end: t_.Text) -> str:
        test = t_.infix(">", t_.RELATION, t_.name(f"{var.name}--"), begin)
        return f"for ({self.type(var.type)} {var.name} = {end.bare}; {test.bare};) {{"

    def for_header(self, var: n.Var, begin: t_.Text, end: t_.Text) -> str:
        test = t_.infix("<", t_.RELATION, t_.name(var.name), end)
        return f"for ({self.type(var.type)} {var.name} = {begin.bare}; {test.bare}; ++{var.name}) {{"

    def stmt_While(self, s: n.While) -> None:
        self.break_labels.append("")
        if not s.pre:
            self.put_marked(f"while ({self.condition(s.cond).bare}) {{")
        else:
            self.put_marked(f"while ({self.dialect.endless}) {{")
            self.block(s.pre)
            self.depth += 1
            self.put(f"if (!({self.condition(s.cond).bare})) break;")
            self.depth -= 1
        self.block(s.body)
        self.put("}")
        self.break_labels.pop()

    def stmt_Break(self, s: n.Break) -> None:
        label = self.break_labels[-1] if self.break_labels else ""
        self.put_marked(f"goto {label};" if label else "break;")

    def stmt_Continue(self, s: n.Continue) -> None:
        self.put_marked("return;" if self.leaves_by_return and not self.break_labels else "continue;")

    leaves_by_return = False

    def stmt_Return(self, s: n.Return) -> None:
        if not self.in_function:  # a kernel: results go to the argument block
            for k, value in enumerate(s.values):
                self.uses_frame = True
                stored = self.to_memory(value.type, self.text(value))
                self.put_marked(f"{self.dialect.result}{k} = {stored.bare};")
            return
        if not s.values:
            self.put_marked("return;")
        elif len(s.values) == 1:
            self.put_marked(f"return {self.text(s.values[0]).bare};")
        else:
            assert self.result is not None
            self.put_marked(f"return {self.literal(self.result, s.values).bare};")

    in_function = False
    result: ValueType | None = None  # of a function, a struct of several

    def stmt_Leave(self, s: n.Leave) -> None:
        self.put_marked("break;" if self.joins else "return;")

    joins = False  # the threads of the task meet behind its iterations

    def stmt_Check(self, s: n.Check) -> None:
        self.uses_check = True
        kinds = "".join(map(_kind, s.values))
        name = self.prelude.need("check", "fail", kinds)
        failure = t_.call(name, self.lane(), t_.name(str(s.site)), *self.texts(s.values))
        self.put_marked(t_.unless(self.condition(s.cond), failure))

    def stmt_Print(self, s: n.Print) -> None:
        if not self.dialect.spelling.string:
            self.record(*recorded(s.parts, self._recorded_value))
            return
        self.prelude.need("print")
        lines = pieces(s.parts, self.dialect.print_values, self._print_argument)
        if len(lines) > 1:
            self.put_marked(f"{self.prelude.need('print', 'together')} {{")
            self.depth += 1
        for form, values in lines:
            self.put_marked(f"{t_.call('qd_print', self.lane(), t_.string(form), *values).bare};")
        if len(lines) > 1:
            self.depth -= 1
            self.put("}")

    def record(self, form: str, kinds: str, values: Sequence[t_.Text]) -> None:
        """A line that the host prints."""
        helper = self.prelude.need("print", "record", kinds)
        number = t_.name(str(self.printed.number(form, kinds)))
        self.put_marked(f"{t_.call(helper, self.lane(), number, *values).bare};")

    def _recorded_value(self, e: n.Expr, spec: str) -> tuple[str, str, t_.Text]:
        t = scalar(e.type)
        letter = spec[-1] if spec and spec[-1].isalpha() else ""
        body = spec[: len(spec) - len(letter)]
        if t.is_real:
            default = ".12f" if t.bits == 64 and not body else "f"
            return f"%{body}{letter or default}", "fd"[t.bits == 64], self.text(e)
        kind = ("IQ" if t.kind == "u" else "iq")[t.bits == 64]
        return f"%{body}{letter or ('u' if t.kind == 'u' else 'd')}", kind, self.text(e)

    def _print_argument(self, e: n.Expr, spec: str) -> tuple[str, t_.Text]:
        t = scalar(e.type)
        letter = spec[-1] if spec and spec[-1].isalpha() else ""
        body = spec[: len(spec) - len(letter)]
        if t.is_real:
            default = "f" if t.bits <= 32 else ("f" if body else ".12f")
            return f"%{body}{letter or default}", self.cast("double", self.text(e))
        if t.bits <= 32:
            wide = "int" if t.kind != "u" else "unsigned"
            return f"%{body}{letter or ('u' if t.kind == 'u' else 'd')}", self.cast(wide, self.text(e))
        wide = self.dialect.wide if t.kind == "i" else f"unsigned {self.dialect.wide}"
        length = "l" * self.dialect.wide.count("long")
        return f"%{body}{length}{letter or ('u' if t.kind == 'u' else 'd')}", self.cast(wide, self.text(e))

    def stmt_Comment(self, s: n.Comment) -> None:
        self.put(f"{self.dialect.comment} {s.text}")

    break_labels: list[str] = []


def _kind(e: n.Expr) -> str:
    """The kind of a value of a failure."""
    t = scalar(e.type)
    return "f" if t.is_real else "u" if t is u64 else "i"
