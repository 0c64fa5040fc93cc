"""@qd.kernel: the entry points that Python calls."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import weakref

from quadrants import caller, config, program_text, session
from quadrants._ext.core import OPAQUE, SCALAR, Entrance, Launcher, members
from quadrants.calls import messages, registry
from quadrants.calls.tokens import member_token
from quadrants.errors import (
    QuadrantsCompilationError,
    QuadrantsRuntimeError,
    QuadrantsRuntimeTypeError,
    QuadrantsSyntaxError,
)
from quadrants.lang import func as funcs
from quadrants.lang.annotations import Template
from quadrants.lang.definitions import at_definition, refuse_async, require_function
from quadrants.lang.enums import AutodiffMode
from quadrants.lang.func import receiver_of, resolve_annotations
from quadrants.observations import CompileCacheObservations, LaunchObservations, SourceCacheObservations

EMPTY = inspect.Parameter.empty
_GRAPH_REFUSAL = "qd_stream is not compatible with graph=True kernels: launch it without, or declare it without graph."
_STREAM_REFUSAL = "qd_stream is not compatible with autodiff kernels: launch derivatives without it."
_MODES = {
    AutodiffMode.NONE: "", AutodiffMode.REVERSE: "reverse", AutodiffMode.FORWARD: "forward",
    AutodiffMode.VALIDATION: "validate",
}  # fmt: skip


_kernels: weakref.WeakSet = weakref.WeakSet()


class Kernel(Launcher):
    """A compiled-on-demand function; a call with known argument types goes straight to the launch core.

    Attributes: `fn` (the user's function), `is_pure` (declared with fastcache=True), `grad`, `mode` ("" or that of a
    derivative: "reverse", "forward", "validate", "observe"), `parameters` and their `kinds`, `by_value` (which
    of them are copied at a call).
    """

    def __init__(
        self, fn, *, fastcache: bool = False, graph: bool = False, checkpoints: bool = False, template=None,
        primal: Kernel | None = None, mode: str = "",
    ):  # fmt: skip
        require_function(fn, "@qd.kernel")
        self.fn = fn
        self.mode = mode
        self._primal_kernel = primal
        self.stream_refusal = _STREAM_REFUSAL if mode else _GRAPH_REFUSAL if graph else None
        self._derivatives: dict = {}
        self.is_pure = fastcache
        self.graph = graph
        self.checkpoints = checkpoints
        self.template_path = template
        if template is not None:
            config.paths("template", template)
        self.parameters, self.kinds = checked_parameters(fn)
        if primal is None and not session.is_python_backend():
            program_text.require(fn)
        self.materialized_kernels: dict = {}
        self.graph_do_while_levels: list = []
        _kernels.add(self)
        self._observe()
        functools.update_wrapper(self, fn)
        cores = [kind.core for _, kind in self.kinds]
        self.by_value = [core in (SCALAR, OPAQUE) for core in cores]
        self.label = f"kernel {fn.__name__}{'.grad' if mode == 'reverse' else ''}"
        names = [name for name, _ in self.kinds]
        super().__init__(cores, self._compile, self._bind, self._token, self.label, names)

    def _observe(self) -> None:
        self.src_ll_cache_observations = SourceCacheObservations()
        self.fe_ll_cache_observations = CompileCacheObservations()
        self.launch_observations = LaunchObservations()

    def clear(self) -> None:
        """Forget all specialisations and what was observed of them."""
        super().clear()
        self.materialized_kernels.clear()
        self._observe()

    @property
    def _primal(self) -> Kernel:
        return self if self._primal_kernel is None else self._primal_kernel

    def versions(self) -> list[Kernel]:
        """The kernel and those of its derivatives that were asked for."""
        return [self._primal, *self._primal._derivatives.values()]

    @property
    def grad(self) -> Kernel:
        """The derivative in reverse mode: called with the arguments of the kernel, it reads the gradients of what the
        kernel writes and adds to the gradients of what it reads. Returns what the kernel returns.
        """
        return self._in_mode(AutodiffMode.REVERSE)

    def _in_mode(self, mode: AutodiffMode | str) -> Kernel:
        """The kernel itself for NONE, else its derivative in that mode, the same object each time. "observe": the
        kernel, which notes what it reads and derivatives need.
        """
        primal = self._primal
        name = _MODES.get(mode, mode)
        if not name:
            return primal
        found = primal._derivatives.get(name)
        if found is None:
            template = primal.template_path
            made = Kernel(primal.fn, fastcache=primal.is_pure, template=template, primal=primal, mode=name)
            found = primal._derivatives.setdefault(name, made)
        return found

    @Entrance
    def resume(self, *args, from_checkpoint, **kwargs):
        """A launch that begins at the checkpoint labelled `from_checkpoint`, with the arguments of a call.

        What is before that block, in the order of the source, is skipped in the first pass of the loops around it;
        variables of the kernel are set all the same. Returns a `qd.GraphStatus`. Clear the flag of the checkpoint
        first, or it ends the launch again.

        Raises:
            QuadrantsSyntaxError: the kernel has not been declared with checkpoints=True.
            RuntimeError: `from_checkpoint` is no int, or no label of the kernel.
        """
        if not self.checkpoints:
            raise QuadrantsSyntaxError(f"{self.fn.__name__}.resume() needs @qd.kernel(graph=True, checkpoints=True)")
        if not isinstance(from_checkpoint, int) or isinstance(from_checkpoint, bool):
            raise QuadrantsRuntimeError(
                f"from_checkpoint must be an int or IntEnum value, the label of a checkpoint of {self.fn.__name__}; "
                f"got {from_checkpoint!r}"
            )
        if session.is_python_backend():
            raise QuadrantsRuntimeError("The python arch cannot resume: its kernels run as the functions they are.")
        return self.launch_from(from_checkpoint, args, kwargs)

    @Entrance
    def source(self, *args, arch=None) -> str:
        """The text that is compiled for these arguments, in the dialect of `arch`; needs no device.

        arch: `qd.cpu`, `qd.cuda`, or their names, or those of a dialect such as "c"; None means the current arch.
        ValueError where no text is written for it.
        """
        _one_at_a_time(self, sys._getframe().f_back)
        from quadrants import compile as pipeline

        return pipeline.source_of(self, self._bind(args, {}), arch)

    def _compile(self, args: tuple):
        _one_at_a_time(self, sys._getframe().f_back)
        from quadrants import compile as pipeline  # after the check: a handler may have come amid this import

        try:
            return pipeline.compile_kernel(self, args)
        except QuadrantsCompilationError as error:
            if not session.get_runtime().side.print_full_traceback:
                # The banner says where in the user's code; the frames of the compiler say nothing to a user.
                raise error.with_traceback(None) from None
            raise

    def _token(self, index: int, x):
        if index < 0:
            return member_token(x)
        name, kind = self.kinds[index]
        return kind.token(x, name)

    @staticmethod
    def member_token(x) -> int:
        """The token of an object that a launch reaches through attributes of an argument."""
        return member_token(x)

    def _bind(self, args: tuple, kwargs: dict) -> tuple:
        kwargs = dict(kwargs)
        kwargs.pop("qd_stream", None)
        try:
            return messages.bind(self.fn, self.parameters, args, kwargs)
        except QuadrantsSyntaxError as error:
            raise messages.at_call(error, self.label)  # noqa: B904 - the same error

    def __reduce__(self):
        """Kernels are pickled by name, like functions; a derivative by that of its kernel."""
        return (Kernel._in_mode, (self._primal, self.mode)) if self.mode else self.fn.__qualname__

    def __repr__(self) -> str:
        named = ", ".join(f"{name}: {messages.annotation_text(a)}" for name, a in self.parameters)
        return f"<qd.kernel {self.fn.__qualname__}{'.' + self.mode if self.mode else ''}({named})>"


def _one_at_a_time(kernel: Kernel, frame: types.FrameType | None) -> None:
    """`QuadrantsRuntimeError` for a kernel that a signal handler calls while this thread compiles another one: that one
    is half done, with locks of its own. Frames tell, as Ctrl-C would leave any other mark behind.
    """
    while frame is not None:
        if frame.f_code in (Kernel._compile.__code__, Kernel.source.__wrapped__.__code__):
            raise QuadrantsRuntimeError(
                f"kernel {kernel.fn.__name__} was called while kernel {frame.f_locals['self'].fn.__name__} is "
                "compiled, by the same thread: a signal handler can only launch what is compiled already. Call it once "
                "before, or have the handler set a flag that the program looks at."
            )
        frame = frame.f_back


def checked_parameters(fn) -> tuple:
    """The parameters of `fn` and their kinds, with the place of the definition in what is wrong."""
    try:
        parameters = collect_parameters(fn)
        return parameters, [(name, registry.of_parameter(a, k, name)) for k, (name, a) in enumerate(parameters)]
    except QuadrantsSyntaxError as error:
        raise at_definition(error, fn) from None


def collect_parameters(fn) -> list:
    """(name, annotation) of every parameter; fails at decoration, naming the parameter."""
    if hasattr(fn, "__wrapped__"):
        raise QuadrantsSyntaxError(
            f"error code: KERNEL_ANNOTATION_ORDER. @qd.kernel must be the innermost decorator of {fn.__qualname__}."
        )
    refuse_async(fn, "@qd.kernel")
    resolved = resolve_annotations(fn)
    receiver = receiver_of(fn)
    fn.__annotations__ = resolved
    out = []
    for p in inspect.signature(fn).parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.KEYWORD_ONLY, p.POSITIONAL_ONLY):
            raise QuadrantsSyntaxError(
                f"Quadrants kernels do not support *args, **kwargs, keyword-only or positional-only parameters: {p}. "
                "Write one parameter for each argument."
            )
        if p.default is not EMPTY:
            raise QuadrantsSyntaxError(
                f"Quadrants kernels do not support default values for arguments: {p}. Pass the value in each call."
            )
        annotation = resolved.get(p.name, EMPTY)
        if annotation is EMPTY:
            if p.name != receiver:
                raise QuadrantsSyntaxError(
                    f"Quadrants kernels parameters must be type annotated: '{p.name}' is not. "
                    f"Write `{p.name}: qd.i32`, another dtype, `qd.types.ndarray()` or `qd.template()`."
                )
            annotation = Template
        out.append((p.name, annotation))
    if "return" in resolved:
        _check_return(resolved["return"])
    return out


def _check_return(a) -> None:
    items = a if isinstance(a, tuple) else getattr(a, "__args__", ())
    if a is Ellipsis or Ellipsis in items:
        raise QuadrantsSyntaxError("`...` is not supported in the return annotation of a kernel.")


@Entrance
def kernel(
    _fn=None,
    *,
    pure=None,
    fastcache: bool = False,
    graph: bool = False,
    checkpoints: bool = False,
    template=None,
):
    """Compile a Python function for the arch chosen by `qd.init`; called like a function, from Python only.

    Args:
        _fn: the function. Every parameter needs an annotation: a dtype, `qd.types.ndarray(...)`, `qd.template()`,
            `qd.Tensor`, a vector, matrix or struct type, or a dataclass. Top-level `for` loops run in parallel.
        fastcache: a promise that all data comes through parameters; lets later processes skip tracing.
        pure: deprecated synonym of `fastcache`.
        graph: launch all tasks as one; needed for `qd.graph`.
        checkpoints: with `graph`, allow `qd.checkpoint`; a launch then returns a `qd.GraphStatus`.
        template: folder searched first for the templates of this kernel.

    Raises:
        QuadrantsSyntaxError: at decoration for bad signatures; at the first call for bad bodies.

        @qd.kernel
        def scale(x: qd.types.ndarray(), factor: qd.f32):
            for i in range(x.shape[0]):
                x[i] *= factor
    """
    if pure is not None:
        caller.warn("pure=True is deprecated; write @qd.kernel(fastcache=True)")
        fastcache = fastcache or pure
    if checkpoints and not graph:
        raise QuadrantsSyntaxError("checkpoints=True needs graph=True: write @qd.kernel(graph=True, checkpoints=True).")

    def decorate(fn):
        return Kernel(fn, fastcache=fastcache, graph=graph, checkpoints=checkpoints, template=template)

    return decorate if _fn is None else decorate(_fn)


@Entrance
def pure(fn):
    """Deprecated: `@qd.pure` above `@qd.kernel`; write `@qd.kernel(fastcache=True)`.

    @qd.pure
    @qd.kernel
    def clear(x: qd.types.ndarray()): ...
    """
    caller.warn("@qd.pure is deprecated; write @qd.kernel(fastcache=True)")
    fn.is_pure = True
    return fn


# The decorators of `lang.func`, as users get them.
func, pyfunc, real_func = Entrance(funcs.func), Entrance(funcs.pyfunc), Entrance(funcs.real_func)


def _nested_call(called) -> None:
    from quadrants.lang import scope

    if scope.in_kernel():
        raise QuadrantsSyntaxError("Kernels cannot call other kernels. I.e., nested kernels are not allowed.")


def _interpret(called, args: tuple, kwargs: dict):
    """A call on the python arch: the user's function as it is."""
    kwargs.pop("qd_stream", None)
    if called.mode:
        raise QuadrantsRuntimeError("Kernels of the python arch have no derivatives; use another arch, such as qd.cpu.")
    return called.fn(*args, **kwargs)


def _choose_interpreter(cfg=None) -> None:
    from quadrants._ext import core

    core.set_interpreter(_interpret if session.is_python_backend() else None)


def _ends_at_the_call(error: BaseException) -> bool:
    if session.get_runtime().side.print_full_traceback:
        return False
    from quadrants import tracebacks  # a program without errors does without

    return tracebacks.end_at_the_call(error)


def _forget_kernels(module: str) -> None:
    for known in members(_kernels):
        if known.fn.__module__ == module:
            known.clear()


def _tell_of_lost_bits(place: tuple, number: int, dtype: str) -> None:
    messages.tell_of_lost_bits(QuadrantsRuntimeTypeError.place(place), number, dtype)


def _install() -> None:
    from quadrants._ext import core

    core.set_ends_at_the_call(_ends_at_the_call)
    core.set_on_lost_bits(_tell_of_lost_bits)
    funcs.forget_kernels = _forget_kernels
    core.set_on_traced_call(_nested_call)
    core.set_on_wrong_argument(messages.at_call)
    session.on_clear(core.clear_all)
    session.on_init(_choose_interpreter)
    session.on_clear(lambda: core.set_interpreter(None))
    session.get_runtime().count_compiled = lambda: sum(len(k.materialized_kernels) for k in members(_kernels))
    _choose_interpreter()  # qd.init may have been called before this module was imported


_install()


class _Decorator(types.ModuleType):
    """`import quadrants.kernel` binds this module to `qd.kernel`, so it decorates as the function of that name does."""

    __call__ = staticmethod(kernel)


sys.modules[__name__].__class__ = _Decorator
__signature__ = inspect.signature(kernel)
