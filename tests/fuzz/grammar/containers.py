"""Declarations of containers: fields of every layout, ndarrays, views, arrays of NumPy, struct fields."""

from __future__ import annotations

import importlib.util

from .draw import MEMBERS, STRUCTS, Draw
from .types import INTS, Container, StructDecl, Type, dtype

SHAPES_1 = ((8,), (16,), (4,), (6,), (12,))
SHAPES_2 = ((4, 4), (8, 2), (2, 8), (3, 4), (4, 6))
SHAPES_3 = ((2, 2, 4), (2, 3, 2))


class Containers:
    def __init__(self, draw: Draw):
        self.draw = draw
        self.lines: list = []
        self.structs: list[StructDecl] = []
        self.groups = 0

    # ------------------------------------------------------------ types

    def dtype_name(self) -> str:
        names = ["i32"] * 5 + ["f32"] * 3 + ["f64", "f64", "u1", *INTS]
        return self.draw.pick(names + (["f16"] if self.draw.on("half") else []))

    def type(self) -> Type:
        shape: tuple = ()
        if self.draw.on("matrices") and self.draw.chance(0.35):
            shape = self.draw.pick(((2,), (3,), (4,), (2, 2), (2, 3), (3, 2)))
        name = self.dtype_name()
        return Type(dtype("i32" if name == "u1" and shape else name), shape)

    def struct(self) -> StructDecl:
        draw = self.draw
        name = draw.name("S", STRUCTS, "tricky_struct_names", 0.5)
        members: list = []
        for k in range(draw.number(1, 4)):
            pool = [m for m in MEMBERS if m not in [n for n, _ in members]]
            member = draw.pick(pool) if draw.on("tricky_struct_names") and draw.chance(0.4) else f"m{k}"
            nested = [s for s in self.structs]
            if nested and draw.chance(0.15):
                members.append((member, draw.pick(nested)))
                continue
            type_ = self.type()
            members.append((member, Type(dtype("i32"), type_.shape) if type_.dtype.bits == 1 else type_))
        decl = StructDecl(name, tuple(members))
        self.structs.append(decl)
        return decl

    @staticmethod
    def struct_lines(decl: StructDecl, methods: list) -> list:
        lines = ["@qd.dataclass", f"class {decl.name}:"]
        lines += [f"    {name}: {t.text}" for name, t in decl.members]
        for method in methods:
            lines += ["    " + line for line in method]
        return lines

    # ------------------------------------------------------------ fields

    def shape(self) -> tuple:
        rank = self.draw.weighted({0: 1, 1: 10, 2: 6, 3: 1})
        return self.draw.pick(((),)) if rank == 0 else self.draw.pick({1: SHAPES_1, 2: SHAPES_2, 3: SHAPES_3}[rank])

    def some(self, names: list) -> list[Container]:
        """One declaration, of one container or of several that share memory."""
        kinds = {"plain": 3, "ordered": 1, "offset": 1, "blocked": 4, "beside": 3}
        kinds["layout"] = 1 if self.draw.on("soa_names") else 0
        if self.draw.on("structs") and self.structs:
            kinds["struct_"] = 3
        if self.draw.on("arguments"):
            kinds.update(ndarray=3, view=1, numpy=2, field_argument=1)
        return getattr(self, self.draw.weighted(kinds))()

    def name(self) -> str:
        return self.draw.name("x")

    def factory(self, type_, rest: str) -> str:
        if isinstance(type_, StructDecl):
            return f"{type_.name}.field({rest})"
        scalar = f"qd.{type_.dtype.name}"
        more = f", {rest}" if rest else ""
        if not type_.shape:
            return f"qd.field({scalar}{more})"
        kind = "Vector" if len(type_.shape) == 1 else "Matrix"
        return f"qd.{kind}.field({', '.join(map(str, type_.shape))}, {scalar}{more})"

    def field(self, name, type_, shape, rest="", offset=None, **more) -> Container:
        text = self.factory(type_, f"shape={shape}{rest}")
        return Container(name, name, type_, shape, offset or (0,) * len(shape), [f"{name} = {text}"], **more)

    def plain(self):
        return [self.field(self.name(), self.type(), self.shape())]

    def ordered(self):
        shape = self.draw.pick((*SHAPES_2, *SHAPES_3))
        order = "".join(self.draw.sample("ijk"[: len(shape)], len(shape)))
        offset = None
        rest = f', order="{order}"'
        if self.draw.chance(0.3):
            offset = tuple(self.draw.number(-3, 5) for _ in shape)
            rest += f", offset={offset}"
        return [self.field(self.name(), self.type(), shape, rest, offset)]

    def offset(self):
        shape = self.draw.pick((*SHAPES_1, *SHAPES_2))
        offset = tuple(self.draw.number(-4, 5) for _ in shape)
        return [self.field(self.name(), self.type(), shape, f", offset={offset}", offset)]

    def layout(self):
        type_ = self.type()
        if not type_.shape:
            return self.plain()
        return [self.field(self.name(), type_, self.shape(), ", layout=qd.Layout.SOA")]

    def struct_field(self, decl, shape) -> Container:
        soa = self.draw.chance(0.33) and self.draw.on("soa_names")
        rest = ", layout=qd.Layout.SOA" if soa else ""
        return self.field(self.name(), decl, shape, rest)

    def tree(self) -> tuple:
        """Levels of a tree as text, with the shape and whether axes are divided."""
        rank = self.draw.pick((1, 1, 1, 2, 2))
        if rank == 1:
            levels = self.draw.pick(((4, 4), (2, 4), (4, 2), (2, 2, 4), (3, 4), (8,), (4, 3)))
            return "".join(f".dense(qd.i, {n})" for n in levels), (_product(levels),), len(levels) > 1
        a, b = self.draw.number(1, 3), self.draw.number(1, 3)
        form = self.draw.pick(("ij_ij", "i_j", "j_i", "ij_i", "i_j_i"))
        if form == "ij_ij":
            return f".dense(qd.ij, ({a + 1}, {b})).dense(qd.ij, (2, 4))", ((a + 1) * 2, b * 4), True
        if form == "i_j":
            return f".dense(qd.i, {a + 2}).dense(qd.j, {b + 2})", (a + 2, b + 2), False
        if form == "j_i":
            return f".dense(qd.j, {b + 2}).dense(qd.i, {a + 2})", (a + 2, b + 2), False
        if form == "ij_i":
            return f".dense(qd.ij, ({a + 1}, {b + 1})).dense(qd.i, 2)", ((a + 1) * 2, b + 1), True
        return f".dense(qd.i, {a + 1}).dense(qd.j, {b + 1}).dense(qd.i, 4)", ((a + 1) * 4, b + 1), True

    def placed(self, types: list) -> list[Container]:
        tree, shape, blocked = self.tree()
        offset = tuple(self.draw.number(-3, 4) for _ in shape) if self.draw.chance(0.1) else None
        names = [self.name() for _ in types]
        self.groups += 1
        lines = [f"{n} = {self.factory(t, '')}" for n, t in zip(names, types)]
        more = f", offset={offset}" if offset else ""
        lines.append(f"qd.root{tree}.place({', '.join(names)}{more})")
        return [
            Container(n, n, t, shape, offset or (0,) * len(shape), lines if k == 0 else [], blocked=blocked)
            for k, (n, t) in enumerate(zip(names, types))
        ]

    def placed_type(self):
        if self.structs and self.draw.on("structs") and self.draw.chance(0.15):
            return self.draw.pick(self.structs)
        return self.type()

    def blocked(self):
        return self.placed([self.placed_type()])

    def beside(self):
        return self.placed([self.placed_type() for _ in range(self.draw.number(2, 3))])

    def struct_(self):
        return [self.struct_field(self.draw.pick(self.structs), self.draw.pick((*SHAPES_1, *SHAPES_2)))]

    # ------------------------------------------------------------ arguments

    def field_argument(self):
        (c,) = self.plain()
        c.annotation, c.argument = "qd.template()", c.host
        c.access = self.draw.name("p")
        return [c]

    def array_shape(self) -> tuple:
        return self.draw.pick((*SHAPES_1, *SHAPES_1, *SHAPES_2, *SHAPES_3[:1]))

    def ndarray(self):
        type_, shape, host = self.type(), self.array_shape(), self.name()
        scalar = f"qd.{type_.dtype.name}"
        if not type_.shape:
            text = f"qd.ndarray({scalar}, shape={shape})"
        else:
            kind = "Vector" if len(type_.shape) == 1 else "Matrix"
            text = f"qd.{kind}.ndarray({', '.join(map(str, type_.shape))}, {scalar}, shape={shape})"
        c = Container(self.draw.name("a"), host, type_, shape, (0,) * len(shape), [f"{host} = {text}"])
        c.annotation, c.argument = self.annotation(type_, shape), host
        self.maybe_clamped(c)
        return [c]

    def maybe_clamped(self, c: Container) -> None:
        if "types.ndarray(" in c.annotation and self.draw.chance(0.3):
            c.annotation = c.annotation[:-1] + ', boundary="clamp")'
            c.clamped = True

    def annotation(self, type_: Type, shape: tuple) -> str:
        choice = self.draw.number(0, 2)
        if choice == 0:
            return f"qd.types.ndarray(dtype={type_.text}, ndim={len(shape)})"
        if choice == 1 and not type_.shape:
            return f"qd.types.NDArray[{type_.text}, {len(shape)}]"
        return f"qd.types.ndarray(dtype={type_.text}, ndim={len(shape)})"

    def view(self):
        type_ = Type(dtype(self.draw.pick(("i32", "f32", "u8", "i64"))))
        host, n = self.name(), self.draw.pick((8, 12, 16))
        start = self.draw.number(0, 4)
        size = self.draw.number(2, n - start)
        line = f"{host} = qd.ndarray(qd.{type_.dtype.name}, shape=({n},))"
        c = Container(self.draw.name("b"), host, type_, (size,), (0,), [line], loops=False)
        c.annotation = f"qd.BufferView[qd.{type_.dtype.name}]"
        c.argument = self.draw.pick((f"{host}[{start}:{start + size}]", f"qd.BufferView({host}, {start}, {size})"))
        return [c]

    def numpy(self):
        type_, shape, host = self.type(), self.array_shape(), self.name()
        seed = self.draw.number(0, 99)
        whole = (*shape, *type_.shape)
        array = f'cells("{type_.dtype.name}", {whole}, {seed})'
        if self.draw.chance(0.4) and has_torch() and type_.dtype.name not in ("u16", "u32", "u64"):
            array = f"torch.from_numpy({array})"
        c = Container(self.draw.name("a"), host, type_, shape, (0,) * len(shape), [f"{host} = {array}"], fresh=True)
        c.annotation, c.argument = f"qd.types.ndarray(dtype={type_.text}, ndim={len(shape)})", host
        self.maybe_clamped(c)
        return [c]


def _product(numbers) -> int:
    out = 1
    for n in numbers:
        out *= n
    return out


def has_torch() -> bool:
    return importlib.util.find_spec("torch") is not None
