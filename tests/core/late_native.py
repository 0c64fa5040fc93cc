"""A device whose launches run when it is waited for, so that failures come after the launch has returned; native."""

from __future__ import annotations

import ctypes

from core_native import library

from quadrants._ext import core

# A launch fails when the first number of its block is not 0, and its record has that number. The frame begins with it.
DRIVER = library("""
#include "qd_abi.h"
#include "qd_device.h"
#include <stdlib.h>
#include <string.h>
struct frame { struct qd_error error; volatile int32_t *notice; };
static struct { struct frame *frame; int64_t number; } queue[64];
static int queued = 0;
int waited = 0, fetched = 0, memory = 0, broken = 0;

void run_all(void) {
    for (int at = 0; at < queued; ++at) {
        struct frame *frame = queue[at].frame;
        if (queue[at].number == 0 || frame->error.flag) continue;
        frame->error.site = 0;
        frame->error.count = 1;
        frame->error.kinds = 0;
        frame->error.values[0].i = queue[at].number;
        frame->error.flag = 2;
        if (frame->notice) *frame->notice = 1;
    }
    queued = 0;
}

static int open_(void *self) { return 0; }
static int device_name(void *self, char *text, size_t size) { strncpy(text, "late", size); return 0; }
static int launch(void *self, void *f, uint32_t grid, uint32_t block, uint32_t shared, void *stream, void **params) {
    queue[queued].frame = *(struct frame **) params[1];
    queue[queued++].number = *(int64_t *) params[0];
    return 0;
}
static int allocate(void *self, uint64_t *address, size_t bytes) {
    memory++;
    *address = (uint64_t) malloc(bytes);
    return 0;
}
static int release(void *self, uint64_t address) { memory--; free((void *) address); return 0; }
static int allocate_host(void *self, void **address, size_t bytes) { memory++; *address = malloc(bytes); return 0; }
static int release_host(void *self, void *address) { memory--; free(address); return 0; }
static int to_device(void *self, uint64_t target, const void *source, size_t bytes, void *stream) {
    memcpy((void *) target, source, bytes);
    return 0;
}
static int to_host(void *self, void *target, uint64_t source, size_t bytes, void *stream) {
    fetched++;
    run_all();
    memcpy(target, (const void *) source, bytes);
    return broken;
}
static int fill(void *self, uint64_t target, uint8_t value, size_t bytes, void *stream) {
    memset((void *) target, value, bytes);
    return 0;
}
static int synchronize(void *self, void *stream) { waited++; run_all(); return 0; }
static int create(void *self, void **event, int32_t timing) { *event = &queued; return 0; }
static int destroy(void *self, void *event) { return 0; }
static int event_synchronize(void *self, void *event) { run_all(); return 0; }
static const char *describe(void *self, int status) { return "it is broken"; }
qd_device_api driver = {
    .name = "late", .open = open_, .device_name = device_name, .launch = launch, .allocate = allocate,
    .release = release, .allocate_host = allocate_host, .release_host = release_host, .to_device = to_device,
    .to_host = to_host, .fill = fill, .synchronize = synchronize, .event_create = create, .event_destroy = destroy,
    .event_synchronize = event_synchronize, .describe = describe,
};
""")

RECORD_BYTES = 4 * 4 + 8 + 24 * 8


def device() -> core.Device:
    """The first one of this driver."""
    return core.device_of_table("late", ctypes.addressof(ctypes.c_char.in_dll(DRIVER, "driver")))


def set_number(name: str, value: int) -> None:
    """Set a variable: `waited` and `fetched` count calls, `memory` what is allocated; `broken` fails copies."""
    ctypes.c_int.in_dll(DRIVER, name).value = value


def number(name: str) -> int:
    """Its value."""
    return ctypes.c_int.in_dll(DRIVER, name).value
