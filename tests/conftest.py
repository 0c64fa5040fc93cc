"""What all tests share: the archs to run on, a cache folder of the run's own, and a watchdog.

QD_WANTED_ARCHS   names of archs, separated by commas: `cpu,opencl` runs on these, `^cuda` on the default ones without
                  it. The default is the CPU. A named arch that cannot run is a failure, never a skip.
QD_TEST_TIMEOUT   seconds that one test may take, 600 when unset.
"""

from __future__ import annotations

import faulthandler
import os
import shutil
import sys
import tempfile

import pytest

ARCHS = ("cpu", "cuda", "amdgpu", "metal", "vulkan", "opencl")
DEFAULT_ARCHS = ("cpu",)

_stderr = pytest.StashKey[int]()
_folder = pytest.StashKey[str]()


def wanted_archs(text: str) -> list[str]:
    """The archs that a value of QD_WANTED_ARCHS stands for. Raises pytest.UsageError for unknown names."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in words if word.lstrip("^") not in ARCHS]
    if unknown:
        raise pytest.UsageError(f"QD_WANTED_ARCHS: no arch {', '.join(unknown)}; the archs are {', '.join(ARCHS)}")
    without = {word[1:] for word in words if word.startswith("^")}
    named = [word for word in words if not word.startswith("^")]
    return [name for name in named or DEFAULT_ARCHS if name not in without]


def pytest_configure(config):
    # The capture is suspended here, so this is the terminal, wherever tests send their output later.
    config.stash[_stderr] = os.dup(sys.__stderr__.fileno())
    if not hasattr(config, "workerinput"):
        # Workers inherit the environment: all processes of a run share the folder, no two runs do.
        folder = config.stash[_folder] = tempfile.mkdtemp(prefix="quadrants-tests-")
        os.environ["QD_OFFLINE_CACHE_FILE_PATH"] = os.path.join(folder, "qdcache")
        # Tests that clear QD_* fall back on the user's cache folder, which must not be the real one.
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "xdg")


def pytest_unconfigure(config):
    if _folder in config.stash:
        shutil.rmtree(config.stash[_folder], ignore_errors=True)
    if _stderr in config.stash:
        os.close(config.stash[_stderr])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Ends the process, with the stacks of all threads, when a test takes too long.

    The watchdog is a native thread: it also works while native code holds the interpreter lock. A worker of
    pytest-xdist that ends so is reported as a failure of the test, and replaced.
    """
    seconds = float(os.environ.get("QD_TEST_TIMEOUT", 600))
    faulthandler.dump_traceback_later(seconds, exit=True, file=item.config.stash[_stderr])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_collection_modifyitems(config, items):
    kept, left_out = [], []
    for item in items:
        marker = item.get_closest_marker("runtime")
        chosen = getattr(item, "callspec", None) and item.callspec.params.get("arch")
        (left_out if marker and chosen in marker.kwargs.get("exclude", ()) else kept).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = kept


@pytest.fixture(params=wanted_archs(os.environ.get("QD_WANTED_ARCHS", "")))
def arch(request):
    """The arch under test, freshly initialised, and reset after the test.

    `@pytest.mark.runtime(exclude=("metal",), require=("data64",), debug=True)` leaves archs out, skips those without an
    extension, and hands the other keywords to `qd.init`.
    """
    import quadrants as qd

    marker = request.node.get_closest_marker("runtime")
    options = dict(marker.kwargs) if marker else {}
    options.pop("exclude", None)
    required = options.pop("require", ())
    chosen = getattr(qd, request.param)
    qd.init(arch=chosen, enable_fallback=False, **options)
    try:
        for name in required:
            if not qd.is_extension_enabled(getattr(qd.extension, name)):
                pytest.skip(f"arch {request.param} has no extension {name}")
        yield chosen
    finally:
        qd.reset()
