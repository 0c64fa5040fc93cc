# cython: language_level=3
"""Devices of Metal, for `quadrants._ext.core.device_of_table`."""

from libc.stdint cimport uint64_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from quadrants.errors import QuadrantsRuntimeError


cdef extern from "qd_device.h" nogil:
    ctypedef struct qd_device_api:
        pass

cdef extern from "metal_messages.hpp" namespace "qd::metal" nogil:
    cdef cppclass AnyMessage:
        const char *selector
        string types
    const vector[const AnyMessage *] &known_messages "qd::metal::messages"()

cdef extern from "driver_metal.hpp" namespace "qd::metal" nogil:
    cdef struct Image:
        uint64_t library
        uint64_t block_bytes
    cdef struct Given:
        const char *objc
        const char *framework
        void *device
        void *queue
        bint timing
    const qd_device_api table
    void *open_device "qd::metal::open"(const Given &given, const char **why)
    uint64_t threads_of "qd::metal::most_threads"(void *function)


def table_address():
    """The address of the functions of such devices."""
    return <size_t> &table


def opened(bytes objc, bytes framework, device, queue, timing, /):
    """What these functions are called with, for the address of an id<MTLDevice>. It belongs to the device that is made
    with it. objc, framework: paths of the runtime of Objective-C and of Metal. queue: the address of the
    id<MTLCommandQueue> of the default stream, 0 for one of our own. timing: whether milliseconds between events will be
    asked for."""
    cdef const char *why = NULL
    cdef Given given
    given.objc, given.framework = objc, framework
    given.device, given.queue, given.timing = <void *> <size_t> device, <void *> <size_t> queue, timing
    cdef void *found = open_device(given, &why)
    if found == NULL:
        raise QuadrantsRuntimeError(f"a device of Metal cannot be used: {why.decode()}")
    return <size_t> found


def image(library, block_bytes, /):
    """What `Device.load` takes of the address of an id<MTLLibrary>. block_bytes: of the arguments that are passed by
    value; 0 where their address is."""
    cdef Image told
    told.library, told.block_bytes = library, block_bytes
    return (<const char *> &told)[:sizeof(told)]


def most_threads(function, /):
    """Threads of a block that a function can have: a handle of `Module.function`."""
    return threads_of(<void *> <size_t> function)


def messages():
    """(selector, types of the result and of the arguments in the writing of Objective-C) of all that is sent."""
    cdef const vector[const AnyMessage *] *all_of_them = &known_messages()
    cdef const AnyMessage *one
    found = []
    for at in range(all_of_them.size()):
        one = all_of_them[0][at]
        found.append((one.selector.decode(), one.types.decode()))
    return found
