//! Bad calls by name, numbered as in the maintainers' catalogue of bad input. The tests of the C interface use them too.

use blocktensor::dispatch::Value;
use blocktensor::{BlockedTensor, DType, Layout, StridedTensor};

/// The arguments of a case, by name.
pub type Given = Vec<(&'static str, Value)>;

/// Row of the catalogue (0: none), op, arguments, code of the error, and parts that its text must contain.
pub struct Case(pub u32, pub &'static str, pub Given, pub i32, pub &'static [&'static str]);

fn strided(dims: &[usize]) -> StridedTensor {
    let values: Vec<f32> = (0..dims.iter().product::<usize>()).map(|i| (i % 11) as f32 - 5.0).collect();
    StridedTensor::from_slice(&values, dims).unwrap()
}

pub fn plain(dims: &[usize]) -> Value {
    strided(dims).into()
}

fn typed(dims: &[usize], dtype: DType) -> Value {
    strided(dims).to_dtype(dtype).unwrap().into()
}

fn blocked(dims: &[usize], block: usize) -> Value {
    let b: BlockedTensor =
        strided(dims).to_blocked(&Layout::blocked_activation(dims.len(), block).unwrap()).unwrap();
    b.into()
}

fn list(tensors: Vec<Value>) -> Value {
    Value::Tensors(
        tensors.into_iter().map(|t| if let Value::Tensor(t) = t { t } else { unreachable!() }).collect(),
    )
}

fn ints(values: &[i64]) -> Value {
    values.into()
}

/// A convolution of 8 channels into 12, with these arguments added or replaced.
pub fn conv(change: &[(&'static str, Value)]) -> Given {
    let mut given = vec![("x", plain(&[1, 8, 6, 5])), ("weights", plain(&[12, 8, 3, 3]))];
    for (name, value) in change {
        given.retain(|(n, _)| n != name);
        given.push((name, value.clone()));
    }
    given
}

pub fn cases() -> Vec<Case> {
    let mut all = cases_of_numbers();
    all.extend(cases_of_integers());
    all.extend(cases_of_integer_convolutions());
    all.extend(cases_of_integer_layers());
    all
}

fn cases_of_numbers() -> Vec<Case> {
    let x = || ("x", plain(&[2, 8, 6, 5]));
    let xb = || ("x", blocked(&[2, 8, 6, 5], 16));
    vec![
        Case(
            1,
            "cumsum",
            vec![xb(), ("axis", 1.into())],
            1,
            &["cumsum", "nChw16c", "[2, 8, 6, 5]", "to_strided"],
        ),
        Case(
            1,
            "matmul",
            vec![("a", blocked(&[1, 8, 4, 4], 8)), ("b", blocked(&[1, 8, 4, 4], 8))],
            1,
            &["nChw8c"],
        ),
        Case(
            7,
            "add",
            vec![("a", plain(&[1, 8, 2, 2])), ("b", blocked(&[1, 8, 2, 2], 16))],
            2,
            &["strided", "blocked"],
        ),
        Case(
            7,
            "batch_norm",
            vec![x(), ("mean", blocked(&[1, 8, 1, 1], 8)), ("var", plain(&[8]))],
            2,
            &["mean", "parameters"],
        ),
        Case(
            8,
            "add",
            vec![("a", blocked(&[1, 8, 2, 2], 8)), ("b", blocked(&[1, 8, 2, 2], 16))],
            3,
            &["nChw8c", "nChw16c"],
        ),
        Case(11, "relu", vec![("x", typed(&[4], DType::U8))], 4, &["u8", "f32"]),
        Case(11, "conv2d", conv(&[("x", typed(&[1, 8, 6, 5], DType::F16))]), 4, &["f16"]),
        Case(
            12,
            "cat",
            vec![("tensors", list(vec![plain(&[2, 2]), typed(&[2, 2], DType::S32)])), ("axis", 0.into())],
            5,
            &["s32"],
        ),
        Case(14, "conv2d", conv(&[("x", plain(&[8, 6]))]), 6, &["rank 2", "rank 4"]),
        Case(14, "conv2d", conv(&[("x", plain(&[1, 1, 1, 8, 6, 5]))]), 6, &["rank 6"]),
        Case(15, "conv2d", conv(&[("weights", plain(&[12, 7, 3, 3]))]), 7, &["8 channels", "7"]),
        Case(16, "conv2d", conv(&[("bias", plain(&[11]))]), 7, &["[11]", "12"]),
        Case(17, "conv2d", conv(&[("groups", 0.into())]), 8, &["groups", "0"]),
        Case(17, "conv2d", conv(&[("groups", (-2).into())]), 8, &["-2"]),
        Case(
            18,
            "conv2d",
            conv(&[("groups", 8.into()), ("weights", plain(&[12, 1, 3, 3]))]),
            8,
            &["12", "8 groups"],
        ),
        Case(19, "conv2d", conv(&[("stride", ints(&[1, 0]))]), 8, &["stride", "axis 1"]),
        Case(19, "conv2d", conv(&[("stride", ints(&[-1, 1]))]), 8, &["counts from 1"]),
        Case(20, "conv2d", conv(&[("dilation", ints(&[0, 1]))]), 8, &["dilation", "1"]),
        Case(21, "conv2d", conv(&[("padding", ints(&[-1, 1]))]), 8, &["negative"]),
        Case(22, "conv2d", conv(&[("weights", plain(&[12, 8, 0, 3]))]), 8, &["axis 0"]),
        Case(23, "conv2d", conv(&[("weights", plain(&[12, 8, 7, 3]))]), 7, &["7", "6"]),
        Case(24, "conv2d", conv(&[("dilation", ints(&[i64::MAX, 1]))]), 9, &["dilation"]),
        Case(
            25,
            "conv2d",
            conv(&[("x", plain(&[1, 0, 6, 5])), ("weights", plain(&[12, 0, 3, 3]))]),
            8,
            &["channel"],
        ),
        Case(26, "max_pool2d", vec![x(), ("kernel", ints(&[2, 2])), ("padding", ints(&[2, 0]))], 8, &["2"]),
        Case(
            19,
            "max_pool2d",
            vec![x(), ("kernel", ints(&[2, 2])), ("stride", ints(&[0, 1]))],
            8,
            &["stride"],
        ),
        Case(22, "avg_pool2d", vec![x(), ("kernel", ints(&[0, 2]))], 8, &["kernel"]),
        Case(27, "batch_norm", vec![x(), ("mean", plain(&[7])), ("var", plain(&[8]))], 7, &["mean", "[7]"]),
        Case(
            28,
            "batch_norm",
            vec![x(), ("mean", plain(&[8])), ("var", plain(&[8])), ("eps", f64::NAN.into())],
            8,
            &["NaN"],
        ),
        Case(
            28,
            "batch_norm",
            vec![x(), ("mean", plain(&[8])), ("var", plain(&[8])), ("eps", 0.0.into())],
            8,
            &["var"],
        ),
        Case(
            29,
            "cat",
            vec![("tensors", list(vec![plain(&[2, 3]), plain(&[2, 4])])), ("axis", 0.into())],
            7,
            &["[2, 4]"],
        ),
        Case(29, "cat", vec![("tensors", list(vec![plain(&[2, 3])])), ("axis", 5.into())], 8, &["axis"]),
        Case(30, "add", vec![("a", plain(&[2, 3])), ("b", plain(&[4]))], 7, &["[2, 3]", "[4]"]),
        Case(31, "pad", vec![x(), ("padding", ints(&[i64::MAX / 8, 0]))], 9, &["pad"]),
        Case(0, "no_such_op", vec![x()], 8, &["no_such_op", "ops()"]),
        Case(0, "relu", vec![x(), ("alpha", 1.0.into())], 8, &["alpha", "no such argument"]),
        Case(0, "relu", vec![], 8, &["x", "nothing"]),
        Case(0, "relu", vec![("x", 3.into())], 8, &["a data tensor"]),
        Case(0, "softmax", vec![x(), ("axis", 4.into())], 8, &["axis", "4"]),
        Case(0, "conv2d", conv(&[("post_ops", "gelu!".into())]), 8, &["gelu!", "hardswish"]),
        Case(0, "conv2d", conv(&[("post_ops", "residual".into())]), 8, &["residual"]),
        Case(0, "linear", vec![("x", plain(&[2, 5])), ("weights", plain(&[3, 4]))], 7, &["5", "4"]),
        Case(0, "matmul", vec![("a", plain(&[2, 5])), ("b", plain(&[4, 3]))], 7, &["[2, 5]"]),
        Case(0, "pixel_shuffle", vec![x(), ("factor", 3.into())], 8, &["factor"]),
        Case(0, "channel_shuffle", vec![x(), ("groups", 3.into())], 8, &["groups", "3"]),
        Case(0, "group_norm", vec![x(), ("groups", 3.into())], 8, &["groups"]),
        Case(0, "topk", vec![x(), ("k", 99.into()), ("axis", 1.into())], 8, &["99"]),
    ]
}

fn scale(value: f32) -> Value {
    StridedTensor::from_slice(&[value], &[1]).unwrap().into()
}

fn zero_point(value: i32) -> Value {
    StridedTensor::from_slice(&[value], &[1]).unwrap().into()
}

/// Arguments with others added or replaced.
fn with(mut given: Given, change: &[(&'static str, Value)]) -> Given {
    for (name, value) in change {
        given.retain(|(n, _)| n != name);
        given.push((name, value.clone()));
    }
    given
}

/// Ops of quantised numbers: each rule of each op.
fn cases_of_integers() -> Vec<Case> {
    const DIMS: [usize; 4] = [2, 8, 6, 5];
    const POSITIVE: &str = "a scale is positive and finite";
    let vector = |n: usize| Value::from(StridedTensor::from_slice(&vec![1f32; n], &[n]).unwrap());
    let pair = || vec![("scale", scale(0.5)), ("zero_point", zero_point(3))];
    let with_x = |x: Value, rest: Given| [vec![("x", x)], rest].concat();
    let quantize = |change: &[_]| with(with_x(plain(&DIMS), pair()), change);
    let bytes = || typed(&DIMS, DType::U8);
    let dequantize = |change: &[_]| with(with_x(bytes(), pair()), change);
    let to = || vec![("dst_scale", scale(2.0)), ("dst_zero_point", zero_point(128))];
    let requantize = |change: &[_]| with(with_x(bytes(), [pair(), to()].concat()), change);
    let both = || vec![("a", bytes()), ("b", bytes()), ("a_scale", 0.5.into()), ("dst_scale", 0.5.into())];
    let combine = |change: &[_]| with(both(), change);
    let kernel = || ("kernel", ints(&[2, 2]));
    let scales = || vec![kernel(), ("x_scale", 0.5.into()), ("dst_scale", 0.25.into())];
    let pool = |change: &[_]| with(with_x(bytes(), scales()), change);
    let lookup = |change: &[_]| with(vec![("x", bytes()), ("values", typed(&[256], DType::S8))], change);
    vec![
        Case(0, "quantize", quantize(&[("scale", scale(0.0))]), 8, &["`scale`", "got 0", POSITIVE]),
        Case(0, "quantize", quantize(&[("scale", scale(f32::INFINITY))]), 8, &["`scale`", "inf", POSITIVE]),
        Case(0, "quantize", quantize(&[("zero_point", zero_point(256))]), 8, &["256", "pass 0 to 255"]),
        Case(
            0,
            "quantize",
            quantize(&[("zero_point", zero_point(-129)), ("dtype", "s8".into())]),
            8,
            &["-129", "pass -128 to 127"],
        ),
        Case(0, "quantize", quantize(&[("dtype", "s32".into())]), 8, &["`dtype`", "integers of 8 bits"]),
        Case(0, "quantize", quantize(&[("dtype", "u4".into())]), 8, &["`dtype`", "u4"]),
        Case(0, "quantize", quantize(&[("scale", vector(7))]), 7, &["`scale`", "[7]", "vector of 1 or 8"]),
        Case(0, "quantize", quantize(&[("scale", vector(8)), ("axis", 4.into())]), 8, &["`axis`", "axis 4"]),
        Case(11, "quantize", quantize(&[("x", bytes())]), 4, &["u8", "f32"]),
        Case(12, "quantize", quantize(&[("zero_point", scale(3.0))]), 5, &["zero points are s32"]),
        Case(
            0,
            "quantize",
            quantize(&[("x", blocked(&DIMS, 16)), ("scale", vector(6)), ("axis", 2.into())]),
            8,
            &["`axis`", "scales of a blocked tensor are those of its channels"],
        ),
        Case(0, "dequantize", dequantize(&[("scale", scale(f32::NAN))]), 8, &["NaN", "a scale is finite"]),
        Case(0, "dequantize", dequantize(&[("scale", vector(9))]), 7, &["`scale`", "vector of 1 or 8"]),
        Case(
            0,
            "dequantize",
            dequantize(&[("scale", vector(8)), ("axis", (-5).into())]),
            8,
            &["`axis`", "axis -5"],
        ),
        Case(11, "dequantize", dequantize(&[("x", plain(&DIMS))]), 4, &["f32", "`quantize`"]),
        Case(
            0,
            "requantize",
            requantize(&[("scale", scale(f32::NAN))]),
            8,
            &["`scale`", "a scale is finite"],
        ),
        Case(0, "requantize", requantize(&[("dst_scale", scale(-1.0))]), 8, &["`dst_scale`", "-1", POSITIVE]),
        Case(
            0,
            "requantize",
            requantize(&[("dst_zero_point", zero_point(128)), ("dtype", "s8".into())]),
            8,
            &["`dst_zero_point`", "pass -128 to 127"],
        ),
        Case(0, "requantize", requantize(&[("dtype", "f32".into())]), 8, &["`dtype`", "integers of 8 bits"]),
        Case(
            0,
            "requantize",
            requantize(&[("dst_scale", vector(2))]),
            7,
            &["`dst_scale`", "vector of 1 or 8"],
        ),
        Case(
            0,
            "requantize",
            requantize(&[("dst_scale", vector(8)), ("axis", 9.into())]),
            8,
            &["`axis`", "axis 9"],
        ),
        Case(11, "requantize", requantize(&[("x", plain(&DIMS))]), 4, &["f32", "`quantize`"]),
        Case(12, "requantize", requantize(&[("dst_zero_point", scale(0.0))]), 5, &["zero points are s32"]),
        Case(0, "quantized_add", combine(&[("a_scale", 0.0.into())]), 8, &["`a_scale`", POSITIVE]),
        Case(0, "quantized_add", combine(&[("b_scale", f64::NAN.into())]), 8, &["`b_scale`", POSITIVE]),
        Case(
            0,
            "quantized_add",
            combine(&[("dst_scale", 1e39.into())]),
            8,
            &["`dst_scale`", "1e39", POSITIVE],
        ),
        Case(0, "quantized_add", combine(&[("a_zero_point", (-1).into())]), 8, &["`a_zero_point`", "of u8"]),
        Case(0, "quantized_add", combine(&[("b_zero_point", 256.into())]), 8, &["`b_zero_point`", "of u8"]),
        Case(
            0,
            "quantized_add",
            combine(&[("dst_zero_point", 200.into()), ("dtype", "s8".into())]),
            8,
            &["`dst_zero_point`", "of s8"],
        ),
        Case(0, "quantized_add", combine(&[("dtype", "f32".into())]), 8, &["`dtype`", "integers of 8 bits"]),
        Case(
            0,
            "quantized_mul",
            combine(&[("b", plain(&DIMS)), ("b_scale", 0.5.into())]),
            8,
            &["`b_scale`", "whose numbers stand for themselves", "leave it out"],
        ),
        Case(
            0,
            "quantized_mul",
            combine(&[("b", plain(&DIMS)), ("b_zero_point", 3.into())]),
            8,
            &["`b_zero_point`", "whose numbers stand for themselves"],
        ),
        Case(11, "quantized_mul", combine(&[("a", plain(&DIMS))]), 4, &["f32", "`quantize`"]),
        Case(11, "quantized_mul", combine(&[("b", typed(&DIMS, DType::S32))]), 4, &["s32", "u8, s8, f32"]),
        Case(
            30,
            "quantized_mul",
            combine(&[("b", typed(&[2, 8, 6, 4], DType::U8))]),
            7,
            &["[2, 8, 6, 5]", "[2, 8, 6, 4]"],
        ),
        Case(0, "quantized_avg_pool", pool(&[("x_scale", (-0.5).into())]), 8, &["`x_scale`", POSITIVE]),
        Case(0, "quantized_avg_pool", pool(&[("dst_scale", 0.0.into())]), 8, &["`dst_scale`", POSITIVE]),
        Case(0, "quantized_avg_pool", pool(&[("x_zero_point", 256.into())]), 8, &["`x_zero_point`", "of u8"]),
        Case(
            0,
            "quantized_avg_pool",
            pool(&[("dst_zero_point", (-1).into())]),
            8,
            &["`dst_zero_point`", "of u8"],
        ),
        Case(
            0,
            "quantized_avg_pool",
            pool(&[("dtype", "s32".into())]),
            8,
            &["`dtype`", "integers of 8 bits"],
        ),
        Case(11, "quantized_avg_pool", pool(&[("x", plain(&DIMS))]), 4, &["f32", "`quantize`"]),
        Case(26, "quantized_avg_pool", pool(&[("padding", ints(&[2, 0]))]), 8, &["padding", "2"]),
        Case(0, "lookup", lookup(&[("values", typed(&[255], DType::U8))]), 7, &["[255]", "256 values"]),
        Case(12, "lookup", lookup(&[("values", plain(&[256]))]), 5, &["`values`", "integers of 8 bits"]),
        Case(11, "lookup", lookup(&[("x", plain(&DIMS))]), 4, &["`x`", "f32"]),
        Case(
            14,
            "lookup",
            lookup(&[("values", typed(&[16, 16], DType::U8))]),
            6,
            &["`values`", "one dimension"],
        ),
        Case(11, "max_pool2d", vec![("x", typed(&DIMS, DType::S32)), kernel()], 4, &["s32"]),
        Case(11, "avg_pool2d", vec![("x", bytes()), kernel()], 4, &["u8"]),
    ]
}

/// Linear layers and products of integers.
fn cases_of_integer_layers() -> Vec<Case> {
    let x = |dtype| ("x", typed(&[2, 5], dtype));
    let weights = |dtype| ("weights", typed(&[3, 5], dtype));
    let of = |change: &[_]| with(vec![x(DType::U8), weights(DType::S8)], change);
    let half = StridedTensor::from_slice(&[0.5f32; 3], &[3]).unwrap();
    let residual = ("residual", typed(&[2, 3], DType::U8));
    let a = |dtype| ("a", typed(&[2, 5], dtype));
    let b = |dtype| ("b", typed(&[5, 3], dtype));
    let product = |change: &[_]| with(vec![a(DType::U8), b(DType::S8)], change);
    vec![
        Case(11, "matmul", product(&[a(DType::S32)]), 4, &["`a`", "s32"]),
        Case(12, "matmul", product(&[b(DType::F32)]), 5, &["`b`", "beside `a` of u8"]),
        Case(
            0,
            "matmul",
            product(&[("a_zero_point", 256.into())]),
            8,
            &["`a_zero_point`", "256", "0 to 255"],
        ),
        Case(0, "matmul", product(&[("b_zero_point", 128.into())]), 8, &["`b_zero_point`", "-128 to 127"]),
        Case(0, "matmul", product(&[("b", typed(&[4, 3], DType::S8))]), 7, &["5", "4"]),
        Case(
            0,
            "matmul",
            vec![("a", plain(&[2, 5])), ("b", plain(&[5, 3])), ("b_zero_point", 1.into())],
            8,
            &["`b_zero_point`", "leave it out"],
        ),
        Case(11, "linear", of(&[x(DType::S32)]), 4, &["`x`", "s32"]),
        Case(12, "linear", of(&[weights(DType::F32)]), 5, &["`weights`", "takes s8 beside `x` of u8"]),
        Case(12, "linear", of(&[x(DType::F32)]), 5, &["`weights`", "beside `x` of f32"]),
        Case(0, "linear", of(&[("x_zero_point", 256.into())]), 8, &["`x_zero_point`", "256"]),
        Case(0, "linear", of(&[("bias", half.into())]), 8, &["`bias`", "0.5", "whole"]),
        Case(0, "linear", of(&[("weights", typed(&[3, 4], DType::S8))]), 7, &["5", "4"]),
        Case(
            0,
            "linear",
            of(&[("weights", typed(&[3, 0], DType::S8)), ("x", typed(&[2, 0], DType::U8))]),
            8,
            &["`weights`", "at least one channel"],
        ),
        Case(0, "linear", of(&[("post_ops", "mul_channel".into())]), 8, &["`channel`", "takes 1"]),
        Case(
            0,
            "linear",
            of(&[("post_ops", "residual(s8,0.5,3)".into()), residual.clone()]),
            4,
            &["`residual`", "which state its dtype"],
        ),
        Case(
            0,
            "linear",
            of(&[("post_ops", "residual".into()), residual]),
            4,
            &["`residual`", "f32 where x is of integers"],
        ),
    ]
}

/// Convolutions of integers: each rule that those of f32 do not have.
fn cases_of_integer_convolutions() -> Vec<Case> {
    let x = |dtype| ("x", typed(&[1, 8, 6, 5], dtype));
    let weights = |dtype| ("weights", typed(&[12, 8, 3, 3], dtype));
    let of = |change: &[_]| with(conv(&[x(DType::U8), weights(DType::S8)]), change);
    let residual = |dtype| ("residual", typed(&[1, 12, 4, 3], dtype));
    let quantized = ("post_ops", "quantize(u8,3)".into());
    let largest = |dims: &[usize], value: f32, dtype| {
        let values = StridedTensor::from_slice(&vec![value; dims.iter().product()], dims).unwrap();
        Value::from(values.to_dtype(dtype).unwrap())
    };
    vec![
        Case(11, "conv2d", of(&[x(DType::S32)]), 4, &["s32"]),
        Case(12, "conv2d", of(&[weights(DType::F32)]), 5, &["`weights`", "takes s8 beside `x` of u8"]),
        Case(
            11,
            "conv2d",
            of(&[weights(DType::U8)]),
            4,
            &["`weights`", "takes s8", "of s8 of it with `requantize`"],
        ),
        Case(12, "conv2d", of(&[x(DType::F32)]), 5, &["`weights`", "takes f32 beside `x` of f32"]),
        Case(0, "conv2d", of(&[("x_zero_point", 300.into())]), 8, &["`x_zero_point`", "300"]),
        Case(
            0,
            "conv2d",
            of(&[x(DType::S8), ("x_zero_point", 200.into())]),
            8,
            &["`x_zero_point`", "200", "pass -128 to 127"],
        ),
        Case(0, "conv2d", conv(&[("x_zero_point", 1.into())]), 8, &["`x_zero_point`", "leave it out"]),
        Case(0, "conv2d", of(&[("bias", scale(0.5))]), 7, &["`bias`", "12"]),
        Case(0, "conv2d", of(&[("bias", largest(&[12], 0.5, DType::F32))]), 8, &["`bias`", "0.5", "whole"]),
        Case(0, "conv2d", of(&[("bias", largest(&[12], 3e7, DType::F32))]), 8, &["`bias`", "up to 2^24"]),
        Case(
            0,
            "conv2d",
            vec![
                ("x", largest(&[1, 8000, 3, 3], 1.0, DType::U8)),
                ("weights", largest(&[1, 8000, 3, 3], 127.0, DType::S8)),
            ],
            8,
            &["`weights`", "sums of 32 bits", "split the input channels"],
        ),
        Case(
            0,
            "conv2d",
            conv(std::slice::from_ref(&quantized)),
            8,
            &["`post_ops`", "only a convolution or linear layer of u8 or s8"],
        ),
        Case(
            0,
            "conv2d",
            of(&[("post_ops", "quantize(u8,256)".into())]),
            8,
            &["`post_ops`", "quantize(u8,256)"],
        ),
        Case(0, "conv2d", of(&[("post_ops", "quantize(s32,0)".into())]), 8, &["`post_ops`", "s32"]),
        Case(0, "conv2d", of(&[("post_ops", "quantize(u8,0),relu".into())]), 8, &["`post_ops`", "quantize"]),
        Case(0, "conv2d", of(&[("post_ops", "round(s8,128)".into())]), 8, &["`post_ops`", "round(s8,128)"]),
        Case(
            0,
            "conv2d",
            of(&[("post_ops", "residual(u8,-1,0)".into()), residual(DType::U8)]),
            8,
            &["`post_ops`", "residual(u8,-1,0)"],
        ),
        Case(
            11,
            "conv2d",
            of(&[("post_ops", "residual(u8,0.5,3)".into()), residual(DType::S8)]),
            4,
            &["`residual`", "s8", "which state its dtype"],
        ),
        Case(
            11,
            "conv2d",
            of(&[("post_ops", "residual".into()), residual(DType::U8)]),
            4,
            &["`residual`", "f32 where x is of integers"],
        ),
        Case(0, "conv2d", of(&[("post_ops", "residual(u8,0.5,3)".into())]), 8, &["`residual`", "nothing"]),
        Case(0, "conv2d", of(&[quantized, residual(DType::U8)]), 8, &["`residual`", "quantize(u8,3)"]),
    ]
}
