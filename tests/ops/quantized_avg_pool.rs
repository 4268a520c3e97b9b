//! Average pools of quantised numbers, against loops over integers and exact fractions; max pools of integers.

use std::cell::Cell;

use blocktensor::dispatch::{self, Value};
use blocktensor::ops::{self, AvgPool, Quantization};
use blocktensor::{DType, MemoryFormat, StridedTensor};

use crate::support::Rng;
use crate::support::activation::{elements, forms};
use crate::support::pool::{Pool, each_window};

/// A positive f32 is a whole number times a power of two.
fn parts(scale: f32) -> (i128, i32) {
    let bits = scale.to_bits();
    (i128::from((bits & 0x7f_ffff) | 0x80_0000), (bits >> 23) as i32 - 150)
}

/// `sum * x_scale / (count * dst_scale)`, as a fraction of integers, rounded once, ties to even.
fn rounded(sum: i64, count: usize, x_scale: f32, dst_scale: f32) -> i64 {
    let ((x, x_power), (dst, dst_power)) = (parts(x_scale), parts(dst_scale));
    let (mut over, mut under) = (i128::from(sum) * x, count as i128 * dst);
    let power = x_power - dst_power;
    if power > 0 {
        over <<= power
    } else {
        under <<= -power
    }
    let (whole, rest) = (over.div_euclid(under), 2 * over.rem_euclid(under));
    let up = rest > under || rest == under && whole % 2 != 0;
    (whole + i128::from(up)) as i64
}

fn low(dtype: DType) -> i64 {
    if dtype == DType::S8 { -128 } else { 0 }
}

fn bytes(rng: &mut Rng, dims: &[usize], dtype: DType) -> StridedTensor {
    let values: Vec<f32> =
        (0..dims.iter().product()).map(|_| rng.below(256) as f32 + low(dtype) as f32).collect();
    StridedTensor::from_slice(&values, dims).unwrap().to_dtype(dtype).unwrap()
}

#[test]
fn means_of_integers_are_exact_and_rounded_once() {
    let mut rng = Rng(0x5eed_0160);
    // Sides; kernel, stride, padding before and after, for an axis.
    let windows = [
        ([1, 5, 6], [1, 2, 2], [1, 2, 2], [0, 0, 0], [0, 0, 0]),
        ([1, 9, 13], [1, 3, 3], [1, 1, 1], [0, 1, 1], [0, 1, 1]),
        ([1, 9, 40], [1, 3, 3], [1, 2, 2], [0, 1, 1], [0, 0, 1]),
        ([1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 0, 0], [0, 0, 0]),
        // All of an image: of more than 64 elements, and with the last element alone in a window.
        ([1, 14, 15], [1, 14, 15], [1, 14, 15], [0, 0, 0], [0, 0, 0]),
        ([3, 4, 5], [2, 3, 2], [1, 2, 2], [1, 1, 0], [0, 1, 1]),
    ];
    let (mut ran, ties) = (0, Cell::new(0));
    for (at, (input, kernel, stride, before, after)) in windows.into_iter().enumerate() {
        for (i, channels) in [1usize, 3, 15, 16, 17, 31, 33].into_iter().enumerate() {
            for case in 0..8 {
                let n = [2, 1, 0][(i + case) % 3];
                let bit = |n: usize| if case >> n & 1 == 1 { DType::S8 } else { DType::U8 };
                let (dtype, dst) = (bit(0), bit(1));
                // One scale has many ties.
                let x_scale = 0.01 + rng.real().abs();
                let dst_scale = if case & 4 == 0 { x_scale } else { 0.01 + rng.real().abs() };
                let mut zero = |dtype| low(dtype) + rng.below(256) as i64;
                let (x_zero, dst_zero) = (zero(dtype), zero(dst));
                let (ceil_mode, counts) = (case & 2 != 0, i % 2 == 0);
                let pool = Pool {
                    input,
                    kernel,
                    stride,
                    padding: before,
                    padding_end: after,
                    dilation: [1; 3],
                    ceil_mode,
                    count_include_pad: counts,
                };
                // The last problem has three axes, the others have two.
                let skipped = usize::from(at != 5);
                let dims = [&[n, channels], &input[skipped..]].concat();
                let x = bytes(&mut rng, &dims, dtype);
                let values = x.to_dtype(DType::F32).unwrap().to_vec::<f32>().unwrap();
                let want =
                    each_window(&values, n * channels, input, &pool.windows().unwrap(), |of, count| {
                        let sum: i64 = of.iter().map(|&v| v as i64 - x_zero).sum();
                        let (mean, one) = (rounded(sum, count, x_scale, dst_scale), 2 * count as i64);
                        ties.set(
                            ties.get()
                                + usize::from(x_scale == dst_scale && (2 * sum).rem_euclid(one) == one / 2),
                        );
                        (mean + dst_zero).clamp(low(dst), low(dst) + 255) as f64
                    });
                let list = |of: [usize; 3]| of[skipped..].iter().map(|v| *v as i64).collect::<Vec<_>>();
                let given: [(&'static str, Value); 10] = [
                    ("kernel", list(kernel).into()),
                    ("stride", list(stride).into()),
                    ("padding", [list(before), list(after)].concat().into()),
                    ("ceil_mode", ceil_mode.into()),
                    ("count_include_pad", counts.into()),
                    ("x_scale", f64::from(x_scale).into()),
                    ("x_zero_point", x_zero.into()),
                    ("dst_scale", f64::from(dst_scale).into()),
                    ("dst_zero_point", dst_zero.into()),
                    ("dtype", dst.name().into()),
                ];
                // Blocks of 4 have no pools of any dtype.
                for (form, x) in forms(&x).into_iter().filter(|(form, _)| *form != "blocked by 4") {
                    let args: Vec<_> = [("x", x.into())].into_iter().chain(given.iter().cloned()).collect();
                    let what = format!("{dims:?} {kernel:?} {dtype} to {dst}, {form}");
                    let made = dispatch::call("quantized_avg_pool", &args);
                    let got = made.unwrap_or_else(|e| panic!("{what}: {e}")).remove(0);
                    let got: Vec<f64> = elements(&got).into_iter().map(f64::from).collect();
                    assert_eq!(got, want, "{what}");
                    ran += 1;
                }
            }
        }
    }
    let ties = ties.get();
    assert!(ran > 1000 && ties > 1000, "{ran} calls, {ties} ties");
}

/// The last of these sums is larger than an i32 holds.
#[test]
fn sums_of_many_integers_do_not_wrap_around() {
    let count = i32::MAX as usize / 255;
    let one = Quantization::default();
    for width in [count, count + 1, count + 3] {
        let x = StridedTensor::full(&[1, 1, width], 255u8, MemoryFormat::Contiguous).unwrap();
        let y = ops::quantized_avg_pool(&x, &AvgPool::<1>::new(width), [one, one], DType::U8).unwrap();
        assert_eq!(y.to_vec::<u8>().unwrap(), [255], "{width}");
    }
}

/// One spatial dimension, and a window that has no element at all.
#[test]
fn one_dimension_and_empty_windows() {
    let x = StridedTensor::from_slice(&[1u8, 3, 200, 7, 11, 50], &[1, 2, 3]).unwrap();
    let of = |scale, zero_point| Quantization { scale, zero_point };
    let pool = AvgPool::<1>::new(2).stride(1);
    let y = ops::quantized_avg_pool(&x, &pool, [of(0.5, 3), of(0.25, -10)], DType::S8).unwrap();
    // (-2 + 0) / 2, (0 + 197) / 2, (4 + 8) / 2, (8 + 47) / 2 halves, in quarters.
    assert_eq!(y.to_vec::<i8>().unwrap(), [-12, 127, 2, 45]);
}

#[test]
fn means_of_integers_refuse_what_they_do_not_take() {
    let x = StridedTensor::full(&[1, 3, 4, 4], 9u8, MemoryFormat::Contiguous).unwrap();
    let of = |scale, zero_point| Quantization { scale, zero_point };
    let (one, pool) = (Quantization::default(), AvgPool::<2>::new(2));
    let call = |of, dtype| ops::quantized_avg_pool(&x, &pool, of, dtype);
    for (made, part) in [
        (call([of(0.0, 0), one], DType::U8), "x_scale"),
        (call([one, of(f32::NAN, 0)], DType::U8), "dst_scale"),
        (call([of(1.0, -1), one], DType::U8), "x_zero_point"),
        (call([one, of(1.0, 200)], DType::S8), "pass -128 to 127"),
        (call([one, one], DType::F32), "pass `u8` or `s8`"),
        (ops::quantized_avg_pool(&x.to_dtype(DType::F32).unwrap(), &pool, [one, one], DType::U8), "u8"),
        (ops::quantized_avg_pool(&x, &AvgPool::<2>::new(5), [one, one], DType::U8), "kernel"),
    ] {
        let error = made.unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// The largest of integers, over all pixels or windows of two sizes, is that of the numbers.
#[test]
fn max_pools_take_integers() {
    let mut rng = Rng(0x5eed_0161);
    for dims in [[2, 17, 9, 10], [1, 1, 1, 1], [0, 3, 4, 4], [1, 33, 3, 2]] {
        for dtype in [DType::U8, DType::S8] {
            let x = bytes(&mut rng, &dims, dtype);
            let numbers = x.to_dtype(DType::F32).unwrap();
            let output: [(&'static str, Value); 1] = [("output", vec![2i64, 1].into())];
            let list = |name: &'static str, numbers: [i64; 2]| (name, Value::from(numbers.to_vec()));
            let window = |kernel, stride, padding| {
                [list("kernel", kernel), list("stride", stride), list("padding", padding)]
            };
            let windows = [window([3, 3], [2, 2], [1, 1]), window([1, 2], [1, 2], [0, 1])];
            for (op, given) in [
                ("global_max_pool", &[][..]),
                ("adaptive_max_pool2d", &output[..]),
                ("max_pool2d", &windows[0][..]),
                ("max_pool2d", &windows[1][..]),
            ] {
                let call = |x: blocktensor::Tensor| {
                    let args: Vec<_> = [("x", x.into())].into_iter().chain(given.iter().cloned()).collect();
                    dispatch::call(op, &args).unwrap().remove(0)
                };
                let want = elements(&call(numbers.clone().into()));
                for (form, x) in forms(&x).into_iter().filter(|(form, _)| *form != "blocked by 4") {
                    let got = call(x);
                    assert_eq!(blocktensor::Operand::tensor_ref(&got).dtype(), dtype);
                    assert_eq!(elements(&got), want, "{op} of {dims:?} {dtype}, {form}");
                }
            }
        }
    }
}

/// Nearest neighbours and gathered elements are those of the numbers, in every dtype.
#[test]
fn nearest_neighbours_and_selections_take_every_dtype() {
    let mut rng = Rng(0x5eed_0162);
    for dims in [[2, 17, 9, 10], [1, 1, 1, 1], [0, 3, 4, 4], [1, 33, 3, 2], [1, 16, 5, 7]] {
        for dtype in DType::ALL {
            let numbers = bytes(&mut rng, &dims, DType::S8).to_dtype(DType::F32).unwrap();
            let numbers = if dtype == DType::U8 { ops::abs(&numbers).unwrap() } else { numbers };
            let x = numbers.to_dtype(dtype).unwrap();
            let back = |t: blocktensor::Tensor| match t {
                blocktensor::Tensor::Strided(t) => t.to_dtype(DType::F32).unwrap().to_vec::<f32>().unwrap(),
                blocktensor::Tensor::Blocked(t) => {
                    t.check_tail().unwrap();
                    let t = t.to_strided(MemoryFormat::Contiguous).unwrap();
                    t.to_dtype(DType::F32).unwrap().to_vec::<f32>().unwrap()
                }
                other => panic!("{other:?}"),
            };
            let [n, c, h, w] = dims;
            // By the definition: row i of the result is row floor(i * h / output).
            let values = numbers.to_vec::<f32>().unwrap();
            let (to_h, to_w) = (2 * h + 1, 2 * w);
            let mut want = Vec::new();
            for plane in 0..n * c {
                for i in 0..to_h {
                    want.extend((0..to_w).map(|j| values[(plane * h + i * h / to_h) * w + j * w / to_w]));
                }
            }
            for (form, x) in forms(&x).into_iter().filter(|(form, _)| *form != "blocked by 4") {
                let args = [("x", x.into()), ("output", vec![to_h as i64, to_w as i64].into())];
                let got = dispatch::call("upsample_nearest", &args).unwrap().remove(0);
                assert_eq!(blocktensor::Operand::tensor_ref(&got).dtype(), dtype);
                assert_eq!(back(got), want, "{dims:?} {dtype}, {form}");
            }
            let rows: Vec<i32> = (0..n * c * w).map(|i| (i * 5 % h) as i32).collect();
            let index = StridedTensor::from_slice(&rows, &[n, c, 1, w]).unwrap();
            let want: Vec<f32> = rows
                .iter()
                .enumerate()
                .map(|(i, row)| values[(i / w * h + *row as usize) * w + i % w])
                .collect();
            assert_eq!(back(ops::gather(&x, 2, &index).unwrap().into()), want, "{dims:?} {dtype}");
        }
    }
}
