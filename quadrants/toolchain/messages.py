"""What to say when a compiler did not do what it should."""

from __future__ import annotations

import re
from collections.abc import Sequence

from quadrants.toolchain.compiler import FOR_HALVES, Compiler
from quadrants.toolchain.errors import CompileError, CompileTimeout, ToolchainError

_NO_HALVES = re.compile("_Float16 is not supported|unknown type name ._Float16")  # clang's words, gcc's


def failed(compiler: Compiler, name: str, source: str, status: int, log: str, dialect: str = "c") -> CompileError:
    """The compiler ended with a status other than 0."""
    ended = f"was killed by signal {-status}" if status < 0 else f"failed with exit status {status}"
    if "Killed" in log and "fatal error" in log:
        ended += ", killed by the system, probably for lack of memory"
    said = quoted(log, "the compiler")
    what = f"kernel '{name}' (dialect {dialect}, {_size(source)})"
    text = f"The C compiler {ended} on {what}. Compiler: {compiler.path}\n{said}"
    if _NO_HALVES.search(log):
        text += f"\nThis compiler has no f16: {FOR_HALVES}; or use f32."
    return CompileError(text, kernel=name, dialect=dialect, log=log)


def of_kernel(
    error: CompileError, where: str, arch: str, tasks: Sequence[str], source: str, templates: Sequence[str] = ()
) -> CompileError:
    """The same failure for the user who called the kernel at `where` ("file:line"), with what was to be compiled.

    templates: folders of the user with templates that the source was written by.
    """
    text = (
        f"Kernel '{error.kernel}' ({where}) was not compiled for {arch}: {len(source.encode())} bytes of source, tasks "
        f"{', '.join(tasks) or 'none'}.\n{error}"
    )
    if templates:
        text += (
            f"\nTemplates of {', '.join(templates)} took part in the source: `python -m quadrants templates check "
            f"{templates[0]}` looks for what is wrong in them."
        )
    return type(error)(text, kernel=error.kernel, dialect=error.dialect, source_path=error.source_path, log=error.log)


def timed_out(name: str, source: str, compiler: Compiler, limit: float, log: str, dialect: str = "c") -> CompileTimeout:
    """The compiler was stopped after `limit` seconds."""
    text = (
        f"The C compiler was stopped after {limit:g} s on kernel '{name}' (dialect {dialect}, {_size(source)}). "
        f"Split the kernel, unroll less in it, or set QD_CC_TIMEOUT to more seconds. Compiler: {compiler.path}"
    )
    return CompileTimeout(text, kernel=name, dialect=dialect, log=log)


def wrote_nothing(compiler: Compiler, name: str, log: str, error: OSError, dialect: str = "c") -> CompileError:
    """The compiler ended well, without a result."""
    text = f"The C compiler {compiler.path} reported success on kernel '{name}' but wrote no binary ({error})."
    return CompileError(text, kernel=name, dialect=dialect, log=log)


def cannot_start(compiler: Compiler, name: str, error: OSError) -> ToolchainError:
    """The compiler was found, and is no program that runs."""
    return ToolchainError(
        f"Kernel '{name}' cannot be compiled: the C compiler {compiler.path} cannot be started ({error}). "
        "Repair it, or set QD_CC to another one."
    )


def no_folder(name: str) -> ToolchainError:
    """There is no place for temporary files."""
    return ToolchainError(
        f"Kernel '{name}' cannot be compiled: no folder for the compiler's temporary files. "
        "Set QD_TMP_DIR to a folder that can be written."
    )


def is_full(log: str) -> bool:
    """Whether the compiler ended for lack of room on the disk."""
    return any(
        text in log for text in ("No space left on device", "Cannot create temporary file", "Disk quota exceeded")
    )


def quoted(log: str, compiler: str) -> str:
    """The first messages of a log, indented."""
    return "\n".join("  " + line for line in first_messages(log)) or f"  ({compiler} said nothing)"


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
