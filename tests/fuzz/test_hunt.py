"""Programs drawn at random give what the model says, on every arch. Other ones each day.

QD_FUZZ_SEED: of the first program. QD_FUZZ_PROGRAMS: how many on the CPU; a fifth of it in debug mode, in a
language that can say less, by several compilers, and on each other arch.
"""

from __future__ import annotations

import datetime
import io
import os

import pytest

from fuzz.execute import MARK, printed
from fuzz.grammar.draw import KNOWN
from fuzz.hunt import Hunt

# What an arch has not, so that most programs are for it.
WITHOUT = {"metal": {"double"}}
PROGRAMS = int(os.environ.get("QD_FUZZ_PROGRAMS", 300))


def seed_of_today() -> int:
    return int(os.environ.get("QD_FUZZ_SEED") or datetime.date.today().toordinal() * 100_000)


def fuzzed(arch_name: str) -> str:
    """The arch as `fuzz.execute.Arch` names it: with a GPU where tests run on one."""
    return arch_name if arch_name == "cpu" or os.environ.get("QD_EMULATE") == "1" else f"{arch_name}-real"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["", "debug", "poorer", "several"])
def test_programs(arch_name, mode):
    if mode and arch_name != "cpu":
        pytest.skip("other archs draw debug mode as an option of programs, and share the passes of a poorer language")
    count = PROGRAMS if arch_name == "cpu" and not mode else max(PROGRAMS // 5, 1)
    arch = f"cpu-{mode}" if mode else fuzzed(arch_name)
    seed, told = seed_of_today(), io.StringIO()
    hunt = Hunt(count, seed, (arch,), off=KNOWN | WITHOUT.get(arch_name, set()), jobs=2, out=told)
    findings = hunt.run()
    print(hunt.summary())
    assert not findings, f"QD_FUZZ_SEED={seed}\n{hunt.summary()}\n{told.getvalue()}"
    # Those that a check has to stop are stopped, with its message: else they are findings.
    count -= hunt.kinds["lacking"]
    assert count > PROGRAMS // 10 and hunt.kinds["ok"] + hunt.kinds["stopped"] > 0.9 * count, hunt.summary()


@pytest.mark.cpu_only
def test_a_variable_that_begins_a_line_of_a_report_is_no_print():
    report = 'Multiplication overflow detected in File "p.py", line 3, in run:\n    v = x[1,\nout + n * n]\n  ^^\n'
    assert printed(f"{report}{MARK} 3\n", debug=True) == f"{MARK} 3\n"
