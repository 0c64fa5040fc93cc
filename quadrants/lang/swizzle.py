"""Swizzle words: which components `v.xyz`, `c.rgb` or `t.st` name. Shared by Python scope and kernel scope."""

from __future__ import annotations

from functools import cache

from quadrants.errors import QuadrantsIndexError, QuadrantsSyntaxError

LETTER_SETS = ("xyzw", "rgba", "stpq")
MAX_LENGTH = 4


@cache
def parse(word: str) -> tuple[int, ...] | None:
    """Component indices of a swizzle word, or None if `word` is no swizzle (mixed sets, more than 4 letters)."""
    if 1 <= len(word) <= MAX_LENGTH:
        for letters in LETTER_SETS:
            if all(c in letters for c in word):
                return tuple(letters.index(c) for c in word)
    return None


def indices(word: str, shape: tuple) -> tuple[int, ...] | None:
    """Component indices of `word` on a value of that shape; None if `word` is no swizzle.

    Raises QuadrantsIndexError on a matrix and QuadrantsSyntaxError for a letter beyond the length of the vector.
    """
    found = parse(word)
    if found is None:
        return None
    if len(shape) != 1:
        raise QuadrantsIndexError(
            f"Expected {len(shape)} indices, got 1. Swizzle `.{word}` works on vectors only; index a matrix as m[i, j]."
        )
    n = shape[0]
    if max(found) >= n:
        letters = next(s for s in LETTER_SETS if word[0] in s)
        raise QuadrantsSyntaxError(f"vec{n} only has attributes={tuple(sorted(letters[:n]))}, got={tuple(word)}")
    return found
