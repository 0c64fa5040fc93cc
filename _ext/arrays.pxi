# Arrays as arguments: the base of Ndarray, and NumPy arrays through the buffer protocol.

# Launches between packing and the end of the run. While there are any, memory of killed arrays waits in `_graveyard`:
# another thread may run a kernel on it with the GIL released.
cdef int _running = 0
cdef list _graveyard = []


cdef bury(object owner):
    if _running > 0 and owner is not None:
        _graveyard.append(owner)


cdef class ArrayBase(TokenBase):
    """Base of ndarrays: what a launch needs, readable without Python calls."""
    cdef void *data
    cdef int ndim
    cdef int64_t[max_dims] shape
    cdef object owner
    cdef readonly object grad
    cdef public Writes _writes  # None: no result can depend on the data

    def _bind(self, buffer, ptr, shape, grad=None):
        """Attach memory: `buffer` owns it, `ptr` is its address, `shape` has the canonical extents without element
        axes (at most 16), `grad` is the `ArrayBase` of the gradient or None. May be called again to move the array."""
        cdef tuple extents = tuple(shape)
        cdef int ndim = len(extents)
        cdef int axis
        if len(extents) > max_dims:
            raise ValueError(f"an array can have at most {max_dims} dimensions, got {len(extents)}")
        if grad is not None and not isinstance(grad, ArrayBase):
            raise TypeError(f"grad must be an array of this package or None, got {type(grad).__name__}")
        cdef size_t address = ptr
        cdef int64_t[max_dims] checked
        for axis in range(ndim):
            checked[axis] = extents[axis]
            if checked[axis] < 0:
                raise ValueError(f"extents cannot be negative: {extents}")
        for axis in range(ndim):
            self.shape[axis] = checked[axis]
        self.ndim = ndim
        self.data = <void *> address
        if self._writes is not None:
            self._writes.advance()
        replaced, self.grad = self.grad, grad
        bury(replaced)
        previous, self.owner = self.owner, buffer
        bury(previous)

    def _kill(self):
        """Detach the memory and set the token to -1, so that every later use raises. Idempotent."""
        self.token = -1
        self.data = NULL
        previous, self.owner = self.owner, None
        bury(previous)

    @property
    def _ptr(self):
        """Address of the first element; 0 when dead or not bound."""
        return <size_t> self.data

    @property
    def _extents(self):
        """Canonical extents without element axes."""
        return tuple([self.shape[axis] for axis in range(self.ndim)])

    @property
    def _buffer(self):
        """The owner of the memory, None when dead or not bound."""
        return self.owner


cdef class ViewBase(TokenBase):
    """Base of views: elements `offset .. offset + size - 1` of the 1-d array `arr`, read at every launch."""
    cdef public ArrayBase arr
    cdef public int64_t offset
    cdef public int64_t size


cdef PyObject *_numpy_array = NULL
cdef PyObject *_numpy_integer = NULL
cdef PyObject *_numpy_real = NULL


cdef bint numpy_loaded() except -1:
    # NumPy is not imported for this: without it in the process no argument can be one of its objects.
    global _numpy_array, _numpy_integer, _numpy_real
    if _numpy_array != NULL:
        return True
    numpy = sys.modules.get("numpy")
    if numpy is None or not hasattr(numpy, "floating"):
        return False
    for kind in (numpy.ndarray, numpy.integer, numpy.floating):
        raw_incref(<PyObject *> kind)
    _numpy_integer = <PyObject *> numpy.integer
    _numpy_real = <PyObject *> numpy.floating
    _numpy_array = <PyObject *> numpy.ndarray
    return True


cdef enum:
    external_kinds = 12

# Tokens of ("external", dtype, ndim), found on first use.
cdef int64_t[external_kinds][max_dims + 1] _external_tokens


cdef int scalar_of_format(const char *format, Py_ssize_t itemsize) noexcept:
    # The type code of a one-letter native format, or -1. Sizes of C integers differ between systems.
    cdef char letter
    if format == NULL or format[0] == 0 or format[1] != 0:
        return -1
    letter = format[0]
    if letter == c"f":
        return code_f32
    if letter == c"d":
        return code_f64
    if letter == c"e":
        return code_f16
    if letter == c"?":
        return code_u1
    if letter == c"i" or letter == c"l" or letter == c"q" or letter == c"b" or letter == c"h":
        return integer_code(code_i8, itemsize)
    if letter == c"I" or letter == c"L" or letter == c"Q" or letter == c"B" or letter == c"H":
        return integer_code(code_u8, itemsize)
    return -1


cdef int integer_code(int smallest, Py_ssize_t itemsize) noexcept:
    if itemsize == 1:
        return smallest
    if itemsize == 2:
        return smallest + 1
    if itemsize == 4:
        return smallest + 2
    if itemsize == 8:
        return smallest + 3
    return -1


cdef bint is_c_contiguous(Py_buffer *view) noexcept:
    cdef Py_ssize_t expected = view.itemsize
    cdef int axis
    if view.len == 0:
        return True
    for axis in range(view.ndim - 1, -1, -1):
        if view.shape[axis] != 1 and view.strides[axis] != expected:
            return False
        expected *= view.shape[axis]
    return True


cdef External *room_for_external(Frame *frame) except NULL:
    # Becomes part of the frame when its count is raised.
    if not frame.externals.reserve(frame.externals.count + 1):
        raise MemoryError()
    return &frame.externals.data[frame.externals.count]


cdef int64_t plain_token(int code, int ndim) except? -2:
    if _external_tokens[code][ndim] == 0:
        _external_tokens[code][ndim] = intern_token(("external", SCALAR_NAMES[code], ndim))
    return _external_tokens[code][ndim]


cdef int64_t external_token(PyObject *value, int32_t source, Frame *frame) except? -2:
    # The token of an array that is no ndarray of ours, noted in the frame for packing; 0 for what Python has to look
    # at.
    if (_numpy_array != NULL or numpy_loaded()) and is_instance(value, _numpy_array):
        return numpy_token(value, source, frame)
    return foreign_token(value, source, frame)


cdef int64_t numpy_token(PyObject *value, int32_t source, Frame *frame) except? -2:
    # The token of a C-contiguous NumPy array that may be written.
    cdef Py_buffer view
    cdef int code, axis
    cdef External *found
    if raw_get_buffer(value, &view, PyBUF_FORMAT | PyBUF_STRIDES) < 0:
        if PyErr_ExceptionMatches(<PyObject *> BufferError) or PyErr_ExceptionMatches(<PyObject *> ValueError):
            PyErr_Clear()  # a dtype that buffers cannot describe: the slow path says what to do about it
            return 0
        return -2
    code = -1
    if not view.readonly and view.ndim <= max_dims and is_c_contiguous(&view):
        code = scalar_of_format(view.format, view.itemsize)
    if code >= 0:
        # The caller's reference keeps the memory during the launch, so the view itself need not be held.
        try:
            found = room_for_external(frame)
        except MemoryError:
            PyBuffer_Release(&view)
            raise
        frame.externals.count += 1
        found.source = source
        found.device_type = host_memory
        found.device_id = 0
        found.producer = NULL
        found.ndim = view.ndim
        found.data = view.buf
        for axis in range(view.ndim):
            found.shape[axis] = view.shape[axis]
    PyBuffer_Release(&view)
    if code < 0:
        return 0
    return plain_token(code, found.ndim)
