"""Where the numbers of a random differentiable program lie: declarations, and how kernels and Python reach them.

A program has scalars x, y, z, r and vectors of two v, u, all of N elements, each in a container drawn for it.
"""

from __future__ import annotations

import importlib.util
import random
from dataclasses import dataclass

N = 4
SCALARS = ("x", "y", "z", "r")
VECTORS = ("v", "u")
_BOTH = "needs_grad=True, needs_dual=True"
_GRAD = "needs_grad=True"
_HAS_TORCH = importlib.util.find_spec("torch") is not None


@dataclass
class Place:
    """access: an element, with {i} for its index. where: what of the host's array these are, as an index expression.
    parameter: (name, annotation, value) of what the kernels take, if anything. dual: forward mode reaches it.
    """

    name: str
    make: str
    access: str
    where: str = ":"
    parameter: tuple = ()
    host: str = ""
    dual: bool = True

    def at(self, index: str) -> str:
        """The element with an index, as text."""
        if "{i}]" in self.access or "{i}," in self.access:
            return self.access.replace("{i}", index)
        return self.access.replace("{i}", index if index.isidentifier() else f"({index})")


_BLOCK = """{n} = qd.{kind}
{n}_block = qd.root.dense(qd.{axes}).dense(qd.{inner})
{n}_block.place({n})
{n}_block.place({n}.grad, {n}.dual)
"""
_TOGETHER = """{n} = qd.{kind}
qd.root.dense(qd.i, 2).dense(qd.i, 2).place({n}, {n}.grad, {n}.dual)
"""
_STATE = """

@dataclasses.dataclass
class State_{n}:
    held: qd.types.NDArray[{t}, 1]


{n} = {make}
"""
_ND = "qd.types.ndarray()"


def _argument(n: str, make: str, access: str, where: str = ":", annotation: str = _ND, **more) -> Place:
    return Place(n, f"{n} = {make}", access, where, (n, annotation, n), dual=False, **more)


def _scalars(n: str) -> list[Place]:
    plane = {"axes": "ij, (2, 1)", "inner": "ij, (2, 3)"}
    one = {"n": n, "axes": "i, 2", "inner": "i, 2", "kind": "field(qd.f64)"}
    state = _STATE.format(n=n, t="qd.f64", make=f"qd.ndarray(qd.f64, {N}, {_GRAD})")
    layout = f"qd.tensor(qd.f64, (3, {N}), layout=(1, 0), backend=qd.Backend."
    found = [
        Place(n, f"{n} = qd.field(qd.f64, {N}, {_BOTH})", f"{n}[{{i}}]"),
        Place(n, _BLOCK.format(**one), f"{n}[{{i}}]"),
        Place(n, _TOGETHER.format(**one), f"{n}[{{i}}]"),
        Place(n, _BLOCK.format(**{**one, **plane}), f"{n}[{{i}}, 2]", ":, 2"),
        Place(n, f"{n} = qd.field(qd.f64, ({N}, 3), order='ji', {_BOTH})", f"{n}[{{i}}, 1]", ":, 1"),
        Place(n, f"{n} = qd.field(qd.f64, (3, {N}), {_BOTH})", f"{n}[2, {{i}}]", "2"),
        Place(n, f"{n} = qd.field(qd.f64, {N}, offset=-2, {_BOTH})", f"{n}[{{i}} - 2]"),
        Place(n, f"{n} = qd.Vector.field(3, qd.f64, {N}, {_BOTH})", f"{n}[{{i}}][1]", ":, 1"),
        Place(n, f"{n} = qd.Matrix.field(2, 2, qd.f64, {N}, layout=SOA, {_BOTH})", f"{n}[{{i}}][1, 0]", ":, 1, 0"),
        Place(n, f"{n} = qd.Vector.field({N}, qd.f64, 2, {_BOTH})", f"{n}[1][{{i}}]", "1"),
        Place(n, f"{n} = qd.Matrix.field(2, {N}, qd.f64, (), layout=SOA, {_BOTH})", f"{n}[None][1, {{i}}]", "1"),
        _argument(n, f"qd.Vector.ndarray({N}, qd.f64, 2, {_GRAD})", f"{n}[1][{{i}}]", "1"),
        _argument(n, f"qd.ndarray(qd.f64, {N}, {_GRAD})", f"{n}[{{i}}]"),
        _argument(n, f"qd.ndarray(qd.f64, ({N}, 3), {_GRAD})", f"{n}[{{i}}, 1]", ":, 1"),
        _argument(n, f"qd.Vector.ndarray(3, qd.f64, {N}, {_GRAD})", f"{n}[{{i}}][2]", ":, 2"),
        _argument(n, f"{layout}NDARRAY, {_GRAD})", f"{n}[1, {{i}}]", "1", "qd.Tensor"),
        _argument(n, f"{layout}FIELD, {_GRAD})", f"{n}[1, {{i}}]", "1", "qd.Tensor"),
        Place(n, state, f"s_{n}.held[{{i}}]", ":", (f"s_{n}", f"State_{n}", f"State_{n}({n})"), dual=False),
    ]
    if _HAS_TORCH:
        found.append(_argument(n, f"torch.zeros({N}, dtype=torch.float64, requires_grad=True)", f"{n}[{{i}}]"))
    return found


def _vectors(n: str) -> list[Place]:
    one = {"n": n, "axes": "i, 2", "inner": "i, 2", "kind": "Vector.field(2, qd.f64)"}
    state = _STATE.format(n=n, t="qd.types.vector(2, qd.f64)", make=f"qd.Vector.ndarray(2, qd.f64, {N}, {_GRAD})")
    found = [
        Place(n, f"{n} = qd.Vector.field(2, qd.f64, {N}, {_BOTH})", f"{n}[{{i}}]"),
        Place(n, f"{n} = qd.Vector.field(2, qd.f64, {N}, layout=SOA, {_BOTH})", f"{n}[{{i}}]"),
        Place(n, _BLOCK.format(**one), f"{n}[{{i}}]"),
        Place(n, _TOGETHER.format(**one), f"{n}[{{i}}]"),
        Place(n, f"{n} = qd.Vector.field(2, qd.f64, ({N}, 3), order='ji', {_BOTH})", f"{n}[{{i}}, 2]", ":, 2"),
        Place(n, f"{n} = qd.Vector.field(2, qd.f64, {N}, offset=3, {_BOTH})", f"{n}[{{i}} + 3]"),
        _argument(n, f"qd.Vector.ndarray(2, qd.f64, {N}, {_GRAD})", f"{n}[{{i}}]"),
        _argument(n, f"qd.Vector.ndarray(2, qd.f64, (3, {N}), {_GRAD})", f"{n}[1, {{i}}]", "1"),
        Place(n, state, f"s_{n}.held[{{i}}]", ":", (f"s_{n}", f"State_{n}", f"State_{n}({n})"), dual=False),
    ]
    if _HAS_TORCH:
        annotation = "qd.types.ndarray(dtype=qd.types.vector(2, qd.f64), ndim=1)"
        tensor = f"torch.zeros(({N}, 2), dtype=torch.float64, requires_grad=True)"
        found.append(_argument(n, tensor, f"{n}[{{i}}]", annotation=annotation))
    return found


def _struct(names: list, layout: str) -> list[Place]:
    members = ", ".join(f"'{n}': {'vec2' if n in VECTORS else 'qd.f64'}" for n in names)
    made = f"S = qd.Struct.field({{{members}}}, shape={N}, layout=qd.Layout.{layout}, {_BOTH})"
    places = [Place(n, f"{n} = S.{n}", f"S[{{i}}].{n}") for n in names]
    places[0].make = f"{made}\n{places[0].make}"
    return places


def _placed(names: list, blocks: str) -> list[Place]:
    made = [f"{n} = qd.{'Vector.field(2, qd.f64)' if n in VECTORS else 'field(qd.f64)'}" for n in names]
    made.append(f"cells = qd.root.{blocks}")
    made += [f"cells.place({', '.join(n + what for n in names)})" for what in ("", ".grad", ".dual")]
    places = [Place(n, "", f"{n}[{{i}}]") for n in names]
    places[0].make = "\n".join(made)
    return places


def draw(rng: random.Random, blocked: bool = True) -> dict[str, Place]:
    """A container for each name; some of them share one. blocked: also fields of several levels."""
    names = [*SCALARS, *VECTORS]
    rng.shuffle(names)
    shared = names[: rng.choice((0, 0, 2, 3, 4))]
    found: list = []
    if shared:
        kind = rng.choice(("AOS", "SOA", "dense(qd.i, 4)", "dense(qd.i, 2).dense(qd.i, 2)")[: 4 if blocked else 3])
        found = _struct(shared, kind) if len(kind) == 3 else _placed(shared, kind)
    for n in names[len(shared) :]:
        kinds = _vectors(n) if n in VECTORS else _scalars(n)
        kinds = [k for k in kinds if blocked or ").dense(" not in k.make]
        found.append(rng.choice(kinds if rng.random() < 0.5 else [k for k in kinds if k.dual]))
    return {p.name: p for p in found}


def integers(rng: random.Random, name: str, blocked: bool = True) -> Place:
    """A container for the integers that programs read."""
    block = f"{name} = qd.field(qd.i32)\nqd.root.dense(qd.i, 2).dense(qd.i, 2).place({name})"
    nd = (name, _ND, name)
    return rng.choice([
        Place(name, f"{name} = qd.field(qd.i32, {N})", f"{name}[{{i}}]"),
        Place(name, f"{name} = qd.ndarray(qd.i32, {N})", f"{name}[{{i}}]", parameter=nd),
        Place(name, f"{name} = np.zeros({N}, np.int32)", f"{name}[{{i}}]", parameter=nd),
        Place(name, block, f"{name}[{{i}}]"),
    ][: 4 if blocked else 3])  # fmt: skip
