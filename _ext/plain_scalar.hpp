// The scalars that nearly every call passes, stored without a call: Python's floats, and its integers of one digit.
#pragma once

#include <Python.h>

#include <cstdint>

#include "scalar.hpp"

namespace qd {

// Whether an integer has one digit, which any parameter of 32 bits with a sign holds. `number` is set then.
inline bool has_one_digit(PyObject *object, int32_t *number) {
    static_assert(PyLong_SHIFT <= 30, "a digit fits in 31 bits");
#if PY_VERSION_HEX >= 0x030C0000
    PyLongObject *value = reinterpret_cast<PyLongObject *>(object);
    if (!PyUnstable_Long_IsCompact(value)) return false;
    *number = static_cast<int32_t>(PyUnstable_Long_CompactValue(value));
#else
    const Py_ssize_t digits = Py_SIZE(object);
    if (digits < -1 || digits > 1) return false;
    // The digit of 0 is not always there.
    *number = digits == 0 ? 0
                          : static_cast<int32_t>(digits) *
                                static_cast<int32_t>(reinterpret_cast<PyLongObject *>(object)->ob_digit[0]);
#endif
    return true;
}

// False, with nothing stored, for everything else.
inline bool store_plain(int32_t code, void *at, PyObject *value) {
    int32_t number;
    switch (code) {
        case f32:
            if (!PyFloat_CheckExact(value)) return false;
            store(at, static_cast<float>(PyFloat_AS_DOUBLE(value)));
            return true;
        case f64:
            if (!PyFloat_CheckExact(value)) return false;
            store(at, PyFloat_AS_DOUBLE(value));
            return true;
        case i32:
            if (!PyLong_CheckExact(value) || !has_one_digit(value, &number)) return false;
            store(at, number);
            return true;
        case i64:
            if (!PyLong_CheckExact(value) || !has_one_digit(value, &number)) return false;
            store(at, static_cast<int64_t>(number));
            return true;
        default:
            return false;
    }
}

}  // namespace qd
