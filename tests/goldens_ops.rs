//! PyTorch's own answers (computed in f64), on every key: strided contiguous, strided channels-last, blocked.
//!
//! Each op goes through the call by name. An op name that `calls` does not know fails the test, and so does a
//! missing result; a typed `UnsupportedOp` is counted with its reason.

use std::collections::BTreeMap;
use std::path::PathBuf;

use blocktensor::dispatch::{self, Value};
use blocktensor::{Error, Layout, MemoryFormat, Result, StridedTensor, Tensor, WeightsKind};
use safetensors::SafeTensors;
use serde_json::Value as Json;

/// `$GOLDENS_DIR`, or the copies in the repository.
pub fn directory() -> PathBuf {
    match std::env::var_os("GOLDENS_DIR") {
        Some(dir) => dir.into(),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data"),
    }
}

/// Where the data operands of a case lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    Contiguous,
    ChannelsLast,
    Blocked,
}

/// One line of the index and its tensors.
pub struct Case<'a> {
    pub name: String,
    pub op: String,
    pub params: Json,
    pub shapes: BTreeMap<String, Vec<usize>>,
    file: &'a SafeTensors<'a>,
    pub form: Form,
}

impl Case<'_> {
    /// A tensor of the case, contiguous.
    pub fn plain(&self, name: &str) -> StridedTensor {
        let view = self.file.tensor(&format!("{}.{name}", self.name)).unwrap();
        let data: Vec<f32> =
            view.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        StridedTensor::from_slice(&data, view.shape()).unwrap()
    }

    fn in_form(&self, t: StridedTensor) -> Tensor {
        match self.form {
            Form::Contiguous => t.into(),
            Form::ChannelsLast => t
                .contiguous(MemoryFormat::channels_last_of(t.rank()).unwrap_or(MemoryFormat::Contiguous))
                .unwrap()
                .into(),
            Form::Blocked => {
                // A lower rank broadcasts as if it had leading dimensions of 1.
                let rank = self.shapes.get("x").map_or(t.rank(), Vec::len);
                let mut t = t;
                while t.rank() < rank {
                    t = t.unsqueeze(0).unwrap();
                }
                t.to_blocked(&Layout::native_activation(t.rank()).unwrap()).unwrap().into()
            }
        }
    }

    /// A data operand.
    pub fn data(&self, name: &str) -> Value {
        Value::Tensor(self.tensor(name))
    }

    /// A data operand of a list.
    pub fn tensor(&self, name: &str) -> Tensor {
        self.in_form(self.plain(name))
    }

    /// The weights of a convolution: with their groups apart, in the layout that goes with the data.
    pub fn weights(&self, transposed: bool) -> Value {
        let w = self.plain("w");
        let groups = self.params["groups"].as_u64().unwrap() as usize;
        if self.form != Form::Blocked {
            return self.in_form(w).into();
        }
        let c = self.shapes["x"][1];
        let d = w.dims();
        // Logical order for oneDNN is O, I; a transposed convolution's weights come as [I, O/g, k...].
        let (mut dims, kind) = if groups == 1 {
            (d.to_vec(), WeightsKind::Dense)
        } else {
            let mut dims = vec![groups, d[0] / groups];
            dims.extend(&d[1..]);
            let depthwise = groups == c && dims[1] == 1 && dims[2] == 1;
            (dims, if depthwise { WeightsKind::Depthwise } else { WeightsKind::Grouped })
        };
        let mut w = w.reshape(&dims).unwrap();
        if transposed {
            let at = dims.len() - (d.len() - 2) - 2;
            w = w.transpose(at, at + 1).unwrap();
            dims.swap(at, at + 1);
        }
        w.to_blocked(&Layout::native_weights(w.rank(), kind).unwrap()).unwrap().into()
    }

    /// A parameter: 1-D.
    pub fn param(&self, name: &str) -> Value {
        let t = self.plain(name);
        let n = t.numel();
        t.reshape(&[n]).unwrap().into()
    }

    pub fn has(&self, name: &str) -> bool {
        self.shapes.contains_key(name)
    }

    pub fn ints(&self, name: &str) -> Value {
        Value::Ints(match &self.params[name] {
            Json::Array(list) => list.iter().map(|v| v.as_i64().unwrap()).collect(),
            one => vec![one.as_i64().unwrap_or_else(|| panic!("{}: {name}", self.name))],
        })
    }

    pub fn int(&self, name: &str) -> Value {
        Value::Int(self.params[name].as_i64().unwrap())
    }

    pub fn float(&self, name: &str) -> Value {
        Value::Float(self.params[name].as_f64().unwrap())
    }

    pub fn flag(&self, name: &str) -> Value {
        Value::Bool(self.params[name].as_bool().unwrap())
    }

    pub fn word(&self, name: &str) -> Value {
        Value::Str(self.params[name].as_str().unwrap().into())
    }
}

type Call = (&'static str, Vec<(&'static str, Value)>);

/// The call that answers a case, or `None` for an op that nobody knows.
fn call_of(c: &Case<'_>) -> Option<Call> {
    let mut call: Call = match c.op.as_str() {
        "conv1d" | "conv2d" | "conv3d" => {
            let name = ["conv1d", "conv2d", "conv3d"][c.shapes["x"].len() - 3];
            (
                name,
                vec![
                    ("x", c.data("x")),
                    ("weights", c.weights(false)),
                    ("stride", c.ints("stride")),
                    ("padding", c.ints("padding")),
                    ("dilation", c.ints("dilation")),
                    ("groups", c.int("groups")),
                ],
            )
        }
        _ => return crate::goldens_calls::call_of(c),
    };
    if c.has("b") {
        call.1.push(("bias", c.param("b")));
    }
    Some(call)
}

/// Runs one case; `Ok(None)` where the op knows no kernel for it.
fn run(c: &Case<'_>) -> std::result::Result<Option<String>, String> {
    let Some((op, args)) = call_of(c) else {
        return Err(format!("{}: the test does not know this op", c.op));
    };
    let outcome: Result<Vec<Tensor>> = dispatch::call(op, &args);
    let results = match outcome {
        Ok(results) => results,
        Err(Error::UnsupportedOp(u)) => return Ok(Some(format!("{op}: {:?}", u.reason))),
        Err(e) => return Err(format!("{}: {e}", c.name)),
    };
    let names: Vec<String> = match c.op.as_str() {
        "batch_norm_train" => vec!["y".into(), "new_running_mean".into(), "new_running_var".into()],
        "chunk" => (0..results.len()).map(|i| format!("y{i}")).collect(),
        _ => vec!["y".into()],
    };
    if results.len() != names.len() || c.shapes.keys().filter(|k| k.starts_with('y')).count() > names.len() {
        return Err(format!("{}: {} results", c.name, results.len()));
    }
    for (result, name) in results.iter().zip(&names) {
        let got = match result {
            Tensor::Strided(t) => t.clone(),
            Tensor::Blocked(t) => {
                t.check_tail().map_err(|e| format!("{} {:?}: {e}", c.name, c.form))?;
                t.to_strided(MemoryFormat::Contiguous).unwrap()
            }
            Tensor::Opaque(t) => return Err(format!("{}: {t:?}", c.name)),
        };
        let want = c.plain(name);
        if got.dims() != want.dims() {
            return Err(format!(
                "{} {:?}: {name} is {:?}, not {:?}",
                c.name,
                c.form,
                got.dims(),
                want.dims()
            ));
        }
        let values: Vec<f64> = match got.to_vec::<f32>() {
            Ok(v) => v.into_iter().map(f64::from).collect(),
            Err(_) => got.to_vec::<u8>().map_err(|e| e.to_string())?.into_iter().map(f64::from).collect(),
        };
        let want = want.to_vec::<f32>().unwrap();
        let largest = want.iter().fold(0f64, |m, v| m.max(f64::from(v.abs())));
        for (i, (g, &w)) in values.iter().zip(&want).enumerate() {
            let limit = 1e-5 * largest + 1e-5 * f64::from(w.abs());
            if !((g - f64::from(w)).abs() <= limit || g.is_nan() && w.is_nan()) {
                return Err(format!(
                    "{} {:?}: {name}[{i}] is {g}, not {w} (limit {limit:e})",
                    c.name, c.form
                ));
            }
        }
    }
    Ok(None)
}

#[test]
fn goldens_ops() {
    let dir = directory().join("ops");
    let bytes = std::fs::read(dir.join("ops.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let index = std::fs::read_to_string(dir.join("index.jsonl")).unwrap();
    let mut ran: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unsupported: BTreeMap<String, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for line in index.lines() {
        let json: Json = serde_json::from_str(line).unwrap();
        let shapes: BTreeMap<String, Vec<usize>> = serde_json::from_value(json["tensors"].clone()).unwrap();
        let rank = shapes.get("x").or(shapes.get("x0")).map_or(0, Vec::len);
        for (form, name, from, to) in [
            (Form::Contiguous, "strided contiguous", 0, 12),
            (Form::ChannelsLast, "strided channels_last", 4, 5),
            (Form::Blocked, "blocked", 3, 5),
        ] {
            if !(from..=to).contains(&rank) {
                continue;
            }
            let case = Case {
                name: json["case"].as_str().unwrap().into(),
                op: json["op"].as_str().unwrap().into(),
                params: json["params"].clone(),
                shapes: shapes.clone(),
                file: &file,
                form,
            };
            match run(&case) {
                Ok(None) => *ran.entry(name).or_default() += 1,
                Ok(Some(reason)) => *unsupported.entry(format!("{name}: {reason}")).or_default() += 1,
                Err(text) => failures.push(text),
            }
        }
    }
    println!("cases that ran: {ran:?}");
    for (reason, count) in &unsupported {
        println!("unsupported: {count} x {reason}");
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert!(!ran.is_empty());
}
