"""Operands are read from left to right, once, as in Python (language.md 7, 11); aliases of template parameters."""

from __future__ import annotations

import re

import numpy as np
import pytest
from language_kit import raises

import quadrants as qd


def test_operands_are_read_from_left_to_right(arch):
    """Calls with effects inside expressions: arithmetic, arguments, lists, tuples, targets; top level and loops."""
    c = qd.field(qd.i32, shape=())
    f = qd.field(qd.i32, shape=8)

    @qd.func
    def bump(x: qd.template()):
        x += 1
        return x

    @qd.func
    def tick():
        c[None] += 1
        return c[None]

    @qd.func
    def digits(a, b, d):
        return a * 100 + b * 10 + d

    @qd.kernel
    def order(out: qd.types.ndarray(qd.i32, 1)):
        x0 = 5
        out[0] = x0 * 100 + bump(x0) * 10 + x0
        c[None] = 0
        out[1] = c[None] * 1000 + tick() * 100 + tick() * 10 + c[None]
        for _ in range(1):
            x = 5
            out[2] = x * 100 + bump(x) * 10 + x
            x = 5
            out[3] = digits(x, bump(x), x)
            x = 5
            v = qd.Vector([x, bump(x), x])
            out[4] = digits(v[0], v[1], v[2])
            x = 5
            a, b, d = x, bump(x), x
            out[5] = digits(a, b, d)
            x = 5
            items = [x, bump(x), x]
            out[6] = digits(items[0], items[1], items[2])
            x = 1
            f[bump(x)] = x
            out[7] = f[2] * 10 + x
            x = 1
            f[x] += bump(x)
            out[8] = f[1] * 10 + f[2]
            x = 5
            x += bump(x)
            out[9] = x
            x = 5
            x *= bump(x)
            out[10] = x
            x = 5
            out[11] = qd.max(x, bump(x) - 3) * 10 + qd.select(x > 0, x, bump(x))
            x = 5
            out[12] = (x < bump(x)) * 10 + (x == x)
            x = 3
            s = 0
            for i in range(x - 3, bump(x)):
                s += i
            out[13] = s
            x = 0
            w = qd.Vector([1, 2, 3])
            out[14] = w[x] * 100 + w[bump(x)] * 10 + w[x]

    out = qd.ndarray(qd.i32, shape=15)
    order(out)
    expected = [566, 122, 566, 566, 566, 566, 566, 12, 21, 11, 30, 56, 11, 6, 122]
    assert out.to_numpy().tolist() == expected


def test_aliases_keep_the_place_they_were_bound_to(arch):
    """A template parameter bound to an element stays that element, whatever its index variable becomes."""
    f = qd.field(qd.i32, shape=8)
    g = qd.Vector.field(2, qd.i32, shape=3)

    @qd.func
    def move(x: qd.template(), k: qd.template()):
        k += 1
        x = 7

    @qd.func
    def swap(a: qd.template(), b: qd.template()):
        t = a
        a = b
        b = t

    @qd.func
    def outer(x: qd.template(), y):
        y += 100
        swap(x, x)
        x += y

    @qd.kernel
    def aliases(out: qd.types.ndarray(qd.i32, 1)):
        v0 = qd.Vector([0, 0])
        k0 = 0
        move(v0[k0], k0)
        out[0] = v0[0] * 10 + v0[1]
        for _ in range(1):
            v = qd.Vector([0, 0])
            k = 0
            move(v[k], k)
            move(f[k], k)
            move(g[k][k - 2], k)
            out[1] = v[0] * 100 + v[1] * 10 + k
            swap(v[0], v[1])
            out[2] = v[1]
            swap(f[0], f[1])
            swap(g[0], g[2])
            y = 1
            z = 2
            outer(y, z)
            out[3] = y * 10 + z
            swap(y, z)
            out[4] = y * 1000 + z

    out = qd.ndarray(qd.i32, shape=5)
    aliases(out)
    assert out.to_numpy().tolist() == [70, 703, 7, 1032, 2103]
    assert f.to_numpy()[:2].tolist() == [7, 0]
    assert g.to_numpy().tolist() == [[7, 0], [0, 0], [0, 0]]


def test_loop_bounds_and_conditions_with_effects(arch):
    """Bounds are read once; a while condition runs again each time, also with calls and walrus."""
    c = qd.field(qd.i32, shape=())

    @qd.func
    def tick():
        c[None] += 1
        return c[None]

    @qd.kernel
    def loops(out: qd.types.ndarray(qd.i32, 1)):
        c[None] = 4
        for i in range(c[None]):
            c[None] += 1
            out[0] += 1
        c[None] = 0
        for _ in range(1):
            k = 3
            for i in range(k):
                k += 1
                out[1] += 1
            for i, j in qd.ndrange(k, (k - 5, k)):
                k = 0
                out[2] += 1
            while tick() < 5:
                t = tick()
                out[3] += t
            while (y := tick()) < 9 and tick() > 0:
                out[4] += y
            n = 0
            while tick() < 100:
                n += 1
                if n % 2:
                    continue
                if n > 5:
                    break
            out[5] = n * 100 + c[None]

    out = qd.ndarray(qd.i32, shape=6)
    loops(out)
    assert out.to_numpy().tolist() == [4, 3, 30, 6, 14, 616]


def test_short_circuit_of_calls(arch):
    """The effects of a call beside and / or / if-else happen only if Python would make the call."""
    c = qd.field(qd.i32, shape=())

    @qd.func
    def tick(result):
        c[None] += 1
        return result

    @qd.kernel
    def calls(out: qd.types.ndarray(qd.i32, 1)):
        for i in range(4):
            qd.loop_config(serialize=True)
            if i > 1 and tick(i) > 2:
                out[0] += 1
            if i > 1 or tick(i) > 0:
                out[1] += 1
            x = tick(10) if i == 3 else i
            out[2] += x
        out[3] = c[None]
        c[None] = 0
        a = c[None] > 0 and tick(1) and tick(1)
        b = tick(0) or tick(0) or tick(1) or tick(1)
        out[4] = a * 100 + b * 10 + c[None]

    out = qd.ndarray(qd.i32, shape=5)
    calls(out)
    assert out.to_numpy().tolist() == [1, 3, 13, 5, 13]


def test_names_of_the_dialect_are_free(arch):
    """Variables may be called like words, macros and names of the generated text."""
    f = qd.field(qd.i32, shape=2)

    @qd.func
    def main(double, register):
        int32_t = double + register
        return int32_t

    @qd.kernel
    def memcpy(auto: qd.i32, qd_args: qd.i32) -> qd.i32:
        lane, args, rt, frame, begin, end, worker = 1, 2, 3, 4, 5, 6, 7
        inline, linux, unix, printf, result0, asm, typeof = 8, 9, 10, 11, 12, 13, 14
        for static in range(1):
            signed = NULL = INFINITY = 1
            goto = main(lane, args) + rt + frame + begin + end + worker + signed + NULL + INFINITY
            f[0] = goto + inline + linux + unix + printf + result0 + asm + typeof + static
        return f[0] + auto + qd_args

    assert memcpy(1000, 2000) == sum(range(1, 15)) + 3 + 3000


def test_blocks_and_shadowing(arch):
    """Names that end with their block may come back with another type; loops, branches and funcs see their own."""

    @qd.func
    def helper(t):
        x = t * 2
        for t2 in range(2):
            x += t2
        return x

    @qd.kernel
    def blocks() -> qd.f64:
        r = 0.0
        for i in range(3):
            x = i
            if i > 0:
                t = x * 2
                x = t
            else:
                t = 1.5
                x = qd.cast(t, qd.i32) + 10
            r += x
        for x in range(2):
            t = helper(x)
            r += t
        t = qd.Vector([7, 1])
        return r * 100 + t[0]

    assert blocks() == (11 + 2 + 4 + 1 + 3) * 100 + 7


@pytest.mark.parametrize(
    "name", ["<locals>.base", "step[f32]", "a\nb */", "1st", "", "../x", "é", "__global__", "int", "%s"]
)
def test_functions_may_have_any_name(arch, name, tmp_path, monkeypatch):
    """What programs write to `__name__` is no part of the text, nor of names of files, unless it is fit for that."""
    monkeypatch.setenv("QD_DUMP_SRC", "1")
    qd.init(arch=arch, debug=True, debug_dump_path=str(tmp_path), offline_cache=False)
    f = qd.field(qd.i32, shape=4)

    def called(x):
        y = x + 1
        return y

    def real(x: qd.i32) -> qd.i32:
        return 10 * x

    def kernel(n: qd.i32) -> qd.i32:
        for i in range(3):
            f[i + n] = called(i) + real(i)
        return f[2]

    for function in (called, real, kernel):
        function.__name__ = name
    called, real, kernel = qd.func(called), qd.real_func(real), qd.kernel(kernel)
    assert kernel(0) == 23
    (dump,) = tmp_path.iterdir()
    assert re.fullmatch(r"[A-Za-z_]\w*\.\w+", dump.name, re.ASCII)
    with raises(qd.QuadrantsAssertionError, "with indices (4)"):
        kernel(2)


def test_lines_in_the_text_are_counted_from_def(arch):
    """In every function, also of one that has a docstring, whose parameters take lines, or that is inlined."""
    f = qd.field(qd.i32, shape=4)

    @qd.func
    def emitted(x):
        """Text."""
        y = x + 1

        return y

    @qd.func
    def inlined(
        x: qd.template(),
    ):
        x += 1

    @qd.kernel
    def kernel(
        n: qd.i32,
        m: qd.i32,
    ):
        """Text."""
        # nothing
        f[0] = n
        for i in range(m):
            f[i] = emitted(i)
            inlined(f[i])

    marks = re.findall(r"  // (\w+:\d+)$", kernel.source(1, 2), re.MULTILINE)
    assert sorted(set(marks)) == ["emitted:3", "emitted:5", "inlined:4", "kernel:7", "kernel:9"]


def test_the_index_of_a_swizzled_target_is_evaluated_once(arch):
    """Storing one component changes what the index reads."""
    a = qd.Vector.ndarray(2, qd.i32, shape=3)
    b = qd.Vector.field(2, qd.i32, shape=3, layout=qd.Layout.SOA)
    c = qd.Vector.field(2, qd.i32, shape=3)

    @qd.kernel
    def run(x: qd.types.ndarray()):
        x[x[0].x].xy = [1, 7]
        b[b[0].x].xy = [1, 7]
        c[c[0].x].xy = [1, 7]
        x[1 + x[1].y].yx -= 2
        b[1 + b[1].y].yx -= 2
        c[1 + c[1].y].yx *= 3

    run(a)
    assert a.to_numpy().tolist() == [[1, 7], [-2, -2], [0, 0]]
    assert b.to_numpy().tolist() == [[1, 7], [-2, -2], [0, 0]]
    assert c.to_numpy().tolist() == [[1, 7], [0, 0], [0, 0]]


def test_the_object_of_a_method_is_found_before_the_arguments(arch):
    """Its place, that is: what the arguments write there is seen by the method."""
    x = qd.Vector.field(2, qd.i32, shape=4)
    n = qd.field(qd.i32, shape=())
    out = qd.field(qd.i32, shape=3)

    @qd.func
    def put(self, value):
        self.a = value

    @qd.func
    def plus(self, value):
        return self.a + value

    body = {"__annotations__": {"a": qd.i32}, "put": put, "plus": plus}
    cells = qd.dataclass(type("Cell", (), body)).field(shape=4)

    @qd.kernel
    def run():
        n[None] = 2
        x[n[None]].fill(qd.atomic_sub(n[None], 1))
        cells[n[None]].put(qd.atomic_sub(n[None], 1) + 10)
        cells[0].a = 5
        out[0] = cells[0].plus(qd.atomic_add(cells[0].a, 1))
        x[0] = qd.Vector([1, 2])
        out[1] = x[0].dot(qd.Vector([qd.atomic_add(x[0][0], 10), 1]))
        v = qd.Vector([1, 2])
        out[2] = v.dot(qd.Vector([qd.atomic_add(v[0], 10), 1]))

    run()
    assert x.to_numpy().tolist() == [[11, 2], [0, 0], [2, 2], [0, 0]]
    assert cells.a.to_numpy().tolist() == [6, 11, 0, 0]
    assert out.to_numpy().tolist() == [6 + 5, 11 + 2, 11 + 2]


@pytest.mark.parametrize("first", [0, 1])
def test_the_cell_of_an_element_is_found_before_the_index_of_the_element(arch, first):
    place = qd.field(qd.i32, shape=2)
    vectors = qd.Vector.field(4, qd.i32, shape=8)
    matrices = qd.Matrix.field(2, 2, qd.i32, shape=8)
    seen = qd.field(qd.i32, shape=3)

    @qd.kernel
    def run():
        vectors[place[0]][qd.atomic_add(place[0], 2)] = 5
        seen[0] = vectors[place[0]][qd.atomic_add(place[0], 1)]
        matrices[place[0]][qd.atomic_sub(place[0], 3) & 1, 1] += 7
        seen[1] = (vectors[place[0]] * place[0])[qd.atomic_or(place[0], 2)]

    place[0] = first
    for i in range(8):
        vectors[i] = [i * 10 + k for k in range(4)]
    run()
    wanted = [[i * 10 + k for k in range(4)] for i in range(8)]
    wanted[first][first] = 5
    assert vectors.to_numpy().tolist() == wanted
    assert seen[0] == wanted[first + 2][first + 2]
    assert matrices.to_numpy()[first + 3, (first + 3) & 1, 1] == 7
    assert matrices.to_numpy().sum() == 7
    assert seen[1] == wanted[first][first] * first


def test_functions_may_have_names_of_the_dialect(arch):
    f = qd.field(qd.i32, shape=4)

    @qd.func
    def sample(f: qd.template(), i):
        return f[i] * 2

    @qd.func
    def buffer(f: qd.template(), i):
        return f[i] + sample(f, i)

    @qd.func
    def texture2D(f: qd.template(), device, local):
        return f[device] - f[local] + buffer(f, device)

    @qd.func
    def smooth(f: qd.template(), i):
        return texture2D(f, i, 0) + f[i]

    @qd.kernel
    def threadgroup():
        for i in f:
            f[i] += smooth(f, i) + sample(f, i)

    f.from_numpy(np.array([0, 1, 2, 3], np.int32))
    threadgroup()
    assert f.to_numpy().tolist() == [0, 8, 16, 24]
