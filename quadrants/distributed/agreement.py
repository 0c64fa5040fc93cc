"""Ranks stay in step: an error of one becomes that of all, and what they have to do alike is compared."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from quadrants import session
from quadrants.distributed.engines.interface import Engine
from quadrants.errors import QuadrantsRuntimeError


class Saying:
    """What a rank says that it does, where ranks have to do the same."""

    what = text = ""

    def says(self, what: str, text: str) -> None:
        """text: what this rank does. what: ranks that say otherwise do not do it."""
        self.what, self.text = what, text


@contextmanager
def together(engine: Engine) -> Iterator[Saying]:
    """What each rank does by itself, without a word to the others. All ranks wait for its end, and where some fail, all
    raise the error of the first one that does: nobody goes on to wait for a rank that does not come. Then they compare
    what they have said, as `agree` does.
    """
    own, saying = None, Saying()
    try:
        yield saying
    except Exception as error:
        own = error
    _decide(engine, own, saying)


def agree(engine: Engine, what: str, text: str) -> None:
    """QuadrantsRuntimeError on every rank, with both sides, unless all say the same. what: they do not do otherwise."""
    saying = Saying()
    saying.says(what, text)
    _decide(engine, None, saying)


class _Word(NamedTuple):
    error: Exception | None
    text: str


def _decide(engine: Engine, own: Exception | None, saying: Saying) -> None:
    words = engine.allgather(_Word(_portable(own), saying.text))
    words = [word if isinstance(word, _Word) else _Word(None, f"something else, with {word!r:.60}") for word in words]
    first = next((rank for rank, word in enumerate(words) if word.error is not None), None)
    if first is not None:
        raise own if own is not None and first == engine.rank else words[first].error
    other = next((rank for rank, word in enumerate(words) if word.text != saying.text), None)
    if other is not None:
        raise QuadrantsRuntimeError(
            f"Ranks {engine.rank} and {other} do not {saying.what or 'do the same'}.\n"
            f"  rank {engine.rank}: {saying.text}\n  rank {other}: {words[other].text}\n"
            "Every rank has to make the same grids, arrays and particles, and the same calls, in the same order."
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
