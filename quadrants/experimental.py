"""Names that were experimental once: `qd.experimental.real_func` is `qd.real_func`."""

from quadrants.kernel import real_func

__all__ = ["real_func"]
