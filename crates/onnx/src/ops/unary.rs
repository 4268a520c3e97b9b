//! Functions of one element without parameters.

use blocktensor_graph::{Expansion, Result, Value};

use super::args::float_input;
use super::{Op, build, op};
use crate::node::OnnxNode;

/// The name in ONNX, and here.
const NAMES: &[(&str, &str)] = &[
    ("Abs", "abs"),
    ("Ceil", "ceil"),
    ("Cos", "cos"),
    ("Erf", "erf"),
    ("Exp", "exp"),
    ("Floor", "floor"),
    ("HardSwish", "hardswish"),
    ("Log", "log"),
    ("Mish", "mish"),
    ("Neg", "neg"),
    ("Reciprocal", "reciprocal"),
    ("Relu", "relu"),
    ("Round", "round"),
    ("Sigmoid", "sigmoid"),
    ("Sign", "sign"),
    ("Sin", "sin"),
    ("Softplus", "softplus"),
    ("Softsign", "softsign"),
    ("Sqrt", "sqrt"),
    ("Tanh", "tanh"),
];

pub(super) const OPS: &[Op] = &{
    let mut ops = [const { op("", unary, &[]) }; NAMES.len()];
    let mut i = 0;
    while i < NAMES.len() {
        ops[i] = op(NAMES[i].0, unary, &[]);
        i += 1;
    }
    ops
};

fn unary(node: &OnnxNode, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
    let x = float_input(inputs, 0, cx)?;
    if node.op_type() == "Sign" {
        // The sign of NaN is NaN; the registered op, like PyTorch's, gives 0.
        let is_number = build::binary(cx, "eq", x, x)?;
        let sign = build::unary(cx, "sign", x)?;
        return Ok(vec![cx.op("where", &[("condition", &is_number), ("a", &sign), ("b", x)], &[])?]);
    }
    match NAMES.iter().find(|(onnx, _)| *onnx == node.op_type()) {
        Some((_, name)) => Ok(vec![build::unary(cx, name, x)?]),
        None => Err(cx.unsupported("no function of this name")),
    }
}
