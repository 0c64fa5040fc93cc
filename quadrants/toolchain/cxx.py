"""CUDA, HIP and Metal text to code for this machine's CPU, for the SIMT emulator: through its C compiler, which knows
C++ too.

simt_abi.h, simt_device.h     how the emulator and a kernel find each other (in the folder of the launch core)
simt_FLAVOUR.h                the built-ins of the device's compiler
the text                      as that compiler gets it, but for what C++ cannot say
a record for each task        what the emulator launches
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from quadrants import targets
from quadrants.targets.record import Target
from quadrants.toolchain import cc
from quadrants.toolchain import compiler as compilers
from quadrants.toolchain.cc import CcOptions
from quadrants.toolchain.compiler import Compiler
from quadrants.toolchain.errors import CompileError, CompilerNotFound, ToolchainError
from quadrants.toolchain.library import Library

if TYPE_CHECKING:
    from quadrants.toolchain.cache import DiskCache

# A thread that calls one of these may have to wait for others, so it needs a stack of its own.
_WAITS = re.compile(
    r"\b(?:__syncthreads(?:_and|_or|_count)?|__syncwarp|__shfl(?:_up|_down|_xor)?(?:_sync)?|__ballot(?:64|_sync)?"
    r"|__(?:all|any|uni)(?:_sync)?|__match_(?:any|all)_sync|__activemask"
    r"|__builtin_amdgcn_(?:wave_barrier|s_barrier|ds_bpermute|read_exec)"
    r"|(?:threadgroup|simdgroup)_barrier|simd_(?:shuffle(?:_down)?|ballot))\s*\("
)
_DYNAMIC_ARRAY = re.compile(r"\bextern\s+__shared__\s+([^;\[\]]+)\[\s*\]\s*;")
_SHARED = re.compile(r"\b__shared__\b")
_STATIC_SHARED = re.compile(r"\bstatic\s+__shared__\b")
# What Metal says beside names, its header, and its shared arrays, which are those of a kernel's own scope.
_BESIDE = re.compile(r"\[\[[\w, ()]*\]\]")
_LIBRARY = "#include <metal_stdlib>"
_POOL = "[[threadgroup(0)]]"
_OF_THREADGROUP = re.compile(r"^(\s*)threadgroup ([\w ]+(?:\[\w+\])?;)", re.MULTILINE)
# The block of arguments is never written: all threads may read the same one.
_BY_VALUE = re.compile(r"\b__grid_constant__\s+(\w+)\s+(\w+)")


_INCLUDED = re.compile(r'^#include "(\w+\.h)"\n', re.MULTILINE)


class Emulated(NamedTuple):
    """Kernels ready for the emulator. `warp`: lanes of a warp; `cooperative`: threads may wait for each other."""

    library: Library
    warp: int
    cooperative: bool

    def address(self, name: str) -> int:
        """Where the record of the task `name` is: what `quadrants._ext.simt.make_function` takes. Raises ToolchainError
        when there is no such task."""
        return self.library.address(f"qd_entry_{name}")


def emulated(library: Library, source: str, flavour: str) -> Emulated:
    """What `translation` made of `source`, compiled."""
    return Emulated(library, lanes_of(flavour), cooperates(source))


def target_of(flavour: str) -> Target:
    """The target that the text is for. ToolchainError for one that is not emulated."""
    found = targets.of_dialect(flavour)
    if found is None or not found.subgroup:
        raise ToolchainError(f"there is no emulator for text of '{flavour}'")
    return found


def lanes_of(flavour: str) -> int:
    """Threads of a warp of that target."""
    return target_of(flavour).subgroup or 0


# Tasks are named from outside of the namespace that the skeletons put them in; a user's skeleton may have none.
_FROM_OUTSIDE = "namespace qd_user {}\nusing namespace qd_user;"


def cooperates(source: str) -> bool:
    """Whether threads of the text may wait for each other."""
    return _WAITS.search(source) is not None


def translation(source: str, entries: Sequence[str], flavour: str) -> str:
    """The C++ text for kernel text of a flavour ("cuda", "hip", "metal") whose tasks are `entries`."""
    dynamic = _DYNAMIC_ARRAY.search(source) is not None or _POOL in source
    text = _DYNAMIC_ARRAY.sub(r"extern \1[] QD_SIMT_SAME;", source)
    text = _OF_THREADGROUP.sub(r"\1__shared__ \2", _BESIDE.sub("", text.replace(_LIBRARY, "")))
    text = _STATIC_SHARED.sub("__shared__", text)
    text = _BY_VALUE.sub(r"__grid_constant__ \1 &\2", text)
    settings = [
        f"#define QD_SIMT_FLAVOUR QD_SIMT_{flavour.upper()}",
        f"#define QD_SIMT_WARP {lanes_of(flavour)}",
        f"#define QD_SIMT_COOPERATIVE {int(cooperates(source))}",
        f"#define QD_SIMT_TASKS {len(entries)}",
    ]
    if _SHARED.search(text):
        settings.append("#define QD_SIMT_SHARED 1")
    if dynamic:
        settings.append(f"#define QD_SIMT_DYNAMIC {target_of(flavour).most_shared_bytes}")
    records = [f"QD_SIMT_ENTRY({name})" for name in entries]
    return "\n".join((*settings, header(flavour), text, _FROM_OUTSIDE, *records, ""))


@functools.cache
def header(flavour: str) -> str:
    """What comes before the text."""
    from quadrants._ext import __path__ as folders

    folder = next(iter(folders))
    return "".join(_file(folder, f"{name}.h") for name in ("simt_abi", "simt_device", f"simt_{flavour}"))


def _file(folder: str, name: str) -> str:
    """A file with those that it includes in place."""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return _INCLUDED.sub(lambda found: _file(folder, found[1]), file.read())


def flags(compiler: Compiler, options: CcOptions) -> tuple[str, ...]:
    """The flags that decide the machine code. Frame pointers tell lanes of a warp that are at different calls apart."""
    level = f"-O{min(options.opt_level, 1)}"
    chosen = [flag for flag in cc.flags(compiler, options) if not flag.startswith(("-std=", "-O"))]
    front = (
        "-std=gnu++17", level, "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-strict-aliasing",
        "-fno-omit-frame-pointer",
    )  # fmt: skip
    # Calls in which threads meet must stay what they are: one place in the text, one address in the code.
    single = ("-fno-tree-ch", "-fno-thread-jumps", "-fno-reorder-blocks") if compiler.kind == "gcc" else ()
    return (*front, *single, *chosen)


def identity(compiler: Compiler, options: CcOptions) -> str:
    """What, besides the text, decides the binary. Part of every cache key."""
    return "\n".join((compiler.identity, *flags(compiler, options), *cc.link_flags(compiler, "sin")))


def compile(source: str, *, name: str, options: CcOptions = CcOptions(), compiler: Compiler | None = None) -> bytes:
    """Compile C++ text to the bytes of a shared object. Raises as `cc.compile` does."""
    compiler = compiler or find_compiler()
    return _run(source, name, options, compiler, cc.link_flags(compiler, source))


def compile_object(
    source: str, *, name: str, options: CcOptions = CcOptions(), compiler: Compiler | None = None
) -> bytes:
    """Compile C++ text to the bytes of a relocatable object. Raises as `cc.compile_object` does."""
    return _run(source, name, options, compiler or find_compiler(), ("-c",))


def find_compiler(store: DiskCache | None = None) -> Compiler:
    """The compiler to use: $QD_CXX, else the C compiler of this machine. Raises as `compiler.find_compiler` does."""
    return compilers.find_compiler(store, "QD_CXX" if os.environ.get("QD_CXX") else "QD_CC")


def _run(source: str, name: str, options: CcOptions, compiler: Compiler, ending: Sequence[str]) -> bytes:
    command = (*compiler.command, *flags(compiler, options), "-w")
    if compiler.kind == "gcc":
        command += ("-pipe", "-fno-ident")
    try:
        return cc.run(compiler, name, source, (*command, "-x", "c++", "-"), ending, dialect="c++")
    except CompileError as error:
        if "cc1plus" in error.log and "error trying to exec" in error.log or "cannot execute" in error.log:
            raise CompilerNotFound(
                f"The C compiler {compiler.path} cannot compile C++, which the SIMT emulator needs. Install its "
                "C++ part (for example `apt install g++`, `dnf install gcc-c++`), or set QD_CXX to a C++ compiler."
            ) from error
        raise
