"""A subject of the hunt: differentiable programs. Reverse mode against forward mode and central differences, in f64.

`python -m fuzz.hunt --subject derivatives -n 1000`. Checked are the kernel `program` by itself, and the launches in
`calls` under a tape; in debug mode the tape validates.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from .check import Outcome, refused
from .derivative_model import Disagreement, Model, Unclear
from .derivative_programs import Writer
from .execute import Arch, load, start

_OPTIONS: tuple = (
    {}, {}, {"debug": True}, {"debug": True}, {"cfg_optimization": False}, {"ad_stack_size": 16}, {"opt_level": 0},
    {"fast_math": False},
)  # fmt: skip
_ALWAYS = {"ad_stack_experimental_enabled": True, "default_fp": "f64"}
# Sequences in which no launch overwrites what an earlier one has read, and some in which one may.
_SAFE = ("p", "pp", "pa", "ppa", "paa", "ppaa")
_OTHERS = ("pap", "apa", "papa", "paap")
_NAMES = {"p": "program", "a": "after"}


@dataclass
class Program:
    text: str
    options: dict = field(default_factory=dict)


def program(seed: int, size: int | None = None, off=frozenset()) -> Program:
    """The program of a seed, of about `size` statements."""
    rng = random.Random(seed ^ 0x5EED)
    options = {**_ALWAYS, **rng.choice(_OPTIONS)}
    writer = Writer(seed, seed % 16 + 1 if size is None else size, off)
    text = writer.module()
    safe = "debug" not in options or rng.random() < 0.5
    letters = rng.choice([k for k in _SAFE if not (writer.reads_own and "pp" in k)] if safe else _OTHERS)
    calls = ", ".join(f"({_NAMES[k]}, {rng.randint(-10, 10) / 10})" for k in letters)
    end = f"calls = [{calls}, (total, 1.0)]\nsafe = {safe}\nseed = {seed % 1000}\n"
    return Program(text + end, options)


def check(text: str, options: dict, arch: Arch) -> Outcome:
    """What is wrong with a program: the modes or the differences disagree, or it is refused."""
    try:
        start(options, arch)
        Model(load(text)).check(validation="debug" in options or "debug" in arch.modes)
    except Disagreement as found:
        return Outcome("differs", found.sign, str(found))
    except Unclear as reason:
        return Outcome("open", str(reason))
    except Exception as error:
        return refused(error)
    return Outcome("ok")


def check_seed(seed: int, size: int | None, off, arch: Arch) -> Outcome:
    found = program(seed, size, off)
    return check(found.text, found.options, arch)
