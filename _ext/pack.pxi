# Writing arguments into the block that a kernel reads, and reading its scalar result.

SCALAR_NAMES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "u1", "f16", "f32", "f64")

cdef dict _scalar_codes = {name: code for code, name in enumerate(SCALAR_NAMES)}

cdef enum:
    OP_SCALAR
    OP_ARRAY
    OP_VIEW
    OP_CALL


cdef struct Op:
    int kind
    int32_t code
    int32_t source
    int64_t offset
    int64_t shape_offset
    int64_t grad_offset
    int64_t start_offset
    int64_t size_offset
    int32_t extents
    PyObject *packer  # of OP_CALL, and of OP_ARRAY for what is not passed by pointer


cdef int pack_scalar(Op *op, PyObject *value, char *at, Plan plan) except -1:
    # What `store_plain` has left.
    cdef int overflow = 0
    cdef int64_t number
    if is_real(op.code):
        if raw_is_int_kind(value):
            store_real(op.code, at, integer_as_real(op, value, plan))
        elif raw_is_float_kind(value) or is_numpy_number(value, True) or is_numpy_bool(value):
            store_real(op.code, at, raw_as_double(value))
        else:
            raise_not_convertible(op, value, plan)
        return 0
    if not raw_is_int_kind(value):
        index = as_integer(op, value, plan)
        return pack_scalar(op, <PyObject *> index, at, plan)
    number = raw_as_int64(value, &overflow)
    if op.code == code_u1:
        store_integer(op.code, at, number != 0)
        return 0
    if overflow != 0 or (number < 0 and is_unsigned(op.code)):
        return pack_far_integer(op, value, at, plan)
    store_integer(op.code, at, <uint64_t> number)
    if loses_bits(op.code, number) and _on_lost_bits is not None:
        _on_lost_bits(plan.place(op.source), number, SCALAR_NAMES[op.code])
    return 0


cdef object _on_lost_bits = None


def set_on_lost_bits(hook, /):
    """hook(place, number, dtype) hears of integers whose parameter keeps their low bits only. None removes it."""
    global _on_lost_bits
    _on_lost_bits = hook


cdef bint is_numpy_bool(PyObject *value):
    # np.bool_ is no number to NumPy, and bool is a number to Python.
    return type(<object> value).__name__ in ("bool", "bool_") and type(<object> value).__module__ == "numpy"


cdef as_integer(Op *op, PyObject *value, Plan plan):
    if is_numpy_number(value, False):
        return PyNumber_Index(<object> value)
    if is_numpy_bool(value):
        return int(<object> value)
    raise_not_convertible(op, value, plan)


cdef double integer_as_real(Op *op, PyObject *value, Plan plan) except? -1:
    try:
        return raw_as_double(value)
    except OverflowError:
        raise plan.called.wrong(OverflowError(
            f"{plan.argument(op.source)}: {short_number(value)} is further from 0 than every real number; pass one "
            "nearer to it, or math.inf"
        )) from None


cdef int pack_far_integer(Op *op, PyObject *value, char *at, Plan plan) except -1:
    # What 64 bits of the parameter's sign do not hold has no meaning, whatever the width that it would be cut to.
    if not is_unsigned(op.code):
        raise plan.called.wrong(TypeError(
            f"{plan.argument(op.source)}: {short_number(value)} does not fit in 64 bits with a sign, and the "
            f"parameter has the type {SCALAR_NAMES[op.code]}; pass a number from -2**63 to 2**63 - 1"
        ))
    if (<object> value) < 0:
        raise plan.called.wrong(TypeError(
            f"{plan.argument(op.source)}: {short_number(value)} is negative, but the parameter has the unsigned "
            f"type {SCALAR_NAMES[op.code]}; pass a number >= 0 or declare the parameter signed"
        ))
    if (<object> value) >> 64:
        raise plan.called.wrong(TypeError(
            f"{plan.argument(op.source)}: {short_number(value)} does not fit in 64 bits, and the parameter has "
            f"the unsigned type {SCALAR_NAMES[op.code]}; pass a number below 2**64"
        ))
    store_integer(op.code, at, raw_low_bits(value))
    return 0


cdef short_number(PyObject *value):
    # Python refuses to write out integers of thousands of digits.
    bits = (<object> value).bit_length()
    return str(<object> value) if bits <= 256 else f"an integer of {bits} bits"


cdef bint is_numpy_number(PyObject *value, bint real_too) except -1:
    if _numpy_integer == NULL and not numpy_loaded():
        return False
    return is_instance(value, _numpy_integer) or (real_too and is_instance(value, _numpy_real))


cdef int raise_not_convertible(Op *op, PyObject *value, Plan plan) except -1:
    raise_not_of_type(op, value, SCALAR_NAMES[op.code], plan)


cdef bint pack_array(Op *op, PyObject *value, char *block, Plan plan, Frame *frame) except -1:
    # False if that is left to the packer.
    cdef ArrayBase array
    cdef External *external
    if not is_array(value):
        value = unwrapped(value)
    if is_array(value):
        array = <ArrayBase> value
        write_array(op, block, plan, live_data(array, op, plan), array.ndim, array.shape)
        if op.grad_offset >= 0 and array.grad is not None:
            store_pointer(block + op.grad_offset, live_data(<ArrayBase> array.grad, op, plan))
        return True
    external = frame.external(op.source)
    if external == NULL and external_token(value, op.source, frame) != 0:
        external = frame.external(op.source)
    if external == NULL or external.device_type != plan.reach_type or external.device_id != plan.reach_id:
        if op.packer == NULL:
            raise_not_convertible_array(op, value, plan)
        return False
    if plan.device is not None:
        order_with(external, frame, plan.device.device, plan.name)
    write_array(op, block, plan, external.data, external.ndim, external.shape)
    return True


cdef int pack_view(Op *op, PyObject *value, char *block, Plan plan, Frame *frame) except -1:
    cdef ViewBase view
    cdef int64_t length
    if not is_instance(value, <PyObject *> ViewBase) or (<ViewBase> value).arr is None:
        raise_not_of_type(op, value, "a BufferView", plan)
    view = <ViewBase> value
    # The view may be given another array while the kernel runs.
    if not frame.hold(<PyObject *> view.arr):
        raise MemoryError()
    store_pointer(block + op.offset, live_data(view.arr, op, plan))
    length = view.arr.shape[0]
    if view.offset < 0 or view.size < 0 or view.offset > length - view.size or length > INT32_MAX:
        raise plan.called.wrong(ValueError(
            f"{plan.argument(op.source)}: BufferView out of range: offset={view.offset}, size={view.size}, "
            f"ndarray length={length}"
        ))
    if op.shape_offset >= 0:
        store_extent(block + op.shape_offset, <int32_t> length)
    if op.start_offset >= 0:
        store_extent(block + op.start_offset, <int32_t> view.offset)
    if op.size_offset >= 0:
        store_extent(block + op.size_offset, <int32_t> view.size)
    return 0


cdef void *live_data(ArrayBase array, Op *op, Plan plan) except NULL:
    if array.data == NULL:
        raise plan.called.wrong(QuadrantsRuntimeError(
            f"{plan.argument(op.source)}: the memory of this array or of its gradient was freed by qd.init() or "
            "qd.reset(); create it again"
        ))
    return array.data


cdef int write_array(Op *op, char *block, Plan plan, void *data, int ndim, const int64_t *shape) except -1:
    cdef int axis
    store_pointer(block + op.offset, data)
    if op.grad_offset >= 0:
        store_pointer(block + op.grad_offset, NULL)
    if op.shape_offset < 0:
        return 0
    if ndim > op.extents >= 0:
        ndim = op.extents
    if op.shape_offset + 4 * ndim > plan.block_bytes:
        raise plan.called.wrong(QuadrantsRuntimeError(
            f"{plan.argument(op.source)} of kernel {plan.name} has {ndim} dimensions, more than the compiled "
            "kernel has room for"
        ))
    for axis in range(ndim):
        if shape[axis] > INT32_MAX:
            raise plan.called.wrong(QuadrantsRuntimeError(
                f"{plan.argument(op.source)} has {shape[axis]} elements along axis {axis}; at most {INT32_MAX} "
                "are supported: split the array"
            ))
        store_extent(block + op.shape_offset + 4 * axis, <int32_t> shape[axis])
    return 0


cdef int raise_not_convertible_array(Op *op, PyObject *value, Plan plan) except -1:
    raise_not_of_type(op, value, "a C-contiguous array", plan)


cdef int raise_not_of_type(Op *op, PyObject *value, needed, Plan plan) except -1:
    raise plan.called.wrong(QuadrantsRuntimeTypeError.get(plan.place(op.source), needed, type(<object> value)))


cdef load_scalar(int code, const char *at):
    if is_real(code):
        return load_real(code, at)
    if is_unsigned(code) or code == code_u1:
        return load_unsigned(code, at)
    return load_signed(code, at)
