//! Makes ops of tables of functions.

/// Adds the sections that the documentation of every element-wise op ends with.
macro_rules! pointwise_docs {
    ($(#[doc = $doc:literal])* => $shapes:expr, $dtypes:expr, $errors:expr, $($item:tt)*) => {
        $(#[doc = $doc])*
        ///
        /// # Shapes
        #[doc = $shapes]
        ///
        /// # Dtypes
        #[doc = $dtypes]
        ///
        /// # Layouts
        /// Strided: any strides. The result has the strides that PyTorch's `TensorIterator` infers. Blocked: any activation
        /// layout, or weights if all operands have the same sizes and layout. The result keeps it, and its padding is zero.
        ///
        /// # Errors
        #[doc = $errors]
        #[track_caller]
        $($item)*
    };
}

/// The documentation of a function that writes into the caller's tensor.
macro_rules! into_docs {
    ($name:ident, $($item:tt)*) => {
        #[doc = concat!("As [`", stringify!($name), "`], into a tensor of the caller's, which keeps its strides or layout.")]
        ///
        /// # Errors
        #[doc = concat!("As [`", stringify!($name), "`]. `KeyMismatch`, `ShapeMismatch`, `LayoutMismatch` or \
            `DTypeMismatch` if `dst` does not match the result; `OverlappingOutput` if elements of `dst` share memory; \
            `Aliasing` while another tensor shares its storage. After an error `dst` is unchanged.")]
        #[track_caller]
        $($item)*
    };
}

/// Declares the type `Parameters` of an op: a `params!` struct, or [`NoParameters`].
macro_rules! parameters {
    () => { pub(super) use crate::ops::pointwise::NoParameters as Parameters; };
    ($($param:ident: $type:ty $(as $stored:ty)? => $spec:expr),+) => {
        crate::op::params::params! {
            pub(super) struct Parameters {
                $(pub(super) $param: crate::ops::pointwise::stored_type!($type $(as $stored)?) => $spec),+
            }
        }
    };
}

/// The type of a parameter in `Parameters`: that of the typed function's argument, unless another follows `as`.
macro_rules! stored_type {
    ($type:ty) => {
        $type
    };
    ($type:ty as $stored:ty) => {
        $stored
    };
}

/// The errors of an op, for its documentation: `InvalidArgument` only if it has parameters.
macro_rules! unary_errors {
    () => {
        "`UnsupportedDType`; `LayoutMismatch` for a blocked tensor that is no activation."
    };
    ($($param:ident)+) => {
        "`InvalidArgument` for parameters out of range; `UnsupportedDType`; `LayoutMismatch` for a blocked tensor that is no \
         activation."
    };
}

/// Makes ops of a table of functions of one element. An entry
///
/// ```ignore
/// /// Docs.
/// pub fn elu(x, alpha: f64 => float("alpha", 1.0)) -> f32, pub fn elu_into {
///     math_function!(|x, alpha: f32| math::elu::<M>(x, alpha), alpha as f32)
/// }
/// ```
///
/// declares the op `elu` and its two typed functions. Parameters follow `x` and are written as in `params!`; the block sees
/// them by name and evaluates to a `Function`. `eps: Option<f64> as NegativeIsNone => ...` is an argument of the first type
/// that the block sees as the second. The type behind the arrow is that of the result's elements.
///
/// `, gradient { f }` after the block states the gradient: a function of the operand's element and of the incoming gradient's. The
/// block sees the parameters, too. `, gradient_of_result { f }` is a function of the result's element instead: a tape then need not
/// keep the operand. `, without_gradient "reason"` says why there is none.
///
/// `, post_op |number| word` after both says which post-op computes the same, if one does: the word, or `None` for parameters
/// that it does not have. `number` reads a parameter.
macro_rules! unary_ops {
    ($table:ident: $(
        $(#[doc = $doc:literal])*
        pub fn $name:ident(x $(, $param:ident: $type:ty $(as $stored:ty)? => $spec:expr)*) -> $out:ident,
        pub fn $into:ident $f:block $(, gradient $g:block)? $(, gradient_of_result $h:block)? $(, without_gradient $why:literal)? $(, post_op |$number:pat_param| $word:expr)?
    )*) => {
        $(
            mod $name {
                #[allow(unused_imports)]
                use super::*;
                use crate::op::params::{Params, with_params};

                pointwise::parameters! { $($param: $type $(as $stored)? => $spec),* }

                const ARGS: &[ArgSpec] =
                    &with_params::<{ 1 + Parameters::SPECS.len() }>(&[data("x").f32()], Parameters::SPECS);
                static SCHEMA: Schema =
                    Schema::new(stringify!($name), ARGS).with_outputs(&[pointwise::output::<$out>("x")])
                    .elementwise()$(.without_gradient($why))?$(.post_op(|$number| $word))?;
                pub(super) static OP: Op = Op::new(&SCHEMA)
                    .with(&pointwise::with_gradient!(Kernel::rust(&run).with_dtypes($crate::op::lookup::OF_ONE) $(, Operands $g)? $(, Results $h)?));
                pointwise::gradient_of_one! { [$($param),*] $(of_one $g)? $(of_result $h)? }

                fn function(params: Parameters) -> Result<impl Function<f32, $out>> {
                    let Parameters { $($param),* } = params;
                    Ok($f)
                }

                fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
                    pointwise::run_unary(args, results, function(Parameters::read(args)?)?)
                }
            }

            pointwise::pointwise_docs! {
                $(#[doc = $doc])*
                => "Any. The result has the shape of `x`.",
                "f32, or bf16: computed in f32 and rounded once.",
                pointwise::unary_errors!($($param)*),
                pub fn $name<T: Operand>(x: &T $(, $param: $type)*) -> Result<T> {
                    pointwise::call(&$name::OP, &[Arg::Tensor(x.tensor_ref())], &$name::Parameters { $($param: $param.into()),* })
                }
            }

            pointwise::into_docs! {
                $name,
                pub fn $into<T: Operand>(x: &T $(, $param: $type)*, dst: &mut T) -> Result<()> {
                    pointwise::call_into(&$name::OP, &[Arg::Tensor(x.tensor_ref())], &$name::Parameters { $($param: $param.into()),* }, dst)
                }
            }
        )*

        pub(crate) const $table: &[&Op] = &[$(&$name::OP),*];
    };
}

/// The list of a kernel for both keys, with the function `gradient` where a block states one, and what that reads.
macro_rules! with_gradient {
    ($kernel:expr) => {
        $kernel.on_both()
    };
    ($kernel:expr, $reads:ident $g:block) => {
        $kernel.on_both_reading(crate::op::kernel::Reads::$reads, &gradient)
    };
}

/// The function `gradient` of an entry of [`unary_ops`].
macro_rules! gradient_of_one {
    ([$($param:ident),*]) => {};
    ([$($param:ident),*] $of:ident $g:block) => {
        fn gradient(call: &crate::op::Backward<'_>) -> Result<crate::op::Gradients> {
            #[allow(unused_variables)]
            let Parameters { $($param),* } = Parameters::read(&call.args)?;
            pointwise::gradient::$of(call, $g)
        }
    };
}

/// The function `gradient` of an entry of [`binary_ops`].
macro_rules! gradient_of_two {
    () => {};
    ($g:block) => {
        fn gradient(call: &crate::op::Backward<'_>) -> Result<crate::op::Gradients> {
            pointwise::gradient::of_two(call, $g)
        }
    };
}

/// Makes ops of a table of functions of two elements, as [`unary_ops`]. The block after `gradient` gives the gradient of operand `i`
/// from both operands and the incoming gradient, before the sum over the axes along which the operand was repeated. After
/// `gradient_of_diff` it reads no element of the operands.
macro_rules! binary_ops {
    ($table:ident: $(
        $(#[doc = $doc:literal])*
        pub fn $name:ident(a, b) -> $out:ident, pub fn $into:ident { $f:expr } $(, gradient $g:block)? $(, gradient_of_diff $h:block)? $(, without_gradient $why:literal)? $(, post_op |$number:pat_param| $word:expr)?
    )*) => {
        $(
            mod $name {
                use super::*;

                static SCHEMA: Schema = Schema::new(stringify!($name), &[data("a").f32(), data("b").f32()])
                    .with_outputs(&[pointwise::output::<$out>("a")])
                    .elementwise()$(.without_gradient($why))?$(.post_op(|$number| $word))?;
                pub(super) static OP: Op = Op::new(&SCHEMA)
                    .with(&pointwise::with_gradient!(Kernel::rust(&run).with_dtypes($crate::op::lookup::OF_TWO) $(, Operands $g)? $(, Nothing $h)?));
                pointwise::gradient_of_two! { $($g)? $($h)? }

                fn run(args: &Args<'_>, results: &mut Results<'_>) -> KernelResult {
                    pointwise::run_binary(args, results, $f)
                }
            }

            pointwise::pointwise_docs! {
                $(#[doc = $doc])*
                => "Any two that broadcast, as in PyTorch. Blocked operands have the same rank, and axes of size 1 broadcast.",
                concat!("Both f32, and the result is ", stringify!($out), "; or both bf16, computed in f32 and rounded once."),
                "`ShapeMismatch`, `UnsupportedDType`. Blocked: `RankMismatch`, and `LayoutMismatch` for operands in different \
                 layouts.",
                pub fn $name<T: Operand>(a: &T, b: &T) -> Result<T> {
                    let tensors = [Arg::Tensor(a.tensor_ref()), Arg::Tensor(b.tensor_ref())];
                    pointwise::call(&$name::OP, &tensors, &pointwise::NoParameters)
                }
            }

            pointwise::into_docs! {
                $name,
                pub fn $into<T: Operand>(a: &T, b: &T, dst: &mut T) -> Result<()> {
                    let tensors = [Arg::Tensor(a.tensor_ref()), Arg::Tensor(b.tensor_ref())];
                    pointwise::call_into(&$name::OP, &tensors, &pointwise::NoParameters, dst)
                }
            }
        )*

        pub(crate) const $table: &[&Op] = &[$(&$name::OP),*];
    };
}

pub(crate) use {
    binary_ops, gradient_of_one, gradient_of_two, into_docs, parameters, pointwise_docs, stored_type,
    unary_errors, unary_ops, with_gradient,
};
