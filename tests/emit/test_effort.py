"""How hard the C compiler tries: only kernels whose whole work is known to be small are compiled with less effort."""

import re

import numpy as np
import pytest

import quadrants as qd
from quadrants.emit.render import Renderer


@qd.kernel
def small(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in range(64):
        x[i] = x[i] * 0.5 + i


@qd.kernel
def any_size(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in range(x.shape[0]):
        x[i] = x[i] * 0.5 + i


@qd.kernel
def many_trips(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in range(64):
        for j in range(10000):
            x[i] += x[i] * j


@qd.kernel
def until(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in range(64):
        while x[i] > 1.0:
            x[i] *= 0.5


@qd.func
def wander(v: qd.f32) -> qd.f32:
    w = v
    while w > 1.0:
        w *= 0.5
    return w


@qd.kernel
def through_a_func(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in range(64):
        x[i] = wander(x[i])


@pytest.mark.parametrize(
    ("kernel", "level"),
    [(small, 1), (any_size, 3), (many_trips, 3), (until, 2), (through_a_func, 2)],
)
def test_effort_follows_the_work(arch, kernel, level):
    text = kernel.source(np.ones(64, np.float32), arch="c")
    assert re.findall(r'#pragma GCC optimize\("O(\d)"\)', text) == ([str(level)] if level < 3 else [])


@qd.kernel
def small_and_told(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    for i in range(64):
        x[i] = x[i] * 0.5 + i
    print(x[0])


@pytest.mark.parametrize(
    ("kernel", "brief"),
    [(small, True), (any_size, False), (many_trips, False), (until, False), (small_and_told, False)],
)
def test_launches_that_do_little_and_print_nothing_are_brief(arch, monkeypatch, kernel, brief):
    """Others let threads of Python run meanwhile, of which one may read what is printed."""
    found = []
    render = Renderer.render

    def noted(self, *args):
        found.append(render(self, *args))
        return found[-1]

    monkeypatch.setattr(Renderer, "render", noted)
    kernel.source(np.ones(64, np.float32), arch="c")
    assert [rendered.brief for rendered in found] == [brief]


def test_results_do_not_depend_on_the_effort(arch):
    a, b = np.arange(64, dtype=np.float32), np.arange(64, dtype=np.float32)
    small(a)
    any_size(b)
    assert (a == b).all()


@pytest.mark.cpu_only
@pytest.mark.parametrize("level", [0, 1])
def test_numbers_do_not_depend_on_the_effort(level):
    """Where the command asked for less than the text, gcc 12 lost one of two products on processors with AVX-512."""
    qd.init(arch=qd.cpu, opt_level=level)
    angle, v, total = qd.field(qd.f64, 4), qd.Vector.field(2, qd.f64, 4), qd.field(qd.f64, ())

    @qd.kernel
    def run(c: qd.f64):
        for i in range(4):
            f = angle[i ^ 1] * 0.5
            w = v[i]
            m = qd.Matrix([[c * 0.5, 0.25], [-1.5, qd.tanh(f)]])
            for _ in qd.static(range(2)):
                w = 0.5 * (m @ w)
            total[None] += (f + w[1]) * (i + 1)

    angles, rows = np.array([0.3, -0.7, 1.1, 0.2]), np.array([[0.5, 0.2], [0.1, -0.4], [0.9, 0.3], [-0.2, 0.6]])
    angle.from_numpy(angles)
    v.from_numpy(rows)
    run(0.7)
    wanted = 0.0
    for i, w in enumerate(rows):
        f = angles[i ^ 1] * 0.5
        m = np.array([[0.35, 0.25], [-1.5, np.tanh(f)]])
        wanted += (f + (0.25 * m @ m @ w)[1]) * (i + 1)
    assert total[None] == pytest.approx(wanted, rel=1e-12)
    assert ("#pragma GCC optimize" in run.source(0.7)) == (level > 0)
