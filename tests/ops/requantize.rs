//! `requantize` in every layout, against the exact quotient.

use blocktensor::dispatch::{self, Value};
use blocktensor::{DType, Element, Layout, MemoryFormat, Operand, Quantization, StridedTensor, Tensor, ops};

use crate::support::Rng;
use crate::support::activation::{elements, forms, index};

const SIZES: [&[usize]; 8] = [
    &[2, 1, 7, 9],
    &[1, 3, 9, 12],
    // As many elements for each channel as a table has, and fewer.
    &[2, 15, 16, 17],
    &[1, 16, 8, 19],
    &[1, 33, 20, 21],
    &[0, 17, 5, 5],
    &[3, 17, 1, 1],
    &[1, 17, 5, 6, 7],
];

const EACH: [(DType, DType); 6] = [
    (DType::U8, DType::U8),
    (DType::U8, DType::S8),
    (DType::S8, DType::U8),
    (DType::S8, DType::S8),
    (DType::S32, DType::U8),
    (DType::S32, DType::S8),
];

fn vector<E: Element>(values: &[E]) -> StridedTensor {
    StridedTensor::from_slice(values, &[values.len()]).unwrap()
}

/// The least and the largest integer.
fn ends(dtype: DType) -> (i128, i128) {
    match dtype {
        DType::U8 => (0, 255),
        DType::S8 => (-128, 127),
        _ => (i32::MIN.into(), i32::MAX.into()),
    }
}

fn integer(rng: &mut Rng, dtype: DType) -> i32 {
    let (low, high) = ends(dtype);
    (low + (rng.next() as i128) % (high - low + 1)) as i32
}

/// Mantissa and exponent.
fn parts(x: f32) -> (i128, i32) {
    let bits = x.to_bits();
    let (exponent, mantissa) = ((bits >> 23 & 0xff) as i32, i128::from(bits & 0x7f_ffff));
    let mantissa = if exponent == 0 { mantissa } else { mantissa | 0x80_0000 };
    (if x < 0.0 { -mantissa } else { mantissa }, exponent.max(1) - 150)
}

/// The definition, in integers alone.
fn exact(x: i32, (scale, zero): (f32, i32), (dst_scale, dst_zero): (f32, i32), dtype: DType) -> f32 {
    let ((s, s_exponent), (t, t_exponent)) = (parts(scale), parts(dst_scale));
    let up = s_exponent - t_exponent;
    assert!((-60..40).contains(&up), "{scale:?} {dst_scale:?}");
    let above = ((i128::from(x) - i128::from(zero)) * s) << up.max(0);
    let below = t << (-up).max(0);
    let (whole, rest) = (above.div_euclid(below), above.rem_euclid(below));
    let is_up = match (2 * rest).cmp(&below) {
        std::cmp::Ordering::Equal => whole % 2 != 0,
        order => order.is_gt(),
    };
    let (low, high) = ends(dtype);
    (whole + i128::from(is_up) + i128::from(dst_zero)).clamp(low, high) as f32
}

fn of_dtype(values: &[i32], dims: &[usize], dtype: DType) -> StridedTensor {
    StridedTensor::from_slice(values, dims).unwrap().to_dtype(dtype).unwrap()
}

fn call(x: &Tensor, pairs: [(&[f32], &[i32]); 2], dtype: DType) -> Tensor {
    let [(scale, zero), (dst_scale, dst_zero)] = pairs;
    let args: [(&'static str, Value); 6] = [
        ("x", x.clone().into()),
        ("scale", vector(scale).into()),
        ("zero_point", vector(zero).into()),
        ("dst_scale", vector(dst_scale).into()),
        ("dst_zero_point", vector(dst_zero).into()),
        ("dtype", dtype.name().into()),
    ];
    dispatch::call("requantize", &args).unwrap().remove(0)
}

#[test]
fn integers_get_another_scale_in_one_rounding() {
    let mut rng = Rng(0x5eed_0154);
    for dims in SIZES {
        for (x_dtype, dtype) in EACH {
            // One scale or many, of the operand and of the result.
            for case in 0..4 {
                let mut pairs = |many: bool, dtype: DType, size: f32| -> (Vec<f32>, Vec<i32>) {
                    let count = if many { dims[1] } else { 1 };
                    // Few digits make ties.
                    let scales = (0..count).map(|i| {
                        let scale =
                            if i % 3 == 2 { 0.1 + rng.real().abs() } else { (1 + rng.below(9)) as f32 / 4.0 };
                        scale * size
                    });
                    let scales = scales.collect();
                    (scales, (0..count).map(|_| integer(&mut rng, dtype)).collect())
                };
                let wide = x_dtype == DType::S32;
                let (scales, mut zeros) =
                    pairs(case & 1 == 1, x_dtype, if wide { 0.125f32.powi(9) } else { 1.0 });
                let (dst_scales, dst_zeros) = pairs(case & 2 == 2, dtype, 1.0);
                if case == 0 && wide {
                    zeros[0] = i32::MIN;
                }
                let count = dims.iter().product();
                let values: Vec<i32> = (0..count)
                    .map(|i| match i % 7 {
                        // Near the zero point, where quotients of s32 are small.
                        0 => zeros[0].saturating_add(rng.below(99) as i32).min(ends(x_dtype).1 as i32),
                        _ => integer(&mut rng, x_dtype),
                    })
                    .collect();
                let want: Vec<f32> = (0..count)
                    .map(|i| {
                        let c = index(dims, i)[1];
                        let (a, b) = (c % scales.len(), c % dst_scales.len());
                        exact(values[i], (scales[a], zeros[a]), (dst_scales[b], dst_zeros[b]), dtype)
                    })
                    .collect();
                for (form, x) in forms(&of_dtype(&values, dims, x_dtype)) {
                    let got = call(&x, [(&scales, &zeros), (&dst_scales, &dst_zeros)], dtype);
                    assert_eq!(got.tensor_ref().dtype(), dtype);
                    assert_eq!(elements(&got), want, "{dims:?} {x_dtype} to {dtype}, {form}, case {case}");
                }
            }
        }
    }
}

/// Quotients that f64 rounds to a tie, with all of 33 bits of a distance and all of 24 of each scale.
#[test]
fn the_side_of_a_tie_is_found_beyond_what_f64_holds() {
    let mut rng = Rng(0x5eed_0155);
    let (mut ran, mut beyond) = (0, 0);
    while ran < 200 {
        let s = (1u128 << 23) + 2 * (rng.next() as u128 % (1 << 22)) + 1;
        let j = 2 * (rng.below(126) as u128) + 1;
        // Distance n with n * s = j * t * 2^shift + 1 or - 1: the quotient is beside j / 2.
        let (shift, side) = (23, if rng.below(2) == 0 { 1 } else { s - 1 });
        let Some(inverse) = inverse(j * (1 << shift) % s, s) else { continue };
        let t = inverse * (s - side) % s;
        let n = (j * t * (1 << shift)) as i128 + if side == 1 { 1 } else { -1 };
        assert_eq!(n % s as i128, 0);
        let n = n / s as i128;
        if n >= 1 << 32 || t == 0 {
            continue;
        }
        let sign = if rng.below(2) == 0 { 1 } else { -1 };
        let x = (sign * (n / 2)) as i32;
        let zero = i32::try_from(i128::from(x) - sign * n).unwrap();
        let (scale, dst_scale) = (s as f32, t as f32 * 2f32.powi(shift + 1));
        let want = exact(x, (scale, zero), (dst_scale, 0), DType::S8);
        let rounded = f64::from(scale) * (sign * n) as f64 / f64::from(dst_scale);
        beyond += usize::from(f64::from(want) != rounded.round_ties_even().clamp(-128.0, 127.0));
        for (x, pairs) in [(vec![x], 1), (vec![x; 3], 3)] {
            let tensor = Tensor::from(vector(&x).reshape(&[1, x.len()]).unwrap());
            let got = call(&tensor, [(&vec![scale; pairs], &[zero]), (&[dst_scale], &[0])], DType::S8);
            assert_eq!(elements(&got), vec![want; x.len()], "{x:?} {zero} {scale} {dst_scale}");
        }
        ran += 1;
    }
    // The test is about these.
    assert!(beyond > 20, "{beyond}");
}

/// `x` with `a * x = 1` in integers modulo `m`.
fn inverse(a: u128, m: u128) -> Option<u128> {
    let (mut r, mut next_r, mut x, mut next_x) = (m as i128, a as i128, 0, 1);
    while next_r != 0 {
        let q = r / next_r;
        (r, next_r, x, next_x) = (next_r, r - q * next_r, next_x, x - q * next_x);
    }
    (r == 1).then(|| x.rem_euclid(m as i128) as u128)
}

/// `dequantize` and `quantize` round to f32 between: another integer is possible beside a tie alone.
#[test]
fn two_ops_differ_beside_a_tie_alone() {
    let mut rng = Rng(0x5eed_0156);
    let mut differ = 0;
    let all: Vec<i32> = (0..256).collect();
    for case in 0..2000 {
        let scale = |rng: &mut Rng| match case % 2 {
            0 => (1 + rng.below(99)) as f32 / 100.0,
            _ => 0.1 + rng.real().abs(),
        };
        let (scale, dst_scale) = (scale(&mut rng), scale(&mut rng));
        let (zero, dst_zero) = (integer(&mut rng, DType::U8), integer(&mut rng, DType::S8));
        let x = of_dtype(&all, &[256], DType::U8);
        let [s, t] = [scale, dst_scale].map(|s| vector(&[s]));
        let [z, dst_z] = [zero, dst_zero].map(|z| vector(&[z]));
        let got = ops::requantize(&x, &s, &z, &t, &dst_z, 0, DType::S8).unwrap();
        let numbers = ops::dequantize(&x, &s, &z, 0).unwrap();
        let two = ops::quantize(&numbers, &t, &dst_z, 0, DType::S8).unwrap();
        let (got, two) = (got.to_vec::<i8>().unwrap(), two.to_vec::<i8>().unwrap());
        for i in (0..256).filter(|&i| got[i] != two[i]) {
            let steps = f64::from(i as i32 - zero) * f64::from(scale) / f64::from(dst_scale);
            assert!(
                (steps - steps.floor() - 0.5).abs() < 9e-6 * steps.abs().max(1.0),
                "{i} {scale} {dst_scale}"
            );
            assert_eq!((i32::from(got[i]) - i32::from(two[i])).abs(), 1);
            differ += 1;
        }
    }
    // Scales such as 0.1 and 0.3 have them.
    assert!(differ > 0);
}

#[test]
fn scales_may_be_along_any_axis_of_strided_tensors() {
    let x = StridedTensor::from_slice(&[10u8, 20, 30, 40, 50, 60], &[3, 2]).unwrap();
    let (scales, zeros) = (vector(&[0.5f32, 1.0, -2.0]), vector(&[0i32, 30, 50]));
    let (one, zero) = (vector(&[2f32]), vector(&[100i32]));
    for axis in [0, -2] {
        let got = ops::requantize(&x, &scales, &zeros, &one, &zero, axis, DType::U8).unwrap();
        // 2.5, 5, 0, 5, 0 and -10 with ties to even.
        assert_eq!(got.to_vec::<u8>().unwrap(), [102, 105, 100, 105, 100, 90]);
    }
    let got = ops::requantize(
        &x,
        &one,
        &vector(&[0i32]),
        &vector(&[1f32, 0.5, 4.0]),
        &vector(&[-9i32, 0, 0]),
        0,
        DType::S8,
    );
    assert_eq!(got.unwrap().to_vec::<i8>().unwrap(), [11, 31, 120, 127, 25, 30]);
}

/// The scales of a tensor are those of the call, and no others.
#[test]
fn a_tensor_keeps_to_its_own_scales() {
    let x = StridedTensor::from_slice(&[10i8, -20], &[2]).unwrap();
    let own = x.quantized(Quantization::per_tensor(0.5, 4)).unwrap();
    let (half, four, one, zero) = (vector(&[0.5f32]), vector(&[4i32]), vector(&[1f32]), vector(&[0i32]));
    let got = ops::requantize(&own, &half, &four, &one, &zero, 0, DType::S8).unwrap();
    assert_eq!(got.to_vec::<i8>().unwrap(), [3, -12]);
    assert_eq!(got.quantization(), None);
    let error = ops::requantize(&own, &one, &four, &half, &zero, 0, DType::S8).unwrap_err().to_string();
    assert!(error.contains("`x` has scale 0.5 and zero point 4"), "{error}");
}

#[test]
fn bad_scales_and_zero_points_are_errors() {
    let x = StridedTensor::full(&[1, 3, 2, 2], 1u8, MemoryFormat::Contiguous).unwrap();
    let (one, zero) = (vector(&[1f32]), vector(&[0i32]));
    let [two, four] = [2, 4].map(|n| vector(&vec![1f32; n]));
    let call = |x: &StridedTensor, s: &StridedTensor, t: &StridedTensor, t_zero, axis: i64, dtype| {
        ops::requantize(x, s, &zero, t, &vector(&[t_zero]), axis, dtype).unwrap_err().to_string()
    };
    for (error, part) in [
        (call(&x, &vector(&[f32::NAN]), &one, 0, 1, DType::U8), "`scale`: got NaN, but a scale is finite"),
        (call(&x, &one, &vector(&[0f32]), 0, 1, DType::U8), "`dst_scale`: got 0, but a scale is positive"),
        (call(&x, &one, &vector(&[f32::INFINITY]), 0, 1, DType::U8), "`dst_scale`"),
        (call(&x, &one, &one, 256, 1, DType::U8), "`dst_zero_point`: got 256"),
        (call(&x, &one, &one, 128, 1, DType::S8), "pass -128 to 127"),
        (call(&x, &one, &one, 0, 1, DType::S32), "pass `u8` or `s8`"),
        (call(&x, &two, &one, 0, 1, DType::U8), "`scale`"),
        (call(&x, &one, &four, 0, 1, DType::U8), "`dst_scale`"),
        (call(&x, &one, &two, 0, 1, DType::U8), "pass a vector of 1 or 3"),
        (call(&x, &one, &four, 0, 4, DType::U8), "axis"),
        (
            call(&x.to_dtype(DType::F32).unwrap(), &one, &one, 0, 1, DType::U8),
            "make integers of it with `quantize`",
        ),
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let blocked = x.to_blocked(&Layout::NCHW16C).unwrap();
    for [s, t] in [[&two, &one], [&one, &two]] {
        let error = ops::requantize(&blocked, s, &zero, t, &zero, 2, DType::U8).unwrap_err().to_string();
        assert!(error.contains("scales of a blocked tensor are those of its channels"), "{error}");
    }
}
