"""Views that share memory: NumPy, torch, DLPack; when they exist, how long they live, what is refused."""

import gc
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from data_kit import DTYPES, samples

from quadrants import session
from quadrants._ext.core import live_buffers
from quadrants.data import factories, snode
from quadrants.data import ndarray as nd
from quadrants.data.axes import NAMED
from quadrants.ir.types import f32, f64, i32, u1

# NumPy sees the memory of the CPU alone; test_device_exchange.py has the views of devices.
pytestmark = [pytest.mark.cpu_only, pytest.mark.usefixtures("runtime")]


def containers(dtype):
    yield factories.field(dtype, (2, 3))
    yield factories.field(dtype, (2, 3), order="ji", offset=(-1, 5))
    yield factories.field(dtype, ())
    yield factories.matrix_field(3, 1, dtype, 2, ndim=1)
    yield factories.matrix_field(2, 2, dtype, (2, 1))
    yield factories.matrix_field(3, 1, dtype, (), ndim=1)
    yield factories.ndarray(dtype, (2, 3))
    yield factories.laid_out_ndarray(dtype, (2, 3), layout=(1, 0))
    yield factories.matrix_ndarray(3, 1, dtype, 2, ndim=1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("copy", [True, False, None])
def test_every_dtype_container_and_copy_value(dtype, copy):
    for c in containers(dtype):
        values = samples(dtype, c.to_numpy().shape)
        c.from_numpy(values)
        out = c.to_numpy(copy=copy)
        assert np.array_equal(out, values) and out.dtype == values.dtype and out.flags.writeable
        c.fill(0)
        assert out.any() == (copy is True and values.any())
        if copy is not True:
            out[...] = values
            assert np.array_equal(c.to_numpy(), values)
            assert out.__array_interface__["data"] == c.to_numpy(copy=False).__array_interface__["data"]


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dlpack(dtype, versioned):
    class Exporter:
        def __init__(self, container):
            self.container = container

        def __dlpack__(self, **kwargs):
            return self.container.to_dlpack(versioned)

        def __dlpack_device__(self):
            return (1, 0)

    for c in containers(dtype):
        values = samples(dtype, c.to_numpy().shape)
        c.from_numpy(values)
        assert ("dltensor_versioned" if versioned else '"dltensor"') in repr(c.to_dlpack(versioned))
        out = np.from_dlpack(Exporter(c))
        assert np.array_equal(out, values) and out.dtype == values.dtype
        c.fill(0)
        assert not out.any()


def test_refusals():
    f, v = factories.field(f32, 3), factories.matrix_field(3, 1, f32, 2, ndim=1, layout=1)
    shared, other = factories.field(f32), factories.field(i32)
    snode.root.dense(NAMED["i"], 3).place(shared, other)
    blocked = factories.field(f32)
    snode.root.dense(NAMED["ij"], 2).dense(NAMED["ij"], 2).place(blocked)
    for g in (v, shared, other, blocked):
        with pytest.raises(ValueError, match="Zero-copy not available"):
            g.to_numpy(copy=False)
        assert g.to_numpy(copy=None).base is None or not np.shares_memory(g.to_numpy(copy=None), g._export())
    for c in (f, factories.ndarray(f32, 3)):
        with pytest.raises(ValueError, match="copy=False is incompatible with dtype conversion"):
            c.to_numpy(np.float64, copy=False)
        assert c.to_numpy(np.float32, copy=False).base is not None
        assert c.to_numpy(np.float64, copy=None).dtype == np.float64
        for bad in (2, "x"):
            with pytest.raises(ValueError, match="copy must be"):
                c.to_numpy(copy=bad)
        with pytest.raises(TypeError):
            c.to_numpy(None, False)
    with pytest.raises(RuntimeError):
        blocked.to_dlpack()


def test_components_of_an_soa_field_are_views():
    v = factories.matrix_field(3, 1, f32, 4, ndim=1, layout=1)
    v.get_scalar_field(1).to_numpy(copy=False)[2] = 5
    assert v[2].to_list() == [0, 5, 0]


@pytest.mark.parametrize("layout", list(itertools.permutations(range(3))))
def test_strides_of_layouts(layout):
    order = "".join("ijk"[axis] for axis in layout)
    shape = (2, 3, 4)
    physical = [shape[axis] for axis in layout]
    strides = [0, 0, 0]
    for level, axis in enumerate(layout):
        strides[axis] = int(np.prod(physical[level + 1 :], dtype=int)) * 4
    for c in (factories.field(f32, shape, order=order), factories.laid_out_ndarray(f32, shape, layout=layout)):
        view = c.to_numpy(copy=False)
        assert view.strides == tuple(strides) and view.shape == shape


def test_views_keep_memory_alive(no_leak):
    a = factories.ndarray(f32, 4)
    view, capsule = a.to_numpy(copy=False), a.to_dlpack()
    count = live_buffers()
    del a
    view[2] = 3
    assert live_buffers() == count and view[2] == 3
    del view
    assert live_buffers() == count
    del capsule
    assert live_buffers() == count - 1


def test_views_outlive_the_runtime(init):
    f = factories.field(f32, 4)
    view = f.to_numpy(copy=False)
    session.reset()
    view[...] = 1
    assert view.sum() == 4
    before = live_buffers()
    del view
    gc.collect()
    assert live_buffers() == before - 1
    init()


def test_numpy_exchange_needs_no_torch(arch_environment):
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import conftest, numpy as np\n"
        "from quadrants import session\n"
        "from quadrants.data import factories, external, dlpack\n"
        "from quadrants.ir.types import f32\n"
        "session.init(enable_fallback=False)\n"
        "f = factories.field(f32, 3)\n"
        "f.to_numpy(copy=False)[1] = 2; f.to_dlpack(); external.is_external(np.zeros(1))\n"
        "assert f[1] == 2\n"
        "try: f.to_torch()\n"
        "except ImportError: print('no torch')\n"
    )
    environment = {**os.environ, **arch_environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and done.stdout.endswith("no torch\n"), done.stderr


class TestTorch:
    @pytest.fixture(autouse=True)
    def torch(self):
        return pytest.importorskip("torch", reason="install torch to run the torch exchange tests")

    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    @pytest.mark.parametrize("copy", [True, False, None])
    def test_round_trips(self, torch, dtype, copy):
        for c in containers(dtype):
            values = samples(dtype, c.to_numpy().shape)
            c.from_torch(torch.from_numpy(values.copy()))
            assert np.array_equal(c.to_numpy(), values)
            t = c.to_torch(copy=copy)
            assert np.array_equal(t.numpy(), values) and not t.requires_grad
            assert str(t.dtype) == f"torch.{dtype.numpy_name}"
            c.fill(0)
            assert bool(t.numpy().any()) == (copy is True and bool(values.any()))

    def test_writes_reach_the_container(self, torch):
        a = factories.ndarray(i32, 3)
        v = a.to_torch(copy=False)
        v += 1
        assert a[0] == 1
        m = factories.matrix_field(2, 1, f32, 3, ndim=1)
        assert m.to_torch(keep_dims=True, copy=False).shape == (3, 2, 1) and m.to_torch().shape == (3, 2)
        m.to_torch(copy=False)[1, 1] = 4
        assert m[1].to_list() == [0, 4]

    def test_devices(self, torch):
        a = factories.ndarray(f32, 3)
        assert a.to_torch("cpu", copy=False).device.type == "cpu" and a.to_torch("cpu:0", copy=False).shape == (3,)
        for c in (a, factories.field(f32, 3)):
            with pytest.raises(ValueError, match="copy=False is incompatible with device transfer"):
                c.to_torch("meta", copy=False)

    def test_imports(self, torch):
        a, f = factories.ndarray(f32, (2, 3)), factories.field(i32, (2, 3))
        t = torch.arange(6, dtype=torch.float64).reshape(3, 2).T.requires_grad_()
        for c in (a, f):
            c.from_torch(t)
            assert c.to_numpy().tolist() == [[0, 2, 4], [1, 3, 5]]
            with pytest.raises(ValueError):
                c.from_torch(torch.zeros(3, 2))
            for bad in (np.zeros((2, 3)), [[0] * 3] * 2, torch.zeros(2, 3, dtype=torch.bfloat16)):
                with pytest.raises(TypeError):
                    c.from_torch(bad)

    def test_imports_of_negated_and_conjugated_views(self, torch):
        z = torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex64)
        negated = z.conj().imag
        assert negated.is_neg()
        for c in (factories.ndarray(f32, 2), factories.field(f32, 2)):
            c.from_torch(negated)
            assert c.to_numpy().tolist() == [-2, 4]
            with pytest.raises(TypeError, match="complex64"):
                c.from_torch(z.conj())

    def test_dlpack(self, torch):
        a = factories.laid_out_ndarray(f32, (2, 3, 4), layout=(2, 0, 1))
        t = torch.from_dlpack(a.to_dlpack())
        assert t.stride() == (3, 1, 6)
        t[1, 2, 3] = 7
        assert a[1, 2, 3] == 7
        b = factories.field(u1, 3)
        torch.from_dlpack(b.to_dlpack())[1] = True
        assert b[1] == 1

    def test_a_view_on_the_array_does_not_leak(self, torch, no_leak):
        for a in (factories.ndarray(f32, 3), nd.make(f64, (2,), 3, True)):
            a._tc = a.to_torch(copy=False)
            a._T_tc = torch.from_dlpack(a.to_dlpack())

    def test_struct(self, torch):
        s = factories.struct_field({"a": i32, "n": {"x": f64}}, shape=3, layout=1)
        s.from_torch({"a": torch.arange(3), "n": {"x": torch.ones(3)}})
        out = s.to_torch(copy=False)
        out["n"]["x"][2] = 9
        assert s.a[2] == 2 and s.n.x[2] == 9
