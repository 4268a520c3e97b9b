//! Conversions between memory formats, format tags, and bad input to views and formats.

use blocktensor::ledger::{self, Cause};
use blocktensor::{DType, Error, FormatRule, MemoryFormat, StridedTensor};

use MemoryFormat::{ChannelsLast, ChannelsLast1d, ChannelsLast3d, Contiguous, Preserve};

fn zeros(dims: &[usize], format: MemoryFormat) -> StridedTensor {
    StridedTensor::zeros(dims, DType::F32, format).unwrap()
}

#[test]
fn format_conversions_are_recorded_only_where_they_copy() {
    let x = zeros(&[2, 3, 4, 5], Contiguous);
    let (_, none) = ledger::record(|| {
        x.contiguous(Contiguous).unwrap();
        x.to_memory_format(Preserve).unwrap();
        x.copy(Preserve).unwrap();
        x.reshape(&[6, 20]).unwrap();
        x.flatten(1, 3).unwrap();
    });
    assert_eq!(none.reorders.len(), 0, "{none}");
    let (line, moved) = ledger::record(|| {
        x.contiguous(ChannelsLast).unwrap();
        x.to_memory_format(ChannelsLast).unwrap();
        x.copy(ChannelsLast).unwrap();
        x.transpose(1, 2).unwrap().reshape(&[24, 5]).unwrap();
        x.transpose(1, 3).unwrap().flatten(1, 3).unwrap();
        line!()
    });
    let seen: Vec<_> = moved.reorders.iter().map(|m| (&*m.op, m.cause, m.bytes)).collect();
    let call = |op| (op, Cause::Call, 480);
    let dense = |op| (op, Cause::DenseCopy, 480);
    let expected =
        [call("contiguous"), call("to_memory_format"), call("copy"), dense("reshape"), dense("flatten")];
    assert_eq!(seen, expected);
    assert_eq!((&*moved.reorders[0].from, &*moved.reorders[0].to), ("contiguous", "channels_last"));
    assert!(moved.reorders[3].from.starts_with("strides ["), "{moved}");
    for (m, back) in moved.reorders.iter().zip((1..=5).rev()) {
        assert!(
            m.site.location().unwrap().file().ends_with("formats.rs")
                && m.site.location().unwrap().line() == line - back,
            "{moved}"
        );
    }
}

#[test]
fn format_conversions_are_denied_inside_deny_reorders() {
    let x = zeros(&[2, 3, 4, 5], Contiguous);
    ledger::deny_reorders(|| {
        let turned = x.transpose(1, 2).unwrap();
        let refused = [
            x.contiguous(ChannelsLast),
            x.to_memory_format(ChannelsLast),
            x.copy(ChannelsLast),
            turned.reshape(&[24, 5]),
            turned.flatten(0, 1),
        ];
        for r in refused {
            let e = r.unwrap_err();
            assert!(matches!(&e, Error::ReorderDenied(_)) && e.to_string().contains("480 bytes"), "{e}");
        }
        x.contiguous(Contiguous).unwrap();
        x.copy(Preserve).unwrap();
    });
}

#[test]
fn a_format_tag_keeps_nhwc_where_strides_are_ambiguous() {
    for dims in [[8, 1, 1, 1], [2, 1, 4, 4], [2, 16, 1, 1]] {
        let x = zeros(&dims, Contiguous);
        assert_eq!(x.suggest_memory_format(false), Contiguous);
        let x = x.with_format_tag(ChannelsLast).unwrap();
        assert_eq!((x.suggest_memory_format(true), x.format_tag()), (ChannelsLast, Some(ChannelsLast)));
        assert!(x.is_contiguous(ChannelsLast) && x.is_contiguous(Contiguous));
        let bias = zeros(&[dims[1], 1, 1], Contiguous);
        let out = [2, 16, 5, 5];
        for rule in
            [FormatRule::Suggested, FormatRule::AnySuggests, FormatRule::AllSuggest, FormatRule::Contiguous]
        {
            let (strides, tag) = rule.strides("op", &[&bias, &x], &out).unwrap();
            assert_eq!((strides.as_slice(), tag), (&[400, 1, 80, 16][..], Some(ChannelsLast)), "{rule:?}");
        }
        let relu = blocktensor::elementwise::map2("add", &bias, &x, |a: f32, b: f32| a + b).unwrap();
        let like = FormatRule::Like.empty_result("prelu", &[&x], &dims, DType::F32).unwrap();
        let mean = blocktensor::elementwise::mean(&x, &[2, 3], true).unwrap();
        for y in [relu, like, mean, x.empty_like(Preserve).unwrap(), x.copy(Preserve).unwrap()] {
            assert_eq!(y.format_tag(), Some(ChannelsLast));
            assert_eq!(y.strides()[1], 1);
        }
    }
}

#[test]
fn views_keep_a_format_tag_while_dimensions_keep_their_meaning() {
    let x = zeros(&[4, 8, 6, 6], ChannelsLast).with_format_tag(ChannelsLast).unwrap();
    let keep = [
        x.narrow(1, 2, 4).unwrap(),
        x.slice(3, 0, 6, 2).unwrap(),
        x.chunk(2, 1).unwrap()[1].clone(),
        x.split(3, 0).unwrap()[1].clone(),
        x.permute(&[0, 1, 2, 3]).unwrap(),
        x.transpose(2, 2).unwrap(),
        x.squeeze(),
        x.view(&[4, 8, 6, 6]).unwrap(),
        x.narrow(1, 0, 1).unwrap().expand(&[4, 3, 6, 6]).unwrap(),
        x.contiguous(ChannelsLast).unwrap(),
        x.narrow(1, 2, 4).unwrap().copy(Preserve).unwrap(),
    ];
    for y in keep {
        assert_eq!(y.format_tag(), Some(ChannelsLast), "{y:?}");
    }
    let drop = [
        x.permute(&[0, 2, 3, 1]).unwrap(),
        x.transpose(2, 3).unwrap(),
        x.select(0, 1).unwrap(),
        x.unsqueeze(0).unwrap(),
        x.expand(&[1, 4, 8, 6, 6]).unwrap(),
        x.narrow(0, 0, 1).unwrap().squeeze(),
        x.flatten(2, 3).unwrap(),
        x.as_strided(&[4], &[1], 0).unwrap(),
        x.with_format_tag(Preserve).unwrap(),
    ];
    for y in drop {
        assert_eq!(y.format_tag(), None, "{y:?}");
    }
    // A conversion of a tagged tensor states the new format.
    assert_eq!(x.to_memory_format(Contiguous).unwrap().format_tag(), Some(Contiguous));
    assert_eq!(x.copy(Contiguous).unwrap().suggest_memory_format(false), Contiguous);
}

#[test]
fn channels_last_1d_is_used_only_where_it_is_asked_for() {
    let x = zeros(&[2, 3, 5], Contiguous);
    let y = x.contiguous(ChannelsLast1d).unwrap();
    assert_eq!((y.strides(), y.format_tag()), (&[15, 1, 3][..], Some(ChannelsLast1d)));
    for z in [
        zeros(&[2, 3, 5], ChannelsLast1d),
        StridedTensor::ones(&[2, 3, 5], DType::F32, ChannelsLast1d).unwrap(),
    ] {
        assert_eq!(z.suggest_memory_format(false), ChannelsLast1d);
        assert!(z.to_memory_format(ChannelsLast1d).unwrap().shares_storage(&z));
    }
    let untagged = y.with_format_tag(Preserve).unwrap();
    assert_eq!(untagged.suggest_memory_format(false), Contiguous);
    assert!(untagged.is_contiguous(ChannelsLast1d));
    let (strides, tag) = FormatRule::Suggested.strides("pool", &[&y], &[2, 3, 4]).unwrap();
    assert_eq!((strides.as_slice(), tag), (&[12, 1, 3][..], Some(ChannelsLast1d)));
    // A result of another rank does not take the format over.
    assert_eq!(FormatRule::Suggested.strides("x", &[&y], &[2, 3]).unwrap().1, None);
}

#[test]
fn empty_like_and_full_keep_format_and_dtype() {
    let x = zeros(&[2, 3, 4, 5, 6], ChannelsLast3d).narrow(3, 1, 3).unwrap();
    let like = x.empty_like(Preserve).unwrap();
    assert_eq!(like.strides(), zeros(like.dims(), ChannelsLast3d).strides());
    assert_eq!(x.zeros_like(Contiguous).unwrap().to_vec::<f32>().unwrap(), vec![0.0; 432]);
    for dtype in DType::ALL {
        let ones = StridedTensor::ones(&[2, 3], dtype, Contiguous).unwrap();
        let total = match dtype {
            DType::F32 => ones.to_vec::<f32>().unwrap().iter().sum(),
            DType::BF16 => ones.to_vec::<half::bf16>().unwrap().iter().map(|v| v.to_f32()).sum(),
            DType::F16 => ones.to_vec::<half::f16>().unwrap().iter().map(|v| v.to_f32()).sum(),
            DType::U8 => ones.to_vec::<u8>().unwrap().iter().map(|&v| f32::from(v)).sum(),
            DType::S8 => ones.to_vec::<i8>().unwrap().iter().map(|&v| f32::from(v)).sum(),
            _ => ones.to_vec::<i32>().unwrap().iter().map(|&v| v as f32).sum::<f32>(),
        };
        assert_eq!(total, 6.0);
    }
    assert_eq!(StridedTensor::full(&[], 2.5f32, Contiguous).unwrap().get::<f32>(&[]), Some(2.5));
}

/// One bad call per line, with the variant of its error and words that the text must contain.
#[test]
fn views_and_formats_refuse_bad_input_by_name() {
    macro_rules! bad {
        ($($call:expr => $variant:ident: $($word:expr),*;)*) => {$(
            let e = $call.map(|_| ()).unwrap_err();
            assert!(matches!(e, Error::$variant(_)), "{e:?}");
            let text = e.to_string();
            $(assert!(text.contains($word), "{text} lacks {}", $word);)*
            let complaint = e.complaint().unwrap();
            assert!(!complaint.remedy.is_empty() && text.ends_with(&*complaint.remedy), "{text}");
        )*};
    }
    let x = zeros(&[2, 3, 4, 5], Contiguous);
    let scalar = zeros(&[], Contiguous);
    let turned = x.transpose(0, 1).unwrap();
    let deep = zeros(&[1; 12], Contiguous);
    let max = usize::MAX;
    bad! {
        x.permute(&[0, 1, 2]) => RankMismatch: "permute", "3 axes", "rank 4";
        x.permute(&[0, 1, 2, 4]) => InvalidArgument: "axis 4", "the axes -4 to 3";
        x.permute(&[0, 1, 1, 2]) => InvalidArgument: "axis 1", "twice";
        x.transpose(0, 4) => InvalidArgument: "transpose", "axis 4";
        scalar.transpose(0, 1) => InvalidArgument: "axis 1";
        x.narrow(4, 0, 1) => InvalidArgument: "narrow", "axis 4";
        x.narrow(1, 2, 2) => OutOfBounds: "start 2, length 2", "size 3";
        x.narrow(1, max, 2) => OutOfBounds: "size 3";
        scalar.narrow(0, 0, 0) => InvalidArgument: "no axes";
        x.slice(1, 0, 3, 0) => InvalidArgument: "slice", "step";
        x.slice(9, 0, 3, 1) => InvalidArgument: "axis 9";
        x.select(0, 2) => OutOfBounds: "select", "size 2";
        scalar.select(0, 0) => InvalidArgument: "no axes";
        x.expand(&[3, 4, 5]) => RankMismatch: "expand", "rank 4";
        x.expand(&[2, 6, 4, 5]) => ShapeMismatch: "axis 1", "size 3";
        x.expand(&[max, 2, 3, 4, 5]) => Overflow: "expand";
        x.expand(&[1; 13]) => RankMismatch: "rank 13";
        x.unsqueeze(5) => InvalidArgument: "unsqueeze", "axis 5";
        deep.unsqueeze(0) => RankMismatch: "rank 12";
        x.squeeze_axis(4) => InvalidArgument: "squeeze_axis", "axis 4";
        x.view(&[2, 3, 4]) => ShapeMismatch: "view", "120 elements";
        x.view(&[max, max]) => Overflow: "view";
        turned.view(&[6, 20]) => UnsupportedStride: "view", "`reshape`";
        x.reshape(&[7]) => ShapeMismatch: "reshape", "[7]";
        x.flatten(2, 1) => InvalidArgument: "flatten", "axis 2";
        x.flatten(0, 4) => InvalidArgument: "axis 4";
        x.chunk(0, 0) => InvalidArgument: "chunk", "0";
        x.chunk(2, 7) => InvalidArgument: "axis 7";
        zeros(&[0], Contiguous).chunk(max, 0) => InvalidArgument: "pieces";
        x.split(0, 0) => InvalidArgument: "split", "size 2";
        x.split(1, 4) => InvalidArgument: "axis 4";
        scalar.split(1, 0) => InvalidArgument: "no axes";
        x.as_strided(&[2], &[1, 1], 0) => RankMismatch: "as_strided", "2 strides";
        x.as_strided(&[2], &[120], 0) => OutOfBounds: "element 120", "120 elements";
        x.as_strided(&[], &[], 120) => OutOfBounds: "element 120";
        x.as_strided(&[3], &[max / 2], 0) => OutOfBounds: "as_strided";
        x.as_strided(&[1 << 40, 1 << 40], &[0, 0], 0) => Overflow: "as_strided";
        x.as_strided(&[2], &[max], 0) => UnsupportedStride: "negative";
        x.contiguous(Preserve) => InvalidArgument: "contiguous", "preserve";
        x.contiguous(ChannelsLast3d) => RankMismatch: "channels_last_3d", "rank 5";
        x.to_memory_format(ChannelsLast1d) => RankMismatch: "to_memory_format", "rank 3";
        x.copy(ChannelsLast3d) => RankMismatch: "copy";
        x.empty_like(ChannelsLast1d) => RankMismatch: "empty_like";
        x.with_format_tag(ChannelsLast) => LayoutMismatch: "with_format_tag", "contiguous(channels_last)";
        x.with_format_tag(ChannelsLast3d) => RankMismatch: "rank 5";
        StridedTensor::full(&[1 << 32, 1 << 32], 0u8, Contiguous) => Overflow: "full";
        StridedTensor::from_slice(&[1f32], &[2]) => ShapeMismatch: "from_slice", "[2]";
        x.to_vec::<i32>() => DTypeMismatch: "to_vec", "f32", "s32";
        FormatRule::Suggested.strides("pool", &[], &[1]) => InvalidArgument: "pool", "operands";
        FormatRule::Like.strides("prelu", &[&x], &[2]) => ShapeMismatch: "prelu", "[2]";
        FormatRule::ElementWise.strides("add", &[&x], &[2]) => ShapeMismatch: "add", "[2, 3, 4, 5]";
    }
    let wide = zeros(&[1], Contiguous).expand(&[1usize << 50]).unwrap();
    for e in [wide.to_vec::<f32>().map(drop), wide.copy(Contiguous).map(drop)] {
        assert!(matches!(e, Err(Error::OutOfMemory { .. })), "{e:?}");
    }
}

#[test]
fn strides_that_no_element_uses_may_have_any_value() {
    let huge = isize::MAX as usize;
    let x = zeros(&[6], Contiguous).as_strided(&[1, 2, 3], &[huge, 3, 1], 0).unwrap();
    let y = x.unsqueeze(0).unwrap().expand(&[2, 1, 2, 3]).unwrap().slice(1, 0, 9, 3).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap().len(), 12);
    assert_eq!(y.contiguous(Contiguous).unwrap().strides(), [6, 6, 3, 1]);
    assert!(x.suggest_memory_format(true) == Contiguous && x.is_non_overlapping_and_dense());
    let past = x.narrow(0, 1, 0).unwrap().narrow(1, 2, 0).unwrap();
    assert!(past.to_vec::<f32>().unwrap().is_empty());
    assert_eq!(past.strides_bytes().len(), 3);
}

/// PyTorch loses channels_last where strides cannot tell it, and in softmax and layer norm (pytorch#68430, #82060);
/// a tensor that states its format keeps it through whole operators.
#[test]
fn network_ops_keep_a_format_tag() {
    use blocktensor::ops;
    for dims in [[2, 16, 1, 1], [2, 1, 4, 4], [1, 1, 1, 1], [2, 16, 4, 4], [8, 1, 1, 1], [0, 3, 2, 2]] {
        let [_, c, h, w] = dims;
        let x = StridedTensor::full(&dims, 0.5f32, Contiguous).unwrap();
        let x = x.to_memory_format(ChannelsLast).unwrap().with_format_tag(ChannelsLast).unwrap();
        let per_channel = StridedTensor::full(&[c], 1f32, Contiguous).unwrap();
        let over = |dims: &[usize]| StridedTensor::full(dims, 1f32, Contiguous).unwrap();
        let norm = ops::NormParams { weight: None, bias: None, eps: 1e-5 };
        let bn =
            ops::BatchNorm { mean: &per_channel, var: &per_channel, weight: None, bias: None, eps: 1e-5 };
        let results = [
            ("relu", ops::relu(&x)),
            ("prelu", ops::prelu(&x, &per_channel)),
            ("add", ops::add(&x, &x)),
            ("mul", ops::mul(&over(&[1, c, 1, 1]), &x)),
            ("eq", ops::eq(&x, &x)),
            ("conv2d", ops::conv2d(&x, &over(&[5, c, 1, 1]), None, &ops::Conv2d::new())),
            ("conv2d to one channel", ops::conv2d(&x, &over(&[1, c, 1, 1]), None, &ops::Conv2d::new())),
            ("conv_transpose2d", {
                ops::conv_transpose2d(&x, &over(&[c, 5, 2, 2]), None, &ops::ConvTranspose2d::new())
            }),
            ("max_pool2d", ops::max_pool2d(&x, &ops::MaxPool::new(1))),
            ("avg_pool2d", ops::avg_pool2d(&x, &ops::AvgPool::new(1))),
            ("adaptive_avg_pool2d", ops::adaptive_avg_pool2d(&x, [1, 1])),
            ("adaptive_max_pool2d", ops::adaptive_max_pool2d(&x, [1, 1])),
            ("global_avg_pool", ops::global_avg_pool(&x)),
            ("batch_norm", ops::batch_norm(&x, &bn)),
            ("layer_norm", ops::layer_norm(&x, &[c, h, w], &norm)),
            ("group_norm", ops::group_norm(&x, 1, &norm)),
            ("softmax over C", ops::softmax(&x, 1)),
            ("softmax over W", ops::softmax(&x, 3)),
            ("log_softmax", ops::log_softmax(&x, 1)),
            ("dropout", ops::dropout(&x, 0.5, 1, true)),
            ("pad", ops::pad(&x, &[1, 1], ops::PadMode::Constant(0.0))),
            ("cat", ops::cat(&[&x, &x], 1)),
            ("flip", ops::flip(&x, &[2])),
            ("upsample_nearest", ops::upsample_nearest(&x, &ops::Resample::<2>::by(2.0))),
            ("upsample_bilinear", ops::upsample_bilinear(&x, &ops::Resample::<2>::by(2.0))),
            ("mean", ops::mean(&x, &[2, 3], true)),
            ("pixel_unshuffle", ops::pixel_unshuffle(&x, 1)),
            ("channel_shuffle", ops::channel_shuffle(&x, 1)),
        ];
        for (name, y) in results {
            let y = y.unwrap_or_else(|e| panic!("{name} {dims:?}: {e}"));
            let want = zeros(y.dims(), ChannelsLast);
            assert_eq!(
                (y.format_tag(), y.strides()),
                (Some(ChannelsLast), want.strides()),
                "{name} {dims:?}"
            );
        }
    }
}
