#include "metal_messages.hpp"

#include <dlfcn.h>

#include <cstddef>
#include <cstring>
#include <utility>

namespace qd {
namespace metal {
namespace {

std::vector<const AnyMessage *> &known() {
    static std::vector<const AnyMessage *> all;
    return all;
}

struct Symbol {
    size_t offset;
    const char *name;
};

#define QD_SYMBOL(name) {offsetof(Runtime, name), #name}
constexpr Symbol symbols[] = {
    QD_SYMBOL(objc_msgSend), QD_SYMBOL(objc_getClass), QD_SYMBOL(sel_registerName), QD_SYMBOL(objc_autoreleasePoolPush),
    QD_SYMBOL(objc_autoreleasePoolPop),
};
#undef QD_SYMBOL

}  // namespace

Runtime runtime;
const Messages say;

AnyMessage::AnyMessage(const char *selector, std::string types) : selector(selector), types(std::move(types)) {
    known().push_back(this);
}

const std::vector<const AnyMessage *> &messages() { return known(); }

const char *load_runtime(const char *objc, const char *framework) {
    // Kept open: objects of theirs outlive any device of ours.
    void *library = dlopen(objc, RTLD_NOW | RTLD_LOCAL);
    if (!library) return "the runtime of Objective-C cannot be opened";
    if (!dlopen(framework, RTLD_NOW | RTLD_LOCAL)) return "the framework Metal cannot be opened";
    for (const Symbol &symbol : symbols) {
        void *address = dlsym(library, symbol.name);
        if (!address) return "the runtime of Objective-C lacks functions";
        std::memcpy(reinterpret_cast<char *>(&runtime) + symbol.offset, &address, sizeof address);
    }
    for (const AnyMessage *message : known()) message->registered = runtime.sel_registerName(message->selector);
    return nullptr;
}

std::string text_of(Id string) {
    const char *text = say.text(string);
    return text ? text : "";
}

std::string text_of_error(Id error) {
    if (!error) return "without a reason";
    return text_of(say.description(error)) + " (code " + std::to_string(say.code(error)) + ")";
}

}  // namespace metal
}  // namespace qd
