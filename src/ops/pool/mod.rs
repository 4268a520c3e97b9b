//! Max and average pooling: 1-D, 2-D and 3-D.

pub(crate) mod adaptive;
use crate::error::Result;
use crate::kernels::pool::geometry::PoolGeometry;
use crate::kernels::pool::kernel;
use crate::kernels::spatial;
use crate::layout::dims::Dims;
use crate::op::schema::{data, flag, ints, required_ints};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::{Entry, only};
use crate::tensor::any::Operand;

/// Parameters of max pooling with `N` spatial dimensions: by default windows side by side, no padding, no dilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaxPool<const N: usize> {
    kernel: [usize; N],
    stride: Option<[usize; N]>,
    padding: [usize; N],
    dilation: [usize; N],
    ceil_mode: bool,
}

/// Parameters of average pooling with `N` spatial dimensions: by default windows side by side, no padding; padding
/// counts as zeros.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvgPool<const N: usize> {
    kernel: [usize; N],
    stride: Option<[usize; N]>,
    padding: [usize; N],
    ceil_mode: bool,
    count_include_pad: bool,
}

macro_rules! common_parameters {
    ($($name:ident)*) => {$(
        impl<const N: usize> $name<N> {
            /// A window of the same size along every axis.
            pub fn new(kernel: usize) -> Self {
                Self::window([kernel; N])
            }

            /// The same stride along every axis; left out, it is the size of the window.
            pub fn stride(self, stride: usize) -> Self {
                self.strides([stride; N])
            }

            /// A stride for each axis.
            pub fn strides(mut self, stride: [usize; N]) -> Self {
                self.stride = Some(stride);
                self
            }

            /// The same padding on every side, in elements: at most half of the window.
            pub fn padding(self, padding: usize) -> Self {
                self.paddings([padding; N])
            }

            /// Padding on both sides of each axis, in elements.
            pub fn paddings(mut self, padding: [usize; N]) -> Self {
                self.padding = padding;
                self
            }

            /// Rounds the size of the result up instead of down; the last window begins inside the source or the padding
            /// before it.
            pub fn ceil_mode(mut self) -> Self {
                self.ceil_mode = true;
                self
            }
        }
    )*};
}
common_parameters!(MaxPool AvgPool);

impl<const N: usize> MaxPool<N> {
    /// A window with a size for each axis.
    pub fn window(kernel: [usize; N]) -> Self {
        MaxPool { kernel, stride: None, padding: [0; N], dilation: [1; N], ceil_mode: false }
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

impl<const N: usize> AvgPool<N> {
    /// A window with a size for each axis.
    pub fn window(kernel: [usize; N]) -> Self {
        AvgPool { kernel, stride: None, padding: [0; N], ceil_mode: false, count_include_pad: true }
    }

    /// Whether padding counts in the average, as zeros. It does unless this says otherwise.
    pub fn count_include_pad(mut self, count: bool) -> Self {
        self.count_include_pad = count;
        self
    }
}

const MAX_ARGS: &[ArgSpec] = &[
    data("x"),
    required_ints("kernel"),
    ints("stride", &[]),
    ints("padding", &[0]),
    ints("dilation", &[1]),
    flag("ceil_mode", false),
];
const AVG_ARGS: &[ArgSpec] = &[
    data("x"),
    required_ints("kernel"),
    ints("stride", &[]),
    ints("padding", &[0]),
    flag("ceil_mode", false),
    flag("count_include_pad", true),
];

static SCHEMAS: [Schema; 6] = [
    Schema::new("max_pool1d", MAX_ARGS),
    Schema::new("max_pool2d", MAX_ARGS),
    Schema::new("max_pool3d", MAX_ARGS),
    Schema::new("avg_pool1d", AVG_ARGS),
    Schema::new("avg_pool2d", AVG_ARGS),
    Schema::new("avg_pool3d", AVG_ARGS),
];
static MAX: [Op; 3] = [Op::new(&SCHEMAS[0]), Op::new(&SCHEMAS[1]), Op::new(&SCHEMAS[2])];
static AVG: [Op; 3] = [Op::new(&SCHEMAS[3]), Op::new(&SCHEMAS[4]), Op::new(&SCHEMAS[5])];

/// One kernel serves both keys: it runs over lanes.
const fn entry(op: &'static Op, run: &'static crate::op::KernelFn) -> Entry {
    Entry { op, strided: only(Kernel::rust(run)), blocked: only(Kernel::rust(run)) }
}

pub(super) const ENTRIES: &[Entry] = &[
    entry(&MAX[0], &|args, results| max_kernel(args, results, 1)),
    entry(&MAX[1], &|args, results| max_kernel(args, results, 2)),
    entry(&MAX[2], &|args, results| max_kernel(args, results, 3)),
    entry(&AVG[0], &|args, results| avg_kernel(args, results, 1)),
    entry(&AVG[1], &|args, results| avg_kernel(args, results, 2)),
    entry(&AVG[2], &|args, results| avg_kernel(args, results, 3)),
];

fn max_kernel(args: &Args<'_>, results: &mut Results<'_>, rank: usize) -> KernelResult {
    let input = spatial::check_input(args, rank..=rank)?;
    let g = PoolGeometry::new(args, input, args.spatial(4, rank)?, args.flag(5)?)?;
    spatial::run(args, results, &g.output, "blocktensor:pool", |work| kernel::max(work, &g.windows(false)?))
}

fn avg_kernel(args: &Args<'_>, results: &mut Results<'_>, rank: usize) -> KernelResult {
    let input = spatial::check_input(args, rank..=rank)?;
    let g = PoolGeometry::new(args, input, Dims::filled(1, rank), args.flag(4)?)?;
    let count_padding = args.flag(5)?;
    spatial::run(args, results, &g.output, "blocktensor:pool", |work| {
        kernel::mean(work, &g.windows(count_padding)?)
    })
}

#[track_caller]
fn call_max<const N: usize, T: Operand>(x: &T, p: &MaxPool<N>) -> Result<T> {
    MAX[N - 1].call_one(&[
        Arg::Tensor(x.tensor_ref()),
        Arg::Sizes(&p.kernel),
        Arg::Sizes(p.stride.as_ref().map_or(&[], |s| s)),
        Arg::Sizes(&p.padding),
        Arg::Sizes(&p.dilation),
        Arg::Bool(p.ceil_mode),
    ])
}

#[track_caller]
fn call_avg<const N: usize, T: Operand>(x: &T, p: &AvgPool<N>) -> Result<T> {
    AVG[N - 1].call_one(&[
        Arg::Tensor(x.tensor_ref()),
        Arg::Sizes(&p.kernel),
        Arg::Sizes(p.stride.as_ref().map_or(&[], |s| s)),
        Arg::Sizes(&p.padding),
        Arg::Bool(p.ceil_mode),
        Arg::Bool(p.count_include_pad),
    ])
}

macro_rules! pools {
    ($($n:literal $shape:literal $max:ident $avg:ident;)*) => {$(
        #[doc = concat!($n, "-D max pooling, as `torch.nn.functional.", stringify!($max), "`.")]
        ///
        /// Padding is minus infinity. A NaN in a window is its maximum; a window that dilation leads past every
        /// element gives minus infinity.
        ///
        /// # Shapes
        #[doc = concat!("`x` ", $shape, "; inputs without a batch are not taken.")]
        /// Each spatial size becomes `floor((size + 2 * padding - dilation * (kernel - 1) - 1) / stride) + 1`.
        ///
        /// # Dtypes
        /// f32.
        ///
        /// # Layouts
        /// Strided: any; the result has the format that `x` suggests. Blocked: any block of channels; the result is
        /// in the layout of `x`.
        ///
        /// # Errors
        /// `RankMismatch`; `InvalidArgument` for a window, stride or dilation of 0, padding of more than half a
        /// window, or an `x` without channels or pixels; `ShapeMismatch` for a window larger than the padded source;
        /// `Overflow`, `LayoutMismatch`.
        #[track_caller]
        pub fn $max<T: Operand>(x: &T, params: &MaxPool<$n>) -> Result<T> {
            call_max(x, params)
        }

        #[doc = concat!($n, "-D average pooling, as `torch.nn.functional.", stringify!($avg), "`.")]
        ///
        /// The sum of a window is divided by the elements of the window: with `count_include_pad` those of the padded
        /// source, else those of the source. What `ceil_mode` reaches beyond the padding never counts.
        ///
        /// # Shapes
        #[doc = concat!("`x` ", $shape, "; inputs without a batch are not taken.")]
        /// Each spatial size becomes `floor((size + 2 * padding - kernel) / stride) + 1`.
        ///
        /// # Dtypes
        /// f32, summed in f32, from 65 elements on in f64.
        ///
        /// # Layouts
        #[doc = concat!("As [`", stringify!($max), "`].")]
        ///
        /// # Errors
        #[doc = concat!("As [`", stringify!($max), "`].")]
        #[track_caller]
        pub fn $avg<T: Operand>(x: &T, params: &AvgPool<$n>) -> Result<T> {
            call_avg(x, params)
        }
    )*};
}
pools! {
    1 "[N, C, W]" max_pool1d avg_pool1d;
    2 "[N, C, H, W]" max_pool2d avg_pool2d;
    3 "[N, C, D, H, W]" max_pool3d avg_pool3d;
}
