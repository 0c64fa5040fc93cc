#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "driver_vulkan.hpp"
#include "vulkan_device.hpp"

namespace qd {
namespace vulkan {
namespace {

struct Module {
    std::vector<Pipeline> pipelines;
};

// Names stay: they are told when a device is lost, perhaps by a kernel that is gone.
const char *kept_name(const char *text, size_t bytes) {
    static std::mutex gate;
    static std::set<std::string> names;
    std::lock_guard<std::mutex> alone(gate);
    return names.emplace(text, bytes).first->c_str();
}

// What a module says of itself.
struct Needs {
    bool lanes = false;  // its threads exchange values as lanes of a subgroup
    uint32_t threads = 0;
};

Needs needs_of(const Task &task) {
    constexpr uint32_t header = 5, capability = 17, first_of_lanes = 61, last_of_lanes = 68;
    constexpr uint32_t execution_mode = 16, local_size = 17, function = 54;
    Needs found;
    for (size_t at = header; at < task.count;) {
        const uint32_t op = task.words[at] & 0xffff, words = task.words[at] >> 16;
        if (op == function || words == 0) break;
        if (op == capability) found.lanes |= task.words[at + 1] >= first_of_lanes && task.words[at + 1] <= last_of_lanes;
        if (op == execution_mode && task.words[at + 2] == local_size) found.threads = task.words[at + 3];
        at += words;
    }
    return found;
}

// All of them, by some threads. The status of one that failed.
Status make_pipelines(Device &device, const std::vector<Task> &tasks, Module *made) {
    std::atomic<size_t> next{0};
    std::atomic<Status> failed{0};
    const auto work = [&] {
        for (size_t at; (at = next++) < tasks.size() && !failed;) {
            const Status status = make_pipeline(device, tasks[at], &made->pipelines[at].object);
            if (status) failed = status;
        }
    };
    std::vector<std::thread> others;
    const size_t most = std::min<size_t>(device.threads, tasks.size());
    for (size_t k = 1; k < most; ++k) others.emplace_back(work);
    work();
    for (std::thread &other : others) other.join();
    return failed;
}

void destroy(Device &device, const Module &module) {
    for (const Pipeline &made : module.pipelines) {
        device.vk().vkDestroyPipeline(device.handle(), made.object, nullptr);
    }
}

}  // namespace

Status make_pipeline(Device &device, const Task &task, Object *pipeline) {
    ModuleInfo info;
    info.bytes = 4 * task.count;
    info.code = task.words;
    PipelineInfo wanted;
    SubgroupSize width;
    const Found &about = *device.opened->found;
    const Needs needs = needs_of(task);
    if (needs.lanes) {
        constexpr Flags full = 2;
        width.size = about.subgroup;
        if (about.sized) wanted.stage.next = &width;
        if (about.has("computeFullSubgroups") && needs.threads % about.subgroup == 0) wanted.stage.flags = full;
    }
    Status status = device.vk().vkCreateShaderModule(device.handle(), &info, nullptr, &wanted.stage.module);
    if (status) return status;
    wanted.layout = device.layout;
    status = device.vk().vkCreateComputePipelines(device.handle(), device.cache, 1, &wanted, nullptr, pipeline);
    device.vk().vkDestroyShaderModule(device.handle(), wanted.stage.module, nullptr);
    return status;
}

// image: tasks, bytes of the arguments that are pushed; for each task the bytes of its name and of its code, then both,
// filled up to words.
int load(void *self, void **module, const void *image) {
    Device &device = of(self);
    const uint32_t *at = static_cast<const uint32_t *>(image);
    const uint32_t count = at[0], block_bytes = at[1];
    auto made = std::make_unique<Module>();
    std::vector<Task> tasks;
    at += 2;
    for (uint32_t k = 0; k < count; ++k) {
        const uint32_t name = at[0], code = at[1];
        at += 2;
        Task task{kept_name(reinterpret_cast<const char *>(at), name), nullptr, code / 4};
        at += (name + 3) / 4;
        task.words = at;
        at += code / 4;
        tasks.push_back(task);
        made->pipelines.push_back({0, block_bytes, task.name});
    }
    const Status status = device.opened->lost ? device_lost : make_pipelines(device, tasks, made.get());
    if (status) {
        destroy(device, *made);
        return status;
    }
    *module = made.release();
    return 0;
}

int function(void *, void **found, void *handle, const char *name) {
    for (Pipeline &made : static_cast<Module *>(handle)->pipelines) {
        if (std::strcmp(made.name, name) != 0) continue;
        *found = &made;
        return 0;
    }
    return out_of_range;
}

int unload(void *self, void *handle) {
    std::unique_ptr<Module> module(static_cast<Module *>(handle));
    Device &device = of(self);
    Gate alone(device.gate);
    const Status status = device.queue.wait();
    destroy(device, *module);
    return status;
}

std::vector<char> pipeline_cache(void *opened, const void *more, size_t bytes) {
    Device &device = of(opened);
    const DeviceEntries &vk = device.vk();
    if (bytes) {
        CacheInfo info;
        info.bytes = bytes;
        info.data = more;
        Object other = 0;
        if (vk.vkCreatePipelineCache(device.handle(), &info, nullptr, &other) == 0) {
            vk.vkMergePipelineCaches(device.handle(), device.cache, 1, &other);
            vk.vkDestroyPipelineCache(device.handle(), other, nullptr);
        }
    }
    size_t size = 0;
    if (vk.vkGetPipelineCacheData(device.handle(), device.cache, &size, nullptr) != 0) return {};
    std::vector<char> data(size);
    if (vk.vkGetPipelineCacheData(device.handle(), device.cache, &size, data.data()) != 0) return {};
    data.resize(size);
    return data;
}

}  // namespace vulkan
}  // namespace qd
