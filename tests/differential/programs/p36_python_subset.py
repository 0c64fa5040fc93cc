"""language.md 15, 17.3: containers, comprehensions, subscripts, refused statements, ordinary Python calls."""

import math

import numpy as np
from kit import fails, warned


def run(qd):
    f = qd.field(qd.i32, shape=(3, 4))
    g = qd.field(qd.i32, shape=(3, 4), order="ji")
    s = qd.field(qd.i32, shape=())
    table = np.array([10, 20, 30], np.int32)

    def external(a):
        return a * 2 + 1

    @qd.kernel
    def containers() -> qd.types.vector(8, qd.i32):
        f[0, 0] = 7
        snapshot = [f[0, 0], 1]
        f[0, 0] = 8
        snapshot[1] = 5
        snapshot.append(9)
        t = (1, 2, 3)
        d = {"a": 4, "b": 6}
        squares = [x * x for x in [1, 2, 3] if x != 2]
        pairs = [i * 10 + j for i in range(2) for j in range(2)]
        last = t[-1]
        return qd.Vector(
            [snapshot[0], snapshot[1], len(snapshot), d["a"] + d["b"], squares[1], pairs[3], last, len(t[0:2])]
        )

    @qd.kernel
    def subscripts(i: qd.i32):
        idx = qd.Vector([i, 2])
        f[i, 1] = 1
        f[idx] = 2
        f[[i, 3]] = 3
        f[(i + 1, 0)] = 4
        g[i, 1] = 1
        g[idx] = 2
        k = qd.Vector([i])
        g[k, 3] = 5
        s[None] = 6
        s[()] += 1

    @qd.kernel
    def python_calls(a: qd.i32) -> qd.f32:
        half = math.sqrt(0.25)
        return external(a) + half + table[1] + np.float32(0.25)

    @qd.kernel
    def python_sin(x: qd.f32) -> qd.f32:
        return math.sin(x)

    @qd.kernel
    def tried():
        try:
            s[None] = 1
        except ValueError:
            pass

    @qd.kernel
    def imported():
        import os  # noqa: F401

    @qd.kernel
    def nested():
        def inner():
            pass

    @qd.kernel
    def lambdas() -> qd.i32:
        h = lambda v: v + 1  # noqa: E731
        return h(1)

    @qd.kernel
    def sets():
        a = {1, 2}

    @qd.kernel
    def with_statement():
        with open("x"):
            pass

    @qd.kernel
    def deletes():
        a = 1
        del a

    @qd.kernel
    def host_api():
        qd.field(qd.i32, shape=3)

    @qd.kernel
    def stores_string():
        a = "text"

    @qd.kernel
    def runtime_comprehension(n: qd.i32) -> qd.i32:
        a = [i for i in range(n)]
        return a[0]

    @qd.kernel
    def float_index(x: qd.f32) -> qd.i32:
        return f[x, 0]

    @qd.kernel
    def wrong_count() -> qd.i32:
        return f[0]

    @qd.kernel
    def unknown_key() -> qd.i32:
        d = {"a": 1}
        return d["z"]

    subscripts(1)
    first = f.to_numpy()
    return {
        "f": first,
        "g": g.to_numpy(),
        "s": s[None],
        "containers": containers().to_numpy(),
        "warned": "SyntaxWarning" in warned(lambda: python_calls(3)),
        "python_calls": python_calls(3),
        "python_sin": fails(lambda: python_sin(1.0)) != "no error",
        "tried": fails(tried, 'Unsupported node "Try"'),
        "imported": fails(imported, 'Unsupported node "Import"'),
        "nested": fails(nested, "Function definition is not allowed in"),
        "lambdas": fails(lambdas, 'Unsupported node "Lambda"'),
        "sets": fails(sets, 'Unsupported node "Set"'),
        "with_statement": fails(with_statement, "'with' in Quadrants kernels only supports"),
        "deletes": fails(deletes, 'Unsupported node "Delete"'),
        "host_api": fails(host_api, "cannot be called in Quadrants-scope"),
        "stores_string": fails(stores_string, ""),
        "runtime_comprehension": fails(lambda: runtime_comprehension(3), ""),
        "float_index": fails(lambda: float_index(1.0), "indices must be integers"),
        "wrong_count": fails(wrong_count, "Field with dim 2 accessed with indices of dim 1"),
        "unknown_key": fails(unknown_key, ""),
    }
