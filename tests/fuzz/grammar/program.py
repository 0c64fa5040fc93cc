"""A whole program: options, structs, containers, funcs, one or two kernels, and `main`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .containers import Containers, has_torch
from .draw import FUNCS, KNOWN, Draw
from .functions import Functions
from .generators import Generators
from .kernels import Kernels
from .scope import Scope
from .types import I32, Container, Own, StructDecl, Type, Var, dtype, indented
from .wrappers import Wrapper, Wrappers

SCALARS = ("i32", "i32", "f32", "f64", "u8", "i64", "i16", "u32", "i8", "u16", "u64")
INPUTS = {True: ("1.5", "-0.25", "3.0", "-7.75"), False: ("3", "-7", "0", "12", "2147483647")}
PUT = (
    "5.5", "3.0", "np.float16(2.5)", "np.float32(-3.0)", "np.float64(1.25)", "300", "-1", "True", "np.int8(-7)",
    "np.uint16(700)", "np.int64(-300)", "np.bool_(True)", "np.array(6)", "np.float32([4.5])[0]",
)  # fmt: skip
PUT_INTEGERS = ("2 ** 40 + 5", "np.uint64(2 ** 63 + 9)", "2 ** 64 - 1", "-2 ** 63", "np.float32(3e9)", "2 ** 31")


@dataclass(frozen=True)
class Program:
    """`text` is a module with `main()`; `options` are those of `qd.init`."""

    text: str
    options: dict


def options_of(draw: Draw) -> dict:
    """fast_math is off, as it leaves rounding open."""
    out: dict = {"fast_math": False}
    if draw.on("debug") and draw.chance(0.1):
        out["debug"] = True
    elif draw.chance(0.05):
        out["check_out_of_bound"] = True
    if draw.chance(0.15):
        out["default_ip"] = "i64"
    if draw.chance(0.15) and draw.on("double"):
        out["default_fp"] = "f64"
    out["cpu_max_num_threads"] = draw.pick((1, 2, 2, 3))
    out["opt_level"] = draw.pick((0, 0, 1, 1, 1, 3))
    return out


class Writer:
    def __init__(self, seed: int, size: int, off=KNOWN):
        self.draw = Draw(seed, off)
        self.size = size
        self.options = options_of(self.draw)

    def program(self) -> Program:
        draw = self.draw
        kit = Containers(draw)
        if draw.on("structs"):
            for _ in range(draw.weighted({0: 5, 1: 4, 2: 2})):
                kit.struct()
        containers: list[Container] = []
        while len(containers) < min(2 + self.size // 3, 5):
            containers += kit.some([])
        parameters = [c for c in containers if c.annotation is not None]
        shared = [c for c in containers if c.annotation is None]
        functions = Functions(draw, self.options, kit.structs, shared, parameters)
        methods = {s: [functions.method(s) for _ in range(draw.weighted({0: 2, 1: 1}))] for s in kit.structs}
        funcs: list = [m for ms in methods.values() for m in ms]
        plain: list = []
        for _ in range(draw.weighted({0: 2, 1: 3, 2: 3, 3: 1})):
            f = functions.draw_one([*funcs, *plain])
            plain.append(f)
        lines = ["import numpy as np"]
        if any("torch." in line for c in containers for line in c.declaration):
            lines.append("import torch")
        lines += ["import quadrants as qd", "from fuzz.inputs import cells, put"]
        for s in kit.structs:
            lines += kit.struct_lines(s, [m.lines for m in methods[s]])
        for c in containers:
            if not c.fresh:
                lines += c.declaration
        approximate = self.approximate()
        for c in approximate:
            lines += c.declaration
        for f in plain:
            lines += f.lines
        lines += self.kernel([*funcs, *plain], containers, parameters, kit.structs, approximate)
        return Program(ast.unparse(ast.parse("\n".join(lines))) + "\n", self.options)

    def approximate(self) -> list[Container]:
        """A field for results that are compared with a tolerance."""
        if not self.draw.chance(0.3):
            return []
        name = self.draw.name("t")
        shape = self.draw.pick(((16,), (4, 4)))
        type_ = Type(dtype(self.draw.pick(("f32", "f64"))))
        return [
            Container(name, name, type_, shape, (0,) * len(shape), [f"{name} = qd.field({type_.text}, shape={shape})"])
        ]

    def kernel(self, funcs, containers, parameters, structs, approximate) -> list:
        draw = self.draw
        name = draw.name("run", FUNCS, "tricky_func_names")
        scope = Scope(readable=list(containers), writable=list(containers), funcs=list(funcs))
        params = []
        for _ in range(draw.number(1, 3)):
            type_ = Type(dtype(draw.pick(SCALARS)))
            var = Var(draw.name("n"), type_, writable=False)
            scope.variables.append(var)
            params.append((var.name, type_))
        flags = self.flags(parameters)
        form = draw.weighted({"plain": 6, "dataclass": 1.5, "method": 1.5 if draw.on("classes") else 0})
        wrapper = getattr(Wrappers(draw, scope, self.options), form)(name, params, containers, [*parameters, *flags])
        g = Generators(draw, self.options, scope, structs)
        cells = g.cells
        scope.approximate = [Own(c, lambda c=c: cells.index(c, 1)) for c in approximate]
        body = Kernels(draw, g, containers, approximate, flags).body(self.size)
        result = g.statements.type() if not flags and draw.chance(0.4) else None
        returned = [] if result is None else [f"return {g.exact(result, 2).text}"]
        arrow = f" -> {result.text}" if result is not None else ""
        head = [
            "@qd.kernel(graph=True)" if flags else "@qd.kernel",
            f"def {name}({', '.join(wrapper.parameters)}){arrow}:",
        ]
        lines = [line for flag in flags for line in flag.declaration]
        lines += wrapper.around([*head, *indented([*body, *returned])])
        return lines + self.main(wrapper, params, containers, approximate, result, flags)

    def flags(self, parameters: list[Container]) -> list[Container]:
        """Flags of loops around tasks; none where the kernel is no graph, which takes no arrays of the host."""
        if not self.draw.on("graphs") or any(c.fresh for c in parameters) or not self.draw.chance(0.15):
            return []
        return [self.flag() for _ in range(self.draw.weighted({1: 3, 2: 1}))]

    def flag(self) -> Container:
        host, name = self.draw.name("q"), self.draw.name("q")
        lines = [f"{host} = qd.ndarray(qd.i32, shape=())", f"{host}.fill(1)"]
        return Container(
            name, host, I32, (), (), lines, annotation="qd.types.ndarray(dtype=qd.i32, ndim=0)", argument=host
        )

    def main(self, wrapper: Wrapper, params, containers, approximate, result, flags) -> list:
        draw = self.draw
        lines: list = []
        for c in [*containers, *wrapper.twins]:
            lines += c.declaration if c.fresh else self.fill(c)
        filled = len(lines)
        lines += wrapper.begin
        results = []
        for k in range(3 if wrapper.back else 2):
            args = [draw.pick(INPUTS[t.real][: 4 if t.real or t.dtype.signed else 1]) for _, t in params]
            call = f"{wrapper.call}({', '.join([*args, *wrapper.arguments])})"
            lines += [f"{flag.host}.fill({draw.number(1, 4)})" for flag in flags]
            lines.append(f"r{k} = {call}" if result is not None else call)
            if result is not None:
                results.append(f'"r{k}": r{k}')
            lines += (wrapper.between, wrapper.back, [])[k]
        for c in [*containers, *wrapper.twins, *flags]:
            results.append(f'"{c.host}": {c.host if c.fresh else c.host + ".to_numpy()"}')
        results += [f'"~{c.host}": {c.host}.to_numpy()' for c in approximate]
        for k, text in enumerate(self.puts(containers) if draw.on("puts") else ()):
            lines.insert(filled, f"p{k} = {text}")
            results.append(f'"p{k}": p{k}')
        return ["def main():", *indented([*lines, f"return {{{', '.join(results)}}}"])]

    def puts(self, containers) -> list:
        """Numbers that Python scope writes into single cells, of types that these take and do not take."""
        found = [c for c in containers if not (c.fresh or isinstance(c.type, StructDecl) or c.type.shape)]
        found = [c for c in found if not (c.annotation or "").startswith("qd.BufferView")]
        count = min(len(found), 2) if self.draw.chance(0.3) else 0
        return [self.put(c) for c in self.draw.sample(found, count)]

    def put(self, c: Container) -> str:
        number = self.draw.pick(PUT if c.type.dtype.real else PUT + PUT_INTEGERS)
        return f"put({c.host}, {c.offset if c.shape else None}, {number})"

    def fill(self, c: Container) -> list:
        if isinstance(c.type, StructDecl):
            return [f"{c.host}.from_numpy({self.struct_cells(c.type, c.shape)})"]
        shape = c.shape
        if c.annotation and c.annotation.startswith("qd.BufferView"):
            shape = f"{c.host}.shape"
        else:
            shape = (*c.shape, *c.type.shape)
        return [f'{c.host}.from_numpy(cells("{c.type.dtype.name}", {shape}, {self.draw.number(0, 99)}))']

    def struct_cells(self, decl: StructDecl, shape: tuple) -> str:
        parts = []
        for name, t in decl.members:
            if isinstance(t, StructDecl):
                parts.append(f'"{name}": {self.struct_cells(t, shape)}')
            else:
                parts.append(f'"{name}": cells("{t.dtype.name}", {(*shape, *t.shape)}, {self.draw.number(0, 99)})')
        return "{" + ", ".join(parts) + "}"


def draw(seed: int, size: int, off=KNOWN) -> Program:
    """The program of a seed. `off`: features of `draw.FEATURES` to leave out."""
    return Writer(seed, size, off).program()


__all__ = ["Program", "draw", "has_torch"]
