"""With fast_math, programs that no order of operations rounds give what the model says. Other ones each day."""

from __future__ import annotations

import io
import shutil

import pytest

from fuzz.hunt import Hunt
from fuzz.test_hunt import fuzzed, seed_of_today


@pytest.mark.slow
def test_programs(arch_name):
    arch, seed, told = fuzzed(arch_name), seed_of_today(), io.StringIO()
    if arch.endswith("-real"):
        pytest.skip("GPUs divide f32 approximately with fast_math")
    hunt = Hunt(100, seed, (arch,), subject="exact", jobs=2, out=told)
    findings = hunt.run()
    assert not findings, f"QD_FUZZ_SEED={seed}\n{hunt.summary()}\n{told.getvalue()}"
    count = 100 - hunt.kinds["lacking"]
    assert count > 20 and hunt.kinds["ok"] > 0.8 * count, hunt.summary()


@pytest.mark.slow
@pytest.mark.cpu_only
def test_reciprocals_in_place_of_quotients_are_found(monkeypatch):
    compiler = shutil.which("gcc")
    assert compiler, "this test needs gcc (apt install gcc)"
    monkeypatch.setenv("QD_CC", f"{compiler} -freciprocal-math")
    hunt = Hunt(200, 7_000, subject="exact", each=0, stop_at=1, jobs=2, out=io.StringIO())
    assert hunt.run(), hunt.summary()
