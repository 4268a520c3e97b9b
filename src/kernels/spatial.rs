//! What pooling and resampling share: from one activation to another with other spatial sizes, on both keys.

use crate::error::{Complaint, Error, Result, fail};
use crate::kernels::lanes::Lanes;
use crate::kernels::same_shape::format_of;
use crate::layout::dims::MAX_SIZE;
use crate::layout::dims::{Dims, ToDims};
use crate::op::{Arg, Args, KernelResult, Results};
use crate::tensor::any::TensorRef;
use crate::tensor::result_format::FormatRule;

/// Source and result of a kernel, ready to run.
pub(crate) struct Work<'a> {
    pub src: &'a [f32],
    pub from: Lanes,
    pub dst: &'a mut [f32],
    pub to: Lanes,
}

/// Checks operand 0: a batch of images with as many spatial dimensions as `spatial` allows. Gives its spatial sizes.
pub(crate) fn check_input(args: &Args<'_>, spatial: std::ops::RangeInclusive<usize>) -> Result<Dims> {
    let x = args.tensor(0)?;
    let dims = x.dims();
    if dims.len() < 2 || !spatial.contains(&(dims.len() - 2)) {
        let allowed: Vec<String> = spatial.map(|s| (s + 2).to_string()).collect();
        fail!(
            RankMismatch,
            args.op(),
            "x",
            format!("{} of rank {}", x.describe(), dims.len()),
            format!("it has rank {}: N, C and the spatial dimensions", allowed.join(" or ")),
            "add a batch dimension with `unsqueeze(0)`, or use the op of that rank"
        );
    }
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

/// Runs `work` from operand 0 to a result with the spatial sizes `output`, in the operand's layout: the format that
/// a strided operand suggests, the layout of a blocked one. `work` writes every element of the result, padding
/// included, and does not run where there is none.
pub(crate) fn run(
    args: &Args<'_>,
    results: &mut Results<'_>,
    output: &[usize],
    implementation: &'static str,
    work: impl FnOnce(Work<'_>) -> Result<()>,
) -> KernelResult {
    let op = args.op();
    let sizes = |dims: &[usize]| -> Dims { dims[..2].iter().chain(output).copied().to_dims() };
    match args.values()[0] {
        Arg::Tensor(TensorRef::Strided(x)) => {
            let dims = sizes(x.dims());
            let y = results.by_rule(FormatRule::Suggested, &[x], &dims, x.dtype())?;
            if y.numel() == 0 {
                return Ok(());
            }
            let format = format_of(y);
            let dense = x.dense_at(op, format, args.location())?;
            let view = |dims| Lanes::of_format(dims, format).expect("a rank that was checked");
            let work = {
                let (from, to) = (view(x.dims()), view(&dims));
                let (src, dst) = (dense.data::<f32>(), y.result_data::<f32>());
                move || work(Work { src, from, dst, to })
            };
            Ok(crate::kernels::timed(args, implementation, || format!("{format} -> {format}"), work)?)
        }
        _ => {
            let x = args.blocked(0)?;
            let dims = sizes(x.dims());
            let from = Lanes::of_blocked(op, x)?;
            let y = results.blocked(&dims, x.layout(), x.dtype())?;
            if y.numel() == 0 {
                return Ok(());
            }
            let to = Lanes::of_layout(op, &dims, x.layout())?;
            let work = {
                let (src, dst) = (x.data::<f32>(), y.data_mut::<f32>().expect("a result that was just made"));
                move || work(Work { src, from, dst, to })
            };
            Ok(crate::kernels::timed(args, implementation, || format!("{0} -> {0}", x.layout()), work)?)
        }
    }
}

/// Where a tile of output columns that begins at `from` ends: as many columns, up to `to`, as need no more than
/// `room` columns of the source. `needs(column)` is the range of source columns that one output column reads, whose
/// ends never go back from one column to the next.
#[inline(always)]
pub(crate) fn tile_end(
    from: usize,
    to: usize,
    room: usize,
    needs: impl Fn(usize) -> (usize, usize),
) -> usize {
    let first = needs(from).0;
    if needs(to - 1).1 <= first + room {
        return to;
    }
    (from + 1..to).find(|&w| needs(w).1 > first + room).unwrap_or(to)
}
