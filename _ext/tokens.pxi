# Tokens: 64-bit integers that stand for everything of an argument that selects a specialisation of a kernel.

cdef dict _tokens = {}
cdef list _keys = [None]
cdef dict _type_tokens = {}
cdef object _tokens_lock = threading.RLock()


def intern_token(key, /):
    """The token of a hashable key: a positive integer, the same for equal keys, never given to another key."""
    token = _tokens.get(key)
    if token is None:
        with _tokens_lock:
            token = _tokens.get(key)
            if token is None:
                token = len(_keys)
                _keys.append(key)
                _tokens[key] = token
    return token


def token_key(long long token, /):
    """The key that `intern_token` gave this token for. Raises `KeyError` for any other number."""
    if token < 1 or token >= len(_keys):
        raise KeyError(token)
    return _keys[token]


def register_type_token(cls, key, /):
    """Make `intern_token(key)` the token of every direct instance of `cls`, without asking `slow_token`.

    For types whose instances differ only in members that plans check by themselves, such as dataclasses of tensors.
    The class is kept for ever. Returns the token."""
    if not isinstance(cls, type):
        raise TypeError(f"register_type_token expects a class, got {cls!r}")
    token = intern_token(key)
    _type_tokens[cls] = token
    return token


cdef class TokenBase:
    """Base of every object that has a token of its own. `token` is -1 once the object is dead."""
    cdef public long long token
    cdef object __weakref__


cdef class WrapperBase:
    """Base of objects that stand for one array or field wherever an argument is expected: `_impl`, never None."""
    cdef public TokenBase _impl
    cdef object __weakref__


cdef inline PyObject *unwrapped(PyObject *value) noexcept:
    # Borrowed from the wrapper, which the caller keeps alive.
    if is_instance(value, <PyObject *> WrapperBase):
        return <PyObject *> (<WrapperBase> value)._impl
    return value


cdef PyObject *_usual_array = NULL  # the first class of an array that was passed; it stays alive


cdef inline bint is_array(PyObject *value) noexcept:
    # Nearly all are of one class, which is faster to compare with than to look for among the bases of a class.
    return type_of(value) == _usual_array or is_other_array(value)


cdef bint is_other_array(PyObject *value) noexcept:
    global _usual_array
    if not is_instance(value, <PyObject *> ArrayBase):
        return False
    if _usual_array == NULL:
        _usual_array = type_of(value)
        raw_incref(_usual_array)
    return True


cdef inline bint has_token(PyObject *value, int kind) noexcept:
    return is_array(value) or kind != KIND_ARRAY and is_instance(value, <PyObject *> TokenBase)


cdef struct Memo:
    # The last object that a slow path answered for, and its token. At most one of the two references is set.
    PyObject *constant
    PyObject *weak
    int64_t token


cdef void forget(Memo *memo) noexcept:
    cdef PyObject *constant = memo.constant
    cdef PyObject *weak = memo.weak
    memo.constant = NULL
    memo.weak = NULL
    raw_xdecref(constant)
    raw_xdecref(weak)


cdef enum:
    KIND_SCALAR
    KIND_ARRAY
    KIND_TOKEN
    KIND_OPAQUE
    KIND_ANY

SCALAR = KIND_SCALAR
ARRAY = KIND_ARRAY
TOKEN = KIND_TOKEN
OPAQUE = KIND_OPAQUE
ANY = KIND_ANY


cdef class Called:
    # What messages call a kernel and its parameters, and whom the core asks for tokens that it does not know.
    cdef str label  # as in "kernel step"; empty where it is not known
    cdef tuple names  # of the parameters, empty where they are not known
    cdef object slow_token

    def __cinit__(self, str label not None, tuple names not None=(), slow_token=None):
        self.label = label
        self.names = names
        self.slow_token = slow_token

    cdef parameter(self, int index):
        return self.names[index] if self.names else index

    cdef place(self, int index):
        return "A member of an argument" if index < 0 else QuadrantsRuntimeTypeError.place((self.parameter(index),))

    cdef wrong(self, error):
        # What is raised for an argument that cannot be passed.
        return _on_wrong_argument(error, self.label) if self.label and _on_wrong_argument is not None else error


cdef object _on_wrong_argument = None


def set_on_wrong_argument(hook, /):
    """hook(error, label) gives what is raised instead of an error about an argument of the launcher with that label.
    None removes the hook."""
    global _on_wrong_argument
    _on_wrong_argument = hook


cdef inline int64_t live_token(PyObject *value, int index, Called called) except? -2:
    cdef int64_t token = (<TokenBase> value).token
    if token == -1:
        raise called.wrong(QuadrantsRuntimeError(
            f"{called.place(index)} is a {type(<object> value).__name__} of a runtime that was destroyed by qd.init() "
            "or qd.reset(); create it again"
        ))
    return token


cdef int64_t token_of(
    PyObject *value, int kind, int index, int32_t source, Called called, Memo *memo, Frame *frame
) except? -2:
    # `index` is what slow_token is told: the parameter, or -1 for a member.
    cdef int64_t token
    if has_token(value, kind):
        return live_token(value, index, called)
    if is_instance(value, <PyObject *> WrapperBase):
        value = unwrapped(value)
        if has_token(value, kind):
            return live_token(value, index, called)
    if index < 0 and (type_of(value) == <PyObject *> list or type_of(value) == <PyObject *> tuple):
        token = fields_token(value, called)
        if token != 0:
            return token
    if kind != KIND_TOKEN and (_numpy_array != NULL or numpy_loaded()) and is_instance(value, _numpy_array):
        token = numpy_token(value, source, frame)
        if token != 0:
            return token
    if memo.constant == value or (memo.weak != NULL and weakly_refers(memo.weak, value)):
        return memo.token
    cdef PyObject *known = raw_dict_get(<PyObject *> _type_tokens, type_of(value))
    if known != NULL:
        return <object> known
    if PyErr_Occurred() != NULL:
        return -2
    if kind != KIND_TOKEN:
        token = foreign_token(value, source, frame)
        if token != 0:
            return token
    return ask_slow_token(value, index, called, memo)


cdef int64_t fields_token(PyObject *value, Called called) except? -2:
    # Of a list or tuple of fields and arrays, which may be others at each launch; 0 where it holds anything else.
    cdef list tokens = []
    for item in <object> value:
        if not is_instance(<PyObject *> item, <PyObject *> TokenBase):
            return 0
        tokens.append(live_token(<PyObject *> item, -1, called))
    return intern_token((type(<object> value), tuple(tokens)))


cdef int64_t ask_slow_token(PyObject *value, int index, Called called, Memo *memo) except? -2:
    try:
        answer = called.slow_token(index, <object> value)
    except Exception as error:
        raise called.wrong(error)
    cdef bint lasting = type(answer) is tuple
    cdef int64_t token = answer[0] if lasting else answer
    if token == -1:
        raise called.wrong(QuadrantsRuntimeError(
            f"{called.place(index)} belongs to a runtime that was destroyed by qd.init() or qd.reset(); create it again"
        ))
    if is_plain_constant(value):
        forget(memo)
        raw_incref(value)
        memo.constant = value
        memo.token = token
    elif lasting:
        reference = weakref.ref(<object> value)
        forget(memo)
        memo.weak = <PyObject *> reference
        raw_incref(memo.weak)
        memo.token = token
    return token
