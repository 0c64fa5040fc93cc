"""Names of the hardware counters of NVIDIA devices, and how to print their values."""

from __future__ import annotations

from quadrants import _logging


class CuptiMetric:
    """A hardware counter: its name, column header, format of a value, and factor applied before printing.

    dram = qd.profiler.CuptiMetric("dram__bytes.sum")
    """

    def __init__(
        self,
        name: str = "",
        header: str = "unnamed_header",
        val_format: str = "     {:8.0f} ",
        scale: float = 1.0,
    ):
        self.name = name
        self.header = header
        self.val_format = val_format
        self.scale = scale

    def __repr__(self) -> str:
        return f"CuptiMetric({self.name!r})"


_MB, _GB = 1 / 1024**2, 1 / 1024**3


def _bytes(counter: str, header: str, width: int = 8) -> CuptiMetric:
    return CuptiMetric(f"dram__{counter}.sum", header, f"{{:{width}.3f}} MB ", _MB)


def _rate(counter: str, header: str) -> CuptiMetric:
    return CuptiMetric(f"dram__{counter}.sum.per_second", header, "{:8.3f} GB/s ", _GB)


def _percent(counter: str, header: str, indent: int = 1) -> CuptiMetric:
    return CuptiMetric(counter, header, " " * indent + "{:6.2f} % ")


def _number(counter: str, header: str, indent: int, width: int) -> CuptiMetric:
    return CuptiMetric(counter, header, " " * indent + f"{{:{width}.0f}} ")


_L1_PIPE = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
_L1_BANK = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op"
_L1_SET = "l1tex__t_set_accesses_pipe_lsu_mem_global_op"

dram_utilization = _percent("dram__throughput.avg.pct_of_peak_sustained_elapsed", " global.uti ", 3)
dram_bytes_sum = _bytes("bytes", "  global.R&W ", 9)
dram_bytes_throughput = _rate("bytes", " global.R&W/s ")
dram_bytes_read = _bytes("bytes_read", "   global.R ")
dram_read_throughput = _rate("bytes_read", "   global.R/s ")
dram_bytes_write = _bytes("bytes_write", "   global.W ")
dram_write_throughput = _rate("bytes_write", "   global.W/s ")
dram_throughput = _percent("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "  mem.uti ")

shared_utilization = _percent(_L1_PIPE + ".avg.pct_of_peak_sustained_elapsed", " shared.uti ", 3)
shared_transactions_load = _number(_L1_PIPE + "_op_ld.sum", " shared.trans.R ", 5, 10)
shared_transactions_store = _number(_L1_PIPE + "_op_st.sum", " shared.trans.W ", 5, 10)
shared_bank_conflicts_load = _number(_L1_BANK + "_ld.sum", " bank.conflict.R ", 6, 10)
shared_bank_conflicts_store = _number(_L1_BANK + "_st.sum", " bank.conflict.W ", 6, 10)

global_op_atom = _number(_L1_SET + "_atom.sum", " global.atom ", 4, 8)
global_op_reduction = _number(_L1_SET + "_red.sum", " global.red ", 3, 8)

sm_throughput = _percent("smsp__cycles_active.avg.pct_of_peak_sustained_elapsed", " core.uti ")
l1tex_throughput = _percent("l1tex__throughput.avg.pct_of_peak_sustained_elapsed", "   L1.uti ")
l2_throughput = _percent("lts__throughput.avg.pct_of_peak_sustained_elapsed", "   L2.uti ")
l1_hit_rate = _percent("l1tex__t_sector_hit_rate.pct", "   L1.hit ")
l2_hit_rate = _percent("lts__t_sector_hit_rate.pct", "   L2.hit ")
achieved_occupancy = _number("sm__warps_active.avg.pct_of_peak_sustained_active", " occupancy", 3, 6)

global_access = [
    dram_bytes_sum,
    dram_bytes_throughput,
    dram_bytes_read,
    dram_read_throughput,
    dram_bytes_write,
    dram_write_throughput,
]
shared_access = [
    shared_transactions_load,
    shared_transactions_store,
    shared_bank_conflicts_store,
    shared_bank_conflicts_load,
]
atomic_access = [global_op_atom, global_op_reduction]
cache_hit_rate = [l1_hit_rate, l2_hit_rate]
device_utilization = [sm_throughput, dram_throughput, shared_utilization, l1tex_throughput, l2_throughput]
default_cupti_metrics = [dram_bytes_sum]

predefined_cupti_metrics = {
    "global_access": global_access,
    "shared_access": shared_access,
    "atomic_access": atomic_access,
    "cache_hit_rate": cache_hit_rate,
    "device_utilization": device_utilization,
}


def get_predefined_cupti_metrics(name: str = "") -> list | None:
    """The list of that name; None, with the valid names in the log, for an unknown one.

    qd.profiler.get_predefined_cupti_metrics("shared_access")
    """
    if name not in predefined_cupti_metrics:
        _logging.warn("Valid Quadrants predefined metrics list (str):")
        for known in predefined_cupti_metrics:
            _logging.warn(f"    '{known}'")
        return None
    return predefined_cupti_metrics[name]
