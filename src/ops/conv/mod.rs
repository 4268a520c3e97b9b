//! Convolution and transposed convolution: 1-D, 2-D and 3-D, grouped, depthwise, dilated, with post-ops.

mod gradient;
mod params;

pub use params::{
    Conv, Conv1d, Conv2d, Conv3d, ConvTranspose, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d,
    Direction, Forward, Transposed,
};

pub use crate::kernels::conv::Algorithm;

#[cfg(feature = "onednn")]
use crate::dtype::DType::BF16;
use crate::dtype::DType::{self, F32, S8, S32, U8};
use crate::error::Result;
use crate::kernels::conv::{ConvParams, call, geometry};
use crate::key::DispatchKey;
use crate::op::args::ArgList;
use crate::op::facts::{self, CallSizes, Packing};
use crate::op::kernel::{Engine, KernelFn};
use crate::op::lookup::DTypeTuple;
use crate::op::params::{Params, with_params};
use crate::op::schema::{data, optional_data, optional_param, param_list};
use crate::op::{Arg, ArgSpec, Implementation, Kernel, Op, Reads, Schema};

#[cfg(feature = "onednn")]
use crate::simd::Isa;
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

impl<T: Operand> Fusion<'_, T> {
    /// Calls an op of a source, weights and bias, whose next two arguments these are.
    #[track_caller]
    pub(super) fn call(
        self,
        op: &'static Op,
        x: &T,
        weights: &T,
        bias: Option<&StridedTensor>,
        params: &impl Params,
    ) -> Result<T> {
        let channel: Vec<TensorRef<'_>> = self.channel.iter().map(|&c| TensorRef::Strided(c)).collect();
        let tensors = [
            Arg::Tensor(x.tensor_ref()),
            Arg::Tensor(weights.tensor_ref()),
            bias.map_or(Arg::Absent, |b| Arg::Tensor(TensorRef::Strided(b))),
            self.residual.map_or(Arg::Absent, |r| Arg::Tensor(r.tensor_ref())),
            Arg::Tensors(&channel),
        ];
        let args = ArgList::of(&tensors, params);
        op.call_one(&args.as_slice()[..op.schema().args.len()])
    }
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

const fn tensors(spatial: usize, weights: ArgSpec) -> [ArgSpec; 5] {
    let activation_ranks = geometry::activation_ranks(spatial);
    [
        data("x").f32().with_ranks(activation_ranks),
        weights.f32().with_ranks(geometry::weights_ranks(spatial)).weights(),
        optional_param("bias").f32().bias(),
        optional_data("residual").f32(),
        param_list("channel").f32(),
    ]
}

const INPUT_FIRST: ArgSpec = ArgSpec { is_input_first: true, ..data("weights") };

const fn args(spatial: usize) -> [ArgSpec; 13] {
    with_params(&tensors(spatial, data("weights")), ConvParams::SPECS.split_at(8).0)
}

const fn transposed_args(spatial: usize) -> [ArgSpec; 14] {
    with_params(&tensors(spatial, INPUT_FIRST), ConvParams::SPECS)
}

static ARGS: [[ArgSpec; 13]; 3] = [args(1), args(2), args(3)];
static TRANSPOSED_ARGS: [[ArgSpec; 14]; 3] = [transposed_args(1), transposed_args(2), transposed_args(3)];

/// Every weight is used once for each pixel of the result, or of the source if the convolution is transposed.
const fn forward(name: &'static str, args: &'static [ArgSpec]) -> Schema {
    let work = |of: &CallSizes<'_>| pixels(of.result()) * facts::elements(of.input("weights"));
    Schema::new(name, args).dst_like_x().packs(Packing::Conv).multiply_adds(work)
}

const fn transposed(name: &'static str, args: &'static [ArgSpec]) -> Schema {
    let work = |of: &CallSizes<'_>| pixels(of.input("x")) * facts::elements(of.input("weights"));
    Schema::new(name, args).dst_like_x().packs(Packing::Conv).multiply_adds(work)
}

/// The pixels of all images.
fn pixels(activation: &[usize]) -> u64 {
    let others = activation.iter().enumerate().filter(|(axis, _)| *axis != 1);
    others.fold(1, |n, (_, &d)| n * d as u64)
}

static SCHEMAS: [Schema; 6] = [
    forward("conv1d", &ARGS[0]),
    forward("conv2d", &ARGS[1]),
    forward("conv3d", &ARGS[2]),
    transposed("conv_transpose1d", &TRANSPOSED_ARGS[0]),
    transposed("conv_transpose2d", &TRANSPOSED_ARGS[1]),
    transposed("conv_transpose3d", &TRANSPOSED_ARGS[2]),
];
static ALL: [Op; 6] = [
    conv(&SCHEMAS[0]),
    conv(&SCHEMAS[1]),
    conv(&SCHEMAS[2]),
    conv(&SCHEMAS[3]),
    conv(&SCHEMAS[4]),
    conv(&SCHEMAS[5]),
];

/// One of each engine for each key: each asks the engine's ways to compute in their order. oneDNN's are asked first, in a build
/// that has them.
const IMPLEMENTATIONS: &[Implementation] = &[
    #[cfg(feature = "onednn")]
    (DispatchKey::STRIDED, ONEDNN),
    #[cfg(feature = "onednn")]
    (DispatchKey::BLOCKED, ONEDNN),
    #[cfg(feature = "onednn")]
    (DispatchKey::STRIDED, ONEDNN_BF16),
    #[cfg(feature = "onednn")]
    (DispatchKey::BLOCKED, ONEDNN_BF16),
    (DispatchKey::STRIDED, RUST),
    (DispatchKey::BLOCKED, RUST),
    (DispatchKey::STRIDED, RUST_INT8),
    (DispatchKey::BLOCKED, RUST_INT8),
    (DispatchKey::STRIDED, GRADIENT),
    (DispatchKey::BLOCKED, GRADIENT),
];
const GRADIENT: Kernel = Kernel::gradient(&gradient::gradient).reading(Reads::Operands).refusing_post_ops();

#[cfg(feature = "onednn")]
const ONEDNN: Kernel =
    kernel(&|args, results| call::on(Engine::OneDnn, args, results)).with_engine(Engine::OneDnn);
/// Products of bfloat16 are added up in f32; bias and numbers a channel are f32. Without the instructions for it, oneDNN is slower
/// than with f32.
#[cfg(feature = "onednn")]
const ONEDNN_BF16: Kernel = ONEDNN.with_dtypes(&[ALL_BF16]).with_isa(Isa::Avx512Bf16);
/// Source, weights, bias, residual and numbers a channel, of bf16 and f32.
#[cfg(feature = "onednn")]
pub(super) const ALL_BF16: DTypeTuple =
    DTypeTuple { operands: &[BF16, BF16, F32, BF16, F32], results: &[BF16] };
const RUST: Kernel = kernel(&|args, results| call::on(Engine::Rust, args, results));

/// Exact sums of integers on every machine; fast with VNNI, of AVX-512 or AVX.
const RUST_INT8: Kernel = RUST.with_dtypes(&INT8);
/// The same of integers.
pub(super) const INT8: [DTypeTuple; 24] = {
    // Source; residual; result.
    const OPERANDS: [[DType; 5]; 6] = [
        [U8, S8, F32, F32, F32],
        [U8, S8, F32, U8, F32],
        [U8, S8, F32, S8, F32],
        [S8, S8, F32, F32, F32],
        [S8, S8, F32, U8, F32],
        [S8, S8, F32, S8, F32],
    ];
    const RESULTS: [[DType; 1]; 4] = [[S32], [F32], [U8], [S8]];
    let mut all = [DTypeTuple { operands: &[], results: &[] }; 24];
    let mut i = 0;
    while i < all.len() {
        all[i] = DTypeTuple { operands: &OPERANDS[i / 4], results: &RESULTS[i % 4] };
        i += 1;
    }
    all
};

const fn kernel(run: &'static KernelFn) -> Kernel {
    Kernel::rust(run).needing_dense().with_preferred(&crate::kernels::conv::preferred::preferred)
}

const fn conv(schema: &'static Schema) -> Op {
    Op::new(schema).with(IMPLEMENTATIONS)
}

pub(super) const OPS: &[&Op] = &[&ALL[0], &ALL[1], &ALL[2], &ALL[3], &ALL[4], &ALL[5]];

/// The op with this many spatial dimensions.
pub(crate) fn op_of(spatial: usize, transposed: bool) -> &'static Op {
    &ALL[spatial - 1 + if transposed { 3 } else { 0 }]
}

#[track_caller]
fn called<const N: usize, D: Direction, T: Operand>(
    x: &T,
    weights: &T,
    bias: Option<&StridedTensor>,
    params: &Conv<N, D>,
    fusion: Fusion<'_, T>,
) -> Result<T> {
    fusion.call(op_of(N, D::TRANSPOSED), x, weights, bias, params.params())
}

/// 1-D convolution (cross-correlation), as `torch.nn.functional.conv1d`.
///
/// # Shapes
/// `x` [N, C, W], `weights` [O, C/groups, KW]. All else is as [`conv2d`] has it.
///
/// # Errors
/// As [`conv2d`].
#[track_caller]
pub fn conv1d<T: Operand>(x: &T, weights: &T, bias: Option<&StridedTensor>, params: &Conv1d) -> Result<T> {
    called(x, weights, bias, params, Fusion::default())
}

/// [`conv1d`] with the operands of its post-ops.
///
/// # Errors
/// As [`conv1d`], and for post-op operands of the wrong shape, layout or number.
#[track_caller]
pub fn conv1d_fused<T: Operand>(
    x: &T,
    weights: &T,
    bias: Option<&StridedTensor>,
    params: &Conv1d,
    fusion: Fusion<'_, T>,
) -> Result<T> {
    called(x, weights, bias, params, fusion)
}

/// 2-D convolution (cross-correlation), as `torch.nn.functional.conv2d`.
///
/// ```
/// use blocktensor::ops::{Conv2d, conv2d};
/// use blocktensor::{MemoryFormat, StridedTensor};
/// let x = StridedTensor::full(&[1, 3, 5, 5], 1f32, MemoryFormat::Contiguous)?;
/// let w = StridedTensor::full(&[8, 3, 3, 3], 0.5f32, MemoryFormat::Contiguous)?;
/// let y = conv2d(&x, &w, None, &Conv2d::new().padding(1).relu())?;
/// assert_eq!(y.dims(), [1, 8, 5, 5]);
/// assert_eq!(y.get::<f32>(&[0, 0, 2, 2]), Some(13.5));
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` [N, C, H, W]; `weights` [O, C/groups, KH, KW] or, with their groups apart, [groups, O/groups, C/groups, KH, KW] (blocked
/// grouped weights always have their groups apart); `bias` `[O]`.
///
/// # Dtypes
/// f32. bf16 with oneDNN on a machine with AVX512_BF16: `x`, `weights`, residual and result; sums, `bias` and numbers for each channel
/// are f32. Blocked weights of bf16 are packed on every call.
///
/// u8 or s8 with s8 weights, in Rust, fast with AMX or VNNI (AVX-512 or AVX): the sums are exact, of 32 bits, and `bias` (f32) has whole numbers up to
/// 2^24. `x_zero_point` is the integer that stands for 0, and padding is of it. Without post-ops the result is the sums, s32. Post-ops
/// compute in f32, and so is their result; `quantize(dtype,zero_point)` as the last one makes u8 or s8 of it. Scales are their
/// `mul_channel`; `residual(dtype,scale,zero_point)` adds a quantised residual, `residual` one of f32. Weights are packed on every
/// call.
///
/// # Layouts
/// Strided: any. The result is channels-last when `x` or `weights` is. Weights are packed on every call; a packed convolution
/// ([`PackedConv2d`](crate::PackedConv2d)) packs them once. Blocked: `x` and the result share a layout, and weights are in the
/// layout that goes with it (`Layout::native_weights`). Where oneDNN has no fast kernel, ours runs. It packs weights of narrow
/// groups on every call.
///
/// # Errors
/// `RankMismatch`, `ShapeMismatch`, `InvalidArgument`, `Overflow` for shapes and parameters; `KeyMismatch` and `LayoutMismatch`
/// for operands that do not go together; `UnsupportedOp` for f32 in blocks of other than 8 or 16 channels, with the way out.
#[track_caller]
pub fn conv2d<T: Operand>(x: &T, weights: &T, bias: Option<&StridedTensor>, params: &Conv2d) -> Result<T> {
    called(x, weights, bias, params, Fusion::default())
}

/// [`conv2d`] with the operands of its post-ops.
///
/// # Errors
/// As [`conv2d`], and for post-op operands of the wrong shape, layout or number.
#[track_caller]
pub fn conv2d_fused<T: Operand>(
    x: &T,
    weights: &T,
    bias: Option<&StridedTensor>,
    params: &Conv2d,
    fusion: Fusion<'_, T>,
) -> Result<T> {
    called(x, weights, bias, params, fusion)
}

/// 3-D convolution (cross-correlation), as `torch.nn.functional.conv3d`.
///
/// # Shapes
/// `x` [N, C, D, H, W], `weights` [O, C/groups, KD, KH, KW]. All else is as [`conv2d`] has it.
///
/// # Errors
/// As [`conv2d`].
#[track_caller]
pub fn conv3d<T: Operand>(x: &T, weights: &T, bias: Option<&StridedTensor>, params: &Conv3d) -> Result<T> {
    called(x, weights, bias, params, Fusion::default())
}

/// [`conv3d`] with the operands of its post-ops.
///
/// # Errors
/// As [`conv3d`], and for post-op operands of the wrong shape, layout or number.
#[track_caller]
pub fn conv3d_fused<T: Operand>(
    x: &T,
    weights: &T,
    bias: Option<&StridedTensor>,
    params: &Conv3d,
    fusion: Fusion<'_, T>,
) -> Result<T> {
    called(x, weights, bias, params, fusion)
}

/// 1-D transposed convolution, as `torch.nn.functional.conv_transpose1d`.
///
/// # Shapes
/// `x` [N, C, W], strided `weights` [C, O/groups, KW]. All else is as [`conv_transpose2d`] has it.
///
/// # Errors
/// As [`conv_transpose2d`].
#[track_caller]
pub fn conv_transpose1d<T: Operand>(
    x: &T,
    weights: &T,
    bias: Option<&StridedTensor>,
    params: &ConvTranspose1d,
) -> Result<T> {
    called(x, weights, bias, params, Fusion::default())
}

/// [`conv_transpose1d`] with the operands of its post-ops.
///
/// # Errors
/// As [`conv_transpose1d`], and for post-op operands of the wrong shape, layout or number.
#[track_caller]
pub fn conv_transpose1d_fused<T: Operand>(
    x: &T,
    weights: &T,
    bias: Option<&StridedTensor>,
    params: &ConvTranspose1d,
    fusion: Fusion<'_, T>,
) -> Result<T> {
    called(x, weights, bias, params, fusion)
}

/// 2-D transposed convolution, as `torch.nn.functional.conv_transpose2d`.
///
/// Each axis of the result has `(size - 1) * stride + dilation * (kernel - 1) + 1 - both paddings + output padding` elements.
///
/// # Shapes
/// `x` [N, C, H, W]; `bias` `[O]`. Strided `weights` are [C, O/groups, KH, KW], as in PyTorch, or have their groups apart:
/// [groups, O/groups, C/groups, KH, KW]. Blocked `weights` always have output channels first: [O, C, KH, KW], or with their
/// groups apart.
///
/// # Dtypes
/// As [`conv2d`].
///
/// # Layouts
/// As [`conv2d`].
///
/// # Errors
/// As [`conv2d`].
#[track_caller]
pub fn conv_transpose2d<T: Operand>(
    x: &T,
    weights: &T,
    bias: Option<&StridedTensor>,
    params: &ConvTranspose2d,
) -> Result<T> {
    called(x, weights, bias, params, Fusion::default())
}

/// [`conv_transpose2d`] with the operands of its post-ops.
///
/// # Errors
/// As [`conv_transpose2d`], and for post-op operands of the wrong shape, layout or number.
#[track_caller]
pub fn conv_transpose2d_fused<T: Operand>(
    x: &T,
    weights: &T,
    bias: Option<&StridedTensor>,
    params: &ConvTranspose2d,
    fusion: Fusion<'_, T>,
) -> Result<T> {
    called(x, weights, bias, params, fusion)
}

/// 3-D transposed convolution, as `torch.nn.functional.conv_transpose3d`.
///
/// # Shapes
/// `x` [N, C, D, H, W], strided `weights` [C, O/groups, KD, KH, KW]. All else is as [`conv_transpose2d`] has it.
///
/// # Errors
/// As [`conv_transpose2d`].
#[track_caller]
pub fn conv_transpose3d<T: Operand>(
    x: &T,
    weights: &T,
    bias: Option<&StridedTensor>,
    params: &ConvTranspose3d,
) -> Result<T> {
    called(x, weights, bias, params, Fusion::default())
}

/// [`conv_transpose3d`] with the operands of its post-ops.
///
/// # Errors
/// As [`conv_transpose3d`], and for post-op operands of the wrong shape, layout or number.
#[track_caller]
pub fn conv_transpose3d_fused<T: Operand>(
    x: &T,
    weights: &T,
    bias: Option<&StridedTensor>,
    params: &ConvTranspose3d,
    fusion: Fusion<'_, T>,
) -> Result<T> {
    called(x, weights, bias, params, fusion)
}
