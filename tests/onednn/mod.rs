//! Mirrors src/onednn.

use blocktensor::ops::{self, Conv2d};
use blocktensor::{Layout, MemoryFormat, PackedConv2d, Source, StridedTensor, ledger, onednn};

use crate::support::alone;

/// In a process of its own, as other tests use the same cache and clear it.
#[test]
fn the_primitive_cache_counts_and_stays_within_its_bound() {
    let printed = alone("onednn::the_primitive_cache_counts_and_stays_within_its_bound", &[], || {
        let w = StridedTensor::full(&[16, 16, 1, 1], 1f32, MemoryFormat::Contiguous).unwrap();
        let wb = w.to_blocked(&Layout::native().1).unwrap();
        let call = |side: usize| {
            let x = StridedTensor::full(&[1, 16, side, 1], 1f32, MemoryFormat::Contiguous).unwrap();
            let xb = x.to_blocked(&Layout::native().0).unwrap();
            let y = ops::conv2d(&xb, &wb, None, &Conv2d::new()).unwrap();
            let y = y.to_strided(MemoryFormat::Contiguous).unwrap();
            assert_eq!(y.get::<f32>(&[0, 3, side - 1, 0]), Some(16.0));
        };
        let capacity = onednn::CAPACITY;
        assert_eq!(onednn::cache_stats(), onednn::CacheStats { hits: 0, misses: 0, len: 0, capacity });
        call(4001);
        (0..10).for_each(|_| call(4001));
        assert_eq!(onednn::cache_stats(), onednn::CacheStats { hits: 10, misses: 1, len: 1, capacity });
        (1..1500).for_each(call);
        let full = onednn::cache_stats();
        assert!(full.len <= capacity && full.misses == 1500, "{full:?}");
        onednn::clear_cache();
        assert_eq!(onednn::cache_stats().len, 0);
        call(4001);
        assert_eq!(onednn::cache_stats().misses, 1501);
    });
    println!("{}", printed.unwrap_or_default());
}

#[test]
fn primitives_that_nobody_keeps_can_be_dropped() {
    let printed = alone("onednn::primitives_that_nobody_keeps_can_be_dropped", &[], || {
        let full = |dims: &[usize]| StridedTensor::full(dims, 1f32, MemoryFormat::Contiguous).unwrap();
        let (w, native) =
            (full(&[16, 16, 1, 1]).to_blocked(&Layout::native().1).unwrap(), Layout::native().0);
        let x = |side: usize| full(&[1, 16, side, 1]).to_blocked(&native).unwrap();
        let misses = |side: usize| {
            let before = onednn::cache_stats().misses;
            ops::conv2d(&x(side), &w, None, &Conv2d::new()).unwrap();
            onednn::cache_stats().misses - before
        };
        assert_eq!(misses(31), 1);
        let mark = onednn::cache_stats().misses;
        assert_eq!(misses(32), 1);
        let packer = PackedConv2d::new(&full(&[16, 16, 3, 3]), None, Conv2d::new().padding(1)).unwrap();
        let packed = packer.pack_for(&Source::of(&x(33)).unwrap()).unwrap();
        let made = onednn::cache_stats();
        assert!(made.misses > mark + 1, "oneDNN runs none of the packed weights");
        onednn::drop_unused_since(mark);
        // What was there before stays, and what the packed weights keep.
        assert_eq!(onednn::cache_stats().len, made.len - 1);
        assert_eq!((misses(31), misses(32)), (0, 1));
        packed.run(&x(33)).unwrap();
        assert_eq!(onednn::cache_stats().misses, made.misses + 1);
    });
    println!("{}", printed.unwrap_or_default());
}

#[test]
fn onednn_reports_its_version_and_instruction_set() {
    let (major, _, _) = onednn::version();
    assert_eq!(major, 3);
    assert!(onednn::effective_isa().contains("isa"), "{}", onednn::effective_isa());
}

#[test]
fn a_onednn_kernel_that_reorders_internally_is_recorded_and_can_be_denied() {
    let x = StridedTensor::full(&[1, 32, 9, 9], 1f32, MemoryFormat::Contiguous).unwrap();
    let w = StridedTensor::full(&[32, 32, 3, 3], 1f32, MemoryFormat::Contiguous).unwrap();
    let (_, book) = ledger::record(|| ops::conv2d(&x, &w, None, &Conv2d::new()).unwrap());
    let run = &book.runs[0];
    let inside = book.reorders.iter().filter(|r| r.cause == ledger::Cause::Internal).count();
    assert_eq!(inside, usize::from(run.implementation.starts_with("jit_uni_ncsp")), "{book} {run:?}");
}

/// The setting reaches oneDNN's code on every thread that runs it, and no Rust code. Outside the scope nothing is flushed.
#[cfg(all(target_arch = "x86_64", unix, onednn_threadpool))]
#[test]
fn flush_engine_subnormals_affects_onednn_inside_the_scope_alone() {
    const SUBNORMAL: f32 = 1e-40;
    let identity: Vec<f32> = (0..32 * 32).map(|i| if i % 33 == 0 { 1.0 } else { 0.0 }).collect();
    let w = StridedTensor::from_slice(&identity, &[32, 32, 1, 1]).unwrap();
    let x = StridedTensor::full(&[2, 32, 40, 40], SUBNORMAL, MemoryFormat::ChannelsLast).unwrap();
    let of_onednn = || {
        let (y, book) = ledger::record(|| ops::conv2d(&x, &w, None, &Conv2d::new()).unwrap());
        let runs: Vec<&str> = book.runs.iter().map(|r| &*r.implementation).collect();
        assert!(!runs.is_empty() && runs.iter().all(|r| !r.starts_with("blocktensor")), "{runs:?}");
        y.to_vec::<f32>().unwrap()
    };
    let of_ours = || {
        let (y, book) = ledger::record(|| ops::add(&x, &x).unwrap());
        assert!(book.runs.iter().all(|r| r.implementation.starts_with("blocktensor")), "{book}");
        y.to_vec::<f32>().unwrap()
    };
    let all = |values: Vec<f32>, v: f32| values.iter().all(|&x| x.to_bits() == v.to_bits());
    for threads in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            blocktensor::run(|| {
                assert!(all(of_onednn(), SUBNORMAL), "{threads} threads, before");
                blocktensor::flush_engine_subnormals(|| {
                    assert!(all(of_onednn(), 0.0), "{threads} threads, inside");
                    assert!(all(of_ours(), 2.0 * SUBNORMAL), "{threads} threads, a kernel in Rust");
                    // Ops inside a task of a parallel section have the setting of the section's leader.
                    blocktensor::parallel_for(4, |_| {
                        assert!(all(of_onednn(), 0.0), "{threads} threads, a task")
                    });
                });
                assert!(all(of_onednn(), SUBNORMAL), "{threads} threads, after");
            });
        });
    }
}
