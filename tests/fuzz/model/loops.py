"""The loops of the language."""

from __future__ import annotations

import ast
import itertools

from .containers import Field, StructField, View, as_tensor
from .errors import Undefined, Unmodelled
from .memory import tracker
from .names import spelled
from .numbers import Num, i32, literal, promote, wrap
from .places import Value, Variable
from .values import Tensor


class Order:
    """Whether parallel loops run backwards."""

    backwards = False


def _common(low: Num, high: Num):
    """The type of the variable of an axis."""
    wide = [x.dtype for x in (low, high) if x.dtype.bits > 32 or x.dtype.name == "u32"]
    return promote(low.dtype, high.dtype) if wide else i32


class Loops:
    def passes(self, s) -> None:
        """A loop around tasks: its flag is looked at behind each pass."""
        flag = self.eval(s.test.args[0])
        for _ in range(1000):
            self.block(s.body)
            if self.dry or not flag.data[0]:
                return
        raise Undefined("a program that takes too long")

    def do_While(self, s) -> None:
        from .evaluate import Break, Continue

        if spelled(s.test) == "qd.graph.do_while":
            self.passes(s)
            return
        top, self.top = self.top, False
        rounds = 0
        while self.truth(self.eval(s.test)):
            rounds += 1
            if rounds > 10_000:
                raise Undefined("a program that takes too long")
            try:
                self.block(s.body)
            except Continue:
                pass
            except Break:
                break
            if self.dry:
                break
        self.top = top

    def do_For(self, s) -> None:
        call = spelled(s.iter)
        if call == "qd.static":
            self.static_loop(s)
            return
        targets = [t.id for t in s.target.elts] if isinstance(s.target, ast.Tuple) else [s.target.id]
        assignable = call == "qd.ndrange"
        rows = self.iterations(s.iter, call, len(targets))
        parallel = self.top and not self.serialized
        self.serialized = False
        top, self.top = self.top, False
        if parallel and not self.dry:
            self.parallel_loop(s, targets, rows, assignable)
        else:
            self.serial_loop(s, targets, rows, assignable)
        self.top = top

    def static_loop(self, s) -> None:
        from .evaluate import Break, Continue

        for item in list(self.eval(s.iter)):
            self.scopes.append({})
            names = [t.id for t in s.target.elts] if isinstance(s.target, ast.Tuple) else [s.target.id]
            parts = item if len(names) > 1 else [item]
            if isinstance(parts, Tensor):
                parts = parts.items
            for name, part in zip(names, parts):
                self.bind(name, part)
            try:
                self.block(s.body)
            except Continue:
                pass
            except Break:
                break
            finally:
                self.scopes.pop()

    def iterations(self, node, call: str, names: int) -> list:
        """Tuples of one value a target."""
        if call == "range":
            bounds = [wrap(literal(self.eval(a)).value, i32) for a in node.args]
            return [(Num(i32, k),) for k in range(*bounds)]
        if call == "qd.ndrange":
            entries = self.entries(node)
            types = [_common(*entry) for entry in entries]
            return [tuple(Num(t, wrap(k, t)) for t, k in zip(types, row)) for row in self.product(node, entries)]
        if call == "qd.grouped":
            inner = node.args[0]
            if spelled(inner) == "qd.ndrange":
                return [(as_tensor(row),) for row in self.product(inner, self.entries(inner))]
            return [(as_tensor(row),) for row in self.cells(self.eval(inner))]
        container = self.eval(node)
        rows = [tuple(Num(i32, k) for k in row) for row in self.cells(container)]
        if rows and len(rows[0]) != names:
            raise Unmodelled("the number of targets of a struct-for")
        return rows

    @staticmethod
    def cells(container):
        if not isinstance(container, (Field, StructField)) or isinstance(container, View):
            raise Unmodelled("a loop over something else")
        return container.indices()

    def product(self, node, entries: list) -> list:
        """The rows of an ndrange of which the bounds are `entries`, in the order that its `axes` ask for."""
        ranges = []
        for low, high in entries:
            t = _common(low, high)
            ranges.append(range(wrap(low.value, t), wrap(high.value, t)))
        axes = next((self.eval(k.value) for k in node.keywords if k.arg == "axes"), tuple(range(len(ranges))))
        rows = []
        for row in itertools.product(*(ranges[a] for a in axes)):
            back = [0] * len(axes)
            for a, k in zip(axes, row):
                back[a] = k
            rows.append(tuple(back))
        return rows

    def entries(self, node) -> list:
        """(begin, end) of every axis of an ndrange."""
        values = [self.eval(entry) for entry in node.args]
        pairs = [value if isinstance(value, (tuple, list)) else (0, value) for value in values]
        return [tuple(x if isinstance(x, Num) else literal(int(x)) for x in pair) for pair in pairs]

    def serial_loop(self, s, targets, rows, assignable) -> None:
        from .evaluate import Break

        for row in rows:
            try:
                self.iteration(s, targets, row, assignable)
            except Break:
                break
            if self.dry:
                break

    def iteration(self, s, targets, row, assignable) -> None:
        from .evaluate import Continue

        self.scopes.append({})
        for name, value in zip(targets, row):
            if self.local(name) is not None and not assignable:
                raise Unmodelled("a target that exists already")
            self.bind(name, Variable(value) if assignable else Value(value))
        try:
            self.block(s.body)
        except Continue:
            pass
        finally:
            self.scopes.pop()

    def parallel_loop(self, s, targets, rows, assignable) -> None:
        from .evaluate import Break

        if tracker.marks is not None:
            raise Unmodelled("a parallel loop in another one")
        tracker.begin()
        try:
            for k, row in enumerate(reversed(rows) if Order.backwards else rows):
                tracker.iteration = k
                self.iteration(s, targets, row, assignable)
        except Break:
            raise Unmodelled("a break out of a parallel loop") from None
        finally:
            tracker.end()
