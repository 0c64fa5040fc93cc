"""quadrants: kernels written in Python, compiled through readable C-family source for CPUs and GPUs.

    import quadrants as qd
    qd.init(arch=qd.cpu)

Public names only. Submodules that cost time to import are loaded when they are first used.
"""

from __future__ import annotations

import importlib as _importlib

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
from quadrants.lang.annotations import Template, ref, template
from quadrants.lang.atomics import *  # noqa: F403
from quadrants.lang.casts import *  # noqa: F403
from quadrants.lang.compound import dataclass
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
from quadrants.lang.enums import Backend, DeviceCapability, Format, Layout
from quadrants.lang.graphs import (
    GraphStatus,
    checkpoint,
    graph_do_while,
    graph_parallel,
    graph_parallel_context,
    stream_parallel,
)
from quadrants.lang.host_math import *  # noqa: F403
from quadrants.lang.matrix import Matrix, Vector
from quadrants.lang.ndrange import ndrange
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
from quadrants.lang.sparse_ops import *  # noqa: F403
from quadrants.lang.struct import Struct
from quadrants.session import dump_compile_config, init, is_extension_enabled, print_header, reset, sync

# name -> (module, attribute or None for the module itself)
_LAZY = {
    **{name: ("quadrants.data.factories", name) for name in ("field", "ndarray")},
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
    "randn": ("quadrants.lang.random", "randn"),
    "perf_dispatch": ("quadrants.tools.perf_dispatch", "perf_dispatch"),
    **{name: (f"quadrants.{name}", None) for name in (
        "math types lang profiler interop linalg algorithms tools ad graph"
    ).split()},
    "simt": ("quadrants.lang.simt", None),
    "outer": ("quadrants.lang.simt.tiles", "outer"),
    "clock_freq_hz": ("quadrants.lang.impl", "clock_freq_hz"),
}  # fmt: skip


def _load_containers(name: str):
    return _importlib.import_module(f"quadrants.data.{name}")


_containers.load = _load_containers


def __getattr__(name: str):
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


def __dir__() -> list:
    return sorted({*globals(), *_LAZY, "cfg"})


print_header()
