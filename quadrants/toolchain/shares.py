"""One text to several compilers at once, each of which makes some of its units."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from quadrants import _logging
from quadrants.toolchain import archive, cc, messages, scratch
from quadrants.toolchain.cc import CcOptions
from quadrants.toolchain.compiler import Compiler, find_compiler
from quadrants.toolchain.errors import CompileError, CompileTimeout
from quadrants.toolchain.process import Child


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
    masks = _masks(units, min(units, _cores()))
    if len(masks) > 1:
        try:
            return archive.joined(_compile_all(source, name, masks, options, compiler))
        except CompileTimeout:
            raise
        except (OSError, CompileError) as error:
            _logging.debug(f"Kernel '{name}' is compiled in one piece: {error}")
    return cc.compile_object(source, name=name, options=options, compiler=compiler)


def _masks(units: int, count: int) -> list[int]:
    """The units of each compiler, as bits."""
    return [sum(1 << unit for unit in range(first, units, count)) for first in range(count)]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _compile_all(source: str, name: str, masks: Sequence[int], options: CcOptions, compiler: Compiler) -> list[bytes]:
    path = scratch.keep(cc.as_read(compiler, source), name, ".c", executable=False)
    others: list[_Other] = []
    try:
        command = cc.command(compiler, options)
        for mask in masks[1:]:
            others.append(_start(command, path, mask))
        own = f"#define QD_UNITS {masks[0]}\n"
        first = cc.compile_object(source, name=name, options=options, compiler=compiler, before=own)
        return [first, *(_finish(other, name, source, compiler) for other in others)]
    finally:
        for other in others:
            other.child.stop()
            scratch.remove(other.output)
        scratch.remove(path)


class _Other(NamedTuple):
    """A compiler beside the one that the text is sent to, and where it will put its object."""

    child: Child
    output: str


def _start(command: Sequence[str], path: str, mask: int) -> _Other:
    output = path.removesuffix(".c") + f"-{mask}.o"
    child = Child((*command, f"-DQD_UNITS={mask}", "-c", path, "-o", output), cc.environment(os.path.dirname(path)))
    return _Other(child, output)


def _finish(other: _Other, name: str, source: str, compiler: Compiler) -> bytes:
    limit = cc.time_limit()
    status, said = other.child.finish(b"", limit)
    log = said.decode(errors="replace")
    if status is None:
        raise messages.timed_out(name, source, compiler, limit, log)
    if status != 0:
        raise messages.failed(compiler, name, source, status, log)
    with open(other.output, "rb") as file:
        return file.read()
