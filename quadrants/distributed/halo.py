"""Plans of halo exchanges: which regions go where, made once for some arrays and run many times."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from quadrants.distributed import spaces
from quadrants.distributed.arrays import Face, Part, Region
from quadrants.distributed.blocks import Blocks
from quadrants.distributed.engines.interface import Engine, Move
from quadrants.errors import QuadrantsRuntimeError


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
    """Steps that run in order. Empty ones are left out when the plan is made."""

    def __init__(self, parts: Sequence[Part], engine: Engine) -> None:
        self.parts = parts
        self._engine = engine
        self._space = spaces.of(engine)
        self._steps: list[Callable[[], None]] = []
        self._started = False

    def run(self) -> None:
        """Check that the arrays still have memory, then move."""
        self._check()
        with self._space.in_order():
            for step in self._steps:
                step()

    def start(self) -> Callable[[], None]:
        """Run until messages are under way, and return what does the rest."""
        self._check()
        with self._space.in_order():
            for number, step in enumerate(self._steps):
                if hasattr(step, "start"):
                    step.start()
                    self._started = True
                    return partial(self._finish, step, self._steps[number + 1 :])
                step()
        return _nothing

    def _finish(self, begun: Any, rest: Sequence[Callable[[], None]]) -> None:
        with self._space.in_order():
            begun.finish()
            self._started = False
            for step in rest:
                step()

    def _check(self) -> None:
        for part in self.parts:
            part.check()
        if self._started:
            raise QuadrantsRuntimeError(
                "An exchange of these arrays is under way: call wait() of what exchange_halo(.., wait=False) returned."
            )

    def _kernels(self, faces: Sequence[Face], what: str) -> None:
        self._steps += [getattr(face, what) for face in faces if face.packed and face.values.size]

    def _exchange(self, moves: list[Move]) -> None:
        if moves:
            self._steps.append(self._engine.prepare(moves))

    def _copy(self, pairs: Sequence[tuple[Any, Any]]) -> None:
        self._steps += [_assignment(source, target) for source, target in pairs if source.size]


def _nothing() -> None:
    pass


def _assignment(source: Any, target: Any) -> Callable[[], None]:
    def assign() -> None:
        target[...] = source

    return assign


def _values(of: Face | _Sum | None) -> Any | None:
    return None if of is None else of.values


def _message(giver: Side | None, send: Any | None, taker: Side | None, recv: Any | None) -> list[Move]:
    moves: list[Move] = []
    if giver is not None and send is not None and send.size:
        moves.append((giver.peer, send, None))
    if taker is not None and recv is not None and recv.size:
        moves.append((taker.peer, None, recv))
    return moves


def forward(parts: Sequence[Part], found: Sequence[Stage], engine: Engine) -> Plan:
    """Every halo cell gets the value of its owner."""
    plan = Plan(parts, engine)
    for stage in found:
        _forward_stage(plan, parts, stage)
    return plan


def _forward_stage(plan: Plan, parts: Sequence[Part], stage: Stage) -> None:
    me, moves, copies = plan._engine.rank, [], []
    sent: list[Face] = []
    received: list[Face] = []
    for (low, high), part in itertools.product(stage.sides, parts):
        # What goes down is a high halo elsewhere: so two ranks that are both neighbours of each other agree on it.
        for giver, taker in ((low, high), (high, low)):
            send = part.face(giver.inner) if giver is not None else None
            recv = part.face(taker.outer) if taker is not None else None
            sent += [send] if send is not None else []
            received += [recv] if recv is not None else []
            if giver is not None and giver.peer == me and send is not None and recv is not None:
                copies.append((send.values, recv.values))
            else:
                moves += _message(giver, _values(send), taker, _values(recv))
    plan._kernels(sent, "load")
    plan._copy(copies)
    plan._exchange(moves)
    plan._kernels(received, "store")


def backward(parts: Sequence[Part], found: Sequence[Stage], engine: Engine) -> Plan:
    """The adjoint: every halo cell is added to its owner and set to 0. Stages in reverse, low before high in each."""
    plan = Plan(parts, engine)
    for stage in reversed(found):
        _backward_stage(plan, parts, stage)
    return plan


def _backward_stage(plan: Plan, parts: Sequence[Part], stage: Stage) -> None:
    me, moves, copies = plan._engine.rank, [], []
    outer: list[Face] = []
    sums: list[_Sum] = []
    for (low, high), part in itertools.product(stage.sides, parts):
        ends = [_Sum(part, side) if side is not None else None for side in (low, high)]
        sums += [end for end in ends if end is not None]
        # The high halo goes up, where it is added at the low end.
        for giver, taker, end in ((high, low, ends[0]), (low, high, ends[1])):
            send = part.face(giver.outer) if giver is not None else None
            outer += [send] if send is not None else []
            if giver is not None and giver.peer == me and send is not None and end is not None:
                copies.append((send.values, end.values))
            else:
                moves += _message(giver, _values(send), taker, _values(end))
    plan._kernels(outer, "load")
    plan._copy(copies)
    plan._exchange(moves)
    plan._steps += [face.clear for face in outer if face.values.size]
    plan._steps += [end.add for end in sums if end.values.size]


class _Sum:
    """What a neighbour sends, to be added to the cells that this rank owns."""

    def __init__(self, part: Part, side: Side) -> None:
        self._face = part.face(side.inner)
        self.values = part.space.zeros(part.shape_of(side.inner), part.dtype)

    def add(self) -> None:
        """Once the values are here."""
        self._face.add(self.values)
