//! Mirrors src/onednn.

use blocktensor::ops::{self, Conv2d};
use blocktensor::{Layout, MemoryFormat, StridedTensor, ledger, onednn};

use crate::support::alone;

/// Other tests use the same cache, and empty it.
#[test]
fn the_cache_counts_and_stays_within_its_bound() {
    let printed = alone("onednn::the_cache_counts_and_stays_within_its_bound", &[], || {
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
fn the_engine_tells_its_version_and_instruction_set() {
    let (major, _, _) = onednn::version();
    assert_eq!(major, 3);
    assert!(onednn::effective_isa().contains("isa"), "{}", onednn::effective_isa());
}

#[test]
fn a_kernel_that_reorders_inside_itself_is_in_the_ledger_and_denied() {
    let x = StridedTensor::full(&[1, 32, 9, 9], 1f32, MemoryFormat::Contiguous).unwrap();
    let w = StridedTensor::full(&[32, 32, 3, 3], 1f32, MemoryFormat::Contiguous).unwrap();
    let (_, book) = ledger::record(|| ops::conv2d(&x, &w, None, &Conv2d::new()).unwrap());
    let run = &book.runs[0];
    let inside = book.reorders.iter().filter(|r| r.cause == ledger::Cause::Internal).count();
    assert_eq!(inside, usize::from(run.implementation.starts_with("jit_uni_ncsp")), "{book} {run:?}");
}
