//! Linear layer: strided only, as blocks of channels have no meaning in two dimensions.

use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::kernels::conv::call::{Pixels, pixels as conv_of_pixels};
use crate::kernels::conv::epilogue::{Finish, channel_values, check_operands};
use crate::kernels::conv::implementation::ConvTypes;
use crate::kernels::conv::integers;
use crate::key::DispatchKey;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::matmul::{MOST_ROWS, Matrix, parallel_matmul_then, rows_times_transposed};
use crate::op::facts::Packing;
use crate::op::kernel::Engine;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{Ranks, data, int, optional_data, optional_param, param_list, word};
use crate::op::{ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema};
#[cfg(feature = "onednn")]
use crate::ops::conv::ALL_BF16;
use crate::ops::conv::{Fusion, INT8};
use crate::ops::matmul::matmul;
use crate::ops::reduce;
use crate::post_ops::{PostOp, PostOps};
#[cfg(feature = "onednn")]
use crate::simd::Isa;
use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::strided::StridedTensor;

const X_RANKS: Ranks = Ranks::at_least(1, "it has a last dimension of inputs", "pass [..., inputs]");
const WEIGHTS_RANKS: Ranks = Ranks::between(
    1,
    2,
    "they are [outputs, inputs], or [inputs] of one output",
    "reshape them to two dimensions",
);
/// Of packed layers, which come without a schema.
const PACKED_RANKS: Ranks = Ranks::exactly(2, "they are [outputs, inputs]", "reshape them to two dimensions");

params! {
    /// Parameters of [`linear_fused`]: the post-ops, of which outputs are the channels, and the zero point of `x`.
    #[derive(Default)]
    pub struct Linear {
        post_ops: PostOps => word("post_ops", ""),
        x_zero_point: i64 => int("x_zero_point", 0),
    }
}

impl Linear {
    /// No post-ops; the integer 0 of `x` stands for 0.
    pub fn new() -> Linear {
        Linear::default()
    }

    /// Appends a post-op. Their order is the order of work.
    pub fn post_op(mut self, op: PostOp) -> Linear {
        self.post_ops = self.post_ops.then(op);
        self
    }

    /// Of `x` of u8 or s8: the integer that stands for 0. The default is 0.
    pub fn x_zero_point(mut self, zero_point: i64) -> Linear {
        self.x_zero_point = zero_point;
        self
    }
}

const LINEAR_ARGS: &[ArgSpec] = &with_params::<7>(
    &[
        data("x").f32().with_ranks(X_RANKS),
        data("weights").f32().with_ranks(WEIGHTS_RANKS).weights(),
        optional_param("bias").f32().bias(),
        optional_data("residual").f32(),
        param_list("channel").f32(),
    ],
    Linear::SPECS,
);
pub(crate) static LINEAR: Op = Op::new(
    &Schema::new("linear", LINEAR_ARGS)
        .dst_like_x()
        .packs(Packing::Linear)
        .multiply_adds(|of| of.result_elements() * of.input("weights").last().copied().unwrap_or(0) as u64),
)
.with(&[
    (DispatchKey::STRIDED, Kernel::rust(&linear_kernel).needing_dense()),
    #[cfg(feature = "onednn")]
    (
        DispatchKey::STRIDED,
        Kernel::rust(&|args, results| linear_of_pixels(Engine::OneDnn, args, results))
            .with_engine(Engine::OneDnn)
            .with_dtypes(&[ALL_BF16])
            .with_isa(Isa::Avx512Bf16)
            .needing_dense(),
    ),
    (
        DispatchKey::STRIDED,
        Kernel::rust(&|args, results| linear_of_pixels(Engine::Rust, args, results))
            .with_dtypes(&INT8)
            .needing_dense(),
    ),
    (DispatchKey::STRIDED, Kernel::gradient(&linear_gradient).reading(Reads::Operands).refusing_post_ops()),
]);
/// What a run of them is called in the ledger.
pub(super) const GEMM: &str = "blocktensor:gemm";
/// The same of a few rows: a product of a matrix and a vector, or a few.
const GEMV: &str = "blocktensor:gemv";

pub(super) const OPS: &[&Op] = &[&LINEAR];

/// `x W^T + b`, as `torch.nn.functional.linear`.
///
/// # Shapes
/// `x` [..., K], `weights` [O, K], `bias` `[O]`; the result is [..., O], contiguous. `weights` `[K]` of one output come without a
/// bias, and the result is [...].
///
/// # Dtypes
/// f32. bf16, and u8 or s8 with s8 weights, as [`conv2d`](crate::ops::conv2d) takes them: a linear layer is its convolution of single
/// pixels, by the same kernels, with outputs as the channels of post-ops. Their weights are packed on every call.
///
/// # Layouts
/// Strided only: from a blocked activation come back with `to_strided` and flatten. A view is copied dense first, and
/// the ledger counts it. f32 runs in Rust; [`PackedLinear`](crate::PackedLinear) packs the weights once and runs on oneDNN.
///
/// # Errors
/// `RankMismatch`, `ShapeMismatch`; `UnsupportedOp` on blocked tensors; of integers and bf16 those of [`conv2d`](crate::ops::conv2d).
#[track_caller]
pub fn linear<T: Operand>(x: &T, weights: &T, bias: Option<&StridedTensor>) -> Result<T> {
    linear_fused(x, weights, bias, &Linear::new(), Fusion::default())
}

/// [`linear`] with post-ops and their operands.
///
/// ```
/// use blocktensor::{DType, StridedTensor, ops, ops::{Fusion, Linear, PostOp}};
/// let x = StridedTensor::from_slice(&[13u8, 7], &[1, 2])?;
/// let w = StridedTensor::from_slice(&[2i8, 5], &[1, 2])?;
/// let scale = StridedTensor::from_slice(&[0.5f32], &[1])?;
/// let params = Linear::new()
///     .x_zero_point(10)
///     .post_op(PostOp::MulChannel)
///     .post_op(PostOp::Quantize { dtype: DType::U8, zero_point: 100 });
/// // 3 * 2 - 3 * 5 is -9; half of it is rounded to the even -4.
/// let y = ops::linear_fused(&x, &w, None, &params, Fusion { channel: &[&scale], ..Fusion::default() })?;
/// assert_eq!(y.to_vec::<u8>()?, [96]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Errors
/// As [`linear`], and for post-op operands of the wrong shape or number.
#[track_caller]
pub fn linear_fused<T: Operand>(
    x: &T,
    weights: &T,
    bias: Option<&StridedTensor>,
    params: &Linear,
    fusion: Fusion<'_, T>,
) -> Result<T> {
    fusion.call(&LINEAR, x, weights, bias, params)
}

/// Sizes of a linear layer: rows, inputs, outputs, and the result's shape.
pub(crate) struct LinearShape {
    pub rows: usize,
    pub k: usize,
    pub o: usize,
    pub dst: Dims,
}

impl LinearShape {
    /// Checks `x` [..., K] against `weights` [O, K] and `bias` `[O]`.
    pub fn new(x: &[usize], weights: &[usize], bias: Option<&[usize]>) -> Result<LinearShape> {
        let op = "linear";
        PACKED_RANKS.check(op, "weights", weights.len(), || format!("{weights:?}"))?;
        X_RANKS.check(op, "x", x.len(), || format!("{x:?}"))?;
        let (o, k) = (weights[0], weights[1]);
        let (last, leading) = (x[x.len() - 1], &x[..x.len() - 1]);
        if last != k {
            fail!(
                ShapeMismatch,
                op,
                "x",
                format!("{x:?}"),
                format!("the weights {weights:?} take {k} inputs"),
                format!("pass rows of {k} numbers, for example flattened ones")
            );
        }
        if let Some(b) = bias
            && b != [o]
        {
            let got = format!("{b:?}");
            fail!(
                ShapeMismatch,
                op,
                "bias",
                got,
                format!("there are {o} outputs"),
                format!("pass {o} values")
            );
        }
        let mut dst = Dims::from_slice(leading);
        let rows = leading.iter().product();
        dst.push(o);
        Ok(LinearShape { rows, k, o, dst })
    }

    /// Whether rows are so few that reading the weights is all the work.
    pub fn is_of_few_rows(&self) -> bool {
        self.rows <= MOST_ROWS
    }

    /// The name of the kernel in Rust that multiplies with these weights, O x K.
    pub fn implementation(&self, w: Matrix<'_>) -> &'static str {
        if self.takes_rows(w) { GEMV } else { GEMM }
    }

    fn takes_rows(&self, w: Matrix<'_>) -> bool {
        self.is_of_few_rows() && (w.column == 1 || self.k <= 1) && (w.row == self.k || self.o <= 1)
    }
}

/// The operands of a linear layer, checked.
struct Layer<'a> {
    x: &'a StridedTensor,
    /// `[O, K]`.
    weights: StridedTensor,
    bias: Option<&'a StridedTensor>,
    residual: Option<&'a StridedTensor>,
    channel: &'a [TensorRef<'a>],
    params: Linear,
    shape: LinearShape,
    /// The sizes of the result.
    dst: Dims,
}

impl<'a> Layer<'a> {
    fn new(args: &Args<'a>) -> Result<Layer<'a>> {
        let (x, w, bias) = (args.strided(0)?, args.strided(1)?, args.optional_strided(2)?);
        let is_vector = w.rank() == 1;
        if let (true, Some(bias)) = (is_vector, bias) {
            let (got, rule) = (TensorRef::Strided(bias).describe(), "weights of one dimension have no bias");
            fail!(
                InvalidArgument,
                args.op(),
                "bias",
                got,
                rule,
                "leave it out, or reshape the weights to [1, inputs]"
            );
        }
        let weights = if is_vector { w.unsqueeze(0)? } else { w.clone() };
        let shape = LinearShape::new(x.dims(), weights.dims(), bias.map(StridedTensor::dims))?;
        let (residual, channel) = (args.optional_tensor(3)?, args.tensors(4)?);
        let params = Linear::read(args)?;
        let types = ConvTypes::of(x.dtype(), &params.post_ops);
        integers::check(
            args.op(),
            types,
            &params.post_ops,
            integers::zero_point(args.op(), params.x_zero_point)?,
        )?;
        let of_result = (&shape.dst[..], shape.dst.len() - 1, types.residual());
        check_operands(args.op(), &params.post_ops, of_result, residual, channel)?;
        let mut dst = shape.dst;
        if is_vector {
            dst.remove(dst.len() - 1);
        }
        Ok(Layer { x, weights, bias, residual: args.optional_strided(3)?, channel, params, shape, dst })
    }
}

fn linear_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let layer = Layer::new(args)?;
    let s = &layer.shape;
    let strides = MemoryFormat::Contiguous.strides(args.op(), &layer.dst)?;
    let dst = results.strided(layer.dst, strides, None, DType::F32)?;
    if dst.numel() == 0 {
        return Ok(());
    }
    let dense = |t: &StridedTensor| t.dense_at(args.op(), MemoryFormat::Contiguous, args.location());
    let (x, residual) = (dense(layer.x)?, layer.residual.map(dense).transpose()?);
    let bias = layer.bias.map(StridedTensor::to_vec::<f32>).transpose()?;
    let channel = channel_values(layer.channel)?;
    let w = matrix(&layer.weights, 0, 0);
    crate::kernels::timed(
        args,
        s.implementation(w),
        || "contiguous -> contiguous".into(),
        || {
            let dst = dst.result_data::<f32>();
            let finish =
                Finish { bias: bias.as_deref(), post_ops: &layer.params.post_ops, channel: &channel };
            let residual = residual.as_ref().map(StridedTensor::data::<f32>);
            Ok(linear_gemm(s, x.data::<f32>(), w, &finish, residual, dst)?)
        },
    )
}

/// As the convolution of single pixels that it is, of other dtypes than f32.
fn linear_of_pixels(engine: Engine, args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let layer = Layer::new(args)?;
    let of = Pixels {
        x: layer.x,
        rows: layer.shape.rows,
        weights: &layer.weights,
        bias: layer.bias,
        residual: layer.residual,
        channel: layer.channel,
        post_ops: layer.params.post_ops,
        zero_point: layer.params.x_zero_point,
        dst: layer.dst,
    };
    conv_of_pixels(engine, args, results, &of)
}

/// `diff W` by `x`, `diff^T x` by the weights, and the sum of the rows of `diff` by the bias.
fn linear_gradient(call: &Backward<'_>) -> Result<Gradients> {
    let args = &call.args;
    let (x, w) = (args.strided(0)?, args.strided(1)?);
    let TensorRef::Strided(diff) = call.diff()? else { unreachable!("it has the key of the operands") };
    let k = w.dims()[w.rank() - 1];
    let o = if w.rank() == 1 { 1 } else { w.dims()[0] };
    let rows: usize = x.dims()[..x.rank() - 1].iter().product();
    let diff = diff.reshape(&[rows, o])?;
    call.each(|i| {
        Ok(match i {
            0 => matmul(&diff, &w.reshape(&[o, k])?)?.reshape(x.dims())?.into(),
            1 => matmul(&diff.transpose(0, 1)?, &x.reshape(&[rows, k])?)?.reshape(w.dims())?.into(),
            _ => reduce::sum(&diff, &[0], false)?.into(),
        })
    })
}

/// The kernel in Rust. `w` is O x K. `finish` follows on each part of a row while it is in the cache; outputs are its channels, and
/// `residual` lies as the result does.
pub(crate) fn linear_gemm(
    s: &LinearShape,
    x: &[f32],
    w: Matrix<'_>,
    finish: &Finish<'_>,
    residual: Option<&[f32]>,
    dst: &mut [f32],
) -> Result<()> {
    let then = |row: usize, first: usize, values: &mut [f32]| {
        let residual = residual.map(|r| &r[row * s.o + first..][..values.len()]);
        finish.pixels(values.len(), first..first + values.len(), residual, values);
    };
    if s.takes_rows(w) {
        rows_times_transposed([s.rows, s.o, s.k], x, w.data, dst, &then);
        return Ok(());
    }
    let x = Matrix { data: x, row: s.k, column: 1 };
    let transposed = Matrix { data: w.data, row: w.column, column: w.row };
    parallel_matmul_then(s.rows, s.o, s.k, x, transposed, dst, &then)
}

/// The matrix over this axis and the next, from an element on. The stride of an axis of size 1 is ignored.
pub(super) fn matrix(t: &StridedTensor, start: usize, axis: usize) -> Matrix<'_> {
    let step = |axis: usize| if t.dims()[axis] == 1 { 1 } else { t.strides()[axis] };
    Matrix { data: &t.data::<f32>()[start..], row: step(axis), column: step(axis + 1) }
}
