#include "vulkan_devices.hpp"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace qd {
namespace vulkan {
namespace {

constexpr uint32_t version_1_2 = 1u << 22 | 2u << 12;
constexpr Flags computes = 2;

// Features and properties by the chains of structures that the interface fills, as bytes.
struct Chain {
    alignas(8) uint8_t first[240] = {}, second[64] = {}, third[208] = {}, atomics[64] = {};

    explicit Chain(bool with_atomics) {
        link(first, 1000059000, second);
        link(second, 49, third);
        link(third, 51, with_atomics ? atomics : nullptr);
        link(atomics, 1000260000, nullptr);
    }

    static void link(uint8_t *place, int32_t type, void *next) {
        const Chained head{type, next};
        std::memcpy(place, &head, sizeof head);
    }
};

enum Where { FIRST, SECOND, THIRD, ATOMICS };

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
};

uint8_t *part(Chain &chain, Where where) {
    switch (where) {
        case FIRST: return chain.first;
        case SECOND: return chain.second;
        case THIRD: return chain.third;
        default: return chain.atomics;
    }
}

uint32_t number(const uint8_t *place) {
    uint32_t found;
    std::memcpy(&found, place, sizeof found);
    return found;
}

struct Loader {
    GetInstanceProc get = nullptr;
    Handle instance = nullptr;
    InstanceEntries vk;
    std::vector<Found> found;
    const char *why = nullptr;
};

template <class Entry>
bool assign(Entry *entry, Function found) {
    std::memcpy(entry, &found, sizeof found);
    return found != nullptr;
}

GetInstanceProc open_loader() {
#ifdef _WIN32
    HMODULE library = LoadLibraryA("vulkan-1.dll");
    return library ? reinterpret_cast<GetInstanceProc>(GetProcAddress(library, "vkGetInstanceProcAddr")) : nullptr;
#else
    void *library = nullptr;
    for (const char *name : {"libvulkan.so.1", "libvulkan.1.dylib", "libMoltenVK.dylib"}) {
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library) break;
    }
    void *address = library ? dlsym(library, "vkGetInstanceProcAddr") : nullptr;
    GetInstanceProc get = nullptr;
    std::memcpy(&get, &address, sizeof get);
    return get;
#endif
}

// Whether messages of the validation layer are wanted; they go to standard output.
bool validates(Loader &loader) {
    const char *wanted = std::getenv("QD_VULKAN_VALIDATION");
    if (!wanted || !*wanted || std::strcmp(wanted, "0") == 0) return false;
    Status(QD_VK * enumerate)(uint32_t *, LayerProperties *) = nullptr;
    if (!assign(&enumerate, loader.get(nullptr, "vkEnumerateInstanceLayerProperties"))) return false;
    uint32_t count = 0;
    enumerate(&count, nullptr);
    std::vector<LayerProperties> layers(count);
    enumerate(&count, layers.data());
    for (const LayerProperties &layer : layers) {
        if (std::strcmp(layer.name, "VK_LAYER_KHRONOS_validation") == 0) return true;
    }
    return false;
}

const char *make_instance(Loader &loader) {
    loader.get = open_loader();
    if (!loader.get) return "there is no Vulkan loader: install libvulkan1";
    Status(QD_VK * create)(const InstanceInfo *, const void *, Handle *) = nullptr;
    if (!assign(&create, loader.get(nullptr, "vkCreateInstance"))) return "the Vulkan loader cannot make an instance";
    ApplicationInfo application;
    application.name = "quadrants";
    application.api = version_1_2;
    const char *layer = "VK_LAYER_KHRONOS_validation";
    InstanceInfo info;
    info.application = &application;
    if (validates(loader)) {
        info.layers = 1;
        info.layer_names = &layer;
    }
    if (create(&info, nullptr, &loader.instance) != 0) return "there is no Vulkan driver, or none for Vulkan 1.2";
    bool all = true;
#define QD_VK_FIND(name, result, parameters) all &= assign(&loader.vk.name, loader.get(loader.instance, #name));
    QD_VK_INSTANCE(QD_VK_FIND)
#undef QD_VK_FIND
    return all ? nullptr : "the Vulkan loader is older than Vulkan 1.2";
}

bool has_extension(const Loader &loader, Handle physical, const char *name) {
    uint32_t count = 0;
    loader.vk.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
    std::vector<ExtensionProperties> extensions(count);
    loader.vk.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, extensions.data());
    for (const ExtensionProperties &extension : extensions) {
        if (std::strcmp(extension.name, name) == 0) return true;
    }
    return false;
}

void ask_properties(const Loader &loader, Found *found) {
    alignas(8) uint8_t first[840] = {}, second[112] = {}, third[736] = {};
    Chain::link(first, 1000059001, second);
    Chain::link(second, 50, third);
    Chain::link(third, 52, nullptr);
    loader.vk.vkGetPhysicalDeviceProperties2(found->physical, first);
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
}

void ask_features(const Loader &loader, Found *found) {
    const bool atomics = has_extension(loader, found->physical, "VK_EXT_shader_atomic_float");
    Chain chain(atomics);
    loader.vk.vkGetPhysicalDeviceFeatures2(found->physical, chain.first);
    for (const Feature &feature : features) {
        const bool has = number(part(chain, feature.where) + feature.offset) != 0;
        found->features.emplace_back(feature.name, has);
        if (feature.needed && !has && found->lacking.empty()) found->lacking = feature.name;
    }
}

void ask_queues(const Loader &loader, Found *found) {
    uint32_t count = 0;
    loader.vk.vkGetPhysicalDeviceQueueFamilyProperties(found->physical, &count, nullptr);
    std::vector<QueueFamily> families(count);
    loader.vk.vkGetPhysicalDeviceQueueFamilyProperties(found->physical, &count, families.data());
    for (uint32_t at = 0; at < count; ++at) {
        if (!(families[at].flags & computes)) continue;
        found->family = at;
        found->timed = families[at].timestamp_bits > 0;
        return;
    }
    found->lacking = "a queue for computing";
}

Loader &loader() {
    static Loader one;
    static std::once_flag once;
    std::call_once(once, [] {
        one.why = make_instance(one);
        if (one.why) return;
        uint32_t count = 0;
        one.vk.vkEnumeratePhysicalDevices(one.instance, &count, nullptr);
        std::vector<Handle> physical(count);
        one.vk.vkEnumeratePhysicalDevices(one.instance, &count, physical.data());
        for (uint32_t at = 0; at < count; ++at) {
            alignas(8) uint8_t told[824] = {};
            one.vk.vkGetPhysicalDeviceProperties(physical[at], told);
            Found found;
            found.physical = physical[at];
            found.api = number(told);
            found.driver = number(told + 4);
            found.vendor = number(told + 8);
            found.device = number(told + 12);
            found.kind = number(told + 16);
            found.name = reinterpret_cast<const char *>(told + 20);
            std::memcpy(found.cache_id, told + 276, sizeof found.cache_id);
            if (found.api < version_1_2) {
                found.lacking = "Vulkan 1.2";
            } else {
                ask_features(one, &found);
                ask_properties(one, &found);
                ask_queues(one, &found);
            }
            one.found.push_back(found);
        }
        if (one.found.empty()) one.why = "there is no Vulkan device";
    });
    return one;
}

Status make_device(const Loader &loader, Opened *made) {
    const Found &found = *made->found;
    const bool atomics = has_extension(loader, found.physical, "VK_EXT_shader_atomic_float");
    Chain chain(atomics);
    for (const Feature &feature : features) {
        const uint32_t on = found.has(feature.name);
        std::memcpy(part(chain, feature.where) + feature.offset, &on, sizeof on);
    }
    const float priority = 1;
    QueueInfo queue;
    queue.family = found.family;
    queue.priorities = &priority;
    const char *extension = "VK_EXT_shader_atomic_float";
    DeviceInfo info;
    info.next = chain.first;
    info.queue = &queue;
    info.extensions = atomics;
    info.extension_names = &extension;
    Status status = loader.vk.vkCreateDevice(found.physical, &info, nullptr, &made->device);
    if (status) return status;
    bool all = true;
#define QD_VK_FIND(name, result, parameters) \
    all &= assign(&made->vk.name, loader.vk.vkGetDeviceProcAddr(made->device, #name));
    QD_VK_DEVICE(QD_VK_FIND)
#undef QD_VK_FIND
    if (!all) return not_initialized;
    made->vk.vkGetDeviceQueue(made->device, found.family, 0, &made->queue);
    loader.vk.vkGetPhysicalDeviceMemoryProperties(found.physical, &made->memory);
    return 0;
}

}  // namespace

bool Found::has(const char *feature) const {
    for (const auto &known : features) {
        if (known.first == feature) return known.second;
    }
    return false;
}

const std::vector<Found> &devices(const char **why) {
    Loader &one = loader();
    *why = one.why;
    return one.found;
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
    *status = make_device(loader(), made.get());
    if (*status) return nullptr;
    one = made;
    return one;
}

}  // namespace vulkan
}  // namespace qd
