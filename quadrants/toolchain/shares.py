"""One text to several compilers at once, each of which makes some of its units."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from quadrants import _logging
from quadrants.config import hardware_threads
from quadrants.toolchain import archive, cc, scratch
from quadrants.toolchain.cc import CcOptions
from quadrants.toolchain.compiler import Compiler, find_compiler
from quadrants.toolchain.errors import CompileError, CompileTimeout
from quadrants.toolchain.process import Child

# Of compilers in one process. They wait for one another: on 16 cores 16 of them took twice the time of each.
_AT_ONCE = 4


def compile_object(
    source: str,
    *,
    name: str,
    units: int = 1,
    options: CcOptions = CcOptions(),
    compiler: Compiler | None = None,
) -> bytes:
    """Compile C text of so many units to a relocatable object, or to an archive of several. Raises as
    `cc.compile_object` does.

    The text asks which units are wanted, as `quadrants.emit.units` says.
    """
    compiler = compiler or find_compiler()
    masks = _masks(units, min(units, hardware_threads()))
    if len(masks) > 1:
        try:
            return archive.joined(_compile_all(source, name, masks, options, compiler))
        except CompileTimeout:
            raise
        except (OSError, CompileError) as error:
            _logging.debug(f"Kernel '{name}' is compiled in one piece: {error}")
    return cc.compile_object(source, name=name, options=options, compiler=compiler)


def compile_binaries(
    compile: Callable[..., bytes], source: str, name: str, arch: str, options: Sequence[str], units: int
) -> bytes:
    """Have a compiler that may run in several threads make a binary of each unit: an archive of them, the first unit's
    first.

    compile: that of a dialect, see `build.build_binary`. Raises what it does for the first unit that fails; those that
    have not begun by then are left out.
    """

    from concurrent.futures import ThreadPoolExecutor

    def make(unit: int) -> bytes:
        return compile(source, name, arch, (*options, f"-DQD_UNITS={1 << unit}"))

    pool = ThreadPoolExecutor(min(units, hardware_threads(), _AT_ONCE), thread_name_prefix="quadrants-units")
    try:
        return archive.joined(list(pool.map(make, range(units))))
    finally:
        pool.shutdown(cancel_futures=True)


def _masks(units: int, count: int) -> list[int]:
    """The units of each compiler, as bits."""
    return [sum(1 << unit for unit in range(first, units, count)) for first in range(count)]


def _compile_all(source: str, name: str, masks: Sequence[int], options: CcOptions, compiler: Compiler) -> list[bytes]:
    job = cc.Job(compiler, name, source)
    path = scratch.keep(cc.as_read(compiler, source), name, ".c", executable=False)
    command, env = cc.command(compiler, options), cc.environment(os.path.dirname(path))
    others: list[_Other] = []
    try:
        for mask in masks[1:]:
            output = path.removesuffix(".c") + f"-{mask}.o"
            arguments = (*command, f"-DQD_UNITS={mask}", "-c", path, "-o", output)
            others.append(_Other(job.start(arguments, env), output))
        own = f"#define QD_UNITS {masks[0]}\n"
        first = cc.compile_object(source, name=name, options=options, compiler=compiler, before=own)
        return [first, *(job.read(output, job.ended(child, b"", cc.time_limit())) for child, output in others)]
    finally:
        for child, output in others:
            child.stop()
            scratch.remove(output)
        scratch.remove(path)


class _Other(NamedTuple):
    """A compiler beside the one that the text is sent to, and where it will put its object."""

    child: Child
    output: str
