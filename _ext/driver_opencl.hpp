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

// What the functions of `table` are called with, for a cl_context with one cl_device_id; `close` ends it. Null where that
// fails; `why` then says what is wrong. timing: whether milliseconds between events will be asked for. Needs no GIL.
void *open(void *context, void *device, bool timing, const char **why);

}  // namespace opencl
}  // namespace qd
