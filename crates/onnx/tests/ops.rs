//! Single ops whose attributes ONNX's own tests leave out.

use crate::support::{Model, assert_close, float, int, ints, ramp, word};

fn x4() -> Model {
    Model::new().input("x", &[1, 1, 4, 4])
}

#[test]
fn asymmetric_pads_of_pools() {
    let x: Vec<f32> = (1..=16).map(|v| v as f32).collect();
    let run = |op: &str, attributes| {
        x4().node_with(op, &["x"], &["y"], attributes).output("y").run(&[("x", &[1, 1, 4, 4], &x)])
    };
    let window =
        |pads: &[i64]| vec![ints("kernel_shape", &[3, 3]), ints("strides", &[2, 2]), ints("pads", pads)];
    let y = run("MaxPool", window(&[0, 0, 1, 1]));
    assert_eq!(y[0], (vec![1, 1, 2, 2], vec![11.0, 12.0, 15.0, 16.0]));
    // Means of what is inside the source, and of zeros too.
    let y = run("AveragePool", window(&[0, 0, 1, 1]));
    assert_close(&y[0].1, &[6.0, 7.5, 12.0, 13.5]);
    let with = [window(&[0, 0, 1, 1]), vec![int("count_include_pad", 1)]].concat();
    let y = run("AveragePool", with);
    assert_close(&y[0].1, &[6.0, 45.0 / 9.0, 72.0 / 9.0, 54.0 / 9.0]);
    // The last window of `ceil_mode` reaches one element beyond the source.
    let ceil = vec![ints("kernel_shape", &[3, 3]), ints("strides", &[2, 2]), int("ceil_mode", 1)];
    let y = run("AveragePool", ceil.clone());
    assert_close(&y[0].1, &[6.0, 7.5, 12.0, 13.5]);
    let y = run("MaxPool", ceil.clone());
    assert_eq!(y[0].1, [11.0, 12.0, 15.0, 16.0]);
    // Also where it is the only one along an axis.
    let low = |op: &str| {
        let model = Model::new().input("x", &[1, 1, 2, 4]).node_with(op, &["x"], &["y"], ceil.clone());
        model.output("y").run(&[("x", &[1, 1, 2, 4], &x[..8])])
    };
    assert_eq!(low("MaxPool")[0], (vec![1, 1, 1, 2], vec![7.0, 8.0]));
    assert_close(&low("AveragePool")[0].1, &[4.0, 5.5]);
    let same = vec![ints("kernel_shape", &[2, 2]), word("auto_pad", "SAME_LOWER")];
    let y = run("MaxPool", same);
    assert_eq!(y[0].1, x);
}

#[test]
fn convolutions_pad_as_they_are_told() {
    let x = ramp(16);
    let run = |attributes| {
        let model = x4().floats("w", &[1, 1, 2, 2], &[1.0, 0.0, 0.0, 0.0]);
        model.node_with("Conv", &["x", "w"], &["y"], attributes).output("y").run(&[("x", &[1, 1, 4, 4], &x)])
    };
    assert_eq!(run(vec![word("auto_pad", "SAME_UPPER")])[0].1, x);
    let lower = run(vec![word("auto_pad", "SAME_LOWER")]);
    assert_eq!(lower[0].0, [1, 1, 4, 4]);
    assert_eq!(lower[0].1[5..8], x[0..3]);
    assert_eq!(run(vec![word("auto_pad", "VALID")])[0].0, [1, 1, 3, 3]);
    assert_eq!(run(vec![ints("pads", &[1, 0, 0, 2])])[0].0, [1, 1, 4, 5]);
}

#[test]
fn softmax_of_old_versions_is_of_a_matrix() {
    let x = [0.0, 1.0, 2.0, 3.0];
    let run = |version, attributes| {
        let model = Model::new().opset(version).input("x", &[1, 2, 2]);
        model.node_with("Softmax", &["x"], &["y"], attributes).output("y").run(&[("x", &[1, 2, 2], &x)])
    };
    let sum: f32 = x.iter().map(|v| v.exp()).sum();
    assert_close(&run(12, vec![])[0].1, &x.map(|v| v.exp() / sum));
    let pair = 1.0 + 1f32.exp();
    assert_close(&run(13, vec![])[0].1, &[1.0 / pair, 1f32.exp() / pair, 1.0 / pair, 1f32.exp() / pair]);
}

#[test]
fn gemm_scales_its_terms() {
    let run = |model: Model, attributes| {
        let inputs: &[(&str, &[usize], &[f32])] =
            &[("a", &[2, 2], &[1.0, 2.0, 3.0, 4.0]), ("b", &[2, 2], &[1.0, 0.0, 1.0, 1.0])];
        let count = model.graph.input.len();
        model.node_with("Gemm", &["a", "b", "c"], &["y"], attributes).output("y").run(&inputs[..count])
    };
    let constant = || Model::new().input("a", &[2, 2]).floats("b", &[2, 2], &[1.0, 0.0, 1.0, 1.0]);
    let both = || Model::new().input("a", &[2, 2]).input("b", &[2, 2]);
    for model in [constant as fn() -> Model, both] {
        let attributes = || vec![float("alpha", 2.0), float("beta", 0.5), int("transA", 1)];
        let y = run(model().floats("c", &[2], &[2.0, 4.0]), attributes());
        // A^T B = [[4, 3], [6, 4]].
        assert_close(&y[0].1, &[9.0, 8.0, 13.0, 10.0]);
        let y = run(model().floats("c", &[2, 1], &[2.0, 4.0]), attributes());
        assert_close(&y[0].1, &[9.0, 7.0, 14.0, 10.0]);
        let y = run(model().floats("c", &[], &[2.0]), vec![int("transB", 1)]);
        assert_close(&y[0].1, &[3.0, 5.0, 5.0, 9.0]);
    }
}

#[test]
fn einsum_is_a_product_of_matrices() {
    let (a, b) = (ramp(12), ramp(24));
    let y = Model::new()
        .input("a", &[1, 2, 3, 2])
        .input("b", &[1, 2, 4, 3])
        .node_with("Einsum", &["a", "b"], &["y"], vec![word("equation", "b g i d, b g j i -> b j g d")])
        .output("y")
        .run(&[("a", &[1, 2, 3, 2], &a), ("b", &[1, 2, 4, 3], &b)]);
    let mut want = Vec::new();
    for j in 0..4 {
        for g in 0..2 {
            for d in 0..2 {
                want.push((0..3).map(|i| a[(g * 3 + i) * 2 + d] * b[(g * 4 + j) * 3 + i]).sum());
            }
        }
    }
    assert_eq!(y[0].0, [1, 4, 2, 2]);
    assert_close(&y[0].1, &want);
    let y = Model::new()
        .input("a", &[2, 3])
        .node_with("Einsum", &["a"], &["y"], vec![word("equation", "ij->j")])
        .output("y")
        .run(&[("a", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])]);
    assert_close(&y[0].1, &[5.0, 7.0, 9.0]);
}

#[test]
fn slices_and_pads_of_tensors() {
    let x: Vec<f32> = (0..6).map(|v| v as f32).collect();
    let y = Model::new()
        .input("x", &[6])
        .ints("s", &[-1])
        .ints("e", &[-7])
        .ints("a", &[0])
        .ints("k", &[-2])
        .node("Slice", &["x", "s", "e", "a", "k"], &["y"])
        .output("y")
        .run(&[("x", &[6], &x)]);
    assert_eq!(y[0].1, [5.0, 3.0, 1.0]);
    let pad = |mode: &str, pads: &[i64]| {
        let model = Model::new().opset(19).input("x", &[6]).ints("p", pads);
        model
            .node_with("Pad", &["x", "p"], &["y"], vec![word("mode", mode)])
            .output("y")
            .run(&[("x", &[6], &x)])
            .remove(0)
            .1
    };
    assert_eq!(pad("constant", &[-2, 1]), [2.0, 3.0, 4.0, 5.0, 0.0]);
    assert_eq!(pad("reflect", &[2, -3]), [2.0, 1.0, 0.0, 1.0, 2.0]);
    assert_eq!(pad("edge", &[1, 1]), [0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 5.0]);
    assert_eq!(pad("wrap", &[2, 1]), [4.0, 5.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.0]);
}

#[test]
fn booleans_of_a_run() {
    let y = Model::new()
        .input("x", &[4])
        .floats("one", &[], &[1.0])
        .floats("three", &[], &[3.0])
        .node("Greater", &["x", "one"], &["a"])
        .node("Less", &["x", "three"], &["b"])
        .node("And", &["a", "b"], &["both"])
        .node("Xor", &["a", "b"], &["one_of"])
        .node("Not", &["both"], &["none"])
        .node_with("Cast", &["both"], &["n"], vec![int("to", 1)])
        .output("n")
        .output("one_of")
        .output("none")
        .run(&[("x", &[4], &[0.0, 2.0, 3.0, 2.5])]);
    assert_eq!(y[0].1, [0.0, 1.0, 0.0, 1.0]);
    assert_eq!(y[1].1, [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(y[2].1, [1.0, 0.0, 1.0, 0.0]);
}

#[test]
fn operands_for_channels_become_channel_ops() {
    let graph = Model::new()
        .input("x", &[1, 3, 2, 2])
        .floats("c", &[3, 1, 1], &[1.0, 2.0, 3.0])
        .floats("s", &[], &[2.0])
        .node("Mul", &["x", "c"], &["a"])
        .node("Sub", &["a", "c"], &["b"])
        .node("Sub", &["s", "b"], &["y"])
        .output("y")
        .read()
        .expect("a graph");
    let network = graph.with_sizes(&blocktensor_graph::Sizes::new()).expect("a network");
    let ops: Vec<&str> = network.nodes().iter().map(|n| n.operator().op()).collect();
    assert_eq!(ops, ["mul_channel", "add_channel", "neg", "add_scalar"]);
}

#[test]
fn scales_of_a_resize_are_f32() {
    let run = |size: i64, scale: f32, words: &[(&str, &str)], roi: &[f32]| {
        let x = ramp(size as usize);
        let model = Model::new().input("x", &[1, 1, size]).floats("s", &[3], &[1.0, 1.0, scale]);
        let model = model.floats("r", &[roi.len() as i64], roi);
        let words = words.iter().map(|(name, value)| word(name, value)).collect();
        let dims = [1, 1, size as usize];
        model.node_with("Resize", &["x", "r", "s"], &["y"], words).output("y").run(&[("x", &dims, &x)])[0]
            .clone()
    };
    // Exactly, 10 times the f32 nearest to 0.7 is a little less than 7.
    assert_eq!(run(10, 0.7, &[("mode", "linear")], &[]).0, [1, 1, 7]);
    // 2 / 0.4 is 5 in f32, and a little less in f64.
    let floor = [("coordinate_transformation_mode", "asymmetric"), ("nearest_mode", "floor")];
    let (x, y) = (ramp(50), run(50, 0.4, &floor, &[]).1);
    let want: Vec<f32> = (0..20).map(|i| x[(i as f32 / 0.4) as usize]).collect();
    assert_eq!(y, want);
    assert_eq!(want[2], x[5]);
    // The region of interest is for `tf_crop_and_resize` only, and does not change the size there either.
    let region = [0.0, 0.0, 0.25, 1.0, 1.0, 0.75];
    assert_eq!(run(4, 2.0, &[("mode", "linear")], &region), run(4, 2.0, &[("mode", "linear")], &[]));
    let crop = [("mode", "linear"), ("coordinate_transformation_mode", "tf_crop_and_resize")];
    let (dims, y) = run(4, 2.0, &crop, &region);
    assert_eq!(dims, [1, 1, 8]);
    // From 0.25 * 3 to 0.75 * 3, where the elements are 0.5, -1, 1.5, -2.
    assert_close(&y[..1], &[0.5 * 0.25 - 0.75]);
    assert_close(&y[7..], &[1.5 * 0.75 - 2.0 * 0.25]);
}

/// Given sizes, the corners are aligned exactly: a position that is a whole number is that element's, rounded up or down.
#[test]
fn aligned_corners_of_given_sizes_are_exact() {
    for mode in ["floor", "ceil"] {
        for (size, output) in (2..24usize).flat_map(|size| (2..70usize).map(move |output| (size, output))) {
            let (x, dims) = (ramp(size), [1, 1, size]);
            let words = [
                ("coordinate_transformation_mode", "align_corners"),
                ("mode", "nearest"),
                ("nearest_mode", mode),
            ];
            let model = Model::new()
                .input("x", &dims.map(|d| d as i64))
                .ints("sizes", &[1, 1, output as i64])
                .node_with("Resize", &["x", "", "", "sizes"], &["y"], words.map(|(n, v)| word(n, v)).to_vec())
                .output("y");
            let y = model.run(&[("x", &dims, &x)]).remove(0).1;
            let place = |i: usize| match mode {
                "floor" => i * (size - 1) / (output - 1),
                _ => (i * (size - 1)).div_ceil(output - 1),
            };
            let want: Vec<f32> = (0..output).map(|i| x[place(i)]).collect();
            assert_eq!(y, want, "{mode} {size} {output}");
        }
    }
}

#[test]
fn remainders_are_exact() {
    let a = [1.0f32, 5.0, 1e20, 3e38, -7.5, 7.5, 1.0, -0.0];
    let b = [0.1f32, f32::INFINITY, 3.0, 1e-3, 2.0, -2.0, 0.0, 5.0];
    let model = Model::new().input("a", &[8]).input("b", &[8]);
    let y = model.node_with("Mod", &["a", "b"], &["y"], vec![int("fmod", 1)]).output("y");
    let y = y.run(&[("a", &[8], &a), ("b", &[8], &b)]);
    // C's fmod, by hand: 1 = 9 * 0.1f32 + rest; 1e20f32 = 100000002004087734272, whose remainder by 3 is 2.
    let rest = (1.0 - 9.0 * f64::from(0.1f32)) as f32;
    assert_eq!(y[0].1[..3], [rest, 5.0, 2.0]);
    assert_eq!(y[0].1[4..6], [-1.5, 1.5]);
    assert!((0.0..1e-3).contains(&y[0].1[3]) && y[0].1[6].is_nan());
    assert!(y[0].1[7] == 0.0 && y[0].1[7].is_sign_negative());
}

#[test]
fn reductions_over_no_axes_still_apply_their_function() {
    let x = [-3.0, 0.5];
    let run = |op: &str| {
        let model = Model::new().input("x", &[2]);
        let noop = vec![int("noop_with_empty_axes", 1)];
        model.node_with(op, &["x"], &["y"], noop).output("y").run(&[("x", &[2], &x)])[0].1.clone()
    };
    assert_eq!(run("ReduceL1"), [3.0, 0.5]);
    assert_eq!(run("ReduceL2"), [3.0, 0.5]);
    assert_eq!(run("ReduceSumSquare"), [9.0, 0.25]);
    let log = run("ReduceLogSum");
    assert!(log[0].is_nan() && (log[1] - 0.5f32.ln()).abs() < 1e-6);
    for op in ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceLogSumExp"] {
        assert_eq!(run(op), x);
    }
}

#[test]
fn slices_backwards_from_before_the_first_element() {
    let run = |start: i64, end: i64| {
        let model = Model::new().input("x", &[3]).ints("s", &[start]).ints("e", &[end]);
        let model = model.ints("a", &[0]).ints("p", &[-1]);
        let y = model.node("Slice", &["x", "s", "e", "a", "p"], &["y"]).output("y");
        y.run(&[("x", &[3], &[1.0, 2.0, 3.0])])[0].1.clone()
    };
    // As the reference: a start in front of the axis is its first element.
    assert_eq!(run(-5, -9), [1.0]);
    assert!(run(-5, 0).is_empty());
    assert_eq!(run(9, -9), [3.0, 2.0, 1.0]);
    assert_eq!(run(1, -4), [2.0, 1.0]);
}

#[test]
fn the_sign_of_nan_is_nan() {
    let y = Model::new().input("x", &[4]).node("Sign", &["x"], &["y"]).output("y");
    let y = y.run(&[("x", &[4], &[-2.0, 0.0, f32::NAN, f32::INFINITY])]);
    assert_eq!((y[0].1[0], y[0].1[1], y[0].1[3]), (-1.0, 0.0, 1.0));
    assert!(y[0].1[2].is_nan());
}

#[test]
fn trilu_keeps_one_side_of_a_diagonal() {
    let x: Vec<f32> = ramp(6);
    let run = |model: Model, inputs: &[&str], attributes| {
        let model = model.input("x", &[2, 3]).node_with("Trilu", inputs, &["y"], attributes).output("y");
        model.run(&[("x", &[2, 3], &x)]).remove(0).1
    };
    let kept =
        |list: &[usize]| (0..6).map(|i| if list.contains(&i) { x[i] } else { 0.0 }).collect::<Vec<_>>();
    assert_close(&run(Model::new(), &["x"], vec![]), &kept(&[0, 1, 2, 4, 5]));
    assert_close(&run(Model::new(), &["x"], vec![int("upper", 0)]), &kept(&[0, 3, 4]));
    let k = |k| Model::new().int("k", k);
    assert_close(&run(k(1), &["x", "k"], vec![int("upper", 1)]), &kept(&[1, 2, 5]));
    assert_close(&run(k(-1), &["x", "k"], vec![int("upper", 0)]), &kept(&[3]));
}

/// Two images of one channel with the mean 2 and the variance 5, and running statistics of 10 and 4.
#[test]
fn batch_norm_before_version_14_is_trained_where_it_has_results_of_training() {
    let x = [-1.0, 1.0, 3.0, 5.0];
    let model = |outputs: &[&str]| {
        let model = Model::new().opset(13).input("x", &[2, 1, 2]);
        let model = model.floats("s", &[1], &[2.0]).floats("b", &[1], &[1.0]);
        let model = model.floats("m", &[1], &[10.0]).floats("v", &[1], &[4.0]);
        let attributes = vec![float("epsilon", 0.0), float("momentum", 0.75)];
        model.node_with("BatchNormalization", &["x", "s", "b", "m", "v"], outputs, attributes).output("y")
    };
    let run = |model: Model| model.run(&[("x", &[2, 1, 2], &x)]);
    let normal = |mean: f32, variance: f32| x.map(|x| (x - mean) / variance.sqrt() * 2.0 + 1.0);
    assert_close(&run(model(&["y"]))[0].1, &normal(10.0, 4.0));
    assert_close(&run(model(&["y", "", "", "", ""]))[0].1, &normal(10.0, 4.0));
    let trained = ["y", "mean", "var", "saved_mean", "saved_var"];
    assert_close(&run(model(&trained))[0].1, &normal(2.0, 5.0));
    let got = run(model(&trained).output("mean").output("var"));
    assert_close(&got[0].1, &normal(2.0, 5.0));
    assert_close(&got[1].1, &[8.0]);
    assert_close(&got[2].1, &[4.25]);
}

/// Of sizes coordinates are exact: an f32 ratio has put 28 / 2 below 14, and 7 / 2 below 3.5.
#[test]
fn the_nearest_element_by_sizes() {
    let run = |from: i64, to: i64, coordinates: &str, nearest: &str| {
        let x = (0..from).map(|x| x as f32).collect::<Vec<_>>();
        let attributes = vec![
            word("mode", "nearest"),
            word("coordinate_transformation_mode", coordinates),
            word("nearest_mode", nearest),
        ];
        let model = Model::new().input("x", &[1, 1, 1, from]).ints("sizes", &[1, 1, 1, to]);
        let model = model.node_with("Resize", &["x", "", "", "sizes"], &["y"], attributes).output("y");
        model.run(&[("x", &[1, 1, 1, from as usize], &x)]).swap_remove(0).1
    };
    for (from, to, coordinates, nearest) in [
        (28i64, 2i64, "asymmetric", "floor"),
        (7, 2, "asymmetric", "round_prefer_ceil"),
        (12, 56, "asymmetric", "round_prefer_floor"),
        (28, 2, "half_pixel", "round_prefer_ceil"),
        (28, 2, "half_pixel_symmetric", "round_prefer_ceil"),
        (20, 6, "pytorch_half_pixel", "round_prefer_ceil"),
        (28, 19, "half_pixel", "round_prefer_floor"),
        (49, 7, "half_pixel", "ceil"),
    ] {
        // In halves of 1 / to, so that all is in integers.
        let want = (0..to).map(|i| {
            let twice = match coordinates {
                "asymmetric" => 2 * i * from,
                _ => (2 * i + 1) * from - to,
            };
            let index = match nearest {
                "floor" => twice.div_euclid(2 * to),
                "ceil" => -(-twice).div_euclid(2 * to),
                "round_prefer_floor" => -(to - twice).div_euclid(2 * to),
                _ => (twice + to).div_euclid(2 * to),
            };
            index.clamp(0, from - 1) as f32
        });
        assert_eq!(
            run(from, to, coordinates, nearest),
            want.collect::<Vec<_>>(),
            "{from} {to} {coordinates}"
        );
    }
}
