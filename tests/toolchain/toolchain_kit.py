"""What several test files of the toolchain name."""

from __future__ import annotations

import ctypes
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = "int qd_answer(int x) { return 2 * x + 1; }\n"


def answer(library):
    """The function of SOURCE in a library that `load_c` made."""
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(library.address("qd_answer"))
