"""Order between our launches and the work that torch, cupy or pyopencl do on the same array of the device.

Each package works on a stream of its own choice. Where that is not the stream of the launch, an event makes the launch
wait for the package before it, and the package for the launch after it; the host waits for neither. The launch core
does the same for the arrays that it reads by itself.
"""

from __future__ import annotations

import sys
from typing import Any

from quadrants._ext import core
from quadrants.backends import registry
from quadrants.lang.kinds import is_opencl_array, is_torch_tensor

_LEGACY = 1  # how `__cuda_array_interface__` and cupy may write the default stream that the driver calls 0


def before_use(array: Any) -> None:
    """Have launches of this thread wait for what the array's package has put on its stream so far."""
    if is_opencl_array(array):
        _gather(array)
    theirs, ours = _stream_of(array), own_stream()
    if theirs != ours and registry.with_device().orders(array):
        wait(first=theirs, then=ours)
    elif theirs != ours:
        array.queue.finish()


def after_use(array: Any) -> None:
    """Have the package's stream wait for the launches of this thread so far."""
    theirs, ours = _stream_of(array), own_stream()
    if theirs != ours and registry.with_device().orders(array):
        wait(first=ours, then=theirs)
    elif theirs != ours:
        registry.device().synchronize(ours)
    if is_opencl_array(array):
        _note(array)


def own_stream() -> int:
    """The handle of the stream of this thread's launches."""
    return core.get_stream() or registry.with_device().default_stream


def _gather(array: Any) -> None:
    """Have the queue of a pyopencl array wait for what other queues still do to the array."""
    elsewhere = [event for event in array.events if event.command_queue != array.queue]
    if elsewhere:
        sys.modules["pyopencl"].enqueue_barrier(array.queue, wait_for=elsewhere)


def _note(array: Any) -> None:
    """Tell a pyopencl array what its queue waits for, behind all that it knew of: other queues may use it next. Memory
    without a queue would be freed under the launch.
    """
    array.events[:] = [sys.modules["pyopencl"].enqueue_marker(array.queue)]
    if getattr(array.base_data, "_queue", None) is None:
        registry.device().synchronize(core.get_stream())


def wait(first: int, then: int) -> None:
    """Later work of the stream `then` waits for what `first` has so far."""
    backend = registry.with_device()
    event = backend.exchange_event()
    backend.device.event_record(event, first)
    backend.device.event_wait(event, then)


def _stream_of(array: Any) -> int:
    """The driver's handle of the stream on which the array's package works now, on this thread."""
    if is_opencl_array(array):
        return int(array.queue.int_ptr)
    if is_torch_tensor(array):
        return int(sys.modules["torch"].cuda.current_stream(array.device).cuda_stream)
    if type(array).__module__.split(".")[0] == "cupy":
        stream = int(sys.modules["cupy"].cuda.get_current_stream().ptr)
    else:
        stream = int(array.__cuda_array_interface__.get("stream") or 0)
    return 0 if stream == _LEGACY else stream
