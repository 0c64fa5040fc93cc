"""Streams and events: order between launches, on devices that have queues. Elsewhere they do nothing."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from quadrants import session
from quadrants._ext.core import StreamBase
from quadrants.backends import exchange, registry
from quadrants.errors import QuadrantsRuntimeError

if TYPE_CHECKING:
    from typing_extensions import Self

    from quadrants.backends.interface import Device
    from quadrants.program import Program

_DESTROYED = "owning Program has been destroyed by qd.init() or qd.reset(); create a new one"


class _Handle:
    """A driver object of the runtime that made it (`prog_ref`), or a foreign one (None), which is never destroyed."""

    def __init__(self, handle: int, prog_ref: weakref.ReferenceType[Program] | None = None):
        self._handle = int(handle)
        self._prog_ref = prog_ref
        self._destroyed = False

    @property
    def handle(self) -> int:
        """The driver's handle; 0 where the arch has no such objects, and after `destroy`."""
        return self._handle

    def _device(self) -> Device | None:
        """The device that the object is used with, None where there is nothing to do. RuntimeError when it is dead."""
        if is_orphan(self):
            raise QuadrantsRuntimeError(f"The {type(self).__name__}'s {_DESTROYED}")
        if self._destroyed:
            raise QuadrantsRuntimeError(f"This {type(self).__name__} was destroyed; create a new one")
        return registry.current().device

    def _release(self, device: Device, handle: int) -> None:
        raise NotImplementedError

    def destroy(self) -> None:
        """Let go of the driver's object. Work already in it still runs, before later work of the default stream.
        Idempotent.
        """
        handle, self._handle = self._handle, 0
        gone, self._destroyed = self._destroyed, True
        if gone or handle == 0 or self._prog_ref is None:
            return
        if self._prog_ref() is session.get_runtime()._prog and session.get_runtime()._prog is not None:
            self._release(registry.device(), handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.destroy()

    def __del__(self) -> None:
        try:
            self.destroy()
        except Exception:  # while the process ends, the modules that this needs may be gone
            return


def is_orphan(made: _Handle) -> bool:
    """Whether the runtime that made it is gone."""
    return made._prog_ref is not None and made._prog_ref() is not session.get_runtime()._prog


class Stream(_Handle, StreamBase):  # type: ignore[misc]  # a class of the launch core, which has no annotations
    """A queue of launches: in order among themselves, independent of other streams. `kernel(..., qd_stream=s)`.

    `Stream(handle)` stands for a foreign one, such as `torch.cuda.Stream().cuda_stream`.

        stream = qd.create_stream()  # a qd.Stream
        step(qd_stream=stream)
        stream.synchronize()
    """

    def synchronize(self) -> None:
        """Wait for all work of the stream. RuntimeError when its runtime is gone."""
        device = self._device()
        if device is not None:
            device.synchronize(self._handle)

    def _launch_handle(self) -> int:
        self._device()
        return self._handle

    def _release(self, device: Device, handle: int) -> None:
        exchange.wait(handle, 0)  # nobody can wait for it behind this
        device.stream_destroy(handle)


class Event(_Handle):
    """A mark in a stream that other streams, or the host, can wait for.

    event = qd.create_event()  # a qd.Event
    event.record(stream)
    """

    def record(self, qd_stream: Stream | None = None) -> None:
        """Put the mark behind all work now in the stream (None: the default one)."""
        device, stream = self._device(), _handle_of(qd_stream)
        if device is not None:
            device.event_record(self._handle, stream)

    def wait(self, qd_stream: Stream | None = None) -> None:
        """Have later work of the stream (None: the default one) wait for the mark. The host does not wait."""
        device, stream = self._device(), _handle_of(qd_stream)
        if device is not None:
            device.event_wait(self._handle, stream)

    def synchronize(self) -> None:
        """Wait until the mark is reached."""
        device = self._device()
        if device is not None:
            device.event_synchronize(self._handle)

    def _release(self, device: Device, handle: int) -> None:
        device.event_destroy(handle)


def _handle_of(stream: Stream | None) -> int:
    if stream is None:
        return 0
    if not isinstance(stream, Stream):
        raise TypeError(f"qd_stream must be a qd.Stream or None, not {type(stream).__name__}")
    return stream._launch_handle()


def _current() -> tuple[Device | None, weakref.ReferenceType[Program]]:
    """(device or None, reference to the runtime in force). QuadrantsRuntimeError without one."""
    prog = session.get_runtime().prog
    return registry.current().device, weakref.ref(prog)


def create_stream() -> Stream:
    """A stream of its own. It does not wait for the default stream, nor the other way round: use events.

    stream = qd.create_stream()
    step(qd_stream=stream)
    stream.synchronize()
    """
    device, prog = _current()
    return Stream(device.stream_create() if device is not None else 0, prog)


def create_event() -> Event:
    """An event, not yet recorded.

    event = qd.create_event()
    event.record(stream)
    """
    device, prog = _current()
    return Event(device.event_create() if device is not None else 0, prog)
