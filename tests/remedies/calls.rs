//! The calls that remedies name, and generated calls that are refused.

use blocktensor::dispatch::{self, ArgKind, Value};
use blocktensor::{DType, Error, Layout, MemoryFormat, Operand, Result, StridedTensor, Tensor, WeightsKind};

use super::Given;
use crate::random::Random;

/// What became of a remedy.
pub enum Remedy {
    /// It names no call that changes an operand.
    None,
    /// The arguments after the calls were made.
    Made(Given),
    /// A call that it names fails, or is not known.
    Impossible(String),
}

/// Makes the calls that the remedy of an error names: those in backticks up to a semicolon. Before `or`, the first counts.
pub fn remedy(error: &Error, given: &Given) -> Remedy {
    let (text, mut target) = match (error, error.complaint()) {
        (Error::UnsupportedOp(u), _) => (&u.remedy, None),
        (_, Some(c)) => (&c.remedy, Some(c.argument.to_string())),
        _ => return Remedy::None,
    };
    // The first way that is made of calls: others name types, or say what comes after.
    let clauses = text.split(';').map(|clause| clause.split(" or ").next().unwrap_or_default());
    let mut ways = clauses.map(|clause| clause.split('`').skip(1).step_by(2).collect::<Vec<&str>>());
    let Some(spans) = ways.find(|spans| spans.iter().any(|span| is_call(span))) else { return Remedy::None };
    let mut made = given.clone();
    for span in spans {
        if given.iter().any(|(name, _)| *name == span) {
            target = Some(span.to_string());
            continue;
        }
        if !is_call(span) {
            continue;
        }
        let mut changed = false;
        for (name, value) in &mut made {
            let chosen = match (&target, &*value) {
                (Some(target), _) => target == name,
                // The error is about all data operands of a key.
                (None, Value::Tensor(_) | Value::Tensors(_)) => true,
                (None, _) => false,
            };
            if !chosen {
                continue;
            }
            let mut change = |t: &mut Tensor| -> std::result::Result<(), String> {
                match apply(span, t) {
                    Some(Ok(next)) => {
                        changed = true;
                        *t = next;
                        Ok(())
                    }
                    Some(Err(e)) => Err(format!("`{span}`: {e}")),
                    None if target.is_none() => Ok(()),
                    None => Err(format!("`{span}` is no call of {}", t.tensor_ref().describe())),
                }
            };
            let result = match value {
                Value::Tensor(t) => change(t),
                // The error is about some of a list.
                Value::Tensors(list) => {
                    list.iter_mut().filter(|t| apply(span, t).is_some()).try_for_each(change)
                }
                _ => Ok(()),
            };
            if let Err(why) = result {
                return Remedy::Impossible(why);
            }
        }
        if !changed {
            return Remedy::Impossible(format!("`{span}` changes no operand"));
        }
    }
    Remedy::Made(made)
}

/// Whether it reads like a call of a tensor's method.
fn is_call(span: &str) -> bool {
    span.split_once('(').is_some_and(|(name, _)| !name.contains("::"))
}

fn numbers(span: &str) -> Vec<usize> {
    span.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
}

/// Makes one call. `None` if a tensor of this key has no such call.
fn apply(span: &str, t: &Tensor) -> Option<Result<Tensor>> {
    let name = span.split('(').next().unwrap_or_default();
    Some(match (name, t) {
        ("to_strided", Tensor::Blocked(t)) => t.to_strided(MemoryFormat::Contiguous).map(Tensor::from),
        ("to_blocked", Tensor::Strided(t)) => layout(span).and_then(|l| t.to_blocked(&l)).map(Tensor::from),
        ("reorder_to", Tensor::Blocked(t)) => layout(span).and_then(|l| t.reorder_to(&l)).map(Tensor::from),
        ("to_dtype", Tensor::Strided(t)) => {
            let dtype = DType::ALL.into_iter().find(|d| span.contains(&format!("DType::{d:?}")));
            t.to_dtype(dtype.unwrap_or_else(|| panic!("{span}"))).map(Tensor::from)
        }
        ("to_dtype", Tensor::Blocked(t)) => {
            let dtype = DType::ALL.into_iter().find(|d| span.contains(&format!("DType::{d:?}")));
            t.to_dtype(dtype.unwrap_or_else(|| panic!("{span}"))).map(Tensor::from)
        }
        ("contiguous", Tensor::Strided(t)) => t.contiguous(MemoryFormat::Contiguous).map(Tensor::from),
        ("copy", Tensor::Strided(t)) => t.copy(MemoryFormat::Preserve).map(Tensor::from),
        ("unsqueeze", Tensor::Strided(t)) => t.unsqueeze(numbers(span)[0]).map(Tensor::from),
        ("reshape", Tensor::Strided(t)) => t.reshape(&numbers(span)).map(Tensor::from),
        ("transpose", Tensor::Strided(t)) => {
            t.transpose(numbers(span)[0], numbers(span)[1]).map(Tensor::from)
        }
        _ => return None,
    })
}

/// The layout in a call: `to_blocked(&Layout::native().0)`.
fn layout(span: &str) -> Result<Layout> {
    let (activations, weights) = Layout::native();
    if let Some(name) = span.split('"').nth(1) {
        return name.parse();
    }
    if span.contains("native().0") {
        return Ok(activations);
    }
    if span.contains("native().1") {
        return Ok(weights);
    }
    let rank = *numbers(span).first().unwrap_or_else(|| panic!("{span}"));
    if span.contains("native_activation") {
        return Layout::native_activation(rank);
    }
    assert!(span.contains("native_weights"), "{span}");
    let kind = [WeightsKind::Dense, WeightsKind::Grouped, WeightsKind::Depthwise]
        .into_iter()
        .find(|kind| span.contains(&format!("{kind:?}")));
    Layout::native_weights(rank, kind.unwrap_or_else(|| panic!("{span}")))
}

/// A call of an op with operands of random keys, ranks, sizes and dtypes. Most are refused.
pub fn generated(op: &'static str, random: &mut Random) -> Given {
    let schema = dispatch::op(op).unwrap().schema();
    let rank = random.below(6);
    let sizes: Vec<usize> = (0..rank).map(|_| random.pick(&[1, 2, 4, 16])).collect();
    let mut given = Given::new();
    for arg in schema.args {
        let value: Value = match arg.kind {
            ArgKind::Data | ArgKind::Plain => tensor(&sizes, random).into(),
            ArgKind::Param => param(random).into(),
            ArgKind::DataList => Value::Tensors(vec![tensor(&sizes, random), tensor(&sizes, random)]),
            ArgKind::ParamList => continue,
            ArgKind::OptionalData => match random.below(2) {
                0 => continue,
                _ => tensor(&sizes, random).into(),
            },
            ArgKind::OptionalParam => match random.below(2) {
                0 => continue,
                _ => param(random).into(),
            },
            ArgKind::Int(default) => match default {
                Some(_) if random.below(2) == 0 => continue,
                _ => random.pick(&[0i64, 1, 2, -1, 4]).into(),
            },
            ArgKind::Ints(default) => match default {
                Some(_) if random.below(2) == 0 => continue,
                _ => {
                    let n = random.below(3) + 1;
                    (0..n).map(|_| random.pick(&[1i64, 2, 0, 3, 1, 1])).collect::<Vec<i64>>().into()
                }
            },
            ArgKind::Float(default) => match default {
                Some(_) => continue,
                None => random.pick(&[0.5f64, 1.0, 2.0]).into(),
            },
            ArgKind::Bool(_) | ArgKind::Str(_) => continue,
        };
        given.push((arg.name, value));
    }
    given
}

fn param(random: &mut Random) -> Tensor {
    strided(&[random.pick(&[1, 2, 4, 16])], random).into()
}

/// A tensor of about these sizes.
fn tensor(sizes: &[usize], random: &mut Random) -> Tensor {
    let mut sizes = sizes.to_vec();
    if random.below(4) == 0 && !sizes.is_empty() {
        let i = random.below(sizes.len());
        sizes[i] = random.pick(&[1, 2, 4, 16]);
    }
    if random.below(6) == 0 && !sizes.is_empty() {
        sizes.remove(0);
    }
    let t = strided(&sizes, random);
    let blocked = random.below(2) == 0;
    match Layout::native_activation(sizes.len()) {
        Ok(_) if blocked => {
            let block = random.pick(&[8, 16, 16]);
            let layout = Layout::blocked_activation(sizes.len(), block).unwrap();
            t.to_blocked(&layout).map_or_else(|_| Tensor::from(t), Tensor::from)
        }
        _ => t.into(),
    }
}

fn strided(sizes: &[usize], random: &mut Random) -> StridedTensor {
    let n = sizes.iter().product::<usize>();
    let values: Vec<f32> = (0..n).map(|i| (i % 2) as f32).collect();
    let t = StridedTensor::from_slice(&values, sizes).unwrap();
    match random.below(4) {
        0 => t.to_dtype(random.pick(&[DType::U8, DType::S32, DType::F16])).unwrap(),
        _ => t,
    }
}

/// The call with one tensor changed: what changed, the call, and whether the elements and sizes are still the same.
pub fn changed(given: &Given) -> Vec<(String, Given, bool)> {
    let mut all = Vec::new();
    for (at, (name, value)) in given.iter().enumerate() {
        // Of a list, the last.
        let t = match value {
            Value::Tensor(t) => t,
            Value::Tensors(list) => list.last().unwrap(),
            _ => continue,
        };
        let mut push = |what: &str, t: Option<Tensor>, same: bool| {
            let Some(t) = t else { return };
            let value = match value {
                Value::Tensors(list) => {
                    let mut list = list.clone();
                    *list.last_mut().unwrap() = t;
                    Value::Tensors(list)
                }
                _ => Value::Tensor(t),
            };
            let mut call = given.clone();
            call[at].1 = value;
            all.push((format!("`{name}` {what}"), call, same));
        };
        let plain = match t {
            Tensor::Strided(t) => t.clone(),
            Tensor::Blocked(t) => {
                push("strided", t.to_strided(MemoryFormat::Contiguous).ok().map(Tensor::from), true);
                t.to_strided(MemoryFormat::Contiguous).unwrap()
            }
            Tensor::Opaque(_) => unreachable!("no key but ours"),
        };
        for block in [8, 16] {
            let layout = Layout::blocked_activation(plain.rank(), block).ok();
            let blocked = layout.and_then(|l| plain.to_blocked(&l).ok());
            push(&format!("in blocks of {block}"), blocked.map(Tensor::from), true);
        }
        for dtype in DType::ALL {
            let same_key = |p: StridedTensor| match t {
                Tensor::Blocked(b) => p.to_blocked(b.layout()).map(Tensor::from),
                _ => Ok(p.into()),
            };
            push(dtype.name(), plain.to_dtype(dtype).and_then(same_key).ok(), false);
        }
        if let Tensor::Strided(t) = t {
            push("with one axis more", t.unsqueeze(0).ok().map(Tensor::from), false);
            push("with one axis less", t.select(0, 0).ok().map(Tensor::from), false);
            if t.rank() > 1 {
                let turned = t.transpose(0, -1).and_then(|t| t.contiguous(MemoryFormat::Contiguous));
                push(
                    "in another order",
                    turned.and_then(|t| t.transpose(0, -1)).ok().map(Tensor::from),
                    true,
                );
            }
        }
    }
    all
}
