"""What somebody may have meant who wrote a name that there is not."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str:
    """ "debug" for "debgu"; "" where nothing known is like the word."""
    import difflib  # wrong names are rare, and imports of this package are counted

    return next(iter(difflib.get_close_matches(word, list(known), 1, 0.6)), "")


def hint(word: str, known: Iterable[str]) -> str:
    """The same to be put behind the word."""
    near = nearest(word, known)
    return f" (did you mean {near!r}?)" if near else ""


def no_attribute(error: AttributeError, owner: object, name: str) -> str:
    """The text of `error`, with what of `owner` may have been meant; tracebacks of Python add that by themselves."""
    text = str(error)
    if name.startswith("_") or "did you mean" in text:
        return text
    return text + hint(name, [known for known in dir(owner) if not known.startswith("_")])
