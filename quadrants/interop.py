"""Handles shared with other packages."""

from __future__ import annotations

import ctypes
import os
import sys

from quadrants import _logging

# `MPSStream` starts with a `c10::Stream` (device in 8 bytes, id in 8), then holds the queue.
_QUEUE_OFFSET = 16
_GET_STREAM = "_ZN2at3mps19getDefaultMPSStreamEv"


def get_mps_command_queue() -> int:
    """Address of the MTLCommandQueue that PyTorch uses, starting MPS if needed. Never raises.

    0 outside macOS, without PyTorch or MPS, and for a build of PyTorch that keeps its queue elsewhere.

        queue = qd.interop.get_mps_command_queue()
    """
    if sys.platform != "darwin":
        return 0
    try:
        return _torch_command_queue()
    except Exception as error:  # an unknown build of torch is no reason to fail: there is just no queue to share
        _logging.debug(f"No command queue of PyTorch: {type(error).__name__}: {error}")
        return 0


def _torch_command_queue() -> int:
    import torch

    if not torch.backends.mps.is_available():
        return 0
    torch.zeros(1, device="mps")
    library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.dylib"))
    return _queue_of(library, ctypes.CDLL(None))


def _queue_of(torch_library, system) -> int:
    """The queue of the default stream, if what lies there proves to be one; else 0."""
    get_stream = getattr(torch_library, _GET_STREAM)
    get_stream.restype = ctypes.c_void_p
    stream = get_stream()
    if not stream:
        return 0
    queue = ctypes.c_void_p.from_address(stream + _QUEUE_OFFSET).value
    # Asking a stray address for its class would crash; the allocator answers 0 for what it did not hand out.
    system.malloc_size.argtypes = [ctypes.c_void_p]
    system.malloc_size.restype = ctypes.c_size_t
    if not queue or not system.malloc_size(queue):
        return 0
    system.object_getClassName.argtypes = [ctypes.c_void_p]
    system.object_getClassName.restype = ctypes.c_char_p
    return queue if b"CommandQueue" in (system.object_getClassName(queue) or b"") else 0
