# Memory that kernels work on.

cdef extern from "memory.hpp" namespace "qd" nogil:
    void *allocate_zeroed(size_t bytes)
    void release_memory(void *data)
    size_t live_allocations()


cdef class Buffer:
    """`nbytes` bytes of zeroed host memory, aligned to 64 bytes, with the writable buffer protocol.

    `numpy.frombuffer(buffer, dtype)` is a live view that keeps the memory. Freed with the last reference, from any
    thread. Raises `QuadrantsRuntimeError` if there is not that much memory, `ValueError` if `nbytes` is negative."""
    cdef void *data
    cdef readonly Py_ssize_t nbytes
    cdef object __weakref__

    def __cinit__(self, nbytes, /):
        if nbytes < 0:
            raise ValueError(f"a buffer cannot have {nbytes} bytes")
        if nbytes <= sys.maxsize - 4096:
            self.nbytes = nbytes
            self.data = allocate_zeroed(self.nbytes)
        if self.data == NULL:
            raise QuadrantsRuntimeError(
                f"cannot allocate {nbytes} bytes of host memory; use smaller fields or free some that are not needed"
            )

    def __dealloc__(self):
        if self.data != NULL:
            release_memory(self.data)

    @property
    def ptr(self):
        """Address of the first byte; never 0, also of an empty buffer."""
        return <size_t> self.data

    def __len__(self):
        return self.nbytes

    def __repr__(self):
        return f"<Buffer of {self.nbytes} bytes at {<size_t> self.data:#x}>"

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.nbytes, 0, flags)


def live_buffers():
    """How many `Buffer` objects hold memory now."""
    return live_allocations()
