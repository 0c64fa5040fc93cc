"""The runtime of Objective-C, Metal and pyobjc, as far as they are used, on a machine that is no Mac.

`standin/` is compiled to a library that the driver opens instead of Apple's: it counts references, writes down what
happens and what is wrong with it, and does the work of command buffers. Kernels are the Metal text, by the emulator.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "standin"
_TASK = re.compile(r"\[\[kernel\b[^\n]*\]\] void\s+(\w+)\(")
_LINE = re.compile(r"(\d+):(\d+): (?:fatal )?error: (.*)")


def runs_here() -> bool:
    """Whether the stand-in can be compiled: it hands messages on as processors of that kind do it."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


@functools.cache
def library() -> ctypes.CDLL:
    """The stand-in, compiled."""
    from quadrants.toolchain import cxx

    sources = sorted(HERE.glob("*.cpp"))
    content = b"".join(path.read_bytes() for path in (*sources, *HERE.glob("*.hpp")))
    path = (
        Path(tempfile.gettempdir()) / f"quadrants-standin-{os.getuid()}-{hashlib.sha256(content).hexdigest()[:16]}.so"
    )
    if not path.exists():
        made = path.with_suffix(f".{os.getpid()}")
        command = [
            *cxx.find_compiler().command,
            "-x",
            "c++",
            "-std=c++17",
            "-O1",
            "-shared",
            "-fPIC",
            *map(str, sources),
        ]
        done = subprocess.run([*command, "-o", str(made), "-lstdc++"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        made.replace(path)
    found = ctypes.CDLL(str(path))
    found._path = str(path)
    for name in ("standin_log", "standin_complaints", "standin_alive", "standin_signatures"):
        getattr(found, name).restype = ctypes.c_char_p
    for name in ("MTLCreateSystemDefaultDevice", "standin_library", "standin_queue", "standin_other_device"):
        getattr(found, name).restype = ctypes.c_void_p
    _run_tasks_by_the_emulator(found)
    return found


def _run_tasks_by_the_emulator(found: ctypes.CDLL) -> None:
    from quadrants._ext import simt

    found.standin_runs_tasks(ctypes.c_void_p(simt.launch_address()), ctypes.c_void_p(simt.describe_address()))


class Standin:
    """What a test may ask and want of the stand-in."""

    def __init__(self) -> None:
        self.library = library()

    def log(self) -> list[str]:
        """What happened since the last call."""
        return self.library.standin_log().decode().splitlines()

    def complaints(self) -> list[str]:
        """What was wrong since the last call."""
        return self.library.standin_complaints().decode().splitlines()

    def alive(self) -> dict[str, int]:
        """Objects that somebody refers to, by class."""
        lines = self.library.standin_alive().decode().splitlines()
        return {name: int(number) for name, number in (line.rsplit(" ", 1) for line in lines)}

    def eager(self, on: bool = True) -> None:
        """Do work at once, and not only for those who wait for it."""
        self.library.standin_eager(int(on))

    def refuse(self, what: str, times: int = 1) -> None:
        """Give null next."""
        self.library.standin_refuse(what.encode(), times)

    def fail(self, code: int, after: int = 0) -> None:
        """The next command buffer, or one behind it, ends in that error."""
        self.library.standin_fail(ctypes.c_int64(code), after)

    def most_threads(self, most: int) -> None:
        """Threads of a threadgroup that pipelines have."""
        self.library.standin_most_threads(ctypes.c_uint64(most))

    def most_bytes(self, most: int) -> None:
        """Bytes that a buffer has."""
        self.library.standin_most_bytes(ctypes.c_uint64(most))

    def device(self, other: bool = False) -> int:
        """The address of the device, or of another one."""
        return self.library.standin_other_device() if other else self.library.MTLCreateSystemDefaultDevice()

    def queue(self, device: int) -> int:
        """The address of a queue of somebody else's."""
        return self.library.standin_queue(ctypes.c_void_p(device))

    def release(self, address: int) -> None:
        """Let go of one of these."""
        self.library.standin_release(ctypes.c_void_p(address))

    def back_to_normal(self) -> None:
        """Undo what a test wanted."""
        self.eager(False)
        self.fail(0)
        self.most_threads(1024)
        self.most_bytes(1 << 32)
        for what in ("queue", "event", "buffer", "commands", "pipeline", "pipeline without a reason"):
            self.refuse(what, 0)
        self.log()
        self.complaints()
        self.release(self.device())  # the only one: there for ever, once somebody asked for it


# ---------------------------------------------------------------- pyobjc


class Proxy:
    """An object of Objective-C in Python: it holds a reference."""

    def __init__(self, address: int):
        self.address = address

    def __del__(self) -> None:
        library().standin_release(ctypes.c_void_p(self.address))


class DeviceProxy(Proxy):
    families = (1007, 5001)
    title = "Stand-in GPU"

    def name(self):
        return self.title

    def registryID(self):
        return 1

    def supportsFamily_(self, family):
        return family in self.families

    def newLibraryWithSource_options_error_(self, source, options, error):
        assert error is None and options.version == 3 << 16 and options.fast is False
        if self.answer is not None:
            return self.answer
        return _compiled(source)

    answer = None  # what to give instead of a library


class Described:
    """An NSError."""

    def __init__(self, text: str):
        self.text = text

    def localizedDescription(self):
        return self.text


class CompileOptions:
    version = fast = None

    @classmethod
    def alloc(cls):
        return cls()

    def init(self):
        return self

    def setLanguageVersion_(self, version):
        self.version = version

    def setFastMathEnabled_(self, on):
        self.fast = on


_loaded: list = []  # command buffers hold their pipelines, and so hold code that the package has let go of


def _compiled(source: str):
    from quadrants._ext import simt
    from quadrants.toolchain import build, cc, cxx, errors
    from quadrants.toolchain.cache import DiskCache

    names, compiled = _TASK.findall(source), build.statistics.compiled
    kept = DiskCache(os.environ.get("QD_OFFLINE_CACHE_FILE_PATH"), 1 << 30, "lru", 0.25)
    try:
        code = build.load_simt(source, "standin", names, "metal", cc.CcOptions(False, 1), kept)
    except errors.CompileError as error:
        build.statistics.compiled = compiled
        place = _LINE.search(error.log)
        wrong = f"program_source:{place[1]}:{place[2]}: error: {place[3]}" if place else error.log
        return None, Described(f"Compilation failed: \n\n{wrong}\n")
    build.statistics.compiled = compiled  # that of the package counted this text already
    _loaded.append(code)
    made = [simt.make_function(code.address(name), cxx.lanes_of("metal"), code.cooperative, name) for name in names]
    texts = (ctypes.c_char_p * len(names))(*(name.encode() for name in names))
    tasks = (ctypes.c_void_p * len(names))(*made)
    address = library().standin_library(ctypes.c_uint64(len(names)), texts, tasks)
    return Proxy(address), None


def modules() -> dict[str, types.ModuleType]:
    """The modules that pyobjc has, as far as they are used."""
    metal, objc = types.ModuleType("Metal"), types.ModuleType("objc")
    metal.MTLCreateSystemDefaultDevice = lambda: DeviceProxy(library().MTLCreateSystemDefaultDevice())
    metal.MTLCopyAllDevices = lambda: (DeviceProxy(library().MTLCreateSystemDefaultDevice()),)
    metal.MTLCompileOptions = CompileOptions
    objc.pyobjc_id = lambda thing: thing.address
    return {"Metal": metal, "objc": objc}


def install(monkeypatch) -> Standin:
    """Put the stand-in where macOS has Metal, for as long as `monkeypatch` lives."""
    from quadrants.toolchain import metal

    made = Standin()
    monkeypatch.setattr(metal, "on_mac", lambda: True)
    monkeypatch.setattr(metal, "LIBRARIES", (made.library._path, made.library._path))
    monkeypatch.setattr(platform, "mac_ver", lambda: ("14.5", ("", "", ""), "arm64"))
    for name, module in modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    made.back_to_normal()
    return made


@pytest.fixture
def standin(monkeypatch):
    """The stand-in in place of Metal. Nothing may be left over, and nothing may have been wrong."""
    import gc

    import quadrants as qd

    if not runs_here():
        pytest.skip("needs Linux on x86-64, for which the stand-in of Metal is written")
    qd.reset()
    made = install(monkeypatch)
    gc.collect()
    before = made.alive()
    yield made
    qd.reset()
    gc.collect()
    complaints, after = made.complaints(), made.alive()
    made.back_to_normal()
    assert complaints == []
    assert after == before, f"left over: {after}, before: {before}"


@pytest.fixture
def apple(standin):
    """`apple(**options)` starts the runtime on the stand-in."""
    import quadrants as qd

    return lambda **options: qd.init(arch=qd.metal, enable_fallback=False, **options)
