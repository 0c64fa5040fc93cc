"""Plans of halo exchanges: which regions go where, made once for some arrays and run many times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from quadrants.distributed import agreement, faces, spaces
from quadrants.distributed.arrays import Part, Region
from quadrants.distributed.blocks import Blocks
from quadrants.distributed.engines.interface import Engine, Move
from quadrants.distributed.faces import Faces


class Side(NamedTuple):
    """One direction of one axis. `inner` goes to `peer`, where it is the halo of the other side; `outer` comes from it.

    The widths of both differ where a halo is wider on one side.
    """

    peer: int
    inner: Region
    outer: Region


class Stage(NamedTuple):
    """What is exchanged at once: the sides, low before high, axis by axis."""

    sides: list[tuple[Side | None, Side | None]]


def stages(blocks: Blocks, axes: Sequence[int], corners: bool) -> list[Stage]:
    """The stages of an exchange. With corners: one an axis, of faces with the halo of earlier axes; else one of all."""
    done: list[int] = []
    found = []
    for axis in axes:
        found.append((_side(blocks, axis, 0, done), _side(blocks, axis, 1, done)))
        if corners:
            done.append(axis)
    return [Stage([pair]) for pair in found] if corners else [Stage(found)]


def _side(blocks: Blocks, axis: int, high: int, done: Sequence[int]) -> Side | None:
    peer = blocks.neighbour(axis, high)
    if peer is None:
        return None
    low_width, high_width = blocks.halo[axis]
    begin, end = low_width, low_width + blocks.size[axis]
    inner = (end - low_width, end) if high else (begin, begin + high_width)
    outer = (end, end + high_width) if high else (0, begin)
    return Side(peer, _region(blocks, axis, inner, done), _region(blocks, axis, outer, done))


def _region(blocks: Blocks, axis: int, span: tuple[int, int], done: Sequence[int]) -> Region:
    """The span of an axis; of axes that are done, the cells that somebody owns; of others, the block."""
    return tuple(
        span if other == axis else blocks.owned_span(other) if other in done else blocks.block_span(other)
        for other in range(len(blocks.shape))
    )


class Plan:
    """Steps that run in order. Empty ones are left out when the plan is made.

    compared_always: whether ranks compare what they exchange each time. about: what it exchanges, in words.
    """

    def __init__(self, parts: Sequence[Part], engine: Engine) -> None:
        self.parts = parts
        self.compared_always = agreement.in_debug()
        self.about = ""
        self.cells = frozenset(cell for part in parts for cell in part.cells)
        self._engine = engine
        self._space = spaces.of(engine)
        self._steps: list[Callable[[], None]] = []

    def run(self) -> None:
        """Move."""
        if not self._steps:
            return
        with self._space.in_order():
            for step in self._steps:
                step()

    def start(self) -> Callable[[], None]:
        """Run until messages are under way, and return what does the rest."""
        with self._space.in_order():
            for number, step in enumerate(self._steps):
                if hasattr(step, "start"):
                    step.start()
                    return partial(self._finish, step, self._steps[number + 1 :])
                step()
        return _nothing

    def _finish(self, begun: Any, rest: Sequence[Callable[[], None]]) -> None:
        with self._space.in_order():
            begun.finish()
            for step in rest:
                step()

    def check(self) -> None:
        """QuadrantsRuntimeError if the memory of an array is gone."""
        for part in self.parts:
            part.check()

    def load(self, faces: Sequence[Faces]) -> None:
        """Kernels pack."""
        self._steps += [found.load for found in faces if found.packed]

    def store(self, faces: Sequence[Faces]) -> None:
        """Kernels unpack."""
        self._steps += [found.store for found in faces if found.packed]

    def exchange(self, moves: list[Move]) -> None:
        """Messages, all at once."""
        if moves:
            self._steps.append(self._engine.prepare(moves))

    def do(self, steps: Sequence[Callable[[], None]]) -> None:
        """Anything else."""
        self._steps += steps


def _nothing() -> None:
    pass


# Low before high: what goes down is a high halo elsewhere, so two ranks that are both neighbours of each other agree on
# the order of messages.
def _ways(stage: Stage) -> list[tuple[Side | None, Side | None]]:
    """Who gives and who takes, of all axes."""
    return [way for low, high in stage.sides for way in ((low, high), (high, low))]


def _moves(givers: Sequence[tuple[Side, Any]], takers: Sequence[tuple[Side, Any]]) -> list[Move]:
    sends: list[Move] = [(side.peer, values, None) for side, values in givers if faces.count(values)]
    return sends + [(side.peer, None, values) for side, values in takers if faces.count(values)]


def forward(parts: Sequence[Part], found: Sequence[Stage], engine: Engine) -> Plan:
    """Every halo cell gets the value of its owner."""
    plan = Plan(parts, engine)
    for stage in found:
        _forward_stage(plan, parts, stage, engine.rank)
    return plan


def _forward_stage(plan: Plan, parts: Sequence[Part], stage: Stage, me: int) -> None:
    givers = [giver for giver, _ in _ways(stage) if giver is not None and giver.peer != me]
    takers = [taker for _, taker in _ways(stage) if taker is not None and taker.peer != me]
    own = [(giver.inner, taker.outer) for giver, taker in _ways(stage) if giver and taker and giver.peer == me]
    sent = [Faces(part, [side.inner for side in givers]) for part in parts]
    received = [Faces(part, [side.outer for side in takers]) for part in parts]
    moves: list[Move] = []
    for gone, come in zip(sent, received):
        moves += _moves([*zip(givers, gone.values)], [*zip(takers, come.values)])
    plan.load(sent)
    for part in parts:
        plan.do(faces.local_copy(part, *zip(*own)) if own else [])
    plan.exchange(moves)
    plan.store(received)


def backward(parts: Sequence[Part], found: Sequence[Stage], engine: Engine) -> Plan:
    """The adjoint: every halo cell is added to its owner and set to 0. Stages in reverse, low before high in each."""
    plan = Plan(parts, engine)
    for stage in reversed(found):
        _backward_stage(plan, parts, stage, engine.rank)
    return plan


def _backward_stage(plan: Plan, parts: Sequence[Part], stage: Stage, me: int) -> None:
    """The high halo goes up, where it is added at the low end."""
    ways = [(giver, taker) for low, high in stage.sides for giver, taker in ((high, low), (low, high))]
    givers = [giver for giver, _ in ways if giver is not None]
    takers = [taker for _, taker in ways if taker is not None]
    outer = [Faces(part, [side.outer for side in givers]) for part in parts]
    sums = [[faces.Sum(part, side.inner) for side in takers] for part in parts]
    moves: list[Move] = []
    copies = []
    for gone, ends in zip(outer, sums):
        sends, comes = [*zip(givers, gone.values)], [*zip(takers, [end.values for end in ends])]
        moves += _moves([way for way in sends if way[0].peer != me], [way for way in comes if way[0].peer != me])
        # Of an axis with one rank, both sides are its own.
        own = zip([v for side, v in sends if side.peer == me], [v for side, v in comes if side.peer == me])
        copies += [faces.assignment(source, target) for source, target in own if faces.count(source)]
    plan.load(outer)
    plan.do(copies)
    plan.exchange(moves)
    plan.do([found.clear for found in outer])
    plan.do([end.add for ends in sums for end in ends if faces.count(end.values)])
