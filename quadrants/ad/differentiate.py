"""From the IR of a kernel to the IR of its derivative.

`differentiate` takes the module as it was traced, with every func inlined and with the declarations of gradients or duals
attached to those of the arrays (`ArrayDecl.grad`, `ArrayDecl.dual`), and gives it the body of the derivative. The passes and
codegen that follow know nothing of derivatives, except that arrays of kind "stack" are memory of one thread.

    prepare     atomics on locals, lazy choices and the like, as plain statements
    activity    which variables carry derivatives
    reverse     adjoint code by recomputation (its docstring has an example); `sweep`, `replay`, `stacks` are its parts
    forward     duals beside the primal
    rules, matrix_rules   one row for each operation, for both modes
    prune       what no effect depends on is left out
    sizes       how deep stacks must be
    refusals, races       what is not differentiated, and why
"""

from __future__ import annotations

from quadrants.ad import rename
from quadrants.ad.activity import Activity
from quadrants.ad.prepare import prepare
from quadrants.ad.prune import prune, tidy
from quadrants.ad.refusals import Refusals
from quadrants.ad.reverse import Reverse
from quadrants.ad.stacks import Stacks
from quadrants.ir import walk
from quadrants.ir.nodes import Call, Cell, Declare, Extent, Load, Module, Return, VarPlace

NAMES = {"reverse": "reverse_grad", "forward": "forward_grad", "validate": "validate_grad"}


def differentiate(module: Module, mode: str, options) -> Module:
    """Give `module` the body of its derivative in `mode`: "reverse"."""
    refusals = Refusals(module.name, mode)
    body = prepare(module.body)
    returned = [s for s in body if isinstance(s, Return)]
    body = [s for s in body if not isinstance(s, Return)]
    activity = Activity(body, lambda decl: decl.grad)
    if activity.is_trivial:
        module.body = prune([s for s in body if isinstance(s, Declare)] + returned)
    else:
        stacks = Stacks(None, module.sites)
        reverse = Reverse(activity, stacks, refusals)
        env = {v.id: v for v in module.params}
        module.body = tidy(prune(returned + reverse.block(body, env)))
        _check_unknown(module.body, reverse.unknown, refusals)
    _keep_used(module)
    rename.unique_names(module.body, rename.names_of(module))
    return module


def _check_unknown(body: list, unknown: dict, refusals: Refusals) -> None:
    for node in walk.walk(body):
        if isinstance(node, Declare) and node.var.id in unknown:
            loc, what = unknown[node.var.id]
            refusals.unknown(what, loc)


def _keep_used(module: Module) -> None:
    """Drop the arrays and functions that the derivative does not mention."""
    used, called = set(), {}
    for node in walk.walk(module.body):
        if isinstance(node, (Cell, Extent)):
            used.add(node.array.id)
            used.update(c.id for c in node.array.components or ())
        elif isinstance(node, Call):
            called[node.func.name] = node.func
    module.functions = [f for f in module.functions if f.name in called]
    if not module.functions:
        module.arrays = [a for a in module.arrays if a.id in used]


__all__ = ["NAMES", "differentiate", "Load", "VarPlace"]
