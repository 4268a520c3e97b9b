//! `quantized_avg_pool`: means of quantised numbers, quantised again, in one pass over the bytes.

use super::AvgPool;
use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::kernels::pool::geometry::Windows;
use crate::kernels::pool::{QuantizedMean, pool_quantized};
use crate::kernels::spatial;
use crate::op::lookup::DTypeTuple;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{data, flag, int, ints, output_stated, required_float, required_ints, word};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::pointwise::quantize::{check_bytes, check_scale, check_zero_point};
use crate::ops::pointwise::quantized::Quantization;
use crate::ops::pool::{SidePadding, pool_windows};
use crate::tensor::any::Operand;

params! {
    /// The parameters of [`AvgPool`], and what the integers of the operand and of the result stand for.
    struct QuantizedAvgPool<const N: usize> {
        kernel: [usize; N] => required_ints("kernel").counted_from_one(),
        stride: Option<[usize; N]> => ints("stride", &[]).counted_from_one(),
        padding: SidePadding<N> => ints("padding", &[0]),
        ceil_mode: bool => flag("ceil_mode", false),
        count_include_pad: bool => flag("count_include_pad", true),
        x_scale: f64 => required_float("x_scale"),
        x_zero_point: i64 => int("x_zero_point", 0),
        dst_scale: f64 => required_float("dst_scale"),
        dst_zero_point: i64 => int("dst_zero_point", 0),
        dtype: DType => word("dtype", "u8"),
    }
}

const BYTES: &[DType] = &[DType::U8, DType::S8];
const EACH: &[DTypeTuple] = &[
    DTypeTuple { operands: &[DType::U8], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::U8], results: &[DType::S8] },
    DTypeTuple { operands: &[DType::S8], results: &[DType::U8] },
    DTypeTuple { operands: &[DType::S8], results: &[DType::S8] },
];
const ARGS: &[ArgSpec] = &with_params::<11>(
    &[data("x").with_dtypes(BYTES).with_ranks(spatial::IMAGE_RANKS)],
    QuantizedAvgPool::<2>::SPECS,
);
static QUANTIZED_AVG_POOL: Op = Op::new(
    &Schema::new("quantized_avg_pool", ARGS)
        .with_outputs(&[output_stated("dst", "dtype")])
        .without_gradient("its results are integers"),
)
.with(&Kernel::rust(&run).with_dtypes(EACH).needing_dense().on_both());

pub(crate) const OPS: &[&Op] = &[&QUANTIZED_AVG_POOL];

/// Average pooling of quantised numbers, quantised: what [`dequantize`](crate::ops::dequantize), [`avg_pool2d`](crate::ops::avg_pool2d)
/// and [`quantize`](crate::ops::quantize) compute, without the roundings of f32 between them.
///
/// Each sum is exact, and its mean is rounded once, ties to even. Scales and zero points are those of `x` and of the result, in this
/// order. A window of the size of the image is [`global_avg_pool`](crate::ops::global_avg_pool). Padding stands for 0.
///
/// ```
/// use blocktensor::{DType, StridedTensor, ops, ops::{AvgPool, Quantization}};
/// let x = StridedTensor::from_slice(&[10u8, 20, 30, 41], &[1, 1, 2, 2])?;
/// let wholes = Quantization::default();
/// let halves = Quantization { scale: 0.5, zero_point: 7 };
/// // The mean is 25.25, of which 50.5 halves are nearest to 50, the even one.
/// let y = ops::quantized_avg_pool(&x, &AvgPool::<2>::new(2), [wholes, halves], DType::U8)?;
/// assert_eq!(y.to_vec::<u8>()?, [57]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` [N, C, W], [N, C, H, W] or [N, C, D, H, W] with `N` spatial dimensions. All else is as [`avg_pool2d`](crate::ops::avg_pool2d) has
/// it.
///
/// # Dtypes
/// `x` u8 or s8. The result is u8 or s8, as `dtype` says.
///
/// # Layouts
/// As [`max_pool2d`](crate::ops::max_pool2d). The channel tail of a blocked result is 0, whatever the zero point.
///
/// # Errors
/// As [`max_pool2d`](crate::ops::max_pool2d). `InvalidArgument` for a scale that is not positive and finite, and for a zero point that the
/// dtype does not hold, or a `dtype` that is not u8 or s8.
#[track_caller]
pub fn quantized_avg_pool<const N: usize, T: Operand>(
    x: &T,
    params: &AvgPool<N>,
    of: [Quantization; 2],
    dtype: DType,
) -> Result<T> {
    const { assert!(N >= 1 && N <= 3, "1 to 3 spatial dimensions") };
    let [x_is, dst_is] = of;
    let params = QuantizedAvgPool::<N> {
        kernel: params.kernel,
        stride: params.stride,
        padding: params.padding.clone(),
        ceil_mode: params.ceil_mode,
        count_include_pad: params.count_include_pad,
        x_scale: x_is.scale.into(),
        x_zero_point: x_is.zero_point.into(),
        dst_scale: dst_is.scale.into(),
        dst_zero_point: dst_is.zero_point.into(),
        dtype,
    };
    QUANTIZED_AVG_POOL.call_with(&[Arg::Tensor(x.tensor_ref())], &params)
}

fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    match args.tensor(0)?.dims().len() {
        3 => run_of_rank::<1>(args, results),
        4 => run_of_rank::<2>(args, results),
        _ => run_of_rank::<3>(args, results),
    }
}

fn run_of_rank<const N: usize>(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, given) = (args.op(), args.tensor(0)?.dtype(), QuantizedAvgPool::<N>::read(args)?);
    check_bytes(op, given.dtype)?;
    check_scale(op, "x_scale", given.x_scale, true)?;
    check_scale(op, "dst_scale", given.dst_scale, true)?;
    let x_zero = check_zero_point(op, "x_zero_point", given.x_zero_point, x)?;
    let dst_zero = check_zero_point(op, "dst_zero_point", given.dst_zero_point, given.dtype)?;
    let of = QuantizedMean::new(
        (x, given.x_scale as f32, x_zero),
        (given.dtype, given.dst_scale as f32, dst_zero),
    );
    let dtypes = (x, given.dtype);
    let QuantizedAvgPool { kernel, stride, padding, ceil_mode, count_include_pad, .. } = given;
    let (g, counts_padding) =
        AvgPool::<N> { kernel, stride, padding, ceil_mode, count_include_pad }.geometry(args)?;
    let windows = || g.windows(counts_padding);
    match dtypes {
        (DType::U8, DType::U8) => pool::<u8, u8>(args, results, &g.output, &windows, of),
        (DType::U8, _) => pool::<u8, i8>(args, results, &g.output, &windows, of),
        (_, DType::U8) => pool::<i8, u8>(args, results, &g.output, &windows, of),
        _ => pool::<i8, i8>(args, results, &g.output, &windows, of),
    }
}

fn pool<E: Element, R: Element>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    output: &[usize],
    windows: &dyn Fn() -> Result<Windows>,
    of: QuantizedMean,
) -> KernelResult {
    pool_windows::<E, R>(args, results, output, windows, |operands, windows| {
        pool_quantized(of, operands, windows);
    })
}
