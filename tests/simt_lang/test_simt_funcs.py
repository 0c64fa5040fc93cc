"""Shared arrays and tiles that pass through funcs, lists and methods (simt.md 5.2, 9.1)."""

import numpy as np
import pytest
import simt_lang_kit as kit

import quadrants as qd
from quadrants.lang.simt import block

pytestmark = kit.gpu
Tile = qd.simt.Tile16x16


@qd.func
def made(n: qd.template()):
    return block.SharedArray((n,), qd.f32)


@qd.func
def made_twice(n: qd.template()):
    return made(n), made(n)


@qd.func
def tile_of(v):
    t = Tile.zeros(dtype=qd.f32)
    t.r[0] = v
    return t


@qd.func
def tile_and_number(v):
    return tile_of(v * 2), v + 1.0


@qd.func
def first_register(v):
    """A tile that stays inside: a function of its own."""
    t = Tile.eye(dtype=qd.f32)
    t.r[0] += v
    return t.r[0]


@qd.func
def sum_of(arrays, i):
    return arrays[0][i] + arrays[1][i]


@kit.lanes
@pytest.mark.lanes(32)
def test_what_funcs_make_and_return(arch):
    out = qd.field(qd.f32, (6, 32))

    @qd.kernel
    def use():
        qd.loop_config(block_dim=32)
        for i in range(32):
            a = made(32)
            b, c = made_twice(32)
            a[i], b[i], c[i] = i, 2 * i, 3 * i
            block.sync()
            out[0, i] = a[31 - i] + b[i] * 100 + c[i ^ 1]
            t = tile_of(i * 1.0)
            u, more = tile_and_number(i * 1.0)
            out[1, i] = t.r[0]
            out[2, i] = u.r[0] + more
            out[3, i] = sum_of([a, b], i)
            if i < 40:
                copy = t
                copy.r[0] += 7.0
                out[4, i] = copy.r[0] * 100 + t.r[0]
            out[5, i] = first_register(i * 2.0)

    use()
    i = np.arange(32)
    first = 2 * i + (i % Tile.SIZE == 0)
    expected = [31 - i + 200 * i + 3 * (i ^ 1), i, 3 * i + 1, 3 * i, (i + 7) * 100 + i, first]
    np.testing.assert_array_equal(out.to_numpy(), expected)
    assert "float first_register(" in use.source() and "tile_of(" not in use.source()


@kit.lanes
@pytest.mark.lanes(16)
def test_methods_and_members(arch):
    """Shared arrays sized by members and filled by methods; tiles of arrays that are members."""

    @qd.data_oriented
    class Solver:
        def __init__(self):
            self.n = 16
            self.rows = qd.field(qd.f32, (16, 16))
            self.data = kit.array(np.arange(256, dtype=np.float32).reshape(16, 16))

        @qd.func
        def load(self, s: qd.template(), i):
            for j in range(self.n):
                s[i, j] = self.data[i, j]
            block.sync()

        @qd.kernel
        def run(self):
            qd.loop_config(block_dim=16)
            for i in range(16):
                s = block.SharedArray((self.n, self.n), qd.f32)
                self.load(s, i)
                t = Tile.zeros()
                t[:] = self.data[0:16, 0:16]
                v = s[0:16, 1]
                t -= qd.outer(v, 1.0)
                self.rows[0:16, 0:16] = t
                self.data[i, 0] = s[15 - i, 2]

    solver = Solver()
    solver.run()
    x = np.arange(256, dtype=np.float32).reshape(16, 16)
    np.testing.assert_array_equal(solver.rows.to_numpy(), x - x[:, 1:2])
    np.testing.assert_array_equal(solver.data.to_numpy()[:, 0], x[::-1, 2])


def test_real_funcs_cannot(arch):
    @qd.real_func
    def real(x: qd.f32) -> qd.f32:
        s = block.SharedArray((4,), qd.f32)
        s[0] = x
        return s[0]

    @qd.kernel
    def use():
        for _ in range(1):
            real(1.0)

    with pytest.raises(qd.QuadrantsCompilationError, match="real_func"):
        use()
