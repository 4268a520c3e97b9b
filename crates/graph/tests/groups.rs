//! Nodes that run as one step: the same bits as one by one, in fewer steps.

use blocktensor::{PackedFile, PackedOp, PackedWriter, StridedTensor};
use blocktensor_graph::{Constant, Error, Graph, Layouts, Plan, PlanOptions, Profiles, ValueId};

use crate::support::random;

/// The functions that follow a layer.
const FUNCTIONS: [&str; 9] =
    ["relu", "relu6", "gelu", "silu", "sigmoid", "tanh", "hardswish", "hardsigmoid", "leaky_relu"];

fn options(layouts: Layouts) -> PlanOptions {
    PlanOptions::new(layouts).profiles(Profiles::Estimated).keep_constants()
}

fn bits(plan: &Plan, inputs: &[StridedTensor]) -> Vec<Vec<u32>> {
    let results = plan.run(&inputs.iter().collect::<Vec<_>>()).unwrap();
    results.iter().map(|t| t.to_vec::<f32>().unwrap().iter().map(|v| v.to_bits()).collect()).collect()
}

/// The plan with groups and the one without, which give the same bits.
fn both(graph: &Graph, layouts: Layouts, inputs: &[StridedTensor]) -> (Plan, Plan) {
    let together = graph.plan(&options(layouts)).unwrap();
    let alone = graph.plan(&options(layouts).node_by_node()).unwrap();
    assert!(alone.steps().all(|step| step.nodes.len() < 2), "{alone}");
    assert_eq!(bits(&together, inputs), bits(&alone, inputs), "{together}{alone}");
    (together, alone)
}

/// The names of the nodes of each step that computes several.
fn groups(plan: &Plan) -> Vec<Vec<String>> {
    let several = plan.steps().filter(|step| step.nodes.len() > 1);
    several.map(|step| step.nodes.iter().map(|name| name.to_string()).collect()).collect()
}

fn linear(graph: &mut Graph, name: &str, x: ValueId, (k, o): (usize, usize)) -> ValueId {
    let mut constant = |part: &str, dims: &[usize]| {
        let value = Constant::F32(random(dims, (k * o + dims.len()) as u64));
        graph.constant(&format!("{name} {part}"), value).unwrap()
    };
    let (w, b) = (constant("weights", &[o, k]), constant("bias", &[o]));
    graph.op(name, "linear", &[("x", x), ("weights", w), ("bias", b)], &[]).unwrap()
}

/// Two layers, a function after each, a number for each output, and the sum with what came in.
fn block(rows: usize, k: usize, o: usize) -> Graph {
    let mut graph = Graph::new();
    let x = graph.input("x", &[rows.into(), k.into()]).unwrap();
    let y = linear(&mut graph, "wide", x, (k, o));
    let y = graph.op("act", "gelu", &[("x", y)], &[]).unwrap();
    let y = linear(&mut graph, "narrow", y, (o, k));
    let y = graph.op("bounded", "tanh", &[("x", y)], &[]).unwrap();
    let scale = graph.constant("scale", Constant::F32(random(&[k], 5))).unwrap();
    let y = graph.op("scaled", "mul", &[("a", scale), ("b", y)], &[]).unwrap();
    let y = graph.op("sum", "add", &[("a", x), ("b", y)], &[]).unwrap();
    graph.output("y", y).unwrap();
    graph
}

#[test]
fn a_plan_lists_the_nodes_of_a_step_and_keeps_its_reorders() {
    for layouts in Layouts::ALL {
        let (together, alone) = both(&block(6, 24, 40), layouts, &[random(&[6, 24], 1)]);
        assert_eq!(
            groups(&together),
            [vec!["wide", "act"], vec!["narrow", "bounded", "scaled", "sum"]],
            "{together}"
        );
        assert_eq!((together.len(), alone.len()), (2, 6));
        assert_eq!(together.reorders(), alone.reorders());
        let text = together.to_string();
        for part in [
            "wide, act: linear + gelu (x) ->",
            "narrow, bounded, scaled, sum: linear + tanh,mul_channel,residual (act",
            "(linear_epilogue: ",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let step = together.steps().next().unwrap();
        assert_eq!((step.name, step.fused, step.multiply_adds), ("wide", "gelu", 6 * 24 * 40));
        assert!(alone.steps().all(|step| step.nodes == [step.name]));
    }
}

#[test]
fn every_function_gives_the_same_bits_for_all_sizes() {
    for (i, function) in FUNCTIONS.into_iter().enumerate() {
        for (n, dims) in [&[0, 7][..], &[1, 7], &[3, 0], &[5, 33], &[260, 9], &[2, 3, 17], &[1, 2, 2, 8]]
            .into_iter()
            .enumerate()
        {
            let (k, o) = (dims[dims.len() - 1], [2, 8, 16, 31, 290][(i + n) % 5]);
            let mut graph = Graph::new();
            let sizes: Vec<_> = dims.iter().map(|d| (*d).into()).collect();
            let x = graph.input("x", &sizes).unwrap();
            let y = linear(&mut graph, "layer", x, (k, o));
            let y = graph.op("act", function, &[("x", y)], &[]).unwrap();
            let of_outputs = graph.constant("c", Constant::F32(random(&[o], 4))).unwrap();
            let y = graph.op("shift", "add", &[("a", y), ("b", of_outputs)], &[]).unwrap();
            let wide = [&dims[..dims.len() - 1], &[o]].concat();
            let sizes: Vec<_> = wide.iter().map(|d| (*d).into()).collect();
            let r = graph.input("r", &sizes).unwrap();
            let y = graph.op("sum", "add", &[("a", r), ("b", y)], &[]).unwrap();
            graph.output("y", y).unwrap();
            let (together, _) = both(&graph, Layouts::Nchw, &[random(dims, 3), random(&wide, 4)]);
            let want = [["layer", "act", "shift", "sum"]];
            assert_eq!(groups(&together), want, "{function} {dims:?}: {together}");
        }
    }
}

#[test]
fn a_result_that_is_used_elsewhere_is_not_inside_a_step() {
    // An output; another consumer; a sum that is broadcast along rows; one that grows.
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 8.into()]).unwrap();
    let shown = linear(&mut graph, "shown", x, (8, 8));
    graph.output("shown", shown).unwrap();
    let y = graph.op("act", "relu", &[("x", shown)], &[]).unwrap();
    let twice = linear(&mut graph, "twice", y, (8, 8));
    let z = graph.op("first", "tanh", &[("x", twice)], &[]).unwrap();
    let y = graph.op("second", "mul", &[("a", twice), ("b", z)], &[]).unwrap();
    let y = linear(&mut graph, "doubled", y, (8, 8));
    let y = graph.op("itself", "add", &[("a", y), ("b", y)], &[]).unwrap();
    let y = linear(&mut graph, "grows", y, (8, 8));
    let rows = graph.input("rows", &[3.into(), 8.into()]).unwrap();
    let y = graph.op("rows too", "add", &[("a", y), ("b", rows)], &[]).unwrap();
    let y = linear(&mut graph, "along", y, (8, 8));
    let column = graph.input("column", &[3.into(), 1.into()]).unwrap();
    let y = graph.op("column too", "mul", &[("a", y), ("b", column)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let inputs = [random(&[1, 8], 1), random(&[3, 8], 2), random(&[3, 1], 3)];
    let (together, _) = both(&graph, Layouts::Nchw, &inputs);
    assert_eq!(groups(&together), Vec::<Vec<String>>::new(), "{together}");
}

/// Layers, functions, sums, and products of what is there, at random.
fn any(seed: u64, rank: usize) -> (Graph, Vec<StridedTensor>) {
    let mut state = seed;
    let mut below = move |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let widths = [5, 16, 19];
    let mut dims = vec![[1, 2, 7][below(3)]; rank - 1];
    dims.push(widths[below(3)]);
    let mut graph = Graph::new();
    let x = graph.input("x", &dims.iter().map(|d| (*d).into()).collect::<Vec<_>>()).unwrap();
    let mut values = vec![(x, dims[rank - 1])];
    for i in 0..12 {
        let (x, width) = values[values.len() - 1 - below(values.len().min(8)) / 6];
        let name = format!("n{i}");
        let same = |values: &[(ValueId, usize)]| values.iter().find(|(v, w)| *w == width && *v != x).copied();
        let of_outputs =
            |graph: &mut Graph| graph.constant(&format!("c{i}"), Constant::F32(random(&[width], i))).unwrap();
        let value = match below(7) {
            0..3 => {
                let to = widths[below(3)];
                (linear(&mut graph, &name, x, (width, to)), to)
            }
            3 | 4 => (graph.op(&name, FUNCTIONS[below(9)], &[("x", x)], &[]).unwrap(), width),
            5 => match same(&values) {
                Some((y, _)) if below(2) == 0 => {
                    (graph.op(&name, "add", &[("a", x), ("b", y)], &[]).unwrap(), width)
                }
                Some((y, _)) => (graph.op(&name, "add", &[("a", y), ("b", x)], &[]).unwrap(), width),
                None => (graph.op(&name, "abs", &[("x", x)], &[]).unwrap(), width),
            },
            _ => {
                let c = of_outputs(&mut graph);
                let op = ["mul", "add"][below(2)];
                (graph.op(&name, op, &[("a", x), ("b", c)], &[]).unwrap(), width)
            }
        };
        values.push(value);
    }
    for (i, (value, _)) in values.iter().rev().take(1 + below(3)).enumerate() {
        graph.output(&format!("y{i}"), *value).unwrap();
    }
    (graph, vec![random(&dims, seed)])
}

#[test]
fn random_graphs_compute_the_same_and_are_close_to_f64() {
    let (mut several, mut long) = (0, 0);
    for seed in 0..60 {
        let (graph, inputs) = any(seed, 2 + seed as usize % 2);
        let layouts = Layouts::ALL[seed as usize % Layouts::ALL.len()];
        let (together, alone) = both(&graph, layouts, &inputs);
        let nodes = |plan: &Plan| plan.steps().map(|step| step.nodes.len()).sum::<usize>();
        assert_eq!(nodes(&together), nodes(&alone));
        for group in groups(&together) {
            several += 1;
            long += usize::from(group.len() > 2);
        }
        let errors = together.errors(&[&inputs[0]]).unwrap();
        for step in &errors.steps {
            assert!(step.relative_l2.unwrap() < 4e-6, "{}: {errors}{together}", step.name);
        }
    }
    assert!(several > 50 && long > 15, "{several} groups, {long} long ones");
}

#[test]
fn errors_are_those_of_all_nodes_of_a_step() {
    let plan = block(6, 24, 40).plan(&options(Layouts::Nchw)).unwrap();
    let errors = plan.errors(&[&random(&[6, 24], 1)]).unwrap();
    let of = |name: &str| errors.steps.iter().find(|step| step.name == name).unwrap();
    assert_eq!(of("narrow").nodes, ["narrow", "bounded", "scaled", "sum"]);
    for step in &errors.steps {
        let error = step.relative_l2.unwrap();
        assert!(error > 0.0 && error < 2e-6 && !step.only_moves, "{errors}");
    }
    let text = errors.to_string();
    assert!(text.contains("wide, act: linear + gelu") && text.contains("compared 2 of 2 steps"), "{text}");
}

#[test]
fn pictures_name_all_nodes_of_a_step() {
    let plan = block(6, 24, 40).plan(&options(Layouts::Nchw)).unwrap();
    for picture in [plan.to_svg(None), plan.to_dot()] {
        assert!(picture.contains("narrow, bounded, scaled, sum"), "{picture}");
        assert!(picture.contains("linear + tanh,mul_channel,residual"), "{picture}");
    }
    let svg = plan.to_svg(None);
    assert_eq!(svg.matches("<g><title>").count(), 2);
    assert!(svg.contains("<g><title>narrow, bounded, scaled, sum: linear"), "{svg}");
}

#[test]
fn a_saved_plan_comes_back_with_its_groups_and_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let (path, second) = (folder.path().join("model.plan"), folder.path().join("again.plan"));
    let x = [random(&[6, 24], 1)];
    for layouts in Layouts::ALL {
        for keep_plain in [false, true] {
            let plan = block(6, 24, 40).plan(&options(layouts)).unwrap();
            plan.save(&path, keep_plain).unwrap();
            let loaded = Plan::load(&PackedFile::read(&path).unwrap()).unwrap();
            assert_eq!(loaded.to_string(), plan.to_string());
            assert!(loaded.steps().eq(plan.steps()));
            assert_eq!(loaded.measurements(), plan.measurements());
            assert_eq!(bits(&loaded, &x), bits(&plan, &x));
            loaded.save(&second, false).unwrap();
            plan.save(&path, false).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(&second).unwrap());
        }
    }
}

/// Files are not believed: a group is checked as any choice.
#[test]
fn damaged_groups_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.plan");
    block(6, 24, 40).plan(&options(Layouts::Nchw)).unwrap().save(&path, false).unwrap();
    let file = PackedFile::read(&path).unwrap();
    let plan: serde_json::Value = serde_json::from_str(file.text("plan").unwrap()).unwrap();
    let weights = ["node 0", "node 2"].map(|name| (name, file.get::<PackedOp>(name).unwrap()));
    let constants: Vec<(String, StridedTensor)> = (0..plan["tensors"].as_array().unwrap().len())
        .filter_map(|i| Some((format!("tensor {i}"), file.tensor(&format!("tensor {i}")).ok()?)))
        .collect();
    let load = |plan: &serde_json::Value| {
        let other = folder.path().join("other.plan");
        let mut writer = PackedWriter::new();
        writer.add_text("plan", plan.to_string());
        weights.iter().for_each(|(name, op)| writer.add(*name, op).unwrap());
        constants.iter().for_each(|(name, tensor)| writer.add_tensor(name.clone(), tensor).unwrap());
        writer.save(&other).unwrap();
        Plan::load(&PackedFile::read(&other).unwrap())
    };
    load(&plan).unwrap();
    // A result inside a group that is an output as well.
    let mut outputs = plan["outputs"].clone();
    outputs.as_array_mut().unwrap().push(serde_json::json!(["inner", plan["nodes"][0]["outputs"][0]]));
    for (place, new) in [
        ("/outputs", outputs),
        ("/groups/0/way", serde_json::json!("by hand")),
        ("/groups/0/nodes", serde_json::json!([])),
        ("/groups/0/nodes", serde_json::json!([0])),
        ("/groups/0/nodes", serde_json::json!([1, 0])),
        ("/groups/0/nodes", serde_json::json!([0, 0])),
        ("/groups/0/nodes", serde_json::json!([0, 2])),
        ("/groups/0/nodes", serde_json::json!([0, 99])),
        ("/groups/0/tensors", serde_json::json!([])),
        ("/groups/0/tensors/0/0", serde_json::json!(99)),
        ("/groups/1/nodes", serde_json::json!([2, 3, 4])),
        ("/groups/1", plan["groups"][0].clone()),
        ("/groups", serde_json::json!([])),
        ("/nodes/0/packed", serde_json::Value::Null),
        ("/nodes/3/packed", serde_json::json!("gemm")),
        ("/nodes/5/takes", serde_json::json!([])),
    ] {
        let mut changed = plan.clone();
        *changed.pointer_mut(place).unwrap() = new.clone();
        let error = load(&changed).map(|plan| plan.to_string());
        assert!(matches!(&error, Err(Error::Invalid { .. })), "{place} {new}: {error:?}");
        // Those that no later check would refuse as damage: building the plan would ask to report them.
        let text = error.unwrap_err().to_string();
        assert!(text.contains("pack the model again"), "{place} {new}: {text}");
    }
}
