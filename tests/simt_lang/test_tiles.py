"""Register tiles: slices, outer products, Cholesky, triangular solves (simt.md 9)."""

import numpy as np
import pytest
import simt_lang_kit as kit

import quadrants as qd
from quadrants.lang.simt import block

Tile16x16, Tile32x32 = qd.simt.Tile16x16, qd.simt.Tile32x32
BOTH = (Tile16x16, pytest.param(Tile32x32, marks=pytest.mark.lanes(32), id="Tile32x32"))
KINDS = ("field", "ndarray", "shared")
TOLERANCE = {"f32": 2e-5, "f64": 1e-10}

pytestmark = [kit.lanes, pytest.mark.lanes(16)]


def spd(n: int, t: str, seed: int = 0) -> np.ndarray:
    """A well-conditioned symmetric positive definite matrix."""
    a = np.random.default_rng(seed).normal(size=(n, n))
    return (a @ a.T / n + 2 * np.eye(n)).astype("float" + t[1:])


def test_sizes(arch):
    assert (Tile16x16.SIZE, Tile32x32.SIZE) == (16, 32)
    out = qd.field(qd.i32, 2)

    @qd.kernel
    def sizes():
        out[0] = qd.simt.Tile16x16.SIZE
        out[1] = Tile32x32.SIZE

    sizes()
    assert list(out.to_numpy()) == [16, 32]


@pytest.mark.parametrize("Tile", BOTH)
def test_registers_and_copies(arch, Tile):
    """9.1: lane t holds row t; t2 = t copies; eye_ resets; the class is a template argument."""
    n = Tile.SIZE
    out = kit.array(np.zeros((4, n, n), np.float32))

    @qd.func
    def made(kind: qd.template(), lane):
        t = kind.zeros()
        t.r[1] = lane
        return t.r[1] + 1

    @qd.func
    def reset(t: qd.template()):
        t.eye_()

    @qd.func
    def changed(t):
        t.r[0] = 100.0
        return t.r[0]

    @qd.kernel
    def use(out: qd.types.ndarray(), kind: qd.template()):
        qd.loop_config(block_dim=n)
        for i in range(n):
            t = kind.eye(dtype=qd.f32)
            other = t
            other.r[2] += i
            t.r[0] = 5.0
            out[0, 0:n, 0:n] = t
            out[1, 0:n, 0:n] = other
            chosen = Tile16x16 if qd.static(n == 16) else Tile32x32
            z = chosen.zeros()
            for j in qd.static(range(n)):
                z.r[j] = i * 100 + j
            out[2, 0:n, 0:n] = z
            other = z
            reset(z)
            z.r[3] += made(kind, i)
            z.r[4] += changed(z) + other.r[1]
            out[3, 0:n, 0:n] = z

    use(out, Tile)
    got, row = out.to_numpy(), np.arange(n)
    expected = np.eye(n)
    expected[:, 0] = 5
    np.testing.assert_array_equal(got[0], expected)
    expected = np.eye(n)
    expected[:, 2] += row
    np.testing.assert_array_equal(got[1], expected)
    np.testing.assert_array_equal(got[2], row[:, None] * 100 + row)
    expected = np.eye(n)
    expected[:, 3] += row + 1
    expected[:, 4] += 100 + row * 100 + 1
    np.testing.assert_array_equal(got[3], expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("t", ("f32", "f64"))
def test_slices(arch, kind, t):
    """9.2: partial loads keep the rest of the tile, partial stores the rest of the array; values are converted."""
    rows, columns = 20, 19
    dtype = getattr(qd, t)
    x = np.random.default_rng(1).integers(1, 99, (2, rows, columns)).astype("float" + t[1:])
    source = kit.array(x)
    if kind == "field":
        source = qd.field(dtype, (2, rows, columns))
        source.from_numpy(x)
    out = kit.array(np.full((2, 32, 32), -1, np.float32))
    annotation = qd.template() if kind == "field" else qd.types.ndarray()

    @qd.kernel
    def move(a: annotation, out: qd.types.ndarray(), r0: qd.i32, c1: qd.i32):
        qd.loop_config(block_dim=16)
        for i in range(16):
            tile = Tile16x16.eye(dtype=qd.f32)
            if qd.static(kind == "shared"):
                s = block.SharedArray((rows, columns), dtype)
                for r in range(rows):
                    for c in range(columns):
                        s[r, c] = a[1, r, c]
                block.sync()
                tile[:] = s[r0 : r0 + 16, 9:c1]
                s[3:6, 2:4] = tile
                block.sync()
                out[1, i, 0] = s[3, 2]
                out[1, i, 1] = s[6, 2]
            else:
                tile[:] = a[1, r0 : r0 + 16, 9:c1]
            out[0, 3:18, 5:40] = tile

    move(source, out, 8, 15)
    tile = np.eye(16)
    tile[:12, :6] = x[1, 8:20, 9:15]
    expected = np.full((32, 32), -1.0)
    expected[3:18, 5:21] = tile[:15]
    np.testing.assert_array_equal(out.to_numpy()[0], expected)
    if kind == "shared":
        assert (out.to_numpy()[1, :16, 0] == tile[0, 0]).all() and (out.to_numpy()[1, :16, 1] == x[1, 6, 2]).all()


@pytest.mark.parametrize("Tile", BOTH)
def test_outer_products(arch, Tile):
    """9.3: of scalars of the lanes and of columns, which are read when the product is applied."""
    n = Tile.SIZE
    a = np.random.default_rng(2).integers(-8, 8, (1, n, n)).astype(np.float32)
    data, out = kit.array(a), kit.array(np.zeros((2, n, n), np.float32))

    @qd.kernel
    def update(data: qd.types.ndarray(), out: qd.types.ndarray()):
        qd.loop_config(block_dim=n)
        for i in range(n):
            t = Tile.zeros(dtype=qd.f32)
            for k in range(n):
                v = data[0, 0:n, k]
                t -= qd.outer(v, v)
            out[0, 0:n, 0:n] = t
            u = Tile.zeros(dtype=qd.f32)
            short = data[0, 0:5, 1]
            number = i * 1.0
            product = qd.outer(short, number)
            number = -1.0
            u -= product
            out[1, 0:n, 0:n] = u

    update(data, out)
    np.testing.assert_array_equal(out.to_numpy()[0], -a[0] @ a[0].T)
    short = np.where(np.arange(n) < 5, a[0, :, 1], 0)
    np.testing.assert_array_equal(out.to_numpy()[1], -np.outer(short, np.arange(n)))


@pytest.mark.parametrize("Tile", BOTH)
@pytest.mark.parametrize("t", ("f32", "f64"))
def test_cholesky_and_solve(arch, Tile, t):
    """9.3: the lower triangle alone is read and written; X L^T = B."""
    n = Tile.SIZE
    dtype = getattr(qd, t)
    a = np.stack([spd(n, t, k) for k in range(3)])
    b = np.random.default_rng(5).normal(size=a.shape).astype(a.dtype)
    given = a.copy()
    upper = np.triu_indices(n, 1)
    given[:, upper[0], upper[1]] = np.nan
    factor, x = kit.array(given), kit.array(b)

    @qd.kernel
    def run(A: qd.types.NDArray[dtype, 3], B: qd.types.NDArray[dtype, 3], eps: dtype):
        qd.loop_config(block_dim=n)
        for i in range(A.shape[0] * n):
            L = Tile.eye(dtype=dtype)
            L[:] = A[i // n, 0:n, 0:n]
            L.cholesky_(eps)
            X = Tile.zeros(dtype=dtype)
            X[:] = B[i // n, 0:n, 0:n]
            L.solve_triangular_(X, lower=True)
            A[i // n, 0:n, 0:n] = L
            B[i // n, 0:n, 0:n] = X

    run(factor, x, 1e-6)
    got = factor.to_numpy()
    assert np.isnan(got[:, upper[0], upper[1]]).all()
    for k in range(3):
        L = np.linalg.cholesky(a[k].astype(np.float64))
        np.testing.assert_allclose(np.tril(got[k]), L, atol=TOLERANCE[t], rtol=0)
        expected = np.linalg.solve(L, b[k].T.astype(np.float64)).T
        np.testing.assert_allclose(x.to_numpy()[k], expected, atol=TOLERANCE[t] * 10, rtol=0)


def test_pivots_that_are_too_small(arch):
    """9.3: lane k's eps is for pivot k and is compared before the root; NaN becomes sqrt(eps)."""
    n = 16
    a = np.diag(np.arange(n, dtype=np.float32) - 4)[None].copy()
    a[0, 2, 2] = np.nan
    data = kit.array(a)

    @qd.kernel
    def run(A: qd.types.ndarray()):
        qd.loop_config(block_dim=n)
        for i in range(n):
            t = Tile16x16.zeros()
            t[:] = A[0, 0:n, 0:n]
            eps = 0.25
            if i == 3:
                eps = 9.0
            t.cholesky_(eps)
            A[0, 0:n, 0:n] = t

    run(data)
    expected = np.sqrt(np.maximum(np.arange(n) - 4.0, 0.25))
    expected[3] = 3
    np.testing.assert_allclose(np.diag(data.to_numpy()[0]), expected, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("Tile", BOTH)
def test_blocked_cholesky_of_40x40(arch, kind, Tile):
    """9.3: tiles of a larger matrix, the last one partial on an identity border."""
    n, size = 40, Tile.SIZE
    blocks = -(-n // size)
    a = spd(n, "f32", 3)
    out = kit.array(np.zeros((n, n), np.float32))
    source = kit.array(a)
    storage = source
    if kind == "field":
        storage = qd.field(qd.f32, (n, n))
        storage.from_numpy(a)
    annotation = qd.template() if kind == "field" else qd.types.ndarray()

    @qd.func
    def factor(m: qd.template()):
        for k in range(blocks):
            k0 = k * size
            k1 = qd.min(k0 + size, n)
            diagonal = Tile.eye(dtype=qd.f32)
            diagonal[:] = m[k0:k1, k0:k1]
            for j in range(k0):
                column = m[k0:k1, j]
                diagonal -= qd.outer(column, column)
            diagonal.cholesky_(1e-10)
            m[k0:k1, k0:k1] = diagonal
            qd.simt.subgroup.sync()
            for r in range(k + 1, blocks):
                r0 = r * size
                r1 = qd.min(r0 + size, n)
                below = Tile.zeros(dtype=qd.f32)
                below[:] = m[r0:r1, k0:k1]
                for j in range(k0):
                    below -= qd.outer(m[r0:r1, j], m[k0:k1, j])
                diagonal.solve_triangular_(below)
                m[r0:r1, k0:k1] = below
                qd.simt.subgroup.sync()

    @qd.kernel
    def run(A: annotation, out: qd.types.ndarray()):
        qd.loop_config(block_dim=size)
        for i in range(size):
            if qd.static(kind == "shared"):
                s = block.SharedArray((n, n), qd.f32)
                for r in range(n):
                    for c in range((n + size - 1) // size):
                        if c * size + i < n:
                            s[r, c * size + i] = A[r, c * size + i]
                block.sync()
                factor(s)
                block.sync()
                for r in range(n):
                    for c in range((n + size - 1) // size):
                        if c * size + i < n:
                            out[r, c * size + i] = s[r, c * size + i]
            else:
                factor(A)

    run(storage, out)
    got = (out if kind == "shared" else storage).to_numpy()
    np.testing.assert_allclose(np.tril(got), np.linalg.cholesky(a.astype(np.float64)), atol=2e-5)


@pytest.mark.lanes(32)
def test_default_type_follows_init(init):
    """9.1: dtype=None is the default_fp of the current init; both sizes live in one kernel."""
    for default, dtype in ((qd.f32, np.float32), (qd.f64, np.float64)):
        init(default_fp=default)
        out = kit.array(np.zeros((32, 32), np.float64))

        @qd.kernel
        def third(out: qd.types.ndarray()):
            qd.loop_config(block_dim=32)
            for i in range(32):
                t = Tile32x32.eye()
                small = Tile16x16.eye()
                t.r[0] = t.r[0] / 3
                small.r[1] = small.r[1] / 3
                out[0:32, 0:32] = t
                qd.simt.subgroup.sync()
                out[16:32, 0:16] = small

        third(out)
        got = out.to_numpy()
        assert got[0, 0] == dtype(1) / dtype(3) and got[17, 1] == dtype(1) / dtype(3)


BAD = {
    "bounds": ("t[:] = A[0, :16, 0:16]", "Tile row slice: both start and stop indices are required", SyntaxError),
    "columns": ("t[:] = A[0, 0:16, 0:]", "Tile col slice: both start and stop indices are required", SyntaxError),
    "negative": ("t[:] = A[0, -1:16, 0:16]", "Negative indices are not supported in Quadrants kernels", SyntaxError),
    "batch": ("t[:] = A[0:16, 0:16, 0]", "batch index", SyntaxError),
    "many": ("t[:] = A[0, 0, 0:16, 0:16]", "axes", IndexError),
    "value": ("t[:] = 1.0", r"Tile\[:\] can only be assigned from an array slice", TypeError),
    "rebound": ("t = A[0, 0:16, 0:16]", "t\\[:\\] = a", TypeError),
    "arithmetic": ("x = A[0, 0:16, 0] + 1.0", "only valid in tile operations", TypeError),
    "plus": ("t += qd.outer(1.0, 2.0)", "unsupported augmented assignment op", TypeError),
    "scalar": ("t -= 1.0", "unsupported augmented assignment with", TypeError),
    "sum": ("t -= qd.outer(1.0, 2.0) + qd.outer(1.0, 2.0)", "OuterProduct does not support composition", TypeError),
    "upper": ("t.solve_triangular_(t, lower=False)", "only lower=True is supported", TypeError),
    "index": ("t.r[i] = 1.0", "requires a python-int index", SyntaxError),
    "range": ("t.r[16] = 1.0", "16", SyntaxError),
    "dtype": ("u = qd.simt.Tile16x16.zeros(dtype=qd.i32)", "f32 or f64", TypeError),
}


@pytest.mark.parametrize("case", BAD)
def test_what_tiles_refuse(arch, case, tmp_path):
    line, message, kind = BAD[case]
    path = tmp_path / "program.py"
    path.write_text(
        "import quadrants as qd\n\n\n@qd.kernel\ndef run(A: qd.types.ndarray()):\n    qd.loop_config(block_dim=16)\n"
        f"    for i in range(16):\n        t = qd.simt.Tile16x16.eye(dtype=qd.f32)\n        {line}\n"
    )
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    with pytest.raises(qd.QuadrantsCompilationError, match=message) as caught:
        names["run"](kit.array(np.zeros((1, 16, 16), np.float32)))
    assert isinstance(caught.value, kind)


@pytest.mark.parametrize("tiles", [None, 1, 2, 4])
@pytest.mark.parametrize("Tile", BOTH)
def test_tiles_side_by_side(arch, Tile, tiles):
    """A block has as many tiles as fit, of which some are in a branch that others do not take."""
    n, count = Tile.SIZE, 8
    block_dim = None if tiles is None else tiles * n
    a = np.stack([spd(n, "f32", k) for k in range(count)])
    b = np.random.default_rng(3).normal(size=(count, n, n)).astype(np.float32)
    factors, solved, rest = kit.array(a), kit.array(b), kit.array(b.copy())

    @qd.kernel
    def work(factors: qd.types.ndarray(), solved: qd.types.ndarray(), rest: qd.types.ndarray()):
        qd.loop_config(block_dim=qd.static(block_dim))
        for i in range(count * n):
            k = i // n
            if k % 3 != 1:
                L = Tile.eye()
                L[:] = factors[k, 0:n, 0:n]
                L.cholesky_(qd.cast(0.0, qd.f32) * i)
                factors[k, 0:n, 0:n] = L
                X = Tile.zeros()
                X[:] = solved[k, 0:n, 0:n]
                L.solve_triangular_(X)
                solved[k, 0:n, 0:n] = X
            R = Tile.zeros()
            R[:] = rest[k, 0:n, 0:n]
            column = rest[k, 0:n, 2]
            R -= qd.outer(column, qd.cast(i % n, qd.f32))
            rest[k, 0:n, 0:n] = R

    work(factors, solved, rest)
    for k in range(count):
        L = np.linalg.cholesky(a[k].astype(float)) if k % 3 != 1 else None
        expected = b[k] if L is None else np.linalg.solve(L, b[k].T.astype(float)).T
        np.testing.assert_allclose(np.tril(factors.to_numpy()[k]), np.tril(a[k] if L is None else L), atol=2e-5)
        np.testing.assert_allclose(solved.to_numpy()[k], expected, atol=1e-4)
        np.testing.assert_allclose(rest.to_numpy()[k], b[k] - np.outer(b[k][:, 2], np.arange(n)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["ndarray", "field", "offset", "shared"])
def test_what_lies_before_the_array_is_left_alone(arch, kind):
    """Rows, columns and the index in front of a slice, below zero or the offset and beyond the end."""
    n, size = 16, 20
    corner = (3, 5) if kind == "offset" else (0, 0)
    data = np.arange(1, size * size + 1, dtype=np.float32).reshape(size, size)
    starts = [(r, c) for r in (-18, -2, 0, 18, 25) for c in (-3, 0, 7, 19, 20)]
    loaded, columns = (kit.array(np.zeros((len(starts), *shape), np.float32)) for shape in ((n, n), (n, n)))
    source, of_source = kit.array(data), qd.types.ndarray()
    if kind in ("field", "offset"):
        of_source = qd.template()
        source = qd.field(qd.f32, (size, size), offset=corner if kind == "offset" else None)
        source.from_numpy(data)

    @qd.func
    def use(a: qd.template(), k: qd.i32, r: qd.i32, c: qd.i32, loaded: qd.template(), columns: qd.template()):
        t = Tile16x16.eye(dtype=qd.f32)
        t[:] = a[r : r + n, c : c + n]
        loaded[k, 0:n, 0:n] = t
        u = Tile16x16.zeros(dtype=qd.f32)
        u -= qd.outer(a[r : r + n, c], -1.0)
        columns[k, 0:n, 0:n] = u
        loaded[k - len(starts), 0:n, 0:n] = u
        loaded[k + len(starts), 0:n, 0:n] = u

    @qd.kernel
    def run(a: of_source, k: qd.i32, r: qd.i32, c: qd.i32, loaded: qd.types.ndarray(), columns: qd.types.ndarray()):
        qd.loop_config(block_dim=n)
        for i in range(n):
            if qd.static(kind == "shared"):
                sh = block.SharedArray((size, size), qd.f32)
                for row, column in qd.ndrange((i, i + 1), size):
                    sh[row, column] = a[row, column]
                if i < size - n:
                    for column in range(size):
                        sh[n + i, column] = a[n + i, column]
                block.sync()
                use(sh, k, r, c, loaded, columns)
            else:
                use(a, k, r, c, loaded, columns)

    for k, (r, c) in enumerate(starts):
        run(source, k, r + corner[0], c + corner[1], loaded, columns)
    for k, (r, c) in enumerate(starts):
        expected, column = np.eye(n, dtype=np.float32), np.zeros(n, np.float32)
        for i in range(n):
            for j in range(n):
                if 0 <= r + i < size and 0 <= c + j < size:
                    expected[i, j] = data[r + i, c + j]
            if 0 <= r + i < size and 0 <= c < size:
                column[i] = data[r + i, c]
        np.testing.assert_array_equal(loaded.to_numpy()[k], expected, str((r, c)))
        np.testing.assert_array_equal(columns.to_numpy()[k], np.tile(column[:, None], (1, n)), str((r, c)))


def test_tiles_change_places_and_solve_themselves(arch):
    a = spd(16, "f32")
    out = kit.array(np.zeros((5, 16, 16), np.float32))
    given = kit.array(a)

    @qd.kernel
    def run(a: qd.types.ndarray(), out: qd.types.ndarray()):
        qd.loop_config(block_dim=16)
        for i in range(16):
            t = Tile16x16.eye(dtype=qd.f32)
            u = Tile16x16.zeros(dtype=qd.f32)
            t, u = u, t
            out[0, 0:16, 0:16] = t
            out[1, 0:16, 0:16] = u
            v = w = Tile16x16.eye(dtype=qd.f32)
            v.r[0] = 5.0
            out[2, 0:16, 0:16] = v
            out[3, 0:16, 0:16] = w
            t[:] = a[0:16, 0:16]
            t.solve_triangular_(t)
            out[4, 0:16, 0:16] = t

    run(given, out)
    eye = np.eye(16)
    first = eye.copy()
    first[:, 0] = 5
    solved = np.linalg.solve(np.tril(a), a.T).T
    np.testing.assert_allclose(out.to_numpy(), [0 * eye, eye, first, eye, solved], atol=1e-5)


@pytest.mark.parametrize("where", ["small blocks", "no loop", "one thread"])
def test_a_tile_needs_all_of_its_lanes(arch, where):
    out = kit.array(np.zeros((16, 16), np.float32))

    @qd.kernel
    def small(out: qd.types.ndarray()):
        qd.loop_config(block_dim=8)
        for i in range(16):
            out[0:16, 0:16] = Tile16x16.eye(dtype=qd.f32)

    @qd.kernel
    def alone(out: qd.types.ndarray()):
        out[0:16, 0:16] = Tile16x16.eye(dtype=qd.f32)

    @qd.kernel
    def serial(out: qd.types.ndarray()):
        qd.loop_config(serialize=True)
        for i in range(16):
            out[0:16, 0:16] = Tile16x16.eye(dtype=qd.f32)

    kernel = {"small blocks": small, "no loop": alone, "one thread": serial}[where]
    with pytest.raises(qd.QuadrantsSyntaxError, match=r"held by 16 lanes together.*loop_config\(block_dim=16\)"):
        kernel(out)
