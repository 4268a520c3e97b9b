//! What holds for the gradient of every op: errors, formats, the ledger, and gradients of other backends.

use blocktensor::dispatch::{self, Backward, DispatchKey, Kernel, KeySpec, Propagation, register_backend};
use blocktensor::{
    BoundOp, DType, Error, Layout, MemoryFormat, Operand, Operator, StridedTensor, Tensor, TensorRef,
    Unsupported, ledger,
};
use blocktensor_third_backend::{Reversed, key};

use super::{Kind, activation, bound, plain};
use crate::support::alone;

/// The gradient by the only operand.
fn backward(op: &BoundOp, x: &Tensor, y: &Tensor, diff: &Tensor) -> blocktensor::Result<Tensor> {
    let mut made = op.backward(&[x.tensor_ref()], &[y.tensor_ref()], &[Some(diff.tensor_ref())], &[true])?;
    Ok(made.remove(0).unwrap())
}

fn ones(dims: &[usize], kind: Kind) -> Tensor {
    activation(&vec![1.0; dims.iter().product()], dims, kind)
}

#[test]
fn an_op_without_a_gradient_names_op_and_key_before_it_runs() {
    for kind in [Kind::Nchw, Kind::Blocked(16)] {
        let x = ones(&[1, 3, 2, 2], kind);
        let op = bound("argmax", &["x"], &[("axis", vec![1i64].into()), ("keepdim", true.into())]);
        let error = op.check_gradient(&[x.tensor_ref()], &[true]).unwrap_err();
        let key = x.tensor_ref().key();
        match &error {
            Error::UnsupportedOp(u) => {
                assert_eq!((&*u.op, &*u.key, &u.reason), ("argmax", key.name(), &Unsupported::NoGradient));
                assert!(u.available.is_empty(), "{error}");
            }
            _ => panic!("{error}"),
        }
        assert!(error.to_string().contains("its results are indices"), "{error}");
        assert!(matches!(backward(&op, &x, &x, &x), Err(Error::UnsupportedOp(_))));
    }
    assert!(
        bound("relu", &["x"], &[])
            .check_gradient(&[ones(&[1, 3, 2, 2], Kind::Nhwc).tensor_ref()], &[true])
            .is_ok()
    );
}

/// Gradients read results, and what they show of sizes.
#[test]
fn results_that_are_not_those_of_the_forward_call_are_refused() {
    let x = ones(&[1, 17, 4, 4], Kind::Blocked(16));
    let op = bound("max_pool2d", &["x"], &[("kernel", vec![2i64].into())]);
    for (dims, kind) in [([1, 17, 3, 3], 16), ([1, 17, 4, 4], 16), ([1, 17, 2, 2], 8)] {
        let other = ones(&dims, Kind::Blocked(kind));
        let error = backward(&op, &x, &other, &other).unwrap_err();
        let is_right = match kind {
            16 => matches!(error, Error::ShapeMismatch(_)),
            _ => matches!(error, Error::LayoutMismatch(_)),
        };
        assert!(is_right && error.to_string().contains("argument `results`"), "{error}");
    }
    let x = ones(&[2, 3], Kind::Nchw);
    // Before the gradient is compared with them.
    let (sqrt, turned) = (bound("sqrt", &["x"], &[]), ones(&[3, 2], Kind::Nchw));
    let error = backward(&sqrt, &x, &turned, &x).unwrap_err();
    assert!(error.to_string().contains("argument `results`"), "{error}");
    let sort = bound("sort", &["x"], &[("axis", 1.into())]);
    assert!(matches!(backward(&sort, &x, &x, &x), Err(Error::InvalidArgument(_))));
    // Indices that lead out of the operand.
    let wrong = StridedTensor::from_slice(&[0i32, 1, 2, 0, 7, -1], &[2, 3]).unwrap();
    let results = [x.tensor_ref(), wrong.tensor_ref()];
    let error =
        sort.backward(&[x.tensor_ref()], &results, &[Some(x.tensor_ref()), None], &[true]).unwrap_err();
    assert!(matches!(error, Error::OutOfBounds(_)), "{error}");
}

/// Every op of this crate has a gradient for each key that it computes for, or says why not.
#[test]
fn every_op_has_a_gradient_or_a_reason() {
    for op in dispatch::ops() {
        for key in [DispatchKey::STRIDED, DispatchKey::BLOCKED] {
            let schema = op.schema();
            let has = op.gradients(key).next().is_some();
            if op.kernel(key).is_some() {
                let reason = schema.facts.without_gradient;
                assert_ne!(has, reason.is_some(), "`{}` on {key}: {reason:?}", schema.name);
            } else {
                assert!(!has, "`{}` computes nothing on {key}", schema.name);
            }
        }
    }
}

#[test]
fn a_blocked_gradient_in_another_layout_is_an_error_with_a_remedy() {
    let x = ones(&[1, 17, 2, 2], Kind::Blocked(16));
    let op = bound("relu", &["x"], &[]);
    let error = backward(&op, &x, &x, &ones(&[1, 17, 2, 2], Kind::Blocked(8))).unwrap_err();
    assert!(matches!(error, Error::LayoutMismatch(_)), "{error}");
    assert!(error.to_string().contains("reorder_to") && error.to_string().contains("nChw16c"), "{error}");
    let error = backward(&op, &x, &x, &ones(&[1, 17, 2, 2], Kind::Nhwc)).unwrap_err();
    assert!(matches!(error, Error::KeyMismatch(_)) && error.to_string().contains("to_blocked"), "{error}");
    let strided = ones(&[1, 17, 2, 2], Kind::Nhwc);
    let error = backward(&op, &strided, &strided, &x).unwrap_err();
    assert!(matches!(error, Error::KeyMismatch(_)) && error.to_string().contains("to_strided"), "{error}");
    let error = backward(&op, &x, &x, &ones(&[1, 16, 2, 2], Kind::Blocked(16))).unwrap_err();
    assert!(matches!(error, Error::ShapeMismatch(_)), "{error}");
    let other = StridedTensor::zeros(&[1, 17, 2, 2], DType::S32, MemoryFormat::Contiguous).unwrap().into();
    assert!(matches!(backward(&op, &strided, &strided, &other), Err(Error::DTypeMismatch(_))));
}

#[test]
fn what_a_backward_call_needs_is_checked() {
    let x = ones(&[1, 3, 2, 2], Kind::Nchw);
    let (r, op) = (x.tensor_ref(), bound("relu", &["x"], &[]));
    for (results, diffs, wanted) in
        [(vec![r], vec![], vec![true]), (vec![r], vec![Some(r)], vec![]), (vec![r], vec![None], vec![true])]
    {
        let error = op.backward(&[r], &results, &diffs, &wanted).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument(_)), "{error}");
    }
    let made = op.backward(&[r], &[r], &[Some(r)], &[false]).unwrap();
    assert!(matches!(made[..], [None]));
    // An operand in bf16 has no gradient.
    let half: Tensor = StridedTensor::zeros(&[2], DType::BF16, MemoryFormat::Contiguous).unwrap().into();
    let error = backward(&op, &half, &half, &half).unwrap_err();
    assert!(matches!(error, Error::UnsupportedDType(_)), "{error}");
    // A fused activation's value before it is not kept.
    let w = ones(&[2, 3, 1, 1], Kind::Nchw);
    let conv = bound("conv2d", &["x", "weights"], &[("post_ops", "relu".into())]);
    let inputs = [r, w.tensor_ref()];
    let y = conv.run(&inputs).unwrap().remove(0);
    let (y, none) = (y.tensor_ref(), [false, true]);
    let error = conv.backward(&inputs, &[y], &[Some(y)], &none).unwrap_err();
    assert!(error.to_string().contains("ops of their own"), "{error}");
}

/// Running statistics are results and operands that nothing is differentiated by, indices too.
#[test]
fn what_has_no_gradient_is_refused_by_name() {
    let x = ones(&[2, 3, 2, 2], Kind::Blocked(16));
    let stat = StridedTensor::full(&[3], 1f32, MemoryFormat::Contiguous).unwrap().into();
    let stat: &Tensor = &stat;
    let op = bound("batch_norm_train", &["x", "running_mean", "running_var"], &[]);
    let inputs = [x.tensor_ref(), stat.tensor_ref(), stat.tensor_ref()];
    let results = op.run(&inputs).unwrap();
    let results: Vec<_> = results.iter().map(Operand::tensor_ref).collect();
    let wrong = |diffs: &[Option<TensorRef<'_>>], wanted: &[bool], told: &str| {
        let error = op.backward(&inputs, &results, diffs, wanted).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument(_)) && error.to_string().contains(told), "{error}");
    };
    let (dy, ds) = (Some(x.tensor_ref()), Some(stat.tensor_ref()));
    op.backward(&inputs, &results, &[dy, None, None], &[true, false, false]).unwrap();
    wrong(&[dy, ds, None], &[true, false, false], "`new_running_mean`");
    wrong(&[dy, None, None], &[true, true, false], "`running_mean`");
    assert!(
        op.check_gradient(&inputs, &[true, false, true]).unwrap_err().to_string().contains("`running_var`")
    );
    op.check_gradient(&inputs, &[true, false, false]).unwrap();
    assert_eq!([0, 1, 2].map(|i| op.differentiates_result(i, 3, DType::F32)), [true, false, false]);
    assert!(!bound("topk", &["x"], &[("k", 1.into()), ("axis", 0.into())]).differentiates_result(
        1,
        2,
        DType::S32
    ));
}

/// No copy where formats agree, one in the ledger where they do not, none under `deny_reorders`.
#[test]
fn copies_are_in_the_ledger() {
    let params = [("kernel", vec![2i64].into())];
    let op = bound("max_pool2d", &["x"], &params);
    let x = ones(&[2, 3, 4, 4], Kind::Nhwc);
    let y = op.run(&[x.tensor_ref()]).unwrap().remove(0);
    let same = ones(&[2, 3, 2, 2], Kind::Nhwc);
    let other = ones(&[2, 3, 2, 2], Kind::Nchw);
    let (made, book) = ledger::record(|| backward(&op, &x, &y, &same).unwrap());
    assert!(book.reorders.is_empty(), "{book}");
    assert!(book.runs.iter().any(|run| run.implementation == "blocktensor:backward"), "{book}");
    let (copied, book) = ledger::record(|| backward(&op, &x, &y, &other).unwrap());
    assert_eq!((book.reorders.len(), plain(&copied)), (1, plain(&made)), "{book}");
    let denied = ledger::deny_reorders(|| backward(&op, &x, &y, &other)).unwrap_err();
    assert!(matches!(denied, Error::ReorderDenied(_)), "{denied}");
    // The remedy works.
    let remedy = "; before the scope, bring the tensor into that layout: call `contiguous(\"channels_last\".parse()?)`";
    let text = denied.to_string();
    assert!(text.contains("to channels_last") && text.ends_with(remedy), "{text}");
    let TensorRef::Strided(other) = other.tensor_ref() else { panic!("it is strided") };
    let other = other.contiguous("channels_last".parse().unwrap()).unwrap().into();
    assert_eq!(plain(&ledger::deny_reorders(|| backward(&op, &x, &y, &other)).unwrap()), plain(&made));
    // Blocked, only weights are copied, where the gradient by the source is asked for.
    let x = ones(&[1, 17, 4, 4], Kind::Blocked(16));
    let layout = Layout::OIHW16I16O;
    let w: Tensor = StridedTensor::full(&[3, 17, 3, 3], 1f32, MemoryFormat::Contiguous)
        .unwrap()
        .to_blocked(&layout)
        .unwrap()
        .into();
    let conv = bound("conv2d", &["x", "weights"], &[]);
    let inputs = [x.tensor_ref(), w.tensor_ref()];
    let y = conv.run(&inputs).unwrap().remove(0);
    for (wanted, copies) in [([true, true], 1), ([false, true], 0)] {
        let diffs = [Some(y.tensor_ref())];
        let (made, book) = ledger::record(|| conv.backward(&inputs, &[y.tensor_ref()], &diffs, &wanted));
        made.unwrap();
        assert_eq!(book.reorders.len(), copies, "{book}");
        assert!(book.reorders.iter().all(|r| r.cause == ledger::Cause::Packing), "{book}");
    }
}

/// The ops take bf16, their gradients do not: a conversion would be a call of the tape, too.
#[test]
fn dtypes_that_a_gradient_does_not_take_are_told_as_the_gradients() {
    let half =
        StridedTensor::full(&[2], 1f32, MemoryFormat::Contiguous).unwrap().to_dtype(DType::BF16).unwrap();
    let op = bound("relu", &["x"], &[]);
    let y = op.run(&[half.tensor_ref()]).unwrap().remove(0);
    let error = backward(&op, &half.into(), &y, &y).unwrap_err().to_string();
    let rule = "the gradient for key `strided` takes f32; compute in that dtype what is differentiated";
    assert!(error.contains(rule), "{error}");
}

#[test]
fn another_backend_registers_gradients_of_its_key() {
    fn gradient(call: &Backward<'_>) -> blocktensor::Result<dispatch::Gradients> {
        call.each(|_| Ok(call.diff()?.to_tensor()))
    }
    alone("gradient::rules::another_backend_registers_gradients_of_its_key", &[], || {
        let x = Reversed::from_strided(&StridedTensor::from_slice(&[1f32, 2.0], &[2]).unwrap()).unwrap();
        let x = x.tensor_ref().to_tensor();
        let op = bound("relu", &["x"], &[]);
        let error = backward(&op, &x, &x, &x).unwrap_err();
        assert!(error.to_string().contains("keys with a gradient: strided, blocked"), "{error}");
        register_backend(|r| r.kernel("relu", key(), Kernel::gradient(&gradient))).unwrap();
        assert_eq!(backward(&op, &x, &x, &x).unwrap().tensor_ref().dims(), [2]);
        // The same once more is a clash, as for kernels; gradients and kernels are apart.
        let clash = register_backend(|r| r.kernel("relu", key(), Kernel::gradient(&gradient)));
        assert!(matches!(clash, Err(Error::Registration(_))));
        let known = dispatch::op("relu").unwrap();
        assert_eq!((known.kernels(key()).count(), known.gradients(key()).count()), (1, 1));
        // A gradient of what no kernel of the key computes is refused, and nothing is registered. A kernel may follow its gradient.
        let register = |with_kernel: bool| {
            register_backend(|r| {
                let own = r.key(KeySpec { name: "of gradients", to_strided: "-", from_strided: "-" })?;
                r.kernel("relu", own, Kernel::gradient(&gradient))?;
                r.kernel("abs", own, Kernel::rust(&|_, _| unreachable!("nothing calls it")))?;
                if with_kernel {
                    r.kernel("relu", own, Kernel::rust(&|_, _| unreachable!("nothing calls it")))?;
                }
                Ok(())
            })
        };
        let error = register(false).unwrap_err();
        let text = "argument `gradients`: got one for `relu`, but the key has no kernel that computes `relu`; register a kernel for `relu`";
        assert!(matches!(error, Error::Registration(_)) && error.to_string().contains(text), "{error}");
        assert_eq!(DispatchKey::by_name("of gradients"), None);
        register(true).unwrap();
        let own = DispatchKey::by_name("of gradients").unwrap();
        assert_eq!((known.kernels(own).count(), known.gradients(own).count()), (1, 1));
    });
    let propagations: Vec<Propagation> = dispatch::op("relu")
        .unwrap()
        .implementations()
        .filter(|(key, _)| *key == DispatchKey::BLOCKED)
        .map(|(_, kernel)| kernel.propagation())
        .collect();
    assert_eq!(propagations, [Propagation::Forward, Propagation::Backward]);
}
