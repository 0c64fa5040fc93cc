"""language.md 4: typing.Final members of dataclass arguments."""

import dataclasses
import enum
from typing import Final

from language_kit import alive, array, raises, specialisations

import quadrants as qd

NDArray = qd.types.NDArray


class Kind(enum.Enum):
    BOX = 1
    BALL = 2


class Level(enum.IntEnum):
    LOW = 3


@dataclasses.dataclass(frozen=True)
class Grid:
    cells: qd.Tensor
    data: NDArray[qd.i32, 1]
    n: int
    order: Final[int]
    flag: Final[bool] = True
    step: Final[float] = 0.5
    name: Final[str] = "a"
    kind: Final[Kind] = Kind.BOX
    level: Final[Level] = Level.LOW


@dataclasses.dataclass(frozen=True)
class Outer:
    grid: Grid
    scale: Final[int]


@qd.func
def powers(g: Grid):
    s = 0
    for k in qd.static(range(g.order)):
        s += 10**k
    return s


@qd.kernel
def run(o: Outer) -> qd.f32:
    r = qd.f32(powers(o.grid) + o.grid.n * 10000 + o.grid.data[0] + o.grid.cells[0])
    if qd.static(o.grid.flag and o.grid.name == "a" and o.grid.kind == Kind.BOX):
        r += o.grid.step * o.scale
    for _ in qd.static(range(o.grid.level)):
        r += 1000
    return r


def test_final_members_are_constants(arch):
    f, a = qd.field(qd.i32, shape=1), array(qd.i32, [2])
    assert run(Outer(Grid(f, a, 1, 3), 4)) == 111 + 10000 + 2 + 2 + 3000
    assert run(Outer(Grid(f, a, 2, 3), 4)) == 111 + 20000 + 2 + 2 + 3000
    assert specialisations(run) == 1
    assert run(Outer(Grid(f, a, 1, 2), 4)) == 11 + 10000 + 2 + 2 + 3000
    assert specialisations(run) == 2
    assert run(Outer(Grid(f, a, 1, 2, name="b"), 4)) == 11 + 10000 + 2 + 3000
    assert run(Outer(Grid(f, a, 1, 2, kind=Kind.BALL), 4)) == 11 + 10000 + 2 + 3000
    assert run(Outer(Grid(f, a, 1, 2, step=1.5), 4)) == 11 + 10000 + 2 + 6 + 3000
    assert run(Outer(Grid(f, a, 1, 2), 8)) == 11 + 10000 + 2 + 4 + 3000
    assert specialisations(run) == 6
    run(Outer(Grid(f, a, 1, 3), 4))
    assert specialisations(run) == 6


@dataclasses.dataclass(frozen=True)
class Bare:
    n: Final


@dataclasses.dataclass(frozen=True)
class Vector:
    n: Final[qd.math.vec3]


@dataclasses.dataclass
class Mutable:
    n: Final[int]


@dataclasses.dataclass(frozen=True)
class Quoted:
    n: "Final[int]"


@dataclasses.dataclass(unsafe_hash=True)
class Hashed:
    n: Final[int]


class Stateful(int):
    pass


@dataclasses.dataclass(frozen=True)
class One:
    n: Final[int]


def test_what_cannot_be_final(arch):
    @qd.kernel
    def bare(s: Bare) -> qd.i32:
        return s.n

    @qd.kernel
    def vector(s: Vector) -> qd.f32:
        return s.n[0]

    @qd.kernel
    def mutable(s: Mutable) -> qd.i32:
        return s.n

    @qd.kernel
    def quoted(s: Quoted) -> qd.i32:
        return s.n

    @qd.kernel
    def hashed(s: Hashed) -> qd.i32:
        return s.n

    @qd.kernel
    def one(s: One) -> qd.i32:
        return s.n

    for k, value, text in (
        (bare, Bare(1), ""),
        (vector, Vector(qd.math.vec3(1, 2, 3)), "cannot be baked"),
        (mutable, Mutable(1), "is not frozen"),
        (quoted, Quoted(1), ""),
    ):
        with raises(TypeError, text):
            k(value)
    assert hashed(Hashed(3)) == 3
    special = Stateful(3)
    special.extra = 4
    with raises(TypeError):
        one(One(special))
    assert one(One(5)) == 5
    alive()
