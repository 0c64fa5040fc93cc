// What both vendors' drivers offer, by the names it has there. Part of driver.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace qd {
namespace {

using Status = int;
using Handle = void *;

struct Entries {
    Status (*init)(unsigned);
    Status (*device_count)(int *);
    Status (*device_get)(int *, int);
    Status (*device_name)(char *, int, int);
    Status (*device_attribute)(int *, int, int);
    Status (*module_load)(Handle *, const void *);
    Status (*module_function)(Handle *, Handle, const char *);
    Status (*module_unload)(Handle);
    Status (*function_attribute)(Handle, int, int);
    Status (*residency)(int *, Handle, int, size_t);
    Status (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **, void **);
    Status (*allocate)(uint64_t *, size_t);
    Status (*release)(uint64_t);
    Status (*allocate_host)(void **, size_t, unsigned);
    Status (*release_host)(void *);
    Status (*to_device)(uint64_t, const void *, size_t, Handle);
    Status (*to_host)(void *, uint64_t, size_t, Handle);
    Status (*on_device)(uint64_t, uint64_t, size_t, Handle);
    Status (*fill)(uint64_t, unsigned char, size_t, Handle);
    Status (*stream_synchronize)(Handle);
    Status (*stream_create)(Handle *, unsigned);
    Status (*stream_destroy)(Handle);
    Status (*event_create)(Handle *, unsigned);
    Status (*event_record)(Handle, Handle);
    Status (*event_wait)(Handle, Handle, unsigned);
    Status (*event_synchronize)(Handle);
    Status (*event_elapsed)(float *, Handle, Handle);
    Status (*event_destroy)(Handle);
};

struct Symbol {
    size_t offset;
    const char *cuda;
    const char *hip;
};

#define AT(member) offsetof(Entries, member)
constexpr Symbol symbols[] = {
    {AT(init), "cuInit", "hipInit"},
    {AT(device_count), "cuDeviceGetCount", "hipGetDeviceCount"},
    {AT(device_get), "cuDeviceGet", "hipDeviceGet"},
    {AT(device_name), "cuDeviceGetName", "hipDeviceGetName"},
    {AT(device_attribute), "cuDeviceGetAttribute", "hipDeviceGetAttribute"},
    {AT(module_load), "cuModuleLoadData", "hipModuleLoadData"},
    {AT(module_function), "cuModuleGetFunction", "hipModuleGetFunction"},
    {AT(module_unload), "cuModuleUnload", "hipModuleUnload"},
    {AT(function_attribute), "cuFuncSetAttribute", "hipFuncSetAttribute"},
    {AT(residency), "cuOccupancyMaxActiveBlocksPerMultiprocessor",
     "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"},
    {AT(launch), "cuLaunchKernel", "hipModuleLaunchKernel"},
    {AT(allocate), "cuMemAlloc_v2", "hipMalloc"},
    {AT(release), "cuMemFree_v2", "hipFree"},
    {AT(allocate_host), "cuMemHostAlloc", "hipHostMalloc"},
    {AT(release_host), "cuMemFreeHost", "hipHostFree"},
    {AT(to_device), "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync"},
    {AT(to_host), "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync"},
    {AT(on_device), "cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync"},
    {AT(fill), "cuMemsetD8Async", "hipMemsetD8Async"},
    {AT(stream_synchronize), "cuStreamSynchronize", "hipStreamSynchronize"},
    {AT(stream_create), "cuStreamCreate", "hipStreamCreateWithFlags"},
    {AT(stream_destroy), "cuStreamDestroy_v2", "hipStreamDestroy"},
    {AT(event_create), "cuEventCreate", "hipEventCreateWithFlags"},
    {AT(event_record), "cuEventRecord", "hipEventRecord"},
    {AT(event_wait), "cuStreamWaitEvent", "hipStreamWaitEvent"},
    {AT(event_synchronize), "cuEventSynchronize", "hipEventSynchronize"},
    {AT(event_elapsed), "cuEventElapsedTime", "hipEventElapsedTime"},
    {AT(event_destroy), "cuEventDestroy_v2", "hipEventDestroy"},
};
#undef AT

constexpr unsigned non_blocking = 1;    // CU_STREAM_NON_BLOCKING, hipStreamNonBlocking
constexpr unsigned without_timing = 2;  // CU_EVENT_DISABLE_TIMING, hipEventDisableTiming
constexpr int out_of_range = 1;         // CUDA_ERROR_INVALID_VALUE, hipErrorInvalidValue

void *open_library(const char *const *names) {
    for (; *names; ++names) {
#ifdef _WIN32
        if (void *library = reinterpret_cast<void *>(LoadLibraryA(*names))) return library;
#else
        if (void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL)) return library;
#endif
    }
    return nullptr;
}

void *symbol(void *library, const char *name) {
#ifdef _WIN32
    return reinterpret_cast<void *>(GetProcAddress(reinterpret_cast<HMODULE>(library), name));
#else
    return dlsym(library, name);
#endif
}

}  // namespace
}  // namespace qd
