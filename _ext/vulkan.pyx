# cython: language_level=3
"""Devices with Vulkan, for `quadrants._ext.core.device_of_table`."""

from libc.stdint cimport uint8_t, uint32_t
from libcpp cimport bool as cbool
from libcpp.pair cimport pair
from libcpp.string cimport string
from libcpp.vector cimport vector

from quadrants.errors import QuadrantsRuntimeError


cdef extern from "qd_device.h" nogil:
    ctypedef struct qd_device_api:
        pass

cdef extern from "driver_vulkan.hpp" namespace "qd::vulkan" nogil:
    cdef struct Found:
        string name
        string lacking
        uint32_t kind
        uint32_t api
        uint32_t driver
        uint32_t vendor
        uint32_t device
        uint8_t cache_id[16]
        uint32_t shared_bytes
        uint32_t block_threads
        uint32_t subgroup
        cbool sized
        vector[pair[string, cbool]] features
    const vector[Found] &found_devices "qd::vulkan::devices"(const char **why)
    const qd_device_api table
    cdef struct Wishes:
        size_t number
        cbool timing
        cbool staged
        cbool moves
        uint32_t threads
    void *open_device "qd::vulkan::open"(const Wishes &wishes, const char **why)
    vector[char] cache_of "qd::vulkan::pipeline_cache"(void *opened, const void *more, size_t size)
    cbool (*interrupted)() noexcept
    cbool (*ask_for_movers)(void *) noexcept
    cbool set_movers(void *opened, const uint32_t *copy, size_t copy_words, const uint32_t *fill, size_t fill_words)
    vector[string] messages_of "qd::vulkan::messages"()

cdef extern from "Python.h":
    int check_signals "PyErr_CheckSignals"()  # what it raises stays until whoever waited is back


cdef cbool is_interrupted() noexcept with gil:
    return check_signals() != 0


cdef cbool make_movers(void *opened) noexcept with gil:
    # An error is printed, and copies are commands.
    modules = _movers()
    cdef const char *copy = modules[0]
    cdef const char *fill = modules[1]
    return set_movers(opened, <const uint32_t *> copy, len(modules[0]) // 4, <const uint32_t *> fill,
                      len(modules[1]) // 4)


interrupted = is_interrupted
ask_for_movers = make_movers
cdef object _movers = None  # see `opened`


def table_address():
    """The address of the functions of such devices."""
    return <size_t> &table


def devices():
    """What this process can see: a dict for each device, and why there is none, or ""."""
    cdef const char *why = NULL
    cdef const vector[Found] *found
    with nogil:
        found = &found_devices(&why)
    out = []
    for k in range(found.size()):
        one = found.at(k)
        out.append({
            "name": one.name.decode(errors="replace"), "lacking": one.lacking.decode(), "kind": one.kind,
            "api": one.api, "driver": one.driver, "vendor": one.vendor, "device": one.device,
            "cache_id": bytes(one.cache_id[:16]), "shared_bytes": one.shared_bytes,
            "block_threads": one.block_threads, "subgroup": one.subgroup, "sized": one.sized,
            "features": {feature.first.decode(): feature.second for feature in one.features},
        })
    return out, "" if why == NULL else why.decode()


def opened(number, timing, staged, threads, movers, /):
    """What these functions are called with, for the device of that number. It belongs to the device that is made with
    it. timing: whether milliseconds between events will be asked for. staged: host and device copy, although they could
    share memory. threads: that make pipelines. movers: gives the code of templates/glsl/move.comp.j2 before the first
    large copy, a module for each task; None where commands copy."""
    global _movers
    cdef const char *why = NULL
    cdef Wishes wishes
    cdef void *found
    wishes.number, wishes.timing, wishes.staged, wishes.threads = number, timing, staged, threads
    wishes.moves = movers is not None
    _movers = movers or _movers
    with nogil:
        found = open_device(wishes, &why)
    if found == NULL:
        raise QuadrantsRuntimeError(f"the Vulkan device {number} cannot be used: {why.decode()}")
    return <size_t> found


def pipeline_cache(size_t opened, bytes more not None, /):
    """What to keep for the next process, with what another one has kept (b"" for nothing)."""
    cdef const char *data = more
    cdef size_t size = len(more)
    cdef vector[char] found
    with nogil:
        found = cache_of(<void *> opened, data, size)
    return found.data()[:found.size()] if found.size() else b""


def messages():
    """What the validation layer has said since the last call, where QD_VULKAN_VALIDATION is set."""
    return [text.decode(errors="replace") for text in messages_of()]
