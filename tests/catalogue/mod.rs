//! The catalogue of bad input: each row that a call can reach is a typed error whose text has the required parts. The engine is
//! not called, operands keep every byte, no allocation stays, the next valid call works, and nothing is printed.
//!
//! Rows 2, 3 and 4 (failures of the engine) are in tests/faults; 39 and 40 (C handles and versions) in capi/tests, where the list
//! of calls by name is run through C as well. No call reaches 13 (row 11 covers what has no kernel for bf16 or f16), 37 (there
//! are no 32-bit offsets), 43 (Python's capsules), 46 to 48 (ONNX), 49 (oneDNN is linked, not loaded).

mod backward;
pub mod cases;
mod extreme_sizes;
mod followed;
mod quantised;
mod tensors_and_files;

use blocktensor::dispatch::{self, Value};
use blocktensor::ops::{self, Conv2d};
use blocktensor::testing::{inject, live_storages};
use blocktensor::{DType, Error, Layout, MemoryFormat, Operand, Result, StridedTensor, Tensor, TensorRef};

use self::cases::{Case, Given, cases, conv};
use crate::support::{alone, element_bytes as bytes};

/// A valid call: a convolution under both keys.
fn valid() -> Vec<f32> {
    let x = StridedTensor::full(&[1, 32, 4, 5], 2f32, MemoryFormat::Contiguous).unwrap();
    let w = StridedTensor::full(&[16, 32, 3, 3], 0.5f32, MemoryFormat::Contiguous).unwrap();
    let mut y = ops::conv2d(&x, &w, None, &Conv2d::new()).unwrap().to_vec::<f32>().unwrap();
    let (activations, weights) = Layout::native();
    let (x, w) = (x.to_blocked(&activations).unwrap(), w.to_blocked(&weights).unwrap());
    // A build without the engine refuses some layouts. The strided call has run.
    if let Ok(yb) = ops::conv2d(&x, &w, None, &Conv2d::new()) {
        y.extend(yb.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap());
    }
    y
}

/// Makes the call, and checks everything that is promised of a refused call.
#[track_caller]
fn refused<T>(
    what: &str,
    code: i32,
    holds: &[&str],
    operands: &[&Tensor],
    call: impl FnOnce() -> Result<T>,
) -> Error {
    let before: Vec<Vec<u8>> = operands.iter().map(|t| bytes(t)).collect();
    let storages = live_storages();
    let (result, seen) = inject(None, call);
    let e = result.map(|_| ()).expect_err(what);
    assert_eq!(seen.engine_calls, 0, "{what}: the engine was asked before: {e}");
    assert_eq!(live_storages(), storages, "{what}: storages that stay: {e}");
    assert_eq!(e.code(), code, "{what}: {e}");
    for part in holds {
        assert!(e.to_string().contains(part), "{what} lacks `{part}`: {e}");
    }
    if let Some(c) = e.complaint() {
        assert!(
            [&*c.op, &*c.argument, &c.got, &c.rule, &c.remedy].iter().all(|t| !t.is_empty()),
            "{what}: {c:?}"
        );
    }
    let after: Vec<Vec<u8>> = operands.iter().map(|t| bytes(t)).collect();
    assert!(after == before, "{what}: an operand has changed");
    // 288 products of 2 and 0.5.
    assert!(valid().iter().all(|&v| v == 288.0), "{what}: the next call");
    e
}

fn tensors(given: &Given) -> Vec<&Tensor> {
    fn of(v: &Value) -> &[Tensor] {
        match v {
            Value::Tensor(t) => std::slice::from_ref(t),
            Value::Tensors(list) => list.as_slice(),
            _ => &[],
        }
    }
    given.iter().flat_map(|(_, v)| of(v)).collect()
}

/// The same call with its activations and weights in another form; parameters stay as they are.
fn in_form(given: &Given, form: impl Fn(&StridedTensor) -> Option<Tensor>) -> Given {
    let turn = |t: &Tensor| match t {
        Tensor::Strided(s) if s.rank() > 1 => form(s).unwrap_or_else(|| t.clone()),
        _ => t.clone(),
    };
    let value = |v: &Value| match v {
        Value::Tensor(t) => Value::Tensor(turn(t)),
        Value::Tensors(l) => Value::Tensors(l.iter().map(turn).collect()),
        other => other.clone(),
    };
    given.iter().map(|(name, v)| (*name, value(v))).collect()
}

fn nhwc(t: &StridedTensor) -> Option<Tensor> {
    Some(t.contiguous(MemoryFormat::channels_last_of(t.rank())?).unwrap().into())
}

fn blocked(t: &StridedTensor) -> Option<Tensor> {
    Some(t.to_blocked(&Layout::native_activation(t.rank()).ok()?).ok()?.into())
}

/// Runs `body` in a process of its own, and fails if it prints anything.
fn silent(test: &str, body: impl FnOnce()) {
    let Some(printed) = alone(test, &[], body) else { return };
    let harness = ["running 1 test", "test catalogue::", "test result: ok"];
    let said: Vec<&str> =
        printed.lines().filter(|l| !l.is_empty() && !harness.iter().any(|h| l.starts_with(h))).collect();
    assert!(said.is_empty(), "{said:?}");
    assert!(printed.contains("... ok"), "{printed}");
}

#[test]
fn bad_calls_by_name_are_typed_errors() {
    silent("catalogue::bad_calls_by_name_are_typed_errors", || {
        assert!(cases().len() >= 46);
        for Case(row, op, given, code, holds) in cases() {
            let what = format!("row {row}, {op}");
            refused(&what, code, holds, &tensors(&given), || dispatch::call(op, &given));
            let last = in_form(&given, nhwc);
            refused(&format!("{what}, nhwc"), code, holds, &tensors(&last), || dispatch::call(op, &last));
        }
    });
}

/// Bad sizes and parameters are errors under the blocked key too, and found before the engine is called.
#[test]
fn bad_calls_by_name_on_blocked_operands_are_typed_errors() {
    silent("catalogue::bad_calls_by_name_on_blocked_operands_are_typed_errors", || {
        let mut same = 0;
        for Case(row, op, given, code, holds) in cases() {
            let turned = in_form(&given, blocked);
            let turned_all = tensors(&turned)
                .iter()
                .all(|t| matches!(t, Tensor::Strided(s) if s.rank() == 1) || matches!(t, Tensor::Blocked(_)));
            // The layout of blocked weights is checked before numbers, and these are in that of activations.
            let is_weights_of_integers = |(name, value): &(&str, Value)| {
                *name == "weights" && matches!(value, Value::Tensor(t) if t.tensor_ref().dtype() == DType::S8)
            };
            let has_kernel =
                dispatch::op(op).is_some_and(|o| o.kernel(dispatch::DispatchKey::BLOCKED).is_some());
            if given.iter().any(is_weights_of_integers)
                || !turned_all
                || !has_kernel
                || tensors(&given).iter().any(|t| matches!(t, Tensor::Blocked(_)))
            {
                continue;
            }
            let what = format!("row {row}, blocked {op}");
            refused(&what, code, holds, &tensors(&turned), || dispatch::call(op, &turned));
            same += 1;
        }
        assert!(same >= 25, "only {same} cases have a blocked form");
    });
}

/// Sizes and parameters that oneDNN would crash on reach neither oneDNN nor packing.
#[test]
fn conv2d_parameters_that_crash_the_engine_do_not_reach_it() {
    silent("catalogue::conv2d_parameters_that_crash_the_engine_do_not_reach_it", || {
        let hostile = [0, -1, i64::MIN, i64::MAX, 1 << 31, 1 << 32, 1 << 62];
        let mut tried = 0;
        for argument in ["stride", "dilation", "padding", "groups"] {
            for value in hostile {
                // Padding of 0 and strides above 0 are valid.
                if argument == "padding" && value == 0 || argument == "stride" && value > 0 {
                    continue;
                }
                let value: Value = match argument {
                    "groups" => value.into(),
                    _ => vec![value, 1].into(),
                };
                for form in [|_: &StridedTensor| None, nhwc, blocked] {
                    let given = in_form(&conv(&[(argument, value.clone())]), form);
                    let what = format!("{argument} {value:?}");
                    let operands = tensors(&given);
                    let storages = live_storages();
                    let (result, seen) = inject(None, || dispatch::call("conv2d", &given));
                    let e = result.map(|_| ()).expect_err(&what);
                    assert!(matches!(e.code(), 7..=9), "{what}: {e}");
                    assert_eq!((seen.engine_calls, live_storages()), (0, storages), "{what}: {e}");
                    assert!(operands.iter().all(|t| match t.tensor_ref() {
                        TensorRef::Blocked(t) => t.check_tail().is_ok(),
                        _ => true,
                    }));
                    tried += 1;
                }
            }
        }
        assert!(tried > 60, "{tried}");
    });
}
