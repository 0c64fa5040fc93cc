#include "driver_vulkan.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "vulkan_memory.hpp"
#include "vulkan_names.hpp"
#include "vulkan_queue.hpp"

namespace qd {
namespace vulkan {
namespace {

constexpr uint32_t block_row = 65535;          // blocks along the first axis, on every device
constexpr size_t staging_bytes = size_t(4) << 20;
constexpr size_t inline_bytes = 65536;         // the most that commands carry along
constexpr uint32_t time_stamps = 4096;

struct Device {
    std::shared_ptr<Opened> opened;
    bool timing;
    std::mutex gate;  // of all that follows
    Queue queue;
    Blocks blocks;
    qd::Pool<BlockSource> pool;
    Block staging;
    Object layout = 0, cache = 0, stamps = 0;
    std::vector<uint32_t> free_stamps;

    Device(const std::shared_ptr<Opened> &found, bool timing, bool staged)
        : opened(found), timing(timing), queue(found.get()), blocks(found, staged), pool(BlockSource{&blocks}) {}

    const DeviceEntries &vk() const { return opened->vk; }
    Handle handle() const { return opened->device; }
};

Device &of(void *self) { return *static_cast<Device *>(self); }

struct Function {
    Object pipeline;
    uint32_t block_bytes;  // of the arguments, which are pushed; 0 where their address is
};

struct Code {
    std::string name;
    std::vector<uint32_t> words;
};

struct Module {
    uint32_t block_bytes;
    std::vector<Code> tasks;
    std::vector<std::unique_ptr<Function>> functions;
};

int count(void *, int32_t *devices) {
    *devices = 1;
    return 0;
}

int open_device(void *) { return 0; }

int attribute(void *self, int64_t *value, int32_t which) {
    const Found &found = *of(self).opened->found;
    *value = 0;
    switch (which) {
        case QD_MULTIPROCESSORS:
            // The interface does not tell; grids need not be exact.
            *value = found.kind == 4 ? std::max(1u, std::thread::hardware_concurrency()) : 64;
            return 0;
        case QD_MAX_THREADS_PER_BLOCK: *value = found.block_threads; return 0;
        case QD_MAX_SHARED_BYTES: *value = found.shared_bytes; return 0;
        case QD_COMPUTE_CAPABILITY: return 0;
        case QD_CLOCK_KHZ: return 0;
        case QD_ARGUMENT_BYTES: *value = 120; return 0;
        default: return out_of_range;
    }
}

int device_name(void *self, char *text, size_t size) {
    std::snprintf(text, size, "%s", of(self).opened->found->name.c_str());
    return 0;
}

// image: tasks, bytes of the arguments that are pushed; for each task the bytes of its name and of its code, then both,
// filled up to words.
int load(void *, void **module, const void *image) {
    const uint32_t *at = static_cast<const uint32_t *>(image);
    auto made = std::make_unique<Module>();
    const uint32_t tasks = at[0];
    made->block_bytes = at[1];
    at += 2;
    for (uint32_t k = 0; k < tasks; ++k) {
        const uint32_t name = at[0], code = at[1];
        at += 2;
        Code task;
        task.name.assign(reinterpret_cast<const char *>(at), name);
        at += (name + 3) / 4;
        task.words.assign(at, at + code / 4);
        at += code / 4;
        made->tasks.push_back(std::move(task));
    }
    *module = made.release();
    return 0;
}

Status make_pipeline(Device &device, const Code &task, Object *pipeline) {
    ModuleInfo info;
    info.bytes = 4 * task.words.size();
    info.code = task.words.data();
    PipelineInfo wanted;
    Status status = device.vk().vkCreateShaderModule(device.handle(), &info, nullptr, &wanted.stage.module);
    if (status) return status;
    wanted.layout = device.layout;
    status = device.vk().vkCreateComputePipelines(device.handle(), device.cache, 1, &wanted, nullptr, pipeline);
    device.vk().vkDestroyShaderModule(device.handle(), wanted.stage.module, nullptr);
    return status;
}

int function(void *self, void **found, void *handle, const char *name) {
    auto &module = *static_cast<Module *>(handle);
    for (const Code &task : module.tasks) {
        if (task.name != name) continue;
        auto made = std::make_unique<Function>(Function{0, module.block_bytes});
        const Status status = make_pipeline(of(self), task, &made->pipeline);
        if (status) return status;
        *found = made.get();
        module.functions.push_back(std::move(made));
        return 0;
    }
    return out_of_range;
}

int unload(void *self, void *handle) {
    std::unique_ptr<Module> module(static_cast<Module *>(handle));
    Device &device = of(self);
    std::lock_guard<std::mutex> alone(device.gate);
    const Status status = device.queue.wait();
    for (const auto &made : module->functions) {
        device.vk().vkDestroyPipeline(device.handle(), made->pipeline, nullptr);
    }
    return status;
}

int allow_shared(void *, void *, uint32_t) { return 0; }

// The interface does not say.
int residency(void *, int32_t *blocks, void *, uint32_t, uint32_t) {
    *blocks = 8;
    return 0;
}

// Rows of blocks, and what is left.
void dispatch(Device &device, Handle commands, uint32_t blocks) {
    const uint32_t rows = blocks / block_row, rest = blocks % block_row;
    if (rows) device.vk().vkCmdDispatchBase(commands, 0, 0, 0, block_row, rows, 1);
    if (rest) device.vk().vkCmdDispatchBase(commands, 0, rows, 0, rest, 1, 1);
}

int launch(void *self, void *handle, uint32_t grid, uint32_t, uint32_t, void *, void **params) {
    const Function &function = *static_cast<Function *>(handle);
    Device &device = of(self);
    std::lock_guard<std::mutex> alone(device.gate);
    Status status;
    const Handle commands = device.queue.commands(&status);
    if (status) return status;
    if (device.queue.bound != function.pipeline) {
        device.vk().vkCmdBindPipeline(commands, 1, function.pipeline);
        device.queue.bound = function.pipeline;
    }
    alignas(8) char pushed[128];
    const size_t bytes = function.block_bytes ? function.block_bytes : sizeof(uint64_t);
    std::memcpy(pushed, params[1], sizeof(uint64_t));
    std::memcpy(pushed + sizeof(uint64_t), params[0], bytes);
    const uint32_t size = static_cast<uint32_t>(sizeof(uint64_t) + bytes + 3) / 4 * 4;
    device.vk().vkCmdPushConstants(commands, device.layout, 0x20, 0, size, pushed);
    dispatch(device, commands, grid);
    device.queue.barrier(at_compute, at_compute, shader_writes, shader_reads | shader_writes);
    return device.queue.recorded();
}

int allocate(void *self, uint64_t *address, size_t bytes) {
    Device &device = of(self);
    std::lock_guard<std::mutex> alone(device.gate);
    device.blocks.status = 0;
    *address = device.pool.allocate(std::max<size_t>(bytes, 1));
    if (*address) return 0;
    return device.blocks.status ? device.blocks.status : no_device_memory;
}

// Work that was asked for before may use the memory still.
int release(void *self, uint64_t address) {
    Device &device = of(self);
    std::lock_guard<std::mutex> alone(device.gate);
    const Status status = device.queue.wait();
    device.pool.release(address);
    return status;
}

int allocate_host(void *, void **address, size_t bytes) {
    *address = std::malloc(std::max<size_t>(bytes, 1));
    return *address ? 0 : no_host_memory;
}

int release_host(void *, void *address) {
    std::free(address);
    return 0;
}

// A place in a buffer.
struct Place {
    const Block *block;
    uint64_t offset;
};

Place place_of(Device &device, uint64_t address) {
    const Block *block = device.blocks.at(address);
    return {block, block ? address - block->address : 0};
}

void before_copy(Device &device) {
    device.queue.barrier(at_compute | at_copy | at_host, at_copy, shader_writes | copy_writes | host_writes,
                         copy_reads | copy_writes);
}

void after_copy(Device &device) {
    device.queue.barrier(at_copy, at_compute | at_copy, copy_writes,
                         shader_reads | shader_writes | copy_reads | copy_writes);
}

Status copy_buffers(Device &device, Object target, uint64_t to, Object source, uint64_t from, uint64_t bytes) {
    Status status;
    const Handle commands = device.queue.commands(&status);
    if (status) return status;
    before_copy(device);
    const Region region{from, to, bytes};
    device.vk().vkCmdCopyBuffer(commands, source, target, 1, &region);
    after_copy(device);
    return device.queue.recorded();
}

// Memory that the host writes and reads for copies by the device, made when it is first needed.
Status staging(Device &device) {
    if (device.staging.buffer) return 0;
    int type = device.blocks.type_with(host_visible | coherent, cached, 0);
    Status status = device.blocks.make(staging_bytes, type, &device.staging);
    if (status == 0 && !device.staging.host) status = device.blocks.map(&device.staging);
    return status;
}

int to_device(void *self, uint64_t target, const void *source, size_t bytes, void *) {
    if (bytes == 0) return 0;
    Device &device = of(self);
    std::lock_guard<std::mutex> alone(device.gate);
    const Place place = place_of(device, target);
    if (!place.block) return out_of_range;
    if (bytes <= inline_bytes && (bytes | place.offset) % 4 == 0) {
        Status status;
        const Handle commands = device.queue.commands(&status);
        if (status) return status;
        before_copy(device);
        device.vk().vkCmdUpdateBuffer(commands, place.block->buffer, place.offset, bytes, source);
        after_copy(device);
        return device.queue.recorded();
    }
    if (place.block->host) {
        const Status status = device.queue.wait();
        if (status == 0) std::memcpy(place.block->host + place.offset, source, bytes);
        return status;
    }
    Status status = staging(device);
    for (size_t at = 0; status == 0 && at < bytes; at += staging_bytes) {
        const size_t part = std::min(staging_bytes, bytes - at);
        status = device.queue.wait();
        if (status) break;
        std::memcpy(device.staging.host, static_cast<const char *>(source) + at, part);
        status = copy_buffers(device, place.block->buffer, place.offset + at, device.staging.buffer, 0, part);
    }
    return status;
}

int to_host(void *self, void *target, uint64_t source, size_t bytes, void *) {
    Device &device = of(self);
    std::lock_guard<std::mutex> alone(device.gate);
    if (bytes == 0) return 0;
    const Place place = place_of(device, source);
    if (!place.block) return out_of_range;
    if (place.block->host) {
        const Status status = device.queue.wait();
        if (status == 0) std::memcpy(target, place.block->host + place.offset, bytes);
        return status;
    }
    Status status = staging(device);
    for (size_t at = 0; status == 0 && at < bytes; at += staging_bytes) {
        const size_t part = std::min(staging_bytes, bytes - at);
        status = copy_buffers(device, device.staging.buffer, 0, place.block->buffer, place.offset + at, part);
        if (status == 0) status = device.queue.wait();
        if (status == 0) std::memcpy(static_cast<char *>(target) + at, device.staging.host, part);
    }
    return status;
}

int on_device(void *self, uint64_t target, uint64_t source, size_t bytes, void *) {
    if (bytes == 0 || target == source) return 0;
    Device &device = of(self);
    std::lock_guard<std::mutex> alone(device.gate);
    const Place to = place_of(device, target), from = place_of(device, source);
    if (!to.block || !from.block) return out_of_range;
    return copy_buffers(device, to.block->buffer, to.offset, from.block->buffer, from.offset, bytes);
}

int fill(void *self, uint64_t target, uint8_t value, size_t bytes, void *stream) {
    if (bytes == 0) return 0;
    // What is no whole word at the ends is written as numbers of the host.
    const size_t head = std::min<size_t>((4 - target % 4) % 4, bytes), tail = (bytes - head) % 4;
    const size_t body = bytes - head - tail;
    const uint8_t few[4] = {value, value, value, value};
    Status status = head ? to_device(self, target, few, head, stream) : 0;
    if (status == 0 && tail) status = to_device(self, target + head + body, few, tail, stream);
    if (status || body == 0) return status;
    Device &device = of(self);
    std::lock_guard<std::mutex> alone(device.gate);
    const Place place = place_of(device, target + head);
    if (!place.block) return out_of_range;
    const Handle commands = device.queue.commands(&status);
    if (status) return status;
    before_copy(device);
    device.vk().vkCmdFillBuffer(commands, place.block->buffer, place.offset, body, value * 0x01010101u);
    after_copy(device);
    return device.queue.recorded();
}

int synchronize(void *self, void *) {
    Device &device = of(self);
    std::lock_guard<std::mutex> alone(device.gate);
    return device.queue.wait();
}

// All streams are the one queue: its order is one that theirs allows.
int stream_create(void *, void **stream) {
    *stream = new char;
    return 0;
}

int stream_destroy(void *self, void *stream) {
    const Status status = synchronize(self, nullptr);
    delete static_cast<char *>(stream);
    return status;
}

struct Event {
    uint64_t value = 0;  // of the timeline, once it was recorded
    uint32_t stamp = time_stamps;
};

Event &event_of(void *event) { return *static_cast<Event *>(event); }

int event_create(void *self, void **event, int32_t timing) {
    Device &device = of(self);
    std::lock_guard<std::mutex> alone(device.gate);
    auto made = std::make_unique<Event>();
    if (timing && device.stamps && !device.free_stamps.empty()) {
        made->stamp = device.free_stamps.back();
        device.free_stamps.pop_back();
    }
    *event = made.release();
    return 0;
}

int event_record(void *self, void *handle, void *) {
    Event &event = event_of(handle);
    Device &device = of(self);
    std::lock_guard<std::mutex> alone(device.gate);
    Status status = 0;
    if (event.stamp < time_stamps) {
        const Handle commands = device.queue.commands(&status);
        if (status) return status;
        device.vk().vkCmdResetQueryPool(commands, device.stamps, event.stamp, 1);
        device.vk().vkCmdWriteTimestamp(commands, at_end, device.stamps, event.stamp);
    }
    status = device.queue.submit();
    event.value = device.queue.submitted();
    return status;
}

int event_wait(void *, void *, void *) { return 0; }

int event_synchronize(void *self, void *handle) {
    Device &device = of(self);
    std::lock_guard<std::mutex> alone(device.gate);
    return device.queue.wait_for(event_of(handle).value);
}

int event_milliseconds(void *self, float *between, void *begin, void *end) {
    Device &device = of(self);
    const Event *events[2] = {&event_of(begin), &event_of(end)};
    uint64_t times[2] = {0, 0};
    *between = 0;
    std::lock_guard<std::mutex> alone(device.gate);
    Status status = device.queue.wait();
    for (int at = 0; status == 0 && at < 2; ++at) {
        if (events[at]->stamp >= time_stamps) return 0;
        constexpr Flags wide_and_wait = 1 | 2;
        status = device.vk().vkGetQueryPoolResults(device.handle(), device.stamps, events[at]->stamp, 1,
                                                   sizeof(uint64_t), &times[at], sizeof(uint64_t), wide_and_wait);
    }
    const double ticks = static_cast<double>(static_cast<int64_t>(times[1] - times[0]));
    *between = static_cast<float>(1e-6 * device.opened->found->tick * ticks);
    return status;
}

int event_destroy(void *self, void *handle) {
    std::unique_ptr<Event> ended(&event_of(handle));
    Device &device = of(self);
    std::lock_guard<std::mutex> alone(device.gate);
    if (ended->stamp < time_stamps) device.free_stamps.push_back(ended->stamp);
    return 0;
}

void close(void *self) {
    std::unique_ptr<Device> device(&of(self));
    device->queue.close();
    if (device->staging.buffer) device->blocks.destroy(device->staging);
    device->vk().vkDestroyQueryPool(device->handle(), device->stamps, nullptr);
    device->vk().vkDestroyPipelineCache(device->handle(), device->cache, nullptr);
    device->vk().vkDestroyPipelineLayout(device->handle(), device->layout, nullptr);
}

Status prepare(Device &device, const void *cache, size_t bytes) {
    const PushRange range;
    LayoutInfo layout;
    layout.range = &range;
    Status status = device.queue.open();
    if (status == 0) status = device.vk().vkCreatePipelineLayout(device.handle(), &layout, nullptr, &device.layout);
    CacheInfo kept;
    kept.bytes = bytes;
    kept.data = cache;
    if (status == 0) status = device.vk().vkCreatePipelineCache(device.handle(), &kept, nullptr, &device.cache);
    if (status || !device.timing || !device.opened->found->timed) return status;
    QueryInfo stamps;
    stamps.count = time_stamps;
    for (uint32_t k = time_stamps; k > 0; --k) device.free_stamps.push_back(k - 1);
    return device.vk().vkCreateQueryPool(device.handle(), &stamps, nullptr, &device.stamps);
}

}  // namespace

const qd_device_api table = {
    "vulkan", count, open_device, attribute, device_name, load, function, unload, allow_shared, residency, launch,
    nullptr, allocate, release, allocate_host, release_host, to_device, to_host, on_device, fill, synchronize,
    stream_create, stream_destroy, event_create, event_record, event_wait, event_synchronize, event_milliseconds,
    event_destroy, nullptr, nullptr, describe, close,
};

void *open(size_t number, bool timing, bool staged, const void *cache, size_t bytes, const char **why) {
    Status status = 0;
    const std::shared_ptr<Opened> found = opened(number, &status, why);
    if (!found) {
        if (!*why) *why = describe(nullptr, status);
        return nullptr;
    }
    auto made = std::make_unique<Device>(found, timing, staged);
    status = prepare(*made, cache, bytes);
    if (status == 0) return made.release();
    *why = describe(nullptr, status);
    return nullptr;
}

std::vector<char> pipeline_cache(void *opened) {
    Device &device = of(opened);
    size_t bytes = 0;
    if (device.vk().vkGetPipelineCacheData(device.handle(), device.cache, &bytes, nullptr) != 0) return {};
    std::vector<char> data(bytes);
    if (device.vk().vkGetPipelineCacheData(device.handle(), device.cache, &bytes, data.data()) != 0) return {};
    data.resize(bytes);
    return data;
}

}  // namespace vulkan
}  // namespace qd
