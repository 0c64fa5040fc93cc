"""torch tensors as arguments: the launch core passes those that kernels reach, and Python the others."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import os
import sys

import numpy as np
import pytest
from torch_kit import Function, Tensor, torch

import quadrants as qd
from quadrants.calls.tokens import external_token
from quadrants.data import external
from quadrants.errors import QuadrantsRuntimeTypeError


@qd.kernel
def double(a: qd.types.ndarray()):
    for I in qd.grouped(a):
        a[I] += a[I]


@qd.kernel
def clear(a: qd.types.ndarray()):
    for i in range(a.shape[0]):
        a[i] = False


@qd.kernel
def typed(a: qd.types.ndarray(dtype=qd.f32, ndim=1), b: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in range(a.shape[0]):
        a[i] += b[i]


@qd.kernel
def lift(v: qd.types.ndarray(dtype=qd.math.vec3, ndim=1)):
    for i in range(v.shape[0]):
        v[i] += qd.Vector([1.0, 2.0, 3.0])


@dataclasses.dataclass
class Pair:
    x: qd.types.ndarray(dtype=qd.f32, ndim=1)
    v: qd.types.ndarray(dtype=qd.math.vec3, ndim=1)


@qd.kernel
def add_pair(p: Pair):
    for i in range(p.x.shape[0]):
        p.x[i] += p.v[i][2]


@pytest.fixture
def python(monkeypatch):
    """Which values Python was asked for a token, and which it packed."""
    asked: dict = {"token": [], "pack": []}
    token, describe = external.token, external.describe_external
    monkeypatch.setattr(external, "token", lambda x, *a: asked["token"].append(x) or token(x, *a))
    monkeypatch.setattr(external, "describe_external", lambda x, *a: asked["pack"].append(x) or describe(x, *a))
    return asked


def copied(arch) -> bool:
    """Whether kernels of the arch see other memory than tensors of the host have."""
    return arch.name != "x64" and arch.name != "arm64"


HAS_INTERFACE = hasattr(torch.Tensor, "__dlpack_c_exchange_api__")
needs_interface = pytest.mark.skipif(not HAS_INTERFACE, reason="needs torch >= 2.10")


@needs_interface
def test_launches_do_not_ask_python(arch, python):
    a, b = torch.ones(4), torch.arange(4.0)
    typed(a, b)
    python["token"].clear()
    python["pack"].clear()
    for _ in range(3):
        typed(a, b)
    assert a.tolist() == [1, 5, 9, 13] and python["token"] == []
    assert len(python["pack"]) == (6 if copied(arch) else 0)


def test_numpy_and_torch_are_one_specialisation(arch):
    before = len(double)
    first, second, third = torch.ones(2, 2), np.ones((2, 2), np.float32), np.ones((2, 2), np.float32, order="F")
    for array in (first, second, third, first):
        double(array)
    assert len(double) == before + 1 and first.tolist() == [[4, 4], [4, 4]]
    assert (second == 2).all() and (third == 2).all()


def test_small_empty_and_parts(arch):
    whole = torch.arange(6, dtype=torch.int32)
    for tensor in (torch.tensor(3.0), torch.zeros(0, 3), torch.zeros(0), torch.ones(4, 1).T, whole[2:5]):
        expected = (tensor + tensor).tolist()
        double(tensor)
        assert tensor.tolist() == expected
    assert whole.tolist() == [0, 1, 4, 6, 8, 5]


@pytest.mark.parametrize(
    "name", "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64".split()
)
def test_dtypes(arch, name):
    tensor = torch.ones(3, dtype=getattr(torch, name))
    same = external_token(tensor) == external_token(np.ones(3, name))
    assert same
    if name == "bool":
        clear(tensor)
        assert tensor.tolist() == [False] * 3
    else:
        double(tensor)
        assert tensor.tolist() == [2] * 3


def test_a_tensor_of_negated_memory_is_one_where_it_is_passed_twice(arch):
    @qd.kernel
    def add_then_scale(a: qd.types.ndarray(dtype=qd.f32, ndim=1), b: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in a:
            a[i] += 1
        for i in b:
            b[i] *= 10

    tensor = torch._neg_view(torch.ones(4))
    add_then_scale(tensor, tensor)
    assert tensor.tolist() == [0] * 4
    add_then_scale(tensor, tensor)
    assert tensor.tolist() == [10] * 4


REFUSED = {
    "columns": (lambda: torch.ones(2, 3).T, ValueError, "Non contiguous tensors"),
    "every second": (lambda: torch.ones(6)[::2], ValueError, "Non contiguous tensors"),
    "expanded": (lambda: torch.ones(1).expand(3), ValueError, "Non contiguous tensors"),
    "sparse": (lambda: torch.eye(3).to_sparse(), ValueError, "Non contiguous tensors"),
    "bfloat16": (lambda: torch.ones(3, dtype=torch.bfloat16), QuadrantsRuntimeTypeError, "has dtype bfloat16"),
    "conjugate": (lambda: torch.ones(3, dtype=torch.complex64).conj(), QuadrantsRuntimeTypeError, "dtype complex64"),
    "float8": (lambda: torch.ones(3).to(torch.float8_e5m2), QuadrantsRuntimeTypeError, "has dtype float8_e5m2"),
    "meta": (lambda: torch.ones(3, device="meta"), NotImplementedError, "no data"),
    "without memory": (lambda: torch._efficientzerotensor(3), TypeError, "without memory"),
}


@pytest.mark.parametrize("make, kind, text", REFUSED.values(), ids=REFUSED)
def test_refused(arch, make, kind, text):
    for before in (torch.ones(3), torch.ones(2, 3)):
        double(before)  # a plan that the tensor must not slip into
    for _ in range(2):
        with pytest.raises(kind, match=text):
            double(make())


def test_fake_tensors(arch):
    modes = pytest.importorskip("torch._subclasses.fake_tensor")
    with modes.FakeTensorMode():
        fake = torch.ones(3)
    double(torch.ones(3))
    with pytest.raises(TypeError, match="a FakeTensor without memory"):
        double(fake)


def test_gradients_go_through_python(arch, python):
    before = len(double)
    plain, leaf = torch.ones(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64, requires_grad=True)
    for _ in range(2):
        double(plain)
        double(leaf)
    assert leaf.tolist() == [4, 4, 4] == plain.tolist() and leaf.grad.tolist() == [0, 0, 0]
    assert len(double) == before + 2 and sum(x is leaf for x in python["token"]) >= 2
    leaf.requires_grad_(False)
    double(leaf)
    assert leaf.tolist() == [8, 8, 8] and len(double) == before + 2


def test_subclasses(arch, python):
    frozen = torch.nn.Parameter(torch.ones(3), requires_grad=False)
    ordinary, hooked = torch.ones(3).as_subclass(Tensor), torch.ones(3).as_subclass(Function)
    for _ in range(2):
        for tensor in (frozen, ordinary, hooked, torch.nn.Parameter(torch.ones(3))):
            double(tensor)
    assert frozen.tolist() == ordinary.tolist() == [4, 4, 4]
    assert torch.equal(hooked.as_subclass(torch.Tensor), torch.full((3,), 4.0))
    if HAS_INTERFACE:
        assert sum(x is hooked for x in python["token"]) >= 2 and not any(x is frozen for x in python["token"][8:])


def test_elements(arch):
    v = torch.zeros(2, 3)
    for _ in range(2):
        lift(v)
    assert v.tolist() == [[2, 4, 6]] * 2
    with pytest.raises(ValueError, match="element_shape"):
        lift(torch.zeros(2, 4))
    lift(np.zeros((2, 3), np.float32))


def test_members(arch, python):
    pair = Pair(torch.zeros(3), torch.ones(3, 3))
    for _ in range(3):
        add_pair(pair)
    assert pair.x.tolist() == [3, 3, 3]
    pair.x = torch.zeros(2)
    add_pair(pair)
    assert pair.x.tolist() == [1, 1]
    with pytest.raises(ValueError, match="element"):
        add_pair(Pair(torch.zeros(3), torch.ones(3, 2)))


def test_the_switch(arch, monkeypatch):
    double(np.ones(3, np.float32))
    double(torch.ones(3))
    monkeypatch.setenv("QD_ENABLE_TORCH", "0")
    qd.reset()
    qd.init(arch=arch)
    double(np.ones(3, np.float32))
    with pytest.raises(QuadrantsRuntimeTypeError, match="Invalid type for argument a, got tensor"):
        double(torch.ones(3))


def test_more_elements_than_kernels_index(arch, monkeypatch):
    monkeypatch.setattr(external, "_MAX_INDEX", 2)
    leaf = torch.ones(3, requires_grad=True)
    with pytest.warns(UserWarning, match="cannot reach all of them"):
        double(leaf)


@needs_interface
@pytest.mark.cpu_only
def test_launches_keep_nothing():
    qd.init(arch=qd.cpu, log_level="error")
    tensor = torch.ones(4)
    typed(tensor, tensor)
    references = sys.getrefcount(tensor)

    def growth(launches):
        before = sys.getallocatedblocks()
        for _ in itertools.repeat(None, launches):
            typed(tensor, tensor)
        return sys.getallocatedblocks() - before

    growth(500)
    gc.collect()
    gc.disable()  # what it finds now is none of ours
    try:
        # Blocks of all threads are counted: others may come and go during one comparison, but not during each.
        assert any(growth(5000) == growth(500) for _ in range(10))
    finally:
        gc.enable()
    assert sys.getrefcount(tensor) == references
    storage = tensor.untyped_storage()._use_count() if hasattr(tensor.untyped_storage(), "_use_count") else None
    growth(500)
    if storage is not None:
        assert tensor.untyped_storage()._use_count() == storage


@pytest.mark.cpu_only
def test_torch_is_never_imported():
    import subprocess

    program = "import quadrants, quadrants.data.external, quadrants.compile, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], env=os.environ, check=False).returncode == 0
