#include "vulkan_device.hpp"

namespace qd {
namespace vulkan {
namespace {

struct Event {
    uint64_t value = 0;  // of the timeline, once it was recorded
    uint32_t stamp = time_stamps;
};

Event &event_of(void *event) { return *static_cast<Event *>(event); }

}  // namespace

int event_create(void *self, void **event, int32_t timing) {
    Device &device = of(self);
    Gate alone(device.gate);
    auto made = std::make_unique<Event>();
    if (timing && device.stamps && !device.free_stamps.empty()) {
        made->stamp = device.free_stamps.back();
        device.free_stamps.pop_back();
    }
    *event = made.release();
    return 0;
}

int event_record(void *self, void *handle, void *) {
    Event &event = event_of(handle);
    Device &device = of(self);
    Gate alone(device.gate);
    Status status = 0;
    if (event.stamp < time_stamps) {
        const Handle commands = device.queue.commands(&status);
        if (status) return status;
        device.vk().vkCmdResetQueryPool(commands, device.stamps, event.stamp, 1);
        device.vk().vkCmdWriteTimestamp(commands, at_end, device.stamps, event.stamp);
    }
    status = device.queue.submit();
    event.value = device.queue.submitted();
    return status;
}

// All streams are the one queue, in whose order everything is anyway.
int event_wait(void *, void *, void *) { return 0; }

int event_synchronize(void *self, void *handle) { return of(self).queue.wait_for(event_of(handle).value, true); }

int event_milliseconds(void *self, float *between, void *begin, void *end) {
    Device &device = of(self);
    const Event *events[2] = {&event_of(begin), &event_of(end)};
    uint64_t times[2] = {0, 0};
    *between = 0;
    Status status = device.finish();
    Gate alone(device.gate);
    for (int at = 0; status == 0 && at < 2; ++at) {
        if (events[at]->stamp >= time_stamps) return 0;
        constexpr Flags wide_and_wait = 1 | 2;
        status = device.vk().vkGetQueryPoolResults(device.handle(), device.stamps, events[at]->stamp, 1,
                                                   sizeof(uint64_t), &times[at], sizeof(uint64_t), wide_and_wait);
    }
    const double ticks = static_cast<double>(static_cast<int64_t>(times[1] - times[0]));
    *between = static_cast<float>(1e-6 * device.opened->found->tick * ticks);
    return status;
}

int event_destroy(void *self, void *handle) {
    std::unique_ptr<Event> ended(&event_of(handle));
    Device &device = of(self);
    Gate alone(device.gate);
    if (ended->stamp < time_stamps) device.free_stamps.push_back(ended->stamp);
    return 0;
}

}  // namespace vulkan
}  // namespace qd
