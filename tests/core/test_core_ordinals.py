"""Devices by their number, on a driver of NVIDIA that is not there: a library of its name with two devices."""

import os
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux, where libraries are found by their path")

# Contexts are 0x100 and 0x101; memory of a device is at its context times 2**20. Everything else only succeeds.
SOURCE = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static __thread uintptr_t stack[16];
static __thread int depth;
uintptr_t released;
int cuInit(unsigned f) { return 0; }
int cuDeviceGetCount(int *n) { *n = 2; return 0; }
int cuDeviceGet(int *device, int n) { if (n > 1) return 101; *device = n; return 0; }
int cuDeviceGetName(char *text, int size, int device) { strcpy(text, device ? "second" : "first"); return 0; }
int cuDeviceGetAttribute(int *value, int which, int device) {
    *value = which == 75 ? 9 : which == 76 ? 0 : which == 16 ? 100 + device : 1024;
    return 0;
}
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *) (0x100 + (uintptr_t) device); return 0; }
int cuCtxGetCurrent(void **context) { *context = (void *) (depth ? stack[depth - 1] : 0); return 0; }
int cuCtxPushCurrent_v2(void *context) { stack[depth++] = (uintptr_t) context; return 0; }
int cuCtxPopCurrent_v2(void **context) { *context = (void *) stack[--depth]; return 0; }
int cuMemAlloc_v2(uint64_t *address, size_t bytes) { *address = (uint64_t) stack[depth - 1] << 20; return 0; }
int cuMemFree_v2(uint64_t address) { released = stack[depth - 1]; return 0; }
int cuPointerGetAttribute(void *value, int which, uint64_t address) {
    if (address < (0x100ull << 20)) return 1;
    *(int *) value = which == 2 ? 2 : which == 8 ? address == 0x100ull << 21 : (int) (address >> 20) - 0x100;
    return 0;
}
int cuGetErrorName(int status, const char **text) { *text = "BROKEN"; return 0; }
int cuGetErrorString(int status, const char **text) { *text = "broken"; return 0; }
char calls[100];
static int call(char what) { calls[strlen(calls)] = what; return 0; }
int cuEventRecord() { return call('r'); }
int cuStreamWaitEvent() { return call('w'); }
int cuStreamDestroy_v2() { return call('d'); }
int cuStreamCreate(void **stream) { *stream = (void *) 0x200; return 0; }
#define DOES(name) int name() { return 0; }
"""
OTHERS = """cuModuleLoadData cuModuleGetFunction cuModuleUnload cuFuncSetAttribute cuLaunchKernel cuLaunchKernelEx
cuOccupancyMaxActiveBlocksPerMultiprocessor cuMemHostAlloc cuMemFreeHost cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2
cuMemcpyDtoDAsync_v2 cuMemsetD8Async cuStreamSynchronize cuEventCreate
cuEventSynchronize cuEventElapsedTime cuEventDestroy_v2 cuDriverGetVersion cuStreamIsCapturing"""

PROGRAM = """
import ctypes
from quadrants._ext import core
library = ctypes.CDLL("libcuda.so.1")
assert core.device_count("cuda") == 2
first, second = core.Device("cuda"), core.Device("cuda", 1)
assert (first.ordinal, second.ordinal) == (0, 1)
assert (first.name, second.name) == ("first", "second")
assert [d.attribute("multiprocessors") for d in (first, second)] == [100, 101]

def released(buffer):
    del buffer[0]
    return ctypes.c_size_t.in_dll(library, "released").value

here, there = core.DeviceBuffer(first, 64), core.DeviceBuffer(second, 64)
assert (here.ptr, there.ptr) == (0x100 << 20, 0x101 << 20), "each device has memory of its own"
assert [first.owner(p) for p in (here.ptr, there.ptr, 12345, 0x100 << 21)] == [0, 1, -1, -1]
held = [here], [there]
del here, there
assert [released(buffer) for buffer in held] == [0x100, 0x101], "memory goes back where it is from"
again = core.Device("cuda", 1)
assert core.DeviceBuffer(again, 64).ptr == 0x101 << 20
for number, why in ((2, "this process sees 2"), (1000, "this process sees 2"), (-1, "numbered from 0")):
    try:
        core.Device("cuda", number)
    except Exception as error:
        assert f"there is no cuda device {number}: " in str(error) and why in str(error), error
    else:
        raise AssertionError(number)
print("done")
"""

CHOICES = """
import os
import quadrants as qd
from quadrants.backends import registry

def start(variables, options):
    for name in ("QD_DEVICE", "QD_VISIBLE_DEVICE", "LOCAL_RANK"):
        os.environ.pop(name, None)
    os.environ.update(variables)
    try:
        qd.init(arch=qd.cuda, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    backend = registry.current()
    where = backend.allocate(4).ptr >> 20
    return f"{backend.device.ordinal} {backend.dlpack_device} {where - 0x100}"

for variables, options, expected in [
    ({}, {}, "0 (2, 0) 0"),
    ({}, {"device": 1}, "1 (2, 1) 1"),
    ({"QD_DEVICE": "1"}, {}, "1 (2, 1) 1"),
    ({"QD_DEVICE": "1"}, {"device": 0}, "0 (2, 0) 0"),
    ({}, {"device": 2}, "QuadrantsRuntimeError: there is no cuda device 2: this process sees 2"),
    ({}, {"device": -2}, "ValueError: device must be a number of a device"),
    ({}, {"device": "1"}, "TypeError: device must be int"),
    ({"QD_DEVICE": "x"}, {}, "ValueError: Invalid QD_DEVICE=x"),
    ({"QD_VISIBLE_DEVICE": "1"}, {}, "1 (2, 1) 1"),
    ({"QD_VISIBLE_DEVICE": "1", "QD_DEVICE": "0"}, {}, "0 (2, 0) 0"),
    ({"QD_VISIBLE_DEVICE": "1", "LOCAL_RANK": "1"}, {"device": 0}, "0 (2, 0) 0"),
    ({"QD_VISIBLE_DEVICE": "first"}, {}, "ValueError: Invalid QD_VISIBLE_DEVICE=first"),
]:
    found = start(variables, options)
    assert found.startswith(expected), (variables, options, found)
for variables, options in (({"QD_DEVICE": "0"}, {}), ({}, {"device": 0}), ({}, {"device": 1})):
    start({"LOCAL_RANK": "1", **variables}, options)
start({"LOCAL_RANK": "0"}, {})
print("done", flush=True)
start({"LOCAL_RANK": "1"}, {})
"""


STREAMS = """
import ctypes
import quadrants as qd
qd.init(arch=qd.cuda)
calls = ctypes.c_char_p(ctypes.addressof(ctypes.c_char.in_dll(ctypes.CDLL("libcuda.so.1"), "calls")))
with qd.create_stream() as stream:
    print("calls", calls.value)
print("calls", calls.value)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Variables under which programs find the library instead of a driver."""
    folder = tmp_path_factory.mktemp("driver")
    source = SOURCE + "\n".join(f"DOES({name})" for name in OTHERS.split())
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    assert compiler, "these tests need a C compiler: install gcc or clang"
    path = folder / "libcuda.so.1"
    command = [*compiler.split(), "-w", "-shared", "-fPIC", "-x", "c", "-", "-o", str(path)]
    subprocess.run(command, input=source, text=True, check=True)
    choices = ("QD_EMULATE", "QD_DEVICE", "QD_VISIBLE_DEVICE", "LOCAL_RANK")
    wanted = {k: v for k, v in os.environ.items() if k not in choices}
    return {**wanted, "LD_LIBRARY_PATH": str(folder), "QD_OFFLINE_CACHE_FILE_PATH": str(folder / "cache")}


def run(program, env):
    done = subprocess.run([sys.executable, "-c", program], env=env, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done


def test_two_devices_of_one_process(environment):
    assert run(PROGRAM, environment).stdout.splitlines()[-1] == "done"


def test_programs_choose_a_device(environment):
    """By an option or a variable; and those that run once for each device are told when they share one."""
    done = run(CHOICES, environment)
    assert "done" in done.stdout
    assert done.stderr.count("LOCAL_RANK is 1, but no device was chosen: this process shares device 0") == 1


def test_later_work_is_behind_a_stream_that_was_destroyed(environment):
    """An array that it writes is read with what it wrote, though nobody can wait for the stream any more."""
    said = run(STREAMS, environment).stdout.splitlines()
    assert [line for line in said if line.startswith("calls")] == ["calls b''", "calls b'rwd'"]
