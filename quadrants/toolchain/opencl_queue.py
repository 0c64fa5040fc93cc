"""Whether a number is the address of a cl_command_queue, found out before anything calls what may be none.

An object of OpenCL begins with the address of its driver's table of functions. Where the system lets a process ask
what is at an address (Linux), a number that leads to no such table is told from an object; elsewhere it is taken for
one. Which kind of object it is, only its driver knows, and not all of them look: of a queue, both the device and the
context have to be objects, too.
"""

from __future__ import annotations

import ctypes
import sys

_MEMORY = "/proc/self/mem"
_CONTEXT, _DEVICE = 0x1090, 0x1091  # CL_QUEUE_CONTEXT, CL_QUEUE_DEVICE
_WORD = ctypes.sizeof(ctypes.c_void_p)
_ENTRIES = 8  # of a table, which nobody shares with another driver


def is_queue(address: int, device: int, binding: str) -> bool:
    """device: the address of one of the platform's devices, or of another one. binding: a library by which the
    functions of OpenCL are found."""
    if not _alike(address, device):
        return False
    get = ctypes.CDLL(binding).clGetCommandQueueInfo
    get.argtypes = (ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p)
    for what in (_CONTEXT, _DEVICE):
        found = ctypes.c_void_p()
        failed = get(address, what, _WORD, ctypes.byref(found), None)
        if failed or not found.value or not _alike(found.value, device):
            return False
    return True


def _alike(address: int, device: int) -> bool:
    """Whether an object of the driver of a device may be there."""
    found, wanted = _table(address), _table(device)
    return found == wanted


def _table(address: int) -> bytes | None:
    """The first functions of an object's driver; None where that is no object, b"" where nobody tells."""
    if not sys.platform.startswith("linux"):
        return b""
    at = _bytes(address, _WORD)
    return None if at is None else _bytes(int.from_bytes(at, sys.byteorder), _ENTRIES * _WORD)


def _bytes(address: int, count: int) -> bytes | None:
    """What is in memory, None where there is none."""
    try:
        with open(_MEMORY, "rb", buffering=0) as memory:
            memory.seek(address)
            found = memory.read(count)
    except (OSError, ValueError, OverflowError):  # not mapped, or no address at all
        return None
    return found if len(found) == count else None
