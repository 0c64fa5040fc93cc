"""Constants and containers in format strings, lines of many values, and NUL in what kernels print."""

from __future__ import annotations

import enum

import numpy as np
import pytest
from language_kit import raises

import quadrants as qd


class Colour(enum.IntEnum):
    RED = 3


def printed(capfd) -> str:
    qd.sync()
    return capfd.readouterr().out


def test_constants_of_format_strings_are_written_as_python_does(arch, capfd):
    host = qd.Vector([1.0, 2.5])
    half = np.float64(0.5)

    @qd.kernel
    def run(x: qd.i32):
        print(f"{True} {1.23}")
        print(f"{True} {1.23} {1.0} {3} {x}")
        print("{} {a} {}".format(True, x, a=1.23))
        print(f"{1 / 3} {1e-7} {half} {Colour.RED} {None} {'s'} {x}")
        print(f"{1.23:.4f} {3:4d}| {x:3d}")
        print(f"{qd.f32(1.5)} {qd.cast(3, qd.f64)} {x > 1}")
        print(f"{host} {x}", f"{host}")
        print(f"{f'{True} {x}'} {[f'{x}!']}")
        print(True, 1.23, 1.0)

    capfd.readouterr()
    run(5)
    assert printed(capfd).splitlines() == [
        "True 1.23",
        "True 1.23 1.0 3 5",
        "True 1.23 5",
        f"{1 / 3} 1e-07 0.5 3 None s 5",
        "1.2300    3|   5",
        "1.500000 3.000000000000 1",
        "[1.000000, 2.500000] 5 [1.000000, 2.500000]",
        "True 5 [5!]",
        "1 1.230000 1.000000",
    ]


def test_formats_of_constants_are_those_of_python(arch, capfd):
    k, text, half, truth = 7, "ab", np.float32(0.1), True

    @qd.kernel
    def run(x: qd.i32):
        print(f"{k:>6}|{k:^7}|{k:06.2f}|{k:_b}|{-k:-5d}|{k:#x}|{1e6:,.2f}|{1.5:8}|{1.5:.3}|{truth:>5}")
        print(f"{text:>5}|{text:.1}|{half:.3f}|{Colour.RED:>4}|{k!r:>4}|{text!r}|{text!a:_<6}", x)
        print("{:>6}|{!r}|{a:*<4}|{a!s:>3}".format(k, text, a=k), f"{x:4d}|{k:i}")
        for i in qd.static(range(2)):
            print(f"{x}{i:>3}")

    capfd.readouterr()
    run(5)
    assert printed(capfd).splitlines() == [
        f"{k:>6}|{k:^7}|{k:06.2f}|{k:_b}|{-k:-5d}|{k:#x}|{1e6:,.2f}|{1.5:8}|{1.5:.3}|{truth:>5}",
        f"{text:>5}|{text:.1}|{half:.3f}|{Colour.RED:>4}|{k!r:>4}|{text!r}|{text!a:_<6} 5",
        "     7|'ab'|7***|  7    5|7",
        "5  0",
        "5  1",
    ]


def test_formats_that_neither_python_nor_c_has(arch):
    @qd.kernel
    def of_text():
        print(f"{'ab':d}")

    @qd.kernel
    def of_number():
        print(f"{3:y}")

    @qd.kernel
    def conversion():
        print("{!z}".format(3))

    for kernel, kind, told in (
        (of_text, qd.QuadrantsSyntaxError, "Unknown format code 'd' for object of type 'str'"),
        (of_number, qd.QuadrantsTypeError, "'y' is not supported"),
        (conversion, qd.QuadrantsSyntaxError, "Unknown conversion '!z'"),
    ):
        with raises(kind, told):
            kernel()


def test_containers_of_format_strings_hold_what_the_kernel_computes(arch, capfd):
    @qd.kernel
    def run(x: qd.i32, y: qd.f32):
        rows = [[1, x], [2, x + 1]]
        print(f"{rows}")
        print(f"{[[1, x], [3, 4]]} {[1.5, True]} {(1, x)} {(x,)} {[]}")
        print(f"{['a', x]} { {'k': x, 2: [y]} }")
        print("{} {:.1f}".format([x, [y]], [y, y]))
        print(f"{[qd.Vector([x, 2]), qd.Matrix([[1, x], [3, 4]])]}")

    capfd.readouterr()
    run(5, 0.5)
    assert printed(capfd).splitlines() == [
        "[[1, 5], [2, 6]]",
        "[[1, 5], [3, 4]] [1.5, True] (1, 5) (5,) []",
        "['a', 5] {'k': 5, 2: [0.500000]}",
        "[5, [0.500000]] [0.5, 0.5]",
        "[[5, 2], [[1, 5], [3, 4]]]",
    ]


def test_lists_of_lists(arch, capfd):
    @qd.kernel
    def run(x: qd.i32):
        rows = [[1, x], [2, 3]]
        print(rows, [[i * x for i in range(2)] for _ in range(2)])
        print([[1.5, 2], [3, x]], [[], [[x]]], [("a", x), [None]])
        print([qd.Matrix([[1, x], [2, 3]]), [[x]]])

    capfd.readouterr()
    run(5)
    assert printed(capfd).splitlines() == [
        "[[1, 5], [2, 3]] [[0, 5], [0, 5]]",
        "[[1.500000, 2], [3, 5]] [[], [[5]]] [[a, 5], [None]]",
        "[[[1, 5], [2, 3]], [[5]]]",
    ]


def test_format_strings_of_constants_stay_strings(arch):
    """They can be keys and parts of static conditions."""
    table = {"a1": 10, "[1, 2]": 20, "003": 3}

    @qd.kernel
    def run() -> qd.i32:
        return table[f"a{1}"] + table[f"{[1, 2]}"] + table[f"{3:03}"]

    assert run() == 33


def test_format_strings_of_static_print(arch, capsys):
    host = qd.Vector([1.0, 2.5])

    @qd.kernel
    def run():
        qd.static_print(f"{host} {1.5}", "{}".format(host))

    run()
    assert capsys.readouterr().out == f"{host} 1.5 {host}\n"


@pytest.mark.runtime(debug=True)
def test_constants_of_assert_messages(arch):
    @qd.kernel
    def run(x: qd.i32):
        assert x > 3, f"{True} {1.23} {x} {[1, [x]]}"

    with raises(qd.QuadrantsAssertionError, "True 1.23 1 [1, [1]]"):
        run(1)


@pytest.mark.parametrize("count", [31, 32, 33, 64, 65, 100])
def test_lines_of_many_values(arch, capfd, count):
    """CUDA prints 32 values in one call; the parts of a line stay together in a parallel loop, too."""

    @qd.kernel
    def run(x: qd.i32):
        for i in range(100):
            print("line", i, [k * x for k in range(count)], end="|\n")

    @qd.kernel
    def whole(x: qd.f32):
        m = qd.Matrix([[x * i + j for j in range(7)] for i in range(7)])
        print(m, "%", m)

    capfd.readouterr()
    run(2)
    text = str([2 * k for k in range(count)])
    assert sorted(printed(capfd).splitlines()) == sorted(f"line {i} {text}|" for i in range(100))
    whole(0.5)
    rows = str([[0.5 * i + j for j in range(7)] for i in range(7)])
    numbers = rows.replace(".0", ".000000").replace(".5", ".500000")
    assert printed(capfd) == f"{numbers} % {numbers}\n"


def test_cuda_text_has_no_call_of_more_than_32_values(arch):
    @qd.kernel
    def run(x: qd.i32):
        print([k * x for k in range(70)])

    text = run.source(1, arch="cuda")
    calls = [line for line in text.splitlines() if line.strip().startswith("qd_print(")]
    assert [line.count("(int)") for line in calls] == [32, 32, 6] and "qd_print_together {" in text
    assert '"[%d, ' in calls[0] and ']\\n"' in calls[2] and "\\n" not in calls[0] + calls[1]


def test_nul_does_not_end_a_line(arch, capfd):
    zero = "\0"

    @qd.kernel
    def run(x: qd.i32):
        print("a\0b", x, "\0")
        print(f"{zero}{x}{zero}%\0d", sep="\0", end="\0!\n")
        print("c", "d", sep="\0")

    capfd.readouterr()
    run(5)
    assert printed(capfd) == "a\0b 5 \0\n\0005\0%\0d\0!\nc\0d\n"
