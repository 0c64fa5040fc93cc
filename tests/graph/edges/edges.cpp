// Describes graphs to a driver that prints what a node comes behind. Words on the standard input: t a task, f first or
// next branch, [ and ] around branches, l and e around a loop.
#include <iostream>
#include <string>

#include "driver_cuda_graphs.hpp"

namespace {

struct Driver {
    struct {
        bool overlaps = true;
        void *context = nullptr;
    } place;
    static Driver &of(void *self) { return *static_cast<Driver *>(self); }
    template <class Do>
    static int there(void *, Do what) {
        return what();
    }
};

using Graphs = qd::CudaGraphs<Driver>;
using Handle = void *;
uintptr_t made = 0, bodies = 1000;

int create(Handle *graph, unsigned) {
    *graph = reinterpret_cast<Handle>(++bodies);
    return 0;
}

int condition(uint64_t *handle, Handle, Handle, unsigned, unsigned) {
    *handle = 7;
    return 0;
}

int add_node(Handle *node, Handle graph, const Handle *behind, const qd::Edge *edges, size_t count, qd::NodeParams *params) {
    static Handle body;
    *node = reinterpret_cast<Handle>(++made);
    std::cout << (params->type == qd::kernel_node ? "" : "loop ") << made << " in " << reinterpret_cast<uintptr_t>(graph) - 1000
              << (edges ? " overlaps" : " behind");
    for (size_t k = 0; k < count; ++k) std::cout << ' ' << reinterpret_cast<uintptr_t>(behind[k]);
    std::cout << '\n';
    if (params->type == qd::conditional_node) {
        body = reinterpret_cast<Handle>(++bodies);
        params->of.conditional.graphs = &body;
    }
    return 0;
}

}  // namespace

int main() {
    qd::CudaGraphEntries::create = create;
    qd::CudaGraphEntries::condition = condition;
    qd::CudaGraphEntries::add_node = add_node;
    Driver driver;
    void *graph = nullptr;
    Graphs::api.create(&driver, &graph);
    const qd_graph_task task{nullptr, 1, 1, 0, 1, 0, nullptr, nullptr};
    char word;
    int status = 0;
    while (status == 0 && std::cin >> word) {
        uint64_t handle = 0;
        if (word == 't') status = Graphs::api.add(&driver, graph, &task);
        if (word == '[') status = Graphs::api.open_branches(&driver, graph);
        if (word == 'f') status = Graphs::api.next_branch(&driver, graph);
        if (word == ']') status = Graphs::api.close_branches(&driver, graph);
        if (word == 'l') {
            status = Graphs::api.condition(&driver, graph, &handle);
            if (status == 0) status = Graphs::api.open_loop(&driver, graph, handle);
        }
        if (word == 'e') status = Graphs::api.close_loop(&driver, graph);
    }
    return status;
}
