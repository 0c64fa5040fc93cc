"""Devices beside each other: what one was made with is not that of another."""

import gc

from quadrants._ext import simt
from quadrants._ext.core import DeviceBuffer, device_of_table, emulated_device


def emulated(shared_bytes: int, capability: int, vendor: str = "cuda"):
    return emulated_device(vendor, simt.launch_address(), simt.describe_address(), shared_bytes, capability)


def test_each_device_keeps_what_it_was_made_with():
    first = emulated(1024, 75)
    second = emulated(2048, 90, "hip")
    assert (first.attribute("max_shared_bytes"), first.attribute("compute_capability")) == (1024, 75)
    assert (second.attribute("max_shared_bytes"), second.attribute("compute_capability")) == (2048, 90)
    assert (first.name, second.name) == ("emulated cuda device", "emulated hip device")


def test_a_device_lives_as_long_as_its_memory():
    device = emulated(1024, 75)
    buffer = DeviceBuffer(device, 16)
    emulated(4096, 80)
    del device
    gc.collect()
    assert buffer.device.attribute("max_shared_bytes") == 1024
    assert not buffer.fetch(0, 16).any()


def test_the_functions_of_a_table_know_which_device_is_meant():
    import ctypes

    from core_native import library

    native = library("""
    #include "qd_device.h"
    #include <stdio.h>
    struct device { int number; } devices[2] = {{3}, {4}};
    static int open_(void *self) { return 0; }
    static int name(void *self, char *text, size_t size) {
        snprintf(text, size, "number %d", ((struct device *) self)->number);
        return 0;
    }
    qd_device_api table = {.name = "numbered", .open = open_, .device_name = name};
    """)
    start = ctypes.addressof(ctypes.c_char.in_dll(native, "devices"))
    table = ctypes.addressof(ctypes.c_char.in_dll(native, "table"))
    assert [device_of_table("numbered", table, start + 4 * at).name for at in range(2)] == ["number 3", "number 4"]
