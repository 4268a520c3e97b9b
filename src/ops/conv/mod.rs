//! Convolution and transposed convolution: 1-D, 2-D and 3-D, grouped, depthwise, dilated, with post-ops.

mod params;

pub use params::{
    Conv, Conv1d, Conv2d, Conv3d, ConvTranspose, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d,
    Direction, Forward, Transposed,
};

use crate::error::Result;
use crate::kernels::conv::OUTPUT_PADDING;
#[cfg(feature = "onednn")]
use crate::op::kernel::Engine;
use crate::op::kernel::Kernels;
use crate::op::schema::{data, flag, int, ints, optional_data, optional_param, param_list, word};
use crate::op::{Arg, ArgSpec, Kernel, Op, Schema};

use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::strided::StridedTensor;

/// What a fused convolution reads besides source, weights and bias.
#[derive(Debug)]
pub struct Fusion<'a, T> {
    /// The operand of [`PostOp::Residual`](crate::ops::PostOp::Residual): shape and layout of the result.
    pub residual: Option<&'a T>,
    /// The operands of [`PostOp::MulChannel`](crate::ops::PostOp::MulChannel) and
    /// [`PostOp::AddChannel`](crate::ops::PostOp::AddChannel), in their order: 1-D, one value for each output channel.
    pub channel: &'a [&'a StridedTensor],
}

// Derived, these would ask the same of the tensor.
impl<T> Clone for Fusion<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Fusion<'_, T> {}

impl<T> Default for Fusion<'_, T> {
    fn default() -> Self {
        Fusion { residual: None, channel: &[] }
    }
}

const fn args(weights: ArgSpec) -> [ArgSpec; OUTPUT_PADDING + 1] {
    [
        data("x"),
        weights,
        optional_param("bias"),
        optional_data("residual"),
        param_list("channel"),
        ints("stride", &[1]),
        ints("padding", &[0]),
        ints("dilation", &[1]),
        int("groups", 1),
        word("post_ops", ""),
        flag("allow_reference", false),
        ints("output_padding", &[0]),
    ]
}

// Blocked as they are they would mean others, and nothing shows it where there are as many channels of both kinds.
const INPUT_FIRST: ArgSpec = ArgSpec {
    before_blocking: Some(
        "pack it once with `PackedConvTranspose`, which takes it as it is; blocked weights have their output channels \
         first: those of one group come there with `transpose(0, 1)` and",
    ),
    ..data("weights")
};
const ALL_ARGS: [ArgSpec; OUTPUT_PADDING + 1] = args(data("weights"));
static ARGS: &[ArgSpec] = ALL_ARGS.split_at(OUTPUT_PADDING).0;
static TRANSPOSED_ARGS: [ArgSpec; OUTPUT_PADDING + 1] = args(INPUT_FIRST);

static SCHEMAS: [Schema; 6] = [
    Schema::new("conv1d", ARGS),
    Schema::new("conv2d", ARGS),
    Schema::new("conv3d", ARGS),
    Schema::new("conv_transpose1d", &TRANSPOSED_ARGS),
    Schema::new("conv_transpose2d", &TRANSPOSED_ARGS),
    Schema::new("conv_transpose3d", &TRANSPOSED_ARGS),
];
static ALL: [Op; 6] = [
    conv(&SCHEMAS[0]),
    conv(&SCHEMAS[1]),
    conv(&SCHEMAS[2]),
    conv(&SCHEMAS[3]),
    conv(&SCHEMAS[4]),
    conv(&SCHEMAS[5]),
];

/// oneDNN's kernels are asked first, in a build that has them.
#[cfg(feature = "onednn")]
const STRIDED: Kernels = [
    Some(Kernel::rust(&crate::kernels::conv::strided::engine::onednn_kernel).with_engine(Engine::OneDnn)),
    Some(Kernel::rust(&crate::kernels::conv::strided::gemm_kernel)),
];
#[cfg(feature = "onednn")]
const BLOCKED: Kernels = [
    Some(Kernel::rust(&crate::kernels::conv::blocked::engine::onednn_kernel).with_engine(Engine::OneDnn)),
    Some(Kernel::rust(&crate::kernels::conv::blocked::direct_kernel)),
];
#[cfg(not(feature = "onednn"))]
const STRIDED: Kernels = [Some(Kernel::rust(&crate::kernels::conv::strided::gemm_kernel)), None];
#[cfg(not(feature = "onednn"))]
const BLOCKED: Kernels = [Some(Kernel::rust(&crate::kernels::conv::blocked::direct_kernel)), None];

const fn conv(schema: &'static Schema) -> Op {
    Op::new(schema).strided(STRIDED).blocked(BLOCKED)
}

pub(super) const OPS: &[&Op] = &[&ALL[0], &ALL[1], &ALL[2], &ALL[3], &ALL[4], &ALL[5]];

/// The op with this many spatial dimensions.
pub(crate) fn op_of(spatial: usize, transposed: bool) -> &'static Op {
    &ALL[spatial - 1 + if transposed { 3 } else { 0 }]
}

#[track_caller]
fn call<const N: usize, D: Direction, T: Operand>(
    x: &T,
    weights: &T,
    bias: Option<&StridedTensor>,
    params: &Conv<N, D>,
    fusion: Fusion<'_, T>,
) -> Result<T> {
    let p = params.values();
    let channel: Vec<TensorRef<'_>> = fusion.channel.iter().map(|&c| TensorRef::Strided(c)).collect();
    let values = [
        Arg::Tensor(x.tensor_ref()),
        Arg::Tensor(weights.tensor_ref()),
        bias.map_or(Arg::Absent, |b| Arg::Tensor(TensorRef::Strided(b))),
        fusion.residual.map_or(Arg::Absent, |r| Arg::Tensor(r.tensor_ref())),
        Arg::Tensors(&channel),
        Arg::Sizes(p.stride),
        Arg::Sizes(&p.padding),
        Arg::Sizes(p.dilation),
        Arg::Int(p.groups),
        Arg::Str(p.post_ops),
        Arg::Bool(p.allow_reference),
        Arg::Sizes(p.output_padding),
    ];
    let op = op_of(N, D::TRANSPOSED);
    op.call_one(&values[..op.schema().args.len()])
}

macro_rules! convolutions {
    ($($n:literal $name:ident $fused:ident $params:ident: $about:expr, $shapes:expr;)*) => {$(
        #[doc = concat!($n, "-D ", $about, ", as `torch.nn.functional.", stringify!($name), "`.")]
        ///
        /// # Shapes
        #[doc = $shapes]
        ///
        /// # Dtypes
        /// f32.
        ///
        /// # Layouts
        /// Strided: any; the result is channels-last when `x` or `weights` is. Weights are packed on every call:
        /// a packed convolution packs them once. Blocked: `x` and the result share a layout, weights are in the
        /// layout that goes with it (`Layout::native_weights`); where oneDNN has nothing fast, our own kernel runs, and
        /// weights that it wants otherwise (narrow groups) are packed on every call.
        ///
        /// # Errors
        /// `RankMismatch`, `ShapeMismatch`, `InvalidArgument`, `Overflow` for shapes and parameters;
        /// `KeyMismatch` and `LayoutMismatch` for operands that do not go together; `UnsupportedOp` for blocks of
        /// other than 8 or 16 channels, with the way out.
        #[track_caller]
        pub fn $name<T: Operand>(
            x: &T,
            weights: &T,
            bias: Option<&StridedTensor>,
            params: &$params,
        ) -> Result<T> {
            call(x, weights, bias, params, Fusion::default())
        }

        #[doc = concat!("[`", stringify!($name), "`] with the operands of its post-ops.")]
        ///
        /// # Errors
        #[doc = concat!("As [`", stringify!($name), "`], and for post-op operands of the wrong shape, layout or number.")]
        #[track_caller]
        pub fn $fused<T: Operand>(
            x: &T,
            weights: &T,
            bias: Option<&StridedTensor>,
            params: &$params,
            fusion: Fusion<'_, T>,
        ) -> Result<T> {
            call(x, weights, bias, params, fusion)
        }
    )*};
}

macro_rules! shapes {
    ($x:literal, $w:literal) => {
        concat!(
            "`x` ",
            $x,
            ", `weights` [O, C/groups, ",
            $w,
            "] or, with their groups apart, [groups, O/groups, C/groups, ",
            $w,
            "] (blocked grouped weights are the latter), `bias` `[O]`."
        )
    };
    (transposed $x:literal, $w:literal) => {
        concat!(
            "`x` ",
            $x,
            ", `bias` `[O]`. Strided `weights` [C, O/groups, ",
            $w,
            "], as PyTorch has them, or with their \
            groups apart, [groups, O/groups, C/groups, ",
            $w,
            "]. Blocked `weights` are always output channels first: \
            [O, C, ",
            $w,
            "], or with their groups apart. Each axis of the result has (size - 1) * stride + dilation * \
            (kernel - 1) + 1 - both paddings + output padding elements."
        )
    };
}

convolutions! {
    "1" conv1d conv1d_fused Conv1d: "convolution (cross-correlation)", shapes!("[N, C, W]", "KW");
    "2" conv2d conv2d_fused Conv2d: "convolution (cross-correlation)", shapes!("[N, C, H, W]", "KH, KW");
    "3" conv3d conv3d_fused Conv3d: "convolution (cross-correlation)", shapes!("[N, C, D, H, W]", "KD, KH, KW");
    "1" conv_transpose1d conv_transpose1d_fused ConvTranspose1d: "transposed convolution",
        shapes!(transposed "[N, C, W]", "KW");
    "2" conv_transpose2d conv_transpose2d_fused ConvTranspose2d: "transposed convolution",
        shapes!(transposed "[N, C, H, W]", "KH, KW");
    "3" conv_transpose3d conv_transpose3d_fused ConvTranspose3d: "transposed convolution",
        shapes!(transposed "[N, C, D, H, W]", "KD, KH, KW");
}
