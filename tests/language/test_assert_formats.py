"""What the message of an assertion says of its values."""

from __future__ import annotations

import pytest
from language_kit import raises
from matrix_kit import module_of

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


@pytest.mark.runtime(debug=True)
def test_percent_writes_as_python_does(arch):
    template = "%d and %s"

    @qd.kernel
    def named(n: qd.i32, x: qd.f32):
        assert n > 3, "%(n)d items of %(x).2f" % {"n": n, "x": x}  # noqa: UP031 - what is tested

    @qd.kernel
    def cut(x: qd.f32):
        assert x > 30, "%d %5i" % (x, -x)  # noqa: UP031 - what is tested

    @qd.kernel
    def outside(n: qd.i32):
        assert n > 3, template % (n, 2)

    @qd.kernel
    def joined(n: qd.i32):
        assert n > 3, "n is " + f"{n}" + " here"

    @qd.kernel
    def listed(n: qd.i32):
        assert n > 3, ("items", n, [n])

    assert told(named, 2, 1.5) == "2 items of 1.50"
    assert told(cut, 8.75) == "8    -8"
    assert told(outside, 1) == "1 and 2"
    assert told(joined, 1) == "n is 1 here"
    assert told(listed, 1) == "('items', 1, [1])"


@pytest.mark.runtime(debug=True)
@pytest.mark.parametrize(
    ("message", "said"),
    [
        ('f"{x:d}"', "'d' doesn't match 'f32'"),
        ('"%*d" % (5, 1)', "write the number, or an f-string"),
        ('"%(a)d" % {"b": 1}', "has no 'a'"),
        ('"%d" % {"b": 1}', "write `%(name)d`"),
    ],
)
def test_messages_that_python_refuses_too(arch, message, said, tmp_path):
    text = f"import quadrants as qd\n\n@qd.kernel\ndef run(x: qd.f32):\n    assert x > 3, {message}\n"
    with pytest.raises((qd.QuadrantsTypeError, qd.QuadrantsSyntaxError)) as caught:
        module_of(text, tmp_path).run(1.0)
    assert said in str(caught.value)


@pytest.mark.runtime(debug=True)
def test_a_message_is_computed_where_the_assertion_fails_and_nowhere_else(arch):
    x = qd.field(qd.i32, 4)

    @qd.kernel
    def looks(n: qd.i32):
        assert n >= 4, f"x[n] is {x[n]}"

    @qd.kernel
    def counts(n: qd.i32):
        for i in range(4):
            assert n > i, f"ticket {qd.atomic_add(x[i], 1)}"

    @qd.kernel
    def divides(n: qd.i32):
        assert n == 0, f"{10 // n}"

    looks(7)
    counts(5)
    divides(0)
    qd.sync()
    assert list(x.to_numpy()) == [0, 0, 0, 0]
    assert told(looks, 2) == "x[n] is 0" and told(divides, 5) == "2"
    assert told(counts, 3) == "ticket 0" and list(x.to_numpy()) == [0, 0, 0, 1]


@pytest.mark.runtime(debug=True)
def test_an_assertion_of_a_tuple_is_refused(arch, tmp_path):
    text = 'import quadrants as qd\n\n@qd.kernel\ndef run(n: qd.i32):\n    assert (n < 3, "text")\n'
    with pytest.warns(SyntaxWarning), pytest.raises(qd.QuadrantsSyntaxError, match="assert condition, message"):
        module_of(text, tmp_path).run(1)


@pytest.mark.runtime(debug=True)
def test_the_parts_of_a_message_are_computed_once(arch):
    x = qd.field(qd.i32, ())

    @qd.kernel
    def run(n: qd.i32):
        assert n > 3, qd.atomic_add(x[None], 1) % 3

    assert told(run, 1) == "0" and x[None] == 1
