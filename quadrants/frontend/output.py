"""print, assert and their format strings."""

from __future__ import annotations

import ast
import string

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.frontend.expressions import is_runtime
from quadrants.ir.nodes import Print
from quadrants.ir.types import DType, StructType, TensorType, f64
from quadrants.lang import access, tensor, typed
from quadrants.lang.kinds import kind_of
from quadrants.lang.value import Value

SIGNED, UNSIGNED, REAL = "di", "uoxX", "fFeEgGaA"


class Formatted:
    """A format string met in a kernel: literal texts and (value, spec) pairs in order.

    What is known while compiling is text, as Python writes it, unless a spec asks for C's way.
    """

    __slots__ = ("parts",)

    def __init__(self):
        self.parts: list = []

    def add(self, value, spec: str = "") -> None:
        if spec or _holds_values(value):
            self.parts.append((value, spec))
        elif _is_container(value):
            raise QuadrantsTypeError(CONTAINER)
        else:
            self.parts.append(str(typed.unboxed(value)))

    @property
    def text(self) -> str | None:
        """The string, where all of it is known while compiling."""
        return "".join(self.parts) if all(isinstance(p, str) for p in self.parts) else None


def check_spec(spec: str, t: DType) -> str:
    """The C conversion for `spec` (printf text without the percent sign), or an error naming both."""
    if not spec:
        return ""
    body = spec.rstrip(string.ascii_letters)
    letters = spec[len(body) :]
    if len(letters) > 1:
        raise QuadrantsTypeError(f"'{spec}' is not supported: one conversion letter at most")
    if letters and letters in "csnp":
        raise QuadrantsTypeError(f"'{spec}' is not supported in kernel prints")
    if not all(c in "0123456789.+-# " for c in body):
        raise QuadrantsSyntaxError(
            f"The format '{spec}' is not supported: use C printf flags, width and precision, such as '5d' or '.2f'."
        )
    if letters:
        fits = letters in (REAL if t.is_real else SIGNED if t.kind == "i" else UNSIGNED)
        if letters not in SIGNED + UNSIGNED + REAL:
            raise QuadrantsTypeError(f"'{spec}' is not supported in kernel prints")
        if not fits:
            raise QuadrantsTypeError(f"'{spec}' doesn't match '{t}'.")
    return spec


CONTAINER = (
    "Invalid constant scalar data type: a field, array or view cannot be printed in a kernel; "
    "print elements of it, or print(x.to_numpy()) on the host."
)


def _holds_values(x) -> bool:
    """Whether what is printed of something is for the kernel to say: values of it, and vectors, which print alike."""
    if isinstance(x, (list, tuple)):
        return any(map(_holds_values, x))
    return is_runtime(x) or isinstance(x, Formatted) or getattr(x, "_qd_host_matrix", False)


def _is_container(x) -> bool:
    """Whether something is a field, array or view, whose content is not known while the kernel is compiled."""
    return bool(kind_of(x) or kind_of(getattr(x, "obj", None))) or hasattr(x, "decl")


class Output:
    """Part of the tracer."""

    def trace_print(self, node) -> None:
        sep, end = " ", "\n"
        for k in node.keywords:
            if k.arg not in ("sep", "end"):
                raise QuadrantsSyntaxError(f"print() got an unexpected keyword argument '{k.arg}'")
            value = self.eval(k.value)
            sep, end = (value, end) if k.arg == "sep" else (sep, value)
        parts: list = []
        for k, value in enumerate(self.eval_arguments(node.args)):
            if k:
                parts.append(sep)
            self._print_value(value, "", parts)
        parts.append(end)
        self.prints = True
        self.emit(Print(tuple(_merge(parts))))

    def _print_value(self, value, spec: str, parts: list) -> None:
        if isinstance(value, Formatted):
            for part in value.parts:
                if isinstance(part, str):
                    parts.append(part)
                else:
                    self._print_value(*part, parts)
            return
        value = typed.unboxed(value)
        if isinstance(value, str):
            parts.append(value)
            return
        if isinstance(value, (list, tuple)):
            parts.append("[")
            for k, item in enumerate(value):
                if k:
                    parts.append(", ")
                self._print_value(item, spec, parts)
            parts.append("]")
            return
        if not isinstance(value, Value) and not typed.is_number(value) and not _is_tensor(value):
            if not hasattr(value, "as_value"):
                if _is_container(value):
                    raise QuadrantsTypeError(CONTAINER)
                parts.append(str(value))
                return
        v = typed.to_value(value)
        if isinstance(v.type, StructType):
            raise QuadrantsTypeError("Structs cannot be printed; print their members.")
        if isinstance(v.type, TensorType):
            rows = access.iterate(self.temp(v))
            self._print_value(list(rows), spec, parts)
            return
        parts.append((v.expr, check_spec(spec, v.type)))

    # ------------------------------------------------------------ format strings

    def format_string(self, node: ast.JoinedStr):
        made = Formatted()
        for piece in node.values:
            if isinstance(piece, ast.Constant):
                made.add(piece.value)
                continue
            spec = ""
            if piece.format_spec is not None:
                if any(not isinstance(p, ast.Constant) for p in piece.format_spec.values):
                    raise QuadrantsSyntaxError("Nested format specifications are not supported in kernels.")
                spec = "".join(p.value for p in piece.format_spec.values)
            made.add(self.eval(piece.value), spec)
        text = made.text
        return made if text is None else text

    def format_method(self, text: str, args: list, kwargs: dict) -> Formatted:
        """`"...".format(...)` with positional, indexed and keyword fields."""
        made, used, auto = Formatted(), set(), 0
        for literal, name, spec, _ in string.Formatter().parse(text):
            made.add(literal)
            if name is None:
                continue
            if "{" in (spec or ""):
                raise QuadrantsSyntaxError("Nested format specifications are not supported in kernels.")
            if name == "" or name.isdigit():
                at = auto if name == "" else int(name)
                auto += name == ""
                if at >= len(args):
                    raise QuadrantsSyntaxError(
                        f"Expected {at + 1} positional argument(s), but received {len(args)} instead."
                    )
                used.add(at)
                made.add(args[at], spec)
            else:
                if name not in kwargs:
                    raise QuadrantsSyntaxError(f"Keyword '{name}' not found.")
                used.add(name)
                made.add(kwargs[name], spec)
        for key in kwargs:
            if key not in used:
                raise QuadrantsSyntaxError(f"Keyword '{key}' not used.")
        unused = [k for k in range(len(args)) if k not in used]
        if unused:
            expected = len(args) - len(unused)
            raise QuadrantsSyntaxError(f"Expected {expected} positional argument(s), but received {len(args)} instead.")
        return made

    # ------------------------------------------------------------ assert

    def trace_assert(self, node: ast.Assert) -> None:
        cond = typed.condition(self.eval(node.test), "assert")
        if not self.debug:
            return
        texts, values = self._assert_message(node)
        self.check(cond, ("assert", tuple(texts)), values)

    def _assert_message(self, node):
        """(texts with a slot for each value, value expressions)"""
        if node.msg is None:
            return [ast.unparse(node.test)], []
        percent = isinstance(node.msg, ast.BinOp) and isinstance(node.msg.op, ast.Mod)
        if percent and isinstance(node.msg.left, ast.Constant):
            message = self._percent_message(node.msg)
        else:
            message = self.eval(node.msg)
        texts, values = [""], []
        parts: list = []
        if isinstance(message, Formatted):
            message.parts = [p if isinstance(p, str) else (p[0], "") for p in message.parts]
        self._print_value(message if isinstance(message, (Formatted, Value)) else str(message), "", parts)
        for part in _merge(parts):
            if isinstance(part, str):
                texts[-1] += part
            else:
                expr = part[0]
                values.append(typed.cast_expr(expr, f64) if expr.type.is_real else expr)
                texts.append("")
        return texts, values

    def _percent_message(self, node) -> Formatted:
        args = self.eval(node.right)
        args = list(args) if isinstance(args, tuple) else [args]
        pieces = node.left.value.replace("%%", "\0").split("%")
        if len(pieces) - 1 != len(args):
            raise QuadrantsSyntaxError(f"Expected {len(pieces) - 1} value(s) for the assert message, got {len(args)}.")
        made = Formatted()
        made.add(pieces[0].replace("\0", "%"))
        for piece, arg in zip(pieces[1:], args):
            made.parts.append((arg, ""))
            made.add(piece.lstrip("0123456789.+-# ")[1:].replace("\0", "%"))
        return made


def _is_tensor(x) -> bool:
    return getattr(x, "_qd_host_matrix", False) or tensor.is_sequence(x)


def _merge(parts: list) -> list:
    """Neighbouring literals joined."""
    out: list = []
    for p in parts:
        if isinstance(p, str) and out and isinstance(out[-1], str):
            out[-1] += p
        elif p != "":
            out.append(p)
    return out
