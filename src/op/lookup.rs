//! Which kernel takes the dtypes of a call's operands, and the error if none does.

use crate::dtype::DType;
use crate::error::{Complaint, Error};
use crate::op::args::Args;
use crate::op::kernel::Kernel;
use crate::op::rules::{DTypes, any_of};
use crate::op::schema::{ArgSpec, Schema};
use crate::tensor::any::TensorRef;

impl Kernel {
    /// The dtypes that the kernel takes for an argument of its op; `None` for any. For an argument that
    /// [`with_operand_dtypes`](Self::with_operand_dtypes) does not name: the schema's for arguments of a fixed dtype and for
    /// tensors that are no data, [`dtypes`](Self::dtypes) for all other data operands.
    pub fn dtypes_of(&self, arg: &ArgSpec) -> Option<&'static [DType]> {
        if let Some((_, list)) = self.operand_dtypes.iter().find(|(name, _)| *name == arg.name) {
            return Some(*list);
        }
        match arg.dtypes {
            DTypes::Fixed(list, _) => Some(list),
            _ if arg.kind.is_data() => Some(self.dtypes),
            stated => stated.list(),
        }
    }

    fn takes_operand(&self, spec: &ArgSpec, t: TensorRef<'_>) -> bool {
        self.dtypes_of(spec).is_none_or(|list| list.contains(&t.dtype()))
    }

    /// Whether the kernel takes the dtypes of all tensors of a call.
    pub(crate) fn takes(&self, args: &Args<'_>) -> bool {
        args.tensors_with_specs().all(|(spec, t)| self.takes_operand(spec, t))
    }

    /// Whether there are operands whose dtypes both kernels take.
    pub(crate) fn overlaps(&self, other: &Kernel, schema: &Schema) -> bool {
        schema.args.iter().filter(|arg| arg.kind.is_tensor()).all(|arg| {
            match (self.dtypes_of(arg), other.dtypes_of(arg)) {
                (Some(a), Some(b)) => a.iter().any(|d| b.contains(d)),
                _ => true,
            }
        })
    }
}

/// The error of a call whose dtypes none of these kernels takes. It is about the first operand that no kernel takes beside the
/// operands before it.
pub(crate) fn refused_dtype<'k>(args: &Args<'_>, kernels: impl Iterator<Item = &'k Kernel>) -> Error {
    let mut left: Vec<&Kernel> = kernels.collect();
    for (spec, t) in args.tensors_with_specs() {
        let next: Vec<&Kernel> = left.iter().copied().filter(|k| k.takes_operand(spec, t)).collect();
        if next.is_empty() {
            let mut dtypes: Vec<DType> = Vec::new();
            for &dtype in left.iter().filter_map(|k| k.dtypes_of(spec)).flatten() {
                if !dtypes.contains(&dtype) {
                    dtypes.push(dtype);
                }
            }
            return wrong_dtype(args, spec, t, &dtypes);
        }
        left = next;
    }
    unreachable!("a kernel takes these dtypes")
}

/// The error of one operand. `dtypes` are those that kernels take for it.
fn wrong_dtype(args: &Args<'_>, spec: &ArgSpec, t: TensorRef<'_>, dtypes: &[DType]) -> Error {
    let of_kernels = || {
        let list: Vec<&str> = dtypes.iter().map(|d| d.name()).collect();
        format!("the kernel for key `{}` takes {}", args.key(), list.join(", "))
    };
    let complaint =
        |rule: String, remedy: String| Complaint::new(args.op(), spec.name, t.describe(), rule, remedy);
    match spec.dtypes {
        DTypes::Fixed(list, rule) => {
            let rule = if list == dtypes { rule.to_string() } else { of_kernels() };
            Error::DTypeMismatch(complaint(rule, "pass a tensor of that dtype".into()))
        }
        _ => {
            let rule = if spec.kind.is_data() { of_kernels() } else { format!("it is {}", any_of(dtypes)) };
            let remedy = dtypes.first().map_or("pass another tensor".into(), |d| convert(*d));
            Error::UnsupportedDType(complaint(rule, remedy))
        }
    }
}

/// The remedy for a dtype that no kernel takes: convert to one that a kernel takes.
pub(crate) fn convert(to: DType) -> String {
    format!("convert it with `to_dtype(DType::{to:?})`")
}
