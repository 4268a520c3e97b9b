//! Parameters: of every op in a [`BoundOp`], and the public structs `MaxPool` and `AvgPool`.

use std::collections::hash_map::DefaultHasher;
use std::fmt::{Debug, Display};
use std::hash::{Hash, Hasher};

use blocktensor::dispatch::schema::{ArgKind, ArgSpec};
use blocktensor::dispatch::{self, DispatchKey, Op, Value};
use blocktensor::ops::{AvgPool, MaxPool};
use blocktensor::{BoundOp, Error, MemoryFormat, Operator, ParamValue, StridedTensor, Tensor};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::support::arguments;

type Params = Vec<(&'static str, Value)>;

/// This crate's ops. Other tests of this process register ops of another backend.
fn our_ops() -> Vec<&'static Op> {
    let ours =
        |op: &&Op| [DispatchKey::STRIDED, DispatchKey::BLOCKED].iter().any(|&k| op.kernel(k).is_some());
    let ops: Vec<_> = dispatch::ops().into_iter().filter(ours).collect();
    assert!(ops.len() > 100, "{}", ops.len());
    ops
}

/// The names of the tensors, and the parameters that have no default. No kernel runs, so any value of the right kind serves.
fn required(op: &Op) -> (Vec<&'static str>, Params) {
    let t: Tensor = StridedTensor::full(&[1, 17, 2, 3], 1f32, MemoryFormat::Contiguous).unwrap().into();
    let (mut inputs, mut params) = (Vec::new(), Vec::new());
    for (name, value) in arguments(op, &t) {
        match &value {
            Value::Tensor(_) => inputs.push(name),
            Value::Tensors(list) => inputs.extend(list.iter().map(|_| name)),
            _ => params.push((name, value)),
        }
    }
    (inputs, params)
}

fn parameters(op: &Op) -> impl Iterator<Item = &'static ArgSpec> {
    op.schema().args.iter().filter(|spec| !spec.kind.is_tensor())
}

/// A value that is neither the default nor the value that [`required`] gives.
fn other_value(kind: ArgKind) -> Value {
    match kind {
        ArgKind::Int(default) => Value::Int(default.unwrap_or(1) ^ 41),
        ArgKind::Ints(_) => vec![41i64, -42].into(),
        ArgKind::Float(_) => 41.25f64.into(),
        ArgKind::Bool(default) => (!default.unwrap_or(false)).into(),
        ArgKind::Str(_) => "another \"word\"".into(),
        _ => unreachable!("not a parameter"),
    }
}

/// `params` with another value for one of them.
fn with(params: &Params, name: &'static str, value: Value) -> Params {
    let others = params.iter().filter(|(n, _)| *n != name).cloned();
    others.chain([(name, value)]).collect()
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Checks that the two are the same value, and that `other` is not.
#[track_caller]
fn assert_same<T: PartialEq + Hash + Debug + Display>(a: &T, b: &T, other: &T) {
    assert_eq!(a, b);
    assert_eq!(hash_of(a), hash_of(b), "{a}");
    assert_eq!(a.to_string(), b.to_string());
    assert_ne!(a, other);
    assert_ne!(hash_of(a), hash_of(other), "{a} and {other}");
    assert_ne!(a.to_string(), other.to_string());
}

fn through_json<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn bound_ops_print_as_a_call_with_every_parameter() {
    for op in our_ops() {
        let (inputs, params) = required(op);
        let name = op.schema().name;
        let bound = BoundOp::new(name, &inputs, &params).unwrap();
        assert_eq!((bound.op(), bound.inputs()), (name, &inputs[..]));
        let shown = |(n, value): (&str, &ParamValue)| format!("{n} = {value}");
        let words = inputs.iter().map(|n| n.to_string()).chain(bound.params().map(shown));
        assert_eq!(bound.to_string(), format!("{name}({})", words.collect::<Vec<_>>().join(", ")));
        // Defaults are there too, in the schema's order.
        let names: Vec<_> = bound.params().map(|(n, _)| n).collect();
        assert_eq!(names, parameters(op).map(|spec| spec.name).collect::<Vec<_>>());
    }
    let clamp = BoundOp::new("clamp", &["x"], &[("max", 6.0.into())]).unwrap();
    assert_eq!(clamp.to_string(), "clamp(x, min = -inf, max = 6)");
    let cat = BoundOp::new("cat", &["tensors", "tensors"], &[("axis", 1.into())]).unwrap();
    assert_eq!(cat.to_string(), "cat(tensors, tensors, axis = 1)");
    let conv = BoundOp::new("conv2d", &["x", "weights", "bias"], &[("post_ops", "relu".into())]).unwrap();
    assert!(conv.to_string().starts_with("conv2d(x, weights, bias, stride = [1]"), "{conv}");
    assert!(conv.to_string().contains("post_ops = \"relu\""), "{conv}");
}

#[test]
fn bound_ops_compare_hash_and_serialise_by_every_parameter() {
    let mut changed = 0;
    for op in our_ops() {
        let (inputs, params) = required(op);
        let bind = |params: &Params| BoundOp::of(op, &inputs, params).unwrap();
        let bound = bind(&params);
        assert_eq!(through_json(&bound), bound);
        // The order in which parameters are given has no effect.
        assert_eq!(bound, bind(&params.iter().rev().cloned().collect()));
        for spec in parameters(op) {
            let value = other_value(spec.kind);
            let other = bind(&with(&params, spec.name, value));
            assert_same(&bound, &bind(&params), &other);
            assert_same(&other, &through_json(&other), &bound);
            changed += 1;
        }
    }
    assert!(changed > 150, "{changed}");
    let two = BoundOp::new("cat", &["tensors"; 2], &[("axis", 1.into())]).unwrap();
    let three = BoundOp::new("cat", &["tensors"; 3], &[("axis", 1.into())]).unwrap();
    assert_same(&two, &through_json(&two), &three);
    let plain = BoundOp::new("conv2d", &["x", "weights"], &[]).unwrap();
    let biased = BoundOp::new("conv2d", &["x", "weights", "bias"], &[]).unwrap();
    assert_same(&plain, &through_json(&plain), &biased);
}

/// JSON has no infinities and no NaN.
#[test]
fn bound_ops_keep_every_float_through_json() {
    for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -0.0, 5e-324, f64::MAX, 0.1, 3.0] {
        let bound = BoundOp::new("clamp", &["x"], &[("min", value.into())]).unwrap();
        assert_eq!(through_json(&bound), bound);
    }
}

/// Fails unless the error is `InvalidArgument` and names both.
#[track_caller]
fn assert_refused(result: Result<BoundOp, Error>, op: &str, argument: &str) {
    let e = result.expect_err(op);
    assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
    let c = e.complaint().unwrap();
    assert_eq!((&*c.op, &*c.argument), (op, argument), "{e}");
    assert!(e.to_string().contains(op) && e.to_string().contains(argument), "{e}");
    assert!([&*c.got, &*c.rule, &*c.remedy].iter().all(|text| !text.is_empty()), "{c:?}");
}

/// Fails unless the error is about the inputs, and names this one.
#[track_caller]
fn assert_inputs_refused(result: Result<BoundOp, Error>, op: &str, input: &str) {
    let text = result.as_ref().err().map(Error::to_string).unwrap_or_default();
    assert_refused(result, op, "inputs");
    assert!(text.contains(&format!("`{input}`")), "{text}");
}

#[test]
fn bad_inputs_and_parameters_are_errors_that_name_op_and_argument() {
    let (mut tensors, mut missing) = (0, 0);
    for op in our_ops() {
        let name = op.schema().name;
        let (inputs, params) = required(op);
        let bind = |inputs: &[&str], params: &Params| BoundOp::new(name, inputs, params);

        assert_inputs_refused(
            bind(&[&inputs[..], &["no_such_input"]].concat(), &params),
            name,
            "no_such_input",
        );
        assert_refused(
            bind(&inputs, &with(&params, "no_such_parameter", 1.into())),
            name,
            "no_such_parameter",
        );
        // The name of a tensor argument is not a parameter.
        assert_refused(bind(&inputs, &with(&params, inputs[0], 1.into())), name, inputs[0]);

        for (i, input) in inputs.iter().enumerate() {
            let spec = op.schema().args.iter().find(|spec| spec.name == *input).unwrap();
            if spec.kind == ArgKind::DataList {
                continue;
            }
            let rest: Vec<&str> = inputs.iter().copied().filter(|other| other != input).collect();
            assert_inputs_refused(bind(&rest, &params), name, input);
            let twice: Vec<&str> = [&inputs[..=i], &inputs[i..]].concat();
            assert_refused(bind(&twice, &params), name, input);
            tensors += 1;
            // Inputs in another order than the schema: the first of the two is missing at its place.
            if i + 1 < inputs.len() {
                let mut swapped = inputs.clone();
                swapped.swap(i, i + 1);
                assert_inputs_refused(bind(&swapped, &params), name, input);
            }
        }

        for spec in parameters(op) {
            let once = with(&params, spec.name, other_value(spec.kind));
            let twice: Params = once.iter().cloned().chain([(spec.name, other_value(spec.kind))]).collect();
            assert_refused(bind(&inputs, &twice), name, spec.name);
            let wrong: Value =
                if matches!(spec.kind, ArgKind::Str(_)) { true.into() } else { "a word".into() };
            assert_refused(bind(&inputs, &with(&params, spec.name, wrong)), name, spec.name);
            let tensor = StridedTensor::full(&[1], 1f32, MemoryFormat::Contiguous).unwrap();
            assert_refused(bind(&inputs, &with(&params, spec.name, tensor.into())), name, spec.name);
        }
        for (given, _) in &params {
            let rest: Params = params.iter().filter(|(n, _)| n != given).cloned().collect();
            assert_refused(bind(&inputs, &rest), name, given);
            missing += 1;
        }
    }
    assert!(tensors > 100 && missing > 20, "{tensors} {missing}");
    assert_refused(BoundOp::new("no_such_op", &["x"], &[]), "no_such_op", "op");
    // `bias` comes after `weights` in the schema.
    assert_inputs_refused(BoundOp::new("conv2d", &["x", "bias", "weights"], &[]), "conv2d", "weights");
}

#[test]
fn a_file_with_a_bad_bound_op_is_an_error() {
    for (text, part) in [
        (r#"{"op": "no_such_op", "inputs": ["x"], "params": []}"#, "no_such_op"),
        (r#"{"op": "relu", "inputs": ["y"], "params": []}"#, "`relu`"),
        (r#"{"op": "relu", "inputs": [], "params": []}"#, "`relu`"),
        (r#"{"op": "softmax", "inputs": ["x"], "params": []}"#, "axis"),
        (r#"{"op": "softmax", "inputs": ["x"], "params": [["axis", "last"]]}"#, "axis"),
        (r#"{"op": "softmax", "inputs": ["x"], "params": [["axis", 1], ["axis", 1]]}"#, "axis"),
        (r#"{"op": "softmax", "inputs": ["x"], "params": [["axis", {}]]}"#, "ParamValue"),
    ] {
        let e = serde_json::from_str::<BoundOp>(text).unwrap_err();
        assert!(e.to_string().contains(part), "{text}: {e} lacks {part}");
    }
}

/// Each of `others` differs from `params` in one field.
#[track_caller]
fn check_params<T>(params: &T, shown: &str, others: &[T])
where
    T: Serialize + DeserializeOwned + PartialEq + Hash + Debug + Display + Clone,
{
    assert_eq!(params.to_string(), shown);
    for other in others {
        assert_same(params, &params.clone(), other);
        assert_same(params, &through_json(params), other);
        assert_same(other, &through_json(other), params);
    }
    // Parameters that a file leaves out have their defaults. A wrong value and an unknown name are errors.
    let json = |text: &str| serde_json::from_str::<T>(text).map_err(|e| e.to_string());
    for (text, part) in
        [("{}", "kernel"), (r#"{"kernel": "wide"}"#, "kernel"), (r#"{"kernel": [2], "size": 2}"#, "size")]
    {
        let e = json(text).unwrap_err();
        assert!(e.contains(part), "{text}: {e} lacks {part}");
    }
    let defaults: T = json(r#"{"kernel": [3]}"#).unwrap();
    assert!(defaults.to_string().contains("stride = []"), "{defaults}");
}

#[test]
fn max_pool_params_print_compare_hash_and_serialise() {
    let base = MaxPool::<2>::window([3, 2]).padding(1);
    check_params(
        &base,
        "kernel = [3, 2], stride = [], padding = [1, 1], dilation = [1, 1], ceil_mode = false",
        &[
            MaxPool::window([2, 3]).padding(1),
            base.clone().stride(1),
            base.clone().padding(0),
            base.clone().dilations([1, 2]),
            base.clone().ceil_mode(),
        ],
    );
    let line = MaxPool::<1>::new(2);
    check_params(&line, "kernel = [2], stride = [], padding = [0], dilation = [1], ceil_mode = false", &[]);
    assert_eq!(serde_json::from_str::<MaxPool<3>>(r#"{"kernel": [2]}"#).unwrap(), MaxPool::new(2));
}

#[test]
fn avg_pool_params_print_compare_hash_and_serialise() {
    let base = AvgPool::<3>::window([3, 2, 1]).stride(2);
    check_params(
        &base,
        "kernel = [3, 2, 1], stride = [2, 2, 2], padding = [0, 0, 0], ceil_mode = false, count_include_pad = true",
        &[
            AvgPool::new(3).stride(2),
            base.clone().strides([2, 2, 1]),
            base.clone().paddings([0, 1, 0], [0, 1, 0]),
            base.clone().ceil_mode(),
            base.clone().count_include_pad(false),
        ],
    );
}
