"""Lists, dicts and tuples of run-time values: when they are read, and what may be written."""

from typing import NamedTuple

import pytest

import quadrants as qd


class Pair(NamedTuple):
    a: int
    b: int


@qd.func
def bump(v: qd.template()):
    v += 1
    return v


@qd.func
def twice(x):
    return [x, 2 * x]


@qd.func
def squared(values: qd.template()):
    for k in qd.static(range(2)):
        values[k] *= values[k]
    return values[0] + values[1]


@qd.dataclass
class Counter:
    count: qd.i32

    @qd.func
    def next(self):
        self.count += 1
        return self.count


@qd.func
def counter(n):
    return Counter(n)


def test_dicts_are_read_from_left_to_right(arch):
    @qd.kernel
    def run(a: qd.i32) -> qd.types.vector(4, qd.i32):
        x, l = a, [a]
        d = {"before": x, "n": qd.atomic_add(x, 100), "list": l[0], "after": bump(l[0])}
        e = {k: qd.atomic_add(x, 1) for k in qd.static(range(2))}
        return qd.Vector([d["before"], d["list"], e[1] - e[0], {"x": x, "y": qd.atomic_add(x, 5)}["x"] - x])

    assert list(run(10)) == [10, 10, 1, -5]


def test_what_grows_a_dict_is_copied(arch):
    @qd.kernel
    def run(a: qd.i32) -> qd.types.vector(4, qd.i32):
        x, l = a, [a]
        d = {"k": 0}
        d.update(k=x)
        d.update({"m": x, "l": l})
        d.setdefault("z", x)
        d["k"] += 5
        l[0] = 77
        x += 100
        return qd.Vector([x, d["k"], d["m"] + d["z"], d["l"][0]])

    assert list(run(10)) == [110, 15, 20, 10]


def test_options_of_methods_are_no_items(arch):
    @qd.kernel
    def run() -> qd.i32:
        order = list(range(3))
        names = qd.static(sorted([1, 3, 2], reverse=True))
        d = {"a": 1}
        d.update({"b": 2}, c=3)
        return names[0] * 100 + len(d) * 10 + len(order)

    assert run() == 333


def test_results_may_be_changed_where_they_are_passed(arch):
    @qd.kernel
    def run(a: qd.i32) -> qd.types.vector(4, qd.i32):
        v = qd.Vector([a, 2 * a])
        s = counter(a).next()
        for c in qd.static([counter(a), counter(a + 1)]):
            s += c.next()
        for i in range(3):
            s += counter(i).next()
        return qd.Vector([squared(twice(a)), squared([*v]), squared(list(v)), s])

    assert list(run(3)) == [45, 45, 45, 4 + 4 + 5 + 6]


LOOPS = {
    "range": "    for i in range(n):\n        bump(i)\n",
    "ndrange": "    for i, j in qd.ndrange(n, 2):\n        bump(j)\n",
    "nested": "    for _ in range(1):\n        for i in range(n):\n            deeper(i)\n",
    "result": "    bump(same(n))\n",
    "item": "    twice(n)[0] += 1\n",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_counters_and_results_are_no_variables(arch, tmp_path, loop):
    import importlib.util

    path = tmp_path / f"counted_{loop}.py"
    path.write_text(
        "import quadrants as qd\n\n@qd.func\ndef bump(v: qd.template()):\n    v += 1\n\n"
        "@qd.func\ndef deeper(v: qd.template()):\n    bump(v)\n\n@qd.func\ndef same(x):\n    return x\n\n"
        "@qd.func\ndef twice(x):\n    return [x, x]\n\n"
        f"@qd.kernel\ndef run(n: qd.i32) -> qd.i32:\n{LOOPS[loop]}    return n\n"
    )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(qd.QuadrantsSyntaxError, match="[Gg]ive it a name first|[Gg]ive its value a name first"):
        module.run(3)


def test_loops_and_stars_over_dicts(arch):
    @qd.kernel
    def run(a: qd.i32) -> qd.i32:
        s, d = 0, {"x": a, "y": 2 * a}
        for k, v in qd.static(d.items()):
            s += v
        for v in qd.static(d.values()):
            s += v
        for k in qd.static(list(d)):
            s += d[k]
        l = [*reversed([a, a + 1]), *d.values()]
        return s * 1000 + l[0] * 100 + len(l)

    assert run(1) == 9204


def test_containers_are_printed_with_their_values(arch, capfd):
    @qd.kernel
    def show(a: qd.i32):
        for _ in range(1):
            print({"k": [a]}, Pair(a, 1), f"{Pair(a, 2)}")

    show(10)
    qd.sync()
    assert capfd.readouterr().out.splitlines()[-1] == "{'k': [10]} Pair(a=10, b=1) Pair(a=10, b=2)"


def test_expressions_for_a_template_are_computed_before_the_call(arch):
    x = qd.field(qd.i32, 4)

    @qd.func
    def later(values: qd.template()):
        x[2] = 0
        return values[0] * 100 + values[1]

    @qd.kernel
    def run() -> qd.i32:
        s = 0
        for _ in range(1):
            s = later([x[2] + 1] + [qd.cast(x[2], qd.u8)])
        return s

    x[2] = 7
    assert run() == 807


def test_items_for_a_template_are_found_before_the_call(arch):
    x = qd.field(qd.i32, 4)

    @qd.func
    def after(values: qd.template(), n: qd.template()):
        n += 1
        values[0] += 100
        return values[0] + values[1][0]

    @qd.kernel
    def run(start: qd.i32) -> qd.i32:
        s = 0
        for _ in range(1):
            n = start
            s = after([x[n], [x[n + 1]]], n) * 10 + n
        return s

    for i in range(4):
        x[i] = i + 1
    assert run(1) == (102 + 3) * 10 + 2
    assert list(x.to_numpy()) == [1, 102, 3, 4]


@qd.func
def first_one_more(values):
    values[0] += 1
    return values[0] * 10 + values[1]


def test_numbers_in_a_list_change_in_a_function_wherever_it_is_called(arch):
    @qd.kernel
    def top(a: qd.i32) -> qd.i32:
        return first_one_more([1, a])

    @qd.kernel
    def deep(a: qd.i32) -> qd.i32:
        r = 0
        if a > 1:
            r += first_one_more([1, a])
        for i in range(2):
            r += 100 * first_one_more([i, [a, 3][1]])
        return r + 10000 * (first_one_more([4, 2]) if a > 2 else 0)

    assert top(3) == 23
    assert deep(3) == 23 + 100 * (13 + 23) + 10000 * 52
