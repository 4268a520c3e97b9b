//! Plans that choose as another plan of the same graph did.

use blocktensor_graph::{Constant, Graph, Layouts, Plan, PlanOptions, Profiles, StepInfo};

use crate::support::{random, relative_error};

/// Convolutions that run fastest in blocks, by estimated times.
fn convolutions() -> Graph {
    let mut graph = Graph::new();
    let mut x = graph.input("x", &["n".into(), 3.into(), "h".into(), "h".into()]).unwrap();
    for (i, (channels, out)) in [(3, 32), (32, 32), (32, 64)].into_iter().enumerate() {
        let weights = Constant::F32(random(&[out, channels, 3, 3], i as u64));
        let weights = graph.constant(&format!("w{i}"), weights).unwrap();
        let inputs = [("x", x), ("weights", weights)];
        x = graph.op(&format!("conv{i}"), "conv2d", &inputs, &[("padding", 1i64.into())]).unwrap();
        x = graph.op(&format!("relu{i}"), "relu", &[("x", x)], &[]).unwrap();
    }
    graph.output("y", x).unwrap();
    graph
}

/// What each step of a plan is, without its sizes.
fn steps_of(plan: &Plan) -> Vec<(String, Vec<String>)> {
    let layouts =
        |step: StepInfo<'_>| (step.title(), step.outputs.iter().map(|t| t.desc.layout_name()).collect());
    plan.steps().map(layouts).collect()
}

#[test]
fn a_plan_like_another_one_chooses_as_that_at_other_sizes() {
    let graph = convolutions();
    let sized = |layouts, n| PlanOptions::new(layouts).size("n", n).size("h", 10 * n);
    let estimated = graph.plan(&sized(Layouts::Measured, 2).profiles(Profiles::Estimated)).unwrap();
    let x = random(&[2, 3, 20, 20], 7);
    let want = &graph.plan(&sized(Layouts::Nchw, 2)).unwrap().run(&[&x]).unwrap()[0];
    let mut kinds = std::collections::HashSet::new();
    for layouts in Layouts::FIXED {
        let first = graph.plan(&sized(layouts, 1)).unwrap();
        let like = graph.plan(&sized(Layouts::Measured, 2).like(&first)).unwrap();
        assert_eq!(steps_of(&like), steps_of(&first), "{layouts:?}");
        assert!(like.measurements().unwrap().estimated);
        let text = like.measurements().unwrap().to_string();
        assert!(text.starts_with("chosen as in the plan for x [1, 3, 10, 10]: 3 of 3 nodes\n"), "{text}");
        assert!(relative_error(&like.run(&[&x]).unwrap()[0], want) < 1e-5);
        kinds.insert(steps_of(&like));
    }
    assert!(kinds.len() == 3 && kinds.contains(&steps_of(&estimated)), "{kinds:?}");
}

#[test]
fn nodes_that_another_plan_does_not_have_are_estimated() {
    let graph = convolutions();
    let mut other = Graph::new();
    let x = other.input("x", &["n".into(), 3.into(), "h".into(), "h".into()]).unwrap();
    let y = other.op("relu0", "relu", &[("x", x)], &[]).unwrap();
    other.output("y", y).unwrap();
    let sized =
        |n| PlanOptions::new(Layouts::Measured).size("n", n).size("h", 12).profiles(Profiles::Estimated);
    let like = graph.plan(&sized(1).like(&other.plan(&sized(1)).unwrap())).unwrap();
    assert_eq!(steps_of(&like), steps_of(&graph.plan(&sized(1)).unwrap()));
    assert_eq!(like.measurements().unwrap().like, None);
}

#[test]
fn choices_that_make_too_many_reorders_are_not_taken() {
    let graph = convolutions();
    let sized = |layouts, n| PlanOptions::new(layouts).size("n", n).size("h", 12);
    let blocked = graph.plan(&sized(Layouts::Blocked, 1)).unwrap();
    assert!(!blocked.reorders().is_empty());
    let options = || sized(Layouts::Measured, 2).profiles(Profiles::Estimated).at_most_reorders(0);
    if graph.plan(&options()).is_err() {
        // oneDNN has no row-major convolutions that are fast.
        assert!(blocktensor::build_info().engine.is_some());
        return;
    }
    let plan = graph.plan(&options().like(&blocked)).unwrap();
    assert!(plan.reorders().is_empty() && plan.measurements().unwrap().like.is_none());
}
