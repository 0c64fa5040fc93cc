# cython: language_level=3
"""Devices with OpenCL, for `quadrants._ext.core.device_of_table`."""

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
    void *open_device "qd::opencl::open"(void *context, void *device, bint timing, const char **why)


def table_address():
    """The address of the functions of such devices."""
    return <size_t> &table


def opened(context, device, timing, /):
    """What these functions are called with, for the addresses of a cl_context and of its one cl_device_id. It belongs
    to the device that is made with it. timing: whether milliseconds between events will be asked for."""
    cdef const char *why = NULL
    cdef void *found = open_device(<void *> <size_t> context, <void *> <size_t> device, timing, &why)
    if found == NULL:
        raise QuadrantsRuntimeError(f"a device with OpenCL cannot be used: {why.decode()}")
    return <size_t> found


def image(program, block_bytes, /):
    """What `Device.load` takes of the address of a cl_program that has been built. block_bytes: of the arguments that
    are passed by value; 0 where their address is."""
    cdef Image told
    told.program, told.block_bytes = program, block_bytes
    return (<const char *> &told)[:sizeof(told)]
