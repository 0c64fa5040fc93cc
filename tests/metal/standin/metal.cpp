// What devices, queues, command buffers and encoders do when they are sent messages.
#include <cstring>

#include "gpu.hpp"

namespace standin {
namespace {

using Guard = std::lock_guard<std::recursive_mutex>;

// ---- devices

String *device_name(Device *, const Name *) { return static_cast<String *>(autoreleased(new String("Stand-in GPU"))); }

}  // namespace

Queue *new_queue(Device *self, const Name *) {
    Guard alone(everything());
    if (refused("queue")) return nullptr;
    return new Queue(self);
}

namespace {

Event *new_event(Device *, const Name *) { return refused("event") ? nullptr : new Event; }

Buffer *new_buffer(Device *self, const Name *, uint64_t bytes, uint64_t options) {
    Guard alone(everything());
    if (bytes == 0) complain("a buffer of 0 bytes");
    if (options != 0) complain("a buffer that host and device do not share, or that is not tracked");
    if (bytes > settings.most_bytes || refused("buffer")) return nullptr;
    return new Buffer(self, bytes);
}

Pipeline *new_pipeline(Device *, const Name *, Function *function, Error **error) {
    if (refused("pipeline without a reason")) return nullptr;
    if (refused("pipeline")) {
        *error = static_cast<Error *>(autoreleased(new Error(3, "Compiler encountered an internal error")));
        return nullptr;
    }
    return new Pipeline(function->name, function->task);
}

uint64_t most_bytes(Device *, const Name *) { return settings.most_bytes; }
uint64_t working_set(Device *, const Name *) { return uint64_t(3) << 30; }
uint64_t allocated(Device *self, const Name *) { return self->used; }
uint64_t shared_bytes(Device *, const Name *) { return 32768; }

// ---- what is made once

Function *new_function(Library *self, const Name *, String *name) {
    auto found = self->tasks.find(name->text);
    return found == self->tasks.end() ? nullptr : new Function(name->text, found->second);
}

uint64_t most_threads(Pipeline *self, const Name *) { return self->most_threads; }
void *contents(Buffer *self, const Name *) { return self->host; }
uint64_t address(Buffer *self, const Name *) { return reinterpret_cast<uint64_t>(self->address); }
uint64_t signaled(Event *self, const Name *) { return self->value; }

// ---- queues and command buffers

Device *device_of(Queue *self, const Name *) { return self->device.get(); }

Commands *new_commands(Queue *self, const Name *) {
    Guard alone(everything());
    if (refused("commands")) return nullptr;
    if (self->waiting.size() >= 64) complete(self->waiting.front().get());  // a real queue blocks until there are fewer
    return static_cast<Commands *>(autoreleased(new Commands(self)));
}

ComputeEncoder *compute_encoder(Commands *self, const Name *, uint64_t dispatches) {
    Guard alone(everything());
    if (dispatches != 0) complain("dispatches that are not serial");
    return static_cast<ComputeEncoder *>(autoreleased(new ComputeEncoder(self)));
}

CopyEncoder *copy_encoder(Commands *self, const Name *) {
    Guard alone(everything());
    return static_cast<CopyEncoder *>(autoreleased(new CopyEncoder(self)));
}

void check_between(Commands *commands) {
    if (commands->encoding) complain("an event in " + commands->label + " while an encoder is open");
}

void signal(Commands *self, const Name *, Event *event, uint64_t value) {
    Guard alone(everything());
    check_between(self);
    const Held<Event> held(event);
    self->steps.push_back([held, value] {
        if (value <= held->value) complain("a timeline goes back");
        held->value = value;
        note("signal " + held->label + " " + std::to_string(value));
        return true;
    });
}

void wait_for(Commands *self, const Name *, Event *event, uint64_t value) {
    Guard alone(everything());
    check_between(self);
    note(self->label + " waits for " + event->label + " " + std::to_string(value));
    const Held<Event> held(event);
    self->steps.push_back([held, value] { return held->value >= value; });
}

void commit(Commands *self, const Name *) {
    Guard alone(everything());
    if (self->state != fresh) complain(self->label + " is committed twice");
    if (self->encoding) complain(self->label + " is committed while an encoder is open");
    self->state = committed;
    note("commit " + self->label + " to " + self->queue->label + " with " + std::to_string(self->dispatches) + " tasks");
    self->queue->waiting.push_back(Held<Commands>(self));
    if (settings.eager) advance_all();
}

void wait(Commands *self, const Name *) {
    Guard alone(everything());
    if (self->state == fresh) complain("a wait for " + self->label + ", which was not committed");
    note("wait for " + self->label);
    complete(self);
}

uint64_t status(Commands *self, const Name *) { return self->state; }
Error *error(Commands *self, const Name *) { return self->error; }

double began(Commands *self, const Name *) {
    if (self->state < completed) complain("the times of " + self->label + " are asked for before it is done");
    return self->began;
}

double ended(Commands *self, const Name *) {
    if (self->state < completed) complain("the times of " + self->label + " are asked for before it is done");
    return self->ended;
}

// ---- encoders

void set_pipeline(ComputeEncoder *self, const Name *, Pipeline *pipeline) { self->pipeline = pipeline; }

void set_bytes(ComputeEncoder *self, const Name *, const void *bytes, uint64_t length, uint64_t index) {
    if (length == 0 || length > 4096) complain("setBytes of " + std::to_string(length) + " bytes");
    if (index != 0) complain("setBytes at an index other than 0");
    self->bytes.assign(static_cast<const char *>(bytes), length);
    self->bound[0] = nullptr;
}

void set_buffer(ComputeEncoder *self, const Name *, Buffer *buffer, uint64_t offset, uint64_t index) {
    if (index > 1) return complain("setBuffer at an index above 1");
    if (offset % 4 || offset >= buffer->bytes) complain("setBuffer with an offset of " + std::to_string(offset));
    self->bound[index] = buffer;
    self->offsets[index] = offset;
}

void set_shared(ComputeEncoder *self, const Name *, uint64_t bytes, uint64_t) {
    if (bytes % 16 || bytes > 32768) complain("threadgroup memory of " + std::to_string(bytes) + " bytes");
    self->shared = bytes;
}

void use(ComputeEncoder *self, const Name *, Buffer *const *buffers, uint64_t count, uint64_t usage) {
    if (usage != 3) complain("resources that are not for reading and writing");
    self->used = std::set<Buffer *>(buffers, buffers + count);
}

void barrier(ComputeEncoder *self, const Name *, uint64_t scope) {
    if (scope != 1) complain("a barrier that is not of buffers");
    self->barrier = true;
}

void dispatch(ComputeEncoder *self, const Name *, Size groups, Size threads) {
    Guard alone(everything());
    Pipeline *pipeline = self->pipeline;
    if (!pipeline) return complain("a dispatch without a pipeline");
    if (!self->barrier) complain("no barrier before " + pipeline->name);
    self->barrier = false;
    if (groups.height != 1 || groups.depth != 1 || threads.height != 1 || threads.depth != 1) complain("a grid of several axes");
    if (groups.width == 0 || threads.width == 0) complain("an empty grid");
    if (threads.width > pipeline->most_threads) complain("more threads than the pipeline has");
    Commands *commands = self->commands.get();
    ++commands->dispatches;
    note("dispatch " + pipeline->name + " " + std::to_string(groups.width) + " x " + std::to_string(threads.width));
    std::set<Buffer *> seen = self->used;
    uint64_t places[2] = {0, 0};
    for (int at = 0; at < 2; ++at) {
        if (!self->bound[at]) continue;
        seen.insert(self->bound[at]);
        places[at] = reinterpret_cast<uint64_t>(self->bound[at]->address) + self->offsets[at];
    }
    const std::vector<Held<Buffer>> shown = [&] {
        std::vector<Held<Buffer>> all;
        for (Buffer *buffer : seen) all.emplace_back(buffer);
        return all;
    }();
    const Held<Pipeline> kept(pipeline);
    const std::string bytes = self->bytes;
    const uint32_t shared = static_cast<uint32_t>(self->shared);
    const uint64_t block = places[0], frame = places[1];
    commands->steps.push_back([=] {
        for (const auto &buffer : shown) buffer->show(true);
        std::string copy = bytes;
        uint64_t addresses[2] = {block, frame};
        void *params[2] = {block ? static_cast<void *>(&addresses[0]) : &copy[0], &addresses[1]};
        const int answer = settings.launch(kept->task, static_cast<uint32_t>(groups.width),
                                           static_cast<uint32_t>(threads.width), shared, nullptr, params);
        for (const auto &buffer : shown) buffer->show(false);
        if (answer) commands->fail(1, settings.describe(answer));
        return true;
    });
}

void fill(CopyEncoder *self, const Name *, Buffer *buffer, Range range, uint8_t value) {
    Guard alone(everything());
    if (range.location % 4 || range.length % 4 || range.location + range.length > buffer->bytes) complain("a fill of a part that is no part");
    const Held<Buffer> held(buffer);
    self->commands->steps.push_back([=] {
        std::memset(held->host + range.location, value, range.length);
        return true;
    });
}

void copy(CopyEncoder *self, const Name *, Buffer *from, uint64_t begin, Buffer *to, uint64_t there, uint64_t bytes) {
    Guard alone(everything());
    if (begin % 4 || there % 4 || bytes % 4) complain("a copy that is not of whole words");
    const Held<Buffer> source(from), target(to);
    self->commands->steps.push_back([=] {
        std::memcpy(target->host + there, source->host + begin, bytes);
        return true;
    });
}

void end(Encoder *self, const Name *) {
    if (self->ended) complain(self->label + " is ended twice");
    self->ended = true;
    self->commands->encoding = false;
}

}  // namespace

void add_metal() {
    method("MTLDevice", "name", device_name);
    method("MTLDevice", "newCommandQueue", new_queue);
    method("MTLDevice", "newSharedEvent", new_event);
    method("MTLDevice", "newBufferWithLength:options:", new_buffer);
    method("MTLDevice", "newComputePipelineStateWithFunction:error:", new_pipeline);
    method("MTLDevice", "maxBufferLength", most_bytes);
    method("MTLDevice", "recommendedMaxWorkingSetSize", working_set);
    method("MTLDevice", "currentAllocatedSize", allocated);
    method("MTLDevice", "maxThreadgroupMemoryLength", shared_bytes);
    method("MTLLibrary", "newFunctionWithName:", new_function);
    method("MTLComputePipelineState", "maxTotalThreadsPerThreadgroup", most_threads);
    method("MTLBuffer", "contents", contents);
    method("MTLBuffer", "gpuAddress", address);
    method("MTLSharedEvent", "signaledValue", signaled);
    method("MTLCommandQueue", "device", device_of);
    method("MTLCommandQueue", "commandBuffer", new_commands);
    method("MTLCommandBuffer", "computeCommandEncoderWithDispatchType:", compute_encoder);
    method("MTLCommandBuffer", "blitCommandEncoder", copy_encoder);
    method("MTLCommandBuffer", "encodeSignalEvent:value:", signal);
    method("MTLCommandBuffer", "encodeWaitForEvent:value:", wait_for);
    method("MTLCommandBuffer", "commit", commit);
    method("MTLCommandBuffer", "waitUntilCompleted", wait);
    method("MTLCommandBuffer", "status", status);
    method("MTLCommandBuffer", "error", error);
    method("MTLCommandBuffer", "GPUStartTime", began);
    method("MTLCommandBuffer", "GPUEndTime", ended);
    method("MTLComputeCommandEncoder", "setComputePipelineState:", set_pipeline);
    method("MTLComputeCommandEncoder", "setBytes:length:atIndex:", set_bytes);
    method("MTLComputeCommandEncoder", "setBuffer:offset:atIndex:", set_buffer);
    method("MTLComputeCommandEncoder", "setThreadgroupMemoryLength:atIndex:", set_shared);
    method("MTLComputeCommandEncoder", "useResources:count:usage:", use);
    method("MTLComputeCommandEncoder", "memoryBarrierWithScope:", barrier);
    method("MTLComputeCommandEncoder", "dispatchThreadgroups:threadsPerThreadgroup:", dispatch);
    method("MTLComputeCommandEncoder", "endEncoding", end);
    method("MTLBlitCommandEncoder", "fillBuffer:range:value:", fill);
    method("MTLBlitCommandEncoder", "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", copy);
    method("MTLBlitCommandEncoder", "endEncoding", end);
}

}  // namespace standin
