"""print in kernels and its formats (language.md 16.1, runtime.md 12)."""

from __future__ import annotations

import pytest
from language_kit import raises
from spec_kit import run_script

import quadrants as qd

PROGRAM = """
import sys
import quadrants as qd
qd.init(cpu_max_num_threads=4, enable_fallback=False)
f = qd.field(qd.i32, shape=2)

@qd.kernel
def show(x: qd.f32, n: qd.i32):
    wide = qd.f64(0.1)
    v = qd.Vector([1.0, 2.5])
    m = qd.Matrix([[1, 2], [3, 4]])
    u = qd.u32(4294967295)
    big = qd.u64(18446744073709551615)
    low = qd.i64(-9223372036854775807)
    print(3, 1.5, True)
    print(x, n, wide)
    print(v, m)
    print([n, x], (n, "in", 2))
    print("a", n, sep="-", end="!\\n")
    print(u, big, low, qd.i8(-5), qd.u8(250), n > 3)
    print(f"{n} {x:.2f} {n:5d}| {u:x} {big:X} {wide:.3e}")
    print("{} {} {k:.1f}".format(n, x, k=wide))
    print("{1} {0} {k:03d}".format(n, x, k=n))
    print(f"{n=} {x=:.1f} {v} {v:.1f}")
    print("100% {} %d")
    print()
    print("", end="")
    print(f[1], qd.f16(0.5), f"{'text'}", None)

show(2.25, 7)

@qd.kernel
def quiet(n: qd.i32):
    if n > 100:
        print("never")

quiet(1)

@qd.kernel
def many():
    for i in range(200):
        print("line", i, i, i, i)

many()
"""

EXPECTED = """3 1.500000 1
2.250000 7 0.100000000000
[1.000000, 2.500000] [[1, 2], [3, 4]]
[7, 2.250000] [7, in, 2]
a-7!
4294967295 18446744073709551615 -9223372036854775807 -5 250 1
7 2.25     7| ffffffff FFFFFFFFFFFFFFFF 1.000e-01
7 2.250000 0.1
2.250000 7 007
n=7 x=2.2 [1.000000, 2.500000] [1.0, 2.5]
100% {} %d

0 0.500000 text None
"""


@pytest.mark.parametrize("pybuf", ["0", "1"])
def test_text(tmp_path, arch_name, arch_environment, pybuf):
    """The exact text on fd 1; lines of a parallel loop are never torn."""
    program, expected = PROGRAM, EXPECTED
    if arch_name == "metal":  # which has no f64
        program, expected = program.replace("qd.f64", "qd.f32"), expected.replace("0.100000000000", "0.100000")
    done = run_script(tmp_path / "prints.py", program, QD_ENABLE_PYBUF=pybuf, **arch_environment)
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert text[: len(expected)] == expected
    rest = text[len(expected) :].splitlines()
    assert sorted(rest) == sorted(f"line {i} {i} {i} {i}" for i in range(200))


CONSTANTS = """
import numpy as np
import quadrants as qd
qd.init(enable_fallback=False)
x = qd.field(qd.i32, shape=2)
n, pair, number, single = 3, qd.Vector([1, 2]), np.array(2.5), np.float32(1.5)

@qd.kernel
def show():
    a = [[1, 2], [x[0], x[1]]]
    print(f"{True} {1.23}", f"{True} {1.23} {1e-9} {n} {None} {x[0]}")
    print("{} {} {name}".format(1.23, x[1], name=False))
    print(f"{[1, 2.5]} {(1, True)} {pair} {[pair, 0.5]} {x[0]}")
    print(a, f"{a}", [[True, x[0]], [], [[1.5]]])
    print(f"{n:5d}|{1.23:.1f}|{number}|{single}|{2**40}|{x[0]:3d}", number)

show()
"""

CONSTANTS_EXPECTED = """True 1.23 True 1.23 1e-09 3 None 0
1.23 0 False
[1, 2.5] (1, True) [1, 2] [[1, 2], 0.5] 0
[[1, 2], [0, 0]] [[1, 2], [0, 0]] [[1, 0], [], [[1.500000]]]
    3|1.2|2.5|1.5|1099511627776|  0 2.500000
"""


def test_constants_in_format_strings_are_python_s(tmp_path, arch_environment):
    """What is known while compiling is written as Python writes it, beside run-time values or not; lists of lists."""
    done = run_script(tmp_path / "constants.py", CONSTANTS, **arch_environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == CONSTANTS_EXPECTED


def test_text_reaches_a_replaced_stdout(tmp_path, arch_environment):
    """A stdout that is not the process's own receives the text after the launch."""
    program = """
import io, sys
sys.stdout = io.StringIO()
import quadrants as qd
qd.init(enable_fallback=False)

@qd.kernel
def show(n: qd.i32):
    print("seen", n)

show(5)
sys.stdout.write("after")
sys.__stderr__.write(sys.stdout.getvalue())
"""
    done = run_script(tmp_path / "replaced.py", program, QD_ENABLE_PYBUF="1", **arch_environment)
    assert done.returncode == 0 and "seen 5\nafter" in done.stderr and "seen" not in done.stdout


def test_errors(arch):
    """Specifications that do not fit, counts and names that do not match, structs, % formatting."""
    pair = qd.types.struct(a=qd.i32, b=qd.f32)

    @qd.kernel
    def real_spec(n: qd.i32):
        print(f"{n:.2f}")

    @qd.kernel
    def integer_spec(x: qd.f32):
        print(f"{x:.2d}")

    @qd.kernel
    def signed_spec(u: qd.u32):
        print(f"{u:d}")

    @qd.kernel
    def text_spec(n: qd.i32):
        print(f"{n:s}")

    @qd.kernel
    def aligned(n: qd.i32):
        print(f"{n:<5d}")

    @qd.kernel
    def nested(n: qd.i32):
        print(f"{n:{n}d}")

    @qd.kernel
    def too_many(n: qd.i32):
        print("{}".format(n, n))  # noqa: F523

    @qd.kernel
    def too_few(n: qd.i32):
        print("{} {}".format(n))  # noqa: F524

    @qd.kernel
    def unknown_key(n: qd.i32):
        print("{k}".format(n, j=n))  # noqa: F522, F523, F524

    @qd.kernel
    def unused_key(n: qd.i32):
        print("{}".format(n, j=n))  # noqa: F522

    @qd.kernel
    def percent(n: qd.i32):
        print("%d" % n)

    @qd.kernel
    def structure(n: qd.i32):
        s = pair(n, 1.0)
        print(s)

    syntax, types = qd.QuadrantsSyntaxError, qd.QuadrantsTypeError
    for kernel, argument, kind, fragment in (
        (real_spec, 1, types, "'.2f' doesn't match 'i32'"),
        (integer_spec, 1.0, types, "'.2d' doesn't match 'f32'"),
        (signed_spec, 1, types, "'d' doesn't match 'u32'"),
        (text_spec, 1, types, "is not supported"),
        (aligned, 1, syntax, ""),
        (nested, 1, syntax, "known while the kernel is compiled"),
        (too_many, 1, syntax, "Expected 1 positional argument(s)"),
        (too_few, 1, syntax, "Expected 2 positional argument(s)"),
        (unknown_key, 1, syntax, "Keyword 'k' not found"),
        (unused_key, 1, syntax, "Keyword 'j' not used"),
        (percent, 1, types, ""),
        (structure, 1, types, ""),
    ):
        with raises(kind, fragment):
            kernel(argument)


@pytest.mark.parametrize(
    "spec, dtype, letters, cast",
    [
        ("x", qd.i32, "d, i", "qd.u32(..)"), ("08x", qd.i64, "d, i", "qd.u64(..)"),
        (".2f", qd.i64, "d, i", "qd.f64(..)"), ("d", qd.u8, "u, o, x, X", "qd.i16(..)"),
        ("f", qd.u1, "u, o, x, X", "qd.f32(..)"), ("d", qd.f32, "f, F, e, E, g, G, a, A", "qd.i32(..)"),
        ("f", qd.u8, "u, o, x, X", "qd.f32(..)"),
    ],
)  # fmt: skip
def test_specifications_of_other_types_say_what_to_write(arch, spec, dtype, letters, cast):
    text = "{:" + spec + "}"

    @qd.kernel
    def show(n: qd.i32):
        print(text.format(qd.cast(n, dtype)))

    message = f"'{spec}' doesn't match '{dtype}', which takes one of {letters}; or convert the value by {cast}."
    with raises(qd.QuadrantsTypeError, message):
        show(1)


def test_signed_numbers_in_hexadecimal_digits(arch, capfd):
    @qd.kernel
    def show(n: qd.i32):
        print(f"{qd.u32(n):x}")

    show(-1)
    qd.sync()
    assert capfd.readouterr().out == "ffffffff\n"


def test_fields_in_specifications(arch, capfd):
    @qd.kernel
    def run(n: qd.i32, x: qd.f32, w: qd.template()):
        print(f"[{n:{w}d}] [{x:{8}.{3}f}]")
        print(f"[{3.14159:{w}.{2}f}] [{'a':>{w}}] [{n:{'0'}{w}d}]")
        print("[{:{}d}] [{:{w}.{p}f}]".format(n, w, x, w=w, p=2))

    for width in (6, 8):
        capfd.readouterr()
        run(3, 2.5, width)
        qd.sync()
        n, x = 3, 2.5
        assert capfd.readouterr().out.splitlines() == [
            f"[{n:{width}d}] [{x:{8}.{3}f}]",
            f"[{3.14159:{width}.{2}f}] [{'a':>{width}}] [{n:0{width}d}]",
            f"[{n:{width}d}] [{x:{width}.{2}f}]",
        ]

    @qd.kernel
    def of_run_time(n: qd.i32):
        print(f"{n:{n}d}")

    @qd.kernel
    def of_method(n: qd.i32):
        print("{:{}d}".format(n, n))

    for kernel in (of_run_time, of_method):
        with raises(qd.QuadrantsSyntaxError, "have to be known while the kernel is compiled. Write a number, or"):
            kernel(3)
