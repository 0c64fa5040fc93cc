"""Log lines, levels, and functions that a program may replace."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from quadrants import _logging, arch, session

pytestmark = pytest.mark.cpu_only

LINE = re.compile(r"^\[([TDIWEC]) \d\d/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3} \d+\] \[(\S+):(\S+)@(\d+)\] (.*)$")
LEVELS = ["trace", "debug", "info", "warn", "error", "critical"]
ROOT = Path(__file__).resolve().parents[2]


def _log(name, *args, **kwargs):
    try:
        getattr(_logging, name)(*args, **kwargs)
    except RuntimeError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", LEVELS)
def test_a_line_has_level_time_place_and_text(name, capfd):
    _logging.set_logging_level("trace")
    raised = _log(name, "hello {} {b}", 1, b=2)
    found = LINE.match(capfd.readouterr().err)
    assert found, "not a log line"
    letter, file, function, _, text = found.groups()
    assert (letter, file, function, text) == (name[0].upper(), "test_logging.py", "_log", "hello 1 2")
    if name in ("error", "critical"):
        assert raised.endswith("hello 1 2")
    else:
        assert raised is None


@pytest.mark.parametrize("level", [*LEVELS, "off"])
def test_levels(level, capfd):
    order = [*LEVELS, "off"]
    _logging.set_logging_level(level)
    effective = [n for n in order if _logging.is_logging_effective(n)]
    assert effective == order[order.index(level) :]
    for name in LEVELS:
        _log(name, "x")
    assert len(capfd.readouterr().err.splitlines()) == len([n for n in effective if n != "off"])


def test_nothing_is_formatted_below_the_level():
    class Costly:
        def __format__(self, spec):
            raise AssertionError("formatted although the level is off")

    _logging.set_logging_level("error")
    _logging.warn("{}", Costly())


def test_text_without_arguments_is_taken_as_it_is(capfd):
    _logging.warn("path {x} {")
    assert capfd.readouterr().err.endswith("path {x} {\n")


@pytest.mark.parametrize("bad", ["Warn", "WARN", "xx", ""])
def test_unknown_levels(bad):
    for use in (_logging.set_logging_level, _logging.is_logging_effective):
        with pytest.raises(RuntimeError, match=re.escape(f"Unknown logging level [{bad}]")):
            use(bad)
    with pytest.raises(TypeError):
        _logging.set_logging_level(3)


def test_constants():
    names = [_logging.TRACE, _logging.DEBUG, _logging.INFO, _logging.WARN, _logging.ERROR, _logging.CRITICAL]
    assert names == LEVELS
    assert sorted(_logging.supported_log_levels) == sorted(LEVELS)


def test_replaced_functions_get_finished_text(monkeypatch, capfd):
    seen = []
    for name in LEVELS:
        monkeypatch.setattr(_logging, name, seen.append)
    session.init(arch=[])
    assert seen == ["Arch=[] is not supported, falling back to CPU"]
    for name in LEVELS:
        setattr(_logging, name, _logging._get_logging(name))
    capfd.readouterr()
    _logging.warn("back")
    assert LINE.match(capfd.readouterr().err).group(5) == "back"


def test_init_sets_the_level(monkeypatch):
    session.init(log_level="WARN")
    assert not _logging.is_logging_effective("info")
    session.init()
    assert _logging.is_logging_effective("info")
    monkeypatch.setenv("QD_LOG_LEVEL", "Error")
    session.init()
    assert not _logging.is_logging_effective("warn")
    monkeypatch.delenv("QD_LOG_LEVEL")
    with pytest.raises(RuntimeError, match="Unknown logging level"):
        session.init(log_level="loud")
    with pytest.raises(TypeError):
        session.init(log_level=3)


def test_the_fallback_warning_reaches_descriptor_two(tmp_path):
    target = tmp_path / "err"
    saved = os.dup(2)
    with target.open("wb") as file:
        os.dup2(file.fileno(), 2)
        try:
            arch.select([], True)
        finally:
            os.dup2(saved, 2)
            os.close(saved)
    assert re.match(r"^\[W ", target.read_text())


@pytest.mark.parametrize(("text", "status"), [("error", 0), ("", 0), ("loud", 1), ("Error", 1)])
def test_the_variable_is_applied_at_import(text, status):
    code = "from quadrants import _logging; print(_logging.is_logging_effective('warn'))"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "QD_LOG_LEVEL": text, "ENABLE_QUADRANTS_HEADER_PRINT": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == status
    if status:
        assert f"Unknown logging level [{text}]" in done.stderr
    else:
        assert done.stdout.strip() == str(text != "error")


def test_a_closed_descriptor_is_no_failure():
    saved = os.dup(2)
    os.close(2)
    try:
        _logging.warn("into the void")
    finally:
        os.dup2(saved, 2)
        os.close(saved)
