//! Padding: constant, reflect, replicate, with a number of its own for each side of each axis.

use crate::error::{Result, fail};
use crate::kernels::axis_copy;
use crate::kernels::axis_map::AxisMap;
use crate::op::params::{Param, Params, params, with_params};
use crate::op::schema::{data, float, required_ints, word};
use crate::op::{Arg, ArgSpec, Args, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::ALL_DTYPES;
use crate::tensor::any::Operand;
use crate::tensor::result_format::FormatRule;

/// What [`pad`] puts around a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// A value, rounded to the nearest of the dtype; for integer dtypes the fraction is cut off.
    Constant(f64),
    /// The elements mirrored at the edge. The edge itself is not repeated, so the padding is smaller than the size.
    Reflect,
    /// The element at the edge, repeated.
    Replicate,
}

/// A [`PadMode`] as the schema has it: a word, without the value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PadWord {
    Constant,
    Reflect,
    Replicate,
}

impl Param for PadWord {
    fn read(args: &Args<'_>, i: usize) -> Result<PadWord> {
        Ok(match args.word(i)? {
            "constant" => PadWord::Constant,
            "reflect" => PadWord::Reflect,
            "replicate" => PadWord::Replicate,
            other => {
                let rule = "it is `constant`, `reflect` or `replicate`";
                fail!(
                    InvalidArgument,
                    args.op(),
                    args.name(i),
                    format!("`{other}`"),
                    rule,
                    "use one of these"
                )
            }
        })
    }
    fn arg(&self) -> Arg<'_> {
        Arg::Str(match self {
            PadWord::Constant => "constant",
            PadWord::Reflect => "reflect",
            PadWord::Replicate => "replicate",
        })
    }
}

params! {
    /// Parameters of `pad`.
    pub(crate) struct Pad {
        padding: Vec<usize> => required_ints("padding"),
        mode: PadWord => word("mode", "constant"),
        value: f64 => float("value", 0.0),
    }
}

const ARGS: &[ArgSpec] = &with_params::<4>(&[data("x").any_dtype()], Pad::SPECS);
static PAD_SCHEMA: Schema = Schema::new("pad", ARGS).dst_like_x();
static PAD: Op = Op::new(&PAD_SCHEMA).on_both(Kernel::rust(&run).with_dtypes(ALL_DTYPES));

pub(crate) const OPS: &[&Op] = &[&PAD];

/// Adds elements before and after the last axes, as `torch.nn.functional.pad`.
///
/// ```
/// use blocktensor::StridedTensor;
/// use blocktensor::ops::{PadMode, pad};
/// let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0], &[1, 1, 1, 3])?;
/// // One element on the left, two on the right.
/// let y = pad(&x, &[1, 2], PadMode::Constant(0.0))?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 1.0, 2.0, 3.0, 0.0, 0.0]);
/// let y = pad(&x, &[1, 2], PadMode::Reflect)?;
/// assert_eq!(y.to_vec::<f32>()?, [2.0, 1.0, 2.0, 3.0, 2.0, 1.0]);
/// # Ok::<(), blocktensor::Error>(())
/// ```
///
/// # Shapes
/// `padding` has PyTorch's order: before and after the last axis, then the axis before it, and so on: left, right, top,
/// bottom. Axes without padding values keep their size.
///
/// # Dtypes
/// Any.
///
/// # Layouts
/// Strided: any strides; the result has the format that `x` suggests. Blocked: the layout of `x`; padding along the
/// channels moves channels to other lanes.
///
/// # Errors
/// `InvalidArgument` for an odd number of values, more than two for each axis, a negative one (cut with `narrow` instead),
/// and for a reflection as long as the size; `ShapeMismatch` when an empty axis is to be reflected or replicated;
/// `Overflow`.
#[track_caller]
pub fn pad<T: Operand>(x: &T, padding: &[usize], mode: PadMode) -> Result<T> {
    let (mode, value) = match mode {
        PadMode::Constant(value) => (PadWord::Constant, value),
        PadMode::Reflect => (PadWord::Reflect, 0.0),
        PadMode::Replicate => (PadWord::Replicate, 0.0),
    };
    PAD.call_with(&[Arg::Tensor(x.tensor_ref())], &Pad { padding: padding.to_vec(), mode, value })
}

fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    let (op, x, Pad { padding, mode, value }) = (args.op(), args.tensor(0)?, Pad::read(args)?);
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
    let mut maps: Vec<Option<AxisMap<'_>>> = (0..rank).map(|_| None).collect();
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
        maps[axis] = Some(match mode {
            PadWord::Reflect if before >= size || after >= size => fail!(
                InvalidArgument,
                op,
                "padding",
                got(),
                format!("a reflection is shorter than the size, which is {size} (x is {:?})", x.dims()),
                "pad by less, or pad twice"
            ),
            // The edge itself is not repeated.
            PadWord::Reflect => {
                let mirrored = AxisMap::new().indices(before, -1, before).indices(0, 1, size);
                mirrored.indices(size.saturating_sub(2), -1, after)
            }
            PadWord::Replicate if size == 0 => {
                let rule = format!("an empty axis has no edge (x is {:?})", x.dims());
                fail!(ShapeMismatch, op, "padding", got(), rule, "pad with a constant");
            }
            PadWord::Replicate => {
                AxisMap::new().indices(0, 0, before).indices(0, 1, size).indices(size - 1, 0, after)
            }
            PadWord::Constant => AxisMap::new().fill(before).indices(0, 1, size).fill(after),
        });
    }
    axis_copy::run(args, results, &maps, value, FormatRule::Suggested)
}
