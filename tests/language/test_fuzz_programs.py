"""Random programs give what plain Python gives: order, scopes, aliases, promotion, wrapping, control flow."""

from __future__ import annotations

import importlib.util
import itertools

import numpy as np
import pytest
from fuzz_interpreter import Interpreter, start_arrays
from fuzz_programs import ARRAYS, SIZE, programs, source
from hypothesis import HealthCheck, given, settings

import quadrants as qd

EXAMPLES = 200
INPUTS = ((3, 1.5), (-7, -0.25))


def load(path, text: str):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def same(got: np.ndarray, expected: np.ndarray) -> bool:
    """Equal, NaN like NaN; numbers too small to be normal count as zero."""
    if expected.dtype.kind != "f":
        return np.array_equal(got, expected)
    tiny = np.finfo(expected.dtype).tiny
    got, expected = (np.where(np.abs(x) < tiny, 0, x) for x in (got, expected))
    return np.array_equal(got, expected, equal_nan=True)


@pytest.mark.filterwarnings("ignore:Casting range_for boundary values")
@pytest.mark.runtime(fast_math=False, cpu_max_num_threads=2)
def test_programs(arch, tmp_path):
    fields = {name: qd.field(getattr(qd, dtype), shape=SIZE) for name, dtype in ARRAYS.items()}
    number = itertools.count()

    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(programs())
    def check(program):
        module = load(tmp_path / f"program_{next(number)}.py", source(program))
        vars(module).update(fields)
        for inputs in INPUTS:
            expected = start_arrays()
            for name, values in expected.items():
                fields[name].from_numpy(values)
            Interpreter(program, expected).run(*inputs)
            module.run(*inputs)
            for name, values in expected.items():
                got = fields[name].to_numpy()
                assert same(got, values), f"{name} is {got.tolist()}, not {values.tolist()} for {inputs}"

    check()
