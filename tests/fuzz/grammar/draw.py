"""Choices, names and switches of one program."""

from __future__ import annotations

import random

# Parts of the grammar that can be switched off, for instance while a defect that they show is known. Those of `KNOWN`,
# defects that wait for their cure, are off unless they are asked for.
FEATURES = {
    "blocked_index": "an index other than a name or call, on a field of several levels",
    "component_index": "a component index other than a name or call",
    "negated_comparison": "unary minus of a truth value",
    "there_and_back": "a real that becomes an integer and a real again",
    "wrapped_reals": "a real beyond the range of the integer that it becomes",
    "shifted_comparison": "a truth value shifted to the left",
    "extrema_of_tensors": "min and max of two tensors beside the methods .min() and .max()",
    "tricky_struct_names": "structs and members with names of C, CUDA or the emitted text",
    "swizzle_order": "a swizzle augmented by something that changes memory",
    "negative_constants": "constant expressions below zero as an index of a field with an offset",
    "half_select": "select and conditional expressions of f16 tensors",
    "tricky_names": "variables with such names",
    "tricky_func_names": "funcs and kernels with names of C, CUDA or the emitted text",
    "soa_floor": "whole vectors and matrices augmented by other than += and -=",
    "wide_indices": "struct-for over a field of several levels with default_ip=i64",
    "soa_names": "vector and matrix fields with layout=SOA",
    "swizzle_index": "an augmented swizzle of a cell whose index reads memory",
    "half": "f16",
    "double": "f64, which f32 takes the place of",
    "debug": "qd.init(debug=True)",
    "prints": "print",
    "real_funcs": "qd.real_func",
    "structs": "struct types and fields",
    "matrices": "vectors and matrices",
    "arguments": "ndarrays, views, NumPy arrays and tensors as arguments",
    "classes": "data_oriented classes and dataclasses",
    "puts": "cells that Python scope writes between the fill and the first launch",
    "atomics": "atomic operations with their old values",
    "graphs": "kernels with graph=True, loops around their tasks, and sections",
}
KNOWN: frozenset = frozenset()

VARIABLES = (
    "error", "frame", "lane", "half", "runtime", "rng", "expm1", "log1p", "double", "char", "register", "this", "new",
    "struct", "union", "signed", "NULL", "INFINITY", "stdin", "printf", "malloc", "threadIdx", "blockIdx", "asm",
    "inline", "restrict", "volatile", "uint", "size_t", "true", "I", "dim3", "warpSize", "float2", "j0", "y1", "index",
    "qd_int", "vec2_i32", "kernel_k", "args", "rt", "begin", "end", "worker", "task", "sin", "fma", "signbit", "near",
    "far", "unix", "linux", "errno", "environ", "i32", "u8", "f32", "result", "out", "self_", "const", "static", "auto",
    "default", "switch", "case", "goto", "typedef", "enum", "extern", "sizeof", "short", "long", "unsigned", "void",
    "template", "class_", "operator", "private", "public", "namespace", "using", "delete", "friend", "virtual", "bool_",
    "cl_khr_fp64", "CL_VERSION_1_2", "CLK_FILTER_LINEAR", "as_int", "convert_float", "filter", "level", "simd_lane",
    "t", "t_1", "v0_1", "x0_1", "x0_word", "i0_word", "i0_lane", "x0_value", "x0_shape0_1", "bound", "acc", "trips",
    "_1", "_2_", "__3", "_0x1",
)  # fmt: skip
FUNCS = (
    "expm1", "log1p", "asinh", "acosh", "atanh", "nearbyint", "exp10", "ilogb", "lround", "llrint", "clamp", "step",
    "mix", "frac", "lerp", "sincos", "rsqrtf", "fmaxf", "div", "rand", "exit", "signal", "time", "gamma", "yn", "ldexp",
    "swap", "abs_", "qd_max", "atomicAdd", "get", "set_", "index", "select_", "floor_", "wrap", "error", "frame",
    "as_int", "convert_float4", "cl_khr_fp64", "CL_VERSION_1_2", "atomic_inc", "filter", "level", "coord", "bit_cast",
    "half", "sample", "buffer", "texture2D", "smooth", "mat3", "inversesqrt", "device", "thread", "local", "global_",
    "_4", "_5_1",
)  # fmt: skip
STRUCTS = (
    "error", "frame", "runtime", "rng", "vec2_i32", "kernel_k", "lane", "half", "Particle", "State", "args", "task",
    "as_uint", "CL_VERSION_3_0", "access", "uint2", "dim3", "qd_frame", "qd_error", "float3", "char4", "time",
    "div_t", "struct_", "Body",
)  # fmt: skip
MEMBERS = (
    "x",
    "y",
    "w",
    "int",
    "qd_int",
    "long",
    "value",
    "data",
    "shape_",
    "type",
    "id",
    "float",
    "short",
    "this",
    "CL_VERSION_2_0",
    "v",
    "m",
)


class Draw:
    """Random choices of a seed, with the features that are on and the names that are taken."""

    def __init__(self, seed: int, off=KNOWN):
        self._random = random.Random(seed)
        self._off = frozenset(off)
        self.taken: set = {"qd", "np", "cells", "main", "torch", "dataclasses", "run"}

    def on(self, feature: str) -> bool:
        if feature not in FEATURES:
            raise KeyError(feature)
        return feature not in self._off

    def pick(self, choices):
        found = self._random.choice(list(choices))
        return "f32" if found == "f64" and not self.on("double") else found

    def sample(self, choices, count: int) -> list:
        choices = list(choices)
        return self._random.sample(choices, min(count, len(choices)))

    def weighted(self, table: dict):
        """A key of the table, as often as its value says."""
        return self._random.choices(list(table), list(table.values()))[0]

    def chance(self, part: float) -> bool:
        return self._random.random() < part

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def name(self, prefix: str, pool=(), feature: str = "tricky_names", part: float = 0.2) -> str:
        """A name that nothing visible has."""
        if pool and self.on(feature) and self.chance(part):
            free = [n for n in pool if n not in self.taken]
            if free:
                return self.take(self.pick(free))
        k = 0
        while f"{prefix}{k}" in self.taken:
            k += 1
        return self.take(f"{prefix}{k}")

    def take(self, name: str) -> str:
        self.taken.add(name)
        return name
