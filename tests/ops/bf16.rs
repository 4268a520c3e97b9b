//! Ops in bf16: element-wise ones against the same op in f32, rounded once by `half`; convolutions against loops in f64.

use blocktensor::dispatch::{self, DispatchKey, Isa, Op, Value};
use blocktensor::ops::{self, Conv2d, Fusion, PostOp};
use blocktensor::{
    AnyConvPacker, DType, Error, Layout, MemoryFormat, Operand, Source, StridedTensor, Tensor, TensorDesc,
};
use half::bf16;

use crate::support::activation::{elements, forms};
use crate::support::conv::Problem;
use crate::support::{Rng, arguments};

/// The nearest bf16 of each number, as f32.
fn rounded(values: &[f32]) -> Vec<f32> {
    values.iter().map(|&v| bf16::from_f32(v).to_f32()).collect()
}

fn in_bf16(x: &Tensor) -> Tensor {
    ops::to_dtype(x, DType::BF16).unwrap()
}

/// Element-wise ops whose kernels take bf16 for all data.
fn elementwise() -> Vec<&'static Op> {
    let takes = |op: &&Op| {
        let kernel = op.kernel(DispatchKey::BLOCKED);
        op.schema().facts.elementwise
            && op.schema().name != "to_dtype"
            && kernel.is_some_and(|k| k.dtypes.iter().any(|t| t.operands.first() == Some(&DType::BF16)))
    };
    dispatch::ops().into_iter().filter(takes).collect()
}

#[test]
fn elementwise_ops_are_those_of_f32_rounded_once_in_every_layout() {
    let list = elementwise();
    assert!(list.len() > 60, "{}", list.len());
    let mut rng = Rng(1126);
    for op in list {
        for dims in [&[2, 17, 5, 3][..], &[1, 17, 1, 1], &[0, 17, 2, 2], &[3, 17, 4]] {
            let data = rounded(&rng.reals(dims.iter().product()));
            for (form, x) in forms(&StridedTensor::from_slice(&data, dims).unwrap()) {
                let of = |x: &Tensor| dispatch::call(op.schema().name, &arguments(op, x)).unwrap().remove(0);
                let (wide, narrow) = (of(&x), of(&in_bf16(&x)));
                let dtype = wide.tensor_ref().dtype();
                let what = format!("{} {dims:?} {form}", op.schema().name);
                let wanted = if dtype == DType::F32 { DType::BF16 } else { dtype };
                assert_eq!(narrow.tensor_ref().dtype(), wanted, "{what}");
                let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                let want = if dtype == DType::F32 { rounded(&elements(&wide)) } else { elements(&wide) };
                assert!(want.iter().zip(&elements(&narrow)).all(same), "{what}");
            }
        }
    }
}

#[test]
fn numbers_that_are_compared_are_rounded_first() {
    let x = StridedTensor::from_slice(&[0.1f32, 1.0, 0.3], &[3]).unwrap().to_dtype(DType::BF16).unwrap();
    let of = |y: Result<StridedTensor, Error>| y.unwrap().to_vec::<u8>().unwrap();
    // PyTorch's answers.
    assert_eq!(of(ops::eq_scalar(&x, 0.1)), [1, 0, 0]);
    assert_eq!(of(ops::gt_scalar(&x, 0.1)), [0, 1, 1]);
    assert_eq!(of(ops::le_scalar(&x, 0.3)), [1, 0, 1]);
}

#[test]
fn a_mix_of_dtypes_is_refused_with_a_conversion() {
    let x = StridedTensor::full(&[1, 16, 2, 2], 1f32, MemoryFormat::Contiguous).unwrap();
    let e = ops::add(&x, &x.to_dtype(DType::BF16).unwrap()).unwrap_err();
    assert!(matches!(e, Error::DTypeMismatch(_)) && e.to_string().contains("to_dtype"), "{e}");
}

#[test]
fn casts_are_those_of_the_tensors_and_name_their_dtype() {
    let x = StridedTensor::from_slice(&[1.5f32, -2.7, 300.0, f32::NAN], &[1, 4, 1]).unwrap();
    for (form, x) in forms(&x) {
        for dtype in DType::ALL {
            let cast = ops::to_dtype(&x, dtype).unwrap();
            let want = match &x {
                Tensor::Strided(x) => x.to_dtype(dtype).unwrap().into(),
                Tensor::Blocked(x) => x.to_dtype(dtype).unwrap().into(),
                Tensor::Opaque(_) => unreachable!(),
            };
            let bits = |t: &Tensor| elements(t).into_iter().map(f32::to_bits).collect::<Vec<_>>();
            assert_eq!((cast.tensor_ref().dtype(), bits(&cast)), (dtype, bits(&want)), "{form} {dtype}");
            if dtype == DType::F32 {
                // The tensor's own method returns the tensor.
                continue;
            }
            let layout = |t: &Tensor| TensorDesc::of(t.tensor_ref()).layout_name();
            assert_eq!(layout(&cast), layout(&want), "{form} {dtype}");
        }
        let call = |name: &'static str| {
            dispatch::call("to_dtype", &[("x", x.clone().into()), ("dtype", name.into())])
        };
        assert_eq!(call("s8").unwrap()[0].tensor_ref().dtype(), DType::S8);
        let e = call("int8").unwrap_err();
        assert!(matches!(e, Error::InvalidArgument(_)) && e.to_string().contains("use f32, bf16"), "{e}");
    }
}

#[test]
fn casts_that_saturate_keep_finite_numbers_finite() {
    let data = [f32::MIN, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.0, 65_519.0, 65_520.0];
    let x: Tensor = StridedTensor::from_slice(&data, &[1, 8, 1]).unwrap().into();
    let call = |dtype: &'static str, saturate: bool| {
        let args: [(&str, Value); 3] =
            [("x", x.clone().into()), ("dtype", dtype.into()), ("saturate", saturate.into())];
        elements(&dispatch::call("to_dtype", &args).unwrap().remove(0))
    };
    for (dtype, largest) in [("bf16", bf16::MAX.to_f32()), ("f16", 65_504.0)] {
        let (plain, within) = (call(dtype, false), call(dtype, true));
        assert_eq!(plain[..4], [f32::NEG_INFINITY, f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY]);
        assert_eq!(within[..4], [-largest, largest, f32::INFINITY, f32::NEG_INFINITY]);
        assert!(within[4].is_nan() && within[5] == 1.0);
    }
    assert_eq!(call("f16", true)[6..], [65_504.0, 65_504.0]);
    assert_eq!(call("f16", false)[6..], [65_504.0, f32::INFINITY]);
}

#[test]
fn casts_of_integers_saturate_on_request() {
    let cases: [(DType, &[f32], &str, &[f32]); 6] = [
        (DType::S32, &[-300.0, -1.0, 127.0, 128.0, 256.0], "u8", &[0.0, 0.0, 127.0, 128.0, 255.0]),
        (DType::S32, &[-300.0, -1.0, 127.0, 128.0, 256.0], "s8", &[-128.0, -1.0, 127.0, 127.0, 127.0]),
        (DType::S8, &[-128.0, -1.0, 0.0, 127.0], "u8", &[0.0, 0.0, 0.0, 127.0]),
        (DType::U8, &[0.0, 127.0, 128.0, 255.0], "s8", &[0.0, 127.0, 127.0, 127.0]),
        (DType::S32, &[-100_000.0, 65_504.0, 100_000.0], "f16", &[-65_504.0, 65_504.0, 65_504.0]),
        (DType::BF16, &[-1e38, 1.0, f32::INFINITY], "f16", &[-65_504.0, 1.0, f32::INFINITY]),
    ];
    for (from, values, to, want) in cases {
        let x = StridedTensor::from_slice(values, &[1, values.len(), 1]).unwrap().to_dtype(from).unwrap();
        for x in [
            Tensor::from(x.clone()),
            x.to_blocked(&Layout::blocked_activation(3, 8).unwrap()).unwrap().into(),
        ] {
            let call = |saturate: bool| {
                let args: [(&str, Value); 3] =
                    [("x", x.clone().into()), ("dtype", to.into()), ("saturate", saturate.into())];
                elements(&dispatch::call("to_dtype", &args).unwrap().remove(0))
            };
            assert_eq!(call(true), want, "{from} to {to}");
            assert_ne!(call(false), want, "{from} to {to}");
        }
    }
}

/// A convolution in bf16: its problem, and its operands, which bf16 holds.
struct Case {
    p: Problem,
    x: StridedTensor,
    w: StridedTensor,
    bias: StridedTensor,
    residual: StridedTensor,
    /// Result and magnitudes, with the residual and a `relu`.
    want: Vec<f64>,
    magnitude: Vec<f64>,
}

impl Case {
    fn new(rng: &mut Rng, p: Problem) -> Case {
        let [_, h, w] = p.output();
        let (dst, [_, ih, iw], [_, kh, kw]) = ([p.n, p.o, h, w], p.input, p.kernel);
        let mut tensor = |dims: &[usize]| {
            let data = rounded(&rng.reals(dims.iter().product()));
            (StridedTensor::from_slice(&data, dims).unwrap(), data)
        };
        let (x, xs) = tensor(&[p.n, p.c, ih, iw]);
        let (weights, ws) = tensor(&[p.o, p.c / p.groups, kh, kw]);
        let (bias, bs) = tensor(&[p.o]);
        let (residual, rs) = tensor(&dst);
        let (sums, magnitude) = p.solve(&xs, &ws, Some(&bs));
        let want = sums.iter().zip(&rs).map(|(s, &r)| (s + f64::from(r)).max(0.0)).collect();
        Case { p, x, w: weights, bias, residual, want, magnitude }
    }

    fn params(&self) -> Conv2d {
        let [_, sh, sw] = self.p.stride;
        let [_, ph, pw] = self.p.pad_begin;
        Conv2d::new()
            .strides([sh, sw])
            .paddings([ph, pw], [ph, pw])
            .groups(self.p.groups)
            .post_op(PostOp::Residual)
            .relu()
    }

    /// Half a unit of bf16's last place, and what sums in f32 may lose.
    fn check(&self, what: &str, y: &Tensor) {
        assert_eq!(y.tensor_ref().dtype(), DType::BF16, "{what}");
        for (i, &got) in elements(y).iter().enumerate() {
            let limit = self.want[i].abs() / 250.0 + 4e-6 * self.magnitude[i];
            let (got, want) = (f64::from(got), self.want[i]);
            assert!((got - want).abs() <= limit, "{what}, element {i}: {got}, not {want}");
        }
    }
}

/// The residual in bf16, in the layout of a packed convolution's source.
fn like(x: &Tensor, residual: &StridedTensor) -> Tensor {
    let residual = residual.to_dtype(DType::BF16).unwrap();
    match x {
        Tensor::Blocked(x) => residual.to_blocked(x.layout()).unwrap().into(),
        Tensor::Strided(x) => {
            let formats =
                [x.suggest_memory_format(false), MemoryFormat::Contiguous, MemoryFormat::ChannelsLast];
            let format = formats.into_iter().find(|f| x.is_contiguous(*f)).expect("a dense source");
            residual.contiguous(format).unwrap().into()
        }
        Tensor::Opaque(_) => unreachable!(),
    }
}

fn cases() -> Vec<Case> {
    let mut rng = Rng(1127);
    let mut list = Vec::new();
    for (c, o) in [(1, 1), (3, 16), (15, 17), (16, 31), (17, 15), (31, 3), (33, 33), (64, 32)] {
        for (n, input, kernel, stride) in [
            (1, [1, 7, 5], [1, 3, 3], [1, 1, 1]),
            (2, [1, 1, 1], [1, 1, 1], [1, 1, 1]),
            (1, [1, 9, 12], [1, 1, 1], [1, 2, 2]),
            (0, [1, 4, 4], [1, 3, 3], [1, 1, 1]),
        ] {
            let p = Problem { stride, ..Problem::new([n, c, o], input, kernel) };
            list.push(Case::new(&mut rng, p.padded([0, kernel[1] / 2, kernel[2] / 2])));
        }
    }
    for channels in [16, 17, 33] {
        let p = Problem { groups: channels, ..Problem::new([1, channels, channels], [1, 8, 6], [1, 3, 3]) };
        list.push(Case::new(&mut rng, p.padded([0, 1, 1])));
    }
    list
}

#[test]
fn packed_convolutions_in_bf16_agree_with_f64_loops() {
    let mut ran = 0;
    for case in cases() {
        let bias = Some(&case.bias);
        let packer = blocktensor::PackedConv2d::new(&case.w, bias, case.params()).unwrap();
        for (form, x) in forms(&case.x) {
            let x = in_bf16(&x);
            let Ok(source) = Source::of(&x) else { continue };
            let what = format!("{:?} {form}", case.p);
            let conv = match packer.pack_for(&source) {
                Ok(conv) => conv,
                Err(e @ (Error::UnsupportedDType(_) | Error::UnsupportedOp(_))) => {
                    assert!(e.to_string().contains("f32"), "{e}");
                    continue;
                }
                Err(e) => panic!("{what}: {e}"),
            };
            let residual = like(&x, &case.residual);
            let y = conv.run_fused(&x, Fusion { residual: Some(&residual), channel: &[] }).unwrap();
            case.check(&what, &y);
            // The same weights rounded before give the same bits.
            let again =
                blocktensor::PackedConv2d::new(&case.w.to_dtype(DType::BF16).unwrap(), bias, case.params());
            let again = again.unwrap().pack_for(&source).unwrap();
            let other = again.run_fused(&x, Fusion { residual: Some(&residual), channel: &[] }).unwrap();
            assert_eq!(elements(&y), elements(&other), "{what}");
            ran += 1;
        }
    }
    let has = Isa::Avx512Bf16.is_here() && cfg!(feature = "onednn");
    // In NHWC, and in blocks of 16 for as many channels. Of one channel there is nothing.
    assert_eq!(ran > 75, has, "{ran}");
}

#[test]
fn calls_in_bf16_agree_with_f64_loops_or_name_the_way_to_f32() {
    let (mut ran, mut refused) = (0, 0);
    for case in cases().into_iter().filter(|case| case.p.groups == 1) {
        for layout in [None, Some(Layout::NCHW16C)] {
            let (x, w) = (case.x.to_dtype(DType::BF16).unwrap(), case.w.to_dtype(DType::BF16).unwrap());
            let r = case.residual.to_dtype(DType::BF16).unwrap();
            let [x, w, r]: [Tensor; 3] = match &layout {
                None => [&x, &w, &r].map(|t| t.contiguous(MemoryFormat::ChannelsLast).unwrap().into()),
                Some(layout) => {
                    let weights = Layout::OIHW16I16O;
                    let blocked = |t: &StridedTensor, to: &Layout| t.to_blocked(to).unwrap().into();
                    [blocked(&x, layout), blocked(&w, &weights), blocked(&r, layout)]
                }
            };
            let fusion = Fusion { residual: Some(&r), channel: &[] };
            match ops::conv2d_fused(&x, &w, Some(&case.bias), &case.params(), fusion) {
                Ok(y) => {
                    case.check(&format!("{:?} {layout:?}", case.p), &y);
                    ran += 1;
                }
                Err(e) => {
                    // Where oneDNN has nothing fast, as for a few channels in NHWC.
                    let text = e.to_string();
                    assert!(text.contains("to_dtype(DType::F32)"), "{e}");
                    refused += 1;
                }
            }
        }
    }
    let has = Isa::Avx512Bf16.is_here() && cfg!(feature = "onednn");
    assert_eq!(ran > 25, has, "{ran} ran, {refused} were refused");
}

#[test]
fn winograd_is_refused_in_bf16() {
    let x = StridedTensor::full(&[1, 16, 8, 8], 1f32, MemoryFormat::ChannelsLast).unwrap();
    let w = StridedTensor::full(&[16, 16, 3, 3], 1f32, MemoryFormat::Contiguous).unwrap();
    let x = x.to_blocked(&Layout::NCHW16C).unwrap();
    let params: &[(&str, Value)] = &[("algorithm", "winograd4".into())];
    let packer = AnyConvPacker::new("conv2d", &w, None, params).unwrap();
    let source = Source::of(&x).unwrap();
    let e = packer.pack_for(&source.clone().dtype(DType::BF16)).unwrap_err();
    assert!(e.to_string().contains("pack for an f32 source"), "{e}");
    packer.pack_for(&source).unwrap();
}
