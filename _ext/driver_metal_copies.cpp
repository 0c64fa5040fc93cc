#include <algorithm>
#include <cstring>

#include "metal_device.hpp"

namespace qd {
namespace metal {
namespace {

constexpr size_t most_staged = size_t(1) << 20;
constexpr uint64_t word = 4;  // what the device copies begins and ends at multiples of it

bool whole_words(uint64_t address, size_t bytes) { return address % word == 0 && bytes % word == 0; }

Status no_place() { return fail("a copy is from or to an address that Metal did not give"); }
Status no_encoder() { return fail("Metal gave no command buffer"); }

// What both sides are after the work of the stream so far: the host's turn.
Status until_idle(Turn *turn, Stream *stream) {
    return stream->idle() ? turn->opened.verdict() : turn->opened.finish(&turn->gate, stream);
}

// Kernel times are those of command buffers, and a copy is no part of a kernel.
void put(const Opened &opened, Stream *stream) {
    stream->copied();
    if (opened.timing) stream->commit();
    stream->commit_if_idle();
}

Status copy_there(Opened &opened, Stream *stream, const Place &target, const Place &source, size_t bytes) {
    const Id encoder = stream->copies();
    if (!encoder) return no_encoder();
    say.copy(encoder, source.buffer, source.offset, target.buffer, target.offset, bytes);
    put(opened, stream);
    return 0;
}

bool overlap(const Place &target, const Place &source, size_t bytes) {
    return target.host < source.host + bytes && source.host < target.host + bytes;
}

}  // namespace

int to_device(void *self, uint64_t target, const void *source, size_t bytes, void *handle) {
    if (bytes == 0) return 0;
    Turn turn(self);
    Opened &opened = turn.opened;
    Stream *stream = opened.find(handle);
    if (!stream) return unknown_stream();
    const Place place = opened.memory.find(target);
    if (!place.host) return no_place();
    const bool staged = !stream->idle() && bytes <= most_staged && whole_words(target, bytes);
    const uint64_t stage = staged ? opened.memory.allocate(bytes) : 0;
    if (!stage) {
        const Status status = until_idle(&turn, stream);
        if (status == 0) std::memcpy(place.host, source, bytes);
        return status;
    }
    const Place from = opened.memory.find(stage);
    std::memcpy(from.host, source, bytes);
    const Status status = copy_there(opened, stream, place, from, bytes);
    opened.release_later(stage);
    return status ? status : opened.verdict();
}

int to_host(void *self, void *target, uint64_t source, size_t bytes, void *handle) {
    if (bytes == 0) return 0;
    Turn turn(self);
    Stream *stream = turn.opened.find(handle);
    if (!stream) return unknown_stream();
    const Place place = turn.opened.memory.find(source);
    if (!place.host) return no_place();
    const Status status = until_idle(&turn, stream);
    if (status == 0) std::memcpy(target, place.host, bytes);
    return status;
}

int on_device(void *self, uint64_t target, uint64_t source, size_t bytes, void *handle) {
    if (bytes == 0 || target == source) return 0;
    Turn turn(self);
    Opened &opened = turn.opened;
    Stream *stream = opened.find(handle);
    if (!stream) return unknown_stream();
    const Place to = opened.memory.find(target), from = opened.memory.find(source);
    if (!to.host || !from.host) return no_place();
    if (whole_words(target | source, bytes) && !overlap(to, from, bytes)) {
        return copy_there(opened, stream, to, from, bytes);
    }
    const Status status = until_idle(&turn, stream);
    if (status == 0) std::memmove(to.host, from.host, bytes);
    return status;
}

int fill(void *self, uint64_t target, uint8_t value, size_t bytes, void *handle) {
    if (bytes == 0) return 0;
    Turn turn(self);
    Opened &opened = turn.opened;
    Stream *stream = opened.find(handle);
    if (!stream) return unknown_stream();
    const Place place = opened.memory.find(target);
    if (!place.host) return no_place();
    if (stream->idle() || !whole_words(target, bytes)) {
        const Status status = until_idle(&turn, stream);
        if (status == 0) std::memset(place.host, value, bytes);
        return status;
    }
    const Id encoder = stream->copies();
    if (!encoder) return no_encoder();
    say.fill(encoder, place.buffer, {place.offset, bytes}, value);
    put(opened, stream);
    return 0;
}

}  // namespace metal
}  // namespace qd
