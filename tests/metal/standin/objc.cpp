// Sending of messages, counting of references, and what was noted.
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#include "objects.hpp"

namespace standin {
namespace {

struct World {
    std::map<std::string, std::unique_ptr<Name>> names;
    std::map<std::string, std::unique_ptr<Class>> classes;
    std::map<std::pair<std::string, std::string>, void *> methods;
    std::set<std::string> signatures;
    std::map<std::string, long> alive;
    std::map<std::string, long> made;
    std::string log, complaints, answer;
};

World &world() {
    static World *one = new World;
    return *one;
}

thread_local std::vector<std::vector<Object *>> pools;

Object *to_retain(Object *self, const Name *) {
    retain(self);
    return self;
}

void to_release(Object *self, const Name *) { release(self); }

String *string_of(Object *, const Name *, const char *text) {
    return static_cast<String *>(autoreleased(new String(text)));
}

const char *text_of(String *self, const Name *) { return self->text.c_str(); }

String *description(Error *self, const Name *) { return static_cast<String *>(autoreleased(new String(self->text))); }

int64_t code(Error *self, const Name *) { return self->number; }

struct ClassObject : Object {
    using Object::Object;
};

void add_methods() {
    static bool done = false;
    if (done) return;
    done = true;
    method("", "retain", to_retain);
    method("", "release", to_release);
    method("class NSString", "stringWithUTF8String:", string_of);
    method("NSString", "UTF8String", text_of);
    method("NSError", "localizedDescription", description);
    method("NSError", "code", code);
    add_metal();
}

}  // namespace

std::recursive_mutex &everything() {
    static auto *one = new std::recursive_mutex;
    return *one;
}

void note(const std::string &line) { world().log += line + "\n"; }
void complain(const std::string &line) { world().complaints += line + "\n"; }

Object::Object(const char *name) {
    std::lock_guard<std::recursive_mutex> alone(everything());
    auto &known = world().classes[name];
    if (!known) known.reset(new Class{name});
    kind = known.get();
    label = kind->name + " " + std::to_string(world().made[name]++);
    ++world().alive[name];
}

void retain(Object *object) {
    std::lock_guard<std::recursive_mutex> alone(everything());
    ++object->count;
}

void release(Object *object) {
    std::lock_guard<std::recursive_mutex> alone(everything());
    if (--object->count > 0) return;
    object->gone = true;
    --world().alive[object->kind->name];
    object->dispose();
}

Object *autoreleased(Object *object) {
    if (pools.empty()) {
        complain(object->label + " was autoreleased where there is no pool: it leaks");
    } else {
        pools.back().push_back(object);
    }
    return object;
}

void add_method(const char *kind, const char *selector, const std::string &types, void *function) {
    world().methods[{kind, selector}] = function;
    world().signatures.insert(std::string(selector) + " " + types);
}

extern "C" {

void standin_nothing();

// What a message ends in.
void *standin_method(Object *self, const Name *selector) {
    std::lock_guard<std::recursive_mutex> alone(everything());
    if (!self) return reinterpret_cast<void *>(standin_nothing);
    const std::string &text = selector->text;
    if (self->gone) {
        complain("-" + text + " to " + self->label + ", which is freed");
        return reinterpret_cast<void *>(standin_nothing);
    }
    auto found = world().methods.find({self->kind->name, text});
    if (found == world().methods.end()) found = world().methods.find({"", text});
    if (found != world().methods.end()) return found->second;
    complain(self->label + " does not respond to -" + text);
    return reinterpret_cast<void *>(standin_nothing);
}

// The registers of arguments go to the method as they came, and so does what is on the stack.
__asm__(R"(
    .text
    .globl objc_msgSend
    .type objc_msgSend, @function
objc_msgSend:
    push %rbp
    mov %rsp, %rbp
    sub $192, %rsp
    movups %xmm0, -16(%rbp)
    movups %xmm1, -32(%rbp)
    movups %xmm2, -48(%rbp)
    movups %xmm3, -64(%rbp)
    movups %xmm4, -80(%rbp)
    movups %xmm5, -96(%rbp)
    movups %xmm6, -112(%rbp)
    movups %xmm7, -128(%rbp)
    mov %rdi, -136(%rbp)
    mov %rsi, -144(%rbp)
    mov %rdx, -152(%rbp)
    mov %rcx, -160(%rbp)
    mov %r8, -168(%rbp)
    mov %r9, -176(%rbp)
    call standin_method@PLT
    mov %rax, %r11
    movups -16(%rbp), %xmm0
    movups -32(%rbp), %xmm1
    movups -48(%rbp), %xmm2
    movups -64(%rbp), %xmm3
    movups -80(%rbp), %xmm4
    movups -96(%rbp), %xmm5
    movups -112(%rbp), %xmm6
    movups -128(%rbp), %xmm7
    mov -136(%rbp), %rdi
    mov -144(%rbp), %rsi
    mov -152(%rbp), %rdx
    mov -160(%rbp), %rcx
    mov -168(%rbp), %r8
    mov -176(%rbp), %r9
    leave
    jmp *%r11
    .size objc_msgSend, .-objc_msgSend
    .globl standin_nothing
    .type standin_nothing, @function
standin_nothing:
    xor %eax, %eax
    xor %edx, %edx
    pxor %xmm0, %xmm0
    ret
    .size standin_nothing, .-standin_nothing
)");

const Name *sel_registerName(const char *text) {
    std::lock_guard<std::recursive_mutex> alone(everything());
    add_methods();
    auto &known = world().names[text];
    if (!known) known.reset(new Name{text});
    return known.get();
}

Object *objc_getClass(const char *name) {
    std::lock_guard<std::recursive_mutex> alone(everything());
    add_methods();
    static std::map<std::string, Object *> known;
    if (std::strcmp(name, "NSString") != 0) return nullptr;
    auto &found = known[name];
    if (!found) found = new ClassObject((std::string("class ") + name).c_str());
    return found;
}

void *objc_autoreleasePoolPush() {
    pools.emplace_back();
    return reinterpret_cast<void *>(pools.size());
}

void objc_autoreleasePoolPop(void *token) {
    std::lock_guard<std::recursive_mutex> alone(everything());
    const size_t depth = reinterpret_cast<size_t>(token);
    if (depth != pools.size()) complain("autorelease pools are popped in another order than they were pushed");
    while (!pools.empty() && pools.size() >= depth) {
        const std::vector<Object *> last = std::move(pools.back());
        pools.pop_back();
        for (Object *object : last) release(object);
    }
}

// ---- for tests. Texts are valid until the next call.

const char *standin_log() {
    std::lock_guard<std::recursive_mutex> alone(everything());
    world().answer = std::move(world().log);
    world().log.clear();
    return world().answer.c_str();
}

const char *standin_complaints() {
    std::lock_guard<std::recursive_mutex> alone(everything());
    world().answer = std::move(world().complaints);
    world().complaints.clear();
    return world().answer.c_str();
}

const char *standin_alive() {
    std::lock_guard<std::recursive_mutex> alone(everything());
    world().answer.clear();
    for (const auto &one : world().alive) {
        if (one.second && one.first.rfind("class ", 0) != 0) {
            world().answer += one.first + " " + std::to_string(one.second) + "\n";
        }
    }
    return world().answer.c_str();
}

const char *standin_signatures() {
    std::lock_guard<std::recursive_mutex> alone(everything());
    add_methods();
    world().answer.clear();
    for (const std::string &one : world().signatures) world().answer += one + "\n";
    return world().answer.c_str();
}

void standin_release(Object *object) {
    std::lock_guard<std::recursive_mutex> alone(everything());
    release(object);
}

}  // extern "C"
}  // namespace standin
