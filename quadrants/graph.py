"""Structure of kernels with graph=True: `qd.graph.do_while`, `qd.graph.parallel_context`, `qd.graph.parallel`."""

from typing import TYPE_CHECKING

from quadrants import absent
from quadrants.lang.graphs import do_while, parallel, parallel_context

if not TYPE_CHECKING:  # else checkers would take any misspelt name
    __getattr__ = absent.names_of("graph", globals())

__all__ = ["do_while", "parallel", "parallel_context"]
