//! Average pooling: the mean of each window.

pub(crate) mod quantized;

use super::{SidePadding, mean_of_windows, window_parameters};
use crate::error::Result;
use crate::kernels::gradient::windows;
use crate::kernels::pool::geometry::{PoolGeometry, PoolWindow};
use crate::kernels::spatial;
use crate::op::lookup::OF_ONE;
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{data, flag, ints, required_ints};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Reads, Results, Schema};
use crate::tensor::any::Operand;

params! {
    /// Parameters of average pooling with `N` spatial dimensions. By default windows lie side by side, without padding; padding
    /// counts as zeros.
    pub struct AvgPool<const N: usize> {
        kernel: [usize; N] => required_ints("kernel").counted_from_one(),
        stride: Option<[usize; N]> => ints("stride", &[]).counted_from_one(),
        padding: SidePadding<N> => ints("padding", &[0]),
        ceil_mode: bool => flag("ceil_mode", false),
        count_include_pad: bool => flag("count_include_pad", true),
    }
}
window_parameters!(AvgPool);

impl<const N: usize> AvgPool<N> {
    /// A window with a size for each axis.
    pub fn window(kernel: [usize; N]) -> Self {
        AvgPool {
            kernel,
            stride: None,
            padding: SidePadding::of([0; N], [0; N]),
            ceil_mode: false,
            count_include_pad: true,
        }
    }

    /// Whether padding counts in the average, as zeros. It does unless this says otherwise.
    pub fn count_include_pad(mut self, count: bool) -> Self {
        self.count_include_pad = count;
        self
    }
}

const fn args(spatial: usize) -> [ArgSpec; 6] {
    with_params(&[data("x").f32().with_ranks(spatial::image_ranks(spatial))], AvgPool::<2>::SPECS)
}

static ARGS: [[ArgSpec; 6]; 3] = [args(1), args(2), args(3)];
static AVG_POOL1D: Op = Op::new(&Schema::new("avg_pool1d", &ARGS[0]).dst_like_x()).with(
    &Kernel::rust(&run_avg_pool::<1>)
        .with_dtypes(OF_ONE)
        .needing_dense()
        .on_both_reading(Reads::Operands, &gradient::<1>),
);
static AVG_POOL2D: Op = Op::new(&Schema::new("avg_pool2d", &ARGS[1]).dst_like_x()).with(
    &Kernel::rust(&run_avg_pool::<2>)
        .with_dtypes(OF_ONE)
        .needing_dense()
        .on_both_reading(Reads::Operands, &gradient::<2>),
);
static AVG_POOL3D: Op = Op::new(&Schema::new("avg_pool3d", &ARGS[2]).dst_like_x()).with(
    &Kernel::rust(&run_avg_pool::<3>)
        .with_dtypes(OF_ONE)
        .needing_dense()
        .on_both_reading(Reads::Operands, &gradient::<3>),
);

pub(crate) const OPS: &[&Op] = &[&AVG_POOL1D, &AVG_POOL2D, &AVG_POOL3D];

/// The kernel for both keys and all layouts (NCHW, NHWC, blocked): see [`crate::kernels::pool`].
fn run_avg_pool<const N: usize>(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (g, counts_padding) = AvgPool::<N>::read(args)?.geometry(args)?;
    mean_of_windows(args, results, &g.output, &|| g.windows(counts_padding))
}

impl<const N: usize> AvgPool<N> {
    /// The windows, and whether a mean counts padding.
    fn geometry(&self, args: &Args<'_>) -> Result<(PoolGeometry, bool)> {
        let input = spatial::check_input(args)?;
        let window = PoolWindow {
            kernel: &self.kernel,
            stride: self.stride.as_ref(),
            padding: (&self.padding.begin(), &self.padding.end()),
            dilation: &[1; N],
            ceil_mode: self.ceil_mode,
        };
        Ok((PoolGeometry::new(args.op(), input, window)?, self.count_include_pad))
    }
}

fn gradient<const N: usize>(call: &Backward<'_>) -> Result<Gradients> {
    let (g, counts_padding) = AvgPool::<N>::read(&call.args)?.geometry(&call.args)?;
    windows::avg_pool(call, &g.windows(counts_padding)?)
}

/// 1-D average pooling, as `torch.nn.functional.avg_pool1d`.
///
/// # Shapes
/// `x` [N, C, W]. All else is as [`avg_pool2d`] has it.
///
/// # Errors
/// As [`avg_pool2d`].
#[track_caller]
pub fn avg_pool1d<T: Operand>(x: &T, params: &AvgPool<1>) -> Result<T> {
    AVG_POOL1D.call_with(&[Arg::Tensor(x.tensor_ref())], params)
}

/// 2-D average pooling, as `torch.nn.functional.avg_pool2d`.
///
/// The sum of a window is divided by the elements of the window: with `count_include_pad` those of the padded source, else
/// those of the source. What `ceil_mode` reaches beyond the padding never counts.
///
/// ```
/// use blocktensor::StridedTensor;
/// use blocktensor::ops::{AvgPool, avg_pool2d};
/// let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[1, 1, 2, 2])?;
/// assert_eq!(avg_pool2d(&x, &AvgPool::new(2))?.to_vec::<f32>()?, [2.5]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `x` [N, C, H, W]; inputs without a batch are not taken. Each spatial size becomes
/// `floor((size + both paddings - kernel) / stride) + 1`.
///
/// # Dtypes
/// f32 and bf16, summed in f32, from 65 elements on in f64.
///
/// # Layouts
/// As [`max_pool2d`](crate::ops::max_pool2d).
///
/// # Errors
/// As [`max_pool2d`](crate::ops::max_pool2d).
#[track_caller]
pub fn avg_pool2d<T: Operand>(x: &T, params: &AvgPool<2>) -> Result<T> {
    AVG_POOL2D.call_with(&[Arg::Tensor(x.tensor_ref())], params)
}

/// 3-D average pooling, as `torch.nn.functional.avg_pool3d`.
///
/// # Shapes
/// `x` [N, C, D, H, W]. All else is as [`avg_pool2d`] has it.
///
/// # Errors
/// As [`avg_pool2d`].
#[track_caller]
pub fn avg_pool3d<T: Operand>(x: &T, params: &AvgPool<3>) -> Result<T> {
    AVG_POOL3D.call_with(&[Arg::Tensor(x.tensor_ref())], params)
}
