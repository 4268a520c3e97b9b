//! Ops by name, with arguments that are right, nearly right, or extreme. Each call must give a typed error, or a well-formed
//! result that is the same in other storage and, within rounding, the same under the other key.
#![no_main]

mod other_key;

use blocktensor::dispatch::{self, ArgKind, ArgSpec, DispatchKey, Op, Value};
use blocktensor::{DType, Layout, Operand, StridedTensor, Tensor, WeightsKind};
use blocktensor_fuzz::numbers::bits;
use blocktensor_fuzz::{
    Fill, Input, blocked_layout, check_error, dims_of, limit_memory, setup, storage, strided,
};
use libfuzzer_sys::fuzz_target;

/// The most elements of an operand.
const MOST: usize = 1 << 11;

fuzz_target!(|data: &[u8]| {
    setup();
    let mut input = Input::new(data);
    let dirty = input.flag();
    let ops = dispatch::ops();
    let op: &Op = ops[input.below(ops.len())];
    let call = Call::new(&mut input, op);
    limit_memory();
    storage(dirty);
    let before = call.operands();
    let first = dispatch::call(op.schema().name, &call.borrowed());
    let first = match first {
        Ok(results) => results,
        Err(e) => {
            check_error(&e);
            assert!(before == call.operands(), "{}: an operand changed: {call:?}", op.schema().name);
            return;
        }
    };
    assert!(!first.is_empty());
    let results: Vec<_> = first.iter().map(|t| checked(t, op, &call)).collect();
    assert!(before == call.operands(), "{}: an operand changed: {call:?}", op.schema().name);
    drop(first);
    // The result must be the same in other storage: the kernel wrote every element.
    storage(!dirty);
    let again = dispatch::call(op.schema().name, &call.borrowed()).expect("as before");
    assert!(
        again.iter().map(|t| checked(t, op, &call)).eq(results),
        "{}: another result the second time: {call:?}",
        op.schema().name
    );
    if call.tame {
        other_key::on_other_key(op, &call, &again);
    }
});

/// Checks a result. Returns its sizes and bits.
fn checked(t: &Tensor, op: &Op, call: &Call) -> (Vec<usize>, DType, Vec<u32>) {
    let (key, rank) = (t.tensor_ref().key(), t.tensor_ref().dims().len());
    // Results that are parameters are strided and 1-D under every key.
    let right = key == call.key(op) || key == DispatchKey::STRIDED && rank == 1;
    assert!(right, "{}: a result of key {key}: {call:?}", op.schema().name);
    if let Tensor::Blocked(b) = t {
        b.check_tail().unwrap_or_else(|e| panic!("{e}: {} {call:?}", op.schema().name));
    }
    let dims = t.tensor_ref().dims().to_vec();
    // The elements of a huge result are not read. Expanded views may be larger than memory.
    if dims.iter().product::<usize>() > 1 << 16 {
        return (dims, t.tensor_ref().dtype(), Vec::new());
    }
    let (dtype, bits) = bits(t);
    (dims, dtype, bits)
}

/// A call of one op.
#[derive(Debug)]
struct Call {
    values: Vec<(String, Value)>,
    /// No argument is extreme, so results may be compared as numbers.
    tame: bool,
    groups: usize,
}

/// The first data operand, which the others are chosen to fit.
struct First {
    dims: Vec<usize>,
    dtype: DType,
    layout: Option<Layout>,
    groups: usize,
    outputs: usize,
    tame: bool,
    fill: Fill,
}

impl Call {
    fn new(input: &mut Input, op: &Op) -> Call {
        let (name, schema) = (op.schema().name, op.schema());
        let tame = !input.one_in(3);
        let conv = name.starts_with("conv");
        let suited = match name {
            _ if name.ends_with("1d") || name == "upsample_linear" => Some(3),
            _ if name.ends_with("2d") || name == "upsample_bilinear" || name.starts_with("pixel") => Some(4),
            _ if name.ends_with("3d") || name == "upsample_trilinear" => Some(5),
            "linear" | "matmul" => Some(2),
            _ => None,
        };
        let rank = match suited {
            Some(rank) if tame || !input.one_in(8) => rank,
            _ if input.one_in(4) => input.between(0, 6),
            _ => input.between(3, 5),
        };
        let dims = dims_of(input, rank, MOST);
        // Some ops take integers alone.
        let taken = schema.args.iter().find(|a| a.kind.is_data()).and_then(|a| a.dtypes.list());
        let dtype = match taken.filter(|list| !list.is_empty() && !list.contains(&DType::F32)) {
            Some(list) if tame || !input.one_in(8) => input.pick(list),
            _ if conv && input.one_in(3) => input.pick(&[DType::U8, DType::S8]),
            _ if input.one_in(4) => input.pick(&DType::ALL),
            _ => DType::F32,
        };
        let native = Layout::native_activation(rank).ok();
        let layout = match input.below(5) {
            0 | 1 => None,
            2 | 3 => native,
            _ => blocked_layout(input, rank),
        };
        let channels = dims.get(1).copied().unwrap_or(1).max(1);
        let groups = if conv { input.pick(&[1, 1, 2, channels]) } else { 1 };
        let outputs = groups * input.pick(&[1, 2, 5, 16, 17]).min(64usize.div_ceil(groups));
        // A blocked convolution multiplies an infinity with the zeros of the weights' tail, and leaves NaN in its own.
        let fill = match (tame, conv) {
            (true, _) => Fill::Tame,
            (false, true) => Fill::Finite,
            (false, false) => Fill::Any,
        };
        let mut first = First { dims, dtype, layout, groups, outputs, tame, fill };
        let mut data_operands = 0;
        let mut values = Vec::new();
        for spec in schema.args {
            let leave_out = if is_required(spec) { !tame && input.one_in(16) } else { input.flag() };
            if leave_out {
                continue;
            }
            let value = match !tame && input.one_in(12) {
                true => any_value(input, &first),
                false => value(input, spec, name, &mut first, &mut data_operands),
            };
            values.push((spec.name.to_string(), value));
        }
        if conv && groups > 1 && !values.iter().any(|(n, _)| n == "groups") {
            values.push(("groups".into(), Value::Int(groups as i64)));
        }
        if !tame && input.one_in(32) {
            let bytes = input.bytes(6);
            values.push((String::from_utf8_lossy(bytes).into_owned(), any_value(input, &first)));
        }
        Call { values, tame, groups }
    }

    /// The key of the data operands. A call that succeeded has at least one.
    fn key(&self, op: &Op) -> DispatchKey {
        let tensor = |v: &Value| match v {
            Value::Tensor(t) => Some(t.tensor_ref().key()),
            Value::Tensors(list) => list.first().map(|t| t.tensor_ref().key()),
            _ => None,
        };
        let is_data = |name: &str| op.schema().args.iter().any(|a| a.name == name && a.kind.is_data());
        self.values.iter().filter(|(n, _)| is_data(n)).find_map(|(_, v)| tensor(v)).expect("a data operand")
    }

    fn borrowed(&self) -> Vec<(&str, Value)> {
        self.values.iter().map(|(n, v)| (n.as_str(), v.clone())).collect()
    }

    /// The bits of every operand.
    fn operands(&self) -> Vec<(DType, Vec<u32>)> {
        let tensors = |v: &Value| match v {
            Value::Tensor(t) => vec![t.clone()],
            Value::Tensors(list) => list.clone(),
            _ => vec![],
        };
        self.values.iter().flat_map(|(_, v)| tensors(v)).map(|t| bits(&t)).collect()
    }
}

fn is_required(spec: &ArgSpec) -> bool {
    use ArgKind::*;
    matches!(
        spec.kind,
        Data | DataList | Param | Plain | Int(None) | Ints(None) | Float(None) | Bool(None) | Str(None)
    )
}

/// A random value of the kind of the argument.
fn value(input: &mut Input, spec: &ArgSpec, op: &str, first: &mut First, seen: &mut usize) -> Value {
    let rank = first.dims.len();
    match spec.kind {
        ArgKind::Data | ArgKind::OptionalData => {
            *seen += 1;
            operand(input, spec.name, op, first, *seen == 1)
        }
        ArgKind::DataList => {
            let axis = input.below(rank.max(1));
            let one = |input: &mut Input| {
                let mut dims = first.dims.clone();
                if let Some(d) = dims.get_mut(axis).filter(|_| op == "cat" && first.layout.is_none()) {
                    *d = input.below(5);
                }
                data(input, &dims, first.dtype, first)
            };
            Value::Tensors((0..input.between(usize::from(first.tame), 3)).map(|_| one(input)).collect())
        }
        ArgKind::Param | ArgKind::OptionalParam => {
            Value::Tensor(parameter(input, spec.name, op, first).into())
        }
        ArgKind::ParamList => {
            let n = input.below(3);
            Value::Tensors((0..n).map(|_| parameter(input, spec.name, op, first).into()).collect())
        }
        ArgKind::Plain => Value::Tensor(grid(input, first).into()),
        ArgKind::Int(_) => match spec.name {
            "groups" if op.starts_with("conv") => Value::Int(first.groups as i64),
            "axis" | "start" | "end" if first.tame => Value::Int(input.below(rank.max(1)) as i64),
            _ => Value::Int(integer(input, first)),
        },
        ArgKind::Ints(_) => ints(input, spec.name, first),
        ArgKind::Float(_) => match first.tame {
            true => Value::Float(input.pick(&[0.0, 0.5, 1.0, 2.0, 1e-5, 0.1, 3.0])),
            false => Value::Float(input.hostile_float()),
        },
        ArgKind::Bool(_) => Value::Bool(input.flag()),
        ArgKind::Str(_) => Value::Str(word(input, spec.name, op, first)),
    }
}

/// A data operand: the first one is random, weights fit it, and others have its sizes or sizes that broadcast to them.
fn operand(input: &mut Input, name: &str, op: &str, first: &First, is_first: bool) -> Value {
    let dims = first.dims.clone();
    if name == "weights" || op == "matmul" && !is_first {
        return weights(input, op, first);
    }
    let dtype = match name {
        "index" => DType::S32,
        "condition" => DType::U8,
        // Of a convolution of integers it has the dtype that the post-ops state.
        "residual" if is_byte(first.dtype) => input.pick(&[DType::F32, DType::U8, DType::S8]),
        _ => first.dtype,
    };
    let dims = match is_first {
        true => dims,
        false if name == "residual" => {
            let mut dims = dims;
            dims.iter_mut().skip(1).take(1).for_each(|c| *c = first.outputs);
            dims
        }
        false => dims.iter().map(|&d| if input.one_in(6) { 1 } else { d }).collect(),
    };
    Value::Tensor(data(input, &dims, dtype, first))
}

fn weights(input: &mut Input, op: &str, first: &First) -> Value {
    let (rank, g) = (first.dims.len(), first.groups);
    let c = first.dims.get(1).copied().unwrap_or(1);
    let k = first.dims.last().copied().unwrap_or(1);
    let o = first.outputs;
    if !op.starts_with("conv") {
        let dims = if op == "linear" { vec![o, k] } else { vec![k, o] };
        return Value::Tensor(data(input, &dims, first.dtype, first));
    }
    let mut dims = if op.starts_with("conv_t") { vec![c, o / g] } else { vec![o, c / g] };
    dims.extend((2..rank).map(|_| input.between(1, 3)));
    // Convolutions of integers have s8 weights.
    let dtype = if is_byte(first.dtype) { DType::S8 } else { first.dtype };
    let plain = strided(input, &dims, dtype, first.fill);
    if first.layout.is_none() {
        return Value::Tensor(plain.into());
    }
    Value::Tensor(blocked_weights(&plain, op, g, c, o).unwrap_or_else(|| plain.into()))
}

/// Weights for blocked sources: output channels first, and a dimension for the groups if there are several.
fn blocked_weights(plain: &StridedTensor, op: &str, groups: usize, c: usize, o: usize) -> Option<Tensor> {
    let mut dims = plain.dims().to_vec();
    let kind = match groups {
        1 => WeightsKind::Dense,
        g if g == c && g == o => WeightsKind::Depthwise,
        _ => WeightsKind::Grouped,
    };
    if groups > 1 {
        if !dims[0].is_multiple_of(groups) {
            return None;
        }
        dims[0] /= groups;
        dims.insert(0, groups);
    }
    let mut apart = plain.reshape(&dims).ok()?;
    if op.starts_with("conv_t") {
        let first = usize::from(groups > 1);
        apart = apart.transpose(first, first + 1).ok()?;
    }
    let layout = Layout::native_weights(dims.len(), kind).ok()?;
    Some(apart.to_blocked(&layout).ok()?.into())
}

fn parameter(input: &mut Input, name: &str, op: &str, first: &First) -> StridedTensor {
    let c = first.dims.get(1).copied().unwrap_or(1);
    let last = first.dims.last().copied().unwrap_or(1);
    let tail: usize = first.dims.iter().skip(1).product();
    let length = match op {
        _ if !first.tame && input.one_in(6) => input.below(40),
        _ if op.starts_with("conv") || op == "linear" => first.outputs,
        "layer_norm" => input.pick(&[last, tail, c]),
        "lookup" => 256,
        _ if is_of_scales(name) => input.pick(&[1, 1, c, last]),
        _ => c,
    };
    if first.tame && name.ends_with("scale") && is_of_scales(name) {
        let values: Vec<f32> = (0..length).map(|_| input.between(1, 64) as f32 / 32.0).collect();
        return StridedTensor::from_slice(&values, &[length]).expect("as many as its size");
    }
    let dtype = match name {
        "index" => DType::S32,
        "values" if op == "lookup" => input.pick(&[DType::U8, DType::S8]),
        _ if name.ends_with("zero_point") => DType::S32,
        _ if !first.tame && input.one_in(8) => input.pick(&DType::ALL),
        _ => DType::F32,
    };
    let dims: &[usize] = if !first.tame && input.one_in(16) { &[length, 1] } else { &[length] };
    strided(input, dims, dtype, first.fill)
}

/// Whether a parameter is the scales or zero points of quantised numbers: one, or one for each index of an axis.
fn is_of_scales(name: &str) -> bool {
    ["scale", "zero_point", "dst_scale", "dst_zero_point"].contains(&name)
}

fn is_byte(dtype: DType) -> bool {
    matches!(dtype, DType::U8 | DType::S8)
}

/// A grid for `grid_sample`: as many images as the first operand, and a coordinate for each spatial dimension.
fn grid(input: &mut Input, first: &First) -> StridedTensor {
    let spatial = first.dims.len().saturating_sub(2);
    let mut dims = vec![first.dims.first().copied().unwrap_or(1)];
    dims.extend((0..spatial).map(|_| input.below(5)));
    dims.push(spatial);
    if !first.tame && input.one_in(8) {
        let axis = input.below(dims.len());
        dims[axis] = input.below(5);
    }
    let dtype = if !first.tame && input.one_in(8) { input.pick(&DType::ALL) } else { DType::F32 };
    strided(input, &dims, dtype, first.fill)
}

/// A tensor of the first operand's key; sometimes of the other key.
fn data(input: &mut Input, dims: &[usize], dtype: DType, first: &First) -> Tensor {
    let plain = strided(input, dims, dtype, first.fill);
    let layout = first.layout.filter(|l| l.rank() == dims.len()).filter(|_| first.tame || !input.one_in(16));
    match layout {
        // Layouts with large blocks may make small tensors far larger.
        Some(l) if l.size_elements(dims).is_ok_and(|n| n <= 1 << 18) => {
            plain.to_blocked(&l).expect("of its rank").into()
        }
        _ => plain.into(),
    }
}

fn integer(input: &mut Input, first: &First) -> i64 {
    match input.below(8) {
        0 if !first.tame => input.hostile(),
        1 if !first.dims.is_empty() => input.pick(&first.dims) as i64,
        2 if !first.tame => -(input.below(5) as i64),
        _ => input.below(5) as i64,
    }
}

fn ints(input: &mut Input, name: &str, first: &First) -> Value {
    let rank = first.dims.len();
    let list: Vec<i64> = match name {
        "axes" if first.tame || !input.one_in(4) => {
            let n = input.below(rank + 1);
            input.shuffled(rank)[..n].iter().map(|&a| a as i64).collect()
        }
        "normalized_shape" if first.tame || !input.one_in(4) => {
            first.dims[input.below(rank.max(1))..].iter().map(|&d| d as i64).collect()
        }
        "dims" if !input.one_in(3) => {
            let mut dims: Vec<i64> = first.dims.iter().map(|&d| d as i64).collect();
            if !dims.is_empty() {
                let (a, b) = (input.below(rank), input.below(rank));
                dims.swap(a, b);
            }
            dims
        }
        "padding" if first.layout.is_none() && input.one_in(3) => {
            (0..2 * input.below(rank + 1)).map(|_| integer(input, first)).collect()
        }
        _ => {
            let n = match input.below(4) {
                0 => 1,
                1 => input.below(rank + 2),
                2 => rank,
                _ => rank.saturating_sub(2),
            };
            let n = if !first.tame && input.one_in(32) { 40 } else { n };
            (0..n).map(|_| integer(input, first)).collect()
        }
    };
    if list.len() == 1 && input.flag() { Value::Int(list[0]) } else { Value::Ints(list) }
}

fn word(input: &mut Input, name: &str, op: &str, first: &First) -> String {
    const POST_OPS: [&str; 23] = [
        "",
        "relu",
        "residual",
        "residual,relu",
        "clip(0,6)",
        "relu,residual",
        "mul_channel,add_channel",
        "sigmoid",
        "tanh",
        "silu",
        "hardswish",
        "hardsigmoid,gelu",
        "prelu,residual",
        "leaky_relu(0.1)",
        "clip(6,0)",
        "relu,relu,relu,relu,relu,relu,relu,relu,relu",
        "quantize(u8,0)",
        "relu,quantize(s8,-128)",
        "mul_channel,add_channel,quantize(u8,3)",
        "round(u8,7),residual(s8,0.5,-3),relu,quantize(u8,128)",
        "mul_channel,silu,round(s8,-5)",
        "residual(u8,0.25,100),quantize(s8,127)",
        "quantize(u8,256)",
    ];
    if !first.tame && input.one_in(4) {
        return String::from_utf8_lossy(input.bytes(16)).into_owned();
    }
    match name {
        "post_ops" => input.pick(&POST_OPS).into(),
        "dtype" => input.pick(&["u8", "s8", "f32", "bf16"]).into(),
        "mode" if op == "grid_sample" => input.pick(&["bilinear", "nearest", "bicubic"]).into(),
        "padding_mode" => input.pick(&["zeros", "border", "reflection"]).into(),
        _ => input.pick(&["constant", "reflect", "replicate", "circular"]).into(),
    }
}

/// A random value of any kind.
fn any_value(input: &mut Input, first: &First) -> Value {
    match input.below(7) {
        0 => Value::Int(input.hostile()),
        1 => Value::Ints((0..input.below(5)).map(|_| input.hostile()).collect()),
        2 => Value::Float(input.hostile_float()),
        3 => Value::Bool(input.flag()),
        4 => Value::Str(String::from_utf8_lossy(input.bytes(8)).into_owned()),
        choice => {
            let rank = input.below(7);
            let (dims, dtype) = (dims_of(input, rank, 256), input.pick(&DType::ALL));
            let t = data(input, &dims, dtype, first);
            if choice == 5 { Value::Tensor(t) } else { Value::Tensors(vec![t.clone(), t]) }
        }
    }
}
