//! The judge of problems finds every wrong result.

use blocktensor::{BlockedTensor, Complaint, DType, Error, Layout, MemoryFormat, StridedTensor, Tensor};
use blocktensor_problems::{Outcome, Refusal, Want};

const DIMS: [usize; 3] = [1, 2, 3];

fn want<'a>(values: &'a [f64], limit: &'a dyn Fn(usize) -> f64) -> Want<'a> {
    Want { dims: &DIMS, values, limit, norm: None, refusal: None }
}

fn plain(values: &[f32], dims: &[usize]) -> Tensor {
    StridedTensor::from_slice(values, dims).unwrap().into()
}

#[track_caller]
fn fails(outcome: Outcome, text: &str) {
    assert!(matches!(&outcome, Outcome::Failed(why) if why.contains(text)), "{outcome:?}: {text}");
}

#[test]
fn judge_fails_a_wrong_number_shape_tail_error_or_panic() {
    let right = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let values = right.map(f64::from);
    let exact = want(&values, &|_| 0.0);
    assert_eq!(exact.of("it", || Ok(plain(&right, &DIMS))), Outcome::Passed);
    for wrong in [4.000_000_5, f32::NAN, f32::INFINITY, -4.0] {
        let mut numbers = right;
        numbers[3] = wrong;
        let said = format!("it: 1 of 6 elements differ, first [0, 1, 0]: {wrong} instead of 4");
        fails(exact.of("it", || Ok(plain(&numbers, &DIMS))), &said);
    }
    fails(exact.of("it", || Ok(plain(&right, &[1, 3, 2]))), "[1, 3, 2] instead of [1, 2, 3]");
    fails(exact.of("it", || panic!("at once")), "it: panicked: at once");
    let complaint = || Complaint::new("op", "x", "this", "that", "do");
    fails(exact.of("it", || Err(Error::InvalidArgument(complaint()))), "got this, but that");
    let near = want(&values, &|_| 1e-3);
    assert_eq!(near.of("it", || Ok(plain(&right.map(|v| v + 5e-4), &DIMS))), Outcome::Passed);
    fails(near.of("it", || Ok(plain(&right.map(|v| v + 2e-3), &DIMS))), "6 of 6 elements differ");
}

#[test]
fn judge_reads_blocked_results_in_logical_order() {
    let right = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let values = right.map(f64::from);
    let layout = Layout::native_activation(3).unwrap();
    let x = StridedTensor::from_slice(&right, &DIMS).unwrap().to_blocked(&layout).unwrap();
    assert_eq!(want(&values, &|_| 0.0).of("it", || Ok(x.into())), Outcome::Passed);
    let zeros = BlockedTensor::zeros(&DIMS, DType::F32, &layout).unwrap();
    fails(want(&values, &|_| 0.0).of("it", || Ok(zeros.into())), "6 of 6 elements differ");
}

#[test]
fn judge_by_norm_takes_small_errors_anywhere_and_no_nan() {
    let values = [1000.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let by_norm = Want { norm: Some(1e-5), ..want(&values, &|_| 0.0) };
    assert_eq!(by_norm.compare(&[1000.0, 0.001, 0.0, 0.0, 0.0, 0.0]), None);
    assert!(by_norm.compare(&[1000.0, 0.1, 0.0, 0.0, 0.0, 0.0]).unwrap().contains("by norm"));
    assert!(by_norm.compare(&[1000.0, 0.0, f32::NAN, 0.0, 0.0, 0.0]).is_some());
    assert!(by_norm.compare(&[1000.0]).is_some());
}

#[test]
fn judge_counts_only_the_expected_refusal_as_unsupported() {
    let complain = |argument: &'static str| {
        Error::InvalidArgument(Complaint::new("pool", argument, "3", "it is at most 1", "pad less"))
    };
    let owed = Want {
        dims: &DIMS,
        values: &[],
        limit: &|_| 0.0,
        norm: None,
        refusal: Some(Refusal { argument: "padding", rule: "too much padding" }),
    };
    let unsupported = Outcome::Unsupported("pool: too much padding".into());
    assert_eq!(owed.of("it", || Err(complain("padding"))), unsupported);
    fails(owed.of("it", || Err(complain("stride"))), "argument `stride`");
    // An op without a kernel is unsupported by its own error.
    let x = StridedTensor::full(&[1, 16, 2, 2], 1f32, MemoryFormat::Contiguous).unwrap();
    let xb: Tensor = x.to_blocked(&Layout::native().0).unwrap().into();
    let outcome = want(&[], &|_| 0.0).of("it", || blocktensor::ops::matmul(&xb, &xb));
    assert_eq!(outcome, Outcome::Unsupported("it: matmul, blocked: no kernel".into()));
}

#[test]
fn a_run_of_problems_fails_with_any_of_its_parts() {
    let [passed, failed] = [Outcome::Passed, Outcome::Failed("a".into())];
    let unsupported = Outcome::Unsupported("b".into());
    for (a, b, both) in [
        (&passed, &passed, &passed),
        (&passed, &unsupported, &unsupported),
        (&unsupported, &failed, &failed),
        (&passed, &failed, &failed),
    ] {
        assert_eq!(&a.clone().and(b.clone()), both);
        assert_eq!(&b.clone().and(a.clone()), both);
    }
    assert_eq!(failed.clone().and(failed), Outcome::Failed("a; a".into()));
}
