//! Programs on a tape: ops with operands and parameters that often fit, reorders, and a backward call from one of the values. Each call
//! must give a typed error or a value. Gradients are as their variables, and the same in other storage.
#![no_main]

use blocktensor::dispatch::{self, ArgKind, ArgSpec, Op, Value};
use blocktensor::{BoundOp, DType, MemoryFormat, Operand, Tensor, TensorDesc};
use blocktensor_fuzz::numbers::bits;
use blocktensor_fuzz::{
    Fill, Input, blocked_layout, check_error, dims_of, limit_memory, setup, storage, strided,
};
use blocktensor_grad::{Gradients, Tape, Var, check, cross_entropy, mse_loss};
use libfuzzer_sys::fuzz_target;

/// The most elements of an operand.
const MOST: usize = 1 << 9;
/// The most steps of a program.
const STEPS: usize = 8;

fuzz_target!(|data: &[u8]| {
    setup();
    limit_memory();
    let dirty = data.first().is_some_and(|byte| byte % 2 == 1);
    storage(dirty);
    let first = run(data);
    storage(!dirty);
    assert!(first == run(data), "other gradients the second time");
    let described = check(|tape| {
        program(&mut Input::new(data), tape);
        Ok(())
    });
    described.expect("each error was taken").iter().for_each(check_error);
});

/// Bits of the gradients of the variables, where there are some.
fn run(data: &[u8]) -> Vec<Option<(DType, Vec<u32>)>> {
    let mut input = Input::new(data);
    let mut tape = Tape::open();
    let (variables, values) = program(&mut input, &mut tape);
    let from = input.pick(&values);
    let like = input.pick(&values).tensor().clone();
    let diff = if input.one_in(8) { like } else { from.tensor().clone() };
    let gradients = match input.one_in(8) {
        true => tape.backward(&from),
        false => tape.backward_from(&from, diff),
    };
    match gradients {
        Ok(gradients) => variables.iter().map(|var| checked(&gradients, var)).collect(),
        Err(e) => {
            check_error(&e);
            Vec::new()
        }
    }
}

/// The bits of a variable's gradient, which must be as the variable.
fn checked(gradients: &Gradients, var: &Var) -> Option<(DType, Vec<u32>)> {
    let made = gradients.of(var)?;
    let (x, d) = (var.tensor().tensor_ref(), made.tensor_ref());
    assert_eq!((x.dims(), x.dtype(), x.key()), (d.dims(), d.dtype(), d.key()));
    if let Tensor::Blocked(made) = made {
        assert_eq!(x.layout_name(), d.layout_name());
        made.check_tail().unwrap();
    }
    Some(bits(made))
}

/// Runs a program. Returns its variables and all its values, at least one of each.
fn program(input: &mut Input, tape: &mut Tape) -> (Vec<Var>, Vec<Var>) {
    input.byte();
    let rank = input.pick(&[4, 4, 4, 2, 3, 5, 1, 0]);
    let dims = dims_of(input, rank, MOST);
    let layout = if input.flag() { blocked_layout(input, rank) } else { None };
    let (mut variables, mut values) = (Vec::new(), Vec::new());
    for i in 0..input.between(1, 3) {
        let of = if input.one_in(4) { dims_of(input, rank, MOST) } else { dims.clone() };
        let dtype = if i > 0 && input.one_in(6) { input.pick(&DType::ALL) } else { DType::F32 };
        let plain = strided(input, &of, dtype, Fill::Tame);
        let blocked = layout.filter(|l| l.size_elements(&of).is_ok_and(|n| n <= 1 << 16));
        let tensor = match blocked {
            Some(layout) => plain.to_blocked(&layout).expect("of its rank").into(),
            None => plain.into(),
        };
        let is_variable = i == 0 || !input.one_in(3);
        let var = if is_variable { tape.variable(tensor) } else { tape.constant(tensor) };
        if is_variable {
            variables.push(var.clone());
        }
        values.push(var);
    }
    for _ in 0..input.below(STEPS + 1) {
        match step(input, tape, &values) {
            Ok(made) => values.extend(made.into_iter().filter(|var| is_small(var.tensor()))),
            Err(e) => check_error(&e),
        }
    }
    (variables, values)
}

fn is_small(t: &Tensor) -> bool {
    t.tensor_ref().dims().iter().product::<usize>() <= 8 * MOST
}

/// One call on values of the tape.
fn step(input: &mut Input, tape: &mut Tape, values: &[Var]) -> blocktensor::Result<Vec<Var>> {
    let x = input.pick(values);
    match input.below(12) {
        0 => {
            let (t, rank) = (x.tensor().tensor_ref(), x.tensor().tensor_ref().dims().len());
            let to = match blocked_layout(input, rank).filter(|_| input.flag()) {
                Some(layout) => TensorDesc::blocked(t.dims(), t.dtype(), &layout)?,
                None => {
                    let last = MemoryFormat::channels_last_of(rank).filter(|_| input.flag());
                    TensorDesc::strided(t.dims(), t.dtype(), last.unwrap_or(MemoryFormat::Contiguous))?
                }
            };
            Ok(vec![tape.reorder(&x, &to)?])
        }
        1 => Ok(vec![mse_loss(tape, &x, &input.pick(values))?]),
        2 => Ok(vec![cross_entropy(tape, &x, &input.pick(values))?]),
        _ => {
            let ops = dispatch::ops();
            let op: &'static Op = ops[input.below(ops.len())];
            let (mut names, mut params, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
            for spec in op.schema().args {
                for _ in 0..tensors(input, spec) {
                    names.push(spec.name);
                    inputs.push(input.pick(values));
                }
                params.extend(param(input, spec).map(|value| (spec.name, value)));
            }
            let bound = BoundOp::of(op, &names, &params)?;
            tape.call_all(&bound, &inputs.iter().collect::<Vec<_>>())
        }
    }
}

/// How many tensors an argument gets.
fn tensors(input: &mut Input, spec: &ArgSpec) -> usize {
    match spec.kind {
        ArgKind::DataList | ArgKind::ParamList => input.below(4),
        ArgKind::OptionalData | ArgKind::OptionalParam => usize::from(input.one_in(3)),
        kind => usize::from(kind.is_tensor()),
    }
}

/// The value of a parameter; `None` is its default.
fn param(input: &mut Input, spec: &ArgSpec) -> Option<Value> {
    let small = |input: &mut Input| input.between(0, 4) as i64 - 1;
    let is_set = input.one_in(3);
    match spec.kind {
        ArgKind::Int(default) if is_set || default.is_none() => Some(Value::Int(small(input))),
        ArgKind::Ints(default) if is_set || default.is_none() => {
            Some(Value::Ints((0..input.between(1, 4)).map(|_| small(input)).collect()))
        }
        ArgKind::Float(default) if is_set || default.is_none() => {
            Some(Value::Float(input.pick(&[0.5, 0.0, 1.0, 2.0, -1.0, 1e-5])))
        }
        ArgKind::Bool(default) if is_set || default.is_none() => Some(Value::Bool(input.flag())),
        ArgKind::Str(None) => Some(Value::Str(input.pick(&["", "f32", "nearest"]).to_string())),
        _ => None,
    }
}
