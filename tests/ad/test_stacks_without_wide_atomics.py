"""Devices without atomics on i64: what counts for stacks in them is left out, and maxima are taken in i32."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import field, reverse
from stack_kit import gated, slopes
from test_stack_sizing import maximum, tasks_of
from test_stack_sizing import slopes as slopes_of_maximum

import quadrants as qd
from quadrants.emit import dialects
from quadrants.ir.lacks import Lacks
from quadrants.ir.ops import ATOMICS

pytestmark = pytest.mark.runtime(exclude=("cpu", "metal"))  # Metal is such a device, and has no f64 besides
LACKS = Lacks("this device", {}, {(op, t): "" for op in ATOMICS for t in ("i64", "u64")})


@pytest.fixture(autouse=True)
def runtime(init, monkeypatch):
    get = dialects.get
    monkeypatch.setattr(dialects, "get", lambda name: get(name).without(LACKS))
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, ad_stack_sparse_threshold_bytes=0, offline_cache=False)


def test_stacks_behind_a_condition():
    points = np.linspace(0.1, 0.9, 64)
    mark = field(np.arange(64) % 3 / 2.0)
    x, y = field(points), field(np.zeros(64))
    k = gated(x, y, mark)
    found = reverse(k, [x], [y], 8)[0]
    np.testing.assert_allclose(found, slopes(points, 8, mark.to_numpy() > 0.5), rtol=1e-12)
    assert len(tasks_of(k.grad.source(8))) == 1


def test_depths_that_are_maxima_of_long_arrays():
    points = np.linspace(0, 1, 3000)
    x, y = field(points), field(np.zeros(3000))
    k = maximum(x, y)
    a = np.arange(3000, dtype=np.int32) % 3
    a[1234] = 9
    np.testing.assert_allclose(reverse(k, [x], [y], a)[0], slopes_of_maximum(points, a), rtol=1e-12)
    text = k.grad.source(a)
    names = [name.split()[0] for name in tasks_of(text)]
    assert names[0] == "k_reverse_grad_sizes_max0" and names[-1] == "k_reverse_grad_0_struct_for"
    assert ("qd_atomic_max_i32" in text or "atomicMax(" in text) and "qd_atomic_max_i64" not in text


def test_atomics_of_the_kernel_itself_are_refused():
    total = qd.field(qd.i64, shape=())

    @qd.kernel
    def counted(n: qd.i32):
        for i in range(n):
            total[None] += i

    with pytest.raises(qd.QuadrantsTypeError, match="has no atomic_add on i64. Use i32"):
        counted(3)
