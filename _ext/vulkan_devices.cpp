#include "vulkan_devices.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "vulkan_instance.hpp"

namespace qd {
namespace vulkan {
namespace {

constexpr uint32_t version_1_2 = 1u << 22 | 2u << 12;
constexpr Flags computes = 2;

// Extensions that are used where a device has them.
enum Extension { ATOMIC_FLOAT, SUBGROUP_SIZES, MEMORY_BUDGET, UNITS_OF_NVIDIA, UNITS_OF_AMD, EXTENSIONS };
constexpr const char *extension_names[EXTENSIONS] = {"VK_EXT_shader_atomic_float", "VK_EXT_subgroup_size_control",
                                                     "VK_EXT_memory_budget", "VK_NV_shader_sm_builtins",
                                                     "VK_AMD_shader_core_properties"};

// Features by the chain of structures that the interface fills, as bytes.
struct Chain {
    alignas(8) uint8_t first[240] = {}, second[64] = {}, third[208] = {}, atomics[64] = {}, sizes[24] = {};

    explicit Chain(const bool (&extensions)[EXTENSIONS]) {
        link(first, 1000059000, second);
        link(second, 49, third);
        void *next = extensions[SUBGROUP_SIZES] ? sizes : nullptr;
        link(sizes, 1000225002, nullptr);
        link(atomics, 1000260000, next);
        link(third, 51, extensions[ATOMIC_FLOAT] ? atomics : next);
    }

    static void link(uint8_t *place, int32_t type, void *next) {
        const Chained head{type, next};
        std::memcpy(place, &head, sizeof head);
    }
};

enum Where { FIRST, SECOND, THIRD, ATOMICS, SIZES };

// All that is asked for. needed: without it no kernel runs.
struct Feature {
    const char *name;
    Where where;
    size_t offset;
    bool needed;
};

constexpr Feature features[] = {
    {"bufferDeviceAddress", THIRD, 168, true},
    {"scalarBlockLayout", THIRD, 140, true},
    {"timelineSemaphore", THIRD, 164, true},
    {"shaderInt64", FIRST, 16 + 160, true},
    {"shaderFloat64", FIRST, 16 + 156, false},
    {"shaderInt16", FIRST, 16 + 164, false},
    {"storageBuffer16BitAccess", SECOND, 16, false},
    {"storagePushConstant16", SECOND, 24, false},
    {"storageBuffer8BitAccess", THIRD, 24, true},
    {"storagePushConstant8", THIRD, 32, true},
    {"shaderBufferInt64Atomics", THIRD, 36, false},
    {"shaderSharedInt64Atomics", THIRD, 40, false},
    {"shaderFloat16", THIRD, 44, false},
    {"shaderInt8", THIRD, 48, true},
    {"shaderSubgroupExtendedTypes", THIRD, 152, false},
    {"shaderBufferFloat32Atomics", ATOMICS, 16, false},
    {"shaderBufferFloat32AtomicAdd", ATOMICS, 20, false},
    {"shaderSharedFloat32Atomics", ATOMICS, 32, false},
    {"shaderSharedFloat32AtomicAdd", ATOMICS, 36, false},
    {"subgroupSizeControl", SIZES, 16, false},
    {"computeFullSubgroups", SIZES, 20, false},
};

uint8_t *part(Chain &chain, Where where) {
    switch (where) {
        case FIRST: return chain.first;
        case SECOND: return chain.second;
        case THIRD: return chain.third;
        case ATOMICS: return chain.atomics;
        default: return chain.sizes;
    }
}

uint32_t number(const uint8_t *place) {
    uint32_t found;
    std::memcpy(&found, place, sizeof found);
    return found;
}

void ask_extensions(const Instance &from, Found *found) {
    uint32_t count = 0;
    from.vk.vkEnumerateDeviceExtensionProperties(found->physical, nullptr, &count, nullptr);
    std::vector<ExtensionProperties> all(count);
    from.vk.vkEnumerateDeviceExtensionProperties(found->physical, nullptr, &count, all.data());
    for (const ExtensionProperties &one : all) {
        for (size_t k = 0; k < EXTENSIONS; ++k) found->extensions[k] |= std::strcmp(one.name, extension_names[k]) == 0;
    }
}

// The width that pipelines are made with, where they have a choice.
void choose_subgroup(uint32_t least, uint32_t most, uint32_t stages, Found *found) {
    if (!found->has("subgroupSizeControl") || least == most || !(stages & 0x20)) return;
    found->sized = true;
    found->subgroup = least <= 32 && 32 <= most ? 32 : most;
}

// Units that run blocks, where the maker tells.
void ask_units(const Instance &from, Found *found) {
    alignas(8) uint8_t first[840] = {}, nvidia[24] = {}, amd[72] = {};
    const bool other = found->extensions[UNITS_OF_AMD];
    if (!other && !found->extensions[UNITS_OF_NVIDIA]) return;
    Chain::link(first, 1000059001, other ? amd : nvidia);
    Chain::link(nvidia, 1000154001, nullptr);
    Chain::link(amd, 1000185000, nullptr);
    from.vk.vkGetPhysicalDeviceProperties2(found->physical, first);
    found->units = other ? number(amd + 16) * number(amd + 20) * number(amd + 24) : number(nvidia + 16);
}

void ask_properties(const Instance &from, Found *found) {
    alignas(8) uint8_t first[840] = {}, second[112] = {}, third[736] = {}, sizes[32] = {};
    Chain::link(first, 1000059001, second);
    Chain::link(second, 50, third);
    Chain::link(third, 52, found->extensions[SUBGROUP_SIZES] ? sizes : nullptr);
    Chain::link(sizes, 1000225000, nullptr);
    from.vk.vkGetPhysicalDeviceProperties2(found->physical, first);
    const uint8_t *limits = first + 16 + 296;
    found->shared_bytes = number(limits + 216);
    found->block_threads = number(limits + 232);
    std::memcpy(&found->tick, limits + 424, sizeof found->tick);
    found->subgroup = number(second + 64);
    std::memcpy(&found->largest, second + 104, sizeof found->largest);
    const uint32_t operations = number(second + 72);
    constexpr uint32_t wanted = 1 | 8 | 16 | 32;  // basic, ballot, shuffle, shuffle relative
    if ((operations & wanted) != wanted && found->lacking.empty()) found->lacking = "subgroup ballots and shuffles";
    found->features.emplace_back("preserves_f16", number(third + 544) != 0);
    found->features.emplace_back("preserves_f32", number(third + 548) != 0);
    found->features.emplace_back("preserves_f64", number(third + 552) != 0);
    choose_subgroup(number(sizes + 16), number(sizes + 20), number(sizes + 28), found);
}

void ask_features(const Instance &from, Found *found) {
    Chain chain(found->extensions);
    from.vk.vkGetPhysicalDeviceFeatures2(found->physical, chain.first);
    for (const Feature &feature : features) {
        const bool has = number(part(chain, feature.where) + feature.offset) != 0;
        found->features.emplace_back(feature.name, has);
        if (feature.needed && !has && found->lacking.empty()) found->lacking = feature.name;
    }
}

void ask_queues(const Instance &from, Found *found) {
    uint32_t count = 0;
    from.vk.vkGetPhysicalDeviceQueueFamilyProperties(found->physical, &count, nullptr);
    std::vector<QueueFamily> families(count);
    from.vk.vkGetPhysicalDeviceQueueFamilyProperties(found->physical, &count, families.data());
    for (uint32_t at = 0; at < count; ++at) {
        if (!(families[at].flags & computes)) continue;
        found->family = at;
        found->timed = families[at].timestamp_bits > 0;
        return;
    }
    found->lacking = "a queue for computing";
}

Found describe_device(const Instance &from, Handle physical) {
    alignas(8) uint8_t told[824] = {};
    from.vk.vkGetPhysicalDeviceProperties(physical, told);
    Found found;
    found.physical = physical;
    found.api = number(told);
    found.driver = number(told + 4);
    found.vendor = number(told + 8);
    found.device = number(told + 12);
    found.kind = number(told + 16);
    found.name = reinterpret_cast<const char *>(told + 20);
    std::memcpy(found.cache_id, told + 276, sizeof found.cache_id);
    if (found.api < version_1_2) {
        found.lacking = "Vulkan 1.2";
        return found;
    }
    ask_extensions(from, &found);
    ask_features(from, &found);
    ask_properties(from, &found);
    ask_queues(from, &found);
    ask_units(from, &found);
    return found;
}

Status make_device(const Instance &from, Opened *made) {
    const Found &found = *made->found;
    Chain chain(found.extensions);
    for (const Feature &feature : features) {
        const uint32_t on = found.has(feature.name);
        std::memcpy(part(chain, feature.where) + feature.offset, &on, sizeof on);
    }
    const float priority = 1;
    QueueInfo queue;
    queue.family = found.family;
    queue.priorities = &priority;
    const char *names[EXTENSIONS];
    DeviceInfo info;
    for (size_t k = 0; k < EXTENSIONS; ++k) {
        if (found.extensions[k]) names[info.extensions++] = extension_names[k];
    }
    info.next = chain.first;
    info.queue = &queue;
    info.extension_names = names;
    Status status = from.vk.vkCreateDevice(found.physical, &info, nullptr, &made->device);
    if (status) return status;
    bool all = true;
#define QD_VK_FIND(name, result, parameters) \
    all &= assign(&made->vk.name, from.vk.vkGetDeviceProcAddr(made->device, #name));
    QD_VK_DEVICE(QD_VK_FIND)
#undef QD_VK_FIND
    if (!all) return not_initialized;
    made->vk.vkGetDeviceQueue(made->device, found.family, 0, &made->queue);
    from.vk.vkGetPhysicalDeviceMemoryProperties(found.physical, &made->memory);
    return 0;
}

}  // namespace

bool Found::has(const char *feature) const {
    for (const auto &known : features) {
        if (known.first == feature) return known.second;
    }
    return false;
}

Opened::~Opened() {
    if (device && lost && vk.vkDestroyDevice) vk.vkDestroyDevice(device, nullptr);
}

uint64_t Opened::free_bytes(uint32_t heap) const {
    if (!found->extensions[MEMORY_BUDGET]) return 0;
    MemoryBudget budget;
    Memory2 asked;
    asked.next = &budget;
    instance().vk.vkGetPhysicalDeviceMemoryProperties2(found->physical, &asked);
    return budget.budget[heap] - std::min(budget.used[heap], budget.budget[heap]);
}

const std::vector<Found> &devices(const char **why) {
    static std::vector<Found> all;
    static const char *nothing = nullptr;
    static std::once_flag once;
    std::call_once(once, [] {
        const Instance &from = instance();
        nothing = from.why;
        if (nothing) return;
        uint32_t count = 0;
        from.vk.vkEnumeratePhysicalDevices(from.handle, &count, nullptr);
        std::vector<Handle> physical(count);
        from.vk.vkEnumeratePhysicalDevices(from.handle, &count, physical.data());
        for (uint32_t at = 0; at < count; ++at) all.push_back(describe_device(from, physical[at]));
        if (all.empty()) nothing = "there is no Vulkan device";
    });
    *why = nothing;
    return all;
}

std::shared_ptr<Opened> opened(size_t at, Status *status, const char **why) {
    static std::mutex gate;
    static std::map<size_t, std::shared_ptr<Opened>> known;
    const std::vector<Found> &found = devices(why);
    *status = not_initialized;
    if (*why || at >= found.size()) return nullptr;
    std::lock_guard<std::mutex> alone(gate);
    std::shared_ptr<Opened> &one = known[at];
    *status = 0;
    if (one && !one->lost) return one;
    auto made = std::make_shared<Opened>();
    made->found = &found[at];
    *status = make_device(instance(), made.get());
    if (*status) return nullptr;
    one = made;
    return one;
}

}  // namespace vulkan
}  // namespace qd
