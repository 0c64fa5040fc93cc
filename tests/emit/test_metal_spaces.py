"""Every pointer of Metal text leads to the memory it says: of examples, differential programs and the whole prelude."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest
from emit_kit import rendered_in
from harness import load, program_names
from metal_kit import check_metal, problems, require_clang
from test_prelude_render import everything

import quadrants as qd
from quadrants.emit import dialects, environment, sample
from quadrants.emit.prelude import Prelude
from quadrants.emit.prelude_simt import FOLDS, SHUFFLED, SHUFFLES
from quadrants.errors import QuadrantsTypeError
from quadrants.examples._catalogue import names
from quadrants.examples._run import Run
from quadrants.ir.types import f16, f32, f64, i8, u32

pytestmark = pytest.mark.usefixtures("clang")


@pytest.fixture
def clang():
    require_clang()


@pytest.mark.sampled
@pytest.mark.parametrize("name", names())
def test_kernels_of_the_examples(name):
    with rendered_in("metal", unless=QuadrantsTypeError) as texts:
        importlib.import_module(f"quadrants.examples.{name}").main(Run(name, frames=1, picture=False))
    _check_those_that_metal_has(texts)


@pytest.mark.sampled
@pytest.mark.parametrize("name", program_names())
def test_kernels_of_the_differential_programs(name, capfd):
    program = load(name)
    qd.init(arch=qd.cpu, **getattr(program, "INIT", {}))
    with rendered_in("metal", unless=QuadrantsTypeError) as texts:
        program.run(qd)
        getattr(program, "beyond", lambda qd: None)(qd)
    _check_those_that_metal_has(texts)


def _check_those_that_metal_has(texts):
    if not texts:
        pytest.skip("every kernel of it has values of f64 or atomics of 64 bits, which Metal has not")
    check_metal(texts)


def test_one_of_everything():
    check_metal([("sample", sample.rendered("metal"))])


@qd.kernel
def folded(x: qd.types.ndarray(qd.f32, 1), total: qd.types.ndarray(qd.f32, 1)):
    for i in range(64):
        total[0] += x[i]


@pytest.fixture
def text() -> str:
    x = np.zeros(64, np.float32)
    return folded.source(x, x, arch="metal")


def test_what_is_seeded_into(text):
    assert problems(text) == []


@pytest.mark.parametrize(
    "right, wrong",
    [
        ("device float *x = args.x;", "float at; thread float *x = args.x;"),
        ("threadgroup float *parts", "device float *parts"),
        ("(device atomic_float *)p", "(threadgroup atomic_float *)p"),
        ("device float *x = args.x;", "float *x = args.x;"),
        ("x = x + other;", "x = x + other * 1.0;"),
    ],
    ids=["thread for device", "device for threadgroup", "cast to threadgroup", "no space", "double"],
)
def test_seeded_errors_are_found(text, right, wrong):
    assert right in text
    assert problems(text.replace(right, wrong))


def _shuffles(types):
    for t in types:
        for log2 in (None, 3):
            yield from (("subgroup", op, t, log2) for op in SHUFFLES)
        for how in ("add", "min", "max"):
            yield from (("subgroup", op, how, t, 4) for op in (*FOLDS, "exclusive"))


def test_all_of_the_prelude():
    prelude = Prelude(dialects.get("metal").spelling)
    together = [("subgroup", op, log2) for op in ("ballot", "all", "any") for log2 in (None, 2)]
    placed = [("block", op) for op in ("sync", "mem_fence", "thread_idx", "global_thread_idx")]
    folds = [("reduce", op, "max", t, 32) for op in ("warp", "block") for t in (f16, f32, i8, u32)]
    others = [("subgroup", "sync"), ("subgroup", "mem_fence"), ("grid", "mem_fence"), ("clock", "counter")]
    shuffled = _shuffles([t for t in SHUFFLED if t is not f64])
    for request in (*everything("metal"), *together, *placed, *folds, *others, *shuffled):
        prelude.need(*request)
    text = prelude.render(environment.environment(environment.search_path(None, ())))
    check_metal([("prelude", f"using namespace metal;\nnamespace qd_real = metal::fast;\n{text}")])


@qd.func
def filter(a, b):
    return a * b + 1.0


@qd.func
def simd_or_not(a, level):
    return a + level


@qd.kernel
def with_names_of_the_library(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in x:
        mix = filter(x[i], 2.0)
        for _ in range(3):
            mix += simd_or_not(x[i], mix)
        x[i] = mix


def test_functions_have_no_names_of_metal():
    """Metal's library has enumerations and functions of these names, which a using directive makes ambiguous."""
    qd.init(arch=qd.cpu)
    text = with_names_of_the_library.source(np.zeros(4, np.float32), arch="metal")
    code = re.sub(r"//.*", "", text.split("using namespace metal;")[1])
    assert not re.search(r"(?<!\w)(filter|simd_or_not|mix|level)(?!\w)", code)
    check_metal([("names", text)])
