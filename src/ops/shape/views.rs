//! Views in the registry: methods of [`StridedTensor`](crate::StridedTensor) as ops, so that calls by name have them too.
//!
//! A view consists of strides. A blocked tensor has none, so these ops have no blocked kernel. The methods keep scales and zero
//! points.

use crate::elementwise::{StridedRegion, copy_part};
use crate::error::Result;
use crate::kernels::gradient::map::zeros_like;
use crate::op::facts::{Movement, Sharing};
use crate::op::params::{Params, params, with_params};
use crate::op::schema::{AxesOf, axis, data, int, required_axes, required_axis, required_int, required_ints};
use crate::op::{ArgSpec, Args, Backward, Gradients, Kernel, KernelResult, Op, Results, Schema};
use crate::ops::EACH_DTYPE;
use crate::ops::pointwise::gradient::sum_to;
use crate::tensor::any::{Tensor, TensorRef};
use crate::tensor::strided::StridedTensor;

/// The view that an op makes of its operand.
type ViewFn<'a> = &'a dyn Fn(&StridedTensor) -> Result<StridedTensor>;

fn strided_diff<'a>(call: &Backward<'a>) -> Result<&'a StridedTensor> {
    let TensorRef::Strided(diff) = call.diff()? else { unreachable!("it has the key of the operand") };
    Ok(diff)
}

/// The gradient of a view of all elements in their order: the incoming one with the sizes of the operand.
fn reshaped(call: &Backward<'_>, _: ViewFn<'_>) -> Result<Gradients> {
    let diff = strided_diff(call)?;
    call.each(|_| Ok(diff.reshape(call.args.tensor(0)?.dims())?.into()))
}

/// The gradient of a view that has each element at most once: the incoming one at the view's place, zeros elsewhere.
fn placed(call: &Backward<'_>, view: ViewFn<'_>) -> Result<Gradients> {
    let (op, x, diff) = (call.args.op(), call.args.tensor(0)?, strided_diff(call)?);
    call.each(|_| {
        let mut zeros = zeros_like(op, x)?;
        let Tensor::Strided(all) = &mut zeros else { unreachable!("it has the key of the operand") };
        let mut place = StridedRegion::of(&view(all)?);
        place.offset -= all.offset();
        copy_part(op, all.result_bytes(), place, diff)?;
        Ok(zeros)
    })
}

/// The gradient of an expanded tensor: the sum over its copies.
fn summed(call: &Backward<'_>, _: ViewFn<'_>) -> Result<Gradients> {
    call.each(|_| sum_to(call.diff()?.to_tensor(), call.args.tensor(0)?.dims()))
}

/// Declares ops that give a view: name, whether the result always shares the storage, parameters, and the method that makes the
/// view from them.
macro_rules! view_ops {
    ($(
        $(#[$doc:meta])*
        $op:ident = $name:literal, $sharing:ident, $params:ident { $($field:ident : $type:ty => $spec:expr),* }, |$x:ident| $view:expr,
        gradient $g:ident;
    )*) => {
        $(
            params! {
                $(#[$doc])*
                pub(crate) struct $params {
                    $($field: $type => $spec,)*
                }
            }

            pub(crate) static $op: Op = {
                const ARGS: &[ArgSpec] =
                    &with_params::<{ 1 + $params::SPECS.len() }>(&[data("x").any_dtype()], $params::SPECS);
                fn view($x: &StridedTensor, args: &Args<'_>) -> Result<StridedTensor> {
                    let $params { $($field),* } = $params::read(args)?;
                    $view
                }
                fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
                    results.view(view(args.strided(0)?, args)?)
                }
                fn gradient(call: &Backward<'_>) -> Result<Gradients> {
                    $g(call, &|x| view(x, &call.args))
                }
                Op::new(&Schema::new($name, ARGS).dst_like_x().sharing(Sharing::$sharing).moving(Movement::Elements)).with(&Kernel::rust(&run).with_dtypes(EACH_DTYPE).reading_quantization().on_strided_with(&gradient))
            };
        )*

        pub(crate) const OPS: &[&Op] = &[$(&$op),*];
    };
}

view_ops! {
    /// Parameters of `view`: the sizes of the result, one of which may be -1.
    VIEW = "view", Always, View { dims: Vec<i64> => required_ints("dims") }, |x| x.view(&dims), gradient reshaped;

    /// Parameters of `reshape`: those of `view`. The op copies where strides cannot express the result.
    RESHAPE = "reshape", Never, Reshape { dims: Vec<i64> => required_ints("dims") }, |x| x.reshape(&dims), gradient reshaped;

    /// Parameters of `permute`: for each axis of the result its axis of `x`.
    PERMUTE = "permute", Always, Permute { axes: Vec<i64> => required_axes("axes") }, |x| x.permute(&axes), gradient placed;

    /// Parameters of `transpose`: the two axes that are swapped.
    TRANSPOSE = "transpose", Always,
        Transpose { a: i64 => required_axis("a"), b: i64 => required_axis("b") },
        |x| x.transpose(a, b), gradient placed;

    /// Parameters of `narrow`: `length` indices of an axis.
    NARROW = "narrow", Always,
        Narrow {
            axis: i64 => required_axis("axis"),
            start: i64 => required_int("start"),
            length: usize => required_int("length")
        },
        |x| x.narrow(axis, start, length), gradient placed;

    /// Parameters of `slice`: every `step`-th index of a range of an axis.
    SLICE = "slice", Always,
        Slice {
            axis: i64 => required_axis("axis"),
            start: i64 => int("start", 0),
            end: i64 => int("end", i64::MAX),
            step: usize => int("step", 1).counted_from_one()
        },
        |x| x.slice(axis, start, end, step), gradient placed;

    /// Parameters of `select`: one index of an axis, which the result has no more.
    SELECT = "select", Always,
        Select { axis: i64 => required_axis("axis"), index: i64 => required_int("index") },
        |x| x.select(axis, index), gradient placed;

    /// Parameters of `expand`: the sizes of the result; -1 keeps one.
    EXPAND = "expand", Always, Expand { dims: Vec<i64> => required_ints("dims") }, |x| x.expand(&dims), gradient summed;

    /// Parameters of `squeeze`: the axis of size 1 that is removed.
    SQUEEZE = "squeeze", Always, Squeeze { axis: i64 => required_axis("axis") }, |x| x.squeeze_axis(axis), gradient reshaped;

    /// Parameters of `unsqueeze`: the number of the new axis.
    UNSQUEEZE = "unsqueeze", Always,
        Unsqueeze { axis: i64 => required_int("axis").axes_of(AxesOf::Result) },
        |x| x.unsqueeze(axis), gradient reshaped;

    /// Parameters of `flatten`: the first and the last of the axes that are merged. The op copies where strides cannot
    /// express the result, as the method does.
    FLATTEN = "flatten", RowMajor,
        Flatten { start: i64 => axis("start", 0), end: i64 => required_axis("end") },
        |x| x.flatten(start, end), gradient reshaped;
}
