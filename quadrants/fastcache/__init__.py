"""Kernels of earlier processes, found by their source instead of their trace.

key      options, compiler, templates, the place of the kernel, and what its arguments are    -> store.py, features.py
reads    per kernel: which members of its arguments were looked at, in each way it was traced -> store.py
entry    what the trace depended on, and all that a launch needs but the code                 -> entry.py, sources.py
"""
