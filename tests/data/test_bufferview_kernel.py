"""data.md 9.2, 9.6: buffer views as kernel arguments, windows made in kernels, views passed to funcs."""

import re

import numpy as np
import pytest
from view_kit import fill, iota, touch, zeros

import quadrants as qd
from quadrants import BufferView
from quadrants.lang.exception import QuadrantsIndexError

RUNTIME_TYPE, SYNTAX, COMPILE = qd.QuadrantsRuntimeTypeError, qd.QuadrantsSyntaxError, qd.QuadrantsCompilationError


@qd.kernel
def bare_fill(v: BufferView, x: qd.f32):
    for i in range(v.size):
        v[i] = x


@qd.kernel
def postponed(v: "BufferView[qd.f32]"):
    for i in range(v.shape[0]):
        v[i] += v.offset


# ---------------------------------------------------------------- windows, arguments, annotations


def test_writes_stay_in_the_window(arch) -> None:
    """9.6.9: a[8:16] changes elements 8..15 only, at every launch by the offset and size of that launch."""
    a = zeros()
    fill(a[8:16], 1)
    assert a.to_numpy().tolist() == [0] * 8 + [1] * 8 + [0] * 16
    fill(a[30:], 2)
    fill(a[4:4], 3)
    assert a.to_numpy().tolist() == [0] * 8 + [1] * 8 + [0] * 14 + [2, 2]
    assert len(fill) == 1


def test_temporaries_at_one_address(arch) -> None:
    """9.6.22: the second view may live where the first did."""
    a = zeros()
    for k in range(0, 32, 4):
        fill(a[k : k + 4], k)
    assert a.to_numpy().tolist() == [k // 4 * 4 for k in range(32)]


@pytest.mark.parametrize("kernel", [fill, bare_fill], ids=["dtype", "bare"])
def test_annotations_with_and_without_dtype(arch, kernel) -> None:
    """9.6.8: both compute the same."""
    a = zeros()
    kernel(a[4:20], 3)
    assert a.to_numpy().sum() == 48


def test_bare_annotation_has_one_specialisation_per_dtype(arch) -> None:
    real, integer, vectors = zeros(), zeros(dtype=qd.i32), qd.ndarray(qd.math.vec2, (8,))

    @qd.kernel
    def add(v: BufferView):
        for i in range(v.size):
            v[i] += 1.75

    for x in (real, integer, vectors, real, integer):
        add(x[2:4])
    assert len(add) == 3
    assert real.to_numpy()[1:5].tolist() == [0, 3.5, 3.5, 0]
    assert integer.to_numpy()[1:5].tolist() == [0, 2, 2, 0]
    assert vectors.to_numpy()[2].tolist() == [1.75, 1.75]


def test_postponed_annotation_and_attributes(arch) -> None:
    a = zeros()
    postponed(a[5:7])
    assert a.to_numpy()[4:8].tolist() == [0, 5, 5, 0]


def test_two_views_in_one_call(arch) -> None:
    """9.6.9: independent windows, also of one array, also overlapping."""

    @qd.kernel
    def copy(src: BufferView[qd.f32], dst: BufferView[qd.f32]) -> qd.i32:
        for i in range(src.size):
            dst[i] = 10 * src[i]
        return src.offset * 100 + dst.size

    a = iota()
    assert copy(a[4:8], a[16:20]) == 404
    want = np.arange(32)
    want[16:20] = want[4:8] * 10
    assert a.to_numpy().tolist() == want.tolist()
    b = iota()
    copy(b[0:4], b[0:4])
    assert b.to_numpy()[:5].tolist() == [0, 10, 20, 30, 4]


def test_vectors_and_matrices(arch) -> None:
    """9.6.4: views of compound elements, read and written whole and by component."""
    v, m = qd.ndarray(qd.math.vec3, (8,)), qd.ndarray(qd.math.mat2, (6,))

    @qd.kernel
    def run(x: BufferView[qd.math.vec3], y: BufferView[qd.math.mat2]):
        for i in range(x.size):
            x[i] = qd.math.vec3(1, 2, 3) * (i + 1)
            x[i][0] = 9
            x[i].z += 0.5
        for i in range(y.size):
            y[i][1, 0] += i + 1

    run(v[2:4], m[4:])
    assert v.to_numpy()[1:5].tolist() == [[0, 0, 0], [9, 2, 3.5], [9, 4, 6.5], [0, 0, 0]]
    assert m.to_numpy()[3:, 1, 0].tolist() == [0, 1, 2]


def test_atomics(arch) -> None:
    @qd.kernel
    def run(v: BufferView[qd.i32], n: qd.i32):
        for i in range(n):
            v[i % v.size] += 1
            qd.atomic_max(v[0], i)

    a = zeros(8, qd.i32)
    run(a[2:6], 4000)
    got = a.to_numpy().tolist()
    assert got[:2] + got[3:] == [0, 0, 1000, 1000, 1000, 0, 0]
    assert 3999 <= got[2] <= 3999 + 1000


def test_arguments_that_are_no_views(arch) -> None:
    """9.6.13: ndarrays, NumPy arrays, fields and numbers are refused by a sentence."""
    for x in (zeros(), np.zeros(4, np.float32), qd.field(qd.f32, 4), 3, None, [1.0]):
        with pytest.raises(RUNTIME_TYPE, match="expects a BufferView, got"):
            fill(x, 1)
    with pytest.raises(TypeError, match="Expect element type f32 for argument v, but get i32"):
        fill(zeros(dtype=qd.i32)[:4], 1)


def test_views_where_none_is_declared(arch) -> None:
    view = zeros()[:4]

    @qd.kernel
    def array(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        x[0] = 1

    @qd.kernel
    def tensor(x: qd.Tensor):
        x[0] = 1

    @qd.kernel
    def template(x: qd.template()):
        x[0] = 1

    @qd.kernel
    def captured():
        view[0] = 1

    for kernel in (array, tensor, template):
        with pytest.raises(RUNTIME_TYPE):
            kernel(view)
    with pytest.raises(COMPILE, match="view"):
        captured()


def test_changes_in_place_count_from_the_next_launch(arch) -> None:
    a = zeros()
    view = a[0:2]
    fill(view, 1)
    view.offset, view.size = 10, 3
    fill(view, 2)
    assert np.flatnonzero(a.to_numpy()).tolist() == [0, 1, 10, 11, 12]
    view.size = 23
    with pytest.raises(ValueError, match="BufferView out of range: offset=10, size=23, ndarray length=32"):
        fill(view, 3)
    view.arr = zeros(64)
    fill(view, 3)
    assert view.arr.to_numpy().sum() == 69 and a.to_numpy().sum() == 8


def test_arrays_of_a_destroyed_runtime(arch, init) -> None:
    view = zeros()[0:2]
    init()
    with pytest.raises(RuntimeError, match="dead"):
        fill(view, 1)


# ---------------------------------------------------------------- windows made in kernels


def test_slices_and_subviews_in_kernels(arch) -> None:
    """9.6.11: every form hits the right elements; bounds may be run-time values; chains accumulate."""

    @qd.kernel
    def run(v: BufferView[qd.f32], a: qd.i32, b: qd.i32, out: qd.types.ndarray(dtype=qd.i32, ndim=2)):
        w = v[a:b]
        w[0] = 1
        v[a:][1] = 2
        v[:b].subview(0, 1)[0] = 3
        x = v[2:8][1:3]
        x[1] = 4
        y = v.subview(offset=4, size=4)
        y[3] = 5
        z = v[:]
        out[0, 0], out[0, 1] = w.offset, w.size
        out[1, 0], out[1, 1] = x.offset, x.shape[0]
        out[2, 0], out[2, 1] = y.offset, y.size
        out[3, 0], out[3, 1] = z.offset, z.size

    a, out = zeros(), np.zeros((4, 2), np.int32)
    run(a[8:24], 5, 9, out)
    want = np.zeros(32)
    want[[13, 14, 8, 12, 15]] = [1, 2, 3, 4, 5]
    assert a.to_numpy().tolist() == want.tolist()
    assert out.tolist() == [[13, 4], [11, 2], [12, 4], [8, 16]]


def test_a_window_keeps_the_bounds_it_was_made_with(arch) -> None:
    @qd.kernel
    def run(v: BufferView[qd.f32]):
        for _ in range(1):
            k = 2
            w = v[k:8]
            k = 5
            w[0] = k
            for j in range(3):
                u = w.subview(j, 2)
                u[1] += 1

    a = zeros()
    run(a[0:16])
    assert a.to_numpy()[:8].tolist() == [0, 0, 5, 1, 1, 1, 0, 0]


def test_construction_in_kernels(arch) -> None:
    """9.6.11: on ndarray, NumPy, torch and tensor parameters, keywords allowed."""
    torch = pytest.importorskip("torch", reason="needs the package torch")

    @qd.kernel
    def run(a: qd.types.ndarray(dtype=qd.f32, ndim=1), o: qd.i32):
        v = BufferView(a, o, 3)
        for i in range(v.size):
            v[i] = 1
        w = qd.BufferView(arr=a, offset=o + 4, size=1)
        w[0] = 2

    @qd.kernel
    def on_tensor(a: qd.Tensor):
        v = BufferView(a, 1, 2)
        v[1] = 5

    for a in (zeros(8), np.zeros(8, np.float32), torch.zeros(8)):
        run(a, 2)
        got = a.to_numpy() if hasattr(a, "to_numpy") else np.asarray(a)
        assert got.tolist() == [0, 0, 1, 1, 1, 0, 2, 0]
    t = qd.tensor(qd.f32, (4,), backend=qd.Backend.NDARRAY)
    on_tensor(t)
    assert t.to_numpy().tolist() == [0, 0, 5, 0]


def two_axes(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    w = BufferView(a, 0, 1)
    w[0] = 1


def nested(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    w = BufferView(v, 0, 1)
    w[0] = 1


def step(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    w = v[::2]
    w[0] = 1


def step_of_one(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    w = v[::1]
    w[0] = 1


def negative_bound(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    w = v[-2:]
    w[0] = 1


def negative_index(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    v[-1] = 1


def two_slices(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    w = v[0:1, 0:1]
    w[0] = 1


def two_indices(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    v[0, 1] = 1


def assigned_size(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    v.size = 3


def rebound_parameter(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    v = v[1:2]


def rebound_in_a_branch(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    w = v[0:2]
    if w.size > 1:
        w = v[2:4]
    w[0] = 1


def looped_over(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    for i in v:
        v[i] = 1


def real_index(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    v[v[0]] = 1


def real_bound(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    w = v[v[0] :]
    w[0] = 1


def unknown_attribute(a: qd.types.ndarray(dtype=qd.f32, ndim=2), v: BufferView[qd.f32]):
    v[0] = v.length


WRONG = [
    (two_axes, COMPILE, "1D"),
    (nested, COMPILE, "Cannot nest BufferView.*subview"),
    (step, SYNTAX, "does not support an explicit step in kernels"),
    (step_of_one, SYNTAX, "does not support an explicit step in kernels"),
    (negative_bound, SYNTAX, "negative"),
    (negative_index, SYNTAX, "Negative indices are not supported"),
    (two_slices, SYNTAX, "only supports 1D slicing in kernels"),
    (two_indices, QuadrantsIndexError, "BufferView with dim 1 accessed with indices of dim 2"),
    (assigned_size, COMPILE, "v.size"),
    (rebound_parameter, COMPILE, "v"),
    (rebound_in_a_branch, COMPILE, "w"),
    (looped_over, COMPILE, r"range\(v.size\)"),
    (real_index, TypeError, "indices must be integers"),
    (real_bound, TypeError, "must be an integer"),
    (unknown_attribute, COMPILE, "size, shape, offset"),
]


@pytest.mark.parametrize("body, kind, text", WRONG, ids=[row[0].__name__ for row in WRONG])
def test_compilation_errors(arch, body, kind, text: str) -> None:
    """9.6.12, 20, 25 and 9.2: each is an error of the program, with file and line; "step=1" is never advised."""
    a = qd.ndarray(qd.f32, (4, 4))
    with pytest.raises(kind, match=text) as caught:
        qd.kernel(body)(a, zeros()[:8])
    assert "step=1" not in str(caught.value)
    assert "test_bufferview_kernel.py" in str(caught.value)


def test_arrays_with_gradients(arch) -> None:
    """9.6.24: refused on the host and in kernels."""
    a = qd.ndarray(qd.f32, (8,), needs_grad=True)
    for make in (lambda: a[:4], lambda: BufferView(a, 0, 4)):
        with pytest.raises(TypeError, match="does not support ndarrays with gradients"):
            make()

    @qd.kernel
    def run(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        v = BufferView(x, 0, 4)
        v[0] = 1

    with pytest.raises(COMPILE, match="does not support ndarrays with gradients"):
        run(a)


# ---------------------------------------------------------------- funcs


def test_funcs_take_views_every_way(arch) -> None:
    """9.6.10: annotated, bare, unannotated and template parameters; by reference; subviews are passed on."""

    @qd.func
    def annotated(v: BufferView[qd.f32], x):
        v[0] = x

    @qd.func
    def bare(v: BufferView, x):
        v[1] = x

    @qd.func
    def unannotated(v, x):
        v[2] = x + v.size

    @qd.func
    def template(v: qd.template(), x):
        annotated(v[3:], x)

    @qd.kernel
    def at_top_level(v: BufferView[qd.f32]):
        annotated(v, 1)
        bare(v, 2)
        unannotated(v, 3)
        template(v, 4)

    @qd.kernel
    def in_a_loop(v: BufferView[qd.f32]):
        for k in range(v.size // 4):
            w = v[4 * k : 4 * k + 4]
            annotated(w, 1)
            bare(w, 2)
            unannotated(w, 3)
            template(w, 4)

    a, b = zeros(16), zeros(16)
    at_top_level(a[4:10])
    assert a.to_numpy().tolist() == [0] * 4 + [1, 2, 9, 4] + [0] * 8
    in_a_loop(b[4:12])
    assert b.to_numpy().tolist() == [0] * 4 + [1, 2, 7, 4] * 2 + [0] * 4


def test_funcs_return_views(arch) -> None:
    @qd.func
    def half(v: BufferView[qd.f32], second):
        n = v.size // 2
        return v.subview(n * second, n)

    @qd.kernel
    def run(v: BufferView[qd.f32]):
        half(v, 1)[0] = 1
        for _ in range(1):
            w = half(half(v, 1), 1)
            w[1] = 2

    a = zeros()
    run(a[8:16])
    assert np.flatnonzero(a.to_numpy()).tolist() == [12, 15]


def test_one_emitted_function_for_all_windows(arch) -> None:
    """Offset and size are arguments of the function: its windows do not multiply the code."""

    @qd.func
    def put_here(v: BufferView[qd.f32], x):
        v[0] = x

    @qd.kernel
    def run(v: BufferView[qd.f32]):
        for i in range(4):
            put_here(v[i:], 1.0)
            put_here(v.subview(i + 8, 2), 2.0)
            put_here(v, 3.0)

    assert len(re.findall(r"(?:^| )void put_here", run.source(zeros()[:]), re.MULTILINE)) == 1


def test_funcs_refuse_other_values(arch) -> None:
    @qd.kernel
    def number(v: BufferView[qd.f32]):
        touch(3.0, 1)

    @qd.kernel
    def array(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        touch(a, 1)

    with pytest.raises(SYNTAX, match="expects a BufferView, got"):
        number(zeros()[:])
    with pytest.raises(SYNTAX, match="expects a BufferView, got"):
        array(zeros())


@pytest.mark.cpu_only
def test_names() -> None:
    """9.6.26, 27: public names and the boundary of an annotation."""
    assert qd.BufferView is BufferView and not hasattr(qd, "buffer_view")
    t = BufferView[qd.f32, "clamp"]
    assert isinstance(t, qd.types.BufferViewType) and repr(t) == "BufferViewType(dtype=f32, boundary=1)"
    assert int(qd.types.enums.BoundaryMode.CLAMP) == t.boundary
    with pytest.raises(ValueError, match="unsafe.*clamp"):
        BufferView[qd.f32, "wrap"]
