// The devices with Vulkan that a process can see, and what they have. Part of the driver.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vulkan_entries.hpp"

namespace qd {
namespace vulkan {

// kind: 1 integrated, 2 discrete, 3 virtual, 4 a processor, 0 anything else. api: the version, as Vulkan packs it.
// features: by name, of all that is asked for. lacking: what it would need to run kernels, "" for nothing. subgroup: its
// width; sized: pipelines have to ask for it. extensions: those that are used. units: that run blocks, 0 where nobody knows.
struct Found {
    Handle physical = nullptr;
    std::string name, lacking;
    uint32_t kind = 0, api = 0, driver = 0, vendor = 0, device = 0;
    uint8_t cache_id[16] = {};
    uint32_t shared_bytes = 0, block_threads = 0, subgroup = 0, family = 0, units = 0;
    uint64_t largest = 0;
    float tick = 1;  // nanoseconds
    bool timed = false, sized = false, extensions[5] = {};
    std::vector<std::pair<std::string, bool>> features;

    bool has(const char *feature) const;
};

// The instance is made on the first call. why: what is missing where there is none, else null.
const std::vector<Found> &devices(const char **why);

// A logical device, for the life of the process. The same one for the same number, unless it was lost.
struct Opened {
    Opened() = default;
    Opened(const Opened &) = delete;
    Opened &operator=(const Opened &) = delete;
    ~Opened();

    // Bytes of a heap that this process could still have; 0 where nobody knows.
    uint64_t free_bytes(uint32_t heap) const;

    const Found *found = nullptr;
    Handle device = nullptr;
    Handle queue = nullptr;
    DeviceEntries vk;
    MemoryProperties memory;
    std::atomic<bool> lost{false};
};

std::shared_ptr<Opened> opened(size_t number, Status *status, const char **why);

}  // namespace vulkan
}  // namespace qd
