# Arrays of other packages as arguments: read through DLPack's C exchange interface, or by the few attributes of cupy's.

cdef extern from "exchange.hpp" namespace "qd" nogil:
    enum:
        host_memory
        cuda_memory
        rocm_memory
        legacy_stream

    cdef struct BorrowedTensor:
        void *data
        int32_t device_type
        int32_t device_id
        int32_t ndim
        uint8_t dtype_code
        uint8_t dtype_bits
        uint16_t dtype_lanes
        int64_t *shape
        int64_t *strides
        uint64_t byte_offset

    cdef struct ExchangeApi:
        pass

    const ExchangeApi *known_version(const void *newest)
    bint note_layout(const BorrowedTensor &tensor, External *out)
    int note_tensor "qd::note"(const BorrowedTensor &tensor, External *out)

cdef extern from "exchange.hpp" namespace "qd":
    int describe_tensor "qd::describe"(const ExchangeApi *api, PyObject *value, BorrowedTensor *out)
    int stream_of_package(const ExchangeApi *api, int32_t device_type, int32_t device_id, void **out) except -1

cdef extern from "Python.h":
    PyObject *raw_false "Py_False"
    PyObject *raw_type_lookup "_PyType_Lookup"(PyTypeObject *type, PyObject *name)
    Py_ssize_t reference_count "Py_REFCNT"(PyObject *object)
    bint PyCapsule_IsValid(object capsule, const char *name)
    void *PyCapsule_GetPointer(object capsule, const char *name) except NULL


cdef enum:
    remembered_tensors = 1024


cdef struct PlainTensor:
    # A tensor, and the memory it was found to show as it is.
    PyObject *weak
    void *data


@cython.final
cdef class Producer:
    # How instances of one class are read. Kept for ever, so that launches under way may point to it.
    cdef const ExchangeApi *api  # null: by the attributes of a cupy array
    cdef object table            # the capsule that owns `api`
    cdef bint known              # what follows holds for the runtime in force
    cdef object stream           # a function: the stream that the package works on now, as an object with `ptr`
    cdef dict codes              # of dtypes, for cupy
    cdef bint may_have_grad
    cdef bint may_be_negative    # its arrays may show the numbers in memory with the other sign
    cdef PlainTensor[remembered_tensors] plain
    cdef bint usable


cdef dict _producers = {}
cdef object _classify_producer = None
# The class met last, and its producer: both in `_producers`. Null after `forget_producers`.
cdef PyObject *_last_class = NULL
cdef PyObject *_last_producer = NULL

cdef object _exchange_attribute = sys.intern("__dlpack_c_exchange_api__")
cdef object _cuda_attribute = sys.intern("__cuda_array_interface__")
cdef object _grad_attribute = sys.intern("requires_grad")


def set_array_producers(classify, /):
    """`classify(cls)` says how launches read arrays of a class of another package without calling Python: True, by
    DLPack's C exchange interface; a function, by the attributes `data.ptr`, `data.device_id`, `dtype`, `shape` and
    `strides` of cupy's arrays, where the function gives the package's stream as an object with `ptr`; None, not at all.

    It is asked once for a class with `__dlpack_c_exchange_api__` or `__cuda_array_interface__`, and again after
    `clear_all`. Such a class is kept for ever. Returns the function before."""
    global _classify_producer
    before, _classify_producer = _classify_producer, classify
    forget_producers()
    return before


cdef forget_producers():
    global _last_class
    cdef Producer producer
    _last_class = NULL
    forget_torch()
    for producer in _producers.values():
        producer.known = False


cdef Producer producer_of(PyObject *value):
    # None for objects that Python has to describe.
    global _last_class, _last_producer
    cdef PyObject *cls = type_of(value)
    cdef Producer found
    if cls == _last_class:
        found = <Producer> <object> _last_producer
        return found if found.usable else None
    if _classify_producer is None or not (
        raw_type_lookup(<PyTypeObject *> cls, <PyObject *> _exchange_attribute) != NULL
        or raw_type_lookup(<PyTypeObject *> cls, <PyObject *> _cuda_attribute) != NULL
    ):
        return None
    found = _producers.get(<object> cls)
    if found is None or not found.known:
        found = meet_class(<object> cls, found)
    _last_class, _last_producer = cls, <PyObject *> found
    return found if found.usable else None


cdef Producer meet_class(cls, Producer known):
    # What was found before stays, for launches that are under way.
    cdef Producer made = known if known is not None else Producer()
    answer = _classify_producer(cls)
    made.usable = False
    if answer is True:
        table = getattr(cls, "__dlpack_c_exchange_api__", None)
        if made.api == NULL and PyCapsule_IsValid(table, "dlpack_exchange_api"):
            made.api = known_version(PyCapsule_GetPointer(table, "dlpack_exchange_api"))
            made.table = table
        made.usable = made.api != NULL
    elif answer is not None:
        made.codes = codes_of_dtypes()
        made.stream = answer
        made.usable = True
    made.may_have_grad = hasattr(cls, "requires_grad")
    made.may_be_negative = hasattr(cls, "is_neg")
    made.known = True
    _producers[cls] = made
    return made


cdef dict codes_of_dtypes():
    import numpy

    # In the order of SCALAR_NAMES.
    names = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool float16 float32 float64".split()
    return {numpy.dtype(name): code for code, name in enumerate(names)}


cdef int64_t foreign_token(PyObject *value, int32_t source, Frame *frame) except? -2:
    # The token of an array of another package, which is noted in the frame for packing; 0 for everything else.
    cdef Producer producer = producer_of(value)
    cdef External *found
    cdef int code
    if producer is None:
        return 0
    found = room_for_external(frame)
    code = note_exchanged(producer, value, found) if producer.api != NULL else note_cupy(producer, value, found)
    if code < 0:
        return 0
    found.source = source
    found.producer = <PyObject *> producer
    frame.externals.count += 1
    return plain_token(code, found.ndim)


cdef int note_exchanged(Producer producer, PyObject *value, External *found) except -2:
    cdef BorrowedTensor tensor
    cdef int code
    if describe_tensor(producer.api, value, &tensor) != 0:
        # It has no memory, or none that this interface can describe: the slow path says what to do about it.
        clear_exception()
        return -1
    code = note_tensor(tensor, found)
    if code >= 0 and producer.may_have_grad:
        with_grad = raw_getattr(value, <PyObject *> _grad_attribute)
        if with_grad == NULL:
            clear_exception()
            return -1
        raw_decref(with_grad)
        if with_grad != raw_false:
            return -1
    if code >= 0 and producer.may_be_negative and not shows_its_memory(producer, value, found.data):
        return -1
    return code


cdef bint shows_its_memory(Producer producer, PyObject *value, void *data) except -1:
    # Whether a tensor is no negative view. It stays what it is while it shows the same memory, so it is asked once.
    cdef PlainTensor *last = &producer.plain[<uint64_t> <size_t> value * 0x9e3779b97f4a7c15ULL >> 54]
    cdef PyObject *before
    if last.data == data and last.weak != NULL and weakly_refers(last.weak, value):
        return True
    if (<object> value).is_neg():
        return False
    if reference_count(value) == 1:
        return True  # a temporary: no later launch meets it
    reference = weakref.ref(<object> value)
    before = last.weak
    last.weak = <PyObject *> reference
    last.data = data
    raw_incref(last.weak)
    raw_xdecref(before)
    return True


cdef int clear_exception() except -1:
    if PyErr_Occurred() != NULL:
        if not PyErr_ExceptionMatches(<PyObject *> Exception):
            return -1
        PyErr_Clear()
    return 0


cdef int note_cupy(Producer producer, PyObject *value, External *found) except -2:
    cdef BorrowedTensor tensor
    cdef int64_t[max_dims] shape
    cdef int64_t[max_dims] strides
    cdef int64_t size
    cdef int axis
    array = <object> value
    code = producer.codes.get(array.dtype)
    if code is None:
        return -1
    cdef tuple extents = array.shape
    cdef tuple steps = array.strides
    if len(extents) > max_dims:
        return -1
    size = scalar_size(code)
    for axis in range(<int> len(extents)):
        shape[axis] = extents[axis]
        strides[axis] = steps[axis]
        if strides[axis] % size != 0:
            return -1
        strides[axis] //= size
    memory = array.data
    tensor.data = <void *> <size_t> memory.ptr
    tensor.device_type = cuda_memory
    tensor.device_id = memory.device_id
    tensor.ndim = <int> len(extents)
    tensor.shape = shape
    tensor.strides = strides
    tensor.byte_offset = 0
    return <int> code if note_layout(tensor, found) else -1


cdef int order_with(External *external, Frame *frame, Device device, str kernel) except -1:
    # The launch runs after what the array's package has put on its stream, and before what comes next there.
    if external.producer == NULL or external.producer == frame.asked:
        return 0
    cdef Producer producer = <Producer> <object> external.producer
    cdef void *stream = NULL
    if producer.api != NULL:
        stream_of_package(producer.api, external.device_type, external.device_id, &stream)
    else:
        stream = <void *> <size_t> producer.stream().ptr
        refuse_recorded(device, stream, "cupy", kernel)
    frame.asked = external.producer
    if stream == <void *> legacy_stream:
        stream = NULL
    if stream != current_stream and not frame.meets(stream):
        raise MemoryError()
    return 0
