"""Structs of Python scope as template arguments."""

import quadrants as qd


def test_structs_as_templates_are_what_they_hold(arch):
    pair = qd.types.struct(a=qd.i32, v=qd.types.vector(2, qd.i32))

    @qd.kernel
    def read(s: qd.template()) -> qd.i32:
        return s.a * 100 + s.v[1]

    s = pair(a=1, v=[2, 3])
    found = [read(s)]
    s.a = 7
    found.append(read(s))
    s.v[1] = 5
    found += [read(s), read(pair(a=7, v=[2, 5])), read(pair(a=1, v=[2, 3]))]
    assert found == [103, 703, 705, 705, 103]
    assert len(read.materialized_kernels) == 3
