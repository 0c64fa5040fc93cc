"""What the message of an assertion says of its values."""

from __future__ import annotations

import pytest
from language_kit import raises

import quadrants as qd


def told(kernel, *args) -> str:
    with pytest.raises(qd.QuadrantsAssertionError) as caught:
        kernel(*args)
        qd.sync()
    return str(caught.value).splitlines()[0]


@pytest.mark.runtime(debug=True)
def test_values_are_written_as_print_writes_them(arch):
    @qd.kernel
    def of_text(n: qd.i32, x: qd.f32, u: qd.u32):
        assert n > 3, f"{n:05d}|{x:.2f}|{u:x}|{n}|{x}|{qd.Vector([x, 2 * x]):.1f}|{x:8.3e}"

    @qd.kernel
    def of_percent(n: qd.i32, x: qd.f32, u: qd.u32):
        assert n > 3, "%5d|%.3f|%u|%d%%|%-4d|" % (n, x, u, n, n)  # noqa: UP031 - what is tested

    @qd.kernel
    def of_format(n: qd.i32, x: qd.f32):
        assert n > 3, "{:.1f} {} {:3d}".format(x, n, n)  # noqa: UP032 - what is tested

    assert told(of_text, 1, 1.5, 255) == "00001|1.50|ff|1|1.500000|[1.5, 3.0]|1.500e+00"
    assert told(of_percent, 1, 1.5, 7) == "    1|1.500|7|1%|1   |"
    assert told(of_format, 2, 0.25) == f"{0.25:.1f} 2   2"


@pytest.mark.runtime(debug=True)
def test_formats_of_python_count_where_print_has_none(arch):
    @qd.kernel
    def run(n: qd.i32, x: qd.f32):
        assert n > 3, f"[{n:>6}][{x:<8.2f}][{n:x}][{x:,.1f}]"

    assert told(run, -10, 1234.5) == "[   -10][1234.50 ][-a][1,234.5]"


@pytest.mark.runtime(debug=True)
def test_a_format_that_is_none_is_an_error_of_the_line(arch):
    @qd.kernel
    def run(x: qd.f32):
        assert x > 3, f"{x:q}"

    with raises(qd.QuadrantsTypeError, "'q' is not supported in kernel prints"):
        run(1.0)
