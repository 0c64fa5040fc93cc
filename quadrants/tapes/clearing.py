"""clear_all_gradients: zero the companions of all fields, by kernels for each container that holds some."""

from __future__ import annotations

import weakref

from quadrants.data import check_flags, context, snode
from quadrants.data.field import ScalarField
from quadrants.kernel import kernel
from quadrants.lang.annotations import template
from quadrants.lang.control import grouped, static
from quadrants.lang.enums import SNodeGradType
from quadrants.tapes import recording

_ROLES = {SNodeGradType.ADJOINT: "grad", SNodeGradType.DUAL: "dual"}

_MOST = 32  # fields that one kernel clears: of more, compiling one takes longer than compiling several

# Trees do not change once they have memory: tree -> role -> groups of fields that one kernel clears. The fields must
# stay the same objects, or every call would compile anew.
_containers: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def clear_all_gradients(gradient_type=SNodeGradType.ADJOINT) -> None:
    """Zero the gradients of all fields. Those of ndarrays and torch tensors are left as they are.

    gradient_type: `SNodeGradType.ADJOINT` for `.grad`, `DUAL` for `.dual`, `ADJOINT_CHECKBIT` for what
    `Tape(validation=True)` notes. `ValueError` for anything else. Compiles a kernel for each container of fields that
    holds gradients (for 32 of them), the first time; never recorded by a tape.

        qd.ad.clear_all_gradients()
    """
    kind = SNodeGradType(gradient_type)
    context.materialize()
    if kind == SNodeGradType.ADJOINT_CHECKBIT:
        check_flags.clear()
        return
    if kind not in _ROLES:
        raise ValueError(f"clear_all_gradients takes ADJOINT, DUAL or ADJOINT_CHECKBIT, not {kind!r}")
    with recording.paused():
        for tree in snode.trees():
            for places in _places(tree, _ROLES[kind]):
                _clear(places)


def _places(tree, role: str) -> list:
    known = _containers.setdefault(tree, {})
    if role not in known:
        groups: dict = {}
        for leaf in tree.leaves:
            if leaf.role == role:
                # Leaves of one container share their coordinates unless they were placed with an offset or order.
                groups.setdefault((leaf.snode.up, leaf.offset, leaf.order), []).append(ScalarField(leaf))
        known[role] = [tuple(group[at : at + _MOST]) for group in groups.values() for at in range(0, len(group), _MOST)]
    return known[role]


@kernel
def _clear(places: template()):
    for cell in grouped(places[0]):
        for place in static(places):
            place[cell] = 0
