"""Which engine carries the arrays of CUDA devices."""

from __future__ import annotations

from quadrants.distributed.engines import nccl
from quadrants.distributed.engines.interface import Engine


def on_device(control: Engine, ordinal: int | None, timeout: float) -> tuple[Engine, str]:
    """The engine for the CUDA device of this process, and "". Where any rank has no NCCL, `control` and the reason.

    All ranks call it. ordinal: None without a device of CUDA. timeout: seconds after which what devices wait for is
    given up.
    """
    found, why = nccl.join(control, ordinal, timeout)
    if not why or control.name != "torch":
        return found, why
    from quadrants.distributed.engines import torch_nccl

    found, whynot = torch_nccl.join(control, ordinal, timeout)
    return found, whynot and why
