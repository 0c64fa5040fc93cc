"""Which cases of bench/cases are measured for regressions, how many units a round has, and what is compared in a run.

The number of units is fixed: a saved run can only be compared with one that did the same.
"""

from __future__ import annotations

# Case of the CPU -> units a round. On a GPU the case of the name with "gpu_" in front is taken, where there is one.
STEADY = {
    "launch_none": 2000,
    "launch_4_scalars": 2000,
    "launch_4_ndarrays": 2000,
    "launch_16_ndarrays": 1000,
    "launch_64_members": 500,
    "launch_method": 2000,
    "saxpy": 5,
    "reduce_sum": 5,
    "stencil_3d": 2,
    "stencil_2d_field": 5,
    "nbody_4096": 1,
    "mpm_8k": 2,
    "ad_recurrence": 1,
    "ad_recurrence_grad": 1,
    "ad_launch": 200,
    "ad_mpm": 2,
    "ad_mpm_grad": 1,
}
# Compiled in a new process, with an empty cache folder and then with a filled one.
COMPILED = ("cold_first", "cold_30", "cold_mpm88")

# What CI measures, in well under a minute.
QUICK = {"launch_none", "launch_16_ndarrays", "saxpy", "reduce_sum", "ad_recurrence", "ad_recurrence_grad", "cold_30"}

# (one measurement, another, how many times as long the first may take at most). Both are of one run on one machine, and
# the limits are two to three times what a machine without other work gives, so noise does not fail them.
RATIOS = (
    ("launch_none", "python_call", 4.0),
    ("launch_16_ndarrays", "launch_none", 12.0),
    ("saxpy", "numpy_saxpy", 2.0),
    ("reduce_sum", "numpy_sum", 1.5),
    ("ad_recurrence_grad", "ad_recurrence", 5.0),
    ("cold_30 warm", "cold_30 cold", 0.6),
)
