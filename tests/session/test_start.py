"""What goes on beside the start of a device, without one: a backend whose start waits for it."""

import os
import threading
import time

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


def test_work_goes_on_while_the_device_starts_and_behind_init(monkeypatch, beside):
    began, end = threading.Event(), threading.Event()
    ended = []

    def work(cfg):
        began.set()
        assert end.wait(30)
        ended.append(cfg.arch)

    opens = registry.current

    def current():
        assert began.wait(30)  # fails where the work comes after the device
        return opens()

    beside.append(work)
    monkeypatch.setattr(registry, "current", current)
    qd.init(arch=qd.cuda, emulate=True, offline_cache=False)  # waits for ever where it waits for the work
    assert not ended
    end.set()
    registry._end_beside()
    assert ended == [qd.cuda]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork, which Windows lacks")
def test_a_child_process_begins_behind_the_work(beside):
    ended = []

    def work(cfg):
        time.sleep(0.2)
        ended.append(cfg.arch)

    beside.append(work)
    qd.init(arch=qd.cuda, emulate=True, offline_cache=False)
    child = os.fork()
    if child == 0:
        os._exit(0 if ended else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


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
