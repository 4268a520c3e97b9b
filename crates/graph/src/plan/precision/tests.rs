use blocktensor::dispatch::Isa;
use blocktensor::{MemoryFormat, PackedFile, StridedTensor};

use super::*;
use crate::plan::measured::tests::{Random, graph};
use crate::{Constant, Graph, Layouts, Plan, PlanOptions, Profiles};

/// Whether convolutions have kernels for bf16 here.
fn has_bf16() -> bool {
    Isa::Avx512Bf16.is_here() && blocktensor::build_info().engine.is_some()
}

fn options(layouts: Layouts) -> PlanOptions {
    PlanOptions::new(layouts).profiles(Profiles::Measured).precision(Precision::Bf16)
}

fn relative_l2(got: &[f32], want: &[f32]) -> f64 {
    let square = |v: f32| f64::from(v) * f64::from(v);
    let difference: f64 = got.iter().zip(want).map(|(g, w)| square(g - w)).sum();
    (difference / want.iter().copied().map(square).sum::<f64>().max(1e-30)).sqrt()
}

fn run(plan: &Plan, image: &StridedTensor) -> Vec<Vec<f32>> {
    plan.run(&[image]).unwrap().iter().map(|t| t.to_vec::<f32>().unwrap()).collect()
}

#[test]
fn random_networks_in_bf16_are_near_those_in_f32_in_all_layouts() {
    let mut lowered = 0;
    for seed in 0..24 {
        let mut random = Random(seed);
        let graph = graph(&mut random, 9);
        let wide = graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
        let dims = wide.inputs().next().unwrap().1.dims().to_vec();
        let image = random.tensor(&dims);
        let want = run(&wide, &image);
        for layouts in Layouts::ALL {
            let plan = graph.plan(&options(layouts)).unwrap();
            lowered += usize::from(plan.precision() == Precision::Bf16);
            for (got, want) in run(&plan, &image).iter().zip(&want) {
                let error = relative_l2(got, want);
                assert!(error < 0.02, "seed {seed}, {}: {error}\n{plan}", layouts.name());
                assert!(has_bf16() || error < 1e-5);
            }
        }
    }
    assert_eq!(lowered > 40, has_bf16(), "{lowered}");
}

/// A stem, a pool without a kernel for bf16, a sum, a convolution whose weights are computed, and softmax.
fn network() -> Graph {
    let mut graph = Graph::new();
    let x = graph.input("image", &[1.into(), 3.into(), 8.into(), 8.into()]).unwrap();
    let weights = |graph: &mut Graph, name: &str, o: usize, c: usize| {
        let values = Random(7).tensor(&[o, c, 3, 3]);
        graph.constant(name, Constant::F32(values)).unwrap()
    };
    let padding = [("padding", 1i64.into())];
    let w = weights(&mut graph, "w1", 16, 3);
    let x = graph.op("stem", "conv2d", &[("x", x), ("weights", w)], &padding).unwrap();
    let y = graph.op("active", "mish", &[("x", x)], &[]).unwrap();
    let z = graph.op("norm", "local_response_norm", &[("x", y)], &[("size", 3i64.into())]).unwrap();
    let w = weights(&mut graph, "w2", 16, 16);
    let z = graph.op("conv", "conv2d", &[("x", z), ("weights", w)], &padding).unwrap();
    let z = graph.op("mish2", "mish", &[("x", z)], &[]).unwrap();
    let sum = graph.op("sum", "mul", &[("a", y), ("b", z)], &[]).unwrap();
    let y = graph.op("softmax", "softmax", &[("x", sum)], &[("axis", 1i64.into())]).unwrap();
    graph.output("y", y).unwrap();
    graph
}

#[test]
fn casts_stand_between_nodes_of_both_types_once_each() {
    let graph = network();
    let plan = graph.plan(&options(Layouts::Nhwc).keep_constants()).unwrap();
    let casts = plan.steps().filter(|step| step.op == "to_dtype").map(|step| step.name.to_string());
    let casts: Vec<String> = casts.collect();
    let image = Random(3).tensor(&[1, 3, 8, 8]);
    if !has_bf16() {
        assert_eq!((plan.precision(), casts.len()), (Precision::F32, 0));
        return;
    }
    let expected = ["image to bf16", "active to f32", "norm to bf16", "sum to f32"];
    assert_eq!(casts, expected, "{plan}");
    assert_eq!(plan.in_f32(), [("norm", "local_response_norm"), ("softmax", "softmax")]);
    let text = plan.to_string();
    assert!(
        text.contains("precision: bf16\nin f32: norm (local_response_norm), softmax (softmax)\n"),
        "{text}"
    );
    assert!(text.contains("stem: conv2d (image to bf16) -> [1, 16, 8, 8] bf16"), "{text}");
    // Each step loses no more than rounding to bf16, and casts from it nothing.
    let errors = plan.errors(&[&image]).unwrap();
    for step in &errors.steps {
        let error = step.relative_l2.unwrap_or(f64::NAN);
        assert!(error < 3e-3, "{}: {error}\n{errors}", step.name);
        assert!(!step.name.ends_with("to f32") || error == 0.0, "{errors}");
    }
    assert!(errors.outputs.as_ref().unwrap()[0].relative_l2 < 1e-2, "{errors}");
}

#[test]
fn a_saved_plan_in_bf16_gives_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let image = Random(4).tensor(&[1, 3, 8, 8]);
    for (i, layouts) in [Layouts::Nhwc, Layouts::Blocked, Layouts::Measured].into_iter().enumerate() {
        let plan = network().plan(&options(layouts)).unwrap();
        let path = folder.path().join(format!("{i}.plan"));
        plan.save(&path, true).unwrap();
        let loaded = Plan::load(&PackedFile::read(&path).unwrap()).unwrap();
        assert_eq!(loaded.precision(), plan.precision());
        assert_eq!(run(&loaded, &image), run(&plan, &image));
        let again = Plan::load_with_constants(&PackedFile::read(&path).unwrap()).unwrap();
        assert!(again.errors(&[&image]).is_ok());
    }
}

#[test]
fn what_the_graph_takes_and_gives_stays_f32() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 16.into(), 4.into(), 4.into()]).unwrap();
    let w = StridedTensor::full(&[16, 16, 1, 1], 0.25f32, MemoryFormat::Contiguous).unwrap();
    let w = graph.constant("w", Constant::F32(w)).unwrap();
    let y = graph.op("conv", "conv2d", &[("x", x), ("weights", w)], &[]).unwrap();
    graph.output("y", y).unwrap();
    graph.output("x again", x).unwrap();
    let plan = graph.plan(&options(Layouts::Blocked)).unwrap();
    let number = 1.0 + 1.0 / 1024.0f32;
    let image = StridedTensor::full(&[1, 16, 4, 4], number, MemoryFormat::Contiguous).unwrap();
    let results = run(&plan, &image);
    // bf16 has no such number: the convolution's source is rounded to 1, the input as a result is not.
    assert_eq!(results[0][0], if has_bf16() { 4.0 } else { 4.0 * number });
    assert_eq!(results[1][0], number);
}
