# C declarations of the core's own headers.

cdef extern from "qd_abi.h" nogil:
    ctypedef union qd_value:
        int64_t i
        double f
        float single

    cdef struct qd_error:
        int32_t flag
        int32_t site
        int32_t count
        int32_t worker
        int64_t kinds
        qd_value *values

    cdef struct qd_runtime:
        qd_error error

    ctypedef void (*qd_kernel_fn)(qd_runtime *rt, void *args) noexcept
    enum:
        QD_ERROR_VALUES


cdef extern from "pool.hpp" namespace "qd" nogil:
    void set_pool_threads "qd::set_threads"(int32_t count)
    int32_t pool_threads "qd::threads"()
    int32_t started_workers()
    void stop_workers()
    void stop_idle_workers()


cdef extern from "<string>" namespace "std" nogil:
    cdef cppclass string:
        const char *data()
        size_t size()
        void clear()


cdef extern from "launch.hpp" namespace "qd" nogil:
    cdef cppclass Launch:
        qd_runtime rt
        bint capture
        bint printed
        string text
        const char *name
        void prepare(int32_t threads, uint64_t seed, uint64_t ordinal, bint capture_print)

    enum:
        max_dims

    void run_kernel "qd::run"(qd_kernel_fn fn, Launch *launch, void *args)

    cdef struct External:
        int32_t source
        int32_t ndim
        void *data
        int32_t device_type
        int32_t device_id
        PyObject *producer
        int64_t *shape

    cdef cppclass TokenArray "qd::StackArray<int64_t, 64>":
        int64_t *data
        int count
        bint reserve(int wanted)

    cdef cppclass MemberArray "qd::StackArray<PyObject *, 192>":
        PyObject **data
        int count
        bint reserve(int wanted)

    cdef cppclass ExternalArray "qd::StackArray<qd::External, 8>":
        External *data
        int count
        bint reserve(int wanted)

    cdef cppclass StreamArray "qd::StackArray<void *, 4>":
        void **data
        int count

    cdef cppclass Frame:
        void release_members()
        bint hold(PyObject *object)
        void *block(size_t bytes)
        External *external(int32_t source)
        bint meets(void *stream)
        Launch launch
        PyObject *resume
        TokenArray tokens
        MemberArray members
        ExternalArray externals
        StreamArray streams
        PyObject *asked


cdef extern from "scalar.hpp" namespace "qd" nogil:
    enum:
        code_i8 "qd::i8"
        code_u8 "qd::u8"
        code_u1 "qd::u1"
        code_f16 "qd::f16"
        code_f32 "qd::f32"
        code_f64 "qd::f64"
    bint is_real(int32_t code)
    bint is_unsigned(int32_t code)
    int64_t scalar_size(int32_t code)
    void store_integer(int32_t code, void *at, uint64_t bits)
    bint loses_bits(int32_t code, int64_t number)
    void store_real(int32_t code, void *at, double value)
    void store_pointer "qd::store<void *>"(void *at, void *value)
    void store_extent "qd::store<int32_t>"(void *at, int32_t value)
    double load_real(int32_t code, const void *at)
    int64_t load_signed(int32_t code, const void *at)
    uint64_t load_unsigned(int32_t code, const void *at)


cdef extern from "pycompat.hpp" namespace "qd":
    bint is_instance(PyObject *object, PyObject *type)
    PyObject *type_of(PyObject *object)
    bint weakly_refers(PyObject *weak, PyObject *object)
    bint is_plain_constant(PyObject *object)
    PyObject *const *tuple_items(PyObject *tuple)
    void enable_vectorcall(PyObject *type, Py_ssize_t offset)
    void inherit_vectorcall(PyObject *type)
    void enable_method_calls(PyObject *type)


cdef extern from "plain_scalar.hpp" namespace "qd":
    bint store_plain(int32_t code, void *at, PyObject *value)


cdef extern from "trim.hpp" namespace "qd":
    PyObject *ends_at_the_call
    PyObject *trimmed(PyObject *result)


cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        pass
    ctypedef PyObject *(*vectorcallfunc)(PyObject *, PyObject *const *, size_t, PyObject *)
    Py_ssize_t PyVectorcall_NARGS(size_t nargsf)
    size_t PY_VECTORCALL_ARGUMENTS_OFFSET
    bint raw_is_float_kind "PyFloat_Check"(PyObject *object)
    bint raw_is_int_kind "PyLong_Check"(PyObject *object)
    double raw_as_double "PyFloat_AsDouble"(PyObject *object) except? -1
    long long raw_as_int64 "PyLong_AsLongLongAndOverflow"(PyObject *object, int *overflow) except? -1
    unsigned long long raw_low_bits "PyLong_AsUnsignedLongLongMask"(PyObject *object) except? 0xffffffffffffffff
    PyObject *raw_getattr "PyObject_GetAttr"(PyObject *object, PyObject *name)
    PyObject *raw_dict_get "PyDict_GetItemWithError"(PyObject *mapping, PyObject *key)
    int raw_get_buffer "PyObject_GetBuffer"(PyObject *object, Py_buffer *view, int flags)
    void PyBuffer_Release(Py_buffer *view)
    PyObject *PyObject_Vectorcall(PyObject *callee, PyObject *const *args, size_t nargsf, PyObject *names) except NULL
    int PyErr_ExceptionMatches(PyObject *kind)
    PyObject *PyErr_Occurred()
    void PyErr_Clear()
    void raw_incref "Py_INCREF"(PyObject *object)
    void raw_decref "Py_DECREF"(PyObject *object)
    void raw_xdecref "Py_XDECREF"(PyObject *object)
