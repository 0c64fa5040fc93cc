"""A kind of arguments is one class: a ninth one is declared here, and nothing of the package knows of it."""

from __future__ import annotations

import dataclasses
import re
import struct
from fractions import Fraction

import pytest

import quadrants as qd
from quadrants import calls
from quadrants._ext.core import OPAQUE, TOKEN, intern_token
from quadrants.calls import registry
from quadrants.ir.types import f64


class Ratio(calls.Kind):
    """`x: Fraction`: by value, as f64."""

    core = TOKEN
    slot = "fraction"
    selects = "type"

    @classmethod
    def suits(cls, annotation):
        return annotation is Fraction

    def token(self, x, name):
        if not isinstance(x, Fraction):
            raise TypeError(f"Argument {name} is a {type(x).__name__}; pass a Fraction")
        return intern_token(("fraction",))

    def check(self, call, name, x):
        if call.mode:
            raise ValueError(f"Argument {name}: there is no derivative by a Fraction")

    def declare(self, declarer, source, name, x):
        return declarer.by_value(source, name, f64, self.slot)

    @classmethod
    def packer(cls, t, name):
        def pack(value, block, offset):
            if value.denominator > 1000:
                raise ValueError(f"Argument {name} has the denominator {value.denominator}, more than 1000")
            struct.pack_into("=d", block, offset, float(value))

        return pack


@pytest.fixture
def ratios(arch, monkeypatch):
    monkeypatch.setattr(registry, "_registered", [])
    calls.register(Ratio)


@dataclasses.dataclass
class Scales:
    x: Fraction
    n: qd.i32


def test_a_kernel_with_a_kind_of_ones_own(ratios):
    @qd.kernel
    def scaled(x: Fraction, n: qd.i32) -> qd.f64:
        return x * n

    assert scaled(Fraction(1, 4), 6) == 1.5
    assert scaled(n=2, x=Fraction(3, 8)) == 0.75
    assert len(scaled) == 1
    assert "double x" in scaled.source(Fraction(1, 2), 1, arch="c")


@pytest.mark.parametrize("core", [TOKEN, OPAQUE])
def test_it_may_be_left_out_where_it_says_so(ratios, monkeypatch, core):
    monkeypatch.setattr(Ratio, "core", core)
    with pytest.raises(qd.QuadrantsSyntaxError, match="optional arguments are only supported"):

        @qd.kernel
        def refused(x: Fraction | None) -> qd.f64:
            return 0.0

    monkeypatch.setattr(Ratio, "optional", True)

    @qd.kernel
    def scaled(x: Fraction | None, n: qd.i32) -> qd.f64:
        factor = 1.0
        if qd.static(x is not None):
            factor = x
        return factor * n

    assert [scaled(x, 3) for x in (None, Fraction(1, 2), None, Fraction(1, 4))] == [3, 1.5, 3, 0.75]
    assert len(scaled) == 2


def test_it_is_a_member_of_a_dataclass(ratios):
    @qd.kernel
    def of_member(s: Scales) -> qd.f64:
        return s.x * s.n

    assert of_member(Scales(Fraction(1, 4), 6)) == 1.5
    assert of_member(Scales(Fraction(1, 2), 2)) == 1
    assert len(of_member) == 1


def test_what_it_refuses_is_said_with_the_call(ratios):
    @qd.kernel
    def refusing(x: Fraction, out: qd.types.ndarray(dtype=qd.f64, ndim=0)):
        out[None] = x

    out = qd.ndarray(qd.f64, (), needs_grad=True)
    for error, text, run in (
        (TypeError, "Argument x is a float; pass a Fraction", lambda: refusing(0.5, out)),
        (ValueError, "Argument x: there is no derivative by a Fraction", lambda: refusing.grad(Fraction(1, 2), out)),
        (ValueError, "Argument x has the denominator 1001, more than 1000", lambda: refusing(Fraction(1, 1001), out)),
    ):
        with pytest.raises(error, match=text) as caught:
            run()
        assert re.search(
            r"\nIn this call of kernel refusing(\.grad)?:\nFile \".*\", line \d+, in <lambda>:\n", str(caught.value)
        )
    refusing(Fraction(1, 2), out)
    assert out[None] == 0.5


def test_a_kernel_with_it_is_not_kept_by_its_source(ratios):
    @qd.kernel(fastcache=True)
    def kept(n: qd.i32) -> qd.i32:
        return n

    @qd.kernel(fastcache=True)
    def not_kept(x: Fraction) -> qd.f64:
        return x

    @qd.kernel(fastcache=True)
    def not_kept_either(s: Scales) -> qd.f64:
        return s.x

    assert kept(2) == 2 and not_kept(Fraction(1, 2)) == not_kept_either(Scales(Fraction(1, 2), 1)) == 0.5
    stored = [k.src_ll_cache_observations.cache_stored for k in (kept, not_kept, not_kept_either)]
    assert stored == [True, False, False]


def test_without_it_the_annotation_is_unknown(arch):
    with pytest.raises(qd.QuadrantsSyntaxError, match=r"Invalid type annotation \(argument 0\) of Quadrants kernel: x"):

        @qd.kernel
        def unknown(x: Fraction) -> qd.f64:
            return x


def test_slots_have_one_kind(ratios):
    with pytest.raises(ValueError, match="there is a kind with slots called 'fraction' already"):
        calls.register(Ratio)


@pytest.mark.parametrize("mine", registry.OURS, ids=lambda kind: kind.__name__)
def test_no_two_kinds_suit_one_annotation(mine):
    annotations = {
        "Scalar": [qd.i32, float, bool], "Matrix": [qd.math.vec3, qd.types.matrix(2, 2, qd.f32)],
        "Struct": [qd.types.struct(a=qd.i32)], "Tensor": [qd.Tensor], "Dataclass": [Scales],
        "Array": [qd.types.ndarray(), qd.types.NDArray, qd.types.NDArray[qd.f32, 1]],
        "View": [qd.BufferView, qd.BufferView[qd.f32]], "Template": [qd.template(), qd.template],
        "SparseBuilder": [qd.types.sparse_matrix_builder(), qd.types.sparse_matrix_builder],
    }[mine.__name__]  # fmt: skip
    assert [[kind for kind in registry.OURS if kind.suits(a)] for a in annotations] == [[mine]] * len(annotations)
