//! Ops of `com.microsoft` on integers of 8 bits, against loops in f64 that round halves to even.

use blocktensor::StridedTensor;
use blocktensor_graph::{Layouts, PlanOptions, Sizes};
use rten_onnx::onnx::{AttributeProto, DataType};

use crate::microsoft::of_microsoft;
use crate::support::{self, Model, float, int, ints, numbers, tensor};

/// Integers with their scale and zero point.
pub struct Drawn {
    of: DataType,
    scale: f32,
    pub zero: i16,
    dims: Vec<usize>,
    values: Vec<i16>,
}

fn least(of: DataType) -> i16 {
    if of == DataType::INT8 { -128 } else { 0 }
}

/// A zero point for numbers of both signs.
fn middle(of: DataType) -> i16 {
    least(of) + 128
}

impl Drawn {
    pub fn new(rng: &mut u64, of: DataType, scale: f32, dims: &[usize]) -> Drawn {
        let mut next = || {
            *rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            least(of) + (*rng >> 56) as i16
        };
        let values = (0..dims.iter().product()).map(|_| next()).collect();
        Drawn { of, scale, zero: next() / 8 + middle(of), dims: dims.to_vec(), values }
    }

    /// The numbers that the integers stand for.
    fn reals(&self) -> Vec<f64> {
        self.values.iter().map(|v| f64::from(v - self.zero) * f64::from(self.scale)).collect()
    }

    /// Adds the integers as an input or as a constant, and the scale and the zero point as constants.
    pub fn add(&self, mut model: Model, name: &str, is_constant: bool) -> Model {
        let dims: Vec<i64> = self.dims.iter().map(|&d| d as i64).collect();
        model = match is_constant {
            true => model.bytes_of(name, self.of, &dims, &self.values),
            false => model.input_of(name, self.of, &dims),
        };
        model.pair(name, self.scale, self.of, self.zero)
    }

    /// A run takes integers of inputs as s32.
    fn tensor(&self) -> StridedTensor {
        let values: Vec<i32> = self.values.iter().map(|&v| v.into()).collect();
        StridedTensor::from_slice(&values, &self.dims).unwrap()
    }
}

/// Scale and zero point of a result.
#[derive(Clone, Copy)]
struct Steps {
    of: DataType,
    scale: f32,
    zero: i16,
}

/// Runs a model node by node and as plans. Results are integers nearest to `want`; next to a tie it may be either.
#[track_caller]
fn check(what: &str, model: Model, given: &[(&str, &Drawn)], steps: Steps, dims: &[usize], want: &[f64]) {
    let graph = blocktensor_onnx::from_bytes(&model.bytes()).unwrap();
    let tensors: Vec<StridedTensor> = given.iter().map(|(_, drawn)| drawn.tensor()).collect();
    let named = given.iter().zip(&tensors).map(|((name, _), t)| (name.to_string(), t.clone())).collect();
    let network = graph.with_sizes(&Sizes::new()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut results = vec![support::run(&network, &named).unwrap().swap_remove(0).1];
    for layouts in [Layouts::Nchw, Layouts::Blocked] {
        let plan = graph.plan(&PlanOptions::new(layouts)).unwrap_or_else(|e| panic!("{what}: {e}"));
        results.push(plan.run(&tensors.iter().collect::<Vec<_>>()).unwrap().swap_remove(0));
    }
    let (low, mut inside) = (f64::from(least(steps.of)), 0);
    for (way, result) in results.iter().enumerate() {
        assert_eq!(result.dims(), dims, "{what}");
        let of_8_bits = if steps.of == DataType::INT8 { "s8" } else { "u8" };
        assert_eq!(result.dtype().name(), of_8_bits, "{what}");
        let got = numbers(result);
        assert_eq!(got.len(), want.len(), "{what}");
        for (i, (&got, want)) in got.iter().zip(want).enumerate() {
            let exact = want / f64::from(steps.scale) + f64::from(steps.zero);
            let nearest = exact.round_ties_even().clamp(low, low + 255.0);
            let is_tie = ((exact - exact.floor()) - 0.5).abs() < 1e-4;
            let apart = (f64::from(got) - nearest).abs();
            assert!(
                apart == 0.0 || is_tie && apart == 1.0,
                "{what}, way {way}, element {i}: {got}, not {exact}"
            );
            inside += usize::from(nearest > low && nearest < low + 255.0);
        }
    }
    assert!(inside > want.len(), "{what}: two thirds of the elements are at an end of the range");
}

const TYPES: [DataType; 2] = [DataType::UINT8, DataType::INT8];

/// A function of one operand, with and without its zero points.
#[track_caller]
fn check_one(
    op: &str,
    attributes: &[AttributeProto],
    dims: &[usize],
    scales: (f32, f32),
    result: &[usize],
    function: impl Fn(&[f64]) -> Vec<f64>,
) {
    let mut rng = 0x5eed_0440;
    for of in TYPES {
        for has_zeros in [true, false] {
            let mut x = Drawn::new(&mut rng, of, scales.0, dims);
            let mut y = Steps { of, scale: scales.1, zero: middle(of) + 17 };
            if !has_zeros {
                (x.zero, y.zero) = (0, 0);
            }
            let inputs = match has_zeros {
                true => vec!["x", "x_scale", "x_zero", "y_scale", "y_zero"],
                false => vec!["x", "x_scale", "", "y_scale"],
            };
            let model = x.add(Model::new(), "x", false).pair("y", y.scale, of, y.zero);
            let model = of_microsoft(model.node_with(op, &inputs, &["y"], attributes.to_vec())).output("y");
            check(&format!("{op} of {of}"), model, &[("x", &x)], y, result, &function(&x.reals()));
        }
    }
}

#[test]
fn functions_of_one_operand() {
    let dims = [2, 3, 5];
    check_one("QLinearSigmoid", &[], &dims, (0.0213, 0.004_17), &dims, |x| {
        x.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect()
    });
    for (attributes, slope) in [(vec![], 0.01), (vec![float("alpha", 0.375)], 0.375)] {
        check_one("QLinearLeakyRelu", &attributes, &dims, (0.031, 0.0273), &dims, |x| {
            x.iter().map(|&x| if x < 0.0 { slope * x } else { x }).collect()
        });
    }
}

/// The softmax of each run of `n` numbers, which lie `stride` apart.
fn softmax(x: &[f64], n: usize, stride: usize) -> Vec<f64> {
    let mut y = vec![0.0; x.len()];
    for first in (0..x.len()).filter(|i| (i / stride).is_multiple_of(n)) {
        let sum: f64 = (0..n).map(|i| x[first + i * stride].exp()).sum();
        (0..n).for_each(|i| y[first + i * stride] = x[first + i * stride].exp() / sum);
    }
    y
}

#[test]
fn softmaxes_of_both_definitions() {
    let dims = [2, 3, 4];
    for (version, axis, n, stride) in [
        (13, Some(-1), 4, 1),
        (13, None, 4, 1),
        (17, Some(1), 3, 4),
        (11, Some(1), 12, 1),
        (12, Some(2), 4, 1),
    ] {
        let mut attributes = vec![int("opset", version)];
        attributes.extend(axis.map(|axis| int("axis", axis)));
        check_one("QLinearSoftmax", &attributes, &dims, (0.0113, 0.003_91), &dims, |x| softmax(x, n, stride));
    }
}

#[test]
fn means() {
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    check_one(
        "QLinearGlobalAveragePool",
        &[int("channels_last", 0)],
        &[2, 5, 3, 7],
        (0.0313, 0.0217),
        &[2, 5, 1, 1],
        |x| x.chunks(21).map(mean).collect(),
    );
    let reduced = |axes: &[i64], keep: i64| [ints("axes", axes), int("keepdims", keep)];
    check_one(
        "QLinearReduceMean",
        &reduced(&[-1, 2], 1),
        &[2, 5, 3, 7],
        (0.0313, 0.0217),
        &[2, 5, 1, 1],
        |x| x.chunks(21).map(mean).collect(),
    );
    check_one("QLinearReduceMean", &reduced(&[1], 0), &[2, 3, 4], (0.0313, 0.0271), &[2, 4], |x| {
        let column = |i: usize| (0..3).map(move |row| x[i / 4 * 12 + row * 4 + i % 4]).sum::<f64>() / 3.0;
        (0..8).map(column).collect()
    });
}

/// Windows of 3 x 2 that reach into the padding, which counts or does not.
#[test]
fn average_pools() {
    for with_pads in [false, true] {
        let attributes = [
            ints("kernel_shape", &[3, 2]),
            ints("strides", &[2, 1]),
            ints("pads", &[1, 0, 1, 1]),
            int("count_include_pad", with_pads.into()),
        ];
        let (h, w) = (5, 4);
        check_one("QLinearAveragePool", &attributes, &[2, 3, h, w], (0.0313, 0.0237), &[2, 3, 3, 4], |x| {
            let pixel = |image: &[f64], i: usize| {
                let (row, column) = (i / 4 * 2, i % 4);
                let taps = (0..6).filter_map(|tap| Some(((row + tap / 2).checked_sub(1)?, column + tap % 2)));
                let taps: Vec<_> = taps.filter(|(r, c)| *r < h && *c < w).collect();
                let count = if with_pads { 6 } else { taps.len() };
                taps.iter().map(|(r, c)| image[r * w + c]).sum::<f64>() / count as f64
            };
            x.chunks(h * w).flat_map(|image| (0..12).map(move |i| pixel(image, i))).collect()
        });
    }
}

#[test]
fn sums_and_products() {
    let mut rng = 0x5eed_0441;
    let b_inputs = |has_zeros: bool| match has_zeros {
        true => ["a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"].to_vec(),
        false => ["a", "a_scale", "", "b", "b_scale", "", "y_scale", ""].to_vec(),
    };
    for (op, scale) in [("QLinearAdd", 0.0317), ("QLinearMul", 0.0411)] {
        for of in TYPES {
            for (case, b_dims) in [&[2, 3, 4, 5][..], &[1, 3, 1, 1], &[5], &[]].into_iter().enumerate() {
                let (is_constant, has_zeros) = (case % 2 == 1, case != 0);
                let mut a = Drawn::new(&mut rng, of, 0.0231, &[2, 3, 4, 5]);
                let mut b = Drawn::new(&mut rng, of, 0.0177, b_dims);
                let mut y = Steps { of, scale, zero: middle(of) - 41 };
                if !has_zeros {
                    (a.zero, b.zero, y.zero) = (0, 0, 0);
                }
                let of_b = |i: usize| match *b_dims {
                    [] => 0,
                    [n] => i % n,
                    [1, n, ..] => i / 20 % n,
                    _ => i,
                };
                let (x, other) = (a.reals(), b.reals());
                let want: Vec<f64> = (0..x.len())
                    .map(|i| if op == "QLinearAdd" { x[i] + other[of_b(i)] } else { x[i] * other[of_b(i)] })
                    .collect();
                let model = b.add(a.add(Model::new(), "a", false), "b", is_constant);
                let model = model.pair("y", y.scale, of, y.zero);
                let model = of_microsoft(model.node(op, &b_inputs(has_zeros), &["y"])).output("y");
                let given = [("a", &a), ("b", &b)];
                let given = &given[..if is_constant { 1 } else { 2 }];
                check(&format!("{op} of {of}, case {case}"), model, given, y, &a.dims, &want);
            }
        }
    }
}

/// Each tensor has a scale of its own; one is a constant.
#[test]
fn concatenations_and_choices() {
    let mut rng = 0x5eed_0442;
    for of in TYPES {
        let a = Drawn::new(&mut rng, of, 0.0231, &[2, 3, 2]);
        let b = Drawn::new(&mut rng, of, 0.0177, &[2, 1, 2]);
        let c = Drawn::new(&mut rng, of, 0.0293, &[2, 2, 2]);
        let y = Steps { of, scale: 0.0257, zero: middle(of) + 9 };
        let model = c.add(b.add(a.add(Model::new(), "a", false), "b", true), "c", false);
        let model = model.pair("y", y.scale, of, y.zero);
        let inputs =
            ["a", "b", "c"].map(|name| [name.to_string(), format!("{name}_scale"), format!("{name}_zero")]);
        let inputs = ["y_scale", "y_zero"].into_iter().chain(inputs.iter().flatten().map(|name| &**name));
        let model =
            model.node_with("QLinearConcat", &inputs.collect::<Vec<_>>(), &["y"], vec![int("axis", -2)]);
        let (of_a, of_b, of_c) = (a.reals(), b.reals(), c.reals());
        let want: Vec<f64> = (0..2)
            .flat_map(|n| {
                [&of_a[6 * n..6 * n + 6], &of_b[2 * n..2 * n + 2], &of_c[4 * n..4 * n + 4]].concat()
            })
            .collect();
        let model = of_microsoft(model).output("y");
        check(&format!("QLinearConcat of {of}"), model, &[("a", &a), ("c", &c)], y, &[2, 6, 2], &want);

        let b = Drawn::new(&mut rng, of, 0.0177, &[2, 3, 2]);
        let model = b.add(a.add(Model::new(), "a", false), "b", false).pair("y", y.scale, of, y.zero);
        let mut model = model.node(
            "QLinearWhere",
            &["is_a", "a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"],
            &["y"],
        );
        model.graph.initializer.push(tensor("is_a", DataType::BOOL, &[2], vec![1, 0]));
        let (of_a, of_b) = (a.reals(), b.reals());
        let want: Vec<f64> = (0..12).map(|i| if i % 2 == 0 { of_a[i] } else { of_b[i] }).collect();
        let model = of_microsoft(model).output("y");
        check(&format!("QLinearWhere of {of}"), model, &[("a", &a), ("b", &b)], y, &[2, 3, 2], &want);
    }
}

/// A product with a factor, whose C is in steps of the products: with one scale, or with one for each column.
#[test]
fn linear_layers() {
    let mut rng = 0x5eed_0443;
    let (m, k, n) = (3, 17, 5);
    for case in 0..16usize {
        let bit = |i: usize| case >> i & 1 == 1;
        let (transposed, per_column, has_factor, is_number) = (bit(0), bit(1), bit(2), case % 5 == 4);
        let of = TYPES[usize::from(bit(3))];
        let a = Drawn::new(&mut rng, of, 0.0231, &[m, k]);
        let mut b = Drawn::new(&mut rng, DataType::INT8, 0.0177, &if transposed { [n, k] } else { [k, n] });
        let scales: Vec<f32> =
            (0..n).map(|i| 0.0177 + if per_column { 0.003 * i as f32 } else { 0.0 }).collect();
        b.zero = if per_column { 0 } else { 3 };
        let alpha = if has_factor { 0.625f32 } else { 1.0 };
        let c: Vec<i32> = (0..n as i32).map(|i| 700 * i - 1500).collect();
        let y = Steps { of, scale: 0.137, zero: middle(of) + 11 };
        let mut want = Vec::new();
        for row in 0..m {
            for column in 0..n {
                let of_b = |i: usize| if transposed { column * k + i } else { i * n + column };
                let product = |i: usize| {
                    i64::from(a.values[row * k + i] - a.zero) * i64::from(b.values[of_b(i)] - b.zero)
                };
                let sum = (0..k).map(product).sum::<i64>() + i64::from(c[column]);
                let step = f64::from(alpha) * f64::from(a.scale) * f64::from(scales[column]);
                want.push(sum as f64 * step);
            }
        }
        let dims: Vec<i64> = b.dims.iter().map(|&d| d as i64).collect();
        let model = a.add(Model::new(), "a", false).bytes_of("b", b.of, &dims, &b.values);
        let mut model = match per_column {
            true => model.floats("b_scale", &[n as i64], &scales).bytes_of(
                "b_zero",
                b.of,
                &[n as i64],
                &vec![0; n],
            ),
            false => model.pair("b", b.scale, b.of, b.zero),
        };
        let raw = c.iter().flat_map(|v| v.to_le_bytes()).collect();
        model.graph.initializer.push(tensor("c", DataType::INT32, &[n as i64], raw));
        model = model.pair("y", y.scale, y.of, y.zero);
        let inputs = ["a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "c", "y_scale", "y_zero"];
        let mut attributes = vec![int("transB", transposed.into())];
        attributes.extend(has_factor.then(|| float("alpha", alpha)));
        let inputs = &inputs[..if is_number { 7 } else { 9 }];
        let model = of_microsoft(model.node_with("QGemm", inputs, &["y"], attributes)).output("y");
        if is_number {
            let got = model.run_on(vec![("a", a.tensor())]).unwrap().swap_remove(0);
            assert_eq!(got.0, [m, n]);
            let near =
                |(got, want): (&f32, &f64)| (f64::from(*got) - want).abs() <= 1e-5 * (1.0 + want.abs());
            assert!(got.1.iter().zip(&want).all(near), "case {case}: {:?}, not {want:?}", got.1);
        } else {
            check(&format!("QGemm, case {case}"), model, &[("a", &a)], y, &[m, n], &want);
        }
    }
}

/// ONNX's own op, whose weights the quantiser gives a scale for each column.
#[test]
fn products_of_matrices_with_a_scale_for_each_column() {
    let mut rng = 0x5eed_0445;
    let (m, k, n) = (4, 9, 3);
    for of in TYPES {
        let a = Drawn::new(&mut rng, of, 0.0231, &[2, m, k]);
        let b = Drawn::new(&mut rng, DataType::INT8, 1.0, &[k, n]);
        let (scales, y) = ([0.011f32, 0.017, 0.023], Steps { of, scale: 0.091, zero: middle(of) + 5 });
        let reals = a.reals();
        let product = |row: usize, column: usize| {
            let step = f64::from(scales[column]);
            (0..k).map(|i| reals[row * k + i] * f64::from(b.values[i * n + column]) * step).sum::<f64>()
        };
        let want: Vec<f64> = (0..2 * m)
            .flat_map(|row| (0..n).map(move |column| (row, column)))
            .map(|(r, c)| product(r, c))
            .collect();
        let model = a.add(Model::new(), "a", false).bytes_of("b", b.of, &[k as i64, n as i64], &b.values);
        let model =
            model.floats("b_scale", &[n as i64], &scales).bytes_of("b_zero", b.of, &[n as i64], &[0; 3]);
        let model = model.pair("y", y.scale, of, y.zero);
        let inputs = ["a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "y_scale", "y_zero"];
        let model = model.node("QLinearMatMul", &inputs, &["y"]).output("y");
        check(&format!("QLinearMatMul of {of}"), model, &[("a", &a)], y, &[2, m, n], &want);
    }
}

#[test]
fn other_forms_are_refused_by_name() {
    let refused = |op: &str, inputs: &[&str], attributes: Vec<AttributeProto>| {
        let model =
            Model::new().input_of("x", DataType::UINT8, &[1, 2, 2, 2]).pair("x", 0.5, DataType::UINT8, 3);
        let model = model.input_of("wide", DataType::INT32, &[1, 2, 2, 2]).pair("s", 0.5, DataType::INT8, 3);
        let model = model.floats("scales", &[2], &[0.5; 2]).bytes_of("zeros", DataType::UINT8, &[2], &[0; 2]);
        let model =
            model.input_of("m", DataType::UINT8, &[2, 2]).bytes_of("w", DataType::INT8, &[2, 2], &[1; 4]);
        let mut model = model.bytes_of("w_zeros", DataType::INT8, &[2], &[0; 2]);
        model.graph.initializer.push(tensor("c", DataType::INT32, &[2, 1], vec![0; 8]));
        let model = of_microsoft(model.node_with(op, inputs, &["y"], attributes)).output("y");
        model.read().expect("a graph").with_sizes(&Sizes::new()).expect_err("an error").to_string()
    };
    let reads = |text: String, parts: &[&str]| {
        assert!(text.contains("n0") && parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
    };
    let of_one = ["x", "x_scale", "x_zero", "x_scale", "x_zero"];
    for op in ["QLinearGlobalAveragePool", "QLinearAveragePool"] {
        let attributes = vec![int("channels_last", 1)];
        reads(refused(op, &of_one, attributes), &[op, "channels_last = 1"]);
    }
    reads(refused("QLinearAveragePool", &of_one, vec![]), &["kernel_shape", "nothing"]);
    reads(
        refused("QLinearAveragePool", &of_one, vec![ints("dilations", &[2, 2])]),
        &["`dilations` = [2, 2]"],
    );
    reads(refused("QLinearReduceMean", &of_one, vec![int("keepdims", 1)]), &["axes", "nothing"]);
    reads(refused("QLinearReduceMean", &of_one, vec![ints("axes", &[1])]), &["keepdims", "nothing"]);
    reads(refused("QLinearSoftmax", &of_one, vec![int("axis", 1)]), &["opset", "nothing"]);
    reads(
        refused("QLinearSigmoid", &[&of_one[..], &["x"]].concat(), vec![]),
        &["number of inputs", "at most 5"],
    );
    reads(refused("QLinearSigmoid", &["wide", "x_scale"], vec![]), &["i32", "8 bits"]);
    let per_channel = ["x", "scales", "zeros", "x_scale", "x_zero"];
    reads(refused("QLinearSigmoid", &per_channel, vec![]), &["input 1, a scale of sizes [2]"]);
    let per_channel = ["x", "x_scale", "x_zero", "x_scale", "zeros"];
    reads(refused("QLinearSigmoid", &per_channel, vec![]), &["input 4, a zero point of sizes [2]"]);
    let of_another = ["x", "x_scale", "s_zero", "x_scale", "x_zero"];
    reads(refused("QLinearSigmoid", &of_another, vec![]), &["zero point, input 2", "got i8", "of u8"]);
    let lists = ["x_scale", "x_zero", "x", "x_scale", "x_zero", "x"];
    reads(refused("QLinearConcat", &lists, vec![int("axis", 1)]), &["number of inputs", "got 6"]);
    reads(refused("QLinearConcat", &lists[..5], vec![]), &["axis", "nothing"]);
    let gemm = ["m", "x_scale", "x_zero", "w", "scales", "w_zeros", "c", "x_scale", "x_zero"];
    reads(refused("QGemm", &gemm, vec![]), &["C of sizes [2, 1]", "2 columns"]);
    reads(refused("QGemm", &gemm, vec![float("beta", 0.5)]), &["`beta` = 0.5"]);
    let gemm = ["m", "x_scale", "x_zero", "w", "scales", "zeros"];
    reads(refused("QGemm", &gemm, vec![]), &["zero point, input 5", "got u8", "of i8"]);
    let gemm = ["m", "x_scale", "x_zero", "w", "x_scale", "s_zero", "m"];
    reads(refused("QGemm", &gemm, vec![]), &["C", "got u8", "i32"]);
    let gemm = ["m", "x_scale", "x_zero", "w", "x_scale", "s_zero", "", "", "x_zero"];
    reads(refused("QGemm", &gemm, vec![]), &["a zero point of the result without a scale"]);
    reads(refused("QAttention", &of_one, vec![]), &["`com.microsoft`", "QuantFormat.QDQ"]);
}
