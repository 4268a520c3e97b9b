//! Plans in every layout give what the operators give one by one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use blocktensor::ledger::ReorderBudget;
use blocktensor::ops::{self, Conv2d, MaxPool};
use blocktensor::{BoundOp, DType, MemoryFormat, Operand, Operator, StridedTensor, Tensor};
use blocktensor_graph::{
    Constant, Error, Graph, Layouts, Measurements, Pass, PlanOptions, Profiles, ValueId,
};

use crate::support::{random, relative_error};

/// A small residual network: convolution, pool, two branches that are added, joined channels, a linear layer.
pub(crate) fn network(graph: &mut Graph, x: ValueId) -> ValueId {
    let constant = |graph: &mut Graph, name: &str, dims: &[usize], seed| {
        graph.constant(name, Constant::F32(random(dims, seed))).unwrap()
    };
    let w1 = constant(graph, "w1", &[20, 3, 3, 3], 1);
    let b1 = constant(graph, "b1", &[20], 2);
    let w2 = constant(graph, "w2", &[20, 20, 1, 1], 3);
    let w3 = constant(graph, "w3", &[10, 52], 4);
    let inputs = [("x", x), ("weights", w1), ("bias", b1)];
    let y = graph.op("conv1", "conv2d", &inputs, &[("padding", 1i64.into())]).unwrap();
    let y = graph.op("relu1", "relu", &[("x", y)], &[]).unwrap();
    let params = [("kernel", vec![3i64, 3].into()), ("stride", 2i64.into()), ("padding", 1i64.into())];
    let y = graph.op("pool", "max_pool2d", &[("x", y)], &params).unwrap();
    let z = graph.op("conv2", "conv2d", &[("x", y), ("weights", w2)], &[]).unwrap();
    let z = graph.op("add", "add", &[("a", z), ("b", y)], &[]).unwrap();
    let part = graph
        .op(
            "part",
            "narrow",
            &[("x", y)],
            &[("axis", 1i64.into()), ("start", 3i64.into()), ("length", 12i64.into())],
        )
        .unwrap();
    let z = graph
        .op("cat", "cat", &[("tensors", z), ("tensors", part), ("tensors", y)], &[("axis", 1i64.into())])
        .unwrap();
    let z = graph.op("mean", "mean", &[("x", z)], &[("axes", vec![2i64, 3].into())]).unwrap();
    graph.op("linear", "linear", &[("x", z), ("weights", w3)], &[]).unwrap()
}

/// The same with the typed functions.
fn by_hand(x: &StridedTensor) -> StridedTensor {
    let y = ops::conv2d(x, &random(&[20, 3, 3, 3], 1), Some(&random(&[20], 2)), &Conv2d::new().padding(1))
        .unwrap();
    let y = ops::relu(&y).unwrap();
    let y = ops::max_pool2d(&y, &MaxPool::new(3).stride(2).padding(1)).unwrap();
    let z = ops::conv2d(&y, &random(&[20, 20, 1, 1], 3), None, &Conv2d::new()).unwrap();
    let z = ops::add(&z, &y).unwrap();
    let part = y.narrow(1, 3, 12).unwrap();
    let z = ops::cat(&[&z, &part, &y], 1).unwrap();
    let z = ops::mean(&z, &[2, 3], false).unwrap();
    ops::linear(&z, &random(&[10, 52], 4), None).unwrap()
}

#[test]
fn a_plan_in_each_layout_gives_what_the_operators_give_one_by_one() {
    let mut graph = Graph::new();
    let x = graph.input("image", &["batch".into(), 3.into(), 9.into(), 13.into()]).unwrap();
    let y = network(&mut graph, x);
    graph.output("scores", y).unwrap();
    for batch in [1, 2] {
        let x = random(&[batch, 3, 9, 13], 9);
        let want = by_hand(&x);
        for layouts in Layouts::FIXED {
            let plan = graph.plan(&PlanOptions::new(layouts).size("batch", batch)).unwrap();
            let budget = ReorderBudget::at_most(plan.reorders().len());
            let got = budget.run(|| plan.run(&[&x])).unwrap();
            assert!(relative_error(&got[0], &want) < 1e-6, "{plan}");
            assert!(plan.arena_bytes() as f64 <= 1.15 * plan.live_bytes() as f64, "{plan}");
            if !plan.reorders().is_empty() {
                let less = ReorderBudget::at_most(plan.reorders().len() - 1);
                assert!(less.run(|| plan.run(&[&x])).is_err(), "{plan}");
            }
            // The memory of a run that failed is used again.
            assert!(relative_error(&plan.run(&[&x]).unwrap()[0], &want) < 1e-6);
        }
    }
}

#[test]
fn a_measured_plan_gives_the_same_and_a_second_planning_takes_the_times_of_the_first() {
    let mut graph = Graph::new();
    let x = graph.input("image", &[1.into(), 3.into(), 9.into(), 13.into()]).unwrap();
    let y = network(&mut graph, x);
    graph.output("scores", y).unwrap();
    let x = random(&[1, 3, 9, 13], 9);
    let want = by_hand(&x);
    let folder = tempfile::tempdir().unwrap();
    let options = PlanOptions::new(Layouts::Measured).profiles(Profiles::KeptIn(folder.path().into()));
    graph.plan(&options).unwrap();
    // Whatever ran beside it: the next plannings are sure of the times that there are.
    let [file] = &std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>()[..]
    else {
        panic!("a file")
    };
    let sure = std::fs::read_to_string(file).unwrap().replace(r#""disturbed":true"#, r#""disturbed":false"#);
    std::fs::write(file, sure).unwrap();
    let plans = [graph.plan(&options).unwrap(), graph.plan(&options).unwrap()];
    for plan in &plans {
        let budget = ReorderBudget::at_most(plan.reorders().len());
        assert!(relative_error(&budget.run(|| plan.run(&[&x])).unwrap()[0], &want) < 1e-6, "{plan}");
    }
    let [first, second] = plans.map(|plan| plan.measurements().unwrap().clone());
    let times = |m: &Measurements| -> Vec<Option<f64>> {
        m.nodes.iter().flat_map(|n| &n.candidates).map(|c| c.seconds).collect()
    };
    assert_eq!((times(&first), first.cost, &first.plans), (times(&second), second.cost, &second.plans));
    assert!(first.proven && first.cost - first.lower_bound < 1e-9);
    let named: Vec<&str> = first.plans.iter().map(|(layouts, _)| layouts.name()).collect();
    assert_eq!(named, ["measured", "nhwc", "blocked"]);
    let least = first.plans.iter().map(|(_, seconds)| *seconds).fold(f64::INFINITY, f64::min);
    let kept = first.plans.iter().find(|(layouts, _)| *layouts == first.kept).unwrap();
    assert!(kept.1 <= 1.005 * least, "{first:?}");
    let text = first.to_string();
    assert!(text.contains("the fastest: kept") && text.contains("no choice costs less"), "{text}");
    // Without the folder, everything is measured again.
    let again = graph.plan(&options.profiles(Profiles::Measured)).unwrap();
    assert_ne!(times(again.measurements().unwrap()), times(&first));
}

/// Without measuring, the same graph becomes the same plan: convolutions meet blocks, or channels last.
#[test]
fn an_estimated_plan_is_the_same_every_time_and_agrees_with_the_others() {
    let graph = || {
        let mut graph = Graph::new();
        let x = graph.input("x", &[2.into(), 3.into(), 40.into(), 40.into()]).unwrap();
        let y = network(&mut graph, x);
        graph.output("y", y).unwrap();
        graph
    };
    let options = || PlanOptions::new(Layouts::Measured).profiles(Profiles::Estimated);
    let (first, second) = (graph().plan(&options()).unwrap(), graph().plan(&options()).unwrap());
    assert_eq!(first.to_string(), second.to_string());
    assert_eq!(first.measurements(), second.measurements());
    let measurements = first.measurements().unwrap();
    assert!(measurements.estimated && measurements.plans.is_empty() && measurements.proven);
    assert!(measurements.to_string().contains("nothing was measured"));
    assert!(first.layouts() == Layouts::Measured);
    let x = random(&[2, 3, 40, 40], 5);
    let want = graph().plan(&PlanOptions::new(Layouts::Nchw)).unwrap().run(&[&x]).unwrap();
    assert!(relative_error(&first.run(&[&x]).unwrap()[0], &want[0]) < 1e-5);
    #[cfg(feature = "onednn")]
    assert!(!first.to_string().lines().any(|l| l.contains("conv2d") && l.contains("contiguous")), "{first}");
}

#[test]
fn inputs_that_do_not_fit_are_refused_with_a_remedy() {
    let mut graph = Graph::new();
    let x = graph.input("image", &[1.into(), 3.into(), 9.into(), 13.into()]).unwrap();
    let y = network(&mut graph, x);
    graph.output("scores", y).unwrap();
    let plan = graph.plan(&PlanOptions::new(Layouts::Nhwc)).unwrap();
    let good = random(&[1, 3, 9, 13], 9);
    let channels_last = good.contiguous(MemoryFormat::ChannelsLast).unwrap();
    for (inputs, text) in [
        (vec![], "got 0 tensors; the inputs are `image`"),
        (vec![&random(&[2, 3, 9, 13], 9)], "this plan is for [1, 3, 9, 13]"),
        (vec![&random(&[2, 3, 9, 13], 9)], "; plan the graph again for other sizes"),
        (vec![&good.to_dtype(DType::F16).unwrap()], "; convert it with `to_dtype(DType::F32)`"),
        (vec![&channels_last], "call `contiguous(MemoryFormat::Contiguous)`"),
    ] {
        let error = plan.run(&inputs).unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
    plan.run(&[&good]).unwrap();
}

#[test]
fn element_wise_steps_overwrite_what_nobody_needs_any_more_and_nothing_else() {
    let mut graph = Graph::new();
    let x = graph.input("image", &[2.into(), 20.into(), 6.into(), 5.into()]).unwrap();
    let op = |graph: &mut Graph, name: &str, op: &str, inputs: &[(&str, ValueId)]| {
        graph.op(name, op, inputs, &[]).unwrap()
    };
    // Not the caller's tensor, and not one that the addition still reads.
    let a = op(&mut graph, "a", "tanh", &[("x", x)]);
    let b = op(&mut graph, "b", "gelu", &[("x", a)]);
    let c = op(&mut graph, "c", "sigmoid", &[("x", b)]);
    let d = op(&mut graph, "d", "add", &[("a", a), ("b", c)]);
    let slopes = graph.constant("slopes", Constant::F32(random(&[20], 3))).unwrap();
    let e = op(&mut graph, "e", "prelu", &[("x", d), ("weights", slopes)]);
    // An operand that is repeated along the image.
    let row = graph.constant("row", Constant::F32(random(&[1, 1, 1, 5], 6))).unwrap();
    let e = op(&mut graph, "g", "add", &[("a", e), ("b", row)]);
    // Twice the same operand, and a result that the caller keeps.
    let f = op(&mut graph, "f", "add", &[("a", e), ("b", e)]);
    graph.output("f", f).unwrap();
    let x = random(&[2, 20, 6, 5], 4);
    let copy = x.to_vec::<f32>().unwrap();
    let a = ops::tanh(&x).unwrap();
    let c = ops::sigmoid(&ops::gelu(&a).unwrap()).unwrap();
    let e = ops::prelu(&ops::add(&a, &c).unwrap(), &random(&[20], 3)).unwrap();
    let e = ops::add(&e, &random(&[1, 1, 1, 5], 6)).unwrap();
    let want = ops::add(&e, &e).unwrap();
    for layouts in Layouts::FIXED {
        let plan = graph.plan(&PlanOptions::new(layouts)).unwrap();
        let text = plan.to_string();
        let in_place = |name: &str| {
            let line = text.lines().find(|l| l.starts_with(&format!("  {name}: "))).unwrap();
            line.ends_with("(in place)")
        };
        let overwrites: Vec<bool> = ["a", "b", "c", "d", "e", "g", "f"].map(in_place).into();
        assert_eq!(overwrites, [false, false, true, true, true, false, false], "{plan}");
        // The two that live at the same time.
        assert_eq!(plan.live_bytes(), 2 * 4 * 2 * 20 * 30, "{plan}");
        for _ in 0..2 {
            assert!(relative_error(&plan.run(&[&x]).unwrap()[0], &want) < 1e-6, "{plan}");
        }
    }
    assert_eq!(x.to_vec::<f32>().unwrap(), copy);
}

/// A dense block: each convolution reads all results before it.
fn dense_block(channels: usize, growth: usize) -> Graph {
    let mut graph = Graph::new();
    let x = graph.input("image", &["batch".into(), channels.into(), 8.into(), 8.into()]).unwrap();
    let mut parts = vec![graph.op("first", "relu", &[("x", x)], &[]).unwrap()];
    for i in 0..4 {
        let inputs: Vec<_> = parts.iter().map(|p| ("tensors", *p)).collect();
        let joined = match parts.len() {
            1 => parts[0],
            _ => graph.op(&format!("cat{i}"), "cat", &inputs, &[("axis", 1i64.into())]).unwrap(),
        };
        let dims = [growth, channels + i * growth, 3, 3];
        let weights = graph.constant(&format!("w{i}"), Constant::F32(random(&dims, i as u64 + 1))).unwrap();
        let inputs = [("x", joined), ("weights", weights)];
        parts.push(graph.op(&format!("conv{i}"), "conv2d", &inputs, &[("padding", 1i64.into())]).unwrap());
    }
    let inputs: Vec<_> = parts.iter().map(|p| ("tensors", *p)).collect();
    // Axes may count from the last.
    let all = graph.op("cat", "cat", &inputs, &[("axis", (-3i64).into())]).unwrap();
    // A step that takes the last result and a part of it, once the addition is fused.
    let weights = Constant::F32(random(&[channels, channels + 4 * growth, 1, 1], 11));
    let weights = graph.constant("w", weights).unwrap();
    let back = graph.op("back", "conv2d", &[("x", all), ("weights", weights)], &[]).unwrap();
    let sum = graph.op("sum", "add", &[("a", back), ("b", parts[0])], &[]).unwrap();
    graph.output("sum", sum).unwrap();
    // A step that takes one part twice.
    let square = graph.op("square", "mul", &[("a", parts[1]), ("b", parts[1])], &[]).unwrap();
    graph.output("square", square).unwrap();
    let y = graph.op("mean", "mean", &[("x", all)], &[("axes", vec![-2i64, -1].into())]).unwrap();
    graph.output("features", y).unwrap();
    graph
}

#[test]
fn concatenations_of_a_dense_block_copy_nothing_where_blocks_allow() {
    for (channels, growth, joins) in [(32, 16, true), (32, 8, false), (58, 58, false), (16, 48, true)] {
        let graph = dense_block(channels, growth);
        for batch in [1, 2] {
            let x = random(&[batch, channels, 8, 8], 5);
            let bare = Pass::ALL.into_iter().fold(PlanOptions::new(Layouts::Nhwc), PlanOptions::without);
            let want = graph.plan(&bare.size("batch", batch)).unwrap().run(&[&x]).unwrap();
            for layouts in [Layouts::Nchw, Layouts::Blocked] {
                let plan = graph.plan(&PlanOptions::new(layouts).size("batch", batch)).unwrap();
                let nested = plan.passes().iter().find(|r| r.pass == Pass::NestConcatenations);
                assert_eq!(nested.map(|r| r.changes), Some(3));
                let in_place = plan.to_string().matches("(in place)").count();
                let expected = match layouts {
                    _ if batch > 1 => 0,
                    // Images of 64 elements begin at multiples of the alignment. The last result is read with a part of it.
                    Layouts::Nchw => 3,
                    _ if joins => 3,
                    _ => in_place,
                };
                assert_eq!(in_place, expected, "{plan}");
                for _ in 0..2 {
                    let got = plan.run(&[&x]).unwrap();
                    for (got, want) in got.iter().zip(&want) {
                        assert!(relative_error(got, want) < 2e-6, "{plan}");
                    }
                }
            }
        }
    }
}

/// Channels-last normalisation between two convolutions, as ConvNeXt has it.
#[test]
fn a_permutation_to_channels_last_costs_a_blocked_tensor_one_reorder() {
    let mut graph = Graph::new();
    let x = graph.input("image", &[1.into(), 20.into(), 6.into(), 5.into()]).unwrap();
    let mut constant =
        |name: &str, dims: &[usize], seed| graph.constant(name, Constant::F32(random(dims, seed))).unwrap();
    let (w, v) = (constant("w", &[24, 20, 3, 3], 1), constant("v", &[8, 24, 1, 1], 2));
    let y = graph.op("first", "conv2d", &[("x", x), ("weights", w)], &[]).unwrap();
    let y = graph.op("last", "permute", &[("x", y)], &[("axes", vec![0i64, 2, 3, 1].into())]).unwrap();
    let y = graph.op("norm", "layer_norm", &[("x", y)], &[("normalized_shape", vec![24i64].into())]).unwrap();
    let y = graph.op("back", "permute", &[("x", y)], &[("axes", vec![0i64, 3, 1, 2].into())]).unwrap();
    let y = graph.op("second", "conv2d", &[("x", y), ("weights", v)], &[]).unwrap();
    graph.output("features", y).unwrap();
    let x = random(&[1, 20, 6, 5], 3);
    let want = graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap().run(&[&x]).unwrap();
    let plan = graph.plan(&PlanOptions::new(Layouts::Blocked)).unwrap();
    assert!(relative_error(&plan.run(&[&x]).unwrap()[0], &want[0]) < 1e-6);
    let reorders: Vec<&str> = plan.reorders().iter().map(|r| r.node.as_str()).collect();
    let expected =
        ["image to nChw16c", "first to channels_last", "back to nChw16c", "features to contiguous"];
    assert!(reorders.len() <= expected.len(), "{plan}");
}

#[test]
fn many_threads_run_one_plan_at_the_same_time() {
    let mut graph = Graph::new();
    let x = graph.input("image", &[1.into(), 3.into(), 9.into(), 13.into()]).unwrap();
    let y = network(&mut graph, x);
    graph.output("scores", y).unwrap();
    for layouts in Layouts::FIXED {
        let plan = graph.plan(&PlanOptions::new(layouts)).unwrap();
        std::thread::scope(|scope| {
            for seed in 0..4 {
                let plan = &plan;
                scope.spawn(move || {
                    let x = random(&[1, 3, 9, 13], seed);
                    let want = by_hand(&x);
                    for _ in 0..20 {
                        assert!(relative_error(&plan.run(&[&x]).unwrap()[0], &want) < 1e-6);
                    }
                });
            }
        });
    }
}

/// A permuted view, an activation, numbers for each channel: the activation's result has the view's strides.
#[test]
fn channels_of_permuted_tensors_are_added_in_every_layout() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[2.into(), 16.into(), 8.into(), 6.into()]).unwrap();
    let c = graph.constant("c", Constant::F32(random(&[8], 1))).unwrap();
    let y = graph.op("turn", "permute", &[("x", x)], &[("axes", vec![0i64, 2, 1, 3].into())]).unwrap();
    let y = graph.op("act", "sigmoid", &[("x", y)], &[]).unwrap();
    let y = graph.op("add", "add_channel", &[("x", y), ("values", c)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let x = random(&[2, 16, 8, 6], 2);
    let want = ops::add_channel(
        &ops::sigmoid(&x.permute(&[0, 2, 1, 3]).unwrap().contiguous(MemoryFormat::Contiguous).unwrap())
            .unwrap(),
        &random(&[8], 1),
    );
    for layouts in Layouts::FIXED {
        let got = graph.plan(&PlanOptions::new(layouts)).unwrap().run(&[&x]).unwrap();
        let got = got[0].contiguous(MemoryFormat::Contiguous).unwrap();
        assert!(relative_error(&got, want.as_ref().unwrap()) < 1e-6, "{layouts:?}");
    }
}

/// One pixel has row-major and channels-last strides at once: what overwrites it must not change its mind.
#[test]
fn one_pixel_is_overwritten_and_then_padded_or_resized() {
    for (op, params) in [
        ("upsample_bilinear", vec![("output", vec![2i64, 2].into())]),
        ("pad", vec![("padding", vec![1i64, 0, 1, 0].into())]),
    ] {
        let mut graph = Graph::new();
        let x = graph.input("x", &[2.into(), 16.into(), 8.into(), 8.into()]).unwrap();
        let w = graph.constant("w", Constant::F32(random(&[16, 16, 1, 1], 1))).unwrap();
        let y = graph.op("conv", "conv2d", &[("x", x), ("weights", w)], &[]).unwrap();
        let y = graph.op("pool", "global_avg_pool", &[("x", y)], &[]).unwrap();
        let y = graph.op("act", "sigmoid", &[("x", y)], &[]).unwrap();
        let y = graph.op("last", op, &[("x", y)], &params).unwrap();
        graph.output("y", y).unwrap();
        let x = random(&[2, 16, 8, 8], 2);
        let runs = Layouts::FIXED.map(|l| graph.plan(&PlanOptions::new(l)).unwrap().run(&[&x]).unwrap());
        for run in &runs[1..] {
            let got = run[0].contiguous(MemoryFormat::Contiguous).unwrap();
            assert!(relative_error(&got, &runs[0][0]) < 1e-5, "{op}");
        }
    }
}

#[test]
fn a_run_stops_between_steps() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 4.into()]).unwrap();
    let params = [("chunks", 2i64.into()), ("axis", 1i64.into())];
    let halves = graph.ops("halves", "chunk", &[("x", x)], &params, &["left", "right"]).unwrap();
    let y = graph.op("sum", "add", &[("a", halves[0]), ("b", halves[1])], &[]).unwrap();
    let y = graph.op("root", "sqrt", &[("x", y)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let plan = graph.plan(&PlanOptions::new(Layouts::Nchw)).unwrap();
    let x = StridedTensor::from_slice(&[1f32, 2.0, 3.0, 14.0], &[1, 4]).unwrap();
    let mut asked = 0;
    let mut stop_at = |step: usize| {
        let mut stop = || {
            asked += 1;
            asked == step
        };
        plan.run_until(&[&x], &mut stop).unwrap()
    };
    assert!(stop_at(2).is_none());
    let results = stop_at(0).unwrap();
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [2.0, 4.0]);
    assert_eq!(asked, 2 + plan.len());
}

/// A planning that is stopped wherever it asks gives no plan and keeps no file.
#[test]
fn a_planning_can_be_stopped_wherever_it_asks() {
    let mut graph = Graph::new();
    let x = graph.input("image", &[1.into(), 3.into(), 9.into(), 13.into()]).unwrap();
    let y = network(&mut graph, x);
    graph.output("scores", y).unwrap();
    let asked = |layouts: Layouts, most: usize| {
        let folder = tempfile::tempdir().unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&count);
        let options = PlanOptions::new(layouts)
            .profiles(Profiles::KeptIn(folder.path().into()))
            .stop_if(move || counter.fetch_add(1, Relaxed) >= most);
        let plan = graph.plan(&options);
        let kept = std::fs::read_dir(folder.path()).unwrap().flatten().filter_map(|e| e.metadata().ok());
        let bytes: u64 = kept.map(|file| file.len()).sum();
        (plan.map(|_| ()), count.load(Relaxed), bytes)
    };
    for layouts in Layouts::ALL {
        let (plan, whole, kept) = asked(layouts, usize::MAX);
        plan.unwrap();
        // Each node, each pass and each step of the run that tells the reorders.
        assert!(whole > 20, "{whole}");
        assert_eq!(kept > 0, layouts == Layouts::Measured);
        for most in (0..whole / 2).chain([whole - 1]) {
            let (plan, _, kept) = asked(layouts, most);
            // A second planning measures fewer rounds where these are noisy, and so asks less often.
            match plan {
                Err(Error::Stopped) => assert_eq!(kept, 0),
                other => {
                    assert!(other.is_ok() && most == whole - 1, "{layouts:?}, {most} of {whole}: {other:?}")
                }
            }
        }
    }
}

#[test]
fn a_convolution_that_the_caller_made_keeps_its_parameters() {
    let names = ["x", "weights"];
    let params = [("stride", vec![2i64, 1].into()), ("padding", vec![0i64, 2].into())];
    let op = Arc::new(BoundOp::new("conv2d", &names, &params).unwrap());
    let (x, w) = (random(&[2, 8, 6, 4], 1), random(&[15, 8, 2, 2], 2));
    let want = op.run(&[x.tensor_ref(), w.tensor_ref()]).unwrap().remove(0);
    let mut graph = Graph::new();
    let input = graph.input("x", &[2, 8, 6, 4].map(Into::into)).unwrap();
    let weights = graph.constant("w", Constant::F32(w)).unwrap();
    let y = graph.operator("conv", op, &[input, weights], &["y"]).unwrap();
    graph.output("result", y[0]).unwrap();
    for layouts in Layouts::FIXED {
        let plan = graph.plan(&PlanOptions::new(layouts)).unwrap();
        let Tensor::Strided(want) = &want else { panic!("operands are strided") };
        assert!(relative_error(&plan.run(&[&x]).unwrap()[0], want) < 1e-6, "{plan}");
    }
}

/// Who runs a plan has no packed weights of his own.
#[test]
fn a_run_on_another_number_of_threads_says_what_to_do_with_the_plan() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 8.into(), 12.into(), 12.into()]).unwrap();
    let w = graph.constant("w", Constant::F32(random(&[4, 8, 1, 1], 1))).unwrap();
    let y = graph.op("conv", "conv2d", &[("x", x), ("weights", w)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let plan = pool(2).install(|| graph.plan(&PlanOptions::new(Layouts::Nchw))).unwrap();
    let error = pool(1).install(|| plan.run(&[&random(&[1, 8, 12, 12], 2)])).unwrap_err().to_string();
    assert!(error.contains("on 2 threads") && error.contains("make it again on this number"), "{error}");
    assert!(!error.contains("pack_for"), "{error}");
}
