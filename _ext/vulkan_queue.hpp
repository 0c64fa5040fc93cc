// The work of a device with Vulkan, in order: commands are recorded, and submitted in batches. Part of driver_vulkan.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "vulkan_devices.hpp"
#include "vulkan_names.hpp"

namespace qd {
namespace vulkan {

constexpr Flags at_compute = 0x800, at_copy = 0x1000, at_host = 0x4000, at_end = 0x2000;
constexpr Flags shader_reads = 0x20, shader_writes = 0x40, copy_reads = 0x800, copy_writes = 0x1000, host_reads = 0x2000,
                host_writes = 0x4000;

// Whether a signal has come that ends waiting, which is then raised; see vulkan.pyx.
extern bool (*interrupted)();

// Not thread-safe but for `wait_for` and `done`. One timeline: its value n is reached when the n-th batch is done.
class Queue {
  public:
    static constexpr uint32_t most_recorded = 64;
    static constexpr uint64_t most_waiting = 256;  // batches

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
        *status = opened_->lost ? device_lost : 0;
        if (*status) return nullptr;
        if (open_) return open_;
        open_ = fresh(status);
        bound = 0;
        BeginInfo info;
        if (*status == 0) *status = vk_.vkBeginCommandBuffer(open_, &info);
        if (*status) open_ = nullptr;
        return open_;
    }

    // One more command is recorded.
    Status recorded() { return ++count_ >= most_recorded ? submit() : 0; }

    // More may come, but what is recorded may start where nothing is under way. Batches grow while nobody waits: where the
    // device is faster than what records, it is not started for every launch.
    Status offer() {
        if (count_ < eager_ || !done(submitted_)) return 0;
        eager_ = std::min(2 * eager_, most_recorded);
        return submit();
    }

    Status submit() {
        if (opened_->lost) return device_lost;
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
        // Who never waits shall not fill the memory with what the device has yet to do.
        if (status == 0 && submitted_ > most_waiting) return wait_for(submitted_ - most_waiting);
        return lost(status);
    }

    // Until all that was asked for is done.
    Status wait() {
        Status status = submit();
        rest();
        return status ? status : wait_for(submitted_);
    }

    // Somebody waits: what comes next starts at once.
    void rest() { eager_ = 1; }

    // patient: looks at signals meanwhile; nothing is held that their handlers could wait for.
    Status wait_for(uint64_t value, bool patient = false) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
        do {
            if (done(value)) return 0;
            std::this_thread::yield();
        } while (std::chrono::steady_clock::now() < until);
        WaitInfo info;
        info.semaphores = &timeline_;
        info.values = &value;
        constexpr uint64_t tenth = 100'000'000;  // nanoseconds
        while (true) {
            if (opened_->lost) return device_lost;
            const Status status = vk_.vkWaitSemaphores(opened_->device, &info, tenth);
            if (status != timed_out) return lost(status);
            if (patient && interrupted && interrupted()) return was_interrupted;
        }
    }

    uint64_t submitted() const { return submitted_; }

    bool done(uint64_t value) {
        if (reached_ >= value) return true;
        uint64_t found = 0;
        const Status status = vk_.vkGetSemaphoreCounterValue(opened_->device, timeline_, &found);
        if (lost(status) == 0) reached_ = found;
        return found >= value && status == 0;
    }

    // The last launches, newest first: where the device is lost, one of them did it.
    static constexpr size_t remembered = 8;
    void remember(const char *task) { tasks_[tasks_count_++ % remembered] = task; }
    std::string last_tasks() const {
        std::string text;
        for (uint64_t back = 1; back <= std::min<uint64_t>(remembered, tasks_count_); ++back) {
            const std::string name = tasks_[(tasks_count_ - back) % remembered];
            if (("," + text + ",").find("," + name + ",") == std::string::npos) text += (text.empty() ? "" : ",") + name;
        }
        return text;
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
    uint32_t eager_ = 1;
    uint64_t submitted_ = 0;
    std::atomic<uint64_t> reached_{0};
    const char *tasks_[remembered] = {};
    uint64_t tasks_count_ = 0;
};

}  // namespace vulkan
}  // namespace qd
