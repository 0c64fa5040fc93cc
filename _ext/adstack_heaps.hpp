// Memory for what derivative kernels save of their loops: heaps that grow on demand and are used by one launch after
// another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "qd_abi.h"
#include "device.hpp"

namespace qd {

constexpr int heap_kinds = 2;  // real numbers, integers

// Why there are so many rows of real numbers: no condition; a condition, not counted or passed by more iterations than there
// are threads; as many as pass it; one, since none does.
constexpr const char *row_sources[] = {"worst_case_num_threads_no_bound_expr", "worst_case_num_threads", "reducer_count",
                                       "reducer_zero_floored"};

struct Heap {
    uint64_t address = 0;
    size_t bytes = 0;
};

// Whether QD_DEBUG_ADSTACK=1 asks for debug lines.
bool wants_lines();

// What one task asks of one heap. number: of the task in its kernel. told: in a debug line.
struct HeapUse {
    const char *arch;
    const char *kernel;
    int32_t number;
    int32_t kind;
    int64_t stride;  // bytes of a row
    int64_t rows;
    const char *source = row_sources[0];
    bool told = false;

    int64_t required() const;  // more than any machine has where the product would not fit
};

// Bytes of a stack in a row, likewise.
int64_t stack_bytes(int64_t slots, int64_t slot);
int64_t sum_bytes(int64_t a, int64_t b);

// Makes the heap large enough. Grows to at least twice the size, or, where
// there is not so much memory, to just what is needed. What was in it is lost. False when there is no memory; then the
// heap is empty.
class HeapSource {
  public:
    virtual ~HeapSource() = default;
    virtual uint64_t allocate(size_t bytes) = 0;  // 0: there is no memory
    virtual void release(uint64_t address) = 0;   // nothing uses it any more when this returns
};
bool reserve(Heap *heap, const HeapUse &use, HeapSource *source);

// The failure of a launch whose stacks find no memory: bytes, rows, bytes of a row, kind, number of the task.
void fail_without_memory(qd_error *error, const HeapUse &use, int32_t site);

// A debug line with a result of the sizes of a launch.
void tell_sizes(const char *arch, const char *kernel, const char *block, int64_t begin, int64_t count, const char *how);

// One with how many maxima over arrays the sizes took, and how many of these were known from an earlier launch.
void tell_maxima(const char *arch, const char *kernel, int64_t count, int64_t known);

// One with the number of tasks of which the iterations that pass their gates were counted, for one reading.
void tell_counts(const char *arch, const char *kernel, size_t tasks);

// The heaps of a device, of each stream its own: launches of one stream never overlap.
class DeviceHeaps {
  public:
    explicit DeviceHeaps(const Device *api) : api_(api) {}
    DeviceHeaps(const DeviceHeaps &) = delete;
    DeviceHeaps &operator=(const DeviceHeaps &) = delete;

    // Held from `reserve` until the work that uses the memory is queued.
    std::mutex gate;

    // Status of the driver, 0 for success. `address`: null for a use of no bytes. `full`: there is no memory.
    int reserve(void *stream, const HeapUse &use, uint64_t *address, bool *full);
    // Whether the heap is large enough for a use as it is.
    bool holds(void *stream, const HeapUse &use);
    // Waits for the streams that used them.
    void free_all();
    // Bytes in all heaps of a kind.
    size_t bytes(int kind);
    // Without telling the driver, whose process this is not.
    void forget() { streams_.clear(); }

  private:
    struct Kinds {
        Heap of[heap_kinds];
    };
    const Device *api_;
    std::map<void *, Kinds> streams_;
};

}  // namespace qd
