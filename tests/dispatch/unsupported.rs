//! Every op under every key: a call without a kernel is an error, and nothing is reordered.

use blocktensor::dispatch::{self, DispatchKey, Value};
use blocktensor::{Error, Layout, MemoryFormat, StridedTensor, Tensor, Unsupported, ledger};
use blocktensor_third_backend::{Reversed, key};

use crate::support::activation::elements;
use crate::support::arguments;

const DIMS: [usize; 4] = [1, 17, 2, 3];

fn plain() -> StridedTensor {
    let values: Vec<f32> = (0..DIMS.iter().product::<usize>()).map(|i| i as f32 - 40.0).collect();
    StridedTensor::from_slice(&values, &DIMS).unwrap()
}

fn tensor_of(k: DispatchKey) -> Tensor {
    match k {
        DispatchKey::STRIDED => plain().into(),
        DispatchKey::BLOCKED => plain().to_blocked(&Layout::native().0).unwrap().into(),
        k if k == key() => {
            use blocktensor::Operand;
            Reversed::from_strided(&plain()).unwrap().tensor_ref().to_tensor()
        }
        k => panic!("no tensor of key {k}"),
    }
}

fn values_of(t: &Tensor) -> Vec<f32> {
    use blocktensor::Operand;
    let strided = match t {
        Tensor::Strided(t) => t.clone(),
        Tensor::Blocked(t) => t.to_strided(MemoryFormat::Contiguous).unwrap(),
        other => Reversed::from_tensor(other.clone()).unwrap().to_strided().unwrap(),
    };
    strided.to_vec::<f32>().unwrap()
}

#[test]
fn ops_without_a_kernel_for_a_key_are_refused_with_a_remedy_and_move_nothing() {
    key();
    let (mut refused, mut supported) = (Vec::new(), 0);
    for op in dispatch::ops() {
        let name = op.schema().name;
        for k in DispatchKey::all() {
            if op.kernel(k).is_some() {
                supported += 1;
                continue;
            }
            let t = tensor_of(k);
            let before = values_of(&t);
            let args = arguments(op, &t);
            let (outcome, book) = ledger::record(|| dispatch::call(name, &args));
            let error = outcome.expect_err(name);
            let Error::UnsupportedOp(u) = &error else { panic!("{name} on {k}: {error}") };
            assert_eq!((&*u.op, &*u.key, &u.reason), (name, k.name(), &Unsupported::NoKernel));
            let available: Vec<String> = op.keys().iter().map(|k| k.name().to_string()).collect();
            assert_eq!(u.available, available, "{name} on {k}");
            assert!(!u.remedy.is_empty(), "{error}");
            let text = error.to_string();
            for part in [name, k.name(), "[1, 17, 2, 3] f32", &u.remedy] {
                assert!(text.contains(part), "`{text}` lacks `{part}`");
            }
            let layout = match k {
                DispatchKey::STRIDED => "contiguous".to_string(),
                DispatchKey::BLOCKED => Layout::native().0.to_string(),
                _ => "back_to_front".into(),
            };
            assert!(text.contains(&layout), "`{text}` lacks the layout {layout}");
            assert!(available.iter().all(|k| text.contains(k.as_str())), "{text}");
            assert!(book.reorders.is_empty() && book.runs.is_empty(), "{name} on {k}: {book}");
            assert_eq!(values_of(&t), before, "{name} on {k} changed its operand");
            refused.push(format!("{name} on {k}"));
        }
    }
    println!("{} pairs refused, {supported} supported; refused: {}", refused.len(), refused.join(", "));
    let of_ours = refused.iter().filter(|r| !r.ends_with("reversed")).count();
    assert!(of_ours >= 12, "only {of_ours} pairs of our own keys to refuse");
}

#[test]
fn the_error_of_a_missing_kernel_is_one_sentence_with_the_remedy() {
    let t = tensor_of(DispatchKey::BLOCKED);
    let e = dispatch::call("matmul", &[("a", t.clone().into()), ("b", t.into())]).unwrap_err();
    let layout = Layout::native().0;
    assert_eq!(
        e.to_string(),
        format!(
            "op `matmul` has no kernel for dispatch key `blocked` (operands: a [1, 17, 2, 3] f32 {layout}, b [1, 17, \
             2, 3] f32 {layout}; keys with a kernel: strided); reorder with `to_strided(MemoryFormat::Contiguous)` and \
             call it there; a result that suits `blocked` comes back with `to_blocked`"
        )
    );
}

/// Strided tensors of every rank, dense and not: a result or an error, and no panic.
#[test]
fn every_op_runs_or_refuses_tensors_of_every_rank_without_a_panic() {
    let (mut ran, mut refused) = (0, 0);
    for rank in 0..=blocktensor::MAX_RANK {
        let dims: Vec<usize> = (0..rank).map(|axis| if axis == 1 { 17 } else { 2 }).collect();
        let x = StridedTensor::full(&dims, 2f32, MemoryFormat::Contiguous).unwrap();
        let axes: Vec<usize> = (0..rank).rev().collect();
        let turned: Vec<usize> = axes.iter().map(|&axis| dims[axis]).collect();
        let view =
            StridedTensor::full(&turned, 2f32, MemoryFormat::Contiguous).unwrap().permute(&axes).unwrap();
        for op in dispatch::ops().into_iter().filter(|op| op.kernel(DispatchKey::STRIDED).is_some()) {
            for t in [&x, &view] {
                match dispatch::call(op.schema().name, &arguments(op, &t.clone().into())) {
                    Ok(_) => ran += 1,
                    Err(Error::Backend { .. } | Error::OutOfMemory { .. }) => panic!("{}", op.schema().name),
                    Err(_) => refused += 1,
                }
            }
        }
        // Norms over channels have at most three spatial dimensions.
        let vector: Value = StridedTensor::full(&[17], 1f32, MemoryFormat::Contiguous).unwrap().into();
        for t in [x, view] {
            let given = [("x", t.into()), ("mean", vector.clone()), ("var", vector.clone())];
            let norm = dispatch::call("batch_norm", &given);
            assert_eq!(norm.is_ok(), (2..=5).contains(&rank), "rank {rank}");
            assert!(norm.is_ok() || matches!(norm, Err(Error::RankMismatch(_))), "rank {rank}: {norm:?}");
        }
    }
    assert!(ran > 1500 && refused > 500, "{ran} {refused}");
}

/// Blocked tensors of every rank and order, weights' layouts too: a result or an error, and no panic.
#[test]
fn every_op_runs_or_refuses_every_blocked_layout_without_a_panic() {
    let layouts = ["A16a", "aB16b", "AB16a16b", "nCw8c", "nChw4c", "nCdhw16c", "OIhw16i16o", "Goihw16g"];
    let sizes = [17, 17, 3, 2, 2];
    let (mut ran, mut refused) = (0, 0);
    for name in layouts {
        let layout: Layout = name.parse().unwrap();
        let dims = &sizes[..layout.rank()];
        let values: Vec<f32> = (0..dims.iter().product::<usize>()).map(|i| i as f32 - 40.0).collect();
        let t = StridedTensor::from_slice(&values, dims).unwrap().to_blocked(&layout).unwrap();
        for op in dispatch::ops() {
            match dispatch::call(op.schema().name, &arguments(op, &t.clone().into())) {
                Ok(results) => {
                    ran += 1;
                    results.iter().for_each(|y| drop(elements(y)));
                }
                Err(e) => {
                    refused += 1;
                    assert!(!matches!(e, Error::Backend { .. }), "{}, {name}: {e}", op.schema().name);
                }
            }
        }
        assert_eq!(values_of(&t.into()), values, "{name}");
    }
    assert!(ran > 200 && refused > 200, "{ran} {refused}");
}
