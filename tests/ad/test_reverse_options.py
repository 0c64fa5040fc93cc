"""Derivatives under the options of `qd.init`, for small dtypes, and in the caches."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from oracle import check, field, reverse

import quadrants as qd

POINTS = [0.3, -0.7, 1.3, 0.9]
OPTIONS = [
    {"fast_math": False}, {"cfg_optimization": False}, {"default_ip": qd.i64}, {"debug": True}, {"opt_level": 0},
    {"cpu_max_num_threads": 1}, {"check_out_of_bound": True},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: next(iter(o)))
def test_options(init, options):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, **options)
    x, y, n = field(POINTS), field(np.zeros(4)), qd.field(options.get("default_ip", qd.i32), 4)
    n.from_numpy(np.array([3, 0, 2, 5]).astype(n.to_numpy().dtype))

    @qd.kernel
    def k():
        for i in x:
            v = qd.Vector([x[i], 1.0])
            for j in range(n[i]):
                v[j % 2] = qd.sin(v[0] * v[1]) + 0.2
                if v[0] > 0.4:
                    v[1] *= x[(i + j) % 4]
            y[i] = v.norm_sqr()

    check(k, [x], [y])


def test_debug_and_release_agree_to_the_bit(init):
    found = []
    for debug in (False, True):
        init(default_fp=qd.f64, ad_stack_experimental_enabled=True, debug=debug, fast_math=False)
        x, y = field(POINTS), field(np.zeros(4))

        @qd.kernel
        def k(n: qd.i32):
            for i in x:
                v = x[i]
                for _ in range(n):
                    v = qd.sin(v) * 1.01 + 0.1
                y[i] = v * v

        found.append(reverse(k, [x], [y], 9)[0])
    np.testing.assert_array_equal(*found)


def test_half_precision(init):
    init()
    x = qd.field(qd.f16, 4, needs_grad=True)
    y = qd.field(qd.f32, (), needs_grad=True)
    x.from_numpy(np.array([0.5, 1.0, 2.0, -1.0], dtype=np.float16))

    @qd.kernel
    def k():
        for i in x:
            y[None] += qd.cast(x[i] * x[i], qd.f32) * 2.0

    y.grad[None] = 1
    k.grad()
    assert x.grad.to_numpy().tolist() == [2, 4, 8, -4]


PROGRAM = """
import sys
import numpy as np
import quadrants as qd
from kept import k

qd.init(arch=qd.cpu, ad_stack_experimental_enabled=True, offline_cache_file_path=sys.argv[1])
x, y, n = (qd.ndarray(t, 3, needs_grad=t is qd.f32) for t in (qd.f32, qd.f32, qd.i32))
x.from_numpy(np.array([1, 2, 3], np.float32))
n.from_numpy(np.array([0, 2, 40], np.int32))
y.grad.fill(1)
k(x, y, n)
k.grad(x, y, n)
print(k.grad.src_ll_cache_observations.cache_loaded, x.grad.to_numpy().tolist(), y.to_numpy().tolist())
"""

KEPT = """
import quadrants as qd


@qd.kernel(fastcache=True)
def k(x: qd.types.ndarray(), y: qd.types.ndarray(), n: qd.types.ndarray()):
    for i in x:
        v = x[i]
        for _ in range(n[i]):
            v = v * 0.5 + v * v * 0.125
        y[i] = v
"""


@pytest.mark.cpu_only
def test_derivatives_come_from_the_disk(tmp_path):
    (tmp_path / "kept.py").write_text(KEPT)
    (tmp_path / "program.py").write_text(PROGRAM)
    lines = []
    for _ in range(2):
        command = [sys.executable, "program.py", str(tmp_path / "cache")]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        lines.append(done.stdout.splitlines()[-1].split(" ", 1))
    assert [line[0] for line in lines] == ["False", "True"]
    assert lines[0][1] == lines[1][1]
