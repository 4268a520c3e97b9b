//! Errors of plans against f64.

use blocktensor::{MemoryFormat, PackedFile, StridedTensor};
use blocktensor_graph::{Constant, Error, Errors, Graph, Layouts, Plan, PlanOptions, Profiles};

use crate::support::random;

fn options(layouts: Layouts) -> PlanOptions {
    PlanOptions::new(layouts).profiles(Profiles::Estimated).keep_constants()
}

fn check(errors: &Errors, plan: &Plan) {
    for step in &errors.steps {
        let error = step.relative_l2.unwrap_or_else(|| panic!("{} has no f64 version", step.op));
        assert!(error <= if step.only_moves { 0.0 } else { 4e-6 }, "{}: {errors}{plan}", step.name);
    }
    assert!(errors.outputs.as_ref().unwrap().iter().all(|output| output.relative_l2 < 1e-5), "{errors}");
}

#[test]
fn packed_weights_of_every_kind_are_close_to_f64() {
    let inputs = [random(&[2, 3, 12, 9], 99), random(&[7, 5], 98)];
    for layouts in Layouts::ALL {
        let plan = crate::saved::graph().plan(&options(layouts)).unwrap();
        check(&plan.errors(&inputs.each_ref()).unwrap(), &plan);
    }
}

/// Norms, attention, pools, resampling, element-wise ops and movement.
fn mixed() -> Graph {
    let mut graph = Graph::new();
    let constant = |graph: &mut Graph, name: &str, dims: &[usize], seed: u64| {
        graph.constant(name, Constant::F32(random(dims, seed))).unwrap()
    };
    let x = graph.input("x", &[2.into(), 8.into(), 6.into(), 6.into()]).unwrap();
    let mean = constant(&mut graph, "mean", &[8], 1);
    let var = StridedTensor::full(&[8], 0.7f32, MemoryFormat::Contiguous).unwrap();
    let var = graph.constant("var", Constant::F32(var)).unwrap();
    let y = graph.op("batch", "batch_norm", &[("x", x), ("mean", mean), ("var", var)], &[]).unwrap();
    let y = graph.op("lrelu", "leaky_relu", &[("x", y)], &[("slope", 0.1f64.into())]).unwrap();
    let y = graph.op("group", "group_norm", &[("x", y)], &[("groups", 4i64.into())]).unwrap();
    let y = graph.op("mish", "mish", &[("x", y)], &[]).unwrap();
    let padding = [("padding", vec![1i64, 1].into()), ("mode", "reflect".into())];
    let y = graph.op("pad", "pad", &[("x", y)], &padding).unwrap();
    let kernel = [("kernel", 3i64.into()), ("stride", 2i64.into())];
    let pooled = graph.op("pool", "avg_pool2d", &[("x", y)], &kernel).unwrap();
    let size = [("output", vec![6i64, 8].into())];
    let up = graph.op("up", "upsample_bilinear", &[("x", pooled)], &size).unwrap();
    let y = graph.op("sum", "add", &[("a", y), ("b", up)], &[]).unwrap();
    let y = graph.op("shuffle", "channel_shuffle", &[("x", y)], &[("groups", 2i64.into())]).unwrap();
    let tokens = graph.op("tokens", "view", &[("x", y)], &[("dims", vec![2i64, 8, 48].into())]).unwrap();
    let keys = graph.op("keys", "permute", &[("x", tokens)], &[("axes", vec![0i64, 2, 1].into())]).unwrap();
    let scores = graph.op("scores", "matmul", &[("a", keys), ("b", tokens)], &[]).unwrap();
    let scores = graph.op("softmax", "softmax", &[("x", scores)], &[("axis", 2i64.into())]).unwrap();
    let y = graph.op("attend", "matmul", &[("a", scores), ("b", keys)], &[]).unwrap();
    let shape = [("normalized_shape", vec![8i64].into())];
    let y = graph.op("layer", "layer_norm", &[("x", y)], &shape).unwrap();
    let w = constant(&mut graph, "w", &[5, 8], 2);
    let y = graph.op("fc", "linear", &[("x", y), ("weights", w)], &[]).unwrap();
    let y = graph.op("gelu", "gelu", &[("x", y)], &[]).unwrap();
    let axes = [("axes", vec![1i64].into())];
    let mean = graph.op("mean of tokens", "mean", &[("x", y)], &axes).unwrap();
    graph.output("mean", mean).unwrap();
    let best = graph.op("best", "argmax", &[("x", y)], &[("axis", vec![2i64].into())]).unwrap();
    graph.output("best", best).unwrap();
    graph
}

#[test]
fn other_ops_are_close_to_f64() {
    let x = random(&[2, 8, 6, 6], 3);
    for layouts in Layouts::ALL {
        let plan = mixed().plan(&options(layouts)).unwrap();
        let errors = plan.errors(&[&x]).unwrap();
        check(&errors, &plan);
        // A plan gives the same results with and without.
        let bare = mixed().plan(&PlanOptions::new(layouts).profiles(Profiles::Estimated)).unwrap();
        assert_eq!(bare.to_string(), plan.to_string());
    }
}

#[test]
fn a_plan_without_plain_weights_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.plan");
    let inputs = [random(&[2, 3, 12, 9], 99), random(&[7, 5], 98)];
    let plan = crate::saved::graph().plan(&options(Layouts::Nhwc)).unwrap();
    plan.save(&path, false).unwrap();
    let loaded = Plan::load(&PackedFile::read(&path).unwrap()).unwrap();
    let bare = crate::saved::graph().plan(&PlanOptions::new(Layouts::Nhwc)).unwrap();
    for plan in [&loaded, &bare] {
        let error = plan.errors(&inputs.each_ref()).unwrap_err();
        let Error::Invalid { remedy, .. } = &error else { panic!("{error}") };
        assert!(remedy.contains("keep_constants"), "{error}");
    }
    let error = Plan::load_with_constants(&PackedFile::read(&path).unwrap()).unwrap_err();
    assert!(error.to_string().contains("keep_plain"), "{error}");
    plan.save(&path, true).unwrap();
    let whole = Plan::load_with_constants(&PackedFile::read(&path).unwrap()).unwrap();
    let errors = whole.errors(&inputs.each_ref()).unwrap();
    check(&errors, &whole);
    let planned = plan.errors(&inputs.each_ref()).unwrap();
    assert_eq!((&errors.steps, &errors.outputs), (&planned.steps, &planned.outputs));
    assert!(planned.as_written.unwrap().outputs.is_some());
    assert_eq!(errors.as_written, None);
    assert!(
        errors.to_string().contains("as written: not compared, as a packed file does not hold it"),
        "{errors}"
    );
    // Bad inputs are refused as in a run.
    assert!(matches!(plan.errors(&[&inputs[0]]), Err(Error::Invalid { .. })));
    // Without packed weights there is nothing to keep.
    let mut graph = Graph::new();
    let x = graph.input("x", &[3.into()]).unwrap();
    let y = graph.op("exp", "exp", &[("x", x)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let plan = graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
    check(&plan.errors(&[&random(&[3], 1)]).unwrap(), &plan);
}

#[test]
fn an_op_without_an_f64_version_is_listed() {
    blocktensor_third_backend::key();
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 3.into(), 6.into(), 5.into()]).unwrap();
    let y = graph.op("before", "exp", &[("x", x)], &[]).unwrap();
    let y = graph.op("shift", "reversed_shift", &[("x", y)], &[("by", 0.25f64.into())]).unwrap();
    let y = graph.op("after", "sigmoid", &[("x", y)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let plan = graph.plan(&options(Layouts::Nchw)).unwrap();
    let errors = plan.errors(&[&random(&[1, 3, 6, 5], 2)]).unwrap();
    let without: Vec<&str> = errors.without_reference().map(|step| step.name.as_str()).collect();
    assert_eq!((without, errors.outputs.is_none()), (vec!["shift"], true));
    // The reorders to the other backend and back are compared.
    assert!(errors.steps.iter().all(|step| step.name == "shift" || step.relative_l2.unwrap() < 1e-6));
    let text = errors.to_string();
    for part in
        ["compared 2 of 3 steps that compute", "no f64 version: shift (reversed_shift)", "outputs: not"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}
