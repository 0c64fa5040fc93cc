# Functions of the package that users call, when what they did wrong is to be shown at their own line.

@cython.final
cdef class Entrance:
    """`function`, called and documented as it is, whose errors of users have no frame of the package."""
    cdef vectorcallfunc vectorcall
    cdef readonly object __wrapped__
    cdef dict __dict__
    cdef object __weakref__

    def __cinit__(self, function not None, /):
        self.vectorcall = <vectorcallfunc> entrance_vectorcall
        self.__wrapped__ = function
        for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
            setattr(self, name, getattr(function, name))

    def __call__(self, *args, **kwargs):
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, instance, owner):
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self):
        return repr(self.__wrapped__)


cdef extern from "Python.h":
    PyObject *call_plainly "PyObject_Vectorcall"(
        PyObject *callee, PyObject *const *args, size_t nargsf, PyObject *names
    )


cdef PyObject *entrance_vectorcall(PyObject *callee, PyObject *const *args, size_t nargsf, PyObject *names) noexcept:
    return trimmed(call_plainly(<PyObject *> (<Entrance> callee).__wrapped__, args, nargsf, names))


def set_ends_at_the_call(question, /):
    """question(error) -> bool: whether an error that leaves the package is to be shown without a frame of it. None: all
    frames are shown."""
    global ends_at_the_call, _question
    _question = question
    if question is None:
        ends_at_the_call = NULL
    else:
        ends_at_the_call = <PyObject *> question


cdef object _question = None  # keeps it alive
