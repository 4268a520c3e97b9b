//! The preferred operand formats of kernels that state none themselves.

use crate::error::Result;
use crate::key::DispatchKey;
use crate::layout::blocked::Layout;
use crate::layout::memory_format::MemoryFormat;
use crate::op::args::Arg;
use crate::op::schema::Schema;
use crate::tensor::desc::TensorDesc;

/// For each input of a call, whether it is a data operand.
pub(crate) fn data_inputs(schema: &Schema, args: &[Arg<'_>]) -> Vec<bool> {
    let counts = schema.args.iter().zip(args).map(|(spec, arg)| match arg {
        Arg::Tensor(_) => (spec.kind.is_data(), 1),
        Arg::Tensors(list) => (spec.kind.is_data(), list.len()),
        _ => (false, 0),
    });
    counts.flat_map(|(is_data, count)| std::iter::repeat_n(is_data, count)).collect()
}

/// Strided operands keep their strides; operands of another key become row-major. Blocked operands take the machine's native
/// layout for their rank; other ranks stay unchanged, and the op refuses them. Parameters stay unchanged.
pub(crate) fn usual(
    schema: &'static Schema,
    key: DispatchKey,
    args: &[Arg<'_>],
    inputs: &[TensorDesc],
) -> Result<Vec<TensorDesc>> {
    let wanted = |(desc, is_data): (&TensorDesc, bool)| match key {
        _ if !is_data || desc.key() == key => Ok(desc.clone()),
        DispatchKey::STRIDED => TensorDesc::strided(desc.dims(), desc.dtype(), MemoryFormat::Contiguous),
        DispatchKey::BLOCKED => match Layout::native_activation(desc.dims().len()) {
            Ok(layout) => TensorDesc::blocked(desc.dims(), desc.dtype(), &layout),
            Err(_) => Ok(desc.clone()),
        },
        _ => TensorDesc::opaque(desc.dims(), desc.dtype(), key, key.name()),
    };
    inputs.iter().zip(data_inputs(schema, args)).map(wanted).collect()
}
