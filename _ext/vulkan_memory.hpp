// Memory of a device with Vulkan: buffers with addresses, in which a pool finds room. Part of driver_vulkan.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "device_pool.hpp"
#include "vulkan_devices.hpp"

namespace qd {
namespace vulkan {

constexpr Flags device_local = 1, host_visible = 2, coherent = 4, cached = 8;

struct Block {
    Object buffer = 0, memory = 0;
    uint64_t address = 0;
    size_t bytes = 0;
    char *host = nullptr;  // where the host reaches it, or null
};

// What memory is for: data of kernels; data that the host shall not reach into, although it could; what the host and the
// device both reach, and the host reads fast.
enum class Purpose { data, staged, shared };

// Blocks by address.
class Blocks {
  public:
    Blocks(std::shared_ptr<Opened> opened, Purpose purpose) : opened_(std::move(opened)), purpose_(purpose) {}

    void *take(size_t bytes) {
        Block made;
        status = make(bytes, &made);
        if (status) return nullptr;
        blocks_[made.address] = made;
        return reinterpret_cast<void *>(made.address);
    }

    void give(void *address) {
        auto found = blocks_.find(reinterpret_cast<uint64_t>(address));
        destroy(found->second);
        blocks_.erase(found);
    }

    // The block that memory is in; null for memory of others.
    const Block *at(uint64_t address) const {
        auto after = blocks_.upper_bound(address);
        if (after == blocks_.begin()) return nullptr;
        const Block &block = std::prev(after)->second;
        return address - block.address < block.bytes ? &block : nullptr;
    }

    // The block that the host has at an address; null for other memory.
    const Block *of_host(const void *address) const {
        const char *place = static_cast<const char *>(address);
        for (const auto &block : blocks_) {
            const char *begin = block.second.host;
            if (begin && std::less_equal<const char *>()(begin, place) &&
                std::less<const char *>()(place, begin + block.second.bytes)) {
                return &block.second;
            }
        }
        return nullptr;
    }

    Status make(size_t bytes, Block *made) {
        const DeviceEntries &vk = opened_->vk;
        const Handle device = opened_->device;
        BufferInfo info;
        info.size = bytes;
        info.usage = 1 | 2 | 0x20 | 0x20000;  // copied from and to, storage, has an address
        // Not compared with the largest allocation that the device tells: many have more than they say.
        Status result = vk.vkCreateBuffer(device, &info, nullptr, &made->buffer);
        if (result) return result;
        MemoryRequirements needs;
        vk.vkGetBufferMemoryRequirements(device, made->buffer, &needs);
        const int type = wanted_type(needs.types);
        AllocateFlags flags;
        AllocateInfo wanted;
        wanted.next = &flags;
        wanted.size = needs.size;
        wanted.memory_type = static_cast<uint32_t>(type);
        result = type < 0 ? no_device_memory : vk.vkAllocateMemory(device, &wanted, nullptr, &made->memory);
        if (result == 0) result = vk.vkBindBufferMemory(device, made->buffer, made->memory, 0);
        if (result == 0 && purpose_ != Purpose::staged && reachable(type)) result = map(made);
        if (result) {
            destroy(*made);
            *made = Block();
            return result;
        }
        AddressInfo asked;
        asked.buffer = made->buffer;
        made->address = vk.vkGetBufferDeviceAddress(device, &asked);
        made->bytes = bytes;
        return 0;
    }

    void destroy(const Block &block) {
        if (block.buffer) opened_->vk.vkDestroyBuffer(opened_->device, block.buffer, nullptr);
        if (block.memory) opened_->vk.vkFreeMemory(opened_->device, block.memory, nullptr);
    }

    Status status = 0;  // of the last `take`

    // Why there is no more, with the numbers that are known.
    std::string lack() const {
        const uint64_t largest = opened_->found->largest;
        const int type = wanted_type(UINT32_MAX);
        std::string text = "VK_ERROR_OUT_OF_DEVICE_MEMORY";
        if (largest) text += ": an allocation has at most " + std::to_string(largest) + " bytes";
        if (type < 0) return text;
        const uint32_t heap = opened_->memory.types[type].heap;
        const uint64_t left = opened_->free_bytes(heap);
        if (left) text += ", and " + std::to_string(left) + " are free";
        return text + " of the " + std::to_string(opened_->memory.heaps[heap].size) + " that the device says it has";
    }

  private:
    int wanted_type(uint32_t among) const {
        constexpr Flags both = host_visible | coherent;
        if (purpose_ == Purpose::shared) return type_with(both, cached, 0, among);
        // Fast memory; where the host reaches none of it otherwise, memory that both reach.
        const int found = type_with(device_local, 0, host_visible, among);
        return found < 0 ? type_with(0, 0, 0, among) : found;
    }

    // A type of memory, of those whose bits are set, that has all of `needed` and most of the rest; -1 where there is none.
    int type_with(Flags needed, Flags liked, Flags disliked, uint32_t among) const {
        int best = -1, most = -1;
        for (uint32_t k = 0; k < opened_->memory.type_count; ++k) {
            const Flags flags = opened_->memory.types[k].flags;
            if (!(among >> k & 1) || (flags & needed) != needed) continue;
            const int worth = ((flags & liked) == liked) * 2 + ((flags & disliked) == 0);
            if (worth > most) best = static_cast<int>(k), most = worth;
        }
        return best;
    }

    Status map(Block *block) {
        void *host = nullptr;
        const Status result = opened_->vk.vkMapMemory(opened_->device, block->memory, 0, UINT64_MAX, 0, &host);
        block->host = static_cast<char *>(host);
        return result;
    }

    bool reachable(int type) const {
        constexpr Flags both = host_visible | coherent;
        return (opened_->memory.types[type].flags & both) == both;
    }

    std::shared_ptr<Opened> opened_;
    Purpose purpose_;
    std::map<uint64_t, Block> blocks_;
};

// What the pool has, which copies its source.
struct BlockSource {
    using Block = void *;
    Blocks *blocks;
    void *take(size_t bytes) { return blocks->take(bytes); }
    void give(void *address) { blocks->give(address); }
    static uint64_t address(void *block) { return reinterpret_cast<uint64_t>(block); }
};

}  // namespace vulkan
}  // namespace qd
