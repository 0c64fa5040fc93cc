"""Copies on the host of foreign arrays that kernels do not reach: one for each piece of memory.

A launch that works on copies has its `Turn` from before they are made until they are brought back: what another thread
stored in between would be lost.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from quadrants.data.external import External


_lock = threading.RLock()  # what brings an array back may be a user's, and launch kernels


def _renew() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)  # the thread that had it may not exist there


class Turn:
    """The right to copy arrays and to bring them back, which one thread has at a time."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock: threading.RLock | None = None

    def begin(self) -> None:
        lock = self._lock = _lock  # before it is had: an interrupt in between leaves nothing locked
        lock.acquire()

    def end(self) -> None:
        """Also of a turn that has ended, or did not come to begin."""
        lock, self._lock = self._lock, None
        if lock is not None:
            with suppress(RuntimeError):  # it was interrupted before it had the lock
                lock.release()


class _Copy:
    """Memory of the host that stands for memory of an array while a launch uses it."""

    __slots__ = ("address", "brought_back", "_keepalive", "__weakref__")

    def __init__(self, made: External):
        self.address = made.pointer
        self.brought_back = False
        self._keepalive = made.keepalive


class _InUse(threading.local):
    """The copies of the launch that this thread prepares, by the memory that they are of."""

    def __init__(self) -> None:
        self.by_memory: WeakValueDictionary[Hashable, _Copy] = WeakValueDictionary()


_in_use = _InUse()


def one_of(place: Hashable, array: object, made: External, nbytes: int) -> External:
    """`made`, a copy of `array` just made, or in its stead the copy that another argument of the launch has of the same
    memory: an array that is passed twice is one array for the kernel, too, and is written back once.

    place: what tells that memory, and the order of what is copied, from others while `array` is kept.
    """
    copy = _in_use.by_memory.get(place)
    if copy is None:
        copy = _in_use.by_memory[place] = _Copy(made)
    else:
        # The newer one has what was under way in the queue of this argument, too.
        ctypes.memmove(copy.address, made.pointer, nbytes)
    copy.brought_back = False
    finish = None if made.finish is None else _once(copy, made.pointer, nbytes, made.finish)
    return made._replace(pointer=copy.address, keepalive=(array, made.keepalive, copy), finish=finish)


def _once(copy: _Copy, address: int, nbytes: int, bring_back: Callable[[], None]) -> Callable[[], None]:
    """`bring_back`, which is for the copy of this argument at `address`, unless that of another one was."""

    def finish() -> None:
        if copy.brought_back:
            return
        copy.brought_back = True
        if address != copy.address:
            ctypes.memmove(address, copy.address, nbytes)
        bring_back()

    return finish
