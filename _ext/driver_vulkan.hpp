// Devices with Vulkan, behind the same table as those of the other vendors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "qd_device.h"
#include "vulkan_devices.hpp"

namespace qd {
namespace vulkan {

extern const qd_device_api table;

// timing: whether milliseconds between events will be asked for. staged: host and device copy, although they could share.
// moves: kernels do large copies and fills on the device. threads: that make pipelines.
struct Wishes {
    size_t number;
    bool timing, staged, moves;
    uint32_t threads;
};

// What the functions of `table` are called with; `close` ends it. Null where that fails; `why` then says what is wrong.
// Needs no GIL.
void *open(const Wishes &wishes, const char **why);

// What the driver keeps of its pipelines, after it took what an earlier process kept: bytes, or none.
std::vector<char> pipeline_cache(void *opened, const void *more, size_t bytes);

// Asked from time to time by whoever waits, of any thread that holds nothing; true ends the wait.
extern bool (*interrupted)();

// Asked before the first large copy, by a thread that holds nothing: calls `set_movers`, and tells whether that worked.
extern bool (*ask_for_movers)(void *opened);
bool set_movers(void *opened, const uint32_t *copy, size_t copy_words, const uint32_t *fill, size_t fill_words);

// What the validation layer has said since the last call.
std::vector<std::string> messages();

}  // namespace vulkan
}  // namespace qd
