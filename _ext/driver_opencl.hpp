// Devices with OpenCL. Context, device and programs are made by others, and handed over.
#pragma once

#include <cstdint>

#include "qd_device.h"

namespace qd {
namespace opencl {

// An image that `load` takes. block_bytes: of the arguments that its functions are passed by value; 0: by their address.
struct Image {
    uint64_t program;  // a cl_program that has been built
    uint64_t block_bytes;
};

extern const qd_device_api table;

// What the functions of `table` are called with, for a cl_context with that cl_device_id; `close` ends it. Null where that
// fails; `why` then says what is wrong. queue: the cl_command_queue of the default stream, null for one of our own.
// timing: whether milliseconds between events will be asked for. Needs no GIL.
void *open(void *context, void *device, void *queue, bool timing, const char *binding, const char **why);

// Launches may use shared virtual memory at `address` that somebody else allocated in the context, until it is released
// as often as it was retained.
void retain_memory(void *opened, uint64_t address);
void release_memory(void *opened, uint64_t address);

}  // namespace opencl
}  // namespace qd
