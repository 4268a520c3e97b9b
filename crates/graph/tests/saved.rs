//! Plans in files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use blocktensor::counted;
use blocktensor::{MemoryFormat, PackedFile, PackedOp, PackedWriter, StateDict, StridedTensor, TensorDesc};
use blocktensor_graph::{
    Constant, ElementType, Error, Expand, Expansion, Graph, Integer, IntegerFunction, Layouts, Plan,
    PlanOptions, Profiles, Value, ValueId,
};

use crate::support::random;

/// Every kind of weights: a stem, convolutions of all dimensions, grouped, depthwise and transposed ones, a linear layer, a
/// product with a constant matrix, weights that are an operand elsewhere too; views, constants, a residual, two outputs.
pub fn graph() -> Graph {
    let mut graph = Graph::new();
    let mut seed = 0;
    let mut weights = |graph: &mut Graph, dims: &[usize]| -> ValueId {
        seed += 1;
        graph.constant(&format!("w{seed}"), Constant::F32(random(dims, seed))).unwrap()
    };
    let x = graph.input("x", &[2.into(), 3.into(), 12.into(), 9.into()]).unwrap();
    let (w, b) = (weights(&mut graph, &[33, 3, 3, 3]), weights(&mut graph, &[33]));
    let padding = [("padding", 1i64.into())];
    let y = graph.op("stem", "conv2d", &[("x", x), ("weights", w), ("bias", b)], &padding).unwrap();
    let y = graph.op("act", "relu", &[("x", y)], &[]).unwrap();
    let w = weights(&mut graph, &[33, 1, 3, 3]);
    let depthwise = [("padding", 1i64.into()), ("groups", 33i64.into())];
    let z = graph.op("depthwise", "conv2d", &[("x", y), ("weights", w)], &depthwise).unwrap();
    let y = graph.op("residual", "add", &[("a", z), ("b", y)], &[]).unwrap();
    let w = weights(&mut graph, &[33, 16, 2, 2]);
    let stride = [("stride", 2i64.into())];
    let grouped = [("groups", 3i64.into())];
    let w2 = weights(&mut graph, &[33, 5, 2, 3]);
    let other = graph.op("grouped up", "conv_transpose2d", &[("x", y), ("weights", w2)], &grouped).unwrap();
    graph.output("other", other).unwrap();
    let up = graph.op("up", "conv_transpose2d", &[("x", y), ("weights", w)], &stride).unwrap();
    graph.output("up", up).unwrap();
    let dims = [("dims", vec![2i64, 33, 108].into())];
    let lines = graph.op("lines", "view", &[("x", y)], &dims).unwrap();
    let w = weights(&mut graph, &[16, 33, 3]);
    let lines = graph.op("conv over lines", "conv1d", &[("x", lines), ("weights", w)], &[]).unwrap();
    let (w, b) = (weights(&mut graph, &[7, 106]), weights(&mut graph, &[7]));
    let fc = graph.op("fc", "linear", &[("x", lines), ("weights", w), ("bias", b)], &[]).unwrap();
    let m = weights(&mut graph, &[7, 5]);
    let scale = graph.op("scale", "mul_scalar", &[("x", m)], &[("other", 0.5f64.into())]).unwrap();
    let y = graph.op("product", "matmul", &[("a", fc), ("b", m)], &[]).unwrap();
    let y = graph.op("again", "matmul", &[("a", fc), ("b", scale)], &[]).map(|z| (y, z)).unwrap();
    let y = graph.op("sum", "add", &[("a", y.0), ("b", y.1)], &[]).unwrap();
    graph.output("y", y).unwrap();
    // Weights that are an operand, too.
    let z = graph.input("z", &[7.into(), 5.into()]).unwrap();
    let z = graph.op("beside", "add", &[("a", z), ("b", m)], &[]).unwrap();
    graph.output("z + m", z).unwrap();
    graph
}

fn run(plan: &Plan) -> Vec<StridedTensor> {
    plan.run(&[&random(&[2, 3, 12, 9], 99), &random(&[7, 5], 98)]).unwrap()
}

fn bits(plan: &Plan) -> Vec<Vec<u32>> {
    let results = run(plan);
    results.iter().map(|t| t.to_vec::<f32>().unwrap().iter().map(|v| v.to_bits()).collect()).collect()
}

struct Saved {
    plan: Plan,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

fn saved(layouts: Layouts, keep_plain: bool) -> Saved {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.plan");
    let plan = graph().plan(&PlanOptions::new(layouts).profiles(Profiles::Measured)).unwrap();
    plan.save(&path, keep_plain).unwrap();
    Saved { plan, path, _folder: folder }
}

#[test]
fn bytes_are_those_of_the_file() {
    for keep_plain in [false, true] {
        let Saved { plan, path, .. } = &saved(Layouts::Blocked, keep_plain);
        let bytes = plan.to_bytes(keep_plain).unwrap();
        assert!(bytes == std::fs::read(path).unwrap());
        assert_eq!(bits(&Plan::load(&PackedFile::of_bytes("bytes", &bytes).unwrap()).unwrap()), bits(plan));
    }
}

#[test]
fn a_plan_comes_back_with_every_choice_and_the_same_bits() {
    for layouts in Layouts::ALL {
        let Saved { plan, path, .. } = &saved(layouts, false);
        let file = PackedFile::read(path).unwrap();
        assert!(Plan::is_in(&file));
        let loaded = Plan::load(&file).unwrap();
        drop(file);
        assert_eq!(loaded.to_string(), plan.to_string());
        assert_eq!(loaded.layouts(), layouts);
        assert!(loaded.steps().eq(plan.steps()));
        assert_eq!((loaded.reorders(), loaded.passes()), (plan.reorders(), plan.passes()));
        assert_eq!(loaded.measurements(), plan.measurements());
        assert_eq!(loaded.input_types(), plan.input_types());
        assert_eq!(bits(&loaded), bits(plan));
        assert_eq!(bits(&loaded), bits(&loaded));
        // What was loaded can be saved: to the same file.
        let folder = tempfile::tempdir().unwrap();
        let second = folder.path().join("second.plan");
        loaded.save(&second, false).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), std::fs::read(&second).unwrap());
    }
}

/// Packed weights take the place of the plain ones: they are in the file once.
#[test]
fn a_file_has_packed_weights_once_and_plain_ones_if_asked() {
    for keep_plain in [false, true] {
        let dict = StateDict::read(&saved(Layouts::Nhwc, keep_plain).path).unwrap();
        let count = |ending: &str| dict.names().filter(|name| name.ends_with(ending)).count();
        assert_eq!((count(".packed"), count(".plain")), (8, if keep_plain { 8 } else { 0 }));
        // Two biases, which are in the packed weights too, and the matrix that is an operand.
        assert_eq!(count(".tensor"), 3);
    }
}

#[test]
fn another_number_of_threads_is_refused_by_name_or_planned_again() {
    let Saved { plan, path, .. } = &saved(Layouts::Blocked, true);
    let alone = Saved { ..saved(Layouts::Blocked, false) };
    let want = run(plan);
    let threads = blocktensor::current_threads();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    pool.install(|| {
        let error = Plan::load(&PackedFile::read(path).unwrap()).unwrap_err();
        assert!(matches!(&error, Error::Engine(blocktensor::Error::PackMismatch(_))), "{error}");
        let said = format!(
            "argument `file`: got a plan packed for {}, but a run here has 3 threads; ",
            counted(threads, "thread")
        );
        let text = error.to_string();
        assert!(text.contains(&said) && !text.contains("node "), "{text}");
        assert!(
            text.contains("open the file with `PackedFile::read_or_repack`, or plan the model"),
            "{text}"
        );
        // That remedy works.
        Plan::load(&PackedFile::read_or_repack(path).unwrap()).unwrap();
        let text = Plan::load(&PackedFile::read(&alone.path).unwrap()).unwrap_err().to_string();
        assert!(
            text.contains(&said) && text.contains("save the plan with plain weights (`keep_plain`)"),
            "{text}"
        );
        let again =
            Plan::load_or_replan(&PackedFile::read_or_repack(path).unwrap(), &Profiles::Measured).unwrap();
        assert_eq!(again.layouts(), Layouts::Blocked);
        for (got, want) in run(&again).iter().zip(&want) {
            assert!(crate::support::relative_error(got, want) < 1e-6);
        }
        let file = PackedFile::read_or_repack(&alone.path).unwrap();
        let error = Plan::load_or_replan(&file, &Profiles::Measured).unwrap_err();
        assert!(error.to_string().contains("keep_plain"), "{error}");
    });
    let same = Plan::load_or_replan(&PackedFile::read_or_repack(path).unwrap(), &Profiles::Measured).unwrap();
    assert_eq!(bits(&same), bits(plan));
}

/// The file states the plan's own number of threads, wherever it is saved.
#[test]
fn a_plan_is_saved_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.plan");
    let planned = || graph().plan(&PlanOptions::new(Layouts::Blocked));
    for keep_plain in [false, true] {
        let plan = blocktensor::run_with_threads(1, planned).unwrap();
        blocktensor::run_with_threads(3, || plan.save(&path, keep_plain)).unwrap();
        let said = "argument `file`: got a plan packed for 1 thread, but a run here has 3 threads; ";
        let error = blocktensor::run_with_threads(3, || Plan::load(&PackedFile::read(&path).unwrap()));
        let text = error.expect_err("other threads").to_string();
        assert!(text.contains(said) && !text.contains("node "), "{text}");
        let load = || Plan::load(&PackedFile::read(&path).unwrap());
        let loaded = blocktensor::run_with_threads(1, load).unwrap();
        let bits = |plan: &Plan| blocktensor::run_with_threads(1, || Ok::<_, Error>(bits(plan))).unwrap();
        assert_eq!(bits(&loaded), bits(&plan));
    }
}

/// A file of a build that wrote the number of the threads that saved it.
#[test]
fn weights_that_do_not_fit_have_a_remedy_that_a_plan_has() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.plan");
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 3.into(), 5.into(), 5.into()]).unwrap();
    let w = graph.constant("w", Constant::F32(random(&[8, 3, 3, 3], 1))).unwrap();
    let y = graph.op("conv", "conv2d", &[("x", x), ("weights", w)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let save = || graph.plan(&PlanOptions::new(Layouts::Blocked))?.save(&path, false);
    blocktensor::run_with_threads(1, save).unwrap();
    let file = PackedFile::read(&path).unwrap();
    let text = file.text("plan").unwrap();
    let changed = text.replace("\"threads\":1", "\"threads\":3");
    assert_ne!(changed, text);
    let weights: PackedOp = blocktensor::run_with_threads(1, || file.get("node 0")).unwrap();
    for (keep_plain, remedy) in [
        (false, "save the plan with plain weights"),
        (true, "open the file with `PackedFile::read_or_repack`"),
    ] {
        let mut writer = PackedWriter::new();
        if keep_plain {
            writer = writer.keep_plain();
        }
        writer.add_text("plan", changed.clone());
        writer.add("node 0", &weights).unwrap();
        let bytes = writer.to_bytes().unwrap();
        let load = || Plan::load(&PackedFile::of_bytes("bytes", &bytes)?);
        let text = blocktensor::run_with_threads(3, load).unwrap_err().to_string();
        assert!(text.contains("packed for 1 thread") && text.contains(remedy), "{text}");
        assert!(!text.contains("pack the plain weights here") && !text.contains("state dict"), "{text}");
    }
}

/// The plans that come of a file's plan when any part of it is something else. Packed weights are left out.
fn changed(path: &Path) -> Vec<Result<Plan, Error>> {
    let text = PackedFile::read(path).unwrap().text("plan").unwrap().to_string();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let other = path.with_extension("changed");
    let mut results = Vec::new();
    for place in &places(&value, String::new()) {
        for new in ["0", "2", "97", "-1", "\"x\"", "null"] {
            let mut changed = value.clone();
            *changed.pointer_mut(place).unwrap() = serde_json::from_str(new).unwrap();
            let mut writer = PackedWriter::new();
            writer.add_text("plan", changed.to_string());
            writer.save(&other).unwrap();
            results.push(Plan::load(&PackedFile::read(&other).unwrap()));
        }
    }
    results
}

#[test]
fn a_plan_whose_weights_are_gone_is_refused() {
    let results = changed(&saved(Layouts::Blocked, false).path);
    assert!(results.len() > 2000 && results.iter().all(Result::is_err));
}

#[test]
fn changed_plans_are_errors_or_run() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 17.into(), 5.into(), 4.into()]).unwrap();
    let y = graph.op("act", "relu", &[("x", x)], &[]).unwrap();
    let y = graph.op("pool", "max_pool2d", &[("x", y)], &[("kernel", 2i64.into())]).unwrap();
    let y =
        graph.op("flat", "flatten", &[("x", y)], &[("start", 1i64.into()), ("end", 3i64.into())]).unwrap();
    let y = graph.op("last", "softmax", &[("x", y)], &[("axis", 1i64.into())]).unwrap();
    graph.output("y", y).unwrap();
    let (refused, ran) = refused_and_ran(&graph);
    assert!(refused > 500 && ran > 50, "{refused} refused, {ran} ran");
}

/// A function of integers as a node of a graph.
#[derive(Debug)]
struct OfIntegers(IntegerFunction);

impl Expand for OfIntegers {
    fn op(&self) -> &str {
        "of integers"
    }

    fn expand(
        &self,
        inputs: &[Option<Value>],
        cx: &mut Expansion<'_>,
    ) -> blocktensor_graph::Result<Vec<Value>> {
        let inputs: Vec<&Value> = inputs.iter().flatten().collect();
        Ok(vec![cx.integers(self.0, &inputs)?])
    }
}

/// Every kind of signature that functions of integers have.
fn of_integers() -> Graph {
    let mut graph = Graph::new();
    let i = graph.input_of("i", ElementType::Int(Integer::I8), &[3.into()]).unwrap();
    let x = graph.input("x", &[2.into(), 3.into()]).unwrap();
    let mut node = |name: &str, function, inputs: &[ValueId]| {
        let inputs: Vec<_> = inputs.iter().copied().map(Some).collect();
        graph.node(name, Arc::new(OfIntegers(function)), &inputs, &[name]).unwrap()[0]
    };
    let whole = node("whole", IntegerFunction::ToInt(Integer::I8), &[x]);
    let sum = node("sum", IntegerFunction::Add, &[i, whole]);
    let larger = node("larger", IntegerFunction::Greater, &[sum, i]);
    let chosen = node("chosen", IntegerFunction::Where, &[larger, sum, i]);
    let numbers = node("numbers", IntegerFunction::ToFloat, &[chosen]);
    let rest = node("rest", IntegerFunction::FloatFmod, &[x, numbers]);
    let is_set = node("is set", IntegerFunction::ToBool, &[sum]);
    for (name, value) in
        [("sum", sum), ("larger", larger), ("chosen", chosen), ("rest", rest), ("is set", is_set)]
    {
        graph.output(name, value).unwrap();
    }
    graph
}

#[test]
fn plans_with_functions_of_integers_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.plan");
    let i = StridedTensor::from_slice(&[100i32, -3, 0], &[3]).unwrap();
    let x = StridedTensor::from_slice(&[100f32, 2.5, -1.0, 27.9, 3.5, 0.0], &[2, 3]).unwrap();
    for layouts in Layouts::FIXED {
        let plan = of_integers().plan(&PlanOptions::new(layouts)).unwrap();
        plan.save(&path, false).unwrap();
        let loaded = Plan::load(&PackedFile::read(&path).unwrap()).unwrap();
        assert_eq!(loaded.to_string(), plan.to_string());
        for plan in [&plan, &loaded] {
            let y = plan.run(&[&i, &x]).unwrap();
            // 100 + 100 wraps around: integers keep their type in the file.
            assert_eq!(y[0].to_vec::<i32>().unwrap(), [-56, -1, -1, 127, 0, 0]);
            assert_eq!(y[1].to_vec::<u8>().unwrap(), [0, 1, 0, 1, 1, 0]);
            assert_eq!(y[2].to_vec::<i32>().unwrap(), [100, -1, 0, 127, 0, 0]);
            assert_eq!(y[3].to_vec::<f32>().unwrap()[..2], [0.0, 0.5]);
            assert_eq!(y[4].to_vec::<u8>().unwrap(), [1, 1, 1, 1, 0, 0]);
        }
        let again = Plan::load_or_replan(&PackedFile::read_or_repack(&path).unwrap(), &Profiles::Measured);
        assert_eq!(again.unwrap().run(&[&i, &x]).unwrap()[0].to_vec::<i32>().unwrap()[0], -56);
    }
}

#[test]
fn changed_functions_of_integers_are_errors_or_run() {
    let (refused, ran) = refused_and_ran(&of_integers());
    assert!(refused > 500 && ran > 50, "{refused} refused, {ran} ran");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.plan");
    of_integers().plan(&PlanOptions::new(Layouts::Nchw)).unwrap().save(&path, false).unwrap();
    let text = PackedFile::read(&path).unwrap().text("plan").unwrap().to_string();
    // The last one adds numbers of f32: sums of integers that f32 holds would overflow.
    for (from, to, part) in [
        (r#""function":"add""#, r#""function":"plus""#, "plus"),
        (r#""function":"add""#, r#""functions":"add""#, "functions"),
        (r#""integers":{"function":"add""#, r#""other":{"function":"add""#, "StoredOp"),
        (r#""function":"float_fmod""#, r#""function":"add""#, "f32 as operand 0"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        let mut writer = PackedWriter::new();
        writer.add_text("plan", changed);
        writer.save(&path).unwrap();
        let error = Plan::load(&PackedFile::read(&path).unwrap()).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("pack the model again"), "{error}");
    }
}

#[test]
fn operators_of_a_program_are_not_saved() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[2.into()]).unwrap();
    let relu = blocktensor::BoundOp::new("relu", &["x"], &[]).unwrap();
    let y = graph.operator("own", Arc::new(relu), &[x], &["y"]).unwrap()[0];
    graph.output("y", y).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let plan = graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
    let error = plan.save(folder.path().join("model.plan"), false).unwrap_err().to_string();
    assert!(error.contains("node `own`") && error.contains("by their names"), "{error}");
}

/// How many changed plans of a graph are refused, and how many run. None of them does anything else.
fn refused_and_ran(graph: &Graph) -> (usize, usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.plan");
    let (mut refused, mut ran) = (0, 0);
    for layouts in Layouts::FIXED {
        graph.plan(&PlanOptions::new(layouts)).unwrap().save(&path, false).unwrap();
        for result in changed(&path) {
            let Ok(plan) = result else {
                refused += 1;
                continue;
            };
            let zeros =
                |desc: &TensorDesc| StridedTensor::zeros(desc.dims(), desc.dtype(), MemoryFormat::Contiguous);
            let inputs: Vec<StridedTensor> = plan.inputs().map(|(_, desc)| zeros(desc).unwrap()).collect();
            if let Ok(results) = plan.run(&inputs.iter().collect::<Vec<_>>()) {
                assert!(
                    results.iter().map(StridedTensor::dims).eq(plan.outputs().map(|(_, desc)| desc.dims()))
                );
                ran += 1;
            }
        }
    }
    (refused, ran)
}

/// Pointers to the parts of a value that have no parts.
fn places(value: &serde_json::Value, at: String) -> Vec<String> {
    match value {
        serde_json::Value::Array(list) => {
            list.iter().enumerate().flat_map(|(i, v)| places(v, format!("{at}/{i}"))).collect()
        }
        serde_json::Value::Object(map) => {
            map.iter().flat_map(|(k, v)| places(v, format!("{at}/{k}"))).collect()
        }
        _ => vec![at],
    }
}

/// Found by an attack: parts that only a planning would miss.
#[test]
fn plans_without_results_and_with_one_name_for_two_outputs_are_refused() {
    let Saved { path, .. } = &saved(Layouts::Nhwc, true);
    let text = PackedFile::read(path).unwrap().text("plan").unwrap().to_string();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let other = path.with_extension("other");
    for (place, new, part) in [
        ("/nodes/0/outputs", serde_json::json!([]), "0 results"),
        ("/nodes/0/makes", serde_json::json!([]), "results"),
        ("/outputs/1/0", value["outputs"][0][0].clone(), "two outputs called"),
        ("/outputs", serde_json::json!([]), "no outputs"),
        ("/outputs/0/0", serde_json::json!("a\u{1b}b"), "have no control characters; rename it in the model"),
        ("/input_types/0", serde_json::json!("bool"), "inputs"),
        ("/inputs/1", value["inputs"][0].clone(), "inputs"),
    ] {
        let mut changed = value.clone();
        *changed.pointer_mut(place).unwrap() = new;
        let mut writer = PackedWriter::new();
        writer.add_text("plan", changed.to_string());
        // The constants are there, so that the plan itself is what is wrong.
        for (i, tensor) in value["tensors"].as_array().unwrap().iter().enumerate() {
            if tensor["elements"] == "constant" {
                let name = format!("tensor {i}");
                let constant = PackedFile::read(path).unwrap().tensor(&name).unwrap();
                writer.add_tensor(name, &constant).unwrap();
            }
        }
        writer.save(&other).unwrap();
        let error = Plan::load(&PackedFile::read(&other).unwrap()).unwrap_err().to_string();
        assert!(error.contains(part), "{place}: {error}");
    }
}

#[test]
fn files_without_a_plan_and_of_other_versions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.packed");
    let mut writer = PackedWriter::new();
    writer.add_tensor("mean", &StridedTensor::full(&[3], 1f32, MemoryFormat::Contiguous).unwrap()).unwrap();
    writer.save(&path).unwrap();
    let file = PackedFile::read(&path).unwrap();
    assert!(!Plan::is_in(&file));
    let error = Plan::load(&file).unwrap_err().to_string();
    assert!(error.contains("without a plan") && error.contains("Plan::save"), "{error}");
    // Plain weights are no packed file either: one error is for whoever wants a plan, and for whoever wants the weights.
    let plain = folder.path().join("plain.safetensors");
    blocktensor::StateDict::new().save(&plain).unwrap();
    for read in [PackedFile::read(&plain), PackedFile::read_or_repack(&plain)] {
        let error = read.unwrap_err().to_string();
        for part in ["without packed weights", "a file that `Plan::save` wrote", "`StateDict::read`"] {
            assert!(error.contains(part), "{error}");
        }
    }
    for (text, part) in
        [(r#"{"version":99,"other":1}"#, "version 99"), ("{", "EOF"), (r#"{"version":1}"#, "missing")]
    {
        let mut writer = PackedWriter::new();
        let path = folder.path().join("b.packed");
        writer.add_text("plan", text);
        writer.save(&path).unwrap();
        let error = Plan::load(&PackedFile::read(&path).unwrap()).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("pack the model again"), "{error}");
    }
}

#[test]
fn plans_and_files_of_packed_weights_do_not_replace_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let plan = graph().plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
    let mut weights = PackedWriter::new();
    weights.add_text("labels", r#"cat, "text:plan":"#);
    weights.add_tensor("mean", &random(&[3], 1)).unwrap();

    plan.save(&path, false).unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = weights.save(&path).unwrap_err().to_string();
    assert!(error.contains("it exists, and is not a file of packed weights"), "{error}");
    assert!(std::fs::read(&path).unwrap() == before);
    plan.save(&path, true).unwrap();
    // Of a plan whose header is cut, nobody knows what it was.
    std::fs::write(&path, &before[..300]).unwrap();
    weights.save(&path).unwrap();

    let before = std::fs::read(&path).unwrap();
    let error = plan.save(&path, false).unwrap_err().to_string();
    assert!(error.contains("it exists, and is not a plan"), "{error}");
    assert!(std::fs::read(&path).unwrap() == before);
    weights.save(&path).unwrap();
}
