//! A test of its own process: nobody else makes results meanwhile.

use blocktensor::{MemoryFormat, StridedTensor};
use blocktensor_graph::{Constant, Graph, Layouts, PlanOptions, Profiles};

#[test]
fn planning_leaves_no_storage_behind() {
    measuring();
    transposed_weights();
}

/// The weights of a product are transposed before they are packed.
fn transposed_weights() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[4.into(), 512.into()]).unwrap();
    let w = StridedTensor::full(&[512, 384], 0.01f32, MemoryFormat::Contiguous).unwrap();
    let w = graph.constant("w", Constant::F32(w)).unwrap();
    let y = graph.op("matmul", "matmul", &[("a", x), ("b", w)], &[]).unwrap();
    graph.output("y", y).unwrap();
    for layouts in [Layouts::Nchw, Layouts::Nhwc, Layouts::Blocked, Layouts::Measured] {
        let before = blocktensor::recycled_bytes();
        let plan = graph.plan(&PlanOptions::new(layouts).profiles(Profiles::Estimated)).unwrap();
        let after = blocktensor::recycled_bytes();
        assert!(after <= before, "{layouts:?}: {before} bytes before, {after} after");
        assert!(plan.to_string().contains(": linear "), "{plan}");
    }
}

fn measuring() {
    let mut graph = Graph::new();
    let mut x = graph.input("x", &[1.into(), 32.into(), 40.into(), 40.into()]).unwrap();
    for i in 0..3 {
        let w = StridedTensor::full(&[32, 32, 3, 3], 0.01f32, MemoryFormat::Contiguous).unwrap();
        let w = graph.constant(&format!("w{i}"), Constant::F32(w)).unwrap();
        let padding = [("padding", 1i64.into())];
        x = graph.op(&format!("conv{i}"), "conv2d", &[("x", x), ("weights", w)], &padding).unwrap();
        x = graph.op(&format!("mish{i}"), "mish", &[("x", x)], &[]).unwrap();
    }
    graph.output("y", x).unwrap();
    // What is there stays, less what planning takes for itself.
    drop(StridedTensor::full(&[1 << 16], 0f32, MemoryFormat::Contiguous).unwrap());
    let before = blocktensor::recycled_bytes();
    #[cfg(feature = "onednn")]
    let stats = blocktensor::onednn::cache_stats();
    let plan = graph.plan(&PlanOptions::default().profiles(Profiles::Measured)).unwrap();
    let after = blocktensor::recycled_bytes();
    #[cfg(feature = "onednn")]
    leaves_no_primitives(stats);
    assert!(after <= before, "{before} bytes before, {after} after");
    assert!(plan.measurements().is_some_and(|m| !m.estimated));
}

/// Primitives that the plan does not keep are gone.
#[cfg(feature = "onednn")]
fn leaves_no_primitives(before: blocktensor::onednn::CacheStats) {
    use blocktensor::onednn::{cache_stats, drop_unused_since};
    let after = cache_stats();
    assert!(after.misses > before.misses, "no candidate needs a primitive");
    drop_unused_since(before.misses);
    assert_eq!(cache_stats().len, after.len);
}
