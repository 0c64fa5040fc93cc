"""The whole pipeline: from a kernel and the arguments of one call to a plan the launch core can run."""

from __future__ import annotations

import gc
import sys
import time
from contextlib import AbstractContextManager, contextmanager, nullcontext

from quadrants import _logging, profiler, session
from quadrants._ext import core
from quadrants.backends import registry
from quadrants.calls import messages as call_messages
from quadrants.calls.kind import Call
from quadrants.dumps import Observer
from quadrants.emit import dialects
from quadrants.errors import QuadrantsCompilationError
from quadrants.toolchain import build, messages, progress
from quadrants.toolchain.errors import CompileError

OPTIONS = (
    "default_fp", "default_ip", "debug", "check_out_of_bound", "fast_math", "opt_level", "make_cpu_multithreading_loop",
    "default_gpu_block_dim", "kernel_profiler", "raise_on_templated_floats", "print_ir", "print_preprocessed_ir",
    "print_kernel_llvm_ir", "print_kernel_llvm_ir_optimized", "debug_dump_path", "ad_stack_experimental_enabled",
    "ad_stack_size", "ad_stack_sparse_threshold_bytes",
)  # fmt: skip
WATCHED = ("validate", "observe")  # modes in which the text depends on what the derivative reads


def compile_kernel(kernel, args: tuple):
    """The plan of one specialisation; raises what the user did wrong, with file and line."""
    runtime = session.require_runtime()
    with runtime.compilation_lock, deep_recursion(), _with_constants(kernel, args) as args:
        started = time.perf_counter()
        runtime.materialize()
        backend = registry.current()
        options = compile_options(runtime, kernel.mode)
        check_arguments(kernel, args, options)
        if runtime.side.print_non_pure and not kernel.is_pure and not kernel.materialized_kernels:
            print(f"[NOT_PURE] Debug information: not pure: {kernel.fn.__name__}")
        observer = Observer(kernel.fn.__name__, options)
        keeps = kernel.is_pure and not observer.shows and kernel.mode not in WATCHED
        lookup = look_up(kernel, args, options, backend) if keeps else None
        plan = lookup.load() if lookup is not None else None
        kernel.launch_observations.compiled(loaded=plan is not None)
        if plan is None:
            with progress.translating(kernel.fn.__name__):
                plan = translate(kernel, args, options, backend, observer, lookup)
        kernel.materialized_kernels[len(kernel.materialized_kernels)] = plan
        runtime.prog.compile_seconds += time.perf_counter() - started
        return plan


def _with_constants(kernel, args: tuple) -> AbstractContextManager[tuple]:
    """A kernel and its derivatives have the same constants, whichever of them is compiled first."""
    if len(kernel.versions()) == 1:
        return nullcontext(args)
    from quadrants.runtime.arguments import as_compiled

    return as_compiled(kernel, args)


def check_arguments(kernel, args: tuple, options: dict, packs: bool = True) -> None:
    """What is wrong with arguments is told before anything is traced. packs: what packs them says the rest."""
    call = Call(kernel.fn, kernel.mode, bool(options["raise_on_templated_floats"]))
    try:
        call_messages.check_receiver(kernel.fn, kernel.parameters, args)
        for (name, kind), x in zip(kernel.kinds, args):
            kind.check(call, name, x)
            if not packs:
                kind.check_number(name, x)
    except Exception as error:
        call_messages.at_call(error, kernel.label)
        raise


@contextmanager
def deep_recursion():
    """Room for the recursive walks over long expressions: a few frames for each level of nesting."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 8000))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@contextmanager
def collector_at_rest():
    """What a translation makes stays in use until its end: the garbage collector would go through it, and through all
    that the process has, in vain."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def translate(kernel, args: tuple, options: dict, backend, observer: Observer, lookup):
    """The plan by way of the kernel's source; `lookup`, if any, keeps it for later processes."""
    from quadrants.emit.recipe import recipe_of
    from quadrants.emit.render import render
    from quadrants.frontend.record import Record

    record = Record() if lookup is not None else None
    with collector_at_rest():
        traced = trace(kernel, args, options, observer, backend.dialect, record)
        session.require_runtime().materialize()
        progress.tick()
        with profiler.scope("emit"):
            rendered = render(traced.module, backend.dialect, options, kernel.template_path)
        observer.source(rendered.text, backend.dialect.name, traced.module, kernel.mode)
        progress.tick()
        recipe = recipe_of(traced, rendered)
    compiled = build.statistics.compiled
    try:
        plan = backend.build(kernel, args, recipe, rendered.text, options)
    except CompileError as error:
        raise _not_compiled(error, kernel, recipe, rendered.text, options) from None
    kernel.fe_ll_cache_observations.cache_hit = build.statistics.compiled == compiled
    if lookup is not None:
        lookup.keep(record, recipe, backend.artifact(recipe, rendered.text, options))
    return plan


def _not_compiled(error: CompileError, kernel, recipe, text: str, options: dict) -> CompileError:
    """The error of a compiler with what it was to compile; also a warning, in case the error is caught.

    It has all that the error says, for a report about this package; not where the text is the user's own.
    """
    from quadrants.emit.environment import search_path

    code = kernel.fn.__code__
    where = f"{code.co_filename}:{code.co_firstlineno}"
    folders = search_path(kernel.template_path, options.get("template_path") or ())
    told = messages.of_kernel(error, where, options["arch"], recipe.tasks, text, folders)
    short = f"The compiler refused the source of kernel '{error.kernel}' ({where}), which templates of yours wrote."
    _logging.warn(short if folders else str(told))
    return told


def look_up(kernel, args: tuple, options: dict, backend):
    """What the disk knows of a fastcache kernel, or None."""
    if not session.require_runtime().side.src_ll_cache or not backend.cache.usable:
        return None
    from quadrants.fastcache import store

    return store.look_up(kernel, args, options, backend)


def trace(kernel, args: tuple, options: dict, observer: Observer, dialect, record=None):
    """Frontend and passes; what they are made of is imported when a kernel needs it, which one of fastcache may
    never.
    """
    from quadrants.frontend.trace import trace_kernel
    from quadrants.ir import rename
    from quadrants.passes import pipeline

    if kernel.mode in WATCHED:
        options = {**options, "needed": _needed(kernel, args, options)}
    with core.Tracing(), profiler.scope("trace"):
        declared = kernel._primal
        traced = trace_kernel(
            kernel.fn, kernel.kinds, args, options, fastcache=kernel.is_pure, graph=declared.graph,
            checkpoints=declared.checkpoints, record=record,
        )  # fmt: skip
    observer.ir("trace", traced.module)
    progress.tick()
    if kernel.mode:
        from quadrants.ad.differentiate import differentiate

        with profiler.scope("differentiate"):
            differentiate(traced.module, kernel.mode, options)
        observer.ir("differentiate", traced.module)
    with profiler.scope("passes"):
        pipeline.run(traced.module, dialect.abilities, observer.ir, written=not kernel.mode)
        if dialect.spelling.takes_names:
            rename.avoid(traced.module, dialect.spelling.takes)
    return traced


def _needed(kernel, args: tuple, options: dict):
    """Which arrays the derivative in reverse mode reads. None where there is no derivative: that is said when it is
    asked for.
    """
    from quadrants.ad.differentiate import differentiate
    from quadrants.ad.needed import Needed
    from quadrants.frontend.trace import trace_kernel

    options = {**options, "ad_mode": "reverse"}
    try:
        with core.Tracing():
            traced = trace_kernel(
                kernel.fn, kernel.kinds, args, options, fastcache=kernel.is_pure, graph=kernel._primal.graph,
                checkpoints=kernel._primal.checkpoints,
            )  # fmt: skip
            return Needed(differentiate(traced.module, "reverse", options))
    except (RuntimeError, QuadrantsCompilationError):
        return Needed()


def source_of(kernel, args: tuple, arch=None) -> str:
    """The rendered text for a dialect; needs `qd.init` for default types, but no device where an arch is named."""
    from quadrants.emit.render import render

    runtime = session.require_runtime()
    with runtime.compilation_lock, _with_constants(kernel, args) as args:
        runtime.materialize()
        options = compile_options(runtime, kernel.mode)
        name = registry.dialect_name(arch)
        options["arch"] = registry.arch_of(name) or options["arch"]
        dialect = dialects.get(name)
        if arch is None:
            dialect = registry.current().dialect  # as it serves the device
        check_arguments(kernel, args, options, packs=False)
        traced = trace(kernel, args, options, Observer(kernel.fn.__name__, options), dialect)
        return render(traced.module, dialect, options, kernel.template_path).text


def compile_options(runtime, mode: str = "") -> dict:
    """Options of this runtime that the frontend, the passes and codegen read; `mode` is that of a derivative."""
    cfg = runtime.cfg
    options = {name: getattr(cfg, name) for name in OPTIONS}
    side = runtime.side
    for name in ("short_circuit_operators", "unrolling_limit", "print_full_traceback", "template_path"):
        options[name] = getattr(side, name, None) if hasattr(side, name) else getattr(cfg, name, None)
    options["ad_mode"] = mode
    if mode and options["opt_level"] == 0:
        _logging.warn("opt_level=0 is raised to 1 for derivative kernels")
        options["opt_level"] = 1
    options["arch"] = runtime.arch.name
    options["threads"] = 1 if not cfg.make_cpu_multithreading_loop else max(1, cfg.cpu_max_num_threads)
    return options
