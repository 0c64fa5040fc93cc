// What is used of OpenCL, found at run time: nothing is linked. Part of driver_opencl.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace qd {
namespace opencl {

using Status = int32_t;
using Handle = void *;

struct Entries {
    Status (*clGetDeviceInfo)(Handle, uint32_t, size_t, void *, size_t *);
    Handle (*clCreateCommandQueueWithProperties)(Handle, Handle, const uint64_t *, Status *);
    Status (*clRetainCommandQueue)(Handle);
    Status (*clReleaseCommandQueue)(Handle);
    Status (*clRetainContext)(Handle);
    Status (*clReleaseContext)(Handle);
    Status (*clRetainProgram)(Handle);
    Status (*clReleaseProgram)(Handle);
    Handle (*clCreateKernel)(Handle, const char *, Status *);
    Status (*clReleaseKernel)(Handle);
    Status (*clSetKernelArg)(Handle, uint32_t, size_t, const void *);
    Status (*clSetKernelArgSVMPointer)(Handle, uint32_t, const void *);
    Status (*clSetKernelExecInfo)(Handle, uint32_t, size_t, const void *);
    Status (*clEnqueueNDRangeKernel)(Handle, Handle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,
                                     const Handle *, Handle *);
    void *(*clSVMAlloc)(Handle, uint64_t, size_t, uint32_t);
    void (*clSVMFree)(Handle, void *);
    Status (*clEnqueueSVMMemcpy)(Handle, uint32_t, void *, const void *, size_t, uint32_t, const Handle *, Handle *);
    Status (*clEnqueueSVMMemFill)(Handle, void *, const void *, size_t, size_t, uint32_t, const Handle *, Handle *);
    Status (*clFinish)(Handle);
    Status (*clFlush)(Handle);
    Status (*clEnqueueMarkerWithWaitList)(Handle, uint32_t, const Handle *, Handle *);
    Status (*clEnqueueBarrierWithWaitList)(Handle, uint32_t, const Handle *, Handle *);
    Status (*clWaitForEvents)(uint32_t, const Handle *);
    Status (*clReleaseEvent)(Handle);
    Status (*clGetEventProfilingInfo)(Handle, uint32_t, size_t, void *, size_t *);
};

struct Symbol {
    size_t offset;
    const char *name;
};

#define QD_SYMBOL(name) {offsetof(Entries, name), #name}
constexpr Symbol symbols[] = {
    QD_SYMBOL(clGetDeviceInfo), QD_SYMBOL(clCreateCommandQueueWithProperties), QD_SYMBOL(clRetainCommandQueue),
    QD_SYMBOL(clReleaseCommandQueue), QD_SYMBOL(clRetainContext), QD_SYMBOL(clReleaseContext), QD_SYMBOL(clRetainProgram), QD_SYMBOL(clReleaseProgram),
    QD_SYMBOL(clCreateKernel), QD_SYMBOL(clReleaseKernel), QD_SYMBOL(clSetKernelArg),
    QD_SYMBOL(clSetKernelArgSVMPointer), QD_SYMBOL(clSetKernelExecInfo), QD_SYMBOL(clEnqueueNDRangeKernel),
    QD_SYMBOL(clSVMAlloc), QD_SYMBOL(clSVMFree), QD_SYMBOL(clEnqueueSVMMemcpy), QD_SYMBOL(clEnqueueSVMMemFill),
    QD_SYMBOL(clFinish), QD_SYMBOL(clFlush), QD_SYMBOL(clEnqueueMarkerWithWaitList),
    QD_SYMBOL(clEnqueueBarrierWithWaitList), QD_SYMBOL(clWaitForEvents), QD_SYMBOL(clReleaseEvent),
    QD_SYMBOL(clGetEventProfilingInfo),
};
#undef QD_SYMBOL

// What keeps the loader of OpenCL from being used, null for nothing. binding: the path of a library that is linked to
// it. Contexts and programs come from there, and the loader of the system may be another one, or missing.
inline const char *find(Entries *entries, const char *binding) {
#ifdef _WIN32
    (void)binding;  // symbols are not looked for in what a library is linked to
    HMODULE library = LoadLibraryA("OpenCL.dll");
#else
    void *library = dlopen(binding, RTLD_NOW | RTLD_LOCAL);
#endif
    if (!library) return "the OpenCL loader cannot be opened";
    for (const Symbol &s : symbols) {
#ifdef _WIN32
        void *address = reinterpret_cast<void *>(GetProcAddress(library, s.name));
#else
        void *address = dlsym(library, s.name);
#endif
        if (!address) return "the OpenCL loader is older than OpenCL 2.0";
        std::memcpy(reinterpret_cast<char *>(entries) + s.offset, &address, sizeof address);
    }
    return nullptr;
}

}  // namespace opencl
}  // namespace qd
