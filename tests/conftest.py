"""What all tests share: the archs to run on, a cache folder of the run's own, and a watchdog.

QD_WANTED_ARCHS   names of archs, separated by commas: `cpu,opencl` runs on these, `^cuda` on the default ones without
                  it. The default is the CPU. A named arch that cannot run is a failure, never a skip.
QD_EMULATE        1: the GPU archs run on the CPU, through the SIMT emulator.
QD_TEST_TIMEOUT   seconds that one test may take, 600 when unset.
QD_TEST_SHARE     `4:salt`: one test in four, chosen by its name and the salt; all when unset.
QD_TEST_SAMPLE    the same, of the tests that have the marker `sampled`.

A test takes `arch`, `init` or `arch_name` (an autouse fixture may do so for a whole folder) and runs on each wanted
arch. Or it is about the CPU, or about nothing that runs: then its folder is in CPU_ONLY_FOLDERS or it has the marker
`cpu_only`, and it runs once, when the CPU is wanted. A test that is neither fails.
"""

from __future__ import annotations

import faulthandler
import os
import re
import shutil
import sys
import tempfile
import zlib
from contextlib import contextmanager
from pathlib import Path

import pytest

ARCHS = ("cpu", "cuda", "amdgpu", "metal", "vulkan", "opencl")
DEFAULT_ARCHS = ("cpu",)
# The launch core, the C toolchain, C helpers of the templates, texts of tasks, values in Python scope, the emulator by
# itself, the tree. A test in these folders that takes the arch all the same runs on each.
CPU_ONLY_FOLDERS = ("core", "toolchain", "prelude", "emit", "lang_host", "simt", "project", "editors")

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


WANTED_ARCHS = wanted_archs(os.environ.get("QD_WANTED_ARCHS", ""))
_TESTS = Path(__file__).resolve().parent


def pytest_configure(config):
    # The capture is suspended here, so this is the terminal, wherever tests send their output later.
    config.stash[_stderr] = os.dup(sys.__stderr__.fileno())
    if not hasattr(config, "workerinput"):
        # Workers inherit the environment: all processes of a run share the folder, no two runs do.
        folder = config.stash[_folder] = tempfile.mkdtemp(prefix="quadrants-tests-")
        os.environ["QD_OFFLINE_CACHE_FILE_PATH"] = os.path.join(folder, "qdcache")
        # Tests that clear QD_* fall back on the user's cache folder, which must not be the real one.
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "xdg")
        os.environ["POCL_CACHE_DIR"] = os.path.join(folder, "pocl")


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


def _arch_of(item) -> str | None:
    """The wanted arch that this test is the instance of."""
    return item.callspec.params.get("arch_name") if hasattr(item, "callspec") else None


def _is_in_share(item) -> bool:
    shares = [("QD_TEST_SHARE", True), ("QD_TEST_SAMPLE", item.get_closest_marker("sampled") is not None)]
    for name, concerned in shares:
        number, _, salt = (os.environ.get(name) or "1").partition(":")
        if concerned and zlib.crc32(f"{name} {salt} {item.nodeid}".encode()) % int(number):
            return False
    return True


def _is_wanted(item) -> bool:
    chosen, marker = _arch_of(item), item.get_closest_marker("runtime")
    if chosen is None or item.get_closest_marker("cpu_only"):
        return "cpu" in WANTED_ARCHS and chosen in (None, "cpu")
    return not (marker and chosen in marker.kwargs.get("exclude", ()))


def pytest_collection_modifyitems(config, items):
    left_out = [item for item in items if not (_is_wanted(item) and _is_in_share(item))]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _is_wanted(item) and _is_in_share(item)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    _ask_for_arch(item)
    _ask_for_lanes(item)
    with _skip_what_is_lacking(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    with _skip_what_is_lacking(item):
        return (yield)


@pytest.fixture(autouse=True)
def _what_validation_says():
    """With QD_VULKAN_VALIDATION set, whatever the layer says is a failure."""
    yield
    backend = sys.modules.get("quadrants.runtime.vulkan")
    if backend is not None and os.environ.get("QD_VULKAN_VALIDATION", "0") not in ("", "0"):
        backend.hear()
        said, backend.heard[:] = list(backend.heard), []
        assert not said, said


def _ask_for_arch(item):
    if _arch_of(item) is not None or item.get_closest_marker("cpu_only"):
        return
    place = item.path.relative_to(_TESTS).parts if item.path.is_relative_to(_TESTS) else ()
    if len(place) > 1 and place[0] not in CPU_ONLY_FOLDERS:
        pytest.fail("take `arch` or `init` to run on every arch, or mark the test or file `cpu_only`", pytrace=False)


def _ask_for_lanes(item):
    """`@pytest.mark.lanes(16)`: software Vulkan has as many as the vectors of the processor."""
    marker = item.get_closest_marker("lanes")
    if marker is None or _arch_of(item) != "vulkan":
        return
    from quadrants.runtime import vulkan

    (needed,), found = marker.args, vulkan.devices()[0]
    if found and found[0].about["subgroup"] < needed:
        pytest.skip(f"needs a GPU with subgroups of {needed} lanes; {found[0].about['name']} has fewer")


# How kernels are refused that need a type which an arch without the extension data64 has not.
_LACKING = re.compile(r"arch (\w+) has no (?:f64|atomic_\w+ on [iu]64)")


@contextmanager
def _skip_what_is_lacking(item):
    """That refusal, and nothing else, is a skip: what the test is about does not exist on the arch."""
    from quadrants.errors import QuadrantsTypeError

    try:
        yield
    except QuadrantsTypeError as error:
        found = _LACKING.search(str(error))
        if found is None or found[1] != _arch_of(item) or _has_data64(found[1]):
            raise
        pytest.skip(str(error).strip().splitlines()[-1])


def _has_data64(name: str) -> bool:
    from quadrants import targets

    target = targets.of_arch(name)
    return target is None or "data64" in target.extensions


@pytest.fixture(params=WANTED_ARCHS)
def arch_name(request) -> str:
    """Name of the arch under test. Starts nothing."""
    return request.param


@pytest.fixture
def arch_environment(arch_name) -> dict[str, str]:
    """Variables that make a program's plain `qd.init()` start the arch under test, and keep emulating."""
    return {"QD_ARCH": arch_name, **{k: v for k, v in os.environ.items() if k == "QD_EMULATE"}}


@pytest.fixture
def init(arch_name):
    """`init(**options)` starts the arch under test, also several times in a test; reset after the test."""
    import quadrants as qd

    chosen = getattr(qd, arch_name)
    yield lambda **options: qd.init(arch=chosen, **{"enable_fallback": False, **options})
    qd.reset()


@pytest.fixture
def arch(request, arch_name, init):
    """The arch under test, freshly initialised, and reset after the test.

    `@pytest.mark.runtime(exclude=("metal",), require=("data64",), debug=True)` leaves archs out, skips those without an
    extension, and hands the other keywords to `qd.init`.
    """
    import quadrants as qd

    marker = request.node.get_closest_marker("runtime")
    options = dict(marker.kwargs) if marker else {}
    options.pop("exclude", None)
    required = options.pop("require", ())
    init(**options)
    for name in required:
        if not qd.is_extension_enabled(getattr(qd.extension, name)):
            pytest.skip(f"arch {arch_name} has no extension {name}")
    return getattr(qd, arch_name)
