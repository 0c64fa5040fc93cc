"""From the IR of a kernel to the IR of its derivative.

`differentiate` takes the module as it was traced, with every func inlined and with the declarations of gradients or
duals attached to those of the arrays (`ArrayDecl.grad`, `ArrayDecl.dual`), and gives it the body of the derivative.
The passes and codegen that follow know nothing of derivatives, except that arrays of kind "stack" are memory of one
thread.

    structs     struct variables become variables of their members
    prepare     atomics on locals, lazy choices and the like, as plain statements
    dead_values    what is given to a variable and not read again is left out
    shared_loads   cells that are read several times are read once
    activity    which variables carry derivatives
    reverse     adjoint code by recomputation (its docstring has an example); `sweep` and `replay` are
                its parts
    forward     duals beside the primal
    rules, matrix_rules   one row for each operation, for both modes
    prune       what no effect depends on is left out; collect takes additions to gradients out of loops; tidy joins
                what can be said in one line
    adstack_saved, adstack_sizes, adstack_below_zero   what loops save, how deep that is, what loops that begin below
                zero add
    refusals, races       what is not differentiated, and why
    overwrites   warnings of what is overwritten too early
    validate    the checks of `Tape(validation=True)`
"""

from __future__ import annotations

from collections.abc import Iterator

from quadrants.ad import overwrites, races
from quadrants.ad.activity import Activity
from quadrants.ad.adstack_saved import Depths
from quadrants.ad.checks import check, learn_purity
from quadrants.ad.collect import collect
from quadrants.ad.dead_values import without_dead_values
from quadrants.ad.forward import Forward
from quadrants.ad.prepare import prepare
from quadrants.ad.prune import prune, reads
from quadrants.ad.refusals import Refusals
from quadrants.ad.replay import assigned
from quadrants.ad.reverse import Reverse
from quadrants.ad.shared_loads import share_loads
from quadrants.ad.structs import split_structs
from quadrants.ad.tidy import tidy
from quadrants.ad.validate import validate
from quadrants.ir import rename, walk
from quadrants.ir.companions import writes_companions
from quadrants.ir.nodes import Atomic, Call, Cell, Check, Declare, Extent, For, Module, Return, Var


def differentiate(module: Module, mode: str, options) -> Module:
    """Give `module` the body of its derivative in `mode`: "reverse" or "forward". "validate" and "observe" keep the
    primal and have it note what it reads; "validate" also checks what it writes.
    """
    if mode in ("validate", "observe"):
        validate(module, checks=mode == "validate")
        return module
    refusals = Refusals(module.name, mode)
    learn_purity(module.functions)
    body = prepare(split_structs(module.body))
    returned = [s for s in body if isinstance(s, Return)]
    body = [s for s in body if not isinstance(s, Return)]
    if not writes_companions(body, "dual" if mode == "forward" else "grad"):
        module.body = body + returned if mode == "forward" else prune(_declared(body) + returned)
        return module
    body = _into_loops(body, returned, refusals)
    if mode == "forward":
        module.body = _forward(body, refusals) + returned
    else:
        module.body = _reverse(module, body, returned, refusals, options)
        _keep_used(module)
    stacks = _names_of_stacks(module.body)
    module.stacked = bool(stacks)
    rename.unique_names(module.body, rename.names_of(module) | stacks)
    return module


def _declared(body: list) -> list:
    return [s for s in body if isinstance(s, Declare)]


def _names_of_stacks(body: list) -> set:
    return {cell.array.name for cell in walk.only(body, (Cell,)) if cell.array.kind == "stack"}


def _forward(body: list, refusals: Refusals) -> list:
    activity = Activity(body, lambda decl: decl.dual)
    if not activity.writes:
        return body
    check(body, activity, refusals, stacks=True)
    return Forward(activity, refusals).block(body)


def _reverse(module: Module, body: list, returned: list, refusals: Refusals, options) -> list:
    body = share_loads(without_dead_values(body, reads(returned)))
    activity = Activity(body, lambda decl: decl.grad)
    if not activity.writes:
        return prune(_declared(body) + returned)
    allowed = bool(options.get("ad_stack_experimental_enabled"))
    check(body, activity, refusals, stacks=allowed)
    races.check(body, activity, refusals)
    body = _without_asserts(body, module.sites)
    gradients = {a.grad.id for a in module.arrays if a.kind == "array" and a.grad is not None}
    module.beside = frozenset(_beside(module))
    overwrites.number(body)
    reverse = Reverse(activity, refusals, body)
    env = {v.id: v for v in module.params}
    made = prune(returned + reverse.block(body, env))
    _check_unknown(made, reverse.unknown, refusals)
    overwrites.tell(body, made)
    depths = Depths(module, refusals, allowed=allowed, forced=int(options.get("ad_stack_size") or 0))
    return tidy(collect(depths.settle(made), gradients), gradients)


def _beside(module: Module) -> Iterator[int]:
    for primal in module.arrays:
        if primal.grad is not None:
            for a, b in zip(primal.components or (primal,), primal.grad.components or (primal.grad,)):
                if a.within is not None and b.within is not None and a.within.node is b.within.node:
                    yield b.id


def _into_loops(body: list, returned: list, refusals: Refusals) -> list:
    """Declarations in front of the loops of the top level, such as arguments of funcs, at the start of the loops that
    use them: no value crosses from one loop to another.
    """
    loops = [s for s in body if isinstance(s, For)]
    declared = _declared(body)
    if not loops or not declared:
        return body
    outer = {s.var.id for s in declared}
    for loop in loops:
        if outer & {v.id for v in assigned(loop.body)}:
            refusals.mixed(loop.loc)
        needed = rename.uses(loop.body)
        copies: list = []
        for s in reversed(declared):
            if s.var.id in needed:
                copies.append(s)
                needed |= rename.uses([s.init])
        env: dict = {}
        front: list = []
        for s in reversed(copies):
            var = Var(s.var.name, s.var.type, s.var.mutable, level=1, temporary=s.var.temporary)
            front.append(Declare(var, rename.expression(s.init, env), s.loc))
            env[s.var.id] = var
        loop.body = front + rename.block(loop.body, env)
    outside = set().union(*(rename.uses([e for pair in loop.bounds for e in pair]) for loop in loops))
    outside |= rename.uses(returned)
    for s in reversed(declared):
        if isinstance(s.init, Atomic):
            refusals.mixed(s.loc)
        if s.var.id in outside:
            outside |= rename.uses([s.init])
    return [s for s in body if not isinstance(s, Declare) or s.var.id in outside]


def _without_asserts(body: list, sites: list) -> list:
    """Only the primal run tests the user's assertions: arrays have other values afterwards."""
    kept = []
    for s in body:
        walk.update_blocks(s, _without_asserts, sites)
        if not isinstance(s, Check) or sites[s.site][0][0] != "assert":
            kept.append(s)
    return kept


def _check_unknown(body: list, unknown: dict, refusals: Refusals) -> None:
    for s in walk.statements(body) if unknown else ():
        if isinstance(s, Declare) and s.var.id in unknown:
            loc, what = unknown[s.var.id]
            refusals.unknown(what, loc)


def _keep_used(module: Module) -> None:
    """Drop the arrays and functions that the derivative does not mention."""
    used, called = set(), set()
    bodies = [module.body]
    while bodies:
        for node in walk.only(bodies.pop(), (Cell, Extent, Call)):
            if not isinstance(node, Call):
                used.add(node.array.id)
                used.update(c.id for c in node.array.components or ())
            elif node.func.name not in called:
                called.add(node.func.name)
                bodies.append(node.func.body)
    module.functions = [f for f in module.functions if f.name in called]
    if not module.functions:
        module.arrays = [a for a in module.arrays if a.id in used]
