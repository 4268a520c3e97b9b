//! Every call of the engine fails with each status in turn.

use blocktensor::ops::Conv2d;
use blocktensor::testing::{Fault, inject};
use blocktensor::{Error, Layout, MemoryFormat, PackedConv2d, Result, Source, StridedTensor, onednn};

use super::jobs::JOBS;
use super::{alone, assert_no_leak};

/// `dnnl_status_t` from out of memory to invalid data type.
const STATUSES: std::ops::RangeInclusive<u32> = 1..=10;
const OUT_OF_MEMORY: u32 = 1;
const INVALID_ARGUMENTS: u32 = 2;
const UNIMPLEMENTED: u32 = 3;

/// Runs a job with an empty cache of primitives, on a thread that has no stream yet.
fn fresh(job: fn() -> Result<Vec<f32>>, fault: Option<Fault>) -> (Result<Vec<f32>>, usize) {
    onednn::clear_cache();
    let work = move || inject(fault, job);
    let (result, seen) = std::thread::spawn(work).join().expect("an error, not a panic");
    (result, seen.engine_calls)
}

/// Fails unless the result is one that a call with this status may have.
#[track_caller]
fn assert_told(what: &str, status: u32, result: Result<Vec<f32>>, right: &[f32]) {
    match (status, result) {
        (OUT_OF_MEMORY, Err(Error::OutOfMemory { call, .. })) => assert!(call.starts_with("dnnl_"), "{what}"),
        (UNIMPLEMENTED, Err(e @ Error::UnsupportedOp(_))) => {
            assert!(e.to_string().contains("possibly an allocation failure"), "{what}: {e}");
        }
        (UNIMPLEMENTED, Err(Error::PackMismatch(c))) => {
            assert!(c.rule.contains("or its memory could not be had"), "{what}: {c:?}");
        }
        // A kernel of our own may answer instead, but only with the right numbers.
        (UNIMPLEMENTED, Ok(numbers)) => assert_eq!(numbers, right, "{what}"),
        // Sizes beyond oneDNN's limits.
        (INVALID_ARGUMENTS, Err(Error::Overflow(c))) => assert!(c.rule.contains("dnnl_"), "{what}"),
        (_, Err(e @ Error::Backend { status: told, .. })) => {
            assert_eq!(told, status as i32, "{what}");
            assert!(e.to_string().contains("dnnl_"), "{what}: {e}");
        }
        (_, Err(e)) => panic!("{what}: an error of another kind: {e}"),
        (_, Ok(_)) => panic!("{what}: the failure was swallowed"),
    }
}

#[test]
fn every_engine_call_may_fail_with_every_status() {
    alone("faults::engine::every_engine_call_may_fail_with_every_status", || {
        // The first calls of a process make the engine: they fail one after the other until there is one.
        let (name, job) = JOBS[0];
        let runtime_error = 5;
        for nth in 0..2 {
            let (result, _) = fresh(job, Some(Fault::Engine { nth, status: runtime_error }));
            let e = result.expect_err("there is no engine yet");
            assert!(matches!(e, Error::Backend { status: 5, .. }), "{name}: {e}");
        }
        fresh(job, None).0.expect("now there is one");
        let (mut places, mut jobs) = (0, 0);
        for &(name, job) in JOBS {
            let (right, calls) = fresh(job, None);
            let right = right.unwrap();
            jobs += usize::from(calls > 10);
            for nth in 0..calls {
                for status in STATUSES {
                    let what = format!("{name}: engine call {nth} of {calls}, status {status}");
                    let (result, _) = fresh(job, Some(Fault::Engine { nth, status }));
                    assert_told(&what, status, result, &right);
                    places += 1;
                }
                assert_eq!(fresh(job, None).0.as_ref(), Ok(&right), "{name}, after call {nth} failed");
            }
        }
        println!("{places} failures of {jobs} jobs");
        // `gemm` computes matrix products of plain operands, and our own kernels run where oneDNN has none for AVX2.
        assert!(jobs >= 10, "{jobs}");
    });
}

/// After a failure for a batch, packed weights try again: they keep nothing of the failure.
#[test]
fn packed_weights_recover_for_another_batch() {
    alone("faults::engine::packed_weights_recover_for_another_batch", || {
        let data: Vec<f32> = (0..3 * 16 * 5 * 4).map(|i| (i % 7) as f32 - 3.0).collect();
        // Blocked, as oneDNN has blocked kernels for every instruction set.
        let layout = Layout::native().0;
        let x = StridedTensor::from_slice(&data, &[3, 16, 5, 4]).unwrap().to_blocked(&layout).unwrap();
        let w = StridedTensor::from_slice(&data[..32 * 16], &[32, 16, 1, 1]).unwrap();
        let packer = PackedConv2d::new(&w, None, Conv2d::new()).unwrap();
        let run = |conv: &PackedConv2d| conv.run(&x)?.to_strided(MemoryFormat::Contiguous)?.to_vec::<f32>();
        let right = run(&packer.pack_for(&Source::of(&x).unwrap()).unwrap()).unwrap();
        let mut failed = 0;
        for packed_for in [1, 2] {
            let source = Source::blocked(&[packed_for, 16, 5, 4], &layout).unwrap();
            let pack = || {
                let conv = packer.pack_for(&source).unwrap();
                onednn::clear_cache();
                conv
            };
            let conv = pack();
            let (_, seen) = inject(None, || run(&conv).unwrap());
            for nth in 0..seen.engine_calls {
                for status in STATUSES {
                    let what = format!("packed for {packed_for}, engine call {nth}, status {status}");
                    let conv = pack();
                    let (result, _) = inject(Some(Fault::Engine { nth, status }), || run(&conv));
                    failed += usize::from(result.is_err());
                    assert_told(&what, status, result, &right);
                    assert_eq!(run(&conv).as_ref(), Ok(&right), "{what}: the next call");
                }
            }
        }
        println!("{failed} failed");
        assert!(failed > 20, "{failed}");
    });
}

#[test]
fn a_failed_engine_call_leaks_nothing() {
    alone("faults::engine::a_failed_engine_call_leaks_nothing", || {
        for &(name, job) in JOBS {
            let (right, calls) = fresh(job, None);
            drop(right.unwrap());
            for nth in 0..calls {
                assert_no_leak(&format!("{name}: engine call {nth} of {calls}"), || {
                    drop(fresh(job, Some(Fault::Engine { nth, status: OUT_OF_MEMORY })));
                });
            }
        }
    });
}
