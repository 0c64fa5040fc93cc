"""Nanoseconds per launch of a do-nothing kernel, by kind of argument. Run: python bench/micro_core.py [seconds]"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, make_dataclass
from pathlib import Path

import numpy as np

from quadrants._ext import core


def empty_kernel(folder: str) -> int:
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    path = Path(folder) / "empty.so"
    source = "void kernel(void *rt, void *args) {}"
    subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", path], input=source, text=True, check=True)
    return ctypes.cast(ctypes.CDLL(str(path)).kernel, ctypes.c_void_p).value


class Kernel(core.Launcher):
    """As the package does it: calls of a subclass go straight to the core."""


def kernel(entry: int, kinds: list, pack: list, members: tuple = (), nbytes: int = 4096) -> Kernel:
    def miss(args):
        return core.Plan(entry, bytes(nbytes), list(members), pack)

    def bind(args, kwargs):
        raise TypeError("positional arguments only")

    def slow_token(index, value):
        return core.intern_token(("type", type(value)))

    return Kernel(kinds, miss, bind, slow_token)


def ndarray(grad: bool = False) -> core.ArrayBase:
    array = core.ArrayBase()
    buffer = core.Buffer(64)
    array._bind(buffer, buffer.ptr, (4, 4), ndarray() if grad else None)
    array.token = core.intern_token(("ndarray", "f32", 2, grad))
    return array


@dataclass(frozen=True)
class Nested:
    inner: object


def structure(count: int) -> object:
    cls = make_dataclass("State", [(f"m{i}", object) for i in range(count)], frozen=True)
    return cls(*[ndarray() for _ in range(count)])


def cases(entry: int) -> dict:
    scalars = [("i32", i, 4 * i, None) for i in range(4)]
    arrays = [("array", i, 32 * i, (32 * i + 16, -1)) for i in range(16)]
    token = core.intern_token(("ndarray", "f32", 2, False))

    def members(count):
        names = [(0, (f"m{i}",), token) for i in range(count)]
        return kernel(entry, [core.TOKEN], [("array", 1 + i, 32 * i, (32 * i + 16, -1)) for i in range(count)], names)

    found = {
        "no arguments": (kernel(entry, [], [], nbytes=0), ()),
        "1 int": (kernel(entry, [core.SCALAR], scalars[:1], nbytes=16), (1,)),
        "4 ints": (kernel(entry, [core.SCALAR] * 4, scalars, nbytes=16), (1, 2, 3, 4)),
        "4 floats as f32": (
            kernel(entry, [core.SCALAR] * 4, [("f32", i, 4 * i, None) for i in range(4)], nbytes=16),
            (1.0, 2.0, 3.0, 4.0),
        ),
    }
    for count in (1, 4, 16):
        values = tuple(ndarray() for _ in range(count))
        found[f"{count} ndarrays"] = (kernel(entry, [core.ARRAY] * count, arrays[:count], nbytes=32 * count), values)
    for count in (1, 4):
        values = tuple(np.zeros((4, 4), np.float32) for _ in range(count))
        found[f"{count} numpy arrays"] = (
            kernel(entry, [core.ARRAY] * count, arrays[:count], nbytes=32 * count),
            values,
        )
    for count in (1, 10, 100):
        found[f"dataclass, {count} members"] = (members(count), (structure(count),))
    core.register_type_token(Nested, ("type", "Nested"))
    deep = [(0, ("inner", "inner", f"m{i}"), token) for i in range(100)]
    ops = [("array", 1 + i, 32 * i, (32 * i + 16, -1)) for i in range(100)]
    found["nested twice, 100 members"] = (kernel(entry, [core.TOKEN], ops, deep), (Nested(Nested(structure(100))),))
    return found


def nanoseconds(call, args, seconds: float) -> float:
    for _ in range(100):
        call(*args)
    best = float("inf")
    end = time.perf_counter() + seconds
    names = ", ".join(f"a{i}" for i in range(len(args)))
    scope: dict = {}
    exec(f"def loop(call, {names}):\n for _ in range(1000): call({names})", scope)
    while time.perf_counter() < end:
        start = time.perf_counter_ns()
        scope["loop"](call, *args)
        best = min(best, (time.perf_counter_ns() - start) / 1000)
    return best


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.3
    with tempfile.TemporaryDirectory() as folder:
        for name, (call, args) in cases(empty_kernel(folder)).items():
            print(f"{name:28s} {nanoseconds(call, args, seconds):8.0f} ns", flush=True)


if __name__ == "__main__":
    main()
