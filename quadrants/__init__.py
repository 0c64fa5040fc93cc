"""quadrants: kernels written in Python, compiled through readable C-family source for CPUs and GPUs.

    import quadrants as qd
    qd.init(arch=qd.cpu)

Public names only. Submodules that cost time to import are loaded when they are first used.
"""

from __future__ import annotations

import importlib as _importlib
import typing as _typing

from quadrants import _logging
from quadrants import warmup as _warmup
from quadrants._logging import (
    CRITICAL,
    DEBUG,
    ERROR,
    INFO,
    TRACE,
    WARN,
    is_logging_effective,
    set_logging_level,
)
from quadrants._version import __version__, __version_str__
from quadrants.arch import amdgpu, arm64, cpu, cuda, extension, gpu, metal, opencl, python, vulkan, x64, x86_64
from quadrants.errors import (
    QuadrantsAssertionError,
    QuadrantsCompilationError,
    QuadrantsNameError,
    QuadrantsRuntimeError,
    QuadrantsRuntimeTypeError,
    QuadrantsSyntaxError,
    QuadrantsTypeError,
)
from quadrants.lang import containers as _containers
from quadrants.lang.annotations import Template, ref, sparse_matrix_builder, template
from quadrants.lang.atomics import *  # noqa: F403
from quadrants.lang.casts import *  # noqa: F403
from quadrants.lang.control import (
    assume_in_range,
    block_local,
    cache_read_only,
    clock_counter,
    global_thread_idx,
    grouped,
    loop_config,
    mesh_local,
    mesh_patch_idx,
    no_activate,
    static,
    static_assert,
    static_print,
    stop_grad,
)
from quadrants.lang.data_oriented import data_oriented
from quadrants.lang.enums import Backend, Layout
from quadrants.lang.host_math import *  # noqa: F403
from quadrants.lang.matrix import Matrix, Vector
from quadrants.lang.ndrange import ndrange
from quadrants.lang.sparse_ops import *  # noqa: F403
from quadrants.lang.struct import Struct
from quadrants.session import dump_compile_config, init, is_extension_enabled, print_header, reset, sync

if _typing.TYPE_CHECKING:
    # What _LAZY below tells programs, for checkers and editors, which do not run them.
    from quadrants import (
        ad,
        algorithms,
        distributed,
        experimental,
        graph,
        interop,
        lang,
        linalg,
        math,
        profiler,
        sparse,
        tools,
        types,
    )
    from quadrants.config import CompileConfig
    from quadrants.data.axes import axes, i, ij, ijk, ijkl, ijl, ik, ikl, il, j, jk, jkl, jl, k, kl, l
    from quadrants.data.buffer_view import BufferView
    from quadrants.data.factories import field, ndarray
    from quadrants.data.field import Field, ScalarField
    from quadrants.data.matrix_field import MatrixField
    from quadrants.data.ndarray import MatrixNdarray, Ndarray, ScalarNdarray, VectorNdarray
    from quadrants.data.packing import BitpackedFields
    from quadrants.data.snode import FieldsBuilder, SNode, deactivate_all_snodes, root
    from quadrants.data.struct_field import StructField
    from quadrants.data.tensor import MatrixTensor, Tensor, VectorTensor, wrap
    from quadrants.data.tensor_factories import tensor
    from quadrants.kernel import pure
    from quadrants.lang import simt
    from quadrants.lang.device_enums import DeviceCapability, Format
    from quadrants.lang.graphs import (
        GraphStatus,
        checkpoint,
        graph_do_while,
        graph_parallel,
        graph_parallel_context,
        stream_parallel,
    )
    from quadrants.lang.impl import clock_freq_hz
    from quadrants.lang.random import randn
    from quadrants.lang.random_at import random_at
    from quadrants.lang.simt.tiles import outer
    from quadrants.linalg.small import eig, make_spd, polar_decompose, solve, svd, sym_eig
    from quadrants.runtime.streams import Event, Stream, create_event, create_stream
    from quadrants.tools.perf_dispatch import perf_dispatch
    from quadrants.typing_extensions import (
        dataclass,
        f16,
        f32,
        f64,
        float16,
        float32,
        float64,
        func,
        i8,
        i16,
        i32,
        i64,
        int8,
        int16,
        int32,
        int64,
        kernel,
        pyfunc,
        real_func,
        u1,
        u8,
        u16,
        u32,
        u64,
        uint1,
        uint8,
        uint16,
        uint32,
        uint64,
    )

    cfg: CompileConfig

    __all__ = [
        "__version__", "__version_str__", "Backend", "BitpackedFields", "BufferView", "CRITICAL", "DEBUG",
        "DeviceCapability", "ERROR", "Event", "Field", "FieldsBuilder", "Format", "GraphStatus", "INFO",
        "KERNEL_FUNCTIONS", "Layout", "Matrix", "MatrixField", "MatrixNdarray", "MatrixTensor", "Ndarray",
        "QuadrantsAssertionError", "QuadrantsCompilationError", "QuadrantsNameError", "QuadrantsRuntimeError",
        "QuadrantsRuntimeTypeError", "QuadrantsSyntaxError", "QuadrantsTypeError", "SNode", "ScalarField",
        "ScalarNdarray", "Stream", "Struct", "StructField", "TRACE", "Template", "Tensor", "Vector", "VectorNdarray",
        "VectorTensor", "WARN", "abs", "acos", "activate", "ad", "algorithms", "amdgpu", "append", "arm64", "asin",
        "assume_in_range", "atan2", "atomic_add", "atomic_and", "atomic_cas", "atomic_exchange", "atomic_max",
        "atomic_min", "atomic_mul", "atomic_or", "atomic_sub", "atomic_xor", "axes", "bit_cast", "bit_shr",
        "block_local", "cache_read_only", "cast", "ceil", "cfg", "checkpoint", "clock_counter", "clock_freq_hz", "cos",
        "cpu", "create_event", "create_stream", "cuda", "data_oriented", "dataclass", "deactivate",
        "deactivate_all_snodes", "distributed",
        "dump_compile_config", "eig", "exp", "experimental", "extension", "f16", "f32", "f64",
        "field", "float16", "float32", "float64", "floor", "frexp", "func", "get_addr", "global_thread_idx", "gpu",
        "graph", "graph_do_while", "graph_parallel", "graph_parallel_context", "grouped", "i", "i16", "i32", "i64",
        "i8", "ij", "ijk", "ijkl", "ijl", "ik", "ikl", "il", "init", "int16", "int32", "int64", "int8", "interop",
        "is_active", "is_extension_enabled", "is_logging_effective", "j", "jk", "jkl", "jl", "k", "kernel", "kl", "l",
        "lang", "length", "linalg", "log", "loop_config", "make_spd", "math", "max", "mesh_local", "mesh_patch_idx",
        "metal", "min", "ndarray", "ndrange", "no_activate", "one", "opencl", "outer", "perf_dispatch",
        "polar_decompose", "pow", "print_header", "profiler", "pure", "pyfunc", "python", "randn", "random",
        "random_at", "raw_div", "raw_mod", "real_func", "ref", "rescale_index", "reset", "root", "round", "rsqrt",
        "select", "set_logging_level", "simt", "sin", "solve", "sparse", "sparse_matrix_builder", "sqrt", "static",
        "static_assert", "static_print", "stop_grad", "stream_parallel", "svd", "sym_eig", "sync", "tan", "tanh",
        "template", "tensor", "tools", "types", "u1", "u16", "u32", "u64", "u8", "uint1", "uint16", "uint32", "uint64",
        "uint8", "volatile_load", "vulkan", "wrap", "x64", "x86_64", "zero",
    ]  # fmt: skip
else:
    from quadrants.lang.compound import dataclass
    from quadrants.lang.primitive_types import (
        f16,
        f32,
        f64,
        float16,
        float32,
        float64,
        i8,
        i16,
        i32,
        i64,
        int8,
        int16,
        int32,
        int64,
        u1,
        u8,
        u16,
        u32,
        u64,
        uint1,
        uint8,
        uint16,
        uint32,
        uint64,
    )

# name -> (module, attribute or None for the module itself)
_LAZY = {
    **{name: ("quadrants.data.factories", name) for name in ("field", "ndarray")},
    "BitpackedFields": ("quadrants.data.packing", "BitpackedFields"),
    **{name: ("quadrants.data.snode", name) for name in ("root", "FieldsBuilder", "SNode")},
    **{name: ("quadrants.data.field", name) for name in ("Field", "ScalarField")},
    **{name: ("quadrants.data.ndarray", name) for name in "Ndarray ScalarNdarray VectorNdarray MatrixNdarray".split()},
    **{name: ("quadrants.data.tensor", name) for name in "Tensor VectorTensor MatrixTensor wrap".split()},
    **{name: ("quadrants.data.axes", name) for name in (
        "axes i j k l ij ik il jk jl kl ijk ijl ikl jkl ijkl"
    ).split()},
    "MatrixField": ("quadrants.data.matrix_field", "MatrixField"),
    "StructField": ("quadrants.data.struct_field", "StructField"),
    "tensor": ("quadrants.data.tensor_factories", "tensor"),
    "BufferView": ("quadrants.data.buffer_view", "BufferView"),
    **{name: ("quadrants.kernel", name) for name in "kernel pure func pyfunc real_func".split()},
    **{name: ("quadrants.linalg.small", name) for name in (
        "svd polar_decompose sym_eig make_spd eig solve"
    ).split()},
    **{name: ("quadrants.runtime.streams", name) for name in "Stream Event create_stream create_event".split()},
    **{name: ("quadrants.lang.graphs", name) for name in (
        "GraphStatus checkpoint graph_do_while graph_parallel graph_parallel_context stream_parallel"
    ).split()},
    **{name: ("quadrants.lang.device_enums", name) for name in ("DeviceCapability", "Format")},
    "randn": ("quadrants.lang.random", "randn"),
    "random_at": ("quadrants.lang.random_at", "random_at"),
    "perf_dispatch": ("quadrants.tools.perf_dispatch", "perf_dispatch"),
    **{name: (f"quadrants.{name}", None) for name in (
        "math types lang profiler interop linalg algorithms tools ad graph experimental sparse distributed"
    ).split()},
    "deactivate_all_snodes": ("quadrants.data.snode", "deactivate_all_snodes"),
    "simt": ("quadrants.lang.simt", None),
    "outer": ("quadrants.lang.simt.tiles", "outer"),
    "clock_freq_hz": ("quadrants.lang.impl", "clock_freq_hz"),
}  # fmt: skip


def _load_containers(name: str):
    return _importlib.import_module(f"quadrants.data.{name}")


_containers.load = _load_containers


def _load(name: str):
    if name == "cfg":
        from quadrants.session import current_cfg

        return current_cfg()
    found = _LAZY.get(name)
    if found is None:
        raise _importlib.import_module("quadrants.absent").error("", name, __dir__)
    module = _importlib.import_module(found[0])
    value = module if found[1] is None else getattr(module, found[1])
    globals()[name] = value
    return value


if not _typing.TYPE_CHECKING:  # else checkers would take any misspelt name for one that is found when it is used
    __getattr__ = _load


def __dir__() -> list:
    return sorted({*globals(), *_LAZY, "cfg"})


print_header()
