# cython: language_level=3
"""Devices with OpenCL, for `quadrants._ext.core.device_of_table`."""

cimport cython
from libc.stdint cimport uint64_t

from quadrants.errors import QuadrantsRuntimeError


cdef extern from "qd_device.h" nogil:
    ctypedef struct qd_device_api:
        pass

cdef extern from "driver_opencl.hpp" namespace "qd::opencl" nogil:
    cdef struct Image:
        uint64_t program
        uint64_t block_bytes
    const qd_device_api table
    void *open_device "qd::opencl::open"(
        void *context, void *device, void *queue, bint timing, const char *binding, const char **why)
    void retain_memory(void *opened, uint64_t address)
    void release_memory(void *opened, uint64_t address)


def table_address():
    """The address of the functions of such devices."""
    return <size_t> &table


def opened(context, device, queue, timing, binding, /):
    """What these functions are called with, for the addresses of a cl_context and of a cl_device_id of it. It belongs
    to the device that is made with it. queue: the address of the cl_command_queue of the default stream, 0 for one of
    our own. timing: whether milliseconds between events will be asked for. binding: the path of the library that made
    them, as bytes."""
    cdef const char *why = NULL
    cdef void *found = open_device(
        <void *> <size_t> context, <void *> <size_t> device, <void *> <size_t> queue, timing, binding, &why
    )
    if found == NULL:
        raise QuadrantsRuntimeError(f"a device with OpenCL cannot be used: {why.decode()}")
    return <size_t> found


def image(program, block_bytes, /):
    """What `Device.load` takes of the address of a cl_program that has been built. block_bytes: of the arguments that
    are passed by value; 0 where their address is."""
    cdef Image told
    told.program, told.block_bytes = program, block_bytes
    return (<const char *> &told)[:sizeof(told)]


@cython.no_gc
cdef class Borrowed:
    """Shared virtual memory that somebody else allocated in the context of `opened`, at `address`: launches may use it
    as long as this lives. device: the one that was made with `opened`."""
    cdef object device
    cdef size_t opened
    cdef readonly size_t address

    def __cinit__(self, device, size_t opened, size_t address, /):
        self.device, self.opened, self.address = device, opened, address
        retain_memory(<void *> opened, address)

    def __dealloc__(self):
        release_memory(<void *> self.opened, self.address)
