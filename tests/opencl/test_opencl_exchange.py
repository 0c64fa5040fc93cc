"""Arrays and queues of pyopencl: with and without a copy, and in the order of the work of both packages."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

import quadrants as qd
from quadrants import profiler
from quadrants._ext.core import live_buffers
from quadrants.data import external
from quadrants.errors import QuadrantsRuntimeError
from quadrants.toolchain import opencl as compiler

pytestmark = pytest.mark.cpu_only
cl = pytest.importorskip("pyopencl", reason="needs pyopencl: pip install pyopencl")
from arrays_of_others import ROUNDS, SLOW, noting, shared  # noqa: E402
from pyopencl import array as cl_array  # noqa: E402
from pyopencl.tools import SVMAllocator, SVMPool  # noqa: E402


@qd.kernel
def halve(x: qd.types.ndarray(ndim=1)):
    for i in x:
        x[i] /= 2


@qd.kernel
def total(x: qd.types.ndarray(), n: qd.i32) -> qd.f32:
    found = 0.0
    for i in range(n):
        found += x[i]
    return found


@dataclass
class State:
    x: qd.types.ndarray(dtype=qd.i32, ndim=1)


@qd.kernel
def step(state: State):
    for i in state.x:
        state.x[i] += 1


@pytest.fixture
def taken(opencl, queue):
    """A runtime in the context of `queue`, with launches in that queue."""
    opencl(external_opencl_command_queue=queue.int_ptr)
    return queue


def addresses(monkeypatch) -> list:
    """Receives the addresses that launches pass for arrays of other packages."""
    seen: list = []
    describe = external.describe_external

    def described(*args, **options):
        made = describe(*args, **options)
        seen.append(made.pointer)
        return made

    monkeypatch.setattr(external, "describe_external", described)
    return seen


def allocators(queue) -> dict:
    plain = SVMAllocator(queue.context, queue=queue)
    return {"allocation": plain, "pool": SVMPool(plain), "without a queue": SVMAllocator(queue.context)}


@pytest.mark.parametrize("kind", ["allocation", "pool", "without a queue"])
@pytest.mark.filterwarnings("ignore:Array has different queue")
def test_shared_memory_is_passed_by_its_address(taken, monkeypatch, kind):
    seen = addresses(monkeypatch)
    x = shared(taken, np.arange(1000, dtype=np.float32), allocators(taken)[kind])
    halve(x)
    assert seen == [x.base_data.svm_ptr]
    assert (x.get() == np.arange(1000, dtype=np.float32) / 2).all()
    part = x[100:200]
    halve(part)
    assert seen[1] == x.base_data.svm_ptr + 400
    expected = np.arange(1000, dtype=np.float32) / 2
    expected[100:200] /= 2
    assert (x.get() == expected).all()


def test_memory_that_wraps_an_array_of_numpy_is_passed_by_its_address(taken, monkeypatch):
    seen = addresses(monkeypatch)
    host = cl.csvm_empty(taken.context, 8, np.int32)
    x = cl_array.Array(taken, (8,), np.int32, data=cl.SVM(host))
    x.set(np.arange(8, dtype=np.int32) * 10)
    halve(x)
    assert seen == [x.base_data.svm_ptr] and x.get().tolist() == [k * 5 for k in range(8)]


def test_the_driver_is_told_of_the_memory_while_a_launch_uses_it(taken, monkeypatch):
    from quadrants._ext import opencl as native

    told: list = []

    class Noted(native.Borrowed):
        def __init__(self, device, opened, address):
            told.append(address)

        def __del__(self):
            told.append(-self.address)

    monkeypatch.setattr(native, "Borrowed", Noted)
    x = shared(taken, np.ones(4, np.float32))
    halve(x)
    assert told == [x.base_data.svm_ptr, -x.base_data.svm_ptr]
    y = shared(taken, np.ones(4, np.float32))
    y.queue = None
    with pytest.raises(ValueError, match=r"Argument x is an array of pyopencl without a queue.*x\.with_queue\(queue\)"):
        halve(y)
    assert len(told) == 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8, np.int16, np.bool_])
@pytest.mark.parametrize("memory", ["buffer", "shared"])
def test_dtypes(taken, memory, dtype):
    values = np.array([0, 1, 0, 1, 1]).astype(dtype)
    x = shared(taken, values) if memory == "shared" else cl_array.to_device(taken, values)

    @qd.kernel
    def turn(a: qd.types.ndarray(ndim=1)):
        for i in a:
            a[i] = 1 - a[i]

    turn(x)
    assert x.dtype == values.dtype and x.get().tolist() == (1 - values.astype(np.int8)).tolist()


def test_buffers_are_copied_and_copied_back_where_they_are_written(taken, monkeypatch):
    x = cl_array.to_device(taken, np.arange(100, dtype=np.float32))
    stored: list = []
    monkeypatch.setattr(cl_array.Array, "set", noting(cl_array.Array.set, stored))
    assert total(x, 100) == 4950 and not stored
    halve(x)
    assert stored == [x] and (x.get() == np.arange(100, dtype=np.float32) / 2).all()
    part = x[10:20]
    halve(part)
    expected = np.arange(100, dtype=np.float32) / 2
    expected[10:20] /= 2
    assert (x.get() == expected).all()


@pytest.mark.parametrize("memory", ["buffer", "shared"])
def test_arrays_of_another_context_are_copied(opencl, queue, memory):
    opencl()  # in a context of its own
    values = np.arange(100, dtype=np.float32)
    x = shared(queue, values) if memory == "shared" else cl_array.to_device(queue, values)
    halve(x)
    assert (x.get() == values / 2).all()
    assert total(x, 100) == values.sum() / 2


@pytest.mark.parametrize("part", [slice(0, 40), slice(50, None), slice(20, 60), slice(None)], ids=str)
@pytest.mark.parametrize("kind", ["allocation", "pool", "without a queue"])
@pytest.mark.parametrize("arch", ["own context", "cpu"])
@pytest.mark.filterwarnings("ignore:Array has different queue")
def test_a_part_of_shared_memory_of_another_context(opencl, queue, arch, kind, part):
    qd.init(arch=qd.cpu) if arch == "cpu" else opencl()
    x = shared(queue, np.arange(100, dtype=np.float32), allocators(queue)[kind])
    halve(x[part])
    expected = np.arange(100, dtype=np.float32)
    expected[part] /= 2
    assert (x.get() == expected).all()
    qd.reset()


def test_a_part_of_memory_that_wraps_an_array_of_numpy_in_another_context(opencl, queue):
    opencl()  # in a context of its own
    host = cl.csvm_empty(queue.context, 8, np.int32)
    x = cl_array.Array(queue, (8,), np.int32, data=cl.SVM(host))
    x.set(np.arange(8, dtype=np.int32) * 10)
    halve(x[:4])
    halve(x[6:])
    assert x.get().tolist() == [0, 5, 10, 15, 40, 50, 30, 35]


def test_the_cpu_takes_them_as_copies(queue):
    qd.init(arch=qd.cpu)
    for x in (cl_array.to_device(queue, np.ones(9, np.float32)), shared(queue, np.ones(9, np.float32))):
        halve(x)
        assert total(x, 9) == 4.5 and x.get().sum() == 4.5
    qd.reset()


@pytest.mark.parametrize("memory", ["buffer", "shared"])
def test_one_specialisation_serves_arrays_of_all_packages(taken, memory):
    values = np.arange(6, dtype=np.float32)
    halve(values.copy())
    before = len(halve._primal.materialized_kernels)
    x = shared(taken, values) if memory == "shared" else cl_array.to_device(taken, values)
    halve(x)
    host = values.copy()
    halve(host)
    assert (x.get() == host).all() and len(halve._primal.materialized_kernels) == before


def test_matrices_members_and_empty_arrays(taken):
    @qd.kernel
    def scaled(x: qd.types.ndarray(dtype=qd.types.vector(3, qd.f32), ndim=1), a: qd.f32):
        for i in x:
            x[i] *= a

    x = shared(taken, np.ones((4, 3), np.float32))
    scaled(x, 2.5)
    assert (x.get() == 2.5).all()
    for y in (shared(taken, np.zeros(5, np.int32)), cl_array.to_device(taken, np.zeros(5, np.int32))):
        state = State(y)
        step(state)
        step(state)
        assert y.get().tolist() == [2] * 5
    halve(cl_array.zeros(taken, 0, np.float32))


def test_what_cannot_be_passed_is_refused(taken):
    fortran = cl_array.zeros(taken, (3, 4), np.float32, order="F")
    with pytest.raises(ValueError, match="Non contiguous arrays are not supported, please make a C-contiguous copy"):
        total(fortran, 1)
    with pytest.raises(TypeError, match="complex64, which kernels do not know; convert it"):
        total(cl_array.zeros(taken, 4, np.complex64), 1)
    for bare in (cl.Buffer(taken.context, cl.mem_flags.READ_WRITE, 16), cl.SVMAllocation(taken.context, 16, 0, 0)):
        with pytest.raises(TypeError, match=r"pass pyopencl\.array\.Array\(queue, shape, dtype, data=x\)"):
            total(bare, 1)
    x = cl_array.zeros(taken, 4, np.float32)

    @qd.kernel
    def captured() -> qd.f32:
        return x[0]

    with pytest.raises(qd.QuadrantsCompilationError, match="pass it as an argument"):
        captured()


@pytest.mark.filterwarnings("ignore:Array has different queue")
@pytest.mark.parametrize("place", ["in the queue of launches", "in another", "in another out of order"])
def test_work_of_both_is_in_order(opencl, queue, place):
    """Kernels of the user's that take long."""
    opencl(external_opencl_command_queue=queue.int_ptr)
    flags = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE if place.endswith("out of order") else 0
    theirs = queue if place == "in the queue of launches" else cl.CommandQueue(queue.context, properties=flags)
    fill = cl.Program(queue.context, SLOW).build().fill_late
    x = shared(theirs, np.zeros(1, np.float32), SVMAllocator(queue.context, queue=queue))
    halve(x)
    x.finish()
    started = fill(theirs, (1,), None, x.base_data, np.float32(8), np.int32(ROUNDS))
    assert started.command_execution_status != cl.command_execution_status.COMPLETE, "more rounds: it ended too soon"
    halve(x)
    added = x + 1  # pyopencl's, behind ours
    assert added.get().tolist() == [5.0]
    elsewhere = x.with_queue(cl.CommandQueue(queue.context))  # which knows of the launch by its events alone
    fill(theirs, (1,), None, x.base_data, np.float32(32), np.int32(ROUNDS))
    halve(x)
    assert elsewhere is not x and x.with_queue(elsewhere.queue).get().tolist() == [16.0]


def test_work_of_other_queues_that_the_array_knows_of_comes_first(taken):
    other = cl.CommandQueue(taken.context)
    fill = cl.Program(taken.context, SLOW).build().fill_late
    x = shared(taken, np.zeros(1, np.float32))
    x.finish()
    x.add_event(fill(other, (1,), None, x.base_data, np.float32(8), np.int32(ROUNDS)))
    halve(x)
    assert x.get().tolist() == [4.0]


@pytest.mark.filterwarnings("ignore:Array has different queue")
def test_a_launch_that_is_under_way_keeps_memory_that_is_freed(taken):
    """Freed without a queue: only the launch itself can be waited for."""

    @qd.kernel
    def late(a: qd.types.ndarray(ndim=1), out: qd.types.ndarray(ndim=1), rounds: qd.i32):
        for i in a:
            y = a[i]
            for k in range(rounds):
                y = y * 1.0000001 + 1e-7
            a[i] = y
            out[i] = a[i]

    out = qd.ndarray(qd.f32, 1)
    x = shared(taken, np.ones(1, np.float32), SVMAllocator(taken.context))
    late(x, out, 10)
    late(x, out, ROUNDS)
    x.base_data.release()
    assert out[0] > 1


def test_all_is_in_the_context_of_the_queue(taken):
    from quadrants.backends import registry

    backend = registry.current()
    assert backend.context == taken.context and backend.default_stream == taken.int_ptr
    x = qd.field(qd.f32, shape=1000)
    x.fill(3)

    @qd.kernel
    def double():
        for i in x:
            x[i] *= 2

    double()
    assert x.to_numpy().sum() == 6000
    stream = qd.create_stream()
    double(qd_stream=stream)
    qd.sync()
    assert x[7] == 12
    opened = live_buffers()
    qd.reset()
    assert live_buffers() <= opened and compiler.context(backend.place) != taken.context
    assert cl_array.zeros(taken, 4, np.float32).get().sum() == 0  # the queue outlives the runtime


def test_queues_that_are_not_taken_over(opencl, queue):
    flags = cl.command_queue_properties
    out_of_order = cl.CommandQueue(queue.context, properties=flags.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    with pytest.raises(QuadrantsRuntimeError, match="is a queue out of order, .*give one that is in order"):
        opencl(external_opencl_command_queue=out_of_order.int_ptr)
    with pytest.raises(QuadrantsRuntimeError, match="no times, which kernel_profiler=True needs.*PROFILING_ENABLE"):
        opencl(external_opencl_command_queue=queue.int_ptr, kernel_profiler=True)
    timed = cl.CommandQueue(queue.context, properties=flags.PROFILING_ENABLE)
    opencl(external_opencl_command_queue=timed.int_ptr, kernel_profiler=True)
    halve(np.ones(4, np.float32))
    qd.sync()
    assert profiler.query_kernel_profiler_info("halve_0_struct_for").counter == 1


@pytest.mark.parametrize("kind", ["context", "device", "memory", "no object", "nothing", "beyond addresses"])
def test_what_is_no_queue_is_refused(opencl, queue, kind):
    memory = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 64)
    address = {
        "context": queue.context.int_ptr, "device": queue.device.int_ptr, "memory": memory.int_ptr,
        "no object": id(queue), "nothing": 4096, "beyond addresses": 1 << 63,
    }[kind]  # fmt: skip
    if not sys.platform.startswith("linux") and kind not in ("context", "device", "memory"):
        pytest.skip("needs Linux, which tells what is at an address")
    with pytest.raises(QuadrantsRuntimeError, match="external_opencl_command_queue: there is no cl_command_queue at"):
        opencl(external_opencl_command_queue=address)
    opencl(external_opencl_command_queue=queue.int_ptr)
    x = np.ones(4, np.float32)
    halve(x)
    assert (x == 0.5).all()


SEVERAL = """
import numpy as np
import pyopencl as cl
import pyopencl.array
from pyopencl.tools import SVMAllocator
import quadrants as qd
from quadrants.backends import registry
from quadrants.toolchain import opencl

@qd.kernel
def total(x: qd.types.ndarray(ndim=1)) -> qd.f32:
    found = 0.0
    for i in x:
        found += x[i]
    return found

@qd.kernel
def count(x: qd.types.ndarray(qd.i32, ndim=1)):
    for i in x:
        x[i] += i

devices = [one.device for one in opencl.devices()]
context = cl.Context(devices)
for device in devices:
    queue = cl.CommandQueue(context, device)
    qd.init(arch=qd.opencl, external_opencl_command_queue=queue.int_ptr, enable_fallback=False)
    assert total(np.arange(10, dtype=np.float32)) == 45
    assert registry.current().arch.split(", ")[1] == device.name
    # Drivers may take events of another device for done, so that its queue would read too early, or wait for ever.
    other = cl.CommandQueue(context, next(one for one in devices if one != device))
    x = cl.array.to_device(other, np.zeros(70000, np.int32), allocator=SVMAllocator(context, queue=other))
    for _ in range(3):
        count(x)
    assert (x.get() == 3 * np.arange(70000)).all()
assert len(devices) == 2
"""


NUMBERED = """
import os
import numpy as np
import pyopencl as cl
import quadrants as qd
from quadrants.backends import registry
from quadrants.toolchain import opencl

@qd.kernel
def halve(x: qd.types.ndarray(ndim=1)):
    for i in x:
        x[i] /= 2

def taken(**options):
    qd.init(arch=qd.opencl, enable_fallback=False, offline_cache=False, **options)
    x = np.ones(4, np.float32)
    halve(x)
    assert (x == 0.5).all()
    backend = registry.current()
    assert backend.context.devices == [opencl.devices()[int(backend.place[2:])].device]
    return backend.place

for number in (1, 0, 1):
    assert taken(device=number) == f"0:{number}"
os.environ["QD_VISIBLE_DEVICE"] = "1"
assert taken() == "0:1" and taken(device=0) == "0:0"
os.environ["QD_OPENCL_DEVICE"] = "0:0"
assert taken() == "0:0" and taken(device=1) == "0:1"
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "program, devices",
    [(SEVERAL, "basic pthread"), (NUMBERED, "basic pthread"), (NUMBERED, "pthread pthread")],
    ids=["in a context", "by number", "alike"],
)
def test_several_devices(opencl, tmp_path, program, devices):
    if "pocl" not in compiler.chosen().device.version.lower():
        pytest.skip("needs PoCL, which makes several devices of one processor: apt install pocl-opencl-icd")
    file = tmp_path / "program.py"
    file.write_text(program)
    environment = {**os.environ, "POCL_DEVICES": devices}
    for variable in ("QD_DEVICE", "QD_VISIBLE_DEVICE", "QD_OPENCL_DEVICE"):
        environment.pop(variable, None)
    done = subprocess.run(
        [sys.executable, file], env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


PROGRAM = """
import sys
import numpy as np
import quadrants as qd

qd.init(arch=qd.cpu)

@qd.kernel
def halve(x: qd.types.ndarray(ndim=1)):
    for i in x:
        x[i] /= 2

halve(np.ones(3))
try:
    halve(object())
except TypeError:
    pass
assert not [name for name in sys.modules if name.startswith("pyopencl")]
"""


def test_nobody_imports_pyopencl_for_programs_that_do_not(tmp_path):
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
