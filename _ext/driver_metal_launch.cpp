#include <cstring>

#include "driver_metal.hpp"
#include "metal_device.hpp"

namespace qd {
namespace metal {
namespace {

constexpr uint64_t buffers = 1;  // MTLBarrierScopeBuffers
constexpr uint64_t at_block = 0, at_frame = 1, at_shared = 0;

struct Function {
    Ref pipeline;
    TaskName name;
    size_t block_bytes;
    uint64_t most_threads;
};

struct Library {
    Ref library;
    size_t block_bytes;
    std::vector<std::unique_ptr<Function>> functions;
};

// A member of the arguments is an address. It says where a part of a buffer is, which Metal wants to have as such.
Status set_place(const Opened &opened, Id encoder, uint64_t address, uint64_t index) {
    const Place place = opened.memory.find(address);
    if (!place.buffer) return fail("arguments of a launch are at an address that Metal did not give");
    say.set_buffer(encoder, place.buffer, place.offset, index);
    return 0;
}

Status set_block(const Opened &opened, Id encoder, const Function &function, void *param) {
    if (!function.block_bytes) return set_place(opened, encoder, *static_cast<uint64_t *>(param), at_block);
    say.set_bytes(encoder, param, function.block_bytes, at_block);
    return 0;
}

}  // namespace

int load(void *, void **module, const void *image) {
    Image told;
    std::memcpy(&told, image, sizeof told);
    *module = new Library{Ref::to(reinterpret_cast<Id>(told.library)), told.block_bytes, {}};
    return 0;
}

int function(void *self, void **found, void *module, const char *name) {
    Turn turn(self);
    auto &library = *static_cast<Library *>(module);
    const Id string = say.string(runtime.objc_getClass("NSString"), name);
    const Ref code = Ref::counted(say.new_function(library.library.id(), string));
    if (!code) return fail("the library that Metal made has no function of that name");
    Id error = nullptr;
    auto made = std::make_unique<Function>();
    made->pipeline = Ref::counted(say.new_pipeline(turn.opened.device.id(), code.id(), &error));
    if (!made->pipeline) return fail("Metal made no pipeline of it: " + text_of_error(error));
    made->name = std::make_shared<const std::string>(name);
    made->block_bytes = library.block_bytes;
    made->most_threads = say.most_threads(made->pipeline.id());
    *found = made.get();
    library.functions.push_back(std::move(made));
    return 0;
}

int unload(void *, void *module) {
    Autorelease pool;
    delete static_cast<Library *>(module);
    return 0;
}

int launch(void *self, void *handle, uint32_t grid, uint32_t block, uint32_t shared_bytes, void *stream_handle,
           void **params) {
    Turn turn(self);
    Opened &opened = turn.opened;
    const Function &function = *static_cast<Function *>(handle);
    Stream *stream = opened.find(stream_handle);
    if (!stream) return unknown_stream();
    if (const Status status = opened.verdict()) return status;
    const std::vector<Id> &used = opened.memory.buffers();
    const Id encoder = stream->compute(used, opened.memory.version());
    if (!encoder) return fail("Metal gave no command buffer");
    if (stream->follows()) say.barrier(encoder, buffers);
    say.set_pipeline(encoder, function.pipeline.id());
    Status status = set_block(opened, encoder, function, params[0]);
    const uint64_t frame = *static_cast<uint64_t *>(params[1]);
    if (status == 0 && frame) status = set_place(opened, encoder, frame, at_frame);
    if (status) return status;
    if (!frame && !used.empty()) say.set_buffer(encoder, used.front(), 0, at_frame);  // a parameter that it never reads
    if (shared_bytes) say.set_shared(encoder, (shared_bytes + 15) / 16 * 16, at_shared);
    say.dispatch(encoder, {grid, 1, 1}, {block, 1, 1});
    stream->launched(function.name);
    return 0;
}

// A lone launch begins at once, and those that come while others run go together.
int submit(void *self, void *handle) {
    Turn turn(self);
    Stream *stream = turn.opened.find(handle);
    if (!stream) return unknown_stream();
    stream->commit_if_idle();
    return 0;
}

uint64_t most_threads(void *function) { return static_cast<Function *>(function)->most_threads; }

}  // namespace metal
}  // namespace qd
