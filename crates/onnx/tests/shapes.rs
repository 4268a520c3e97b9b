//! Shape arithmetic: integers and Booleans that are known.

use crate::support::{Model, float, int};

/// A node of integers, whose result becomes numbers of an output.
#[track_caller]
fn computed(
    model: Model,
    op: &str,
    inputs: &[&str],
    attributes: Vec<rten_onnx::onnx::AttributeProto>,
) -> (Vec<usize>, Vec<f32>) {
    let mut results = model.node_with(op, inputs, &["y"], attributes).output("y").run(&[]);
    results.remove(0)
}

#[track_caller]
fn list(model: Model, op: &str, inputs: &[&str], want: &[f32]) {
    assert_eq!(computed(model, op, inputs, vec![]).1, want, "{op}");
}

#[test]
fn arithmetic_of_integers() {
    let m = || Model::new().ints("a", &[7, -7, 5]).ints("b", &[2, 2, -3]).ints("c", &[10]);
    list(m(), "Add", &["a", "c"], &[17.0, 3.0, 15.0]);
    list(m(), "Sub", &["c", "a"], &[3.0, 17.0, 5.0]);
    list(m(), "Mul", &["a", "b"], &[14.0, -14.0, -15.0]);
    // Quotients lose their fraction; remainders have the sign of the divisor, or with `fmod` of the dividend.
    list(m(), "Div", &["a", "b"], &[3.0, -3.0, -1.0]);
    list(m(), "Mod", &["a", "b"], &[1.0, 1.0, -1.0]);
    assert_eq!(computed(m(), "Mod", &["a", "b"], vec![int("fmod", 1)]).1, [1.0, -1.0, 2.0]);
    list(m(), "Neg", &["a"], &[-7.0, 7.0, -5.0]);
    list(m(), "Min", &["a", "b"], &[2.0, -7.0, -3.0]);
    list(m(), "Max", &["a", "b", "c"], &[10.0, 10.0, 10.0]);
    list(m(), "Equal", &["a", "a"], &[1.0, 1.0, 1.0]);
    list(m(), "Greater", &["a", "b"], &[1.0, 0.0, 1.0]);
    list(m().int("zero", 0), "CumSum", &["a", "zero"], &[7.0, 0.0, 5.0]);
}

#[test]
fn elements_that_move() {
    let m = || {
        Model::new().ints("a", &[1, 2, 3, 4, 5, 6]).ints("s", &[2, 3]).node("Reshape", &["a", "s"], &["m"])
    };
    let t = computed(m(), "Transpose", &["m"], vec![]);
    assert_eq!(t, (vec![3, 2], vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    let sliced = computed(
        m().ints("b", &[-1]).ints("e", &[i64::MIN]).ints("x", &[1]).ints("k", &[-2]),
        "Slice",
        &["m", "b", "e", "x", "k"],
        vec![],
    );
    assert_eq!(sliced, (vec![2, 2], vec![3.0, 1.0, 6.0, 4.0]));
    let tiled = computed(m().ints("r", &[1, 2]), "Tile", &["m", "r"], vec![]);
    assert_eq!(tiled.1, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 4.0, 5.0, 6.0]);
    let sum = computed(m().ints("x", &[1]), "ReduceSum", &["m", "x"], vec![int("keepdims", 0)]);
    assert_eq!(sum, (vec![2], vec![6.0, 15.0]));
    let split = m()
        .node_with("Split", &["a"], &["p", "q"], vec![int("num_outputs", 2)])
        .output("p")
        .output("q")
        .run(&[]);
    assert_eq!(split[1].1, [4.0, 5.0, 6.0]);
    let picked = computed(m().ints("i", &[-1, 0]), "Gather", &["m", "i"], vec![int("axis", 1)]);
    assert_eq!(picked, (vec![2, 2], vec![3.0, 1.0, 6.0, 4.0]));
}

#[test]
fn generated_constants() {
    let m = || Model::new().ints("s", &[2, 2]).int("a", 2).int("b", 9).int("k", 3);
    list(m(), "Range", &["a", "b", "k"], &[2.0, 5.0, 8.0]);
    assert_eq!(computed(m(), "ConstantOfShape", &["s"], vec![]), (vec![2, 2], vec![0.0; 4]));
    let eye = computed(m().node("ConstantOfShape", &["s"], &["z"]), "EyeLike", &["z"], vec![int("k", 1)]);
    assert_eq!(eye.1, [0.0, 1.0, 0.0, 0.0]);
    let places = computed(Model::new().ints("a", &[0, 3, 0, 4]), "NonZero", &["a"], vec![]);
    assert_eq!(places, (vec![1, 2], vec![1.0, 3.0]));
}

#[test]
fn choices_and_casts() {
    let m = || {
        Model::new().ints("a", &[1, 0, 2]).ints("b", &[5, 6, 7]).ints("one", &[1]).node(
            "Equal",
            &["a", "one"],
            &["c"],
        )
    };
    list(m(), "Where", &["c", "a", "b"], &[1.0, 6.0, 7.0]);
    list(m(), "Not", &["c"], &[0.0, 1.0, 1.0]);
    assert_eq!(computed(m(), "Cast", &["a"], vec![int("to", 9)]).1, [1.0, 0.0, 1.0]);
    let halves = m().node_with("Cast", &["a"], &["f"], vec![int("to", 1)]).node_with(
        "Constant",
        &[],
        &["h"],
        vec![float("value_float", 0.75)],
    );
    // Numbers that become sizes, as exporters write scales: the fraction is cut off.
    let scaled = halves.node("Mul", &["f", "h"], &["g"]);
    assert_eq!(computed(scaled, "Cast", &["g"], vec![int("to", 7)]).1, [0.0, 0.0, 1.0]);
}
