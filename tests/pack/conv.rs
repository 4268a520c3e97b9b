//! Packed convolutions: sources they were packed for, refused calls, folded batch norms, stems.

use blocktensor::ledger::{self, Cause};
use blocktensor::ops::{self, BatchNorm, Conv1d, Conv2d, Fusion};
use blocktensor::{
    DType, Error, Layout, MemoryFormat, PackedConv1d, PackedConv2d, PackedConvTranspose2d, Source,
    StridedTensor, Tensor,
};

use crate::support::conv::Problem;
use crate::support::{Rng, assert_close};

fn random(rng: &mut Rng, dims: &[usize]) -> StridedTensor {
    StridedTensor::from_slice(&rng.reals(dims.iter().product()), dims).unwrap()
}

fn nhwc(t: &StridedTensor) -> StridedTensor {
    t.contiguous(MemoryFormat::ChannelsLast).unwrap()
}

#[test]
fn packed_conv_refuses_another_source_and_names_the_packed_one() {
    let mut rng = Rng(1);
    let w = random(&mut rng, &[32, 32, 3, 3]);
    let x = nhwc(&random(&mut rng, &[1, 32, 8, 6]));
    let conv = PackedConv2d::new(&w, None, Conv2d::new().padding(1))
        .unwrap()
        .pack_for(&Source::of(&x).unwrap())
        .unwrap();
    let packed_for = conv.source().to_string();
    let refused = |x: &StridedTensor, part: &str| {
        let e = conv.run(x).unwrap_err();
        assert!(matches!(e, Error::PackMismatch(_)), "{e}");
        let text = e.to_string();
        assert!(
            text.contains(&packed_for) && text.contains(part) && text.contains("pack_for"),
            "{text}: {part}"
        );
    };
    refused(&x.contiguous(MemoryFormat::Contiguous).unwrap(), "contiguous");
    refused(&nhwc(&random(&mut rng, &[1, 32, 6, 8])), "[1, 32, 6, 8]");
    refused(&random(&mut rng, &[1, 32, 8]), "[1, 32, 8]");
    refused(&StridedTensor::zeros(&[1, 32, 8, 6], DType::S8, MemoryFormat::ChannelsLast).unwrap(), "s8");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(5).build().unwrap();
    pool.install(|| refused(&x, "5 threads"));
    conv.run(&x).unwrap();
}

/// oneDNN would throw an exception for lack of memory, which ends the process. Our own kernel runs instead.
#[test]
fn packed_conv_with_extreme_padding_uses_our_own_kernel() {
    let x = StridedTensor::zeros(&[3, 1, 11], DType::F32, MemoryFormat::Contiguous).unwrap();
    let w = StridedTensor::zeros(&[3, 1, 11], DType::F32, MemoryFormat::Contiguous).unwrap();
    let packer = PackedConv1d::new(&w, None, Conv1d::new().padding(1 << 29)).unwrap();
    let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
    assert_eq!(conv.weights_layout(), "dense");
}

/// Views whose storage ends within their last row, and views that repeat elements, give the same as their dense copies.
#[test]
fn packed_conv_takes_weights_of_any_strides() {
    let mut rng = Rng(6);
    let whole = random(&mut rng, &[8, 6, 3, 5]);
    let x = random(&mut rng, &[1, 6, 7, 7]);
    let blocked = x.to_blocked(&Layout::native_activation(4).unwrap()).unwrap();
    let one = whole.narrow(0, 7, 1).unwrap().narrow(3, 2, 3).unwrap();
    for w in [
        whole.narrow(3, 2, 3).unwrap(),
        whole.narrow(1, 3, 3).unwrap().expand(&[8, 3, 3, 5]).unwrap().narrow(3, 4, 1).unwrap(),
        one.expand(&[8, 6, 3, 3]).unwrap(),
        // The last step of a row ends within the next row.
        whole.slice(3, 0, 5, 2).unwrap(),
        whole.as_strided(&[8, 6, 3, 3], &[1, 1, 1, 1], 703).unwrap(),
    ] {
        let dense = w.copy(MemoryFormat::Contiguous).unwrap();
        let params = || Conv2d::new().padding(1).groups(6 / w.dims()[1]);
        let run = |w: &StridedTensor| {
            let packer = PackedConv2d::new(w, None, params()).unwrap();
            let conv = packer.pack_for(&Source::of(&blocked).unwrap()).unwrap();
            let y = conv.run(&blocked).unwrap().to_strided(MemoryFormat::Contiguous).unwrap();
            let plain = packer.pack_for(&Source::of(&x).unwrap()).unwrap().run(&x).unwrap();
            let called = ops::conv2d(&x, w, None, &params()).unwrap();
            [y, plain, called].map(|y| y.to_vec::<f32>().unwrap())
        };
        assert_eq!(run(&w), run(&dense), "{w:?}");
    }
}

#[test]
fn packed_conv_runs_every_batch_on_the_same_weights() {
    let mut rng = Rng(2);
    let w = random(&mut rng, &[32, 32, 3, 3]);
    let (act, _) = Layout::native();
    let packer = PackedConv2d::new(&w, None, Conv2d::new().padding(1)).unwrap();
    for blocked in [false, true] {
        let one = nhwc(&random(&mut rng, &[1, 32, 7, 5]));
        let source =
            if blocked { Source::of(&one.to_blocked(&act).unwrap()) } else { Source::of(&one) }.unwrap();
        let conv = packer.pack_for(&source).unwrap();
        for n in [1, 3, 2, 3, 0] {
            let x = nhwc(&random(&mut rng, &[n, 32, 7, 5]));
            let want: Vec<f64> = ops::conv2d(&x, &w, None, &Conv2d::new().padding(1))
                .unwrap()
                .to_vec::<f32>()
                .unwrap()
                .iter()
                .map(|&v| v.into())
                .collect();
            let y = if blocked {
                conv.run(&x.to_blocked(&act).unwrap()).unwrap().to_strided(MemoryFormat::Contiguous).unwrap()
            } else {
                conv.run(&x).unwrap()
            };
            assert_close(&format!("batch {n}"), &y.to_vec::<f32>().unwrap(), &want, |_| 1e-4);
        }
    }
}

/// For a batch of 2 oneDNN has here another kernel with another layout of weights, which is wrong for one output channel.
#[test]
fn packed_conv_with_a_kernel_as_large_as_the_image_runs_every_batch() {
    let mut rng = Rng(21);
    let (act, _) = Layout::native();
    for (o, packed_for) in [(1, 2), (1, 1), (2, 2), (16, 2), (16, 1), (33, 3)] {
        let w = StridedTensor::from_slice(&rng.integers(o * 16 * 49), &[o, 16, 7, 7]).unwrap();
        let packer = PackedConv2d::new(&w, None, Conv2d::new()).unwrap();
        for form in ["nchw", "nhwc", "blocked"] {
            let image = |n: usize, rng: &mut Rng| {
                let x = StridedTensor::from_slice(&rng.integers(n * 16 * 49), &[n, 16, 7, 7]).unwrap();
                let values = x.to_vec::<f32>().unwrap();
                let x: Tensor = match form {
                    "nchw" => x.into(),
                    "nhwc" => nhwc(&x).into(),
                    _ => x.to_blocked(&act).unwrap().into(),
                };
                (x, values)
            };
            let conv = packer.pack_for(&Source::of(&image(packed_for, &mut rng).0).unwrap()).unwrap();
            for n in [1, 2, 3] {
                let (x, values) = image(n, &mut rng);
                let y = match conv.run(&x).unwrap() {
                    Tensor::Blocked(y) => y.to_strided(MemoryFormat::Contiguous).unwrap(),
                    Tensor::Strided(y) => y,
                    Tensor::Opaque(_) => unreachable!("of ours"),
                };
                let p = Problem::new([n, 16, o], [1, 7, 7], [1, 7, 7]);
                let (want, _) = p.solve(&values, &w.to_vec::<f32>().unwrap(), None);
                let what = format!("{form}, {o} channels, batch {n} packed for {packed_for}: {conv:?}");
                assert_close(&what, &y.to_vec::<f32>().unwrap(), &want, |_| 0.0);
            }
        }
    }
}

#[test]
fn packed_conv_records_one_reorder_at_packing_and_none_at_a_run() {
    let mut rng = Rng(3);
    let w = random(&mut rng, &[16, 16, 1, 1]);
    let x = nhwc(&random(&mut rng, &[1, 16, 4, 4]));
    let packer = PackedConv2d::new(&w, None, Conv2d::new()).unwrap();
    let (conv, book) = ledger::record(|| packer.pack_for(&Source::of(&x).unwrap()).unwrap());
    assert!(book.reorders.iter().all(|r| r.cause == Cause::Packing) && book.reorders.len() <= 1, "{book}");
    let (_, book) = ledger::record(|| ledger::deny_reorders(|| conv.run(&x).unwrap()));
    assert!(book.reorders.is_empty() && book.runs.len() <= 1, "{book}");
    // A strided call with plain weights packs them on every call, and records it.
    for _ in 0..2 {
        let (_, book) = ledger::record(|| ops::conv2d(&x, &w, None, &Conv2d::new()).unwrap());
        if cfg!(feature = "onednn") {
            assert_eq!(book.reorders.len(), 1, "{book}");
            assert_eq!(book.reorders[0].cause, Cause::Packing);
            assert!(
                book.reorders[0].site.location().unwrap().file().ends_with("tests/pack/conv.rs"),
                "{book}"
            );
            let e = ledger::deny_reorders(|| ops::conv2d(&x, &w, None, &Conv2d::new())).unwrap_err();
            assert!(
                matches!(e, Error::ReorderDenied(_)) && e.to_string().contains("tests/pack/conv.rs"),
                "{e}"
            );
        }
    }
}

#[test]
fn packed_conv_unpacks_to_the_weights() {
    let mut rng = Rng(4);
    for (dims, groups) in [([20, 24, 3, 3], 1), ([32, 1, 3, 3], 32), ([32, 16, 1, 2], 2)] {
        let w = random(&mut rng, &dims);
        let x = nhwc(&random(&mut rng, &[1, dims[1] * groups, 9, 9]));
        let packer = PackedConv2d::new(&w, None, Conv2d::new().groups(groups)).unwrap();
        let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
        let back = conv.unpack_weights().unwrap();
        assert_eq!(
            back.to_vec::<f32>().unwrap(),
            w.to_vec::<f32>().unwrap(),
            "{dims:?} as {}",
            conv.weights_layout()
        );
        assert!(conv.bytes() >= w.numel() * 4 && !conv.implementation().starts_with("ref"), "{conv:?}");
    }
}

#[test]
fn packed_conv_with_a_folded_batch_norm_agrees_with_f64_loops() {
    let mut rng = Rng(5);
    let (o, c) = (18, 16);
    let w = random(&mut rng, &[o, c, 3, 3]);
    let b = random(&mut rng, &[o]);
    let x = random(&mut rng, &[2, c, 5, 4]);
    let (mean, scale, shift) = (random(&mut rng, &[o]), random(&mut rng, &[o]), random(&mut rng, &[o]));
    let var: Vec<f32> = rng.reals(o).iter().map(|v| v.abs() + 0.1).collect();
    let var = StridedTensor::from_slice(&var, &[o]).unwrap();
    let eps = 1e-3;
    let bn = BatchNorm { mean: &mean, var: &var, weight: Some(&scale), bias: Some(&shift), eps };
    let p = Problem::new([2, c, o], [1, 5, 4], [1, 3, 3]).padded([0, 1, 1]);
    let (conv, _) =
        p.solve(&x.to_vec::<f32>().unwrap(), &w.to_vec::<f32>().unwrap(), Some(&b.to_vec::<f32>().unwrap()));
    let at = |t: &StridedTensor, c: usize| f64::from(t.get::<f32>(&[c]).unwrap());
    let want: Vec<f64> = conv
        .iter()
        .enumerate()
        .map(|(i, v)| {
            let c = i / 20 % o;
            let y = (v - at(&mean, c)) / (at(&var, c) + eps).sqrt() * at(&scale, c) + at(&shift, c);
            y.max(0.0)
        })
        .collect();
    let packer = PackedConv2d::new(&w, Some(&b), Conv2d::new().padding(1).relu())
        .unwrap()
        .fold_batch_norm(&bn)
        .unwrap();
    let x = nhwc(&x);
    let y = packer.pack_for(&Source::of(&x).unwrap()).unwrap().run(&x).unwrap();
    assert_close("folded", &y.to_vec::<f32>().unwrap(), &want, |_| 2e-4);
    let bad = StridedTensor::from_slice(&[-1f32; 18], &[o]).unwrap();
    let e = PackedConv2d::new(&w, None, Conv2d::new())
        .unwrap()
        .fold_batch_norm(&BatchNorm { var: &bad, ..bn })
        .unwrap_err();
    assert!(matches!(e, Error::InvalidArgument(_)) && e.to_string().contains("variance"), "{e}");
}

#[test]
fn packed_stem_reads_a_strided_image_and_writes_blocked() {
    if !cfg!(feature = "onednn") {
        return;
    }
    let mut rng = Rng(6);
    let w = random(&mut rng, &[40, 3, 7, 7]);
    let x = random(&mut rng, &[2, 3, 33, 30]);
    let params = Conv2d::new().stride(2).padding(3).relu();
    let packer = PackedConv2d::new(&w, None, params.clone()).unwrap();
    let (act, _) = Layout::native();
    let stem = packer.pack_stem(&Source::of(&x).unwrap(), &act).unwrap();
    let (y, book) = ledger::record(|| ledger::deny_reorders(|| stem.run(&x).unwrap()));
    assert!(book.reorders.is_empty(), "{book}");
    y.check_tail().unwrap();
    let want: Vec<f64> = ops::conv2d(&nhwc(&x), &w, None, &params)
        .unwrap()
        .to_vec::<f32>()
        .unwrap()
        .iter()
        .map(|&v| v.into())
        .collect();
    let y = y.to_strided(MemoryFormat::Contiguous).unwrap();
    assert_close("stem", &y.to_vec::<f32>().unwrap(), &want, |_| 1e-4);
    let e = packer.pack_for(&Source::blocked(&[1, 3, 8, 8], &act).unwrap());
    if let Err(e) = e {
        assert!(matches!(e, Error::UnsupportedOp(_)) && e.to_string().contains("pack_stem"), "{e}");
    }
    let e = packer.pack_stem(&Source::of(&x).unwrap(), &Layout::native().1).unwrap_err();
    assert!(matches!(e, Error::LayoutMismatch(_)), "{e}");
    // With operands of post-ops. A stem does not unpack.
    let operands = PackedConv2d::new(&w, None, Conv2d::new().stride(2).padding(3).residual()).unwrap();
    let fused = operands.pack_stem(&Source::of(&x).unwrap(), &act).unwrap();
    let r = random(&mut rng, &[2, 40, 17, 15]);
    let rb = r.to_blocked(&act).unwrap();
    let y = fused.run_fused(&x, Fusion { residual: Some(&rb), channel: &[] }).unwrap();
    let y = y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
    let plain = ops::conv2d(&nhwc(&x), &w, None, &Conv2d::new().stride(2).padding(3)).unwrap();
    let sums = plain.to_vec::<f32>().unwrap().into_iter().zip(r.to_vec::<f32>().unwrap());
    let want: Vec<f64> = sums.map(|(a, b)| f64::from(a) + f64::from(b)).collect();
    assert_close("fused stem", &y, &want, |_| 1e-4);
    let half = rb.to_dtype(DType::BF16).unwrap();
    let e = fused.run_fused(&x, Fusion { residual: Some(&half), channel: &[] }).unwrap_err();
    assert!(matches!(e, Error::UnsupportedDType(_)) && e.to_string().contains("`to_dtype"), "{e}");
    let e = stem.packed().run(&x).unwrap_err();
    assert!(matches!(e, Error::LayoutMismatch(_)) && e.to_string().contains("`PackedStem`"), "{e}");
    let e = Source::blocked(x.dims(), &Layout::NHWC).unwrap_err();
    assert!(matches!(e, Error::LayoutMismatch(_)) && e.to_string().contains("`Source::strided`"), "{e}");
    let e = packer.pack_stem(&Source::blocked(x.dims(), &act).unwrap(), &act).unwrap_err();
    assert!(matches!(e, Error::LayoutMismatch(_)) && e.to_string().contains("`pack_for`"), "{e}");
    // Each refusal says which condition failed.
    let channels_last = Source::strided(&[2, 3, 33, 30], MemoryFormat::ChannelsLast).unwrap();
    let wide = PackedConv2d::new(&random(&mut rng, &[40, 32, 7, 7]), None, params).unwrap();
    for (e, part) in [
        (packer.pack_stem(&channels_last, &act), "contiguous(MemoryFormat::Contiguous)"),
        (packer.pack_stem(&Source::of(&x).unwrap(), &"nChw4c".parse().unwrap()), "not nChw4c"),
        (
            wide.pack_stem(&Source::of(&random(&mut rng, &[2, 32, 33, 30])).unwrap(), &act),
            "the source has 32",
        ),
    ] {
        let e = e.unwrap_err();
        assert!(matches!(e, Error::UnsupportedOp(_)) && e.to_string().contains(part), "{e} lacks {part}");
    }
}

#[test]
fn packed_networks_run_an_empty_batch_in_every_layout() {
    let mut rng = Rng(18);
    let w = random(&mut rng, &[8, 8, 3, 3]);
    for format in [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast] {
        let x = StridedTensor::zeros(&[0, 8, 6, 6], DType::F32, format).unwrap();
        let conv = PackedConv2d::new(&w, None, Conv2d::new().padding(1)).unwrap();
        let conv = conv.pack_for(&Source::strided(&[1, 8, 6, 6], format).unwrap()).unwrap();
        let y = conv.run(&ops::relu(&conv.run(&x).unwrap()).unwrap()).unwrap();
        assert_eq!(y.dims(), [0, 8, 6, 6]);
    }
}

#[test]
fn packed_conv_limits_the_number_of_threads_it_is_packed_for() {
    let mut rng = Rng(19);
    let w = random(&mut rng, &[16, 16, 3, 3]);
    let source = Source::blocked(&[1, 16, 6, 6], &Layout::native().0).unwrap();
    for (threads, taken) in [(0, 1), (usize::MAX, 1024)] {
        let source = source.clone().threads(threads);
        assert!(source.to_string().contains(&format!("on {taken} thread")), "{source}");
        PackedConv2d::new(&w, None, Conv2d::new()).unwrap().pack_for(&source).unwrap();
    }
}

#[test]
fn packed_convs_of_a_chain_are_packed_for_the_result_before_them() {
    let mut rng = Rng(17);
    let (w, v) = (random(&mut rng, &[40, 24, 3, 3]), random(&mut rng, &[8, 40, 1, 1]));
    let x = random(&mut rng, &[2, 24, 9, 7]).to_blocked(&Layout::native().0).unwrap();
    let first = PackedConv2d::new(&w, None, Conv2d::new().stride(2)).unwrap();
    let first = first.pack_for(&Source::of(&x).unwrap()).unwrap();
    let second = PackedConv2d::new(&v, None, Conv2d::new()).unwrap().pack_for(&first.dst_source()).unwrap();
    let y = first.run(&x).unwrap();
    assert_eq!(first.dst_source(), Source::of(&y).unwrap());
    assert_eq!(second.run(&y).unwrap().dims(), [2, 8, 4, 3]);
}

#[test]
fn packed_conv_takes_fused_operands_and_tensors_of_the_caller() {
    let mut rng = Rng(7);
    let w = random(&mut rng, &[16, 16, 3, 3]);
    let x = nhwc(&random(&mut rng, &[1, 16, 6, 5]));
    let r = nhwc(&random(&mut rng, &[1, 16, 6, 5]));
    let (m, a) = (random(&mut rng, &[16]), random(&mut rng, &[16]));
    let plain = Conv2d::new().padding(1);
    let fused =
        plain.clone().post_op(ops::PostOp::MulChannel).post_op(ops::PostOp::AddChannel).residual().relu();
    let y = ops::conv2d(&x, &w, None, &plain).unwrap().to_vec::<f32>().unwrap();
    let rv = r.to_vec::<f32>().unwrap();
    let (mv, av) = (m.to_vec::<f32>().unwrap(), a.to_vec::<f32>().unwrap());
    let want: Vec<f64> =
        (0..y.len()).map(|i| f64::from((y[i] * mv[i / 30] + av[i / 30] + rv[i]).max(0.0))).collect();
    let packer = PackedConv2d::new(&w, None, fused).unwrap();
    let (act, _) = Layout::native();
    let conv = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
    let channel = [&m, &a];
    let fusion = || Fusion { residual: Some(&r), channel: &channel };
    let mut dst = StridedTensor::zeros(&[1, 16, 6, 5], DType::F32, MemoryFormat::ChannelsLast).unwrap();
    conv.run_into(&x, fusion(), &mut dst).unwrap();
    assert_close("nhwc", &dst.to_vec::<f32>().unwrap(), &want, |_| 1e-4);
    let (xb, rb) = (x.to_blocked(&act).unwrap(), r.to_blocked(&act).unwrap());
    if let Ok(conv) = packer.pack_for(&Source::of(&xb).unwrap()) {
        let y = conv.run_fused(&xb, Fusion { residual: Some(&rb), channel: &[&m, &a] }).unwrap();
        assert_close(
            "blocked",
            &y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap(),
            &want,
            |_| 1e-4,
        );
    }
    let shared = dst.clone();
    let before = shared.to_vec::<f32>().unwrap();
    let e = conv.run_into(&x, fusion(), &mut dst).unwrap_err();
    assert!(matches!(e, Error::Aliasing(_)), "{e}");
    assert_eq!(shared.to_vec::<f32>().unwrap(), before);
    let mut plain_dst = StridedTensor::zeros(&[1, 16, 6, 5], DType::F32, MemoryFormat::Contiguous).unwrap();
    let e = conv.run_into(&x, fusion(), &mut plain_dst).unwrap_err();
    assert!(matches!(e, Error::LayoutMismatch(_)), "{e}");
    let e = conv.run(&x).unwrap_err();
    assert!(e.to_string().contains("residual"), "{e}");
    let e = conv.run_fused(&x, Fusion { residual: Some(&r), channel: &[&m] }).unwrap_err();
    assert!(e.to_string().contains("channel"), "{e}");
}

#[test]
fn packed_conv_checks_its_arguments_before_packing() {
    let t = |d: &[usize]| StridedTensor::zeros(d, DType::F32, MemoryFormat::Contiguous).unwrap();
    let new =
        |w: &StridedTensor, b: Option<&StridedTensor>, p| PackedConv2d::new(w, b, p).map(|_| ()).unwrap_err();
    let cases = [
        (new(&t(&[8, 4, 3, 3]), None, Conv2d::new().stride(0)), "stride"),
        (new(&t(&[8, 4, 3, 3]), None, Conv2d::new().dilation(0)), "dilation"),
        (new(&t(&[8, 4, 3, 3]), None, Conv2d::new().groups(3)), "groups"),
        (new(&t(&[8, 4, 3, 3]), None, Conv2d::new().groups(0)), "groups"),
        (new(&t(&[8, 4, 0, 3]), None, Conv2d::new()), "kernel"),
        (new(&t(&[0, 4, 3, 3]), None, Conv2d::new()), "channel"),
        (new(&t(&[8, 4, 3]), None, Conv2d::new()), "rank"),
        (new(&t(&[8, 4, 3, 3]), Some(&t(&[7])), Conv2d::new()), "bias"),
        (new(&t(&[8, 4, 3, 3]), None, Conv2d::new().dilation(usize::MAX)), "dilation"),
        (new(&t(&[8, 4, 3, 3]), None, Conv2d::new().padding(usize::MAX)), "padding"),
    ];
    for (e, part) in cases {
        assert!(e.to_string().contains(part), "{e}: {part}");
    }
    let w = PackedConv2d::new(&t(&[8, 4, 3, 3]), None, Conv2d::new()).unwrap();
    let source = |d: &[usize]| Source::strided(d, MemoryFormat::ChannelsLast).unwrap();
    let e = w.pack_for(&source(&[1, 5, 8, 8])).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)) && e.to_string().contains("5 channels"), "{e}");
    let e = w.pack_for(&source(&[1, 4, 2, 8])).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)) && e.to_string().contains("padded input"), "{e}");
}

/// Parameters that make a huge result of a small image: packing takes no memory for the result, and impossible sizes are errors.
#[test]
fn packed_conv_with_giant_strides_and_dilations_packs_without_extra_memory() {
    let w = StridedTensor::full(&[16, 16, 3, 3], 0.5f32, MemoryFormat::Contiguous).unwrap();
    let layout = Layout::native_activation(4).unwrap();
    let source = Source::blocked(&[1, 16, 3, 3], &layout).unwrap();
    for stride in [16_384, 1 << 20] {
        let params = ops::ConvTranspose2d::new().stride(stride);
        let packed = PackedConvTranspose2d::new(&w, None, params).unwrap().pack_for(&source);
        match packed {
            Ok(packed) => assert_eq!(packed.dst_dims()[2], 2 * stride + 3),
            Err(e) => assert!(matches!(e, Error::Overflow(_) | Error::UnsupportedOp(_)), "{e}"),
        }
    }
    let params = ops::ConvTranspose2d::new().stride(1 << 30);
    let e = PackedConvTranspose2d::new(&w, None, params)
        .and_then(|p| p.pack_for(&source))
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(e, Error::Overflow(_)), "{e}");
    // No loop runs over a tensor without elements.
    let empty =
        StridedTensor::zeros(&[1 << 62, 0], blocktensor::DType::F32, MemoryFormat::Contiguous).unwrap();
    assert!(empty.to_vec::<f32>().unwrap().is_empty());
}

/// Strides of axes of size 1 have no meaning, also where they make the format ambiguous.
#[test]
fn packed_conv_ignores_the_strides_of_sizes_of_one() {
    let mut rng = Rng(9);
    let x = random(&mut rng, &[120]).as_strided(&[2, 12, 5, 1], &[60, 1, 12, 5], 0).unwrap();
    let packer = PackedConv2d::new(&random(&mut rng, &[8, 12, 1, 1]), None, Conv2d::new()).unwrap();
    let y = packer.pack_for(&Source::of(&x).unwrap()).unwrap().run(&x).unwrap().to_vec::<f32>().unwrap();
    let dense = x.copy(MemoryFormat::Contiguous).unwrap();
    let want = packer.pack_for(&Source::of(&dense).unwrap()).unwrap().run(&dense).unwrap();
    let want: Vec<f64> = want.to_vec::<f32>().unwrap().into_iter().map(f64::from).collect();
    assert_close("strides of ones", &y, &want, |_| 1e-4);
}

#[cfg(not(feature = "onednn"))]
#[test]
fn packed_stem_without_the_engine_names_the_remedy() {
    let x = StridedTensor::ones(&[1, 3, 8, 8], DType::F32, MemoryFormat::Contiguous).unwrap();
    let w = StridedTensor::ones(&[16, 3, 3, 3], DType::F32, MemoryFormat::Contiguous).unwrap();
    let packer = PackedConv2d::new(&w, None, Conv2d::new()).unwrap();
    let e = packer.pack_stem(&Source::of(&x).unwrap(), &Layout::NCHW16C).unwrap_err();
    assert!(matches!(e, Error::UnsupportedOp(_)), "{e}");
    for part in ["x [1, 3, 8, 8]", "`to_blocked`", "or build with feature `onednn`"] {
        assert!(e.to_string().contains(part), "{e} lacks {part}");
    }
    let xb = x.to_blocked(&Layout::NCHW16C).unwrap();
    packer.pack_for(&Source::of(&xb).unwrap()).unwrap().run(&xb).unwrap();
}
