//! Samples of PyTorch's OpInfo with PyTorch's answers, through C: on strided tensors, and on blocked ones where the op has a
//! blocked kernel. Elsewhere the error is checked. tests/data/opinfo/README.md tells how the samples were made.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;

use blocktensor::dispatch::{self, DispatchKey};
use blocktensor_c::{bt_code, bt_live_handles};

mod calls;
mod compare;
mod forms;
mod samples;
#[path = "../support/mod.rs"]
mod support;

use calls::{Failure, Given, Held, call, schema, tensor};
use compare::differences;
use forms::{Form, blocked};
use samples::{Operand, Param, Sample, samples, stored_bytes};

const UNSUPPORTED_OP: i32 = bt_code::BT_UNSUPPORTED_OP as i32;
const OPAQUE_LAYOUT: i32 = bt_code::BT_OPAQUE_LAYOUT as i32;
const RANK_MISMATCH: i32 = bt_code::BT_RANK_MISMATCH as i32;
const INVALID_ARGUMENT: i32 = bt_code::BT_INVALID_ARGUMENT as i32;

/// What errors about blocked operands tell to call.
const REMEDY: &str = "bt_to_strided";

/// Handles of an argument's tensors.
pub enum Tensors {
    /// Of an argument that is one tensor.
    One(Held),
    /// Of an argument that is a list.
    List(Vec<Held>),
}

fn given(operands: &Operand) -> Tensors {
    match operands {
        Operand::One(a) => Tensors::One(tensor(a)),
        Operand::List(list) => Tensors::List(list.iter().map(tensor).collect()),
    }
}

fn run(sample: &Sample, tensors: &[(&str, Tensors)]) -> Result<Vec<Held>, Failure> {
    let tensors = tensors.iter().map(|(name, t)| match t {
        Tensors::One(t) => (*name, Given::Tensor(t.0)),
        Tensors::List(list) => (*name, Given::Tensors(list.iter().map(|t| t.0).collect())),
    });
    let params = sample.params.iter().map(|(name, p)| {
        let value = match p {
            Param::Int(v) => Given::Int(*v),
            Param::Ints(v) => Given::Ints(v),
            Param::Float(v) => Given::Float(*v),
            Param::Bool(v) => Given::Bool(*v),
            Param::Word(v) => Given::Word(CString::new(v.as_str()).unwrap()),
        };
        (name.as_str(), value)
    });
    call(&sample.op, &tensors.chain(params).collect::<Vec<_>>())
}

/// What is wrong with the answer to a call, if anything is.
fn judge(sample: &Sample, answer: &Result<Vec<Held>, Failure>) -> Option<String> {
    match (answer, sample.is_refused()) {
        (Ok(_), true) => Some("PyTorch refuses it".into()),
        (Err((code, _)), true) if *code == bt_code::BT_PANICKED as i32 => Some("a panic".into()),
        (Err(_), true) => None,
        (Err((code, text)), false) => Some(format!("error {code}: {text}")),
        (Ok(got), false) => differences(&sample.op, got, &sample.results),
    }
}

/// Whether this call is refused here on purpose and not in PyTorch.
fn is_stricter(sample: &Sample, failure: &Failure) -> bool {
    let (code, text) = failure;
    let rule = match sample.op.as_str() {
        // PyTorch gives NaN, unless every variance is larger than the number.
        "batch_norm" | "batch_norm_train" | "group_norm" | "instance_norm" | "layer_norm"
            if *code == INVALID_ARGUMENT =>
        {
            "argument `eps`: got -"
        }
        // PyTorch takes rank 1 only if it is empty.
        "batch_norm" | "batch_norm_train" if *code == RANK_MISMATCH => "got [0] f32 contiguous of rank 1",
        _ => return false,
    };
    text.contains(rule)
}

/// Whether this is the error of a blocked call that the op has no kernel for, with what a caller needs.
fn tells_to_reorder(op: &str, (code, text): &Failure) -> bool {
    *code == UNSUPPORTED_OP && text.contains(&format!("op `{op}`")) && text.contains(REMEDY)
}

/// Whether this is the error of a blocked call whose result has no blocked form.
fn has_no_blocked_result(op: &str, (code, text): &Failure) -> bool {
    let expected = match op {
        "amax" | "amin" | "argmax" | "mean" | "prod" | "sum" => (OPAQUE_LAYOUT, "argument `keepdim`"),
        "stack" => (INVALID_ARGUMENT, "argument `axis`"),
        _ => return false,
    };
    *code == expected.0 && text.contains(expected.1) && text.contains(REMEDY)
}

#[test]
fn samples_of_opinfo_have_pytorchs_answers() {
    let (all, live) = (samples(), bt_live_handles());
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut ops, mut ops_blocked, mut wrong) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for sample in &all {
        let op = sample.op.as_str();
        let mut count = |what| *counts.entry(what).or_default() += 1;
        ops.insert(op);
        count(&sample.origin);
        let mut tell = |how: &str, text: String| wrong.push(format!("{} {how}: {text}", sample.name));

        let tensors: Vec<(&str, Tensors)> =
            sample.operands.iter().map(|(name, o)| (name.as_str(), given(o))).collect();
        let answer = run(sample, &tensors);
        match judge(sample, &answer) {
            Some(text) => match &answer {
                Err(e) if is_stricter(sample, e) => {
                    count("stricter than PyTorch");
                    continue;
                }
                _ => tell("strided", text),
            },
            None => count(if sample.is_refused() { "strided errors" } else { "strided" }),
        }

        let has_kernel = dispatch::op(op).unwrap().kernel(DispatchKey::BLOCKED).is_some();
        let tensors = match blocked(sample, &schema(op)) {
            Form::Blocked(tensors) => tensors,
            // Sizes that PyTorch refuses may have no blocked form: any error will do.
            Form::Refused(_) if sample.is_refused() => {
                count("blocked errors of refused samples");
                continue;
            }
            Form::Refused((code, text)) if code == RANK_MISMATCH && text.contains("rank 3, 4 or 5") => {
                count("blocked errors: no blocked form of this rank");
                continue;
            }
            Form::Refused((code, text)) => {
                tell("blocked", format!("operands: error {code}: {text}"));
                continue;
            }
        };
        let answer = run(sample, &tensors);
        match &answer {
            Err(e) if !has_kernel && tells_to_reorder(op, e) => count("blocked errors: no blocked kernel"),
            _ if !has_kernel => tell(
                "blocked",
                format!("not the error of an op without a blocked kernel: {:?}", answer.err()),
            ),
            Err(e) if !sample.is_refused() && has_no_blocked_result(op, e) => {
                count("blocked errors: no blocked result");
            }
            _ => match judge(sample, &answer) {
                Some(text) => tell("blocked", text),
                None if sample.is_refused() => count("blocked errors of refused samples"),
                None => {
                    count("blocked");
                    ops_blocked.insert(op);
                }
            },
        }
    }
    println!("{counts:#?}");
    let number = |what: &str| counts.get(what).copied().unwrap_or(0);
    println!("{} ops strided, {} ops blocked, {} bytes", ops.len(), ops_blocked.len(), stored_bytes());
    assert!(wrong.is_empty(), "{} of {} samples:\n{}", wrong.len(), all.len(), wrong.join("\n"));
    assert_eq!(bt_live_handles(), live);
    // The test cannot pass on less than there is.
    assert!(number("opinfo") >= 500 && number("own") >= 350 && number("refused") >= 50);
    assert!(number("strided") + number("stricter than PyTorch") == number("opinfo") + number("own"));
    assert!(number("strided errors") == number("refused") && number("stricter than PyTorch") <= 8);
    assert!(number("blocked") >= 600 && number("blocked errors: no blocked kernel") >= 30);
    assert!(number("blocked errors: no blocked result") >= 8);
    // Every op, but those whose results are random, and those of integers: samples are f32.
    const WITHOUT: [&str; 11] = [
        // PyTorch has it inside of others alone.
        "axpby",
        "dropout",
        "feature_dropout",
        "to_dtype",
        "quantize",
        "dequantize",
        "requantize",
        "lookup",
        "quantized_add",
        "quantized_mul",
        "quantized_avg_pool",
    ];
    let all_ops = dispatch::ops().into_iter().map(|op| (op.schema().name, op.kernel(DispatchKey::BLOCKED)));
    let expected = all_ops.filter(|(name, _)| !WITHOUT.contains(name));
    for (name, blocked) in expected {
        assert!(ops.contains(name), "no sample of {name}");
        assert!(blocked.is_none() || ops_blocked.contains(name), "no blocked sample of {name}");
    }
    assert!(stored_bytes() <= 5_000_000);
}
