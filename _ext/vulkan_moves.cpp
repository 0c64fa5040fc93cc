#include "driver_vulkan.hpp"
#include "vulkan_device.hpp"

namespace qd {
namespace vulkan {

bool (*ask_for_movers)(void *) = nullptr;

namespace {

constexpr size_t least_bytes = size_t(1) << 20;
constexpr size_t few_bytes = 256;
constexpr uint32_t some_reads = 16;
constexpr uint64_t block_units = 512;  // as templates/glsl/move.comp.j2 has it

struct Pushed {
    uint64_t target, source, units;
    uint32_t value;
};

// Others do not wait for the compiler, which wants the lock of the interpreter: they copy by commands meanwhile.
bool has_movers(Device &device) {
    if (!device.movers_asked.exchange(true) && ask_for_movers) device.has_movers = ask_for_movers(&device);
    return device.has_movers;
}

}  // namespace

bool moves_by_kernel(Device &device, uint64_t places, size_t bytes) {
    return device.moves && bytes >= least_bytes && (places | bytes) % 4 == 0 && has_movers(device);
}

// Who reads once does not wait for the compiler.
bool reads_by_kernel(Device &device, uint64_t places, size_t bytes) {
    return device.moves && bytes <= few_bytes && (places | bytes) % 4 == 0 && ++device.few_reads > some_reads &&
           has_movers(device);
}

Status move(Device &device, uint64_t target, uint64_t source, size_t bytes, const uint8_t *value) {
    Status status;
    const Handle commands = device.queue.commands(&status);
    if (status) return status;
    const bool fours = !value && (target | source | bytes) % 16 == 0;
    const Object pipeline = device.movers[value ? Mover::fills : fours ? Mover::copies_fours : Mover::copies];
    Pushed pushed{target, source, bytes / (fours ? 16 : 4), value ? *value * 0x01010101u : 0};
    device.vk().vkCmdBindPipeline(commands, 1, pipeline);
    device.queue.bound = pipeline;
    device.vk().vkCmdPushConstants(commands, device.layout, 0x20, 0, sizeof pushed, &pushed);
    dispatch(device, commands, static_cast<uint32_t>((pushed.units + block_units - 1) / block_units));
    device.queue.barrier(at_compute, at_compute, shader_writes, shader_reads | shader_writes);
    status = device.queue.recorded();
    return status || bytes < least_bytes ? status : device.queue.offer();
}

bool set_movers(void *opened, const std::vector<std::string> &modules) {
    Device &device = of(opened);
    Status status = modules.size() == std::size(device.movers) ? 0 : out_of_range;
    for (size_t k = 0; status == 0 && k < modules.size(); ++k) {
        const Task task{"move", reinterpret_cast<const uint32_t *>(modules[k].data()), modules[k].size() / 4};
        status = make_pipeline(device, task, &device.movers[k]);
    }
    return status == 0;
}

}  // namespace vulkan
}  // namespace qd
