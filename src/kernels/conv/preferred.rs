//! The formats in which convolutions want their operands.

use super::weights::{layout_beside, output_first};
use super::{ConvGeometry, ConvParams, kind_of};
use crate::error::Result;
use crate::key::DispatchKey;
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::op::params::Params;
use crate::op::preferred::usual;
use crate::op::{Arg, Args, Schema};
use crate::tensor::any::TensorRef;
use crate::tensor::desc::TensorDesc;

/// Strided: source and residual channels-last, weights as they are. Blocked: source and residual in the machine's own layout, unless they
/// are blocked; weights in the layout that goes with it, with their output channels first and their groups apart.
pub(crate) fn preferred(
    schema: &'static Schema,
    key: DispatchKey,
    args: &[Arg<'_>],
    inputs: &[TensorDesc],
) -> Result<Vec<TensorDesc>> {
    let mut wanted = usual(schema, key, args, inputs)?;
    let (Some(x), [Arg::Tensor(_), Arg::Tensor(weights), bias, residual, ..]) = (inputs.first(), args) else {
        return Ok(wanted);
    };
    let residual =
        matches!(residual, Arg::Tensor(_)).then_some(if matches!(bias, Arg::Tensor(_)) { 3 } else { 2 });
    let activations = [Some(0), residual];
    match key {
        DispatchKey::STRIDED => {
            for i in activations.into_iter().flatten() {
                let format = MemoryFormat::channels_last_of(inputs[i].dims().len())
                    .unwrap_or(MemoryFormat::Contiguous);
                wanted[i] = TensorDesc::strided(inputs[i].dims(), inputs[i].dtype(), format)?;
            }
        }
        DispatchKey::BLOCKED => {
            if let TensorRef::Strided(plain) = weights {
                let (spatial, transposed) = kind_of(schema.name);
                let params = ConvParams::read(&Args::unchecked(schema, args))?;
                let plain = match transposed {
                    true => output_first(schema.name, plain, spatial, params.groups)?,
                    false => (*plain).clone(),
                };
                let numbers = params.numbers(schema.name, spatial, transposed)?;
                let g = ConvGeometry::new(schema.name, spatial, x.dims(), plain.dims(), None, &numbers)?;
                let layout = layout_beside(&g, wanted[0].layout())?;
                let dims = Dims::from_slice(&g.weight_dims());
                wanted[1] = TensorDesc::blocked(&dims, inputs[1].dtype(), &layout)?;
            }
        }
        _ => {}
    }
    Ok(wanted)
}
