"""The language as plain Python: what a program means, without a compiler.

`run.results(text)` runs a module of kernels. Whatever the language leaves open raises `Undefined`.
"""
