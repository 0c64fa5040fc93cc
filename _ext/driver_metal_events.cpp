#include "metal_device.hpp"

namespace qd {
namespace metal {
namespace {

// A number on the timeline of a stream; value 0: it was not recorded.
struct Event {
    bool timed = false;
    uint64_t stream = 0;
    uint64_t value = 0;
    Ref timeline;
    Moment moment;
};

Event &event_of(void *event) { return *static_cast<Event *>(event); }

void forget(const Opened &opened, Event *event) {
    if (Stream *stream = opened.numbered(event->stream)) stream->forget(&event->moment);
}

Status reach(Turn *turn, const Event &event) {
    Stream *stream = turn->opened.numbered(event.stream);
    if (stream) stream->wait(&turn->gate, event.value);
    return turn->opened.verdict();
}

}  // namespace

int event_create(void *, void **event, int32_t timing) {
    auto made = new Event;
    made->timed = timing != 0;
    *event = made;
    return 0;
}

int event_record(void *self, void *handle, void *stream_handle) {
    Turn turn(self);
    Event &event = event_of(handle);
    Stream *stream = turn.opened.find(stream_handle);
    if (!stream) return unknown_stream();
    forget(turn.opened, &event);
    if (event.timed) stream->note(&event.moment);
    stream->commit();
    event.stream = stream->number();
    event.value = stream->last();
    event.timeline = stream->timeline();
    return 0;
}

int event_wait(void *self, void *handle, void *stream_handle) {
    Turn turn(self);
    const Event &event = event_of(handle);
    Stream *stream = turn.opened.find(stream_handle);
    if (!stream) return unknown_stream();
    const bool passed = turn.opened.is_over({event.stream, event.value});
    if (passed || event.stream == stream->number()) return turn.opened.verdict();
    return stream->wait_for(event.timeline.id(), event.value) ? 0 : fail("Metal gave no command buffer");
}

int event_synchronize(void *self, void *handle) {
    Turn turn(self);
    return reach(&turn, event_of(handle));
}

int event_milliseconds(void *self, float *between, void *begin, void *end) {
    Turn turn(self);
    *between = 0;
    Status status = reach(&turn, event_of(begin));
    if (status == 0) status = reach(&turn, event_of(end));
    if (status == 0) status = turn.opened.finish_all(&turn.gate);  // a begin is that of work behind the event
    if (status) return status;
    const double seconds = event_of(end).moment.seconds() - event_of(begin).moment.seconds();
    *between = static_cast<float>(1e3 * seconds);
    return 0;
}

int event_destroy(void *self, void *handle) {
    Turn turn(self);
    std::unique_ptr<Event> ended(&event_of(handle));
    forget(turn.opened, ended.get());
    return 0;
}

}  // namespace metal
}  // namespace qd
