"""The life of a runtime: init, materialise, sync, reset, exit.

Other layers are told, never imported: they register callbacks here (`on_init`, `on_materialize`, `on_sync`, `on_clear`,
`on_reset`, `on_exit`). There is one runtime per process; `generation()` tells its incarnations apart.
"""

from __future__ import annotations

import atexit
import copy
import os
import sys
import threading
import weakref
from typing import Any, Callable, Optional

from quadrants import _logging, arch as _arch
from quadrants._version import __version__, __version_str__
from quadrants.config import OPTIONS, CompileConfig, SideOptions, environment, parse
from quadrants.errors import QuadrantsRuntimeError
from quadrants.program import Program

_NO_RUNTIME = "Maybe you forgot to call `qd.init()` first?"
_hooks: dict[str, list] = {name: [] for name in ("init", "materialize", "sync", "clear", "reset", "exit")}


def _register(event: str) -> Callable:
    def register(callback: Callable) -> Callable:
        _hooks[event].append(callback)
        return callback

    register.__name__ = f"on_{event}"
    return register


on_init = _register("init")
on_init.__doc__ = "Call `callback(cfg)` when a runtime starts, in order of registration. Usable as a decorator."
on_materialize = _register("materialize")
on_materialize.__doc__ = "Call `callback()` to allocate what is pending; before compiles, host access, DLPack and sync."
on_sync = _register("sync")
on_sync.__doc__ = "Call `callback()` to wait for the device and raise pending failures."
on_clear = _register("clear")
on_clear.__doc__ = "Call `callback()` when the runtime dies: forget plans, kill data. Last registered, first called."
on_reset = _register("reset")
on_reset.__doc__ = "Call `callback()` after each reset, when no runtime exists any more. Meant for users."
on_exit = _register("exit")
on_exit.__doc__ = "Call `callback()` once when the process ends, after a last `clear`: join threads, close files."


class PyQuadrants:
    """The runtime as Python sees it. `materialize` and `clear` may be replaced on the class, and are looked up there."""

    def __init__(self) -> None:
        self.options = CompileConfig()
        self.side = SideOptions()
        self.arch: Optional[_arch.Arch] = None
        self.ndarrays: weakref.WeakSet = weakref.WeakSet()
        self.compilation_lock = threading.RLock()
        self.count_compiled: Callable[[], int] = lambda: 0
        self._prog: Optional[Program] = None
        self._ever_started = False
        self._materializing = False

    @property
    def prog(self) -> Program:
        if self._prog is None:
            raise QuadrantsRuntimeError(f"There is no runtime. {_NO_RUNTIME}")
        return self._prog

    @property
    def cfg(self) -> Optional[CompileConfig]:
        """The options in force; None before init, after reset, and on the python arch."""
        return None if self._prog is None else self.options

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
            except Exception as error:  # raised below; the other layers must still let go of the dead runtime
                failures.append(error)
        self.ndarrays.clear()
        if failures:
            raise failures[0]

    def sync(self) -> None:
        self.materialize()
        self.prog.synchronize()

    def get_num_compiled_functions(self) -> int:
        """Kernel specialisations compiled since init."""
        return self.count_compiled()


_runtime = PyQuadrants()
_generation = 0


def get_runtime() -> PyQuadrants:
    """The one PyQuadrants object; exists also before init."""
    return _runtime


def current_cfg() -> Optional[CompileConfig]:
    """What `qd.cfg` shows: the live configuration or None."""
    return _runtime.cfg


def generation() -> int:
    """Number of the running incarnation: grows with every init and reset. Data of another number is dead."""
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
    """Wait for the device, materialise pending fields, raise pending failures. No-op on the python arch."""
    if is_python_backend():
        return
    if _runtime._prog is None:
        what = _NO_RUNTIME if _runtime._ever_started else f"Please call init() first. {_NO_RUNTIME}"
        raise QuadrantsRuntimeError(what)
    _runtime.sync()


def reset() -> None:
    """End the runtime: wait for running work, free all data and kernels, restore default options. Always legal."""
    global _generation
    runtime, program = _runtime, _runtime._prog
    _generation += 1
    try:
        try:
            if program is not None:
                program.drain()
        finally:
            runtime.clear()
    finally:
        runtime._prog = None
        runtime.arch = None
        runtime.options = CompileConfig()
        runtime.side = SideOptions()
    for hook in _hooks["reset"]:
        hook()


def dump_compile_config() -> None:
    """Print every option as name=value, sorted by name."""
    for name, value in _runtime.prog.config().items():
        print(f"{name}={value}")


def is_extension_enabled(ext: _arch.Extension) -> bool:
    """Whether the current arch offers `ext` and the options allow it."""
    runtime = require_runtime()
    if ext is _arch.Extension.adstack and not runtime.options.ad_stack_experimental_enabled:
        return False
    return _arch.is_extension_supported(runtime.arch, ext)


def check_require_version(required: str) -> None:
    """Raise Exception unless the installed version has the same major number and is not older than `required`."""
    if not isinstance(required, str):
        raise TypeError(f"require_version must be a string such as '1.3.0', not {type(required).__name__}")
    end = next((i for i, c in enumerate(required) if not (c.isdigit() or c == ".")), len(required))
    parts = [int(p) for p in required[:end].split(".") if p]
    if len(parts) < 2:
        raise Exception(f"require_version={required!r} must name major, minor and patch number, e.g. 1.3.0")
    if parts[0] != __version__[0] or tuple(parts[1:3]) > __version__[1 : len(parts[:3])]:
        raise Exception(
            f"Quadrants version mismatch. Required version >= {required}, installed version = {__version_str__}."
        )


def print_header() -> None:
    """The line that importing the package prints, unless ENABLE_QUADRANTS_HEADER_PRINT is 0, f or false."""
    if os.environ.get("ENABLE_QUADRANTS_HEADER_PRINT", "").lower() in ("0", "f", "false"):
        return
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"[Quadrants] version {__version_str__}, {_arch.cpu.name}, {sys.platform}, python {python}")


def _read_options(given: dict, default_types: dict) -> tuple:
    """Checked (CompileConfig, SideOptions, unknown names) of an init call."""
    cfg, side = CompileConfig(), SideOptions()

    def take(row) -> None:
        source = default_types if row.name in default_types else given
        target = cfg if row.on_cfg else side
        variable, text = environment(row)
        if source.get(row.name) is not None or (row.name in source and source is given):
            if text is not None and variable == row.variable:
                _logging.warn(
                    f'Environment variable {variable}={text} overridden by qd.init argument "{row.name}"'
                )
            setattr(target, row.name, source[row.name])
        elif text is not None:
            setattr(target, row.name, parse(row, text, variable))

    for row in OPTIONS.values():
        take(row)
    if os.environ.get("QD_DEFAULT_UP"):
        _logging.warn("QD_DEFAULT_UP is ignored: default_up follows default_ip. Set QD_DEFAULT_IP instead.")
    return cfg, side, [name for name in given if name not in OPTIONS]


def _choose_arch(wanted: Any, enable_fallback: bool) -> _arch.Arch:
    text = os.environ.get("QD_ARCH")
    if text and wanted is not None:
        _logging.warn(f'Environment variable QD_ARCH={text} overridden by qd.init argument "arch"')
    elif text:
        wanted = _arch.from_environment()
        _logging.info(f"Following QD_ARCH setting up for arch={text}")
    return _arch.select(wanted, enable_fallback)


_LOAD_VARIABLES = ("QD_LOAD_IR", "QUADRANTS_LOAD_PTX")


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")


def _warn_dump_and_cache(cfg: CompileConfig) -> None:
    if cfg.offline_cache and (cfg.print_ir or _is_on("QD_DUMP_IR")):
        _logging.warn(
            "[warning_code=DUMP_IR_CACHE_MISMATCH] kernels found in the disk cache are not compiled and so not "
            "dumped; use qd.init(offline_cache=False) to see all of them."
        )


def _refuse_load_with_cache(cfg: CompileConfig, side: SideOptions) -> None:
    for variable in _LOAD_VARIABLES:
        if _is_on(variable) and (cfg.offline_cache or side.src_ll_cache):
            raise ValueError(
                f"Caching must be disabled when using {variable}: pass offline_cache=False and src_ll_cache=False."
            )


def init(
    arch=None,
    default_fp=None,
    default_ip=None,
    _test_mode: bool = False,
    enable_fallback: bool = True,
    require_version: Optional[str] = None,
    print_non_pure: bool = False,
    src_ll_cache: bool = True,
    **kwargs: Any,
):
    """End the old runtime, if any, and start a new one.

    arch: an Arch, or a list of them of which the first supported one is taken; None is the CPU (or QD_ARCH).
    default_fp, default_ip: what `float` and `int` mean in kernels. enable_fallback: take the CPU, with a warning, when
    no arch is supported; else RuntimeError. require_version: lowest acceptable version, as "1.3.0".
    kwargs: the options of `quadrants.config.OPTIONS`. A failure leaves no runtime behind.
    Raises KeyError for unknown options, TypeError and ValueError for bad values, AssertionError for bad default types.
    """
    if require_version is not None:
        check_require_version(require_version)
    if "default_up" in kwargs:
        raise KeyError("'default_up' is always the unsigned type of 'default_ip'. Please set 'default_ip' instead.")
    # Copied before the reset: the values may be read off the configuration that is about to die.
    given = copy.deepcopy(kwargs)
    given.update(print_non_pure=print_non_pure, src_ll_cache=src_ll_cache)
    arch = copy.copy(arch)
    reset()
    cfg, side, unknown = _read_options(given, {"default_fp": default_fp, "default_ip": default_ip})
    if unknown:
        raise KeyError(f"Unrecognized keyword argument(s) for qd.init: {', '.join(unknown)}")
    _warn_dump_and_cache(cfg)
    _logging.set_logging_level(side.log_level.lower())
    chosen = _choose_arch(arch, enable_fallback)
    print(f"[Quadrants] Starting on arch={chosen.name}")
    _refuse_load_with_cache(cfg, side)
    if _test_mode:
        return side
    _start(chosen, cfg, side)
    return None


def _start(chosen: _arch.Arch, cfg: CompileConfig, side: SideOptions) -> None:
    global _generation
    cfg.arch = chosen
    cfg.check_out_of_bound = cfg.check_out_of_bound or cfg.debug
    if cfg.max_block_dim == 0 and chosen is _arch.cpu:
        cfg.max_block_dim = 1024
    folder = _current_folder()
    runtime = _runtime
    runtime.options, runtime.side, runtime.arch = cfg, side, chosen
    if chosen is not _arch.python:
        runtime._prog = Program(cfg, _hooks["sync"])
    runtime._ever_started = True
    _generation += 1
    try:
        for callback in _hooks["init"]:
            callback(cfg)
    except BaseException:
        reset()
        raise
    finally:
        if folder is not None and _current_folder() != folder:
            os.chdir(folder)


def _current_folder() -> Optional[str]:
    try:
        return os.getcwd()
    except OSError:  # deleted under our feet: nothing to come back to
        return None


def _finish() -> None:
    """Process exit: no output and no exception, whatever state the runtime is in."""
    steps = [_runtime._prog.drain] if _runtime._prog is not None else []
    steps += [_runtime.clear, *reversed(_hooks["exit"])]
    for step in steps:
        try:
            step()
        except Exception as error:  # a failure nobody waited for is dropped with the process
            if _logging.is_logging_effective(_logging.DEBUG):
                _logging.debug(f"At exit: {type(error).__name__}: {error}")


atexit.register(_finish)


@on_init
def _configure_core(cfg: CompileConfig) -> None:
    """Hand thread count and seed to the launch core, where it is built."""
    if cfg.arch is not _arch.cpu:
        return
    from quadrants._ext import core

    core.set_threads(max(1, cfg.cpu_max_num_threads))
    core.set_seed(cfg.random_seed & 0xFFFFFFFFFFFFFFFF)
