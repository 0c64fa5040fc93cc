"""Integer matrices wrap in languages whose compilers assume that signed numbers never overflow."""

from __future__ import annotations

import subprocess

import pytest
from prelude_kit import ENVIRONMENT, matrix, vector

from quadrants.emit import dialects
from quadrants.emit.prelude import Prelude
from quadrants.ir.types import TensorType, primitive
from quadrants.toolchain import cxx

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def calls(t) -> list:
    """Requests that add or multiply numbers of type t: written out, and as loops."""
    return [
        *[(op, vector(n, t)) for op in ("sum", "norm_sqr") for n in (3, 20)],
        *[("dot", vector(n, t)) for n in (3, 20)],
        *[("cross", vector(n, t)) for n in (2, 3)],
        *[("outer", vector(n, t), vector(n, t)) for n in (3, 5)],
        *[("matmul", matrix(n, n, t), matrix(n, n, t)) for n in (2, 5)],
        *[("matmul", matrix(n, n, t), vector(n, t)) for n in (3, 9)],
        ("trace", matrix(3, 3, t)),
        *[("determinant", matrix(n, n, t)) for n in (2, 3, 4)],
    ]


def program(dialect: str, t) -> str:
    """Calls each helper with the least, the largest and mixed numbers."""
    prelude, lines = Prelude(dialects.get(dialect).spelling), []
    for op, *operands in calls(t):
        name = prelude.need("linalg", op, *operands)
        if op in ("dot", "cross"):
            operands *= 2
        for k in range(4):
            values = [f"filled<{prelude.type(o)}, {o.count}>({k + n})" for n, o in enumerate(operands)]
            assert all(isinstance(o, TensorType) for o in operands)
            lines.append(f"    seen({name}({', '.join(values)}));")
    scalar = prelude.type(t)
    return f"""
#include <limits>
#define __device__
{prelude.render(ENVIRONMENT)}
template <class T> static void seen(const T &) {{}}
template <class T, int N> static T filled(int kind) {{
    const {scalar} least = std::numeric_limits<{scalar}>::min(), most = std::numeric_limits<{scalar}>::max();
    T r;
    for (int i = 0; i < N; ++i) r.v[i] = kind % 4 == 0 ? least : kind % 4 == 1 ? most : i % kind ? least : most;
    return r;
}}
int main() {{
{chr(10).join(lines)}
}}
"""


@pytest.mark.parametrize("dialect", ["cuda", "hip"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_no_signed_number_overflows(tmp_path, dialect, dtype):
    """gcc ends a program that is built so where one does."""
    source, binary = tmp_path / "program.cpp", tmp_path / "program"
    source.write_text(program(dialect, primitive(dtype)))
    trap = ("-fsanitize=signed-integer-overflow", "-fsanitize-undefined-trap-on-error")
    built = subprocess.run(
        [cxx.find_compiler().path, "-std=c++17", "-O0", *trap, str(source), "-o", str(binary)],
        capture_output=True, text=True,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    assert subprocess.run([str(binary)]).returncode == 0
