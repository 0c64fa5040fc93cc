"""OpenCL C to the binary of a device. Its driver compiles, reached through pyopencl, which is imported on first use."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

from quadrants.errors import WrongVariable
from quadrants.toolchain.errors import CompileError, CompilerNotFound, ToolchainError
from quadrants.toolchain.opencl_queue import is_queue

# pyopencl has no annotations that a checker could follow, so its objects are Any here.
COARSE_GRAIN = 1  # CL_DEVICE_SVM_COARSE_GRAIN_BUFFER
_CPU = 2  # CL_DEVICE_TYPE_CPU
_POCL = "Portable Computing Language"


class Found(NamedTuple):
    """A device. place: "platform:device", as QD_OPENCL_DEVICE names it. is_cpu: it is a processor like the host's.
    lacking: what it would need to run kernels of ours, "" for nothing."""

    place: str
    device: Any
    is_cpu: bool
    lacking: str

    @property
    def chip(self) -> str:
        """What the binaries for it depend on."""
        d = self.device
        return f"{d.platform.name}, {d.name}, {d.version}, {d.driver_version}".replace("\n", " ")


@cache
def devices() -> tuple[Found, ...]:
    """The devices of all platforms, in their order. CompilerNotFound where nothing asks for them."""
    try:
        import pyopencl
    except ImportError as error:
        text = f"OpenCL is reached through pyopencl, which cannot be imported ({error}): `pip install pyopencl`"
        raise CompilerNotFound(text, "pyopencl") from None
    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.Error:  # which is how it says that there is none
        return ()
    return tuple(
        Found(f"{p}:{d}", device, bool(device.type & _CPU), _lacking(device))
        for p, platform in enumerate(platforms)
        for d, device in enumerate(platform.get_devices())
    )


def numbered(number: int, told: str) -> Found:
    """The device of that number among `devices`. told: how it was asked for. ValueError where there is none."""
    found = devices()
    if number >= len(found):
        places = ", ".join(f"{k} ({one.device.name.strip()})" for k, one in enumerate(found))
        raise ValueError(f"Invalid {told}, should be a number below {len(found)}: {places}")
    return found[number]


def chosen() -> Found | None:
    """The device that QD_OPENCL_DEVICE names, or the first that can run kernels, processors like the host's last.

    WrongVariable where it names none.
    """
    named = os.environ.get("QD_OPENCL_DEVICE", "")
    if named:
        found = next((one for one in devices() if one.place == named), None)
        if found is None:
            places = ", ".join(one.place for one in devices()) or "none"
            raise WrongVariable(f"Invalid QD_OPENCL_DEVICE={named}, should be one of <platform>:<device>: {places}")
        return found
    able = [one for one in devices() if not one.lacking]
    return min(able, key=lambda one: one.is_cpu, default=None)


_own: dict[str, Any] = {}  # the contexts of devices, by place
_borrowed: dict[str, Any] = {}  # those of others that are used instead
_taken: list[str] = []  # the place of the device that kernels run on, which others may be like


def context(place: str) -> Any:
    """The context of a device: one that was borrowed, or its own, the same one for the life of the process."""
    import pyopencl

    if place in _borrowed:
        return _borrowed[place]
    return _own.get(place) or _own.setdefault(place, pyopencl.Context([_at(place).device]))


def _settle(device: Any) -> None:
    """Set what keeps a driver from ending the process. PoCL 5 makes variants of a task for the sizes of its launches,
    and counts the uses of one of them at another; it looks for this variable at each launch."""
    if device.platform.name == _POCL and " PoCL 5." in device.platform.version:
        os.environ.setdefault("POCL_WORK_GROUP_SPECIALIZATION", "0")


def take(place: str) -> None:
    """From now on kernels run on that device: what is compiled for its like is for its own context."""
    _settle(_at(place).device)
    _taken[:] = [place]


def borrow(place: str, of: Any) -> None:
    """Make programs for a device in the context `of` until `give_back`."""
    _borrowed[place] = of


def give_back(place: str) -> None:
    """Make programs for a device in its own context again."""
    _borrowed.pop(place, None)


def queue_at(address: int) -> tuple[Found | None, Any]:
    """The cl_command_queue at an address, behind the device that it is of; None where that is not among `devices`.

    ValueError where there is no queue: an object of pyopencl would call the driver about it, and release it.
    """
    known = devices()
    import pyopencl

    if not any(is_queue(address, one.device.int_ptr, binding()) for one in known):
        raise ValueError(
            f"there is no cl_command_queue at {address:#x}; pass `queue.int_ptr` of a pyopencl.CommandQueue"
        )
    queue = pyopencl.CommandQueue.from_int_ptr(address)
    return next((one for one in known if one.device == queue.device), None), queue


def address_of(memory: Any) -> int:
    """The address that host and device give what an object of pyopencl has; 0 where there is none."""
    import pyopencl

    return memory.svm_ptr if isinstance(memory, pyopencl.SVMPointer) else 0


def features(queue: Any) -> tuple[bool, bool]:
    """Whether a queue does its work in order, and whether it notes times."""
    import pyopencl

    flags = pyopencl.command_queue_properties
    asked = queue.properties
    return not asked & flags.OUT_OF_ORDER_EXEC_MODE_ENABLE, bool(asked & flags.PROFILING_ENABLE)


def find() -> tuple[str, tuple[int, ...]]:
    """Path and version of pyopencl. Raises CompilerNotFound."""
    devices()
    import pyopencl

    return str(pyopencl.__file__), tuple(pyopencl.VERSION)


def binding() -> str:
    """The path of the library by which pyopencl calls the loader of OpenCL."""
    from pyopencl import _cl

    return str(_cl.__file__)


def identity() -> str:
    """Text for cache keys. What else decides a binary is in the name of the device: see `Found.chip`."""
    find()
    return "opencl"


def flags(chip: str, *, fast_math: bool = True, optimised: bool = True, checked: bool = False) -> tuple[str, ...]:
    """The options that decide the machine code of a text on the device of that `Found.chip`. NaN and infinity keep
    their meaning in any case, and so do subnormal numbers: drivers may take them for 0 if they are told so, or may not,
    and constants could not follow. checked: of a text with checks, behind which PoCL 3.1 takes barriers wrongly when it
    optimises them.
    """
    device = _of_chip(chip).device
    fast = ("-cl-mad-enable", "-cl-no-signed-zeros") if fast_math else ()
    wrongly = checked and device.platform.name == _POCL
    slow = ("-cl-opt-disable",) if wrongly or not optimised else ()
    return ("-cl-std=CL1.2", "-w", *fast, *_quotients(device, fast_math), *_capability(device), *slow)


def compile(source: str, name: str, chip: str, options: Sequence[str] = ()) -> bytes:
    """The binary of a text for the device of that `Found.chip`. `name` is the kernel's, for messages.

    Raises CompileError with the log of the driver.
    """
    import pyopencl

    from quadrants.toolchain.messages import quoted

    found = _of_chip(chip)
    program: Any = pyopencl.Program(context(found.place), source)
    try:
        with _quietly():
            program.build(options=list(options), devices=[found.device], cache_dir=False)
    except pyopencl.Error as error:
        log = _log(program, found) or str(error)
        size = f"{source.count(chr(10)) + 1} lines, {len(source)} characters of generated source"
        on = f"kernel '{name}' (dialect opencl, {chip}, {size})"
        text = f"The OpenCL driver failed on {on}.\n{quoted(log, 'the driver')}"
        raise CompileError(text, kernel=name, dialect="opencl", log=log) from None
    # A context that was borrowed may have other devices, for which there is none.
    binary: bytes = next(filter(None, program.get_info(pyopencl.program_info.BINARIES)))
    return binary


def _quotients(device: Any, fast_math: bool) -> tuple[str, ...]:
    """How f32 is divided. Devices of NVIDIA take twice the time for quotients that are rounded as they should be: with
    `fast_math` only those of `//` are, for which texts have the instruction."""
    import pyopencl

    if fast_math and _is_nvidia(device):
        return ()
    exact = device.single_fp_config & pyopencl.device_fp_config.CORRECTLY_ROUNDED_DIVIDE_SQRT
    return ("-cl-fp32-correctly-rounded-divide-sqrt",) if exact else ()


def extensions(device: Any) -> frozenset[str]:
    """The names of what a device has beyond OpenCL C 1.2."""
    return frozenset(device.extensions.split())


def _is_nvidia(device: Any) -> bool:
    return "cl_nv_device_attribute_query" in extensions(device)


def _capability(device: Any) -> tuple[str, ...]:
    """What tells a text which instructions a device of NVIDIA has."""
    if not _is_nvidia(device):
        return ()
    return (f"-DQD_COMPUTE_CAPABILITY={device.compute_capability_major_nv}{device.compute_capability_minor_nv}",)


def load(binary: bytes, chip: str) -> Any:
    """A program of what `compile` made; None where the driver does not take it."""
    import pyopencl

    found = _of_chip(chip)
    try:
        program = pyopencl.Program(context(found.place), [found.device], [binary])
        with _quietly():
            return program.build(devices=[found.device])
    except pyopencl.Error:  # of another version of the driver, or damaged: the text is compiled again
        return None


@contextmanager
def _quietly() -> Iterator[None]:
    """What drivers say of a text that they take is not the user's business."""
    import pyopencl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pyopencl.CompilerWarning)
        yield


def _lacking(device: Any) -> str:
    if device.address_bits != 64:
        return "64-bit addresses"
    try:
        shared = device.svm_capabilities & COARSE_GRAIN
    except Exception:  # drivers of OpenCL 1.2 do not know the question, and bindings differ in how they say so
        shared = 0
    return "" if shared else "shared virtual memory (coarse-grained)"


def _log(program: Any, found: Found) -> str:
    import pyopencl

    log: str = program.get_build_info(found.device, pyopencl.program_build_info.LOG)
    return log.strip()


def _at(place: str) -> Found:
    return next(one for one in devices() if one.place == place)


def _of_chip(chip: str) -> Found:
    alike = [one for one in devices() if one.chip == chip]
    if len(alike) > 1:
        first = _taken or [one.place for one in (chosen(),) if one is not None]
        alike.sort(key=lambda one: (one.place not in _borrowed, one.place not in first))
    if not alike:
        raise ToolchainError(f"there is no OpenCL device '{chip}' here")
    return alike[0]
