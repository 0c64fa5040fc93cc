"""@qd.data_oriented: classes whose methods may be kernels."""

from __future__ import annotations

import functools


def data_oriented(cls=None, *, stable_members: bool = False, template_primitives: bool = True):
    """Mark a class whose methods are decorated with `@qd.kernel` or `@qd.func`.

    Args:
        cls: the class.
        stable_members: a promise that array and field members are never rebound after the first launch: launches do not
            look at the fields then, which saves about 20 ns for each. Without it a field that is assigned to a member
            is used from the next launch on.
        template_primitives: True bakes int, float and bool members into the kernel when it is compiled; False makes the
            ones that are read run-time values, read again at each launch, also those of data_oriented objects and
            dataclass instances that are members. A bool is then an integer.

        @qd.data_oriented
        class Heat:
            def __init__(self, n):
                self.x = qd.field(qd.f32, n)

            @qd.kernel
            def step(self): ...
    """
    if cls is None:
        return functools.partial(data_oriented, stable_members=stable_members, template_primitives=template_primitives)
    cls._qd_data_oriented = True
    cls._qd_stable_members = stable_members
    cls._qd_template_primitives = template_primitives
    return cls
