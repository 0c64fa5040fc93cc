# distutils: language = c++
# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The launch core: arguments to tokens, tokens to a plan, a plan to a native call. No policy, no IR.

Contract: docs/development/contracts.md, section 2. One file a duty, included in order:

    abi             declarations of the C and C++ parts
    tokens          what stands for an argument in the lookup of a specialisation
    buffer          memory
    device_api      declarations of the drivers of devices
    adstack_heaps   the memory of stacks
    device          devices: memory, code, streams
    writes          what was written since
    arrays          array arguments
    export          DLPack capsules of device memory
    dlpack          array arguments of packages other than NumPy
    capture         launches while torch records a graph
    pack            argument block
    counts          numbers that the arguments decide
    adstack_plan    stacks in a launch on a device
    device_plan     the tasks of a kernel on a device
    adstack_kept    depths of stacks from one launch to the next
    plan            one specialisation: members, packing, run, errors, result
    failures        what launches that nobody waited for did wrong
    launcher        calls, hits and misses, binding of methods
    entrance        functions whose errors end at the user's line
    control         threads, seed, hooks
"""

import atexit
import copy
import os
import sys
import threading
import types
import weakref

cimport cython
from cpython.buffer cimport PyBUF_FORMAT, PyBUF_SIMPLE, PyBUF_STRIDES, PyBuffer_FillInfo, PyObject_GetBuffer
from cpython.number cimport PyNumber_Index
from cpython.object cimport PyObject
from cpython.pythread cimport PyThread_get_thread_ident
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from quadrants.errors import QuadrantsRuntimeError, QuadrantsRuntimeTypeError

include "abi.pxi"
include "turns.pxi"
include "tokens.pxi"
include "buffer.pxi"
include "device_api.pxi"
include "adstack_heaps.pxi"
include "print_ring.pxi"
include "device.pxi"
include "writes.pxi"
include "arrays.pxi"
include "export.pxi"
include "dlpack.pxi"
include "capture.pxi"
include "pack.pxi"
include "counts.pxi"
include "adstack_plan.pxi"
include "device_plan.pxi"
include "adstack_kept.pxi"
include "plan.pxi"
include "failures.pxi"
include "launcher.pxi"
include "entrance.pxi"
include "control.pxi"


cdef int _install_call_slots() except -1:
    # Where an instance keeps its entry point is known only to the compiler: measure it.
    cdef Launcher launcher = Launcher.__new__(Launcher)
    cdef BoundLauncher bound = BoundLauncher(launcher, None)
    cdef Entrance entrance = Entrance(set_ends_at_the_call)
    enable_vectorcall(<PyObject *> Launcher, <char *> &launcher.vectorcall - <char *> <PyObject *> launcher)
    enable_vectorcall(<PyObject *> BoundLauncher, <char *> &bound.vectorcall - <char *> <PyObject *> bound)
    enable_vectorcall(<PyObject *> Entrance, <char *> &entrance.vectorcall - <char *> <PyObject *> entrance)
    enable_method_calls(<PyObject *> Launcher)
    return 0


_install_call_slots()
