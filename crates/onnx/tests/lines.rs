//! Zero points and scales of `MatMulInteger` and `QLinearMatMul` in each shape that stands for a line of a matrix.

use blocktensor::StridedTensor;
use rten_onnx::onnx::DataType;

use crate::support::Model;

/// The element of a tensor that broadcasts against sizes, at the last three indices.
fn at(values: &[f64], dims: &[usize], index: [usize; 3]) -> f64 {
    let mut i = 0;
    for (axis, &size) in dims.iter().enumerate() {
        let own = (axis + 3).checked_sub(dims.len()).map_or(0, |axis| index[axis]);
        i = i * size + if size == 1 { 0 } else { own };
    }
    values[i]
}

/// Numbers of an operand by their place: no two lines have the same.
fn bytes(count: usize, factor: usize) -> Vec<f64> {
    (0..count).map(|i| (i * factor % 251) as f64).collect()
}

fn sizes(dims: &[usize]) -> Vec<i64> {
    dims.iter().map(|&d| d as i64).collect()
}

fn add(model: Model, name: &'static str, dims: &[usize], values: &[f64]) -> Model {
    model.bytes_of(name, DataType::UINT8, &sizes(dims), &values.iter().map(|&v| v as i16).collect::<Vec<_>>())
}

const M: usize = 3;
const K: usize = 4;
const N: usize = 5;

/// The sizes of A and B before their matrices, those of a value for A and of one for B as given, and as they broadcast.
type Case<'a> = [&'a [usize]; 6];

const CASES: [Case<'_>; 14] = [
    [&[], &[], &[], &[1, N], &[], &[1, N]],
    [&[], &[], &[1], &[1, 1, N], &[], &[1, N]],
    [&[], &[], &[M, 1], &[1, 1], &[M, 1], &[]],
    [&[], &[], &[M], &[N], &[M, 1], &[1, N]],
    [&[], &[], &[1, M, 1], &[1, 1, 1], &[M, 1], &[]],
    [&[2], &[], &[M, 1], &[1, N], &[M, 1], &[1, N]],
    [&[2], &[], &[2, M, 1], &[1, 1, N], &[2, M, 1], &[1, N]],
    [&[2], &[], &[2, 1, 1], &[N], &[2, 1, 1], &[1, N]],
    [&[2], &[1], &[M], &[1, 1, N], &[M, 1], &[1, N]],
    [&[2], &[2], &[1], &[2, 1, N], &[], &[2, 1, N]],
    [&[2], &[2], &[2, M, 1], &[2, 1, N], &[2, M, 1], &[2, 1, N]],
    [&[2], &[2], &[1, M, 1], &[2, 1, 1], &[M, 1], &[2, 1, 1]],
    [&[], &[2], &[M], &[N], &[M, 1], &[1, N]],
    [&[1], &[2], &[1, 1, 1, 1], &[1, 1, 1, N], &[], &[1, N]],
];

/// A and B, and values of the shapes of a case: the elements of a kind that start at `first`.
struct Operands {
    a: (Vec<usize>, Vec<f64>),
    b: (Vec<usize>, Vec<f64>),
    batch: usize,
}

impl Operands {
    fn new(case: &Case<'_>) -> Operands {
        let a = [case[0], &[M, K]].concat();
        let b = [case[1], &[K, N]].concat();
        let count = |dims: &[usize]| dims.iter().product::<usize>();
        let batch = count(case[0]).max(count(case[1]));
        Operands { a: (a.clone(), bytes(count(&a), 37)), b: (b.clone(), bytes(count(&b), 83)), batch }
    }

    fn indices(&self) -> impl Iterator<Item = [usize; 3]> {
        (0..self.batch * M * N).map(|i| [i / (M * N), i / N % M, i % N])
    }

    fn sum(&self, p: f64, q: f64, [i, row, column]: [usize; 3]) -> f64 {
        let product =
            |l| (at(&self.a.1, &self.a.0, [i, row, l]) - p) * (at(&self.b.1, &self.b.0, [i, l, column]) - q);
        (0..K).map(product).sum()
    }
}

fn count(dims: &[usize]) -> usize {
    dims.iter().product()
}

#[test]
fn zero_points_are_of_lines_in_each_shape() {
    for case in CASES {
        let [.., given_a, given_b, of_a, of_b] = case;
        let operands = Operands::new(&case);
        let (p, q) = (bytes(count(given_a), 19), bytes(count(given_b), 53));
        let p: Vec<f64> = p.iter().map(|v| v + 7.0).collect();
        let q: Vec<f64> = q.iter().map(|v| v + 100.0).map(|v| v % 256.0).collect();
        let model = add(Model::new(), "a", &operands.a.0, &operands.a.1);
        let model = add(model, "b", &operands.b.0, &operands.b.1);
        let model = add(add(model, "p", given_a, &p), "q", given_b, &q);
        let got = model.node("MatMulInteger", &["a", "b", "p", "q"], &["y"]).output("y").run(&[]).remove(0);
        let want: Vec<f32> = operands
            .indices()
            .map(|index| operands.sum(at(&p, of_a, index), at(&q, of_b, index), index) as f32)
            .collect();
        assert_eq!(got.1, want, "{case:?}");
    }
}

/// Scales that are powers of two, so that each number of the definition is exact.
#[test]
fn scales_are_of_lines_in_each_shape() {
    for (i, case) in CASES.into_iter().enumerate() {
        let [.., given_a, given_b, of_a, of_b] = case;
        let operands = Operands::new(&case);
        let powers = |dims: &[usize], least: i32| -> Vec<f64> {
            (0..count(dims)).map(|i| 2f64.powi(least + i as i32 % 4)).collect()
        };
        let (p, q) = (bytes(count(given_a), 19), bytes(count(given_b), 53));
        let (a_scale, b_scale) = (powers(given_a, -4), powers(given_b, -3));
        // The result has a scale for each row, or one.
        let batch: &[usize] = if case[0].len() + case[1].len() == 0 { &[] } else { &[operands.batch] };
        let of_y = match i % 3 {
            0 => vec![],
            1 => vec![M, 1],
            _ => [batch, &[M, 1]].concat(),
        };
        let given_y = if i % 3 == 1 { vec![M] } else { of_y.clone() };
        let (y_scale, y_zero) = (powers(&of_y, 3), bytes(count(&of_y), 29));
        let floats = |model: Model, name, dims: &[usize], values: &[f64]| {
            model.floats(name, &sizes(dims), &values.iter().map(|&v| v as f32).collect::<Vec<_>>())
        };
        let model = add(Model::new(), "a", &operands.a.0, &operands.a.1);
        let model = add(model, "b", &operands.b.0, &operands.b.1);
        let model = add(add(model, "p", given_a, &p), "q", given_b, &q);
        let model = floats(floats(model, "as", given_a, &a_scale), "bs", given_b, &b_scale);
        let model = floats(add(model, "yz", &given_y, &y_zero), "ys", &given_y, &y_scale);
        let inputs = ["a", "as", "p", "b", "bs", "q", "ys", "yz"];
        let got = model.node("QLinearMatMul", &inputs, &["y"]).output("y").run(&[]).remove(0);
        let want: Vec<f32> = operands
            .indices()
            .map(|index| {
                let sum = operands.sum(at(&p, of_a, index), at(&q, of_b, index), index);
                let real = sum * at(&a_scale, of_a, index) * at(&b_scale, of_b, index);
                let steps = (real / at(&y_scale, &of_y, index)).round_ties_even();
                (steps + at(&y_zero, &of_y, index)).clamp(0.0, 255.0) as f32
            })
            .collect();
        assert_eq!(got.1, want, "{case:?}");
        assert!(want.iter().any(|v| *v != want[0]), "{case:?} shows nothing: {want:?}");
    }
}

#[test]
fn vectors_have_no_lines() {
    let model = add(Model::new(), "a", &[2], &[200.0, 1.0]);
    let model = add(model, "b", &[2], &[3.0, 10.0]);
    let model = add(add(model, "p", &[1, 1], &[5.0]), "q", &[1], &[4.0]);
    let got = model.node("MatMulInteger", &["a", "b", "p", "q"], &["y"]).output("y").run(&[]).remove(0);
    assert_eq!(got, (vec![], vec![-195.0 - 4.0 * 6.0]));
}

#[test]
fn other_shapes_are_refused_with_the_sizes_that_are_meant() {
    let run = |op: &str, p: &[usize], q: &[usize]| {
        let values = |dims: &[usize]| vec![1.0; count(dims)];
        let model = add(add(Model::new(), "a", &[M, K], &[1.0; M * K]), "b", &[K, N], &[1.0; K * N]);
        let model = add(add(model, "p", p, &values(p)), "q", q, &values(q)).floats("s", &[], &[1.0]);
        let model = add(model, "zero", &[], &[0.0]);
        let inputs: &[&str] = match op {
            "MatMulInteger" => &["a", "b", "p", "q"],
            _ => &["a", "s", "p", "b", "s", "q", "s", "zero"],
        };
        model.node(op, inputs, &["y"]).output("y").run_on(vec![]).unwrap_err()
    };
    for op in ["MatMulInteger", "QLinearMatMul"] {
        for (p, q, name) in [
            (&[N][..], &[][..], "a_zero_point"),
            (&[1, M], &[], "a_zero_point"),
            (&[2, M, 1], &[], "a_zero_point"),
            (&[], &[N, 1], "b_zero_point"),
            (&[], &[K, N], "b_zero_point"),
            (&[], &[2], "b_zero_point"),
        ] {
            let e = run(op, p, q);
            let (given, lines) = if name.starts_with('a') { (p, "row") } else { (q, "column") };
            let count = if name.starts_with('a') { M } else { N };
            let text = format!(
                "node `n0` ({op}), {name}: got {given:?}; it has one element, or one for each {lines}"
            );
            assert!(e.contains(&text) && e.contains(&format!(": [{count}], ")), "{e}");
        }
    }
}

/// Checks a product of A and B whose sums are 0, with zero points and scales of each line or of all; B is a constant or an input.
fn check_zeros(op: &str, [a, b, y]: [&[usize]; 3], of_lines: bool, is_constant: bool) {
    let rows = if a.len() == 1 { 1 } else { a[a.len() - 2] };
    let columns = if b.len() == 1 { 1 } else { b[b.len() - 1] };
    let (p, q): (&[usize], &[usize]) = if of_lines { (&[rows], &[columns]) } else { (&[], &[]) };
    let mut model = Model::new();
    let mut given = vec![];
    for (name, dims, is_given) in
        [("a", a, true), ("b", b, !is_constant), ("p", p, false), ("q", q, !is_constant)]
    {
        if is_given {
            model = model.input_of(name, DataType::UINT8, &sizes(dims));
            given.push((name, StridedTensor::from_slice(&vec![3; count(dims)], dims).unwrap()));
        } else {
            model = add(model, name, dims, &bytes(count(dims), 37));
        }
    }
    // The result has a scale for each row where A has.
    for (name, dims) in [("as", p), ("bs", q), ("ys", p)] {
        model = model.floats(name, &sizes(dims), &vec![0.5; count(dims)]);
    }
    let zeros: Vec<f64> = (0..count(p)).map(|i| 7.0 + i as f64).collect();
    model = add(model, "yz", p, &zeros);
    let (inputs, zeros): (&[&str], _) = match op {
        "MatMulInteger" => (&["a", "b", "p", "q"], vec![0.0; count(p)]),
        _ => (&["a", "as", "p", "b", "bs", "q", "ys", "yz"], zeros),
    };
    let of_element = |i: usize| zeros[i / columns % rows % zeros.len()] as f32;
    let want: Vec<f32> = (0..count(y)).map(of_element).collect();
    let case = format!("{op} of {a:?} and {b:?}, of lines: {of_lines}, constant: {is_constant}");
    let got = model.node(op, inputs, &["y"]).output("y").run_on(given);
    assert_eq!(got.unwrap_or_else(|e| panic!("{case}: {e}"))[0], (y.to_vec(), want), "{case}");
}

/// Sums of no products are 0, which quantised is the zero point of the result.
#[test]
fn products_of_nothing_are_zero() {
    let cases: [[&[usize]; 3]; 9] = [
        [&[3, 0], &[0, 4], &[3, 4]],
        [&[3, 2], &[2, 0], &[3, 0]],
        [&[3, 0], &[0, 0], &[3, 0]],
        [&[0, 0], &[0, 4], &[0, 4]],
        [&[2, 3, 0], &[0, 4], &[2, 3, 4]],
        [&[3, 0], &[2, 0, 4], &[2, 3, 4]],
        [&[2, 3, 2], &[2, 2, 0], &[2, 3, 0]],
        [&[0], &[0, 4], &[4]],
        [&[3, 0], &[0], &[3]],
    ];
    for (i, case) in cases.into_iter().cycle().take(4 * cases.len()).enumerate() {
        let kind = i / cases.len();
        for op in ["MatMulInteger", "QLinearMatMul"] {
            check_zeros(op, case, kind % 2 == 1, kind / 2 == 1);
        }
    }
}
