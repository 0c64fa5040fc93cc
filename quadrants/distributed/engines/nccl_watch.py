"""Who sees that a device waits for a rank that does not come: NCCL itself waits for ever, and the host with it."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from quadrants.distributed import failures
from quadrants.distributed.engines.interface import Engine

_PERIOD = 1.0  # seconds between looks
_MARKS = 64  # of exchanges that were posted and are looked at


class Watch:
    """A thread that ends the job where none of the exchanges that were posted ends for `timeout` seconds.

    Exchange n has mark n % _MARKS. Where more are under way, a mark says that a later one has ended, too.
    """

    def __init__(self, cupy: Any, communicator: Any, ordinal: int, timeout: float, control: Engine) -> None:
        self._cupy, self._communicator, self._ordinal = cupy, communicator, ordinal
        self._timeout, self._control = timeout, control
        self._marks = [cupy.cuda.Event(disable_timing=True) for _ in range(_MARKS)]
        self._posted = self._ended = 0
        self._paused = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="quadrants-nccl-watch", daemon=True)
        self._thread.start()
        atexit.register(self._leave)  # a thread in the driver while the process ends is a crash

    def posted(self, stream: Any) -> None:
        """Something of NCCL is the last work of the stream."""
        if self._paused:
            return
        self._marks[self._posted % _MARKS].record(stream)
        self._posted += 1

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What is posted meanwhile is recorded, and not done."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    def _leave(self) -> None:
        self._stop.set()
        self._thread.join(10 * _PERIOD)

    def _run(self) -> None:
        self._cupy.cuda.Device(self._ordinal).use()
        since = time.monotonic()
        while not self._stop.wait(_PERIOD):
            try:
                self._communicator.check_async_error()
            except self._cupy.cuda.nccl.NcclError as error:
                failures.fail(f"NCCL says of messages between devices: {error}", self._control)
                return
            before = self._ended
            while self._ended < self._posted and self._marks[self._ended % _MARKS].done:
                self._ended += 1
            if self._ended == self._posted or self._ended > before:
                since = time.monotonic()
            elif time.monotonic() - since > self._timeout:
                failures.fail(
                    f"exchange {self._ended} of the devices did not end in {self._timeout:g} s: a rank did not come "
                    "to it, or compares an array that is new for it and known to this rank, or works longer on "
                    "something else. Give qdist.init a larger timeout in that case.",
                    self._control,
                )
                return
