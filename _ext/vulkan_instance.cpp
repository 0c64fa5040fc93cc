#include "vulkan_instance.hpp"

#include <cstdlib>
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
constexpr const char *layer = "VK_LAYER_KHRONOS_validation", *speaker = "VK_EXT_debug_utils";

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

std::mutex gate;
std::vector<std::string> said;

uint32_t QD_VK hear(uint32_t, Flags, const MessageData *data, void *) {
    std::lock_guard<std::mutex> alone(gate);
    said.emplace_back(data->text ? data->text : "");
    return 0;
}

// Whether messages of the validation layer are wanted, and there is one.
bool validates(const Instance &made) {
    const char *wanted = std::getenv("QD_VULKAN_VALIDATION");
    if (!wanted || !*wanted || std::strcmp(wanted, "0") == 0) return false;
    Status(QD_VK * enumerate)(uint32_t *, LayerProperties *) = nullptr;
    if (!assign(&enumerate, made.get(nullptr, "vkEnumerateInstanceLayerProperties"))) return false;
    uint32_t count = 0;
    enumerate(&count, nullptr);
    std::vector<LayerProperties> layers(count);
    enumerate(&count, layers.data());
    for (const LayerProperties &one : layers) {
        if (std::strcmp(one.name, layer) == 0) return true;
    }
    std::lock_guard<std::mutex> alone(gate);
    said.emplace_back("the layer is not installed, so nothing is checked: apt install vulkan-validationlayers");
    return false;
}

void listen(const Instance &made, const MessengerInfo &messenger) {
    Status(QD_VK * create)(Handle, const MessengerInfo *, const void *, Object *) = nullptr;
    Object kept = 0;
    if (assign(&create, made.get(made.handle, "vkCreateDebugUtilsMessengerEXT"))) {
        create(made.handle, &messenger, nullptr, &kept);
    }
}

const char *make(Instance &made) {
    made.get = open_loader();
    if (!made.get) return "there is no Vulkan loader: install libvulkan1";
    Status(QD_VK * create)(const InstanceInfo *, const void *, Handle *) = nullptr;
    if (!assign(&create, made.get(nullptr, "vkCreateInstance"))) return "the Vulkan loader cannot make an instance";
    ApplicationInfo application;
    application.name = "quadrants";
    application.api = version_1_2;
    MessengerInfo messenger;
    messenger.callback = reinterpret_cast<const void *>(&hear);
    InstanceInfo info;
    info.application = &application;
    const bool checked = validates(made);
    if (checked) {
        info.next = &messenger;
        info.layers = info.extensions = 1;
        info.layer_names = &layer;
        info.extension_names = &speaker;
    }
    if (create(&info, nullptr, &made.handle) != 0) return "there is no Vulkan driver, or none for Vulkan 1.2";
    if (checked) listen(made, messenger);
    bool all = true;
#define QD_VK_FIND(name, result, parameters) all &= assign(&made.vk.name, made.get(made.handle, #name));
    QD_VK_INSTANCE(QD_VK_FIND)
#undef QD_VK_FIND
    return all ? nullptr : "the Vulkan loader is older than Vulkan 1.2";
}

}  // namespace

const Instance &instance() {
    static Instance one;
    static std::once_flag once;
    std::call_once(once, [] { one.why = make(one); });
    return one;
}

std::vector<std::string> messages() {
    std::lock_guard<std::mutex> alone(gate);
    return std::move(said);
}

}  // namespace vulkan
}  // namespace qd
