//! Remedies are followed: the call that an error names is made, and the first call is made again with what it gave. It then
//! succeeds, or meets the next true limit. No error comes back, and every call that a remedy names can be made.

pub mod calls;

use std::collections::BTreeSet;

use blocktensor::dispatch::{self, Value};
use blocktensor::{DType, Error, Layout, MemoryFormat, StridedTensor, Tensor};

use self::calls::{Remedy, remedy};
use crate::catalogue::cases::cases;
use crate::dispatch::rules::valid_calls;
use crate::random::Random;

/// The arguments of a call, by name.
type Given = Vec<(&'static str, Value)>;

/// How following ended.
#[derive(Debug, PartialEq)]
enum End {
    /// The call succeeded.
    Done,
    /// The last error names no call that can be made with the operands: a true limit.
    Limit,
}

/// Follows the remedies of a call. The second value is the number of remedies that were followed.
fn follow(op: &'static str, given: &Given) -> Result<(End, usize), String> {
    let mut given = given.clone();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut story = vec![describe(op, &given)];
    for step in 0.. {
        let error = match dispatch::call(op, &given) {
            Ok(_) => return Ok((End::Done, step)),
            Err(error) => error,
        };
        story.push(format!("-> {error}"));
        let rule = match (&error, error.complaint()) {
            (_, Some(c)) => format!("{} {} {}", error.code(), c.argument, c.rule),
            (Error::UnsupportedOp(u), _) => format!("{:?} {}", u.reason, u.key),
            _ => error.to_string(),
        };
        if !seen.insert(rule) || step > 8 {
            return Err(format!("a circle:\n{}", story.join("\n")));
        }
        match remedy(&error, &given) {
            Remedy::None => return Ok((End::Limit, step)),
            Remedy::Made(next) => given = next,
            Remedy::Impossible(why) => {
                return Err(format!("the remedy cannot be followed: {why}\n{}", story.join("\n")));
            }
        }
        story.push(describe(op, &given));
    }
    unreachable!("a circle ends it")
}

fn describe(op: &str, given: &Given) -> String {
    let value = |v: &Value| match v {
        Value::Tensor(t) => text(t),
        Value::Tensors(list) => format!("[{}]", list.iter().map(text).collect::<Vec<_>>().join("; ")),
        other => format!("{other:?}"),
    };
    fn text(t: &Tensor) -> String {
        blocktensor::Operand::tensor_ref(t).describe()
    }
    format!(
        "{op}({})",
        given.iter().map(|(name, v)| format!("{name}: {}", value(v))).collect::<Vec<_>>().join(", ")
    )
}

#[test]
fn remedies_of_the_catalogue_can_be_followed() {
    let mut failures = Vec::new();
    for case in cases() {
        if let Err(why) = follow(case.1, &case.2) {
            failures.push(why);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// The ops of this crate: other tests register some that state no results.
fn ours() -> Vec<&'static str> {
    let stated =
        dispatch::ops().into_iter().map(|op| op.schema()).filter(|schema| !schema.outputs.is_empty());
    stated.map(|schema| schema.name).collect()
}

/// Valid calls in which one operand has another key, layout, dtype, rank or order. With another key or order of the same
/// elements, a call that was valid becomes valid again.
#[test]
fn remedies_of_calls_that_were_valid_lead_back() {
    let mut failures: BTreeSet<String> = BTreeSet::new();
    let (mut followed, mut done) = (0, 0);
    for (op, key, given) in valid_calls() {
        let op = op.schema().name;
        for (what, given, leads_back) in calls::changed(&given) {
            match follow(op, &given) {
                Ok((End::Limit, _)) if leads_back => {
                    let error = dispatch::call(op, &given).unwrap_err();
                    failures.insert(format!("{op} on {key}, {what}: does not lead back: {error}"));
                }
                Ok((end, steps)) => {
                    followed += usize::from(steps > 0);
                    done += usize::from(steps > 0 && end == End::Done);
                }
                Err(why) => {
                    failures.insert(format!("{op} on {key}, {what}: {why}"));
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.into_iter().collect::<Vec<_>>().join("\n\n")
    );
    assert!(followed > 1000 && done > 500, "{followed} followed, {done} then succeed");
}

/// Calls of every op with operands of all keys, ranks and dtypes.
#[test]
fn remedies_of_generated_calls_can_be_followed() {
    let rounds = 300;
    let mut random = Random::new(22);
    let mut failures: BTreeSet<String> = BTreeSet::new();
    let (mut followed, mut done) = (0, 0);
    for op in ours() {
        for _ in 0..rounds {
            let given = calls::generated(op, &mut random);
            match follow(op, &given) {
                Ok((end, steps)) => {
                    followed += usize::from(steps > 0);
                    done += usize::from(steps > 0 && end == End::Done);
                }
                Err(why) => {
                    failures.insert(format!("{op}: {why}"));
                    break;
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.into_iter().collect::<Vec<_>>().join("\n\n"));
    assert!(followed > 5000 && done > 1500, "{followed} followed, {done} then succeed");
}

fn ones(dims: &[usize]) -> StridedTensor {
    StridedTensor::ones(dims, DType::F32, MemoryFormat::Contiguous).unwrap()
}

/// Weights of all kinds beside a source in blocks of 8 and of 16 channels: one remedy leads to a call that runs.
#[test]
fn strided_weights_reach_the_layout_that_goes_with_the_source() {
    for op in ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"] {
        let (spatial, is_transposed) =
            (op[op.len() - 2..][..1].parse::<usize>().unwrap(), op.contains("transpose"));
        for (groups, apart, block) in [(1, false), (2, false), (32, false), (2, true), (32, true)]
            .into_iter()
            .flat_map(|(groups, apart)| [8, 16].map(|block| (groups, apart, block)))
        {
            let (channels, each) = (32, 32 / groups);
            let window = vec![1; spatial];
            let dims = if apart { vec![groups, each, each] } else { vec![channels, each] };
            let weights = ones(&[dims, window].concat());
            let x = ones(&[vec![1, channels], vec![3; spatial]].concat());
            let layout = Layout::blocked_activation(spatial + 2, block).unwrap();
            let given: Given = vec![
                ("x", Value::Tensor(x.to_blocked(&layout).unwrap().into())),
                ("weights", Value::Tensor(weights.into())),
                ("groups", Value::Int(groups as i64)),
            ];
            let error = dispatch::call(op, &given).unwrap_err();
            let kind = match groups {
                1 => format!("OI{}{block}i{block}o", &"dhw"[3 - spatial..]),
                32 => format!("Goi{}{block}g", &"dhw"[3 - spatial..]),
                _ => format!("gOI{}{block}i{block}o", &"dhw"[3 - spatial..]),
            };
            assert!(
                matches!(error, Error::KeyMismatch(_)) && error.to_string().contains(&format!("\"{kind}\"")),
                "{error}"
            );
            assert_eq!(error.to_string().contains("PackedConvTranspose"), is_transposed && !apart, "{error}");
            assert_eq!(follow(op, &given), Ok((End::Done, 1)), "{error}");
        }
    }
}

/// Another operand gets the layout of the first, and not that of this machine.
#[test]
fn strided_operands_reach_the_layout_of_the_first() {
    for (block, dims) in
        [8, 16].into_iter().flat_map(|block| [&[1, 32, 3, 3][..], &[32, 3, 3]].map(|dims| (block, dims)))
    {
        let layout = Layout::blocked_activation(4, block).unwrap();
        let a = ones(&[1, 32, 3, 3]).to_blocked(&layout).unwrap();
        let given: Given = vec![("a", Value::Tensor(a.into())), ("b", Value::Tensor(ones(dims).into()))];
        assert_eq!(follow("add", &given), Ok((End::Done, 1)), "{layout}");
    }
}
