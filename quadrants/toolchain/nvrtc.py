"""CUDA C++ text to a cubin or PTX, through NVRTC. Needs no GPU and no driver; the library is loaded on first use."""

from __future__ import annotations

import ctypes
import glob
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence

from quadrants import _logging
from quadrants.toolchain import drivers, locate
from quadrants.toolchain.errors import CompileError, CompilerNotFound, ToolchainError

# Those before know neither --minimal nor, some of them, the additions of two floats at once.
_OLDEST = (12, 4)
_EITHER = "`pip install nvidia-cuda-nvrtc` (drivers before 580: `pip install nvidia-cuda-nvrtc-cu12`)"
# Characters of a text whose functions NVRTC optimises in several threads: kernels of many tasks take half of the time,
# a small one a millisecond more. Four threads, as several units of a text may be compiled at once.
_LONG, _SPLIT = 32_768, "--split-compile=4"
_lock = threading.Lock()
_library: _Library | None = None
_identity: str | None = None
_preparation: threading.Thread | None = None


def _after_fork() -> None:
    """A lock that another thread held at the fork would stay held for ever in the child."""
    global _lock, _preparation
    _lock, _preparation = threading.Lock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class _Library:
    def __init__(self, path: str):
        self.path = path
        self.api = ctypes.CDLL(path)
        self.api.nvrtcGetErrorString.restype = ctypes.c_char_p
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.check(self.api.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "nvrtcVersion")
        self.version = (major.value, minor.value)
        if self.version < _OLDEST:
            raise ToolchainError(f"NVRTC {major.value}.{minor.value} is older than {_OLDEST[0]}.{_OLDEST[1]}")

    def check(self, status: int, what: str) -> None:
        if status != 0:
            reason = self.api.nvrtcGetErrorString(status).decode(errors="replace")
            raise ToolchainError(f"NVRTC ({self.path}): {what} failed: {reason}")


def find() -> tuple[str, tuple[int, int]]:
    """Path and version of the NVRTC in use. Raises CompilerNotFound naming what to install."""
    library = _load()
    return library.path, library.version


def identity() -> str:
    """Text for cache keys: changes with the library. Raises as `find`."""
    global _identity
    if _identity is None:
        _identity = locate.identity("nvrtc", _candidates(), find)
    return _identity


def flags(options: Mapping[str, object]) -> tuple[str, ...]:
    """NVRTC's options for kernels with these options: `fast_math` (approximate division and square root, fused
    multiply-add; NaN and infinity are honoured either way).

    Small numbers of f32 are flushed to zero, as the CPU's threads do.
    """
    # Without --minimal NVRTC declares textures, device-side launches and more in front of every text: a third of the
    # time of a small kernel. --Ofast-compile saves less, and then loads wait for one another: a kernel that reads 16
    # arrays takes 9 us instead of 3.
    chosen: tuple[str, ...] = ("--minimal", "--ftz=true")
    if options.get("opt_level") == 0:
        chosen += ("--ptxas-options=-O0",)
    if options["fast_math"]:
        return (*chosen, "--prec-div=false", "--prec-sqrt=false", "--fmad=true")
    return (*chosen, "--prec-div=true", "--prec-sqrt=true", "--fmad=false")


def prepare() -> None:
    """Load NVRTC, and what it loads at its first compile, in a thread; for when a compile is sure to come.

    Raises nothing: that compile tells what is wrong.
    """
    global _preparation
    with _lock:
        if _library is not None or _preparation is not None:
            return
        # Not a daemon: the library must not be unloaded under a running compile.
        _preparation = threading.Thread(target=_compile_nothing, name="quadrants-nvrtc")
        _preparation.start()


def _compile_nothing() -> None:
    try:
        # A cubin, so that the assembler starts too.
        compile('extern "C" __global__ void nothing() {}', "nothing", options=("--minimal",))
    except ToolchainError as error:
        _logging.debug(f"NVRTC is not prepared: {error}")


def supported_archs() -> list[int]:
    """The SM numbers that this NVRTC can compile for, such as 90. Raises as `find`."""
    library = _load()
    count = ctypes.c_int()
    library.check(library.api.nvrtcGetNumSupportedArchs(ctypes.byref(count)), "nvrtcGetNumSupportedArchs")
    archs = (ctypes.c_int * count.value)()
    library.check(library.api.nvrtcGetSupportedArchs(archs), "nvrtcGetSupportedArchs")
    return list(archs)


def compile(source: str, name: str, arch: str = "sm_90", options: Sequence[str] = ()) -> bytes:
    """Compile CUDA C++ text: a cubin for arch "sm_90", PTX text for "compute_90". `name` is the kernel's, for messages.

    Raises CompilerNotFound; CompileError with NVRTC's log; ValueError for an `arch` of another form.
    """
    match = re.fullmatch(r"(sm|compute)_(\d+[af]?)", arch)
    if match is None:
        raise ValueError(f"arch should look like 'sm_90' or 'compute_90', not {arch!r}")
    library = _load()
    api = library.api
    program = ctypes.c_void_p()
    # The file name appears in NVRTC's messages; #line markers in the text lead on to the user's file.
    library.check(
        api.nvrtcCreateProgram(ctypes.byref(program), source.encode(), f"{name}.cu".encode(), 0, None, None),
        "nvrtcCreateProgram",
    )
    try:
        given = [f"--gpu-architecture={arch}", *options]
        if len(source) > _LONG:
            given.append(_SPLIT)
        arguments = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
        status = api.nvrtcCompileProgram(program, len(given), arguments)
        if status != 0:
            raise _failure(library, program, status, source, name, arch)
        what = "CUBIN" if match[1] == "sm" else "PTX"
        return _text(library, program, what)
    finally:
        api.nvrtcDestroyProgram(ctypes.byref(program))


def _text(library: _Library, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    library.check(getattr(library.api, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), f"nvrtcGet{what}Size")
    buffer = ctypes.create_string_buffer(size.value)
    library.check(getattr(library.api, f"nvrtcGet{what}")(program, buffer), f"nvrtcGet{what}")
    return buffer.raw


def _failure(
    library: _Library, program: ctypes.c_void_p, status: int, source: str, name: str, arch: str
) -> CompileError:
    from quadrants.toolchain.messages import quoted

    reason = library.api.nvrtcGetErrorString(status).decode(errors="replace")
    log = _text(library, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
    lines = source.count("\n") + 1
    return CompileError(
        f"NVRTC failed ({reason}) on kernel '{name}' (dialect cuda, {arch}, {lines} lines, {len(source)} characters of "
        f"generated source).\n{quoted(log, 'NVRTC')}",
        kernel=name,
        dialect="cuda",
        log=log,
    )


def _load() -> _Library:
    global _library
    with _lock:
        if _library is None:
            troubles = []
            for path in _candidates():
                try:
                    _library = _Library(path)
                    break
                except (OSError, AttributeError, ToolchainError) as error:
                    troubles.append(f"{path}: {error}")
            else:
                tried = "".join("\n  " + line for line in troubles)
                wheel = drivers.nvrtc_wheel()
                advice = f"`pip install {wheel}`" if wheel else _EITHER
                raise CompilerNotFound(
                    f"NVRTC, the CUDA compiler, was not found in version 12.4 or newer. Install it with {advice}, or "
                    "set CUDA_HOME to a CUDA toolkit." + tried,
                    f"NVRTC: {advice}",
                )
        return _library


def _candidates() -> Iterator[str]:
    """Libraries to try: wheels first, as they match the other CUDA wheels, then the toolkit, then the loader's path."""
    if sys.platform == "win32":
        patterns, folders = ["nvrtc64_*.dll"], ["bin", "bin/x86_64"]
    else:
        patterns, folders = ["libnvrtc.so.*", "libnvrtc.so"], ["lib64", "lib", "targets/*-linux/lib"]
    wheels = (os.path.join(glob.escape(entry), "nvidia", "*", sub) for entry in sys.path for sub in ("lib", "bin"))
    homes = [os.environ.get(variable) for variable in ("CUDA_HOME", "CUDA_PATH")]
    toolkits = [glob.escape(home) for home in homes if home] + ["/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda"]
    places = [*wheels, *(os.path.join(toolkit, folder) for toolkit in toolkits for folder in folders)]
    yield from locate.newest_first(places, patterns, ("builtins", ".alt"))
    if sys.platform != "win32":
        yield from ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so")
