// A device as the launch core has it: the functions of its driver, and what they are called with.
#pragma once

#include "qd_device.h"

namespace qd {

class Device {
  public:
    Device(const qd_device_api *table, void *self) : table_(table), self_(self) {}
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;
    ~Device() {
        if (table_->close) table_->close(self_);
    }

    int count(int32_t *devices) const { return table_->count(self_, devices); }
    int open() const { return table_->open(self_); }
    int attribute(int64_t *value, int32_t which) const { return table_->attribute(self_, value, which); }
    int device_name(char *text, size_t size) const { return table_->device_name(self_, text, size); }
    int load(void **module, const void *image) const { return table_->load(self_, module, image); }
    int function(void **function, void *module, const char *name) const {
        return table_->function(self_, function, module, name);
    }
    int unload(void *module) const { return table_->unload(self_, module); }
    int allow_shared(void *function, uint32_t bytes) const { return table_->allow_shared(self_, function, bytes); }
    int residency(int32_t *blocks, void *function, uint32_t block, uint32_t shared_bytes) const {
        return table_->residency(self_, blocks, function, block, shared_bytes);
    }
    int launch(void *function, uint32_t grid, uint32_t block, uint32_t shared_bytes, void *stream,
               void **params) const {
        return table_->launch(self_, function, grid, block, shared_bytes, stream, params);
    }
    int allocate(uint64_t *address, size_t bytes) const { return table_->allocate(self_, address, bytes); }
    int release(uint64_t address) const { return table_->release(self_, address); }
    int allocate_host(void **address, size_t bytes) const { return table_->allocate_host(self_, address, bytes); }
    int release_host(void *address) const { return table_->release_host(self_, address); }
    int to_device(uint64_t target, const void *source, size_t bytes, void *stream) const {
        return table_->to_device(self_, target, source, bytes, stream);
    }
    int to_host(void *target, uint64_t source, size_t bytes, void *stream) const {
        return table_->to_host(self_, target, source, bytes, stream);
    }
    int on_device(uint64_t target, uint64_t source, size_t bytes, void *stream) const {
        return table_->on_device(self_, target, source, bytes, stream);
    }
    int fill(uint64_t target, uint8_t value, size_t bytes, void *stream) const {
        return table_->fill(self_, target, value, bytes, stream);
    }
    int synchronize(void *stream) const { return table_->synchronize(self_, stream); }
    int stream_create(void **stream) const { return table_->stream_create(self_, stream); }
    int stream_destroy(void *stream) const { return table_->stream_destroy(self_, stream); }
    int event_create(void **event, int32_t timing) const { return table_->event_create(self_, event, timing); }
    int event_record(void *event, void *stream) const { return table_->event_record(self_, event, stream); }
    int event_wait(void *event, void *stream) const { return table_->event_wait(self_, event, stream); }
    int event_synchronize(void *event) const { return table_->event_synchronize(self_, event); }
    int event_milliseconds(float *between, void *begin, void *end) const {
        return table_->event_milliseconds(self_, between, begin, end);
    }
    int event_destroy(void *event) const { return table_->event_destroy(self_, event); }
    const char *describe(int status) const { return table_->describe(self_, status); }

    int launch_early(void *function, uint32_t grid, uint32_t block, uint32_t shared_bytes, void *stream,
                     void **params) const {
        auto start = table_->launch_early ? table_->launch_early : table_->launch;
        return start(self_, function, grid, block, shared_bytes, stream, params);
    }
    int submit(void *stream) const { return table_->submit ? table_->submit(self_, stream) : 0; }
    int address_of_host(uint64_t *address, const void *host) const {
        if (table_->address_of_host) return table_->address_of_host(self_, address, host);
        *address = reinterpret_cast<uint64_t>(host);
        return 0;
    }
    bool records_streams() const { return table_->is_capturing != nullptr; }
    int is_capturing(int32_t *answer, void *stream) const { return table_->is_capturing(self_, answer, stream); }
    bool knows_owners() const { return table_->owner != nullptr; }
    int owner(int32_t *ordinal, uint64_t address) const { return table_->owner(self_, ordinal, address); }

    // Null where tasks are launched one by one. Called with `self()`.
    const qd_graph_api *graphs() const { return table_->graphs ? table_->graphs(self_) : nullptr; }
    bool has_graphs() const { return graphs() != nullptr; }
    void *self() const { return self_; }

  private:
    const qd_device_api *table_;
    void *self_;
};

}  // namespace qd
