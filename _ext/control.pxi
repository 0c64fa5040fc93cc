# Settings of the process and of the runtime in force.

cdef uint64_t _seed = 0
cdef uint64_t _launches = 0
cdef bint _capture_print = False
cdef int _last_tasks = 0

# Nonzero when calls need more than the fast path gives; derived from the five below.
cdef int _special = 0
cdef bint _active = True
cdef int _tracing = 0
cdef object _on_traced_call = None
cdef object _on_launch = None
cdef str _stream_refusal = None
cdef object _interpreter = None

# What hears of launches, and whether a body is under way in which it does not.
cdef object _listener = None
cdef bint _paused = False


cdef void update_special() noexcept:
    global _special
    _special = not _active or _tracing > 0 or _on_launch is not None or _interpreter is not None


def set_active(flag, /):
    """False: there is no runtime, and every call of a kernel goes to `compile_miss`, which says so."""
    global _active
    _active = bool(flag)
    update_special()


def enter_tracing():
    """Until `leave_tracing`, every call of a kernel on any thread first goes to the `on_traced_call` hook."""
    global _tracing
    _tracing += 1
    update_special()


def leave_tracing():
    """Undo one `enter_tracing`."""
    global _tracing
    if _tracing == 0:
        raise QuadrantsRuntimeError("leave_tracing without enter_tracing")
    _tracing -= 1
    update_special()


cdef class Tracing:
    """`enter_tracing` and `leave_tracing` around the body of a `with`: no signal handler comes in between."""

    def __enter__(self):
        enter_tracing()

    def __exit__(self, kind, error, trace):
        leave_tracing()


def tracing_depth():
    """How many traces are under way in the process."""
    return _tracing


def set_on_traced_call(hook, /):
    """hook(kernel) is called for kernel calls made while any thread traces. It raises if the trace is on its own
    thread; if it returns, the call goes on. None removes the hook."""
    global _on_traced_call
    _on_traced_call = hook


def set_interpreter(run, /):
    """run(kernel, args, kwargs) does the work of every call, with the arguments as they came; nothing is compiled.
    None goes back to compiled kernels."""
    global _interpreter
    _interpreter = run
    update_special()


def set_on_launch(hook, /, stream_refusal=None):
    """hook(kernel, args) is called before every launch, with complete positional arguments; for gradient tapes and
    graph capture. A launcher that it returns, or a Record has, is launched instead, without another call of the hook;
    another function is called instead, with the arguments; None goes on.

    stream_refusal: while the hook is set, calls with `qd_stream` raise `QuadrantsRuntimeError` with this text. None as
    the hook removes both."""
    global _on_launch, _stream_refusal
    _on_launch = hook
    _stream_refusal = stream_refusal if hook is not None else None
    update_special()


def set_threads(count, /):
    """Use this many threads for parallel tasks, the calling one included. Raises `ValueError` below 1."""
    if not 1 <= count <= 4096:
        raise ValueError(f"the number of threads must be between 1 and 4096, got {count}")
    cdef int32_t wanted = count
    with nogil:
        set_pool_threads(wanted)


def get_threads():
    """Threads that parallel tasks use, the calling one included."""
    return pool_threads()


def get_workers():
    """Worker threads that exist now."""
    return started_workers()


def shutdown_workers():
    """End the worker threads; the next parallel task starts them again."""
    with nogil:
        stop_workers()


def set_seed(seed, /):
    """Seed of random numbers, taken modulo 2**64. Restarts the count of launches, and with it all sequences."""
    global _seed, _launches
    _seed = seed & 0xFFFFFFFFFFFFFFFF
    _launches = 0


def launch_count():
    """Launches since the last `set_seed`."""
    return _launches


def last_task_count():
    """Tasks of the kernel that was launched last."""
    return _last_tasks


def set_python_stdout(flag, /):
    """True: what kernels print goes through `sys.stdout.write` after the launch; False: to C stdout at once."""
    global _capture_print
    _capture_print = bool(flag)


def _end_of_process():
    with nogil:
        stop_idle_workers()


def _start_of_child():
    # The threads whose launches were under way do not exist in a forked child.
    global _running, _tracing, _forks
    _running = 0
    _forks += 1
    _tracing = 0
    update_special()


atexit.register(_end_of_process)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_of_child)


# Code of C as the first and the last step of a `with`: a signal handler, which may raise, comes neither between the
# step and the body nor in the middle of it, so that what it undoes stays in step with what it did.


cdef class Listener:
    """Base of context managers that hear of launches. On entry `self._prepare()`, which may refuse, then `_begin()`:
    what stops in it is left. On exit `stop_listening`, then `self._left(kind)`."""

    def __enter__(self):
        self._prepare()
        try:
            self._begin()
        except BaseException as error:  # Ctrl-C, too
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(self, kind, error, trace):
        stop_listening(self)
        return self._left(kind)


cdef class Pause:
    """Launches in the body of the `with` are not heard."""

    cdef bint before

    def __enter__(self):
        global _paused
        self.before = _paused
        _paused = True

    def __exit__(self, kind, error, trace):
        global _paused
        _paused = self.before


def listener():
    """What hears of launches, or None."""
    return _listener


def is_paused():
    """Whether a `Pause` is under way."""
    return _paused


def start_listening(listener, hook, /, stream_refusal=None):
    """`set_on_launch` for `listener`, which hears everything: nobody was there for whom another body was paused."""
    global _listener, _paused
    _listener, _paused = listener, False
    set_on_launch(hook, stream_refusal)


def stop_listening(listener, /):
    """Undo `start_listening`, unless it is another one that listens."""
    global _listener
    if _listener is listener:
        _listener = None
        set_on_launch(None)
