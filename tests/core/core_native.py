"""Tiny C kernels for the tests of the launch core: compiled once, addressed through ctypes."""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
import subprocess
import tempfile
from functools import cache
from itertools import count
from pathlib import Path

from quadrants._ext import core

HEADERS = Path(core.__file__).parent
FOLDER = tempfile.TemporaryDirectory(prefix="core-tests-")
NUMBERS = count()

FAIL = """
static void fail(qd_runtime *rt, int site, int worker, int count, int64_t kinds, const qd_value *values) {
    int32_t none = 0;
    if (!__atomic_compare_exchange_n(&rt->error.flag, &none, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
    rt->error.site = site;
    rt->error.worker = worker;
    rt->error.count = count;
    rt->error.kinds = kinds;
    for (int i = 0; i < count; ++i) rt->error.values[i] = values[i];
    __atomic_store_n(&rt->error.flag, 2, __ATOMIC_RELEASE);
}
"""


@cache
def library(source: str) -> ctypes.CDLL:
    """A shared object of C source that may use `qd_abi.h`."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    assert compiler, "these tests need a C compiler: install gcc or clang"
    path = Path(FOLDER.name) / f"k{next(NUMBERS)}.so"
    command = [*compiler.split(), "-O1", "-shared", "-fPIC", "-x", "c", "-", f"-I{HEADERS}", "-o", str(path)]
    done = subprocess.run(command, input=source, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(path))


def entry(body: str, before: str = "") -> int:
    """Address of a kernel with this body; it sees `rt` and `args` (a char pointer)."""
    source = f"""#include "qd_abi.h"
#include <stdlib.h>
#include <unistd.h>
#define AT(type, offset) (*(type *) (args + (offset)))
{before}
void kernel(qd_runtime *rt, void *block) {{ char *args = block; (void) rt; (void) args; {body} }}
"""
    return ctypes.cast(library(source).kernel, ctypes.c_void_p).value


def words(*addresses: int) -> bytes:
    """Addresses as they lie in an argument block."""
    return struct.pack(f"={len(addresses)}Q", *addresses)


class Recorder:
    """A launcher over one plan (or a function of the arguments), noting misses and questions."""

    def __init__(self, kinds, plan, slow=None):
        self.misses = []
        self.asked = []
        self.plan = plan
        self.slow = slow
        self.launcher = core.Launcher(kinds, self.miss, self.bind, self.slow_token)

    def miss(self, args):
        self.misses.append(args)
        return self.plan(args) if not isinstance(self.plan, core.Plan) else self.plan

    def bind(self, args, kwargs):
        names = "abcdefgh"
        return (*args, *[kwargs[name] for name in names[len(args) :] if name in kwargs])

    def slow_token(self, index, value):
        self.asked.append((index, value))
        return self.slow(index, value) if self.slow else core.intern_token(("type", type(value)))

    def __call__(self, *args, **kwargs):
        return self.launcher(*args, **kwargs)


def make_array(shape=(4,), dtype="f32", nbytes=1024, grad=None, key=None):
    """An ArrayBase over fresh memory."""
    array = core.ArrayBase()
    memory = core.Buffer(nbytes)
    array._bind(memory, memory.ptr, shape, grad)
    array.token = core.intern_token(key or ("ndarray", dtype, len(shape), grad is not None))
    return array
