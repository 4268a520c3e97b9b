//! Views in the registry: the methods of [`StridedTensor`] as ops, so that code which calls by name has them too.
//!
//! Strides are what a view is made of. A blocked tensor has none, and the ops say so.

use crate::error::Result;
use crate::op::schema::{data, int, required_int, required_ints};
use crate::op::{Args, Kernel, KernelFn, KernelResult, Op, Results, Schema};
use crate::ops::ALL_DTYPES;
use crate::tensor::strided::StridedTensor;

/// A table of ops that give views: arguments, and the method with their values.
macro_rules! views {
    ($($name:ident $op:ident ($($arg:expr),*) |$x:ident, $args:ident| $view:expr;)*) => {
        $(static $op: Op = {
            static SCHEMA: Schema = Schema::new(stringify!($name), &[data("x"), $($arg),*]);
            view(&SCHEMA, &|args, results| {
                fn view($x: &StridedTensor, $args: &Args<'_>) -> Result<StridedTensor> {
                    $view
                }
                results.view(view(args.strided(0)?, args)?)
            })
        };)*

        pub(crate) const OPS: &[&Op] = &[$(&$op),*];
    };
}

const fn view(schema: &'static Schema, kernel: &'static KernelFn) -> Op {
    Op::new(schema).on_strided(Kernel::rust(kernel).with_dtypes(ALL_DTYPES))
}

views! {
    view VIEW (required_ints("dims")) |x, args| x.view(&args.sizes(1)?);
    permute PERMUTE (required_ints("axes")) |x, args| x.permute(&args.sizes(1)?);
    transpose TRANSPOSE (required_int("a"), required_int("b")) |x, args| x.transpose(args.count(1)?, args.count(2)?);
    narrow NARROW (required_int("axis"), required_int("start"), required_int("length"))
        |x, args| x.narrow(args.count(1)?, args.count(2)?, args.count(3)?);
    slice SLICE (required_int("axis"), int("start", 0), int("end", i64::MAX), int("step", 1))
        |x, args| x.slice(args.count(1)?, args.count(2)?, args.count(3)?, args.count(4)?);
    select SELECT (required_int("axis"), required_int("index")) |x, args| x.select(args.count(1)?, args.count(2)?);
    expand EXPAND (required_ints("dims")) |x, args| x.expand(&args.sizes(1)?);
    squeeze SQUEEZE (required_int("axis")) |x, args| x.squeeze_axis(args.count(1)?);
    unsqueeze UNSQUEEZE (required_int("axis")) |x, args| x.unsqueeze(args.count(1)?);
}

static FLATTEN_SCHEMA: Schema = Schema::new("flatten", &[data("x"), int("start", 0), required_int("end")]);
static FLATTEN: Op = view(&FLATTEN_SCHEMA, &flatten_kernel);

#[track_caller]
fn flatten_kernel(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
    results.view(args.strided(0)?.flatten(args.count(1)?, args.count(2)?)?)
}

/// `flatten`, which copies where strides cannot express the result, as the method does.
pub(crate) const FLATTEN_OPS: &[&Op] = &[&FLATTEN];
