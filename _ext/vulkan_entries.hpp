// What is used of Vulkan 1.2, found at run time: nothing is linked, and no header of it is needed. Members have the
// order and the sizes that the interface prescribes; what is only filled with zeros has names of ours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qd {
namespace vulkan {

using Status = int32_t;
using Handle = void *;       // dispatchable: instance, device, queue, command buffer
using Object = uint64_t;     // all others
using Flags = uint32_t;

constexpr Status no_host_memory = -1, no_device_memory = -2, not_initialized = -3, device_lost = -4;

struct Chained {
    int32_t type;
    void *next;
};

struct ApplicationInfo {
    int32_t type = 0;
    const void *next = nullptr;
    const char *name = nullptr;
    uint32_t version = 0;
    const char *engine = nullptr;
    uint32_t engine_version = 0;
    uint32_t api = 0;
};

struct InstanceInfo {
    int32_t type = 1;
    const void *next = nullptr;
    Flags flags = 0;
    const ApplicationInfo *application = nullptr;
    uint32_t layers = 0;
    const char *const *layer_names = nullptr;
    uint32_t extensions = 0;
    const char *const *extension_names = nullptr;
};

struct LayerProperties {
    char name[256];
    uint32_t version, implementation;
    char description[256];
};

struct ExtensionProperties {
    char name[256];
    uint32_t version;
};

struct QueueFamily {
    Flags flags;
    uint32_t count, timestamp_bits, granularity[3];
};

struct MemoryType {
    Flags flags;
    uint32_t heap;
};

struct MemoryHeap {
    uint64_t size;
    Flags flags;
};

struct MemoryProperties {
    uint32_t type_count;
    MemoryType types[32];
    uint32_t heap_count;
    MemoryHeap heaps[16];
};
static_assert(sizeof(MemoryProperties) == 520, "as the interface has it");

struct QueueInfo {
    int32_t type = 2;
    const void *next = nullptr;
    Flags flags = 0;
    uint32_t family = 0, count = 1;
    const float *priorities = nullptr;
};

struct DeviceInfo {
    int32_t type = 3;
    const void *next = nullptr;
    Flags flags = 0;
    uint32_t queues = 1;
    const QueueInfo *queue = nullptr;
    uint32_t layers = 0;
    const char *const *layer_names = nullptr;
    uint32_t extensions = 0;
    const char *const *extension_names = nullptr;
    const void *features = nullptr;
};

struct MessengerInfo {
    int32_t type = 1000128004;
    const void *next = nullptr;
    Flags flags = 0, severities = 0x1100, kinds = 2 | 4;  // warnings and errors; of validation and of speed
    const void *callback = nullptr;
    void *told = nullptr;
};

struct MessageData {
    int32_t type;
    const void *next;
    Flags flags;
    const char *name;
    int32_t number;
    const char *text;
};

struct MemoryBudget {
    int32_t type = 1000237000;
    void *next = nullptr;
    uint64_t budget[16] = {}, used[16] = {};
};

struct Memory2 {
    int32_t type = 1000059006;
    void *next = nullptr;
    MemoryProperties memory = {};
};

struct BufferInfo {
    int32_t type = 12;
    const void *next = nullptr;
    Flags flags = 0;
    uint64_t size = 0;
    Flags usage = 0;
    int32_t sharing = 0;
    uint32_t families = 0;
    const uint32_t *family = nullptr;
};

struct MemoryRequirements {
    uint64_t size, alignment;
    uint32_t types;
};

struct AllocateFlags {
    int32_t type = 1000060000;
    const void *next = nullptr;
    Flags flags = 2;  // of addresses
    uint32_t devices = 0;
};

struct AllocateInfo {
    int32_t type = 5;
    const void *next = nullptr;
    uint64_t size = 0;
    uint32_t memory_type = 0;
};

struct AddressInfo {
    int32_t type = 1000244001;
    const void *next = nullptr;
    Object buffer = 0;
};

struct PoolInfo {
    int32_t type = 39;
    const void *next = nullptr;
    Flags flags = 2;  // buffers are reset one by one
    uint32_t family = 0;
};

struct CommandsInfo {
    int32_t type = 40;
    const void *next = nullptr;
    Object pool = 0;
    int32_t level = 0;
    uint32_t count = 1;
};

struct BeginInfo {
    int32_t type = 42;
    const void *next = nullptr;
    Flags flags = 1;  // submitted once
    const void *inherited = nullptr;
};

struct Barrier {
    int32_t type = 46;
    const void *next = nullptr;
    Flags source = 0, target = 0;
};

struct Region {
    uint64_t source, target, size;
};

struct SemaphoreType {
    int32_t type = 1000207002;
    const void *next = nullptr;
    int32_t kind = 1;  // timeline
    uint64_t value = 0;
};

struct SemaphoreInfo {
    int32_t type = 9;
    const void *next = nullptr;
    Flags flags = 0;
};

struct TimelineSubmit {
    int32_t type = 1000207003;
    const void *next = nullptr;
    uint32_t waits = 0;
    const uint64_t *wait_values = nullptr;
    uint32_t signals = 1;
    const uint64_t *values = nullptr;
};

struct SubmitInfo {
    int32_t type = 4;
    const void *next = nullptr;
    uint32_t waits = 0;
    const Object *wait = nullptr;
    const Flags *stages = nullptr;
    uint32_t commands = 1;
    const Handle *command = nullptr;
    uint32_t signals = 1;
    const Object *signal = nullptr;
};

struct WaitInfo {
    int32_t type = 1000207004;
    const void *next = nullptr;
    Flags flags = 0;
    uint32_t count = 1;
    const Object *semaphores = nullptr;
    const uint64_t *values = nullptr;
};

struct PushRange {
    Flags stages = 0x20;
    uint32_t offset = 0, size = 128;
};

struct LayoutInfo {
    int32_t type = 30;
    const void *next = nullptr;
    Flags flags = 0;
    uint32_t sets = 0;
    const Object *set = nullptr;
    uint32_t ranges = 1;
    const PushRange *range = nullptr;
};

struct ModuleInfo {
    int32_t type = 16;
    const void *next = nullptr;
    Flags flags = 0;
    size_t bytes = 0;
    const uint32_t *code = nullptr;
};

struct SubgroupSize {
    int32_t type = 1000225001;
    void *next = nullptr;
    uint32_t size = 0;
};

struct StageInfo {
    int32_t type = 18;
    const void *next = nullptr;
    Flags flags = 0;
    Flags stage = 0x20;
    Object module = 0;
    const char *name = "main";
    const void *constants = nullptr;
};

struct PipelineInfo {
    int32_t type = 29;
    const void *next = nullptr;
    Flags flags = 0x10;  // dispatched in parts
    StageInfo stage;
    Object layout = 0;
    Object base = 0;
    int32_t base_index = -1;
};

struct CacheInfo {
    int32_t type = 17;
    const void *next = nullptr;
    Flags flags = 0;
    size_t bytes = 0;
    const void *data = nullptr;
};

struct QueryInfo {
    int32_t type = 11;
    const void *next = nullptr;
    Flags flags = 0;
    int32_t kind = 2;  // time stamps
    uint32_t count = 0;
    Flags statistics = 0;
};

#ifdef _WIN32
#define QD_VK __stdcall
#else
#define QD_VK
#endif

using Function = void (QD_VK *)();
using GetInstanceProc = Function (QD_VK *)(Handle, const char *);

// name, result, parameters. Those of the instance:
#define QD_VK_INSTANCE(X) \
    X(vkDestroyInstance, void, (Handle, const void *)) \
    X(vkEnumeratePhysicalDevices, Status, (Handle, uint32_t *, Handle *)) \
    X(vkGetPhysicalDeviceProperties, void, (Handle, void *)) \
    X(vkGetPhysicalDeviceProperties2, void, (Handle, void *)) \
    X(vkGetPhysicalDeviceFeatures2, void, (Handle, void *)) \
    X(vkGetPhysicalDeviceMemoryProperties, void, (Handle, MemoryProperties *)) \
    X(vkGetPhysicalDeviceMemoryProperties2, void, (Handle, Memory2 *)) \
    X(vkGetPhysicalDeviceQueueFamilyProperties, void, (Handle, uint32_t *, QueueFamily *)) \
    X(vkEnumerateDeviceExtensionProperties, Status, (Handle, const char *, uint32_t *, ExtensionProperties *)) \
    X(vkCreateDevice, Status, (Handle, const DeviceInfo *, const void *, Handle *)) \
    X(vkGetDeviceProcAddr, Function, (Handle, const char *))

// and those of a device:
#define QD_VK_DEVICE(X) \
    X(vkDestroyDevice, void, (Handle, const void *)) \
    X(vkGetDeviceQueue, void, (Handle, uint32_t, uint32_t, Handle *)) \
    X(vkCreateBuffer, Status, (Handle, const BufferInfo *, const void *, Object *)) \
    X(vkDestroyBuffer, void, (Handle, Object, const void *)) \
    X(vkGetBufferMemoryRequirements, void, (Handle, Object, MemoryRequirements *)) \
    X(vkAllocateMemory, Status, (Handle, const AllocateInfo *, const void *, Object *)) \
    X(vkFreeMemory, void, (Handle, Object, const void *)) \
    X(vkBindBufferMemory, Status, (Handle, Object, Object, uint64_t)) \
    X(vkMapMemory, Status, (Handle, Object, uint64_t, uint64_t, Flags, void **)) \
    X(vkGetBufferDeviceAddress, uint64_t, (Handle, const AddressInfo *)) \
    X(vkCreateCommandPool, Status, (Handle, const PoolInfo *, const void *, Object *)) \
    X(vkDestroyCommandPool, void, (Handle, Object, const void *)) \
    X(vkAllocateCommandBuffers, Status, (Handle, const CommandsInfo *, Handle *)) \
    X(vkBeginCommandBuffer, Status, (Handle, const BeginInfo *)) \
    X(vkEndCommandBuffer, Status, (Handle)) \
    X(vkCmdBindPipeline, void, (Handle, int32_t, Object)) \
    X(vkCmdPushConstants, void, (Handle, Object, Flags, uint32_t, uint32_t, const void *)) \
    X(vkCmdDispatchBase, void, (Handle, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t)) \
    X(vkCmdPipelineBarrier, void, (Handle, Flags, Flags, Flags, uint32_t, const Barrier *, uint32_t, const void *, \
                                   uint32_t, const void *)) \
    X(vkCmdCopyBuffer, void, (Handle, Object, Object, uint32_t, const Region *)) \
    X(vkCmdUpdateBuffer, void, (Handle, Object, uint64_t, uint64_t, const void *)) \
    X(vkCmdFillBuffer, void, (Handle, Object, uint64_t, uint64_t, uint32_t)) \
    X(vkCmdResetQueryPool, void, (Handle, Object, uint32_t, uint32_t)) \
    X(vkCmdWriteTimestamp, void, (Handle, Flags, Object, uint32_t)) \
    X(vkCreateQueryPool, Status, (Handle, const QueryInfo *, const void *, Object *)) \
    X(vkDestroyQueryPool, void, (Handle, Object, const void *)) \
    X(vkGetQueryPoolResults, Status, (Handle, Object, uint32_t, uint32_t, size_t, void *, uint64_t, Flags)) \
    X(vkCreateSemaphore, Status, (Handle, const SemaphoreInfo *, const void *, Object *)) \
    X(vkDestroySemaphore, void, (Handle, Object, const void *)) \
    X(vkGetSemaphoreCounterValue, Status, (Handle, Object, uint64_t *)) \
    X(vkWaitSemaphores, Status, (Handle, const WaitInfo *, uint64_t)) \
    X(vkQueueSubmit, Status, (Handle, uint32_t, const SubmitInfo *, Object)) \
    X(vkCreatePipelineLayout, Status, (Handle, const LayoutInfo *, const void *, Object *)) \
    X(vkDestroyPipelineLayout, void, (Handle, Object, const void *)) \
    X(vkCreateShaderModule, Status, (Handle, const ModuleInfo *, const void *, Object *)) \
    X(vkDestroyShaderModule, void, (Handle, Object, const void *)) \
    X(vkCreateComputePipelines, Status, (Handle, Object, uint32_t, const PipelineInfo *, const void *, Object *)) \
    X(vkDestroyPipeline, void, (Handle, Object, const void *)) \
    X(vkCreatePipelineCache, Status, (Handle, const CacheInfo *, const void *, Object *)) \
    X(vkDestroyPipelineCache, void, (Handle, Object, const void *)) \
    X(vkGetPipelineCacheData, Status, (Handle, Object, size_t *, void *)) \
    X(vkMergePipelineCaches, Status, (Handle, Object, uint32_t, const Object *))

#define QD_VK_MEMBER(name, result, parameters) result(QD_VK *name) parameters = nullptr;

struct InstanceEntries {
    QD_VK_INSTANCE(QD_VK_MEMBER)
};

struct DeviceEntries {
    QD_VK_DEVICE(QD_VK_MEMBER)
};

#undef QD_VK_MEMBER

}  // namespace vulkan
}  // namespace qd
