//! What pooling and resampling share: ops on both keys whose result is an activation like the operand, with other spatial sizes.

use crate::dtype::Element;
use crate::error::{Complaint, Error, Result, fail};
use crate::kernels::lanes::Lanes;
use crate::kernels::same_shape::format_of;
use crate::layout::dims::{Dims, MAX_SIZE, ToDims};
use crate::op::schema::Ranks;
use crate::op::{Arg, Args, KernelResult, Results};
use crate::tensor::any::TensorRef;
use crate::tensor::result_format::FormatRule;

/// The elements of the operand and of the result, each with its view as rows of lanes.
pub(crate) struct SpatialOperands<'a, E, R = E> {
    pub src: &'a [E],
    pub src_view: Lanes,
    pub dst: &'a mut [R],
    pub dst_view: Lanes,
}

/// The ranks of a batch of images with this many spatial dimensions.
pub(crate) const fn image_ranks(spatial: usize) -> Ranks {
    Ranks::Images { min: spatial + 2, max: spatial + 2 }
}

/// The ranks of a batch of images with 1 to 3 spatial dimensions.
pub(crate) const IMAGE_RANKS: Ranks = Ranks::Images { min: 3, max: 5 };

/// The ranks of a batch of images or volumes.
pub(crate) const IMAGE_OR_VOLUME_RANKS: Ranks = Ranks::Images { min: 4, max: 5 };

/// Checks argument 0, a batch of images. Returns its spatial sizes.
pub(crate) fn check_input(args: &Args<'_>) -> Result<Dims> {
    let x = args.tensor(0)?;
    let dims = x.dims();
    if let Some(axis) = dims[1..].iter().position(|&d| d == 0) {
        fail!(
            InvalidArgument,
            args.op(),
            "x",
            x.describe(),
            format!("only the batch may be empty, and dimension {} is 0", axis + 1),
            "pass at least one channel and one pixel"
        );
    }
    if let Some(&large) = dims[2..].iter().find(|&&d| d > MAX_SIZE) {
        return Err(too_large(args.op(), "x", large));
    }
    Ok(Dims::from_slice(&dims[2..]))
}

/// Checks the spatial sizes of a result.
pub(crate) fn check_output(op: &'static str, name: &'static str, output: &[usize]) -> Result<()> {
    match output.iter().find(|&&d| d > MAX_SIZE) {
        Some(&large) => Err(too_large(op, name, large)),
        None => Ok(()),
    }
}

fn too_large(op: &'static str, name: &'static str, size: usize) -> Error {
    let rule = format!("spatial sizes stay below {MAX_SIZE}");
    Error::Overflow(Complaint::new(op, name, size.to_string(), rule, "use smaller sizes"))
}

/// Asks for a result with the sizes of argument 0, but with the spatial sizes `output`, and runs `kernel` to write it. The result
/// has the format that a strided operand suggests, or the layout of a blocked one. `kernel` writes every
/// element of the result, padding lanes included. It does not run where the result has no elements. The operand has elements of type
/// `E`, the result of type `R`.
pub(crate) fn with_result<E: Element, R: Element>(
    args: &Args<'_>,
    results: &mut Results<'_>,
    output: &[usize],
    implementation: &'static str,
    kernel: impl FnOnce(SpatialOperands<'_, E, R>) -> Result<()>,
) -> KernelResult {
    let op = args.op();
    let result_dims = |dims: &[usize]| -> Dims { dims[..2].iter().chain(output).copied().to_dims() };
    match args.values()[0] {
        Arg::Tensor(TensorRef::Strided(x)) => {
            let dims = result_dims(x.dims());
            let y = results.by_rule(FormatRule::Suggested, &[x], &dims, R::DTYPE)?;
            if y.numel() == 0 {
                return Ok(());
            }
            let format = format_of(y);
            let dense = x.dense_at(op, format, args.location())?;
            let view = |dims| Lanes::of_format(dims, format).expect("a rank that was checked");
            let (src_view, dst_view) = (view(x.dims()), view(&dims));
            let (src, dst) = (dense.data::<E>(), y.result_data::<R>());
            let run = move || kernel(SpatialOperands { src, src_view, dst, dst_view });
            Ok(crate::kernels::timed(args, implementation, || format!("{format} -> {format}"), run)?)
        }
        _ => {
            let x = args.blocked(0)?;
            let dims = result_dims(x.dims());
            let src_view = Lanes::of_blocked(op, x)?;
            let y = results.blocked(&dims, x.layout(), R::DTYPE)?;
            if y.numel() == 0 {
                return Ok(());
            }
            let dst_view = Lanes::of_layout(op, &dims, x.layout())?;
            let (src, dst) = (x.data::<E>(), y.data_mut::<R>().expect("a result that was just made"));
            let run = move || kernel(SpatialOperands { src, src_view, dst, dst_view });
            Ok(crate::kernels::timed(args, implementation, || format!("{0} -> {0}", x.layout()), run)?)
        }
    }
}

/// The end of a tile of output columns that begins at `start`: the tile has as many columns, up to `end`, as read at most
/// `max_source_columns` columns of the source. `reads(column)` is the range of source columns that one output column reads; both
/// ends of that range never decrease from one column to the next.
#[inline(always)]
pub(crate) fn tile_end(
    start: usize,
    end: usize,
    max_source_columns: usize,
    reads: impl Fn(usize) -> (usize, usize),
) -> usize {
    let limit = reads(start).0 + max_source_columns;
    if reads(end - 1).1 <= limit {
        return end;
    }
    (start + 1..end).find(|&column| reads(column).1 > limit).unwrap_or(end)
}
