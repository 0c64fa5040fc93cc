"""Arrays of a runtime that is gone: every use says so, and what to do."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from language_kit import raises

import quadrants as qd

DEAD = "This ndarray is dead: its memory went with qd.reset() or a new qd.init(). Create it again."
MADE = {
    "numbers": lambda: qd.ndarray(qd.f32, 4),
    "gradients": lambda: qd.ndarray(qd.f32, 4, needs_grad=True),
    "vectors": lambda: qd.Vector.ndarray(2, qd.f32, 4),
    "tensor": lambda: qd.tensor(qd.f32, (4,), backend=qd.Backend.NDARRAY),
}


@qd.data_oriented
class Held:
    def __init__(self, x):
        self.x = x

    @qd.kernel
    def first(self):
        self.x[0] = 1

    @qd.kernel
    def count(self) -> qd.i32:
        return self.x.shape[0]

    @qd.kernel(fastcache=True)
    def kept(self):
        self.x[0] = 1


@dataclasses.dataclass
class Any:
    x: qd.types.ndarray()


@dataclasses.dataclass
class Line:
    x: qd.types.ndarray(ndim=1)


@qd.kernel
def of_argument(x: qd.types.ndarray()):
    x[0] = 1


@qd.kernel
def of_any(held: Any):
    held.x[0] = 1


@qd.kernel
def of_line(held: Line):
    held.x[0] = 1


@qd.kernel
def of_template(held: qd.template()):
    held.x[0] = 1


USES = {
    "member": lambda x: Held(x).first(),
    "extent of a member": lambda x: Held(x).count(),
    "member of a kept kernel": lambda x: Held(x).kept(),
    "member of a template": lambda x: of_template(Held(x)),
    "dataclass": lambda x: of_any(Any(x)),
    "dataclass with axes": lambda x: of_line(Line(x)),
    "text": lambda x: of_argument.source(x),
    "loss": lambda x: qd.ad.Tape(loss=x).__enter__(),
    "read": lambda x: x[0],
    "write": lambda x: x.__setitem__(0, 1),
    "fill": lambda x: x.fill(1),
    "to_numpy": lambda x: x.to_numpy(),
    "from_numpy": lambda x: x.from_numpy(np.zeros(4, np.float32)),
    "copy_from": lambda x: x.copy_from(x),
    "copy": copy.deepcopy,
    "pickle": pickle.dumps,
}


@pytest.mark.parametrize("made", MADE)
def test_every_use_of_a_dead_ndarray_says_so(init, made):
    init(offline_cache=True)
    x, held = MADE[made](), Held(MADE[made]())
    if made != "vectors":
        held.first()
        held.kept()
    init(offline_cache=True)
    uses = {**USES, "known member": lambda x: held.first(), "known member of a kept kernel": lambda x: held.kept()}
    for use in uses.values():
        with raises(qd.QuadrantsRuntimeError, DEAD):
            use(x)
    with raises(qd.QuadrantsRuntimeError, "destroyed by qd.init() or qd.reset(); create it again"):
        of_argument(x)
    held.x = MADE[made]()
    assert held.count() == 4


def test_the_message_about_a_dead_member_names_the_line(init):
    init()
    held = Held(MADE["numbers"]())
    init()
    with raises(qd.QuadrantsRuntimeError, DEAD) as caught:
        held.first()
    assert "test_dead_arrays.py" in str(caught.value) and "self.x[0] = 1" in str(caught.value)


@pytest.mark.runtime(debug=True)
def test_the_flags_of_a_dead_ndarray(init):
    init(debug=True)
    x = MADE["numbers"]()
    init(debug=True)
    with raises(qd.QuadrantsRuntimeError, DEAD):
        x._flags  # noqa: B018
