"""Kernels made from text, for tables of expressions: a kernel's source must be in a file."""

import importlib.util
import itertools

HEADER = """import math

import numpy as np

import quadrants as qd

vec2, vec3, vec4, ivec3, mat2 = qd.math.vec2, qd.math.vec3, qd.math.vec4, qd.math.ivec3, qd.math.mat2
ARRAY = np.array([1.0, 2.0])


"""
_serial = itertools.count()


def module_of(text: str, folder, **names):
    """The module whose source is HEADER and `text`, with `names` as further globals."""
    name = f"matrix_kernels_{next(_serial)}"
    path = folder / f"{name}.py"
    path.write_text(HEADER + text)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    vars(module).update(names)
    spec.loader.exec_module(module)
    return module
