//! A test of its own process: nobody else makes results meanwhile.

use blocktensor::{MemoryFormat, StridedTensor};
use blocktensor_graph::{Constant, Graph, PlanOptions, Profiles};

#[test]
fn measuring_leaves_no_storage_behind() {
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
    let plan = graph.plan(&PlanOptions::default().profiles(Profiles::Measured)).unwrap();
    let after = blocktensor::recycled_bytes();
    assert!(after <= before, "{before} bytes before, {after} after");
    assert!(plan.measurements().is_some_and(|m| !m.estimated));
}
