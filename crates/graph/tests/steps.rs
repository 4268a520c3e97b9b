//! What a plan tells of its steps, and pictures of it.

use std::sync::Arc;

use blocktensor::{PackedFile, StridedTensor};
use blocktensor_graph::{
    Constant, ElementType, Error, Expand, Expansion, Graph, Integer, Layouts, Plan, PlanOptions, StepKind,
    Value,
};

use crate::support::random;

/// A convolution with an activation, a view, a linear layer.
fn plan(layouts: Layouts) -> Plan {
    let mut graph = Graph::new();
    let x = graph.input("image", &[2.into(), 3.into(), 8.into(), 6.into()]).unwrap();
    let w = graph.constant("w", Constant::F32(random(&[16, 3, 3, 3], 1))).unwrap();
    let v = graph.constant("v", Constant::F32(random(&[10, 16], 2))).unwrap();
    let y = graph.op("first", "conv2d", &[("x", x), ("weights", w)], &[]).unwrap();
    let y = graph.op("second", "relu", &[("x", y)], &[]).unwrap();
    let y = graph.op("pool <all> & \"more\"", "global_avg_pool", &[("x", y)], &[]).unwrap();
    let y = graph.op("flat", "view", &[("x", y)], &[("dims", vec![2i64, 16].into())]).unwrap();
    let y = graph.op("last", "linear", &[("x", y), ("weights", v)], &[]).unwrap();
    graph.output("scores", y).unwrap();
    graph.plan(&PlanOptions::new(layouts)).unwrap()
}

#[test]
fn steps_tell_what_they_do() {
    let plan = plan(Layouts::Nhwc);
    let steps: Vec<_> = plan.steps().collect();
    assert_eq!(steps.len(), plan.len());
    let of = |op: &str| steps.iter().find(|s| s.op == op).unwrap_or_else(|| panic!("{op}: {plan}"));
    let conv = of("conv2d");
    // The name is that of the node whose result the convolution computes.
    assert_eq!((conv.kind, conv.fused), (StepKind::Operator, "relu"));
    // [2, 16, 6, 4] elements, each of 3 x 3 x 3 products; weights and their sizes by hand.
    assert_eq!((conv.multiply_adds, conv.weight_bytes), (2 * 16 * 6 * 4 * 27, 4 * 16 * 27));
    assert!(conv.implementation.is_some());
    assert_eq!(conv.bytes(), 4 * (2 * 3 * 8 * 6 + 2 * 16 * 6 * 4 + 16 * 27));
    assert_eq!(of("linear").multiply_adds, 2 * 10 * 16);
    let view = of("view");
    assert_eq!((view.kind, view.multiply_adds, view.bytes()), (StepKind::View, 0, 0));
    assert_eq!(of("reorder").kind, StepKind::Reorder);
    // What a step takes, another one made, or the caller gave.
    let mut made: Vec<usize> = Vec::new();
    for step in &steps {
        let known = |t: &blocktensor_graph::StepTensor<'_>| {
            t.is_constant || t.name == "image" || made.contains(&t.id)
        };
        assert!(step.inputs.iter().all(known), "{}", step.name);
        made.extend(step.outputs.iter().map(|t| t.id));
    }
}

#[test]
fn a_timed_run_gives_the_same_and_a_time_for_each_step() {
    for layouts in Layouts::FIXED {
        let plan = plan(layouts);
        let x = random(&[2, 3, 8, 6], 3);
        let (results, seconds) = plan.run_timed(&[&x]).unwrap();
        assert_eq!(results[0].to_vec::<f32>().unwrap(), plan.run(&[&x]).unwrap()[0].to_vec::<f32>().unwrap());
        assert_eq!(seconds.len(), plan.len());
        assert!(seconds.iter().all(|s| *s >= 0.0) && seconds.iter().sum::<f64>() > 0.0);
    }
}

/// Every step takes the result of the first one.
#[test]
fn a_picture_does_not_grow_in_width_with_those_who_take_one_result() {
    let width = |steps: usize| -> f64 {
        let mut graph = Graph::new();
        let x = graph.input("x", &[1.into(), 4.into()]).unwrap();
        let first = graph.op("first", "exp", &[("x", x)], &[]).unwrap();
        let mut last = first;
        for i in 0..steps {
            last = graph.op(&format!("{i}"), "mul", &[("a", last), ("b", first)], &[]).unwrap();
        }
        graph.output("y", last).unwrap();
        let plan = graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
        plan.check_drawing().unwrap();
        let svg = plan.to_svg(None);
        svg.split_once("width=\"").unwrap().1.split('"').next().unwrap().parse().unwrap()
    };
    assert_eq!(width(100), width(3));
}

#[test]
fn pictures_show_each_step_and_escape_names() {
    let plan = plan(Layouts::Blocked);
    let (svg, dot) = (plan.to_svg(None), plan.to_dot());
    assert_eq!(svg.matches("<g><title>").count(), plan.len());
    assert_eq!(svg.matches("<svg").count() + svg.matches("</svg>").count(), 2);
    assert!(svg.contains("pool &lt;all&gt; &amp; &quot;more&quot;"), "{svg}");
    assert!(dot.contains("pool <all> & \\\"more\\\""), "{dot}");
    // Edges go down: a path for each tensor that a step takes from another one.
    let edges: usize = plan.steps().map(|s| s.inputs.iter().filter(|t| !t.is_constant).count()).sum();
    let mut made: Vec<usize> = Vec::new();
    let mut from_caller = 0;
    for step in plan.steps() {
        from_caller += step.inputs.iter().filter(|t| !t.is_constant && !made.contains(&t.id)).count();
        made.extend(step.outputs.iter().map(|t| t.id));
    }
    assert_eq!(svg.matches("<path ").count(), edges - from_caller);
    assert_eq!(dot.matches(" -> s").count(), edges);
    // With times, a step that takes longer is higher.
    let height = |svg: &str| -> f64 {
        let from = svg.find("height=\"").unwrap() + 8;
        svg[from..].split('"').next().unwrap().parse().unwrap()
    };
    let seconds: Vec<f64> = (0..plan.len()).map(|i| i as f64).collect();
    assert!(height(&plan.to_svg(Some(&seconds))) > height(&svg));
    // A list of another length is not believed.
    assert_eq!(plan.to_svg(Some(&[1.0])), svg);
}

/// `mul_channel` and its like also take one number for all channels, which their post-ops do not.
#[test]
fn one_number_for_all_channels_is_no_step_in_place() {
    for op in ["mul_channel", "add_channel", "prelu"] {
        let mut graph = Graph::new();
        let x = graph.input("x", &[2.into(), 3.into(), 4.into(), 4.into()]).unwrap();
        let v = graph.constant("v", Constant::F32(random(&[1], 3))).unwrap();
        let y = graph.op("first", "exp", &[("x", x)], &[]).unwrap();
        let named = if op == "prelu" { "weights" } else { "values" };
        let y = graph.op("second", op, &[("x", y), (named, v)], &[]).unwrap();
        let y = graph.op("third", "exp", &[("x", y)], &[]).unwrap();
        graph.output("y", y).unwrap();
        let image = random(&[2, 3, 4, 4], 4);
        let plan = graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
        let got = plan.run(&[&image]).unwrap_or_else(|e| panic!("{op}: {e}\n{plan}"));
        let number = |values: &blocktensor::StridedTensor| values.to_vec::<f32>().unwrap();
        let v = number(&random(&[1], 3))[0];
        let f = |x: f32| match op {
            "mul_channel" => x * v,
            "add_channel" => x + v,
            _ => x.max(0.0) + v * x.min(0.0),
        };
        let want = number(&image).into_iter().map(|x| f(x.exp()).exp());
        let close = number(&got[0]).into_iter().zip(want).all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs());
        assert!(close, "{op}");
    }
}

/// Two operators for one node. The second fails at run for an index that is too large.
#[derive(Debug)]
struct Choose;

impl Expand for Choose {
    fn op(&self) -> &str {
        "Choose"
    }

    fn expand(
        &self,
        inputs: &[Option<Value>],
        cx: &mut Expansion<'_>,
    ) -> blocktensor_graph::Result<Vec<Value>> {
        let [Some(x), Some(index)] = inputs else { return Err(cx.unsupported("other inputs")) };
        let x = cx.op("neg", &[("x", x)], &[])?;
        Ok(vec![cx.op("index_select", &[("x", &x), ("index", index)], &[("axis", 0i64.into())])?])
    }
}

/// A run's error names the graph's node, and the op that it has there: also when the plan comes from a file.
#[test]
fn errors_of_runs_name_the_node_as_the_graph_has_it() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[3.into()]).unwrap();
    let index = graph.input_of("i", ElementType::Int(Integer::I32), &[1.into()]).unwrap();
    let y = graph.node("a/choice", Arc::new(Choose), &[Some(x), Some(index)], &["y"]).unwrap()[0];
    graph.output("y", y).unwrap();
    let plan = graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.plan");
    plan.save(&path, false).unwrap();
    let saved = Plan::load(&PackedFile::read(&path).unwrap()).unwrap();
    let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0], &[3]).unwrap();
    for plan in [plan, saved] {
        let run = |i: i32| plan.run(&[&x, &StridedTensor::from_slice(&[i], &[1]).unwrap()]);
        assert_eq!(run(2).unwrap()[0].to_vec::<f32>().unwrap(), [-3.0]);
        let error = run(3).unwrap_err();
        assert!(matches!(&error, Error::Operator { node, op, .. } if node == "a/choice" && op == "Choose"));
        let text = error.to_string();
        assert!(text.starts_with("node `a/choice` (Choose): op `index_select`: "), "{text}");
    }
}
