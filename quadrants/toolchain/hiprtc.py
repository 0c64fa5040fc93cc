"""HIP text to a code object, through HIPRTC. Needs no GPU and no driver.

The compiler runs in a child process. It ends the process it is in (an internal error, an arch it does not know, no
memory left) where other compilers report a failure, and nothing else stops it when it takes too long.
"""

from __future__ import annotations

import glob
import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from quadrants.toolchain import hiprtc_child, locate, scratch
from quadrants.toolchain.errors import CompileError, CompilerNotFound, CompileTimeout, ToolchainError
from quadrants.toolchain.names import file_stem

# The subgroup of this dialect: every chip that can run it has it, and those from gfx10 on are told to.
WAVEFRONT = 64

# How messages name the text: a file that is gone when they are read.
_TEMPORARY = re.compile(r"\S*/comgr-\w+/input/(CompileSource|[\w.]+)")

_lock = threading.Lock()
_found: _About | None = None
_identity: str | None = None


class _About(NamedTuple):
    path: str
    version: tuple[int, int]
    archs: tuple[str, ...]


def find() -> tuple[str, tuple[int, int]]:
    """Path and version of the HIPRTC in use. Raises CompilerNotFound naming what to install."""
    about = _about()
    return about.path, about.version


def identity() -> str:
    """Text for cache keys: changes with the library and with the compiler behind it. Raises as `find`."""
    global _identity
    if _identity is None:
        _identity = locate.identity("hiprtc", _candidates(), find, _siblings)
    return _identity


def supported_archs() -> list[str]:
    """The chips that this HIPRTC can compile for, such as "gfx90a". Raises as `find`.

    Empty where the compiler does not tell; then any may be tried.
    """
    return list(_about().archs)


def flags(arch: str, *, fast_math: bool = True) -> tuple[str, ...]:
    """The options that decide the machine code of a text of this dialect, for `compile`.

    `fast_math`: contraction, reassociation, and approximate division and square root of f32; NaN and infinity keep
    their meaning. Small numbers of f32 are flushed to zero, as the CPU's threads do.
    """
    chosen = ["-O3", "-std=c++17", "-w", "-fgpu-flush-denormals-to-zero"]
    if arch.startswith(("gfx10", "gfx11", "gfx12")):
        chosen.append("-mwavefrontsize64")
    if fast_math:
        chosen += ["-fno-signed-zeros", "-fassociative-math", "-ffp-contract=fast"]
        chosen.append("-fno-hip-fp32-correctly-rounded-divide-sqrt")
    else:
        chosen.append("-ffp-contract=off")
    # Native additions of floats. They are lost in fine-grained memory, which nothing here allocates.
    chosen.append("-munsafe-fp-atomics")
    return tuple(chosen)


def compile(source: str, name: str, arch: str = "gfx90a", options: Sequence[str] = ()) -> bytes:
    """Compile HIP text to a code object for `arch`. `name` is the kernel's, for messages.

    Raises CompilerNotFound; CompileError with the log, also when the compiler itself broke down; CompileTimeout after
    QD_CC_TIMEOUT seconds (default 600); ToolchainError for an arch that this compiler does not know; ValueError for an
    `arch` of another form.
    """
    from quadrants.toolchain.messages import quoted

    if re.fullmatch(r"gfx[0-9a-f]+(:(sramecc|xnack)[+-])*", arch) is None:
        raise ValueError(f"arch should look like 'gfx90a' or 'gfx90a:xnack-', not {arch!r}")
    path, _ = find()
    request = {"source": source, "name": file_stem(name), "arch": arch, "options": list(options)}
    size = f"{source.count(chr(10)) + 1} lines, {len(source)} characters of generated source"
    on = f"on kernel '{name}' (dialect hip, {arch}, {size})"
    said, code, noise = _ask(path, request, on, name)
    if not said:
        text = f"HIPRTC ({path}) broke down {on}.\n{quoted(noise, 'HIPRTC')}"
        raise CompileError(text, kernel=name, dialect="hip", log=noise)
    if "status" not in said:
        known = ", ".join(said.get("archs", ())) or "no chip"
        raise ToolchainError(f"HIPRTC ({path}) cannot compile for {arch}. It knows {known}. Install a newer ROCm.")
    if said["status"] != 0:
        log = _TEMPORARY.sub(f"{request['name']}.hip", said["log"] or noise)
        text = f"HIPRTC failed ({said['reason']}) {on}.\n{quoted(log, 'HIPRTC')}"
        raise CompileError(text, kernel=name, dialect="hip", log=log)
    return code


def _about() -> _About:
    global _found
    with _lock:
        if _found is None:
            troubles = []
            for path in _candidates():
                said, _, noise = _ask(path, {}, f"({path}) when it was asked for its version", "version")
                if "version" in said:
                    _found = _About(path, tuple(said["version"]), tuple(said["archs"]))
                    break
                troubles.append(f"{path}: {said.get('missing') or noise.strip() or 'breaks down'}")
            else:
                tried = "".join("\n  " + line for line in troubles)
                raise CompilerNotFound(
                    "HIPRTC, the HIP compiler, was not found. Install ROCm (on Debian and Ubuntu: "
                    "`apt-get install libamdhip64-dev`), or set ROCM_PATH to where it is." + tried,
                    "HIPRTC: install ROCm, or `apt install libamdhip64-dev`",
                )
        return _found


def _ask(path: str, request: dict[str, Any], on: str, name: str) -> tuple[dict[str, Any], bytes, str]:
    """What the child answers, the code in it, and what the libraries said besides. No answer where it broke down."""
    from quadrants.toolchain import cc, process

    if not _has_interpreter():
        return *hiprtc_child.answer(path, request), ""
    token = f"[{os.urandom(12).hex()}]"
    limit = cc.time_limit()
    command = [sys.executable, "-I", "-S", hiprtc_child.__file__, path]
    text = json.dumps({**request, "token": token}).encode()
    try:
        status, output = process.run(command, text, timeout=limit, env=_environment())
    except OSError as error:
        raise ToolchainError(f"HIPRTC cannot be run: {sys.executable} cannot be started ({error})") from error
    noise, _, rest = output.partition(token.encode())
    about, _, code = rest.partition(b"\n")
    log = noise.decode(errors="replace")
    if status is None:
        raise CompileTimeout(
            f"HIPRTC was stopped after {limit:g} s {on}. Split the kernel, unroll less in it, or set QD_CC_TIMEOUT to "
            "more seconds.",
            kernel=name,
            dialect="hip",
            log=log,
        )
    if not about:
        how = f"It was ended by signal {-status}." if status < 0 else f"It ended with exit status {status}."
        return {}, b"", f"{log.rstrip()}\n{how}".lstrip()
    said = json.loads(about)
    if len(code) != said["size"]:
        return {}, b"", f"{log}It wrote {len(code)} of {said['size']} bytes."
    return said, code, log


def _has_interpreter() -> bool:
    """Whether `sys.executable` runs Python: in a program with an embedded or packed Python it may be that program."""
    return bool(sys.executable) and not getattr(sys, "frozen", False) and "python" in os.path.basename(sys.executable)


def _environment() -> dict[str, str]:
    """The compiler's own temporary files go where this process cleans up, even after the compiler was killed."""
    env = {**os.environ, "LC_ALL": "C"}
    for parent in scratch.candidates():
        try:
            env["TMPDIR"] = scratch.folder(parent)
            break
        except OSError:
            continue
    return env


def _candidates() -> Iterator[str]:
    """Libraries to try: a ROCm that was asked for, wheels, the usual places. Older ROCm has no libhiprtc."""
    patterns = ("libhiprtc.so.*", "libhiprtc.so", "libamdhip64.so.*", "libamdhip64.so")
    yield from locate.newest_first(map(glob.escape, _places()), patterns)
    if sys.platform != "win32":
        yield from ("libhiprtc.so", "libamdhip64.so.5", "libamdhip64.so")


def _places() -> Iterator[str]:
    """Folders of libraries."""
    for variable in ("ROCM_PATH", "ROCM_HOME", "HIP_PATH"):
        home = os.environ.get(variable)
        if home:
            yield os.path.join(home, "lib")
    for entry in sys.path:
        yield from (os.path.join(entry, *inside, "lib") for inside in (("_rocm_sdk_core",), ("torch",)))
    yield from filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    yield "/opt/rocm/lib"
    homes = sorted(glob.glob("/opt/rocm-*"), key=locate.version_of, reverse=True)
    yield from (os.path.join(home, "lib") for home in homes)
    yield from (*sorted(glob.glob("/usr/lib/*-linux-gnu")), "/usr/lib64", "/usr/lib")


def _siblings(path: str) -> list[str]:
    """The compiler and the headers that the library brings in, as far as they are files in sight."""
    found = []
    for name in ("libamd_comgr.so.*", "libhiprtc-builtins.so.*"):
        for place in (os.path.dirname(path), *_places()):
            files = sorted(glob.glob(os.path.join(glob.escape(place), name)), key=locate.version_of)
            if files:
                found.append(files[-1])
                break
    return found
