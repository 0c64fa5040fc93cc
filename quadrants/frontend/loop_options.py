"""The options of `qd.loop_config`, checked."""

from __future__ import annotations

import operator
import re
from dataclasses import replace
from typing import Any

from quadrants.errors import QuadrantsCompilationError, QuadrantsTypeError
from quadrants.frontend.simt import block_dim_of
from quadrants.ir.nodes import LoopConfig
from quadrants.lang.described import type_name

NAMES = ("block_dim", "serialize", "parallelize", "bit_vectorize", "name", "resident_blocks")
MAX_THREADS = 2**31 - 1
MAX_RESIDENT_BLOCKS = 32


def config_of(arch: str, options: dict[str, Any], before: LoopConfig | None = None) -> LoopConfig:
    """What these options ask for, and an earlier line of the same loop. `serialize` and `bit_vectorize` are truth
    values of any kind."""
    found = LoopConfig(
        block_dim_of(arch, options.get("block_dim")),
        bool(options.get("serialize", False)),
        _threads(options.get("parallelize")),
        _name(options.get("name")),
        bool(options.get("bit_vectorize", False)),
        _resident_blocks(options.get("resident_blocks", 0)),
    )
    return found if before is None else replace(before, **{name: getattr(found, name) for name in options})


def _resident_blocks(given: Any) -> int:
    instead = f"blocks: write 1 to {MAX_RESIDENT_BLOCKS}, or 0 to leave it to the compiler"
    return _number("resident_blocks", given, MAX_RESIDENT_BLOCKS, instead)


def _threads(given: Any) -> int | None:
    if given is None:
        return None
    return _number("parallelize", given, MAX_THREADS, "threads: write 1 or more, or 0 for all there are")


def _number(option: str, given: Any, most: int, instead: str) -> int:
    if not hasattr(given, "__index__"):
        raise QuadrantsTypeError(
            f"qd.loop_config({option}=...) must be an integer known at compile time, got {type_name(given)}"
        )
    number = operator.index(given)
    if not 0 <= number <= most:
        raise QuadrantsCompilationError(f"qd.loop_config({option}={number}) is no number of {instead}")
    return number


def _name(given: Any) -> str | None:
    if given is None:
        return None
    if not isinstance(given, str):
        raise QuadrantsTypeError(f"qd.loop_config(name=...) must be a string, got {type_name(given)}")
    return re.sub(r"\W", "_", given, flags=re.ASCII)  # it becomes a part of the name of a function
