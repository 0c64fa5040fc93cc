"""Functions of the language, walked as Python's syntax trees, from left to right."""

from __future__ import annotations

import ast
import builtins

from .errors import Undefined, Unmodelled
from .expressions import Expressions
from .loops import Loops
from .memory import tracker
from .names import spelled
from .numbers import Num, literal
from .operations import binary
from .places import Memory, Place, Several, Variable
from .values import Struct, Tensor, copied, initial, is_constant, type_of

AUGMENTED = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@",
}  # fmt: skip
ATOMIC = ("+", "-", "&", "|", "^")
MAX_STEPS = 200_000


class Break(Exception):
    pass


class Continue(Exception):
    pass


class Return(Exception):
    def __init__(self, value):
        self.value = value


class Evaluator(Expressions, Loops):
    """One call of a kernel or func. `scopes`: names of the open blocks, outermost first."""

    steps = 0
    dry = 0  # above 0 nothing is written, and what is read only has a type

    def __init__(self, outer: dict, names: dict, top: bool, may_return_anywhere: bool = False):
        self.outer = outer
        self.scopes = [names]
        self.top = top  # loops here are parallel
        self.serialized = False
        self.anywhere = may_return_anywhere
        self.discarded: ast.expr | None = None  # a call whose value nobody takes

    # ------------------------------------------------------------ names

    def find(self, name: str):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in self.outer:
            return self.outer[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise Unmodelled(f"no name {name}")

    def local(self, name: str):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def bind(self, name: str, value) -> None:
        self.scopes[-1][name] = value

    def declare(self, name: str, value) -> None:
        if is_constant(value):
            value = literal(value)
        if isinstance(value, (Num, Tensor, Struct)):
            value = Variable(copied(value))
        elif isinstance(value, (list, tuple)):
            value = type(value)(self.snapshot(e) for e in value)
        self.bind(name, value)

    def snapshot(self, x):
        return Variable(copied(x)) if isinstance(x, (Num, Tensor, Struct)) else x

    # ------------------------------------------------------------ statements

    def block(self, body: list, scoped: bool = True) -> None:
        if scoped:
            self.scopes.append({})
        try:
            for statement in body:
                Evaluator.steps += 1
                if Evaluator.steps > MAX_STEPS:
                    raise Undefined("a program that takes too long")
                getattr(self, "do_" + type(statement).__name__)(statement)
        finally:
            if scoped:
                self.scopes.pop()

    def do_Expr(self, s) -> None:
        if isinstance(s.value, ast.Constant):
            return
        if isinstance(s.value, ast.Call) and isinstance(s.value.func, ast.Name) and s.value.func.id == "print":
            self.print(s.value)
            return
        self.discarded = s.value
        self.eval(s.value)

    def do_Pass(self, s) -> None:
        pass

    def do_Assert(self, s) -> None:
        if not self.truth(self.eval(s.test)):
            raise Unmodelled("a failing assertion")

    def do_Assign(self, s) -> None:
        value = self.eval(s.value)
        for target in s.targets:
            self.assign(target, value)

    def do_AnnAssign(self, s) -> None:
        type_ = self.eval(s.annotation)
        self.declare(s.target.id, initial(type_, self.eval(s.value)))

    def assign(self, target, value) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = self.unpacked(value)
            if len(parts) != len(target.elts):
                raise Unmodelled("the number of targets")
            parts = [copied(p) for p in parts]
            for t, part in zip(target.elts, parts):
                self.assign(t, part)
            return
        if isinstance(target, ast.Name):
            have = self.local(target.id)
            if have is None:
                self.declare(target.id, value)
                return
            if not isinstance(have, Place):
                raise Unmodelled(f"{target.id} cannot be assigned")
            if self.dry:
                return
            have.store(self.value_for(have, value))
            return
        place = self.place(target)
        if not self.dry:
            place.store(self.value_for(place, value))

    @staticmethod
    def value_for(place: Place, value):
        return Tensor.of(value) if isinstance(value, (list, tuple)) else value

    @staticmethod
    def unpacked(value) -> list:
        if isinstance(value, Tensor):
            return value.rows() if len(value.shape) == 1 else [r[0] for r in value.rows()]
        if isinstance(value, Struct):
            return list(value.members.values())
        return list(value)

    def do_AugAssign(self, s) -> None:
        op = AUGMENTED[type(s.op)]
        place = self.place(s.target)
        if op in ATOMIC:
            atomic = self.in_memory(place) or self.is_shared(place)
            old = None if atomic else copied(place.load())
            x = self.augmenting(self.eval(s.value))
            if self.dry:
                return
            if atomic:
                place.atomic(op, x)
            else:
                place.store(binary(op, old, initial(type_of(old), x)))
            return
        old = copied(place.load())
        x = self.augmenting(self.eval(s.value))
        if not self.dry:
            place.store(binary(op, old, x))

    @staticmethod
    def augmenting(x):
        return Tensor.of(x) if isinstance(x, (list, tuple)) else x

    def in_memory(self, place) -> bool:
        if isinstance(place, Several):
            return self.in_memory(place.places[0])
        return isinstance(place, Memory)

    @staticmethod
    def is_shared(place) -> bool:
        return isinstance(place, Variable) and place._shared()

    def do_If(self, s) -> None:
        static = spelled(s.test) == "qd.static"
        test = self.eval(s.test)
        chosen = s.body if self.truth(test) else s.orelse
        top, self.top = self.top, self.top and static
        self.block(chosen)
        self.top = top

    def do_With(self, s) -> None:
        """Sections of a graph, which need no order."""
        self.block(s.body)

    def do_Break(self, s) -> None:
        raise Break

    def do_Continue(self, s) -> None:
        raise Continue

    def do_Return(self, s) -> None:
        raise Return(None if s.value is None else self.eval(s.value))

    # ------------------------------------------------------------ truth

    def truth(self, x) -> bool:
        if is_constant(x):
            return bool(x)
        if not isinstance(x, Num) or x.dtype.real:
            raise Unmodelled("a condition that is no integer")
        return x.value != 0

    def print(self, call: ast.Call) -> None:
        from .printing import line

        options = {k.arg: self.eval(k.value) for k in call.keywords}
        values = [self.printed(a) for a in call.args]
        if not self.dry:
            self.sink(line(values, options.get("sep", " "), options.get("end", "\n")))

    def printed(self, node):
        """An argument of print: a value, or the parts of an f-string."""
        from .printing import formatted

        if not isinstance(node, ast.JoinedStr):
            return self.eval(node)
        out = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                out.append(part.value)
                continue
            spec = "".join(c.value for c in part.format_spec.values) if part.format_spec else ""
            out.append(formatted(self.eval(part.value), spec))
        return "".join(out)

    def sink(self, text: str) -> None:
        from . import printing

        printing.written.append((tracker.marks is not None, text))


def cast_argument(value, annotation):
    """A value as a parameter with an annotation takes it."""
    if annotation is None:
        return copied(value)
    return initial(annotation, value)
