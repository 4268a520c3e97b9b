//! Functions of integers of 8 bits, as tables.

use std::collections::HashMap;

use blocktensor::ops::{Activation, PostOp, PostOps};
use blocktensor::{BoundOp, DType, MemoryFormat, Operand, StridedTensor, Tensor, TensorRef};

use super::integers::{is_byte, pair_of};
use crate::error::Result;
use crate::network::{Network, Node, TensorId, facts};

/// A tensor with fewer elements is not worth a table: post-ops of what computes it do as well.
const LEAST_ELEMENTS: usize = 2048;

/// A tensor whose elements are a function of the integer at the same place in another tensor.
struct Function {
    of: TensorId,
    /// What it is for each integer: 0 to 127, then -128 to -1, or 128 to 255.
    values: StridedTensor,
    /// Whether something other than rounding and a limit made it, which post-ops do as fast.
    is_costly: bool,
}

/// Which functions become tables.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// Those that post-ops would compute as fast, too: of what no convolution took.
    pub cheap: bool,
    /// Those of few elements, too.
    pub small: bool,
}

/// Chains of element-wise functions from integers of 8 bits to such integers become one `lookup`. Returns how many.
pub(super) fn run(network: &mut Network, wanted: Wanted) -> Result<usize> {
    let mut functions: HashMap<TensorId, Function> = HashMap::new();
    let mut changes = 0;
    for i in 0..network.nodes.len() {
        let Some(function) = function_of(network, &network.nodes[i], &functions, wanted)? else { continue };
        let result = network.nodes[i].outputs[0];
        if (function.is_costly || wanted.cheap) && network.nodes[i].op.op() == "quantize" {
            let values = network.add_constant(function.values.clone());
            network.nodes[i].rewrite("lookup", &[("x", function.of), ("values", values)], &[])?;
            changes += 1;
        }
        functions.insert(result, function);
    }
    Ok(changes)
}

/// What a node computes, if each element is a function of one integer.
fn function_of(
    network: &Network,
    node: &Node,
    functions: &HashMap<TensorId, Function>,
    wanted: Wanted,
) -> Result<Option<Function>> {
    let (&[result], Some(&x)) = (&node.outputs[..], node.inputs.first()) else { return Ok(None) };
    let facts = facts(&*node.op);
    if !facts.elementwise || facts.draws || node.op.bound().is_none() {
        return Ok(None);
    }
    let dequantizes = pair_of(network, node, "dequantize").is_some();
    let is_first = dequantizes && !functions.contains_key(&x);
    let of = match node.inputs.iter().find_map(|id| functions.get(id)) {
        Some(function) => function.of,
        None if is_first && is_byte(network.tensor(x).dtype) && network.tensor(x).constant().is_none() => x,
        None => return Ok(None),
    };
    let dims = network.tensor(of).dims();
    if network.tensor(result).dims() != dims
        || !wanted.small && dims.iter().product::<usize>() < LEAST_ELEMENTS
    {
        return Ok(None);
    }
    let mut is_costly = !dequantizes && !limits(node) && pair_of(network, node, "quantize").is_none();
    let all;
    let mut operands: Vec<&StridedTensor> = Vec::new();
    if is_first {
        all = integers(network.tensor(of).dtype)?;
        operands.push(&all);
    }
    for id in node.inputs.iter().skip(operands.len()) {
        let constant = network.tensor(*id).constant().filter(|constant| constant.numel() == 1);
        match functions.get(id) {
            Some(function) if function.of == of => {
                is_costly |= function.is_costly;
                operands.push(&function.values);
            }
            None if constant.is_some() => operands.extend(constant),
            _ => return Ok(None),
        }
    }
    let refs: Vec<TensorRef<'_>> = operands.iter().map(|x| x.tensor_ref()).collect();
    // An op may want channels, of which a table has none.
    let Ok(results) = node.op.run(&refs) else { return Ok(None) };
    Ok(match &results[..] {
        [Tensor::Strided(values)] if values.numel() == 256 => {
            let values = values.contiguous(MemoryFormat::Contiguous)?.reshape(&[256])?;
            Some(Function { of, values, is_costly })
        }
        _ => None,
    })
}

/// Whether the post-op that computes the same limits numbers.
fn limits(node: &Node) -> bool {
    let list = node.op.bound().and_then(BoundOp::post_op).and_then(|words| words.parse::<PostOps>().ok());
    list.is_some_and(|list| matches!(list[..], [PostOp::Activation(Activation::Relu | Activation::Clip(..))]))
}

/// Every integer of the dtype, at the place where a table has its value.
fn integers(dtype: DType) -> Result<StridedTensor> {
    let all: [u8; 256] = std::array::from_fn(|i| i as u8);
    Ok(match dtype {
        DType::U8 => StridedTensor::from_slice(&all, &[256])?,
        _ => StridedTensor::from_slice(&all.map(u8::cast_signed), &[256])?,
    })
}
