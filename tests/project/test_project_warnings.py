"""Warnings are at lines of users: only what knows such a line gives any."""

from __future__ import annotations

import ast

import pytest
from tree import ROOT, name, with_suffix

import quadrants as qd
from quadrants import caller

GIVE_WARNINGS = ("quadrants/caller.py",)


def calls_of_warnings(text: str) -> list[int]:
    """Lines that call a function of the module `warnings` which gives one."""
    given = ("warn", "warn_explicit", "showwarning")
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Attribute) and node.attr in given and getattr(node.value, "id", "") == "warnings")
        or (
            isinstance(node, ast.ImportFrom) and node.module == "warnings" and {a.name for a in node.names} & set(given)
        )
    ]


def test_the_search_finds_what_it_is_for():
    assert calls_of_warnings("import warnings\nwarnings.warn('x', stacklevel=2)\n") == [2]
    assert calls_of_warnings("from warnings import warn\n") == [1]
    assert calls_of_warnings("import warnings\nwarnings.catch_warnings()\n") == []


def test_nothing_else_gives_warnings():
    sources = [p for p in with_suffix(".py", ".pyx", ".pxi") if name(p).startswith(("quadrants/", "_ext/"))]
    found = [
        f"{name(path)}:{line}"
        for path in sources
        if name(path) not in GIVE_WARNINGS and path.suffix == ".py"
        for line in calls_of_warnings(path.read_text())
    ]
    core = [name(path) for path in sources if path.suffix != ".py" and "PyErr_Warn" in path.read_text()]
    assert not found and not core, f"use quadrants.caller or quadrants.lang.scope.warn: {found + core}"
    assert {name(p) for p in sources} >= set(GIVE_WARNINGS)


def empty_builder():
    qd.FieldsBuilder().finalize()  # the line


def large_matrix():
    qd.Matrix([[0.0] * 40] * 40)  # the line


def deprecated_pure():
    qd.kernel(pure=True)  # the line


def dumps_and_cache():
    qd.init(arch=qd.cpu, print_ir=True)  # the line


def integer_that_loses_bits():
    @qd.kernel
    def take(x: qd.i32):
        pass

    take(2**40)  # the line


def in_a_kernel():
    @qd.kernel
    def run() -> qd.u8:
        return 300  # the line

    run()


def in_a_function_of_a_kernel():
    @qd.func
    def inner():
        x: qd.u8 = 300  # the line
        return x

    @qd.kernel
    def run() -> qd.u8:
        return inner()

    run()


def in_a_function_of_the_package():
    @qd.kernel
    def run():
        for i in range(64):
            qd.simt.grid.memfence()  # the line

    run.source(arch=qd.cuda)


def unrolled():
    @qd.kernel
    def run():
        for i in qd.static(range(100)):  # the line
            pass

    run()


def shared_by_iterations():
    x = qd.field(qd.i32, shape=8)

    @qd.kernel
    def run():
        s = 0
        for i in x:
            s = s + x[i]  # the line

    run()


def plain_function():
    def helper():
        return 1

    @qd.kernel
    def run() -> qd.i32:
        return helper()  # the line

    run()


@pytest.mark.parametrize(
    "give",
    [empty_builder, large_matrix, deprecated_pure, dumps_and_cache, integer_that_loses_bits, in_a_kernel,
     in_a_function_of_a_kernel, in_a_function_of_the_package, unrolled, shared_by_iterations, plain_function],
    ids=lambda give: give.__name__,
)  # fmt: skip
def test_warnings_are_at_the_line_of_the_user(give):
    qd.init(arch=qd.cpu)
    try:
        with pytest.warns() as told:
            give()
    finally:
        qd.reset()
    lines = (ROOT / "tests" / "project" / "test_project_warnings.py").read_text().splitlines()
    for warning in told:
        assert warning.filename == __file__
        assert "# the line" in lines[warning.lineno - 1], (warning.lineno, str(warning.message))


def test_a_warning_is_shown_once_for_each_line(recwarn):
    import warnings

    def here():
        caller.warn("a warning")

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            here()
    assert [str(w.message) for w in told] == ["a warning"]
