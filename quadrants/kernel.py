"""@qd.kernel: the entry points that Python calls."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import warnings
import weakref

from quadrants import session, signature
from quadrants._ext.core import ANY, ARRAY, OPAQUE, SCALAR, TOKEN, Launcher
from quadrants.errors import (
    QuadrantsCompilationError,
    QuadrantsRuntimeError,
    QuadrantsRuntimeTypeError,
    QuadrantsSyntaxError,
)
from quadrants.lang import parameters as ann
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
    derivative: "reverse", "forward", "validate", "observe"), `by_value` (which parameters are copied at a call).
    """

    def __init__(
        self, fn, *, fastcache: bool = False, graph: bool = False, checkpoints: bool = False, template=None,
        primal: Kernel | None = None, mode: str = "",
    ):  # fmt: skip
        self.fn = fn
        self.mode = mode
        self._primal_kernel = primal
        self.stream_refusal = _STREAM_REFUSAL if mode else _GRAPH_REFUSAL if graph else None
        self._derivatives: dict = {}
        self.is_pure = fastcache
        self.graph = graph
        self.checkpoints = checkpoints
        self.template_path = template
        self.parameters = collect_parameters(fn)
        self.materialized_kernels: dict = {}
        self.graph_do_while_levels: list = []
        _kernels.add(self)
        self._observe()
        functools.update_wrapper(self, fn)
        kinds = [kind_of_parameter(a) for _, a in self.parameters]
        self.by_value = [kind in (SCALAR, OPAQUE) for kind in kinds]
        super().__init__(kinds, self._compile, self._bind, self._token)

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

    def source(self, *args, arch=None) -> str:
        """The text that is compiled for these arguments, in the dialect of `arch`; needs no device.

        arch: `qd.cpu`, `qd.cuda`, or a dialect name such as "c"; None means the current arch.
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
            return self.member_token(x)
        name, annotation = self.parameters[index]
        if ann.is_view_annotation(annotation):
            from quadrants.frontend.views import not_a_view

            raise QuadrantsRuntimeTypeError(not_a_view(name, x))
        if self._is_array(annotation):
            return signature.array_token(x, annotation, name)
        if ann.is_dataclass(annotation):
            return signature.dataclass_token(x, annotation, name)
        return signature.template_argument_token(x, name)

    @staticmethod
    def member_token(x) -> int:
        """The token of an object that a launch reaches through attributes of an argument."""
        return signature.member_token(x)

    @staticmethod
    def _is_array(a) -> bool:
        return ann.is_array_annotation(ann.optional_base(a) or a)

    def _bind(self, args: tuple, kwargs: dict) -> tuple:
        kwargs = dict(kwargs)
        kwargs.pop("qd_stream", None)
        names = [name for name, _ in self.parameters]
        if len(args) > len(names):
            expected = ", ".join(f"{n} : {_describe(a)}" for n, a in self.parameters)
            given = ", ".join(str(a) for a in args)
            raise QuadrantsSyntaxError(f"Too many arguments. Expected ({expected}), got ({given}).")
        bound = dict(zip(names, args))
        for key, value in kwargs.items():
            if key not in names:
                raise QuadrantsSyntaxError(f"Unexpected argument '{key}'.")
            if key in bound:
                raise QuadrantsSyntaxError(f"Multiple values for argument '{key}'.")
            bound[key] = value
        for name in names:
            if name not in bound:
                raise QuadrantsSyntaxError(f"Missing argument '{name}'.")
        return tuple(bound[name] for name in names)

    def __reduce__(self):
        """Kernels are pickled by name, like functions; a derivative by that of its kernel."""
        return (Kernel._in_mode, (self._primal, self.mode)) if self.mode else self.fn.__qualname__

    def __repr__(self) -> str:
        named = ", ".join(f"{name}: {_describe(a)}" for name, a in self.parameters)
        return f"<qd.kernel {self.fn.__qualname__}{'.' + self.mode if self.mode else ''}({named})>"


def _one_at_a_time(kernel: Kernel, frame: types.FrameType | None) -> None:
    """`QuadrantsRuntimeError` for a kernel that a signal handler calls while this thread compiles another one: that one
    is half done, with locks of its own. Frames tell, as Ctrl-C would leave any other mark behind.
    """
    while frame is not None:
        if frame.f_code in (Kernel._compile.__code__, Kernel.source.__code__):
            raise QuadrantsRuntimeError(
                f"kernel {kernel.fn.__name__} was called while kernel {frame.f_locals['self'].fn.__name__} is "
                "compiled, by the same thread: a signal handler can only launch what is compiled already. Call it once "
                "before, or have the handler set a flag that the program looks at."
            )
        frame = frame.f_back


def _describe(a) -> str:
    return getattr(a, "__name__", None) or str(a)


def collect_parameters(fn) -> list:
    """(name, annotation) of every parameter; fails at decoration, naming the parameter."""
    if hasattr(fn, "__wrapped__"):
        raise QuadrantsSyntaxError(
            f"error code: KERNEL_ANNOTATION_ORDER. @qd.kernel must be the innermost decorator of {fn.__qualname__}."
        )
    resolved = resolve_annotations(fn)
    receiver = receiver_of(fn)
    fn.__annotations__ = resolved
    out = []
    for index, p in enumerate(inspect.signature(fn).parameters.values()):
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.KEYWORD_ONLY, p.POSITIONAL_ONLY):
            raise QuadrantsSyntaxError(
                f"Quadrants kernels do not support *args, **kwargs, keyword-only or positional-only parameters: {p}"
            )
        if p.default is not EMPTY:
            raise QuadrantsSyntaxError(f"Quadrants kernels do not support default values for arguments: {p}")
        annotation = resolved.get(p.name, EMPTY)
        if annotation is EMPTY:
            if p.name != receiver:
                raise QuadrantsSyntaxError(f"Quadrants kernels parameters must be type annotated: '{p.name}' is not.")
            annotation = ann.Template
        ann.check_annotation(annotation, index, p.name, "kernel")
        out.append((p.name, annotation))
    if "return" in resolved:
        _check_return(resolved["return"])
    return out


def _check_return(a) -> None:
    items = a if isinstance(a, tuple) else getattr(a, "__args__", ())
    if a is Ellipsis or Ellipsis in items:
        raise QuadrantsSyntaxError("`...` is not supported in the return annotation of a kernel.")


def kind_of_parameter(a) -> int:
    if ann.is_scalar(a):
        return SCALAR
    if ann.compound_kind(a):
        return OPAQUE
    base = ann.optional_base(a) or a
    if ann.is_tensor_annotation(base):
        return ANY
    # The trailing axes of a foreign array are its element: the core's token of such an array does not tell them.
    return ARRAY if ann.is_ndarray_annotation(base) and not ann.compound_kind(getattr(base, "dtype", None)) else TOKEN


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
    """
    if pure is not None:
        warnings.warn("pure=True is deprecated; write @qd.kernel(fastcache=True)", UserWarning, stacklevel=2)
        fastcache = fastcache or pure
    if checkpoints and not graph:
        raise QuadrantsSyntaxError("checkpoints=True needs graph=True")

    def decorate(fn):
        return Kernel(fn, fastcache=fastcache, graph=graph, checkpoints=checkpoints, template=template)

    return decorate if _fn is None else decorate(_fn)


def pure(fn):
    """Deprecated: `@qd.pure` above `@qd.kernel`; write `@qd.kernel(fastcache=True)`."""
    warnings.warn("@qd.pure is deprecated; write @qd.kernel(fastcache=True)", UserWarning, stacklevel=2)
    fn.is_pure = True
    return fn


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


def _install() -> None:
    from quadrants._ext import core

    core.set_on_traced_call(_nested_call)
    session.on_clear(core.clear_all)
    session.on_init(_choose_interpreter)
    session.on_clear(lambda: core.set_interpreter(None))
    session.get_runtime().count_compiled = lambda: sum(len(k.materialized_kernels) for k in list(_kernels))
    _choose_interpreter()  # qd.init may have been called before this module was imported


_install()


class _Decorator(types.ModuleType):
    """`import quadrants.kernel` binds this module to `qd.kernel`, so it decorates as the function of that name does."""

    def __call__(self, *args, **kwargs):
        return kernel(*args, **kwargs)


sys.modules[__name__].__class__ = _Decorator
