"""From text to something that loads: the disk cache in front of the compilers, and several compiles at once."""

from __future__ import annotations

import importlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from quadrants import _logging, folders, targets
from quadrants.toolchain import cc, kept_sources, scratch
from quadrants.toolchain.cache import DiskCache, make_key
from quadrants.toolchain.cc import CcOptions
from quadrants.toolchain.errors import CompileError, ToolchainError

if TYPE_CHECKING:
    from types import ModuleType

    from quadrants.toolchain.cxx import Emulated
    from quadrants.toolchain.library import Library

_SUFFIXES = {"c": ".c", "c++": ".cpp"}


class Request(NamedTuple):
    """One text to compile, "c" or "c++". `name` is the kernel's (or the task's), for messages.

    units: how many compilers may share C text, see `quadrants.emit.units`.
    """

    source: str
    name: str
    options: CcOptions = CcOptions()
    dialect: str = "c"
    units: int = 1


class Statistics:
    """What this process did so far: real compiles, artifacts taken from disk, seconds in compilers (summed over
    threads)."""

    def __init__(self) -> None:
        self.compiled = 0
        self.loaded = 0
        self.seconds = 0.0


statistics = Statistics()
_lock = threading.Lock()
# A place is a key, the folder of the cache, and the process.
_Place = tuple[str, str | None, int]
_made: dict[_Place, str] = {}
_images: dict[_Place, Library] = {}
_busy: dict[_Place, threading.Lock] = {}


def _after_fork() -> None:
    """A lock that another thread held at the fork would stay held for ever in the child."""
    global _lock
    _lock = threading.Lock()
    _busy.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def build_c(
    source: str,
    name: str,
    options: CcOptions = CcOptions(),
    cache: DiskCache | None = None,
    *,
    number: int = 1,
    total: int = 1,
) -> str:
    """Path of a shared object made from C text; it stays loadable for the life of the process.

    Taken from `cache` when it is there, else compiled and put there. Without a cache, or when it cannot be written, the
    file is in a private folder. `number` and `total` are for the progress line. Raises ToolchainError.
    """
    return _build(Request(source, name, options), cache, number, total)[1]


def build_many(requests: Sequence[Request], cache: DiskCache | None = None, threads: int = 4) -> list[str]:
    """`build_c` for each request, up to `threads` compilers at once; paths in the order of the requests.

    Raises the first failure in that order, after all have ended: what did compile is kept.
    """
    total = len(requests)
    work = list(enumerate(requests, 1))
    if threads <= 1 or total <= 1:
        return [_build(request, cache, number, total)[1] for number, request in work]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(threads, total), thread_name_prefix="quadrants-cc") as pool:
        futures = [pool.submit(_build, request, cache, number, total) for number, request in work]
    return [future.result()[1] for future in futures]


def key_c(source: str, options: CcOptions = CcOptions(), cache: DiskCache | None = None) -> str:
    """The key under which `build_c` and `load_c` keep the shared object of a text. Raises ToolchainError."""
    return make_key(source, "c", cc.identity(cc.find_compiler(cache), options))


def load_c(
    source: str, name: str, options: CcOptions = CcOptions(), cache: DiskCache | None = None, *, units: int = 1
) -> Library:
    """Code from C text of so many units, in memory and ready to be called. Raises ToolchainError.

    Where this machine allows, it is an object that no linker has seen, without a file unless `cache` keeps it; else a
    shared object. Another process may clean the cache meanwhile, and the system may refuse a file: neither matters.
    """
    return _load(key_c(source, options, cache), Request(source, name, options, units=units), cache)


def _load(key: str, request: Request, cache: DiskCache | None) -> Library:
    place = (key, cache.root if cache is not None else None, 0)  # memory is a forked child's too
    with _lock:
        image = _images.get(place)
        if image is not None:
            return image
        gate = _busy.setdefault(place, threading.Lock())
    with gate:  # two threads that want the same text compile it once
        with _lock:
            image = _images.get(place)
        if image is None:
            kept = load_kept(key, request.name, cache) if cache is not None else None
            image = kept or _compile_and_load(key, request, cache)
            with _lock:
                _images[place] = image
                _busy.pop(place, None)
    return image


def load_simt(
    source: str,
    name: str,
    entries: Sequence[str],
    flavour: str,
    options: CcOptions = CcOptions(),
    cache: DiskCache | None = None,
) -> Emulated:
    """Kernels of CUDA ("cuda") or HIP ("hip") text for the SIMT emulator; `entries` are the names of its tasks.

    As `load_c`, with a record a task at `address(task)`. Raises ToolchainError.
    """
    from quadrants.toolchain import cxx

    text = cxx.translation(source, entries, flavour)
    key = _key_simt(text, options, cache)
    return cxx.emulated(_load(key, Request(text, name, options, "c++"), cache), source, flavour)


def key_simt(
    source: str, entries: Sequence[str], flavour: str, options: CcOptions = CcOptions(), cache: DiskCache | None = None
) -> str:
    """The key under which `load_simt` keeps the code of a text. Raises ToolchainError."""
    from quadrants.toolchain import cxx

    return _key_simt(cxx.translation(source, entries, flavour), options, cache)


def _key_simt(text: str, options: CcOptions, cache: DiskCache | None) -> str:
    from quadrants.toolchain import cxx

    return make_key(text, "simt", cxx.identity(cxx.find_compiler(cache), options))


def prepare(options: CcOptions = CcOptions(), cache: DiskCache | None = None) -> None:
    """Start a compiler ahead of the first `load_c` with these options, which is sure to come and to find nothing kept.

    Raises nothing: that `load_c` tells what is wrong with the compiler.
    """
    from quadrants.toolchain import library

    try:
        if library.takes_objects():
            cc.prepare(cc.find_compiler(cache), options)
    except ToolchainError as error:
        _logging.debug(f"No compiler is started ahead: {error}")


def load_kept(key: str, name: str, cache: DiskCache) -> Library | None:
    """The code of that key when `cache` has it and it loads, else None."""
    from quadrants.toolchain import library

    kept = cache.get(key, ".o") if library.takes_objects() else None
    if kept is not None:
        try:
            image = library.load_object(kept)
            statistics.loaded += 1
            return image
        except library.Unsupported as error:
            _logging.debug(f"Kernel '{name}': the kept object is not loaded ({error})")
    path = _from_disk(key, name, cache)
    try:
        return None if path is None else library.SharedObject(path)
    except OSError as error:
        _logging.debug(f"Kernel '{name}': {path} does not load ({error})")
        return None


def kept_binary(key: str, suffix: str, cache: DiskCache) -> bytes | None:
    """The binary of that key when `cache` has it, else None: ".cubin" of CUDA text, ".hsaco" of HIP text."""
    found = cache.get(key, suffix)
    if found is not None:
        statistics.loaded += 1
    return found


def key_binary(dialect: str, source: str, arch: str, options: Sequence[str] = ()) -> str:
    """The key under which `build_binary` keeps the binary of a text. Raises ToolchainError."""
    return make_key(source, dialect, _binary_compiler(dialect).identity(), arch, *options)


def binary_suffix(dialect: str, arch: str) -> str:
    """What the disk cache adds to the key of a binary."""
    return next(suffix for chips, suffix in _target(dialect).binaries if arch.startswith(chips))


def build_binary(
    dialect: str,
    source: str,
    name: str,
    arch: str,
    options: Sequence[str] = (),
    cache: DiskCache | None = None,
    *,
    units: int = 1,
) -> bytes:
    """The binary of a text for a chip, or an archive of those of its units, from `cache` or from its compiler. Raises
    ToolchainError.

    Of "cuda" text a cubin ("sm_90") or PTX ("compute_90"), of "hip" text a code object ("gfx90a").
    """
    from quadrants.toolchain import progress

    key = key_binary(dialect, source, arch, options)
    suffix = binary_suffix(dialect, arch)
    found = kept_binary(key, suffix, cache) if cache is not None else None
    if found is not None:
        return found
    with _timed(name), progress.compiling(name):
        try:
            binary = _make_binary(_binary_compiler(dialect).compile, source, name, arch, options, units)
        except CompileError as error:
            raise _with_source(error, source, cache, f".{_target(dialect).suffix}") from None
    if cache is not None:
        cache.put(key, binary, suffix)
    return binary


def _make_binary(
    compile: Callable[..., bytes], source: str, name: str, arch: str, options: Sequence[str], units: int
) -> bytes:
    if units == 1:
        return compile(source, name, arch, options)
    from quadrants.toolchain import shares

    return shares.compile_binaries(compile, source, name, arch, options, units)


def _binary_compiler(dialect: str) -> ModuleType:
    return importlib.import_module(f"quadrants.toolchain.{_target(dialect).compiler}")


def _target(dialect: str) -> targets.Target:
    """ToolchainError where no compiler makes binaries of text in that dialect."""
    found = targets.of_dialect(dialect)
    if found is None or not found.compiler:
        raise ToolchainError(f"there is no compiler for text of '{dialect}'")
    return found


def forget() -> None:
    """Drop the in-process record, so that the next build looks at the disk again. Files stay."""
    with _lock:
        _made.clear()
        _images.clear()


def _build(request: Request, cache: DiskCache | None, number: int, total: int) -> tuple[_Place, str]:
    compiler = cc.find_compiler(cache)
    key = key_c(request.source, request.options, cache)
    # A file in a private folder is the process's that made it; a forked child makes its own.
    place = (key, cache.root if cache is not None else None, os.getpid())
    with _lock:
        path = _made.get(place)
        if path is not None and os.path.exists(path):
            return place, path
        gate = _busy.setdefault(place, threading.Lock())
    with gate:  # two threads that want the same text compile it once
        with _lock:
            path = _made.get(place)
        if path is None or not os.path.exists(path):
            path = _from_disk(key, request.name, cache) or _compile(key, request, compiler, cache, number, total)
            with _lock:
                _made[place] = path
                _busy.pop(place, None)
    return place, path


def _from_disk(key: str, name: str, cache: DiskCache | None) -> str | None:
    content = cache.get(key) if cache is not None else None
    if cache is None or content is None:
        return None
    statistics.loaded += 1
    path = cache.path(key)
    return path if _may_load(path) else _keep(content, name)


def _may_load(path: str) -> bool:
    """Whether a shared object there can be loaded, by a name that stands for it alone."""
    return scratch.allows_execution(os.path.dirname(path)) and folders.is_fixed(os.path.dirname(path))


def _compile(
    key: str, request: Request, compiler: cc.Compiler, cache: DiskCache | None, number: int, total: int
) -> str:
    binary = _run(cc.compile, request, compiler, cache, number, total)
    return _publish(key, binary, request.name, cache)


def _compile_and_load(key: str, request: Request, cache: DiskCache | None) -> Library:
    from quadrants.toolchain import library

    language = _language(request.dialect)
    compiler = language.find_compiler(cache)
    if library.takes_objects() and compiler.kind != "other" and not request.options.debug:
        binary = _run(_maker_of_objects(request), request, compiler, cache)
        try:
            image = library.load_object(binary)
            if cache is not None:
                cache.put(key, binary, ".o")
            return image
        except library.Unsupported as error:
            _logging.debug(f"Kernel '{request.name}' goes through the linker: {error}")
        try:
            binary = cc.link(binary, name=request.name, compiler=compiler)
        except CompileError as error:
            raise _with_source(error, request.source, cache, _SUFFIXES[request.dialect]) from None
    else:
        binary = _run(language.compile, request, compiler, cache)
    path = _publish(key, binary, request.name, cache)
    try:
        return library.SharedObject(path)
    except OSError as error:
        _logging.debug(f"Kernel '{request.name}': {path} does not load ({error})")
    try:
        return library.SharedObject(_keep(binary, request.name))
    except OSError as error:
        raise ToolchainError(f"Kernel '{request.name}' was compiled but cannot be loaded: {error}") from error


def _maker_of_objects(request: Request) -> Callable[..., bytes]:
    if request.units == 1:
        return _language(request.dialect).compile_object  # type: ignore[no-any-return]
    from quadrants.toolchain import shares

    return partial(shares.compile_object, units=request.units)


def _language(dialect: str) -> ModuleType:
    if dialect == "c":
        return cc
    from quadrants.toolchain import cxx

    return cxx


def _run(
    compile: Callable[..., bytes],
    request: Request,
    compiler: cc.Compiler,
    cache: DiskCache | None,
    number: int = 1,
    total: int = 1,
) -> bytes:
    from quadrants.toolchain import progress

    with _timed(request.name), progress.compiling(request.name, number, total):
        try:
            return compile(request.source, name=request.name, options=request.options, compiler=compiler)
        except CompileError as error:
            raise _with_source(error, request.source, cache, _SUFFIXES[request.dialect]) from None


def _publish(key: str, binary: bytes, name: str, cache: DiskCache | None) -> str:
    """Path of a file with a shared object: in the cache, or private."""
    path = cache.put(key, binary) if cache is not None else None
    if path is not None and _may_load(path):
        return path
    return _keep(binary, name)


def _keep(binary: bytes, name: str) -> str:
    try:
        return scratch.keep(binary, name, ".so", executable=True)
    except OSError as error:
        raise ToolchainError(
            f"Kernel '{name}' was compiled but there is no folder to load it from ({error}). "
            "Set QD_TMP_DIR to a folder that can be written and is not mounted noexec."
        ) from error


def _with_source(error: CompileError, source: str, cache: DiskCache | None, suffix: str) -> CompileError:
    """The same failure, with the source kept in a file and its path in the message."""
    path = cache.keep_failed(source, error.kernel, suffix) if cache is not None else None
    if path is None:
        path = kept_sources.keep_outside(source, error.kernel, suffix)
    where = f"Source kept in {path}" if path else "The source could not be kept: no folder can be written"
    return type(error)(f"{error}\n{where}", kernel=error.kernel, dialect=error.dialect, source_path=path, log=error.log)


class _timed:
    """Counts one real compile."""

    def __init__(self, name: str):
        self._name = name

    def __enter__(self) -> None:
        if os.environ.get("QD_SHOW_COMPILING", "0") not in ("", "0"):
            _logging.info(f"Compiling kernel '{self._name}'")
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        spent = time.perf_counter() - self._start
        with _lock:
            statistics.compiled += 1
            statistics.seconds += spent
