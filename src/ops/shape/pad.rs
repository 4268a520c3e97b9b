//! Padding: constant, reflect, replicate, each side of each axis its own.

use crate::error::{Result, fail};
use crate::kernels::axis_indices::Picks;
use crate::kernels::index_copy;
use crate::op::schema::{data, float, required_ints, word};
use crate::op::{Arg, Args, KernelResult, Op, Results, Schema};
use crate::ops::counts;
use crate::ops::shape::cat::moving;
use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;

static PAD_SCHEMA: Schema =
    Schema::new("pad", &[data("x"), required_ints("padding"), word("mode", "constant"), float("value", 0.0)]);
static PAD: Op = moving(&PAD_SCHEMA, &kernel);

pub(crate) const OPS: &[&Op] = &[&PAD];

/// What [`pad`] puts around a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// A value: the nearest that the dtype has, and of integer types without what follows the point.
    Constant(f64),
    /// The elements mirrored at the edge, which is not repeated. Less than the size on each side.
    Reflect,
    /// The elements at the edge.
    Replicate,
}

/// Elements before and after along the last axes, as `torch.nn.functional.pad`.
///
/// # Shapes
/// `padding` is PyTorch's: before and after the last axis, then the one before it, and so on: left, right, top,
/// bottom. Axes that it does not reach stay.
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// Strided: any strides; the result has the format that `x` suggests. Blocked: the layout of `x`; padding along the
/// channels shifts lanes.
///
/// # Errors
/// `InvalidArgument` for an odd number of values, more than two an axis, a negative one (cut with `narrow` instead), and
/// for a reflection as long as the size; `ShapeMismatch` when an empty axis is to be mirrored or repeated; `Overflow`.
#[track_caller]
pub fn pad<T: Operand>(x: &T, padding: &[usize], mode: PadMode) -> Result<T> {
    let padding: Vec<i64> = padding.iter().map(|&p| i64::try_from(p).unwrap_or(i64::MAX)).collect();
    let (mode, value) = match mode {
        PadMode::Constant(value) => ("constant", value),
        PadMode::Reflect => ("reflect", 0.0),
        PadMode::Replicate => ("replicate", 0.0),
    };
    PAD.call_one(&[Arg::Tensor(x.tensor_ref()), Arg::Ints(&padding), Arg::Str(mode), Arg::Float(value)])
}

fn kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x) = (args.op(), args.tensor(0)?);
    let padding = match args.values()[1] {
        Arg::Ints(list) => counts(args, 1, list)?,
        _ => args.sizes(1)?.to_vec(),
    };
    let rank = x.dims().len();
    if !padding.len().is_multiple_of(2) || padding.len() > 2 * rank {
        fail!(
            InvalidArgument,
            op,
            "padding",
            format!("{padding:?}"),
            format!("it has two values an axis, for at most the {rank} axes of {}", x.describe()),
            "pass before and after the last axis, then the one before it"
        );
    }
    let (mode, value) = (args.word(2)?, args.float(3)?);
    if !matches!(mode, "constant" | "reflect" | "replicate") {
        let got = format!("`{mode}`");
        fail!(
            InvalidArgument,
            op,
            "mode",
            got,
            "it is `constant`, `reflect` or `replicate`",
            "use one of these"
        );
    }
    let mut picks: Vec<Option<Picks<'_>>> = (0..rank).map(|_| None).collect();
    for (i, sides) in padding.chunks(2).enumerate() {
        let axis = rank - 1 - i;
        let (size, before, after) = (x.dims()[axis], sides[0], sides[1]);
        if before == 0 && after == 0 {
            continue;
        }
        let total = before.checked_add(after).and_then(|p| p.checked_add(size));
        if total.is_none_or(|t| t > i64::MAX as usize) {
            let got = format!("{before} and {after} at axis {axis}");
            fail!(Overflow, op, "padding", got, "the size does not fit", "pad by less");
        }
        let got = || format!("{before} and {after} at axis {axis}");
        picks[axis] = Some(match mode {
            "reflect" if before >= size || after >= size => fail!(
                InvalidArgument,
                op,
                "padding",
                got(),
                format!("a reflection is shorter than the size, which is {size} (x is {:?})", x.dims()),
                "pad by less, or pad twice"
            ),
            // The edge itself is not repeated.
            "reflect" => {
                let inner = Picks::new().indices(before, -1, before).indices(0, 1, size);
                inner.indices(size.saturating_sub(2), -1, after)
            }
            "replicate" if size == 0 => {
                let rule = format!("an empty axis has no edge (x is {:?})", x.dims());
                fail!(ShapeMismatch, op, "padding", got(), rule, "pad with a constant");
            }
            "replicate" => Picks::new().indices(0, 0, before).indices(0, 1, size).indices(size - 1, 0, after),
            _ => Picks::new().fill(before).indices(0, 1, size).fill(after),
        });
    }
    index_copy::recorded(args, results, &picks, value, FormatRule::Suggested)
}
