"""Programs around the examples of docstrings. The reference shows them, and tests run them.

An example is often a line or two of a kernel. `settings/NAME.py` is a program in which it takes the place of the line
EXAMPLE, and SETTINGS says which program it is for which names. The first row that fits counts.
"""

from __future__ import annotations

import textwrap
from fnmatch import fnmatchcase
from pathlib import Path

FOLDER = Path(__file__).parent / "settings"
PLACE = "EXAMPLE"

SETTINGS = [
    ("qd.simt.warp.Arch", "alone"),
    ("qd.algorithms.*_slots", "algorithms_host"),
    ("qd.algorithms.Prefix* qd.algorithms.parallel_sort", "algorithms_deprecated"),
    ("qd.algorithms.exclusive_scan_add", "algorithms_integers"),
    ("qd.algorithms.reduce_by_key_add", "algorithms_by_key"),
    ("qd.algorithms.sort", "algorithms_sort"),
    ("qd.algorithms.select", "algorithms_select"),
    ("qd.algorithms.*", "algorithms_reals"),
    ("qd.simt.*.*bitonic*", "sorted_lanes"),
    ("qd.simt.block.radix_rank_match_atomic_or", "ranks_in_blocks"),
    ("qd.simt.subgroup.*_and qd.simt.subgroup.*_or qd.simt.subgroup.*_xor", "blocks_of_integers"),
    ("qd.simt.subgroup.*_and_* qd.simt.subgroup.*_or_* qd.simt.subgroup.*_xor_*", "blocks_of_integers"),
    ("qd.simt.warp.*_f32", "blocks"),
    ("qd.simt.warp.*", "blocks_of_integers"),
    ("qd.simt.*", "blocks"),
    ("qd.math.clz qd.math.ffs qd.math.popcnt qd.math.fns", "integers"),
    ("qd.math.cross qd.math.di* qd.math.dot qd.math.length qd.math.n* qd.math.re* qd.math.rot_* ", "vectors"),
    ("qd.math.cconj qd.math.cdiv qd.math.cexp qd.math.cinv qd.math.clog qd.math.cmul qd.math.cpow", "complex_numbers"),
    ("qd.math.csqrt", "complex_numbers"),
    ("qd.math.determinant qd.math.inverse", "matrices"),
    ("qd.math.*vec* qd.math.mat*", "alone"),
    ("qd.math.*", "numbers"),
    ("qd.ad.grad_for", "own_gradient"),
    ("qd.ad.*", "derivatives"),
    ("qd.graph.* qd.graph_*", "graph"),
    ("qd.checkpoint", "checkpoints"),
    ("qd.GraphStatus", "graph_status"),
    ("qd.linalg.SparseSolver qd.linalg.SparseCG", "solvers"),
    ("qd.linalg.MatrixFree*", "solvers_without_matrix"),
    ("qd.linalg.*", "sparse_matrices"),
    ("qd.tools.*", "pictures"),
    ("qd.distributed.*", "ranks"),
    ("qd.profiler.*", "profiler"),
    ("qd.atomic_and qd.atomic_or qd.atomic_xor", "words"),
    ("qd.atomic_* qd.volatile_load qd.random* qd.randn qd.get_addr qd.clock_counter qd.global_thread_idx", "loop"),
    ("qd.assume_in_range qd.mesh_patch_idx", "loop"),
    ("qd.activate qd.append qd.deactivate qd.is_active qd.length qd.no_activate", "sparse_tree"),
    ("qd.eig qd.make_spd qd.polar_decompose qd.solve qd.svd qd.sym_eig", "matrices"),
    ("qd.bit_shr qd.raw_*", "integers"),
    ("qd.block_local qd.cache_read_only qd.mesh_local qd.stop_grad", "kernel_body"),
    ("qd.grouped qd.static* qd.loop_config", "kernel_body"),
    ("qd.rescale_index", "grids"),
    ("qd.ndrange", "kernel_body"),
    ("qd.clock_freq_hz", "launches_on_a_device"),
    ("qd.sync qd.create_* qd.Event qd.Stream", "launches"),
    ("qd.stream_parallel", "parts"),
    ("qd.outer", "tiles"),
    ("qd.StructField", "members"),
    ("qd.SNode qd.FieldsBuilder", "unplaced"),
    ("qd.wrap", "placed"),
    ("qd.abs qd.acos qd.asin qd.atan2 qd.cast qd.ceil qd.cos qd.exp qd.floor qd.frexp qd.log qd.max qd.min", "numbers"),
    ("qd.one qd.pow qd.round qd.rsqrt qd.select qd.sin qd.sqrt qd.tan qd.tanh qd.zero qd.bit_cast", "numbers"),
    ("*", "alone"),
]  # fmt: skip


def setting(path: str) -> str:
    """Name of the program around the example of a name."""
    return next(name for patterns, name in SETTINGS if any(fnmatchcase(path, p) for p in patterns.split()))


def text(name: str) -> str:
    return (FOLDER / f"{name}.py").read_text(encoding="utf-8")


def program(path: str, example: str) -> str:
    """The whole program that the example of a name stands for."""
    lines = []
    for line in text(setting(path)).splitlines():
        if line.strip() == PLACE:
            indent = line[: len(line) - len(line.lstrip())]
            lines += textwrap.indent(example, indent).splitlines()
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"
