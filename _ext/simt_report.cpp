#include <cstdio>

#include "simt.hpp"

namespace qd::simt {
namespace {

constexpr size_t most_listed = 12;

std::string range(uint32_t first, uint32_t last) {
    if (first == last) return std::to_string(first);
    return std::to_string(first) + (last == first + 1 ? ", " : "-") + std::to_string(last);
}

using Group = std::vector<uint32_t>;

struct Places {
    Group barrier[4], op[QD_SIMT_ACTIVE + 1], ended;
};

Places places_of(const Block &block) {
    Places places;
    for (uint32_t t = 0; t < block.size; ++t) {
        const Thread &thread = block.threads[t];
        if (thread.state == State::in_barrier) places.barrier[thread.what].push_back(t);
        if (thread.state == State::in_warp) places.op[thread.what].push_back(t);
        if (thread.state == State::ended) places.ended.push_back(t);
    }
    return places;
}

void add(std::string &text, const Group &group, const std::string &what) {
    if (group.empty()) return;
    text += (text.empty() ? "" : "; ") + listed(group) + " " + what;
}

std::string masked(const char *name, uint64_t mask) {
    char text[64];
    std::snprintf(text, sizeof text, "%s(0x%llx)", name, static_cast<unsigned long long>(mask));
    return text;
}

}  // namespace

std::string listed(const std::vector<uint32_t> &threads) {
    std::string text = threads.size() == 1 ? "thread " : "threads ";
    size_t ranges = 0;
    for (size_t i = 0; i < threads.size(); ++ranges) {
        size_t end = i + 1;
        while (end < threads.size() && threads[end] == threads[end - 1] + 1) ++end;
        if (ranges == most_listed) return text + " and " + std::to_string(threads.size() - i) + " more";
        text += (i ? ", " : "") + range(threads[i], threads[end - 1]);
        i = end;
    }
    return text;
}

const char *barrier_name(const Function &function, int kind) {
    if (function.entry->module->flavour == QD_SIMT_METAL) return "threadgroup_barrier";
    static const char *const names[] = {"__syncthreads", "__syncthreads_and", "__syncthreads_or",
                                        "__syncthreads_count"};
    return names[kind];
}

const char *op_name(const Function &function, int op) {
    static const char *const names[][QD_SIMT_ACTIVE + 1] = {
        {"__syncwarp", "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__ballot_sync", "__all_sync",
         "__any_sync", "__uni_sync", "__match_any_sync", "__match_all_sync", "__activemask"},
        {"__builtin_amdgcn_wave_barrier", "__shfl", "__shfl_up", "__shfl_down", "__shfl_xor", "__ballot", "__all", "__any",
         "__uni", "__match_any", "__match_all", "__activemask"},
        {"simdgroup_barrier", "simd_shuffle", "simd_shuffle_up", "simd_shuffle_down", "simd_shuffle_xor", "simd_ballot",
         "simd_all", "simd_any", "simd_all", "simd_ballot", "simd_ballot", "simd_active_threads_mask"}};
    return names[function.entry->module->flavour][op];
}

std::string standstill(const Block &block) {
    const Places places = places_of(block);
    int kinds = 0, first = -1;
    for (int kind = 0; kind < 4; ++kind)
        if (!places.barrier[kind].empty()) {
            ++kinds;
            if (first < 0) first = kind;
        }
    if (kinds > 1) {
        std::string text;
        for (int kind = 0; kind < 4; ++kind)
            add(text, places.barrier[kind], std::string("wait in ") + barrier_name(*block.function, kind));
        return "its threads are in different barriers: " + text;
    }
    std::string others;
    add(others, places.ended, "ended");
    for (int op = 0; op <= QD_SIMT_ACTIVE; ++op) {
        const Group &group = places.op[op];
        if (group.empty()) continue;
        const Thread &one = block.threads[group[0]];
        const char *name = op_name(*block.function, op);
        const std::string where = one.lockstep ? name : masked(name, one.mask);
        add(others, group, std::string(group.size() == 1 ? "waits in " : "wait in ") + where);
    }
    if (kinds == 0) return "its warps cannot go on: " + others + ". All lanes of a mask have to make the same call";
    Group missing;
    for (uint32_t t = 0; t < block.size; ++t) {
        const State state = block.threads[t].state;
        if (state != State::in_barrier && state != State::left) missing.push_back(t);
    }
    return listed(missing) + " never reached the " + barrier_name(*block.function, first) + " where " + listed(places.barrier[first]) +
           (places.barrier[first].size() == 1 ? " waits: " : " wait: ") + others;
}

}  // namespace qd::simt
