# Calls of kernels: from arguments to a plan, and the ways around it.

cdef struct Selector:
    # A parameter that selects the specialisation.
    int kind
    int index
    Memo memo


@cython.final
cdef class Specialisation:
    # A plan under the tokens it is stored for. One object, so that the pair is always read and replaced as one.
    cdef bytes key
    cdef Plan plan
    cdef bint contested

    def __cinit__(self, bytes key not None, Plan plan not None):
        self.key = key
        self.plan = plan


cdef object _launchers = weakref.WeakSet()
cdef tuple _known_alone = (object(),)  # in place of the arguments that a plan would be compiled for
cdef uint64_t _generation = 0  # bumped by clear_all: a plan compiled before it must not be stored after it


cdef pass_on_call_flags(cls):
    # Subclasses do not inherit the type flags of fast calls; they get them unless they redefine what these bypass.
    if cls is Launcher:
        return
    if cls.__call__ is Launcher.__call__:
        inherit_vectorcall(<PyObject *> cls)
    if cls.__get__ is Launcher.__get__:
        enable_method_calls(<PyObject *> cls)


cdef class Launcher:
    """A kernel as the core sees it. Calling it finds the plan of the arguments and runs it.

    params: one of SCALAR, ARRAY, TOKEN, OPAQUE, ANY for each parameter. compile_miss(args) -> Plan, for a new
    specialisation. bind(args, kwargs) -> tuple, for calls that are not exactly positional. slow_token(index, value) ->
    token of what the core does not know; index is -1 for a member of an argument; `(token,)` instead of a number says
    that this object keeps the token for life. label and names: what messages call the kernel and its parameters. Meant
    to be subclassed; `__init__` must be called before the first call. As a class attribute it binds like a function."""
    cdef vectorcallfunc vectorcall
    cdef Py_ssize_t param_count
    cdef int selector_count
    cdef Selector *selectors
    cdef object compile_miss, bind
    cdef Called called
    cdef public str stream_refusal  # why calls with qd_stream are refused, None where they are not
    cdef dict plans
    cdef Specialisation last
    cdef object __weakref__

    def __cinit__(self, *args, **kwargs):
        self.vectorcall = <vectorcallfunc> launcher_entry
        self.param_count = -1
        self.plans = {}
        pass_on_call_flags(type(self))

    def __init__(self, params, compile_miss, bind, slow_token, label="", names=()):
        cdef list kinds = list(params)
        cdef Selector *selectors
        for kind in kinds:
            if kind not in (SCALAR, ARRAY, TOKEN, OPAQUE, ANY):
                raise ValueError(f"unknown kind of parameter: {kind!r}")
        if self.param_count >= 0:
            raise TypeError("a launcher cannot be initialised twice")
        self.selectors = <Selector *> calloc(len(kinds) or 1, sizeof(Selector))
        if self.selectors == NULL:
            raise MemoryError()
        for index, kind in enumerate(kinds):
            if kind == ARRAY or kind == TOKEN or kind == ANY:
                self.selectors[self.selector_count].kind = kind
                self.selectors[self.selector_count].index = index
                self.selector_count += 1
        self.compile_miss = compile_miss
        self.bind = bind
        self.called = Called(label, tuple(names), slow_token)
        self.param_count = len(kinds)
        _launchers.add(self)

    def __dealloc__(self):
        cdef int at
        if self.selectors != NULL:
            for at in range(self.selector_count):
                forget(&self.selectors[at].memo)
        free(self.selectors)

    def __call__(self, *args, **kwargs):
        return self.call_carefully(args, kwargs)

    def __get__(self, instance, owner):
        return self if instance is None else BoundLauncher(self, instance)

    # Like functions, kernels are copied as themselves.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __len__(self):
        return sum([len(candidates) for candidates in self.plans.values()])

    def __bool__(self):
        return True

    def clear(self):
        """Forget all plans and everything remembered about arguments."""
        cdef int at
        # Local references until both are replaced: what a plan keeps alive may run Python code when it dies.
        plans, self.plans = self.plans, {}
        last, self.last = self.last, None
        for at in range(self.selector_count):
            forget(&self.selectors[at].memo)

    @property
    def _plans(self):
        """The stored plans, as a new list."""
        return [(<Specialisation> item).plan for candidates in self.plans.values() for item in candidates]

    cdef call_carefully(self, tuple args, dict kwargs):
        # Everything that is not a plain positional call of the right length under an ordinary runtime.
        cdef Frame frame
        if self.param_count < 0:
            raise TypeError(f"{type(self).__name__}.__init__ was not called")
        if _interpreter is not None:
            return _interpreter(self, args, kwargs)
        if kwargs and "qd_stream" in kwargs:
            return self.call_on_stream(args, dict(kwargs))
        if _tracing > 0 and _on_traced_call is not None:
            _on_traced_call(self)
        if kwargs or len(args) != self.param_count:
            args = self.bind(args, kwargs)
            if len(args) != self.param_count:
                raise TypeError(f"bind returned {len(args)} arguments for {self.param_count} parameters")
        if not _active:
            return self.compile(args).run(tuple_items(<PyObject *> args), &frame)
        if _on_launch is not None:
            instead = _on_launch(self, args)
            if isinstance(instead, Record):
                return (<Record> instead).run(args)
            if isinstance(instead, Launcher):
                return (<Launcher> instead).launch(tuple_items(<PyObject *> args), args, NULL)
            if instead is not None:
                return instead(*args)
        return self.launch(tuple_items(<PyObject *> args), args, NULL)

    cdef call_on_stream(self, tuple args, dict kwargs):
        stream = kwargs.pop("qd_stream")
        if stream is None:
            return self.call_carefully(args, kwargs)
        if not isinstance(stream, StreamBase):
            raise TypeError(f"qd_stream must be a qd.Stream or None, not {type(stream).__name__}")
        refusal = self.stream_refusal or _stream_refusal
        if refusal is not None:
            raise QuadrantsRuntimeError(refusal)
        before = set_stream(stream._launch_handle())
        try:
            return self.call_carefully(args, kwargs)
        finally:
            set_stream(before)

    def launch_from(self, label, tuple args, dict kwargs):
        """A call that begins at the checkpoint with that label; `QuadrantsRuntimeError` if there is none."""
        if kwargs or len(args) != self.param_count:
            args = self.bind(args, kwargs)
        if _tracing > 0 and _on_traced_call is not None:
            _on_traced_call(self)
        if not _active:
            self.compile(args)
        if _on_launch is not None:
            instead = _on_launch(self, args)
            if instead is not None:
                raise QuadrantsRuntimeError(f"{self!r} cannot resume: only its derivative may run here")
        return self.launch(tuple_items(<PyObject *> args), args, <PyObject *> label)

    cdef launch(self, PyObject *const *args, tuple positional, PyObject *resume):
        # `positional` is None unless the arguments are in a tuple already. `resume`: see Frame.
        cdef Frame frame
        frame.resume = resume
        return self.select(args, positional, &frame).run(args, &frame)

    @cython.final
    cdef inline Plan select(self, PyObject *const *args, tuple positional, Frame *frame):
        # The plan of these arguments; the frame has their tokens and members then.
        cdef Specialisation last
        cdef Plan plan
        cdef int at
        cdef int own_externals
        cdef Selector *selector
        cdef uint64_t generation = _generation
        cdef Py_ssize_t key_bytes = self.selector_count * sizeof(int64_t)
        if not frame.tokens.reserve(self.selector_count):
            raise MemoryError()
        for at in range(self.selector_count):
            selector = &self.selectors[at]
            frame.tokens.data[at] = token_of(
                args[selector.index], selector.kind, selector.index, selector.index, self.called, &selector.memo,
                frame,
            )
        last = self.last
        if last is not None and memcmp(<const char *> last.key, frame.tokens.data, key_bytes) == 0:
            plan = last.plan
            if plan.node_count == 0:
                if not last.contested:
                    return plan
            else:
                own_externals = frame.externals.count
                if plan.match(args, self.called, frame):
                    return plan
                frame.externals.count = own_externals
        plan = self.find(args, (<char *> frame.tokens.data)[:key_bytes], positional, frame, generation)
        if generation != _generation:  # a thread ended the runtime meanwhile: what the arguments were is over
            frame.externals.count = 0
            return self.select(args, positional, frame)
        return plan

    def plan_of(self, tuple args):
        """The plan that a launch with these arguments runs; a new specialisation is compiled."""
        cdef Frame frame
        return self.select(tuple_items(<PyObject *> args), args, &frame)

    def known_plan_of(self, tuple args):
        """The same, or None where it would have to be compiled."""
        cdef Frame frame
        return self.select(tuple_items(<PyObject *> args), _known_alone, &frame)

    cdef Plan find(
        self, PyObject *const *args, bytes key, tuple positional, Frame *frame, uint64_t generation
    ):
        # The plan of these tokens whose members match too, compiled if there is none. Leaves the members in the frame.
        cdef Specialisation known
        cdef Plan plan
        cdef int own_externals = frame.externals.count
        candidates = self.plans.get(key)
        if candidates is not None:
            for known in tuple(candidates):
                frame.externals.count = own_externals
                if known.plan.match(args, self.called, frame):
                    self.remember(known)
                    return known.plan
        if positional is _known_alone:
            return None
        if positional is None:
            positional = positional_arguments(args, self.param_count)
        plan = self.compile(positional)
        frame.externals.count = own_externals
        if not plan.match(args, self.called, frame):
            raise QuadrantsRuntimeError(
                f"the plan of kernel {plan.name} does not match the members of the arguments that it was compiled for"
            )
        if generation == _generation:
            known = Specialisation(key, plan)
            # A plan that looks at no members fits whatever they are, also where an earlier one fits better.
            known.contested = candidates is not None
            self.plans.setdefault(key, []).append(known)
            self.remember(known)
        return plan

    cdef remember(self, Specialisation known):
        previous, self.last = self.last, known

    cdef Plan compile(self, tuple positional):
        plan = self.compile_miss(positional)
        if not isinstance(plan, Plan):
            raise TypeError(f"compile_miss must return a Plan, got {type(plan).__name__}")
        (<Plan> plan).adopt(<int> self.param_count, self.called)
        return plan


cdef PyObject *launcher_vectorcall(
    PyObject *callee, PyObject *const *args, size_t nargsf, PyObject *names
) except NULL:
    cdef Launcher self = <Launcher> callee
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    if names == NULL and count == self.param_count and not _special:
        result = self.launch(args, None, NULL)
    else:
        result = self.call_carefully(positional_arguments(args, count), keyword_arguments(args + count, names))
    raw_incref(<PyObject *> result)
    return <PyObject *> result


# As plain pointers: who calls these adds no frame to the traceback of an error.
cdef vectorcallfunc launcher_plainly = <vectorcallfunc> launcher_vectorcall
cdef vectorcallfunc bound_plainly = <vectorcallfunc> bound_vectorcall


cdef PyObject *launcher_entry(PyObject *callee, PyObject *const *args, size_t nargsf, PyObject *names) noexcept:
    return trimmed(launcher_plainly(callee, args, nargsf, names))


cdef PyObject *bound_entry(PyObject *callee, PyObject *const *args, size_t nargsf, PyObject *names) noexcept:
    return trimmed(bound_plainly(callee, args, nargsf, names))


cdef tuple positional_arguments(PyObject *const *args, Py_ssize_t count):
    cdef Py_ssize_t at
    return tuple([<object> args[at] for at in range(count)])


cdef dict keyword_arguments(PyObject *const *values, PyObject *names):
    cdef Py_ssize_t at
    if names == NULL:
        return {}
    return {name: <object> values[at] for at, name in enumerate(<tuple> names)}


cdef class Record:
    """A launch that somebody keeps a record of: what is launched, `after`, called behind it unless None, and `done`,
    whether it came to its end. Nothing comes between the end and `done`: no signal handler either.
    """
    cdef readonly Launcher launcher
    cdef readonly object after
    cdef readonly bint done

    def __init__(self, Launcher launcher not None, after=None):
        self.launcher = launcher
        self.after = after

    cdef run(self, tuple args):
        result = self.launcher.launch(tuple_items(<PyObject *> args), args, NULL)
        self.done = True
        if self.after is not None:
            self.after()
        return result


cdef class BoundLauncher:
    """A kernel that is a method, bound to an instance: calls prepend it, other attributes are the kernel's own."""
    cdef vectorcallfunc vectorcall
    cdef readonly Launcher __func__
    cdef readonly object __self__
    cdef object __weakref__

    def __cinit__(self, Launcher launcher not None, instance, /):
        self.vectorcall = <vectorcallfunc> bound_entry
        self.__func__ = launcher
        self.__self__ = instance

    def __call__(self, *args, **kwargs):
        return self.__func__(self.__self__, *args, **kwargs)

    def __getattr__(self, name):
        value = getattr(self.__func__, name)
        if name in ("source", "resume"):  # they take the arguments of a call
            return lambda *args, **options: value(self.__self__, *args, **options)
        return BoundLauncher(value, self.__self__) if isinstance(value, Launcher) else value

    def __eq__(self, other):
        if not isinstance(other, BoundLauncher):
            return NotImplemented
        return self.__func__ is (<BoundLauncher> other).__func__ and self.__self__ is (<BoundLauncher> other).__self__

    def __hash__(self):
        return hash((id(self.__self__), self.__func__))

    def __reduce__(self):
        return BoundLauncher, (self.__func__, self.__self__)

    def __copy__(self):
        return BoundLauncher(self.__func__, self.__self__)

    def __deepcopy__(self, memo):
        """As of a bound method of Python: that of a copy of the object."""
        return BoundLauncher(self.__func__, copy.deepcopy(self.__self__, memo))

    def __repr__(self):
        return f"<bound kernel {getattr(self.__func__, '__qualname__', '?')} of {self.__self__!r}>"


cdef PyObject *bound_vectorcall(
    PyObject *callee, PyObject *const *args, size_t nargsf, PyObject *names
) except NULL:
    cdef BoundLauncher self = <BoundLauncher> callee
    cdef PyObject *kernel = <PyObject *> self.__func__
    cdef PyObject **writable
    cdef PyObject *kept
    cdef PyObject *result
    if nargsf & PY_VECTORCALL_ARGUMENTS_OFFSET:
        # The caller lends the slot before the first argument, to be put back as it was.
        writable = <PyObject **> args - 1
        kept = writable[0]
        writable[0] = <PyObject *> self.__self__
        result = PyObject_Vectorcall(kernel, writable, PyVectorcall_NARGS(nargsf) + 1, names)
        writable[0] = kept
        return result
    cdef Py_ssize_t count = PyVectorcall_NARGS(nargsf)
    called = self.__func__(
        self.__self__, *positional_arguments(args, count), **keyword_arguments(args + count, names)
    )
    raw_incref(<PyObject *> called)
    return <PyObject *> called


def members(known, /):
    """A list of what a `weakref.WeakSet` holds, to which other threads may add meanwhile."""
    while True:
        try:
            return list(known)
        except RuntimeError as error:
            if "changed size" not in str(error):
                raise


def clear_all():
    """Forget the plans of all launchers; for the end of a runtime."""
    global _generation, _last_tasks
    _generation += 1
    _last_tasks = 0
    forget_producers()
    for launcher in members(_launchers):
        (<Launcher> launcher).clear()
