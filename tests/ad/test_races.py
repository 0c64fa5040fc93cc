"""Which loops of plain indices are refused: those of which one iteration reads a cell that another one writes.

Every loop that is accepted has the derivative that differences have.
"""

from __future__ import annotations

import importlib.util
import textwrap

import numpy as np
import pytest
from oracle import differences

import quadrants as qd

SOURCE = """
import quadrants as qd

SOA = qd.Layout.SOA
x, w, out = (qd.field(qd.f64, 64, needs_grad=True) for _ in range(3))
z = qd.field(qd.f64, (4, 4), needs_grad=True)
v = qd.Vector.field(2, qd.f64, 4, needs_grad=True)
s = qd.Vector.field(2, qd.f64, 4, needs_grad=True, layout=SOA)
b = qd.Struct.field({{"p": qd.f64, "q": qd.f64}}, shape=4, needs_grad=True)
kind = qd.field(qd.i32, 4)
first = s.get_scalar_field(0)


@qd.func
def double(field: qd.template(), to, from_):
    field[to] += 2.0 * field[from_]


@qd.func
def advance(index: qd.template(), step):
    index += step


@qd.kernel
def k(n: qd.i32, a: qd.types.ndarray(dtype=qd.f64, ndim=1)):
{body}
"""
REFUSED = """
for i in range(4): x[i] = 2.0 * x[0]
for i in range(4): x[0] += x[i]
for i in range(4): x[3] += 2 * x[i]
for i in range(4): x[i] += x[0]
for i in range(4): x[i] += x[3]
for i in range(4): x[i] -= x[3]
for i in range(4): qd.atomic_add(x[i], x[3])
for i in range(4): _ = qd.atomic_add(x[i], x[3])
for i in range(n): x[i] += x[0]
for i in range(n): x[0] += x[i]
for i in range(kind[0]): x[i] += x[0]
for i in x: x[5] += x[i]
for i in range(4): x[0] = x[0] * w[i]
for i in range(4): x[0] += x[0] * x[9]
for i in range(20): x[2 * i] += x[20]
for i in range(4): x[2 * i + 1] = x[i] * 2
for i in range(4): x[4 - 1 - i] += x[i]
for i in range(4): x[3 + -i] += x[i]
for i in range(4):: k = i + 1; j = k - 1; x[j] += x[0]
for i in range(4):: for j in range(4): x[j] += x[i]
for i in range(4):: for j in range(i): x[i] += x[j]
for i in range(4):: for j in range(i, 4): x[j] += x[i]
for i in range(6):: for j in range(i):: for _ in range(j): x[i] += x[2]
for i in range(4):: for j in range(n): x[j] += x[i]
for i in range(4):: for j in range(8): x[i + j] += 2 * x[i + 8 * j]
for i in range(4):: for j in range(5): x[4 * i + j] += x[4 * i]
for i in range(30):: for j in range(2): x[i + j] += x[5]
for i in range(30):: for j in range(2): x[5] += x[i + j]
for i in range(30):: for j in range(2): x[i + j] += x[i + 9]
for i in range(30):: for j in range(6):: if i % 2 == 0: x[i + j] += x[i + 5]
for i in range(10):: for j in range(6): x[i + 3 + j] += x[13 - i + 2 * j]
for i in range(20):: for j in range(2): x[i + j] += x[2 * i + 5 + j]
for i in range(4):: x[i] /= x[0] + x[1] + x[2] + x[3]
for i in range(4):: total = 0.0; for j in range(4): total += x[j]; x[i] /= total
for i, j in z: z[i, j] += z[i, 0]
for i, j in z: z[i, j] += z[0, j]
for i, j in z: z[i, 0] += z[i, j]
for i, j in z: z[i, 0] += z[0, i]
for i, j in z: z[i, j] += z[j, i]
for i, j in qd.ndrange(4, 4): z[i, j] += z[j, i]
for i in range(4):: for j in range(4): z[i, j] += z[j, i]
for i in range(4):: for j in range(4): z[0, i] += z[0, j]
for i in range(4):: for j in qd.static(range(4)): z[0, i] += z[0, j]
for i in range(4):: for j in range(4): z[n, i] += z[n, j]
for I in qd.grouped(z): z[I] += z[I[1], I[0]]
for I in qd.grouped(z): z[I] += z[0, 0]
for I in qd.grouped(z): z[I] += z[I + qd.Vector([1, 0])]
for I in qd.grouped(z): double(z, I, qd.Vector([I[1], I[0]]))
for i in range(4): double(x, i, 0)
for i in range(4): double(x, 3, i)
for i in v: v[i][0] += v[0][0]
for i in v: v[i] = v[0] * 2
for i in v: v[0] += v[i] * 2
for i in s: s[i][0] += s[0][0]
for i in s: s[i] = s[0] * 2
for i in s: first[i] += s[0][0]
for i in v: v[i][n] += v[0][0]
for i in range(2): v[1][i] += v[1][1 - i] ** 2
for i in b: b[i].p += b[0].p
for i in a: a[i] = a[0] * 2
for i in a: a[0] += a[i] * 2
for i in a: a[i] /= a[3]
for i in range(a.shape[0]): a[i] /= a[3]
for i in range(n): a[i] = a[1] * 2
for i in range(4):: if i > 1: x[i] += x[3]
for i in range(4):: if 2 > 1: x[i] += x[0]
for i in range(4):: if i == 0: x[0] += w[0]; out[i] += x[0]
for i in range(4):: if not (i < 2 or i == 3): x[0] += w[i]; out[i] += x[0]
for i in range(4): x[i] = x[0] * 2 if i % 2 == 0 else w[i]
for i in range(4):: k = i; k -= 1; x[i] = 2 * x[k + 2]
for i in range(4):: k = 0; k = i + 1; x[i] = 2 * x[k]
for i in range(4):: k = i; k = k + 1; x[i] = 2 * x[k]
for i in range(4):: k = i; advance(k, 1); x[i] = 2 * x[k]
for i in range(4):: k, j = 0, i; k, j = j, k; x[k] += x[j] ** 2
for i in range(4):: k = i + 1; value = x[k]; k = i; x[k] += value * value
for i in range(4):: k = i; j = k + 1; k = 9; x[i] += x[j] ** 2
for i in range(4):: k = i; for _ in qd.static(range(3)): k += 1; x[i] = 2 * x[k]
for i in range(4):: k = i; for _ in range(3): k += 1; x[i] = 2 * x[k]
for i in range(4):: k = 0; for _ in range(3): x[i] += x[k] ** 2;k += 1
for i in range(4):: k = 9; for _ in range(3): x[i] += x[k] ** 2;k -= 3
for i in range(4):: k = 0; for j in range(3): x[i] += x[k] ** 2;k = kind[j]
for i in range(4):: k = i; if i > -1: k = i + 1; x[i] = 2 * x[k]
for i in range(4):: k = i; if kind[i] > 1: k = i + 1; x[i] = 2 * x[k]
for i in range(4):: k = 0; more = False; if i > 1: more = True; if more: k = i; x[i] += x[k] ** 2
for i in range(4): x[i] += x[i + 1 if i < 2 else i] ** 2
for i in range(4): x[i] += x[qd.select(kind[i] > 1, i + 1, i)] ** 2
for i in range(4):: for j in range(2): k = i;k += j;x[i] += x[k] ** 2
for i in range(4):: k = 2; if i > 1: k = 4; for j in range(k): x[i] += x[j] ** 2
for i in range(4):: k = 2; if i > 1: k = 0; for j in range(k, 4): x[i] += x[j] ** 2
for i in range(4):: for j in range(4 if i > 1 else 2): x[i] += x[j] ** 2
for i in range(4):: for j in range(qd.min(i, 2)): x[i] += x[j] ** 2
for i in range(4): x[i] += x[abs(i - 2)] ** 2
for i in range(4): x[i] += x[qd.cast(i * 0.5, qd.i32)] ** 2
for i in range(4): x[i] += x[qd.cast(qd.floor(i / 2), qd.i32)] ** 2
for i in range(1, 5):: k = i; for j in range(2): k = i - j; x[i] += 0.5 * x[k]
for i in range(1, 5):: k = i; for j in range(9): k = i + j - 7; x[i] += 0.5 * x[k]
for i in range(1, 5):: k = i; for j in range(n): k = i + 1; x[i] += 0.5 * x[k]
for i in range(1, 5):: k = i; for j in range(9): x[i] += 0.5 * x[k];k = i + j
for i in range(1, 5):: k = i; for j in range(2): k += 1;k -= 2; x[i] += 0.5 * x[k + 1]
for i in range(1, 5):: k = i; for j in range(9): k += 1;k -= 2; x[i] += 0.5 * x[k + 10]
for i in range(4):: J = qd.Vector([i, 0]); for d in range(2): J[d] += 1; x[J[0]] += 0.5 * x[i]
for i in range(4):: k = i; for _ in range(3): k = k - 1 if k > 0 else 0; x[i] += 0.5 * x[k]
for i in range(4):: k = i + 1; for j in range(2): k -= j; x[i + 1] += 0.5 * x[k]
for I in qd.grouped(z): J = I; J += 1; z[I] += z[J] ** 2
for I in qd.grouped(z): J = I; J = J - 1; z[I] += z[J] ** 2
for I in qd.grouped(z): J = I; J.x += 1; z[I] += z[J] ** 2
for I in qd.grouped(z): J = I; J[0] = I[0] + 1; z[I] += z[J] ** 2
for I in qd.grouped(z):: J = I; for d in qd.static(range(2)): J[d] += 1; z[I] += z[J] ** 2
for I in qd.grouped(z): J = I; J = qd.Vector([I[1], I[0]]); z[I] += z[J] ** 2
for I in qd.grouped(z): J = I; d = 1; d -= 1; J[d] += 1; z[I] += z[J] ** 2
"""
STORED = """
for i in range(4): w[i >> 1] = x[i]
for i in range(4): w[(i << 1) & 2] = x[i]
for i in range(4): w[i ** 2 % 3] = x[i]
for i in range(4): w[int(i > 1)] = x[i]
for i in range(4): w[qd.raw_div(i, 2)] = x[i]
for i in range(4): w[qd.raw_mod(i, 2)] = x[i]
for i in range(4):: k = i; k >>= 1; w[k] = x[i]
for i in range(4): w[qd.Vector([i, 3 - i]).sum()] = x[i]
for i in range(4): w[qd.Vector([i, 2]).max()] = x[i]
for I in qd.grouped(qd.ndrange(3, 3)): w[I.sum()] = x[I[0]]
for i in range(3):: for j in range(kind[0]): w[0] = x[i]
for i in range(3):: for j in range(kind[i]): w[j] = x[i]
for i in range(30):: for j in range(2): w[i + 9 * j] = x[i]
for i in range(4): out[0] = x[i]
for i in range(4): out[0] = x[3]
for i in range(4): out[i // 2] = x[i]
for i in range(4): out[i % 3] = x[i]
for i in range(4): out[n] = x[i]
for i in range(n): a[1] = x[i]
for i in range(1, 4):: out[i] = x[i]; out[i - 1] += x[i + 4]
for i in range(4):: out[i] = 0.0; out[i + 1] += x[i]
for i in range(4):: out[0] = 0.0; out[0] += x[i]
for i in range(4):: if i > 1: out[9] = x[i]
for i, j in z: out[i] = z[i, j]
for i, j in z: out[i + j] = z[i, j]
for i in v: v[0][1] = x[i]
for i in v: v[i // 2] = [x[i], x[i]]
for i in range(2):: k = 0; v[1][k] = x[i]
for i in range(2):: v[1][1 - i] = x[i]; v[1][i] += x[i + 2]
for i in range(2):: v[1][i] = x[i]; v[1] = [x[2], x[3]]
"""
ACCEPTED = """
for i in range(4): w[i << 1] += x[i] ** 2
for i in range(4): w[(i << 1) + (i >> 5)] = x[i] ** 2
for i in range(4):: for j in range(kind[i]): w[8 * i + j] = x[i] ** 2
for I in qd.grouped(qd.ndrange(3, 3)): w[I.sum() * 2 + I[0]] += x[I.sum()] ** 2
for i in range(4): out[0] = 3.0
for i in range(4): out[i] = x[i] + x[0]
for i in range(4): out[i // 2] += x[i]
for i in range(2): v[1][i] = x[i]
for i in range(2): v[1][1 - i] = x[i] * v[1][1 - i]
for i in range(2): v[0][i] += v[1][1 - i] ** 2
for i in range(2):: k = i; v[1][k] = x[i]; v[2] = [0.0, 0.0]
for i in range(4): out[i // 4 + 9] = 0.0
for i in range(4):: out[i] = 0.0; for j in range(4): out[i] += x[j]
for i in range(4):: if i == 2: out[9] = x[i]
for i in range(1): out[0] = x[i]
for i, j in z: out[4 * i + j] = z[i, j]
for i in range(4):: x[2 * i] += 1.0; out[i] += x[i + i]
for i in range(4):: x[5 - i] += 1.0; out[i] += x[-i + 5]
for i in range(4):: k = 2 * i; j = k - i; x[i] += 0.5 * x[j]
for i in range(4):: k = i; for j in range(3): k = i + j; x[i] += 0.5 * x[k + 20]
for i in range(4):: k = i; for j in range(n): k = 3 - j; x[i] += 0.5 * x[k + 20]
for i in range(4): x[i + 1] += x[0] ** 2
for i in range(4): x[0] += x[i + 1] ** 2
for i in range(4): x[i] = x[i] * x[30]
for i in range(4): x[i] += x[i] * x[i]
for i in range(n): x[i] = x[i] * x[30]
for i in range(1): x[i] += x[0] ** 2
for i in range(3, 4): x[i] += x[i - 1] * x[0]
for i in range(4): x[2 * i] += x[2 * i + 1] ** 2
for i in range(4): x[2 * i + 1] = x[2 * i] ** 2
for i in range(n): x[2 * i + 1] = x[2 * i] ** 2
for i in range(4): x[3 * i] += x[3 * i + 1] * x[3 * i + 2]
for i in range(4): w[i] += w[15 - i] ** 2
for i in range(4): w[i + 4] += w[i] ** 2
for i in range(4): x[20] += x[21] * x[i]
for i in range(4): x[2 * i] += x[21] ** 2
for i in range(4):: for j in range(4): x[4 * i] += x[4 * i + j] ** 2
for i in range(4):: for j in range(4): x[i] += x[16 + 4 * i + j] ** 2
for i in range(4):: for j in qd.static(range(1, 4)): x[4 * i] += x[4 * i + j] ** 2
for i in range(4):: for j in range(4): z[i, 0] += z[i, j] ** 2
for i, j in z: z[i, j] += z[i, j] ** 2
for I in qd.grouped(z): z[I] += z[I] ** 2
for i in range(4): z[i, 0] += z[i, 1] * z[i, 3]
for i in range(1, 4): z[i, i] = z[0, i] ** 2
for i in range(4): v[i][0] += v[0][1] ** 2
for i in range(1, 4): v[i][0] = v[i - 1][1] ** 2
for i in range(1, 4): s[i][0] = s[i - 1][1] ** 2
for i in range(1, 4): first[i] = s[i - 1][1] ** 2
for i in range(4): b[i].p += b[0].q ** 2
for i in range(4):: if i > 0: x[i] += x[0] ** 2
for i in range(4):: if i == 2: x[0] = w[0] ** 2; if i == 2: out[i] += x[0]
for i in range(4):: if i != 1 and i < 3: x[i] += x[1] * x[3]
for i in range(4):: if i % 2 == 1: x[i] += x[0] ** 2
for i in range(4):: inner = i > 1; if inner: x[i] += x[0] ** 2
for i in range(4):: x[i] += x[0] ** 2 if i > 4 else w[0]
for i in range(4):: k = i + 1; k -= 1; x[k] += x[i] ** 2
for i in range(4):: k = i; k += 9; x[i] += x[k] ** 2
for i in range(4):: k = 2 * i; j = k; k += 1; x[j] += x[k] ** 2
for i in range(4):: k = 8 * i; for _ in range(3): x[8 * i] += x[k] ** 2;k += 1
for i in range(4):: k = 8; for _ in range(3): x[i] += x[k] ** 2;k += 4
for i in range(4):: k = i; if i == 7: k = 0; x[2 * k] += x[2 * k + 1] ** 2
for i in range(4):: k = 4 * i; if i > 1: k += 1; x[k] += x[k + 2] ** 2
for i in range(4): x[i] += x[i + 4 if i > 1 else i + 8] ** 2
for i in range(4):: k = i; for j in range(3): x[i] += x[k] ** 2;k = kind[j] + 16
for I in qd.grouped(z):: J = I; for d in qd.static(range(2)): J[d] += 1; J -= 1; z[I] += z[J] ** 2
for i in range(4):: k = 2; if i > 8: k = 40; for j in range(k): x[i + 16] += x[j] ** 2
for i in range(4):: k = 4; if i > 1: k = 8; for j in range(k, 9): x[i] += x[j] ** 2
for i in range(4):: for j in range(qd.max(i, 2), 4): x[i + 8] += x[j] ** 2
for I in qd.grouped(z): J = I; J.x = I.x; z[J] += z[I] ** 2
for i in range(4): x[kind[i] + 32] += x[i] ** 2
for i in range(4): x[i + n] += x[i] ** 2
"""


def cases(text: str) -> list:
    return text.strip().split("\n")


def kernel(loop: str, folder):
    """The module of a loop in one line: behind double colons stand the blocks of loops, their statements a line each.
    What goes on behind a semicolon without a space belongs to the statement in front of it.
    """
    *heads, rest = loop.split(":: ")
    lines = [f"{'    ' * depth}{head}:" for depth, head in enumerate(heads)]
    lines += ["    " * len(heads) + s for s in (rest.split("; ") if heads else [rest])]
    path = folder / "races_module.py"
    path.write_text(SOURCE.format(body=textwrap.indent("\n".join(lines), "    ")))
    spec = importlib.util.spec_from_file_location("races_module", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


@pytest.mark.parametrize("loop", cases(REFUSED))
def test_iterations_that_share_a_cell_are_refused(loop, tmp_path):
    module = kernel(loop, tmp_path)
    with pytest.raises(RuntimeError, match="Cross-iteration read-after-write") as caught:
        module.k.grad(4, qd.ndarray(qd.f64, 4, needs_grad=True))
    assert "races_module.py" in str(caught.value)


@pytest.mark.parametrize("loop", cases(STORED))
def test_iterations_that_store_to_a_cell_of_another_are_refused(loop, tmp_path):
    module = kernel(loop, tmp_path)
    with pytest.raises(RuntimeError, match="Cross-iteration stores to") as caught:
        module.k.grad(4, qd.ndarray(qd.f64, 4, needs_grad=True))
    assert "races_module.py" in str(caught.value)


@pytest.mark.parametrize("loop", cases(ACCEPTED))
def test_iterations_that_share_no_cell_are_differentiated(loop, tmp_path):
    module = kernel(loop, tmp_path)
    fields = [module.x, module.w, module.z, module.v, module.s, module.b.p, module.b.q, module.out]
    rng = np.random.default_rng(5)
    start, weights = ([rng.uniform(0.5, 1.5, f.to_numpy().shape) for f in fields] for _ in range(2))
    module.kind.from_numpy(np.arange(4, dtype=np.int32))
    arguments = (4, qd.ndarray(qd.f64, 4, needs_grad=True))

    def result(*values) -> float:
        for f, value in zip(fields, values, strict=True):
            f.from_numpy(value)
        module.k(*arguments)
        return sum(float((f.to_numpy() * w).sum()) for f, w in zip(fields, weights, strict=True))

    expected = differences(result, start)
    for f, value, weight in zip(fields, start, weights, strict=True):
        f.from_numpy(value)
        f.grad.from_numpy(weight)
    module.k.grad(*arguments)
    for f, want in zip(fields, expected, strict=True):
        np.testing.assert_allclose(f.grad.to_numpy(), want, atol=1e-6)
