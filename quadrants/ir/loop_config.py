"""How a loop is to be run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False, repr=False)
class LoopConfig:
    """What the user asked for in `qd.loop_config`."""

    block_dim: int | None = None
    serialize: bool = False
    parallelize: int | None = None
    name: str | None = None
    bit_vectorize: bool = False
    resident_blocks: int = 0

    @property
    def in_order(self) -> bool:
        """One thread does the whole loop."""
        return self.serialize or self.parallelize == 1
