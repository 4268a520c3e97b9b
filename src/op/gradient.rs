//! Gradients: what a backward call gets and gives, and the rules that hold for every op.
//!
//! A gradient is a [`Kernel`](super::Kernel) in its op's list ([`Kernel::gradient`](super::Kernel::gradient)). It reads the arguments of
//! the forward call by the op's own schema, so a parameter is declared and read in one place.
//!
//! ```
//! use blocktensor::{BoundOp, MemoryFormat, Operand, Operator, StridedTensor, Tensor};
//! let relu = BoundOp::new("relu", &["x"], &[])?;
//! let x = Tensor::from(StridedTensor::from_slice(&[-1f32, 2.0], &[2])?);
//! let y = relu.run(&[x.tensor_ref()])?;
//! let diff_dst = StridedTensor::from_slice(&[10f32, 20.0], &[2])?;
//! let diff_src = relu.backward(&[x.tensor_ref()], &[y[0].tensor_ref()], &[Some(diff_dst.tensor_ref())], &[true])?;
//! let Some(Tensor::Strided(diff_src)) = &diff_src[0] else { panic!("strided, as x is") };
//! assert_eq!(diff_src.to_vec::<f32>()?, [0.0, 20.0]);
//! # Ok::<(), blocktensor::Error>(())
//! ```

use std::time::Instant;

use crate::elementwise;
use crate::error::{Call, Complaint, Error, Result, Text, Unsupported, fail};
use crate::key::DispatchKey;
use crate::layout::dims::Dims;
use crate::layout::memory_format::{self, MemoryFormat};
use crate::ledger::{self, Cause, Move};
use crate::op::args::{Arg, Args};
use crate::op::call::Op;
use crate::op::kernel::{Kernel, Propagation};
use crate::op::lookup::refused;
use crate::op::params::Param;
use crate::post_ops::PostOps;
use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::tensor::formats::Described;
use crate::tensor::strided::StridedTensor;
use crate::threads;

/// The gradients of a call's tensors, in the order of the arguments, each tensor of a list by itself. `None` for one that nobody
/// asked for, and for one that the function does not give.
pub type Gradients = Vec<Option<Tensor>>;

/// The function behind a gradient.
pub type GradientFn = dyn Fn(&Backward<'_>) -> Result<Gradients> + Send + Sync;

/// A backward call, checked: one gradient for each result, as the result in shape, dtype and key, and in layout where that is
/// blocked.
pub struct Backward<'a> {
    /// The arguments of the forward call.
    pub args: Args<'a>,
    /// The results of the forward call.
    pub results: &'a [TensorRef<'a>],
    /// The gradients of the results. One that is left out is zero; at least one is there.
    pub diffs: &'a [Option<TensorRef<'a>>],
    /// For each tensor of the call whether its gradient is asked for.
    pub wanted: &'a [bool],
}

impl<'a> Backward<'a> {
    /// Whether the gradient of tensor `i` of the call is asked for.
    pub fn wants(&self, i: usize) -> bool {
        self.wanted.get(i).copied().unwrap_or(false)
    }

    /// The gradient of an op's only result.
    ///
    /// # Errors
    /// `InvalidArgument` if it is not there.
    pub fn diff(&self) -> Result<TensorRef<'a>> {
        match self.diffs.first() {
            Some(Some(diff)) => Ok(*diff),
            _ => fail!(
                InvalidArgument,
                self.args.op(),
                "diff_dst",
                "nothing",
                "the op has one result, whose gradient is needed",
                "pass it"
            ),
        }
    }

    /// The gradients: that of tensor `i` is what `of(i)` gives if it is asked for.
    ///
    /// # Errors
    /// Those of `of`.
    pub fn each(&self, of: impl Fn(usize) -> Result<Tensor>) -> Result<Gradients> {
        self.wanted.iter().enumerate().map(|(i, wanted)| wanted.then(|| of(i)).transpose()).collect()
    }

    /// The gradients: that of a tensor is what `of` gives for the name of its argument, if it is asked for. For ops whose tensors
    /// may be left out, so that their numbers change.
    ///
    /// # Errors
    /// Those of `of`.
    pub fn by_name(&self, of: impl Fn(&'static str) -> Result<Option<Tensor>>) -> Result<Gradients> {
        let names = self.args.tensors_with_specs().map(|(spec, _)| spec.name);
        names.zip(self.wanted).map(|(name, wanted)| if *wanted { of(name) } else { Ok(None) }).collect()
    }
}

impl Op {
    /// The gradients of a call's tensors from those of its results. `values` are the arguments of the forward call and `results`
    /// what it gave; `diffs` has the gradient of each result, or `None` for zero; `wanted` says for each tensor of the call
    /// whether its gradient is asked for.
    ///
    /// A gradient has the key of its operand. If strided it has the operand's strides, those of a dense copy if that is a view with
    /// gaps; a copy that this takes is in the ledger. If blocked it has the operand's layout.
    ///
    /// # Errors
    /// `UnsupportedOp` without a gradient for the key. `InvalidArgument` for another number of results or gradients, and for an
    /// operand that has no gradient. `ShapeMismatch`, `DTypeMismatch`, `KeyMismatch` and `LayoutMismatch` for results that are not as
    /// those of the forward call, and for gradients that are not as the results. The op's own errors.
    #[track_caller]
    pub fn backward(
        &'static self,
        values: &[Arg<'_>],
        results: &[TensorRef<'_>],
        diffs: &[Option<TensorRef<'_>>],
        wanted: &[bool],
    ) -> Result<Gradients> {
        threads::enter(self.schema.name)?;
        let args = Args::new(self, values)?;
        args.check_ranks()?;
        let kernel = self.gradient_of(&args)?;
        let operands: Vec<_> = args.tensors_with_specs().map(|(spec, t)| (spec.name, t)).collect();
        check_count(&args, "wanted", wanted.len(), operands.len(), "each tensor of the call has one")?;
        self.check_wanted(&args, wanted)?;
        self.check_results(&args, results)?;
        check_count(&args, "diff_dst", diffs.len(), results.len(), "each result has a gradient or none")?;
        for (i, (result, diff)) in results.iter().zip(diffs).enumerate() {
            let Some(diff) = diff else { continue };
            check_diff(&args, *result, *diff)?;
            let name = self.schema.output_name(i, results.len());
            if !self.schema.differentiates(&name, result.dtype()) {
                let rule = format!("`{name}`, {}, has no gradient", result.describe());
                fail!(InvalidArgument, args.op(), "diff_dst", diff.describe(), rule, "pass none for it");
            }
        }
        if diffs.iter().all(Option::is_none) {
            let remedy = "leave the call out: its operands' gradients are zero";
            fail!(InvalidArgument, args.op(), "diff_dst", "nothing", "one result has a gradient", remedy);
        }
        let run = kernel.gradient_fn().expect("its propagation is backward");
        ledger::in_backward(|| {
            let start = ledger::is_recording().then(Instant::now);
            let made = run(&Backward { args, results, diffs, wanted }).map_err(|e| e.in_op(args.op()))?;
            if let Some(start) = start {
                let of = |t: Option<TensorRef<'_>>| t.map_or("none".into(), TensorRef::layout_name);
                let from: Vec<String> = diffs.iter().map(|diff| of(*diff)).collect();
                let to: Vec<String> = made.iter().map(|t| of(t.as_ref().map(Operand::tensor_ref))).collect();
                let layouts = format!("{} -> {}", from.join(", "), to.join(", "));
                ledger::ran(args.op(), args.key(), "blocktensor:backward", layouts, start, 0);
            }
            let made = made.into_iter().chain(std::iter::repeat_with(|| None));
            let each = operands.into_iter().zip(wanted).zip(made);
            each.map(|((operand, wanted), made)| wanted.then(|| as_operand(&args, operand, made)).transpose())
                .collect()
        })
    }

    /// Checks that the operands whose gradients are wanted have one.
    pub(crate) fn check_wanted(&'static self, args: &Args<'_>, wanted: &[bool]) -> Result<()> {
        for ((spec, operand), _) in args.tensors_with_specs().zip(wanted).filter(|(_, wanted)| **wanted) {
            if !self.schema.differentiates(spec.name, operand.dtype()) {
                return Err(no_gradient_by(args, spec.name, operand));
            }
        }
        Ok(())
    }

    /// Checks that the results are as the forward call gives them: gradients read them, and what they show of sizes.
    fn check_results(&'static self, args: &Args<'_>, results: &[TensorRef<'_>]) -> Result<()> {
        if ![DispatchKey::STRIDED, DispatchKey::BLOCKED].contains(&args.key()) {
            return Ok(());
        }
        let expected = self.described(args.values(), false)?.0;
        check_count(args, "results", results.len(), expected.len(), "they are those of the forward call")?;
        for (i, (result, desc)) in results.iter().zip(&expected).enumerate() {
            let is_other_layout =
                || result.key() == DispatchKey::BLOCKED && result.layout_name() != desc.layout_name();
            let error = match () {
                () if result.dims() != desc.dims() => Error::ShapeMismatch,
                () if result.dtype() != desc.dtype() => Error::DTypeMismatch,
                () if result.key() != desc.key() => Error::KeyMismatch,
                () if is_other_layout() => Error::LayoutMismatch,
                () => continue,
            };
            let got = format!("{} is {}", self.schema.output_name(i, expected.len()), result.describe());
            let rule = format!("the forward call gives {}", desc.without_elements().tensor_ref().describe());
            let remedy = "pass what the forward call gave";
            return Err(error(Complaint::new(args.op(), "results", got, rule, remedy)));
        }
        Ok(())
    }

    /// The gradient that takes such a call.
    ///
    /// # Errors
    /// `UnsupportedOp` if the key has none; those of [`refused`] if none takes the dtypes; `InvalidArgument` for post-ops that it refuses.
    pub(crate) fn gradient_of(&'static self, args: &Args<'_>) -> Result<&'static Kernel> {
        let gradients = || self.gradients(args.key());
        match gradients().find(|kernel| kernel.takes(args)) {
            Some(kernel) => {
                if kernel.refuses_post_ops {
                    check_post_ops(args)?;
                }
                Ok(kernel)
            }
            None if gradients().next().is_none() => Err(self.no_gradient(args)),
            None => Err(refused(args, Propagation::Backward, gradients())),
        }
    }

    /// The error of a call whose key has no gradient.
    fn no_gradient(&self, args: &Args<'_>) -> Error {
        let has = |key: DispatchKey| self.gradients(key).next().is_some();
        let remedy = match args.key() {
            _ if let Some(reason) = self.schema.facts.without_gradient => {
                format!("{reason}: compute it on values that nothing is differentiated by").into()
            }
            DispatchKey::BLOCKED if has(DispatchKey::STRIDED) => {
                Text::from("reorder with ") + args.key().way_out().0 + " and call it there"
            }
            _ => {
                let rest = ", or keep the op out of what is differentiated";
                Text::from("register one with ") + Call::RegisterGradient + rest
            }
        };
        self.unsupported(args.key(), Unsupported::NoGradient, args.values(), Some(remedy))
    }
}

fn check_post_ops(args: &Args<'_>) -> Result<()> {
    match args.schema.args.iter().position(|spec| spec.name == "post_ops") {
        Some(i) => PostOps::read(args, i)?.check_gradient(args.op()),
        None => Ok(()),
    }
}

fn check_count(args: &Args<'_>, name: &'static str, got: usize, wanted: usize, rule: &str) -> Result<()> {
    if got != wanted {
        let got = format!("{got} values");
        fail!(InvalidArgument, args.op(), name, got, rule.to_string(), format!("pass {wanted}"));
    }
    Ok(())
}

/// Checks that the gradient of a result is as the result.
fn check_diff(args: &Args<'_>, result: TensorRef<'_>, diff: TensorRef<'_>) -> Result<()> {
    let complain = |rule: &str, remedy: Text| {
        let rule = format!("the result is {}, and its gradient has its {rule}", result.describe());
        Complaint::new(args.op(), "diff_dst", diff.describe(), rule, remedy)
    };
    if diff.dims() != result.dims() {
        return Err(Error::ShapeMismatch(complain("sizes", "pass a gradient of these sizes".into())));
    }
    if diff.dtype() != result.dtype() {
        let remedy = crate::op::lookup::convert(result.dtype());
        return Err(Error::DTypeMismatch(complain("dtype", remedy)));
    }
    if diff.key() != result.key() {
        let remedy = match result {
            TensorRef::Blocked(y) => {
                Text::from("reorder it with ") + Call::ToAnyBlocked + format!(" to {}", y.layout())
            }
            _ => Text::from("reorder it with ") + diff.key().way_out().0,
        };
        return Err(Error::KeyMismatch(complain("key", remedy)));
    }
    if let (TensorRef::Blocked(y), TensorRef::Blocked(diff)) = (result, diff)
        && y.layout() != diff.layout()
    {
        let remedy = Text::from("reorder it with ") + Call::ReorderTo(y.layout().to_string());
        return Err(Error::LayoutMismatch(complain("layout", remedy)));
    }
    Ok(())
}

fn no_gradient_by(args: &Args<'_>, name: &'static str, operand: TensorRef<'_>) -> Error {
    let rule = "the op has no gradient by this operand";
    let remedy = "pass one that nothing is differentiated by";
    Error::InvalidArgument(Complaint::new(args.op(), name, operand.describe(), rule, remedy))
}

/// The gradient of an operand in the operand's format.
fn as_operand(
    args: &Args<'_>,
    (name, operand): (&'static str, TensorRef<'_>),
    made: Option<Tensor>,
) -> Result<Tensor> {
    let Some(made) = made else { return Err(no_gradient_by(args, name, operand)) };
    let wrong = |made: &Tensor| {
        let got = made.tensor_ref().describe();
        let rule =
            format!("`{name}` is {}, and its gradient has its sizes, dtype and key", operand.describe());
        Error::KeyMismatch(Complaint::new(args.op(), "gradient", got, rule, "fix the gradient's kernel"))
    };
    match (operand, made) {
        (TensorRef::Strided(x), Tensor::Strided(made)) if x.dims == made.dims && x.dtype == made.dtype => {
            in_strides_of(args, x, made).map(Tensor::Strided)
        }
        (TensorRef::Blocked(x), Tensor::Blocked(made))
            if x.dims() == made.dims() && x.dtype() == made.dtype() && x.layout() == made.layout() =>
        {
            made.check_tail_if_asked()?;
            Ok(Tensor::Blocked(made))
        }
        (TensorRef::Opaque(x), Tensor::Opaque(made))
            if x.key() == made.key() && x.dims() == made.dims() && x.dtype() == made.dtype() =>
        {
            Ok(Tensor::Opaque(made))
        }
        (_, made) => Err(wrong(&made)),
    }
}

/// The gradient with the strides of `x`, or with those of a dense copy of `x`. A copy is in the ledger.
fn in_strides_of(args: &Args<'_>, x: &StridedTensor, made: StridedTensor) -> Result<StridedTensor> {
    let strides = memory_format::like(args.op(), &x.dims, &x.strides, MemoryFormat::Preserve)?;
    let is_same = (0..x.rank()).all(|axis| x.dims[axis] <= 1 || made.strides[axis] == strides[axis]);
    if is_same || x.numel() == 0 {
        let strides = if x.numel() == 0 { strides } else { made.strides };
        return Ok(StridedTensor { format_tag: x.format_tag, strides, ..made });
    }
    let (from, to) = (Described(&made.dims, &made.strides), Described(&made.dims, &strides));
    let what = Move {
        op: args.op(),
        cause: Cause::DenseCopy,
        from: &from,
        to: &to,
        dims: &made.dims,
        bytes: made.numel() * made.dtype().size_bytes(),
        source: made.storage.id(),
        location: args.location(),
    };
    let copied = ledger::reorder(what, || {
        let mut copy =
            StridedTensor::for_result(args.op(), Dims::from_slice(&made.dims), strides, made.dtype)?;
        elementwise::copy_into(args.op(), &mut copy, &made)?;
        Ok(copy)
    })?;
    Ok(StridedTensor { format_tag: x.format_tag, ..copied })
}
