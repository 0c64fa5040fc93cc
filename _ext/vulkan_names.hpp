// What statuses are called. Part of driver_vulkan.cpp.
#pragma once

#include <cstdio>

#include "vulkan_entries.hpp"

namespace qd {
namespace vulkan {

constexpr Status out_of_range = -1000;  // of ours

struct Named {
    Status status;
    const char *name;
};

constexpr Named names[] = {
    {-1, "VK_ERROR_OUT_OF_HOST_MEMORY"},
    {-2, "VK_ERROR_OUT_OF_DEVICE_MEMORY: there is not that much memory in one piece"},
    {-3, "VK_ERROR_INITIALIZATION_FAILED"},
    {-4, "VK_ERROR_DEVICE_LOST: mostly an access out of range, or a time limit; run with qd.init(debug=True)"},
    {-5, "VK_ERROR_MEMORY_MAP_FAILED"},
    {-8, "VK_ERROR_FEATURE_NOT_PRESENT"},
    {-13, "VK_ERROR_UNKNOWN"},
    {out_of_range, "memory that is not of this device"},
    {-1000069000, "VK_ERROR_OUT_OF_POOL_MEMORY"},
};

inline const char *describe(void *, int status) {
    static thread_local char text[64];
    for (const Named &known : names) {
        if (known.status == status) return known.name;
    }
    std::snprintf(text, sizeof text, "Vulkan status %d", status);
    return text;
}

}  // namespace vulkan
}  // namespace qd
