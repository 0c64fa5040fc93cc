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

// What the functions of `table` are called with; `close` ends it. Null where that fails; `why` then says what is wrong.
// timing: whether milliseconds between events will be asked for. staged: host and device copy, although they could share.
// cache: the bytes of an earlier pipeline cache, or none. Needs no GIL.
void *open(size_t number, bool timing, bool staged, const void *cache, size_t bytes, const char **why);

// What to keep for the next process.
std::vector<char> pipeline_cache(void *opened);

}  // namespace vulkan
}  // namespace qd
