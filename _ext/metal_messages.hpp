// What is said to objects of Metal, through the runtime of Objective-C, which is found at run time: no compiler of that
// language is needed, and nothing is linked.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace qd {
namespace metal {

struct Object;
using Id = Object *;
struct Name;
using Selector = const Name *;

struct Size {  // MTLSize
    uint64_t width, height, depth;
};

struct Range {  // NSRange
    uint64_t location, length;
};

// How the runtime writes types.
template <class T>
constexpr const char *encoding = nullptr;
template <>
inline constexpr const char *encoding<void> = "v";
template <>
inline constexpr const char *encoding<Id> = "@";
template <>
inline constexpr const char *encoding<Id *> = "^@";
template <>
inline constexpr const char *encoding<const Id *> = "^@";
template <>
inline constexpr const char *encoding<void *> = "^v";
template <>
inline constexpr const char *encoding<const void *> = "^v";
template <>
inline constexpr const char *encoding<const char *> = "*";
template <>
inline constexpr const char *encoding<uint64_t> = "Q";
template <>
inline constexpr const char *encoding<int64_t> = "q";
template <>
inline constexpr const char *encoding<uint8_t> = "C";
template <>
inline constexpr const char *encoding<double> = "d";
template <>
inline constexpr const char *encoding<Size> = "{MTLSize=QQQ}";
template <>
inline constexpr const char *encoding<Range> = "{_NSRange=QQ}";

struct Runtime {
    void (*objc_msgSend)();
    Id (*objc_getClass)(const char *);
    Selector (*sel_registerName)(const char *);
    void *(*objc_autoreleasePoolPush)();
    void (*objc_autoreleasePoolPop)(void *);
};

extern Runtime runtime;

struct AnyMessage {
    const char *selector;
    std::string types;  // of the result and of each argument, in the runtime's writing
    mutable Selector registered = nullptr;

    AnyMessage(const char *selector, std::string types);
    AnyMessage(const AnyMessage &) = delete;
    AnyMessage &operator=(const AnyMessage &) = delete;
};

template <class Signature>
class Message;

// Calls of it send the message; one to null does nothing, and gives 0.
template <class Result, class... Arguments>
class Message<Result(Arguments...)> : public AnyMessage {
  public:
    explicit Message(const char *selector)
        : AnyMessage(selector, (std::string(encoding<Result>) + ... + encoding<Arguments>)) {}

    // The send has no type of its own: it is called as what it ends in, whose arguments it leaves where they are.
    Result operator()(Id receiver, Arguments... arguments) const {
        using Method = Result (*)(Id, Selector, Arguments...);
        return reinterpret_cast<Method>(runtime.objc_msgSend)(receiver, registered, arguments...);
    }
};

struct Messages {
    Message<Id()> retain{"retain"};
    Message<void()> release{"release"};
    Message<Id(const char *)> string{"stringWithUTF8String:"};
    Message<const char *()> text{"UTF8String"};
    Message<Id()> description{"localizedDescription"};
    Message<int64_t()> code{"code"};

    // devices
    Message<Id()> name{"name"};
    Message<Id()> new_queue{"newCommandQueue"};
    Message<Id()> new_event{"newSharedEvent"};
    Message<Id(uint64_t, uint64_t)> new_buffer{"newBufferWithLength:options:"};
    Message<Id(Id, Id *)> new_pipeline{"newComputePipelineStateWithFunction:error:"};
    Message<uint64_t()> most_bytes{"maxBufferLength"};
    Message<uint64_t()> working_set{"recommendedMaxWorkingSetSize"};
    Message<uint64_t()> allocated{"currentAllocatedSize"};
    Message<uint64_t()> shared_bytes{"maxThreadgroupMemoryLength"};

    // libraries, pipelines, buffers, events
    Message<Id(Id)> new_function{"newFunctionWithName:"};
    Message<uint64_t()> most_threads{"maxTotalThreadsPerThreadgroup"};
    Message<void *()> contents{"contents"};
    Message<uint64_t()> address{"gpuAddress"};
    Message<uint64_t()> signaled{"signaledValue"};

    // queues and command buffers
    Message<Id()> device{"device"};
    Message<Id()> commands{"commandBuffer"};
    Message<Id(uint64_t)> compute_encoder{"computeCommandEncoderWithDispatchType:"};
    Message<Id()> copy_encoder{"blitCommandEncoder"};
    Message<void(Id, uint64_t)> signal{"encodeSignalEvent:value:"};
    Message<void(Id, uint64_t)> wait_for{"encodeWaitForEvent:value:"};
    Message<void()> commit{"commit"};
    Message<void()> wait{"waitUntilCompleted"};
    Message<uint64_t()> status{"status"};
    Message<Id()> error{"error"};
    Message<double()> began{"GPUStartTime"};
    Message<double()> ended{"GPUEndTime"};

    // encoders
    Message<void(Id)> set_pipeline{"setComputePipelineState:"};
    Message<void(const void *, uint64_t, uint64_t)> set_bytes{"setBytes:length:atIndex:"};
    Message<void(Id, uint64_t, uint64_t)> set_buffer{"setBuffer:offset:atIndex:"};
    Message<void(uint64_t, uint64_t)> set_shared{"setThreadgroupMemoryLength:atIndex:"};
    Message<void(const Id *, uint64_t, uint64_t)> use{"useResources:count:usage:"};
    Message<void(uint64_t)> barrier{"memoryBarrierWithScope:"};
    Message<void(Size, Size)> dispatch{"dispatchThreadgroups:threadsPerThreadgroup:"};
    Message<void(Id, Range, uint8_t)> fill{"fillBuffer:range:value:"};
    Message<void(Id, uint64_t, Id, uint64_t, uint64_t)> copy{
        "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:"};
    Message<void()> end{"endEncoding"};
};

extern const Messages say;

// All of `say`.
const std::vector<const AnyMessage *> &messages();

// What keeps Metal from being used, null for nothing. objc, framework: the paths of the runtime of Objective-C and of Metal.
const char *load_runtime(const char *objc, const char *framework);

// A new reference to an object, or one that was counted already.
class Ref {
  public:
    Ref() = default;
    static Ref counted(Id object) { return Ref(object); }
    static Ref to(Id object) { return Ref(say.retain(object)); }
    Ref(Ref &&other) noexcept : object_(other.object_) { other.object_ = nullptr; }
    Ref(const Ref &other) : Ref(other.object_ ? say.retain(other.object_) : nullptr) {}
    Ref &operator=(Ref other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() {
        if (object_) say.release(object_);
    }

    Id id() const { return object_; }
    explicit operator bool() const { return object_ != nullptr; }

  private:
    explicit Ref(Id object) : object_(object) {}
    Id object_ = nullptr;
};

// What messages give without a count of ours is let go of with this.
class Autorelease {
  public:
    Autorelease() : pool_(runtime.objc_autoreleasePoolPush()) {}
    Autorelease(const Autorelease &) = delete;
    Autorelease &operator=(const Autorelease &) = delete;
    ~Autorelease() { runtime.objc_autoreleasePoolPop(pool_); }

  private:
    void *pool_;
};

// The text of an NSString, "" for null.
std::string text_of(Id string);

// What an NSError says, with its code.
std::string text_of_error(Id error);

}  // namespace metal
}  // namespace qd
