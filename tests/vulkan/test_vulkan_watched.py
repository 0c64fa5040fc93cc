"""What the driver asks of Vulkan, and what it does where Vulkan fails: in processes whose loader counts and fails."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu_only

_LAYER = Path("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json")
_KERNELS = """
@qd.kernel
def step(x: qd.types.ndarray(qd.f32, ndim=1)):
    for i in x:
        x[i] += 1
@qd.kernel
def value(x: qd.types.ndarray(qd.f32, ndim=1)) -> qd.f32:
    return x[0] + 1
"""


@pytest.mark.parametrize("staged", ["0", "1"])
def test_a_value_costs_one_submission(watched, staged):
    said = watched(
        _KERNELS
        + """
start()
x = qd.ndarray(qd.f32, (8,))
assert value(x) == 1
qd.sync()
before = counter("submissions").value
assert value(x) == 1
print(counter("submissions").value - before)
""",
        QD_VULKAN_STAGING=staged,
    )
    assert said == ["1"]


_LOOP = """
start(debug={debug})

@qd.kernel(graph=True)
def passes(x: qd.types.ndarray(qd.i32, ndim=1), left: qd.types.ndarray(qd.i32, ndim=0)):
    while qd.graph.do_while(left):
        for i in range(8):
            x[i] += i + {draw}
        for _ in range(1):
            left[None] -= 1

x, left = qd.ndarray(qd.i32, (8,)), qd.ndarray(qd.i32, ())
for count in (1, 100):
    left.fill(count)
    passes(x, left)
    x.to_numpy()
    before = counter("submissions").value
    left.fill(count)
    passes(x, left)
    x.to_numpy()
    print(counter("submissions").value - before)
print((x.to_numpy() == 202 * np.arange(8)).all())
"""


@pytest.mark.parametrize("debug", [False, True])
def test_passes_of_a_loop_go_to_the_device_together(watched, debug):
    """1, 2, 4, 8 and then 16 of them."""
    one, many, right = watched(_LOOP.format(debug=debug, draw=0))
    assert right == "True" and int(one) <= 4 and 9 <= int(many) <= 14


def test_passes_go_one_by_one_where_each_draws_numbers_of_its_own(watched):
    _, many, right = watched(_LOOP.format(debug=False, draw="0 * qd.random(qd.i32)"))
    assert right == "True" and int(many) >= 100


def test_launches_are_submitted_in_batches(watched):
    """Nobody waits: the first starts at once, and batches grow to 64."""
    said = watched(
        _KERNELS
        + """
start()
x = qd.ndarray(qd.f32, (8,))
step(x)
qd.sync()
before = counter("submissions").value
step(x)
print(counter("submissions").value - before)
for _ in range(639):
    step(x)
print(counter("submissions").value - before)
assert x.to_numpy()[0] == 641
"""
    )
    assert said[0] == "1" and 10 <= int(said[1]) <= 10 + 7


def test_memory_comes_from_few_blocks(watched):
    said = watched(
        """
start()
x = qd.ndarray(qd.f32, (8,))
x.to_numpy()
before = counter("allocations").value
for k in range(1000):
    qd.ndarray(qd.f32, (1 << 18,))
print(counter("allocations").value - before)
"""
    )
    assert int(said[0]) <= 3


def test_no_time_stamps_unless_they_are_asked_for(watched):
    said = watched(
        _KERNELS
        + """
x = None
for profiled in (False, True):
    start(kernel_profiler=profiled)
    x = qd.ndarray(qd.f32, (8,))
    step(x)
    qd.sync()
    print(counter("stamps").value)
"""
    )
    assert said == ["0", "2"]


def test_a_lost_device_is_an_error_until_the_next_init(watched):
    said = watched(
        _KERNELS
        + """
start()
x = qd.ndarray(qd.f32, (8,))
step(x)
qd.sync()
counter("lost_after").value = 0
for use in (lambda: (step(x), qd.sync()), lambda: x.to_numpy(), lambda: value(x), lambda: x.fill(2), qd.sync):
    try:
        use()
        print("nothing")
    except qd.QuadrantsRuntimeError as error:
        print(error)
start()
x = qd.ndarray(qd.f32, (8,))
step(x)
print(value(x))
"""
    )
    assert len(said) == 6 and said[-1] == "2.0"
    assert all("VK_ERROR_DEVICE_LOST" in line and "step_0" in line and "debug=True" in line for line in said[:5]), said


def test_memory_that_is_refused_once_is_asked_for_again(watched):
    """What was freed is given back first."""
    said = watched(
        """
start()
x = [qd.ndarray(qd.f32, (6 << 20,)) for _ in range(5)]
x[0].to_numpy()
del x
before = counter("allocations").value
counter("refuse_memory").value = 1
y = qd.ndarray(qd.f32, (16 << 20,))
y.fill(3)
print(y.to_numpy()[-1], counter("allocations").value - before)
counter("refuse_memory").value = 2
try:
    qd.ndarray(qd.f32, (17 << 20,))
except qd.QuadrantsRuntimeError as error:
    print(error)
counter("refuse_memory").value = 0
print(qd.ndarray(qd.f32, (17 << 20,)).to_numpy()[0])
"""
    )
    assert said[0] == "3.0 2" and said[2] == "0.0"
    assert "cannot allocate 71303168 bytes" in said[1] and "an allocation has at most" in said[1]


def test_pipelines_are_kept_on_disk_where_the_driver_has_any(watched, tmp_path):
    program = (
        _KERNELS
        + """
import sys, os
taken = ctypes.c_uint.in_dll(standin, "standin_taken")
pretended = ctypes.c_uint.in_dll(standin, "standin_cache_bytes")
pretended.value = int(os.environ["PRETENDED"])
start(offline_cache_file_path=os.environ["FOLDER"])
print(taken.value)
x = qd.ndarray(qd.f32, (8,))
step(x)
pretended.value = int(os.environ["GROWN"])
qd.reset()
found = [name for _, _, names in os.walk(os.environ["FOLDER"]) for name in names if name.endswith(".pipes")]
print(len(found))
"""
    )
    there = {"FOLDER": str(tmp_path / "cache")}
    assert watched(program, PRETENDED="0", GROWN="0", **there) == ["0", "0"]  # llvmpipe keeps a head and nothing else
    assert watched(program, PRETENDED="0", GROWN="1000", **there) == ["0", "1"]
    assert watched(program, PRETENDED="1000", GROWN="1000", **there) == ["1000", "1"]
    (file,) = (tmp_path / "cache").rglob("*.pipes")
    content = bytearray(file.read_bytes())
    content[40] ^= 1
    file.write_bytes(content)
    assert watched(program, PRETENDED="0", GROWN="0", **there) == ["0", "1"]  # a damaged one never reaches the driver


def test_devices_with_several_widths_are_asked_for_one(watched):
    program = """
for name, value in (("least", 4), ("most", 8)):
    ctypes.c_uint.in_dll(standin, "standin_" + name).value = value
start()
@qd.kernel
def lanes(x: qd.types.ndarray(qd.i32, ndim=1)):
    qd.loop_config(block_dim=32)
    for i in range(32):
        x[i] = qd.simt.subgroup.shuffle(i, qd.u32(0)) if qd.static(qd.simt.subgroup.group_size() == 8) else -1
@qd.kernel
def plain(x: qd.types.ndarray(qd.i32, ndim=1)):
    for i in x:
        x[i] += 1
x = qd.ndarray(qd.i32, (32,))
plain(x)
print(counter("sized").value, counter("full").value)
lanes(x)
print(counter("sized").value, counter("full").value)
print(x.to_numpy()[9])
"""
    assert watched(program, LP_NATIVE_VECTOR_WIDTH="256") == ["0 0", "8 1", "8"]


def test_large_copies_and_fills_are_kernels_where_that_is_faster(watched):
    said = watched(
        """
import os
start()
x = qd.ndarray(qd.u8, (4 << 20,))
small = qd.ndarray(qd.u8, (400,))
print(counter("pipelines").value)
counts = []
for moves in "01":
    os.environ["QD_VULKAN_MOVES"] = moves
    start()
    before = counter("pipelines").value
    small = qd.ndarray(qd.u8, (400,))
    counts.append(counter("pipelines").value - before)
    large = qd.ndarray(qd.u8, (4 << 20,))
    counts.append(counter("pipelines").value - before)
    assert not large.to_numpy().any()
print(counts)
"""
    )
    assert said == ["0", "[0, 0, 0, 2]"]


@pytest.mark.skipif(not _LAYER.exists(), reason="apt install vulkan-validationlayers")
def test_what_the_validation_layer_says_is_told(watched):
    said = watched(
        _KERNELS
        + """
from quadrants.runtime import vulkan
start()
x = qd.ndarray(qd.f32, (8,))
step(x)
qd.sync()
print(len(vulkan.heard))
counter("misuse").value = 1
step(x)
qd.sync()
print(len(vulkan.heard), vulkan.heard[0])
""",
        QD_VULKAN_VALIDATION="1",
    )
    assert said[0] == "0" and said[1].startswith("1 ") and "vkCreateBuffer" in said[1]
