"""Threads of blocks that meet at barriers do what plain Python says, on every arch with blocks. Other ones each day."""

from __future__ import annotations

import io
import os

import pytest

from fuzz import blocks
from fuzz.block_model import Undefined, run
from fuzz.execute import Arch
from fuzz.hunt import Hunt
from fuzz.test_hunt import fuzzed, seed_of_today
from quadrants.emit.dialects import cuda
from quadrants.passes.staying import Staying

PROGRAMS = int(os.environ.get("QD_FUZZ_PROGRAMS", 300)) // 10


@pytest.mark.slow
@pytest.mark.runtime(exclude=("cpu",))
def test_programs(arch_name):
    seed, told = seed_of_today(), io.StringIO()
    hunt = Hunt(PROGRAMS, seed, (fuzzed(arch_name),), subject="blocks", jobs=2, out=told)
    findings = hunt.run()
    assert not findings, f"QD_FUZZ_SEED={seed}\n{hunt.summary()}\n{told.getvalue()}"
    least = 0.8 if arch_name in blocks.FOLLOWING else 0.4
    assert hunt.kinds["ok"] >= least * (PROGRAMS - hunt.kinds["lacking"]), hunt.summary()


def signs(arch: str, seeds: range) -> set:
    return {blocks.check_seed(seed, 8, frozenset(), Arch(arch)).kind for seed in seeds}


@pytest.mark.cpu_only
def test_a_barrier_that_is_lost_is_found(monkeypatch):
    monkeypatch.setenv("QD_EMULATE", "1")
    assert signs("cuda", range(0, 6, 2)) == {"ok"}
    monkeypatch.setitem(cuda._OWN, "block.sync", "__threadfence_block")
    assert "differs" in signs("cuda", range(0, 6, 2))


@pytest.mark.cpu_only
def test_threads_that_do_not_follow_are_found(monkeypatch):
    monkeypatch.setenv("QD_EMULATE", "1")
    assert signs("metal", range(1, 9, 2)) == {"ok"}
    monkeypatch.setattr(Staying, "followed", lambda *_: None)
    assert signs("metal", range(1, 9, 2)) & {"differs", "refused"}


KERNEL = """
def k(x: A, y: A, n: int, m: int):
    qd.loop_config(block_dim=4)
    for i in range(n):
        t = i % 4
        s = block.SharedArray((4,), qd.i32)
        r = block.SharedArray((4,), qd.i32)
        {line}
"""


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("s[t] = i; x[i] = s[t ^ 1]", "none wrote"),
        ("s[t] = i; block.sync(); s[t] = 1; x[i] = s[t ^ 1]", "without a barrier"),
        ("s[0] = i", "without a barrier"),
        ("s[t] = i; s[0] += 1", "without a barrier"),
        ("block.sync(); x[i] = s[t]", "none wrote"),
        ("s[t] = 0 if t < 2 else block.sync()", "different barriers"),
    ],
)
def test_programs_without_a_meaning_are_told(line, reason):
    with pytest.raises(Undefined, match=reason):
        run(KERNEL.format(line=line), 8, 1, [0] * 8, [0] * 8)


@pytest.mark.cpu_only
def test_what_threads_between_barriers_find():
    line = "s[t] = i; block.sync(); x[i] = s[t ^ 3] + block.inclusive_add(t, 4); y[t] += block.sync_any_nonzero(i == 5)"
    found = run(KERNEL.format(line=line), 8, 1, [0] * 8, [0] * 8)
    assert found["x"] == [3, 3, 4, 6, 7, 7, 8, 10] and found["y"] == [1] * 4 + [0] * 4


@pytest.mark.cpu_only
def test_programs_have_enough_of_everything():
    texts = [blocks.program(seed).text.split("@qd.kernel")[1] for seed in range(400)]
    everything = (
        "while j|for j|else:|swapped(|turned(|met(|break|continue|sync_any|sync_all|sync_count|reduce_all|inclusive|"
    )
    everything += "exclusive|r[t // 4|y[(|<< 3|m - 1"
    assert sum("loop_config" not in text for text in texts) >= 5
    for wanted in (everything + "|summed(|ranked(").split("|"):
        assert sum(wanted in text for text in texts) >= 2, wanted
