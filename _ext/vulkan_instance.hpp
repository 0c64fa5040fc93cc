// The Vulkan loader of the system, and the instance of this process. Part of the driver.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "vulkan_entries.hpp"

namespace qd {
namespace vulkan {

struct Instance {
    GetInstanceProc get = nullptr;
    Handle handle = nullptr;
    InstanceEntries vk;
    const char *why = nullptr;  // there is none, or null
};

// Made on the first call.
const Instance &instance();

// What the validation layer has said since the last call; it speaks where QD_VULKAN_VALIDATION is set.
std::vector<std::string> messages();

template <class Entry>
bool assign(Entry *entry, Function found) {
    std::memcpy(entry, &found, sizeof found);
    return found != nullptr;
}

}  // namespace vulkan
}  // namespace qd
