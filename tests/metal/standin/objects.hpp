// A stand-in for the runtime of Objective-C and for Metal: objects, counts of references, and messages.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace standin {

struct Name {
    std::string text;
};

struct Class {
    std::string name;
};

// Objects stay in memory when nobody refers to them any more, so that messages to such are found out.
struct Object {
    const Class *kind;
    long count = 1;
    bool gone = false;
    std::string label;  // in the log

    explicit Object(const char *kind);
    Object(const Object &) = delete;
    virtual ~Object() = default;
    virtual void dispose() {}
};

// What happens is written down, and what a validation layer would complain about.
void note(const std::string &line);
void complain(const std::string &line);
std::recursive_mutex &everything();

void retain(Object *object);
void release(Object *object);
Object *autoreleased(Object *object);

struct String : Object {
    std::string text;
    explicit String(std::string text) : Object("NSString"), text(std::move(text)) {}
};

struct Error : Object {
    int64_t number;
    std::string text;
    Error(int64_t number, std::string text) : Object("NSError"), number(number), text(std::move(text)) {}
};

// ---- methods

struct Size {
    uint64_t width, height, depth;
};
struct Range {
    uint64_t location, length;
};

template <class T>
struct Writing;
#define STANDIN_WRITING(type, text) \
    template <> struct Writing<type> { static constexpr const char *is = text; }
STANDIN_WRITING(void, "v");
STANDIN_WRITING(uint64_t, "Q");
STANDIN_WRITING(int64_t, "q");
STANDIN_WRITING(uint8_t, "C");
STANDIN_WRITING(double, "d");
STANDIN_WRITING(const char *, "*");
STANDIN_WRITING(void *, "^v");
STANDIN_WRITING(const void *, "^v");
STANDIN_WRITING(Size, "{MTLSize=QQQ}");
STANDIN_WRITING(Range, "{_NSRange=QQ}");
#undef STANDIN_WRITING
template <class T>
struct Writing<T *> {
    static constexpr const char *is = "@";
};
template <class T>
struct Writing<T **> {
    static constexpr const char *is = "^@";
};
template <class T>
struct Writing<T *const *> {
    static constexpr const char *is = "^@";
};

void add_method(const char *kind, const char *selector, const std::string &types, void *method);

template <class Result, class Self, class... Arguments>
void method(const char *kind, const char *selector, Result (*function)(Self *, const Name *, Arguments...)) {
    add_method(kind, selector, (std::string(Writing<Result>::is) + ... + Writing<Arguments>::is),
               reinterpret_cast<void *>(function));
}

void add_metal();  // metal.cpp

}  // namespace standin
