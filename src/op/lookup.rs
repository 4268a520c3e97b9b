//! Which kernel takes the operands of a call, and the error if none does. Dtypes and quantisation are matched here alone.

use std::fmt;

use crate::dtype::DType;
use crate::error::{Call, Complaint, Error, Text};
use crate::op::args::Args;
use crate::op::kernel::{Kernel, Propagation};
use crate::op::rules::{DTypes, OutputDType, any_of};
use crate::op::schema::{ArgSpec, Schema};
use crate::tensor::any::{TensorMut, TensorRef};
use crate::tensor::quantization;

/// The dtypes that the operands and results of a call have together: one for each tensor argument of the schema, then one for
/// each result.
///
/// The lists may be shorter than the schema's. Data operands beyond them are f32, unless the schema fixes their dtype; other
/// tensors, and results, are as the schema states.
///
/// ```
/// use blocktensor::DType::{F32, S8, S32, U8};
/// use blocktensor::dispatch::DTypeTuple;
/// // conv2d: x, weights and bias; the result.
/// let tuple = DTypeTuple { operands: &[U8, S8, S32], results: &[F32] };
/// assert_eq!(tuple.to_string(), "u8, s8, s32 -> f32");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DTypeTuple {
    /// Those of the operands, in the schema's order. Every tensor of a list has the same.
    pub operands: &'static [DType],
    /// Those of the results. Every result of a list has the same.
    pub results: &'static [DType],
}

impl DTypeTuple {
    /// The dtypes of tensor argument `i`; `None` for any.
    pub(super) fn operand(&self, i: usize, spec: &ArgSpec) -> Option<&'static [DType]> {
        match spec.dtypes {
            _ if i < self.operands.len() => Some(std::slice::from_ref(&self.operands[i])),
            DTypes::Fixed(list, _) => Some(list),
            _ if spec.kind.is_data() => Some(&[DType::F32]),
            stated => stated.list(),
        }
    }

    fn takes_operand(&self, i: usize, spec: &ArgSpec, t: TensorRef<'_>) -> bool {
        self.operand(i, spec).is_none_or(|list| list.contains(&t.dtype()))
    }

    fn takes(&self, args: &Args<'_>) -> bool {
        // A plain loop, as every call runs it.
        let mut i = 0;
        for (spec, value) in args.schema.args.iter().zip(args.values) {
            if !spec.kind.is_tensor() {
                continue;
            }
            if !value.tensors().iter().all(|&t| self.takes_operand(i, spec, t)) {
                return false;
            }
            i += 1;
        }
        true
    }

    /// The dtypes of result `i`; `None` for any.
    fn result(&self, i: usize, schema: &'static Schema) -> Option<&'static [DType]> {
        let i = if matches!(schema.outputs, [one] if one.is_list) { 0 } else { i };
        if let Some(stated) = self.results.get(i) {
            return Some(std::slice::from_ref(stated));
        }
        match &schema.outputs.get(i)?.dtype {
            OutputDType::Fixed(dtype) => Some(std::slice::from_ref(dtype)),
            // The kernel reads it.
            OutputDType::Stated(_) => None,
            OutputDType::Like(name) => {
                let (i, spec) = schema.tensors().enumerate().find(|(_, spec)| spec.name == *name)?;
                self.operand(i, spec)
            }
        }
    }

    fn makes(&self, schema: &'static Schema, given: &[TensorMut<'_>]) -> bool {
        let is_made = |(i, t): (usize, &TensorMut<'_>)| {
            self.result(i, schema).is_none_or(|list| list.contains(&t.as_ref().dtype()))
        };
        given.iter().enumerate().all(is_made)
    }

    /// Whether the op has as many tensors and results.
    pub(crate) fn fits(&self, schema: &Schema) -> bool {
        let results = if schema.outputs.is_empty() { usize::MAX } else { schema.outputs.len() };
        self.operands.len() <= schema.tensors().count() && self.results.len() <= results
    }

    /// Whether there are operands and results that both allow.
    fn overlaps(&self, other: &DTypeTuple, schema: &'static Schema) -> bool {
        let common = |pair| match pair {
            (Some(a), Some(b)) => <[DType]>::iter(a).any(|d| <[DType]>::contains(b, d)),
            _ => true,
        };
        let operands =
            schema.tensors().enumerate().map(|(i, spec)| (self.operand(i, spec), other.operand(i, spec)));
        let results = (0..schema.outputs.len()).map(|i| (self.result(i, schema), other.result(i, schema)));
        operands.chain(results).all(common)
    }
}

/// The dtypes of an op of one data operand that runs in f32 and bf16. Its other tensors are parameters, which are f32.
pub(crate) const OF_ONE: &[DTypeTuple] =
    &[DTypeTuple { operands: &[], results: &[] }, DTypeTuple { operands: &[DType::BF16], results: &[] }];
/// The dtypes of an op whose first two tensors are data: both f32, or both bf16.
pub(crate) const OF_TWO: &[DTypeTuple] = &[
    DTypeTuple { operands: &[], results: &[] },
    DTypeTuple { operands: &[DType::BF16, DType::BF16], results: &[] },
];

impl fmt::Display for DTypeTuple {
    /// `u8, s8, s32 -> f32`; nothing for what is not stated.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&names(self.operands))?;
        if self.results.is_empty() { Ok(()) } else { write!(f, " -> {}", names(self.results)) }
    }
}

fn names(dtypes: &[DType]) -> String {
    dtypes.iter().map(|d| d.name()).collect::<Vec<_>>().join(", ")
}

impl Kernel {
    /// The dtypes that the kernel takes for an argument of its op, whatever the other operands are; `None` for any, or if the
    /// op has no tensor of this name.
    pub fn dtypes_of(&self, schema: &Schema, arg: &str) -> Option<Vec<DType>> {
        let (i, spec) = schema.tensors().enumerate().find(|(_, spec)| spec.name == arg)?;
        each_once(self.dtypes.iter().map(|tuple| tuple.operand(i, spec)))
    }

    /// Whether the kernel takes the tensors of a call.
    #[inline]
    pub(crate) fn takes(&self, args: &Args<'_>) -> bool {
        self.dtypes.iter().any(|tuple| tuple.takes(args))
            && (self.reads_quantization || quantized(args).is_none())
    }

    /// Whether the kernel, which takes the operands, makes results of the dtypes of the caller's tensors.
    #[inline]
    pub(crate) fn makes(&self, args: &Args<'_>, given: &[TensorMut<'_>]) -> bool {
        given.is_empty()
            || self.dtypes.iter().any(|tuple| tuple.takes(args) && tuple.makes(args.schema, given))
    }

    /// Whether there are operands and results whose dtypes both kernels have.
    pub(crate) fn overlaps(&self, other: &Kernel, schema: &'static Schema) -> bool {
        self.dtypes.iter().any(|a| other.dtypes.iter().any(|b| a.overlaps(b, schema)))
    }
}

/// Each dtype of the lists once, in their order. `None` if any dtype is allowed.
pub(super) fn each_once<'d>(lists: impl Iterator<Item = Option<&'d [DType]>>) -> Option<Vec<DType>> {
    let mut dtypes: Vec<DType> = Vec::new();
    for list in lists {
        for dtype in list? {
            if !dtypes.contains(dtype) {
                dtypes.push(*dtype);
            }
        }
    }
    Some(dtypes)
}

/// The first operand with scales and zero points.
#[inline]
fn quantized<'a>(args: &Args<'a>) -> Option<(&'static ArgSpec, TensorRef<'a>)> {
    // A plain loop, as every call runs it.
    for (spec, value) in args.schema.args.iter().zip(args.values) {
        for &t in value.tensors() {
            if t.quantization().is_some() {
                return Some((spec, t));
            }
        }
    }
    None
}

/// The error of a call whose tensors none of these kernels takes. It is about the first operand whose dtype no kernel takes beside
/// the operands before it; if there is none, about quantisation.
pub(crate) fn refused<'k>(
    args: &Args<'_>,
    propagation: Propagation,
    kernels: impl Iterator<Item = &'k Kernel>,
) -> Error {
    let all: Vec<&DTypeTuple> = kernels.flat_map(|kernel| kernel.dtypes).collect();
    let mut left = all.clone();
    for (at, (spec, t)) in args.tensors_with_specs().enumerate() {
        let i = args.schema.tensors().position(|of| of.name == spec.name).unwrap_or(usize::MAX);
        let taken = |tuple: &&DTypeTuple| tuple.takes_operand(i, spec, t);
        if !left.iter().any(taken) {
            let dtypes = each_once(left.iter().map(|tuple| tuple.operand(i, spec))).unwrap_or_default();
            let is_taken_alone = all.iter().any(taken);
            return wrong_dtype(args, propagation, at, &dtypes, is_taken_alone);
        }
        left.retain(taken);
    }
    let (spec, t) = quantized(args).expect("a kernel takes these dtypes");
    let rule = format!("no kernel for key `{}` reads its scales and zero points", args.key());
    quantization::refused(args.op(), spec.name, t.describe(), rule)
}

/// The error of tensor `at` of a call. `dtypes` are those that kernels take for it beside the tensors before it. If kernels take
/// its dtype alone, the tensors before it are what is wrong, too.
fn wrong_dtype(
    args: &Args<'_>,
    propagation: Propagation,
    at: usize,
    dtypes: &[DType],
    is_taken_alone: bool,
) -> Error {
    let tensors: Vec<_> = args.tensors_with_specs().take(at + 1).collect();
    let [before @ .., (spec, t)] = tensors.as_slice() else { unreachable!("a tensor of the call") };
    let number = before.iter().filter(|(other, _)| other.name == spec.name).count();
    let of_list = if number == 0 { String::new() } else { format!(", number {number} of the list") };
    let complaint = |rule: String, remedy: Text| {
        Complaint::new(args.op(), spec.name, format!("{}{of_list}", t.describe()), rule, remedy)
    };
    // A conversion would cut fractions off.
    let rounds = t.dtype().is_float() && !dtypes.iter().any(|d| d.is_float());
    let convert = || match dtypes.first() {
        // A conversion is a call of the tape, too.
        _ if propagation == Propagation::Backward => {
            "compute in that dtype what is differentiated, or take it out of the tape".into()
        }
        None => "pass another tensor".into(),
        Some(DType::F32) if t.quantization().is_some() => {
            Text::from("make numbers of it with ") + Call::Dequantized
        }
        Some(_) if rounds && dtypes.iter().any(|d| d.byte_range().is_some()) => {
            "make integers of it with `quantize`".into()
        }
        // Half of the integers of the one are none of the other.
        Some(to) if t.dtype().byte_range().is_some() && to.byte_range().is_some() => {
            format!("make integers of {to} of it with `requantize`: a conversion would wrap around").into()
        }
        Some(to) => convert(*to),
    };
    let what = match propagation {
        Propagation::Forward => "kernel",
        Propagation::Backward => "gradient",
    };
    let of_kernels = || format!("the {what} for key `{}` takes {}", args.key(), names(dtypes));
    match spec.dtypes {
        DTypes::Fixed(list, rule) => {
            let rule = if list == dtypes { rule.to_string() } else { of_kernels() };
            Error::DTypeMismatch(complaint(rule, "pass a tensor of that dtype".into()))
        }
        _ if is_taken_alone => {
            let mut others: Vec<String> =
                before.iter().map(|(spec, t)| format!("`{}` of {}", spec.name, t.dtype())).collect();
            others.dedup();
            let rule = format!("{} beside {}", of_kernels(), others.join(", "));
            // Numbers with fractions do not become integers: those before them become numbers.
            let remedy = match before {
                [(first, x)] if rounds && !x.dtype().is_float() => {
                    Text::from(format!("convert `{}` with ", first.name)) + Call::ToDType(t.dtype().name())
                }
                _ => convert(),
            };
            Error::DTypeMismatch(complaint(rule, remedy))
        }
        _ => {
            let rule = if spec.kind.is_data() { of_kernels() } else { format!("it is {}", any_of(dtypes)) };
            Error::UnsupportedDType(complaint(rule, convert()))
        }
    }
}

/// The remedy for a dtype that no kernel takes: convert to one that a kernel takes.
pub(crate) fn convert(to: DType) -> Text {
    Text::from("convert it with ") + Call::ToDType(to.name())
}
