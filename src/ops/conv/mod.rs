//! Convolution: 1-D, 2-D and 3-D, grouped, depthwise, dilated, with post-ops.

pub(crate) mod blocked;
pub(crate) mod direct;
mod gemm;
pub(crate) mod geometry;
#[cfg(feature = "onednn")]
pub(crate) mod onednn;
pub(crate) mod strided;
pub(crate) mod weights;

pub(crate) use gemm::{GemmConv, gemm_conv};
pub(crate) use geometry::{ConvGeometry, ConvNumbers};

use super::Entry;
use super::post_ops::{Activation, PostOp, PostOps};
use crate::dispatch::schema::{data, flag, int, ints, optional_data, optional_param, param_list, word};
use crate::dispatch::{Arg, Args, Engine, Kernel, Op, Schema};
use crate::error::{Result, fail};
use crate::layout::dims::Dims;
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::strided::StridedTensor;

/// Parameters of a convolution with `N` spatial dimensions. The default is stride 1, no padding, no dilation, one
/// group, no post-ops.
#[derive(Clone, Debug, PartialEq)]
pub struct Conv<const N: usize> {
    stride: [usize; N],
    padding_begin: [usize; N],
    padding_end: [usize; N],
    dilation: [usize; N],
    groups: usize,
    post_ops: String,
    allow_reference: bool,
}

/// Parameters of [`conv1d`].
pub type Conv1d = Conv<1>;
/// Parameters of [`conv2d`].
pub type Conv2d = Conv<2>;
/// Parameters of [`conv3d`].
pub type Conv3d = Conv<3>;

impl<const N: usize> Default for Conv<N> {
    fn default() -> Self {
        Conv {
            stride: [1; N],
            padding_begin: [0; N],
            padding_end: [0; N],
            dilation: [1; N],
            groups: 1,
            post_ops: String::new(),
            allow_reference: false,
        }
    }
}

impl<const N: usize> Conv<N> {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same stride along every axis.
    pub fn stride(self, stride: usize) -> Self {
        self.strides([stride; N])
    }

    /// A stride for each axis.
    pub fn strides(mut self, stride: [usize; N]) -> Self {
        self.stride = stride;
        self
    }

    /// The same padding on every side, in elements.
    pub fn padding(self, padding: usize) -> Self {
        self.paddings([padding; N], [padding; N])
    }

    /// Padding before and after each axis, in elements.
    pub fn paddings(mut self, begin: [usize; N], end: [usize; N]) -> Self {
        self.padding_begin = begin;
        self.padding_end = end;
        self
    }

    /// The same dilation along every axis; 1 is dense, as in PyTorch.
    pub fn dilation(self, dilation: usize) -> Self {
        self.dilations([dilation; N])
    }

    /// A dilation for each axis.
    pub fn dilations(mut self, dilation: [usize; N]) -> Self {
        self.dilation = dilation;
        self
    }

    /// Number of groups; as many as input channels is a depthwise convolution.
    pub fn groups(mut self, groups: usize) -> Self {
        self.groups = groups;
        self
    }

    /// Appends a post-op. Their order is the order of work.
    pub fn post_op(mut self, op: PostOp) -> Self {
        if !self.post_ops.is_empty() {
            self.post_ops.push(',');
        }
        let word = match op {
            PostOp::Residual => "residual".to_string(),
            PostOp::MulChannel => "mul_channel".to_string(),
            PostOp::AddChannel => "add_channel".to_string(),
            PostOp::Activation(a) => a.to_string(),
        };
        self.post_ops.push_str(&word);
        self
    }

    /// Appends a fused activation.
    pub fn activation(self, activation: Activation) -> Self {
        self.post_op(PostOp::Activation(activation))
    }

    /// Appends a fused relu.
    pub fn relu(self) -> Self {
        self.activation(Activation::Relu)
    }

    /// Appends the addition of the `residual` operand.
    pub fn residual(self) -> Self {
        self.post_op(PostOp::Residual)
    }

    /// Lets oneDNN's reference implementation run where it has no other: hundreds of times slower, and in the
    /// ledger by its name `ref`.
    pub fn allow_reference(mut self) -> Self {
        self.allow_reference = true;
        self
    }

    pub(crate) fn post_ops(&self) -> Result<PostOps> {
        self.post_ops.parse()
    }

    #[cfg(feature = "onednn")]
    pub(crate) fn allows_reference(&self) -> bool {
        self.allow_reference
    }

    pub(crate) fn numbers(&self) -> ConvNumbers {
        ConvNumbers {
            stride: Dims::from_slice(&self.stride),
            padding: self.padding_begin.iter().chain(&self.padding_end).copied().collect(),
            dilation: Dims::from_slice(&self.dilation),
            groups: self.groups,
        }
    }
}

/// What a fused convolution reads besides source, weights and bias.
#[derive(Debug)]
pub struct Fusion<'a, T> {
    /// The operand of [`PostOp::Residual`]: shape and layout of the result.
    pub residual: Option<&'a T>,
    /// The operands of [`PostOp::MulChannel`] and [`PostOp::AddChannel`], in their order: 1-D, one value for each
    /// output channel.
    pub channel: &'a [&'a StridedTensor],
}

impl<T> Default for Fusion<'_, T> {
    fn default() -> Self {
        Fusion { residual: None, channel: &[] }
    }
}

const ARGS: &[crate::dispatch::ArgSpec] = &[
    data("x"),
    data("weights"),
    optional_param("bias"),
    optional_data("residual"),
    param_list("channel"),
    ints("stride", &[1]),
    ints("padding", &[0]),
    ints("dilation", &[1]),
    int("groups", 1),
    word("post_ops", ""),
    flag("allow_reference", false),
];

static CONV1D_SCHEMA: Schema = Schema::new("conv1d", ARGS);
static CONV2D_SCHEMA: Schema = Schema::new("conv2d", ARGS);
static CONV3D_SCHEMA: Schema = Schema::new("conv3d", ARGS);
static CONV1D: Op = Op::new(&CONV1D_SCHEMA);
static CONV2D: Op = Op::new(&CONV2D_SCHEMA);
static CONV3D: Op = Op::new(&CONV3D_SCHEMA);

/// A kernel that asks oneDNN first, in a build that has it.
const fn with_onednn(kernel: Kernel) -> Kernel {
    if cfg!(feature = "onednn") { kernel.with_engine(Engine::Both) } else { kernel }
}

const STRIDED: Kernel = with_onednn(Kernel::rust(&strided::kernel));
const BLOCKED: Kernel = with_onednn(Kernel::rust(&blocked::kernel));

pub(super) const ENTRIES: &[Entry] = &[
    Entry { op: &CONV1D, strided: Some(STRIDED), blocked: Some(BLOCKED) },
    Entry { op: &CONV2D, strided: Some(STRIDED), blocked: Some(BLOCKED) },
    Entry { op: &CONV3D, strided: Some(STRIDED), blocked: Some(BLOCKED) },
];

/// The op with this many spatial dimensions.
pub(crate) fn op_of(spatial: usize) -> &'static Op {
    match spatial {
        1 => &CONV1D,
        2 => &CONV2D,
        _ => &CONV3D,
    }
}

/// A call's operands and parameters, checked.
struct Call<'a> {
    g: ConvGeometry,
    bias: Option<&'a StridedTensor>,
    residual: Option<TensorRef<'a>>,
    channel: &'a [TensorRef<'a>],
    post_ops: PostOps,
    #[cfg(feature = "onednn")]
    allow_reference: bool,
}

impl<'a> Call<'a> {
    fn new(args: &Args<'a>) -> Result<Call<'a>> {
        let spatial = match args.op() {
            "conv1d" => 1,
            "conv2d" => 2,
            _ => 3,
        };
        let bias = args.optional_strided(2)?;
        let numbers = ConvGeometry::numbers(args, 5, spatial)?;
        let (x, w) = (args.tensor(0)?, args.tensor(1)?);
        let g = ConvGeometry::new(
            args.op(),
            spatial,
            x.dims(),
            w.dims(),
            bias.map(StridedTensor::dims),
            &numbers,
        )?;
        let post_ops: PostOps = args.word(9)?.parse()?;
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
            #[cfg(feature = "onednn")]
            allow_reference: args.flag(10)?,
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
            "pass one for each mul_channel and add_channel"
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
        if c.dtype() != crate::DType::F32 {
            fail!(UnsupportedDType, op, "channel", c.describe(), "it is f32", "convert it to f32 first");
        }
    }
    Ok(())
}

#[track_caller]
fn call<const N: usize, T: Operand>(
    x: &T,
    weights: &T,
    bias: Option<&StridedTensor>,
    p: &Conv<N>,
    fusion: Fusion<'_, T>,
) -> Result<T> {
    let mut padding = [0; 6];
    padding[..N].copy_from_slice(&p.padding_begin);
    padding[N..2 * N].copy_from_slice(&p.padding_end);
    let channel: Vec<TensorRef<'_>> = fusion.channel.iter().map(|&c| TensorRef::Strided(c)).collect();
    op_of(N).call_one(&[
        Arg::Tensor(x.tensor_ref()),
        Arg::Tensor(weights.tensor_ref()),
        bias.map_or(Arg::Absent, |b| Arg::Tensor(TensorRef::Strided(b))),
        fusion.residual.map_or(Arg::Absent, |r| Arg::Tensor(r.tensor_ref())),
        Arg::Tensors(&channel),
        Arg::Sizes(&p.stride),
        Arg::Sizes(&padding[..2 * N]),
        Arg::Sizes(&p.dilation),
        Arg::Int(i64::try_from(p.groups).unwrap_or(i64::MAX)),
        Arg::Str(&p.post_ops),
        Arg::Bool(p.allow_reference),
    ])
}

macro_rules! convolutions {
    ($($n:literal $name:ident $fused:ident $params:ident $x:literal $w:literal;)*) => {$(
        #[doc = concat!($n, "-D convolution (cross-correlation), as `torch.nn.functional.", stringify!($name), "`.")]
        ///
        /// # Shapes
        #[doc = concat!("`x` ", $x, ", `weights` [O, C/groups, ", $w, "] or, with their groups apart, \
            [groups, O/groups, C/groups, ", $w, "] (blocked grouped weights are the latter), `bias` [O].")]
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
        /// `KeyMismatch` and `LayoutMismatch` for operands that do not go together; `UnsupportedOp` for blocks of other than
        /// 8 or 16 channels, with the way out.
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
convolutions! {
    "1" conv1d conv1d_fused Conv1d "[N, C, W]" "KW";
    "2" conv2d conv2d_fused Conv2d "[N, C, H, W]" "KH, KW";
    "3" conv3d conv3d_fused Conv3d "[N, C, D, H, W]" "KD, KH, KW";
}
