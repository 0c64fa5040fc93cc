"""The C compiler of this machine: which one, what it is, and what "native" means to it."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from quadrants.toolchain.errors import CompilerNotFound, ToolchainError

if TYPE_CHECKING:
    from quadrants.toolchain.cache import DiskCache

_PROBE_SECONDS = 60.0
_INSTALL = (
    "Install one with the system's package manager (for example `apt install gcc`, `dnf install gcc`, "
    "`xcode-select --install`) or with `pip install ziglang`, or set QD_CC to the path of a compiler."
)
_USUAL = ("clang", "gcc", "cc")
_LACKING = "a C compiler: `apt install gcc`, or `pip install ziglang`"
FOR_HALVES = "install gcc 12 or clang 15, or newer ones, or set QD_CC to the path of one"
_FIRST_WITH_HALVES = {"gcc": 12, "clang": 15}  # on x86


class Compiler(NamedTuple):
    """A C compiler.

    `path`: the executable; `command`: what to run, with leading arguments; `kind`: "gcc", "clang", "zig" or "other";
    `version`: its own words; `target`: the triple it compiles for; `native`: the flags that select this machine's CPU;
    `cpu`: what these flags mean here, feature by feature, so that a binary is never taken to a lesser CPU; `stamp`: the
    state of the files behind `command`, and of the CPU.
    """

    path: str
    command: tuple[str, ...]
    kind: str
    version: str
    target: str
    native: tuple[str, ...]
    cpu: str
    stamp: str

    @property
    def major(self) -> int:
        """The first part of the version number; 0 where the compiler does not say one."""
        first = (word.partition(".") for word in self.version.replace("-", " ").split())
        return next((int(whole) for whole, dot, _ in first if dot and whole.isdigit()), 0)

    @property
    def has_halves(self) -> bool:
        """Whether it knows real numbers of 16 bits."""
        return self.major >= _FIRST_WITH_HALVES.get(self.kind, 0) or not self.target.startswith("x86_64")

    @property
    def identity(self) -> str:
        """Text that differs whenever the machine code could."""
        return "\n".join((self.stamp, self.kind, self.version, self.target, *self.native, self.cpu))


_lock = threading.Lock()
_found: dict[tuple[str | None, str | None], Compiler] = {}
_kept: set[tuple[str | None, str]] = set()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def find_compiler(store: DiskCache | None = None, variable: str = "QD_CC") -> Compiler:
    """The compiler to use: what `variable` names, else clang, gcc, cc of PATH, else the zig of the `ziglang` package.

    One without f16 comes after all others. The compiler is asked about itself once; `store` keeps the answer for later
    processes, until the executable or the CPU changes. Where it keeps nothing a folder of the user's does: the answer
    is no kernel, and the question takes as long as a compile. Raises CompilerNotFound, saying what to install;
    ToolchainError when what was found does not run.
    """
    place = (os.environ.get(variable), os.environ.get("PATH"))
    with _lock:
        if store is None or store.root is None:
            store = own_store()
        if place in _found:
            _keep(_found[place], store)
            return _found[place]
        trouble: ToolchainError | None = None
        found: list[Compiler] = []
        for command in _commands(variable):
            try:
                found.append(_describe(command, store))
            except ToolchainError as error:
                if os.environ.get(variable):
                    raise ToolchainError(f"{variable}={os.environ[variable]}: {error}") from None
                trouble = trouble or error
                continue
            if found[-1].has_halves:
                break
        if found:
            _found[place] = next((compiler for compiler in found if compiler.has_halves), found[0])
            return _found[place]
        if trouble is not None:
            raise trouble
        raise CompilerNotFound(f"No C compiler was found (looked for clang, gcc, cc and ziglang). {_INSTALL}", _LACKING)


def trouble(variable: str = "QD_CC") -> str:
    """Why there is nothing to ask for a compiler, and what to install; "" where there is something. Runs nothing."""
    try:
        return "" if next(_commands(variable), None) is not None else f"No C compiler was found. {_INSTALL}"
    except CompilerNotFound as error:
        return str(error)


def which(name: str) -> str | None:
    """Absolute path of the executable `name`, or None."""
    folders = [""] if os.path.dirname(name) else os.environ.get("PATH", os.defpath).split(os.pathsep)
    endings = ("", ".exe") if os.name == "nt" else ("",)
    for folder in folders:
        for ending in endings:
            path = os.path.abspath(os.path.join(folder, name + ending))
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None


def _commands(variable: str) -> Iterator[tuple[str, ...]]:
    chosen = os.environ.get(variable)
    if chosen:
        whole = which(chosen)  # a path may have spaces and quotes in it
        words = [chosen] if whole else _words(variable, chosen)
        path = which(words[0]) if words else None
        if path is None:
            wrong = f"{variable} names {words[0] if words else chosen}, which is not there"
            there = next(filter(None, map(which, _USUAL)), "")
            cure = f"Set it to the path of a compiler, as in {variable}={there or '/usr/bin/gcc'}, or unset it"
            rest = "." if there else f", and install one. {_INSTALL}"
            raise CompilerNotFound(f"{wrong}. {cure}{rest}", f"{_LACKING}; {wrong}")
        yield (path, *words[1:])
        return
    for name in _USUAL:
        path = which(name)
        if path is not None:
            yield (path,)
    zig = _zig()
    if zig is not None:
        yield (zig, "cc")


def _words(variable: str, chosen: str) -> list[str]:
    import shlex

    try:
        return shlex.split(chosen)
    except ValueError as error:
        raise CompilerNotFound(
            f"{variable}={chosen} is no path of a compiler, and as a command it cannot be read ({error}). Close the "
            "quote, or write a backslash before it."
        ) from None


def _zig() -> str | None:
    """The executable inside the `ziglang` wheel: running it directly saves starting a Python for each compile."""
    for folder in sys.path:
        for name in ("zig", "zig.exe"):
            path = os.path.join(folder, "ziglang", name)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return None


def _describe(command: tuple[str, ...], store: DiskCache | None) -> Compiler:
    stamp = _stamp(command)
    kept = store.get(_key_of(stamp), ".cc") if store is not None else None
    found = _thaw(command, stamp, kept) if kept is not None else None
    if found is not None:
        return found
    found = _probe(command, stamp)
    _keep(found, store)
    return found


def _keep(compiler: Compiler, store: DiskCache | None) -> None:
    """Put the answers of a probe in the store, once a process and folder."""
    if store is None or (store.root, compiler.stamp) in _kept:
        return
    _kept.add((store.root, compiler.stamp))
    key = _key_of(compiler.stamp)
    if store.get(key, ".cc") is None:
        store.put(key, _freeze(compiler), ".cc")


@functools.cache
def own_store() -> DiskCache:
    """Where the answers of compilers are kept when no cache is in use."""
    from quadrants.config import default_cache_path
    from quadrants.toolchain.cache import DiskCache

    kernels = default_cache_path()
    root = os.path.join(os.path.dirname(kernels), "compilers") if kernels else None
    return DiskCache(root, policy="never", quiet=True)


def _stamp(command: Sequence[str]) -> str:
    """What the answers of a probe depend on: the files behind the command's words, and the CPU."""
    parts = list(command)
    for word in command:
        path = which(word)  # the words after a wrapper such as ccache name the true compiler
        if path is not None:
            real = os.path.realpath(path)
            state = os.stat(real)
            parts.append(f"{real} {state.st_mtime_ns} {state.st_size}")
    return "\n".join((*parts, _cpu_stamp()))


def _cpu_stamp() -> str:
    machine = os.uname().machine if hasattr(os, "uname") else os.environ.get("PROCESSOR_IDENTIFIER", "")
    try:
        with open("/proc/cpuinfo", "rb") as file:
            block = file.read(16384).decode(errors="replace")
        block = block.split("\n\n")[0]  # the first core; reading all of them is slow on large machines
    except OSError:
        block = ""
    telling = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU ", "isa", "uarch")
    return "\n".join([machine, *(line for line in block.splitlines() if line.startswith(telling))])


def _key_of(stamp: str) -> str:
    import hashlib

    return hashlib.sha256(b"compiler probe 1\n" + stamp.encode()).hexdigest()


def _probe(command: tuple[str, ...], stamp: str) -> Compiler:
    """One dry run (`-###`) tells version, target and the meaning of "native" at once."""
    said = ""
    for native in _native_spellings():
        status, said = _ask(command, ("-###", *native, "-x", "c", "-c", "-o", os.devnull, "-"))
        if status == 0 and "error:" not in said and not _left_alone(said, native):
            break
    else:
        native = ()
        status, said = _ask(command, ("--version",))
        if status != 0:
            raise ToolchainError(
                f"The C compiler {' '.join(command)} failed its probe: `{command[0]} --version` ended with exit status "
                f"{status} and said: {said.strip()[:400] or 'nothing'}. Repair it, or set QD_CC to another one."
            )
    lines = said.splitlines()
    version = next((line.strip() for line in lines if " version " in line), lines[0].strip() if lines else "")
    target = next((line[8:].strip() for line in lines if line.startswith("Target: ")), "")
    kind = _kind(command, said)
    return Compiler(command[0], command, kind, version, target, tuple(native), _cpu_of(lines, native), stamp)


def _left_alone(said: str, native: Sequence[str]) -> bool:
    """Whether the driver hands "native" on: one for other processors accepts it, and what it calls does not."""
    return any(word in native for line in said.splitlines() if _is_proper(line) for word in _told_words(line))


def _is_proper(line: str) -> bool:
    """Whether a line that a driver told is the command of the compiler proper."""
    return "cc1" in line and line.startswith(" ")


def _native_spellings() -> tuple[tuple[str, ...], ...]:
    machine = os.uname().machine if hasattr(os, "uname") else ""
    if machine in ("aarch64", "arm64", "armv7l", "ppc64le"):
        return (("-mcpu=native",), ("-march=native",), ())
    return (("-march=native",), ("-mcpu=native",), ())


def _kind(command: Sequence[str], said: str) -> str:
    if os.path.basename(command[0]).startswith("zig") and command[1:2] == ("cc",):
        return "zig"
    lower = said.lower()
    if "clang version" in lower:
        return "clang"
    if "gcc version" in lower or "free software foundation" in lower:
        return "gcc"
    return "other"


def _cpu_of(lines: Sequence[str], native: Sequence[str]) -> str:
    """The machine options that the driver hands to the compiler proper."""
    for line in lines:
        if not _is_proper(line):
            continue
        words = _told_words(line)
        picked = []
        for word, following in zip(words, [*words[1:], ""]):
            if word in ("-target-cpu", "-target-feature", "-tune-cpu", "--param"):
                picked.append(f"{word} {following}")
            elif word.startswith("-m") and word not in native and not word.startswith("-main"):
                picked.append(word)
        return " ".join(picked)
    return ""


def _told_words(line: str) -> list[str]:
    """The words of a command that a driver tells."""
    import shlex

    try:
        return shlex.split(line)
    except ValueError:  # it does not escape a line feed in the name of its temporary file, which comes last
        return [word.strip("\"'") for word in line.split()]


def _ask(command: Sequence[str], arguments: Sequence[str]) -> tuple[int | None, str]:
    from quadrants.toolchain import process

    env = {**os.environ, "LC_ALL": "C"}
    try:
        status, output = process.run((*command, *arguments), timeout=_PROBE_SECONDS, env=env)
    except OSError as error:
        raise ToolchainError(
            f"The C compiler {' '.join(command)} cannot be started: {error}. Set QD_CC to another one."
        ) from error
    if status is None:
        raise ToolchainError(
            f"The C compiler {' '.join(command)} did not answer `{arguments[0]}` within {_PROBE_SECONDS:.0f} s. "
            "Set QD_CC to another one."
        )
    return status, output.decode(errors="replace")


def _freeze(compiler: Compiler) -> bytes:
    return "\x1e".join(
        (compiler.kind, compiler.version, compiler.target, "\x1f".join(compiler.native), compiler.cpu)
    ).encode()


def _thaw(command: tuple[str, ...], stamp: str, kept: bytes) -> Compiler | None:
    fields = kept.decode(errors="replace").split("\x1e")
    if len(fields) != 5:
        return None
    kind, version, target, native, cpu = fields
    flags = tuple(native.split("\x1f")) if native else ()
    return Compiler(command[0], command, kind, version, target, flags, cpu, stamp)
