"""Names that programs of the reference import out of `quadrants.lang`."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import quadrants as qd


def test_types_are_converted():
    from quadrants.lang import util

    assert util.to_numpy_type(qd.f32) is np.float32 and util.to_numpy_type(qd.u1) is np.bool_
    assert util.to_quadrants_type(np.float64) is qd.f64 and util.to_quadrants_type(qd.i8) is qd.i8
    assert util.to_quadrants_type(np.dtype("uint16")) is qd.u16
    assert util.cook_dtype(bool) is qd.u1 and util.cook_dtype(qd.f16) is qd.f16
    for wrong in (complex, "nothing"):
        with pytest.raises(TypeError):
            util.to_quadrants_type(wrong)
    assert util.has_pytorch() is (importlib.util.find_spec("torch") is not None)


def test_types_of_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    from quadrants.lang import util

    for ours, theirs in ((qd.f32, torch.float32), (qd.i64, torch.int64), (qd.u1, torch.bool), (qd.u8, torch.uint8)):
        assert util.to_pytorch_type(ours) is theirs and util.to_quadrants_type(theirs) is ours


def test_scopes(arch):
    from quadrants.lang import util

    seen = []

    @qd.kernel
    def look():
        qd.static(seen.append((util.in_quadrants_scope(), util.in_python_scope())))

    look()
    assert seen == [(True, False)] and (util.in_quadrants_scope(), util.in_python_scope()) == (False, True)


def test_other_questions():
    from quadrants.lang import util

    @qd.data_oriented
    class Thing:
        pass

    assert util.is_data_oriented(Thing()) is True and util.is_data_oriented(3) is False
    with pytest.warns(DeprecationWarning, match="old"):
        util.warning("old", DeprecationWarning)


def test_operations_in_kernels(arch):
    from quadrants.lang import ops

    @qd.kernel
    def run(a: qd.i32, b: qd.i32) -> qd.types.vector(12, qd.i32):
        return qd.Vector([
            ops.add(a, b), ops.sub(a, b), ops.mul(a, b), ops.floordiv(a, b), ops.mod(a, b), ops.neg(a),
            ops.bit_and(a, b), ops.bit_or(a, b), ops.bit_xor(a, b), ops.bit_not(a), ops.bit_shl(a, b),
            ops.bit_sar(a, b),
        ])  # fmt: skip

    @qd.kernel
    def more(a: qd.i32, b: qd.i32) -> qd.types.vector(8, qd.i32):
        return qd.Vector([
            qd.cast(ops.cmp_lt(a, b), qd.i32), qd.cast(ops.cmp_le(a, b), qd.i32), qd.cast(ops.cmp_ne(a, b), qd.i32),
            qd.cast(ops.truediv(a, b), qd.i32), ops.max(a, b), ops.select(a > b, 1, 2), ops.popcnt(a), ops.abs(-a),
        ])  # fmt: skip

    assert list(run(13, 3)) == [16, 10, 39, 4, 1, -13, 1, 15, 14, -14, 104, 1]
    assert list(more(13, 3)) == [0, 0, 1, 4, 13, 1, 3, 13]


@pytest.mark.parametrize(
    ("module", "names"),
    [
        (
            "lang",
            "cpu cuda metal vulkan arm64 x64 gpu python kernel init reset sync f32 field ndarray Vector Matrix ij sin",
        ),
        ("lang.kernel_impl", "kernel func pyfunc real_func data_oriented QuadrantsSyntaxError"),
        ("lang.stream", "Stream Event create_stream create_event stream_parallel"),
        ("lang.ops", "sin cos max min select atomic_add cast bit_cast random sqrt rsqrt floor ceil round"),
    ],
)
def test_names_are_those_of_the_package(module, names):
    found = importlib.import_module(f"quadrants.{module}")
    for name in names.split():
        assert getattr(found, name) is getattr(qd, name)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        found.nothing  # noqa: B018
    assert not hasattr(found, "__wrapped__")
