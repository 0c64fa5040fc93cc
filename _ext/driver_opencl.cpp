#include "driver_opencl.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device_pool.hpp"
#include "opencl_entries.hpp"

namespace qd {
namespace opencl {
namespace {

Entries cl;

constexpr Status out_of_memory = -6;  // CL_OUT_OF_HOST_MEMORY
constexpr Status no_memory = -4;      // CL_MEM_OBJECT_ALLOCATION_FAILURE
constexpr Status out_of_range = -30;  // CL_INVALID_VALUE
constexpr Status invalid_kernel = -48;

constexpr uint32_t device_type = 0x1000;
constexpr uint32_t device_units = 0x1002;
constexpr uint32_t device_group = 0x1004;
constexpr uint32_t device_megahertz = 0x100C;
constexpr uint32_t device_parameters = 0x1017;
constexpr uint32_t device_local = 0x1023;
constexpr uint32_t device_name_text = 0x102B;
constexpr uint64_t type_processor = 2;  // CL_DEVICE_TYPE_CPU
constexpr uint32_t exec_pointers = 0x11B6;  // CL_KERNEL_EXEC_INFO_SVM_PTRS
constexpr uint32_t profiling_end = 0x1283;
constexpr uint64_t queue_properties = 0x1093;
constexpr uint64_t queue_profiling = 2;
constexpr uint64_t read_write = 1;
constexpr uint32_t waits = 1;

// Blocks of memory that host and device give the same addresses.
struct Memory {
    using Block = void *;
    Handle context;
    void *take(size_t bytes) { return cl.clSVMAlloc(context, read_write, bytes, 0); }
    void give(void *block) { cl.clSVMFree(context, block); }
    static uint64_t address(void *block) { return reinterpret_cast<uint64_t>(block); }
};

struct Opened {
    Handle context;
    Handle device;
    bool timing;
    Handle queue = nullptr;  // the default stream
    std::mutex gate;         // of what follows
    std::vector<Handle> streams;
    qd::Pool<Memory> pool;
    std::map<uint64_t, int> foreign;  // memory of others, and how often it was retained
    uint64_t foreign_version = 0;     // grows whenever there is other such memory

    Opened(Handle context, Handle device, Handle queue, bool timing)
        : context(context), device(device), timing(timing), queue(queue), pool(Memory{context}) {}

    uint64_t version() const { return pool.version() + foreign_version; }
};

Opened &of(void *self) { return *static_cast<Opened *>(self); }

Handle queue_of(void *self, void *stream) { return stream ? stream : of(self).queue; }

// A kernel object has the arguments of one launch, so launches of it take turns.
struct Function {
    Handle kernel;
    size_t block_bytes;
    uint64_t version = 0;  // of the memory, when the driver was told its blocks
    std::mutex gate;
};

struct Program {
    Handle program;
    size_t block_bytes;
    std::vector<std::unique_ptr<Function>> functions;
};

Handle make_queue(Opened &opened, Status *status) {
    const uint64_t wanted[] = {queue_properties, queue_profiling, 0};
    return cl.clCreateCommandQueueWithProperties(opened.context, opened.device, opened.timing ? wanted : nullptr, status);
}

// Waits for the work of all streams.
Status finish_all(Opened &opened) {
    std::vector<Handle> queues;
    {
        std::lock_guard<std::mutex> alone(opened.gate);
        queues = opened.streams;
    }
    queues.push_back(opened.queue);
    Status status = 0;
    for (Handle queue : queues) {
        Status ended = cl.clFinish(queue);
        if (!status) status = ended;
    }
    return status;
}

int count(void *, int32_t *devices) {
    *devices = 1;
    return 0;
}

int open_device(void *self) {
    Status status = 0;
    if (!of(self).queue) of(self).queue = make_queue(of(self), &status);
    return status;
}

template <class Number>
Status ask(void *self, uint32_t what, int64_t *value) {
    Number found = 0;
    Status status = cl.clGetDeviceInfo(of(self).device, what, sizeof found, &found, nullptr);
    *value = static_cast<int64_t>(found);
    return status;
}

int attribute(void *self, int64_t *value, int32_t which) {
    *value = 0;
    Status status = 0;
    switch (which) {
        case QD_MULTIPROCESSORS: return ask<uint32_t>(self, device_units, value);
        case QD_MAX_THREADS_PER_BLOCK: return ask<size_t>(self, device_group, value);
        case QD_MAX_SHARED_BYTES: return ask<uint64_t>(self, device_local, value);
        case QD_COMPUTE_CAPABILITY: return 0;
        case QD_CLOCK_KHZ:
            status = ask<uint32_t>(self, device_megahertz, value);
            *value *= 1000;
            return status;
        case QD_ARGUMENT_BYTES: return ask<size_t>(self, device_parameters, value);
        default: return out_of_range;
    }
}

int device_name(void *self, char *text, size_t size) {
    char found[1024] = "";
    Status status = cl.clGetDeviceInfo(of(self).device, device_name_text, sizeof found, found, nullptr);
    std::snprintf(text, size, "%s", found);
    return status;
}

int load(void *, void **module, const void *image) {
    Image told;
    std::memcpy(&told, image, sizeof told);
    Handle program = reinterpret_cast<Handle>(told.program);
    Status status = cl.clRetainProgram(program);
    if (status == 0) *module = new Program{program, told.block_bytes, {}};
    return status;
}

int function(void *, void **found, void *module, const char *name) {
    auto &program = *static_cast<Program *>(module);
    Status status = 0;
    Handle kernel = cl.clCreateKernel(program.program, name, &status);
    if (status) return status;
    auto made = std::make_unique<Function>();
    made->kernel = kernel;
    made->block_bytes = program.block_bytes;
    *found = made.get();
    program.functions.push_back(std::move(made));
    return 0;
}

int unload(void *, void *module) {
    std::unique_ptr<Program> program(static_cast<Program *>(module));
    for (const auto &made : program->functions) cl.clReleaseKernel(made->kernel);
    return cl.clReleaseProgram(program->program);
}

int allow_shared(void *, void *, uint32_t) { return 0; }

// The driver does not say.
int residency(void *, int32_t *blocks, void *, uint32_t, uint32_t) {
    *blocks = 8;
    return 0;
}

// PoCL 5 refuses to be told where a context has a device before the one that the kernel was built for. A processor needs
// no telling: it reaches all memory of its process.
bool told_in_vain(Opened &opened, Status status) {
    int64_t type = 0;
    return status == invalid_kernel && ask<uint64_t>(&opened, device_type, &type) == 0 && (type & type_processor);
}

// Kernels find memory through numbers in their arguments, which the driver does not see.
Status tell_blocks(Opened &opened, Function &function) {
    std::vector<void *> blocks;
    uint64_t version;
    {
        std::lock_guard<std::mutex> alone(opened.gate);
        version = opened.version();
        if (version == function.version) return 0;
        blocks = opened.pool.blocks();
        for (const auto &memory : opened.foreign) blocks.push_back(reinterpret_cast<void *>(memory.first));
    }
    if (!blocks.empty()) {
        Status status =
            cl.clSetKernelExecInfo(function.kernel, exec_pointers, blocks.size() * sizeof(void *), blocks.data());
        if (status && !told_in_vain(opened, status)) return status;
    }
    function.version = version;
    return 0;
}

Status set_block(const Function &function, void *param) {
    if (function.block_bytes) return cl.clSetKernelArg(function.kernel, 0, function.block_bytes, param);
    return cl.clSetKernelArgSVMPointer(function.kernel, 0, *static_cast<void **>(param));
}

// No frame is a null buffer: some drivers count a null pointer to shared memory as an argument that is missing.
Status set_frame(const Function &function, void *frame) {
    if (frame) return cl.clSetKernelArgSVMPointer(function.kernel, 1, frame);
    return cl.clSetKernelArg(function.kernel, 1, sizeof(Handle), nullptr);
}

int launch(void *self, void *handle, uint32_t grid, uint32_t block, uint32_t shared_bytes, void *stream,
           void **params) {
    Function &function = *static_cast<Function *>(handle);
    Handle queue = queue_of(self, stream);
    std::lock_guard<std::mutex> alone(function.gate);
    Status status = tell_blocks(of(self), function);
    if (status == 0) status = set_block(function, params[0]);
    if (status == 0) status = set_frame(function, *static_cast<void **>(params[1]));
    if (status == 0 && shared_bytes) status = cl.clSetKernelArg(function.kernel, 2, shared_bytes, nullptr);
    if (status) return status;
    const size_t global = static_cast<size_t>(grid) * block, local = block;
    status = cl.clEnqueueNDRangeKernel(queue, function.kernel, 1, nullptr, &global, &local, 0, nullptr, nullptr);
    return status ? status : cl.clFlush(queue);
}

int allocate(void *self, uint64_t *address, size_t bytes) {
    std::lock_guard<std::mutex> alone(of(self).gate);
    *address = of(self).pool.allocate(std::max<size_t>(bytes, 1));
    return *address ? 0 : no_memory;
}

// Work that was asked for before may use the memory still.
int release(void *self, uint64_t address) {
    Status status = finish_all(of(self));
    std::lock_guard<std::mutex> alone(of(self).gate);
    of(self).pool.release(address);
    return status;
}

int allocate_host(void *, void **address, size_t bytes) {
    *address = std::malloc(std::max<size_t>(bytes, 1));
    return *address ? 0 : out_of_memory;
}

int release_host(void *, void *address) {
    std::free(address);
    return 0;
}

Status copy(void *self, void *target, const void *source, size_t bytes, void *stream, uint32_t wait) {
    if (bytes == 0 || target == source) return 0;  // a copy onto itself is an error of OpenCL
    Handle queue = queue_of(self, stream);
    return cl.clEnqueueSVMMemcpy(queue, wait, target, source, bytes, 0, nullptr, nullptr);
}

int to_device(void *self, uint64_t target, const void *source, size_t bytes, void *stream) {
    return copy(self, reinterpret_cast<void *>(target), source, bytes, stream, waits);
}

int to_host(void *self, void *target, uint64_t source, size_t bytes, void *stream) {
    return copy(self, target, reinterpret_cast<void *>(source), bytes, stream, waits);
}

int on_device(void *self, uint64_t target, uint64_t source, size_t bytes, void *stream) {
    return copy(self, reinterpret_cast<void *>(target), reinterpret_cast<void *>(source), bytes, stream, 0);
}

int fill(void *self, uint64_t target, uint8_t value, size_t bytes, void *stream) {
    if (bytes == 0) return 0;
    return cl.clEnqueueSVMMemFill(queue_of(self, stream), reinterpret_cast<void *>(target), &value, sizeof value, bytes,
                                  0, nullptr, nullptr);
}

int synchronize(void *self, void *stream) { return cl.clFinish(queue_of(self, stream)); }

int stream_create(void *self, void **stream) {
    Status status = 0;
    *stream = make_queue(of(self), &status);
    std::lock_guard<std::mutex> alone(of(self).gate);
    if (status == 0) of(self).streams.push_back(*stream);
    return status;
}

int stream_destroy(void *self, void *stream) {
    Status status = cl.clFinish(stream);
    {
        std::lock_guard<std::mutex> alone(of(self).gate);
        auto &streams = of(self).streams;
        streams.erase(std::remove(streams.begin(), streams.end(), stream), streams.end());
    }
    Status released = cl.clReleaseCommandQueue(stream);
    return status ? status : released;
}

// An event of ours may be recorded again, one of OpenCL is made by each recording.
struct Event {
    Handle recorded = nullptr;
};

Event &event_of(void *event) { return *static_cast<Event *>(event); }

int event_create(void *, void **event, int32_t) {
    *event = new Event;
    return 0;
}

int event_record(void *self, void *event, void *stream) {
    Handle &recorded = event_of(event).recorded;
    if (recorded) cl.clReleaseEvent(recorded);
    recorded = nullptr;
    Handle queue = queue_of(self, stream);
    Status status = cl.clEnqueueMarkerWithWaitList(queue, 0, nullptr, &recorded);
    return status ? status : cl.clFlush(queue);
}

int event_wait(void *self, void *event, void *stream) {
    const Handle recorded = event_of(event).recorded;
    return recorded ? cl.clEnqueueBarrierWithWaitList(queue_of(self, stream), 1, &recorded, nullptr) : 0;
}

int event_synchronize(void *, void *event) {
    const Handle recorded = event_of(event).recorded;
    return recorded ? cl.clWaitForEvents(1, &recorded) : 0;
}

int event_milliseconds(void *, float *between, void *begin, void *end) {
    uint64_t times[2] = {0, 0};
    const Handle events[2] = {event_of(begin).recorded, event_of(end).recorded};
    Status status = cl.clWaitForEvents(2, events);
    for (int at = 0; status == 0 && at < 2; ++at) {
        status = cl.clGetEventProfilingInfo(events[at], profiling_end, sizeof times[at], &times[at], nullptr);
    }
    *between = static_cast<float>(1e-6 * static_cast<double>(static_cast<int64_t>(times[1] - times[0])));
    return status;
}

int event_destroy(void *, void *event) {
    std::unique_ptr<Event> ended(&event_of(event));
    return ended->recorded ? cl.clReleaseEvent(ended->recorded) : 0;
}

struct Named {
    Status status;
    const char *name;
};

constexpr Named names[] = {
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE: there is not that much memory"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-48, "CL_INVALID_KERNEL"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-59, "CL_INVALID_OPERATION"},
};

const char *describe(void *, int status) {
    static thread_local char text[64];
    for (const Named &known : names) {
        if (known.status == status) return known.name;
    }
    std::snprintf(text, sizeof text, "OpenCL status %d", status);
    return text;
}

void close(void *self) {
    std::unique_ptr<Opened> opened(&of(self));
    if (opened->queue) {
        finish_all(*opened);
        cl.clReleaseCommandQueue(opened->queue);
    }
    const Handle context = opened->context;
    opened.reset();
    cl.clReleaseContext(context);
}

}  // namespace

const qd_device_api table = {
    "opencl", count, open_device, attribute, device_name, load, function, unload, allow_shared, residency, launch,
    nullptr, allocate, release, allocate_host, release_host, to_device, to_host, on_device, fill, synchronize,
    stream_create, stream_destroy, event_create, event_record, event_wait, event_synchronize, event_milliseconds,
    event_destroy, nullptr, nullptr, describe, close,
};

void retain_memory(void *opened, uint64_t address) {
    std::lock_guard<std::mutex> alone(of(opened).gate);
    if (of(opened).foreign[address]++ == 0) ++of(opened).foreign_version;
}

void release_memory(void *opened, uint64_t address) {
    std::lock_guard<std::mutex> alone(of(opened).gate);
    auto found = of(opened).foreign.find(address);
    if (found == of(opened).foreign.end() || --found->second > 0) return;
    of(opened).foreign.erase(found);
    ++of(opened).foreign_version;
}

void *open(void *context, void *device, void *queue, bool timing, const char *binding, const char **why) {
    static std::mutex gate;
    static bool ready = false;
    std::lock_guard<std::mutex> alone(gate);
    *why = ready ? nullptr : find(&cl, binding);
    ready = *why == nullptr;
    if (!ready) return nullptr;
    if (cl.clRetainContext(context) != 0 || (queue && cl.clRetainCommandQueue(queue) != 0)) {
        *why = "it takes a context of OpenCL, and a queue of it";
        return nullptr;
    }
    return new Opened(context, device, queue, timing);
}

}  // namespace opencl
}  // namespace qd
