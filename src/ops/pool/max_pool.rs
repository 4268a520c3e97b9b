//! Max pooling: the largest element of each window.

use super::{SidePadding, max_of_windows, window_parameters};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::gradient::windows;
use crate::kernels::pool::geometry::{PoolGeometry, PoolWindow};
use crate::kernels::spatial;
use crate::op::lookup::DTypeTuple;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{data, flag, ints, required_ints};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema};
use crate::tensor::any::Operand;

params! {
    /// Parameters of max pooling with `N` spatial dimensions. By default windows lie side by side, without padding or dilation.
    pub struct MaxPool<const N: usize> {
        kernel: [usize; N] => required_ints("kernel").counted_from_one(),
        stride: Option<[usize; N]> => ints("stride", &[]).counted_from_one(),
        padding: SidePadding<N> => ints("padding", &[0]),
        dilation: [usize; N] => ints("dilation", &[1]).counted_from_one(),
        ceil_mode: bool => flag("ceil_mode", false),
    }
}
window_parameters!(MaxPool);

impl<const N: usize> MaxPool<N> {
    /// A window with a size for each axis.
    pub fn window(kernel: [usize; N]) -> Self {
        MaxPool {
            kernel,
            stride: None,
            padding: SidePadding::of([0; N], [0; N]),
            dilation: [1; N],
            ceil_mode: false,
        }
    }

    /// The same dilation along every axis; 1 is dense.
    pub fn dilation(self, dilation: usize) -> Self {
        self.dilations([dilation; N])
    }

    /// A dilation for each axis.
    pub fn dilations(mut self, dilation: [usize; N]) -> Self {
        self.dilation = dilation;
        self
    }
}

const fn args(spatial: usize) -> [ArgSpec; 6] {
    with_params(&[data("x").f32().with_ranks(spatial::image_ranks(spatial))], MaxPool::<2>::SPECS)
}

/// The largest of integers is one of them, whatever they stand for.
pub(super) const DTYPES: &[DTypeTuple] = &[
    DTypeTuple { operands: &[], results: &[] },
    DTypeTuple { operands: &[DType::BF16], results: &[] },
    DTypeTuple { operands: &[DType::U8], results: &[] },
    DTypeTuple { operands: &[DType::S8], results: &[] },
];

static ARGS: [[ArgSpec; 6]; 3] = [args(1), args(2), args(3)];
static MAX_POOL1D: Op = Op::new(&Schema::new("max_pool1d", &ARGS[0]).dst_like_x()).with(
    &Kernel::rust(&run_max_pool::<1>)
        .with_dtypes(DTYPES)
        .needing_dense()
        .on_both_reading(Reads::Operands, &gradient::<1>),
);
static MAX_POOL2D: Op = Op::new(&Schema::new("max_pool2d", &ARGS[1]).dst_like_x()).with(
    &Kernel::rust(&run_max_pool::<2>)
        .with_dtypes(DTYPES)
        .needing_dense()
        .on_both_reading(Reads::Operands, &gradient::<2>),
);
static MAX_POOL3D: Op = Op::new(&Schema::new("max_pool3d", &ARGS[2]).dst_like_x()).with(
    &Kernel::rust(&run_max_pool::<3>)
        .with_dtypes(DTYPES)
        .needing_dense()
        .on_both_reading(Reads::Operands, &gradient::<3>),
);

pub(crate) const OPS: &[&Op] = &[&MAX_POOL1D, &MAX_POOL2D, &MAX_POOL3D];

/// The kernel for both keys and all layouts (NCHW, NHWC, blocked): see [`crate::kernels::pool`].
fn run_max_pool<const N: usize>(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let g = geometry::<N>(args)?;
    max_of_windows(args, results, &g.output, &|| g.windows(false))
}

fn geometry<const N: usize>(args: &Args<'_>) -> Result<PoolGeometry> {
    let input = spatial::check_input(args)?;
    let MaxPool { kernel, stride, padding, dilation, ceil_mode } = &MaxPool::<N>::read(args)?;
    let padding = (&padding.begin(), &padding.end());
    let window = PoolWindow { kernel, stride: stride.as_ref(), padding, dilation, ceil_mode: *ceil_mode };
    PoolGeometry::new(args.op(), input, window)
}

/// The largest element of each window is found again, so that no indices are kept.
fn gradient<const N: usize>(call: &Backward<'_>) -> Result<Gradients> {
    windows::max_pool(call, &geometry::<N>(&call.args)?.windows(false)?)
}

/// 1-D max pooling, as `torch.nn.functional.max_pool1d`.
///
/// # Shapes
/// `x` [N, C, W]. All else is as [`max_pool2d`] has it.
///
/// # Errors
/// As [`max_pool2d`].
#[track_caller]
pub fn max_pool1d<T: Operand>(x: &T, params: &MaxPool<1>) -> Result<T> {
    MAX_POOL1D.call_with(&[Arg::Tensor(x.tensor_ref())], params)
}

/// 2-D max pooling, as `torch.nn.functional.max_pool2d`.
///
/// Padding is minus infinity. A NaN in a window is its maximum. A window that dilation leads past every element gives minus
/// infinity.
///
/// ```
/// use blocktensor::ops::{MaxPool, max_pool2d};
/// use blocktensor::{MemoryFormat, StridedTensor};
/// let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &[1, 1, 2, 4])?;
/// let y = max_pool2d(&x, &MaxPool::new(2))?;
/// assert_eq!(y.dims(), [1, 1, 1, 2]);
/// assert_eq!(y.to_vec::<f32>()?, [6.0, 8.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` [N, C, H, W]; inputs without a batch are not taken. Each spatial size becomes
/// `floor((size + both paddings - dilation * (kernel - 1) - 1) / stride) + 1`.
///
/// # Dtypes
/// f32, bf16, u8 and s8. A window without elements gives the least number of integers.
///
/// # Layouts
/// Strided: any; the result has the format that `x` suggests. Blocked: any block of channels; the result is in the layout of
/// `x`.
///
/// # Errors
/// `RankMismatch`; `InvalidArgument` for a window, stride or dilation of 0, padding of more than half a window, or an `x`
/// without channels or pixels; `ShapeMismatch` for a window larger than the padded source; `Overflow`, `LayoutMismatch`.
#[track_caller]
pub fn max_pool2d<T: Operand>(x: &T, params: &MaxPool<2>) -> Result<T> {
    MAX_POOL2D.call_with(&[Arg::Tensor(x.tensor_ref())], params)
}

/// 3-D max pooling, as `torch.nn.functional.max_pool3d`.
///
/// # Shapes
/// `x` [N, C, D, H, W]. All else is as [`max_pool2d`] has it.
///
/// # Errors
/// As [`max_pool2d`].
#[track_caller]
pub fn max_pool3d<T: Operand>(x: &T, params: &MaxPool<3>) -> Result<T> {
    MAX_POOL3D.call_with(&[Arg::Tensor(x.tensor_ref())], params)
}
