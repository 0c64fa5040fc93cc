"""Kernels for devices that lack types or atomics: refused with the line, or in words that such a device has."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from harness import load, program_names
from opencl_kit import check_opencl, require_clang

import quadrants as qd
from quadrants import compile as pipeline
from quadrants.emit.dialects import c, cuda, opencl
from quadrants.errors import QuadrantsTypeError
from quadrants.examples._catalogue import names
from quadrants.examples._run import Run
from quadrants.ir.lacks import Lacks
from quadrants.ir.ops import ATOMICS

LACKS = Lacks(
    "arch opencl on Pretender 1",
    {"f64": "cl_khr_fp64"},
    {(op, t): "cl_khr_int64_base_atomics" for op in ATOMICS for t in ("i64", "u64", "f64")},
)
EXTENSIONS = ("cl_khr_fp64", "cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics")


@pytest.fixture
def lacking(monkeypatch):
    """The CPU, which compiles for OpenCL devices that lack f64 and atomics of 64 bits."""
    monkeypatch.setattr(opencl, "DIALECT", opencl.DIALECT.without(LACKS))
    yield lambda **options: qd.init(arch=qd.cpu, **options)
    qd.reset()


def refusal(kernel, *args) -> str:
    """The error of a kernel for such a device."""
    with pytest.raises(QuadrantsTypeError) as caught:
        kernel.source(*args, arch="opencl")
    assert type(caught.value) is QuadrantsTypeError and f'File "{__file__}"' in str(caught.value)
    return str(caught.value)


@qd.func
def doubled(y):
    exact = qd.cast(y, qd.f64)
    return exact * 2


@qd.kernel
def inside_of_a_func(y: qd.types.ndarray()):
    for i in y:
        y[i] = doubled(y[i])


@qd.func
def parameter_without_use(exact: qd.f64):
    pass


@qd.kernel
def in_a_parameter(y: qd.f32):
    if 1:
        parameter_without_use(y)


@qd.kernel
def argument_without_use(y: qd.types.ndarray(), z: qd.types.ndarray()):
    for i in y:
        y[i] = 1


def test_an_array_is_refused_though_nothing_reads_it(lacking):
    lacking()
    text = refusal(argument_without_use, np.zeros(3, np.int32), np.zeros(3, np.float64))
    assert "in argument_without_use:\n" in text
    assert "argument 'z' is of type f64, and arch opencl on Pretender 1 has no f64 (cl_khr_fp64). Use f32" in text


def test_a_value_is_named_with_the_lines_that_lead_to_it(lacking):
    lacking()
    text = refusal(inside_of_a_func, np.zeros(3, np.float32))
    assert "        y[i] = doubled(y[i])\n        ^" in text and "in doubled:\n    exact = qd.cast(y, qd.f64)" in text
    assert text.endswith(
        "'exact' is of type f64, and arch opencl on Pretender 1 has no f64 (cl_khr_fp64). Use f32 instead, or another "
        "arch, such as qd.cpu."
    )


@qd.kernel
def of_an_array(y: qd.types.ndarray()):
    for i in y:
        y[i] = 1


def test_arrays_and_fields_are_named(lacking):
    lacking()
    state = qd.Vector.field(3, qd.f64, shape=4)

    @qd.kernel
    def of_a_field():
        for i in state:
            state[i][0] = 1

    assert "'y' is of type f64" in refusal(of_an_array, np.zeros(3))
    assert "'state' is of type f64" in refusal(of_a_field)
    of_an_array.source(np.zeros(3, np.float32), arch="opencl")


def test_arguments_that_nothing_reads_are_refused_too(lacking):
    lacking()

    @qd.kernel
    def unread(step: qd.f64):
        pass

    text = refusal(unread, 1.0)
    assert "def unread(step: qd.f64):" in text and "argument 'step' is of type f64" in text


def test_parameters_of_functions_that_nothing_reads_are_refused_too(lacking):
    lacking()
    text = refusal(in_a_parameter, 1.0)
    assert "def parameter_without_use(exact: qd.f64):" in text and "argument 'exact' is of type f64" in text


def test_a_struct_with_such_a_member_is_refused(lacking):
    lacking()
    pair = qd.types.struct(a=qd.f32, b=qd.f64)

    @qd.kernel
    def of_a_struct(x: qd.f32) -> qd.f32:
        p = pair(x, 1.0)
        return p.a

    assert "'p' is of type struct{a: f32, b: f64}" in refusal(of_a_struct, 1.0)


def test_atomics_are_refused_where_many_threads_run(lacking):
    lacking()
    total = qd.field(qd.i64, shape=2)

    @qd.kernel
    def summed(n: qd.i32) -> qd.i64:
        found = qd.i64(0)
        for i in range(n):
            found += i
        return found

    @qd.kernel
    def counted(n: qd.i32):
        for i in range(n):
            total[i % 2] += 1

    @qd.kernel
    def by_one_thread(n: qd.i32) -> qd.i64:
        found = qd.i64(0)
        if n > 0:
            for i in range(n):
                found += i
                total[i % 2] += 1
        return found

    @qd.kernel
    def of_the_threads_own(n: qd.i32):
        for i in range(n):
            mine = qd.i64(0)
            for j in range(i):
                mine += j
            total[i] = mine

    text = refusal(summed, 4)
    assert "            found += i\n            ^" in text
    assert "'found' is changed by many threads" in text and "no atomic_add on i64 (cl_khr_int64_base_atomics)" in text
    assert "'total' is changed" in refusal(counted, 4) and "Use i32 instead" in refusal(counted, 4)
    for kernel in (by_one_thread, of_the_threads_own):
        assert "long" in kernel.source(4, arch="opencl")


def test_what_a_failed_check_tells_needs_no_f64(monkeypatch):
    monkeypatch.setattr(c, "DIALECT", c.DIALECT.without(Lacks("arch cpu", {"f64": ""})))
    qd.init(arch=qd.cpu, debug=True, offline_cache=False)

    @qd.kernel
    def checked(x: qd.f32, y: qd.f16, n: qd.i32, m: qd.u64):
        assert x < 3, f"{x} and {-y} and {n} and {m} and {0.25}"

    text = checked.source(1, 1, 1, 1)
    assert "double" not in text and "float f;" in text
    checked(1, 1, 1, 1)
    with pytest.raises(AssertionError, match=r"^5\.5\d* and -0\.125\d* and -7 and 18446744073709551615 and 0\.25"):
        checked(5.5, 0.125, -7, 2**64 - 1)


def test_a_dialect_without_types_is_made_once():
    """What is kept of templates is kept by the spelling."""
    less = opencl.DIALECT.without(LACKS)
    assert "f64" not in less.spelling.types and "f64" in opencl.DIALECT.spelling.types
    assert opencl.DIALECT.without(LACKS).spelling is less.spelling is less.without(LACKS).spelling
    assert opencl.DIALECT.without(Lacks("this one", {}, {("add", "i64"): ""})).spelling is opencl.DIALECT.spelling


def test_what_all_devices_lack_stays_lacking():
    more = Lacks("this one", {"f16": "halves"}, {("add", "i64"): ""}, 256, 1024)
    both = Lacks("all", {"f64": ""}, {}, 512).joined(more)
    assert both == ("this one", {"f64": "", "f16": "halves"}, {("add", "i64"): ""}, 256, 1024)
    assert both and not Lacks("this one")


@pytest.mark.parametrize("option", [{"default_fp": qd.f64}, {"default_ip": qd.i64}])
def test_default_types_that_a_device_lacks_are_an_error_of_init(monkeypatch, option):
    lacks = Lacks("arch cuda on Pretender 2", {"f64": "doubles", "i64": ""})
    monkeypatch.setattr(cuda, "DIALECT", cuda.DIALECT.without(lacks))
    ((name, t),) = option.items()
    told = rf"{name}=qd\.{t}: arch cuda on Pretender 2 has no {t}.*{name}=qd\.\w32"
    with pytest.raises(QuadrantsTypeError, match=told):
        qd.init(arch=qd.cuda, emulate=True, **option)
    with pytest.raises(qd.QuadrantsRuntimeError, match="no runtime"):
        qd.field(qd.f32, shape=())


@pytest.fixture
def rendered(monkeypatch):
    """(texts for such a device of the kernels that run, the names of those that are refused there)"""
    texts, refused = [], []
    compile_kernel = pipeline.compile_kernel

    def compile_and_render(kernel, args):
        plan = compile_kernel(kernel, args)
        try:
            texts.append((kernel.fn.__name__, pipeline.source_of(kernel, args, "opencl")))
        except QuadrantsTypeError as error:
            assert "arch opencl on Pretender 1 has no " in str(error)
            refused.append(kernel.fn.__name__)
        return plan

    monkeypatch.setattr(pipeline, "compile_kernel", compile_and_render)
    return texts, refused


@pytest.mark.sampled
@pytest.mark.parametrize("name", program_names())
def test_what_is_not_refused_is_in_words_of_the_device(lacking, rendered, name):
    require_clang()
    texts, refused = rendered
    program = load(name)
    lacking(**getattr(program, "INIT", {}))
    program.run(qd)
    assert texts or refused
    if texts:
        check_opencl(texts, without=EXTENSIONS)


@pytest.mark.sampled
@pytest.mark.parametrize("name", names())
def test_examples_run_there_but_for_what_says_f64(lacking, rendered, name):
    """Derivatives with stacks are among them."""
    require_clang()
    texts, refused = rendered
    lacking()
    importlib.import_module(f"quadrants.examples.{name}").main(Run(name, frames=1, picture=False))
    in_f64 = {
        "mandelbrot": ["render"], "nbody": ["total_energy"],
        "dam": ["pour", "particles_to_grid", "move_grid", "grid_to_particles"],
    }  # fmt: skip
    assert refused == in_f64.get(name, [])
    if texts:
        check_opencl(texts, without=EXTENSIONS)
