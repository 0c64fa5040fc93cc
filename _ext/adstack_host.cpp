#include "adstack_host.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "launch.hpp"
#include "memory.hpp"

#ifndef _WIN32
#include <pthread.h>
#endif

namespace qd {
namespace {

#if defined(__aarch64__) || defined(_M_ARM64)
constexpr const char *host_arch = "arm64";
#else
constexpr const char *host_arch = "x64";
#endif

alignas(64) char nothing[64];

class HostSource : public HeapSource {
  public:
    uint64_t allocate(size_t bytes) override {
        char *block = static_cast<char *>(std::malloc(bytes + memory_alignment));
        if (!block) return 0;
        // The distance to the start of the block is in front of what is handed out.
        uint64_t start = reinterpret_cast<uint64_t>(block);
        uint64_t address = start / memory_alignment * memory_alignment + memory_alignment;
        uint64_t distance = address - start;
        std::memcpy(reinterpret_cast<void *>(address - sizeof distance), &distance, sizeof distance);
        return address;
    }

    void release(uint64_t address) override {
        uint64_t distance;
        std::memcpy(&distance, reinterpret_cast<void *>(address - sizeof distance), sizeof distance);
        std::free(reinterpret_cast<void *>(address - distance));
    }
};

std::mutex *free_gate = new std::mutex;
HostHeaps *free_heaps = nullptr;

#ifndef _WIN32
// In a forked child no thread holds it that would let go.
[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, [] { free_gate = new std::mutex; });
#endif

HostHeaps *lend_host_heaps() {
    std::lock_guard<std::mutex> alone(*free_gate);
    HostHeaps *found = free_heaps;
    if (!found) return new HostHeaps;
    free_heaps = found->next;
    return found;
}

bool reserve_on_host(HostHeaps *heaps, const HeapUse &use) {
    HostSource source;
    return reserve(&heaps->kinds[use.kind], use, &source);
}

}  // namespace

void give_back(HostHeaps *heaps) {
    std::lock_guard<std::mutex> alone(*free_gate);
    heaps->next = free_heaps;
    free_heaps = heaps;
}

void free_host_heaps() {
    std::lock_guard<std::mutex> alone(*free_gate);
    HostSource source;
    while (free_heaps) {
        HostHeaps *found = free_heaps;
        free_heaps = found->next;
        for (Heap &heap : found->kinds) {
            if (heap.address) source.release(heap.address);
        }
        delete found;
    }
}

extern "C" char *qd_stacks(qd_runtime *rt, int32_t kind, int32_t task, int64_t stride, int64_t rows, int32_t source,
                           int32_t site) {
    Launch *launch = reinterpret_cast<Launch *>(rt);
    if (!launch->adstack) launch->adstack = lend_host_heaps();
    HeapUse use{host_arch, launch->name, task, kind, stride, rows, row_sources[source], wants_lines()};
    if (!reserve_on_host(launch->adstack, use)) {
        fail_without_memory(&rt->error, use, site);
        return nullptr;
    }
    return use.required() > 0 ? reinterpret_cast<char *>(launch->adstack->kinds[kind].address) : nothing;
}

}  // namespace qd
