//! Which algorithms plans let convolutions compute with.

use blocktensor::{Layout, PackedFile, StridedTensor};
use blocktensor_graph::{Constant, Graph, Layouts, Plan, PlanOptions, Profiles, StepKind};

use crate::support::random;

/// Two 3x3 convolutions of `channels`, one after the other, with a word for the algorithm of the second.
fn graph(channels: usize, word: Option<&str>) -> Graph {
    let mut graph = Graph::new();
    let dims = [1.into(), channels.into(), 28.into(), 28.into()];
    let mut y = graph.input("x", &dims).unwrap();
    for (i, word) in [None, word].into_iter().enumerate() {
        let weights = Constant::F32(random(&[channels, channels, 3, 3], i as u64));
        let w = graph.constant(&format!("w{i}"), weights).unwrap();
        let mut params = vec![("padding", 1i64.into())];
        params.extend(word.map(|word| ("algorithm", word.into())));
        y = graph.op(&format!("conv{i}"), "conv2d", &[("x", y), ("weights", w)], &params).unwrap();
    }
    graph.output("y", y).unwrap();
    graph
}

/// What runs the convolutions.
fn implementations(plan: &Plan) -> Vec<String> {
    let steps = plan.steps().filter(|step| step.kind == StepKind::Operator && step.op == "conv2d");
    steps.map(|step| step.implementation.unwrap_or_default().to_string()).collect()
}

fn options(layouts: Layouts) -> PlanOptions {
    PlanOptions::new(layouts).profiles(Profiles::Estimated)
}

fn run(plan: &Plan, channels: usize) -> Vec<f32> {
    let x = random(&[1, channels, 28, 28], 7);
    plan.run(&[&x]).unwrap().remove(0).to_vec::<f32>().unwrap()
}

fn norm(values: impl Iterator<Item = f32>) -> f64 {
    values.map(|v| f64::from(v).powi(2)).sum::<f64>().sqrt()
}

/// By costs that no clock decides, Winograd's algorithm is the cheapest here; `exact` keeps to the direct one.
#[test]
fn measured_plans_choose_the_algorithm_and_exact_ones_do_not() {
    if Layout::native_activation(4).unwrap().block_of(1) != 16 {
        return;
    }
    let graph = graph(64, None);
    let free = graph.plan(&options(Layouts::Measured).weight_growth(5.0)).unwrap();
    let exact = graph.plan(&options(Layouts::Measured).exact()).unwrap();
    assert!(
        implementations(&free).iter().all(|i| i == "blocktensor:winograd4"),
        "{:?}",
        implementations(&free)
    );
    assert!(!implementations(&exact).iter().any(|i| i.contains("winograd")), "{:?}", implementations(&exact));
    let (got, want) = (run(&free, 64), run(&exact, 64));
    let error = norm(got.iter().zip(&want).map(|(a, b)| a - b)) / norm(want.iter().copied());
    assert!(error > 0.0 && error < 3e-6, "{error:e}");
    assert_eq!(free.rounds_otherwise(), Some((2, 3e-6)));
    assert!(free.to_string().contains("2 steps round otherwise than a direct convolution: relative error"));
    assert_eq!(free.to_string().matches("(blocktensor:winograd4, rounds otherwise: 3e-6)").count(), 2);
    assert_eq!(exact.rounds_otherwise(), None);
    assert!(!exact.to_string().contains("otherwise"), "{exact}");
    let nodes = &free.measurements().unwrap().nodes;
    let algorithms: Vec<_> = nodes.iter().map(|n| n.candidates[0].algorithm.as_deref()).collect();
    assert_eq!(algorithms, [Some("winograd4"); 2]);
}

/// Each set of transformed weights is 4 times the plain ones: of two alike, one fits 3 times their sum, none 1.25 times.
#[test]
fn transformed_weights_stay_below_the_limit() {
    if Layout::native_activation(4).unwrap().block_of(1) != 16 {
        return;
    }
    let graph = graph(64, None);
    for (times, ahead) in [(1.0, 0), (1.25, 0), (3.0, 1), (5.0, 2)] {
        let plan = graph.plan(&options(Layouts::Measured).weight_growth(times)).unwrap();
        let found = implementations(&plan);
        let count = found.iter().filter(|i| *i == "blocktensor:winograd4").count();
        assert_eq!(count, ahead, "{times}: {found:?}");
    }
}

#[test]
fn a_node_that_asks_for_an_algorithm_gets_it_in_every_plan_that_has_it() {
    let plan = graph(32, Some("winograd2")).plan(&options(Layouts::Blocked)).unwrap();
    assert_eq!(implementations(&plan)[1], "blocktensor:winograd2");
    assert_eq!(plan.rounds_otherwise(), Some((1, 1e-6)));
    let plan = graph(32, Some("winograd4")).plan(&options(Layouts::Measured).exact()).unwrap();
    assert_eq!(implementations(&plan)[1], "blocktensor:winograd4");
    // Only measuring can answer this.
    let measured = graph(32, Some("measured"));
    let error = measured.plan(&options(Layouts::Blocked)).unwrap_err().to_string();
    assert!(error.contains("`algorithm`") && error.contains("measured layouts"), "{error}");
    let exact = measured.plan(&options(Layouts::Measured).exact()).unwrap();
    assert!(!implementations(&exact)[1].contains("winograd"));
}

#[test]
fn a_saved_plan_keeps_its_algorithms_and_its_bits() {
    let plan = graph(64, None).plan(&options(Layouts::Measured).weight_growth(3.0)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan.safetensors");
    plan.save(&path, false).unwrap();
    let loaded = Plan::load(&PackedFile::read(&path).unwrap()).unwrap();
    assert_eq!(implementations(&loaded), implementations(&plan));
    assert_eq!((loaded.rounds_otherwise(), loaded.to_string()), (plan.rounds_otherwise(), plan.to_string()));
    let bits = |plan: &Plan| run(plan, 64).iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&loaded), bits(&plan));
}

/// Each step against its node in f64: what Winograd's algorithm rounds shows at its steps alone, within its bound.
#[test]
fn errors_of_winograd_steps_are_within_their_bound() {
    let plan = graph(64, Some("winograd4")).plan(&options(Layouts::Blocked).keep_constants()).unwrap();
    let x: StridedTensor = random(&[1, 64, 28, 28], 7);
    let errors = plan.errors(&[&x]).unwrap();
    let own: Vec<f64> = errors.steps.iter().filter_map(|s| s.relative_l2).collect();
    assert!(own.iter().all(|e| *e < 3e-6) && own.iter().any(|e| *e > 2e-7), "{own:?}");
}
