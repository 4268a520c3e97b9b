//! `Trilu`.

use blocktensor_graph::{Expansion, Result, Value};

use super::args::{input, number};
use super::{Op, op};
use crate::node::{Kind, OnnxNode};

pub(super) const OPS: &[Op] = &[op("Trilu", trilu, &[("upper", Kind::Int)])];

fn trilu(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = input(inputs, 0, cx)?;
    let diagonal = match inputs.get(1).and_then(Option::as_ref) {
        Some(k) => number(k, "k", cx)? as i64,
        None => 0,
    };
    let name = if node.int("upper").unwrap_or(1) != 0 { "triu" } else { "tril" };
    Ok(vec![cx.op(name, &[("x", x)], &[("diagonal", diagonal.into())])?])
}
