"""What the language of a target can say. Passes rewrite what it cannot."""

from __future__ import annotations

from typing import NamedTuple

from quadrants.ir.lacks import Lacks


class Abilities(NamedTuple):
    """arch: how messages call it. device: kernels find out by themselves what depends on the device's memory.
    wide_addresses: numbers of 64 bits are as good for addresses as those of 32. goto: a jump leaves several loops
    at once. pointers: a place may be chosen by a condition. thread_exit: a thread can end inside of a function.
    early_returns: all threads of a block may return where barriers follow.
    recursion: a function may call itself. half_arithmetic: there are operations on f16; else it is a format of
    memory. references: an argument by reference may be in any memory. long_loops: a thread may do
    any number of rounds. word_sums: None where memory is read as any type; else shared arrays may have words (see
    `ir.words`), and this says whether the device adds to real numbers by itself. helped_negatives: names of integer
    types of which helpers compute negatives, as compilers lose some. quotients: compilers find no quotient of a
    negative from that of the number itself. known_bits: they find the right places in memory from masks. known_reals:
    they compute with known real numbers as devices do. idle_loops: they end where nests of loops do nothing. lacks:
    what the device has not of the rest.
    """

    arch: str = ""
    device: bool = False
    wide_addresses: bool = True
    goto: bool = True
    pointers: bool = True
    thread_exit: bool = True
    early_returns: bool = True
    recursion: bool = True
    half_arithmetic: bool = True
    references: bool = True
    long_loops: bool = True
    word_sums: bool | None = None
    helped_negatives: tuple[str, ...] = ()
    quotients: bool = True
    known_bits: bool = True
    known_reals: bool = True
    idle_loops: bool = True
    lacks: Lacks = Lacks()
