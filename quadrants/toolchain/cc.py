"""C text to a shared object or a relocatable one, through the C compiler of the machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from quadrants.toolchain import messages, scratch, warm
from quadrants.toolchain.compiler import Compiler, find_compiler
from quadrants.toolchain.errors import CompileError, CompileTimeout, ToolchainError
from quadrants.toolchain.process import Child

__all__ = [
    "CcOptions",
    "Compiler",
    "Job",
    "as_read",
    "command",
    "compile",
    "compile_object",
    "environment",
    "find_compiler",
    "flags",
    "link",
    "link_flags",
    "prepare",
    "run",
]

DEFAULT_TIMEOUT = 600.0


class CcOptions(NamedTuple):
    """How to compile.

    `fast_math`: contraction and reassociation are allowed, and the sign of zero may be lost; quotients are exact, NaN
    and infinity keep their meaning. `opt_level`: 0 to 3, the compiler's own. `debug`: line tables, unwind tables, frame
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
        chosen += ["-fno-signed-zeros", "-fassociative-math", "-ffp-contract=fast"]
    else:
        chosen += ["-ffp-contract=off"]
    # Distributions turn on hardening that costs time in each call and protects nothing here.
    chosen += ["-fno-stack-protector"]
    if _is_x86(compiler):
        chosen += ["-fcf-protection=none"]
    if compiler.kind == "gcc":
        # Without the second, gcc inlines no function that another library could replace.
        chosen += ["-fno-stack-clash-protection", "-fno-semantic-interposition"]
        # Copies of a loop for each value of a condition pay for small bodies only; of larger ones, all vectorised, they
        # took a fifth of the time of a compilation and were slower than the branch.
        chosen += ["--param", "max-unswitch-insns=25"]
        # A loop that copies twenty arrays became twenty loops, each with tests for arrays that meet: for a second.
        chosen += ["-fno-tree-loop-distribution"]
        # A twentieth of the time of a compilation, without which no kernel measured is slower: values kept from one
        # iteration to the next, loads that are found twice once registers are given out, and bounds of loops that
        # follow from the sizes of vectors, where an index beyond the end would end the loop.
        chosen += ["-fno-predictive-commoning", "-fno-gcse-after-reload", "-fno-aggressive-loop-optimizations"]
    if compiler.kind == "zig":
        chosen += ["-fno-sanitize=undefined"]
    chosen += _half_flags(compiler)
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
        # It would build stubs of libc first, for ten seconds. The process has libc and libm, whose names are global.
        return ("-shared", "-nostdlib")
    # Start files and libc would triple the time of the link. libc is in the process anyway; libgcc is an archive, read
    # only for what is missing (128-bit division, half floats).
    lean = ("-shared", "-nostdlib", "-fno-use-linker-plugin", "-Wl,--build-id=none", "-Wl,-z,noseparate-code")
    return (*lean, "-Wl,--as-needed", *libm, "-lgcc")


# gcc (11 and 12 do) forgets that a double became a float in between where it makes vectors of neighbouring numbers.
_ROUNDING = '#pragma GCC optimize ("no-tree-slp-vectorize")\n#line 1\n'


def identity(compiler: Compiler, options: CcOptions) -> str:
    """What, besides the source, decides the binary. Part of every cache key."""
    return "\n".join((compiler.identity, *flags(compiler, options), *link_flags(compiler, "sin"), _ROUNDING))


def as_read(compiler: Compiler, source: str) -> bytes:
    """The text, and what the compiler has to be told before it."""
    rounds = compiler.kind == "gcc" and "(float)" in source and "(double)" in source
    return ((_ROUNDING if rounds else "") + source).encode()


def compile(source: str, *, name: str, options: CcOptions = CcOptions(), compiler: Compiler | None = None) -> bytes:
    """Compile C text to the bytes of a shared object. `name` is the kernel's, for messages.

    Raises CompilerNotFound; CompileError with the compiler's first messages; CompileTimeout after QD_CC_TIMEOUT seconds
    (default 600). The error's `source_path` is None: whoever has a folder for failed sources sets it.
    """
    compiler = compiler or find_compiler()
    job = Job(compiler, name, source)
    arguments = (*command(compiler, options), "-x", "c", "-")
    return job.run(arguments, link_flags(compiler, source), as_read(compiler, source))


def compile_object(
    source: str, *, name: str, options: CcOptions = CcOptions(), compiler: Compiler | None = None, before: str = ""
) -> bytes:
    """Compile C text to the bytes of a relocatable object. Raises as `compile` does, but for what only a linker finds.

    The text goes to a compiler that waits for it, if there is one, and the next one is made to wait. before: lines that
    the compiler reads first.
    """
    compiler = compiler or find_compiler()
    job = Job(compiler, name, source)
    text = before.encode() + as_read(compiler, source)
    arguments, env = command(compiler, options), environment()
    waiting = warm.take(arguments, env, compiler.stamp)
    if waiting is not None:
        try:
            job.drive(lambda: waiting.child, warm.PREFIX + text, lambda: _keep_waiting(compiler, arguments, env))
            with open(waiting.output, "rb") as file:
                return file.read()
        except (OSError, CompileError) as error:
            # Whatever became of it or its files since it was started; a fresh one tells whether the text is to blame.
            if isinstance(error, CompileTimeout):
                raise
        finally:
            waiting.clean()
    meanwhile = partial(_keep_waiting, compiler, arguments, env)
    return job.run((*arguments, "-x", "c", "-"), ("-c",), text, meanwhile)


def prepare(compiler: Compiler, options: CcOptions = CcOptions()) -> None:
    """Start a compiler that waits for the text of the next `compile_object` with these options."""
    _keep_waiting(compiler, command(compiler, options), environment())


def _keep_waiting(compiler: Compiler, arguments: tuple[str, ...], env: dict[str, str]) -> None:
    if warm.wanted(compiler.command):
        warm.keep(arguments, env, compiler.stamp)


def link(binary: bytes, *, name: str, compiler: Compiler | None = None) -> bytes:
    """Make a shared object of a relocatable one, or of an archive of several. Raises as `compile` does."""
    compiler = compiler or find_compiler()
    job = Job(compiler, name, "")
    path = scratch.keep(binary, name, ".o", executable=False)
    whole = ("-Wl,--whole-archive", path, "-Wl,--no-whole-archive")
    try:
        return job.run((*compiler.command, *whole), link_flags(compiler, "sin"), b"")
    finally:
        scratch.remove(path)


def run(
    compiler: Compiler, name: str, source: str, command: Sequence[str], ending: Sequence[str], *, dialect: str
) -> bytes:
    """The file that a command makes of a text of another dialect: its bytes. Raises as `compile` does."""
    return Job(compiler, name, source, dialect).run(command, ending, source.encode())


def command(compiler: Compiler, options: CcOptions) -> tuple[str, ...]:
    """The command, but for what goes in and what comes out."""
    words = (*compiler.command, *flags(compiler, options))
    if compiler.kind != "other":
        words += ("-w",)
    if compiler.kind == "gcc":
        words += ("-pipe", "-fno-ident")
    return words


def environment(temporary: str = "") -> dict[str, str]:
    """Of a compiler. temporary: the folder of its own files, where this process cleans up, even after it was killed."""
    return {**os.environ, "LC_ALL": "C", **({"TMPDIR": temporary} if temporary else {})}


class Job:
    """One text on its way through the compiler."""

    def __init__(self, compiler: Compiler, name: str, source: str, dialect: str = "c"):
        self.compiler = compiler
        self.name = name
        self.source = source
        self.dialect = dialect

    def run(
        self, command: Sequence[str], ending: Sequence[str], text: bytes, meanwhile: Callable[[], None] = lambda: None
    ) -> bytes:
        """The file that the command writes, in the first folder with room for it."""
        trouble: CompileError | None = None
        for parent in scratch.candidates():
            try:
                where = scratch.unique(parent, self.name, ".out")
            except OSError:
                continue
            env = environment(os.path.dirname(where))
            try:
                log = self.drive(partial(self.start, (*command, "-o", where, *ending), env), text, meanwhile)
                return self.read(where, log)
            except CompileError as error:
                if not messages.is_full(error.log):
                    raise
                trouble = error
            finally:
                scratch.remove(where)
        raise trouble or messages.no_folder(self.name)

    def drive(self, start: Callable[[], Child], text: bytes, meanwhile: Callable[[], None]) -> str:
        """Send a compiler its text, do something else, and wait for its end. What it said."""
        child = None
        try:
            child = start()
            rest = child.send(text)
            meanwhile()
            limit = time_limit()
        except BaseException:
            if child is not None:
                child.stop()
            raise
        return self.ended(child, rest, limit)

    def ended(self, child: Child, rest: bytes, limit: float) -> str:
        """What a compiler said in its time, after it has done what it should."""
        status, output = child.finish(rest, limit)
        log = output.decode(errors="replace")
        if status is None:
            raise messages.timed_out(self.name, self.source, self.compiler, limit, log, self.dialect)
        if status != 0:
            raise messages.failed(self.compiler, self.name, self.source, status, log, self.dialect)
        return log

    def start(self, command: Sequence[str], env: dict[str, str]) -> Child:
        """Run a compiler."""
        try:
            return Child(command, env)
        except OSError as error:
            raise messages.cannot_start(self.compiler, self.name, error) from error

    def read(self, path: str, log: str) -> bytes:
        """The file that a compiler wrote, and what it said."""
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise messages.wrote_nothing(self.compiler, self.name, log, error, self.dialect) from error


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


def _half_flags(compiler: Compiler) -> tuple[str, ...]:
    """f16 is rounded after each operation. gcc writes masked moves of native f16 that its assembler may not take."""
    if compiler.kind == "gcc" and compiler.major >= 12:
        return ("-fexcess-precision=16", *(("-mno-avx512fp16",) if _is_x86(compiler) else ()))
    if compiler.kind in ("clang", "zig") and compiler.major >= 16 and _is_x86(compiler):
        return ("-Xclang", "-ffloat16-excess-precision=none")
    return ()


def _is_x86(compiler: Compiler) -> bool:
    return compiler.target.startswith(("x86_64", "i386", "i486", "i586", "i686"))
