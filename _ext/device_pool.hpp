// Memory of a device out of few large blocks. Part of the drivers that have no such allocator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace qd {

// Source: the type `Block`, `Block take(size_t)`, false where there is no more, `void give(Block)`, and `uint64_t address(Block)`
// of its first byte. Not thread-safe.
template <class Source>
class Pool {
  public:
    using Block = typename Source::Block;

    static constexpr size_t alignment = 256;

    // block_bytes: of a block; a request of more than half of it has a block of its own.
    explicit Pool(Source source, size_t block_bytes = size_t(64) << 20)
        : source_(source), block_bytes_(block_bytes), largest_part_(block_bytes / 2) {}
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;
    ~Pool() {
        for (const auto &block : blocks_) source_.give(block.second);
    }

    // 0 where there is no memory.
    uint64_t allocate(size_t bytes) {
        const size_t size = (bytes + alignment - 1) / alignment * alignment;
        if (size > largest_part_) return add_block(size) ? taken(blocks_at_, size) : 0;
        auto fit = free_.begin();
        while (fit != free_.end() && fit->second < size) ++fit;
        if (fit == free_.end()) {
            if (!add_block(block_bytes_)) return 0;
            fit = free_.emplace(blocks_at_, block_bytes_).first;
        }
        const uint64_t address = fit->first;
        const size_t rest = fit->second - size;
        free_.erase(fit);
        if (rest) free_.emplace(address + size, rest);
        return taken(address, size);
    }

    // Nothing uses the memory any more.
    void release(uint64_t address) {
        auto used = used_.find(address);
        if (used == used_.end()) return;
        const size_t size = used->second;
        used_.erase(used);
        if (size > largest_part_) {
            source_.give(blocks_.at(address));
            blocks_.erase(address);
            ++version_;
            return;
        }
        auto here = free_.emplace(address, size).first;
        auto next = std::next(here);
        if (next != free_.end() && joined(here, next)) free_.erase(next);
        if (here != free_.begin() && joined(std::prev(here), here)) free_.erase(here);
    }

    // Gives back the blocks of which no part is used. Nothing uses their memory any more. Whether there were any.
    bool trim() {
        bool any = false;
        for (auto part = free_.begin(); part != free_.end();) {
            auto block = blocks_.find(part->first);
            if (part->second < block_bytes_ || block == blocks_.end()) {
                ++part;
                continue;
            }
            source_.give(block->second);
            blocks_.erase(block);
            part = free_.erase(part);
            ++version_;
            any = true;
        }
        return any;
    }

    // Whether `release` gives that memory back to the source.
    bool is_alone(uint64_t address) const {
        auto used = used_.find(address);
        return used != used_.end() && used->second > largest_part_;
    }

    // Grows whenever there are other blocks.
    uint64_t version() const { return version_; }

    std::vector<Block> blocks() const {
        std::vector<Block> found;
        for (const auto &block : blocks_) found.push_back(block.second);
        return found;
    }

    // The block that an address is in, null for none.
    const Block *holder(uint64_t address) const {
        auto next = blocks_.upper_bound(address);
        return next == blocks_.begin() ? nullptr : &std::prev(next)->second;
    }

  private:
    using Parts = std::map<uint64_t, size_t>;

    bool add_block(size_t size) {
        Block made = source_.take(size + alignment);  // drivers align to less
        if (!made) return false;
        blocks_at_ = (source_.address(made) + alignment - 1) / alignment * alignment;
        blocks_.emplace(blocks_at_, made);
        ++version_;
        return true;
    }

    uint64_t taken(uint64_t address, size_t size) {
        used_.emplace(address, size);
        return address;
    }

    // Lengthens a free part by the next one where that lies behind it in the same block.
    bool joined(Parts::iterator part, Parts::iterator next) {
        if (part->first + part->second != next->first || blocks_.count(next->first)) return false;
        part->second += next->second;
        return true;
    }

    Source source_;
    size_t block_bytes_, largest_part_;
    std::map<uint64_t, Block> blocks_;  // what the source gave, by the first address that is handed out of it
    Parts free_, used_;
    uint64_t blocks_at_ = 0;  // of the last block
    uint64_t version_ = 0;
};

}  // namespace qd
