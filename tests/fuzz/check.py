"""One program: what the model says it gives, what it gives, and whether that is a finding."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

from . import execute
from .compare import difference
from .model.errors import Refused, Undefined, Unmodelled
from .model.run import results as modelled

# What the checks of debug mode say: of shifts, and of indices of fields, arrays, views, shared memory and matrices.
STOPPED = re.compile(
    r"^(Detected overflow for bit_shift_op$|\(kernel=\w+\) Accessing (field|a shared array) .*with indices|"
    r"\[kernel=\w+\] Out of bound access to ndarray at arg \d+ with indices|"
    r"Out of bound access to a \[[\d, ]+\] matrix with index|BufferView (construction |subview )?out of range)",
    re.MULTILINE | re.IGNORECASE,
)


LACKING = re.compile(r"arch \w+ has no (f64|atomic_\w+ on [iu]64)\b")


@dataclass
class Outcome:
    """kind: "ok", "stopped" (by a check, as modelled), "open" (the language leaves the result open), "unmodelled",
    "differs", "refused", "lacking" (for a type that the arch has not).

    `sign` tells findings apart: a smaller program is the same finding if it has the same sign.
    """

    kind: str
    sign: str = ""
    detail: str = ""

    @property
    def finding(self) -> bool:
        return self.kind in ("differs", "refused", "died", "hangs")

    def plain(self) -> dict:
        return asdict(self)


def check(text: str, options: dict, arch: execute.Arch) -> Outcome:
    try:
        want = modelled(text, {**options, **arch.options})
    except Refused as check:
        return stopped(text, options, arch, check)
    except Undefined as reason:
        return Outcome("open", str(reason))
    except Unmodelled as reason:
        return Outcome("unmodelled", str(reason))
    try:
        got = execute.results(text, options, arch)
    except Exception as error:
        return refused(error)
    if not arch.prints:
        want.pop("stdout")
    if isinstance(want.get("stdout"), list):
        got["stdout"] = sorted(got["stdout"].split("\n"))
    try:
        found = difference(got, want)
    except (TypeError, ValueError, AttributeError) as error:
        return Outcome("unmodelled", f"results that cannot be compared: {error}")
    return Outcome("ok") if found is None else Outcome("differs", "differs", found)


def stopped(text: str, options: dict, arch: execute.Arch, check: Refused) -> Outcome:
    """What becomes of a program that a check has to end. Where several have to, any of them may be the first."""
    try:
        got = execute.results(text, options, arch)
    except Exception as error:
        if type(error).__name__ == "QuadrantsAssertionError" and STOPPED.search(str(error)):
            return Outcome("stopped", str(check))
        return refused(error)
    return Outcome("differs", f"not refused: {check}", str(got))


def refused(error: BaseException) -> Outcome:
    told = str(error).strip()
    last = told.splitlines()[-1] if told else ""
    if type(error).__name__ == "QuadrantsTypeError" and LACKING.search(last):
        return Outcome("lacking", general(last))
    known = re.search(r"error: (.*)", told)
    return Outcome("refused", f"{type(error).__name__}: {general(known.group(1) if known else last)}", told[-3000:])


def general(message: str) -> str:
    """A message without what differs from program to program."""
    message = re.sub(r"['\"‘’`][^'\"‘’`]*['\"‘’`]", "'..'", message)
    return re.sub(r"\d+", "0", message)[:160]
