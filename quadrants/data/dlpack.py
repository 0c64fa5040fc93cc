"""DLPack capsules of the memory of containers.

The capsule of host memory is NumPy's: it holds the array, the array holds the `Buffer`, so the allocation lives as long
as its last consumer, and no cycle with the container arises. Its byte offset is folded into the data pointer.
"""

from __future__ import annotations

import numpy as np

from quadrants.data import memory
from quadrants.errors import QuadrantsRuntimeError


def capsule(array, versioned: bool):
    """Capsule of a live array: `dltensor` (version 0) or `dltensor_versioned` (version 1, no flags).

    `RuntimeError` where none can be made.
    """
    if not isinstance(array, np.ndarray):
        from quadrants.data import dlpack_device

        home = memory.dlpack_device()
        if home is None:
            raise QuadrantsRuntimeError(
                "the memory of this arch has no DLPack form; take to_numpy() or to_torch(copy=True)"
            )
        return dlpack_device.capsule(array, home, versioned)
    try:
        return array.__dlpack__(max_version=(1, 0)) if versioned else array.__dlpack__()
    except TypeError as error:
        if not versioned:
            raise
        raise QuadrantsRuntimeError(
            "versioned DLPack capsules need NumPy 2.1 or newer; pass versioned=False"
        ) from error
    except BufferError as error:
        raise QuadrantsRuntimeError(f"no DLPack capsule of this container: {error}") from error
