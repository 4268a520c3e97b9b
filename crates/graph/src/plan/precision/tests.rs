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

/// The plan in bf16. `None`, after a look at the error, where this build, machine or layout has no kernel for it.
fn planned(graph: &Graph, options: &PlanOptions) -> Option<Plan> {
    let error = match graph.plan(options) {
        Ok(plan) => return Some(plan),
        Err(error) => error.to_string(),
    };
    let lacks = match blocktensor::build_info().engine {
        None => "this build has no kernels for it, which take oneDNN",
        Some(_) if !Isa::Avx512Bf16.is_here() => "this machine has no kernels for it, which take AVX512_BF16",
        Some(_) => "this layout has no kernels for it",
    };
    let start = error
        .starts_with(&format!("precision: got bf16; {lacks}: nothing would compute in it, such as node "));
    assert!(start && error.ends_with("leave it out, and the plan computes in f32"), "{error}");
    assert!(!has_bf16() || options.layouts != Layouts::Measured, "{error}");
    None
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
            let Some(plan) = planned(&graph, &options(layouts)) else { continue };
            lowered += usize::from(plan.precision() == Precision::Bf16);
            for (got, want) in run(&plan, &image).iter().zip(&want) {
                let error = relative_l2(got, want);
                assert!(error < 0.02, "seed {seed}, {}: {error}\n{plan}", layouts.name());
            }
        }
    }
    assert_eq!(lowered > 40, has_bf16(), "{lowered}");
}

/// A stem, an op without a kernel for bf16, a product, a convolution whose weights are computed, and softmax.
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
    let z = graph.op("lines", "cumsum", &[("x", y)], &[("axis", 3i64.into())]).unwrap();
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
    let Some(plan) = planned(&graph, &options(Layouts::Nhwc).keep_constants()) else { return };
    let casts = plan.steps().filter(|step| step.op == "to_dtype").map(|step| step.name.to_string());
    let casts: Vec<String> = casts.collect();
    let image = Random(3).tensor(&[1, 3, 8, 8]);
    let expected = ["image to bf16", "active to f32", "lines to bf16", "sum to f32"];
    assert_eq!(casts, expected, "{plan}");
    assert_eq!(plan.in_f32(), [("lines", "cumsum"), ("softmax", "softmax")]);
    let text = plan.to_string();
    assert!(text.contains("precision: bf16\nin f32: lines (cumsum), softmax (softmax)\n"), "{text}");
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
        let Some(plan) = planned(&network(), &options(layouts)) else { return };
        let path = folder.path().join(format!("{i}.plan"));
        plan.save(&path, false).unwrap();
        let loaded = Plan::load(&PackedFile::read(&path).unwrap()).unwrap();
        assert_eq!(loaded.precision(), plan.precision());
        assert_eq!(run(&loaded, &image), run(&plan, &image));
    }
}

/// The usual mask of attention: its -3.4e38 would be minus infinity in bf16, and rows of it NaN after softmax.
#[test]
fn masks_stay_finite() {
    let channels = |n: usize| [1.into(), 16.into(), 4.into(), n.into()];
    for is_input in [false, true] {
        let mut graph = Graph::new();
        let x = graph.input("x", &channels(4)).unwrap();
        let w = graph.constant("w", Constant::F32(Random(7).tensor(&[16, 16, 1, 1]))).unwrap();
        let y = graph.op("conv", "conv2d", &[("x", x), ("weights", w)], &[]).unwrap();
        let mask = StridedTensor::full(&[1, 16, 4, 4], f32::MIN, MemoryFormat::Contiguous).unwrap();
        let m = match is_input {
            true => graph.input("mask", &channels(4)).unwrap(),
            false => graph.constant("mask", Constant::F32(mask.clone())).unwrap(),
        };
        let y = graph.op("masked", "add", &[("a", y), ("b", m)], &[]).unwrap();
        let y = graph.op("softmax", "softmax", &[("x", y)], &[("axis", 3i64.into())]).unwrap();
        graph.output("y", y).unwrap();
        for layouts in Layouts::ALL {
            let Some(plan) = planned(&graph, &options(layouts)) else { continue };
            let x = Random(5).tensor(&[1, 16, 4, 4]);
            let inputs = if is_input { vec![&x, &mask] } else { vec![&x] };
            let y = plan.run(&inputs).unwrap()[0].to_vec::<f32>().unwrap();
            assert!(y.iter().all(|&v| v == 0.25), "{plan}");
        }
    }
}

/// The plain weights of a file are the model's own, which a plan in bf16 has rounded. The remedies work.
#[test]
fn a_plan_in_bf16_is_saved_without_plain_weights() {
    let folder = tempfile::tempdir().unwrap();
    let Some(plan) = planned(&network(), &options(Layouts::Nhwc)) else { return };
    let wide = PlanOptions::new(Layouts::Nhwc);
    let path = folder.path().join("a.plan");
    let error = plan.save(&path, true).unwrap_err();
    assert!(matches!(error, crate::Error::Engine(blocktensor::Error::InvalidArgument(_))), "{error}");
    let text = "op `Plan::save`: argument `keep_plain`: got a plan in bf16, but its weights are rounded";
    assert!(error.to_string().starts_with(text) && !path.exists(), "{error}");
    plan.save(&path, false).unwrap();
    let file = || PackedFile::read_or_repack(&path).unwrap();
    let error = Plan::load_with_constants(&file()).unwrap_err().to_string();
    assert!(
        error.contains("plan the graph itself: a plan in bf16") && !error.contains("keep_plain"),
        "{error}"
    );
    // For another number of threads it has to be planned from the model.
    let others = blocktensor::current_threads() + 1;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(others).build().unwrap();
    let error = pool.install(|| Plan::load_or_replan(&file(), &Profiles::Estimated)).unwrap_err().to_string();
    assert!(error.contains("plan the model again here") && !error.contains("keep_plain"), "{error}");
    network().plan(&wide).unwrap().save(&path, true).unwrap();
    assert!(Plan::load_with_constants(&file()).is_ok());
}

#[test]
fn weights_that_bf16_kernels_take_for_zero_stay_f32() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 16.into(), 4.into(), 4.into()]).unwrap();
    let w = StridedTensor::full(&[16, 16, 1, 1], 3e-39f32, MemoryFormat::Contiguous).unwrap();
    let w = graph.constant("w", Constant::F32(w)).unwrap();
    let y = graph.op("conv", "conv2d", &[("x", x), ("weights", w)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let plan = graph.plan(&options(Layouts::Nhwc)).unwrap();
    assert_eq!(plan.precision(), Precision::F32);
    // What was asked for does not go unanswered.
    assert!(plan.to_string().contains("precision: bf16\nin f32: conv (conv2d)\n"), "{plan}");
}

/// Layers of few and of many rows, and a product with a constant matrix.
#[test]
fn linear_layers_and_products_compute_in_bf16() {
    for rows in [1usize, 37] {
        let mut graph = Graph::new();
        let x = graph.input("x", &[rows.into(), 64.into()]).unwrap();
        let w = graph.constant("w", Constant::F32(Random(1).tensor(&[48, 64]))).unwrap();
        let matrix = graph.constant("m", Constant::F32(Random(2).tensor(&[48, 33]))).unwrap();
        let y = graph.op("first", "linear", &[("x", x), ("weights", w)], &[]).unwrap();
        let y = graph.op("active", "gelu", &[("x", y)], &[]).unwrap();
        let y = graph.op("second", "matmul", &[("a", y), ("b", matrix)], &[]).unwrap();
        graph.output("y", y).unwrap();
        let image = Random(3).tensor(&[rows, 64]);
        let want = run(&graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap(), &image);
        for layouts in Layouts::ALL {
            let Some(plan) = planned(&graph, &options(layouts)) else { return };
            assert!(plan.in_f32().is_empty(), "{plan}");
            let error = relative_l2(&run(&plan, &image)[0], &want[0]);
            assert!((1e-4..0.02).contains(&error), "{error}\n{plan}");
        }
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
    let Some(plan) = planned(&graph, &options(Layouts::Blocked)) else { return };
    let number = 1.0 + 1.0 / 1024.0f32;
    let image = StridedTensor::full(&[1, 16, 4, 4], number, MemoryFormat::Contiguous).unwrap();
    let results = run(&plan, &image);
    // bf16 has no such number: the convolution's source is rounded to 1, the input as a result is not.
    assert_eq!(results[0][0], 4.0);
    assert_eq!(results[1][0], number);
}

#[test]
fn a_convolution_of_integers_adds_a_residual_of_f32() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 16.into(), 4.into(), 4.into()]).unwrap();
    let w = graph.constant("w", Constant::F32(Random(1).tensor(&[16, 16, 1, 1]))).unwrap();
    let integers = StridedTensor::full(&[16, 16, 1, 1], 3i8, MemoryFormat::Contiguous).unwrap();
    let integers = graph.constant("integers", Constant::SignedByte(integers)).unwrap();
    let scale = StridedTensor::full(&[1], 0.02f32, MemoryFormat::Contiguous).unwrap();
    let scale = graph.constant("scale", Constant::F32(scale)).unwrap();
    let zero = Constant::Int { of: crate::Integer::I32, dims: vec![1], values: vec![0] };
    let zero = graph.constant("zero", zero).unwrap();
    let around = |x| [("x", x), ("scale", scale), ("zero_point", zero)];
    let y = graph.op("first", "conv2d", &[("x", x), ("weights", w)], &[]).unwrap();
    let q = graph.op("q", "quantize", &around(y), &[("dtype", "s8".into())]).unwrap();
    let d = graph.op("d", "dequantize", &around(q), &[]).unwrap();
    let w = graph.op("weights", "dequantize", &around(integers), &[]).unwrap();
    let z = graph.op("second", "conv2d", &[("x", d), ("weights", w)], &[]).unwrap();
    let sum = graph.op("sum", "add", &[("a", z), ("b", y)], &[]).unwrap();
    graph.output("sum", sum).unwrap();
    let image = Random(2).tensor(&[1, 16, 4, 4]);
    let want = run(&graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap(), &image);
    for layouts in [Layouts::Nchw, Layouts::Nhwc, Layouts::Blocked] {
        let Some(plan) = planned(&graph, &options(layouts)) else { continue };
        assert!(relative_l2(&run(&plan, &image)[0], &want[0]) < 0.02, "{plan}");
    }
}
