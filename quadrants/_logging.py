"""Log lines on standard error.

The six functions are module attributes that a program may replace. Code of the package therefore calls
`_logging.warn(text)` with one finished string, looking the function up at the time of the call.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from quadrants.errors import QuadrantsRuntimeError

TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL = "trace", "debug", "info", "warn", "error", "critical"
supported_log_levels = [TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL]
_RANK = {name: rank for rank, name in enumerate([*supported_log_levels, "off"])}
_level = _RANK[INFO]


def _rank(level: str) -> int:
    if not isinstance(level, str):
        raise TypeError(f"a logging level is a string such as 'warn', not {type(level).__name__}")
    if level not in _RANK:
        raise QuadrantsRuntimeError(f"Unknown logging level [{level}]. Levels = {', '.join(_RANK)}")
    return _RANK[level]


def set_logging_level(level: str) -> None:
    """Drop messages below `level`: trace, debug, info, warn, error, critical or off. Else RuntimeError.

    qd.set_logging_level(qd.WARN)
    """
    global _level
    _level = _rank(level)


def is_logging_effective(level: str) -> bool:
    """Whether a message of that level would be written now. Unknown level: RuntimeError.

    loud = qd.is_logging_effective(qd.DEBUG)
    """
    return _rank(level) >= _level


def _write(letter: str, frame, text: str) -> str:
    """Write one log line; returns its part after the time stamp."""
    now = time.time()
    stamp = time.strftime("%m/%d/%y %H:%M:%S", time.localtime(now))
    code = frame.f_code
    place = f"[{os.path.basename(code.co_filename)}:{code.co_name}@{frame.f_lineno}] {text}"
    announce(f"[{letter} {stamp}.{int(now * 1000) % 1000:03d} {threading.get_native_id()}] {place}")
    return place


def announce(text: str) -> None:
    """Write a line as it is, whatever the level."""
    try:
        # The descriptor, not sys.stderr: whoever redirects descriptor 2 must see every line, each one whole.
        os.write(2, (text + "\n").encode("utf-8", "backslashreplace"))
    except OSError:
        pass  # a process without standard error has nowhere to complain


def _get_logging(name: str):
    """The function that logs at level `name`."""
    letter, raises = name[:1].upper(), name in (ERROR, CRITICAL)

    def logger(msg, *args, **kwargs):
        if _rank(name) < _level:
            return
        # Without arguments the text is taken as it is, so that braces in paths and source lines are safe.
        text = msg.format(*args, **kwargs) if args or kwargs else str(msg)
        place = _write(letter, sys._getframe(1), text)
        if raises:
            raise QuadrantsRuntimeError(place)

    return logger


trace = _get_logging(TRACE)
debug = _get_logging(DEBUG)
info = _get_logging(INFO)
warn = _get_logging(WARN)
error = _get_logging(ERROR)
critical = _get_logging(CRITICAL)

if os.environ.get("QD_LOG_LEVEL"):
    set_logging_level(os.environ["QD_LOG_LEVEL"])
