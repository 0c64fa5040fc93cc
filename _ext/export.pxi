# DLPack capsules of memory on devices.

cdef extern from "export.hpp" namespace "qd":
    ctypedef struct DltTensor:
        void *data
        int32_t device_type
        int32_t device_id
        int32_t ndim
        uint8_t code
        uint8_t bits
        uint16_t lanes
        uint64_t byte_offset

    object export_array(
        bint versioned, const DltTensor &tensor, const int64_t *shape, const int64_t *strides, PyObject *owner
    )


def dlpack_capsule(owner, ptr, tuple home, int code, int bits, tuple shape, tuple strides, bint versioned, /):
    """A DLPack capsule (version 0 or 1, no flags) of the memory at address `ptr`, which `owner` keeps alive.

    home: DLPack's (device type, number). code, bits: of its data type. shape, strides: in elements, at most 16 axes.
    The owner is let go once: by the consumer, or by the capsule if nobody took it. Raises `ValueError` for another
    number of axes."""
    cdef DltTensor tensor
    cdef int64_t[max_dims] extents
    cdef int64_t[max_dims] steps
    cdef int axis
    if len(shape) > max_dims or len(shape) != len(strides):
        raise ValueError(f"a capsule has at most {max_dims} axes with a stride each, got {shape} and {strides}")
    tensor.data = <void *> <size_t> ptr
    tensor.device_type, tensor.device_id = home
    tensor.ndim = <int32_t> len(shape)
    tensor.code = code
    tensor.bits = bits
    tensor.lanes = 1
    tensor.byte_offset = 0
    for axis in range(tensor.ndim):
        extents[axis] = shape[axis]
        steps[axis] = strides[axis]
    return export_array(versioned, tensor, extents, steps, <PyObject *> owner)
