// Memory of a device of Metal that its host sees too, and what kernels must be told of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "device_pool.hpp"
#include "metal_messages.hpp"

namespace qd {
namespace metal {

// A part of an MTLBuffer.
struct Place {
    Id buffer = nullptr;
    uint64_t offset = 0;
    char *host = nullptr;
};

// Work after which memory is free: that of a stream up to that number.
struct Use {
    uint64_t stream;
    uint64_t value;
};

// Not thread-safe.
class Memory {
  public:
    explicit Memory(Id device) : pool_(Buffers{device}) {}

    // 0 where there is none.
    uint64_t allocate(size_t bytes) { return pool_.allocate(bytes); }
    // The memory goes when `over(use)` holds for each of these.
    void release_after(uint64_t address, std::vector<Use> uses) { freed_.push_back({address, std::move(uses)}); }

    template <class Over>
    void reclaim(Over over) {
        const auto used = [&](const Freed &one) { return !std::all_of(one.uses.begin(), one.uses.end(), over); };
        const auto free = std::partition(freed_.begin(), freed_.end(), used);
        for (auto one = free; one != freed_.end(); ++one) pool_.release(one->address);
        freed_.erase(free, freed_.end());
    }

    // Null members for an address that is not of ours.
    Place find(uint64_t address) const {
        const Block *block = pool_.holder(address);
        if (!block || address - block->address >= block->bytes) return {};
        const uint64_t offset = address - block->address;
        return {block->buffer, offset, block->contents + offset};
    }

    // All that kernels may reach; the version grows whenever that is something else.
    const std::vector<Id> &buffers() {
        if (listed_ == version()) return list_;
        list_.clear();
        for (const Block &block : pool_.blocks()) list_.push_back(block.buffer);
        listed_ = version();
        return list_;
    }
    uint64_t version() const { return 1 + pool_.version(); }

  private:
    struct Block {
        Id buffer = nullptr;
        uint64_t address = 0, bytes = 0;
        char *contents = nullptr;
        explicit operator bool() const { return buffer != nullptr; }
    };

    // Shared with the host, and tracked by Metal: command buffers that use one are in order without a word of ours, those of
    // other packages on the same queue too. Heaps would be neither: what is in them is not tracked, and a heap that is
    // declared as a whole is declared for reading.
    struct Buffers {
        using Block = Memory::Block;
        static constexpr uint64_t shared = 0;  // MTLResourceStorageModeShared
        Id device;

        Block take(size_t bytes) {
            Block made;
            made.buffer = say.new_buffer(device, bytes, shared);
            if (!made.buffer) return made;
            made.address = say.address(made.buffer);
            made.bytes = bytes;
            made.contents = static_cast<char *>(say.contents(made.buffer));
            if (made.address && made.contents) return made;
            give(made);
            return {};
        }
        void give(const Block &block) { say.release(block.buffer); }
        static uint64_t address(const Block &block) { return block.address; }
    };

    struct Freed {
        uint64_t address;
        std::vector<Use> uses;
    };

    Pool<Buffers> pool_;
    std::vector<Freed> freed_;
    std::vector<Id> list_;
    uint64_t listed_ = 0;
};

}  // namespace metal
}  // namespace qd
