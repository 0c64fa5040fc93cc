#include "driver_vulkan.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#include "vulkan_device.hpp"

namespace qd {
namespace vulkan {

bool (*interrupted)() = nullptr;

constexpr uint32_t block_row = 65535;  // blocks along the first axis, on every device

// Rows of blocks, and what is left.
void dispatch(Device &device, Handle commands, uint32_t blocks) {
    const uint32_t rows = blocks / block_row, rest = blocks % block_row;
    if (rows) device.vk().vkCmdDispatchBase(commands, 0, 0, 0, block_row, rows, 1);
    if (rest) device.vk().vkCmdDispatchBase(commands, 0, rows, 0, rest, 1, 1);
}

namespace {

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
            // Grids need not be exact.
            *value = found.kind == 4 ? std::max(1u, std::thread::hardware_concurrency()) : found.units ? found.units : 64;
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

int allow_shared(void *, void *, uint32_t) { return 0; }

// The interface does not say.
int residency(void *, int32_t *blocks, void *, uint32_t, uint32_t) {
    *blocks = 8;
    return 0;
}

int launch(void *self, void *handle, uint32_t grid, uint32_t, uint32_t, void *, void **params) {
    const Pipeline &pipeline = *static_cast<Pipeline *>(handle);
    Device &device = of(self);
    Gate alone(device.gate);
    Status status;
    const Handle commands = device.queue.commands(&status);
    if (status) return status;
    if (device.queue.bound != pipeline.object) {
        device.vk().vkCmdBindPipeline(commands, 1, pipeline.object);
        device.queue.bound = pipeline.object;
    }
    alignas(8) char pushed[128];
    const size_t bytes = pipeline.block_bytes ? pipeline.block_bytes : sizeof(uint64_t);
    std::memcpy(pushed, params[1], sizeof(uint64_t));
    std::memcpy(pushed + sizeof(uint64_t), params[0], bytes);
    const uint32_t size = static_cast<uint32_t>(sizeof(uint64_t) + bytes + 3) / 4 * 4;
    device.vk().vkCmdPushConstants(commands, device.layout, 0x20, 0, size, pushed);
    dispatch(device, commands, grid);
    device.queue.barrier(at_compute, at_compute, shader_writes, shader_reads | shader_writes);
    device.queue.remember(pipeline.name);
    return device.queue.recorded();
}

int submit(void *self, void *) {
    Device &device = of(self);
    Gate alone(device.gate);
    return device.queue.offer();
}

int allocate(void *self, uint64_t *address, size_t bytes) {
    Device &device = of(self);
    const size_t wanted = std::max<size_t>(bytes, 1);
    Gate alone(device.gate);
    device.blocks.status = 0;
    *address = device.pool.allocate(wanted);
    if (*address) return 0;
    // What was freed may be in use still.
    alone.unlock();
    const Status status = device.finish();
    if (status) return status;
    alone.lock();
    if (device.pool.trim()) *address = device.pool.allocate(wanted);
    if (*address) return 0;
    device.lack = device.blocks.lack();
    return device.blocks.status ? device.blocks.status : no_device_memory;
}

// Work that was asked for before may use the memory still. What comes after it is behind that work, also where it gets
// the same memory; only the driver must not get it back.
int release(void *self, uint64_t address) {
    Device &device = of(self);
    Gate alone(device.gate);
    const Status status = device.pool.is_alone(address) ? device.queue.wait() : 0;
    device.pool.release(address);
    return status;
}

int synchronize(void *self, void *) { return of(self).finish(); }

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

const char *describe(void *self, int status) {
    static thread_local std::string text;
    if (!self) return name_of(status);
    Device &device = of(self);
    Gate alone(device.gate);
    text = name_of(status);
    if (status == no_device_memory && !device.lack.empty()) text = device.lack;
    if (status == device_lost) {
        text += " while running " + device.queue.last_tasks() +
                ": mostly an access out of range, or a time limit; run with qd.init(debug=True). qd.init() starts anew";
    }
    return text.c_str();
}

void close(void *self) {
    std::unique_ptr<Device> device(&of(self));
    device->queue.close();
    if (device->staging.buffer) device->host_blocks.destroy(device->staging);
    for (Object mover : device->movers) device->vk().vkDestroyPipeline(device->handle(), mover, nullptr);
    device->vk().vkDestroyQueryPool(device->handle(), device->stamps, nullptr);
    device->vk().vkDestroyPipelineCache(device->handle(), device->cache, nullptr);
    device->vk().vkDestroyPipelineLayout(device->handle(), device->layout, nullptr);
}

Status prepare(Device &device) {
    const PushRange range;
    LayoutInfo layout;
    layout.range = &range;
    Status status = device.queue.open();
    if (status == 0) status = device.vk().vkCreatePipelineLayout(device.handle(), &layout, nullptr, &device.layout);
    const CacheInfo nothing;
    if (status == 0) status = device.vk().vkCreatePipelineCache(device.handle(), &nothing, nullptr, &device.cache);
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
    event_destroy, nullptr, nullptr, describe, close, nullptr, submit, address_of_host,
};

void *open(const Wishes &wishes, const char **why) {
    Status status = 0;
    const std::shared_ptr<Opened> found = opened(wishes.number, &status, why);
    if (!found) {
        if (!*why) *why = describe(nullptr, status);
        return nullptr;
    }
    auto made = std::make_unique<Device>(found, wishes.timing, wishes.staged, wishes.moves, wishes.threads);
    status = prepare(*made);
    if (status == 0) return made.release();
    *why = describe(nullptr, status);
    return nullptr;
}

}  // namespace vulkan
}  // namespace qd
