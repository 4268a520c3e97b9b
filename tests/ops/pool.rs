//! Pooling in every layout against f64 loops from the definition; its errors; threads.

use blocktensor::ops::{self, AvgPool, MaxPool};
use blocktensor::{
    BlockedTensor, Error, Layout, MemoryFormat, Result, StridedTensor, Tensor, dispatch, ledger,
};

use crate::support::activation::{elements, forms, same_bits_for_all_threads};
use crate::support::pool::{Pool, Window, adaptive, each_window, max, mean};
use crate::support::{Rng, assert_close};

const CHANNELS: [usize; 8] = [1, 3, 15, 16, 17, 31, 33, 8];

/// A random problem of 1 to 3 spatial dimensions: padding, dilation, strides larger than the window, images of one pixel.
fn problem(rng: &mut Rng, rank: usize, max_pool: bool) -> Pool {
    let mut p = Pool {
        input: [1; 3],
        kernel: [1; 3],
        stride: [1; 3],
        padding: [0; 3],
        padding_end: [0; 3],
        dilation: [1; 3],
        ceil_mode: rng.below(2) == 0,
        count_include_pad: rng.below(2) == 0,
    };
    // One problem in three has the same parameters along all axes, as networks do.
    let alike = rng.below(3) == 0;
    for a in 3 - rank..3 {
        if alike && a > 3 - rank {
            (p.kernel[a], p.stride[a]) = (p.kernel[a - 1], p.stride[a - 1]);
            (p.padding[a], p.dilation[a]) = (p.padding[a - 1], p.dilation[a - 1]);
            p.padding_end[a] = p.padding_end[a - 1];
        } else {
            p.kernel[a] = rng.pick(&[1, 2, 2, 3, 3, 3, 4, 5, 7]);
            p.stride[a] = rng.pick(&[1, 1, 2, 2, 3, 4, 5]);
            p.padding[a] = rng.below(p.kernel[a] / 2 + 1);
            let other = rng.below(p.kernel[a] / 2 + 1);
            p.padding_end[a] = if rng.below(3) == 0 { other } else { p.padding[a] };
            p.dilation[a] = if max_pool { rng.pick(&[1, 1, 1, 2, 3]) } else { 1 };
        }
        p.input[a] = 1 + rng.below([40, 14, 8][rank - 1]);
    }
    p
}

fn numbers<const N: usize>(all: [usize; 3]) -> [usize; N] {
    std::array::from_fn(|i| all[3 - N + i])
}

fn call_max(x: &Tensor, p: &Pool) -> Result<Tensor> {
    fn params<const N: usize>(p: &Pool) -> MaxPool<N> {
        let m = MaxPool::window(numbers(p.kernel))
            .strides(numbers(p.stride))
            .paddings(numbers(p.padding), numbers(p.padding_end));
        let m = m.dilations(numbers(p.dilation));
        if p.ceil_mode { m.ceil_mode() } else { m }
    }
    match x.tensor_ref().dims().len() {
        3 => ops::max_pool1d(x, &params(p)),
        4 => ops::max_pool2d(x, &params(p)),
        _ => ops::max_pool3d(x, &params(p)),
    }
}

fn call_avg(x: &Tensor, p: &Pool) -> Result<Tensor> {
    fn params<const N: usize>(p: &Pool) -> AvgPool<N> {
        let a = AvgPool::window(numbers(p.kernel))
            .strides(numbers(p.stride))
            .paddings(numbers(p.padding), numbers(p.padding_end));
        let a = a.count_include_pad(p.count_include_pad);
        if p.ceil_mode { a.ceil_mode() } else { a }
    }
    match x.tensor_ref().dims().len() {
        3 => ops::avg_pool1d(x, &params(p)),
        4 => ops::avg_pool2d(x, &params(p)),
        _ => ops::avg_pool3d(x, &params(p)),
    }
}

trait Dims {
    fn tensor_ref(&self) -> blocktensor::TensorRef<'_>;
}

impl Dims for Tensor {
    fn tensor_ref(&self) -> blocktensor::TensorRef<'_> {
        blocktensor::Operand::tensor_ref(self)
    }
}

/// Sizes of a problem of this rank.
fn dims(n: usize, c: usize, input: [usize; 3], rank: usize) -> Vec<usize> {
    [n, c].into_iter().chain(input[3 - rank..].iter().copied()).collect()
}

/// The allowed error of an average: 10 eps relative, and an absolute floor for sums that cancel.
fn limit(want: &[f64]) -> impl Fn(usize) -> f64 {
    let largest = want.iter().fold(0f64, |m, v| m.max(v.abs()));
    move |i| 10.0 * f64::from(f32::EPSILON) / 2.0 * want_at(want, i) + 1e-6 * largest
}

fn want_at(want: &[f64], i: usize) -> f64 {
    want[i].abs()
}

/// Checks the result in every layout: shape, values, and that all layouts give the same bits.
fn check(
    what: &str,
    x: &StridedTensor,
    dims: &[usize],
    want: &[f64],
    exact: bool,
    call: impl Fn(&Tensor) -> Result<Tensor>,
) {
    let mut first: Option<Vec<u32>> = None;
    for (name, form) in forms(x) {
        let y = call(&form).unwrap_or_else(|e| panic!("{what}, {name}: {e}"));
        assert_eq!(y.tensor_ref().dims(), dims, "{what}, {name}");
        assert_eq!(y.tensor_ref().key(), form.tensor_ref().key());
        let got = elements(&y);
        let limit = limit(want);
        assert_close(&format!("{what}, {name}"), &got, want, |i| if exact { 0.0 } else { limit(i) });
        let bits: Vec<u32> = got.iter().map(|v| v.to_bits()).collect();
        assert!(*first.get_or_insert_with(|| bits.clone()) == bits, "{what}, {name}: other bits");
    }
}

/// Sizes of the result.
fn output(windows: &[Vec<Window>; 3]) -> [usize; 3] {
    [windows[0].len(), windows[1].len(), windows[2].len()]
}

#[test]
fn max_pool_agrees_with_loops_in_every_layout() {
    let mut rng = Rng(11);
    let mut refused = 0;
    for case in 0..600 {
        let rank = 1 + rng.below(3);
        let p = problem(&mut rng, rank, true);
        let (n, c) = (rng.pick(&[1, 1, 2, 0]), rng.pick(&CHANNELS));
        let mut data = rng.reals(n * c * p.input.iter().product::<usize>());
        if rng.below(4) == 0 {
            for v in &mut data {
                *v = if rng.below(9) == 0 {
                    rng.pick(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY])
                } else {
                    *v
                };
            }
        }
        let x = StridedTensor::from_slice(&data, &dims(n, c, p.input, rank)).unwrap();
        let what = format!("case {case}, {n} x {c}, {p:?}");
        let Some(windows) = p.windows() else {
            refused += 1;
            for (name, form) in forms(&x) {
                let e = call_max(&form, &p).expect_err(&what);
                assert!(matches!(e, Error::ShapeMismatch(_)), "{what}, {name}: {e}");
            }
            continue;
        };
        let want = each_window(&data, n * c, p.input, &windows, max);
        check(&what, &x, &dims(n, c, output(&windows), rank), &want, true, |x| call_max(x, &p));
    }
    assert!((10..200).contains(&refused), "{refused} problems have no result");
}

#[test]
fn avg_pool_agrees_with_f64_loops_in_every_layout() {
    let mut rng = Rng(12);
    for case in 0..600 {
        let rank = 1 + rng.below(3);
        let p = problem(&mut rng, rank, false);
        let Some(windows) = p.windows() else { continue };
        let (n, c) = (rng.pick(&[1, 1, 2, 0]), rng.pick(&CHANNELS));
        let data = rng.reals(n * c * p.input.iter().product::<usize>());
        let x = StridedTensor::from_slice(&data, &dims(n, c, p.input, rank)).unwrap();
        let what = format!("case {case}, {n} x {c}, {p:?}");
        let want = each_window(&data, n * c, p.input, &windows, mean);
        check(&what, &x, &dims(n, c, output(&windows), rank), &want, false, |x| call_avg(x, &p));
    }
}

#[test]
fn adaptive_pools_agree_with_f64_loops_for_any_output_size() {
    let mut rng = Rng(13);
    for case in 0..300 {
        let rank = 1 + rng.below(3);
        let (mut input, mut output) = ([1; 3], [1; 3]);
        for a in 3 - rank..3 {
            input[a] = 1 + rng.below([60, 20, 9][rank - 1]);
            output[a] = rng.pick(&[1, 1, 2, 3, 5, 7, 11, input[a]]);
        }
        let (n, c) = (rng.pick(&[1, 1, 2, 0]), rng.pick(&CHANNELS));
        let data = rng.reals(n * c * input.iter().product::<usize>());
        let x = StridedTensor::from_slice(&data, &dims(n, c, input, rank)).unwrap();
        let windows = adaptive(input, output);
        let what = format!("case {case}, {n} x {c}, {input:?} -> {output:?}");
        let y = dims(n, c, output, rank);
        let want = each_window(&data, n * c, input, &windows, mean);
        check(&what, &x, &y, &want, false, |x| match rank {
            1 => ops::adaptive_avg_pool1d(x, numbers(output)),
            2 => ops::adaptive_avg_pool2d(x, numbers(output)),
            _ => ops::adaptive_avg_pool3d(x, numbers(output)),
        });
        let want = each_window(&data, n * c, input, &windows, max);
        check(&what, &x, &y, &want, true, |x| match rank {
            1 => ops::adaptive_max_pool1d(x, numbers(output)),
            2 => ops::adaptive_max_pool2d(x, numbers(output)),
            _ => ops::adaptive_max_pool3d(x, numbers(output)),
        });
    }
}

#[test]
fn global_pools_agree_with_f64_loops_on_small_and_large_images() {
    let mut rng = Rng(14);
    for (c, input, rank) in [
        (17, [1, 1, 5000], 1),
        (3, [1, 1, 1], 1),
        (33, [1, 57, 61], 2),
        (200, [1, 7, 7], 2),
        (16, [1, 1, 1], 2),
        (15, [5, 20, 30], 3),
    ] {
        let data = rng.reals(2 * c * input.iter().product::<usize>());
        let x = StridedTensor::from_slice(&data, &dims(2, c, input, rank)).unwrap();
        let windows = adaptive(input, [1; 3]);
        let y = dims(2, c, [1; 3], rank);
        let what = format!("{c} x {input:?}");
        let want = each_window(&data, 2 * c, input, &windows, mean);
        check(&what, &x, &y, &want, false, ops::global_avg_pool);
        let want = each_window(&data, 2 * c, input, &windows, max);
        check(&what, &x, &y, &want, true, ops::global_max_pool);
    }
}

#[test]
fn pools_give_hand_computed_values() {
    let x =
        StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], &[1, 1, 3, 3]).unwrap();
    let xb = x.to_blocked(&Layout::NCHW16C).unwrap();
    let values = |y: BlockedTensor| elements(&y.into());
    let max = MaxPool::new(2).padding(1);
    assert_eq!(values(ops::max_pool2d(&xb, &max).unwrap()), [1.0, 3.0, 7.0, 9.0]);
    let avg = AvgPool::new(2).padding(1);
    assert_eq!(values(ops::avg_pool2d(&xb, &avg).unwrap()), [0.25, 1.25, 2.75, 7.0]);
    let avg = avg.count_include_pad(false);
    assert_eq!(values(ops::avg_pool2d(&xb, &avg).unwrap()), [1.0, 2.5, 5.5, 7.0]);
    // In ceil mode the last window reaches past the source. The average counts no element there.
    let avg = AvgPool::new(2).ceil_mode();
    assert_eq!(values(ops::avg_pool2d(&xb, &avg).unwrap()), [3.0, 4.5, 7.5, 9.0]);
    assert_eq!(values(ops::adaptive_avg_pool2d(&xb, [2, 1]).unwrap()), [3.5, 6.5]);
    assert_eq!(values(ops::global_max_pool(&xb).unwrap()), [9.0]);
    assert_eq!(ops::adaptive_max_pool2d(&xb, [0, 2]).unwrap().dims(), [1, 1, 0, 2]);
}

#[test]
fn max_pool_of_a_dilated_window_without_elements_is_minus_infinity() {
    let x = StridedTensor::from_slice(&[1f32; 3], &[1, 3, 1]).unwrap();
    let pool = MaxPool::new(2).padding(1).dilation(2).stride(1);
    let xb = x.to_blocked(&Layout::blocked_activation(3, 16).unwrap()).unwrap();
    let yb = ops::max_pool1d(&xb, &pool).unwrap();
    yb.check_tail().unwrap();
    assert_eq!(elements(&yb.into()), [f32::NEG_INFINITY; 3]);
    assert_eq!(elements(&ops::max_pool1d(&x, &pool).unwrap().into()), [f32::NEG_INFINITY; 3]);
}

#[test]
fn pools_have_the_same_bits_for_any_number_of_threads() {
    let mut rng = Rng(15);
    let x = StridedTensor::from_slice(&rng.reals(3 * 130 * 31 * 45), &[3, 130, 31, 45]).unwrap();
    for (name, form) in forms(&x) {
        type Call = fn(&Tensor) -> Result<Tensor>;
        let calls: [Call; 5] = [
            |x| ops::max_pool2d(x, &MaxPool::new(3).stride(2).padding(1)),
            |x| ops::avg_pool2d(x, &AvgPool::new(3).stride(1).padding(1)),
            |x| ops::avg_pool2d(x, &AvgPool::new(9).stride(2).padding(4)),
            |x| ops::adaptive_avg_pool2d(x, [4, 7]),
            ops::global_avg_pool,
        ];
        for (i, call) in calls.into_iter().enumerate() {
            same_bits_for_all_threads(&format!("{name}, call {i}"), || elements(&call(&form).unwrap()));
        }
    }
}

#[test]
fn pools_keep_the_memory_format_and_record_copies_of_views() {
    let x = StridedTensor::full(&[1, 20, 8, 8], 1f32, MemoryFormat::ChannelsLast).unwrap();
    let (y, ledger) = ledger::record(|| ops::max_pool2d(&x, &MaxPool::new(2)).unwrap());
    assert!(y.is_contiguous(MemoryFormat::ChannelsLast), "{y:?}");
    assert!(ledger.reorders.is_empty(), "{ledger}");
    assert_eq!(ledger.runs[0].implementation, "blocktensor:pool");
    // An image of one pixel fits both formats, so look at the strides.
    assert_eq!(ops::global_avg_pool(&x).unwrap().strides(), [20, 1, 20, 20]);
    let view = x.narrow(3, 0, 4).unwrap();
    let (y, ledger) = ledger::record(|| ops::avg_pool2d(&view, &AvgPool::new(2)).unwrap());
    assert!(y.is_contiguous(MemoryFormat::ChannelsLast), "{y:?}");
    assert_eq!(ledger.reorders.len(), 1, "{ledger}");
    assert!(ledger.reorders[0].site.location().unwrap().file().ends_with("pool.rs"));
    let e = ledger::deny_reorders(|| ops::avg_pool2d(&view, &AvgPool::new(2))).unwrap_err();
    assert!(matches!(e, Error::ReorderDenied(_)), "{e}");
}

#[test]
fn pools_refuse_bad_parameters_with_the_rule() {
    let x = StridedTensor::from_slice(&[0f32; 75], &[1, 3, 5, 5]).unwrap();
    let check = |e: Error, variant: fn(&Error) -> bool, words: &[&str]| {
        assert!(variant(&e), "{e:?}");
        for word in words {
            assert!(e.to_string().contains(word), "{e} lacks {word}");
        }
    };
    let max = |p: MaxPool<2>| ops::max_pool2d(&x, &p).unwrap_err();
    let invalid = |e: &Error| matches!(e, Error::InvalidArgument(_));
    check(max(MaxPool::new(3).padding(2)), invalid, &["max_pool2d", "`padding`", "2 along", "window is 3"]);
    check(max(MaxPool::new(0)), invalid, &["`kernel`", "axis 0"]);
    check(max(MaxPool::new(3).strides([1, 0])), invalid, &["`stride`", "axis 1", "counts from 1"]);
    check(max(MaxPool::new(3).dilations([0, 1])), invalid, &["`dilation`", "axis 0", "1 is dense"]);
    let mismatch = |e: &Error| matches!(e, Error::ShapeMismatch(_));
    check(max(MaxPool::new(7)), mismatch, &["`kernel`", "over 7", "source is 5"]);
    check(max(MaxPool::new(3).dilation(3)), mismatch, &["over 7", "source is 5"]);
    let overflow = |e: &Error| matches!(e, Error::Overflow(_));
    check(max(MaxPool::new(3).dilation(usize::MAX / 2)), overflow, &["`dilation`", "kernel of 3"]);
    check(max(MaxPool::new(3).stride(usize::MAX)), overflow, &["`stride`"]);
    let avg = |p: AvgPool<2>| ops::avg_pool2d(&x, &p).unwrap_err();
    check(avg(AvgPool::new(2).padding(2)), invalid, &["avg_pool2d", "`padding`", "half"]);
    check(avg(AvgPool::new(6)), mismatch, &["over 6"]);
    check(avg(AvgPool::new(usize::MAX)), overflow, &["`kernel`"]);
    let rank = |e: &Error| matches!(e, Error::RankMismatch(_));
    let one = ops::max_pool1d(&x, &MaxPool::new(2)).unwrap_err();
    check(one, rank, &["max_pool1d", "rank 4", "rank 3", "the op for that number"]);
    let flat = x.reshape(&[3, 25]).unwrap();
    check(ops::global_avg_pool(&flat).unwrap_err(), rank, &["rank 2", "rank 3 to 5"]);
    let huge = ops::adaptive_max_pool2d(&x, [1, usize::MAX]).unwrap_err();
    check(huge, overflow, &["`output`"]);
    for dims in [[1, 0, 5, 5], [1, 3, 0, 5]] {
        let x = StridedTensor::zeros(&dims, blocktensor::DType::F32, MemoryFormat::Contiguous).unwrap();
        check(ops::max_pool2d(&x, &MaxPool::new(1)).unwrap_err(), invalid, &["only the batch may be empty"]);
        check(ops::adaptive_avg_pool2d(&x, [1, 1]).unwrap_err(), invalid, &["`x`"]);
    }
    let layout = |e: &Error| matches!(e, Error::LayoutMismatch(_));
    let chwn = x.to_blocked(&Layout::CHWN4).unwrap();
    check(ops::max_pool2d(&chwn, &MaxPool::new(2)).unwrap_err(), layout, &["CHWN4", "reorder_to"]);
    let integers = StridedTensor::from_slice(&[0i32; 4], &[1, 1, 2, 2]).unwrap();
    let dtype = |e: &Error| matches!(e, Error::UnsupportedDType(_));
    check(ops::max_pool2d(&integers, &MaxPool::new(2)).unwrap_err(), dtype, &["s32", "f32"]);
    let by_name = |values: &[(&str, dispatch::Value)]| dispatch::call("max_pool2d", values).unwrap_err();
    let with = |name, value: Vec<i64>| {
        by_name(&[("x", x.clone().into()), ("kernel", vec![2i64].into()), (name, value.into())])
    };
    check(with("padding", vec![-1]), invalid, &["`padding`", "negative"]);
    check(with("stride", vec![1, 2, 3]), invalid, &["`stride`", "2 spatial dimensions"]);
    check(by_name(&[("x", x.clone().into())]), invalid, &["`kernel`", "nothing"]);
}
