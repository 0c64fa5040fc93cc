"""What tells that the cache was used."""

from __future__ import annotations

import quadrants as qd
from quadrants.session import get_runtime

TEXT = """
@qd.kernel
def one(n: qd.i32) -> qd.i32:
    return n + 1

@qd.kernel
def two(n: qd.i32) -> qd.i32:
    return n + 2
"""


def test_hits_are_observed(cache, program, compiled):
    cache.start()
    module = program(TEXT)
    assert not module.one._primal.fe_ll_cache_observations.cache_hit
    assert module.one(1) == 2
    assert not module.one._primal.fe_ll_cache_observations.cache_hit
    cache.start()
    assert module.one(1) == 2
    assert module.one._primal.fe_ll_cache_observations.cache_hit
    assert module.two(1) == 3
    assert not module.two._primal.fe_ll_cache_observations.cache_hit
    qd.reset()
    assert not module.one._primal.fe_ll_cache_observations.cache_hit
    assert compiled() == 2


def test_the_second_call_finds_the_first(cache, program):
    cache.start()
    one = program(TEXT).one
    found = []
    for _ in range(3):
        found.append(one._primal.launch_observations.found_kernel_in_materialize_cache)
        one(1)
    assert found == [False, False, True]
    qd.reset()
    assert not one._primal.launch_observations.found_kernel_in_materialize_cache


def test_specialisations_are_dropped_at_reset(cache, program):
    cache.start()
    one = program(TEXT).one
    one(1)
    assert len(one._primal.materialized_kernels) == 1
    qd.reset()
    assert len(one._primal.materialized_kernels) == 0


def test_compiles_are_logged_on_request(cache, program, monkeypatch, capfd):
    monkeypatch.setenv("QD_SHOW_COMPILING", "1")
    cache.start()
    program(TEXT).one(1)
    captured = capfd.readouterr()
    assert "Compiling kernel 'one'" in captured.out + captured.err
    cache.start()
    program(TEXT).one(1)
    captured = capfd.readouterr()
    assert "Compiling kernel 'one'" not in captured.out + captured.err


def test_compile_time_grows_with_compiles(cache, program):
    cache.start()
    assert get_runtime().prog.get_total_compilation_time() == 0.0
    module = program(TEXT)
    module.one(1)
    first = get_runtime().prog.get_total_compilation_time()
    assert 0.0 < first < 60.0
    module.one(2)
    assert get_runtime().prog.get_total_compilation_time() == first
    module.two(2)
    assert get_runtime().prog.get_total_compilation_time() > first


def test_without_the_cache_nothing_is_written(cache, program, compiled):
    for _ in range(2):
        cache.start(offline_cache=False)
        assert program(TEXT.replace("@qd.kernel", "@qd.kernel(fastcache=True)")).one(1) == 2
        assert compiled() == 1
    assert not cache.root.exists()
