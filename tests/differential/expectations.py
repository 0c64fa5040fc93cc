"""What each program must give: the reference's recorded results, with the corrections that the specification asks for.

A program may define

    CORRECTED = {key: (value, "section: why")}   the reference's value of this key is wrong; this one is right
    ANY_OF = {key: ([values], "section: why")}   several values are allowed, the reference's among them
    BEYOND = {key: (value, "section: why")}      what `beyond(qd)`, which the reference cannot run, must give
    RTOL, ATOL                                   tolerance of floats (default 2e-6, 1e-7; f64 arrays: a millionth)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from harness import HERE, load, run_program
from kit import difference, encode

EXPECTED = HERE / "expected"


def expectation(name: str) -> Path:
    """The file of the recorded results of a program."""
    return EXPECTED / f"{name}.json"


def module_tolerance(name: str) -> tuple[float, float]:
    """(rtol, atol) of a program."""
    program = load(name)
    return getattr(program, "RTOL", 2e-6), getattr(program, "ATOL", 1e-7)


def corrected(name: str, reference: dict) -> dict:
    """The record to keep: the reference's results after the corrections of the program, and what was corrected."""
    program = load(name)
    record = {"reference_version": reference["version"], "results": dict(reference["results"]), "corrected": {}}
    for key, (value, note) in getattr(program, "CORRECTED", {}).items():
        if key not in record["results"]:
            raise RuntimeError(f"{name}: CORRECTED names {key!r}, which the program does not give")
        record["corrected"][key] = {"note": note, "reference_gives": record["results"][key]}
        record["results"][key] = encode(value)
    record["any_of"] = {key: encode(list(values)) for key, (values, _) in getattr(program, "ANY_OF", {}).items()}
    record["beyond"] = {key: encode(value) for key, (value, _) in getattr(program, "BEYOND", {}).items()}
    return record


def compare(ours: dict, wanted: dict, tolerance: tuple[float, float]) -> list[str]:
    """Everything in which our results differ from the record."""
    problems = []
    for kind in ("results", "beyond"):
        for key in sorted(set(ours[kind]) ^ set(wanted[kind])):
            problems.append(f"{kind} {key!r}: given by one side only")
        for key in sorted(set(ours[kind]) & set(wanted[kind])):
            got = ours[kind][key]
            choices = [wanted[kind][key], *(wanted["any_of"].get(key, []) if kind == "results" else [])]
            found = [difference(got, want, *tolerance, key) for want in choices]
            if all(found):
                problems.append(str(found[0]))
    return problems + [f"message: {text}" for text in ours["messages"] if problems]


def differences(name: str, arch: str, extra_path: str) -> list[str]:
    """What a program shows under this package, in a process of its own, and its record does not."""
    wanted = json.loads(expectation(name).read_text())
    try:
        ours = run_program(sys.executable, "quadrants", name, beyond=True, arch=arch, extra_path=extra_path)
    except RuntimeError as error:
        _refused(str(error).splitlines())
        raise
    return compare(ours, wanted, module_tolerance(name))


def _refused(lines: list[str]) -> None:
    """Raise what the process ended with, where a kernel has types that do not fit the arch."""
    from quadrants.errors import QuadrantsTypeError

    if any(line.removeprefix("quadrants.errors.").startswith("QuadrantsTypeError") for line in lines):
        raise QuadrantsTypeError(lines[-1])
