//! Parts of a tensor that exporters take one by one.

use std::collections::{BTreeSet, HashMap};

use blocktensor::ParamValue;

use crate::Param;
use crate::error::Result;
use crate::network::{Network, Node, TensorId};

/// One part: its node, where it begins, and how long it is.
#[derive(Clone, Copy)]
struct Part {
    node: usize,
    start: i64,
    length: i64,
}

/// Returns how many nodes became results of `split`.
pub(super) fn run(network: &mut Network) -> Result<usize> {
    let mut all: HashMap<(TensorId, usize), Vec<Part>> = HashMap::new();
    for (x, axis, part) in (0..network.nodes.len()).filter_map(|i| narrowed(network, i)) {
        all.entry((x, axis)).or_default().push(part);
    }
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    for i in 0..network.nodes.len() {
        let Some((x, axis, _)) = narrowed(network, i).filter(|_| !gone.contains(&i)) else { continue };
        let Some(parts) = all.get(&(x, axis)) else { continue };
        let mut parts: Vec<Part> =
            parts.iter().filter(|part| part.node >= i && !gone.contains(&part.node)).copied().collect();
        parts.sort_by_key(|part| part.start);
        let mut end = 0;
        let follows = parts.iter().all(|part| {
            let fits = part.start == end;
            end = part.start + part.length;
            fits
        });
        if parts.len() < 2 || !follows || end != network.tensor(x).dims[axis] as i64 {
            continue;
        }
        let outputs: Vec<TensorId> = parts.iter().map(|part| network.nodes[part.node].outputs[0]).collect();
        let sizes: Vec<i64> = parts.iter().map(|part| part.length).collect();
        let params = [("sizes", Param::Ints(sizes)), ("axis", Param::Int(axis as i64))];
        network.nodes[i].rewrite("split", &[("x", x)], &params)?;
        network.nodes[i].outputs = outputs;
        gone.extend(parts.iter().map(|part| part.node).filter(|node| *node != i));
    }
    network.remove_nodes(&gone.iter().copied().collect::<Vec<_>>());
    Ok(gone.len())
}

/// What a node takes a part of, along which axis, and which part: `narrow`, and `slice` with step 1.
fn narrowed(network: &Network, i: usize) -> Option<(TensorId, usize, Part)> {
    let node: &Node = &network.nodes[i];
    let number = |name: &str| match node.op.param(name) {
        Some(ParamValue::Int(v)) => Some(*v),
        _ => None,
    };
    let x = *node.inputs.first()?;
    let axis = usize::try_from(number("axis")?).ok()?;
    let size = *network.tensor(x).dims.get(axis)? as i64;
    let (start, length) = match node.op.op() {
        "narrow" => (number("start")?, number("length")?),
        "slice" if number("step")? == 1 => {
            let start = number("start")?.min(size);
            (start, number("end")?.min(size) - start)
        }
        _ => return None,
    };
    (length > 0).then_some((x, axis, Part { node: i, start, length }))
}
