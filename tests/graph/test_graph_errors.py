"""What is refused in kernels with graph=True, and with which words."""

import pytest

import quadrants as qd

INTS = qd.types.ndarray(qd.i32, ndim=1)
FLAG = qd.types.ndarray(qd.i32, ndim=0)


def refused(kernel, kind, text, *args):
    with pytest.raises(kind, match=text):
        kernel(*args)


def test_it_needs_a_graph(flag):
    @qd.kernel
    def k(a: FLAG):
        while qd.graph.do_while(a):
            a[()] -= 1

    refused(k, qd.QuadrantsSyntaxError, r"requires @qd.kernel\(graph=True\)", flag(1))


def test_not_inside_a_loop(flag):
    @qd.kernel(graph=True)
    def k(a: FLAG):
        for _ in range(2):
            while qd.graph.do_while(a):
                a[()] -= 1

    refused(k, qd.QuadrantsSyntaxError, "must be at the kernel top level or directly nested", flag(1))


def test_not_inside_a_run_time_if(flag):
    @qd.kernel(graph=True)
    def k(a: FLAG):
        if a[()] > 0:
            while qd.graph.do_while(a):
                a[()] -= 1

    refused(k, qd.QuadrantsSyntaxError, "must be at the kernel top level", flag(1))


def test_not_in_a_function_called_in_a_loop(flag):
    @qd.func
    def f(a: qd.template()):
        while qd.graph.do_while(a):
            a[()] -= 1

    @qd.kernel(graph=True)
    def k(a: FLAG):
        for _ in range(2):
            f(a)

    refused(k, qd.QuadrantsSyntaxError, "must be at the kernel top level", flag(1))


@pytest.mark.parametrize(
    "statement", ["break", "continue", "pass", "return", "assert a[()] > 0", "while a[()] > 3: a[()] -= 1"]
)
def test_statements_without_a_meaning_in_the_body(flag, tmp_path, monkeypatch, statement):
    (tmp_path / "bodies.py").write_text(
        "import quadrants as qd\n\n"
        "@qd.kernel(graph=True)\n"
        "def k(a: qd.types.ndarray(qd.i32, ndim=0)):\n"
        "    while qd.graph.do_while(a):\n"
        f"        {statement}\n"
        "        a[()] -= 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "bodies", raising=False)
    from bodies import k

    refused(k, qd.QuadrantsSyntaxError, "body may not contain a", flag(1))


def test_no_else(flag):
    @qd.kernel(graph=True)
    def k(a: FLAG):
        while qd.graph.do_while(a):
            a[()] -= 1
        else:
            a[()] = 3

    refused(k, qd.QuadrantsSyntaxError, "'else' clause for 'while'", flag(1))


def test_leaving_from_a_nested_if(flag):
    @qd.kernel(graph=True)
    def k(a: FLAG):
        while qd.graph.do_while(a):
            if a[()] > 3:
                break
            a[()] -= 1

    refused(k, qd.QuadrantsSyntaxError, "'break' outside a loop", flag(1))


def test_one_argument(flag):
    @qd.kernel(graph=True)
    def two(a: FLAG, b: FLAG):
        while qd.graph.do_while(a, b):
            a[()] -= 1

    @qd.kernel(graph=True)
    def none(a: FLAG):
        while qd.graph.do_while():
            a[()] -= 1

    refused(two, qd.QuadrantsTypeError, "takes one argument", flag(1), flag(1))
    refused(none, qd.QuadrantsTypeError, "takes one argument", flag(1))


def test_flags_that_are_no_parameters(flag):
    cell = qd.field(qd.i32, ())

    @qd.kernel(graph=True)
    def local(a: FLAG):
        left = 3
        while qd.graph.do_while(left):
            a[()] -= 1

    @qd.kernel(graph=True)
    def field(a: FLAG):
        while qd.graph.do_while(cell):
            a[()] -= 1

    @qd.kernel(graph=True)
    def element(a: FLAG):
        while qd.graph.do_while(a[()]):
            a[()] -= 1

    @qd.kernel(graph=True)
    def unknown(a: FLAG):
        while qd.graph.do_while(nonsense):  # noqa: F821
            a[()] -= 1

    @qd.kernel(graph=True)
    def attribute(a: FLAG):
        while qd.graph.do_while(a.nonsense):
            a[()] -= 1

    @qd.kernel(graph=True, checkpoints=True)
    def unknown_yield(a: FLAG):
        with qd.checkpoint(1, yield_on=nonsense):  # noqa: F821
            for _ in range(1):
                a[()] -= 1

    @qd.kernel(graph=True, checkpoints=True)
    def attribute_yield(a: FLAG):
        with qd.checkpoint(1, yield_on=a.nonsense):
            for _ in range(1):
                a[()] -= 1

    for k in (local, field, element, unknown, attribute, unknown_yield, attribute_yield):
        refused(k, qd.QuadrantsSyntaxError, "does not resolve to an ndarray kernel parameter", flag(1))

    @qd.data_oriented
    class Solver:
        @qd.kernel(graph=True)
        def run(self, a: FLAG):
            while qd.graph.do_while(self.nonsense):
                a[()] -= 1

    refused(Solver().run, qd.QuadrantsSyntaxError, "does not resolve to an ndarray kernel parameter", flag(1))


def test_flags_of_another_type(arch):
    @qd.kernel(graph=True)
    def k(a: qd.types.ndarray()):
        while qd.graph.do_while(a):
            for i in range(1):
                pass

    refused(k, qd.QuadrantsTypeError, "needs a 0-d i32 ndarray", qd.ndarray(qd.f32, ()))
    refused(k, qd.QuadrantsTypeError, "needs a 0-d i32 ndarray", qd.ndarray(qd.i64, ()))
    refused(k, qd.QuadrantsTypeError, "is 1-d of i32", qd.ndarray(qd.i32, (1,)))


def test_only_as_the_whole_header(flag):
    @qd.kernel(graph=True)
    def k(a: FLAG):
        while qd.graph.do_while(a) and a[()] > 0:
            a[()] -= 1

    refused(k, qd.QuadrantsSyntaxError, "belongs by itself in the header", flag(1))


def test_no_streams(flag):
    @qd.kernel(graph=True)
    def k(a: FLAG):
        a[()] += 1

    stream = qd.create_stream()
    with pytest.raises(RuntimeError, match="qd_stream is not compatible with graph=True kernels"):
        k(flag(1), qd_stream=stream)
    k(flag(1), qd_stream=None)
    stream.destroy()


def test_deprecated_spellings(flag, counters):
    @qd.kernel(graph=True)
    def k(x: INTS, a: FLAG):
        while qd.graph_do_while(a):
            with qd.graph_parallel_context():
                with qd.graph_parallel():
                    for i in range(4):
                        x[i] += 1
                with qd.graph_parallel():
                    a[()] -= 1

    x = counters(4)
    with pytest.warns(DeprecationWarning, match="write qd.graph.do_while"):
        k(x, flag(3))
    assert x.to_numpy().tolist() == [3] * 4


def test_derivatives_refuse_loops(flag):
    @qd.kernel(graph=True)
    def k(x: qd.types.ndarray(qd.f32, ndim=1, needs_grad=True), a: FLAG):
        while qd.graph.do_while(a):
            for i in range(4):
                x[i] = x[i] * 2.0
            a[()] -= 1

    x = qd.ndarray(qd.f32, (4,), needs_grad=True)
    k(x, flag(2))
    refused(k.grad, qd.QuadrantsSyntaxError, "has no derivative", x, flag(2))
