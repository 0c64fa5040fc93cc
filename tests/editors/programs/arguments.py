"""Python's dataclasses of arrays as arguments, tensors, buffer views, plain functions of both scopes."""

import dataclasses

import numpy as np

import quadrants as qd

qd.init(arch=qd.cpu)


@dataclasses.dataclass
class State:
    pos: qd.types.NDArray[qd.f32, 1]
    vel: qd.types.NDArray[qd.f32, 1]
    scale: qd.f32


@qd.pyfunc
def half(x):
    return x * 0.5


@qd.real_func
def fib(n: qd.i32) -> qd.i32:
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


@qd.kernel
def advance(state: State, dt: qd.f32):
    for i in state.pos:
        state.pos[i] += half(dt) * state.vel[i] * state.scale


@qd.kernel
def add(a: qd.Tensor, b: qd.types.ndarray(), out: qd.BufferView[qd.f32], n: qd.template()) -> qd.i32:
    for i in range(n):
        out[i] = a[i] + b[i]
    return fib(10)


state = State(pos=qd.ndarray(qd.f32, 4), vel=qd.ndarray(qd.f32, 4), scale=2.0)
state.vel.fill(1.0)
advance(state, 0.5)
a = qd.tensor(qd.f32, 4)
a.fill(1.0)
b = np.ones(4, dtype=np.float32)
whole = qd.ndarray(qd.f32, 8)
fibonacci: int = add(a, b, whole[2:6], 4)
assert fibonacci == 55 and half(3.0) == 1.5
print(state.pos.to_numpy(), whole.to_numpy(), a.shape, a.to_numpy())
