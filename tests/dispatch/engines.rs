//! Which code runs every op under every key, found by running it: oneDNN's runs are counted where it is called.

use std::panic::{AssertUnwindSafe, catch_unwind};

use blocktensor::dispatch::schema::{ArgKind, DTypes};
use blocktensor::dispatch::{self, DTypeTuple, DispatchKey, Engine, Op, Value};
use blocktensor::testing::inject;
use blocktensor::{DType, Layout, MemoryFormat, StridedTensor, Tensor, WeightsKind, ledger};

use crate::support::activation::forms;

pub type Given = Vec<(&'static str, Value)>;

/// What ran in the calls of an op under a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    onednn: bool,
    rust: bool,
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match (self.onednn, self.rust) {
            (true, true) => "oneDNN, Rust",
            (true, false) => "oneDNN",
            (false, true) => "Rust",
            (false, false) => "nothing",
        })
    }
}

/// Calls an op under a key that has a kernel for it, with every dtype of the kernel.
pub fn ran(op: &Op, key: DispatchKey) -> Ran {
    let name = op.schema().name;
    let mut ran = Ran::default();
    let tuples = op.kernel(key).expect("a kernel").dtypes.iter();
    // That of the first tensor which may have several: the condition of `where` is always u8.
    let fixed: Vec<bool> = op
        .schema()
        .args
        .iter()
        .filter(|a| a.kind.is_tensor())
        .map(|spec| matches!(spec.dtypes, DTypes::Fixed(..)))
        .collect();
    let first = |t: &DTypeTuple| t.operands.iter().zip(&fixed).find(|(_, fixed)| !**fixed).map(|(d, _)| *d);
    let dtypes: Vec<DType> =
        tuples.map(|t| first(t).or(t.operands.first().copied()).unwrap_or(DType::F32)).collect();
    let mut all = calls(op, key, &dtypes);
    if name == "linear" && op.kernels(key).any(|kernel| kernel.engine == Engine::OneDnn) {
        let of = |dims: &[usize]| plain(dims).to_dtype(DType::BF16).unwrap().into();
        all.push(("bf16".into(), vec![("x", of(&[33, 256])), ("weights", of(&[64, 256]))]));
    }
    for (what, given) in all {
        let ((results, book), seen) = inject(None, || ledger::record(|| dispatch::call(name, &given)));
        let results = results.unwrap_or_else(|e| panic!("{name} on {key}, {what}: {e}"));
        let as_operator = blocktensor::testing::check_operator(name, &given).unwrap();
        assert_eq!(as_operator, None, "{name} on {key}, {what}");
        let by_onednn = seen.engine_runs > 0;
        ran.onednn |= by_onednn;
        ran.rust |= !by_onednn;
        // The ledger says the same. A view runs nothing, and neither does a copy that stands there as a reorder.
        let ours = book.runs.iter().filter(|r| r.implementation.starts_with("blocktensor:")).count();
        assert_eq!(book.runs.len() > ours, by_onednn, "{name} on {key}, {what}: {book}");
        let is_view = matches!(
            (&results[0], &given[0].1),
            (Tensor::Strided(y), Value::Tensor(Tensor::Strided(x))) if y.shares_storage(x)
        );
        assert!(
            !book.runs.is_empty() || is_view || !book.reorders.is_empty(),
            "{name} on {key}, {what}: {book}"
        );
        assert!(book.runs.iter().all(|r| r.op == name && r.key == key.name()), "{name} on {key}: {book}");
    }
    ran
}

/// How many spatial dimensions the operand of an op has here.
fn spatial(name: &str) -> usize {
    match name {
        _ if name.ends_with("1d") || name == "upsample_linear" => 1,
        _ if name.ends_with("3d") || name == "upsample_trilinear" => 3,
        _ => 2,
    }
}

fn plain(dims: &[usize]) -> StridedTensor {
    let values: Vec<f32> = (0..dims.iter().product::<usize>()).map(|i| (i % 7) as f32 - 3.0).collect();
    StridedTensor::from_slice(&values, dims).unwrap()
}

fn under(key: DispatchKey, t: StridedTensor, layout: impl FnOnce(usize) -> Layout) -> Value {
    match key {
        DispatchKey::STRIDED => t.into(),
        _ => t.to_blocked(&layout(t.rank())).unwrap().into(),
    }
}

pub fn calls(op: &Op, key: DispatchKey, dtypes: &[DType]) -> Vec<(String, Given)> {
    let name = op.schema().name;
    let s = spatial(name);
    let sized = |first: [usize; 2], side: usize| [&first[..], &vec![side; s]].concat();
    match name {
        _ if name.starts_with("conv") => {
            let activation = |rank| Layout::native_activation(rank).unwrap();
            let dense = |rank| Layout::native_weights(rank, WeightsKind::Dense).unwrap();
            let given = || -> Given {
                vec![
                    ("x", under(key, plain(&sized([2, 16], 6)), activation)),
                    ("weights", under(key, plain(&sized([16, 16], 2)), dense)),
                ]
            };
            // oneDNN is not asked for more padding than its tables are made for.
            // Along one axis: our own kernel copies a window of all.
            let wide = |usual: i64, last: i64| Value::from([vec![usual; s - 1], vec![last]].concat());
            let beyond = [("padding", wide(0, 35_000)), ("dilation", wide(1, 70_000))];
            vec![
                ("a usual one".into(), given()),
                ("one that oneDNN has no kernel for".into(), given().into_iter().chain(beyond).collect()),
            ]
        }
        "linear" => vec![
            ("no bias".into(), vec![("x", plain(&[2, 16]).into()), ("weights", plain(&[8, 16]).into())]),
            (
                "a bias".into(),
                vec![
                    ("x", plain(&[33, 256]).into()),
                    ("weights", plain(&[64, 256]).into()),
                    ("bias", plain(&[64]).into()),
                ],
            ),
        ],
        "matmul" => vec![
            ("matrices".into(), vec![("a", plain(&[3, 4]).into()), ("b", plain(&[4, 5]).into())]),
            ("a batch".into(), vec![("a", plain(&[2, 40, 64]).into()), ("b", plain(&[64, 50]).into())]),
        ],
        _ => {
            let x = plain(&sized([2, 16], 6));
            let mut calls = Vec::new();
            for (form, t) in forms(&x) {
                // Blocks of 4 are for interchange, and a view takes strides as they are.
                let (suits, of_key) = match form {
                    "blocked by 16" | "blocked by 8" => (true, DispatchKey::BLOCKED),
                    "contiguous" => (true, DispatchKey::STRIDED),
                    "channels_last" | "reversed" => (name != "view", DispatchKey::STRIDED),
                    _ => (false, key),
                };
                if suits && of_key == key {
                    calls.push((form.to_string(), arguments(op, &t, s)));
                }
            }
            for &dtype in dtypes.iter().filter(|&&d| d != DType::F32) {
                let t = x.to_dtype(dtype).unwrap();
                let t: Tensor = match key {
                    DispatchKey::STRIDED => t.into(),
                    _ => t.to_blocked(&Layout::native_activation(t.rank()).unwrap()).unwrap().into(),
                };
                calls.push((dtype.to_string(), arguments(op, &t, s)));
            }
            calls
        }
    }
}

/// Values that every op but products and convolutions takes, for an operand of 2 images of 16 channels and sides of 6.
fn arguments(op: &Op, t: &Tensor, spatial: usize) -> Given {
    use blocktensor::Operand;
    let dims: Vec<i64> = t.tensor_ref().dims().iter().map(|&d| d as i64).collect();
    let as_type = |dtype: DType| {
        let zeros = StridedTensor::zeros(t.tensor_ref().dims(), dtype, MemoryFormat::Contiguous).unwrap();
        match t {
            Tensor::Blocked(b) => Value::from(zeros.to_blocked(b.layout()).unwrap()),
            _ => zeros.into(),
        }
    };
    let mut given = Given::new();
    for a in op.schema().args {
        let value: Value = match (op.schema().name, a.name) {
            ("where", "condition") => as_type(DType::U8),
            ("lookup", "values") => StridedTensor::from_slice(&[7u8; 256], &[256]).unwrap().into(),
            ("dequantize" | "lookup" | "quantized_avg_pool" | "requantize", "x")
            | ("quantized_add" | "quantized_mul", "a")
                if t.tensor_ref().dtype() == DType::F32 =>
            {
                as_type(DType::U8)
            }
            (_, "zero_point") | ("requantize", "dst_zero_point") => {
                StridedTensor::from_slice(&[0i32; 16], &[16]).unwrap().into()
            }
            ("gather", "index") => as_type(DType::S32),
            ("index_select", "index") => StridedTensor::from_slice(&[0i32, 3, 3], &[3]).unwrap().into(),
            // On blocked tensors the channels stay axis 1.
            ("stack", "axis") => 2i64.into(),
            ("view" | "reshape", "dims") => vec![dims.iter().product::<i64>()].into(),
            ("expand", "dims") => [&[5], &dims[..]].concat().into(),
            ("permute", "axes") => (0..dims.len() as i64).rev().collect::<Vec<_>>().into(),
            ("split", "sizes") => vec![1i64, 1].into(),
            ("pad", "padding") => vec![1i64, 2].into(),
            (_, "normalized_shape") => vec![6i64].into(),
            (_, "kernel") => vec![2i64; spatial].into(),
            (_, "output") => vec![3i64; spatial].into(),
            (_, "factor" | "groups" | "chunks") => 2i64.into(),
            (_, "training" | "keepdim") => true.into(),
            // One point of each image.
            ("grid_sample", "grid") => plain(&[2, 1, 1, 2]).into(),
            _ => match a.kind {
                ArgKind::Data => t.clone().into(),
                ArgKind::DataList => vec![t.clone(), t.clone()].into(),
                ArgKind::Param => StridedTensor::from_slice(&[1f32; 16], &[16]).unwrap().into(),
                ArgKind::Int(None) => 1i64.into(),
                ArgKind::Ints(None) => vec![1i64].into(),
                ArgKind::Float(None) => 1f64.into(),
                _ => continue,
            },
        };
        given.push((a.name, value));
    }
    given
}

/// Whether this process uses AVX-512.
fn has_avx512() -> bool {
    Layout::native().0.block_of(1) == 16
}

#[test]
fn what_runs_is_what_the_registry_says() {
    let (mut kernels, mut wrong) = (0, Vec::new());
    for op in dispatch::ops() {
        for key in [DispatchKey::STRIDED, DispatchKey::BLOCKED] {
            let mut engines: Vec<String> = op.kernels(key).map(|kernel| kernel.engine.to_string()).collect();
            // One for f32 and one for bf16, in the order in which they are said.
            engines.sort_by_key(|engine| engine != "oneDNN");
            engines.dedup();
            if engines.is_empty() {
                continue;
            }
            let (name, said) = (op.schema().name, engines.join(", "));
            match catch_unwind(AssertUnwindSafe(|| ran(op, key).to_string())) {
                Ok(ran) if ran == said => {}
                // Without AVX-512 oneDNN has fewer kernels, and ours run where it has none.
                Ok(ran) if !has_avx512() && said.contains(&ran) => {}
                Ok(ran) => wrong.push(format!("{name} on {key}: {ran} ran, and {said} is said")),
                Err(_) => wrong.push(format!("{name} on {key} panicked")),
            }
            kernels += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(kernels > 180, "{kernels}");
}
