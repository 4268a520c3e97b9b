//! Small cases whose results are computed by hand.

use super::*;
use blocktensor::dispatch::Value;

/// An operand: name, sizes, elements.
type Operand<'a> = (&'a str, &'a [usize], &'a [f64]);

fn results(op: &str, operands: &[Operand<'_>], params: &[(&str, Value)]) -> Vec<Values> {
    let names: Vec<&str> = operands.iter().map(|(name, ..)| *name).collect();
    let op = BoundOp::new(op, &names, params).unwrap();
    let is_of_integers = params.iter().any(|(name, _)| name.ends_with("_zero_point"));
    let desc = |(name, dims, _): &Operand<'_>| {
        let dtype = match *name {
            "condition" => DType::U8,
            "index" | "zero_point" | "dst_zero_point" => DType::S32,
            "x" if op.op() == "requantize" => DType::S32,
            "x" | "a" if is_of_integers => DType::U8,
            "weights" | "b" if is_of_integers => DType::S8,
            _ => DType::F32,
        };
        TensorDesc::strided(dims, dtype, MemoryFormat::Contiguous).unwrap()
    };
    let inferred = op.infer(&operands.iter().map(desc).collect::<Vec<_>>()).unwrap();
    let dims: Vec<&[usize]> = inferred.iter().map(TensorDesc::dims).collect();
    let value = |(_, dims, data): &Operand<'_>| Arc::new(Values { dims: dims.to_vec(), data: data.to_vec() });
    let inputs: Vec<Arc<Values>> = operands.iter().map(value).collect();
    evaluate(&op, &inputs, &dims).unwrap().unwrap()
}

#[track_caller]
fn gives(op: &str, operands: &[Operand<'_>], params: &[(&str, Value)], dims: &[usize], want: &[f64]) {
    let got = results(op, operands, params).remove(0);
    assert_eq!(got.dims, dims, "{op}");
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-14 * b.abs().max(1.0) || a.is_nan() && b.is_nan();
    assert!(got.data.iter().zip(want).all(close) && got.data.len() == want.len(), "{op}: {:?}", got.data);
}

fn ints(list: &[i64]) -> Value {
    Value::Ints(list.to_vec())
}

#[test]
fn vectors_are_rows_and_columns() {
    let (m, v) = ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 10.0, 100.0]);
    gives("matmul", &[("a", &[2, 3], &m), ("b", &[3], &v)], &[], &[2], &[210.0, 543.0]);
    gives("matmul", &[("a", &[3], &v), ("b", &[3, 2], &m)], &[], &[2], &[420.0, 531.0]);
    gives("matmul", &[("a", &[3], &v), ("b", &[3], &v)], &[], &[], &[10101.0]);
    gives("linear", &[("x", &[2, 3], &m), ("weights", &[3], &v)], &[], &[2], &[210.0, 543.0]);
}

#[test]
fn uneven_padding_of_pools() {
    let x = [1.0, 2.0, 3.0, 4.0];
    let params = [("kernel", ints(&[2])), ("stride", ints(&[2])), ("padding", ints(&[1, 0]))];
    gives("max_pool1d", &[("x", &[1, 1, 4], &x)], &params, &[1, 1, 2], &[1.0, 3.0]);
    gives("avg_pool1d", &[("x", &[1, 1, 4], &x)], &params, &[1, 1, 2], &[0.5, 2.5]);
    let params = [("kernel", ints(&[2])), ("stride", ints(&[2])), ("padding", ints(&[0, 1]))];
    gives("avg_pool1d", &[("x", &[1, 1, 3], &x[..3])], &params, &[1, 1, 2], &[1.5, 1.5]);
}

#[test]
fn integers_with_another_scale() {
    let operands: [Operand<'_>; 5] = [
        ("x", &[1, 2, 2], &[7.0, -9.0, 4.0, 2000.0]),
        ("scale", &[2], &[0.5, 1.0]),
        ("zero_point", &[1], &[1.0]),
        ("dst_scale", &[1], &[2.0]),
        ("dst_zero_point", &[1], &[3.0]),
    ];
    // 1.5, -2.5, 1.5 and 999.5 steps.
    gives("requantize", &operands, &[], &[1, 2, 2], &[5.0, 1.0, 5.0, 255.0]);
}

#[test]
fn convolutions() {
    let x = [1.0, 2.0, 3.0, 4.0];
    // Taps 10 and 1 on a row; padding 1 before it and none after.
    let params = [("padding", ints(&[1, 0])), ("stride", ints(&[1]))];
    let operands: [Operand<'_>; 2] = [("x", &[1, 1, 4], &x), ("weights", &[1, 1, 2], &[10.0, 1.0])];
    gives("conv1d", &operands, &params, &[1, 1, 4], &[1.0, 12.0, 23.0, 34.0]);
    // Stride 2 and dilation 2: positions 0 and 2 only.
    let params = [("stride", ints(&[2])), ("dilation", ints(&[2]))];
    gives("conv1d", &operands, &params, &[1, 1, 1], &[13.0]);
    // A 2x2 image and a 2x2 kernel: one product; the bias and then `relu`, `mul_channel` and the residual.
    let all: [Operand<'_>; 5] = [
        ("x", &[1, 1, 2, 2], &x),
        ("weights", &[2, 1, 2, 2], &[1.0, 1.0, 1.0, 1.0, -1.0, 0.0, 0.0, 0.0]),
        ("bias", &[2], &[0.5, -1.0]),
        ("residual", &[1, 2, 1, 1], &[100.0, 200.0]),
        ("channel", &[2], &[2.0, 3.0]),
    ];
    let params = [("post_ops", Value::Str("relu,mul_channel,residual".into()))];
    gives("conv2d", &all, &params, &[1, 2, 1, 1], &[21.0 + 100.0, 200.0]);
    // Two groups of two channels each, kernel 1: 5 channels' worth of sums needs the loop over four and the rest.
    let x: Vec<f64> = (1..=10).map(f64::from).collect();
    let operands: [Operand<'_>; 2] = [("x", &[1, 10, 1], &x), ("weights", &[2, 5, 1], &[1.0; 10])];
    gives("conv1d", &operands, &[("groups", Value::Int(2))], &[1, 2, 1], &[15.0, 40.0]);
    // Three spatial axes.
    let operands: [Operand<'_>; 2] =
        [("x", &[1, 1, 2, 1, 2], &[1.0, 2.0, 3.0, 4.0]), ("weights", &[1, 1, 2, 1, 1], &[1.0, 10.0])];
    gives("conv3d", &operands, &[], &[1, 1, 1, 1, 2], &[31.0, 42.0]);
}

#[test]
fn transposed_convolutions() {
    let operands: [Operand<'_>; 2] =
        [("x", &[1, 1, 2], &[1.0, 2.0]), ("weights", &[1, 1, 3], &[1.0, 10.0, 100.0])];
    let stride = ("stride", ints(&[2]));
    gives(
        "conv_transpose1d",
        &operands,
        std::slice::from_ref(&stride),
        &[1, 1, 5],
        &[1.0, 10.0, 102.0, 20.0, 200.0],
    );
    let padding = ("padding", ints(&[1]));
    gives(
        "conv_transpose1d",
        &operands,
        &[stride.clone(), padding.clone()],
        &[1, 1, 3],
        &[10.0, 102.0, 20.0],
    );
    let more = ("output_padding", ints(&[1]));
    gives("conv_transpose1d", &operands, &[stride, padding, more], &[1, 1, 4], &[10.0, 102.0, 20.0, 200.0]);
    // Two groups: weights are [C, O / groups, k].
    let operands: [Operand<'_>; 3] = [
        ("x", &[1, 2, 1], &[1.0, 2.0]),
        ("weights", &[2, 2, 1], &[1.0, 2.0, 3.0, 4.0]),
        ("bias", &[4], &[0.0, 0.0, 0.0, 0.5]),
    ];
    let groups = [("groups", Value::Int(2))];
    gives("conv_transpose1d", &operands, &groups, &[1, 4, 1], &[1.0, 2.0, 6.0, 8.5]);
}

#[test]
fn products() {
    let operands: [Operand<'_>; 3] = [
        ("x", &[1, 5], &[1.0, 2.0, 3.0, 4.0, 5.0]),
        ("weights", &[2, 5], &[1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]),
        ("bias", &[2], &[0.5, 0.25]),
    ];
    gives("linear", &operands, &[], &[1, 2], &[6.5, 15.25]);
    // Outputs are the channels of post-ops, and the zero point is taken from each number.
    let with_channel = [&operands[..], &[("channel", &[2][..], &[2.0, -1.0][..])]].concat();
    let params = [("post_ops", Value::Str("relu,mul_channel".into()))];
    gives("linear", &with_channel, &params, &[1, 2], &[13.0, -15.25]);
    gives("linear", &operands, &[("x_zero_point", Value::Int(3))], &[1, 2], &[0.5, 0.25]);
    // One matrix for two.
    let operands: [Operand<'_>; 2] =
        [("a", &[2, 1, 2], &[1.0, 2.0, 3.0, 4.0]), ("b", &[2, 2], &[1.0, 10.0, 100.0, 1000.0])];
    gives("matmul", &operands, &[], &[2, 1, 2], &[201.0, 2010.0, 403.0, 4030.0]);
    let operands: [Operand<'_>; 2] = [("a", &[1, 2], &[1.0, 2.0]), ("b", &[2, 1], &[10.0, 100.0])];
    let zero_points = [("a_zero_point", Value::Int(3)), ("b_zero_point", Value::Int(20))];
    gives("matmul", &operands, &zero_points, &[1, 1], &[20.0 - 80.0]);
}

#[test]
fn pools() {
    let x: [Operand<'_>; 1] = [("x", &[1, 1, 4], &[1.0, -2.0, 3.0, 8.0])];
    let params = [("kernel", ints(&[3])), ("stride", ints(&[2])), ("padding", ints(&[1]))];
    gives("max_pool1d", &x, &params, &[1, 1, 2], &[1.0, 8.0]);
    gives("avg_pool1d", &x, &params, &[1, 1, 2], &[-1.0 / 3.0, 3.0]);
    let inside = [&params[..], &[("count_include_pad", Value::Bool(false))]].concat();
    gives("avg_pool1d", &x, &inside, &[1, 1, 2], &[-0.5, 3.0]);
    // The last window reaches past the source, and counts what is inside.
    let ceil = [("kernel", ints(&[3])), ("stride", ints(&[2])), ("ceil_mode", Value::Bool(true))];
    gives("avg_pool1d", &x, &ceil, &[1, 1, 2], &[2.0 / 3.0, 5.5]);
    gives("adaptive_avg_pool1d", &x, &[("output", ints(&[3]))], &[1, 1, 3], &[-0.5, 0.5, 5.5]);
    gives("global_avg_pool", &x, &[], &[1, 1, 1], &[2.5]);
    gives("global_max_pool", &x, &[], &[1, 1, 1], &[8.0]);
}

#[test]
fn norms_and_softmax() {
    let eps = ("eps", Value::Float(0.0));
    let x: Operand<'_> = ("x", &[1, 2, 2], &[1.0, 3.0, 10.0, 30.0]);
    let batch: [Operand<'_>; 4] =
        [x, ("mean", &[2], &[1.0, 10.0]), ("var", &[2], &[4.0, 25.0]), ("weight", &[2], &[1.0, 2.0])];
    gives("batch_norm", &batch, std::slice::from_ref(&eps), &[1, 2, 2], &[0.0, 1.0, 0.0, 8.0]);
    let bias: [Operand<'_>; 2] = [x, ("bias", &[2], &[0.0, 5.0])];
    gives("instance_norm", &bias, std::slice::from_ref(&eps), &[1, 2, 2], &[-1.0, 1.0, 4.0, 6.0]);
    let shape = [eps.clone(), ("normalized_shape", ints(&[2]))];
    gives("layer_norm", &bias, &shape, &[1, 2, 2], &[-1.0, 6.0, -1.0, 6.0]);
    // Mean 11, variance (100 + 64 + 1 + 361) / 4.
    let deviation = 131.5f64.sqrt();
    let want = [-10.0, -8.0, -1.0, 19.0].map(|v| v / deviation);
    gives("group_norm", &[x], &[eps, ("groups", Value::Int(1))], &[1, 2, 2], &want);
    let lrn = [
        ("size", Value::Int(2)),
        ("alpha", Value::Float(2.0)),
        ("beta", Value::Float(0.5)),
        ("k", Value::Float(0.0)),
    ];
    gives("local_response_norm", &[("x", &[1, 2, 1], &[3.0, 4.0])], &lrn, &[1, 2, 1], &[1.0, 0.8]);
    let x: [Operand<'_>; 1] = [("x", &[2, 2], &[0.0, 800.0, 3f64.ln(), 800.0])];
    let axis = [("axis", Value::Int(0))];
    gives("softmax", &x, &axis, &[2, 2], &[0.25, 0.5, 0.75, 0.5]);
    gives("log_softmax", &x, &axis, &[2, 2], &[0.25f64.ln(), 0.5f64.ln(), 0.75f64.ln(), 0.5f64.ln()]);
}

#[test]
fn element_wise() {
    let x: [Operand<'_>; 1] = [("x", &[4], &[-2.0, 0.0, 1.0, 7.0])];
    let [a, b, c, d] = [-2.0f64, 0.0, 1.0, 7.0];
    gives("relu6", &x, &[], &[4], &[0.0, 0.0, 1.0, 6.0]);
    gives("leaky_relu", &x, &[("slope", Value::Float(0.5))], &[4], &[-1.0, 0.0, 1.0, 7.0]);
    gives("hardswish", &x, &[], &[4], &[-1.0 / 3.0, 0.0, 2.0 / 3.0, 7.0]);
    gives("sign", &x, &[], &[4], &[-1.0, 0.0, 1.0, 1.0]);
    gives("sigmoid", &x, &[], &[4], &[a, b, c, d].map(|v| 1.0 / (1.0 + (-v).exp())));
    gives("clamp", &x, &[("min", Value::Float(-1.0))], &[4], &[-1.0, 0.0, 1.0, 7.0]);
    // A number among the parameters is f32, as the op takes it.
    gives(
        "add_scalar",
        &x,
        &[("other", Value::Float(0.1))],
        &[4],
        &[a, b, c, d].map(|v| v + f64::from(0.1f32)),
    );
    gives("gt_scalar", &x, &[("other", Value::Float(0.5))], &[4], &[0.0, 0.0, 1.0, 1.0]);
    // Values of the error function from tables (DLMF 7.23).
    gives(
        "erf",
        &[("x", &[3], &[0.5, -1.0, 3.0])],
        &[],
        &[3],
        &[0.5204998778130465, -0.8427007929497149, 0.9999779095030014],
    );
    gives(
        "gelu",
        &[("x", &[2], &[std::f64::consts::SQRT_2, -std::f64::consts::SQRT_2])],
        &[],
        &[2],
        &[
            std::f64::consts::SQRT_2 * (1.0 + 0.8427007929497149) / 2.0,
            -std::f64::consts::SQRT_2 * 0.1572992070502851 / 2.0,
        ],
    );
    let two: [Operand<'_>; 2] = [("a", &[2, 1], &[1.0, 2.0]), ("b", &[3], &[10.0, 20.0, 40.0])];
    gives("sub", &two, &[], &[2, 3], &[-9.0, -19.0, -39.0, -8.0, -18.0, -38.0]);
    gives("div", &two, &[], &[2, 3], &[0.1, 0.05, 0.025, 0.2, 0.1, 0.05]);
    let three: [Operand<'_>; 3] =
        [("condition", &[2], &[1.0, 0.0]), ("a", &[1], &[5.0]), ("b", &[2], &[6.0, 7.0])];
    gives("where", &three, &[], &[2], &[5.0, 7.0]);
    let channels: [Operand<'_>; 2] =
        [("x", &[1, 2, 2], &[1.0, 2.0, -3.0, 4.0]), ("values", &[2], &[10.0, 100.0])];
    gives("mul_channel", &channels, &[], &[1, 2, 2], &[10.0, 20.0, -300.0, 400.0]);
}

#[test]
fn erfc_has_no_jump_where_its_two_forms_meet() {
    let (below, above) = (functions::erfc(2.5 - 1e-12), functions::erfc(2.5));
    // The slope of erfc there is -2 / sqrt(pi) * exp(-6.25).
    let step = std::f64::consts::FRAC_2_SQRT_PI * (-6.25f64).exp() * 1e-12;
    assert!((below - above - step).abs() < 1e-15, "{below} {above}");
    // erfc(5), from DLMF.
    assert!((functions::erfc(5.0) / 1.537_459_794_428_035e-12 - 1.0).abs() < 1e-13);
}

#[test]
fn reductions_and_order() {
    let x: [Operand<'_>; 1] = [("x", &[2, 3], &[1.0, 7.0, 3.0, 9.0, 2.0, 9.0])];
    gives("sum", &x, &[("axes", ints(&[0]))], &[3], &[10.0, 9.0, 12.0]);
    gives(
        "mean",
        &x,
        &[("axes", ints(&[1])), ("keepdim", Value::Bool(true))],
        &[2, 1],
        &[11.0 / 3.0, 20.0 / 3.0],
    );
    gives("amax", &x, &[], &[], &[9.0]);
    gives("prod", &x, &[("axes", ints(&[1]))], &[2], &[21.0, 162.0]);
    gives("argmax", &x, &[("axis", ints(&[1]))], &[2], &[1.0, 0.0]);
    gives("argmax", &x, &[("axis", ints(&[0]))], &[3], &[1.0, 0.0, 1.0]);
    gives("argmax", &x, &[], &[], &[3.0]);
    gives("cumsum", &x, &[("axis", Value::Int(0))], &[2, 3], &[1.0, 7.0, 3.0, 10.0, 9.0, 12.0]);
    let [values, indices] = &results("topk", &x, &[("k", Value::Int(2)), ("axis", Value::Int(1))])[..] else {
        panic!("two results")
    };
    assert_eq!((&values.data[..], &indices.data[..]), (&[7.0, 3.0, 9.0, 9.0][..], &[1.0, 2.0, 0.0, 2.0][..]));
}

#[test]
fn resampling() {
    let x: [Operand<'_>; 1] = [("x", &[1, 1, 1, 2], &[1.0, 5.0])];
    gives("upsample_nearest", &x, &[("output", ints(&[1, 4]))], &[1, 1, 1, 4], &[1.0, 1.0, 5.0, 5.0]);
    gives("upsample_bilinear", &x, &[("output", ints(&[1, 4]))], &[1, 1, 1, 4], &[1.0, 2.0, 4.0, 5.0]);
    let corners = [("output", ints(&[1, 3])), ("align_corners", Value::Bool(true))];
    gives("upsample_bilinear", &x, &corners, &[1, 1, 1, 3], &[1.0, 3.0, 5.0]);
    let grid: [Operand<'_>; 2] = [x[0], ("grid", &[1, 1, 2, 2], &[0.0, 0.0, 0.75, 0.0])];
    // Zero outside: three quarters of the last pixel.
    gives("grid_sample", &grid, &[], &[1, 1, 1, 2], &[3.0, 3.75]);
    let nearest = [("mode", Value::Str("nearest".into()))];
    assert!(!has(&BoundOp::new("grid_sample", &["x", "grid"], &nearest).unwrap()));
}

#[test]
fn movement() {
    let x: [Operand<'_>; 1] = [("x", &[2, 2], &[1.0, 2.0, 3.0, 4.0])];
    gives("permute", &x, &[("axes", ints(&[1, 0]))], &[2, 2], &[1.0, 3.0, 2.0, 4.0]);
    let padding = [("padding", ints(&[1, 0])), ("value", Value::Float(-0.5))];
    gives("pad", &x, &padding, &[2, 3], &[-0.5, 1.0, 2.0, -0.5, 3.0, 4.0]);
    let two: [Operand<'_>; 2] = [("tensors", &[1, 1], &[7.0]), ("tensors", &[1, 2], &[8.0, 1.0])];
    gives("cat", &two, &[("axis", Value::Int(1))], &[1, 3], &[7.0, 8.0, 1.0]);
    let selected: [Operand<'_>; 2] = [x[0], ("index", &[2], &[1.0, 1.0])];
    gives("index_select", &selected, &[("axis", Value::Int(0))], &[2, 2], &[3.0, 4.0, 3.0, 4.0]);
    let x: [Operand<'_>; 1] = [("x", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])];
    let gathered = [x[0], ("index", &[1, 2], &[1.0, 0.0])];
    gives("gather", &gathered, &[("axis", Value::Int(0))], &[1, 2], &[4.0, 2.0]);
    gives("gather", &gathered, &[("axis", Value::Int(1))], &[1, 2], &[2.0, 1.0]);
    let x: [Operand<'_>; 1] = [("x", &[2, 2], &[1.0, 2.0, 3.0, 4.0])];
    let pieces = results("split", &x, &[("sizes", ints(&[1, 1])), ("axis", Value::Int(1))]);
    assert_eq!(pieces.iter().map(|p| p.data.clone()).collect::<Vec<_>>(), [[1.0, 3.0], [2.0, 4.0]]);
}

/// Ops without an f64 version, and why they need none.
const WITHOUT: [(&str, &str); 3] = [
    ("batch_norm_train", "graphs are for inference, where statistics are given"),
    ("dropout", "it draws: its definition is the generator"),
    ("feature_dropout", "as `dropout`"),
];

#[test]
fn every_op_has_an_f64_version_or_a_reason_to_have_none() {
    let registered = blocktensor::dispatch::ops();
    let names = registered.iter().map(|op| op.schema().name).filter(|name| !name.starts_with("reversed"));
    for name in names {
        let has = only_moves(name) || FAMILIES.iter().any(|family| family(name).is_some());
        let excused = WITHOUT.iter().any(|(op, _)| *op == name);
        assert!(has != excused, "`{name}`: a definition in f64 in src/reference, or a line of `WITHOUT`");
    }
}
