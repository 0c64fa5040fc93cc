"""The CUDA text of loops, reductions, checks, random numbers and results."""

from __future__ import annotations

import re

import cuda_shapes
import numpy as np
import pytest
from emit_kit import compile_cuda, require_nvrtc

import quadrants as qd
from quadrants.emit import dialects, sample
from quadrants.emit.render import render
from quadrants.launch.recipe import ERROR_SIZE


def text_of(kernel, *args) -> str:
    return kernel.source(*args, arch="cuda")


def floats(n: int = 8):
    return np.zeros(n, np.float32)


def section(text: str, start: str) -> str:
    """From the line that holds `start` to the end of the function or struct."""
    return re.split(r"\n\};?\n", text[text.index(start) :])[0]


def test_user_names_that_cuda_has_itself():
    require_nvrtc()
    compile_cuda([("shadows", text_of(cuda_shapes.shadows, 3, 1.0, 2.0, 3.0))])


def test_bounds_are_read_on_the_device():
    require_nvrtc()
    text = text_of(cuda_shapes.bounds, 3, 4, floats())
    compile_cuda([("bounds", text)])
    assert "const int32_t x_shape0 = args.x_shape[0];" in section(text, "bounds_2")
    # Bounds keep their meaning inside the arithmetic of the skeleton.
    first = section(text, "bounds_0")
    assert "(n | 8) - (n & 7)" in first and "const int32_t i = (n & 7) + (int32_t)qd_p;" in first
    # Iterations of one axis are as many as 32 bits count; of several axes there may be more.
    assert "const uint32_t qd_p = qd_first + 128 * qd_k;" in first
    second = section(text, "bounds_1_range_for(")
    assert "const uint64_t qd_first = (uint64_t)blockIdx.x" in second and "qd_take_axis(&qd_rest, 4)" in second


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 4)])
def test_iterations_of_any_rank(shape):
    require_nvrtc()
    kernel, x = cuda_shapes.scalar, qd.field(qd.f32, shape=shape)
    if len(shape) == 1:
        text = text_of(kernel, x)
        compile_cuda([("scalar", text)])
        task = section(text, "scalar_0_struct_for(")
        assert "const int32_t i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= 5) return;" in task
        # What continues leaves: there is no loop.
        assert "return;" in task.split("[i] > 1.0f")[1] and "continue" not in task
        return

    @qd.kernel
    def grouped(x: qd.template()):
        for at in qd.grouped(x):
            if x[at] > 1:
                continue
            x[at] += 1

    text = text_of(grouped, x)
    compile_cuda([("grouped", text)])
    count = int(np.prod(shape))
    task = section(text, "grouped_0_struct_for(")
    if count > 1:
        assert f"if (qd_p >= {count}) return;" in task and "uint64_t" not in task
    else:
        assert "__launch_bounds__(1)" in text


def test_every_thread_adds_its_part_once():
    require_nvrtc()
    text = text_of(cuda_shapes.reductions, floats(), floats(1), np.zeros(1, np.int32))
    compile_cuda([("reductions", text)])
    loop = section(text, "reductions_1_range_for")
    assert "qd_atomic" not in loop.split("__shared__")[0]
    # Parts of the warps first, one barrier for all, then one thread of a block.
    together = section(text, "    __shared__")
    order = re.findall("__shared__|qd_warp_|__syncthreads|threadIdx.x == 0|qd_block_|qd_atomic_", together)
    assert order == 3 * ["__shared__"] + 3 * ["qd_warp_"] + ["__syncthreads", "threadIdx.x == 0"] + 3 * [
        "qd_block_"
    ] + 3 * ["qd_atomic_"]


def test_blocks_that_a_multiprocessor_shall_hold():
    require_nvrtc()
    text = text_of(cuda_shapes.crowded, floats(), 8)
    assert re.findall(r"__launch_bounds__\((.*)\)", text) == ["512, 2", "64, 2", "128"]
    compile_cuda([("crowded", text)])


def test_results_are_in_the_frame_and_random_numbers_come_with_the_arguments():
    text = sample.rendered("cuda")
    assert "frame->result0 = frame->total;" in text
    assert "uint64_t qd_seed;" in section(text, "struct qd_args_sample")
    assert "qd_error error;" in section(text, "struct qd_frame_sample")


def test_tasks_after_a_failure_do_nothing():
    text = sample.rendered("cuda")
    skip = "if (frame->error.flag) return;"
    assert skip not in section(text, "sample_1_range_for(") and skip in section(text, "sample_2_serial(")


def test_layouts_describe_the_text():
    rendered = render(sample.module(), dialects.get("cuda"), {"debug": True})
    assert rendered.layout.results == [] and rendered.layout.seed % 8 == 0
    assert rendered.layout.size == rendered.layout.seed + 16
    assert rendered.frame.error == 0 and rendered.frame.results[0][1] == ERROR_SIZE
    assert rendered.frame.size == ERROR_SIZE + 8
    kinds = [(launch.kind, launch.form, launch.block_dim) for launch in rendered.launches]
    assert kinds == [("serial", "serial", 1), ("range_for", "flat", 128), ("serial", "serial", 1)]


def test_a_kernel_without_needs_has_no_failure_record_or_seed(monkeypatch):
    seen = []

    def watched(*args, **options):
        seen.append(render(*args, **options))
        return seen[-1]

    monkeypatch.setattr("quadrants.emit.render.render", watched)
    text_of(cuda_shapes.reductions, floats(), floats(1), np.zeros(1, np.int32))
    assert seen[0].layout.seed == -1 and seen[0].frame.error == -1 and seen[0].frame.results[0][1] == 0


@pytest.mark.parametrize("arch", ["fortran", "python", qd.python])
def test_an_arch_without_a_text_names_those_that_have_one(arch):
    with pytest.raises(ValueError, match="for arch '.*; there is one for cpu, cuda, amdgpu, metal, vulkan, opencl"):
        cuda_shapes.scalar.source(qd.field(qd.f32, shape=3), arch=arch)


@pytest.mark.parametrize("arch", [qd.gpu, 3, 1.5])
def test_what_is_no_arch_is_refused(arch):
    with pytest.raises(TypeError, match="arch must be one arch, such as qd.cuda, or the name of one, not "):
        cuda_shapes.scalar.source(qd.field(qd.f32, shape=3), arch=arch)


@qd.kernel
def of_numbers(n: qd.i32, x: qd.f32, flag: qd.u1) -> qd.f32:
    return n * x if flag else 0.0


def test_numbers_are_refused_as_calls_refuse_them():
    qd.init(arch=qd.cpu)
    for args in ((1, 2.5, True), (np.int64(1), 2, np.bool_(True)), (True, np.float32(2), 1)):
        assert "float" in of_numbers.source(*args)
        of_numbers(*args)
    for args in (("a", 2.5, True), (1.5, 2.5, True), (1, "a", True), (1, None, True), (np.float32(1), 2.5, True)):
        told = []
        for used in (of_numbers, of_numbers.source):
            with pytest.raises(qd.QuadrantsRuntimeTypeError) as caught:
                used(*args)
            told.append(str(caught.value).splitlines()[0])
        assert told[0] == told[1]


def test_no_array_is_taken_for_read_only():
    """A function and its caller use one array. NVRTC reads it through a cache that no write reaches, and so gets old
    values, as soon as any pointer is declared `restrict`."""
    x, other = qd.field(qd.i32, (8,)), qd.field(qd.f32, (8,))

    @qd.func
    def add_to(i: qd.i32) -> qd.i32:
        x[0] += x[1] + qd.cast(other[i], qd.i32)
        return x[2]

    @qd.kernel
    def run():
        for i in range(1):
            first = add_to(i)
            x[1] += 8
            second = add_to(i)
            x[3] = first + second

    require_nvrtc()
    from quadrants.toolchain import nvrtc

    text = text_of(run)
    assert "restrict" not in text
    assert b".nc." not in nvrtc.compile(text, "run", "compute_90", nvrtc.flags({"fast_math": True}))


def test_only_what_a_task_reads_and_no_function_uses_is_restrict():
    x, y, z = (qd.field(qd.f32, (8,)) for _ in range(3))

    @qd.kernel
    def run():
        for i in x:
            y[i] = x[i]
            y[0] += x[i]
        for i in y:
            x[i] = y[i] + z[i]

    text = text_of(run)
    first, second = section(text, "run_0_struct_for("), section(text, "run_1_struct_for(")
    assert "*__restrict__ x" in first and "*y" in first and first.count("restrict") == 1
    assert "*__restrict__ y" in second and "*__restrict__ z" in second and second.count("restrict") == 2


def test_the_instruction_of_a_cast_waits_for_no_choice():
    """Else loads at places that were cast are under way by fives where they were by nines."""

    @qd.kernel
    def place(x: qd.types.ndarray(dtype=qd.f32, ndim=1), y: qd.types.ndarray(dtype=qd.f64, ndim=1)):
        for i in x:
            x[qd.cast(x[i], qd.i32)] = y[qd.cast(y[i], qd.i64)]

    text = place.source(qd.ndarray(qd.f32, 4), qd.ndarray(qd.f64, 4), arch="cuda")
    assert "const int32_t found = __float2int_rz(x);" in text
    assert "const int64_t found = __double2ll_rz(x);" in text
