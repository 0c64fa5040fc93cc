// What DLPack's C exchange interface (dlpack.h 1.3) says about an array of another package, and what of it we pass on.
#pragma once

#include <Python.h>

#include <cstdint>

#include "launch.hpp"
#include "scalar.hpp"

namespace qd {

// DLPack's numbers.
constexpr int32_t host_memory = 1;
constexpr int32_t cuda_memory = 2;
constexpr int32_t rocm_memory = 10;

// How other packages may write the default stream, which the driver calls 0.
constexpr intptr_t legacy_stream = 1;

struct BorrowedTensor {
    void *data;
    int32_t device_type;
    int32_t device_id;
    int32_t ndim;
    uint8_t dtype_code;
    uint8_t dtype_bits;
    uint16_t dtype_lanes;
    int64_t *shape;
    int64_t *strides;  // in elements; null where the memory is C-contiguous
    uint64_t byte_offset;
};
static_assert(sizeof(BorrowedTensor) == 48, "the layout is DLPack's");

struct ExchangeHeader {
    uint32_t major;
    uint32_t minor;
    const ExchangeHeader *older;
};

struct ExchangeApi {
    ExchangeHeader header;
    void *allocate, *take, *give;  // of managed tensors, which a launch has no use for
    int (*describe)(void *object, BorrowedTensor *out);
    int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
};
static_assert(sizeof(ExchangeApi) == 8 + 6 * sizeof(void *), "the layout is DLPack's");

// The table of the major version that is known here, out of the chain of those that a package offers; null without one.
inline const ExchangeApi *known_version(const void *newest) {
    for (auto header = static_cast<const ExchangeHeader *>(newest); header; header = header->older) {
        if (header->major != 1) continue;
        auto api = reinterpret_cast<const ExchangeApi *>(header);
        return api->describe && api->current_stream ? api : nullptr;
    }
    return nullptr;
}

// 0, or not: the array is one that the table cannot describe, and mostly a Python exception says why.
inline int describe(const ExchangeApi *api, PyObject *object, BorrowedTensor *out) { return api->describe(object, out); }

// 0, or not, perhaps with a Python exception.
inline int stream_now(const ExchangeApi *api, int32_t device_type, int32_t device_id, void **out) {
    return api->current_stream(device_type, device_id, out);
}

// 0, or -1 with a Python exception.
inline int stream_of_package(const ExchangeApi *api, int32_t device_type, int32_t device_id, void **out) {
    if (api->current_stream(device_type, device_id, out) == 0) return 0;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "the package of an array does not tell its stream");
    return -1;
}

inline int scalar_of_dlpack(uint8_t code, uint8_t bits, uint16_t lanes) {
    if (lanes != 1) return -1;
    int width = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : bits == 64 ? 3 : -1;
    if (width < 0) return -1;
    if (code == 0) return i8 + width;
    if (code == 1) return u8 + width;
    if (code == 2) return width == 0 ? -1 : f16 + width - 1;
    if (code == 6) return width == 0 ? static_cast<int>(u1) : -1;
    return -1;
}

// Notes the tensor for packing, all but its source. False where a launch cannot pass it by pointer: strided, or with more
// elements than kernels can index, which Python warns about.
inline bool note_layout(const BorrowedTensor &tensor, External *out) {
    if (tensor.ndim < 0 || tensor.ndim > max_dims) return false;
    bool empty = false;
    for (int axis = 0; axis < tensor.ndim; ++axis) empty |= tensor.shape[axis] == 0;
    int64_t count = 1;
    for (int axis = tensor.ndim - 1; axis >= 0; --axis) {
        int64_t extent = tensor.shape[axis];
        if (extent < 0 || extent > INT32_MAX) return false;
        if (!empty) {
            if (tensor.strides && extent != 1 && tensor.strides[axis] != count) return false;
            count *= extent;
            if (count > INT32_MAX) return false;
        }
        out->shape[axis] = extent;
    }
    if (!tensor.data && !empty) return false;
    out->ndim = tensor.ndim;
    out->data = static_cast<char *>(tensor.data) + tensor.byte_offset;
    out->device_type = tensor.device_type;
    out->device_id = tensor.device_id;
    return true;
}

// The same with the type code as the answer, -1 for no.
inline int note(const BorrowedTensor &tensor, External *out) {
    int code = scalar_of_dlpack(tensor.dtype_code, tensor.dtype_bits, tensor.dtype_lanes);
    return code >= 0 && note_layout(tensor, out) ? code : -1;
}

}  // namespace qd
