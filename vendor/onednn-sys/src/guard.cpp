// oneDNN's C functions do not catch exceptions of the C++ code inside them, and neither C nor Rust can. This file does.
#include <exception>
#include <mutex>
#include <new>

#include "oneapi/dnnl/dnnl.h"

namespace {

// If creating a primitive throws, oneDNN's cache keeps an unfulfilled promise, and the next request for the same primitive
// throws too. The promise's key also points into a descriptor of the caller. So the cache is emptied.
void forget_primitives() {
    static std::mutex one_at_a_time;
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    int capacity = 0;
    if (dnnl_get_primitive_cache_capacity(&capacity) != dnnl_success) return;
    dnnl_set_primitive_cache_capacity(0);
    dnnl_set_primitive_cache_capacity(capacity);
}

} // namespace

// Only exceptions of the standard library are caught: a Rust panic passes through.
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
