// Memory of a device with Vulkan: buffers with addresses, in which a pool finds room. Part of driver_vulkan.cpp.
#pragma once

#include <map>
#include <memory>

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

// Blocks by address. staged: the host shall not reach into them, although it could.
class Blocks {
  public:
    Blocks(std::shared_ptr<Opened> opened, bool staged) : opened_(std::move(opened)), staged_(staged) {}

    void *take(size_t bytes) {
        Block made;
        status = make(bytes, wanted_type(), &made);
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

    // A type of memory that has all of these, and most of those; -1 where there is none.
    int type_with(Flags needed, Flags liked, Flags disliked) const {
        int best = -1, most = -1;
        for (uint32_t k = 0; k < opened_->memory.type_count; ++k) {
            const Flags flags = opened_->memory.types[k].flags;
            if ((flags & needed) != needed) continue;
            const int worth = ((flags & liked) == liked) * 2 + ((flags & disliked) == 0);
            if (worth > most) best = static_cast<int>(k), most = worth;
        }
        return best;
    }

    Status make(size_t bytes, int type, Block *made) {
        const DeviceEntries &vk = opened_->vk;
        const Handle device = opened_->device;
        BufferInfo info;
        info.size = bytes;
        info.usage = 1 | 2 | 0x20 | 0x20000;  // copied from and to, storage, has an address
        if (type < 0) return no_device_memory;
        if (opened_->found->largest && bytes > opened_->found->largest) return no_device_memory;
        Status result = vk.vkCreateBuffer(device, &info, nullptr, &made->buffer);
        if (result) return result;
        MemoryRequirements needs;
        vk.vkGetBufferMemoryRequirements(device, made->buffer, &needs);
        AllocateFlags flags;
        AllocateInfo wanted;
        wanted.next = &flags;
        wanted.size = needs.size;
        wanted.memory_type = static_cast<uint32_t>(type);
        result = vk.vkAllocateMemory(device, &wanted, nullptr, &made->memory);
        if (result == 0) result = vk.vkBindBufferMemory(device, made->buffer, made->memory, 0);
        if (result == 0 && !staged_ && reachable(type)) result = map(made);
        if (result) {
            destroy(*made);
            return result;
        }
        AddressInfo asked;
        asked.buffer = made->buffer;
        made->address = vk.vkGetBufferDeviceAddress(device, &asked);
        made->bytes = bytes;
        return 0;
    }

    Status map(Block *block) {
        void *host = nullptr;
        const Status result = opened_->vk.vkMapMemory(opened_->device, block->memory, 0, UINT64_MAX, 0, &host);
        block->host = static_cast<char *>(host);
        return result;
    }

    void destroy(const Block &block) {
        if (block.buffer) opened_->vk.vkDestroyBuffer(opened_->device, block.buffer, nullptr);
        if (block.memory) opened_->vk.vkFreeMemory(opened_->device, block.memory, nullptr);
    }

    Status status = 0;  // of the last `take`

  private:
    // Fast memory of the device; where the host reaches none of it otherwise, memory that both reach.
    int wanted_type() const { return type_with(device_local, 0, host_visible); }

    bool reachable(int type) const {
        constexpr Flags both = host_visible | coherent;
        return (opened_->memory.types[type].flags & both) == both;
    }

    std::shared_ptr<Opened> opened_;
    bool staged_;
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
