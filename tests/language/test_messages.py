"""What kernels that are wrong are told: the words of users, and what to write instead."""

from __future__ import annotations

import re
import warnings
from functools import partial
from textwrap import shorten

import numpy as np
import pytest
from language_kit import alive, fold, raises
from message_kit import EXPRESSIONS, STATEMENTS, VALUES, Provocation

import quadrants as qd
from quadrants.errors import QuadrantsNameError
from quadrants.lang.described import _WORDS

FORMS = [f"y = {form}" for form in EXPRESSIONS] + STATEMENTS
INTERNAL = re.compile(
    r"<quadrants|<class 'quadrants|object at 0x|\b(?:"
    + "|".join(name for name in _WORDS if name not in ("Func", "Kernel", "Template", "Value"))
    + r")\b(?!\[)|'(?:Func|Kernel|Template|Value)'|\bS\d+place"
)


@pytest.fixture(scope="module")
def provocation():
    qd.init(arch=qd.cpu, offline_cache=False)
    yield Provocation()
    qd.reset()


@pytest.mark.cpu_only
@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_no_message_names_a_class_of_ours(provocation, value, capsys):
    assert provocation.told("y = {} + 1", "n") == ""  # or all that follows is told of the provocation
    told = {form: provocation.told(form, value) for form in FORMS}
    found = {form: text for form, text in told.items() if INTERNAL.search(text)}
    assert not found, "\n".join(f"{form}: {text}" for form, text in list(found.items())[:3])
    without_place = {form: text for form, text in told.items() if text and "^" not in text}
    assert not without_place
    assert sum(map(bool, told.values())) > 40, "too few of them are wrong to tell anything"
    assert not INTERNAL.search(capsys.readouterr().out)


# ------------------------------------------------------------ names that ended


def test_names_of_blocks(arch):
    @qd.kernel
    def of_if(x: qd.i32) -> qd.i32:
        if x > 1:
            y = 2
        return y

    @qd.kernel
    def of_for() -> qd.i32:
        for i in range(3):
            pass
        return i

    @qd.kernel
    def of_while(x: qd.i32) -> qd.i32:
        while x > 3:
            z = x
            break
        return z

    @qd.kernel
    def of_comprehension() -> qd.i32:
        items = [u for u in range(3)]
        return u  # noqa: F821

    @qd.kernel
    def below() -> qd.i32:
        before = later + 1  # noqa: F821
        later = 2
        return before

    def first_line(kernel) -> int:
        return kernel.fn.__code__.co_firstlineno

    line = first_line(of_if)
    with raises(
        QuadrantsNameError,
        f'Name "y" is not defined: it was bound in line {line + 3}, inside of the `if` of line {line + 2}, and ended '
        f"with that block. Bind it before line {line + 2}, as in `y = 0`, and assign it in the block.",
    ):
        of_if(1)
    line = first_line(of_for)
    with raises(QuadrantsNameError, f'Name "i" is not defined: the `for` of line {line + 2} bound it'):
        of_for()
    with raises(QuadrantsNameError, f"inside of the `while` of line {first_line(of_while) + 2}"):
        of_while(1)
    with raises(QuadrantsNameError, f"by the comprehension in line {first_line(of_comprehension) + 2}"):
        of_comprehension()
    with raises(QuadrantsNameError, f"it is bound below, in line {first_line(below) + 3}. Bind it before"):
        below()
    alive()


# ------------------------------------------------------------ plain functions


def signed(x):
    if x > 0:
        return x
    return -x


def item(x):
    return [1, 2][x]


def test_a_plain_function_that_cannot_take_a_run_time_value(arch):
    @qd.kernel
    def run(x: qd.i32) -> qd.i32:
        return signed(x)

    @qd.kernel
    def index(x: qd.i32) -> qd.i32:
        return item(x)

    @qd.kernel
    def library(x: qd.i32) -> qd.i32:
        return shorten(x, 3)

    line = signed.__code__.co_firstlineno
    for kernel, name in ((run, "signed"), (index, "item")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with raises(qd.QuadrantsTypeError, f"Decorate `{name}` with @qd.func, so that its body") as caught:
                kernel(1)
        assert f"`{name}` is a plain Python function: it runs once" in str(caught.value)
        assert f"{name}(x)" in str(caught.value)
        if name == "signed":
            assert fold(f"line {line + 1}, in signed: if x > 0: ^^^^^^^^^") in fold(caught.value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with raises(qd.QuadrantsCompilationError, "which kernels cannot call with run-time values") as caught:
            library(1)
    assert "Decorate" not in str(caught.value)
    alive()


def test_a_plain_function_that_fails_by_itself(arch):
    @qd.kernel
    def run() -> qd.i32:
        return signed(None)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with raises(qd.QuadrantsTypeError, "TypeError when calling `signed`: '>' not supported") as caught:
            run()
    assert "@qd.func" not in str(caught.value) and "in signed:" in str(caught.value)


# ------------------------------------------------------------ types and widths of values


@pytest.mark.parametrize("function", ["isinstance(x, int)", "type(x)", "id(x)", "hash(x)"])
def test_what_has_no_answer_for_run_time_values(arch, function):
    text = f"@qd.kernel\ndef run(x: qd.i32) -> qd.i32:\n    return 1 if {function} else 0\n"
    names = Provocation.load(f"<{function}>", text, {"qd": qd})
    name = function.partition("(")[0]
    with raises(qd.QuadrantsTypeError, f"`{name}` cannot tell anything of a run-time value") as caught:
        names["run"](1)
    assert "qd.template()" in str(caught.value)
    alive()


def test_they_answer_for_what_is_known(arch):
    @qd.kernel
    def run(x: qd.template()) -> qd.i32:
        return 1 if qd.static(isinstance(x, int)) else 0

    assert (run(2), run("text")) == (1, 0)


def told_of(action) -> list:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [w for w in caught if w.category is UserWarning]


def test_integers_that_lose_bits(arch):
    small = qd.field(qd.u8, 2)

    @qd.kernel
    def result() -> qd.u8:
        return 300

    @qd.kernel
    def stored():
        small[0] = 300

    @qd.kernel
    def declared() -> qd.i32:
        x: qd.i8 = 300
        return x

    @qd.kernel
    def meant() -> qd.i32:
        small[1] = qd.cast(300, qd.u8)
        x: qd.i8 = 200  # all of its bits are kept
        return x

    for kernel, line in ((result, 2), (stored, 2), (declared, 2)):
        (told,) = told_of(kernel)
        assert "300 does not fit in 8 bits and becomes 44" in str(told.message)
        assert (told.filename, told.lineno) == (__file__, kernel.fn.__code__.co_firstlineno + line)
    assert small[0] == 44 and told_of(meant) == [] and meant() == -56


def test_arguments_that_lose_bits(arch):
    @qd.kernel
    def same(x: qd.i32) -> qd.i32:
        return x

    results: list[int] = []

    def call(x):
        results.append(same(x))

    line = call.__code__.co_firstlineno + 1
    for number in (2**40, -(2**40), 2**32):
        (told,) = told_of(lambda: call(number))
        assert f"Argument x: {number} does not fit in the type i32 of the parameter" in str(told.message)
        assert (told.filename, told.lineno) == (__file__, line)
    for number in (2**31 - 1, -(2**31), 2**32 - 1):  # the bits of u32 are often meant
        assert told_of(lambda: call(number)) == []
    assert results == [0, 0, 0, 2**31 - 1, -(2**31), -1]


@pytest.mark.parametrize("make", [list, np.array, partial(np.array, dtype=object), qd.Vector])
def test_vectors_that_lose_bits(arch, make):
    @qd.kernel
    def second(v: qd.types.vector(2, qd.i16)) -> qd.i16:
        return v[1]

    results: list[int] = []
    for number in (2**40 + 3, -(2**40) + 3, 2**16 + 3):
        (told,) = told_of(lambda: results.append(second(make([0, number]))))
        assert f"Argument v: {number} does not fit in the type i16 of the parameter" in str(told.message)
        assert told.filename == __file__
    for number in (2**15 - 1, -(2**15), 2**16 - 1):
        assert told_of(lambda: results.append(second(make([0, number])))) == []
    assert results == [3, 3, 3, 2**15 - 1, -(2**15), -1]


# ------------------------------------------------------------ signatures


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("@qd.kernel\ndef run(x: qd.i32,\n        y)", "'y' is not. Write `y: qd.i32`, another dtype"),
        ("@qd.kernel\ndef run(x: qd.i32 = 3)", "Pass the value in each call."),
        ("@qd.kernel\ndef run(*x)", "*x. Write one parameter for each argument."),
        ("@qd.func\ndef run(**x)", "**x. Write one parameter for each argument."),
        ("@qd.real_func\ndef run(x)", "'x' is not. Write `x: qd.f32` or another type."),
        ("@qd.kernel\ndef run(x: list)", "Write a dtype, qd.template(), qd.types.ndarray(...)"),
        ("@qd.kernel\n@qd.func\ndef run(x: qd.i32)", "must be the innermost decorator"),
        ("@qd.kernel\nasync def run(x: qd.i32)", "cannot be decorated with @qd.kernel: write `def run`. Kernels"),
        ("@qd.func\nasync def run(x)", "An async function cannot be decorated with @qd.func: write `def run`"),
    ],
)
def test_signatures_are_shown(header, told):
    with raises(qd.QuadrantsSyntaxError, told) as caught:
        Provocation.load("<signature>", f"{header}:\n    return 1\n", {"qd": qd})
    lines = str(caught.value).splitlines()
    definition = header[re.search("(async )?def", header).start() :].splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith(definition[0]))
    assert lines[first : first + 2 * len(definition) : 2] == [*definition[:-1], definition[-1] + ":"]
    assert set(lines[first + 1]) == {"^"} and ", in run:" in str(caught.value)


@pytest.mark.runtime(debug=True)
def test_fields_without_a_name(arch):
    f = qd.field(qd.f32, 4)
    with raises(
        qd.QuadrantsAssertionError, "Accessing field (of f32, made without a name) of size (4) with indices (7)"
    ):
        f[7]  # noqa: B018
    with raises(qd.QuadrantsAssertionError, "Accessing field (named) of size (4) with indices (7)"):
        qd.field(qd.f32, 4, name="named")[7] = 1


def test_run_time_values_are_no_texts(arch):
    @qd.kernel
    def run(x: qd.i32):
        print(str(x))

    with raises(qd.QuadrantsTypeError, "`str` of a run-time value is not known while the kernel is compiled. Print"):
        run(1)
    alive()


def test_a_plain_function_may_call_functions_of_kernels(arch):
    """What the frontend tells itself by an exception goes through Python, and an error is told once."""

    @qd.func
    def broken(x):
        return x + nothing  # noqa: F821

    def plain(x):
        return broken(x)

    @qd.kernel
    def run(x: qd.i32) -> qd.i32:
        return plain(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with raises(QuadrantsNameError, 'Name "nothing" is not defined') as caught:
            run(1)
    assert str(caught.value).count("in run:") == 1 and "in broken:" in str(caught.value)
    alive()


# ------------------------------------------------------------ calls and options of qd.*


def told_of_line(line: str) -> str:
    text = f"@qd.kernel\ndef run(n: qd.i32, x: qd.f32, f: qd.template(), v: qd.math.vec3):\n    {line}\n"
    names = Provocation.load(f"<{line}>", text, {"qd": qd})
    with pytest.raises((qd.QuadrantsCompilationError, qd.QuadrantsRuntimeError)) as caught:
        names["run"].source(1, 1.0, qd.field(qd.f32, 4), [1, 2, 3])
    assert line.partition(chr(10))[0] in str(caught.value) and "^^^" in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "called"),
    [
        ("y = qd.sin()", "`sin`: missing a required argument: 'x'; it is called as sin(x)"),
        ("y = qd.sin(x, x)", "`sin`: too many positional arguments; it is called as sin(x)"),
        ("y = qd.sin(x, y=2)", "`sin`: got an unexpected keyword argument 'y'; it is called as sin(x)"),
        ("y = qd.floor(value=x)", "missing a required argument: 'x'; it is called as floor(x, dtype=None)"),
        ("y = qd.cast(x)", "`cast`: missing a required argument: 'dtype'; it is called as cast(obj, dtype)"),
        ("y = qd.select(x)", "missing a required argument: 'x1'; it is called as select(cond, x1, x2)"),
        ("y = qd.atan2(x)", "it is called as atan2(x1, x2)"),
        ("y = abs()", "`abs`: missing a required argument: 'x'; it is called as abs(x)"),
        ("y = v.norm(1, 2, 3)", "`norm`: too many positional arguments; it is called as norm(eps=0)"),
        ("y = v.dot()", "`dot`: missing a required argument: 'b'; it is called as dot(b)"),
    ],
)
def test_a_wrong_number_of_arguments(arch, line, called):
    told = told_of_line(line)
    assert called in told and not re.search(r"<locals>|<lambda>|\b_\w+\(", told)
    alive()


def test_arguments_of_functions_by_name(arch):
    @qd.kernel
    def run(x: qd.f32) -> qd.f32:
        return qd.select(cond=x > 0, x1=qd.atan2(x1=x, x2=1.0), x2=0.0)

    assert run(1.0) == pytest.approx(0.785398) and run(-1.0) == 0


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("parallelize='a'", "parallelize=...) must be an integer known at compile time, got str"),
        ("parallelize=2.5", "parallelize=...) must be an integer known at compile time, got float"),
        ("parallelize=-1", "parallelize=-1) is no number of threads"),
        ("parallelize=1 << 40", "parallelize=1099511627776) is no number of threads"),
        ("parallelize=n", "parallelize=...) must be known at compile time"),
        ("name=3", "qd.loop_config(name=...) must be a string, got int"),
        ("block_dim=2.5", "block_dim=...) must be an integer known at compile time, got float"),
        ("serialized=True", "unexpected keyword argument 'serialized'"),
    ],
)
def test_options_of_loops(arch, option, told):
    assert told in told_of_line(f"qd.loop_config({option})\n    for i in f:\n        f[i] = i")


@pytest.mark.parametrize(
    "option", ["parallelize=0", "parallelize=None", "parallelize=np.int64(2)", "name='two words; 1'", "name=''"]
)
def test_options_of_loops_that_are_fine(arch, option):
    text = f"@qd.kernel\ndef run(f: qd.template()):\n    qd.loop_config({option})\n    for i in f:\n        f[i] = i\n"
    f = qd.field(qd.f32, 4)
    Provocation.load(f"<{option}>", text, {"qd": qd, "np": np})["run"](f)
    assert f.to_numpy().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("for i in [1, 2]:\n        pass", "Cannot loop over the object <class 'list'>"),
        ("for i, j in enumerate([1, 2]):\n        pass", "Cannot loop over the object <class 'enumerate'>"),
    ],
)
def test_loops_over_lists(arch, line, told):
    text = told_of_line(line)
    assert told in text and "Write `for .. in qd.static(..)`: it repeats the body for each item." in text


@pytest.mark.parametrize("iterable", ["zip(f)", "enumerate(f)"])
def test_loops_over_fields(arch, iterable):
    f = qd.field(qd.f32, 4)
    for told in (told_of_line(f"for i in {iterable}:\n        pass"), told_of_line(f"y = [i for i in {iterable}]")):
        assert "Write `for i in field` in a kernel, without zip or enumerate" in told
    with raises(NotImplementedError, "in Python scope loop over field.to_numpy()"):
        list(eval(iterable, {"f": f}))  # noqa: S307 - an expression of this test


def test_constructors_of_python_scope(arch):
    for made in (qd.Vector, qd.Matrix):
        with raises(TypeError, "Matrix() missing 1 required positional argument: 'arr'"):
            made()


def test_members_that_are_none(arch):
    assert "Getting shape of non-tensor type: f32, a number, has no .x" in told_of_line("y = f[0].x")
    with raises(AttributeError, "struct has no member 'q'; its members are ['a', 'b']"):
        qd.Struct(a=1, b=2).q  # noqa: B018
