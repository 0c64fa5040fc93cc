"""Funcs: parameters of every mode, bodies, one or several results, methods of structs."""

from __future__ import annotations

import dataclasses

from .draw import FUNCS, Draw
from .generators import Generators
from .scope import Scope
from .types import FuncDecl, StructDecl, Type, Var, dtype, indented


def is_number(type_) -> bool:
    return isinstance(type_, Type) and not type_.shape


class Functions:
    def __init__(self, draw: Draw, options: dict, structs: list, containers: list, handed: list):
        self.draw, self.options, self.structs = draw, options, structs
        self.handed = handed  # those that are arguments of the kernel
        self.containers = containers  # those that funcs see as globals

    def parameter(self, real: bool) -> tuple:
        """(Type, mode); of lists the types of their items."""
        names = ["i32", "i32", "f32", "f64", "u8", "i64", "i16", "u32"]
        type_ = Type(dtype(self.draw.pick(names)))
        if self.draw.on("matrices") and self.draw.chance(0.2):
            type_ = Type(type_.dtype, self.draw.pick(((2,), (3,), (2, 2))))
            return type_, "typed" if real else self.draw.pick(("value", "template"))
        if self.structs and self.draw.on("structs") and self.draw.chance(0.2 if real else 0.12):
            mode = "annotated" if real else self.draw.pick(("value", "template", "annotated"))
            return self.draw.pick(self.structs), mode
        if real:
            return type_, "typed"
        if self.draw.chance(0.25):
            items = [type_, *(Type(dtype(self.draw.pick(names))) for _ in range(self.draw.number(0, 2)))]
            return items, self.draw.pick(("list", "template list"))
        return type_, self.draw.pick(("value", "typed", "template", "static", "typed"))

    def container(self) -> tuple | None:
        """A container as a parameter: what stands for it in the func, and itself."""
        found = [c for c in self.containers + self.handed if c.annotation is None or "BufferView" not in c.annotation]
        if not found:
            return None
        c = self.draw.pick(found)
        return dataclasses.replace(c, access=self.draw.name("p"), loops=False), c

    def draw_one(self, funcs: list) -> FuncDecl:
        """A func that may call those before it."""
        real = self.draw.on("real_funcs") and self.draw.chance(0.15)
        pure = real or self.draw.chance(0.6)
        name = self.draw.name("f", FUNCS, "tricky_func_names")
        taken = set(self.draw.taken)
        params = [(self.draw.name("p"), *self.parameter(real)) for _ in range(self.draw.number(1, 3))]
        inner = self.container() if not pure and self.draw.chance(0.4) else None
        scope = self.scope(params, funcs, pure)
        if inner is not None:
            params.append((inner[0].access, inner[1], "container"))
            scope.readable.append(inner[0])
            scope.writable.append(inner[0])
        g = Generators(self.draw, self.options, scope, self.structs, pure)
        results = [g.statements.type() for _ in range(self.draw.weighted({1: 8, 2: 2, 0: 1, 3: 1}))]
        if self.structs and self.draw.on("structs") and self.draw.chance(0.5 if real else 0.12):
            results = [self.draw.pick(self.structs)]
        if real:
            results = results[:1] or [Type(dtype("i32"))]
        lines = g.statements.body(1, self.draw.number(0, 3), **({"anywhere": True} if real else {}))
        lines = [] if lines == ["pass"] else lines
        f = FuncDecl(name, params, results, [], parallel_ok=pure, real=real)
        f.lines = self.text(f, g, lines)
        self.draw.taken = taken
        return f

    def scope(self, params, funcs, pure) -> Scope:
        scope = Scope(level=1, top=True)  # a loop here may be that of a kernel, and then is parallel
        for name, type_, mode in params:
            if mode == "static":
                var = Var(
                    name,
                    Type(dtype(self.options.get("default_ip", "i32"))),
                    writable=False,
                    low=0,
                    high=3,
                    constant=True,
                )
                scope.statics.append(var)
            elif isinstance(type_, list):
                scope.variables += [Var(f"{name}[{k}]", t, writable=False, level=1) for k, t in enumerate(type_)]
                continue
            else:
                var = Var(name, type_, level=1)
            scope.variables.append(var)
        scope.funcs = [f for f in funcs if f.parallel_ok or not pure]
        if not pure:
            scope.readable, scope.writable = list(self.containers), list(self.containers)
        return scope

    def text(self, f: FuncDecl, g: Generators, body: list) -> list:
        values = [g.exact(t, 2).text for t in f.results]
        if f.real:
            body = self.real_body(g, f, body)
        returned = [f"return {', '.join(values)}"] if values else []
        annotation = (
            f" -> {f.results[0].text}"
            if f.real or (len(f.results) == 1 and is_number(f.results[0]) and self.draw.chance(0.2))
            else ""
        )
        decorator = "@qd.real_func" if f.real else "@qd.func"
        params = ", ".join(name + self.annotation(t, mode) for name, t, mode in f.params)
        return [decorator, f"def {f.name}({params}){annotation}:", *indented([*body, *returned] or ["pass"])]

    def real_body(self, g, f, body: list) -> list:
        """An early return, behind a condition."""
        if self.draw.chance(0.6):
            cond, value = g.truths.condition(1).text, g.exact(f.results[0], 1).text
            body = [*body, f"if {cond}:", f"    return {value}"]
        return body

    @staticmethod
    def annotation(type_, mode: str) -> str:
        if mode == "container":
            return f": {type_.annotation or 'qd.template()'}"
        if mode in ("template", "static", "template list"):
            return ": qd.template()"
        if mode in ("typed", "annotated"):
            return f": {type_.text}"
        return ""

    def method(self, decl: StructDecl) -> FuncDecl:
        """A method of a struct class; it may change its members."""
        name = self.draw.name("f", FUNCS)
        taken = set(self.draw.taken)
        receiver = "self"
        params = [(receiver, decl, "self")]
        if self.draw.chance(0.7):
            params.append((self.draw.name("p"), Type(dtype(self.draw.pick(("i32", "f32", "i64")))), "value"))
        scope = self.scope(params, [], True)
        g = Generators(self.draw, self.options, scope, [], True)
        results = [g.statements.type().element()] if self.draw.chance(0.7) else []
        lines = g.statements.body(1, self.draw.number(1, 2))
        f = FuncDecl(name, params, results, [], receiver=True)
        f.lines = self.text(f, g, lines)
        self.draw.taken = taken
        return f
