//! What only moves elements between `dequantize` and `quantize` moves integers; average pools compute with them.

use blocktensor::dispatch::Isa;
use blocktensor::{DType, StridedTensor};
use blocktensor_graph::{Constant, Integer, Layouts, Param, Pass, Plan, PlanOptions, ValueId};

use crate::integers::{Net, as_written};
use crate::support::random;

/// Sizes with every tail of channels, several images, none, and images of few pixels.
const SIZES: [[usize; 4]; 9] = [
    [1, 1, 4, 6],
    [2, 3, 2, 2],
    [1, 15, 6, 4],
    [0, 16, 4, 4],
    [1, 16, 4, 2],
    [2, 17, 2, 4],
    [1, 31, 2, 2],
    [1, 33, 4, 8],
    [0, 17, 2, 2],
];

fn bits(plan: &Plan, x: &StridedTensor) -> Vec<Vec<u32>> {
    let of = |t: &StridedTensor| t.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect();
    plan.run(&[x]).unwrap().iter().map(of).collect()
}

/// How many steps make f32 of integers, or integers of f32.
fn conversions(plan: &Plan) -> usize {
    plan.steps().filter(|step| ["quantize", "dequantize"].contains(&step.op)).count()
}

/// The dtypes that the steps of an op make.
fn dtypes(plan: &Plan, op: &str) -> Vec<DType> {
    let steps = plan.steps().filter(|step| step.op == op);
    steps.flat_map(|step| step.outputs.iter().map(|t| t.desc.dtype()).collect::<Vec<_>>()).collect()
}

fn s32(n: &mut Net, dims: &[usize], values: Vec<i64>) -> ValueId {
    n.constant(Constant::Int { of: Integer::I32, dims: dims.to_vec(), values })
}

type Moved = (&'static str, Vec<(&'static str, Param)>);

/// Each op that only moves elements, with parameters for a tensor of these sizes.
fn movements([_, c, h, w]: [usize; 4]) -> Vec<Moved> {
    let ints = |list: &[usize]| Param::from(list.iter().map(|v| *v as i64).collect::<Vec<_>>());
    let mut all: Vec<Moved> = vec![
        ("pad", vec![("padding", vec![1i64, 2, 3, 0].into())]),
        ("pad", vec![("padding", vec![0i64, 1, 0, 0, 2, 1].into()), ("value", 0.5.into())]),
        ("pad", vec![("padding", vec![1i64, 0, 1, 1].into()), ("mode", "reflect".into())]),
        ("pad", vec![("padding", vec![1i64, 0, -1, 1].into()), ("mode", "replicate".into())]),
        ("channel_shuffle", vec![("groups", (c as i64).into())]),
        ("pixel_unshuffle", vec![("factor", 2i64.into())]),
        ("flip", vec![("axes", vec![1i64, 3].into())]),
        ("roll", vec![("shifts", vec![1i64].into()), ("axes", vec![1i64].into())]),
        ("split", vec![("sizes", ints(&[1, h - 1])), ("axis", 2i64.into())]),
        ("upsample_nearest", vec![("output", ints(&[2 * h, 3 * w + 1]))]),
        ("narrow", vec![("axis", 1i64.into()), ("start", ((c / 2) as i64).into()), ("length", 1i64.into())]),
        ("permute", vec![("axes", vec![0i64, 2, 3, 1].into())]),
        ("max_pool2d", vec![("kernel", vec![2i64, 2].into()), ("padding", vec![1i64, 0].into())]),
        ("adaptive_max_pool2d", vec![("output", ints(&[1, 2]))]),
        ("global_max_pool", vec![]),
        ("index_select", vec![("axis", 1i64.into())]),
        ("gather", vec![("axis", 2i64.into())]),
    ];
    if c % 4 == 0 {
        all.push(("pixel_shuffle", vec![("factor", 2i64.into())]));
    }
    if c > 1 {
        let first = c.div_ceil(3);
        all.push(("split", vec![("sizes", ints(&[first, c - first])), ("axis", 1i64.into())]));
    }
    all
}

/// `quantize`, `dequantize`, an op, and both again with another scale, or the same.
fn net(dims: [usize; 4], (op, params): &Moved, from: (f32, i64, &str), to: (f32, i64, &str)) -> Net {
    let mut n = Net::new();
    let image = n.graph.input("image", &dims.map(Into::into)).unwrap();
    let x = n.rounded(image, from.0, from.1, from.2);
    let [images, c, h, w] = dims;
    let mut inputs = vec![("x", x)];
    match *op {
        "index_select" => inputs.push(("index", s32(&mut n, &[3], vec![c as i64 - 1, 0, (c / 2) as i64]))),
        "gather" => {
            let rows = (0..images * c * w).map(|i| (i * 7 % h) as i64).collect();
            inputs.push(("index", s32(&mut n, &[images, c, 1, w], rows)));
        }
        _ => {}
    }
    let outputs: &[&str] = if *op == "split" { &["first", "second"] } else { &["moved"] };
    let results = n.graph.ops("node", op, &inputs, params, outputs).unwrap();
    for (i, y) in results.into_iter().enumerate() {
        let y = n.rounded(y, to.0, to.1, to.2);
        n.graph.output(&format!("y{i}"), y).unwrap();
    }
    n
}

#[test]
fn movements_between_equal_scales_move_integers_alone() {
    let mut ran = 0;
    for (i, dims) in SIZES.into_iter().enumerate() {
        let x = random(&dims, 31 + i as u64);
        for moved in movements(dims) {
            // 0.5 is 50 steps of the first scale, and no whole number of the second.
            let pair = [(0.01, 120, "u8"), (0.013, -7, "s8"), (0.02, 0, "u8")][i % 3];
            let n = net(dims, &moved, pair, pair);
            let want = bits(&as_written(&n.graph), &x);
            for layouts in Layouts::FIXED {
                let plan = n.graph.plan(&PlanOptions::new(layouts)).unwrap();
                let what = format!("{moved:?} of {dims:?} {pair:?}, {layouts:?}: {plan}");
                assert_eq!(bits(&plan, &x), want, "{what}");
                assert_eq!(conversions(&plan), 1 + want.len(), "{what}");
                assert!(dtypes(&plan, moved.0).iter().all(|dtype| *dtype != DType::F32), "{what}");
                ran += 1;
            }
        }
    }
    assert!(ran > 400, "{ran}");
}

#[test]
fn movements_between_other_scales_keep_each_rounding() {
    for (i, dims) in SIZES.into_iter().enumerate() {
        let x = random(&dims, 51 + i as u64);
        for moved in movements(dims) {
            let (from, to) = ((0.01, 120, "u8"), [(0.02, 3, "s8"), (0.0075, 100, "u8")][i % 2]);
            let n = net(dims, &moved, from, to);
            let want = bits(&as_written(&n.graph), &x);
            for layouts in Layouts::FIXED {
                let plan = n.graph.plan(&PlanOptions::new(layouts)).unwrap();
                assert_eq!(bits(&plan, &x), want, "{moved:?} of {dims:?}, {layouts:?}: {plan}");
                assert!(dtypes(&plan, moved.0).iter().all(|dtype| *dtype != DType::F32), "{moved:?}: {plan}");
            }
        }
    }
}

/// A number that is none of the operand's pads integers only where it is rounded to one of them anyway.
#[test]
fn padding_is_an_integer_only_where_that_changes_nothing() {
    let dims = [1, 17, 3, 5];
    let x = random(&dims, 71);
    for (value, zero, is_whole) in [
        (0.0, 120, true),
        // 50 steps of 0.01, and a little less.
        (0.5, 120, true),
        (0.503, 120, false),
        (-0.0, 120, false),
        // Beyond the largest integer, and no number.
        (9.0, 120, false),
        (f64::NAN, 120, false),
        (f64::NEG_INFINITY, 0, false),
    ] {
        // Who reads the padded tensor: a function, `quantize` with the same scale, or both.
        for (is_rounded, is_used) in [(false, true), (true, false), (true, true)] {
            let mut n = Net::new();
            let image = n.graph.input("image", &dims.map(Into::into)).unwrap();
            let x_rounded = n.rounded(image, 0.01, zero, "u8");
            let params: [(&str, Param); 2] =
                [("padding", vec![1i64, 1, 1, 1].into()), ("value", value.into())];
            let padded = n.op("pad", &[("x", x_rounded)], &params);
            if is_rounded {
                let y = n.rounded(padded, 0.01, zero, "u8");
                n.graph.output("rounded", y).unwrap();
            }
            if is_used {
                let y = n.op("tanh", &[("x", padded)], &[]);
                n.graph.output("used", y).unwrap();
            }
            let want = bits(&as_written(&n.graph), &x);
            for layouts in Layouts::FIXED {
                let plan = n.graph.plan(&PlanOptions::new(layouts)).unwrap();
                let what = format!("{value} {zero} {is_rounded} {is_used} {layouts:?}: {plan}");
                let dtype = if is_whole || !is_used { DType::U8 } else { DType::F32 };
                assert_eq!(dtypes(&plan, "pad"), [dtype], "{what}");
                assert_eq!(bits(&plan, &x), want, "{what}");
            }
        }
    }
}

/// Zeros are an integer only where the zero point is 0; a concatenation of a concatenation, and what follows one, joins integers.
#[test]
fn zeros_and_concatenations_are_integers() {
    for zero in [0, 120] {
        let dims = [2, 17, 5, 3];
        let mut n = Net::new();
        let image = n.graph.input("image", &dims.map(Into::into)).unwrap();
        let x = n.rounded(image, 0.01, zero, "u8");
        let lower = n.op("tril", &[("x", x)], &[]);
        let axis: [(&str, Param); 1] = [("axis", 1.into())];
        let twice = n.op("cat", &[("tensors", x), ("tensors", x)], &axis);
        let wide = n.op("cat", &[("tensors", twice), ("tensors", twice)], &[("axis", 3.into())]);
        let turned = n.op("flip", &[("x", wide)], &[("axes", vec![2i64].into())]);
        for (name, value) in [("lower", lower), ("turned", turned)] {
            let y = n.rounded(value, 0.01, zero, "u8");
            n.graph.output(name, y).unwrap();
        }
        let x = random(&dims, 91);
        let want = bits(&as_written(&n.graph), &x);
        for layouts in Layouts::FIXED {
            let plan = n.graph.plan(&PlanOptions::new(layouts)).unwrap();
            assert_eq!(bits(&plan, &x), want, "{layouts:?}: {plan}");
            let of_zeros = if zero == 0 { DType::U8 } else { DType::F32 };
            assert_eq!(dtypes(&plan, "tril"), [of_zeros], "{layouts:?}: {plan}");
            assert_eq!(dtypes(&plan, "cat"), [DType::U8; 2], "{layouts:?}: {plan}");
            assert_eq!(dtypes(&plan, "flip"), [DType::U8], "{layouts:?}: {plan}");
        }
    }
}

/// One step for `dequantize`, an average pool and `quantize`. The graph's own steps round in f32: they may differ beside a tie.
#[test]
fn average_pools_compute_with_integers() {
    let window: Vec<(&str, Param)> = vec![
        ("kernel", vec![3i64, 2].into()),
        ("stride", vec![1i64, 2].into()),
        ("padding", vec![1i64, 0, 1, 1].into()),
    ];
    let without: Vec<(&str, Param)> = [&window[..], &[("count_include_pad", false.into())]].concat();
    let pools: [(&str, Vec<(&str, Param)>); 4] = [
        ("avg_pool2d", window),
        ("avg_pool2d", without),
        ("global_avg_pool", vec![]),
        ("adaptive_avg_pool2d", vec![("output", vec![1i64, 2].into())]),
    ];
    let (mut all, mut apart) = (0, 0);
    for (i, dims) in SIZES.into_iter().chain([[1, 17, 1, 2], [1, 33, 14, 14]]).enumerate() {
        let x = random(&dims, 11 + i as u64);
        for (op, params) in &pools {
            // Scales that are powers of two: f32 rounds nothing on the way.
            for (from, to) in [
                ((0.0078125, 120, "u8"), (0.0078125, 120, "u8")),
                ((0.0078125, 120, "u8"), (0.00390625, -3, "s8")),
                ((0.0113, -5, "s8"), (0.0113, -5, "s8")),
                ((0.0113, 110, "u8"), (0.0049, 7, "u8")),
            ] {
                let n = net(dims, &(op, params.clone()), from, to);
                let want = &as_written(&n.graph).run(&[&x]).unwrap()[0].to_vec::<f32>().unwrap();
                let without = PlanOptions::new(Layouts::Nchw).without(Pass::UseIntegers);
                assert_eq!(dtypes(&n.graph.plan(&without).unwrap(), "quantized_avg_pool"), []);
                for layouts in Layouts::FIXED {
                    let plan = n.graph.plan(&PlanOptions::new(layouts).keep_constants()).unwrap();
                    let what = format!("{op} of {dims:?} {from:?} {to:?}, {layouts:?}: {plan}");
                    assert_eq!(dtypes(&plan, "quantized_avg_pool").len(), 1, "{what}");
                    assert_eq!((dtypes(&plan, op), conversions(&plan)), (vec![], 2), "{what}");
                    let got = &plan.run(&[&x]).unwrap()[0].to_vec::<f32>().unwrap();
                    assert_eq!(got.len(), want.len(), "{what}");
                    let far = got.iter().zip(want).filter(|(g, w)| (*g - *w).abs() > 1.01 * to.0).count();
                    let other = got.iter().zip(want).filter(|(g, w)| g != w).count();
                    assert_eq!(far, 0, "{what}");
                    if from.0.to_bits() << 9 == 0 {
                        assert_eq!(other, 0, "{what}");
                    }
                    (all, apart) = (all + got.len(), apart + other);
                    let errors = plan.errors(&[&x]).unwrap();
                    let wrong = errors
                        .steps
                        .iter()
                        .filter(|s| s.op == "quantized_avg_pool" && s.relative_l2 != Some(0.0));
                    assert!(dims[0] == 0 || wrong.count() == 0, "{what}: {errors}");
                }
            }
        }
    }
    assert!(all > 10_000 && apart * 20 < all, "{apart} of {all}");
}

/// The mean of all pixels, whose two axes of size 1 are gone before it is quantised.
#[test]
fn a_view_may_be_between_a_pool_and_its_rounding() {
    let mut n = Net::new();
    let image = n.graph.input("image", &[2, 33, 7, 7].map(Into::into)).unwrap();
    let x = n.rounded(image, 0.0078125, 100, "u8");
    let y = n.op("global_avg_pool", &[("x", x)], &[]);
    let y = n.op("view", &[("x", y)], &[("dims", vec![2i64, 33].into())]);
    let y = n.rounded(y, 0.001953125, 120, "u8");
    n.graph.output("y", y).unwrap();
    let x = random(&[2, 33, 7, 7], 3);
    let want = bits(&as_written(&n.graph), &x);
    for layouts in Layouts::FIXED {
        let plan = n.graph.plan(&PlanOptions::new(layouts)).unwrap();
        assert_eq!(bits(&plan, &x), want, "{layouts:?}: {plan}");
        assert_eq!(dtypes(&plan, "quantized_avg_pool"), [DType::U8], "{layouts:?}: {plan}");
    }
}

/// A pool of windows of different sizes, and one whose mean is used in f32, too.
#[test]
fn other_average_pools_stay_as_they_are() {
    let mut n = Net::new();
    let image = n.graph.input("image", &[1, 17, 5, 5].map(Into::into)).unwrap();
    let x = n.rounded(image, 0.01, 100, "u8");
    let uneven = n.op("adaptive_avg_pool2d", &[("x", x)], &[("output", vec![2i64, 2].into())]);
    let uneven = n.rounded(uneven, 0.01, 100, "u8");
    let both = n.op("global_avg_pool", &[("x", x)], &[]);
    let rounded = n.rounded(both, 0.01, 100, "u8");
    for (name, value) in [("uneven", uneven), ("both", both), ("rounded", rounded)] {
        n.graph.output(name, value).unwrap();
    }
    let x = random(&[1, 17, 5, 5], 3);
    let want = bits(&as_written(&n.graph), &x);
    for layouts in Layouts::FIXED {
        let plan = n.graph.plan(&PlanOptions::new(layouts)).unwrap();
        assert_eq!(bits(&plan, &x), want, "{layouts:?}: {plan}");
        assert_eq!(dtypes(&plan, "quantized_avg_pool"), [], "{layouts:?}: {plan}");
    }
}

/// A number for each channel, as a batch norm that no convolution took leaves it.
#[test]
fn numbers_for_channels_join_sums_and_products_of_integers() {
    for dims in SIZES {
        let c = dims[1];
        let mut n = Net::new();
        let image = n.graph.input("image", &dims.map(Into::into)).unwrap();
        let x = n.rounded(image, 0.01, 120, "u8");
        let of = |n: &mut Net, seed| {
            let values = random(&[1, c, 1, 1], seed);
            n.constant(Constant::F32(values))
        };
        let (factors, more) = (of(&mut n, 1), of(&mut n, 2));
        let y = n.op("mul", &[("a", x), ("b", factors)], &[]);
        let y = n.rounded(y, 0.008, 3, "s8");
        let z = n.op("add", &[("a", more), ("b", y)], &[]);
        let z = n.rounded(z, 0.015, 130, "u8");
        n.graph.output("z", z).unwrap();
        let x = random(&dims, 17);
        let want = bits(&as_written(&n.graph), &x);
        for layouts in Layouts::FIXED {
            let plan = n.graph.plan(&PlanOptions::new(layouts)).unwrap();
            let what = format!("{dims:?}, {layouts:?}: {plan}");
            assert_eq!(bits(&plan, &x), want, "{what}");
            if c == 1 {
                // It is one number, as for any other tensor.
                continue;
            }
            assert_eq!(dtypes(&plan, "quantized_mul"), [DType::S8], "{what}");
            assert_eq!(dtypes(&plan, "quantized_add"), [DType::U8], "{what}");
            assert_eq!(conversions(&plan), 2, "{what}");
        }
    }
}

/// Squeeze-and-excitation: a convolution whose integers a mean and a product read, and whose gate is a number for each channel. Only what has
/// one pixel is f32.
#[test]
fn squeeze_and_excitation_computes_with_integers() {
    for c in [1usize, 15, 16, 17, 33] {
        let dims = [2, 5, 6, 7];
        let mut n = Net::new();
        let image = n.graph.input("image", &dims.map(Into::into)).unwrap();
        let x = n.rounded(image, 0.01, 120, "u8");
        let y = n.conv(x, &[c, 5, 3, 3], &[]);
        let y = n.op("relu", &[("x", y)], &[]);
        let y = n.rounded(y, 0.0078125, 0, "u8");
        let mean = n.op("global_avg_pool", &[("x", y)], &[]);
        let mean = n.rounded(mean, 0.00390625, 0, "u8");
        let gate = n.conv(mean, &[c, c, 1, 1], &[]);
        let gate = n.op("hardsigmoid", &[("x", gate)], &[]);
        let gate = n.rounded(gate, 0.00390625, 0, "u8");
        let y = n.op("mul", &[("a", gate), ("b", y)], &[]);
        let y = n.rounded(y, 0.0078125, 3, "u8");
        n.graph.output("y", y).unwrap();
        let x = random(&dims, 5);
        for layouts in Layouts::FIXED {
            let plan = n.graph.plan(&PlanOptions::new(layouts)).unwrap();
            // The sums of a convolution of integers are exact, those of f32 are not: what follows them is compared alone.
            let kept = n.graph.plan(&PlanOptions::new(layouts).without(Pass::FusePostOps)).unwrap();
            assert_eq!(bits(&plan, &x), bits(&kept, &x), "{c} {layouts:?}: {plan}");
            if !Isa::has_byte_products() {
                continue;
            }
            let made: Vec<(&str, DType)> = plan
                .steps()
                .filter(|s| s.outputs[0].desc.dims()[2..] == [4, 5])
                .map(|s| (s.op, s.outputs[0].desc.dtype()))
                .collect();
            let want = [("conv2d", DType::U8), ("quantized_mul", DType::U8), ("dequantize", DType::F32)];
            let computed: Vec<_> = made.into_iter().filter(|(op, _)| !op.contains("reorder")).collect();
            assert_eq!(computed, want, "{c} {layouts:?}: {plan}");
            assert_eq!(dtypes(&plan, "quantized_avg_pool"), [DType::U8], "{c} {layouts:?}: {plan}");
        }
    }
}
