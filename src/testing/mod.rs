//! For tests of frameworks and backends (feature `testing`): a conformance run over this crate's op cases, and assertions.
//!
//! The cases are PyTorch's results, computed in f64: operands, parameters, results and gradients of most ops, for several shapes.
//! [`conformance`] moves the operands to a backend, calls each op by name and as an operator, and compares the results; and the
//! gradients, of ops for which the backend has one. An op for which it has no kernel counts as unsupported, with the reason.

mod calls;
mod case;
mod gradient;
mod operator;

pub use crate::fault::{Fault, LARGE, Seen, TestAllocator, inject, inside_engine, live_storages};
pub use crate::threads::as_in_optimised_builds;
pub use operator::check_operator;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use safetensors::SafeTensors;
use serde_json::Value as Json;

use self::case::Case;
use crate::dispatch::{self, DispatchKey};
use crate::dtype::DType;
use crate::error::{Complaint, Error, Result};
use crate::layout::blocked::Layout;
use crate::layout::dims::MAX_RANK;
use crate::layout::memory_format::MemoryFormat;
use crate::tensor::any::{Operand, Tensor};
use crate::tensor::strided::StridedTensor;
use crate::weights_kind::WeightsKind;

/// A backend under test: how tensors are moved to it, and back.
pub trait Backend {
    /// Its key.
    fn key(&self) -> DispatchKey;

    /// The ranks that its data operands can have; cases of other ranks are skipped.
    fn ranks(&self) -> RangeInclusive<usize> {
        0..=MAX_RANK
    }

    /// Moves a data operand to the backend; `rank` is that of the op's first operand, with which it may have to broadcast.
    ///
    /// # Errors
    /// Any error: the case then counts as wrong, except that `UnsupportedOp` counts as unsupported.
    fn data(&self, t: &StridedTensor, rank: usize) -> Result<Tensor>;

    /// The weights of a convolution, in PyTorch's order: `[O, C/groups, k...]`, or `[C, O/groups, k...]` if transposed.
    ///
    /// # Errors
    /// As [`data`](Self::data).
    fn weights(&self, t: &StridedTensor, how: ConvWeights) -> Result<Tensor> {
        let _ = how;
        self.data(t, t.rank())
    }

    /// Moves a result back: a strided tensor of any dtype.
    ///
    /// # Errors
    /// As [`data`](Self::data).
    fn back(&self, t: &Tensor) -> Result<StridedTensor>;
}

/// The convolution that the weights are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConvWeights {
    /// Number of groups.
    pub groups: usize,
    /// Number of input channels of all groups together.
    pub channels: usize,
    /// Whether the convolution is a transposed one.
    pub transposed: bool,
}

/// This crate's strided backend, in row-major order or channels-last.
#[derive(Clone, Copy, Debug)]
pub struct Strided {
    /// Whether operands are channels-last, if there is such a format for their rank.
    pub channels_last: bool,
}

impl Backend for Strided {
    fn key(&self) -> DispatchKey {
        DispatchKey::STRIDED
    }

    fn ranks(&self) -> RangeInclusive<usize> {
        if self.channels_last { 4..=5 } else { 0..=MAX_RANK }
    }

    fn data(&self, t: &StridedTensor, _: usize) -> Result<Tensor> {
        let last = MemoryFormat::channels_last_of(t.rank()).filter(|_| self.channels_last);
        t.contiguous(last.unwrap_or(MemoryFormat::Contiguous)).map(Tensor::Strided)
    }

    fn back(&self, t: &Tensor) -> Result<StridedTensor> {
        StridedTensor::from_tensor(t.clone()).map_err(|t| elsewhere(&t))
    }
}

/// This crate's blocked backend, in the machine's native layouts.
#[derive(Clone, Copy, Debug)]
pub struct Blocked;

impl Backend for Blocked {
    fn key(&self) -> DispatchKey {
        DispatchKey::BLOCKED
    }

    fn ranks(&self) -> RangeInclusive<usize> {
        3..=5
    }

    fn data(&self, t: &StridedTensor, rank: usize) -> Result<Tensor> {
        let mut t = t.clone();
        // A tensor of lower rank broadcasts as if it had leading dimensions of 1.
        while t.rank() < rank {
            t = t.unsqueeze(0)?;
        }
        t.to_blocked(&Layout::native_activation(t.rank())?).map(Tensor::Blocked)
    }

    fn weights(&self, t: &StridedTensor, how: ConvWeights) -> Result<Tensor> {
        let ConvWeights { groups, channels, transposed } = how;
        let d = t.dims();
        let (mut dims, kind) = match groups {
            1 => (d.to_vec(), WeightsKind::Dense),
            _ => {
                let mut dims = vec![groups, d[0] / groups];
                dims.extend(&d[1..]);
                let depthwise = groups == channels && dims[1] == 1 && dims[2] == 1;
                (dims, if depthwise { WeightsKind::Depthwise } else { WeightsKind::Grouped })
            }
        };
        let mut w = t.reshape(&dims)?;
        if transposed {
            // The logical order is O, I; the weights of a transposed convolution have the order I, O.
            let at = dims.len() - d.len();
            w = w.transpose(at, at + 1)?;
            dims.swap(at, at + 1);
        }
        w.to_blocked(&Layout::native_weights(w.rank(), kind)?).map(Tensor::Blocked)
    }

    fn back(&self, t: &Tensor) -> Result<StridedTensor> {
        match t {
            Tensor::Blocked(t) => {
                t.check_tail()?;
                t.to_strided(MemoryFormat::Contiguous)
            }
            other => Strided { channels_last: false }.back(other),
        }
    }
}

fn elsewhere(t: &Tensor) -> Error {
    let got = t.tensor_ref().describe();
    let rule = "results have the operands' key";
    Error::KeyMismatch(Complaint::new("conformance", "result", got, rule, "fix the kernel"))
}

/// The outcome of one case.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every result is within the tolerance.
    Passed,
    /// The backend has no kernel for it, for this reason.
    Unsupported(String),
    /// It failed, or a number is wrong.
    Wrong(String),
}

/// The results of a conformance run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Name of the case, op, outcome.
    pub cases: Vec<(String, String, Outcome)>,
    /// How many gradients of operands were compared, by the registered name of the op. Cases have some for which a backend has none.
    pub gradients: BTreeMap<String, usize>,
}

impl Report {
    /// How many cases passed.
    pub fn passed(&self) -> usize {
        self.cases.iter().filter(|c| c.2 == Outcome::Passed).count()
    }

    /// Every case that is wrong, and why.
    pub fn wrong(&self) -> Vec<String> {
        let wrong = self.cases.iter().filter_map(|(name, op, outcome)| match outcome {
            Outcome::Wrong(what) => Some(format!("{name} ({op}): {what}")),
            _ => None,
        });
        wrong.collect()
    }

    /// How often each op was unsupported, by reason.
    pub fn unsupported(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for (_, op, outcome) in &self.cases {
            if let Outcome::Unsupported(reason) = outcome {
                *counts.entry(format!("{op}: {reason}")).or_default() += 1;
            }
        }
        counts
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unsupported, wrong) = (self.unsupported(), self.wrong());
        let count: usize = unsupported.values().sum();
        writeln!(f, "{} passed, {} wrong, {count} unsupported", self.passed(), wrong.len())?;
        unsupported.iter().try_for_each(|(what, n)| writeln!(f, "unsupported: {n} x {what}"))?;
        wrong.iter().try_for_each(|what| writeln!(f, "wrong: {what}"))
    }
}

/// The cases: an index with one JSON object per line, and a safetensors file.
#[derive(Clone, Debug)]
pub struct Cases {
    index: Cow<'static, str>,
    tensors: Cow<'static, [u8]>,
}

impl Cases {
    /// The cases that come with the crate.
    pub fn ours() -> Cases {
        Cases {
            index: Cow::Borrowed(include_str!("../../tests/data/ops/index.jsonl")),
            tensors: Cow::Borrowed(include_bytes!("../../tests/data/ops/ops.safetensors")),
        }
    }

    /// The cases in a folder: `index.jsonl` and `ops.safetensors`.
    ///
    /// # Errors
    /// `FileAccess`.
    pub fn read(folder: &Path) -> Result<Cases> {
        let fail = |name: &str, e: std::io::Error| {
            let got = format!("`{}`: {e}", folder.join(name).display());
            let rule = "cases need an index and a file of tensors";
            Error::FileAccess(Complaint::new(
                "Cases::read",
                "folder",
                got,
                rule,
                "pass the folder that holds both",
            ))
        };
        let index =
            std::fs::read_to_string(folder.join("index.jsonl")).map_err(|e| fail("index.jsonl", e))?;
        let tensors =
            std::fs::read(folder.join("ops.safetensors")).map_err(|e| fail("ops.safetensors", e))?;
        Ok(Cases { index: index.into(), tensors: tensors.into() })
    }
}

/// Runs every case on a backend whose key is registered.
///
/// # Errors
/// `CorruptFile` if the cases cannot be read.
pub fn conformance(backend: &dyn Backend, cases: &Cases) -> Result<Report> {
    let corrupt = |why: String| {
        let rule = "cases must be JSON lines and a safetensors file";
        Error::CorruptFile(Complaint::new("conformance", "cases", why, rule, "copy them again"))
    };
    let file = SafeTensors::deserialize(&cases.tensors).map_err(|e| corrupt(e.to_string()))?;
    let mut report = Report::default();
    for line in cases.index.lines() {
        let json: Json = serde_json::from_str(line).map_err(|e| corrupt(e.to_string()))?;
        let shapes: BTreeMap<String, Vec<usize>> =
            serde_json::from_value(json["tensors"].clone()).map_err(|e| corrupt(e.to_string()))?;
        let first = ["x", "x0", "a"].iter().find_map(|name| shapes.get(*name));
        let rank = first.map_or(0, Vec::len);
        if !backend.ranks().contains(&rank) {
            continue;
        }
        let word = |key: &str| json[key].as_str().unwrap_or_default().to_string();
        let params = json["params"].clone();
        let failed = RefCell::new(None);
        let case = Case { name: word("case"), op: word("op"), params, shapes, file: &file, backend, failed };
        let outcome = match run(&case, &mut report.gradients) {
            Ok(outcome) => outcome,
            Err(Error::UnsupportedOp(u)) => Outcome::Unsupported(format!("{:?}", u.reason)),
            Err(e) => Outcome::Wrong(e.to_string()),
        };
        report.cases.push((case.name, case.op, outcome));
    }
    Ok(report)
}

fn run(case: &Case<'_>, compared: &mut BTreeMap<String, usize>) -> Result<Outcome> {
    let Some((op, args)) = calls::call_of(case) else {
        return Ok(Outcome::Wrong("the runner does not know this op".into()));
    };
    if let Some(e) = case.failed.take() {
        return Err(e);
    }
    let results = dispatch::call(op, &args)?;
    if let Some(wrong) = check_operator(op, &args)? {
        return Ok(Outcome::Wrong(wrong));
    }
    let names: Vec<String> = match case.op.as_str() {
        "batch_norm_train" => vec!["y".into(), "new_running_mean".into(), "new_running_var".into()],
        "chunk" | "split" => (0..results.len()).map(|i| format!("y{i}")).collect(),
        "sort" | "topk" => vec!["y".into(), "y_indices".into()],
        _ => vec!["y".into()],
    };
    if results.len() != names.len() || case.shapes.keys().filter(|k| k.starts_with('y')).count() > names.len()
    {
        return Ok(Outcome::Wrong(format!("{} results", results.len())));
    }
    for (result, name) in results.iter().zip(&names) {
        // Statistics are parameters: strided, whatever the key.
        let got = match result {
            Tensor::Strided(t) => t.clone(),
            other => case.backend.back(other)?,
        };
        let want = case.plain(name)?;
        if got.dims() != want.dims() {
            return Ok(Outcome::Wrong(format!("{name} is {:?}, not {:?}", got.dims(), want.dims())));
        }
        if let Some(wrong) = compare(&got, &want)? {
            return Ok(Outcome::Wrong(format!("{name}{wrong}")));
        }
    }
    if let Some(wrong) = gradient::check_gradients(case, op, &args, &results, compared)? {
        return Ok(Outcome::Wrong(wrong));
    }
    Ok(Outcome::Passed)
}

/// The error is at most 1e-5 of the largest finite value plus 1e-5 of the value itself. Infinities and NaN must be the same.
fn compare(got: &StridedTensor, want: &StridedTensor) -> Result<Option<String>> {
    let values: Vec<f64> = match got.to_vec::<f32>() {
        Ok(v) => v.into_iter().map(f64::from).collect(),
        Err(_) => got.to_dtype(DType::F32)?.to_vec::<f32>()?.into_iter().map(f64::from).collect(),
    };
    let want = want.to_vec::<f32>()?;
    let largest = want.iter().filter(|v| v.is_finite()).fold(0f64, |m, v| m.max(f64::from(v.abs())));
    let wrong = values.iter().zip(&want).enumerate().find_map(|(i, (g, &w))| {
        let limit = if w.is_finite() { 1e-5 * largest + 1e-5 * f64::from(w.abs()) } else { 0.0 };
        let close = (g - f64::from(w)).abs() <= limit || g.is_nan() && w.is_nan() || *g == f64::from(w);
        (!close).then(|| format!("[{i}] is {g}, not {w} (limit {limit:e})"))
    });
    Ok(wrong)
}

/// Asserts that a result is the error of a missing kernel: for this op and this key.
///
/// # Panics
/// If it is anything else.
#[track_caller]
pub fn assert_unsupported<T>(result: Result<T>, op: &str, key: DispatchKey) {
    match result {
        Err(Error::UnsupportedOp(u)) => {
            assert!(
                u.op == op && u.key == key.name(),
                "`{}` on `{}`, not `{op}` on `{key}`: {u}",
                u.op,
                u.key
            );
        }
        Err(e) => panic!("expected UnsupportedOp, got another error: {e}"),
        Ok(_) => panic!("`{op}` ran on `{key}`, which must not have a kernel for it"),
    }
}
