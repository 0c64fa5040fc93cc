// Zeroed, aligned memory, counted.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace qd {

inline std::atomic<size_t> allocation_count{0};

constexpr size_t memory_alignment = 64;

// From this size on, huge pages spare kernels many misses of the address translation.
constexpr size_t huge_page = size_t(1) << 21;

inline uintptr_t round_up(uintptr_t at, size_t to) { return (at + to - 1) / to * to; }

// Large blocks begin at different lines of a page, and at different pages of what a cache maps to the same lines. Where
// all begin alike, a store to y[i] looks to the processor like one to x[i], whose address has the same last 12 bits, and
// loads of x wait for it; and arrays that are read side by side drive one another out of the cache.
inline size_t displacement(size_t bytes) {
    static std::atomic<size_t> blocks{0};
    constexpr size_t page = 4096, apart = page + 5 * 256, most = 16 * page;
    if (bytes < huge_page) return 0;
    return blocks.fetch_add(1, std::memory_order_relaxed) * apart % most;
}

// Where the last part of a block would be most of a huge page, it may be one.
inline uintptr_t end_of_huge_pages(uintptr_t end) {
    return (end + huge_page / 2) / huge_page * huge_page;
}

// calloc gives large blocks as untouched zero pages, which aligned_alloc and a clear would not. A function of its own: its
// code amid that of launches would cost these some nanoseconds.
[[gnu::noinline]] inline void *allocate_zeroed(size_t bytes) {
    const bool large = bytes >= huge_page;
    const size_t alignment = large ? huge_page : memory_alignment, moved = displacement(bytes);
    const size_t reserved = bytes + moved + sizeof(void *) + alignment + (large ? huge_page / 2 : 0);
    if (reserved < bytes) return nullptr;
    char *block = static_cast<char *>(std::calloc(1, reserved));
    if (!block) return nullptr;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(block);
    const uintptr_t aligned = round_up(begin + sizeof(void *), alignment);
    char *data = block + (aligned + moved - begin);
    reinterpret_cast<void **>(data)[-1] = block;
#ifdef __linux__
    if (large) {
        const size_t advised = end_of_huge_pages(aligned + moved + bytes) - aligned;
        madvise(reinterpret_cast<void *>(aligned), advised, MADV_HUGEPAGE);  // advice: refusal changes nothing
    }
#endif
    allocation_count.fetch_add(1, std::memory_order_relaxed);
    return data;
}

inline void release_memory(void *data) {
    std::free(static_cast<void **>(data)[-1]);
    allocation_count.fetch_sub(1, std::memory_order_relaxed);
}

// For memory that is not on the host.
inline void count_allocation() { allocation_count.fetch_add(1, std::memory_order_relaxed); }
inline void count_release() { allocation_count.fetch_sub(1, std::memory_order_relaxed); }

inline size_t live_allocations() { return allocation_count.load(std::memory_order_relaxed); }

}  // namespace qd
