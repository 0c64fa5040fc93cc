"""C text to a shared object, through the C compiler of the machine."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from quadrants.toolchain import process, scratch
from quadrants.toolchain.compiler import Compiler, find_compiler
from quadrants.toolchain.errors import CompileError, CompileTimeout, ToolchainError

__all__ = ["CcOptions", "Compiler", "compile", "find_compiler", "flags", "link_flags"]

DEFAULT_TIMEOUT = 600.0


class CcOptions(NamedTuple):
    """How to compile.

    `fast_math`: contraction, reassociation and reciprocals are allowed, and the sign of zero may be lost; NaN and
    infinity keep their meaning. `opt_level`: 0 to 3, the compiler's own. `debug`: line tables, unwind tables, frame
    pointers. `extra`: flags added at the end of the command.
    """

    fast_math: bool = True
    opt_level: int = 3
    debug: bool = False
    extra: tuple[str, ...] = ()


# A text that calls none of these needs no libm; looking into it costs the linker as much as all the rest of its work.
_LIBM = (
    r"\b(?:__builtin_|_ZGV\w+?_)?(?:a?(?:sin|cos|tan)h?|atan2|sincos|sinh?pi|cospi|tanpi|exp(?:2|10|m1)?|log(?:2|10|1p|b)?|"
    r"pow|powi|sqrt|rsqrt|cbrt|hypot|fmod|remainder|remquo|drem|fma|fmin|fmax|fdim|erfc?|[lt]gamma|j[01n]|y[01n]|"
    r"ceil|floor|trunc|l?l?round|roundeven|nearbyint|l?l?rint|ilogb|ldexp|frexp|modf|scalbl?n|nan|nextafter|nexttoward|"
    r"copysign|fabs|isnan|isinf|finite)[fl]?(?:32|64)?\b"
)


def needs_libm(source: str) -> bool:
    """Whether the text names a function of the C mathematics library."""
    import re  # the pattern is compiled on first use: a warm start needs none of this

    return re.search(_LIBM, source) is not None


def flags(compiler: Compiler, options: CcOptions) -> tuple[str, ...]:
    """The flags that decide the machine code."""
    chosen = ["-std=gnu11", f"-O{options.opt_level}", *compiler.native, "-fPIC"]
    if compiler.kind == "other":
        return (*chosen, *options.extra)
    chosen += ["-fwrapv", "-fno-math-errno", "-fno-trapping-math"]
    if options.fast_math:
        # Not -ffinite-math-only, nor -ffast-math which implies it: programs test for NaN and compare with infinity.
        chosen += ["-fno-signed-zeros", "-fassociative-math", "-freciprocal-math", "-ffp-contract=fast"]
    else:
        chosen += ["-ffp-contract=off"]
    # Distributions turn on hardening that costs time in each call and protects nothing here.
    chosen += ["-fno-stack-protector"]
    if _is_x86(compiler):
        chosen += ["-fcf-protection=none"]
    if compiler.kind == "gcc":
        # Without the second, gcc inlines no function that another library could replace.
        chosen += ["-fno-stack-clash-protection", "-fno-semantic-interposition"]
    if compiler.kind == "zig":
        chosen += ["-fno-sanitize=undefined"]
    if options.debug:
        chosen += ["-g", "-fno-omit-frame-pointer", "-fasynchronous-unwind-tables"]
    else:
        chosen += ["-g0", "-fno-asynchronous-unwind-tables"]
    return (*chosen, *options.extra)


def link_flags(compiler: Compiler, source: str) -> tuple[str, ...]:
    """The flags that make a shared object of it."""
    libm = ("-lm",) if needs_libm(source) else ()
    if not sys.platform.startswith("linux") or compiler.kind == "other":
        return ("-shared", *libm)
    if compiler.kind == "clang":
        # clang may come with compiler-rt or with libgcc; only its driver knows, so its default libraries stay.
        return ("-shared", "-nostartfiles", "-Wl,--build-id=none", "-Wl,-z,noseparate-code", *libm)
    if compiler.kind == "zig":
        return ("-shared", *libm)
    # Start files and libc would triple the time of the link. libc is in the process anyway; libgcc is an archive, read
    # only for what is missing (128-bit division, half floats).
    lean = ("-shared", "-nostdlib", "-fno-use-linker-plugin", "-Wl,--build-id=none", "-Wl,-z,noseparate-code")
    return (*lean, "-Wl,--as-needed", *libm, "-lgcc")


def identity(compiler: Compiler, options: CcOptions) -> str:
    """What, besides the source, decides the binary. Part of every cache key."""
    return "\n".join((compiler.identity, *flags(compiler, options), *link_flags(compiler, "sin")))


def compile(source: str, *, name: str, options: CcOptions = CcOptions(), compiler: Compiler | None = None) -> bytes:
    """Compile C text to the bytes of a shared object. `name` is the kernel's, for messages.

    Raises CompilerNotFound; CompileError with the compiler's first messages; CompileTimeout after QD_CC_TIMEOUT seconds
    (default 600). The error's `source_path` is None: whoever has a folder for failed sources sets it.
    """
    compiler = compiler or find_compiler()
    text = source.encode()
    trouble: CompileError | None = None
    for parent in scratch.candidates():
        try:
            where = scratch.unique(parent, name, ".so")
        except OSError:
            continue
        try:
            return _run(compiler, options, text, source, name, where)
        except CompileError as error:
            if not _is_full(error.log):
                raise
            trouble = error
        finally:
            scratch.remove(where)
    raise trouble or ToolchainError(
        f"Kernel '{name}' cannot be compiled: no folder for the compiler's temporary files. "
        "Set QD_TMP_DIR to a folder that can be written."
    )


def _run(compiler: Compiler, options: CcOptions, text: bytes, source: str, name: str, where: str) -> bytes:
    command = [*compiler.command, "-x", "c", *flags(compiler, options)]
    if compiler.kind != "other":
        command += ["-w"]
    if compiler.kind == "gcc":
        command += ["-pipe", "-fno-ident"]
    command += ["-o", where, "-", *link_flags(compiler, source)]
    limit = time_limit()
    # The compiler's own temporary files go where this process cleans up, even after the compiler was killed.
    env = {**os.environ, "LC_ALL": "C", "TMPDIR": os.path.dirname(where)}
    try:
        status, output = process.run(command, text, timeout=limit, env=env)
    except OSError as error:
        raise ToolchainError(
            f"Kernel '{name}' cannot be compiled: the C compiler {compiler.path} cannot be started ({error}). "
            "Repair it, or set QD_CC to another one."
        ) from error
    log = output.decode(errors="replace")
    if status is None:
        raise CompileTimeout(
            f"The C compiler was stopped after {limit:g} s on kernel '{name}' (dialect c, {_size(source)}). Split the "
            f"kernel, unroll less in it, or set QD_CC_TIMEOUT to more seconds. Compiler: {compiler.path}",
            kernel=name,
            dialect="c",
            log=log,
        )
    if status != 0:
        raise CompileError(_explain(compiler, name, source, status, log), kernel=name, dialect="c", log=log)
    try:
        with open(where, "rb") as file:
            return file.read()
    except OSError as error:
        raise CompileError(
            f"The C compiler {compiler.path} reported success on kernel '{name}' but wrote no binary ({error}).",
            kernel=name,
            dialect="c",
            log=log,
        ) from error


def time_limit() -> float:
    """Seconds a compiler may run, from QD_CC_TIMEOUT."""
    text = os.environ.get("QD_CC_TIMEOUT")
    if not text:
        return DEFAULT_TIMEOUT
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0.0:
        raise ToolchainError(f"QD_CC_TIMEOUT={text} should be a number of seconds above 0")
    return seconds


def _explain(compiler: Compiler, name: str, source: str, status: int, log: str) -> str:
    ended = f"was killed by signal {-status}" if status < 0 else f"failed with exit status {status}"
    if "Killed" in log and "fatal error" in log:
        ended += ", killed by the system, probably for lack of memory"
    said = "\n".join("  " + line for line in first_messages(log)) or "  (the compiler said nothing)"
    return f"The C compiler {ended} on kernel '{name}' (dialect c, {_size(source)}). Compiler: {compiler.path}\n{said}"


def first_messages(log: str, count: int = 3) -> list[str]:
    """The lines of the first few errors in a compiler's output, at most 24."""
    lines = log.splitlines()
    at = [i for i, line in enumerate(lines) if "error" in line.lower() or "undefined reference" in line]
    if not at:
        return lines[:12]
    end = at[count] if len(at) > count else len(lines)
    return lines[at[0] : min(end, at[0] + 24)]


def _size(source: str) -> str:
    return f"{source.count(chr(10)) + 1} lines, {len(source)} characters of generated source"


def _is_x86(compiler: Compiler) -> bool:
    return compiler.target.startswith(("x86_64", "i386", "i486", "i586", "i686"))


def _is_full(log: str) -> bool:
    return any(
        text in log for text in ("No space left on device", "Cannot create temporary file", "Disk quota exceeded")
    )
