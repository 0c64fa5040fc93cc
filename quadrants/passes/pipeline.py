"""The ordered list of rewrites between the frontend and codegen."""

from __future__ import annotations

from functools import partial, update_wrapper

from quadrants.ir.nodes import Module
from quadrants.passes.blocks import describe_blocks
from quadrants.passes.gates import claim_gates, count_gates
from quadrants.passes.guard_empty import guard_empty
from quadrants.passes.launch_values import compute_at_use
from quadrants.passes.lower_places import lower_places
from quadrants.passes.neighbours import find_neighbours
from quadrants.passes.own_cells import use_own_cells
from quadrants.passes.reductions import recognise_reductions
from quadrants.passes.resume import prepare_resume
from quadrants.passes.split_tasks import split_tasks
from quadrants.passes.stack_checks import number_stack_checks
from quadrants.passes.stack_sizes import size_stacks
from quadrants.passes.writes import note_writes

PASSES = (
    split_tasks,
    compute_at_use,
    recognise_reductions,
    use_own_cells,
    find_neighbours,
    describe_blocks,
    prepare_resume,
    number_stack_checks,
    note_writes,
)


def run(module: Module, observe=None, *, device: bool = False, wide_addresses: bool = True) -> Module:
    """Apply every pass in order; `observe(name, module)` is called after each one (for dumps).

    device: the kernel is for a device, which has to find out by itself what depends on its memory. wide_addresses:
    see `lower_places`.
    """
    lower = update_wrapper(partial(lower_places, wide=wide_addresses, device=device), lower_places)
    for step in (*PASSES, *((claim_gates, size_stacks) if device else (count_gates,)), guard_empty, lower):
        module = step(module)
        if observe is not None:
            observe(step.__name__, module)
    return module
