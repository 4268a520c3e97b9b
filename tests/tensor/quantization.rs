//! Scales and zero points of tensors: views and reorders keep them, and what does not refuses the tensor.

use blocktensor::MemoryFormat::{ChannelsLast, Contiguous, Preserve};
use blocktensor::dispatch::{self, Value};
use blocktensor::ops::{self, MaxPool};
use blocktensor::{
    Arena, BlockedTensor, BoundOp, DType, Error, Layout, Operand, Operator, Quantization, Result, Scratchpad,
    StridedTensor, Tensor, TensorDesc, elementwise,
};

/// Bytes that all differ, of 19 channels, so that each layout has a channel tail.
fn bytes() -> StridedTensor {
    let values: Vec<u8> = (0..2 * 19 * 2 * 3).map(|i| (i * 7 % 251) as u8).collect();
    StridedTensor::from_slice(&values, &[2, 19, 2, 3]).unwrap()
}

/// Different parameters for each index of an axis.
fn along(axis: usize, count: usize) -> Quantization {
    let each = |i: usize| 0.25 + i as f32 / 8.0;
    let zero_points = (0..count).map(|i| i as i32 * 3).collect();
    Quantization { axis: Some(axis), scales: (0..count).map(each).collect(), zero_points }
}

/// The bytes with one pair, then with pairs along each axis.
fn all() -> Vec<StridedTensor> {
    let x = bytes();
    let one = x.quantized(Quantization::per_tensor(0.5, 7)).unwrap();
    let each = (0..x.rank()).map(|axis| x.quantized(along(axis, x.dims()[axis])).unwrap());
    std::iter::once(one).chain(each).collect()
}

/// The numbers, computed here from the parameters.
fn numbers(t: &StridedTensor) -> Vec<f32> {
    let q = t.quantization().expect("quantised");
    let integers = t.to_vec::<u8>().unwrap();
    let inner: usize = q.axis.map_or(1, |axis| t.dims()[axis + 1..].iter().product());
    let pair = |i: usize| q.axis.map_or(0, |axis| i / inner % t.dims()[axis]);
    let number = |(i, &v): (usize, &u8)| (i32::from(v) - q.zero_points[pair(i)]) as f32 * q.scales[pair(i)];
    integers.iter().enumerate().map(number).collect()
}

type View = (&'static str, fn(&StridedTensor) -> Result<StridedTensor>);

const VIEWS: &[View] = &[
    ("permute", |x| x.permute(&[2, 0, 3, 1])),
    ("transpose", |x| x.transpose(1, 3)),
    ("transpose of others", |x| x.transpose(-1, 2)),
    ("transpose of one", |x| x.transpose(1, 1)),
    ("narrow", |x| x.narrow(1, 3, 5)),
    ("narrow to nothing", |x| x.narrow(1, 3, 0)),
    ("slice", |x| x.slice(1, 2, 17, 4)),
    ("slice of others", |x| x.slice(3, 1, 3, 1)),
    ("select", |x| x.select(1, -2)),
    ("select of the first", |x| x.select(0, 1)),
    ("select of the last", |x| x.select(3, 2)),
    ("expand", |x| x.expand(&[4, -1, -1, -1, -1])),
    ("expand of one channel", |x| x.narrow(1, 4, 1)?.expand(&[-1, 6, -1, -1])),
    ("unsqueeze", |x| x.unsqueeze(1)),
    ("unsqueeze of the end", |x| x.unsqueeze(4)),
    ("unsqueeze of the front", |x| x.unsqueeze(0)),
    ("squeeze", |x| Ok(x.narrow(1, 4, 1)?.narrow(2, 1, 1)?.squeeze())),
    ("squeeze of others", |x| Ok(x.narrow(0, 1, 1)?.squeeze())),
    ("squeeze_axis", |x| x.narrow(1, 4, 1)?.squeeze_axis(1)),
    ("chunk", |x| Ok(x.chunk(3, 1)?.remove(2))),
    ("split", |x| Ok(x.split(8, 1)?.remove(1))),
    ("contiguous", |x| x.contiguous(Contiguous)),
    ("contiguous in channels_last", |x| x.contiguous(ChannelsLast)),
    ("to_memory_format", |x| x.to_memory_format(ChannelsLast)),
    ("copy", |x| x.copy(Preserve)),
    ("copy in channels_last", |x| x.copy(ChannelsLast)),
    ("with_format_tag", |x| x.with_format_tag(Contiguous)),
    ("several", |x| x.permute(&[0, 2, 3, 1])?.slice(3, 1, 19, 3)?.unsqueeze(0)?.select(2, 1)),
    ("blocked", |x| x.to_blocked(&Layout::NCHW16C)?.to_strided(ChannelsLast)),
    ("blocked twice", |x| x.to_blocked(&Layout::NCHW16C)?.reorder_to(&Layout::CHWN4)?.to_strided(Contiguous)),
];

#[test]
fn views_and_reorders_of_quantised_tensors_stand_for_the_same_numbers() {
    for x in all() {
        assert_eq!(x.dequantized().unwrap().to_vec::<f32>().unwrap(), numbers(&x), "{x:?}");
        for (name, view) in VIEWS {
            let (y, want) = (view(&x).unwrap(), view(&x.dequantized().unwrap()).unwrap());
            assert_eq!(numbers(&y), want.to_vec::<f32>().unwrap(), "{name} of {x:?} gives {y:?}");
            // Its parameters are those that the tensor could have been given.
            let again = y.without_quantization().quantized(y.quantization().unwrap().clone()).unwrap();
            assert_eq!(TensorDesc::of(again.tensor_ref()), TensorDesc::of(y.tensor_ref()));
        }
    }
}

#[test]
fn ops_of_views_and_pieces_keep_scales() {
    let list = |v: &[i64]| Value::from(v.to_vec());
    let calls: [(&str, Vec<(&str, Value)>); 9] = [
        ("permute", vec![("axes", list(&[2, 0, 3, 1]))]),
        ("transpose", vec![("a", 1.into()), ("b", 3.into())]),
        ("narrow", vec![("axis", 1.into()), ("start", 2.into()), ("length", 5.into())]),
        ("slice", vec![("axis", 1.into()), ("step", 3.into())]),
        ("select", vec![("axis", 1.into()), ("index", 4.into())]),
        ("expand", vec![("dims", list(&[2, 2, 19, 2, 3]))]),
        ("unsqueeze", vec![("axis", 1.into())]),
        ("chunk", vec![("chunks", 3.into()), ("axis", 1.into())]),
        ("split", vec![("sizes", list(&[3, 5, 11])), ("axis", 1.into())]),
    ];
    for x in all() {
        for (op, params) in &calls {
            let call = |x: Tensor| {
                let given = [&[("x", Value::from(x))][..], params].concat();
                dispatch::call(op, &given).unwrap()
            };
            let plain = |t: &Tensor| match t {
                Tensor::Strided(t) => t.clone(),
                Tensor::Blocked(t) => t.to_strided(Contiguous).unwrap(),
                Tensor::Opaque(_) => unreachable!("not used here"),
            };
            let want = call(x.dequantized().unwrap().into());
            let mut forms = vec![Tensor::from(x.clone())];
            if matches!(*op, "chunk" | "split") {
                forms.push(x.to_blocked(&Layout::NCHW16C).unwrap().into());
            }
            for form in forms {
                let made = call(form);
                assert_eq!(made.len(), want.len());
                for (made, want) in made.iter().zip(&want) {
                    if let Tensor::Blocked(t) = made {
                        t.check_tail().unwrap();
                    }
                    assert_eq!(numbers(&plain(made)), plain(want).to_vec::<f32>().unwrap(), "{op} of {x:?}");
                }
            }
        }
        // Into tensors of the caller.
        let op =
            BoundOp::new("narrow", &["x"], &[("axis", 1.into()), ("start", 2.into()), ("length", 5.into())]);
        let (op, want) = (op.unwrap(), x.narrow(1, 2, 5).unwrap());
        assert_eq!(
            op.infer(&[TensorDesc::of(x.tensor_ref())]).unwrap()[0].quantization(),
            want.quantization()
        );
        let mut place = want.empty_like(Contiguous).unwrap();
        op.run_into(&[x.tensor_ref()], vec![place.tensor_mut()], &mut Scratchpad::new()).unwrap();
        assert_eq!(numbers(&place), numbers(&want));
        place = place.without_quantization();
        let e = op.run_into(&[x.tensor_ref()], vec![place.tensor_mut()], &mut Scratchpad::new()).unwrap_err();
        assert!(matches!(e, Error::DTypeMismatch(_)) && e.to_string().contains("`empty_like`"), "{e}");
    }
}

#[test]
fn a_reshape_keeps_an_axis_that_stays_and_refuses_one_that_is_merged_or_divided() {
    // Sizes, and the axes that cannot stay.
    let cases: [(&[usize], &[usize]); 7] = [
        (&[2, 19, 6], &[2, 3]),
        (&[38, 2, 3], &[0, 1]),
        (&[2, 1, 19, 2, 3], &[]),
        (&[228], &[0, 1, 2, 3]),
        (&[2, 19, 3, 2], &[2, 3]),
        (&[1, 2, 19, 2, 3, 1], &[]),
        (&[19, 2, 2, 3], &[0, 1]),
    ];
    for x in all() {
        for (dims, lost) in cases {
            let refused = x.quantization().unwrap().axis.filter(|axis| lost.contains(axis));
            // A copy comes first where no strides express the view.
            for t in [x.clone(), x.contiguous(ChannelsLast).unwrap()] {
                for result in [t.reshape(dims), t.contiguous(Contiguous).unwrap().view(dims)] {
                    let Some(axis) = refused else {
                        let want = x.dequantized().unwrap().reshape(dims).unwrap();
                        assert_eq!(
                            numbers(&result.unwrap()),
                            want.to_vec::<f32>().unwrap(),
                            "{x:?} {dims:?}"
                        );
                        continue;
                    };
                    let e = result.unwrap_err();
                    assert!(matches!(e, Error::UnsupportedDType(_)), "{e}");
                    let size = x.dims()[axis];
                    let rule = format!("axis {axis} has a scale for each of its {size} indices");
                    for part in [&*rule, "without_quantization", "dequantized"] {
                        assert!(e.to_string().contains(part), "{part}: {e}");
                    }
                }
            }
        }
        let flat = x.flatten(0, 1);
        assert_eq!(flat.is_err(), x.quantization().unwrap().axis.is_some_and(|axis| axis < 2), "{flat:?}");
    }
    // A single pair along an axis is the tensor's.
    let x = bytes().narrow(1, 3, 1).unwrap().quantized(along(1, 1)).unwrap();
    assert_eq!(x.reshape(&[12]).unwrap().quantization(), Some(&Quantization::per_tensor(0.25, 0)));
    assert_eq!(x.squeeze().quantization(), Some(&Quantization::per_tensor(0.25, 0)));
}

#[test]
fn blocked_tensors_keep_scales_in_every_layout_and_leave_their_tails_zero() {
    for x in all() {
        for layout in [Layout::NCHW16C, Layout::NCHW8C, Layout::CHWN4, Layout::native().0] {
            let blocked = x.to_blocked(&layout).unwrap();
            blocked.check_tail().unwrap();
            assert_eq!(blocked.quantization(), x.quantization());
            let mut plain = BlockedTensor::zeros(x.dims(), DType::U8, &Layout::NCHW8C).unwrap();
            let e = blocked.reorder_into(&mut plain).unwrap_err();
            assert!(matches!(e, Error::DTypeMismatch(_)) && e.to_string().contains("has scales"), "{e}");
            let mut to = plain.quantized(x.quantization().unwrap().clone()).unwrap();
            // It shares the storage.
            drop(plain);
            blocked.reorder_into(&mut to).unwrap();
            let mut back = x.empty_like(ChannelsLast).unwrap();
            to.to_strided_into(&mut back).unwrap();
            assert_eq!(numbers(&back), numbers(&x));
            x.to_blocked_into(&mut to).unwrap();
            let is_channels = x.quantization().unwrap().axis.is_none_or(|axis| axis == 1);
            match blocked.dequantized() {
                Ok(real) => {
                    assert!(is_channels, "{blocked:?}");
                    real.check_tail().unwrap();
                    let plain = real.to_strided(Contiguous).unwrap();
                    assert_eq!(plain.to_vec::<f32>().unwrap(), numbers(&x), "{blocked:?}");
                }
                Err(e) if is_channels => assert!(layout == Layout::CHWN4, "{layout}: {e}"),
                Err(e) => assert!(e.to_string().contains("to_strided"), "{e}"),
            }
            let made = blocked.empty_like().unwrap();
            assert_eq!((made.quantization(), made.layout()), (x.quantization(), &layout));
            let tensor = Tensor::from(blocked);
            for to in [
                TensorDesc::strided(x.dims(), DType::U8, ChannelsLast).unwrap(),
                TensorDesc::blocked(x.dims(), DType::U8, &Layout::NCHW16C).unwrap(),
            ] {
                for to in [to.clone(), to.quantized(x.quantization().unwrap().clone()).unwrap()] {
                    let y = tensor.reorder(&to).unwrap();
                    assert_eq!(y.quantization(), x.quantization());
                    assert_eq!(y.tensor_ref().layout_name(), to.layout_name());
                }
            }
        }
    }
}

#[test]
fn results_of_copies_have_the_scales_of_what_is_copied() {
    let (plain, x) = (bytes(), all().remove(0));
    let other = plain.quantized(Quantization::per_tensor(0.25, 7)).unwrap();
    let places = |t: &StridedTensor| {
        let mut place = StridedTensor::zeros(t.dims(), DType::U8, Contiguous).unwrap();
        if let Some(q) = t.quantization() {
            place = place.quantized(q.clone()).unwrap();
        }
        place
    };
    for (from, to, rule, remedy) in [
        (&x, &plain, "has scales and zero points", "make one with `empty_like` of the source"),
        (&plain, &x, "has no scales and zero points", "pass `without_quantization` of it"),
        (&x, &other, "has other scales and zero points", "or pass `without_quantization`"),
    ] {
        let mut dst = places(to);
        let mut blocked = dst.to_blocked(&Layout::NCHW16C).unwrap();
        let of_blocked = from.to_blocked(&Layout::NCHW16C).unwrap();
        for e in [
            from.copy_into(&mut dst).unwrap_err(),
            elementwise::copy_into("copy", &mut dst, from).unwrap_err(),
            from.to_blocked_into(&mut blocked).unwrap_err(),
            of_blocked.to_strided_into(&mut dst).unwrap_err(),
            of_blocked.reorder_into(&mut blocked).unwrap_err(),
        ] {
            assert!(matches!(e, Error::DTypeMismatch(_)), "{e}");
            assert!(e.to_string().contains(rule) && e.to_string().contains(remedy), "{e}");
        }
        assert_eq!(dst.to_vec::<u8>().unwrap(), vec![0; dst.numel()]);
        let desc = TensorDesc::of(to.tensor_ref());
        let reordered = Tensor::from(from.clone()).reorder(&desc);
        assert_eq!(reordered.is_err(), to.quantization().is_some(), "{reordered:?}");
    }
    let mut dst = places(&x);
    x.copy_into(&mut dst).unwrap();
    elementwise::copy_into("copy", &mut dst, &x).unwrap();
    assert_eq!(numbers(&dst), numbers(&x));
}

#[test]
fn what_does_not_keep_scales_refuses_the_tensor_with_a_remedy() {
    for x in all() {
        let b = x.to_blocked(&Layout::NCHW16C).unwrap();
        let failed = [
            ("as_strided", x.as_strided(&[2], &[1], 0).map(drop)),
            ("to_dtype", x.to_dtype(DType::F32).map(drop)),
            ("to_dtype", x.to_dtype(DType::S8).map(drop)),
            ("to_dtype", b.to_dtype(DType::S32).map(drop)),
            ("zeros_like", x.zeros_like(Preserve).map(drop)),
            ("ones_like", x.ones_like(Preserve).map(drop)),
            ("full_like", x.full_like(3u8, Preserve).map(drop)),
            ("zeros_like", b.zeros_like().map(drop)),
            ("ones_like", b.ones_like().map(drop)),
            ("full_like", b.full_like(3u8).map(drop)),
            ("to_dlpack", x.to_dlpack().map(drop)),
            ("into_dlpack", x.copy(Preserve).unwrap().into_dlpack().map(drop)),
            ("into_dlpack_unversioned", x.copy(Preserve).unwrap().into_dlpack_unversioned().map(drop)),
            ("as_blocked_dlpack", b.as_blocked_dlpack().map(drop)),
            ("max_pool2d", ops::max_pool2d(&x, &MaxPool::new(2)).map(drop)),
            ("max_pool2d", ops::max_pool2d(&b, &MaxPool::new(2)).map(drop)),
            ("cat", ops::cat(&[&x, &x], 1).map(drop)),
        ];
        for (op, result) in failed {
            let e = result.expect_err(op);
            assert!(matches!(e, Error::UnsupportedDType(_)), "{e}");
            let c = e.complaint().unwrap();
            assert_eq!(c.op, op, "{e}");
            assert!(c.got.contains("quantised"), "{e}");
            assert_eq!(
                &*c.remedy, "pass its integers, `without_quantization`, or its numbers, `dequantized`",
                "{e}"
            );
        }
        // The remedies.
        assert_eq!(x.to_dtype(DType::U8).unwrap().quantization(), x.quantization());
        let plain = x.without_quantization();
        assert!(plain.shares_storage(&x) && plain.quantization().is_none());
        ops::max_pool2d(&plain, &MaxPool::new(2)).unwrap();
        ops::max_pool2d(&b.without_quantization(), &MaxPool::new(2)).unwrap();
        // An op of f32 alone names the numbers.
        let e = ops::relu(&x).unwrap_err();
        assert!(e.to_string().ends_with("make numbers of it with `dequantized`"), "{e}");
        ops::relu(&x.dequantized().unwrap()).unwrap();
    }
}

#[test]
fn results_of_ops_are_written_to_no_quantised_tensor() {
    let x = bytes();
    let pool = BoundOp::new("max_pool2d", &["x"], &[("kernel", vec![2i64].into())]).unwrap();
    let made = pool.run(&[x.tensor_ref()]).unwrap().remove(0);
    let Tensor::Strided(made) = made else { unreachable!("it is strided") };
    let blocked = made.to_blocked(&Layout::NCHW16C).unwrap();
    let one = Quantization::per_tensor(0.5, 7);
    let mut places: [Tensor; 2] = [
        made.copy(Preserve).unwrap().quantized(one.clone()).unwrap().into(),
        blocked.quantized(one).unwrap().into(),
    ];
    drop(blocked);
    for (place, x) in
        places.iter_mut().zip([x.clone().into(), Tensor::from(x.to_blocked(&Layout::NCHW16C).unwrap())])
    {
        let run = |place: &mut Tensor| {
            pool.run_into(&[x.tensor_ref()], vec![place.tensor_mut()], &mut Scratchpad::new())
        };
        let e = run(place).unwrap_err();
        assert!(matches!(e, Error::DTypeMismatch(_)), "{e}");
        assert!(e.to_string().contains("pass `without_quantization` of it"), "{e}");
        *place = place.without_quantization();
        run(place).unwrap();
    }
}

#[test]
fn parameters_that_no_tensor_has_are_refused() {
    let x = bytes();
    let one = |scale, zero_point| x.quantized(Quantization::per_tensor(scale, zero_point));
    for (result, part) in [
        (one(0.0, 0), "0.0 at index 0"),
        (one(-1.0, 0), "-1.0 at index 0"),
        (one(f32::NAN, 0), "NaN at index 0"),
        (one(f32::INFINITY, 0), "inf at index 0"),
        (one(1.0, 256), "pass 0 to 255"),
        (one(1.0, -1), "pass 0 to 255"),
        (x.to_dtype(DType::S8).unwrap().quantized(Quantization::per_tensor(1.0, 128)), "pass -128 to 127"),
        (x.quantized(along(4, 1)), "4 axes"),
        (x.quantized(along(1, 18)), "there must be 19 of each"),
        (x.to_dtype(DType::F32).unwrap().quantized(Quantization::per_tensor(1.0, 0)), "u8, s8 or s32"),
    ] {
        let e = result.unwrap_err();
        assert!(e.to_string().contains(part), "{part}: {e}");
    }
    let s32 = x.to_dtype(DType::S32).unwrap();
    s32.quantized(Quantization::per_tensor(1.0, i32::MIN)).unwrap();
    let e = x.dequantized().unwrap_err();
    assert!(matches!(e, Error::InvalidArgument(_)) && e.to_string().contains("`quantized`"), "{e}");
}

#[test]
fn dequantize_takes_the_scales_of_the_tensor_and_no_others() {
    let of = |v: &[f32]| StridedTensor::from_slice(v, &[v.len()]).unwrap();
    let at = |v: &[i32]| StridedTensor::from_slice(v, &[v.len()]).unwrap();
    let [one, _, channels, ..] = &all()[..] else { unreachable!("five") };
    let q = channels.quantization().unwrap().clone();
    assert_eq!(
        ops::dequantize(channels, &of(&q.scales), &at(&q.zero_points), 1).unwrap().to_vec::<f32>().unwrap(),
        numbers(channels)
    );
    ops::dequantize(one, &of(&[0.5]), &at(&[7]), 0).unwrap();
    ops::dequantize(one, &of(&[0.5; 19]), &at(&[7]), 1).unwrap();
    let mut scales = q.scales.clone();
    scales[4] = 3.0;
    let mut zero_points = q.zero_points.clone();
    zero_points[6] = 1;
    for (result, parts) in [
        (ops::dequantize(one, &of(&[0.25]), &at(&[7]), 0), ["scale 0.25 and zero point 7", "scale 0.5 and"]),
        (ops::dequantize(one, &of(&[0.5]), &at(&[8]), 0), ["zero point 8", "zero point 7"]),
        (ops::dequantize(channels, &of(&scales), &at(&q.zero_points), 1), ["scale 3.0", "at index 4"]),
        (
            ops::dequantize(channels, &of(&q.scales), &at(&zero_points), 1),
            ["zero point 1 at index 6", "18 there"],
        ),
        (ops::dequantize(channels, &of(&[0.25, 0.5]), &at(&[0, 3]), 0), ["along axis 0", "along axis 1"]),
        (ops::dequantize(channels, &of(&[0.25]), &at(&[0]), 1), ["at index 1", "scale 0.375"]),
    ] {
        let e = result.unwrap_err();
        assert!(matches!(e, Error::InvalidArgument(_)), "{e}");
        for part in parts.into_iter().chain(["`dequantized`", "`without_quantization`"]) {
            assert!(e.to_string().contains(part), "{part}: {e}");
        }
    }
    let zero_points = at(&[7]).quantized(Quantization::per_tensor(1.0, 0)).unwrap();
    let e = ops::dequantize(one, &of(&[0.5]), &zero_points, 0).unwrap_err();
    assert_eq!(e.complaint().unwrap().argument, "zero_point", "{e}");
    // A description with scales has the result of one without.
    let dequantize = BoundOp::new("dequantize", &["x", "scale", "zero_point"], &[]).unwrap();
    let descs = [
        TensorDesc::of(one.tensor_ref()),
        TensorDesc::of(of(&[0.5]).tensor_ref()),
        TensorDesc::of(at(&[7]).tensor_ref()),
    ];
    let want = TensorDesc::strided(one.dims(), DType::F32, Contiguous).unwrap();
    assert_eq!(dequantize.infer(&descs).unwrap(), [want]);
}

#[test]
fn descriptors_print_and_arenas_have_the_scales() {
    let [one, _, channels, ..] = &all()[..] else { unreachable!("five") };
    let desc = TensorDesc::of(channels.tensor_ref());
    assert_eq!(desc.quantization(), channels.quantization());
    assert!(format!("{channels:?}").ends_with("offset: 0, quantised along axis 1 }"), "{channels:?}");
    assert!(format!("{channels}").ends_with("u8 [2, 19, 2, 3], quantised along axis 1"), "{channels}");
    assert!(one.tensor_ref().describe().ends_with("contiguous, quantised"));
    let b = one.to_blocked(&Layout::NCHW16C).unwrap();
    assert!(format!("{b:?}").contains("nChw16c, quantised"), "{b:?}");
    let arena = Arena::new(4096).unwrap();
    assert_eq!(arena.tensor(0, &desc).unwrap().quantization(), channels.quantization());
    let blocked = TensorDesc::of(b.tensor_ref());
    assert_eq!(arena.tensor(2048, &blocked).unwrap().quantization(), one.quantization());
    assert_eq!(blocked.without_quantization(), TensorDesc::of(b.without_quantization().tensor_ref()));
    for format in [Contiguous, ChannelsLast, Preserve] {
        assert_eq!(one.empty_like(format).unwrap().quantization(), one.quantization());
    }
}
