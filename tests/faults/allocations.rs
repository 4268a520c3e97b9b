//! Every allocation of storage that a call makes fails in turn.

use blocktensor::dispatch::{self, DispatchKey};
use blocktensor::testing::{Fault, inject, live_storages};
use blocktensor::{BoundOp, DType, Error, Layout, Operand, Operator, Result, StridedTensor, Tensor};

use super::jobs::JOBS;
use super::{alone, assert_no_leak};
use crate::support::activation::elements;
use crate::support::{Rng, arguments};

fn clear_cache() {
    #[cfg(feature = "onednn")]
    blocktensor::onednn::clear_cache();
}

#[test]
fn every_allocation_of_every_job_may_fail() {
    alone("faults::allocations::every_allocation_of_every_job_may_fail", || {
        for &(name, job) in JOBS {
            clear_cache();
            let (right, seen) = inject(None, job);
            // Without the engine some layouts have no kernel.
            let Ok(right) = right else { continue };
            assert!(seen.allocations > 2, "{name}: {seen:?}");
            for nth in 0..seen.allocations {
                let what = format!("{name}: allocation {nth} of {}", seen.allocations);
                let failing = || {
                    clear_cache();
                    inject(Some(Fault::Allocation { nth }), job).0
                };
                let e = failing().expect_err(&what);
                assert!(matches!(e, Error::OutOfMemory { bytes, .. } if bytes > 0), "{what}: {e}");
                assert_eq!(job().as_ref(), Ok(&right), "{what}: the next call");
                assert_no_leak(&what, || drop(failing()));
            }
        }
    });
}

fn bits(tensors: &[Tensor]) -> Vec<Vec<u32>> {
    tensors.iter().map(|t| elements(t).into_iter().map(f32::to_bits).collect()).collect()
}

/// Each allocation of a call fails in turn: nothing stays, the operands are still `before`, and the next call gives `right`.
fn fails_at_each(
    call_name: &str,
    op: &'static str,
    allocations: usize,
    right: &[Tensor],
    call: impl Fn() -> Result<Vec<Tensor>>,
    (operands, before): (impl Fn() -> Vec<Vec<u32>>, &[Vec<u32>]),
) {
    let right = bits(right);
    for nth in 0..allocations {
        let what = format!("{call_name}: allocation {nth} of {allocations}");
        let storages = live_storages();
        let e = inject(Some(Fault::Allocation { nth }), &call).0.expect_err(&what);
        assert!(matches!(e, Error::OutOfMemory { .. }), "{what}: {e}");
        assert_eq!(e.op(), Some(op), "{what}: {e}");
        assert_eq!(live_storages(), storages, "{what}: storages that stay");
        assert_eq!(operands(), before, "{what}: its operands");
        assert_eq!(bits(&call().expect(&what)), right, "{what}: the next call");
    }
}

#[test]
fn every_allocation_of_every_op_may_fail() {
    alone("faults::allocations::every_allocation_of_every_op_may_fail", || {
        let dims = [2, 17, 3, 4];
        let x = StridedTensor::from_slice(&Rng(7).reals(dims.iter().product()), &dims).unwrap();
        let xb = x.to_blocked(&Layout::native().0).unwrap();
        let mut tried = 0;
        for op in dispatch::ops() {
            let name = op.schema().name;
            for t in [Tensor::from(x.clone()), Tensor::from(xb.clone())] {
                let key = t.tensor_ref().key();
                if op.kernel(key).is_none() {
                    continue;
                }
                let operand = || bits(std::slice::from_ref(&t));
                let before = operand();
                let args = arguments(op, &t);
                let call = || dispatch::call(name, &args);
                let (right, seen) = inject(None, call);
                // The arguments suit most ops, not all of them.
                let Ok(right) = right else { continue };
                tried += 1;
                fails_at_each(
                    &format!("{name} on {key}"),
                    name,
                    seen.allocations,
                    &right,
                    call,
                    (operand, &before),
                );
            }
        }
        println!("{tried} ops and keys");
        assert!(tried > 100, "only {tried}");
    });
}

#[test]
fn every_allocation_of_every_gradient_may_fail() {
    alone("faults::allocations::every_allocation_of_every_gradient_may_fail", || {
        let dims = [2, 17, 3, 4];
        let x = StridedTensor::from_slice(&Rng(7).reals(dims.iter().product()), &dims).unwrap();
        let xb = x.to_blocked(&Layout::native().0).unwrap();
        let mut tried = 0;
        for op in dispatch::ops() {
            let name = op.schema().name;
            for (t, key) in
                [(Tensor::from(x.clone()), DispatchKey::STRIDED), (xb.clone().into(), DispatchKey::BLOCKED)]
            {
                if op.gradients(key).next().is_none() {
                    continue;
                }
                // The arguments suit most ops, not all of them.
                let Ok((bound, inputs)) = BoundOp::of_call(name, &arguments(op, &t)) else { continue };
                let refs: Vec<_> = inputs.iter().map(Operand::tensor_ref).collect();
                let Ok(results) = bound.run(&refs) else { continue };
                let diffs: Vec<_> = results.iter().map(|y| Some(y.clone())).collect();
                let wanted: Vec<&str> = match inputs.first().map(|x| x.tensor_ref().dtype()) {
                    Some(DType::F32) => bound.inputs().iter().take(1).copied().collect(),
                    _ => continue,
                };
                let call = || bound.backward_by(&inputs, &results, &diffs, &wanted);
                let (right, seen) = inject(None, call);
                let Ok(right) = right else { continue };
                tried += 1;
                let operands = || bits(&[&inputs[..], &results].concat());
                let before = operands();
                fails_at_each(
                    &format!("{name} on {key}"),
                    name,
                    seen.allocations,
                    &right,
                    call,
                    (operands, &before),
                );
            }
        }
        println!("{tried} ops and keys");
        assert!(tried > 80, "only {tried}");
    });
}
