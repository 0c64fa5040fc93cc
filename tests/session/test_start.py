"""What goes on beside the start of a device, without one: a backend whose start waits for it."""

import threading

import pytest

import quadrants as qd
from quadrants.backends import registry

pytestmark = pytest.mark.cpu_only


@pytest.fixture
def beside(monkeypatch):
    work = []
    monkeypatch.setattr(registry, "_beside_start", work)
    yield work
    qd.reset()


def test_work_goes_on_while_the_device_starts_and_init_waits_for_it(monkeypatch, beside):
    began, end = threading.Event(), threading.Event()
    ended = []

    def work(cfg):
        began.set()
        assert end.wait(30)
        ended.append(cfg.arch)

    opens = registry.current

    def current():
        assert began.wait(30)  # fails where the work comes after the device
        end.set()
        return opens()

    beside.append(work)
    monkeypatch.setattr(registry, "current", current)
    qd.init(arch=qd.cuda, emulate=True, offline_cache=False)
    assert ended == [qd.cuda]


def test_a_device_that_does_not_start_leaves_no_thread_behind(monkeypatch, beside):
    threads = threading.active_count()

    def current():
        raise RuntimeError("no such device")

    beside.append(lambda cfg: None)
    monkeypatch.setattr(registry, "current", current)
    with pytest.raises(RuntimeError, match="no such device"):
        qd.init(arch=qd.cuda, emulate=True, offline_cache=False)
    assert threading.active_count() == threads


def test_the_compiler_is_loaded_beside_a_driver_alone(monkeypatch):
    from types import SimpleNamespace

    from quadrants import warmup

    loaded = []
    monkeypatch.setattr(warmup, "_load", lambda: loaded.append(1))
    warmup.load_beside_driver(SimpleNamespace(emulate=True))
    assert not loaded
    warmup.load_beside_driver(SimpleNamespace(emulate=False))
    assert loaded
