//! Grid sampling on every form against loops from the definition; its errors; threads.

use blocktensor::ops::{self, GridMode, GridPadding, GridSample};
use blocktensor::{DType, Error, Layout, MemoryFormat, StridedTensor, dispatch};

use crate::support::activation::{elements, forms, same_bits_for_all_threads};
use crate::support::{Rng, assert_close};

const MODES: [GridMode; 3] = [GridMode::Bilinear, GridMode::Nearest, GridMode::Bicubic];
const PADDINGS: [GridPadding; 3] = [GridPadding::Zeros, GridPadding::Border, GridPadding::Reflection];

/// One axis of the definition.
#[derive(Clone, Copy)]
struct Axis {
    size: usize,
    padding: GridPadding,
    align_corners: bool,
    volume: bool,
}

/// Source indices (outside the source too) and weights, or `None` if the result is NaN.
type Weights = Option<Vec<(f64, f64)>>;

impl Axis {
    fn source(&self, g: f64) -> f64 {
        let size = self.size as f64;
        if self.align_corners { (g + 1.0) / 2.0 * (size - 1.0) } else { ((g + 1.0) * size - 1.0) / 2.0 }
    }

    /// Reflected step by step, as `GridPadding::Reflection` says it.
    fn reflect(&self, mut x: f64) -> f64 {
        let (low, high) = match self.align_corners {
            true => (0.0, self.size as f64 - 1.0),
            false => (-0.5, self.size as f64 - 0.5),
        };
        if low == high {
            return 0.0;
        }
        if !x.is_finite() {
            return f64::NAN;
        }
        while x < low || x > high {
            x = if x < low { 2.0 * low - x } else { 2.0 * high - x };
        }
        x
    }

    fn pad(&self, x: f64) -> f64 {
        let x = if self.padding == GridPadding::Reflection { self.reflect(x) } else { x };
        let last = self.size as f64 - 1.0;
        match self.padding {
            GridPadding::Zeros => x,
            _ if x.is_nan() => {
                if self.volume {
                    last
                } else {
                    0.0
                }
            }
            _ => x.max(0.0).min(last),
        }
    }

    fn weights(&self, mode: GridMode, g: f32) -> Weights {
        let x = self.source(f64::from(g));
        match mode {
            GridMode::Nearest => {
                let x = self.pad(x);
                let low = x.floor();
                let index = match x - low {
                    t if t < 0.5 || t == 0.5 && low.rem_euclid(2.0) == 0.0 => low,
                    _ => low + 1.0,
                };
                Some(vec![(index, 1.0)])
            }
            GridMode::Bilinear => {
                let x = self.pad(x);
                if !x.is_finite() {
                    return self.volume.then_some(vec![]);
                }
                let t = x - x.floor();
                Some(vec![(x.floor(), 1.0 - t), (x.floor() + 1.0, t)])
            }
            GridMode::Bicubic => {
                // Cubic convolution (Keys) with a = -0.75.
                let kernel = |d: f64| match d.abs() {
                    d if d <= 1.0 => 1.25 * d * d * d - 2.25 * d * d + 1.0,
                    d if d < 2.0 => -0.75 * (d * d * d - 5.0 * d * d + 8.0 * d - 4.0),
                    _ => 0.0,
                };
                let tap = |i: i32| {
                    let at = x.floor() + f64::from(i);
                    (self.pad(at), kernel(x - at))
                };
                x.is_finite().then(|| (-1..3).map(tap).collect())
            }
        }
    }

    fn inside(&self, index: f64) -> Option<usize> {
        (index >= 0.0 && index < self.size as f64).then_some(index as usize)
    }
}

/// The result, and for each element the sum of absolute terms. Images are volumes of depth 1 here.
fn solve(
    x: &[f32],
    dims: &[usize],
    grid: &[f32],
    grid_dims: &[usize],
    (mode, padding, align_corners): (GridMode, GridPadding, bool),
) -> (Vec<f64>, Vec<f64>) {
    let (n, c, rank) = (dims[0], dims[1], dims.len() - 2);
    let spatial: Vec<usize> = dims[2..].to_vec();
    let pixels: usize = spatial.iter().product();
    let points: usize = grid_dims[1..=rank].iter().product();
    let (mut y, mut magnitude) = (Vec::new(), Vec::new());
    for image in 0..n {
        for channel in 0..c {
            let plane = &x[(image * c + channel) * pixels..][..pixels];
            for point in 0..points {
                let coordinates = &grid[(image * points + point) * rank..][..rank];
                // The axes in the order of the sizes, the coordinates in the other order.
                let weights: Vec<Weights> = (0..rank)
                    .map(|axis| {
                        let size = spatial[axis];
                        let axis_of = Axis { size, padding, align_corners, volume: rank == 3 };
                        axis_of.weights(mode, coordinates[rank - 1 - axis])
                    })
                    .collect();
                let Some(weights) = weights.into_iter().collect::<Option<Vec<_>>>() else {
                    y.push(f64::NAN);
                    magnitude.push(0.0);
                    continue;
                };
                let mut terms = vec![(0usize, 1.0f64)];
                for (axis, list) in weights.iter().enumerate() {
                    let inside = Axis { size: spatial[axis], padding, align_corners, volume: rank == 3 };
                    terms = terms
                        .iter()
                        .flat_map(|&(at, w)| {
                            list.iter().filter_map(move |&(i, wi)| {
                                Some((at * inside.size + inside.inside(i)?, w * wi))
                            })
                        })
                        .collect();
                }
                y.push(terms.iter().map(|&(at, w)| w * f64::from(plane[at])).sum());
                magnitude.push(terms.iter().map(|&(at, w)| (w * f64::from(plane[at])).abs()).sum());
            }
        }
    }
    (y, magnitude)
}

/// Coordinates inside, beyond the edges, on borders and pixels, halves, and such that are not finite.
fn coordinate(rng: &mut Rng, size: usize, mode: GridMode) -> f32 {
    match rng.below(12) {
        0 => rng.pick(&[-1.0, 1.0, 0.0, -0.5, 0.5]),
        1 => rng.pick(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY]),
        2 => 40.0 * rng.real(),
        3 | 4 => 4.0 * rng.real(),
        // A pixel or the middle between two, exactly where the size is a power of two. Others are not tried with `nearest`,
        // which counts in f32: beside a tie it may take the other neighbour.
        5 | 6 if size.is_power_of_two() || mode != GridMode::Nearest => {
            (rng.below(2 * size + 1) as f32) / size as f32 - 1.0
        }
        _ => 1.1 * rng.real(),
    }
}

fn params(mode: GridMode, padding: GridPadding, align_corners: bool) -> GridSample {
    let params = GridSample::new().mode(mode).padding(padding);
    if align_corners { params.align_corners() } else { params }
}

/// Whether `nearest` stands so near to the middle between two pixels that f32 and f64 may differ.
fn is_beside_a_tie(g: f32, size: usize, align_corners: bool) -> bool {
    let axis = Axis { size, padding: GridPadding::Zeros, align_corners, volume: false };
    let x = axis.source(f64::from(g));
    let beside = (x - x.floor() - 0.5).abs();
    beside != 0.0 && beside < 1e-4 || beside == 0.0 && align_corners && !(size - 1).is_power_of_two()
}

#[test]
fn every_mode_and_padding_is_its_definition_on_every_form() {
    let mut rng = Rng(31);
    for case in 0..600 {
        let (mode, padding, align_corners) = (MODES[case % 3], PADDINGS[case / 3 % 3], case / 9 % 2 == 0);
        let rank = if mode == GridMode::Bicubic { 2 } else { 2 + case / 18 % 2 };
        let n = rng.pick(&[1, 2, 3, 0]);
        let mut dims = vec![n, rng.pick(&[1, 3, 5, 8, 16, 17, 33])];
        let mut grid_dims = vec![n];
        for _ in 0..rank {
            dims.push(if rng.below(6) == 0 { 1 } else { rng.pick(&[2, 3, 4, 5, 7, 8]) });
            grid_dims.push(rng.pick(&[1, 2, 3, 5, 11]));
        }
        grid_dims.push(rank);
        let data = rng.reals(dims.iter().product());
        let points: Vec<f32> = (0..grid_dims.iter().product::<usize>())
            .map(|i| {
                let size = dims[1 + rank - i % rank];
                loop {
                    let g = coordinate(&mut rng, size, mode);
                    if mode != GridMode::Nearest || !is_beside_a_tie(g, size, align_corners) {
                        break g;
                    }
                }
            })
            .collect();
        let (want, magnitude) = solve(&data, &dims, &points, &grid_dims, (mode, padding, align_corners));
        let x = StridedTensor::from_slice(&data, &dims).unwrap();
        let grid = StridedTensor::from_slice(&points, &grid_dims).unwrap();
        let p = params(mode, padding, align_corners);
        let terms = match (mode, rank) {
            (GridMode::Nearest, _) => 0.0,
            (GridMode::Bicubic, _) => 20.0,
            (_, 2) => 7.0,
            _ => 12.0,
        };
        let mut first: Option<Vec<u32>> = None;
        for (name, form) in forms(&x) {
            let what = format!("case {case}, {p}, {dims:?} at {grid_dims:?}, {name}");
            let y = ops::grid_sample(&form, &grid, &p).unwrap_or_else(|e| panic!("{what}: {e}"));
            let result_dims = [&dims[..2], &grid_dims[1..=rank]].concat();
            assert_eq!(blocktensor::Operand::tensor_ref(&y).dims(), result_dims, "{what}");
            let got = elements(&y);
            assert_close(&what, &got, &want, |i| {
                terms * f64::from(f32::EPSILON) / 2.0 * magnitude[i] + 1e-12
            });
            let bits: Vec<u32> = got.iter().map(|v| v.to_bits()).collect();
            assert!(*first.get_or_insert_with(|| bits.clone()) == bits, "{what}: other bits");
        }
    }
}

/// A grid of any strides is read in place: no reorder, the same bits.
#[test]
fn a_grid_has_any_strides() {
    let mut rng = Rng(32);
    let x = StridedTensor::from_slice(&rng.reals(3 * 17 * 5 * 4), &[3, 17, 5, 4]).unwrap();
    let one = StridedTensor::from_slice(&rng.reals(6 * 7 * 2), &[1, 6, 7, 2]).unwrap();
    let all = one.expand(&[3, 6, 7, 2]).unwrap();
    // The coordinates outermost.
    let planar = all.permute(&[3, 0, 1, 2]).unwrap().contiguous(MemoryFormat::Contiguous).unwrap();
    let planar = planar.permute(&[1, 2, 3, 0]).unwrap();
    let dense = all.contiguous(MemoryFormat::Contiguous).unwrap();
    for (name, form) in forms(&x) {
        let sample = |grid| elements(&ops::grid_sample(&form, grid, &GridSample::new()).unwrap());
        let want = sample(&dense);
        assert!(want == sample(&all) && want == sample(&planar), "{name}");
    }
}

#[test]
fn by_hand() {
    let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[1, 1, 1, 4]).unwrap();
    let at = |p: &GridSample, points: &[f32]| {
        let grid: Vec<f32> = points.iter().flat_map(|&g| [g, 0.0]).collect();
        let grid = StridedTensor::from_slice(&grid, &[1, 1, points.len(), 2]).unwrap();
        ops::grid_sample(&x, &grid, p).unwrap().to_vec::<f32>().unwrap()
    };
    let zeros = GridSample::new();
    // -1 is the left edge: half of the first pixel, half of nothing.
    assert_eq!(at(&zeros, &[-1.0, -0.75, 0.0, 0.75, 1.0, 1.5]), [0.5, 1.0, 2.5, 4.0, 2.0, 0.0]);
    assert_eq!(at(&zeros.clone().align_corners(), &[-1.0, 0.0, 1.0]), [1.0, 2.5, 4.0]);
    assert_eq!(
        at(&zeros.clone().padding(GridPadding::Border), &[-9.0, -1.0, 1.0, 9.0]),
        [1.0, 1.0, 4.0, 4.0]
    );
    let reflection = zeros.clone().padding(GridPadding::Reflection);
    assert_eq!(at(&reflection, &[-1.25, -1.75, 1.25, 2.75]), [1.0, 2.0, 4.0, 1.0]);
    assert_eq!(at(&reflection.align_corners(), &[-1.0 - 2.0 / 3.0, 2.0]), [2.0, 2.5]);
    // Ties go to the even index: 0.5 to pixel 0, 1.5 to pixel 2.
    let nearest = zeros.clone().mode(GridMode::Nearest);
    assert_eq!(at(&nearest, &[-0.5, 0.0, 0.5, -1.0, 1.0, -1.01]), [1.0, 3.0, 3.0, 1.0, 0.0, 0.0]);
    // Cubic convolution with -0.75 between the second pixel and the third: (-0.09375, 0.59375, 0.59375, -0.09375).
    let bicubic = zeros.mode(GridMode::Bicubic);
    assert_eq!(at(&bicubic, &[0.0]), [5.0 * (0.59375 - 0.09375)]);
    // PyTorch 2.15: coordinates that are not finite.
    let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    let all_nan = |y: Vec<f32>| y.iter().all(|v| v.is_nan());
    assert!(all_nan(at(&GridSample::new(), &odd)) && all_nan(at(&bicubic, &odd)));
    assert_eq!(at(&nearest, &odd), [0.0; 3]);
    assert_eq!(at(&GridSample::new().padding(GridPadding::Border), &odd), [1.0, 4.0, 1.0]);
    assert_eq!(at(&GridSample::new().padding(GridPadding::Reflection), &odd), [1.0; 3]);
    let volume = x.reshape(&[1, 1, 1, 1, 4]).unwrap();
    let at = |padding| {
        let grid: Vec<f32> = odd.iter().flat_map(|&g| [g, 0.0, 0.0]).collect();
        let grid = StridedTensor::from_slice(&grid, &[1, 1, 1, 3, 3]).unwrap();
        let y = ops::grid_sample(&volume, &grid, &GridSample::new().padding(padding)).unwrap();
        y.to_vec::<f32>().unwrap()
    };
    assert_eq!(at(GridPadding::Zeros), [0.0; 3]);
    assert_eq!(at(GridPadding::Border), [4.0, 4.0, 1.0]);
    assert_eq!(at(GridPadding::Reflection), [4.0; 3]);
}

/// PyTorch 2.15 in f32, beside ties, where coordinates in f64 lead to the other neighbour.
#[test]
fn nearest_takes_the_pixel_that_pytorch_takes() {
    let row = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 4.0, 5.0], &[1, 1, 1, 5]).unwrap();
    let edges = [(-0.2, 3.0), (0.2, 3.0), (0.200_000_02, 3.0), (1.000_000_1, 5.0)];
    let centres = [(0.250_000_03, 3.0), (1.250_000_1, 5.0), (-0.250_000_03, 3.0), (0.749_999_94, 5.0)];
    let mirrored_edges = [(-4.6, 1.0), (-3.8, 3.0), (-3.4, 5.0), (-2.6, 5.0)];
    let mirrored_centres =
        [(0.250_000_03, 3.0), (1.250_000_1, 5.0), (3.250_000_2, 1.0), (-0.250_000_03, 3.0)];
    for (padding, align_corners, answers) in [
        (GridPadding::Zeros, false, edges),
        (GridPadding::Zeros, true, centres),
        (GridPadding::Reflection, false, mirrored_edges),
        (GridPadding::Reflection, true, mirrored_centres),
    ] {
        let p = params(GridMode::Nearest, padding, align_corners);
        let want = answers.map(|(_, pixel)| pixel);
        for rank in [2, 3] {
            let points: Vec<f32> =
                answers.iter().flat_map(|&(g, _)| [g, 0.0, 0.0][..rank].to_vec()).collect();
            let ones = vec![1; rank];
            let grid = StridedTensor::from_slice(&points, &[&ones[..], &[4, rank]].concat()).unwrap();
            let x = row.reshape(&[&ones[..], &[1, 5]].concat()).unwrap();
            let y = ops::grid_sample(&x, &grid, &p).unwrap();
            assert_eq!(y.to_vec::<f32>().unwrap(), want, "{p}, rank {rank}");
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let mut rng = Rng(33);
    let x = StridedTensor::from_slice(&rng.reals(2 * 70 * 21 * 33), &[2, 70, 21, 33]).unwrap();
    let points: Vec<f32> = rng.reals(2 * 50 * 71 * 2).iter().map(|g| 1.2 * g).collect();
    let grid = StridedTensor::from_slice(&points, &[2, 50, 71, 2]).unwrap();
    for (name, form) in forms(&x) {
        same_bits_for_all_threads(name, || {
            let sample =
                |mode| elements(&ops::grid_sample(&form, &grid, &GridSample::new().mode(mode)).unwrap());
            MODES.map(sample).concat()
        });
    }
}

#[test]
fn every_rule_is_an_error_that_says_so() {
    let check = |e: Error, variant: fn(&Error) -> bool, words: &[&str]| {
        assert!(variant(&e), "{e:?}");
        for word in words {
            assert!(e.to_string().contains(word), "{e} lacks {word}");
        }
    };
    let zeros = |dims: &[usize]| StridedTensor::zeros(dims, DType::F32, MemoryFormat::Contiguous).unwrap();
    let (x, volume) = (zeros(&[2, 3, 4, 5]), zeros(&[2, 3, 2, 4, 5]));
    let p = GridSample::new();
    let fails = |x: &StridedTensor, grid: &StridedTensor| ops::grid_sample(x, grid, &p).unwrap_err();
    let rank = |e: &Error| matches!(e, Error::RankMismatch(_));
    let shape = |e: &Error| matches!(e, Error::ShapeMismatch(_));
    let invalid = |e: &Error| matches!(e, Error::InvalidArgument(_));
    let dtype = |e: &Error| matches!(e, Error::UnsupportedDType(_));
    let key = |e: &Error| matches!(e, Error::KeyMismatch(_));
    check(fails(&zeros(&[3, 4, 5]), &zeros(&[3, 4, 2])), rank, &["grid_sample", "`x`", "rank 4 to 5"]);
    check(fails(&x, &zeros(&[2, 2, 2])), rank, &["`grid`", "rank 3", "[N, OH, OW, 2]"]);
    check(fails(&x, &zeros(&[2, 2, 2, 2, 3])), rank, &["`grid`", "rank 5"]);
    check(fails(&x, &zeros(&[1, 2, 2, 2])), shape, &["`grid`", "the batch of x", "`expand`"]);
    check(fails(&x, &zeros(&[2, 2, 2, 3])), shape, &["`grid`", "its last size is 2"]);
    check(fails(&volume, &zeros(&[2, 1, 2, 2, 2])), shape, &["`grid`", "its last size is 3"]);
    check(
        fails(&zeros(&[2, 0, 4, 5]), &zeros(&[2, 2, 2, 2])),
        invalid,
        &["`x`", "only the batch may be empty"],
    );
    check(fails(&zeros(&[2, 3, 0, 5]), &zeros(&[2, 2, 2, 2])), invalid, &["`x`", "one pixel"]);
    let bicubic = GridSample::new().mode(GridMode::Bicubic);
    let e = ops::grid_sample(&volume, &zeros(&[2, 1, 2, 2, 3]), &bicubic).unwrap_err();
    check(e, invalid, &["`mode`", "`bicubic`", "rank 4", "use `bilinear` or `nearest`"]);
    let half = zeros(&[2, 2, 2, 2]).to_dtype(DType::F16).unwrap();
    check(fails(&x, &half), dtype, &["`grid`", "it is f32", "to_dtype(DType::F32)"]);
    check(fails(&x.to_dtype(DType::F16).unwrap(), &zeros(&[2, 2, 2, 2])), dtype, &["`x`", "takes f32"]);
    // A grid is strided, whatever the key of x.
    let layout = Layout::native_activation(4).unwrap();
    let (blocked, blocked_grid) =
        (x.to_blocked(&layout).unwrap(), zeros(&[2, 2, 2, 2]).to_blocked(&layout).unwrap());
    for x in [x.clone().into(), dispatch::Value::from(blocked)] {
        let e =
            dispatch::call("grid_sample", &[("x", x), ("grid", blocked_grid.clone().into())]).unwrap_err();
        check(
            e,
            key,
            &["`grid`", "blocked", "plain strided tensors, whatever the key of the data", "to_strided"],
        );
    }
    let by_name = |name, word: &str| {
        let given = [("x", x.clone().into()), ("grid", zeros(&[2, 2, 2, 2]).into()), (name, word.into())];
        dispatch::call("grid_sample", &given).unwrap_err()
    };
    check(by_name("mode", "cubic"), invalid, &["`mode`", "`cubic`", "`bilinear`, `nearest` or `bicubic`"]);
    check(
        by_name("padding_mode", "circular"),
        invalid,
        &["`padding_mode`", "`zeros`, `border` or `reflection`"],
    );
    let missing = dispatch::call("grid_sample", &[("x", x.clone().into())]).unwrap_err();
    check(missing, invalid, &["`grid`", "a strided tensor"]);
}

#[test]
fn empty_results_have_their_sizes() {
    for (x, grid, y) in [
        (&[0, 3, 4, 5][..], &[0, 2, 6, 2][..], &[0, 3, 2, 6][..]),
        (&[2, 3, 4, 5], &[2, 0, 6, 2], &[2, 3, 0, 6]),
        (&[0, 3, 2, 4, 5], &[0, 1, 2, 3, 3], &[0, 3, 1, 2, 3]),
    ] {
        let [x, grid] =
            [x, grid].map(|d| StridedTensor::zeros(d, DType::F32, MemoryFormat::Contiguous).unwrap());
        assert_eq!(ops::grid_sample(&x, &grid, &GridSample::new()).unwrap().dims(), y);
        let blocked = x.to_blocked(&Layout::native_activation(x.rank()).unwrap()).unwrap();
        assert_eq!(ops::grid_sample(&blocked, &grid, &GridSample::new()).unwrap().dims(), y);
    }
}
