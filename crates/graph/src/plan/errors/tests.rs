//! Errors of random plans, and of plans that compute something else than their network says.

use std::collections::HashSet;

use blocktensor::StridedTensor;

use super::*;
use crate::plan::measured::tests::{Random, graph};
use crate::{Constant, Graph, Layouts, Param, PlanOptions, Profiles};

/// The largest error that an op may have, by RELIABILITY's table for property tests; 0 for what is exact.
fn tolerance(step: &StepError) -> f64 {
    match step.op.as_str() {
        _ if step.only_moves => 0.0,
        "relu" | "max_pool2d" => 0.0,
        "tanh" => 4e-5,
        _ => 4e-6,
    }
}

fn plan(graph: &Graph, layouts: Layouts) -> Plan {
    graph.plan(&PlanOptions::new(layouts).profiles(Profiles::Estimated).keep_constants()).unwrap()
}

#[test]
fn random_plans_in_all_layouts_are_as_close_to_f64_as_their_ops() {
    let mut random = Random(21);
    let mut kinds = HashSet::new();
    for round in 0..40 {
        let graph = graph(&mut random, 3 + round % 9);
        for layouts in Layouts::ALL {
            let plan = plan(&graph, layouts);
            let dims = plan.inputs().next().unwrap().1.dims().to_vec();
            let errors = plan.errors(&[&random.tensor(&dims)]).unwrap();
            assert_eq!(errors.steps.len(), plan.len());
            for (step, info) in errors.steps.iter().zip(plan.steps()) {
                assert_eq!((step.name.as_str(), step.op.as_str()), (info.name, info.op));
                assert!(step.relative_l2.unwrap() <= tolerance(step), "{}: {errors}{plan}", step.name);
                kinds.insert(step.kind);
            }
            let outputs = errors.outputs.as_ref().unwrap();
            assert!(outputs.iter().all(|output| output.relative_l2 <= 1e-5), "{errors}");
            assert_eq!(outputs.len(), plan.outputs().count());
        }
    }
    for kind in [StepKind::Operator, StepKind::InPlace, StepKind::Joined, StepKind::Reorder] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
}

/// Two convolutions with weights of one element, an activation that overwrites, a view.
fn chain(layouts: Layouts) -> Plan {
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 1.into(), 4.into(), 4.into()]).unwrap();
    let mut weights = |name: &str, value: f32| {
        let value = StridedTensor::from_slice(&[value], &[1, 1, 1, 1]).unwrap();
        graph.constant(name, Constant::F32(value)).unwrap()
    };
    let (v, w) = (weights("v", 2.0), weights("w", 0.5));
    let y = graph.op("first", "conv2d", &[("x", x), ("weights", v)], &[]).unwrap();
    let y = graph.op("up", "exp", &[("x", y)], &[]).unwrap();
    let y = graph.op("down", "sigmoid", &[("x", y)], &[]).unwrap();
    let y = graph.op("second", "conv2d", &[("x", y), ("weights", w)], &[]).unwrap();
    let y = graph.op("flipped", "flip", &[("x", y)], &[("axes", vec![2i64].into())]).unwrap();
    graph.output("y", y).unwrap();
    plan(&graph, layouts)
}

#[test]
fn a_node_that_is_off_shows_and_no_other_does() {
    for layouts in Layouts::ALL {
        let x = Random(5).tensor(&[1, 1, 4, 4]);
        let mut plan = chain(layouts);
        let clean = plan.errors(&[&x]).unwrap();
        assert!(clean.steps.iter().all(|step| step.relative_l2.unwrap() < 1e-6), "{clean}");
        // The plan runs with weights of 0.5, which are packed, and the network says 0.625.
        let network = &mut plan.recipe.network;
        let second = network.nodes.iter().find(|node| node.name == "second").unwrap();
        let weights = second.inputs[1];
        network.tensors[weights.0].constant =
            Some(StridedTensor::from_slice(&[0.625f32], &[1, 1, 1, 1]).unwrap());
        let off = plan.errors(&[&x]).unwrap();
        let largest = off.largest().unwrap();
        assert_eq!(largest.name, "second");
        // 1 - 0.5 / 0.625
        assert!((largest.relative_l2.unwrap() - 0.2).abs() < 1e-6, "{off}");
        for (step, before) in off.steps.iter().zip(&clean.steps).filter(|(step, _)| step.name != "second") {
            assert_eq!(step, before, "{off}");
        }
        // It goes into the output, too.
        assert!((off.outputs.as_ref().unwrap()[0].relative_l2 - 0.2).abs() < 1e-6, "{off}");
        let text = off.to_string();
        assert!(text.contains("2.0e-1 #1  second: conv2d"), "{text}");
        assert!(text.contains("the largest error is 2.0e-1, of second: conv2d"), "{text}");
    }
}

#[test]
fn elements_that_went_elsewhere_show() {
    for layouts in Layouts::FIXED {
        let x = Random(6).tensor(&[1, 1, 4, 4]);
        let mut plan = chain(layouts);
        // The plan flips rows, and the network says columns.
        let node = plan.recipe.network.nodes.iter_mut().find(|node| node.name == "flipped").unwrap();
        let other = blocktensor::BoundOp::new("flip", &["x"], &[("axes", Param::Ints(vec![3]))]).unwrap();
        node.op = crate::network::Operation::Bound(other);
        let errors = plan.errors(&[&x]).unwrap();
        let changed: Vec<&str> = errors.changed().map(|step| step.name.as_str()).collect();
        assert_eq!(changed, ["flipped"], "{errors}");
        assert!(errors.to_string().contains("1 changed some: flipped"), "{errors}");
    }
}

#[test]
fn differences_are_relative_and_what_is_not_finite_must_agree() {
    let error = |got: &[f64], want: &[f64]| {
        let values = |data: &[f64]| Values { dims: vec![data.len()], data: data.to_vec() };
        difference(&values(got), &values(want))
    };
    assert_eq!(error(&[3.0, 9.0], &[3.0, 4.0]), 1.0);
    assert_eq!(error(&[0.5], &[0.0]), 0.5);
    assert_eq!(error(&[f64::INFINITY, f64::NAN], &[f64::INFINITY, f64::NAN]), 0.0);
    // f32 has no 1e39.
    assert_eq!(error(&[f64::INFINITY, 2.0], &[1e39, 2.0]), 0.0);
    for (got, want) in [(f64::NAN, 1.0), (1.0, f64::NAN), (f64::INFINITY, 1.0), (1.0, f64::NEG_INFINITY)] {
        assert!(error(&[got], &[want]).is_nan());
    }
}
