//! Padding and cropping: constant, reflect, replicate, circular, with a number of its own for each side of each axis.

use crate::error::{Complaint, Error, Result, Text, fail};
use crate::int::{self, Int};
use crate::kernels::axis_copy;
use crate::kernels::axis_map::{AxisMap, Progression};
use crate::op::facts::Movement;
use crate::op::params::{Param, Params, params, with_params};
use crate::op::schema::{data, float, required_ints, word};
use crate::op::{Arg, ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::EACH_DTYPE;
use crate::ops::{pointwise, reduce};
use crate::tensor::any::{Operand, Tensor, TensorRef};
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
    /// The elements of the other end, as if the axis were a ring. The padding is at most the size.
    Circular,
}

/// A [`PadMode`] as the schema has it: a word, without the value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PadWord {
    Constant,
    Reflect,
    Replicate,
    Circular,
}

impl Param for PadWord {
    fn read(args: &Args<'_>, i: usize) -> Result<PadWord> {
        Ok(match args.word(i)? {
            "constant" => PadWord::Constant,
            "reflect" => PadWord::Reflect,
            "replicate" => PadWord::Replicate,
            "circular" => PadWord::Circular,
            other => {
                let rule = "it is `constant`, `reflect`, `replicate` or `circular`";
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
            PadWord::Circular => "circular",
        })
    }
}

params! {
    /// Parameters of `pad`.
    pub(crate) struct Pad {
        padding: Vec<i64> => required_ints("padding"),
        mode: PadWord => word("mode", "constant"),
        value: f64 => float("value", 0.0),
    }
}

const ARGS: &[ArgSpec] = &with_params::<4>(&[data("x").any_dtype()], Pad::SPECS);
static PAD: Op = Op::new(&Schema::new("pad", ARGS).dst_like_x().moving(Movement::ElementsAnd("value")))
    .with(&Kernel::rust(&run).with_dtypes(EACH_DTYPE).needing_dense().on_both_with(&gradient));

pub(crate) const OPS: &[&Op] = &[&PAD];

/// Adds elements before and after the last axes, or with negative numbers takes them away, as `torch.nn.functional.pad`.
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
/// let y = pad(&x, &[-1, 1], PadMode::Circular)?;
/// assert_eq!(y.to_vec::<f32>()?, [2.0, 3.0, 2.0]);
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
/// `InvalidArgument` for an odd number of values, more than two for each axis, more taken away than is there, and for a
/// reflection as long as the size or a ring that is gone through twice; `ShapeMismatch` when an empty axis is to be reflected or
/// replicated; `Overflow`.
#[track_caller]
pub fn pad<T: Operand>(x: &T, padding: &[impl Int], mode: PadMode) -> Result<T> {
    let (mode, value) = match mode {
        PadMode::Constant(value) => (PadWord::Constant, value),
        PadMode::Reflect => (PadWord::Reflect, 0.0),
        PadMode::Replicate => (PadWord::Replicate, 0.0),
        PadMode::Circular => (PadWord::Circular, 0.0),
    };
    let padding = int::to_i64s(padding);
    PAD.call_with(&[Arg::Tensor(x.tensor_ref())], &Pad { padding, mode, value })
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
    let maps = axis_maps(op, x, &padding, mode)?;
    axis_copy::run(args, results, &maps, value, FormatRule::Suggested)
}

/// Which elements each axis of the result has. `None` for an axis that stays as it is.
fn axis_maps(
    op: &'static str,
    x: TensorRef<'_>,
    padding: &[i64],
    mode: PadWord,
) -> Result<Vec<Option<AxisMap<'static>>>> {
    let rank = x.dims().len();
    let mut maps: Vec<Option<AxisMap<'static>>> = (0..rank).map(|_| None).collect();
    for (i, sides) in padding.chunks(2).enumerate() {
        let axis = rank - 1 - i;
        if sides != [0, 0] {
            maps[axis] = Some(Sides { op, x, axis, before: sides[0], after: sides[1] }.map(mode)?);
        }
    }
    Ok(maps)
}

/// The gradient: elements that padding added are cut off, and what they copied gets their gradients added.
fn gradient(call: &Backward<'_>) -> Result<Gradients> {
    let (op, x, Pad { padding, mode, .. }) = (call.args.op(), call.args.tensor(0)?, Pad::read(&call.args)?);
    let diff = call.diff()?.to_tensor();
    call.each(|_| {
        if matches!(mode, PadWord::Constant) {
            let back: Vec<i64> = padding.iter().map(|side| -side).collect();
            return pad(&diff, &back, PadMode::Constant(0.0));
        }
        let maps = axis_maps(op, x, &padding, mode)?;
        let mut sums = diff.clone();
        for (axis, map) in maps.iter().enumerate() {
            if let Some(map) = map {
                sums = summed_back(sums, axis, x.dims()[axis], map)?;
            }
        }
        Ok(sums)
    })
}

/// Adds up, along an axis of size `size`, what a map copied from each element.
fn summed_back(diff: Tensor, axis: usize, size: usize, map: &AxisMap<'_>) -> Result<Tensor> {
    let (rank, whole) = (diff.tensor_ref().dims().len(), diff.tensor_ref().dims()[axis]);
    let along = |before: usize, after: usize, sign: i64| {
        let mut padding = vec![0i64; 2 * (rank - axis)];
        padding[2 * (rank - axis) - 2..].copy_from_slice(&[sign * before as i64, sign * after as i64]);
        padding
    };
    let (mut sum, mut start): (Option<Tensor>, usize) = (None, 0);
    let mut runs = Vec::new();
    map.for_each_range(0..map.size(), |count, from| runs.push((count, from)));
    for (count, from) in runs {
        let at = start;
        start += count;
        let Some(Progression { first, step }) = from else { continue };
        let part = pad(&diff, &along(at, whole - at - count, -1), PadMode::Constant(0.0))?;
        let (part, low, length) = match step {
            0 => (reduce::sum(&part, &[axis], true)?, first, 1),
            1 => (part, first, count),
            _ => (super::flip::flip(&part, &[axis])?, first + 1 - count, count),
        };
        let placed = pad(&part, &along(low, size - low - length, 1), PadMode::Constant(0.0))?;
        sum = Some(match sum {
            Some(before) => pointwise::binary::add(&before, &placed)?,
            None => placed,
        });
    }
    match sum {
        Some(sum) => Ok(sum),
        None => pad(&diff, &along(0, size, 1), PadMode::Constant(0.0)),
    }
}

/// The two sides of one axis.
struct Sides<'a> {
    op: &'static str,
    x: TensorRef<'a>,
    axis: usize,
    before: i64,
    after: i64,
}

impl Sides<'_> {
    fn complain(&self, rule: impl Into<Text>, remedy: &str) -> Box<Complaint> {
        let got = format!("{} and {} at axis {} of {:?}", self.before, self.after, self.axis, self.x.dims());
        Complaint::new(self.op, "padding", got, rule, remedy)
    }

    /// Where the elements of the padded axis come from.
    fn map(&self, mode: PadWord) -> Result<AxisMap<'static>> {
        let Sides { before, after, .. } = *self;
        let size = self.x.dims()[self.axis] as i64;
        let total = before.checked_add(after).and_then(|p| p.checked_add(size));
        // What is added to a size is no larger than all sizes are.
        let Some(total) = total.filter(|_| before.max(after) < i64::MAX / 2) else {
            return Err(Error::Overflow(self.complain("the size does not fit", "pad by less")));
        };
        let edges = matches!(mode, PadWord::Reflect | PadWord::Replicate);
        if total < i64::from(edges) || !edges && before.min(after) < -size {
            let least = if edges { "one element is left" } else { "no more is taken away than is there" };
            return Err(Error::InvalidArgument(self.complain(least, "take away less")));
        }
        if edges && size == 0 {
            return Err(Error::ShapeMismatch(
                self.complain("an empty axis has no edge", "pad with a constant"),
            ));
        }
        let count = |n: i64| usize::try_from(n).unwrap_or(0);
        match mode {
            PadWord::Constant => {
                let first = count(-before);
                let kept = count(size - (-before).max(0) - (-after).max(0));
                Ok(AxisMap::new().fill(count(before)).indices(first, 1, kept).fill(count(after)))
            }
            PadWord::Circular => {
                let (first, kept) = ((-before).max(0), size - (-before).max(0) - (-after).max(0));
                if before > kept || after > kept {
                    let rule = format!("a ring of {kept} elements is gone through at most once");
                    return Err(Error::InvalidArgument(self.complain(rule, "pad by less, or pad twice")));
                }
                let lead = AxisMap::new().indices(count(first + kept - before.max(0)), 1, count(before));
                Ok(lead.indices(count(first), 1, count(kept)).indices(count(first), 1, count(after)))
            }
            // Both see an endless axis, from which the result is cut.
            PadWord::Reflect | PadWord::Replicate => {
                let lead = before.clamp(0, total);
                let first = (-before).max(0);
                let kept = (size - first).clamp(0, total - lead);
                let tail = total - lead - kept;
                let map = AxisMap::new();
                if matches!(mode, PadWord::Replicate) {
                    let map = map.indices(0, 0, count(lead)).indices(count(first), 1, count(kept));
                    return Ok(map.indices(count(size - 1), 0, count(tail)));
                }
                // The edge itself is not repeated.
                let mirrored = 2 * (size - 1) - (lead + kept - before);
                if before >= size || after >= size || tail > 0 && tail - 1 > mirrored {
                    let rule = format!("a reflection is shorter than the size, which is {size}");
                    return Err(Error::InvalidArgument(self.complain(rule, "pad by less, or pad twice")));
                }
                let map = map.indices(count(before), -1, count(lead)).indices(count(first), 1, count(kept));
                Ok(map.indices(count(mirrored), -1, count(tail)))
            }
        }
    }
}
