"""Boxes of global cells, what two of them have in common, and the way of values from one cut to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quadrants.distributed.engines.interface import Engine, Move

# Begin and end of each axis, in global cells.
Spans = Sequence[tuple[int, int]]


def common(spans: Spans, others: Spans) -> Spans | None:
    """The box of the cells of both; None where there are none."""
    found = [(max(a, c), min(b, d)) for (a, b), (c, d) in zip(spans, others)]
    return found if all(begin < end for begin, end in found) else None


def piece(values: Any, spans: Spans, others: Spans) -> Any | None:
    """The part of values at `spans` that is in `others`, too; None where there is none."""
    shared = common(spans, others)
    if shared is None:
        return None
    return values[tuple(slice(begin - low, end - low) for (begin, end), (low, _) in zip(shared, spans))]


def thinned(spans: Spans, steps: Sequence[int]) -> Spans:
    """Spans in the numbers that cells get where of each axis only those stay whose number a step divides."""
    return [(-(-begin // step), -(-end // step)) for (begin, end), step in zip(spans, steps)]


def redistribute(engine: Engine, values: Any, given: Sequence[Spans], into: Any, taken: Sequence[Spans]) -> None:
    """Every cell of `into` gets its value from the rank that has it. given, taken: by rank, the boxes of values of all
    ranks before and after."""
    me = engine.rank
    moves: list[Move] = []
    for rank, (theirs, wanted) in enumerate(zip(given, taken)):
        send, recv = piece(values, given[me], wanted), piece(into, taken[me], theirs)
        if rank != me:
            moves += [(rank, send, recv)] if send is not None or recv is not None else []
        elif send is not None and recv is not None:
            recv[...] = send
    engine.exchange(moves)
