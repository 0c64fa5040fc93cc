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
    if (PyFloat_CheckExact(value) && is_real(code)) {
        store_real(code, at, PyFloat_AS_DOUBLE(value));
        return true;
    }
    if (PyLong_CheckExact(value) && (code == i32 || code == i64) && has_one_digit(value, &number)) {
        store_integer(code, at, static_cast<uint64_t>(number));
        return true;
    }
    return false;
}

}  // namespace qd
