"""What `qd.init` works out before a runtime exists: versions, options, arch, and warnings about both."""

from __future__ import annotations

import os
import sys
from typing import Any

from quadrants import _logging, caller, launched, spelling
from quadrants import arch as _arch
from quadrants._version import __version__, __version_str__
from quadrants.config import OPTIONS, CompileConfig, SideOptions, environment, parse

# Of types that keep what `float` or `int` was before the first `qd.init`: file and line of the user, the option.
_early: list[tuple[str, int, str]] = []

# Of qd.init, beside the options.
_OTHER_ARGUMENTS = ("arch", "enable_fallback", "require_version")
MAX_OPT_LEVEL = 3
_LOAD_VARIABLES = ("QD_LOAD_IR", "QUADRANTS_LOAD_PTX")


def print_header() -> None:
    """A line on standard error at import, unless ENABLE_QUADRANTS_HEADER_PRINT is 0, f or false. Of several ranks the
    first one writes it.

    qd.print_header()
    """
    if os.environ.get("ENABLE_QUADRANTS_HEADER_PRINT", "").lower() in ("0", "f", "false"):
        return
    if not launched.is_first():
        return
    python = ".".join(map(str, sys.version_info[:3]))
    _logging.announce(f"[Quadrants] version {__version_str__}, {_arch.cpu.name}, {sys.platform}, python {python}")


def prints_go_through_python() -> bool:
    """Whether kernels print to `sys.stdout` instead of fd 1: a notebook or IDE replaced it, and QD_ENABLE_PYBUF is
    not 0.
    """
    return sys.stdout is not sys.__stdout__ and os.environ.get("QD_ENABLE_PYBUF", "1") != "0"


def check_require_version(required: str) -> None:
    """Raise Exception unless the installed version has the same major number and is not older than `required`."""
    if not isinstance(required, str):
        raise TypeError(f"require_version must be a string such as '1.3.0', not {type(required).__name__}")
    end = next((i for i, c in enumerate(required) if not (c.isdigit() or c == ".")), len(required))
    parts = tuple(int(p) for p in required[:end].split(".") if p)[:3]
    if len(parts) < 2:
        raise Exception(f"require_version={required!r} must be formatted as major.minor or major.minor.patch")
    if parts[0] != __version__[0] or parts > __version__[: len(parts)]:
        raise Exception(
            f"Quadrants version mismatch. Required version >= {required}, installed version = {__version_str__}."
        )


def read_options(given: dict) -> tuple:
    """Checked (CompileConfig, SideOptions) from the arguments of init and the environment.

    Raises KeyError naming every unknown option, after the known ones proved to be valid.
    """
    cfg, side = CompileConfig(), SideOptions()
    for row in OPTIONS.values():
        target = cfg if row.on_cfg else side
        variable, text = environment(row)
        if row.name in given:
            setattr(target, row.name, given[row.name])
            overrides = variable is not None and variable == row.variable
            if overrides and parse(row, text, variable) != getattr(target, row.name):
                warn_overridden(variable, text, row.name)
        elif variable is not None:
            setattr(target, row.name, parse(row, text, variable))
    if os.environ.get("QD_DEFAULT_UP"):
        _logging.warn("QD_DEFAULT_UP is ignored: default_up follows default_ip. Set QD_DEFAULT_IP instead.")
    unknown = [name for name in given if name not in OPTIONS]
    if unknown:
        named = ", ".join(name + spelling.hint(name, (*OPTIONS, *_OTHER_ARGUMENTS)) for name in unknown)
        raise KeyError(f"Unrecognized keyword argument(s) for qd.init: {named}")
    return cfg, side


def warn_overridden(variable: str, text: str, argument: str) -> None:
    _logging.warn(f'Environment variable {variable}={text} overridden by qd.init argument "{argument}"')


def choose_arch(wanted: Any, enable_fallback: bool, emulate: bool = False) -> _arch.Arch:
    """The arch to start on; QD_ARCH speaks only when `wanted` is None. RuntimeError if none is supported."""
    text = os.environ.get("QD_ARCH")
    if text and wanted is not None:
        if _arch.from_environment() != wanted:
            warn_overridden("QD_ARCH", text, "arch")
    elif text:
        wanted = _arch.from_environment()
        _logging.info(f"Following QD_ARCH setting up for arch={text}")
    return _arch.select(wanted, enable_fallback, emulate)


def settle(cfg: CompileConfig, chosen: _arch.Arch) -> None:
    """Fill in what follows from the arch and from other options."""
    cfg.arch = chosen
    cfg.check_out_of_bound = cfg.check_out_of_bound or cfg.debug
    if cfg.max_block_dim == 0 and chosen is _arch.cpu:
        cfg.max_block_dim = 1024


def warn_dump_and_cache(cfg: CompileConfig) -> None:
    """Who looks at dumps wonders what the compiler makes of them, so say when it may not run."""
    dumps = any(name.startswith("QD_DUMP_") and _is_on(name) for name in os.environ)
    if cfg.offline_cache and (cfg.print_ir or dumps):
        caller.warn(
            "[warning_code=DUMP_IR_CACHE_MISMATCH] kernels found in the disk cache are dumped but not compiled again; "
            "use qd.init(offline_cache=False) to compile all of them."
        )


def note_early(option: str) -> None:
    """A type that the user makes keeps what `float` or `int` is without `qd.init`, which is yet to come."""
    at = caller.frame()
    _early.append((at.f_code.co_filename, at.f_lineno, option))


def warn_of_early(cfg: CompileConfig) -> None:
    """Types that were made too early to follow an option are as they are, so say where they were made."""
    usual = CompileConfig()
    for file, line, option in _early:
        now, kept = getattr(cfg, option), getattr(usual, option)
        if now is not kept:
            python = "float" if option == "default_fp" else "int"
            text = f"`{python}` is {kept} in this type, as it was made before qd.init({option}=qd.{now}). "
            caller.warn_at(file, line, f"{text}Write qd.{now}, or make the type after qd.init.")
    _early.clear()


def warn_level(cfg: CompileConfig) -> None:
    """Levels above the last one are taken for it."""
    if cfg.opt_level > MAX_OPT_LEVEL:
        caller.warn(f"opt_level={cfg.opt_level} is taken for {MAX_OPT_LEVEL}, which is the highest level")


def warn_without_effect(cfg: CompileConfig, given: dict, chosen: _arch.Arch) -> None:
    """Options that the arch knows nothing of."""
    for row in OPTIONS.values():
        if row.archs and chosen.name not in row.archs and getattr(cfg, row.name) != row.initial():
            archs = " or ".join(f"qd.{name}" for name in row.archs)
            caller.warn(f"{row.name} has no effect on arch {chosen.name}; it is for {archs}")
    if given.get("emulate") and not _arch.has_emulator(chosen):
        caller.warn(f"emulate=True has no effect on arch {chosen.name}, which has no emulator")


def refuse_load_with_cache(cfg: CompileConfig, side: SideOptions) -> None:
    """ValueError when edited sources are to be loaded while a cache could shadow them."""
    for variable in _LOAD_VARIABLES:
        if _is_on(variable) and (cfg.offline_cache or side.src_ll_cache):
            raise ValueError(
                f"Caching must be disabled when using {variable}: pass offline_cache=False and src_ll_cache=False."
            )


def _is_on(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")
