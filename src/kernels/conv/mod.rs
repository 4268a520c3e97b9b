//! The kernels of convolution, transposed or not: oneDNN's, and our own on strided and on blocked tensors.

/// `body` for each number below `count`, at most 14. Unrolled: indexed by a loop variable, the accumulators would spill.
macro_rules! for_each_below {
    ($p:ident < $count:ident => $body:block) => {
        for_each_below!(@ $p $count $body 0 1 2 3 4 5 6 7 8 9 10 11 12 13)
    };
    (@ $p:ident $count:ident $body:block $($i:literal)*) => {
        $(if $i < $count {
            let $p: usize = $i;
            $body
        })*
    };
}

mod algorithm;
mod apply;
pub(crate) mod blocked;
pub(crate) mod direct;
pub(crate) mod finish;
mod gemm;
pub(crate) mod geometry;
#[cfg(feature = "onednn")]
pub(crate) mod onednn;
pub(crate) mod params;
pub(crate) mod phases;
#[allow(dead_code)]
mod pointwise;
pub(crate) mod preferred;
pub(crate) mod strided;
pub(crate) mod weights;
pub(crate) mod winograd;

pub use algorithm::{Algorithm, WeightTransform};
pub(crate) use gemm::{GemmConv, gemm_conv};
pub(crate) use geometry::{ConvGeometry, ConvNumbers};
pub(crate) use params::ConvParams;

use crate::error::{Result, fail};
use crate::op::Args;
use crate::post_ops::PostOps;
use crate::tensor::any::TensorRef;
use crate::tensor::strided::StridedTensor;

/// Spatial dimensions of the op of this name, and whether it is a transposed one.
fn kind_of(op: &str) -> (usize, bool) {
    let spatial = op.bytes().find(u8::is_ascii_digit).map_or(2, |digit| usize::from(digit - b'0'));
    (spatial, op.starts_with("conv_transpose"))
}

/// A call's operands and parameters, checked.
struct Call<'a> {
    g: ConvGeometry,
    bias: Option<&'a StridedTensor>,
    residual: Option<TensorRef<'a>>,
    channel: &'a [TensorRef<'a>],
    post_ops: PostOps,
    algorithm: Algorithm,
    #[cfg(feature = "onednn")]
    allow_reference: bool,
}

impl<'a> Call<'a> {
    /// `weights` are the sizes of the weights: `[O, C/g, k...]`, or with their groups apart.
    fn new(args: &Args<'a>, params: &ConvParams, weights: &[usize]) -> Result<Call<'a>> {
        let (spatial, transposed) = kind_of(args.op());
        let bias = args.optional_strided(2)?;
        let numbers = params.numbers(args.op(), spatial, transposed)?;
        let x = args.tensor(0)?;
        let bias_dims = bias.map(StridedTensor::dims);
        let g = ConvGeometry::new(args.op(), spatial, x.dims(), weights, bias_dims, &numbers)?;
        let post_ops = params.post_ops;
        let residual = match args.optional_tensor(3)? {
            None if post_ops.takes_residual() => fail!(
                InvalidArgument,
                args.op(),
                "residual",
                "nothing",
                "the post-ops add a residual",
                "pass it in `Fusion`"
            ),
            Some(r) if !post_ops.takes_residual() => fail!(
                InvalidArgument,
                args.op(),
                "residual",
                r.describe(),
                "no post-op takes it",
                "add `residual` to the post-ops"
            ),
            other => other,
        };
        let channel = args.tensors(4)?;
        check_fusion(args.op(), &g, &post_ops, residual, channel)?;
        Ok(Call {
            g,
            bias,
            residual,
            channel,
            post_ops,
            algorithm: params.algorithm.chosen(args.op())?,
            #[cfg(feature = "onednn")]
            allow_reference: params.allow_reference,
        })
    }
}

/// Checks what a fused convolution reads besides source, weights and bias.
pub(crate) fn check_fusion(
    op: &'static str,
    g: &ConvGeometry,
    post_ops: &PostOps,
    residual: Option<TensorRef<'_>>,
    channel: &[TensorRef<'_>],
) -> Result<()> {
    if let Some(r) = residual
        && r.dims() != g.dst_dims().as_slice()
    {
        fail!(
            ShapeMismatch,
            op,
            "residual",
            r.describe(),
            format!("the result is {}", g.dst_dims()),
            "pass a residual of the result's shape"
        );
    }
    if channel.len() != post_ops.channel_operands() {
        fail!(
            InvalidArgument,
            op,
            "channel",
            format!("{} vectors", channel.len()),
            format!("the post-ops `{post_ops}` take {}", post_ops.channel_operands()),
            "pass one for each mul_channel, add_channel and prelu"
        );
    }
    for c in channel {
        if c.dims() != [g.o] {
            fail!(
                ShapeMismatch,
                op,
                "channel",
                c.describe(),
                format!("it has one value for each of the {} output channels", g.o),
                format!("pass {} values", g.o)
            );
        }
    }
    Ok(())
}
