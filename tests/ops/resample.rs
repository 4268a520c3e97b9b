//! Resampling in every layout against f64 loops from the definition; its errors; threads.

use blocktensor::ops::{self, Resample};
use blocktensor::{Error, Operand, Result, StridedTensor, Tensor, dispatch};

use crate::support::activation::{elements, forms, same_bits_for_all_threads};
use crate::support::resample::{Axis, linear, nearest, nearest_of_images, solve};
use crate::support::{Rng, assert_close};

/// A random problem: sizes of the source and of the result.
struct Problem {
    rank: usize,
    n: usize,
    c: usize,
    input: [usize; 3],
    output: [usize; 3],
    scale: Option<[f64; 3]>,
    recompute: bool,
}

impl Problem {
    fn new(rng: &mut Rng) -> Problem {
        let rank = 1 + rng.below(3);
        let (mut input, mut output, mut scale) = ([1; 3], [1; 3], [1.0; 3]);
        let by_scale = rng.below(2) == 0;
        for a in 3 - rank..3 {
            input[a] = 1 + rng.below([40, 13, 7][rank - 1]);
            scale[a] = rng.pick(&[2.0, 2.0, 1.0, 0.5, 1.3, 2.7, 3.0, 0.31]);
            output[a] = match by_scale {
                true => (input[a] as f64 * scale[a]).floor() as usize,
                false => rng.pick(&[2 * input[a], input[a], 1, 3, 8, 17]),
            };
            if output[a] == 0 {
                (output[a], scale[a]) = (input[a], 1.0);
            }
        }
        Problem {
            rank,
            n: rng.pick(&[1, 1, 2, 0]),
            c: rng.pick(&[1, 3, 15, 16, 17, 31, 33, 8, 130]),
            input,
            output,
            scale: by_scale.then_some(scale),
            recompute: rng.below(3) == 0,
        }
    }

    fn params<const N: usize>(&self, align_corners: bool) -> Resample<N> {
        let r = match self.scale {
            None => Resample::to(std::array::from_fn(|i| self.output[3 - N + i])),
            Some(scale) => Resample::by_each(std::array::from_fn(|i| scale[3 - N + i])),
        };
        let r = if self.recompute { r.recompute_scale_factor() } else { r };
        if align_corners { r.align_corners() } else { r }
    }

    /// The interpolation of each spatial axis, by the definition.
    fn axes(&self, one: impl Fn(usize, usize, Option<f64>) -> Axis) -> [Axis; 3] {
        std::array::from_fn(|a| {
            if a < 3 - self.rank {
                return vec![vec![(0, 1.0)]];
            }
            let scale = self.scale.filter(|_| !self.recompute).map(|s| s[a]);
            one(self.input[a], self.output[a], scale)
        })
    }

    fn dims(&self, spatial: [usize; 3]) -> Vec<usize> {
        [self.n, self.c].into_iter().chain(spatial[3 - self.rank..].iter().copied()).collect()
    }

    fn describe(&self) -> String {
        let Problem { n, c, input, output, scale, recompute, .. } = self;
        format!("{n} x {c} x {input:?} -> {output:?}, scale {scale:?}, recompute {recompute}")
    }
}

/// Checks the result in every layout: shape, values, and that all layouts give the same bits.
fn check(
    what: &str,
    p: &Problem,
    data: &[f32],
    axes: &[Axis; 3],
    exact: bool,
    call: impl Fn(&Tensor) -> Result<Tensor>,
) {
    let x = StridedTensor::from_slice(data, &p.dims(p.input)).unwrap();
    let (want, magnitude) = solve(data, p.n * p.c, p.input, axes);
    let mut first: Option<Vec<u32>> = None;
    for (name, form) in forms(&x) {
        let what = format!("{what}, {}, {name}", p.describe());
        let y = call(&form).unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(y.tensor_ref().dims(), p.dims(p.output), "{what}");
        let got = elements(&y);
        let limit = |i: usize| if exact { 0.0 } else { 7.0 * f64::from(f32::EPSILON) / 2.0 * magnitude[i] };
        assert_close(&what, &got, &want, limit);
        let bits: Vec<u32> = got.iter().map(|v| v.to_bits()).collect();
        assert!(*first.get_or_insert_with(|| bits.clone()) == bits, "{what}: other bits");
    }
}

#[test]
fn upsample_nearest_copies_the_pixel_that_pytorch_copies() {
    let mut rng = Rng(21);
    for case in 0..400 {
        let p = Problem::new(&mut rng);
        let data = rng.reals(p.n * p.c * p.input.iter().product::<usize>());
        let axes = if p.rank == 2 { p.axes(nearest_of_images) } else { p.axes(nearest) };
        check(&format!("case {case}"), &p, &data, &axes, true, |x| match p.rank {
            1 => ops::upsample_nearest(x, &p.params::<1>(false)),
            2 => ops::upsample_nearest(x, &p.params::<2>(false)),
            _ => ops::upsample_nearest(x, &p.params::<3>(false)),
        });
    }
}

#[test]
fn upsample_linear_agrees_with_f64_loops_with_and_without_aligned_corners() {
    let mut rng = Rng(22);
    for case in 0..500 {
        let p = Problem::new(&mut rng);
        let align = rng.below(2) == 0;
        let data = rng.reals(p.n * p.c * p.input.iter().product::<usize>());
        let axes = p.axes(|size, output, scale| linear(size, output, scale, align));
        check(&format!("case {case}, align {align}"), &p, &data, &axes, false, |x| match p.rank {
            1 => ops::upsample_linear(x, &p.params(align)),
            2 => ops::upsample_bilinear(x, &p.params(align)),
            _ => ops::upsample_trilinear(x, &p.params(align)),
        });
    }
}

#[test]
fn upsample_gives_hand_computed_values() {
    let x = StridedTensor::from_slice(&[1f32, 3.0], &[1, 1, 2]).unwrap();
    let values = |y: StridedTensor| y.to_vec::<f32>().unwrap();
    assert_eq!(values(ops::upsample_linear(&x, &Resample::by(2.0)).unwrap()), [1.0, 1.5, 2.5, 3.0]);
    assert_eq!(
        values(ops::upsample_linear(&x, &Resample::to([5]).align_corners()).unwrap()),
        [1.0, 1.5, 2.0, 2.5, 3.0]
    );
    assert_eq!(values(ops::upsample_nearest(&x, &Resample::to([3])).unwrap()), [1.0, 1.0, 3.0]);
    // 5 * 1.5 is 7.5, so the result has 7 pixels. Coordinates use the factor 1.5, not 7 / 5.
    let x = StridedTensor::from_slice(&[0f32, 1.0, 2.0, 3.0, 4.0], &[1, 1, 5]).unwrap();
    let by = Resample::<1>::by(1.5);
    assert_eq!(values(ops::upsample_nearest(&x, &by).unwrap()), [0.0, 0.0, 1.0, 2.0, 2.0, 3.0, 4.0]);
    let sized = by.recompute_scale_factor();
    assert_eq!(values(ops::upsample_nearest(&x, &sized).unwrap()), [0.0, 0.0, 1.0, 2.0, 2.0, 3.0, 4.0]);
    // Source indices of PyTorch 2.15 for an image, with fractional factors that keep the size or double it.
    let image = x.reshape(&[1, 1, 1, 5]).unwrap();
    let by = |h: f64, w: f64| values(ops::upsample_nearest(&image, &Resample::by_each([h, w])).unwrap());
    assert_eq!(by(1.0, 1.1), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(by(1.0, 2.05), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]);
    let last = |p: &Resample<1>| *values(ops::upsample_linear(&x, p).unwrap()).last().unwrap();
    assert_eq!(last(&Resample::by(1.5)), (6.5f64 / 1.5 - 0.5) as f32);
    assert_eq!(last(&Resample::by(1.5).recompute_scale_factor()), 4.0);
}

/// A neighbour that is 10^30 times as large shows even with the smallest weight.
#[test]
fn upsample_linear_on_a_source_pixel_ignores_its_neighbours() {
    for size in 2..70 {
        let data: Vec<f32> = (0..size).map(|i| if i % 2 == 0 { 1.0 } else { 1e30 }).collect();
        let x = StridedTensor::from_slice(&data, &[1, 1, size]).unwrap();
        for times in [1, 2, 3, 5, 7] {
            let corners = Resample::to([(size - 1) * times + 1]).align_corners();
            let centers = Resample::to([size * times]);
            // With an even number of results for each source pixel, none falls on the middle of the pixel.
            let odd = (times % 2 == 1).then_some((centers, times / 2));
            for (params, first) in [Some((corners, 0)), odd].into_iter().flatten() {
                let y = ops::upsample_linear(&x, &params).unwrap().to_vec::<f32>().unwrap();
                let met: Vec<f32> = y.into_iter().skip(first).step_by(times).collect();
                assert_eq!(met, data, "{size} by {times}: {params:?}");
            }
        }
    }
}

#[test]
fn upsample_has_the_same_bits_for_any_number_of_threads() {
    let mut rng = Rng(23);
    let x = StridedTensor::from_slice(&rng.reals(2 * 70 * 21 * 33), &[2, 70, 21, 33]).unwrap();
    for (name, form) in forms(&x) {
        same_bits_for_all_threads(name, || {
            let near = ops::upsample_nearest(&form, &Resample::to([50, 71])).unwrap();
            let linear = ops::upsample_bilinear(&form, &Resample::by(1.7)).unwrap();
            [elements(&near), elements(&linear)].concat()
        });
    }
}

#[test]
fn upsample_refuses_bad_parameters_with_the_rule() {
    let x = StridedTensor::from_slice(&[0f32; 12], &[1, 3, 2, 2]).unwrap();
    let check = |e: Error, variant: fn(&Error) -> bool, words: &[&str]| {
        assert!(variant(&e), "{e:?}");
        for word in words {
            assert!(e.to_string().contains(word), "{e} lacks {word}");
        }
    };
    let invalid = |e: &Error| matches!(e, Error::InvalidArgument(_));
    let bilinear = |p: Resample<2>| ops::upsample_bilinear(&x, &p).unwrap_err();
    check(bilinear(Resample::to([0, 4])), invalid, &["upsample_bilinear", "`output`", "axis 0 is 0"]);
    check(bilinear(Resample::by(0.2)), invalid, &["`output`", "at least one pixel"]);
    check(bilinear(Resample::by_each([2.0, -1.0])), invalid, &["`scale_w`", "-1", "positive"]);
    check(bilinear(Resample::by(f64::NAN)), invalid, &["`scale_h`", "NaN"]);
    check(bilinear(Resample::by(0.0)), invalid, &["neither a size nor a scale"]);
    let overflow = |e: &Error| matches!(e, Error::Overflow(_));
    check(bilinear(Resample::by(1e300)), overflow, &["`output`"]);
    let rank = |e: &Error| matches!(e, Error::RankMismatch(_));
    check(ops::upsample_linear(&x, &Resample::by(2.0)).unwrap_err(), rank, &["rank 4", "rank 3"]);
    // `output` must have one size for each spatial dimension of `x`.
    check(ops::upsample_nearest(&x, &Resample::to([4, 4, 4])).unwrap_err(), invalid, &["2 spatial"]);
    check(ops::upsample_nearest(&x, &Resample::<3>::by(2.0)).unwrap_err(), invalid, &["2 spatial"]);
    let both = dispatch::call(
        "upsample_nearest",
        &[("x", x.clone().into()), ("output", vec![4i64].into()), ("scale_w", 2.0.into())],
    );
    check(both.unwrap_err(), invalid, &["a size and a scale"]);
    let empty = StridedTensor::from_slice::<f32>(&[], &[1, 0, 2, 2]).unwrap();
    check(ops::upsample_nearest(&empty, &Resample::<2>::by(2.0)).unwrap_err(), invalid, &["channel"]);
}
