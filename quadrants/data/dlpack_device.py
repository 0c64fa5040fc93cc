"""DLPack capsules of device memory, which no package makes for us. The structs are those of dlpack.h.

A capsule owns one `_Export`: the struct that consumers read, the arrays it points to, and the memory. Whoever consumes
the capsule calls the struct's deleter when it is done; a capsule that nobody consumed does it itself.
"""

from __future__ import annotations

import ctypes

from quadrants.data.device_array import DeviceArray

_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


# Exports whose consumer is not done, by the address of their struct.
_alive: dict = {}

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _delete(address, alive=_alive):
    alive.pop(address, None)


# The argument is a capsule that is being destroyed: a new reference to it would destroy it again.
@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _destroy(capsule, alive=_alive, names=(b"dltensor", b"dltensor_versioned"), is_valid=_is_valid, pointer=_pointer):
    for name in names:
        if is_valid(capsule, name):
            alive.pop(pointer(capsule, name), None)


# Consumers may outlive this module when the interpreter ends.
for _callback in (_delete, _destroy):
    _api.Py_IncRef(ctypes.py_object(_callback))


def capsule(array: DeviceArray, home: tuple, versioned: bool):
    """A capsule of `array`, whose memory DLPack names by `home`, (device type, number). It keeps the memory alive."""
    managed = _Versioned(major=1, minor=0, flags=0) if versioned else _Managed()
    extents = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    steps = (ctypes.c_int64 * max(1, array.ndim))(*(step // array.dtype.itemsize for step in array.strides))
    tensor = managed.tensor
    tensor.data = array.pointer
    tensor.device_type, tensor.device_id = home
    tensor.ndim = array.ndim
    tensor.code, tensor.bits, tensor.lanes = _CODES[array.dtype.kind], 8 * array.dtype.itemsize, 1
    tensor.shape, tensor.strides = extents, steps
    tensor.byte_offset = 0
    managed.deleter = ctypes.cast(_delete, ctypes.c_void_p).value
    address = ctypes.addressof(managed)
    _alive[address] = (managed, extents, steps, array.buffer)
    name = b"dltensor_versioned" if versioned else b"dltensor"
    return _api.PyCapsule_New(address, name, ctypes.cast(_destroy, ctypes.c_void_p))
