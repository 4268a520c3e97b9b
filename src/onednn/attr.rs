//! Primitive attributes: always a scratchpad from the caller and strict arithmetic, plus post-ops.

use onednn_sys as sys;

use super::memory::MemoryDesc;
use super::status::call;
use crate::error::Result;

/// A post-op: applied to each element of a primitive's result.
#[derive(Clone, Copy)]
pub(super) enum Fused<'a> {
    /// `y = f(y)` with oneDNN's algorithm and its two numbers.
    Eltwise { alg: sys::dnnl_alg_kind_t, alpha: f32, beta: f32 },
    /// `y = y op other`; the descriptor is that of the other operand.
    Binary { alg: sys::dnnl_alg_kind_t, other: &'a MemoryDesc },
}

pub(super) struct Attr(sys::dnnl_primitive_attr_t);

impl Attr {
    pub(super) fn new(post_ops: &[Fused<'_>]) -> Result<Attr> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` is a valid place for the result.
        call("dnnl_primitive_attr_create", || unsafe { sys::dnnl_primitive_attr_create(&mut raw) })?;
        let attr = Attr(raw);
        // SAFETY: the attribute is alive. In oneDNN's default mode, a primitive that runs on another thread than its
        // creator's uses a scratchpad that is not its own.
        call("dnnl_primitive_attr_set_scratchpad_mode", || unsafe {
            sys::dnnl_primitive_attr_set_scratchpad_mode(raw, sys::dnnl_scratchpad_mode_user)
        })?;
        // SAFETY: as above. The default follows an environment variable.
        call("dnnl_primitive_attr_set_fpmath_mode", || unsafe {
            sys::dnnl_primitive_attr_set_fpmath_mode(raw, sys::dnnl_fpmath_mode_strict)
        })?;
        if !post_ops.is_empty() {
            attr.set_post_ops(post_ops)?;
        }
        Ok(attr)
    }

    pub(super) fn raw(&self) -> sys::dnnl_primitive_attr_t {
        self.0
    }

    fn set_post_ops(&self, list: &[Fused<'_>]) -> Result<()> {
        struct PostOps(sys::dnnl_post_ops_t);
        impl Drop for PostOps {
            fn drop(&mut self) {
                // SAFETY: owned and destroyed once; the attribute keeps its own copy.
                unsafe { sys::dnnl_post_ops_destroy(self.0) };
            }
        }
        let mut raw = std::ptr::null_mut();
        // SAFETY: `raw` is a valid place for the result.
        call("dnnl_post_ops_create", || unsafe { sys::dnnl_post_ops_create(&mut raw) })?;
        let ops = PostOps(raw);
        for op in list {
            let name = match op {
                Fused::Eltwise { .. } => "dnnl_post_ops_append_eltwise",
                Fused::Binary { .. } => "dnnl_post_ops_append_binary",
            };
            // SAFETY: list and descriptors are alive; numbers are passed by value.
            call(name, || unsafe {
                match *op {
                    Fused::Eltwise { alg, alpha, beta } => {
                        sys::dnnl_post_ops_append_eltwise(ops.0, alg, alpha, beta)
                    }
                    Fused::Binary { alg, other } => sys::dnnl_post_ops_append_binary(ops.0, alg, other.raw()),
                }
            })?;
        }
        // SAFETY: both are alive.
        call("dnnl_primitive_attr_set_post_ops", || unsafe {
            sys::dnnl_primitive_attr_set_post_ops(self.0, ops.0)
        })
    }
}

impl Drop for Attr {
    fn drop(&mut self) {
        // SAFETY: owned and destroyed once; primitives keep their own copy.
        unsafe { sys::dnnl_primitive_attr_destroy(self.0) };
    }
}
