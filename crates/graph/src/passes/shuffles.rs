//! Shuffles that exporters write as view, transpose, view.

use blocktensor::ParamValue;

use crate::Param;
use crate::error::Result;
use crate::network::{Links, Network, TensorId};

/// Returns how many shuffles were recognised.
pub(super) fn run(network: &mut Network) -> Result<usize> {
    let mut changes = 0;
    let links = Links::of(network);
    for i in 0..network.nodes.len() {
        let Some((x, op, param)) = shuffle(network, &links, i) else { continue };
        network.nodes[i].rewrite(op, &[("x", x)], &[param])?;
        changes += 1;
    }
    Ok(changes)
}

/// `[N, C, s...]` to `[N, groups, C / groups, s...]`, these two axes exchanged, and back: a channel shuffle.
fn shuffle(
    network: &Network,
    links: &Links,
    i: usize,
) -> Option<(TensorId, &'static str, (&'static str, Param))> {
    let node = &network.nodes[i];
    if node.op.op() != "view" {
        return None;
    }
    let exchanged = links.producer(node.inputs[0])?;
    let swaps = match network.nodes[exchanged].op.op() {
        "transpose" => {
            let number = |name| match network.nodes[exchanged].op.param(name) {
                Some(ParamValue::Int(v)) => Some(*v),
                _ => None,
            };
            let (a, b) = (number("a")?, number("b")?);
            (a.min(b), a.max(b)) == (1, 2)
        }
        "permute" => match network.nodes[exchanged].op.param("axes") {
            Some(ParamValue::Ints(axes)) => {
                axes.len() > 3 && axes[..3] == [0, 2, 1] && (3..axes.len()).all(|k| axes[k] == k as i64)
            }
            _ => false,
        },
        _ => false,
    };
    if !swaps {
        return None;
    }
    let parted = links.producer(network.nodes[exchanged].inputs[0])?;
    if network.nodes[parted].op.op() != "view" {
        return None;
    }
    let x = network.nodes[parted].inputs[0];
    let (from, apart) = (network.tensor(x).dims(), network.tensor(network.nodes[parted].outputs[0]).dims());
    let to = network.tensor(node.outputs[0]).dims();
    let fits = from.len() >= 3
        && from == to
        && apart.len() == from.len() + 1
        && apart[0] == from[0]
        && apart[1] * apart[2] == from[1]
        && apart[3..] == from[2..];
    fits.then(|| (x, "channel_shuffle", ("groups", Param::Int(apart[1] as i64))))
}
