// What NVIDIA's driver has of its own. Part of driver.cpp.
#pragma once

#include <cstdio>
#include <cstring>

#include "driver_cuda_graph_entries.hpp"
#include "driver_entries.hpp"
#include "qd_device.h"

namespace qd {
namespace {

// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
    int id;
    char padding[4];
    union {
        int allowed;
        char room[64];
    } value;
};

struct LaunchConfig {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    Handle stream;
    const LaunchAttribute *attributes;
    unsigned count;
};

constexpr LaunchAttribute overlapping = {6, {}, {1}};  // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION

struct Cuda {
    static constexpr const char *name = "cuda";
    static constexpr bool is_cuda = true;
#ifdef _WIN32
    static constexpr const char *libraries[] = {"nvcuda.dll", nullptr};
#else
    static constexpr const char *libraries[] = {"libcuda.so.1", "libcuda.so", nullptr};
#endif
    static Status (*retain)(Handle *, int);
    static Status (*current)(Handle *);
    static Status (*push)(Handle);
    static Status (*pop)(Handle *);
    static Status (*error_name)(int, const char **);
    static Status (*error_text)(int, const char **);
    static Status (*driver_version)(int *);
    static Status (*launch_with)(const LaunchConfig *, Handle, void **, void **);  // null in drivers before 11.8
    static Status (*is_capturing)(Handle, int *);
    static Status (*pointer_attribute)(void *, int, uint64_t);

    // One device.
    struct Place {
        int device;
        Handle context;
        bool overlaps;  // a task may start while the one before it ends
    };

    static bool find(void *library) {
        auto get = [library](auto &entry, const char *symbol_name) {
            void *address = symbol(library, symbol_name);
            std::memcpy(&entry, &address, sizeof address);
            return address != nullptr;
        };
        get(launch_with, "cuLaunchKernelEx");
        CudaGraphEntries::find(get);
        return get(is_capturing, "cuStreamIsCapturing") && get(pointer_attribute, "cuPointerGetAttribute") &&
               get(retain, "cuDevicePrimaryCtxRetain") && get(current, "cuCtxGetCurrent") &&
               get(push, "cuCtxPushCurrent_v2") && get(pop, "cuCtxPopCurrent_v2") &&
               get(error_name, "cuGetErrorName") && get(error_text, "cuGetErrorString") &&
               get(driver_version, "cuDriverGetVersion");
    }

    // The primary context, which other libraries of the process use too. Kept for the life of the process.
    static Status open(Place &place) { return place.context ? 0 : retain(&place.context, place.device); }

    struct Guard {
        Status status = 0;
        bool pushed = false;
        explicit Guard(const Place &place) {
            Handle now = nullptr;
            status = current(&now);
            if (status == 0 && now != place.context) {
                status = push(place.context);
                pushed = status == 0;
            }
        }
        ~Guard() {
            Handle popped;
            if (pushed) pop(&popped);
        }
        Guard(const Guard &) = delete;
        Guard &operator=(const Guard &) = delete;
    };

    static Status attribute(const Entries &call, int device, int64_t *value, int32_t which) {
        int a = 0, b = 0;
        Status status = 0;
        switch (which) {
            case QD_MULTIPROCESSORS: status = call.device_attribute(&a, 16, device); break;
            case QD_MAX_THREADS_PER_BLOCK: status = call.device_attribute(&a, 1, device); break;
            case QD_MAX_SHARED_BYTES: status = call.device_attribute(&a, 97, device); break;
            case QD_CLOCK_KHZ: status = call.device_attribute(&a, 13, device); break;
            case QD_COMPUTE_CAPABILITY:
                status = call.device_attribute(&a, 75, device);
                if (status == 0) status = call.device_attribute(&b, 76, device);
                a = 10 * a + b;
                break;
            case QD_ARGUMENT_BYTES:
                // Since CUDA 12.1 and compute capability 7.0 a launch takes more than the 4 KiB of before.
                status = call.device_attribute(&b, 75, device);
                if (status == 0) status = driver_version(&a);
                a = a >= 12010 && b >= 7 ? 32764 : 4096;
                break;
            default: return out_of_range;
        }
        *value = a;
        return status;
    }

    static Status capturing(int32_t *answer, Handle stream) {
        int state = 0;  // 1: records; 2: recorded, until something that cannot be
        Status status = is_capturing(stream, &state);
        *answer = state != 0;
        return status;
    }

    // Addresses that the driver did not give, memory of the host and managed memory belong to no device.
    static Status owner(int32_t *ordinal, uint64_t address) {
        unsigned kind = 0, managed = 0;
        int number = -1;
        *ordinal = -1;
        if (pointer_attribute(&kind, 2, address) != 0 || kind != 2) return 0;
        if (pointer_attribute(&managed, 8, address) == 0 && managed) return 0;
        Status status = pointer_attribute(&number, 9, address);
        if (status == 0) *ordinal = number;
        return status;
    }

    static const char *describe(int status) {
        static thread_local char text[256];
        const char *short_name = nullptr, *sentence = nullptr;
        error_name(status, &short_name);
        error_text(status, &sentence);
        std::snprintf(text, sizeof text, "%s (%s)", sentence ? sentence : "unknown error", short_name ? short_name : "?");
        return text;
    }
};

Status (*Cuda::retain)(Handle *, int);
Status (*Cuda::current)(Handle *);
Status (*Cuda::push)(Handle);
Status (*Cuda::pop)(Handle *);
Status (*Cuda::error_name)(int, const char **);
Status (*Cuda::error_text)(int, const char **);
Status (*Cuda::driver_version)(int *);
Status (*Cuda::launch_with)(const LaunchConfig *, Handle, void **, void **);
Status (*Cuda::is_capturing)(Handle, int *);
Status (*Cuda::pointer_attribute)(void *, int, uint64_t);

}  // namespace
}  // namespace qd
