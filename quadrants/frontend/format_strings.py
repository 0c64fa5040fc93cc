"""Format strings in kernels: texts, values with a specification, and what is known before the kernel runs."""

from __future__ import annotations

import ast
import string
from collections.abc import Callable
from typing import Any

import numpy as np

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.formats import written
from quadrants.ir.types import DType, i64
from quadrants.lang import typed
from quadrants.lang.kinds import kind_of
from quadrants.lang.value import Value

SIGNED, UNSIGNED, REAL = "di", "uoxX", "fFeEgGaA"
_PLAIN = ("d", "i", "u", "f", "s")  # of a field that asks for nothing, and is given values of any type
_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}


class Formatted:
    """A format string met in a kernel: literal texts and (value, spec) pairs in order."""

    __slots__ = ("parts",)

    def __init__(self, parts):
        self.parts = parts

    def __str__(self) -> str:
        """For messages of the time of compilation: vectors of Python scope as they print there."""
        return "".join(part if isinstance(part, str) else str(part[0]) for part in self.parts)


def check_spec(spec: str, t: DType) -> str:
    """The C conversion for `spec` (printf text without the percent sign), or an error naming both."""
    if not spec:
        return ""
    body = spec.rstrip(string.ascii_letters)
    letters = spec[len(body) :]
    if len(letters) > 1:
        raise QuadrantsTypeError(f"'{spec}' is not supported: one conversion letter at most")
    if letters and letters in "csnp":
        raise _no_conversion(spec, t)
    if not all(c in "0123456789.+-# " for c in body):
        raise QuadrantsSyntaxError(
            f"The format '{spec}' is not supported: use C printf flags, width and precision, such as '5d' or '.2f'."
        )
    if letters:
        if letters not in SIGNED + UNSIGNED + REAL:
            raise _no_conversion(spec, t)
        if letters not in _letters_of(t):
            raise _mismatch(spec, letters, t)
    return spec


def check_written(spec: str, t: DType) -> str:
    """`spec` where the message of an assertion can write values of a type by it: the host does that, so that it may be
    of Python, too. Else the error of `check_spec`."""
    try:
        return check_spec(spec, t)
    except (QuadrantsSyntaxError, QuadrantsTypeError):
        try:
            written(0.0 if t.is_real else 0, spec)
        except ValueError:
            pass
        else:
            return spec
        raise


def _no_conversion(spec: str, t: DType) -> QuadrantsTypeError:
    return QuadrantsTypeError(
        f"'{spec}' is not supported in kernel prints: for a value of type {t}, end it with one of "
        f"{', '.join(_letters_of(t))}, or leave it out."
    )


def _letters_of(t: DType) -> str:
    return REAL if t.is_real else SIGNED if t.kind == "i" else UNSIGNED


def _mismatch(spec: str, letter: str, t: DType) -> QuadrantsTypeError:
    bits = 32 if t.kind == "b" else t.bits
    kind = "i" if letter in SIGNED else "u" if letter in UNSIGNED else "f"
    if kind == "i" and t.kind == "u":
        bits *= 2  # the wider type has all of its numbers
    cast = f"; or convert the value by qd.{kind}{max(bits, 32) if kind == 'f' else bits}(..)" if bits <= 64 else ""
    fitting = ", ".join(_letters_of(t))
    return QuadrantsTypeError(f"'{spec}' doesn't match '{t}', which takes one of {fitting}{cast}.")


def is_container(x) -> bool:
    """Whether something is a field, array or view, whose content is not known while the kernel is compiled."""
    return bool(kind_of(x) or kind_of(getattr(x, "obj", None))) or hasattr(x, "decl")


def python_text(x, nested: bool = False) -> list:
    """What `str(x)` writes: texts, and pairs for what the kernel prints in it, such as numbers of run time."""
    if isinstance(x, Formatted):
        return list(x.parts)
    if isinstance(x, Value) or hasattr(x, "as_value") or getattr(x, "_qd_host_matrix", False) or is_container(x):
        return [(x, "")]
    if type(x) is dict:
        items = [[*python_text(k, True), ": ", *python_text(v, True)] for k, v in x.items()]
        return _listed("{", items, "}")
    if type(x) is list:
        return _listed("[", [python_text(item, True) for item in x], "]")
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        named = [[f"{name}=", *python_text(item, True)] for name, item in zip(x._fields, x)]
        return _listed(f"{type(x).__name__}(", named, ")")
    if type(x) is tuple:
        return _listed("(", [python_text(item, True) for item in x], ",)" if len(x) == 1 else ")")
    return [repr(x) if nested else str(x)]


def _listed(first: str, items: list, last: str) -> list:
    parts = [first]
    for k, item in enumerate(items):
        parts += [", ", *item] if k else item
    return [*parts, last]


def formatted(parts: list):
    """A string where every value is known already, else a Formatted. parts: texts and (value, spec) pairs."""
    out: list = []
    for part in parts:
        if isinstance(part, str):
            out.append(part)
        else:
            out += [part] if part[1] else python_text(part[0])
    return "".join(out) if all(isinstance(part, str) for part in out) else Formatted(out)


def _field(value, spec: str, conversion: str = ""):
    """A text where Python can format the value already, else a pair for what the kernel prints."""
    if not isinstance(value, (str, bool, int, float, np.generic)):
        return value, spec
    if conversion:
        if conversion not in _CONVERSIONS:
            raise QuadrantsSyntaxError(f"Unknown conversion '!{conversion}': Python has !r, !s and !a.")
        value = _CONVERSIONS[conversion](value)
    try:
        return format(value, spec) if spec else (value, "")
    except ValueError as error:
        if isinstance(value, str):
            raise QuadrantsSyntaxError(str(error)) from None
        return value, spec  # conversions of C alone, as 'i' and 'u'


def format_string(node: ast.JoinedStr, evaluate: Callable[[ast.AST], Any]):
    """The text of an f-string, or what of it is known while the kernel is compiled."""
    parts: list = []
    for piece in node.values:
        if isinstance(piece, ast.FormattedValue):
            conversion = chr(piece.conversion) if piece.conversion > 0 else ""
            parts.append(_field(evaluate(piece.value), _spec_of(piece, evaluate), conversion))
        elif isinstance(piece, ast.Constant):
            parts.append(piece.value)
    return formatted(parts)


def _spec_of(piece: ast.FormattedValue, evaluate: Callable[[ast.AST], Any]) -> str:
    if not isinstance(piece.format_spec, ast.JoinedStr):
        return ""
    return _known(format_string(piece.format_spec, evaluate))


def _known(spec: Any) -> str:
    """A specification that may have fields of its own."""
    if not isinstance(spec, str):
        raise QuadrantsSyntaxError(
            "The width and the precision of a format have to be known while the kernel is compiled. Write a number, or "
            "pass it as a qd.template() argument."
        )
    return spec


class _Arguments:
    """The arguments of `"...".format(...)`, and which of them were asked for."""

    def __init__(self, args: list, kwargs: dict):
        self.args, self.kwargs = args, kwargs
        self.used: set = set()
        self.auto = 0

    def get(self, name: str) -> Any:
        if name != "" and not name.isdigit():
            if name not in self.kwargs:
                raise QuadrantsSyntaxError(f"Keyword '{name}' not found.")
            self.used.add(name)
            return self.kwargs[name]
        at = self.auto if name == "" else int(name)
        self.auto += name == ""
        if at >= len(self.args):
            raise self._expected(at + 1)
        self.used.add(at)
        return self.args[at]

    def check_used(self) -> None:
        for key in self.kwargs:
            if key not in self.used:
                raise QuadrantsSyntaxError(f"Keyword '{key}' not used.")
        unused = [k for k in range(len(self.args)) if k not in self.used]
        if unused:
            raise self._expected(len(self.args) - len(unused))

    def _expected(self, count: int) -> QuadrantsSyntaxError:
        return QuadrantsSyntaxError(f"Expected {count} positional argument(s), but received {len(self.args)} instead.")


def format_method(text: str, args: list, kwargs: dict):
    """`"...".format(...)` with positional, indexed and keyword fields."""
    given = _Arguments(args, kwargs)
    made = _fields_of(text, given)
    given.check_used()
    return made


def _fields_of(text: str, given: _Arguments):
    parts: list = []
    for literal, name, spec, conversion in string.Formatter().parse(text):
        parts.append(literal)
        if name is not None:
            value = given.get(name)
            parts.append(_field(value, _known(_fields_of(spec or "", given)), conversion or ""))
    return formatted(parts)


def percent_message(template: str, args: Any) -> Formatted:
    """`template % args` of an assert, as in `"%d of %.2f" % (a, b)`; `%(name)d` takes from a dict."""
    by_name = args if isinstance(args, dict) else None
    waiting = [] if by_name is not None else list(args) if isinstance(args, tuple) else [args]
    given = len(waiting)
    pieces = template.replace("%%", "\0").split("%")
    parts: list = [pieces[0].replace("\0", "%")]
    if any(piece.lstrip("0123456789.+-# ").startswith("*") for piece in pieces[1:]):
        raise QuadrantsSyntaxError(
            "A width that is an argument, `%*d`, is not supported: write the number, or an f-string."
        )
    if by_name is None and len(pieces) - 1 != given:
        raise QuadrantsSyntaxError(f"Expected {len(pieces) - 1} value(s) for the assert message, got {given}.")
    for piece in pieces[1:]:
        arg, piece = _named(by_name, piece) if by_name is not None else (waiting.pop(0), piece)
        tail = piece.lstrip("0123456789.+-# ")
        spec = piece[: len(piece) - len(tail)] + tail[:1]
        arg = _cut(arg) if tail[:1] in ("d", "i", "u") else arg
        parts += [(arg, "" if spec in _PLAIN else spec), tail[1:].replace("\0", "%")]
    return Formatted(parts)


def _named(values: dict, piece: str) -> tuple[Any, str]:
    """The value of `(name)d`, and the rest."""
    name, closed, rest = piece[1:].partition(")")
    if not piece.startswith("(") or not closed:
        raise QuadrantsSyntaxError(f"`%{piece}` of a message with a dict has no name: write `%(name)d`.")
    if name not in values:
        raise QuadrantsSyntaxError(f"The dict of the assert message has no {name!r}.")
    return values[name], rest


def _cut(value: Any) -> Any:
    """Real numbers as integers, as `%d` of Python writes them."""
    if isinstance(value, float):
        return int(value)
    real = isinstance(value, Value) and isinstance(value.type, DType) and value.type.is_real
    return typed.cast(value, i64) if real else value
