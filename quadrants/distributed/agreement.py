"""Ranks stay in step: an error of one becomes that of all, and what they have to do alike is compared."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager

from quadrants import session
from quadrants.distributed.engines.interface import Engine
from quadrants.errors import QuadrantsRuntimeError


@contextmanager
def together(engine: Engine) -> Iterator[None]:
    """What each rank does by itself, without a word to the others. All ranks wait for its end, and where some fail, all
    raise the error of the first one that does: nobody goes on to wait for a rank that does not come.
    """
    own = None
    try:
        yield
    except Exception as error:
        own = error
    errors = engine.allgather(_portable(own))
    first = next((rank for rank, error in enumerate(errors) if error is not None), None)
    if first is not None:
        raise own if own is not None and first == engine.rank else errors[first]


def agree(engine: Engine, what: str, text: str) -> None:
    """QuadrantsRuntimeError on every rank, with both sides, unless all say the same. what: they do not do otherwise."""
    said = engine.allgather(text)
    other = next((rank for rank, theirs in enumerate(said) if theirs != text), None)
    if other is not None:
        raise QuadrantsRuntimeError(
            f"Ranks {engine.rank} and {other} do not {what}.\n  rank {engine.rank}: {text}\n"
            f"  rank {other}: {said[other]}"
        )


def in_debug() -> bool:
    """Whether ranks compare what they do each time."""
    return bool(session.get_runtime().options.debug)


def _portable(error: Exception | None) -> Exception | None:
    """As other ranks can read it."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # classes may refuse in any way
        return QuadrantsRuntimeError(f"{type(error).__name__}: {error}")
    return error
