"""The life of a runtime: init, materialise, sync, reset, exit.

Other layers are told, never imported: they register callbacks here (`on_init`, `on_materialize`, `on_sync`, `on_clear`,
`on_reset`, `on_exit`). There is one runtime per process; `generation()` tells its incarnations apart.
"""

from __future__ import annotations

import atexit
import copy
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from quadrants import _logging, crash, launched, startup
from quadrants import arch as _arch
from quadrants.config import CompileConfig, SideOptions
from quadrants.errors import QuadrantsRuntimeError
from quadrants.program import Program, dropping_failures
from quadrants.startup import check_require_version, print_header

__all__ = [
    "PyQuadrants",
    "cache_key",
    "check_require_version",
    "current_cfg",
    "dump_compile_config",
    "generation",
    "get_runtime",
    "init",
    "is_extension_enabled",
    "is_python_backend",
    "on_clear",
    "on_exit",
    "on_init",
    "on_materialize",
    "on_reset",
    "on_sync",
    "print_header",
    "require_runtime",
    "reset",
    "sync",
]

_NO_RUNTIME = "Maybe you forgot to call `qd.init()` first?"
# Decided when the package is imported, as programs that replace the stream do so before.
_PYTHON_STDOUT = startup.prints_go_through_python()
_hooks: dict[str, list] = {name: [] for name in ("init", "materialize", "sync", "clear", "reset", "exit")}


def on_init(callback: Callable[[CompileConfig], Any]) -> Callable:
    """Call `callback(cfg)` when a runtime starts, in order of registration. Works as a decorator, as do the others."""
    _hooks["init"].append(callback)
    return callback


def on_materialize(callback: Callable[[], Any]) -> Callable:
    """Call `callback()` to allocate what is pending: before compiles, host access, DLPack export and sync."""
    _hooks["materialize"].append(callback)
    return callback


def on_sync(callback: Callable[[], Any]) -> Callable:
    """Call `callback()` to wait for the device and raise its pending failures."""
    _hooks["sync"].append(callback)
    return callback


def on_clear(callback: Callable[[], Any]) -> Callable:
    """Call `callback()` when the runtime dies: forget plans, kill data. The last one registered is called first."""
    _hooks["clear"].append(callback)
    return callback


def on_reset(callback: Callable[[], Any]) -> None:
    """Call `callback()` after each reset, when no runtime exists any more. Meant for programs."""
    _hooks["reset"].append(callback)


def on_exit(callback: Callable[[], Any]) -> Callable:
    """Call `callback()` once when the process ends, after a last `clear`: join threads, close files."""
    _hooks["exit"].append(callback)
    return callback


class PyQuadrants:
    """The runtime as Python sees it. `materialize` and `clear` may be replaced on the class, and are looked up there.

    options, side: the options in force (defaults while there is no runtime). arch: the chosen Arch, None without a
    runtime. ndarrays: the living ones. compilation_lock: held while a kernel is compiled or data is allocated.
    count_compiled: set by the kernel layer. Options outside `qd.cfg` read as attributes too (`unrolling_limit`, ...).
    """

    def __init__(self) -> None:
        self.options = CompileConfig()
        self.side = SideOptions()
        self.arch: _arch.Arch | None = None
        self.ndarrays: weakref.WeakSet = weakref.WeakSet()
        self.compilation_lock = threading.RLock()
        self.count_compiled: Callable[[], int] = lambda: 0
        self.missing: set[_arch.Extension] = set()  # what the device has not, though its arch has
        self._prog: Program | None = None
        self._materializing = False

    @property
    def prog(self) -> Program:
        """Counters and synchronisation. QuadrantsRuntimeError without a runtime and on the python arch."""
        if self._prog is None:
            raise QuadrantsRuntimeError(f"There is no runtime. {_NO_RUNTIME}")
        return self._prog

    @property
    def cfg(self) -> CompileConfig | None:
        """The options in force; None before init and after reset."""
        return self.options if self._prog is not None or self.arch is _arch.python else None

    @property
    def default_fp(self):
        return self.options.default_fp

    @property
    def default_ip(self):
        return self.options.default_ip

    @property
    def default_up(self):
        return self.options.default_up

    def __getattr__(self, name: str) -> Any:
        side = self.__dict__.get("side")
        if side is not None and name in side.__dict__:
            return side.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def materialize(self) -> None:
        """Allocate everything pending. Re-entrant: a callback that launches a kernel comes back here."""
        with self.compilation_lock:
            if self._materializing:
                return
            self._materializing = True
            try:
                for callback in _hooks["materialize"]:
                    callback()
            finally:
                self._materializing = False

    def clear(self) -> None:
        """Kill everything that belongs to this runtime. Every callback runs, even when one before it failed."""
        failures = []
        for callback in reversed(_hooks["clear"]):
            try:
                callback()
            except Exception as error:  # raised below: the other layers must let go of the dead runtime first
                failures.append(error)
        self.ndarrays.clear()
        if failures:
            raise failures[0]

    def sync(self) -> None:
        """Materialise, then wait."""
        self.materialize()
        self.prog.synchronize()

    def get_num_compiled_functions(self) -> int:
        """Kernel specialisations compiled since init."""
        return self.count_compiled()


_runtime = PyQuadrants()
_generation = 0
_ever_started = False


def get_runtime() -> PyQuadrants:
    """The one PyQuadrants object; it exists also before init."""
    return _runtime


def cfg_in_force() -> CompileConfig:
    """The configuration of the runtime; for what runs only where there is one."""
    cfg = _runtime.cfg
    assert cfg is not None
    return cfg


def current_cfg() -> CompileConfig | None:
    """What `qd.cfg` shows: the live configuration or None."""
    return _runtime.cfg


def generation() -> int:
    """Number of the incarnation: grows with every init and reset. Data of another number is dead."""
    return _generation


def require_runtime() -> PyQuadrants:
    """The runtime, or QuadrantsRuntimeError when nothing was initialised."""
    if _runtime.arch is None:
        raise QuadrantsRuntimeError(f"There is no runtime. {_NO_RUNTIME}")
    return _runtime


def is_python_backend() -> bool:
    """Whether kernels run as plain Python."""
    return _runtime.arch is _arch.python


def cache_key() -> tuple:
    """Hashable: everything in the options that can change the code of a kernel."""
    return _runtime.options.cache_key() + _runtime.side.cache_key()


def sync() -> None:
    """Wait for the default stream, materialise pending fields, raise pending failures. No-op on the python arch.

    Launches with `qd_stream=s` are waited for by `s.synchronize()`.

        step()
        qd.sync()  # until the device is done
    """
    if is_python_backend():
        return
    if _runtime._prog is None:
        raise QuadrantsRuntimeError(_NO_RUNTIME if _ever_started else f"Please call init() first. {_NO_RUNTIME}")
    _runtime.sync()


def reset() -> None:
    """End the runtime: wait for running work, free all data and kernels, restore default options. Always legal.

    qd.reset()
    """
    global _generation
    with _runtime.compilation_lock:
        _generation += 1
        try:
            if _runtime._prog is not None:
                _runtime._prog.drain()
            _runtime.clear()
        finally:
            _runtime._prog = None
            _runtime.arch = None
            _runtime.missing = set()
            _runtime.options = CompileConfig()
            _runtime.side = SideOptions()
    for hook in list(_hooks["reset"]):
        hook()


def dump_compile_config() -> None:
    """Print every option as name=value, sorted by name. QuadrantsRuntimeError without a runtime.

    qd.dump_compile_config()
    """
    for name, value in _runtime.prog.config().items():
        print(f"{name}={value}")


def is_extension_enabled(ext: _arch.Extension) -> bool:
    """Whether the current arch and its device offer `ext`, and the options allow it. QuadrantsRuntimeError without a
    runtime.

    if qd.is_extension_enabled(qd.extension.adstack): ...
    """
    runtime = require_runtime()
    if ext is _arch.Extension.adstack and not runtime.options.ad_stack_experimental_enabled:
        return False
    return ext not in runtime.missing and _arch.is_extension_supported(runtime.arch, ext)


def init(
    arch: Any = None,
    default_fp: Any = None,
    default_ip: Any = None,
    _test_mode: bool = False,
    enable_fallback: bool = True,
    require_version: str | None = None,
    print_non_pure: bool = False,
    src_ll_cache: bool = True,
    **kwargs: Any,
) -> Any:
    """End the old runtime, if any, and start a new one.

    arch: an Arch, or a list of them of which the first supported one is taken; None is the CPU (or QD_ARCH).
    default_fp, default_ip: what `float` and `int` mean in kernels. enable_fallback: take the CPU, with a warning, when
    no arch is supported; else RuntimeError. require_version: lowest acceptable version, as "1.3.0".
    kwargs: the options of `quadrants.config.OPTIONS`. A failure leaves no runtime behind.
    Raises KeyError for unknown options, TypeError and ValueError for bad values, AssertionError for bad default types.

        qd.init(arch=qd.cpu, default_fp=qd.f64, debug=True)
    """
    if require_version is not None:
        check_require_version(require_version)
    if "default_up" in kwargs:
        raise KeyError("'default_up' is always the unsigned type of 'default_ip'. Please set 'default_ip' instead.")
    # Copied before the reset: the values may be read off the configuration that is about to die.
    given = {name: list(value) if isinstance(value, list) else value for name, value in kwargs.items()}
    given.update(print_non_pure=print_non_pure, src_ll_cache=src_ll_cache)
    given.update((k, v) for k, v in (("default_fp", default_fp), ("default_ip", default_ip)) if v is not None)
    arch = copy.copy(arch)
    reset()
    folder = _current_folder()
    try:
        cfg, side = startup.read_options(given)
        startup.warn_dump_and_cache(cfg)
        startup.warn_level(cfg)
        startup.warn_of_early(cfg)
        _logging.set_logging_level(side.log_level.lower())
        chosen = startup.choose_arch(arch, enable_fallback, cfg.emulate)
        if launched.is_first():
            _logging.announce(f"[Quadrants] Starting on arch={chosen.name}")
        startup.refuse_load_with_cache(cfg, side)
        startup.warn_without_effect(cfg, given, chosen)
        if _test_mode:
            return side
        startup.settle(cfg, chosen)
        _start(cfg, side)
    except Exception as error:
        if given.get("print_full_traceback") or not _is_users(error):
            raise
        raise error.with_traceback(None) from error.__cause__  # how the runtime is made says nothing to a user
    finally:
        if folder is not None and _current_folder() != folder:
            os.chdir(folder)


def _is_users(error: Exception) -> bool:
    from quadrants import tracebacks  # a program without errors does without

    return tracebacks.end_at_the_call(error)


def _start(cfg: CompileConfig, side: SideOptions) -> None:
    global _generation, _ever_started
    with _runtime.compilation_lock:
        _generation += 1
        _ever_started = True
        _runtime.options, _runtime.side, _runtime.arch = cfg, side, cfg.arch
        if cfg.arch is not _arch.python:
            _runtime._prog = Program(cfg, _hooks["sync"], _runtime.ndarrays)
        try:
            for callback in _hooks["init"]:
                callback(cfg)
        except BaseException:
            reset()
            raise


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # deleted while the process stands in it: nothing to come back to
        return None


@atexit.register
def _finish() -> None:
    """Process exit: no output and no exception, whatever state the runtime is in."""
    if _runtime._prog is not None:
        _runtime._prog.drain()
    for step in (_runtime.clear, *reversed(_hooks["exit"])):
        dropping_failures(step)


def _after_fork_in_child() -> None:
    """The thread that held the lock at the fork does not exist here, so it will never let go of it."""
    _runtime.compilation_lock = threading.RLock()
    _runtime._materializing = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


@on_init
def _watch_for_crashes(cfg: CompileConfig) -> None:
    if cfg.debug:
        crash.watch()
    else:
        crash.unwatch()


@on_init
def _configure_core(cfg: CompileConfig) -> None:
    """Hand thread count and seed to the launch core."""
    if cfg.arch is _arch.python:
        return
    try:
        from quadrants._ext import core
    except ImportError as error:
        raise QuadrantsRuntimeError(
            f"The compiled part of the package cannot be loaded ({error}). Build it with `pip install -e .`"
        ) from error
    core.set_python_stdout(_PYTHON_STDOUT)
    core.set_threads(max(1, cfg.cpu_max_num_threads))
    core.set_seed(cfg.random_seed & 0xFFFFFFFFFFFFFFFF)
    _runtime.prog._reset_max_reducer_dispatch_count()
    _runtime.prog._count_graphs_from_here()
