// Devices of Metal. Device and libraries are made by others, and handed over.
#pragma once

#include <cstdint>

#include "qd_device.h"

namespace qd {
namespace metal {

// An image that `load` takes. block_bytes: of the arguments that its functions are passed by value; 0: by their address.
struct Image {
    uint64_t library;  // an id<MTLLibrary>
    uint64_t block_bytes;
};

// What is there for a device: paths of the runtime of Objective-C and of the framework; an id<MTLDevice>; the
// id<MTLCommandQueue> of the default stream, which is not retained, null for one of our own. timing: whether milliseconds
// between events will be asked for.
struct Given {
    const char *objc;
    const char *framework;
    void *device;
    void *queue;
    bool timing;
};

extern const qd_device_api table;

// What the functions of `table` are called with; `close` ends it. Null where that fails; `why` then says what is wrong.
// Needs no GIL.
void *open(const Given &given, const char **why);

// Threads of a threadgroup that the pipeline of a function can have.
uint64_t most_threads(void *function);

}  // namespace metal
}  // namespace qd
