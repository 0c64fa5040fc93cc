#include "hosted.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hosted_graphs.hpp"

namespace qd {
namespace {

constexpr int out_of_memory = -2;
constexpr int not_supported = -3;

// What a device was made with.
struct Hosted {
    LaunchFunction launch;
    DescribeFunction describe;
    int64_t shared_bytes;
    int64_t capability;
    char label[64];
};

const Hosted &of(void *self) { return *static_cast<Hosted *>(self); }

int count(void *, int32_t *devices) {
    *devices = 1;
    return 0;
}

int open_device(void *) { return 0; }

int attribute(void *self, int64_t *value, int32_t which) {
    switch (which) {
        case QD_MULTIPROCESSORS: *value = 2; return 0;
        case QD_MAX_THREADS_PER_BLOCK: *value = 1024; return 0;
        case QD_MAX_SHARED_BYTES: *value = of(self).shared_bytes; return 0;
        case QD_COMPUTE_CAPABILITY: *value = of(self).capability; return 0;
        case QD_CLOCK_KHZ: *value = 1000000; return 0;
        case QD_ARGUMENT_BYTES: *value = 32764; return 0;
        default: return not_supported;
    }
}

int device_name(void *self, char *text, size_t size) {
    std::snprintf(text, size, "%s", of(self).label);
    return 0;
}

// Code is loaded by the host's own loader.
int load(void *, void **, const void *) { return not_supported; }
int function(void *, void **, void *, const char *) { return not_supported; }
int unload(void *, void *) { return 0; }
int allow_shared(void *, void *, uint32_t) { return 0; }

int residency(void *, int32_t *blocks, void *, uint32_t, uint32_t) {
    *blocks = 2;
    return 0;
}

int allocate(void *, uint64_t *address, size_t bytes) {
    // As devices align; a pattern instead of zeros shows reads of what nobody wrote.
    size_t rounded = (bytes + 255) / 256 * 256;
    void *memory = std::aligned_alloc(256, rounded ? rounded : 256);
    *address = reinterpret_cast<uint64_t>(memory);
    if (memory && rounded <= (size_t(1) << 20)) std::memset(memory, 0xcd, rounded);
    return memory ? 0 : out_of_memory;
}

int release(void *, uint64_t address) {
    std::free(reinterpret_cast<void *>(address));
    return 0;
}

int allocate_host(void *, void **address, size_t bytes) {
    *address = std::malloc(bytes);
    return *address ? 0 : out_of_memory;
}

int release_host(void *, void *address) {
    std::free(address);
    return 0;
}

int to_device(void *, uint64_t target, const void *source, size_t bytes, void *) {
    std::memcpy(reinterpret_cast<void *>(target), source, bytes);
    return 0;
}

int to_host(void *, void *target, uint64_t source, size_t bytes, void *) {
    std::memcpy(target, reinterpret_cast<const void *>(source), bytes);
    return 0;
}

int on_device(void *, uint64_t target, uint64_t source, size_t bytes, void *) {
    std::memmove(reinterpret_cast<void *>(target), reinterpret_cast<const void *>(source), bytes);
    return 0;
}

int fill(void *, uint64_t target, uint8_t value, size_t bytes, void *) {
    std::memset(reinterpret_cast<void *>(target), value, bytes);
    return 0;
}

int synchronize(void *, void *) { return 0; }

// A launch returns when it is done, so streams and events need no state, only times.
std::atomic<uintptr_t> last_stream{0};

int stream_create(void *, void **stream) {
    *stream = reinterpret_cast<void *>(++last_stream);
    return 0;
}

int stream_destroy(void *, void *) { return 0; }

int event_create(void *, void **event, int32_t) {
    *event = new double(0);
    return 0;
}

int event_record(void *, void *event, void *) {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    *static_cast<double *>(event) = std::chrono::duration<double, std::milli>(now).count();
    return 0;
}

int event_wait(void *, void *, void *) { return 0; }
int event_synchronize(void *, void *) { return 0; }

int event_milliseconds(void *, float *between, void *begin, void *end) {
    *between = static_cast<float>(*static_cast<double *>(end) - *static_cast<double *>(begin));
    return 0;
}

int event_destroy(void *, void *event) {
    delete static_cast<double *>(event);
    return 0;
}

const char *describe(void *self, int status) {
    switch (status) {
        case out_of_memory: return "out of memory";
        case not_supported: return "not supported by the emulator";
        default: return of(self).describe ? of(self).describe(status) : "launch failed";
    }
}

int launch(void *self, void *function, uint32_t grid, uint32_t block, uint32_t shared_bytes, void *stream,
           void **params) {
    return of(self).launch(function, grid, block, shared_bytes, stream, params);
}

HostedGraph &graph_of(void *graph) { return *static_cast<HostedGraph *>(graph); }

int graph_create(void *, void **graph) {
    *graph = new HostedGraph();
    return 0;
}

int graph_add(void *, void *graph, const qd_graph_task *task) {
    graph_of(graph).add(*task);
    return 0;
}

int graph_condition(void *, void *graph, uint64_t *handle) {
    *handle = graph_of(graph).condition();
    return 0;
}

int graph_open_loop(void *, void *graph, uint64_t handle) {
    graph_of(graph).open_loop(handle);
    return 0;
}

template <void (HostedGraph::*step)()>
int graph_does(void *, void *graph) {
    (graph_of(graph).*step)();
    return 0;
}

int graph_finish(void *, void *) { return 0; }

int graph_set(void *, void *graph, size_t at, const qd_graph_task *task) {
    graph_of(graph).set(at, *task);
    return 0;
}

int graph_launch(void *self, void *graph, void *stream) {
    return graph_of(graph).run([=](const qd_graph_task &task, void **params) {
        return launch(self, task.function, task.grid, task.block, task.shared_bytes, stream, params);
    });
}

int graph_destroy(void *, void *graph) {
    delete static_cast<HostedGraph *>(graph);
    return 0;
}

constexpr qd_graph_api graph_table = {
    graph_create,
    graph_add,
    graph_condition,
    graph_open_loop,
    graph_does<&HostedGraph::close_loop>,
    graph_does<&HostedGraph::open_branches>,
    graph_does<&HostedGraph::next_branch>,
    graph_does<&HostedGraph::close_branches>,
    graph_finish,
    graph_set,
    graph_launch,
    graph_destroy,
};

const qd_graph_api *graphs(void *) { return &graph_table; }

void close(void *self) { delete static_cast<Hosted *>(self); }

constexpr qd_device_api table = {
    "emulated", count, open_device, attribute, device_name, load, function, unload, allow_shared, residency, launch,
    nullptr, allocate, release, allocate_host, release_host, to_device, to_host, on_device, fill, synchronize,
    stream_create, stream_destroy, event_create, event_record, event_wait, event_synchronize, event_milliseconds,
    event_destroy, nullptr, nullptr, describe, close, graphs,
};

}  // namespace

Device *hosted_device(const char *name, LaunchFunction launch, DescribeFunction describe_status, int64_t shared_bytes,
                      int64_t compute_capability) {
    auto *made = new Hosted{launch, describe_status, shared_bytes, compute_capability, {}};
    std::snprintf(made->label, sizeof made->label, "emulated %s device", name);
    return new Device(&table, made);
}

}  // namespace qd
