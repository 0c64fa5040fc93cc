#include "adstack_heaps.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace qd {
namespace {

constexpr int64_t most_bytes = int64_t(1) << 60;

void tell_use(const HeapUse &use) {
    int64_t required = use.required();
    double megabytes = static_cast<double>(required) / (1024.0 * 1024.0);
    if (use.kind == 0) {
        std::fprintf(stderr,
                     "[adstack_heap] arch=%s task='%s_%d' kind=F src=%s effective_rows=%lld stride=%lld "
                     "required_bytes=%lld (%.2f MB)\n",
                     use.arch, use.kernel, use.number, use.source, static_cast<long long>(use.rows),
                     static_cast<long long>(use.stride), static_cast<long long>(required), megabytes);
    } else {
        std::fprintf(stderr,
                     "[adstack_heap] arch=%s task='%s_%d' kind=I src=worst_case_num_threads num_threads=%lld "
                     "effective_rows=%lld stride=%lld required_bytes=%lld (%.2f MB)\n",
                     use.arch, use.kernel, use.number, static_cast<long long>(use.rows),
                     static_cast<long long>(use.rows), static_cast<long long>(use.stride),
                     static_cast<long long>(required), megabytes);
    }
    std::fflush(stderr);
}

void tell_growth(const HeapUse &use, size_t before, size_t now, bool retried) {
    std::fprintf(stderr, "[adstack_grow] arch=%s kind=%c old=%zu new=%zu retry=%d\n", use.arch, use.kind ? 'I' : 'F',
                 before, now, retried);
    std::fflush(stderr);
}

class DeviceSource : public HeapSource {
  public:
    DeviceSource(const Device *api, void *stream) : api_(api), stream_(stream) {}

    uint64_t allocate(size_t bytes) override {
        uint64_t address = 0;
        return api_->allocate(&address, bytes) == 0 ? address : 0;
    }

    void release(uint64_t address) override {
        // Launches that are queued may still use it.
        status = api_->synchronize(stream_);
        if (status == 0) status = api_->release(address);
    }

    int status = 0;

  private:
    const Device *api_;
    void *stream_;
};

}  // namespace

bool wants_lines() {
    const char *value = std::getenv("QD_DEBUG_ADSTACK");
    return value && *value && std::strcmp(value, "0") != 0;
}

int64_t stack_bytes(int64_t slots, int64_t slot) {
    return slots > most_bytes / slot ? most_bytes : (slots * slot + 7) / 8 * 8;
}

int64_t sum_bytes(int64_t a, int64_t b) { return std::min(a + b, most_bytes); }

int64_t HeapUse::required() const { return stride > most_bytes / std::max<int64_t>(rows, 1) ? most_bytes : stride * rows; }

bool reserve(Heap *heap, const HeapUse &use, HeapSource *source) {
    if (use.told) tell_use(use);
    const size_t required = static_cast<size_t>(use.required()), before = heap->bytes;
    if (required <= heap->bytes) return true;
    if (heap->address) source->release(heap->address);
    *heap = Heap();
    size_t bytes = std::max(required, 2 * before);
    uint64_t address = source->allocate(bytes);
    const bool retried = !address && bytes > required;
    if (retried) address = source->allocate(bytes = required);
    if (use.told) tell_growth(use, before, address ? bytes : 0, retried);
    if (!address) return false;
    heap->address = address;
    heap->bytes = bytes;
    return true;
}

void fail_without_memory(qd_error *error, const HeapUse &use, int32_t site) {
    error->flag = 2;
    error->site = site;
    error->count = 5;
    error->worker = 0;
    error->kinds = 0;
    const int64_t values[] = {use.required(), use.rows, use.stride, use.kind, use.number};
    for (int at = 0; at < 5; ++at) error->values[at].i = values[at];
}

void tell_sizes(const char *arch, const char *kernel, const char *block, int64_t begin, int64_t count, const char *how) {
    std::fprintf(stderr, "[adstack_size] arch=%s kernel='%s' by=%s depths=", arch, kernel, how);
    for (int64_t at = 0; at < count; ++at) {
        int64_t value;
        std::memcpy(&value, block + begin + 8 * at, sizeof value);
        std::fprintf(stderr, at ? ",%lld" : "%lld", static_cast<long long>(value));
    }
    std::fprintf(stderr, "\n");
    std::fflush(stderr);
}

void tell_maxima(const char *arch, const char *kernel, int64_t count, int64_t known) {
    if (count == 0) return;
    std::fprintf(stderr, "[adstack_max] arch=%s kernel='%s' specs=%lld hits=%lld dispatches=%lld\n", arch, kernel,
                 static_cast<long long>(count), static_cast<long long>(known), static_cast<long long>(count - known));
    std::fflush(stderr);
}

void tell_counts(const char *arch, const char *kernel, size_t tasks) {
    std::fprintf(stderr, "[adstack_gate] arch=%s kernel='%s' counted=%zu readings=1\n", arch, kernel, tasks);
    std::fflush(stderr);
}

int DeviceHeaps::reserve(void *stream, const HeapUse &use, uint64_t *address, bool *full) {
    Heap *heap = &streams_[stream].of[use.kind];
    DeviceSource source(api_, stream);
    *full = !qd::reserve(heap, use, &source);
    *address = use.required() > 0 ? heap->address : 0;
    return source.status;
}

bool DeviceHeaps::holds(void *stream, const HeapUse &use) {
    std::lock_guard<std::mutex> alone(gate);
    auto found = streams_.find(stream);
    return found != streams_.end() && static_cast<int64_t>(found->second.of[use.kind].bytes) >= use.required();
}

void DeviceHeaps::free_all() {
    std::lock_guard<std::mutex> alone(gate);
    for (auto &entry : streams_) {
        DeviceSource source(api_, entry.first);
        for (Heap &heap : entry.second.of) {
            if (heap.address) source.release(heap.address);
        }
    }
    streams_.clear();
}

size_t DeviceHeaps::bytes(int kind) {
    std::lock_guard<std::mutex> alone(gate);
    size_t total = 0;
    for (auto &entry : streams_) total += entry.second.of[kind].bytes;
    return total;
}

}  // namespace qd
