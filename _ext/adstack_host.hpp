// The heaps of launches on the host.
#pragma once

#include "adstack_heaps.hpp"

namespace qd {

// Lent to a launch on its first use, so that launches on several threads do not share one.
struct HostHeaps {
    Heap kinds[heap_kinds];
    HostHeaps *next = nullptr;
};
void give_back(HostHeaps *heaps);
// Frees those that no launch has.
void free_host_heaps();

// What kernels call as `qd_runtime::stacks`.
extern "C" char *qd_stacks(qd_runtime *rt, int32_t kind, int32_t task, int64_t stride, int64_t rows, int32_t source,
                           int32_t site);

}  // namespace qd
