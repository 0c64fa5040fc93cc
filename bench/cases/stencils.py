"""Stencils on containers of every layout: what the arithmetic of an address costs, or hides from the compiler."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import numpy as np

from . import Work, case, differs


def _containers(qd, kind: str, size: int) -> tuple:
    """Two square containers of f32, as something with cells `x[i, j]`, and the annotation of a parameter for them."""
    if kind == "ndarray":
        annotation = qd.types.ndarray(dtype=qd.f32, ndim=2)
        return qd.ndarray(qd.f32, shape=(size, size)), qd.ndarray(qd.f32, shape=(size, size)), annotation
    if kind == "blocked":
        fields = [qd.field(qd.f32) for _ in range(2)]
        for x in fields:
            qd.root.dense(qd.ij, -(-size // 8)).dense(qd.ij, 8).place(x)
        return (*fields, qd.template())
    if kind == "aos":
        a, b = qd.field(qd.f32), qd.field(qd.f32)
        qd.root.dense(qd.ij, size).place(a, b)
        return a, b, qd.template()
    return qd.field(qd.f32, shape=(size, size)), qd.field(qd.f32, shape=(size, size)), qd.template()


def _work(qd, kind: str, size: int, bounded: bool = False) -> Work:
    """bounded: between which indices it goes is an argument of the launch."""
    a, b, annotation = _containers(qd, "field" if kind == "struct_for" else kind, size)
    seen = qd.ndarray(qd.f32, shape=(size, size))
    array = qd.types.ndarray(dtype=qd.f32, ndim=2)

    @qd.kernel
    def start(x: annotation):
        for i, j in qd.ndrange(size, size):
            x[i, j] = ((7 * i * j + 31 * i + 113 * j) & 1023) / 1024

    @qd.kernel
    def ranged(x: annotation, y: annotation):
        for i, j in qd.ndrange((1, size - 1), (1, size - 1)):
            y[i, j] = 0.4 * x[i, j] + 0.15 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

    @qd.kernel
    def between(x: annotation, y: annotation, begin: qd.i32, end: qd.i32):
        for i, j in qd.ndrange((begin, end), (begin, end)):
            y[i, j] = 0.4 * x[i, j] + 0.15 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

    @qd.kernel
    def inside(x: annotation, y: annotation):
        for i, j in y:
            if 0 < i and i < size - 1 and 0 < j and j < size - 1:
                y[i, j] = 0.4 * x[i, j] + 0.15 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])

    @qd.kernel
    def show(x: annotation, out: array):
        for i, j in qd.ndrange(size, size):
            out[i, j] = x[i, j]

    step = inside if kind == "struct_for" else between if bounded else ranged
    bounds = (1, size - 1) if bounded else ()

    def run(n: int) -> None:
        for _ in range(n):
            step(a, b, *bounds)
        qd.sync()

    def check() -> str | None:
        start(a)
        run(1)
        show(b, seen)
        i, j = np.arange(size)[:, None], np.arange(size)
        x = ((7 * i * j + 31 * i + 113 * j) & 1023) / 1024
        near = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]
        return differs("b", seen.to_numpy()[1:-1, 1:-1], 0.4 * x[1:-1, 1:-1] + 0.15 * near)

    return Work(run, check)


@case("stencil_2d_field", "5-point stencil on fields, 1026^2", throughput=True, size=1026)
def on_fields(qd, size: int) -> Work:
    return _work(qd, "field", size)


@case("stencil_2d_struct_for", "the same in a loop over a field", throughput=True, size=1026)
def over_a_field(qd, size: int) -> Work:
    return _work(qd, "struct_for", size)


@case("stencil_2d_ndarray", "the same on ndarrays", throughput=True, size=1026)
def on_ndarrays(qd, size: int) -> Work:
    return _work(qd, "ndarray", size)


@case("stencil_2d_bounds", "the same between bounds that are arguments", throughput=True, size=1026)
def between_arguments(qd, size: int) -> Work:
    return _work(qd, "ndarray", size, bounded=True)


@case("stencil_2d_aos", "the same on fields side by side", throughput=True, size=1026)
def side_by_side(qd, size: int) -> Work:
    return _work(qd, "aos", size)


@case("stencil_2d_blocked", "the same on fields in blocks of 8^2", throughput=True, size=1026)
def in_blocks(qd, size: int) -> Work:
    return _work(qd, "blocked", size)


@case("stencil_3d_ndarray", "3-D 7-point stencil on ndarrays, 160^3", throughput=True, size=160)
def on_3d_ndarrays(qd, size: int) -> Work:
    a, b = qd.ndarray(qd.f32, shape=(size,) * 3), qd.ndarray(qd.f32, shape=(size,) * 3)
    array = qd.types.ndarray(dtype=qd.f32, ndim=3)

    @qd.kernel
    def start(x: array):
        for i, j, k in x:
            x[i, j, k] = ((7 * i * j + 3 * j * k + 31 * i + 113 * k) & 1023) / 1024

    @qd.kernel
    def step(x: array, y: array):
        for i, j, k in qd.ndrange((1, size - 1), (1, size - 1), (1, size - 1)):
            near = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k]
            near += x[i, j + 1, k] + x[i, j, k - 1] + x[i, j, k + 1]
            y[i, j, k] = 0.4 * x[i, j, k] + 0.1 * near

    def run(n: int) -> None:
        for _ in range(n):
            step(a, b)
        qd.sync()

    def check() -> str | None:
        start(a)
        run(1)
        i, j, k = np.ogrid[:size, :size, :size]
        x = ((7 * i * j + 3 * j * k + 31 * i + 113 * k) & 1023) / 1024
        near = x[:-2, 1:-1, 1:-1] + x[2:, 1:-1, 1:-1] + x[1:-1, :-2, 1:-1] + x[1:-1, 2:, 1:-1]
        near = near + x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:]
        return differs("b", b.to_numpy()[1:-1, 1:-1, 1:-1], 0.4 * x[1:-1, 1:-1, 1:-1] + 0.1 * near)

    return Work(run, check)
