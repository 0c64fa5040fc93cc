"""Ranks stay in step: an error of one becomes that of all, and what they have to do alike is compared."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

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
    what: str
    text: str


def _decide(engine: Engine, own: Exception | None, saying: Saying) -> None:
    mine = _Word(_portable(own), saying.what, saying.text)
    words = [_read(word) for word in engine.allgather(mine)]
    for rank, word in enumerate(words):
        if word.error is not None:
            raise own if own is not None and rank == engine.rank else word.error
    for rank, word in enumerate(words):
        if (word.what, word.text) != (mine.what, mine.text):
            instead = "" if word.what == mine.what else f"is to {word.what}: "
            raise QuadrantsRuntimeError(
                f"Ranks {engine.rank} and {rank} do not {mine.what or 'do the same'}.\n"
                f"  rank {engine.rank}: {mine.text}\n  rank {rank}: {instead}{word.text}\n"
                "Every rank has to make the same grids, arrays and particles, and the same calls, in the same order."
            )


def _read(word: Any) -> _Word:
    return word if isinstance(word, _Word) else _Word(None, "do something else", f"{word!r:.60}")


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
