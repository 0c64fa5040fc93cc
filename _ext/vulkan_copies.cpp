#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "vulkan_device.hpp"

namespace qd {
namespace vulkan {
namespace {

constexpr size_t slice_bytes = size_t(16) << 20;  // of a large copy; two are under way
constexpr size_t inline_bytes = 65536;            // the most that commands carry along
constexpr size_t landing_bytes = 65536;           // the most that is read in one go
constexpr size_t eager_bytes = size_t(1) << 20;   // worth starting at once
constexpr size_t thread_bytes = size_t(4) << 20;  // worth another thread
constexpr size_t most_threads = 4;

// A place in a buffer.
struct Place {
    const Block *block;
    uint64_t offset;
};

Place place_of(Device &device, uint64_t address) {
    const Block *block = device.blocks.at(address);
    if (!block) block = device.host_blocks.at(address);
    return {block, block ? address - block->address : 0};
}

Place place_of_host(Device &device, const void *host) {
    const Block *block = device.host_blocks.of_host(host);
    return {block, block ? static_cast<uint64_t>(static_cast<const char *>(host) - block->host) : 0};
}

// One thread does not keep up with the memory of the host, where pages are fresh.
void copy_memory(char *target, const char *source, size_t bytes) {
    const size_t parts = std::min({most_threads, bytes / thread_bytes, size_t(std::thread::hardware_concurrency())});
    if (parts < 2) {
        std::memcpy(target, source, bytes);
        return;
    }
    const size_t part = bytes / parts / 4096 * 4096;
    std::vector<std::thread> others;
    for (size_t k = 1; k < parts; ++k) {
        const size_t begin = k * part, count = k + 1 == parts ? bytes - begin : part;
        others.emplace_back([=] { std::memcpy(target + begin, source + begin, count); });
    }
    std::memcpy(target, source, part);
    for (std::thread &other : others) other.join();
}

// What is recorded between these two is in order with everything else.
Handle begin_copy(Device &device, Status *status) {
    const Handle commands = device.queue.commands(status);
    if (*status == 0) {
        device.queue.barrier(at_compute | at_copy | at_host, at_copy, shader_writes | copy_writes | host_writes,
                             copy_reads | copy_writes);
    }
    return commands;
}

Status end_copy(Device &device, size_t bytes) {
    device.queue.barrier(at_copy, at_compute | at_copy, copy_writes,
                         shader_reads | shader_writes | copy_reads | copy_writes);
    const Status status = device.queue.recorded();
    return status || bytes < eager_bytes ? status : device.queue.offer();
}

Status copy_buffers(Device &device, Place target, Place source, uint64_t bytes) {
    Status status;
    const Handle commands = begin_copy(device, &status);
    if (status) return status;
    const Region region{source.offset, target.offset, bytes};
    device.vk().vkCmdCopyBuffer(commands, source.block->buffer, target.block->buffer, 1, &region);
    return end_copy(device, bytes);
}

// Two slices that the host writes and reads for copies by the device, made when they are first needed.
Status make_staging(Device &device) {
    return device.staging.buffer ? 0 : device.host_blocks.make(2 * slice_bytes, &device.staging);
}

// A large copy in slices: while the device does one, the host does another.
class Slices {
  public:
    Slices(Device &device, Place place, size_t bytes) : device_(device), place_(place), bytes_(bytes) {}

    Status upload(const char *source) {
        Status status = 0;
        for (size_t k = 0; status == 0 && k * slice_bytes < bytes_; ++k) {
            status = device_.queue.wait_for(due_[k % 2]);
            if (status) break;
            copy_memory(half(k), source + k * slice_bytes, size(k));
            status = copy_buffers(device_, there(k), staged(k), size(k));
            if (status == 0) status = submit(k);
        }
        return status ? status : device_.queue.wait_for(std::max(due_[0], due_[1]));
    }

    Status download(char *target) {
        Status status = 0;
        const size_t count = (bytes_ + slice_bytes - 1) / slice_bytes;
        for (size_t k = 0; status == 0 && k <= count; ++k) {
            if (k < count) status = copy_buffers(device_, staged(k), there(k), size(k));
            if (k < count && status == 0) status = submit(k);
            if (k == 0 || status) continue;
            status = device_.queue.wait_for(due_[(k - 1) % 2]);
            if (status == 0) copy_memory(target + (k - 1) * slice_bytes, half(k - 1), size(k - 1));
        }
        return status;
    }

  private:
    size_t size(size_t k) const { return std::min(slice_bytes, bytes_ - k * slice_bytes); }
    char *half(size_t k) const { return device_.staging.host + k % 2 * slice_bytes; }
    Place staged(size_t k) const { return {&device_.staging, k % 2 * slice_bytes}; }
    Place there(size_t k) const { return {place_.block, place_.offset + k * slice_bytes}; }

    Status submit(size_t k) {
        const Status status = device_.queue.submit();
        due_[k % 2] = device_.queue.submitted();
        return status;
    }

    Device &device_;
    Place place_;
    size_t bytes_;
    uint64_t due_[2] = {0, 0};
};

// Few bytes, by way of memory that the host and the device both reach: one submission with the work before.
Status fetch(Device &device, char *target, Place source, size_t bytes) {
    Gate alone(device.gate);
    Place landing = place_of_host(device, target);
    uint64_t lent = 0;
    if (!landing.block) {
        lent = device.host_pool.allocate(bytes);
        if (!lent) return device.host_blocks.status;
        landing = place_of(device, lent);
    }
    Status status = copy_buffers(device, landing, source, bytes);
    if (status == 0) status = device.queue.submit();
    device.queue.rest();
    const uint64_t value = device.queue.submitted();
    alone.unlock();
    if (status == 0) status = device.queue.wait_for(value, true);
    if (lent == 0) return status;
    if (status == 0) std::memcpy(target, landing.block->host + landing.offset, bytes);
    alone.lock();
    if (status == was_interrupted) device.queue.wait_for(value);  // it is written still
    device.host_pool.release(lent);
    return status;
}

}  // namespace

int allocate_host(void *self, void **address, size_t bytes) {
    Device &device = of(self);
    Gate alone(device.gate);
    device.host_blocks.status = 0;
    const uint64_t there = device.host_pool.allocate(std::max<size_t>(bytes, 1));
    const Place place = place_of(device, there);
    if (there == 0 || !place.block) return device.host_blocks.status ? device.host_blocks.status : no_host_memory;
    *address = place.block->host + place.offset;
    return 0;
}

int release_host(void *self, void *address) {
    Device &device = of(self);
    Gate alone(device.gate);
    const Status status = device.queue.wait();
    const Place place = place_of_host(device, address);
    if (place.block) device.host_pool.release(place.block->address + place.offset);
    return status;
}

int address_of_host(void *self, uint64_t *address, const void *host) {
    Device &device = of(self);
    Gate alone(device.gate);
    const Place place = place_of_host(device, host);
    if (!place.block) return out_of_range;
    *address = place.block->address + place.offset;
    return 0;
}

int to_device(void *self, uint64_t target, const void *source, size_t bytes, void *) {
    if (bytes == 0) return 0;
    Device &device = of(self);
    Gate alone(device.gate);
    const Place place = place_of(device, target);
    if (!place.block) return out_of_range;
    if (bytes <= inline_bytes && (bytes | place.offset) % 4 == 0) {
        Status status;
        const Handle commands = begin_copy(device, &status);
        if (status) return status;
        device.vk().vkCmdUpdateBuffer(commands, place.block->buffer, place.offset, bytes, source);
        return end_copy(device, bytes);
    }
    alone.unlock();
    Status status = device.finish();
    if (status) return status;
    if (place.block->host) {
        copy_memory(place.block->host + place.offset, static_cast<const char *>(source), bytes);
        return 0;
    }
    alone.lock();
    status = make_staging(device);
    return status ? status : Slices(device, place, bytes).upload(static_cast<const char *>(source));
}

int to_host(void *self, void *target, uint64_t source, size_t bytes, void *) {
    if (bytes == 0) return 0;
    Device &device = of(self);
    Gate alone(device.gate);
    const Place place = place_of(device, source);
    if (!place.block) return out_of_range;
    alone.unlock();
    if (!place.block->host && bytes <= landing_bytes) return fetch(device, static_cast<char *>(target), place, bytes);
    Status status = device.finish();
    if (status) return status;
    if (place.block->host) {
        copy_memory(static_cast<char *>(target), place.block->host + place.offset, bytes);
        return 0;
    }
    alone.lock();
    status = make_staging(device);
    return status ? status : Slices(device, place, bytes).download(static_cast<char *>(target));
}

int on_device(void *self, uint64_t target, uint64_t source, size_t bytes, void *) {
    if (bytes == 0 || target == source) return 0;
    Device &device = of(self);
    const bool moves = moves_by_kernel(device, target | source, bytes);
    Gate alone(device.gate);
    const Place to = place_of(device, target), from = place_of(device, source);
    if (!to.block || !from.block) return out_of_range;
    if (moves) return move(device, target, source, bytes, nullptr);
    return copy_buffers(device, to, from, bytes);
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
    const bool moves = moves_by_kernel(device, target + head, body);
    Gate alone(device.gate);
    const Place place = place_of(device, target + head);
    if (!place.block) return out_of_range;
    if (moves) return move(device, target + head, 0, body, &value);
    const Handle commands = begin_copy(device, &status);
    if (status) return status;
    device.vk().vkCmdFillBuffer(commands, place.block->buffer, place.offset, body, value * 0x01010101u);
    return end_copy(device, body);
}

}  // namespace vulkan
}  // namespace qd
