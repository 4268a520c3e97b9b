// oneDNN's C functions do not catch what the C++ inside them throws, and neither C nor Rust can. This does.
#include <exception>
#include <mutex>
#include <new>

#include "oneapi/dnnl/dnnl.h"

namespace {

// A primitive whose making was thrown out of stays in oneDNN's cache: a promise that nobody keeps, so that whoever asks
// for it next is thrown out too, under a key that points into a descriptor of the caller's.
void forget_primitives() {
    static std::mutex one_at_a_time;
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    int capacity = 0;
    if (dnnl_get_primitive_cache_capacity(&capacity) != dnnl_success) return;
    dnnl_set_primitive_cache_capacity(0);
    dnnl_set_primitive_cache_capacity(capacity);
}

} // namespace

// Only the standard library's exceptions: a panic of Rust's passes through.
extern "C" int onednn_sys_guard(int (*make)(void *), void *ctx) {
    try {
        return make(ctx);
    } catch (const std::bad_alloc &) {
        forget_primitives();
        return dnnl_out_of_memory;
    } catch (const std::exception &) {
        forget_primitives();
        return dnnl_runtime_error;
    }
}
