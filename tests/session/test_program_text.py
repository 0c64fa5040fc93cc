"""Kernels of programs that are in no file: standard input, `python -c`, consoles, texts that are compiled."""

from __future__ import annotations

import code
import linecache
import os
import subprocess
import sys
import textwrap
import types

import pytest

import quadrants as qd
from quadrants import program_text

pytestmark = pytest.mark.cpu_only

PROGRAM = textwrap.dedent("""
    import quadrants as qd
    qd.init(arch=qd.cpu)

    @qd.func
    def more(x):
        return x + 1

    @qd.kernel
    def run(x: qd.i32) -> qd.i32:
        return more(x)

    print("result", run(41))

    @qd.kernel
    def wrong() -> qd.i32:
        return more(missing)

    wrong()
""")
BANNER = '    return more(missing)\n                ^^^^^^^\nName "missing" is not defined'


def python(*arguments: str, **options) -> subprocess.CompletedProcess:
    env = {**os.environ, "QD_ARCH": "cpu"}
    return subprocess.run([sys.executable, *arguments], text=True, capture_output=True, env=env, timeout=120, **options)


def test_redirected_input(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    with (tmp_path / "program.py").open() as file:
        done = python("-", stdin=file)
    assert "result 42" in done.stdout and BANNER in done.stderr, done.stderr
    assert 'File "<stdin>", line 17, in wrong:' in done.stderr


@pytest.mark.parametrize("options", [["-c"], ["-W", "ignore", "-Xdev", "-c"], ["-qc"]])
def test_text_on_the_command_line(options):
    done = python(*options, PROGRAM, "-c", "other")
    assert "result 42" in done.stdout and BANNER in done.stderr, done.stderr


def test_attached_text():
    assert "result 42" in python("-c" + PROGRAM).stdout


def test_a_pipe_is_one_error_at_the_decorator():
    done = python("-", input=PROGRAM)
    assert "result" not in done.stdout and done.stderr.count("Error") == 1
    last = done.stderr.rstrip().splitlines()
    assert last[-2].strip() == 'File "<stdin>", line 5, in <module>'
    assert last[-1].startswith("OSError: Cannot find source code for Object: <function more")
    assert "save it in a file and run that" in last[-1] and "`python - < program.py`" in last[-1]


def test_the_console_says_what_to_use():
    text = "import quadrants as qd\n@qd.kernel\ndef run() -> qd.i32:\n    return 42\n\nprint('result', run())\n"
    done = python("-i", input=text)
    if sys.version_info >= (3, 13):  # whose console keeps what is typed
        assert "result 42" in done.stdout, done.stderr
    else:
        assert "This console keeps no text" in done.stderr and "use IPython" in done.stderr


def test_a_text_that_is_compiled_is_refused_until_it_is_registered():
    text = "@qd.kernel\ndef made(x: qd.i32) -> qd.i32:\n    return x + 1\n"
    with pytest.raises(OSError, match="Cannot find source code") as caught:
        exec(text, {"qd": qd})  # noqa: S102
    assert "linecache.cache[name] = (len(text), None, text.splitlines(True), name)" in str(caught.value)
    name = "<made here>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"qd": qd}
    exec(compile(text, name, "exec"), scope)  # noqa: S102
    qd.init(arch=qd.cpu)
    assert scope["made"](1) == 2
    qd.reset()


def test_consoles_of_later_versions(monkeypatch):
    """They keep the text of each input by its code."""
    text = "def typed(x: qd.i32) -> qd.i32:\n    return x + nothing\n"
    kept: dict = {}

    def run(source: types.CodeType, scope: dict) -> None:
        kept.update({c.co_name: text.splitlines(True) for c in source.co_consts if isinstance(c, types.CodeType)})
        exec(source, scope)  # noqa: S102

    monkeypatch.setattr(linecache, "_getlines_from_code", lambda c: kept.get(c.co_name, []), raising=False)
    scope = {"qd": qd}
    run(compile(text, "<python-input-7>", "exec"), scope)
    qd.init(arch=qd.cpu)
    with pytest.raises(qd.QuadrantsNameError, match=r'<python-input-7>", line 2, in typed:\n    return x \+ nothing'):
        qd.kernel(scope["typed"])(1)
    qd.reset()


def test_interactive_console_of_the_library():
    console = code.InteractiveConsole({"qd": qd})
    errors: list[str] = []
    console.write = errors.append
    console.runsource("@qd.kernel\ndef run():\n    pass\n", symbol="exec")
    told = "".join(errors)
    if not hasattr(linecache, "_register_code"):
        assert "OSError: Cannot find source code" in told or "OSError" in told, told


def test_another_text_of_the_same_name_is_not_taken(monkeypatch):
    """What `exec` compiles has the name of the text of `python -c`."""
    monkeypatch.setattr(sys, "orig_argv", ["python", "-c", "def f(x):\n    return x + 1\n"])
    same, other = {}, {}
    exec("def f(x):\n    return x + 1\n", same)  # noqa: S102
    exec("def f(x):\n    return x + 2\n", other)  # noqa: S102
    assert program_text.lines_of(same["f"].__code__) == ["def f(x):\n", "    return x + 1\n"]
    assert program_text.lines_of(other["f"].__code__) == []


def test_decorators_of_the_python_arch_need_no_text():
    pytest.importorskip("torch")
    qd.init(arch=qd.python)
    scope = {"qd": qd}
    exec("@qd.kernel\ndef plain(x: qd.i32) -> qd.i32:\n    return x + 1\n", scope)  # noqa: S102
    assert scope["plain"](1) == 2
    qd.reset()
