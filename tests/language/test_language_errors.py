"""language.md 18: exception classes, the text of errors, what an error leaves behind."""

import re
import textwrap

import pytest
from language_kit import alive, fold, raises

import quadrants as qd
from quadrants.lang import exception


@pytest.mark.cpu_only
def test_classes():
    e = exception
    assert issubclass(e.QuadrantsCompilationError, Exception)
    for cls, base in (
        (e.QuadrantsSyntaxError, SyntaxError),
        (e.QuadrantsNameError, NameError),
        (e.QuadrantsTypeError, TypeError),
        (e.QuadrantsIndexError, IndexError),
    ):
        assert issubclass(cls, e.QuadrantsCompilationError) and issubclass(cls, base)
    assert issubclass(e.QuadrantsRuntimeError, RuntimeError)
    assert issubclass(e.QuadrantsRuntimeTypeError, (e.QuadrantsRuntimeError, TypeError))
    assert issubclass(e.QuadrantsAssertionError, e.QuadrantsRuntimeError)
    assert issubclass(e.QuadrantsAssertionError, AssertionError)
    for name in "CompilationError SyntaxError NameError TypeError RuntimeError RuntimeTypeError AssertionError".split():
        assert getattr(qd, f"Quadrants{name}") is getattr(e, f"Quadrants{name}")


def load(tmp_path, text: str):
    """The module with this text, so that tests know its file, lines and columns."""
    import importlib.util

    path = tmp_path / "program.py"
    path.write_text("import quadrants as qd\n" + textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, str(path)


def message(action, kind=exception.QuadrantsCompilationError) -> str:
    with pytest.raises(kind) as caught:
        action()
    assert caught.value.__cause__ is None and caught.value.__suppress_context__
    return str(caught.value)


def test_frames_and_carets(arch, tmp_path):
    program, path = load(
        tmp_path,
        """
        @qd.func
        def helper(u):
            return u + missing

        @qd.func
        def middle(u):
            return helper(u)

        @qd.kernel
        def step(a: qd.i32) -> qd.i32:
            y = middle(a) * 2
            return y
        """,
    )
    lines = message(lambda: program.step(1), exception.QuadrantsNameError).rstrip().splitlines()
    at = lines.index("Your code:") if "Your code:" in lines else -1
    text = [line for line in lines[at + 1 :] if not line.startswith('File "')]
    said = fold(" ".join(lines))  # the line of a place is wrapped where the path is long
    assert re.findall(r",line(\d+),in(\w+):", said) == [("13", "step"), ("9", "middle"), ("5", "helper")]
    assert said.count(fold(path)) == 3
    shown = [line for line in text if line.strip()]
    carets = {"middle(a)": 0, "helper(u)": 0, "missing": 0}
    for source, marks in zip(shown, shown[1:]):
        if set(marks.strip()) == {"^"}:
            start, end = marks.index("^"), len(marks)
            carets[source[start:end]] = 1
    assert carets == {"middle(a)": 1, "helper(u)": 1, "missing": 1}
    assert lines[-1] == 'Name "missing" is not defined'


def test_multi_line_expressions_and_headers(arch, tmp_path):
    program, _ = load(
        tmp_path,
        """
        @qd.kernel
        def expression(a: qd.i32) -> qd.i32:
            return qd.max(
                a,
                "text",
            )

        @qd.kernel
        def header(a: qd.types.ndarray(), v: qd.types.vector(2, qd.i32)):
            if v:
                a[0] = 1
                a[1] = 2
        """,
    )
    text = message(lambda: program.expression(1))
    assert '"text",' in text and "line 5, in expression" in text
    import numpy as np

    text = message(lambda: program.header(np.zeros(2), [1, 2]))
    assert "if v:" in text and "a[1] = 2" not in text


def test_wrapping_at_80_columns(arch, tmp_path):
    names = " + ".join(f"variable_{i}" for i in range(12))
    program, _ = load(
        tmp_path,
        f"""
        @qd.kernel
        def wide(variable_0: qd.i32) -> qd.i32:
            return {names}
        """,
    )
    text = message(lambda: program.wide(1))
    body = [line for line in text.splitlines() if "variable_" in line and 'Name "' not in line]
    assert body and all(len(line) <= 80 for line in body)


def test_foreign_errors(arch):
    def fails(x):
        raise KeyError("inner")

    @qd.kernel
    def run() -> qd.i32:
        return qd.static(fails(1))

    @qd.kernel
    def division() -> qd.i32:
        return qd.static(1 // 0)

    with raises(qd.QuadrantsCompilationError, "inner"):
        run()
    with raises(qd.QuadrantsCompilationError, "ZeroDivisionError"):
        division()
    alive()


@pytest.mark.runtime(print_full_traceback=True)
def test_full_traceback(arch):
    @qd.kernel
    def division() -> qd.i32:
        return qd.static(1 // 0)

    with pytest.raises(ZeroDivisionError):
        division()
    alive()


def test_a_failed_specialisation_can_be_called_again(arch):
    @qd.kernel
    def run(c: qd.template()) -> qd.i32:
        if qd.static(c):
            undefined()  # noqa: F821
        return 5

    for _ in range(2):
        with raises(exception.QuadrantsNameError, 'Name "undefined" is not defined'):
            run(True)
        assert run(False) == 5


def test_when_errors_appear(arch):
    with raises(qd.QuadrantsSyntaxError):  # signatures: at decoration

        @qd.kernel
        def bad_signature(x): ...

    @qd.kernel
    def bad_body(x: qd.template()):
        if qd.static(x):
            undefined_name  # noqa: B018, F821

    bad_body(False)
    with raises(exception.QuadrantsNameError):  # bodies: at the first call of a specialisation
        bad_body(True)


def test_equal_code_of_other_files(arch, tmp_path):
    """Annotations of local variables are not in the code object: each file's own text counts."""
    results = []
    for name, dtype in (("first", "qd.i32"), ("second", "qd.f32")):
        folder = tmp_path / name
        folder.mkdir()
        program, _ = load(
            folder,
            f"""
            @qd.kernel
            def half() -> qd.f32:
                x: {dtype} = 3.5
                return x
            """,
        )
        results.append(program.half())
    assert results == [3.0, 3.5]


def test_errors_of_functions_called_in_nested_blocks(arch):
    """The message is of the function, whatever loops and branches of other functions are around its call."""

    @qd.func
    def leaf(i: qd.i32):
        return undefined_name + i  # noqa: F821

    @qd.func
    def middle(x: qd.template(), i: qd.i32):
        if i > 1:
            x[i] = leaf(i)

    @qd.func
    def top(x: qd.template()):
        for i in range(4):
            middle(x, i)

    @qd.kernel
    def run(x: qd.types.ndarray()):
        top(x)

    with raises(qd.QuadrantsNameError, 'Name "undefined_name" is not defined'):
        run(qd.ndarray(qd.i32, 4))


def test_operators_on_whole_containers(arch):
    """Fields and arrays are no operands, in whatever form they come."""
    m = qd.Matrix.field(2, 2, qd.f32, shape=3)
    f = qd.field(qd.f32, shape=3)

    def product():
        m[0] = m * m

    def scaled():
        m[0] = m * 2.0

    def matmul():
        m[0] = m @ m

    def total():
        f[0] = f + f

    def element():
        f[0] = f[1] * f

    def negative():
        f[0] = -f

    def compared():
        if f > 1:
            f[0] = 1

    for body in (product, scaled, matmul, total, element, negative, compared):
        with raises(qd.QuadrantsTypeError):
            qd.kernel(body)()
    with raises(
        qd.QuadrantsTypeError, "unsupported operand type(s) for *: 'MatrixField' and 'MatrixField'. Fields and"
    ):
        qd.kernel(product)()

    @qd.kernel
    def array(a: qd.types.ndarray(qd.f32, 1)):
        a[0] = a + a

    with raises(
        qd.QuadrantsTypeError, "'Ndarray' and 'Ndarray'. Fields and arrays are computed with element by element"
    ):
        array(qd.ndarray(qd.f32, 3))
    alive()


def test_items_that_are_not_there(arch):
    """The diagnosis says what a list in a kernel is, not only that Python found nothing."""

    @qd.kernel
    def popped() -> qd.i32:
        items = [1]
        return items.pop() + items.pop()

    @qd.kernel
    def removed():
        items = {"a": 1}
        items.pop("b")

    with raises(
        exception.QuadrantsIndexError, "`pop` of a list of 0 items: IndexError: pop from empty list. A list lives while"
    ):
        popped()
    with raises(exception.QuadrantsIndexError, "`pop` of a dict of 1 items: KeyError: 'b'. A dict lives while"):
        removed()
    alive()
