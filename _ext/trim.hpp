// Errors that leave the package as if the user's own line had raised them, without a frame of the package.
#pragma once

#include <Python.h>

namespace qd {

inline PyObject *ends_at_the_call = nullptr;  // error -> whether its traceback tells the user nothing

inline void drop_traceback() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != nullptr && value != nullptr) PyException_SetTraceback(value, trace);
    PyObject *answer = value == nullptr ? nullptr : PyObject_CallOneArg(ends_at_the_call, value);
    if (answer == Py_True) {
        Py_CLEAR(trace);
        PyException_SetTraceback(value, Py_None);
    }
    PyErr_Clear();  // where the question fails, the error is shown as it came
    Py_XDECREF(answer);
    PyErr_Restore(type, value, trace);
}

// What a call returns. Cython adds a frame to every function that an error leaves, so this cannot be one of its own.
inline PyObject *trimmed(PyObject *result) {
    if (result == nullptr && ends_at_the_call != nullptr) drop_traceback();
    return result;
}

}  // namespace qd
