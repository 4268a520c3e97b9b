//! Reductions over any set of axes: sum, mean, product, largest, smallest, and where the largest is.

mod argmax;

pub use argmax::argmax;

use crate::dtype::DType;
use crate::elementwise::{self, Fold};
use crate::error::Result;
use crate::kernels::lanes::Lanes;
use crate::kernels::reduce::folds::{Amax, Amin, Mean, Prod, Sum};
use crate::kernels::reduce::{Axes, blocked};
use crate::key::DispatchKey;
use crate::layout::dims::ToDims;
use crate::layout::memory_format::MemoryFormat;
use crate::op::schema::{data, flag, ints};
use crate::op::{Arg, Args, Kernel, KernelResult, Op, Results, Schema};

use crate::tensor::any::{Operand, TensorRef};
use crate::tensor::result_format::FormatRule;

const ARGS: &[crate::op::ArgSpec] = &[data("x"), ints("axes", &[]), flag("keepdim", false)];

macro_rules! reductions {
    ($($name:ident $op:ident $schema:ident $kernel:ident $fold:ident $empty:literal $what:literal $of_none:literal;)*) => {
        $(
            static $schema: Schema = Schema::new(stringify!($name), ARGS);
            static $op: Op = Op::new(&$schema).on_both($kernel);
            const $kernel: Kernel = Kernel::rust(&|args, results| kernel(args, results, &$fold, $empty));

            #[doc = concat!($what, " over `axes`; over all of them where none are named. `torch.", stringify!($name), "`.")]
            ///
            #[doc = concat!("Of no elements: ", $of_none, ".")]
            ///
            /// # Shapes
            /// Any `x`, any axes, each once. With `keepdim` the reduced axes stay with size 1, else they go.
            ///
            /// # Dtypes
            /// f32; sums and products are accumulated in f64 and rounded once.
            ///
            /// # Layouts
            /// Strided: any strides, without a copy; the result is row-major, or with `keepdim` in the format that `x` is
            /// tagged with. Blocked: any layout that blocks the channels alone, and any axes. A blocked tensor's axes are
            /// part of its layout, so `keepdim` must be true, and the result keeps the layout (with C = 1 where the
            /// channels are reduced); padding takes no part.
            ///
            /// # Errors
            /// `InvalidArgument` for an axis that is not there or named twice, and for an extreme of no elements;
            /// `OpaqueLayout` for a blocked `x` without `keepdim`; `UnsupportedDType`, `LayoutMismatch`.
            #[track_caller]
            pub fn $name<T: Operand>(x: &T, axes: &[usize], keepdim: bool) -> Result<T> {
                $op.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Sizes(axes), Arg::Bool(keepdim)])
            }
        )*
        pub(super) const OPS: &[&Op] = &[$(&$op,)* &argmax::OP];
    };
}
reductions! {
    sum SUM SUM_SCHEMA SUM_KERNEL Sum true "The sum" "0";
    mean MEAN MEAN_SCHEMA MEAN_KERNEL Mean true "The mean" "NaN";
    prod PROD PROD_SCHEMA PROD_KERNEL Prod true "The product" "1";
    amax AMAX AMAX_SCHEMA AMAX_KERNEL Amax false "The largest element (NaN if one is NaN)" "an error";
    amin AMIN AMIN_SCHEMA AMIN_KERNEL Amin false "The smallest element (NaN if one is NaN)" "an error";
}

fn kernel<F: Fold<In = f32, Out = f32>>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    fold: &F,
    may_be_empty: bool,
) -> KernelResult {
    let (op, keepdim) = (args.op(), args.flag(2)?);
    let axes = Axes::new(args, 1)?;
    if !may_be_empty {
        axes.check_not_empty(args)?;
    }
    if args.key() == DispatchKey::STRIDED {
        let x = args.strided(0)?;
        let dims = elementwise::reduced_dims(op, x, &axes.list, keepdim)?;
        let dst = results.by_rule(FormatRule::Contiguous, &[x], &dims, DType::F32)?;
        let layouts = || x.format_name();
        let reduce = || elementwise::reduce_into(op, x, &axes.list, keepdim, fold, dst);
        return Ok(crate::kernels::timed(args, "blocktensor:reduce", layouts, reduce)?);
    }
    axes.check_keepdim(args, keepdim)?;
    let x = args.blocked(0)?;
    Lanes::of_blocked(op, x)?;
    let dst = results.blocked(&axes.kept_sizes(x.dims()), x.layout(), x.dtype())?;
    let layouts = || x.layout().to_string();
    Ok(crate::kernels::timed(args, "blocktensor:reduce", layouts, || {
        blocked::reduce(op, x, &axes, fold, dst)
    })?)
}

/// Every channel of an image folded over its pixels, whose axes stay: global pooling where a plain reduction is the
/// faster way. `false` for strided tensors that are not row-major: nothing is done.
pub(super) fn over_pixels<F: Fold<In = f32, Out = f32>>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    fold: &F,
) -> KernelResult<bool> {
    let (op, x) = (args.op(), args.tensor(0)?);
    let list = (2..x.dims().len()).to_dims();
    let layouts = || x.layout_name();
    match x {
        TensorRef::Strided(x) if x.format_tag.is_none() && x.is_contiguous(MemoryFormat::Contiguous) => {
            let dims = elementwise::reduced_dims(op, x, &list, true)?;
            let dst = results.by_rule(FormatRule::Contiguous, &[x], &dims, DType::F32)?;
            let reduce = || elementwise::reduce_into(op, x, &list, true, fold, dst);
            crate::kernels::timed(args, "blocktensor:reduce", layouts, reduce)?;
        }
        TensorRef::Blocked(x) => {
            let is_reduced = std::array::from_fn(|d| d >= 2 && d < x.rank());
            let axes = Axes { list, is_reduced };
            Lanes::of_blocked(op, x)?;
            let dst = results.blocked(&axes.kept_sizes(x.dims()), x.layout(), x.dtype())?;
            crate::kernels::timed(args, "blocktensor:reduce", layouts, || {
                blocked::reduce(op, x, &axes, fold, dst)
            })?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
