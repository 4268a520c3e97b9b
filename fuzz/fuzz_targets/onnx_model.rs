//! ONNX models: any bytes. A model that loads is planned in every layout, with all passes and without, and run. Nothing may
//! panic; all plans must give outputs of the same sizes, and the same numbers where these are small.
#![no_main]

use blocktensor::{DType, MemoryFormat, StridedTensor};
use blocktensor_fuzz::{limit_memory_to, setup};
use blocktensor_graph::{Dim, Graph, Layouts, Pass, PlanOptions, Sizes};
use libfuzzer_sys::fuzz_target;

/// Models with larger tensors would only take time.
const LARGEST: usize = 1 << 14;

/// **Bytes** beyond those of the process: the constants of a graph that are computed take 1 GiB, and there are copies of one.
const ROOM: libc::rlim_t = 3 << 30;

fuzz_target!(|data: &[u8]| {
    setup();
    limit_memory_to(ROOM);
    let Ok(graph) = blocktensor_onnx::from_bytes(data) else { return };
    let mut sizes = Sizes::new();
    for (_, _, dims) in graph.inputs() {
        for dim in dims {
            if let Dim::Named(name) = dim {
                sizes = sizes.with(name, 2);
            }
        }
    }
    let small = graph.inputs().all(|(_, _, dims)| {
        let sizes = dims.iter().map(|d| if let Dim::Size(size) = d { *size } else { 2 });
        sizes.fold(1usize, usize::saturating_mul) <= LARGEST
    });
    if !small {
        return;
    }
    let Ok(network) = graph.with_sizes(&sizes) else { return };
    let tensors = network.nodes().iter().flat_map(|n| n.inputs().iter().chain(n.outputs()));
    if tensors.map(|id| network.tensor(*id).dims().iter().product::<usize>()).any(|n| n > LARGEST) {
        return;
    }
    // Beside a tie, sums of another order are rounded to another integer: those numbers are not compared.
    let rounds = network.nodes().iter().any(|node| node.operator().op() == "quantize");
    let inputs: Vec<StridedTensor> =
        network.inputs().enumerate().map(|(i, t)| input(i, t.dims(), t.dtype())).collect();
    let refs: Vec<&StridedTensor> = inputs.iter().collect();
    let bare = Pass::ALL.into_iter().fold(PlanOptions::new(Layouts::Nchw), PlanOptions::without);
    let Some(want) = run(&graph, &bare.sizes(sizes.clone()), &refs) else { return };
    for layouts in Layouts::FIXED {
        let options = PlanOptions::new(layouts).sizes(sizes.clone());
        let got = run(&graph, &options, &refs).unwrap_or_else(|| panic!("only {layouts:?} fails"));
        assert_eq!(got.len(), want.len());
        for (got, want) in got.iter().zip(&want) {
            assert_eq!((got.dims(), got.dtype()), (want.dims(), want.dtype()));
            if !rounds {
                compare(got, want);
            }
        }
    }
});

fn run(graph: &Graph, options: &PlanOptions, inputs: &[&StridedTensor]) -> Option<Vec<StridedTensor>> {
    graph.plan(options).ok()?.run(inputs).ok()
}

/// Small numbers, none of them 0.
fn input(seed: usize, dims: &[usize], dtype: DType) -> StridedTensor {
    let number = |i: usize| ((i * 7 + seed * 3) % 11 + 1) as f32 / 8.0 - 0.5;
    let count = dims.iter().product();
    let made = match dtype {
        DType::F32 => StridedTensor::from_slice(&(0..count).map(number).collect::<Vec<f32>>(), dims),
        DType::S32 => StridedTensor::from_slice(&vec![1i32; count], dims),
        _ => StridedTensor::zeros(dims, dtype, MemoryFormat::Contiguous),
    };
    made.expect("it is small")
}

/// Sums of different orders differ by rounding: numbers that grew large, or that are not finite, say nothing.
fn compare(got: &StridedTensor, want: &StridedTensor) {
    let (Ok(got), Ok(want)) = (got.to_vec::<f32>(), want.to_vec::<f32>()) else { return };
    if got.iter().chain(&want).any(|v| !v.is_finite() || v.abs() > 1e4) {
        return;
    }
    let largest = want.iter().fold(1f32, |m, v| m.max(v.abs()));
    for (i, (g, w)) in got.iter().zip(&want).enumerate() {
        assert!((g - w).abs() <= 1e-3 * largest, "element {i}: {g} and {w}");
    }
}
