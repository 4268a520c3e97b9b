//! Gradients of every op against finite differences of its f64 version, in NCHW, NHWC, nChw16c and nChw8c.

mod cases;
mod definitions;

use super::{Values, evaluate};
use blocktensor::dispatch::{self, DispatchKey};
use blocktensor::{BoundOp, Layout, MemoryFormat, Operand, Operator, StridedTensor, Tensor, TensorRef};
use std::sync::Arc;

use cases::{Case, Input, cases};
use definitions::other_definition;

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn reals(&mut self, n: usize, [low, high]: [f32; 2]) -> Vec<f32> {
        (0..n).map(|_| low + (self.next() >> 40) as f32 / (1u64 << 24) as f32 * (high - low)).collect()
    }
}

/// Where the data of a call are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Nchw,
    Nhwc,
    Blocked(usize),
}

const KINDS: [Kind; 4] = [Kind::Nchw, Kind::Nhwc, Kind::Blocked(16), Kind::Blocked(8)];

/// The results of a call in f64. Only the first `dims.len()` are compared.
fn results_of(op: &BoundOp, inputs: &[Arc<Values>], dims: &[&[usize]]) -> Vec<Vec<f64>> {
    if let Some(made) = evaluate(op, inputs, dims).unwrap() {
        return made.into_iter().map(|values| values.data).collect();
    }
    let definition = other_definition(op).unwrap_or_else(|| panic!("{op} has no definition"));
    definition(&super::Call { op, inputs, outputs: dims }).unwrap()
}

/// A tensor of an argument: data in the layout of the kind, all else row-major.
fn tensor(op: &BoundOp, input: &Input, kind: Kind, rng: &mut Rng) -> Tensor {
    let Input(name, dims, range) = input;
    let count = dims.iter().product();
    let integers = |rng: &mut Rng| (0..count).map(|_| rng.below(range[1] as usize)).collect::<Vec<_>>();
    let t = match *name {
        "condition" => {
            StridedTensor::from_slice(&integers(rng).iter().map(|&v| v as u8).collect::<Vec<_>>(), dims)
        }
        "index" => {
            StridedTensor::from_slice(&integers(rng).iter().map(|&v| v as i32).collect::<Vec<_>>(), dims)
        }
        _ => StridedTensor::from_slice(&rng.reals(count, *range), dims),
    };
    let is_data = op.registered().schema().args.iter().any(|arg| arg.name == *name && arg.kind.is_data());
    in_kind(t.unwrap(), if is_data { kind } else { Kind::Nchw })
}

fn in_kind(t: StridedTensor, kind: Kind) -> Tensor {
    match (kind, MemoryFormat::channels_last_of(t.rank())) {
        (Kind::Nhwc, Some(last)) => t.contiguous(last).unwrap().into(),
        (Kind::Blocked(block), _) => {
            t.to_blocked(&Layout::blocked_activation(t.rank(), block).unwrap()).unwrap().into()
        }
        _ => t.into(),
    }
}

fn refs(list: &[Tensor]) -> Vec<TensorRef<'_>> {
    list.iter().map(Operand::tensor_ref).collect()
}

/// Whether a gradient is in the layout of its operand.
fn is_as_operand(operand: &Tensor, made: &Tensor) -> bool {
    match (operand, made) {
        (Tensor::Strided(x), Tensor::Strided(d)) => {
            let of = |t: &StridedTensor| -> Vec<usize> {
                (0..t.rank()).filter(|&a| t.dims()[a] > 1).map(|a| t.strides()[a]).collect()
            };
            x.numel() == 0 || of(x) == of(d)
        }
        (Tensor::Blocked(x), Tensor::Blocked(d)) => x.layout() == d.layout() && d.check_tail().is_ok(),
        _ => false,
    }
}

/// Runs a case in one layout. Returns what is wrong.
fn check(case: &Case, kind: Kind, rng: &mut Rng) -> Result<(), String> {
    let names: Vec<&str> = case.inputs.iter().map(|input| input.0).collect();
    let op = BoundOp::new(case.op, &names, &case.params).unwrap();
    let inputs: Vec<Tensor> = case.inputs.iter().map(|input| tensor(&op, input, kind, rng)).collect();
    let results = op.run(&refs(&inputs)).map_err(|e| e.to_string())?;
    // Running statistics and indices are not differentiated.
    let counted = match case.op {
        "batch_norm_train" | "sort" | "topk" => 1,
        _ => results.len(),
    };
    let no_gradient = ["condition", "index", "running_mean", "running_var"];
    let wanted: Vec<bool> = names.iter().map(|name| !no_gradient.contains(name)).collect();
    let dims: Vec<&[usize]> = results.iter().map(|y| y.tensor_ref().dims()).collect();
    let elements: Vec<Values> = inputs.iter().map(|t| Values::of(t.tensor_ref()).unwrap()).collect();
    let kinds = if let Kind::Blocked(_) = kind { vec![kind] } else { vec![Kind::Nchw, Kind::Nhwc] };
    for of_diff in kinds {
        let diff = |(i, y): (usize, &Tensor), rng: &mut Rng| {
            let dims = y.tensor_ref().dims();
            let values = rng.reals(dims.iter().product(), [-1.0, 1.0]);
            let t = StridedTensor::from_slice(&values, dims).unwrap();
            (i < counted).then(|| match y {
                Tensor::Blocked(y) => t.to_blocked(y.layout()).unwrap().into(),
                _ => in_kind(t, of_diff),
            })
        };
        let diffs: Vec<Option<Tensor>> = results.iter().enumerate().map(|y| diff(y, rng)).collect();
        let diff_refs: Vec<_> = diffs.iter().map(|d| d.as_ref().map(Operand::tensor_ref)).collect();
        let made =
            op.backward(&refs(&inputs), &refs(&results), &diff_refs, &wanted).map_err(|e| e.to_string())?;
        let weights: Vec<Vec<f64>> =
            diff_refs.iter().flatten().map(|d| Values::of(*d).unwrap().data).collect();
        let loss = |x: &[Values]| -> f64 {
            let x: Vec<Arc<Values>> = x.iter().cloned().map(Arc::new).collect();
            let all = results_of(&op, &x, &dims);
            all.iter().zip(&weights).flat_map(|(y, u)| y.iter().zip(u)).map(|(y, u)| y * u).sum()
        };
        for (i, made) in made.iter().enumerate() {
            let what = format!("by {} from {of_diff:?}", names[i]);
            let Some(made) = made else {
                if wanted[i] {
                    return Err(format!("{what}: none"));
                }
                continue;
            };
            let got = Values::of(made.tensor_ref()).unwrap();
            if !is_as_operand(&inputs[i], made) || got.dims != elements[i].dims {
                let [d, x] = [made, &inputs[i]].map(|t| t.tensor_ref().describe());
                return Err(format!("{what}: {d} for {x}"));
            }
            let scale = got.data.iter().fold(1f64, |m, v| m.max(v.abs()));
            for _ in 0..got.data.len().min(12) {
                let (at, h) = (rng.below(got.data.len()), 1e-6);
                let mut x = elements.clone();
                x[i].data[at] += h;
                let above = loss(&x);
                x[i].data[at] -= 2.0 * h;
                let want = (above - loss(&x)) / (2.0 * h);
                let got = got.data[at];
                let is_close = (got - want).abs() <= 4e-5 * scale;
                if !is_close {
                    return Err(format!("{what}: element {at} is {got}, not {want}"));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn gradients_agree_with_finite_differences() {
    let fixed =
        [(2, 17, [3, 5]), (1, 3, [5, 4]), (3, 1, [4, 5]), (1, 33, [5, 4]), (2, 16, [1, 2]), (0, 17, [3, 5])];
    let wrong: Vec<String> =
        (0..).zip(fixed).flat_map(|(seed, (n, c, image))| wrong(seed, n, c, image)).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn gradients_agree_with_finite_differences_at_drawn_sizes() {
    let of_seed = |seed| {
        let mut rng = Rng(seed);
        let (n, c) = (1 + rng.below(2), 1 + rng.below(35));
        // A norm needs two pixels.
        let image = [1 + rng.below(4), 2 + rng.below(4)];
        wrong(seed, n, c, image)
    };
    let wrong: Vec<String> = (100..103).flat_map(of_seed).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Checks all cases of these sizes in all layouts, with numbers of this seed. Returns what is wrong.
fn wrong(seed: u64, n: usize, c: usize, image: [usize; 2]) -> Vec<String> {
    let mut rng = Rng(seed);
    let mut wrong = Vec::new();
    for case in cases(n, c, image) {
        let ranks = case.inputs.iter().map(|input| input.1.len());
        let op = dispatch::op(case.op).unwrap();
        for kind in KINDS {
            let is_blocked = matches!(kind, Kind::Blocked(_));
            let can_block = case.blocked && op.gradients(DispatchKey::BLOCKED).next().is_some();
            let has_last = ranks.clone().any(|rank| (3..=5).contains(&rank));
            if is_blocked && !can_block || kind == Kind::Nhwc && !has_last {
                continue;
            }
            if let Err(e) = check(&case, kind, &mut rng) {
                let dims: Vec<_> = case.inputs.iter().map(|input| &input.1).collect();
                wrong
                    .push(format!("seed {seed}: {} {:?} of {dims:?} in {kind:?}: {e}", case.op, case.params));
            }
        }
    }
    wrong
}

#[test]
fn every_gradient_has_a_case() {
    let all = cases(2, 17, [3, 5]);
    for op in dispatch::ops() {
        let schema = op.schema();
        let ours = [DispatchKey::STRIDED, DispatchKey::BLOCKED].into_iter();
        let has = ours.filter(|key| op.gradients(*key).next().is_some()).count() > 0;
        assert!(!has || all.iter().any(|case| case.op == schema.name), "{} has no case", schema.name);
    }
}
