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

/// The network after the passes and the plan have the same weights: each step agrees with it, whatever a pass made of them.
#[test]
fn what_a_pass_loses_shows_against_the_model_as_written() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 1.into(), 4.into(), 4.into()]).unwrap();
    let mut constant = |name: &str, value: f32, dims: &[usize]| {
        graph.constant(name, Constant::F32(StridedTensor::from_slice(&[value], dims).unwrap())).unwrap()
    };
    let (w, scale, log) =
        (constant("w", 2.0, &[1, 1, 1, 1]), constant("scale", 0.5, &[1, 1, 1]), constant("log", 0.3, &[1]));
    let y = graph.op("conv", "conv2d", &[("x", x), ("weights", w)], &[]).unwrap();
    let y = graph.op("scaled", "mul", &[("a", y), ("b", scale)], &[]).unwrap();
    let rate = graph.op("rate", "exp", &[("x", log)], &[]).unwrap();
    let y = graph.op("rated", "mul", &[("a", y), ("b", rate)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let x = Random(5).tensor(&[1, 1, 4, 4]);
    for layouts in Layouts::ALL {
        let mut plan = plan(&graph, layouts);
        let mut ops = plan.steps().filter(|step| step.kind == StepKind::Operator).map(|step| step.op);
        assert_eq!(
            (ops.next(), ops.next()),
            (Some("conv2d"), None),
            "the numbers go into the weights: {plan}"
        );
        drop(ops);
        let clean = plan.errors(&[&x]).unwrap();
        let written = clean.as_written.as_ref().unwrap();
        assert!(written.outputs.as_ref().unwrap()[0].relative_l2 < 1e-6, "{clean}");
        let [rate] = &written.constants[..] else { panic!("{clean}") };
        assert_eq!((rate.node.as_str(), rate.op.as_str()), ("rate", "exp"));
        assert!(rate.relative_l2.unwrap() < 1e-6, "{clean}");
        // As if the pass had lost a fifth of the scale, and the kernel of `exp` had given 1.
        let network = plan.recipe.written.as_mut().unwrap();
        let scale = network.tensors.iter_mut().find(|t| t.constant.is_some() && t.dims == [1, 1, 1]).unwrap();
        scale.constant = Some(StridedTensor::from_slice(&[0.625f32], &[1, 1, 1]).unwrap());
        network.folds.as_mut().unwrap()[0].results = vec![StridedTensor::from_slice(&[1f32], &[1]).unwrap()];
        let off = plan.errors(&[&x]).unwrap();
        assert_eq!((&off.steps, &off.outputs), (&clean.steps, &clean.outputs));
        let written = off.as_written.as_ref().unwrap();
        // 1 - 0.5 / 0.625, and 1 - 1 / exp(0.3)
        assert!((written.outputs.as_ref().unwrap()[0].relative_l2 - 0.2).abs() < 1e-6, "{off}");
        let text = off.to_string();
        assert!(text.contains("output y: 2.0e-1 against the model as written, in f64\n"), "{text}");
        let line = "1 constant was computed while planning, and 1 compared; the largest error is 2.6e-1, of rate: exp\n";
        assert!(text.contains(line), "{text}");
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
