//! Models are read, planned and run while each large allocation fails in turn.

use blocktensor::testing::{Fault, Seen, inject};
use blocktensor::{Error as Engine, StridedTensor};
use blocktensor_graph::{Dim, Error as GraphError, Layouts, PlanOptions, Profiles};
use blocktensor_onnx::Error;
use rten_onnx::onnx::DataType;

use crate::support::{Model, float, int, ints, numbers, ramp, tensor, tensor_attribute, word};

/// More elements than fit into a small allocation, whatever their type.
const MANY: usize = 70_000;

fn is_out_of_memory(error: &Error) -> bool {
    let engine = |e: &Engine| matches!(e, Engine::OutOfMemory { .. });
    match error {
        Error::Engine(e) => engine(e),
        Error::Graph(GraphError::Engine(e) | GraphError::Operator { source: e, .. }) => engine(e),
        _ => false,
    }
}

fn results(bytes: &[u8], inputs: &[StridedTensor], layouts: Layouts) -> Result<Vec<StridedTensor>, Error> {
    let graph = blocktensor_onnx::from_bytes(bytes)?;
    let plan = graph.plan(&PlanOptions::new(layouts).profiles(Profiles::Estimated))?;
    Ok(plan.run(&inputs.iter().collect::<Vec<_>>())?)
}

fn inputs(bytes: &[u8]) -> Vec<StridedTensor> {
    let graph = blocktensor_onnx::from_bytes(bytes).expect("a model");
    let dims = graph.inputs().map(|(_, _, dims)| -> Vec<usize> {
        dims.iter().map(|d| if let Dim::Size(d) = d { *d } else { 1 }).collect()
    });
    let tensor = |dims: Vec<usize>| StridedTensor::from_slice(&ramp(dims.iter().product()), &dims);
    dims.map(tensor).collect::<Result<_, _>>().expect("inputs")
}

/// A plan that could not pack weights in one layout may compute in another, which rounds otherwise.
fn are_close(got: &[StridedTensor], want: &[StridedTensor]) -> bool {
    got.iter().zip(want).all(|(got, want)| {
        let (got, want) = (numbers(got), numbers(want));
        got.iter().zip(&want).all(|(g, w)| g == w || (g - w).abs() <= 1e-5 * w.abs().max(1.0))
    })
}

/// A model whose every large allocation fails in turn gives `OutOfMemory`, or its results where it can do without. Returns how
/// many allocations there are.
#[track_caller]
fn each_allocation_may_fail(what: &str, model: Model) -> Seen {
    let bytes = model.bytes();
    let inputs = inputs(&bytes);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let mut all = Seen::default();
    for layouts in Layouts::ALL {
        pool.install(|| {
            // Thread pools, tables and kernels that are made once.
            results(&bytes, &inputs, layouts).unwrap_or_else(|e| panic!("{what}: {e}"));
            let (want, seen) = inject(None, || results(&bytes, &inputs, layouts));
            let want = want.expect("as before");
            let heap = (0..seen.heap_allocations).map(|nth| Fault::Heap { nth });
            let storage = (0..seen.allocations).map(|nth| Fault::Allocation { nth });
            for fault in heap.chain(storage) {
                match inject(Some(fault), || results(&bytes, &inputs, layouts)).0 {
                    Ok(got) => {
                        assert!(are_close(&got, &want), "{what}, {layouts:?}, {fault:?}: other results")
                    }
                    Err(e) => assert!(is_out_of_memory(&e), "{what}, {layouts:?}, {fault:?}: {e}"),
                }
            }
            all.heap_allocations += seen.heap_allocations;
            all.allocations += seen.allocations;
        });
    }
    all
}

/// A layer of many channels, with what passes make of it.
#[test]
fn a_layer_with_its_batch_norm_and_slopes() {
    let channels = 17_000;
    let list = |model: Model, name: &str| {
        model.floats(name, &[channels as i64], &ramp(channels).iter().map(|v| v.abs()).collect::<Vec<_>>())
    };
    let model =
        Model::new().input("x", &[1, 1, 2, 2]).floats("w", &[channels as i64, 1, 1, 1], &ramp(channels));
    let model = ["gamma", "beta", "mean", "var"].into_iter().fold(model, list);
    let model = model
        .floats("slopes", &[channels as i64, 1, 1], &ramp(channels))
        .node("Conv", &["x", "w"], &["y"])
        .node("BatchNormalization", &["y", "gamma", "beta", "mean", "var"], &["z"])
        .node("PRelu", &["z", "slopes"], &["p"])
        .node("BatchNormalization", &["p", "gamma", "beta", "mean", "var"], &["q"])
        .output("q");
    let seen = each_allocation_may_fail("a layer", model);
    assert!(seen.heap_allocations > 40, "{seen:?}");
}

/// Constants of all types, and arithmetic with them.
#[test]
fn arithmetic_with_long_lists_of_integers() {
    let count = MANY as i64;
    let list = |of: DataType, width: usize| tensor("value", of, &[count], vec![0; MANY * width]);
    let constant = |model: Model, name: &str, of: DataType, width: usize| {
        model.node_with("Constant", &[], &[name], vec![tensor_attribute("value", list(of, width))])
    };
    let model = Model::new().input("x", &[1, 4]).int("zero", 0).int("limit", count).int("one", 1);
    let model = [
        ("i64", DataType::INT64, 8),
        ("i32", DataType::INT32, 4),
        ("u32", DataType::UINT32, 4),
        ("u64", DataType::UINT64, 8),
        ("i16", DataType::INT16, 2),
        ("u16", DataType::UINT16, 2),
        ("i8", DataType::INT8, 1),
        ("u8", DataType::UINT8, 1),
        ("bool", DataType::BOOL, 1),
        ("f32", DataType::FLOAT, 4),
    ]
    .into_iter()
    .fold(model, |model, (name, of, width)| constant(model, name, of, width));
    let to = |of: DataType| vec![int("to", i64::from(of.0))];
    let mut model = model
        .node("Range", &["zero", "limit", "one"], &["range"])
        .node("Add", &["range", "i64"], &["sum"])
        .node("Neg", &["sum"], &["negated"])
        .node_with("CumSum", &["negated", "zero"], &["sums"], vec![])
        .node("Where", &["bool", "sums", "range"], &["chosen"])
        .node("Equal", &["chosen", "i64"], &["same"])
        .node("Not", &["same"], &["other"])
        .ints("axes", &[0])
        .node("Unsqueeze", &["range", "axes"], &["row"])
        .node_with("Transpose", &["row"], &["column"], vec![ints("perm", &[1, 0])])
        .ints("twice", &[1, 2])
        .node("Tile", &["column", "twice"], &["two"])
        .ints("starts", &[1])
        .ints("ends", &[i64::MAX])
        .node("Slice", &["two", "starts", "ends", "axes"], &["rest"])
        .node_with("ReduceMax", &["rest"], &["most"], vec![ints("axes", &[1]), int("keepdims", 0)])
        .node("NonZero", &["bool"], &["places"])
        .node("NonZero", &["other"], &["others"])
        .node_with("Concat", &["range", "chosen"], &["both"], vec![int("axis", 0)])
        .node("Gather", &["range", "range"], &["gathered"])
        .node_with("Split", &["both"], &["first", "second"], vec![int("axis", 0)])
        .node("Min", &["first", "second"], &["least"])
        .node("Clip", &["least", "zero"], &["clipped"])
        .node("Expand", &["one", "shape"], &["ones"])
        .ints("shape", &[count])
        .node("ConstantOfShape", &["shape"], &["zeros"]);
    for (i, name) in
        ["i32", "u32", "u64", "i16", "u16", "i8", "u8", "bool", "f32", "clipped", "most", "gathered", "ones"]
            .into_iter()
            .enumerate()
    {
        let (float, boolean, whole) = (format!("f{i}"), format!("b{i}"), format!("w{i}"));
        model = model
            .node_with("Cast", &[name], &[&float], to(DataType::FLOAT))
            .node_with("Cast", &[&float], &[&boolean], to(DataType::BOOL))
            .node_with("Cast", &[&boolean], &[&whole], to(DataType::INT32))
            .node_with("Cast", &[&whole], &[&format!("h{i}")], to(DataType::INT16));
        model = model.output(&float).output(&whole);
    }
    let model =
        model.output("others").output("zeros").node("Relu", &["x"], &["y"]).output("y").output("places");
    let seen = each_allocation_may_fail("integers", model.opset(13));
    assert!(seen.heap_allocations > 100, "{seen:?}");
}

/// Integers that a run computes.
#[test]
fn indices_that_a_run_computes() {
    let model = Model::new()
        .input("x", &[MANY as i64, 2])
        .int("two", 2)
        .node_with("ArgMax", &["x"], &["i"], vec![int("axis", 1), int("keepdims", 0)])
        .node("Add", &["i", "two"], &["j"])
        .node("Less", &["i", "j"], &["less"])
        .node("Where", &["less", "i", "j"], &["k"])
        .node_with("Cast", &["k"], &["y"], vec![int("to", i64::from(DataType::FLOAT.0))])
        .output("y");
    let seen = each_allocation_may_fail("indices", model);
    assert!(seen.heap_allocations > 20, "{seen:?}");
}

/// Importers that make tables of their own.
#[test]
fn tables_of_importers() {
    let side = 140;
    let image = || Model::new().input("x", &[1, 1, side, side]);
    let resize = |mode: &str, to: i64| {
        let attributes = vec![word("mode", mode), float("cubic_coeff_a", -0.5), int("exclude_outside", 1)];
        image()
            .ints("sizes", &[1, 1, to, to])
            .node_with("Resize", &["x", "", "", "sizes"], &["y"], attributes)
            .output("y")
    };
    each_allocation_may_fail("Resize", resize("cubic", 300));
    let indices = image()
        .node_with("MaxPool", &["x"], &["y", "i"], vec![ints("kernel_shape", &[2, 2])])
        .output("y")
        .output("i");
    each_allocation_may_fail("MaxPool", indices);
    let pool = vec![ints("kernel_shape", &[2, 2]), ints("pads", &[1, 1, 0, 0]), int("ceil_mode", 1)];
    each_allocation_may_fail(
        "AveragePool",
        image().node_with("AveragePool", &["x"], &["y"], pool).output("y"),
    );
    each_allocation_may_fail(
        "Dropout",
        image().node("Dropout", &["x"], &["y", "mask"]).output("y").output("mask"),
    );
    let eye = Model::new()
        .input("x", &[1, 2])
        .floats("like", &[300, 300], &ramp(300 * 300))
        .node("EyeLike", &["like"], &["eye"])
        .output("eye")
        .node("Relu", &["x"], &["y"])
        .output("y");
    each_allocation_may_fail("EyeLike", eye);
    each_allocation_may_fail(
        "Hardmax",
        Model::new().input("x", &[2, 200]).node("Hardmax", &["x"], &["y"]).output("y"),
    );
    let rows = MANY as i64;
    let long = || Model::new().input("x", &[rows]);
    let last = vec![int("axis", 0), int("select_last_index", 1)];
    each_allocation_may_fail("ArgMax", long().node_with("ArgMax", &["x"], &["y"], last).output("y"));
    let pad =
        long().ints("pads", &[1, 1]).node_with("Pad", &["x", "pads"], &["y"], vec![word("mode", "wrap")]);
    each_allocation_may_fail("Pad", pad.opset(19).output("y"));
    let backwards: Vec<i64> = (0..rows).rev().collect();
    let column = |model: Model| {
        let raw = backwards.iter().flat_map(|v| v.to_le_bytes()).collect();
        let attribute = tensor_attribute("value", tensor("value", DataType::INT64, &[rows, 1], raw));
        model.node_with("Constant", &[], &["index"], vec![attribute])
    };
    each_allocation_may_fail(
        "Gather",
        long().ints("i", &backwards).node("Gather", &["x", "i"], &["y"]).output("y"),
    );
    each_allocation_may_fail(
        "GatherND",
        column(long()).node("GatherND", &["x", "index"], &["y"]).output("y"),
    );
    let updates = || long().floats("u", &[rows], &ramp(MANY));
    let scatter = column(updates()).node("ScatterND", &["x", "index", "u"], &["y"]).output("y");
    each_allocation_may_fail("ScatterND", scatter);
    let elements =
        updates().ints("i", &backwards).node("ScatterElements", &["x", "i", "u"], &["y"]).output("y");
    each_allocation_may_fail("ScatterElements", elements);
}
