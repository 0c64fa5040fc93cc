// What statuses are called. Part of driver_vulkan.cpp.
#pragma once

#include <cstdio>

#include "vulkan_entries.hpp"

namespace qd {
namespace vulkan {

constexpr Status out_of_range = -1000, was_interrupted = -1001;  // of ours
constexpr Status timed_out = 2;

struct Named {
    Status status;
    const char *name;
};

constexpr Named names[] = {
    {-1, "VK_ERROR_OUT_OF_HOST_MEMORY"},
    {-2, "VK_ERROR_OUT_OF_DEVICE_MEMORY"},
    {-3, "VK_ERROR_INITIALIZATION_FAILED"},
    {device_lost, "VK_ERROR_DEVICE_LOST"},
    {-5, "VK_ERROR_MEMORY_MAP_FAILED"},
    {-8, "VK_ERROR_FEATURE_NOT_PRESENT"},
    {-13, "VK_ERROR_UNKNOWN"},
    {was_interrupted, "it was interrupted"},
    {out_of_range, "memory that is not of this device"},
    {-1000069000, "VK_ERROR_OUT_OF_POOL_MEMORY"},
};

// A status by itself.
inline const char *name_of(Status status) {
    static thread_local char text[64];
    for (const Named &known : names) {
        if (known.status == status) return known.name;
    }
    std::snprintf(text, sizeof text, "Vulkan status %d", status);
    return text;
}

}  // namespace vulkan
}  // namespace qd
