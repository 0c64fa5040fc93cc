#include "driver_metal.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "metal_device.hpp"

namespace qd {
namespace metal {
namespace {

thread_local std::string said;

constexpr int64_t units = 16;  // Metal does not say how many there are
constexpr int64_t most_threads_of_a_group = 1024;
constexpr int64_t most_bytes_by_value = 4096;

int count(void *, int32_t *devices) {
    *devices = 1;
    return 0;
}

int open_device(void *self) {
    Turn turn(self);
    Opened &opened = turn.opened;
    if (!opened.streams.empty() || opened.add_stream(opened.lent_queue)) return 0;
    return fail("Metal gave no command queue");
}

int attribute(void *self, int64_t *value, int32_t which) {
    Turn turn(self);
    *value = 0;
    switch (which) {
        case QD_MULTIPROCESSORS: *value = units; return 0;
        case QD_MAX_THREADS_PER_BLOCK: *value = most_threads_of_a_group; return 0;
        case QD_MAX_SHARED_BYTES: *value = static_cast<int64_t>(say.shared_bytes(turn.opened.device.id())); return 0;
        case QD_COMPUTE_CAPABILITY: return 0;
        case QD_CLOCK_KHZ: return 0;
        case QD_ARGUMENT_BYTES: *value = most_bytes_by_value; return 0;
        default: return fail("Metal does not know that attribute");
    }
}

int device_name(void *self, char *text, size_t size) {
    Turn turn(self);
    std::snprintf(text, size, "%s", text_of(say.name(turn.opened.device.id())).c_str());
    return 0;
}

int allow_shared(void *, void *, uint32_t) { return 0; }

// Metal does not say.
int residency(void *, int32_t *blocks, void *, uint32_t, uint32_t) {
    *blocks = 8;
    return 0;
}

std::string no_memory(Id device, size_t bytes) {
    const std::string most = std::to_string(say.most_bytes(device)), used = std::to_string(say.allocated(device));
    return "Metal gave no buffer of " + std::to_string(bytes) + " bytes; a buffer has " + most +
           " at most (maxBufferLength), and " + used + " of the " + std::to_string(say.working_set(device)) +
           " that this device should hold are in use";
}

int allocate(void *self, uint64_t *address, size_t bytes) {
    Turn turn(self);
    Opened &opened = turn.opened;
    *address = 0;
    if (bytes > say.most_bytes(opened.device.id())) return fail(no_memory(opened.device.id(), bytes));
    opened.reclaim();
    *address = opened.memory.allocate(std::max<size_t>(bytes, 1));
    if (*address) return 0;
    // What was freed may still be in use.
    const Status status = opened.finish_all(&turn.gate);
    opened.reclaim();
    if (status == 0) *address = opened.memory.allocate(std::max<size_t>(bytes, 1));
    return status || *address ? status : fail(no_memory(opened.device.id(), bytes));
}

int release(void *self, uint64_t address) {
    Turn turn(self);
    turn.opened.release_later(address);
    return 0;
}

int allocate_host(void *, void **address, size_t bytes) {
    *address = std::malloc(std::max<size_t>(bytes, 1));
    return *address ? 0 : fail("there is not that much memory");
}

int release_host(void *, void *address) {
    std::free(address);
    return 0;
}

int synchronize(void *self, void *handle) {
    Turn turn(self);
    Stream *stream = turn.opened.find(handle);
    return stream ? turn.opened.finish(&turn.gate, stream) : unknown_stream();
}

int stream_create(void *self, void **handle) {
    Turn turn(self);
    Stream *made = turn.opened.add_stream(nullptr);
    *handle = made;
    return made ? 0 : fail("Metal gave no command queue");
}

int stream_destroy(void *self, void *handle) {
    Turn turn(self);
    Opened &opened = turn.opened;
    Stream *stream = opened.find(handle);
    if (!stream) return unknown_stream();
    const Status status = opened.finish(&turn.gate, stream);
    auto &all = opened.streams;
    all.erase(std::remove_if(all.begin(), all.end(), [=](const auto &one) { return one.get() == stream; }), all.end());
    return status;
}

const char *describe(void *, int) { return last_failure(); }

void close(void *self) {
    Autorelease pool;
    std::unique_ptr<Opened> opened(&of(self));
    Gate gate(opened->gate);
    opened->finish_all(&gate);  // a failure was told to whoever asked for the work
    gate.unlock();
}

}  // namespace

Status fail(std::string text) {
    said = std::move(text);
    return 1;
}

const char *last_failure() { return said.c_str(); }

Status unknown_stream() { return fail("that is no stream of this runtime; make one with qd.create_stream()"); }

Stream *Opened::add_stream(Id queue) {
    auto made = std::make_unique<Stream>(device.id(), queue, ++streams_made);
    if (!made->usable()) return nullptr;
    streams.push_back(std::move(made));
    return streams.back().get();
}

Stream *Opened::find(void *handle) const {
    if (!handle) return streams.front().get();
    for (const auto &stream : streams) {
        if (stream.get() == handle) return stream.get();
    }
    return lent_queue && handle == lent_queue ? streams.front().get() : nullptr;
}

Stream *Opened::numbered(uint64_t number) const {
    for (const auto &stream : streams) {
        if (stream->number() == number) return stream.get();
    }
    return nullptr;
}

Status Opened::verdict() const {
    for (const auto &stream : streams) {
        if (!stream->failure().empty()) return fail(stream->failure());
    }
    return 0;
}

Status Opened::finish(Gate *open_gate, Stream *stream) {
    stream->commit();
    stream->wait(open_gate, stream->last());
    return verdict();
}

Status Opened::finish_all(Gate *open_gate) {
    for (size_t at = 0; at < streams.size(); ++at) finish(open_gate, streams[at].get());
    return verdict();
}

// A stream that is gone was waited for.
bool Opened::is_over(const Use &use) const {
    const Stream *stream = numbered(use.stream);
    return !stream || stream->done() >= use.value;
}

void Opened::reclaim() {
    for (const auto &stream : streams) stream->retire();
    memory.reclaim([this](const Use &use) { return is_over(use); });
}

void Opened::release_later(uint64_t address) {
    std::vector<Use> uses;
    for (const auto &stream : streams) uses.push_back({stream->number(), stream->last()});
    memory.release_after(address, std::move(uses));
    reclaim();
}

const qd_device_api table = {
    "metal", count, open_device, attribute, device_name, load, function, unload, allow_shared, residency, launch,
    nullptr, allocate, release, allocate_host, release_host, to_device, to_host, on_device, fill, synchronize,
    stream_create, stream_destroy, event_create, event_record, event_wait, event_synchronize, event_milliseconds,
    event_destroy, nullptr, nullptr, describe, close, nullptr, submit,
};

void *open(const Given &given, const char **why) {
    static std::mutex gate;
    std::lock_guard<std::mutex> alone(gate);
    *why = load_runtime(given.objc, given.framework);
    if (*why) return nullptr;
    Autorelease pool;
    const Id device = static_cast<Id>(given.device), queue = static_cast<Id>(given.queue);
    if (queue && say.device(queue) != device) {
        *why = "external_metal_command_queue is a queue of another device; give one of the device that kernels run on";
        return nullptr;
    }
    return new Opened(device, queue, given.timing);
}

}  // namespace metal
}  // namespace qd
