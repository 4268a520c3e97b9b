//! Ops in bf16 that are not element-wise: the same op in f32 on the same numbers, whose results `half` rounds once. Every layout.

use blocktensor::dispatch::{self, Value};
use blocktensor::{DType, Error, Operand, StridedTensor, Tensor, TensorDesc, ops};
use half::bf16;

use crate::support::Rng;
use crate::support::activation::{elements, forms};

/// Activations of rank 3 to 5: channel tails, empty batches, images of one pixel, and one that several tasks share.
const SIZES: [&[usize]; 14] = [
    &[2, 1, 7, 9],
    &[1, 3, 9, 12],
    &[2, 15, 6, 5],
    &[1, 16, 8, 19],
    &[2, 17, 9, 5],
    &[1, 31, 7, 7],
    &[1, 33, 30, 41],
    &[0, 17, 5, 5],
    &[3, 17, 1, 1],
    &[1, 16, 1, 1],
    &[2, 17, 40],
    &[1, 3, 1],
    &[1, 17, 5, 6, 7],
    &[1, 8, 1, 5, 9],
];

/// Numbers that bf16 holds; some are NaN, infinite or zeros of both signs if `special`.
fn numbers(rng: &mut Rng, dims: &[usize], special: bool) -> StridedTensor {
    let mut data = rng.reals(dims.iter().product());
    data.iter_mut().for_each(|v| *v = bf16::from_f32(*v).to_f32());
    if special {
        for v in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, f32::from_bits(0x7f7f_0000)] {
            if !data.is_empty() {
                let at = rng.below(data.len());
                data[at] = v;
            }
        }
    }
    StridedTensor::from_slice(&data, dims).unwrap()
}

/// Calls the op with `x` in every form, in f32 and in bf16, and compares. Returns how many forms it took.
#[track_caller]
fn check(op: &'static str, x: &StridedTensor, others: &[(&'static str, Value)]) -> usize {
    let narrow = x.to_dtype(DType::BF16).unwrap();
    let mut ran = 0;
    for ((form, wide), (_, narrow)) in forms(x).into_iter().zip(forms(&narrow)) {
        let what = format!("{op} {:?} {form} {others:?}", x.dims());
        let call = |x: &Tensor| {
            let args: Vec<_> = [("x", x.clone().into())].into_iter().chain(others.iter().cloned()).collect();
            dispatch::call(op, &args)
        };
        let (want, got) = match (call(&wide), call(&narrow)) {
            (Ok(want), Ok(got)) => (want, got),
            (Err(_), Err(_)) => continue,
            (want, got) => panic!("{what}: {:?}, not {:?}", got.map(|_| ()), want.map(|_| ())),
        };
        same(&what, &want, &got);
        ran += 1;
    }
    ran
}

/// The first result has the dtype of the operand. Any others are parameters, which are f32.
#[track_caller]
fn same(what: &str, want: &[Tensor], got: &[Tensor]) {
    assert_eq!(want.len(), got.len(), "{what}");
    for (i, (want, got)) in want.iter().zip(got).enumerate() {
        let layout = |t: &Tensor| TensorDesc::of(t.tensor_ref()).layout_name();
        assert_eq!(layout(got), layout(want), "{what}");
        let dtype = if i == 0 { DType::BF16 } else { DType::F32 };
        assert_eq!(got.tensor_ref().dtype(), dtype, "{what}");
        let rounded = |v: f32| if i == 0 { bf16::from_f32(v).to_f32() } else { v };
        let (want, got) = (elements(want), elements(got));
        assert_eq!(want.len(), got.len(), "{what}");
        for (at, (&want, &got)) in want.iter().zip(&got).enumerate() {
            let want = rounded(want);
            let equal = want.to_bits() == got.to_bits() || want.is_nan() && got.is_nan();
            assert!(equal, "{what}, result {i}, element {at}: {got:e}, not {want:e}");
        }
    }
}

fn ints(value: i64, count: usize) -> Value {
    vec![value; count].into()
}

#[test]
fn pooling_is_that_of_f32_rounded_once() {
    let (mut rng, mut ran) = (Rng(2601), 0);
    for dims in SIZES {
        let rank = dims.len() - 2;
        for special in [false, true] {
            let x = numbers(&mut rng, dims, special);
            for (kernel, stride, padding) in
                [(3, 2, 1), (2, 2, 0), (3, 1, 1), (5, 1, 2), (1, 1, 0), (2, 3, 1), (9, 2, 4)]
            {
                let window = [
                    ("kernel", ints(kernel, rank)),
                    ("stride", ints(stride, rank)),
                    ("padding", ints(padding, rank)),
                ];
                ran += check(["max_pool1d", "max_pool2d", "max_pool3d"][rank - 1], &x, &window);
                ran += check(["avg_pool1d", "avg_pool2d", "avg_pool3d"][rank - 1], &x, &window);
            }
            let dilated =
                [("kernel", ints(2, rank)), ("dilation", ints(3, rank)), ("padding", ints(1, rank))];
            ran += check(["max_pool1d", "max_pool2d", "max_pool3d"][rank - 1], &x, &dilated);
            for output in [1, 2, 3, 11] {
                let output = [("output", ints(output, rank))];
                let average = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d"];
                let largest = ["adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"];
                ran += check(average[rank - 1], &x, &output);
                ran += check(largest[rank - 1], &x, &output);
            }
            ran += check("global_avg_pool", &x, &[]);
            ran += check("global_max_pool", &x, &[]);
        }
    }
    assert!(ran > 4000, "{ran}");
}

#[test]
fn reductions_are_those_of_f32_rounded_once() {
    let (mut rng, mut ran) = (Rng(2602), 0);
    for dims in SIZES.into_iter().chain([&[1, 17, 200, 300][..], &[40_000, 1, 3]]) {
        let rank = dims.len() as i64;
        for special in [false, true] {
            let x = numbers(&mut rng, dims, special);
            let sets = [vec![], vec![1], vec![0], vec![rank - 1], vec![2, rank - 1], vec![0, 1], vec![1, -1]];
            for op in ["sum", "mean", "prod", "amax", "amin"] {
                for axes in &sets {
                    for keepdim in [true, false] {
                        ran += check(op, &x, &[("axes", axes.clone().into()), ("keepdim", keepdim.into())]);
                    }
                }
            }
        }
    }
    assert!(ran > 10_000, "{ran}");
}

#[test]
fn softmax_is_that_of_f32_rounded_once() {
    let (mut rng, mut ran) = (Rng(2603), 0);
    // Lines in scratch, lines side by side in the tensor, and lines that are too long for scratch.
    let more: [&[usize]; 4] = [&[1, 70, 9, 8], &[2, 5, 65], &[1, 5000, 3], &[2, 3, 5000]];
    for dims in SIZES.into_iter().chain(more) {
        let x = numbers(&mut rng, dims, false);
        let special = numbers(&mut rng, dims, true);
        for axis in 0..dims.len() as i64 {
            for op in ["softmax", "log_softmax"] {
                ran += check(op, &x, &[("axis", axis.into())]);
                ran += check(op, &special, &[("axis", axis.into())]);
            }
        }
    }
    assert!(ran > 2000, "{ran}");
}

#[test]
fn norms_are_those_of_f32_rounded_once() {
    let (mut rng, mut ran) = (Rng(2604), 0);
    for dims in SIZES.into_iter().chain([&[2, 32, 40, 60][..]]) {
        let c = dims[1];
        let mut vector = |n: usize| -> Value {
            let values: Vec<f32> = rng.reals(n).into_iter().map(|v| v.abs() + 0.1).collect();
            Tensor::from(StridedTensor::from_slice(&values, &[n]).unwrap()).into()
        };
        let [mean, var, weight, bias] = std::array::from_fn(|_| vector(c));
        let affine = [("weight", weight), ("bias", bias)];
        let with = |more: &[(&'static str, Value)]| [more, &affine].concat();
        let of_pixels = dims[2..].iter().product::<usize>();
        let [w, b] = std::array::from_fn(|_| vector(of_pixels));
        let [wide, shift] = std::array::from_fn(|_| vector(c * of_pixels));
        let shape =
            |from: usize| -> Value { dims[from..].iter().map(|&d| d as i64).collect::<Vec<_>>().into() };
        for special in [false, true] {
            let x = numbers(&mut rng, dims, special);
            let statistics = [("mean", mean.clone()), ("var", var.clone())];
            ran += check("batch_norm", &x, &statistics);
            ran += check("batch_norm", &x, &with(&statistics));
            ran += check(
                "batch_norm_train",
                &x,
                &with(&[("running_mean", mean.clone()), ("running_var", var.clone())]),
            );
            for groups in [1, c as i64] {
                ran += check("group_norm", &x, &with(&[("groups", groups.into())]));
                ran += check("group_norm", &x, &[("groups", groups.into())]);
            }
            ran += check("instance_norm", &x, &affine);
            ran += check("layer_norm", &x, &[("normalized_shape", shape(2))]);
            ran += check(
                "layer_norm",
                &x,
                &[("normalized_shape", shape(2)), ("weight", w.clone()), ("bias", b.clone())],
            );
            ran += check("layer_norm", &x, &[("normalized_shape", shape(1))]);
            ran += check(
                "layer_norm",
                &x,
                &[("normalized_shape", shape(1)), ("weight", wide.clone()), ("bias", shift.clone())],
            );
            for size in [1i64, 4, 5] {
                for beta in [0.75, 0.4] {
                    let window = [("size", size.into()), ("alpha", 0.3.into()), ("beta", beta.into())];
                    ran += check("local_response_norm", &x, &window);
                }
            }
        }
    }
    assert!(ran > 3000, "{ran}");
}

#[test]
fn resampling_is_that_of_f32_rounded_once() {
    let (mut rng, mut ran) = (Rng(2605), 0);
    for dims in SIZES {
        let rank = dims.len() - 2;
        for special in [false, true] {
            let x = numbers(&mut rng, dims, special);
            for output in [1, 3, 10, 2 * dims[dims.len() - 1] as i64, dims[dims.len() - 1] as i64] {
                let output = ("output", ints(output, rank));
                ran += check("upsample_nearest", &x, std::slice::from_ref(&output));
                let linear = ["upsample_linear", "upsample_bilinear", "upsample_trilinear"][rank - 1];
                for corners in [false, true] {
                    ran += check(linear, &x, &[output.clone(), ("align_corners", corners.into())]);
                }
            }
            if rank == 1 {
                continue;
            }
            let grid_dims = [&[dims[0]][..], &[5, 7, 3][..rank], &[rank]].concat();
            let mut points = rng.reals(grid_dims.iter().product());
            if let Some(first) = points.first_mut() {
                *first = f32::NAN;
            }
            let grid: Tensor = StridedTensor::from_slice(&points, &grid_dims).unwrap().into();
            for mode in ["bilinear", "nearest", "bicubic"] {
                for padding in ["zeros", "border", "reflection"] {
                    let how = [
                        ("grid", grid.clone().into()),
                        ("mode", mode.into()),
                        ("padding_mode", padding.into()),
                    ];
                    ran += check("grid_sample", &x, &how);
                }
            }
        }
    }
    assert!(ran > 4000, "{ran}");
}

#[test]
fn where_selects_the_bits() {
    let mut rng = Rng(2606);
    for dims in SIZES {
        let (a, b) = (numbers(&mut rng, dims, true), numbers(&mut rng, dims, true));
        let condition = ops::gt_scalar(&numbers(&mut rng, dims, false), 0.0).unwrap();
        let narrow = [&a, &b].map(|t| forms(&t.to_dtype(DType::BF16).unwrap()));
        let wide = [&a, &b].map(forms);
        for (i, (form, condition)) in forms(&condition).into_iter().enumerate() {
            let of = |list: &[Vec<(&'static str, Tensor)>; 2]| {
                ops::where_(&condition, &list[0][i].1, &list[1][i].1).unwrap()
            };
            same(&format!("{dims:?} {form}"), &[of(&wide)], &[of(&narrow)]);
        }
        let e = ops::where_(&condition, &a, &b.to_dtype(DType::BF16).unwrap()).unwrap_err();
        assert!(matches!(e, Error::DTypeMismatch(_)), "{e}");
    }
}
