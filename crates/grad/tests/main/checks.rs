//! Ops without a gradient, and keys of other crates.

use blocktensor::dispatch::{self, Backward, Kernel, register_backend};
use blocktensor::{BoundOp, DType, Error, Layout, MemoryFormat, Operand, StridedTensor, Tensor, ledger};
use blocktensor_grad::{Tape, Var, check, record};
use blocktensor_third_backend::{Reversed, key};

use crate::{op, reals, strided};

/// A program with two ops that have no gradient.
fn with_gaps(tape: &mut Tape, layout: Option<&Layout>) -> blocktensor::Result<Var> {
    let x = tape.variable(strided(&reals(70, 2 * 17 * 16), &[2, 17, 4, 4]).into());
    let x = match layout {
        Some(layout) => tape.to_blocked(&x, layout)?,
        None => x,
    };
    let positive = BoundOp::new("gt_scalar", &["x"], &[("other", 0.0.into())])?;
    let mask = tape.call(&positive, &[&x])?;
    let largest = BoundOp::new("argmax", &["x"], &[("axis", vec![1i64].into()), ("keepdim", true.into())])?;
    tape.call(&largest, &[&x])?;
    let pool = BoundOp::new("max_pool2d", &["x"], &[("kernel", vec![2i64].into())])?;
    tape.call(&op("where", &["condition", "a", "b"]), &[&mask, &x, &x])?;
    tape.call(&pool, &[&x])
}

#[test]
fn check_names_every_op_without_a_gradient_and_computes_nothing() {
    let native = Layout::native().0;
    for (layout, key) in [(None, "strided"), (Some(&native), "blocked")] {
        let (missing, book) = ledger::record(|| check(|tape| with_gaps(tape, layout)).unwrap());
        assert!(book.runs.is_empty() && book.reorders.is_empty(), "{book}");
        let texts: Vec<String> = missing.iter().map(Error::to_string).collect();
        assert_eq!(texts.len(), 2, "{texts:?}");
        for (text, op) in texts.iter().zip(["gt_scalar", "argmax"]) {
            assert!(text.contains(&format!("op `{op}` has no gradient for dispatch key `{key}`")), "{text}");
        }
        let error = record(|tape| with_gaps(tape, layout)).unwrap_err();
        assert_eq!(error.to_string(), texts[0]);
    }
    // The key has a gradient, which takes no bf16.
    let half = StridedTensor::zeros(&[1, 2], DType::BF16, MemoryFormat::Contiguous).unwrap();
    let relu = |tape: &mut Tape| {
        let x = tape.variable(half.clone().into());
        tape.call(&op("relu", &["x"]), &[&x])
    };
    let missing = check(relu).unwrap();
    assert!(matches!(missing[..], [Error::UnsupportedDType(_)]), "{missing:?}");
    assert_eq!(record(relu).unwrap_err().to_string(), missing[0].to_string());
    // A fused call does not keep what the gradients of its post-ops read.
    for (name, sizes) in [("linear", &[3, 4][..]), ("conv2d", &[3, 4, 1, 1])] {
        let fused = |tape: &mut Tape| {
            let x = tape.variable(strided(&[0.5; 8], &[&[2, 4], &sizes[2..]].concat()).into());
            let w = tape.constant(strided(&[0.25; 12], sizes).into());
            let op = BoundOp::new(name, &["x", "weights"], &[("post_ops", "relu".into())])?;
            tape.call(&op, &[&x, &w])
        };
        let missing = check(fused).unwrap();
        let [Error::InvalidArgument(c)] = &missing[..] else { panic!("{missing:?}") };
        assert_eq!((&*c.op, &*c.argument), (name, "post_ops"));
        assert_eq!(record(fused).unwrap_err().to_string(), missing[0].to_string());
    }
    // Sizes and results are those of the run.
    let dims = |tape: &mut Tape| {
        let x = tape.constant(strided(&[0.5; 48], &[1, 3, 4, 4]).into());
        let x = tape.to_blocked(&x, &Layout::native().0)?;
        let y = tape.call(&op("global_avg_pool", &["x"]), &[&x])?;
        let y = tape.to_strided(&y, MemoryFormat::Contiguous)?;
        Ok(y)
    };
    let described = std::cell::RefCell::new(Vec::new());
    check(|tape| {
        let y = dims(tape)?;
        described.borrow_mut().extend_from_slice(match y.tensor() {
            Tensor::Strided(t) => t.dims(),
            _ => unreachable!("it was reordered"),
        });
        Ok(())
    })
    .unwrap();
    assert_eq!(*described.borrow(), [1, 3, 1, 1]);
}

#[test]
fn a_key_of_another_crate_brings_its_gradients() {
    fn gradient(call: &Backward<'_>) -> blocktensor::Result<dispatch::Gradients> {
        // Of `relu` where all elements are positive.
        call.each(|_| Ok(call.diff()?.to_tensor()))
    }
    let x = Reversed::from_strided(&strided(&[1.0, 2.0], &[2])).unwrap().tensor_ref().to_tensor();
    let relu = op("relu", &["x"]);
    let run = || {
        record(|tape| {
            let x = tape.variable(x.clone());
            let y = tape.call(&relu, &[&x])?;
            Ok((x, y))
        })
    };
    let error = run().unwrap_err().to_string();
    assert!(error.contains("relu") && error.contains(key().name()), "{error}");
    register_backend(|r| r.kernel("relu", key(), Kernel::gradient(&gradient))).unwrap();
    let recording = run().unwrap();
    let (x, y) = recording.value().clone();
    let gradients = recording.backward_from(&y, y.tensor().clone()).unwrap();
    assert_eq!(gradients.of(&x).unwrap().tensor_ref().key(), key());
}
