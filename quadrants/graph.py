"""Structure of kernels with graph=True: `qd.graph.do_while`, `qd.graph.parallel_context`, `qd.graph.parallel`."""

from quadrants.lang.graphs import do_while, parallel, parallel_context

__all__ = ["do_while", "parallel", "parallel_context"]
