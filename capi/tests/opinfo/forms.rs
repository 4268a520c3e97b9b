//! Operands of a sample in blocked form, as docs/c.md and docs/layouts.md describe it for callers.

use blocktensor_c::bt_code;

use crate::calls::{Failure, Given, Held, call, info, shaped, tensor, to_blocked};
use crate::samples::{Array, Operand, Sample};
use crate::{Tensors, given};

/// The operands, or the error of the one that has no blocked form.
pub enum Form<'a> {
    Blocked(Vec<(&'a str, Tensors)>),
    Refused(Failure),
}

/// Data operands blocked, and the others strided. `schema` is the text of `bt_schema`, which tells them apart.
pub fn blocked<'a>(sample: &'a Sample, schema: &str) -> Form<'a> {
    match try_blocked(sample, schema) {
        Ok(tensors) => Form::Blocked(tensors),
        Err(e) => Form::Refused(e),
    }
}

fn try_blocked<'a>(sample: &'a Sample, schema: &str) -> Result<Vec<(&'a str, Tensors)>, Failure> {
    let is_data = |name: &str| {
        let (_, kind) = schema.split_once(&format!("{name}: ")).unwrap();
        kind.starts_with("a data tensor") || kind.starts_with("a list of data tensors")
    };
    let data = sample.operands.iter().filter(|(name, _)| is_data(name));
    let arrays = data.flat_map(|(_, operand)| match operand {
        Operand::One(a) => std::slice::from_ref(a),
        Operand::List(list) => list.as_slice(),
    });
    let rank = arrays.map(|a| a.dims.len()).max().unwrap_or(0);
    let is_conv = sample.op.starts_with("conv");
    sample
        .operands
        .iter()
        .map(|(name, operand)| {
            let made = match operand {
                _ if !is_data(name) => given(operand),
                Operand::One(w) if is_conv && name == "weights" => Tensors::One(weights(sample, w)?),
                Operand::One(a) => Tensors::One(activation(sample, a, rank)?),
                Operand::List(list) => {
                    let list: Result<_, _> = list.iter().map(|a| activation(sample, a, rank)).collect();
                    Tensors::List(list?)
                }
            };
            Ok((name.as_str(), made))
        })
        .collect()
}

/// Whether the op broadcasts its operands against each other.
fn broadcasts(op: &str) -> bool {
    ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "where"]
        .contains(&op)
}

/// An operand in the machine's layout. One that broadcasts to a higher rank gets leading ones first.
fn activation(sample: &Sample, a: &Array, rank: usize) -> Result<Held, Failure> {
    let mut t = tensor(a);
    if broadcasts(&sample.op) && a.dims.len() < rank {
        let mut dims = vec![1; rank - a.dims.len()];
        dims.extend(&a.dims);
        t = shaped("reshape", &t, "dims", &dims)?;
    }
    to_blocked(&t, None)
}

/// Weights of a convolution in the layout that goes with the machine's activations.
fn weights(sample: &Sample, w: &Array) -> Result<Held, Failure> {
    let transposed = sample.op.starts_with("conv_transpose");
    let groups = sample.int("groups").unwrap_or(1);
    let Some((_, Operand::One(x))) = sample.operands.iter().find(|(name, _)| name == "x") else {
        panic!("{}: no x", sample.name)
    };
    let image = to_blocked(&tensor(x), None)?;
    let block: String = info(&image).layout.chars().filter(char::is_ascii_digit).collect();
    let mut t = tensor(w);
    if w.dims.len() != x.dims.len() || groups < 1 || w.dims[0] % groups != 0 {
        let text = "weights that have no blocked form".to_string();
        return Err((bt_code::BT_INVALID_ARGUMENT as i32, text));
    }
    let spatial = ["w", "hw", "dhw"][w.dims.len() - 3];
    if groups > 1 {
        let mut dims = vec![groups, w.dims[0] / groups];
        dims.extend(&w.dims[1..]);
        t = shaped("reshape", &t, "dims", &dims)?;
    }
    if transposed {
        let first = i64::from(groups > 1);
        let axes = [("x", Given::Tensor(t.0)), ("a", Given::Int(first)), ("b", Given::Int(first + 1))];
        t = call("transpose", &axes)?.remove(0);
    }
    let (all_first, all_second) = (w.dims[0], w.dims[1] * groups);
    let one_each = if transposed { all_second == groups } else { w.dims[1] == 1 && all_first == groups };
    let layout = match groups {
        1 => format!("OI{spatial}{block}i{block}o"),
        _ if one_each && x.dims[1] == groups => format!("Goi{spatial}{block}g"),
        _ => format!("gOI{spatial}{block}i{block}o"),
    };
    to_blocked(&t, Some(&layout))
}
