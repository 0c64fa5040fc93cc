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

// calloc gives large blocks as untouched zero pages, which aligned_alloc and a clear would not.
inline void *allocate_zeroed(size_t bytes) {
    char *block = static_cast<char *>(std::calloc(1, bytes + 2 * memory_alignment));
    if (!block) return nullptr;
    uintptr_t start = reinterpret_cast<uintptr_t>(block) + sizeof(void *);
    char *data = block + ((start + memory_alignment - 1) / memory_alignment * memory_alignment -
                          reinterpret_cast<uintptr_t>(block));
    reinterpret_cast<void **>(data)[-1] = block;
#ifdef __linux__
    if (bytes >= 2 * huge_page) {
        uintptr_t first = (reinterpret_cast<uintptr_t>(data) + huge_page - 1) / huge_page * huge_page;
        uintptr_t last = (reinterpret_cast<uintptr_t>(data) + bytes) / huge_page * huge_page;
        madvise(reinterpret_cast<void *>(first), last - first, MADV_HUGEPAGE);  // advice: refusal changes nothing
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
