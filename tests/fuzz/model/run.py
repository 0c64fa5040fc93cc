"""Runs a program, and gives what its `main` returns and what it prints."""

from __future__ import annotations

import ast
import types

import numpy as np

from ..inputs import cells, put
from . import namespace, printing
from .errors import Undefined, Unmodelled
from .evaluate import Evaluator
from .functions import Program
from .loops import Order
from .memory import tracker
from .numbers import DTYPES, Defaults

RESULTS = (int, float, list, tuple, dict, np.ndarray)


def results(text: str, options: dict) -> dict:
    """{name: value} of `main()`, with what was printed as `stdout`. Raises Undefined or Unmodelled."""
    tracker.ordered = False
    forwards = _once(text, options, False)
    if tracker.ordered and not same(forwards, _once(text, options, True)):
        raise Undefined("a result that depends on the order of iterations")
    return forwards


def _once(text: str, options: dict, backwards: bool) -> dict:
    Order.backwards, Evaluator.steps, Evaluator.dry = backwards, 0, 0
    tracker.marks, tracker.iteration = None, 0
    Defaults.ip, Defaults.fp = (DTYPES[options.get(k, d)] for k, d in (("default_ip", "i32"), ("default_fp", "f32")))
    Defaults.debug = bool(options.get("debug"))
    Defaults.checked = Defaults.debug or bool(options.get("check_out_of_bound"))
    printing.written.clear()
    tree = ast.parse(text)
    Program.read(tree)
    tree.body = [s for s in tree.body if not isinstance(s, (ast.Import, ast.ImportFrom)) or _is_kept(s)]
    module = types.ModuleType("program")
    vars(module).update(qd=namespace.make(), np=np, cells=cells, put=put)
    try:
        with np.errstate(all="ignore"):
            exec(compile(tree, "<program>", "exec", dont_inherit=True), vars(module))
            out = module.main()
    except (Undefined, Unmodelled):
        raise
    except Exception as error:
        raise Unmodelled(f"{type(error).__name__}: {error}") from error
    if not isinstance(out, dict) or not all(isinstance(v, RESULTS) or _is_tensor(v) for v in out.values()):
        raise Unmodelled("results that are no numbers")
    in_parallel = any(parallel for parallel, _ in printing.written)
    printed = "".join(text for _, text in printing.written)
    return {**out, "stdout": sorted(printed.split("\n")) if in_parallel else printed}


def _is_kept(s) -> bool:
    names = [a.name for a in s.names] if isinstance(s, ast.Import) else [s.module]
    return "dataclasses" in names or "torch" in names


def _is_tensor(x) -> bool:
    return type(x).__module__ == "torch"


def same(a, b) -> bool:
    from ..compare import difference

    return difference(a, b) is None
