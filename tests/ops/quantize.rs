//! `quantize` and `dequantize` in every layout, against their definition in f64.

use blocktensor::dispatch::{self, Value};
use blocktensor::{DType, Error, MemoryFormat, Operand, StridedTensor, Tensor, ops};

use crate::support::Rng;
use crate::support::activation::{elements, forms, index};

const SIZES: [&[usize]; 9] = [
    &[2, 1, 7, 9],
    &[1, 3, 9, 12],
    &[2, 15, 6, 5],
    &[1, 16, 8, 19],
    &[2, 17, 9, 5],
    &[1, 33, 30, 41],
    &[0, 17, 5, 5],
    &[3, 17, 1, 1],
    &[1, 17, 5, 6, 7],
];

fn vector<E: blocktensor::Element>(values: &[E]) -> StridedTensor {
    StridedTensor::from_slice(values, &[values.len()]).unwrap()
}

/// `x / scale` as f32 has it, then rounded: the quotient is what ONNX rounds.
fn byte(x: f32, scale: f32, zero_point: i32, dtype: DType) -> f32 {
    let (low, high) = if dtype == DType::U8 { (0.0, 255.0) } else { (-128.0, 127.0) };
    let steps = f64::from(x / scale);
    let steps = if steps.is_nan() { 0.0 } else { steps.round_ties_even() };
    (steps + f64::from(zero_point)).clamp(low, high) as f32
}

fn call(op: &str, x: &Tensor, more: &[(&'static str, Value)]) -> Tensor {
    let args: Vec<_> = [("x", x.clone().into())].into_iter().chain(more.iter().cloned()).collect();
    dispatch::call(op, &args).unwrap().remove(0)
}

#[test]
fn numbers_become_integers_and_come_back() {
    let mut rng = Rng(0x5eed_0150);
    for dims in SIZES {
        for dtype in [DType::U8, DType::S8] {
            for each in [false, true] {
                let count = if each { dims[1] } else { 1 };
                let scales: Vec<f32> = (0..count).map(|_| 0.01 + rng.real().abs()).collect();
                let low = if dtype == DType::U8 { 0 } else { -128 };
                let zeros: Vec<i32> = (0..count).map(|_| low + rng.below(256) as i32).collect();
                let mut values: Vec<f32> =
                    rng.reals(dims.iter().product()).into_iter().map(|v| v * 90.0).collect();
                // Ties, and numbers that no integer is near.
                for special in
                    [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, scales[0] * 0.5, scales[0] * 1.5]
                {
                    if !values.is_empty() {
                        let at = rng.below(values.len());
                        values[at] = special;
                    }
                }
                let of = |i: usize| if each { index(dims, i)[1] } else { 0 };
                let want: Vec<f32> = values
                    .iter()
                    .enumerate()
                    .map(|(i, &v)| byte(v, scales[of(i)], zeros[of(i)], dtype))
                    .collect();
                let pairs: [(&'static str, Value); 2] =
                    [("scale", vector(&scales).into()), ("zero_point", vector(&zeros).into())];
                let named = [&pairs[..], &[("dtype", dtype.name().into())]].concat();
                let x = StridedTensor::from_slice(&values, dims).unwrap();
                for (form, x) in forms(&x) {
                    let what = format!("{dims:?} {dtype} {form}, {count} scales");
                    let bytes = call("quantize", &x, &named);
                    assert_eq!(elements(&bytes), want, "{what}");
                    let back = call("dequantize", &bytes, &pairs);
                    let numbers = elements(&back);
                    for (i, (&got, &integer)) in numbers.iter().zip(&want).enumerate() {
                        assert_eq!(
                            got,
                            (integer - zeros[of(i)] as f32) * scales[of(i)],
                            "{what}, element {i}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn each_integer_has_its_value_in_a_table() {
    let mut rng = Rng(0x5eed_0152);
    for (x_dtype, dtype) in [DType::U8, DType::S8].into_iter().flat_map(|d| [(d, DType::U8), (d, DType::S8)])
    {
        let low = |dtype: DType| if dtype == DType::S8 { -128.0 } else { 0.0 };
        let table: Vec<f32> = (0..256).map(|_| rng.below(256) as f32 + low(dtype)).collect();
        let values = vector(&table).to_dtype(dtype).unwrap();
        for dims in SIZES {
            let count = dims.iter().product();
            let x: Vec<f32> = (0..count).map(|_| rng.below(256) as f32 + low(x_dtype)).collect();
            // Negative integers count from the end.
            let want: Vec<f32> = x.iter().map(|&x| table[(x as i64).rem_euclid(256) as usize]).collect();
            let x = StridedTensor::from_slice(&x, dims).unwrap().to_dtype(x_dtype).unwrap();
            for (form, x) in forms(&x) {
                let got = call("lookup", &x, &[("values", values.clone().into())]);
                assert_eq!(got.tensor_ref().dtype(), dtype);
                assert_eq!(elements(&got), want, "{dims:?} {x_dtype} to {dtype}, {form}");
            }
        }
    }
    let x = StridedTensor::zeros(&[1, 3, 2, 2], DType::U8, MemoryFormat::Contiguous).unwrap();
    let error = ops::lookup(&x, &vector(&[0u8; 255])).unwrap_err().to_string();
    assert!(error.contains("pass a vector of 256 values"), "{error}");
    let error = ops::lookup(&x, &vector(&[0f32; 256])).unwrap_err().to_string();
    assert!(error.contains("integers of 8 bits"), "{error}");
}

/// What `dequantize`, an addition or a product in f32 and `quantize` make one after the other.
#[test]
fn sums_and_products_of_integers_round_as_three_ops_do() {
    let mut rng = Rng(0x5eed_0153);
    let bytes = |rng: &mut Rng, dims: &[usize], dtype: DType| {
        let low = if dtype == DType::S8 { -128.0 } else { 0.0 };
        let values: Vec<f32> = (0..dims.iter().product()).map(|_| rng.below(256) as f32 + low).collect();
        StridedTensor::from_slice(&values, dims).unwrap().to_dtype(dtype).unwrap()
    };
    let mut ran = 0;
    for (i, dims) in SIZES.into_iter().enumerate() {
        for case in 0..32 {
            let bit = |n: usize| if case >> n & 1 == 1 { DType::S8 } else { DType::U8 };
            let (dtype, dst, b_dtype) = (bit(0), bit(1), bit(4));
            let (b_is_f32, is_product) = (case & 4 != 0, case & 8 != 0);
            // A number for each channel of an image, as squeeze-and-excitation has them.
            let mut b_dims = dims.to_vec();
            if i % 2 == 0 {
                b_dims[2..].fill(1);
            }
            let a = bytes(&mut rng, dims, dtype);
            let b = match b_is_f32 {
                true => StridedTensor::from_slice(&rng.reals(b_dims.iter().product()), &b_dims).unwrap(),
                false => bytes(&mut rng, &b_dims, b_dtype),
            };
            let zero =
                |rng: &mut Rng, dtype| rng.below(256) as i32 - if dtype == DType::S8 { 128 } else { 0 };
            let pair = |rng: &mut Rng, dtype| (0.01 + rng.real().abs(), zero(rng, dtype));
            let (of_a, of_b, of_dst) = (pair(&mut rng, dtype), pair(&mut rng, b_dtype), pair(&mut rng, dst));
            let numbers = |t: &StridedTensor, (scale, zero): (f32, i32)| match t.dtype() {
                DType::F32 => t.clone(),
                _ => ops::dequantize(t, &vector(&[scale]), &vector(&[zero]), 0).unwrap(),
            };
            let (x, y) = (numbers(&a, of_a), numbers(&b, of_b));
            let made = if is_product { ops::mul(&x, &y) } else { ops::add(&x, &y) }.unwrap();
            let want: Vec<f32> =
                made.to_vec::<f32>().unwrap().iter().map(|&v| byte(v, of_dst.0, of_dst.1, dst)).collect();
            let mut params: Vec<(&'static str, Value)> = vec![
                ("a_scale", f64::from(of_a.0).into()),
                ("a_zero_point", i64::from(of_a.1).into()),
                ("dst_scale", f64::from(of_dst.0).into()),
                ("dst_zero_point", i64::from(of_dst.1).into()),
                ("dtype", dst.name().into()),
            ];
            if !b_is_f32 {
                params.push(("b_scale", f64::from(of_b.0).into()));
                params.push(("b_zero_point", i64::from(of_b.1).into()));
            }
            let op = if is_product { "quantized_mul" } else { "quantized_add" };
            for ((form, a), (_, b)) in forms(&a).into_iter().zip(forms(&b)) {
                let args = [("a", a.into()), ("b", b.into())].into_iter().chain(params.iter().cloned());
                let got = dispatch::call(op, &args.collect::<Vec<_>>()).unwrap().remove(0);
                assert_eq!(got.tensor_ref().dtype(), dst);
                assert_eq!(elements(&got), want, "{op} of {dims:?} {dtype} to {dst}, {form}");
                ran += 1;
            }
        }
    }
    assert!(ran > 1000, "{ran}");
}

#[test]
fn sums_of_integers_refuse_what_they_do_not_take() {
    use blocktensor::ops::Quantization;
    let a = StridedTensor::zeros(&[2], DType::U8, MemoryFormat::Contiguous).unwrap();
    let wide = a.to_dtype(DType::S32).unwrap();
    let numbers = a.to_dtype(DType::F32).unwrap();
    let (one, of) = (Quantization::default(), |scale, zero_point| Quantization { scale, zero_point });
    for (made, part) in [
        (ops::quantized_add(&a, &a, [of(0.0, 0), one, one], DType::U8), "a_scale"),
        (ops::quantized_add(&a, &a, [one, of(f32::NAN, 0), one], DType::U8), "b_scale"),
        (ops::quantized_mul(&a, &a, [one, one, of(1.0, -1)], DType::U8), "dst_zero_point"),
        (ops::quantized_mul(&a, &a, [one, of(1.0, 256), one], DType::U8), "pass 0 to 255"),
        (ops::quantized_mul(&a, &numbers, [one, of(2.0, 0), one], DType::U8), "leave it out"),
        (ops::quantized_mul(&a, &numbers, [one, of(1.0, 3), one], DType::U8), "b_zero_point"),
        (ops::quantized_mul(&a, &a, [one, one, one], DType::F32), "pass `u8` or `s8`"),
        (ops::quantized_add(&a, &wide, [one, one, one], DType::U8), "takes u8, s8, f32"),
        (
            ops::quantized_add(&numbers, &numbers, [one, one, one], DType::U8),
            "make integers of it with `quantize`",
        ),
    ] {
        let error = made.unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// Weights have a scale for each output channel, sums of convolutions are s32.
#[test]
fn scales_may_be_along_any_axis_and_integers_of_32_bits() {
    let x = StridedTensor::from_slice(&[70000i32, -5, 8, 9, 10, 11], &[3, 2]).unwrap();
    let scales = vector(&[0.5f32, 2.0, 10.0]);
    let zeros = vector(&[0i32, 1, 1]);
    let got = ops::dequantize(&x, &scales, &zeros, 0).unwrap();
    assert_eq!(got.to_vec::<f32>().unwrap(), [35000.0, -2.5, 14.0, 16.0, 90.0, 100.0]);
    let got = ops::dequantize(&x, &scales, &zeros, -2).unwrap();
    assert_eq!(got.to_vec::<f32>().unwrap()[0], 35000.0);
}

/// A product has no need of a positive one; channels that are all 0 have scales of 0.
#[test]
fn dequantize_takes_any_finite_scale() {
    let x = StridedTensor::from_slice(&[4i8, -5, 6], &[3]).unwrap();
    let zeros = vector(&[0i32, 1, 1]);
    let got = ops::dequantize(&x, &vector(&[0f32, -0.5, 1.0]), &zeros, 0).unwrap();
    assert_eq!(got.to_vec::<f32>().unwrap(), [0.0, 3.0, 5.0]);
    for bad in [f32::NAN, f32::NEG_INFINITY] {
        let error = ops::dequantize(&x, &vector(&[bad]), &vector(&[0i32]), 0).unwrap_err().to_string();
        assert!(error.contains("a scale is finite"), "{error}");
    }
}

/// The largest of integers needs no scale.
#[test]
fn max_pools_take_integers() {
    let mut rng = Rng(0x5eed_0151);
    for dtype in [DType::U8, DType::S8] {
        let values: Vec<f32> = (0..17 * 30)
            .map(|_| rng.below(256) as f32 - if dtype == DType::S8 { 128.0 } else { 0.0 })
            .collect();
        let x = StridedTensor::from_slice(&values, &[1, 17, 5, 6]).unwrap();
        let want =
            ops::max_pool2d(&x, &ops::MaxPool::new(3).stride(2).padding(1)).unwrap().to_vec::<f32>().unwrap();
        for (form, x) in forms(&x.to_dtype(dtype).unwrap()) {
            let params: [(&'static str, Value); 3] = [
                ("kernel", vec![3i64, 3].into()),
                ("stride", vec![2i64, 2].into()),
                ("padding", vec![1i64, 1].into()),
            ];
            let args: Vec<_> = [("x", x.clone().into())].into_iter().chain(params).collect();
            let mut got = dispatch::call("max_pool2d", &args).unwrap();
            assert_eq!(elements(&got.remove(0)), want, "{dtype} {form}");
        }
    }
}

#[test]
fn bad_scales_and_zero_points_are_errors() {
    let x = StridedTensor::full(&[1, 3, 2, 2], 1f32, MemoryFormat::Contiguous).unwrap();
    let (one, zero) = (vector(&[1f32]), vector(&[0i32]));
    let text = |result: Result<StridedTensor, Error>| result.unwrap_err().to_string();
    for (error, part) in [
        (text(ops::quantize(&x, &vector(&[0f32]), &zero, 1, DType::U8)), "positive and finite"),
        (text(ops::quantize(&x, &vector(&[f32::NAN]), &zero, 1, DType::U8)), "positive and finite"),
        (text(ops::quantize(&x, &one, &vector(&[256i32]), 1, DType::U8)), "pass 0 to 255"),
        (text(ops::quantize(&x, &one, &vector(&[200i32]), 1, DType::S8)), "pass -128 to 127"),
        (text(ops::quantize(&x, &one, &zero, 1, DType::S32)), "pass `u8` or `s8`"),
        (text(ops::quantize(&x, &vector(&[1f32; 2]), &zero, 1, DType::U8)), "pass a vector of 1 or 3"),
        (text(ops::quantize(&x, &vector(&[1f32; 3]), &zero, 4, DType::U8)), "axis"),
        (text(ops::dequantize(&x, &one, &zero, 1)), "f32"),
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let blocked = x.to_blocked(&blocktensor::Layout::NCHW16C).unwrap();
    let error = ops::quantize(&blocked, &vector(&[1f32; 2]), &zero, 2, DType::U8).unwrap_err().to_string();
    assert!(error.contains("scales of a blocked tensor"), "{error}");
}
