# distutils: language = c++
# cython: language_level=3
"""The SIMT emulator: kernels of CUDA and HIP on the CPU, thread by thread.

A function is an address in this process, made from what `quadrants.toolchain.cxx` compiled. `launch_address` and
`describe_address` are for a table of driver entry points (`qd_device.h`); `launch` does the same from Python.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libcpp.string cimport string


cdef extern from "simt.hpp" namespace "qd::simt" nogil:
    cdef cppclass Function:
        pass

    Function *_make_function "qd::simt::make_function"(uint64_t, int, bint, const char *)
    int _launch "qd::simt::launch"(void *, uint32_t, uint32_t, uint32_t, void *, void **)
    const char *_describe "qd::simt::describe"(int)
    void _capture "qd::simt::capture"(bint)
    string _take_output "qd::simt::take_output"()
    int64_t _shared_limit "qd::simt::shared_limit"(int)


def make_function(address, int warp, bint cooperative, str name) -> int:
    """A function to launch, from the address of its entry record. It lives as long as the process.

    `warp`: 32 (CUDA) or 64 (HIP) lanes. `cooperative`: its threads may wait for each other in barriers or in operations
    of the warp, if its text has any; without, such a call is an error of the launch. `name` is for messages. Raises
    RuntimeError for an entry of another version.
    """
    if warp not in (32, 64):
        raise ValueError(f"a warp has 32 lanes (CUDA) or 64 (HIP), not {warp}")
    cdef bytes text = name.encode()
    cdef Function *made = _make_function(address, warp, cooperative, text)
    if made == NULL:
        raise RuntimeError(last_error())
    return <uint64_t> made


def launch(function, uint32_t grid, uint32_t block, uint32_t shared_bytes=0, params=()) -> None:
    """Run `grid` blocks of `block` threads with that much dynamic shared memory; returns when all is done.

    `params`: for each parameter the address of its value. Raises RuntimeError when the launch is refused, and when
    threads wait for others that do not come.
    """
    cdef size_t count = len(params)
    cdef void **values = <void **> malloc((count + 1) * sizeof(void *))
    cdef void *handle = <void *> <uint64_t> function
    cdef int status
    if values == NULL:
        raise MemoryError()
    try:
        for k in range(count):
            values[k] = <void *> <uint64_t> params[k]
        with nogil:
            status = _launch(handle, grid, block, shared_bytes, NULL, values)
    finally:
        free(values)
    if status != 0:
        raise RuntimeError(last_error())


def last_error() -> str:
    """What the last launch of this thread failed with."""
    return _describe(1).decode(errors="replace")


def launch_address() -> int:
    """Of `int launch(void *function, uint32_t grid, uint32_t block, uint32_t shared_bytes, void *stream, void
    **params)`."""
    return <uint64_t> &_launch


def describe_address() -> int:
    """Of `const char *describe(int status)`."""
    return <uint64_t> &_describe


def shared_limit(int warp) -> int:
    """The most bytes of shared memory that a block may have."""
    return _shared_limit(warp)


def capture(bint on) -> None:
    """Keep what kernels print for `take_output`, instead of writing it to the standard output of the C library."""
    _capture(on)


def take_output() -> str:
    """What kernels printed since the last call, while `capture` was on."""
    return _take_output().decode(errors="replace")
