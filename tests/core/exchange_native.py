"""A package of arrays with DLPack's C exchange interface, and a driver that notes what it is asked, both native."""

from __future__ import annotations

import ctypes

from core_native import library

from quadrants._ext import core

PACKAGE = library("""
#include <stdint.h>
#include <string.h>
typedef struct {
    void *data; int32_t device_type, device_id, ndim; uint8_t code, bits; uint16_t lanes;
    int64_t *shape, *strides; uint64_t byte_offset;
} tensor;
static struct { void *object; tensor is; int64_t shape[32], strides[32]; } known[64];
static int count;
void *current = 0;
int asked = 0, fails = 0;

void forget(void *object) {
    for (int at = 0; at < 64; ++at) if (known[at].object == object) known[at].object = 0;
}

void teach(void *object, const tensor *is) {
    forget(object);
    int at = count++ % 64;
    known[at].object = object;
    known[at].is = *is;
    if (is->shape) memcpy(known[at].shape, is->shape, 8 * (is->ndim > 0 ? is->ndim : 0));
    if (is->strides) memcpy(known[at].strides, is->strides, 8 * (is->ndim > 0 ? is->ndim : 0));
    known[at].is.shape = known[at].shape;
    if (is->strides) known[at].is.strides = known[at].strides;
}

static int describe(void *object, tensor *out) {
    for (int at = 0; at < 64; ++at) if (known[at].object == object) { *out = known[at].is; return 0; }
    return -1;
}

static int stream_now(int32_t type, int32_t id, void **out) {
    asked = 100 * type + id;
    *out = current;
    return fails ? -1 : 0;
}

typedef struct { uint32_t major, minor; void *older; void *unused[3]; void *describe, *stream; } table;
table v1 = {1, 3, 0, {0, 0, 0}, (void *) describe, (void *) stream_now};
table later_minor = {1, 99, 0, {0, 0, 0}, (void *) describe, (void *) stream_now};
table v2_alone = {2, 0, 0, {0, 0, 0}, (void *) describe, (void *) stream_now};
table v2_over_v1 = {2, 0, &v1, {0, 0, 0}, 0, 0};
table without_describe = {1, 3, 0, {0, 0, 0}, 0, (void *) stream_now};
""")

DRIVER = library("""
#include "qd_device.h"
#include <stdlib.h>
static int64_t events[256][3];
int noted = 0, made = 0, failing = 0;
enum { LAUNCH = 1, RECORD, WAIT };
static int note(int64_t what, const void *a, const void *b) {
    if (noted < 256) { events[noted][0] = what; events[noted][1] = (int64_t) a; events[noted++][2] = (int64_t) b; }
    return 0;
}
int64_t entry(int at, int part) { return events[at][part]; }
static int open_(void *self) { return 0; }
static int launch(void *self, void *f, uint32_t grid, uint32_t block, uint32_t shared, void *stream, void **params) {
    void *array = *(void **) params[0];
    return note(LAUNCH, stream, array);
}
static int create(void *self, void **event, int32_t timing) { made++; *event = (void *) 0xe0; return 0; }
static int destroy(void *self, void *event) { made--; return 0; }
static int record(void *self, void *event, void *stream) { return note(RECORD, stream, event); }
static int wait_(void *self, void *event, void *stream) { return failing ? 7 : note(WAIT, stream, event); }
static const char *describe(void *self, int status) { return "it is broken"; }
int64_t recorded = -1, questions = 0;
static int is_capturing(void *self, int32_t *answer, void *stream) {
    questions++;
    *answer = (int64_t) stream == recorded;
    return failing ? 7 : 0;
}
qd_device_api driver = {
    .name = "noting", .open = open_, .launch = launch, .event_create = create, .event_record = record,
    .event_wait = wait_, .event_destroy = destroy, .is_capturing = is_capturing,
    .describe = describe,
};
""")


class Described(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


# A capsule does not keep its name alive.
_NAMES: dict[bytes, bytes] = {}


def capsule(table: str, name: bytes = b"dlpack_exchange_api"):
    """One of the package's tables as its classes hold it."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    kept = _NAMES.setdefault(name, name)
    return new(ctypes.addressof(ctypes.c_char.in_dll(PACKAGE, table)), kept, None)


def tensor_class(table="v1", **members):
    """A class of the package; every one is another class for the core."""
    return type("Tensor", (), {"__dlpack_c_exchange_api__": capsule(table), **members})


def tensor(cls, data, shape, strides=None, dtype=(2, 32, 1), device=(1, 0), offset=0):
    """An instance that the package describes like this. dtype: DLPack's code, bits, lanes."""
    made = cls()
    extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    steps = (ctypes.c_int64 * max(len(shape), 1))(*strides) if strides is not None else None
    described = Described(data, *device, len(shape), *dtype, extents, steps, offset)
    PACKAGE.teach(ctypes.c_void_p(id(made)), ctypes.byref(described))
    return made


def nothing(cls):
    """An instance that the package cannot describe."""
    made = cls()
    PACKAGE.forget(ctypes.c_void_p(id(made)))
    return made


class Driver:
    """The native driver: its device, and what it was asked."""

    names = {1: "launch", 2: "record", 3: "wait"}

    def __init__(self):
        self.device = core.device_of_table("noting", ctypes.addressof(ctypes.c_char.in_dll(DRIVER, "driver")))
        DRIVER.entry.restype = ctypes.c_int64
        self.set("failing", 0)
        self.set("noted", 0)

    @staticmethod
    def set(name: str, value: int) -> None:
        ctypes.c_int.in_dll(DRIVER, name).value = value

    @staticmethod
    def get(name: str) -> int:
        return ctypes.c_int.in_dll(DRIVER, name).value

    def asked(self) -> list:
        """(what, stream) in order, and forgotten."""
        count = self.get("noted")
        self.set("noted", 0)
        return [(self.names[DRIVER.entry(at, 0)], DRIVER.entry(at, 1)) for at in range(count)]
