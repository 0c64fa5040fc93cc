"""Handles shared with other packages."""

from __future__ import annotations

import sys


def get_mps_command_queue() -> int:
    """Address of the MTLCommandQueue that PyTorch uses, starting MPS if needed; 0 where there is none. Never raises."""
    if sys.platform != "darwin":
        return 0
    from quadrants._mps import torch_command_queue

    return torch_command_queue()
