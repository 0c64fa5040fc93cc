# The memory of stacks: heaps of devices, and of launches on the host.

cdef extern from "adstack_heaps.hpp" namespace "qd" nogil:
    enum:
        heap_kinds
    cdef cppclass DeviceHeaps:
        DeviceHeaps(const NativeDevice *)
        void free_all()
        size_t bytes(int kind)
        void forget()

cdef extern from "adstack_host.hpp" namespace "qd" nogil:
    void free_host_heaps()


def release_heaps():
    """Free the host memory of stacks that no launch uses now."""
    with nogil:
        free_host_heaps()


cdef void end_heaps(DeviceHeaps *heaps, bint ours) noexcept:
    # ours: of this process, and not of one that it was forked from.
    if heaps == NULL:
        return
    if ours:
        heaps.free_all()
    else:
        heaps.forget()
    del heaps
