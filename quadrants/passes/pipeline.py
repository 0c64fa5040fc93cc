"""The ordered list of rewrites between the frontend and codegen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, update_wrapper
from typing import Any

from quadrants.ir.abilities import Abilities
from quadrants.ir.nodes import Module
from quadrants.passes.adstack_checks import number_stack_checks
from quadrants.passes.adstack_gates import claim_gates, count_gates
from quadrants.passes.adstack_sizes import size_stacks
from quadrants.passes.blocks import describe_blocks
from quadrants.passes.breaks_by_flag import breaks_by_flag
from quadrants.passes.choices_by_branch import choices_by_branch
from quadrants.passes.distinct_names import distinct_names
from quadrants.passes.failures_as_singles import failures_as_singles
from quadrants.passes.guard_empty import guard_empty
from quadrants.passes.halves_as_singles import halves_as_singles
from quadrants.passes.helped_negatives import helped_negatives, note_negatives
from quadrants.passes.hidden_bits import hidden_bits
from quadrants.passes.hidden_reals import hidden_reals
from quadrants.passes.idle_loops import idle_loops
from quadrants.passes.launch_values import compute_at_use
from quadrants.passes.leave_by_return import leave_by_return
from quadrants.passes.loop_steps import loop_steps
from quadrants.passes.lower_places import lower_places
from quadrants.passes.narrowed_loops import narrow_loops
from quadrants.passes.neighbours import find_neighbours
from quadrants.passes.own_cells import use_own_cells
from quadrants.passes.packed_places import lower_packed_places, lower_packed_sizes
from quadrants.passes.powers_of_two import powers_of_two
from quadrants.passes.reductions import recognise_reductions
from quadrants.passes.references_by_copy import references_by_copy
from quadrants.passes.refuse_lacking import refuse_lacking, refuse_wide_words
from quadrants.passes.refuse_recursion import refuse_recursion
from quadrants.passes.resume import prepare_resume
from quadrants.passes.shared_assignments import warn_of_shared_assignments
from quadrants.passes.sparse.access import find_containers
from quadrants.passes.sparse.loops import sparse_loops
from quadrants.passes.split_tasks import split_tasks
from quadrants.passes.watch_loops import watch_loops
from quadrants.passes.watch_recursion import watch_recursion
from quadrants.passes.writes import note_writes

Step = Callable[[Module], Module]
ALL = Abilities()
PASSES = (
    sparse_loops,
    narrow_loops,
    split_tasks,
    compute_at_use,
    describe_blocks,
    recognise_reductions,
    use_own_cells,
    find_neighbours,
    prepare_resume,
    number_stack_checks,
    note_writes,
)


def run(
    module: Module,
    abilities: Abilities = ALL,
    observe: Callable[[str, Module], object] | None = None,
    written: bool = False,
) -> Module:
    """Apply every pass in order; `observe(name, module)` is called after each one (for dumps). written: it is what a
    user wrote, who is told of what is suspicious in it."""
    for step in (*PASSES, *_lowering(module, abilities)):
        module = step(module)
        if written and step is split_tasks:
            warn_of_shared_assignments(module)
        if observe is not None:
            observe(step.__name__, module)
    return module


def _lowering(module: Module, able: Abilities) -> Iterator[Step]:
    """The passes that bring IR to what a target can say."""
    if not able.recursion:
        yield _told(refuse_recursion, arch=able.arch)
    elif not able.device:  # whose drivers say so themselves
        yield watch_recursion
    if not able.idle_loops:
        yield idle_loops
    if not able.long_loops:
        yield watch_loops
    yield _told(lower_packed_places, device=able.device)
    if "f64" in able.lacks.types:
        yield failures_as_singles
    if able.lacks:
        yield _told(refuse_lacking, lacks=able.lacks)
    if able.word_sums is not None:
        yield _told(refuse_wide_words, able=able)
    if module.stacked:
        yield from _adstacks(able)
    yield lower_packed_sizes
    yield guard_empty
    yield find_containers
    yield loop_steps
    yield _told(lower_places, wide=able.wide_addresses, device=able.device)
    if not able.pointers:
        yield choices_by_branch
    if not able.references:
        yield references_by_copy
    if not able.thread_exit:
        yield _told(leave_by_return, returns=able.early_returns)
    if not able.goto:
        yield breaks_by_flag
    if not able.half_arithmetic:
        yield halves_as_singles
    if able.helped_negatives:
        yield _told(helped_negatives, types=able.helped_negatives)
    yield powers_of_two
    if not able.quotients:
        yield note_negatives
    if not able.known_bits:
        yield hidden_bits
    if not able.known_reals:
        yield hidden_reals
    yield distinct_names


def _adstacks(able: Abilities) -> Iterator[Step]:
    """Counting and maxima add up in i64, from many threads; both only save memory or time."""
    if not able.device:
        yield count_gates
        return
    if ("add", "i64") not in able.lacks.atomics:
        yield claim_gates
    yield _told(size_stacks, narrow=("max", "i64") in able.lacks.atomics)


def _told(step: Callable[..., Module], **told: Any) -> Step:
    return update_wrapper(partial(step, **told), step)
