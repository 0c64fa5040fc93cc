// An open device with Vulkan: what the functions of the driver's table are called with. Part of driver_vulkan.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "qd_device.h"
#include "vulkan_memory.hpp"
#include "vulkan_names.hpp"
#include "vulkan_queue.hpp"

namespace qd {
namespace vulkan {

using Gate = std::unique_lock<std::mutex>;

constexpr uint32_t time_stamps = 4096;
constexpr size_t host_block_bytes = size_t(1) << 20;

struct Device {
    std::shared_ptr<Opened> opened;
    bool timing;
    uint32_t threads;  // that make pipelines
    std::mutex gate;   // of all that follows
    Queue queue;
    Blocks blocks, host_blocks;
    qd::Pool<BlockSource> pool, host_pool;
    Block staging;
    Object layout = 0, cache = 0, stamps = 0;
    std::vector<uint32_t> free_stamps;
    bool moves;                          // whether large copies and fills are kernels
    std::atomic<bool> movers_asked{false}, has_movers{false};
    Object movers[2] = {};  // of copies, of fills
    std::string lack;       // of memory, when it was last asked for in vain

    Device(const std::shared_ptr<Opened> &found, bool timing, bool staged, bool moves, uint32_t threads)
        : opened(found), timing(timing), threads(threads), queue(found.get()),
          blocks(found, staged ? Purpose::staged : Purpose::data), host_blocks(found, Purpose::shared),
          pool(BlockSource{&blocks}), host_pool(BlockSource{&host_blocks}, host_block_bytes), moves(moves) {}

    const DeviceEntries &vk() const { return opened->vk; }
    Handle handle() const { return opened->device; }

    // Until all that was asked for so far is done. Nothing is held meanwhile, and signals are looked at.
    Status finish() {
        Gate alone(gate);
        Status status = queue.submit();
        queue.rest();
        const uint64_t value = queue.submitted();
        alone.unlock();
        return status ? status : queue.wait_for(value, true);
    }
};

inline Device &of(void *self) { return *static_cast<Device *>(self); }

struct Pipeline {
    Object object;
    uint32_t block_bytes;  // of the arguments, which are pushed; 0 where their address is
    const char *name;      // kept for ever
};

// The code of one task.
struct Task {
    const char *name;
    const uint32_t *words;
    size_t count;
};

// driver_vulkan.cpp
void dispatch(Device &device, Handle commands, uint32_t blocks);

// vulkan_pipelines.cpp
Status make_pipeline(Device &device, const Task &task, Object *pipeline);
int load(void *self, void **module, const void *image);
int function(void *self, void **found, void *module, const char *name);
int unload(void *self, void *module);

// vulkan_copies.cpp
int allocate_host(void *self, void **address, size_t bytes);
int release_host(void *self, void *address);
int address_of_host(void *self, uint64_t *address, const void *host);
int to_device(void *self, uint64_t target, const void *source, size_t bytes, void *stream);
int to_host(void *self, void *target, uint64_t source, size_t bytes, void *stream);
int on_device(void *self, uint64_t target, uint64_t source, size_t bytes, void *stream);
int fill(void *self, uint64_t target, uint8_t value, size_t bytes, void *stream);

// vulkan_moves.cpp: whether a kernel copies or fills that many bytes (places: the addresses, joined by |), and does so
// where it has the gate; value: what is filled in, null for a copy.
bool moves_by_kernel(Device &device, uint64_t places, size_t bytes);
Status move(Device &device, uint64_t target, uint64_t source, size_t bytes, const uint8_t *value);

// vulkan_events.cpp
int event_create(void *self, void **event, int32_t timing);
int event_record(void *self, void *event, void *stream);
int event_wait(void *self, void *event, void *stream);
int event_synchronize(void *self, void *event);
int event_milliseconds(void *self, float *between, void *begin, void *end);
int event_destroy(void *self, void *event);

}  // namespace vulkan
}  // namespace qd
