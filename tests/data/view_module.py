"""A second module with a function of the same name as one of the tests: call stacks tell them apart by file."""

import quadrants as qd


@qd.func
def touch(v: qd.BufferView[qd.f32], i: qd.i32):
    v[i] = 1.0
