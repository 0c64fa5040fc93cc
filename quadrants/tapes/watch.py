"""What the launches of a tape have read, and whether it is still there: the global data access rule, between launches.

Derivatives read fields and arrays as they are when the tape ends. In debug mode kernels note which cells their
derivative will read (`ad.validate`). Behind each launch the values of these cells are kept here, and compared when the
tape ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from quadrants import caller
from quadrants.ad.validate import NEEDED, READ
from quadrants.data import bulk, check_flags
from quadrants.errors import QuadrantsAssertionError

_WRITTEN = (
    "Breaks the global data access rule: {what} was overwritten after {kernels} had read it, and the derivative of "
    "{kernels} needs the value it had: gradients {would} wrong. Write to another field or cell, or run the earlier "
    "part again on the way back (qd.ad.grad_replaced)."
)


class _Known:
    """The cells of one field or array that derivatives need: which, their values, and who read them."""

    def __init__(self, owner, name: str, content: np.ndarray):
        self.owner, self.name = owner, name
        self.needed = np.zeros(content.shape, bool)
        self.values = np.zeros_like(content)
        self.kernels: dict = {}

    def changed(self, content: np.ndarray) -> np.ndarray:
        """Where a needed cell has another value now."""
        both_nan = (content != content) & (self.values != self.values)
        return self.needed & (content != self.values) & ~both_nan


class Watch:
    """Watches over one tape. strict: a broken rule is an error, not a warning."""

    def __init__(self, strict: bool):
        self._strict = strict
        self._known: dict = {}
        self._told: set = set()

    def start(self) -> None:
        """Nothing was read so far."""
        check_flags.forget_foreign()
        check_flags.clear()

    def stop(self) -> None:
        """The tape is over: keep nothing alive."""
        self._known.clear()
        check_flags.forget_foreign()

    def launched(self, name: str) -> None:
        """A kernel of this name has run: keep what it has read."""
        for owner, flags in check_flags.owners():
            found = check_flags.fetch(flags)
            if not found.any():
                continue
            if (found == READ | NEEDED).any():
                self._keep(owner, flags, name)
            check_flags.store(flags, found & NEEDED)

    def compare(self) -> None:
        """Everything that is needed must have its value. `QuadrantsAssertionError` or a warning."""
        for known in list(self._known.values()):
            self._check(known, _content(known.owner))

    @contextmanager
    def aside(self, restored: Iterable[Any] | None) -> Iterator[None]:
        """The body is a function with a gradient of its own. What it changes is no concern of ours, as it may bring
        back what it has overwritten. restored: what it is known to bring back, and nothing else; None: nobody knows.
        """
        self.compare()
        yield
        whole = None if restored is None else set(map(id, restored))
        for owner, flags in check_flags.owners():
            known = self._known.get(id(owner))
            if known is None or whole is not None and id(owner) not in whole:
                continue
            known.needed &= ~known.changed(_content(owner)) if whole is None else False
            _set(flags, known.needed)
        self.compare()  # what else it overwrote

    def forget(self) -> None:
        """What was read so far may be overwritten."""
        self._known.clear()
        check_flags.clear()

    def _keep(self, owner, flags, name: str) -> None:
        read, content = _content(flags) == READ | NEEDED, _content(owner)
        known = self._known.get(id(owner))
        if known is None:
            known = self._known[id(owner)] = _Known(owner, _name(owner, flags), content)
        self._check(known, content)
        known.needed |= read
        known.values[read] = content[read]
        known.kernels[name] = None

    def _check(self, known: _Known, content: np.ndarray) -> None:
        changed = known.changed(content)
        if not changed.any() or id(known.owner) in self._told:
            return
        self._told.add(id(known.owner))
        cell = [int(k) for k in np.argwhere(changed)[0]]
        kernels = " and ".join(f"`{name}`" for name in known.kernels)
        what = f"'{known.name}' at {cell}" if cell else f"'{known.name}'"
        text = _WRITTEN.format(what=what, kernels=kernels, would="would be" if self._strict else "are")
        if self._strict:
            raise QuadrantsAssertionError(text)
        caller.warn(text, Warning)


def _name(owner, flags) -> str:
    """What kernels call it, or what it is."""
    return getattr(owner, "_name", "") or getattr(flags, "_name", "") or f"a {type(owner).__name__}"


def _content(x) -> np.ndarray:
    """The numbers of a field, ndarray or foreign array, as they are now; not to be written to."""
    if isinstance(x, np.ndarray):
        return x
    if bulk.is_quantised(x):
        return x._export()
    if hasattr(x, "to_numpy"):
        return x.to_numpy()
    return x.detach().cpu().numpy() if hasattr(x, "detach") else x.get()


def _set(flags, needed: np.ndarray) -> None:
    """Which cells are needed."""
    flags.from_numpy(np.asarray(needed * NEEDED, np.uint8))  # one number is no array once it was multiplied
