"""How elements are folded: the operators, their identities, and which types they take."""

from __future__ import annotations

import math

import quadrants as qd
from quadrants.algorithms import choices
from quadrants.algorithms.scratch import levels

block = qd.simt.block
subgroup = qd.simt.subgroup


def check(dtype, log256_max_n: int) -> None:
    if dtype not in choices.DTYPES:
        raise NotImplementedError(f"device reduce dtype {dtype} not supported{choices.instead()}")
    levels(log256_max_n)


def identity_of(how: str, dtype):
    """The fold of nothing, as a number of Python."""
    real = dtype in (qd.f32, qd.f64)
    if how == "add":
        return 0.0 if real else 0
    if real:
        return math.inf if how == "min" else -math.inf
    return dtype.max if how == "min" else dtype.min


@qd.func
def identity(how: qd.template(), dtype: qd.template()):
    return dtype(qd.static(identity_of(how, dtype)))


@qd.func
def combine(a, b, how: qd.template()):
    result = a
    if qd.static(how == "add"):
        result = a + b
    elif qd.static(how == "min"):
        result = qd.min(a, b)
    else:
        result = qd.max(a, b)
    return result


@qd.func
def of_block(value, threads: qd.template(), how: qd.template(), dtype: qd.template()):
    """The fold of all threads, in thread 0."""
    result = value
    if qd.static(how == "add"):
        result = block.reduce_add(value, threads, dtype)
    elif qd.static(how == "min"):
        result = block.reduce_min(value, threads, dtype)
    else:
        result = block.reduce_max(value, threads, dtype)
    return result


@qd.func
def before_thread(value, threads: qd.template(), how: qd.template(), dtype: qd.template()):
    """The fold of the threads of the block before this one."""
    result = value
    if qd.static(how == "add"):
        result = block.exclusive_add(value, threads, dtype)
    elif qd.static(how == "min"):
        result = block.exclusive_min(value, threads, dtype)
    else:
        result = block.exclusive_max(value, threads, dtype)
    return result


@qd.func
def of_lanes(value, how: qd.template()):
    """The fold of the subgroup, in every lane."""
    result = value
    if qd.static(how == "add"):
        result = subgroup.reduce_all_add(value)
    elif qd.static(how == "min"):
        result = subgroup.reduce_all_min(value)
    else:
        result = subgroup.reduce_all_max(value)
    return result
