/* Stands between the driver and the loader of the system, which STANDIN_LOADER names: counts calls, and has some fail or
 * answer otherwise, as the numbers below say. Tests reach both by ctypes. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

/* Set by tests. */
__attribute__((visibility("default"))) int standin_lost_after = -1;       /* submissions until the device is lost */
__attribute__((visibility("default"))) int standin_refuse_memory = 0;     /* allocations that fail from now on */
__attribute__((visibility("default"))) unsigned standin_least = 0, standin_most = 0; /* widths of subgroups; 0: true ones */
__attribute__((visibility("default"))) unsigned standin_cache_bytes = 0;  /* what a pipeline cache pretends to have */
__attribute__((visibility("default"))) int standin_misuse = 0;            /* the next submission makes an empty buffer */
/* Read by tests. */
__attribute__((visibility("default"))) int standin_submissions, standin_waits, standin_allocations, standin_stamps;
__attribute__((visibility("default"))) int standin_pipelines, standin_sized, standin_full, standin_merged;
__attribute__((visibility("default"))) unsigned standin_taken;

static PFN_vkGetInstanceProcAddr real_instance;
static PFN_vkGetDeviceProcAddr real_device;
static int lost;

#define REAL(name) ((PFN_##name)real_device(standin_device, #name))
static VkDevice standin_device;

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence) {
    ++standin_submissions;
    if (standin_misuse) {
        const VkBufferCreateInfo empty = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
        VkBuffer made = VK_NULL_HANDLE;
        standin_misuse = 0;
        if (REAL(vkCreateBuffer)(standin_device, &empty, NULL, &made) == VK_SUCCESS) {
            REAL(vkDestroyBuffer)(standin_device, made, NULL);
        }
    }
    if (lost || (standin_lost_after >= 0 && standin_lost_after-- == 0)) {
        lost = 1;
        return VK_ERROR_DEVICE_LOST;
    }
    return REAL(vkQueueSubmit)(queue, count, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_for(VkDevice device, const VkSemaphoreWaitInfo *info, uint64_t time) {
    ++standin_waits;
    return lost ? VK_ERROR_DEVICE_LOST : REAL(vkWaitSemaphores)(device, info, time);
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *how, VkDeviceMemory *made) {
    ++standin_allocations;
    if (standin_refuse_memory > 0) {
        --standin_refuse_memory;
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    return REAL(vkAllocateMemory)(device, info, how, made);
}

static VKAPI_ATTR void VKAPI_CALL stamp(VkCommandBuffer to, VkPipelineStageFlagBits at, VkQueryPool pool, uint32_t query) {
    ++standin_stamps;
    REAL(vkCmdWriteTimestamp)(to, at, pool, query);
}

static VKAPI_ATTR VkResult VKAPI_CALL pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                const VkComputePipelineCreateInfo *infos,
                                                const VkAllocationCallbacks *how, VkPipeline *made) {
    VkComputePipelineCreateInfo info = infos[0];
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo *width = info.stage.pNext;
    __atomic_fetch_add(&standin_pipelines, 1, __ATOMIC_RELAXED);
    if (width) standin_sized = (int)width->requiredSubgroupSize;
    if (info.stage.flags & VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT) ++standin_full;
    if (standin_most) {
        info.stage.pNext = NULL;
        info.stage.flags = 0;
    }
    return REAL(vkCreateComputePipelines)(device, cache, count, &info, how, made);
}

static VKAPI_ATTR VkResult VKAPI_CALL cache_data(VkDevice device, VkPipelineCache cache, size_t *bytes, void *data) {
    size_t head = 32;
    if (!standin_cache_bytes) return REAL(vkGetPipelineCacheData)(device, cache, bytes, data);
    if (data) {
        memset(data, 7, *bytes);
        VkResult status = REAL(vkGetPipelineCacheData)(device, cache, &head, data);
        if (status != VK_SUCCESS) return status;
    }
    *bytes = standin_cache_bytes;
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL make_cache(VkDevice device, const VkPipelineCacheCreateInfo *info,
                                                 const VkAllocationCallbacks *how, VkPipelineCache *made) {
    VkPipelineCacheCreateInfo empty = *info;
    if (info->initialDataSize) standin_taken = (unsigned)info->initialDataSize;
    empty.initialDataSize = 0;
    return REAL(vkCreatePipelineCache)(device, &empty, how, made);
}

static VKAPI_ATTR VkResult VKAPI_CALL merge(VkDevice device, VkPipelineCache to, uint32_t count,
                                            const VkPipelineCache *from) {
    ++standin_merged;
    return REAL(vkMergePipelineCaches)(device, to, count, from);
}

static PFN_vkGetPhysicalDeviceProperties2 real_properties;

static VKAPI_ATTR void VKAPI_CALL told_properties(VkPhysicalDevice physical, VkPhysicalDeviceProperties2 *asked) {
    real_properties(physical, asked);
    for (VkBaseOutStructure *at = (VkBaseOutStructure *)asked; at && standin_most; at = at->pNext) {
        if (at->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES) continue;
        ((VkPhysicalDeviceSubgroupSizeControlProperties *)at)->minSubgroupSize = standin_least;
        ((VkPhysicalDeviceSubgroupSizeControlProperties *)at)->maxSubgroupSize = standin_most;
    }
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL of_device(VkDevice device, const char *name) {
    static const struct {
        const char *name;
        PFN_vkVoidFunction ours;
    } all[] = {
        {"vkQueueSubmit", (PFN_vkVoidFunction)submit},
        {"vkWaitSemaphores", (PFN_vkVoidFunction)wait_for},
        {"vkAllocateMemory", (PFN_vkVoidFunction)allocate},
        {"vkCmdWriteTimestamp", (PFN_vkVoidFunction)stamp},
        {"vkCreateComputePipelines", (PFN_vkVoidFunction)pipelines},
        {"vkGetPipelineCacheData", (PFN_vkVoidFunction)cache_data},
        {"vkCreatePipelineCache", (PFN_vkVoidFunction)make_cache},
        {"vkMergePipelineCaches", (PFN_vkVoidFunction)merge},
    };
    if (standin_device != device) lost = 0;
    standin_device = device;
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
        if (strcmp(all[k].name, name) == 0) return all[k].ours;
    }
    return real_device(device, name);
}

__attribute__((visibility("default"))) VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance,
                                                                                                     const char *name) {
    if (!real_instance) {
        void *library = dlopen(getenv("STANDIN_LOADER"), RTLD_NOW | RTLD_LOCAL);
        if (!library) return NULL;
        real_instance = (PFN_vkGetInstanceProcAddr)dlsym(library, "vkGetInstanceProcAddr");
    }
    PFN_vkVoidFunction found = real_instance(instance, name);
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
        real_device = (PFN_vkGetDeviceProcAddr)found;
        return (PFN_vkVoidFunction)of_device;
    }
    if (strcmp(name, "vkGetPhysicalDeviceProperties2") == 0) {
        real_properties = (PFN_vkGetPhysicalDeviceProperties2)found;
        return (PFN_vkVoidFunction)told_properties;
    }
    return found;
}
