// DLPack capsules of memory that no other package describes for us. The structs are those of dlpack.h.
#pragma once

#include <Python.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace qd {

struct DltTensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};

struct DltManaged {
    DltTensor tensor;
    void *context;
    void (*deleter)(DltManaged *);
};

struct DltVersioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(DltVersioned *);
    uint64_t flags;
    DltTensor tensor;
};

inline bool interpreter_is_ending() {
#if PY_VERSION_HEX >= 0x030D0000
    return !Py_IsInitialized() || Py_IsFinalizing();
#else
    return !Py_IsInitialized() || _Py_IsFinalizing();
#endif
}

// What a consumer calls when it is done, from any thread, with or without the GIL. A consumer that outlives the
// interpreter cannot give the owner back: the end of the process does.
template <class Managed>
void end_export(Managed *managed) {
    if (!managed || interpreter_is_ending()) return;
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *kind, *value, *traceback;
    PyErr_Fetch(&kind, &value, &traceback);
    PyObject *owner = static_cast<PyObject *>(managed->context);
    std::free(managed);
    Py_DECREF(owner);
    PyErr_Restore(kind, value, traceback);
    PyGILState_Release(state);
}

template <class Managed>
constexpr const char *capsule_name();
template <>
constexpr const char *capsule_name<DltManaged>() {
    return "dltensor";
}
template <>
constexpr const char *capsule_name<DltVersioned>() {
    return "dltensor_versioned";
}

// A consumer renames the capsule that it takes. Capsules also die while an exception is on its way.
template <class Managed>
void end_capsule(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, capsule_name<Managed>())) return;
    Managed *managed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, capsule_name<Managed>()));
    managed->deleter(managed);
}

// `shape` and `strides` (in elements) have `tensor.ndim` entries and are copied. `owner` lives as long as the capsule and
// its consumers. Null with a Python error set when memory is out.
template <class Managed>
PyObject *export_capsule(const DltTensor &tensor, const int64_t *shape, const int64_t *strides, PyObject *owner) {
    size_t axes = sizeof(int64_t) * static_cast<size_t>(tensor.ndim);
    char *memory = static_cast<char *>(std::calloc(1, sizeof(Managed) + 2 * axes));
    if (!memory) return PyErr_NoMemory();
    Managed *managed = reinterpret_cast<Managed *>(memory);
    managed->tensor = tensor;
    managed->tensor.shape = reinterpret_cast<int64_t *>(memory + sizeof(Managed));
    managed->tensor.strides = managed->tensor.shape + tensor.ndim;
    if (axes) {
        std::memcpy(managed->tensor.shape, shape, axes);
        std::memcpy(managed->tensor.strides, strides, axes);
    }
    managed->context = owner;
    managed->deleter = end_export<Managed>;
    if constexpr (sizeof(Managed) == sizeof(DltVersioned)) managed->major = 1;
    PyObject *capsule = PyCapsule_New(managed, capsule_name<Managed>(), end_capsule<Managed>);
    if (!capsule) {
        std::free(memory);
        return nullptr;
    }
    Py_INCREF(owner);
    return capsule;
}

inline PyObject *export_array(
    bool versioned, const DltTensor &tensor, const int64_t *shape, const int64_t *strides, PyObject *owner
) {
    return versioned ? export_capsule<DltVersioned>(tensor, shape, strides, owner)
                     : export_capsule<DltManaged>(tensor, shape, strides, owner);
}

}  // namespace qd
