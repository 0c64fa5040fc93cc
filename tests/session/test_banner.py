"""Banners: exact columns, several lines, headers of blocks, tabs, wide characters, wrapping.

The expected texts of `SHOWN` are what the reference prints for kernels with these lines.
"""

import ast
import linecache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quadrants.banner import WIDTH, Frame, format_banner, format_frame

pytestmark = pytest.mark.cpu_only


def _frame(path, node, function="k"):
    return Frame(str(path), node.lineno, node.col_offset, node.end_lineno, node.end_col_offset, function)


def _pick(source, wanted):
    """The first node of that class, or whose source is that text."""
    tree = ast.parse(source)
    if isinstance(wanted, str):
        found = [n for n in ast.walk(tree) if hasattr(n, "lineno") and ast.get_source_segment(source, n) == wanted]
    else:
        found = [n for n in ast.walk(tree) if isinstance(n, wanted)]
    return found[0]


def _show(tmp_path, source, wanted):
    path = tmp_path / "prog.py"
    path.write_text(source, encoding="utf-8")
    linecache.checkcache(str(path))
    node = _pick(source, wanted)
    text = format_frame(_frame(path, node))
    head, _, rest = text.partition("\n")
    assert head == f'File "{path}", line {node.lineno}, in k:'
    return rest


SHOWN = {
    "name": (
        "def f():\n    return u + missing\n",
        "missing",
        "    return u + missing\n               ^^^^^^^\n",
    ),
    "second line of an expression": (
        "def f():\n    x = (a +\n         a *\n         missing\n         + 3)\n",
        "missing",
        "         missing\n         ^^^^^^^\n",
    ),
    "call over several lines": (
        "def f():\n    x = mid(\n        a\n        + 1,\n    )\n",
        ast.Call,
        "    x = mid(\n        ^^^^\n        a\n        ^\n        + 1,\n        ^^^^\n    )\n    ^\n",
    ),
    "for": (
        "def f():\n    for i in range(3):\n        a += 1\n    else:\n        a += 3\n",
        ast.For,
        "    for i in range(3):\n    ^^^^^^^^^^^^^^^^^^\n",
    ),
    "condition inside a header": (
        "def f():\n    if a > missing and \\\n        a > 3:\n        a += 1\n",
        "missing",
        "    if a > missing and \\\n           ^^^^^^^\n",
    ),
    "def": (
        "def f():\n    def foo():\n        pass\n    return a\n",
        "def foo():\n        pass",
        "    def foo():\n    ^^^^^^^^^^\n",
    ),
    "tabs": (
        "def f():\n\tif a > 3:\n\t\ta\t=\tmissing\n",
        "missing",
        "        a   =   missing\n                ^^^^^^^\n",
    ),
    "statement": (
        'def f():\n    raise ValueError("x")\n',
        ast.Raise,
        '    raise ValueError("x")\n    ^^^^^^^^^^^^^^^^^^^^^\n',
    ),
    "behind a string over two lines": (
        'def f():\n    s = """a\n    b""" + missing\n',
        "missing",
        '    b""" + missing\n           ^^^^^^^\n',
    ),
    "method": (
        "class A:\n    def meth(self):\n        x = a + missing\n",
        "missing",
        "        x = a + missing\n                ^^^^^^^\n",
    ),
    "long word": (
        'def f():\n    if a > 3 and "' + "x" * 83 + '" and b > 3:\n        a = b\n',
        ast.BoolOp,
        '    if a > 3 and "' + "x" * 62 + "\n       " + "^" * 73 + "\n" + "x" * 21 + '" and b > 3:\n' + "^" * 32 + "\n",
    ),
}


@pytest.mark.parametrize("case", SHOWN)
def test_as_the_reference_shows_it(case, tmp_path):
    source, wanted, expected = SHOWN[case]
    assert _show(tmp_path, source, wanted) == expected


def test_only_the_header_of_every_block(tmp_path):
    blocks = {
        "with a:": "with a:\n    pass\n",
        "while a[1:2] and {1: 2}:": "while a[1:2] and {1: 2}:\n    pass\n",
        "if (x := 3):": "if (x := 3):\n    pass\n",
        'if a == ":" and b:  # why: because': 'if a == ":" and b:  # why: because\n    pass\n',
        "try:": "try:\n    pass\nexcept E:\n    pass\n",
        "class A(B):": "class A(B):\n    x = 1\n",
        "async def f(a: int) -> int:": "async def f(a: int) -> int:\n    pass\n",
        "match a:": "match a:\n    case 1:\n        pass\n",
    }
    for header, source in blocks.items():
        carets = "^" * len(header.split("  #")[0])
        assert _show(tmp_path, source, ast.stmt) == f"{header}\n{carets}\n"


def test_a_header_over_several_lines(tmp_path):
    source = "for i, j in ndrange(\n        3,  # with: a colon\n        4):\n    pass\n"
    assert _show(tmp_path, source, ast.For) == (
        "for i, j in ndrange(\n^^^^^^^^^^^^^^^^^^^^\n        3,  # with: a colon\n        ^^^^^^^^^^^^^^^^^^^\n"
        "        4):\n        ^^^\n"
    )


def test_an_if_on_one_line_shows_its_line(tmp_path):
    assert _show(tmp_path, "if a > 3: b = 3; c = 4\n", ast.If) == "if a > 3: b = 3; c = 4\n^^^^^^^^^\n"


def test_names_that_start_like_keywords_are_expressions(tmp_path):
    assert _show(tmp_path, "format(\n    a)\n", ast.Call) == "format(\n^^^^^^^\n    a)\n    ^^\n"
    assert _show(tmp_path, "match(\n    a)\n", ast.Call) == "match(\n^^^^^^\n    a)\n    ^^\n"


def test_blank_lines_get_no_carets(tmp_path):
    assert _show(tmp_path, "x = f(1,\n\n    2)\n", ast.Call) == "x = f(1,\n    ^^^^\n\n    2)\n    ^^\n"


def test_wide_characters_take_two_columns(tmp_path):
    assert _show(tmp_path, 's = "é中文"; b = missing\n', "missing") == (
        's = "é中文"; b = missing\n' + " " * 17 + "^^^^^^^\n"
    )
    assert _show(tmp_path, 's = "é中文"\n', ast.Assign) == 's = "é中文"\n' + "^" * 11 + "\n"


def test_long_lines_keep_their_carets_below_the_word(tmp_path):
    source = "some_very_long_variable_name = a" + " + 100000000" * 5 + " + missing_name_here + a\n"
    lines = _show(tmp_path, source, "missing_name_here").splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    assert "".join(line + " " for line in lines if "^" not in line) == source.replace("\n", " ")
    marked = next(i for i, line in enumerate(lines) if "^" in line)
    at = lines[marked].index("^")
    assert lines[marked - 1][at : len(lines[marked])] == "missing_name_here"


def test_frames_from_the_kernel_to_the_innermost_func(tmp_path):
    path = tmp_path / "sim.py"
    path.write_text("def step():\n    y = helper(a)\ndef helper():\n    return u + missing\n")
    source = path.read_text()
    frames = [
        _frame(path, _pick(source, "helper(a)"), "step"),
        _frame(path, _pick(source, "missing"), "helper"),
    ]
    message = 'Name "missing" is not defined'
    one, both = format_banner(frames[1:], message), format_banner(frames, message)
    inner = f'File "{path}", line 4, in helper:\n    return u + missing\n               ^^^^^^^\n{message}'
    assert one == "\n" + inner
    assert both == f'\nYour code:\nFile "{path}", line 2, in step:\n    y = helper(a)\n        ^^^^^^^^^\n{inner}'


def test_no_source_no_lines(tmp_path):
    frame = Frame(str(tmp_path / "gone.py"), 3, 0, 3, 4, "k")
    assert format_frame(frame) == f'File "{frame.file}", line 3, in k:\n'
    assert format_banner([], "message") == "\nmessage"


def test_a_place_without_extent_gets_a_caret(tmp_path):
    path = tmp_path / "p.py"
    path.write_text("abc\n")
    for col, line in ((1, " ^"), (3, "   ^"), (99, "   ^")):
        assert format_frame(Frame(str(path), 1, col, 1, col, "k")).splitlines()[2] == line


LETTERS = st.text(alphabet="ab \t(é中):#'\"\\", max_size=200)


@settings(max_examples=150, deadline=None)
@given(lines=st.lists(LETTERS, min_size=1, max_size=4), data=st.data())
def test_any_place_in_any_text_is_shown_within_the_width(lines, data):
    file = "<generated for banner>"
    linecache.cache[file] = (0, None, [line + "\n" for line in lines], file)
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    col = data.draw(st.integers(0, len(lines[first - 1].encode())))
    end = data.draw(st.integers(0, len(lines[last - 1].encode())))
    try:
        text = format_frame(Frame(file, first, col, last, end, "k"))
    finally:
        del linecache.cache[file]
    shown = text.splitlines()[1:]
    assert all(len(line) <= WIDTH for line in shown)
    words = "".join("".join(shown).split()).replace("^", "")
    assert "".join(lines[first - 1].split()) in words
