// The work of a device with Vulkan, in order: commands are recorded, and submitted in batches. Part of driver_vulkan.cpp.
#pragma once

#include <chrono>
#include <thread>
#include <vector>

#include "vulkan_devices.hpp"

namespace qd {
namespace vulkan {

constexpr Flags at_compute = 0x800, at_copy = 0x1000, at_host = 0x4000, at_end = 0x2000;
constexpr Flags shader_reads = 0x20, shader_writes = 0x40, copy_reads = 0x800, copy_writes = 0x1000, host_reads = 0x2000,
                host_writes = 0x4000;

// Not thread-safe. One timeline: its value n is reached when the n-th batch is done.
class Queue {
  public:
    static constexpr uint32_t most_recorded = 64;

    explicit Queue(Opened *opened) : opened_(opened), vk_(opened->vk) {}
    Queue(const Queue &) = delete;
    Queue &operator=(const Queue &) = delete;

    Status open() {
        SemaphoreType timeline;
        SemaphoreInfo semaphore;
        semaphore.next = &timeline;
        Status status = vk_.vkCreateSemaphore(opened_->device, &semaphore, nullptr, &timeline_);
        PoolInfo pool;
        pool.family = opened_->found->family;
        if (status == 0) status = vk_.vkCreateCommandPool(opened_->device, &pool, nullptr, &pool_);
        return status;
    }

    void close() {
        wait();
        vk_.vkDestroyCommandPool(opened_->device, pool_, nullptr);
        vk_.vkDestroySemaphore(opened_->device, timeline_, nullptr);
    }

    // Where commands are recorded; null where that failed, with `status`.
    Handle commands(Status *status) {
        *status = 0;
        if (open_) return open_;
        open_ = fresh(status);
        bound = 0;
        BeginInfo info;
        if (*status == 0) *status = vk_.vkBeginCommandBuffer(open_, &info);
        if (*status) open_ = nullptr;
        return open_;
    }

    // One more command is recorded.
    Status recorded() {
        ++count_;
        if (count_ >= most_recorded || done(submitted_)) return submit();
        return 0;
    }

    Status submit() {
        if (!open_) return 0;
        barrier(at_compute | at_copy, at_host, shader_writes | copy_writes, host_reads | host_writes);
        Status status = vk_.vkEndCommandBuffer(open_);
        const uint64_t value = submitted_ + 1;
        TimelineSubmit signal;
        signal.values = &value;
        SubmitInfo info;
        info.next = &signal;
        info.command = &open_;
        info.signal = &timeline_;
        if (status == 0) status = vk_.vkQueueSubmit(opened_->queue, 1, &info, 0);
        if (status == 0) submitted_ = value;
        used_.push_back({open_, submitted_});
        open_ = nullptr;
        count_ = 0;
        return lost(status);
    }

    // Until all that was asked for is done.
    Status wait() {
        Status status = submit();
        return status ? status : wait_for(submitted_);
    }

    Status wait_for(uint64_t value) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
        do {
            if (done(value)) return 0;
            std::this_thread::yield();
        } while (std::chrono::steady_clock::now() < until);
        WaitInfo info;
        info.semaphores = &timeline_;
        info.values = &value;
        return lost(vk_.vkWaitSemaphores(opened_->device, &info, UINT64_MAX));
    }

    uint64_t submitted() const { return submitted_; }

    bool done(uint64_t value) {
        if (reached_ >= value) return true;
        uint64_t found = 0;
        if (vk_.vkGetSemaphoreCounterValue(opened_->device, timeline_, &found) == 0) reached_ = found;
        return reached_ >= value;
    }

    // Between what is recorded and what comes next.
    void barrier(Flags before, Flags after, Flags source, Flags target) {
        Barrier memory;
        memory.source = source;
        memory.target = target;
        vk_.vkCmdPipelineBarrier(open_, before, after, 0, 1, &memory, 0, nullptr, 0, nullptr);
    }

    Object bound = 0;  // the pipeline of the commands that are open

  private:
    struct Used {
        Handle commands;
        uint64_t value;
    };

    Handle fresh(Status *status) {
        for (size_t at = 0; at < used_.size(); ++at) {
            if (!done(used_[at].value)) continue;
            Handle found = used_[at].commands;
            used_[at] = used_.back();
            used_.pop_back();
            return found;
        }
        CommandsInfo info;
        info.pool = pool_;
        Handle made = nullptr;
        *status = vk_.vkAllocateCommandBuffers(opened_->device, &info, &made);
        return made;
    }

    Status lost(Status status) {
        if (status == device_lost) opened_->lost = true;
        return status;
    }

    Opened *opened_;
    const DeviceEntries &vk_;
    Object timeline_ = 0, pool_ = 0;
    Handle open_ = nullptr;
    std::vector<Used> used_;
    uint32_t count_ = 0;
    uint64_t submitted_ = 0, reached_ = 0;
};

}  // namespace vulkan
}  // namespace qd
