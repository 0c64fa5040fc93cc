"""Every option of `qd.init`, and the configuration object that holds their values.

One table, `OPTIONS`, says for each option its name, type, default, environment variable, whether it can change the
machine code (and so enters cache keys), and what it means. Everything else here works from that table.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from quadrants.ir.types import DType, f16, f32, f64, i32, i64, u32, u64

_MIB = 1 << 20
# Wide enough for byte sizes and for unsigned 64-bit handles alike.
_INT_MIN, _INT_MAX = -(1 << 63), (1 << 64) - 1
CLEANING_POLICIES = ("never", "version", "lru", "fifo")


class Option(NamedTuple):
    """One row of the table. `default` may be a callable, evaluated at every init."""

    name: str
    type: type
    default: Any
    doc: str
    enters_cache_key: bool = False
    on_cfg: bool = True
    env: str | None = ""  # "" stands for QD_<NAME>, None for no variable
    env_fallback: str | None = None  # a second variable, read when the first is unset
    check: Callable[[Any], str | None] | None = None  # returns what is wrong, or None
    settled: Callable[[Any], Any] | None = None  # what is stored of a value that is given
    instead: str = ""  # what to write where a value is of another type
    archs: tuple[str, ...] = ()  # those on which it has an effect, none for all

    @property
    def variable(self) -> str | None:
        return "QD_" + self.name.upper() if self.env == "" else self.env

    def initial(self) -> Any:
        return self.default() if self.type is not DType and callable(self.default) else self.default


def hardware_threads() -> int:
    """CPU threads this process may run on, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def absolute_folder(path: str) -> str:
    """The path from the root on, as the current folder has it now; "" where `~` stands for no home that is known."""
    if path.startswith("~"):
        path = os.path.expanduser(path)
        if not os.path.isabs(path) or os.environ.get("HOME") == "":
            return ""
    return os.path.abspath(path) if path else ""


def default_cache_path() -> str:
    """Folder of the disk cache when the option does not name one; "" where the user has no home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # its specification has others ignored
        return os.path.join(base, "quadrants", "qdcache")
    if sys.platform == "win32":
        return "C:/quadrants_cache/qdcache"
    home = absolute_folder("~")
    return os.path.join(home, ".cache", "quadrants", "qdcache") if home else ""


def _not_negative(value) -> str | None:
    return None if value >= 0 else "must not be negative"


def _device_number(value) -> str | None:
    return None if value >= -1 else "must be a number of a device, from 0, or -1 for the first"


def _positive(value) -> str | None:
    return None if value > 0 else "must be positive"


def _block_size(value) -> str | None:
    fits = 0 <= value <= 1024 and value & (value - 1) == 0
    return None if fits else "must be a power of two up to 1024, or 0 for the usual size"


def _fraction_or_off(value) -> str | None:
    return None if 0 <= value <= 1 else "must be 0 (off) or lie in (0, 1]"


def _home_is_known(value) -> str | None:
    return "names a home folder, and none is known" if value and not absolute_folder(value) else None


def _policy(value) -> str | None:
    return None if value in CLEANING_POLICIES else "must be one of " + ", ".join(CLEANING_POLICIES)


def _rows() -> Iterable[Option]:
    def key(name, kind, default, doc, **more):
        return Option(name, kind, default, doc, enters_cache_key=True, **more)

    def plain(name, kind, default, doc, **more):
        return Option(name, kind, default, doc, **more)

    def aside(name, kind, default, doc, **more):
        return Option(name, kind, default, doc, on_cfg=False, **more)

    def ignored(default, names):
        return [plain(name, bool, default, "Accepted for old scripts; has no effect.") for name in names.split()]

    yield from (
        # Numbers and code generation
        key("default_fp", DType, f32, "What `float` and real literals mean: f16, f32 or f64."),
        key("default_ip", DType, i32, "What `int` and integer literals mean: i32 or i64."),
        key("fast_math", bool, True, "Allow contraction, reassociation; NaN and infinity stay unless they cancel."),
        key("cfg_optimization", bool, True, "Compile effort; results do not depend on it."),
        key("advanced_optimization", bool, True, "Compile effort; results do not depend on it."),
        key("opt_level", int, 1, "Optimisation level handed to the compiler.", check=_not_negative),
        key("force_scalarize_matrix", bool, False, "Compile effort; results do not depend on it."),
        key("real_matrix_scalarize", bool, True, "Compile effort; results do not depend on it."),
        key("raise_on_templated_floats", bool, False, "Refuse Python floats as template values and globals."),
        aside(
            "short_circuit_operators",
            bool,
            True,
            "False: `and` and `or` in kernels evaluate both operands.",
            enters_cache_key=True,
        ),
        aside("unrolling_limit", int, 32, "Longer static loops warn; 0 turns the warning off.", check=_not_negative),
        # Parallelism
        plain("num_compile_threads", int, 4, "Host threads that compile the tasks of a kernel.", check=_not_negative),
        plain(
            "cpu_max_num_threads",
            int,
            hardware_threads,
            "Size of the CPU worker pool; 0 behaves as 1.",
            env_fallback="QD_NUM_THREADS",
            check=_not_negative,
        ),
        key("make_cpu_multithreading_loop", bool, True, "False: every CPU loop is serial."),
        key("default_cpu_block_dim", int, 32, "Least iterations of a CPU work item.", check=_not_negative),
        key("default_gpu_block_dim", int, 128, "GPU block size of loops that set none.", check=_block_size),
        key("saturating_grid_dim", int, 0, "Most GPU blocks of a launch; 0 chooses by occupancy.", check=_not_negative),
        key("max_block_dim", int, 0, "Largest GPU block size; 0 takes the device's limit.", check=_not_negative),
        key("emulate", bool, False, "Run the code of a GPU on the CPU, thread by thread; for tests and for debugging."),
        # Memory
        plain("device_memory_GB", float, 1.0, "Arena of sparse trees, in GB.", check=_positive),
        plain(
            "device_memory_fraction",
            float,
            0.0,
            "Arena of sparse trees as a part of all device memory; wins over device_memory_GB when not 0.",
            check=_fraction_or_off,
        ),
        plain("cuda_stack_limit", int, 0, "Stack bytes of a CUDA thread; 0 keeps the driver's.", check=_not_negative),
        # Random numbers and devices
        plain("random_seed", int, 0, "Seed of `qd.random`; every init restarts the sequence."),
        plain(
            "device",
            int,
            -1,
            "Number of the GPU among those that the process can see, with OpenCL of the device among those of all "
            "platforms; -1 takes the first.",
            check=_device_number,
            archs=("cuda", "amdgpu", "metal", "vulkan", "opencl"),
        ),
        plain("vk_api_version", str, "", "Vulkan version to ask for, as 1.3.0; empty chooses."),
        plain("external_metal_command_queue", int, 0, "Address of a foreign MTLCommandQueue.", check=_not_negative),
        plain(
            "external_opencl_command_queue",
            int,
            0,
            "Address of a foreign cl_command_queue, with whose context and device kernels then run.",
            check=_not_negative,
            instead="queue.int_ptr",
            archs=("opencl",),
        ),
        plain("external_metal_command_queue_is_torch_queue", bool, False, "That queue is the one of PyTorch."),
        # Automatic differentiation
        key("ad_stack_experimental_enabled", bool, False, "Allow loops that need a stack of saved values."),
        key("ad_stack_size", int, 0, "Entries of each such stack; 0 sizes it per launch.", check=_not_negative),
        key(
            "ad_stack_sparse_threshold_bytes",
            int,
            100 * _MIB,
            "Stacks above this many bytes are stored sparsely.",
        ),
        # Checks
        key("debug", bool, False, "All checks; implies check_out_of_bound."),
        key("check_out_of_bound", bool, False, "Check every index of fields, arrays, vectors and matrices."),
        # Caches and templates
        plain("offline_cache", bool, True, "Keep compiled kernels on disk."),
        plain(
            "offline_cache_file_path",
            str,
            default_cache_path,
            "Folder of the disk cache; a relative path is from the current folder of that moment.",
            settled=absolute_folder,
        ),
        plain("offline_cache_cleaning_policy", str, "lru", "never, version, lru or fifo.", check=_policy),
        plain(
            "offline_cache_max_size_of_files",
            int,
            100 * _MIB,
            "Bytes the disk cache may hold; 0 keeps nothing after this process.",
            check=_not_negative,
        ),
        plain(
            "offline_cache_cleaning_factor",
            float,
            0.25,
            "Part of the entries dropped by one cleaning.",
            check=_fraction_or_off,
        ),
        aside("src_ll_cache", bool, True, "Let fastcache kernels skip tracing in later processes.", env=None),
        key("template_path", list, list, "Folders searched for kernel templates before the built-in ones."),
        # Diagnostics
        aside("log_level", str, "info", "trace, debug, info, warn, error, critical or off."),
        aside("gdb_trigger", bool, False, "Accepted for old scripts; has no effect."),
        aside("print_full_traceback", bool, False, "Raise compile errors with every internal frame."),
        aside("print_non_pure", bool, False, "Name each kernel that is not pure when it is compiled.", env=None),
        key("kernel_profiler", bool, False, "Time every task."),
        plain("timeline", bool, False, "Record a timeline of the host phases."),
        plain(
            "debug_dump_path",
            str,
            "/tmp/ir/",
            "Folder of dumped files.",
            check=_home_is_known,
            settled=lambda path: path if os.path.isabs(path) else absolute_folder(path),
        ),
        plain("print_ir", bool, False, "Log the IR of every stage."),
        plain("print_preprocessed_ir", bool, False, "Log the IR as first built."),
        plain("print_ir_dbg_info", bool, False, "Add source locations to printed IR."),
        plain("print_accessor_ir", bool, False, "Print the kernels that access fields for Python."),
        plain("print_kernel_llvm_ir", bool, False, "Write the generated source of every kernel to a file."),
        plain("print_kernel_llvm_ir_optimized", bool, False, "Write the generated source of every kernel to a file."),
        plain("print_kernel_asm", bool, False, "Write the disassembly of every kernel to a file."),
        plain("print_kernel_amdgcn", bool, False, "Write the AMD disassembly of every kernel to a file."),
        plain("print_struct_llvm_ir", bool, False, "Write the generated data layout to a file."),
        plain("auto_mesh_local_default_occupacy", int, 4, "Accepted for old scripts; has no effect."),
    )
    yield from ignored(
        True,
        "cache_loop_invariant_global_vars demote_dense_struct_fors demote_no_access_mesh_fors detect_read_only "
        "make_block_local make_mesh_block_local make_thread_local mesh_localize_to_end_mapping "
        "optimize_mesh_reordered_mapping quant_opt_atomic_demotion quant_opt_store_fusion",
    )
    yield from ignored(
        False,
        "experimental_auto_mesh_local flatten_if half2_vectorization mesh_localize_all_attr_mappings "
        "mesh_localize_from_end_mapping move_loop_invariant_outside_if",
    )


OPTIONS: dict[str, Option] = {row.name: row for row in _rows()}
_CHOICES = {"default_fp": (f16, f32, f64), "default_ip": (i32, i64)}


def convert(row: Option, value: Any) -> Any:
    """`value` as the option stores it. Raises TypeError, ValueError, or AssertionError for default_fp/default_ip."""
    if row.type is DType:
        choices = _CHOICES[row.name]
        if not any(value is c for c in choices):
            raise AssertionError(f"{row.name} must be one of {choices}, not {value!r}")
        return value
    if row.type is list:
        return _path_list(row, value)
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a number of NumPy or torch
        value = value.item()
    accepted: Any = {bool: (bool,), int: (int,), float: (int, float), str: (str,)}[row.type]
    if not isinstance(value, accepted):
        instead = f": write {row.name}={row.instead}" if row.instead else ""
        raise TypeError(f"{row.name} must be {row.type.__name__}, not {type(value).__name__} ({value!r}){instead}")
    value = float(value) if row.type is float else int(value) if row.type is int else value
    if row.type is int and not _INT_MIN <= value <= _INT_MAX:
        raise ValueError(f"{row.name}={value} does not fit in 64 bits")
    wrong = row.check(value) if row.check else None
    if wrong:
        raise ValueError(f"{row.name} {wrong}, not {value!r}")
    return row.settled(value) if row.settled else value


def paths(name: str, value: Any) -> list:
    """The paths that a value is, or is a list of. TypeError naming the option for anything else."""
    found = [value] if isinstance(value, (str, os.PathLike)) else value
    if not isinstance(found, (list, tuple)) or not all(isinstance(p, (str, os.PathLike)) for p in found):
        raise TypeError(f"{name} must be a path or a list of paths, not {value!r}")
    return [os.fspath(p) for p in found]


def _path_list(row: Option, value: Any) -> list:
    found = paths(row.name, value)
    for folder in found:
        if folder and not os.path.isdir(folder):
            raise FileNotFoundError(f"{row.name}: there is no folder {folder!r} in {os.getcwd()!r}")
    return found


def parse(row: Option, text: str, variable: str) -> Any:
    """The value that the text of an environment variable stands for. Raises ValueError naming the variable."""
    if row.type is DType:
        name = ("f" if row.name == "default_fp" else "i") + text
        found = [c for c in _CHOICES[row.name] if c.name == name and c.bits >= 32]
        if not found:
            raise ValueError(f"Invalid {variable}={text}, should be 32 or 64")
        return found[0]
    if row.type is list:
        return [p for p in text.split(os.pathsep) if p]
    try:
        value = bool(int(text)) if row.type is bool else row.type(text)
    except ValueError as error:
        wanted = "0 or 1" if row.type is bool else f"of type {row.type.__name__}"
        raise ValueError(f"Invalid {variable}={text}, should be {wanted} ({error})") from None
    return convert(row, value)


def environment(row: Option, env=None) -> tuple:
    """(variable, text) that sets the option, or (None, None). Empty text counts as unset."""
    env = os.environ if env is None else env
    for variable in (row.variable, row.env_fallback):
        if variable and env.get(variable):
            return variable, env[variable]
    return None, None


class _Options:
    """Values of some rows of the table, as checked attributes. An unknown name is an AttributeError."""

    _rows: dict = {}

    def __init__(self, **values: Any):
        self.__dict__.update((name, row.initial()) for name, row in self._rows.items())
        for name, value in values.items():
            setattr(self, name, value)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __setattr__(self, name: str, value: Any) -> None:
        row = self._rows.get(name)
        if row is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__[name] = convert(row, value)

    def items(self) -> list:
        """(name, value) of every attribute, sorted by name."""
        return sorted(self.__dict__.items())

    def cache_key(self) -> tuple:
        """Hashable and picklable: every value here that can change the code of a kernel."""
        return tuple(_hashable(self.__dict__[name]) for name, row in self._rows.items() if row.enters_cache_key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(" + ", ".join(f"{k}={v!r}" for k, v in self.items()) + ")"


class CompileConfig(_Options):
    """The options in force, `qd.cfg`. Attributes are readable and writable; a write affects kernels compiled later.

    Values are checked as in `qd.init`. `arch` is the chosen `Arch`; `default_up` is the unsigned type as wide as
    `default_ip` and follows it.
    """

    _rows = {row.name: row for row in OPTIONS.values() if row.on_cfg}

    def __init__(self, **values: Any):
        self.__dict__["arch"] = None
        super().__init__(**values)

    @property
    def default_up(self) -> DType:
        return u64 if self.default_ip is i64 else u32

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "arch":
            self.__dict__[name] = value
        elif name == "default_up":
            raise AttributeError("default_up follows default_ip; set default_ip instead")
        else:
            super().__setattr__(name, value)

    def items(self) -> list:
        return sorted([*self.__dict__.items(), ("default_up", self.default_up)])

    def cache_key(self) -> tuple:
        return (getattr(self.arch, "name", None), *super().cache_key())


class SideOptions(_Options):
    """Options of `qd.init` that are no attributes of `qd.cfg`."""

    _rows = {row.name: row for row in OPTIONS.values() if not row.on_cfg}


def _hashable(value: Any) -> Any:
    if isinstance(value, DType):
        return value.name
    return tuple(value) if isinstance(value, list) else value
