// A device of Metal in use. Part of driver_metal*.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "metal_memory.hpp"
#include "metal_stream.hpp"

namespace qd {
namespace metal {

// What functions of the table return. The text of the last failure of a thread says what it was.
using Status = int;
Status fail(std::string text);
const char *last_failure();

struct Opened {
    Ref device;
    bool timing;
    Id lent_queue;     // of the default stream, null for one of our own
    std::mutex gate;   // of what follows, and of all that is said to its objects
    Memory memory;
    std::vector<std::unique_ptr<Stream>> streams;  // the default one first
    uint64_t streams_made = 0;

    Opened(Id device, Id queue, bool timing)
        : device(Ref::to(device)), timing(timing), lent_queue(queue), memory(this->device.id()) {}

    // Null where Metal gives none.
    Stream *add_stream(Id queue);
    // Null for a handle that is none of ours.
    Stream *find(void *handle) const;
    Stream *numbered(uint64_t number) const;

    // What earlier work failed with: nothing can be done any more.
    Status verdict() const;
    Status finish(Gate *gate, Stream *stream);
    Status finish_all(Gate *gate);
    bool is_over(const Use &use) const;
    void reclaim();
    // What work that was asked for before may use still is free when that is done.
    void release_later(uint64_t address);
};

inline Opened &of(void *self) { return *static_cast<Opened *>(self); }

// For the time of a function of the table.
struct Turn {
    Autorelease pool;
    Opened &opened;
    Gate gate;
    explicit Turn(void *self) : opened(of(self)), gate(opened.gate) {}
};

Status unknown_stream();

// Launches: driver_metal_launch.cpp.
int load(void *self, void **module, const void *image);
int function(void *self, void **found, void *module, const char *name);
int unload(void *self, void *module);
int launch(void *self, void *handle, uint32_t grid, uint32_t block, uint32_t shared_bytes, void *stream, void **params);
int submit(void *self, void *stream);

// Copies: driver_metal_copies.cpp.
int to_device(void *self, uint64_t target, const void *source, size_t bytes, void *stream);
int to_host(void *self, void *target, uint64_t source, size_t bytes, void *stream);
int on_device(void *self, uint64_t target, uint64_t source, size_t bytes, void *stream);
int fill(void *self, uint64_t target, uint8_t value, size_t bytes, void *stream);

// Events: driver_metal_events.cpp.
int event_create(void *self, void **event, int32_t timing);
int event_record(void *self, void *event, void *stream);
int event_wait(void *self, void *event, void *stream);
int event_synchronize(void *self, void *event);
int event_milliseconds(void *self, float *between, void *begin, void *end);
int event_destroy(void *self, void *event);

}  // namespace metal
}  // namespace qd
