"""Shares every text among three compilers, however short it is and however little that pays."""

from __future__ import annotations


def apply() -> None:
    from quadrants.emit import units
    from quadrants.toolchain import shares

    units.FAIR, units.SMALLEST, units._LOPSIDED = 50, 0, 1e9
    shares.hardware_threads = lambda: 3
