// The few C-API spellings that Cython's declarations lack or that differ between Python versions.
#pragma once

#include <Python.h>

#include <cstddef>

namespace qd {

inline bool is_instance(PyObject *object, PyObject *type) {
    return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject *>(type));
}

inline PyObject *type_of(PyObject *object) { return reinterpret_cast<PyObject *>(Py_TYPE(object)); }

inline bool weakly_refers(PyObject *weak, PyObject *object) {
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *target;
    if (PyWeakref_GetRef(weak, &target) < 0) {
        PyErr_Clear();  // only a non-weakref fails, and none is ever passed
        return false;
    }
    Py_XDECREF(target);
    return target == object;
#else
    return PyWeakref_GET_OBJECT(weak) == object && object != Py_None;  // a dead reference gives None
#endif
}

// Objects of these types never change, so that one object always has one token.
inline bool is_plain_constant(PyObject *object) {
    return object == Py_None || PyLong_CheckExact(object) || PyBool_Check(object) || PyUnicode_CheckExact(object) ||
           PyFloat_CheckExact(object);
}

inline PyObject *const *tuple_items(PyObject *tuple) { return reinterpret_cast<PyTupleObject *>(tuple)->ob_item; }

// Lets calls of instances go to the function whose address is kept `offset` bytes into them.
inline void enable_vectorcall(PyObject *type, Py_ssize_t offset) {
    PyTypeObject *t = reinterpret_cast<PyTypeObject *>(type);
    t->tp_vectorcall_offset = offset;
    t->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
}

// Classes made by a `class` statement do not inherit the two flags before Python 3.12 (the second one never).
inline void inherit_vectorcall(PyObject *type) {
    PyTypeObject *t = reinterpret_cast<PyTypeObject *>(type);
    if (t->tp_vectorcall_offset > 0) t->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
}

inline void enable_method_calls(PyObject *type) {
    reinterpret_cast<PyTypeObject *>(type)->tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
}

}  // namespace qd
