"""Lists, tuples, dicts and bound methods of run-time values as `qd.template()` arguments, wherever they are made."""

from __future__ import annotations

import pytest
from matrix_kit import module_of

import quadrants as qd

HEAD = """
from typing import NamedTuple
import quadrants as qd

class Pair(NamedTuple):
    x: qd.i32
    y: qd.i32

@qd.dataclass
class Cell:
    v: qd.i32

    @qd.func
    def get(self, k):
        return self.v * 10 + k

@qd.func
def first(z: qd.template(), n):
    return z[0] * 100 + n

@qd.func
def same_name(z: qd.template(), l):
    return z[0] * 100 + l

@qd.func
def local(z: qd.template(), n):
    l = n
    l += 1
    return z[0] * 100 + l

@qd.func
def counted(z: qd.template(), n):
    s = 0
    for i in range(3):
        s += z[0] * 10 + i
    return s + n

@qd.func
def entry(z: qd.template(), n):
    return z["a"] * 100 + n

@qd.func
def member(z: qd.template(), n):
    return z.x * 100 + z.y * 10 + n

@qd.func
def inner(z: qd.template(), n):
    return z[0][1] * 100 + n

@qd.func
def called(z: qd.template(), n):
    return z(n)

@qd.func
def asked(z: qd.template(), n):
    return z() * 100 + n

@qd.func
def passed_on(z: qd.template(), n):
    w = [z[1], z[0]]
    return first(w, n) + first(z, n)

@qd.func
def written_to(z: qd.template(), pair):
    z[0] += pair
    return 0
"""
# What is made, the call, and the results for i = 0 and 1 with a = 3, b = 1.
CASES = [
    ("l = [a, b]", "first(l, i)", [300, 301]),
    ("l = (a, b)", "first(l, i)", [300, 301]),
    ("l = [a, b]", "same_name(l, i)", [300, 301]),
    ("l = [a, b]", "local(l, i)", [301, 302]),
    ("s = [a + i, 1]", "counted(s, 0)", [93, 123]),
    ("l = {'a': a + i}", "entry(l, i)", [300, 401]),
    ("l = Pair(a, b)", "member(l, i)", [310, 311]),
    ("l = [[a, b + 1], [b, a]]", "inner(l, i)", [200, 201]),
    ("v = qd.Vector([a, b]); l = [v, v]", "inner(l, i)", [100, 101]),
    ("s = Cell(a)", "called(s.get, i)", [30, 31]),
    ("v = qd.Vector([a, b])", "asked(v.sum, i)", [400, 401]),
    ("pair = [a, b]", "written_to(pair, 10 * i) + pair[0]", [3, 13]),
    ("l = [a, b]; l[0] += i", "passed_on(l, i)", [400, 502]),
    ("l = [a, b] + [b]", "first(l, i) + len(l)", [303, 304]),
]
AROUND = {
    "loop": "    for i in range(2):\n        {made}\n        out[i] = {call}\n",
    "branch": "    for i in range(2):\n        if a > 0:\n            {made}\n            out[i] = {call}\n",
    "func": "    for i in range(2):\n        out[i] = outer(a, b, i)\n",
    "top": "    i = 0\n    {made}\n    out[0] = {call}\n",
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("made", "call", "wanted"), CASES)
def test_a_template_sees_what_its_caller_made(arch, tmp_path, made, call, wanted, around):
    outer = f"@qd.func\ndef outer(a, b, i):\n    {made}\n    return {call}\n"
    body = AROUND[around].format(made=made, call=call)
    text = f"{HEAD}\n{outer}\n@qd.kernel\ndef run(out: qd.types.ndarray(), a: qd.i32, b: qd.i32):\n{body}"
    out = qd.ndarray(qd.i32, 2)
    module_of(text, tmp_path).run(out, 3, 1)
    assert list(out.to_numpy()[: 1 if around == "top" else 2]) == wanted[: 1 if around == "top" else 2]


def test_real_functions_refuse_them(arch, tmp_path):
    text = """
import quadrants as qd

@qd.real_func
def first(z: qd.template(), n: qd.i32) -> qd.i32:
    return z[0] + n

@qd.kernel
def run(a: qd.i32) -> qd.i32:
    s = 0
    for i in range(2):
        l = [a, a]
        s += first(l, i)
    return s
"""
    with pytest.raises(qd.QuadrantsSyntaxError, match="gets a list that has run-time values in it. Pass a vector"):
        module_of(text, tmp_path).run(3)


def test_lists_are_joined_as_in_python(arch):
    @qd.kernel
    def run(a: qd.i32, b: qd.i32) -> qd.types.vector(6, qd.i32):
        x, y = [a, b], [b]
        z = x + y + [7]
        x[0] = 100
        t = (a, b) + (b,)
        return qd.Vector([len(z), z[0], z[2], z[3], len(t), t[2]])

    assert list(run(3, 1)) == [4, 3, 1, 7, 3, 1]

    @qd.kernel
    def mixed(a: qd.i32) -> qd.i32:
        return len([a, a] + (a,))

    with pytest.raises(qd.QuadrantsTypeError, match=r"A list and a tuple are not joined by `\+`"):
        mixed(1)

    @qd.kernel
    def nested(a: qd.i32) -> qd.i32:
        return max([[a, 1], [2, a]])[0]

    with pytest.raises(qd.QuadrantsTypeError, match=r"max\(\) of lists"):
        nested(1)


def test_fields_behind_tensors_in_containers(arch):
    t, u = (qd.tensor(qd.f32, shape=3, backend=qd.Backend.FIELD) for _ in range(2))
    listed, named = [t, (u,)], {"u": u}

    @qd.kernel
    def run():
        for i in range(3):
            listed[0][i] = i
            named["u"][i] = 2 * i
        for i in range(3):
            for x in qd.static((listed[0], listed[1][0])):
                x[i] += 1

    run()
    assert list(t.to_numpy()) == [1, 2, 3] and list(u.to_numpy()) == [1, 3, 5]


def test_dicts_and_lists_of_constants_inside_of_a_branch(arch):
    @qd.func
    def of_dict(d: qd.template()):
        return d[0]["a"]

    @qd.func
    def of_list(d: qd.template()):
        return d[0][1]

    @qd.func
    def counted(held):
        held[0]["a"] += 1
        return held[0]["a"]

    @qd.func
    def nested(held):
        held[0]["a"][0] += 1
        return held[0]["a"][0] * 10 + held[0]["v"]

    @qd.kernel
    def run(n: qd.i32) -> qd.types.vector(5, qd.i32):
        out = qd.Vector([0, 0, 0, 0, 0])
        if n > 0:
            out[0] = of_dict(({"a": 1},))
            out[1] = of_list(([4, 2], 3))
            out[2] = counted([{"a": 5}])
            out[3] = counted(({"a": n},))
            out[4] = nested([{"a": [n], "v": 2}])
        return out

    assert list(run(7)) == [1, 2, 6, 8, 82]
