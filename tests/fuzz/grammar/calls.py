"""Calls of funcs."""

from __future__ import annotations

from .types import Expr, FuncDecl, StructDecl, Type


class Calls:
    def __init__(self, g):
        self.g = g

    @property
    def draw(self):
        return self.g.draw

    def funcs(self, test) -> list[FuncDecl]:
        scope = self.g.scope
        usable = [f for f in scope.funcs if f.parallel_ok or not (scope.parallel or self.g.pure)]
        return [f for f in usable if test(f)]

    def value(self, test, depth: int) -> Expr | None:
        """A call whose only result passes a test."""
        found = self.funcs(lambda f: len(f.results) == 1 and isinstance(f.results[0], Type) and test(f.results[0]))
        if not found:
            return None
        f = self.draw.pick(found)
        text = self.text(f, min(depth, 1))
        return None if text is None else Expr(text, f.results[0])

    def struct(self, decl: StructDecl) -> str | None:
        """A call that gives a struct."""
        found = self.funcs(lambda f: f.results == [decl])
        return self.text(self.draw.pick(found), 1) if found else None

    def text(self, f: FuncDecl, depth: int) -> str | None:
        args = []
        for name, type_, mode in f.params:
            arg = self.argument(type_, mode, depth)
            if arg is None:
                return None
            args.append((name, arg))
        texts = [arg for _, arg in args]
        if f.default_last and self.draw.chance(0.5):
            texts.pop()
        elif len(args) > 1 and self.draw.chance(0.15) and not f.receiver:
            texts[-1] = f"{args[-1][0]}={args[-1][1]}"
        if f.receiver:
            return f"{texts[0]}.{f.name}({', '.join(texts[1:])})"
        return f"{f.name}({', '.join(texts)})"

    def argument(self, type_, mode: str, depth: int) -> str | None:
        if mode == "container":
            scope = self.g.scope
            # In parallel loops others may own its cells.
            return type_.access if type_ in scope.writable else None
        if isinstance(type_, list):
            return self.listed([self.item(t, depth) for t in type_])
        if mode == "static":
            statics = [v.name for v in self.g.scope.statics if v.high is not None and v.high <= 3]
            return self.draw.pick([*statics, str(self.draw.number(0, 3))])
        if mode in ("template", "ref", "self"):
            return self.place(type_, depth, variables_only=mode == "ref")
        if mode == "typed" and isinstance(type_, Type) and not type_.shape:
            e = self.g.reals.any(depth) if type_.real else self.g.integers.operand(depth)
            return e.text
        return self.g.exact(type_, depth).text

    def item(self, type_, depth: int) -> str:
        """What is a variable now and then, of which a func may have one of the same name. No constant, as negatives of
        those have no type without a sign."""
        variables = [v for v in self.g.scope.variables if v.type == type_ and not v.constant]
        names = [v.name for v in variables if v.name.isidentifier()]
        return self.draw.pick(names) if names and self.draw.chance(0.6) else self.g.exact(type_, depth).text

    def listed(self, items: list) -> str:
        """A list or tuple of these, in some form."""
        whole = ", ".join(items)
        forms = [f"[{whole}]", f"({whole},)", f"[{items[0]}, *[{', '.join(items[1:])}]]"]
        if len(items) > 1:
            forms.append(f"[{items[0]}] + [{', '.join(items[1:])}]")
        return self.draw.pick(forms)

    def place(self, type_, depth: int, variables_only: bool = False) -> str | None:
        """A variable or cell of exactly this type that may be written."""
        scope = self.g.scope
        names = [
            v.name
            for v in scope.variables
            if v.writable and v.type == type_ and v.low is None and not (scope.parallel and v.level == 0)
        ]
        if names and (variables_only or self.draw.chance(0.5)):
            return self.draw.pick(names)
        if variables_only:
            return None
        if isinstance(type_, StructDecl):
            return self.struct_place(type_, depth) or (self.draw.pick(names) if names else None)
        if self.draw.chance(0.3):
            text = self.part_of_variable(type_, depth)
            if text is not None:
                return text
        if self.g.pure:
            return self.draw.pick(names) if names else None
        test = self.g.cells.number_place if not type_.shape else self.g.cells.place
        found = test(lambda t: t == type_, depth, write=True)
        if found is None:
            return self.draw.pick(names) if names else None
        return found[0]

    def part_of_variable(self, type_: Type, depth: int) -> str | None:
        """A component of a vector or matrix that is a variable, or several components of a vector."""
        scope = self.g.scope
        wholes = [
            v
            for v in scope.variables
            if v.writable and isinstance(v.type, Type) and v.type.shape and v.type.dtype == type_.dtype
            and not (scope.parallel and v.level == 0)
        ]  # fmt: skip
        if not type_.shape:
            v = self.draw.pick(wholes) if wholes else None
            return v and v.name + self.g.cells.part(v.type, depth)
        if len(type_.shape) != 1:
            return None
        n = type_.shape[0]
        wholes = [v for v in wholes if len(v.type.shape) == 1 and max(n, 2) <= v.type.shape[0] <= 4]
        if not wholes or n < 2:
            return None
        v = self.draw.pick(wholes)
        return f"{v.name}.{''.join(self.draw.sample('xyzw'[: v.type.shape[0]], n))}"

    def struct_place(self, decl: StructDecl, depth: int) -> str | None:
        scope = self.g.scope
        if self.g.pure:
            return None
        cells = [(c, lambda d, c=c: self.g.cells.index(c, d)) for c in scope.writable if c.type is decl]
        cells += [(o.container, lambda d, o=o: o.index()) for o in scope.own if o.container.type is decl]
        if not cells:
            return None
        container, index = self.draw.pick(cells)
        return f"{container.access}[{index(depth)}]"
