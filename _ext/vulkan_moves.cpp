#include "driver_vulkan.hpp"
#include "vulkan_device.hpp"

namespace qd {
namespace vulkan {

bool (*ask_for_movers)(void *) = nullptr;

namespace {

constexpr size_t least_bytes = size_t(1) << 20;
constexpr uint64_t block_words = 512;  // as templates/glsl/move.comp.j2 has it

struct Pushed {
    uint64_t target, source, words;
    uint32_t value;
};

}  // namespace

// Called without the gate: whoever is asked may wait for a compiler.
bool moves_by_kernel(Device &device, uint64_t places, size_t bytes) {
    if (!device.moves || bytes < least_bytes || (places | bytes) % 4 != 0) return false;
    // Others do not wait for the compiler, which wants the lock of the interpreter: they copy by commands meanwhile.
    if (!device.movers_asked.exchange(true) && ask_for_movers) device.has_movers = ask_for_movers(&device);
    return device.has_movers;
}

Status move(Device &device, uint64_t target, uint64_t source, size_t bytes, const uint8_t *value) {
    Status status;
    const Handle commands = device.queue.commands(&status);
    if (status) return status;
    Pushed pushed{target, source, bytes / 4, value ? *value * 0x01010101u : 0};
    const Object pipeline = device.movers[value != nullptr];
    device.vk().vkCmdBindPipeline(commands, 1, pipeline);
    device.queue.bound = pipeline;
    device.vk().vkCmdPushConstants(commands, device.layout, 0x20, 0, sizeof pushed, &pushed);
    dispatch(device, commands, static_cast<uint32_t>((pushed.words + block_words - 1) / block_words));
    device.queue.barrier(at_compute, at_compute, shader_writes, shader_reads | shader_writes);
    status = device.queue.recorded();
    return status ? status : device.queue.offer();
}

bool set_movers(void *opened, const uint32_t *copy, size_t copy_words, const uint32_t *fill, size_t fill_words) {
    Device &device = of(opened);
    Status status = make_pipeline(device, {"copy", copy, copy_words}, &device.movers[0]);
    if (status == 0) status = make_pipeline(device, {"fill", fill, fill_words}, &device.movers[1]);
    return status == 0;
}

}  // namespace vulkan
}  // namespace qd
