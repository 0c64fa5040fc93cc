// The graph functions of NVIDIA's driver and what they are handed, as of CUDA 12.4. Part of driver.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver_entries.hpp"

namespace qd {
namespace {

// CUDA_KERNEL_NODE_PARAMS_v2 and _v3.
struct KernelNode {
    Handle function;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    void **params;
    void **extra;
    Handle kernel;
    Handle context;
};

// CUDA_CONDITIONAL_NODE_PARAMS.
struct ConditionalNode {
    uint64_t handle;
    int type;
    unsigned bodies;
    Handle *graphs;
    Handle context;
};

// CUgraphNodeParams.
struct NodeParams {
    int type;
    int reserved[3];
    union {
        long long room[29];
        KernelNode kernel;
        ConditionalNode conditional;
    } of;
    long long reserved_too;
};
static_assert(sizeof(NodeParams) == 256, "the driver reads 256 bytes");

// CUgraphEdgeData.
struct Edge {
    unsigned char from_port, to_port, type, reserved[5];
};
static_assert(sizeof(Edge) == 8, "the driver reads 8 bytes");

constexpr int kernel_node = 0;       // CU_GRAPH_NODE_TYPE_KERNEL
constexpr int conditional_node = 13;  // CU_GRAPH_NODE_TYPE_CONDITIONAL
constexpr int while_loop = 1;        // CU_GRAPH_COND_TYPE_WHILE
constexpr unsigned set_at_launch = 1;  // CU_GRAPH_COND_ASSIGN_DEFAULT
// The later task may start while the earlier one ends: CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
// CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC.
constexpr Edge overlapping_edge = {1, 0, 1, {}};

// All null in drivers before 12.3.
struct CudaGraphEntries {
    static Status (*create)(Handle *, unsigned);
    static Status (*destroy)(Handle);
    static Status (*add_node)(Handle *, Handle, const Handle *, const Edge *, size_t, NodeParams *);
    static Status (*condition)(uint64_t *, Handle, Handle, unsigned, unsigned);
    static Status (*instantiate)(Handle *, Handle, uint64_t);
    static Status (*set_kernel)(Handle, Handle, const KernelNode *);
    static Status (*enable)(Handle, Handle, unsigned);
    static Status (*launch)(Handle, Handle);
    static Status (*destroy_executable)(Handle);

    template <class Get>
    static void find(Get get) {
        const bool all = get(create, "cuGraphCreate") && get(destroy, "cuGraphDestroy") &&
                         get(condition, "cuGraphConditionalHandleCreate") &&
                         get(instantiate, "cuGraphInstantiateWithFlags") &&
                         get(set_kernel, "cuGraphExecKernelNodeSetParams_v2") &&
                         get(enable, "cuGraphNodeSetEnabled") && get(launch, "cuGraphLaunch") &&
                         get(destroy_executable, "cuGraphExecDestroy") && get(add_node, "cuGraphAddNode_v2");
        if (!all) add_node = nullptr;
    }
};

Status (*CudaGraphEntries::create)(Handle *, unsigned);
Status (*CudaGraphEntries::destroy)(Handle);
Status (*CudaGraphEntries::add_node)(Handle *, Handle, const Handle *, const Edge *, size_t, NodeParams *);
Status (*CudaGraphEntries::condition)(uint64_t *, Handle, Handle, unsigned, unsigned);
Status (*CudaGraphEntries::instantiate)(Handle *, Handle, uint64_t);
Status (*CudaGraphEntries::set_kernel)(Handle, Handle, const KernelNode *);
Status (*CudaGraphEntries::enable)(Handle, Handle, unsigned);
Status (*CudaGraphEntries::launch)(Handle, Handle);
Status (*CudaGraphEntries::destroy_executable)(Handle);

}  // namespace
}  // namespace qd
