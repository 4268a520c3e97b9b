// A oneDNN thread pool that forwards to C callbacks. The callbacks must not throw or panic.
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>

#include "oneapi/dnnl/dnnl_threadpool_iface.hpp"

extern "C" {

typedef struct {
    int (*num_threads)(void *ctx);
    int (*in_parallel)(void *ctx); // 0 or 1
    void (*parallel_for)(void *ctx, int n,
            void (*task)(void *task_ctx, int i, int n), void *task_ctx);
} onednn_sys_threadpool_callbacks;

} // extern "C"

namespace {

using task_t = std::function<void(int, int)>;

struct section_t {
    const task_t &task;
    std::atomic<bool> thrown;
};

// noexcept: an exception would have to cross the callback that calls this function, which is not C++. So it is recorded, and
// thrown at the end of the section.
extern "C" void run_task(void *task_ctx, int i, int n) noexcept {
    section_t &section = *static_cast<section_t *>(task_ctx);
    try {
        section.task(i, n);
    } catch (const std::exception &) {
        section.thrown = true;
    }
}

class pool_t final : public dnnl::threadpool_interop::threadpool_iface {
public:
    pool_t(const onednn_sys_threadpool_callbacks &cb, void *ctx)
        : cb_(cb), ctx_(ctx) {}

    int get_num_threads() const noexcept override { return cb_.num_threads(ctx_); }
    bool get_in_parallel() const noexcept override { return cb_.in_parallel(ctx_) != 0; }
    // Tasks only throw if memory runs out; guard.cpp turns the exception into a status.
    void parallel_for(int n, const task_t &fn) override {
        section_t section {fn, {false}};
        cb_.parallel_for(ctx_, n, run_task, &section);
        if (section.thrown) throw std::bad_alloc();
    }
    // 0: parallel_for() returns when every task has run.
    uint64_t get_flags() const noexcept override { return 0; }
    // Pure virtual in newer releases, missing in older ones: no `override`.
    virtual void wait() noexcept {}

private:
    onednn_sys_threadpool_callbacks cb_;
    void *ctx_;
};

} // namespace

extern "C" void *onednn_sys_threadpool_create(
        const onednn_sys_threadpool_callbacks *cb, void *ctx) noexcept {
    dnnl::threadpool_interop::threadpool_iface *pool
            = new (std::nothrow) pool_t(*cb, ctx);
    return pool;
}

extern "C" void onednn_sys_threadpool_destroy(void *pool) noexcept {
    delete static_cast<dnnl::threadpool_interop::threadpool_iface *>(pool);
}
