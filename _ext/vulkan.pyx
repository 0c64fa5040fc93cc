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
        vector[pair[string, cbool]] features
    const vector[Found] &found_devices "qd::vulkan::devices"(const char **why)
    const qd_device_api table
    void *open_device "qd::vulkan::open"(
        size_t number, bint timing, bint staged, const void *cache, size_t size, const char **why)
    vector[char] cache_of "qd::vulkan::pipeline_cache"(void *opened)


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
            "block_threads": one.block_threads, "subgroup": one.subgroup,
            "features": {feature.first.decode(): feature.second for feature in one.features},
        })
    return out, "" if why == NULL else why.decode()


def opened(number, timing, staged, bytes cache not None, /):
    """What these functions are called with, for the device of that number. It belongs to the device that is made with
    it. timing: whether milliseconds between events will be asked for. staged: host and device copy, although they could
    share memory. cache: what `pipeline_cache` gave an earlier process, or b""."""
    cdef const char *why = NULL
    cdef const char *data = cache
    cdef size_t size = len(cache), at = number
    cdef bint times = timing, copies = staged
    cdef void *found
    with nogil:
        found = open_device(at, times, copies, data if size else NULL, size, &why)
    if found == NULL:
        raise QuadrantsRuntimeError(f"the Vulkan device {number} cannot be used: {why.decode()}")
    return <size_t> found


def pipeline_cache(size_t opened, /):
    """What to keep for the next process."""
    cdef vector[char] found = cache_of(<void *> opened)
    return found.data()[:found.size()] if found.size() else b""
