//! Convolution and transposed convolution: descriptor, key, choice of implementation.

use std::ffi::c_int;
use std::sync::Arc;

use onednn_sys as sys;

use super::attr::Fused;
use super::memory::{MemoryDesc, Spec};
use super::primitive::{Answer, Executable, PrimitiveDesc, is_reference};
use super::{Refused, cache, to_c_dims};
use crate::dtype::DType;
use crate::error::Unsupported;

/// An NCHW 1x1 convolution without post-ops runs as a matrix product that reads its bias from the wrong place and gives wrong
/// numbers. Seen with oneDNN 3.14.1, which never chooses this implementation if there is a post-op.
const BAD_WITH_BIAS: &str = "jit_uni_ncsp:matmul";

/// A post-op that changes no bit: `1 x + -0` is `x` for every number. With `+0` it would turn `-0` into `+0`.
const IDENTITY: PostSpec<'static> =
    PostSpec::Eltwise { alg: sys::dnnl_eltwise_linear, alpha: 1.0, beta: -0.0 };

/// If the kernel has the size of the image and the batch is 2 or more, oneDNN runs an inner product. With one output channel,
/// it takes its weights in the order C, H, W for weights of an NHWC source, and gives wrong numbers. Seen with oneDNN 3.14.1.
/// Where it is correct, its weights do not work for a batch of 1, but packed weights must work for any batch.
const BATCH_SPECIFIC: &str = "ip:any";

/// A transposed convolution that is implemented as a convolution's gradient, and applies bias and post-ops in a second pass,
/// value by value. It takes up to 50 times as long as without them, and does not compute PyTorch's functions (`relu` of minus
/// infinity is NaN, `sigmoid` of NaN is 0). Seen with oneDNN 3.14.1. Its reference loops do the same.
const SLOW_POST_OPS: &str = "conv:any";

/// The largest padding, stride or dilation for which oneDNN is asked. Its kernels have a table entry for every row of
/// padding, and fail if there is no memory for the table; our kernels have no such table. Seen with oneDNN 3.14.1.
const MAX_PARAM: usize = 1 << 16;

/// One post-op as a value: it is written into the key, and becomes an attribute.
#[derive(Clone, Copy)]
pub(crate) enum PostSpec<'a> {
    Eltwise { alg: sys::dnnl_alg_kind_t, alpha: f32, beta: f32 },
    Binary { alg: sys::dnnl_alg_kind_t, other: Spec<'a> },
}

/// Everything that decides a convolution primitive.
#[derive(Clone, Copy)]
pub(crate) struct ConvSpec<'a> {
    pub transposed: bool,
    pub src: Spec<'a>,
    pub weights: Spec<'a>,
    /// Number of output channels, if there is a bias.
    pub bias: Option<usize>,
    pub dst: Spec<'a>,
    pub strides: &'a [usize],
    /// 1 is dense, as in PyTorch; oneDNN counts from 0.
    pub dilation: &'a [usize],
    pub pad_begin: &'a [usize],
    pub pad_end: &'a [usize],
    /// For a transposed convolution; otherwise 0.
    pub output_padding: &'a [usize],
    pub post_ops: &'a [PostSpec<'a>],
    /// Whether bias and post-ops are left to a pass of ours, because the engine lacks one of them.
    pub finished_apart: bool,
    /// Whether a reference implementation may run.
    pub allow_reference: bool,
    /// The number of threads that it will run on.
    pub threads: usize,
}

impl ConvSpec<'_> {
    fn push_key(&self, key: &mut Vec<u64>) {
        key.push(if self.transposed { 2 } else { 1 });
        key.push(self.threads as u64);
        self.src.push_key(key);
        self.weights.push_key(key);
        self.dst.push_key(key);
        let flags = u64::from(self.finished_apart) << 1 | u64::from(self.allow_reference);
        key.push(self.bias.map_or(0, |b| b as u64 + 1) << 2 | flags);
        for list in [self.strides, self.dilation, self.pad_begin, self.pad_end, self.output_padding] {
            key.extend(list.iter().map(|&v| v as u64));
        }
        push_post_key(self.post_ops, key);
    }

    /// The primitive, from the cache or new. The arguments of a run, in order: src, weights, bias if there is one, dst, then
    /// the operand of each binary post-op. For a primitive without bias and post-ops: src, weights, dst.
    pub(crate) fn executable(&self) -> Result<Arc<Executable>, Refused> {
        cache::get(|key| self.push_key(key), || self.create())
    }

    /// A new primitive, outside the cache.
    pub(crate) fn create(&self) -> Result<Executable, Refused> {
        if self.finished_apart {
            return self.bare().create().map(Executable::without_bias_and_post_ops);
        }
        self.create_without(|implementation| self.bias.is_some() && implementation.starts_with(BAD_WITH_BIAS))
    }

    /// A primitive whose implementation is not `faulty`. If oneDNN's first choice is faulty, oneDNN is asked again with an
    /// identity after the post-ops. If it still chooses a faulty one, its next implementations are tried.
    fn create_without(&self, faulty: impl Fn(&str) -> bool) -> Result<Executable, Refused> {
        let mut post_ops = self.post_ops.to_vec();
        let mut desc = self.ask(&post_ops)?;
        let implementation = loop {
            let implementation = desc.implementation()?;
            let bad = faulty(&implementation);
            if !bad && !implementation.contains(BATCH_SPECIFIC) {
                break implementation;
            }
            if bad && post_ops.len() == self.post_ops.len() {
                post_ops.push(IDENTITY);
                desc = self.ask(&post_ops)?;
            } else if !desc.advance()? {
                return Err(Unsupported::NoImplementation.into());
            }
        };
        if is_reference(&implementation) && !self.allow_reference {
            return Err(Unsupported::RefOnly { implementation }.into());
        }
        let loops_after = implementation.starts_with(SLOW_POST_OPS) || is_reference(&implementation);
        if loops_after && (self.bias.is_some() || !post_ops.is_empty()) {
            return self.bare().create().map(Executable::without_bias_and_post_ops);
        }
        Ok(Executable::new(&desc, &self.arguments(&post_ops))?)
    }

    /// The same without bias and post-ops.
    fn bare(&self) -> ConvSpec<'_> {
        ConvSpec { bias: None, post_ops: &[], finished_apart: false, ..*self }
    }

    /// The arguments of a run, in order.
    fn arguments(&self, post_ops: &[PostSpec<'_>]) -> Vec<c_int> {
        let mut args = vec![sys::DNNL_ARG_SRC, sys::DNNL_ARG_WEIGHTS];
        if self.bias.is_some() {
            args.push(sys::DNNL_ARG_BIAS);
        }
        args.push(sys::DNNL_ARG_DST);
        for (i, op) in post_ops.iter().enumerate() {
            if let PostSpec::Binary { .. } = op {
                args.push(sys::DNNL_ARG_ATTR_MULTIPLE_POST_OP(i as c_int) | sys::DNNL_ARG_SRC_1);
            }
        }
        args
    }

    /// oneDNN's first choice for this configuration.
    fn ask(&self, post_ops: &[PostSpec<'_>]) -> Result<PrimitiveDesc, Refused> {
        let src = self.src.describe()?;
        let weights = self.weights.describe()?;
        let dst = self.dst.describe()?;
        let bias = match self.bias {
            Some(o) => MemoryDesc::strided(&[o], &[1], DType::F32)?,
            None => MemoryDesc::none(),
        };
        let others: Vec<MemoryDesc> = post_ops
            .iter()
            .filter_map(|op| match op {
                PostSpec::Binary { other, .. } => Some(other.describe()),
                PostSpec::Eltwise { .. } => None,
            })
            .collect::<Result<_, _>>()?;
        let fused = fused_of(post_ops, &others);
        let steps = [self.strides, self.dilation, self.pad_begin, self.pad_end, self.output_padding];
        if steps.iter().any(|list| list.iter().any(|&v| v > MAX_PARAM)) {
            return Err(Unsupported::NoImplementation.into());
        }
        let strides = to_c_dims(self.strides);
        let dilates = to_c_dims(self.dilation).map(|d| (d - 1).max(0));
        let (pad_l, mut pad_r) = (to_c_dims(self.pad_begin), to_c_dims(self.pad_end));
        // oneDNN has no output padding. It is subtracted from the end padding, which may become negative.
        for ((pad, more), stride) in pad_r.iter_mut().zip(to_c_dims(self.output_padding)).zip(strides) {
            *pad -= more;
            if *pad < 0 && *pad + stride <= 0 {
                return Err(Unsupported::NoImplementation.into());
            }
        }
        let (call, create): (_, CreateConv) = if self.transposed {
            (
                "dnnl_deconvolution_forward_primitive_desc_create",
                sys::dnnl_deconvolution_forward_primitive_desc_create,
            )
        } else {
            (
                "dnnl_convolution_forward_primitive_desc_create",
                sys::dnnl_convolution_forward_primitive_desc_create,
            )
        };
        let alg = if self.transposed { sys::dnnl_deconvolution_direct } else { sys::dnnl_convolution_direct };
        // SAFETY: all descriptors are alive, and the arrays are longer than any number of spatial dimensions.
        let answer = unsafe {
            PrimitiveDesc::ask(call, self.threads, &fused, |place, engine, attr| {
                create(
                    place,
                    engine,
                    sys::dnnl_forward_inference,
                    alg,
                    src.raw(),
                    weights.raw(),
                    bias.raw(),
                    dst.raw(),
                    strides.as_ptr(),
                    dilates.as_ptr(),
                    pad_l.as_ptr(),
                    pad_r.as_ptr(),
                    attr,
                )
            })?
        };
        match answer {
            Answer::Found(desc) => Ok(desc),
            Answer::Unimplemented => Err(Unsupported::NoImplementation.into()),
        }
    }
}

/// Appends what distinguishes one list of post-ops from another.
fn push_post_key(post_ops: &[PostSpec<'_>], key: &mut Vec<u64>) {
    for op in post_ops {
        match op {
            PostSpec::Eltwise { alg, alpha, beta } => {
                key.extend([1, u64::from(*alg), u64::from(alpha.to_bits()), u64::from(beta.to_bits())]);
            }
            PostSpec::Binary { alg, other } => {
                key.extend([2, u64::from(*alg)]);
                other.push_key(key);
            }
        }
    }
}

/// The attributes for a list of post-ops; `others` are the descriptors of the operands of its binary post-ops.
fn fused_of<'a>(post_ops: &[PostSpec<'_>], others: &'a [MemoryDesc]) -> Vec<Fused<'a>> {
    let mut others = others.iter();
    post_ops
        .iter()
        .filter_map(|op| match *op {
            PostSpec::Eltwise { alg, alpha, beta } => Some(Fused::Eltwise { alg, alpha, beta }),
            PostSpec::Binary { alg, .. } => others.next().map(|other| Fused::Binary { alg, other }),
        })
        .collect()
}

#[cfg(test)]
mod implementations;

type CreateConv = unsafe extern "C-unwind" fn(
    *mut sys::dnnl_primitive_desc_t,
    sys::dnnl_engine_t,
    sys::dnnl_prop_kind_t,
    sys::dnnl_alg_kind_t,
    sys::const_dnnl_memory_desc_t,
    sys::const_dnnl_memory_desc_t,
    sys::const_dnnl_memory_desc_t,
    sys::const_dnnl_memory_desc_t,
    *const sys::dnnl_dim_t,
    *const sys::dnnl_dim_t,
    *const sys::dnnl_dim_t,
    *const sys::dnnl_dim_t,
    sys::const_dnnl_primitive_attr_t,
) -> sys::dnnl_status_t;
