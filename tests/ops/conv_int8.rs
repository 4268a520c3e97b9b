//! Convolutions of u8 and s8 in every layout: the sums are those of a loop over integers, and what `quantize` makes of them is the
//! f64 value, rounded half to even.

use blocktensor::dispatch::{self, Value};
use blocktensor::{
    AnyConvPacker, DType, Layout, MemoryFormat, Operand, PackedFile, PackedOp, PackedWriter, Source,
    StridedTensor, Tensor, ops, ops::Algorithm,
};

use super::conv::problem;
use crate::support::Rng;
use crate::support::activation::elements;
use crate::support::conv::{Problem, Transposed};

/// A problem with integers. `want` are the sums.
struct Data {
    op: &'static str,
    x: StridedTensor,
    w: StridedTensor,
    bias: StridedTensor,
    params: Vec<(&'static str, Value)>,
    want: Vec<f64>,
    dims: Vec<usize>,
}

fn bytes(dtype: DType, values: &[f32], dims: &[usize]) -> StridedTensor {
    StridedTensor::from_slice(values, dims).unwrap().to_dtype(dtype).unwrap()
}

fn draw(rng: &mut Rng, n: usize, low: i32, high: i32) -> Vec<f32> {
    (0..n).map(|_| (low + rng.below((high - low + 1) as usize) as i32) as f32).collect()
}

impl Data {
    fn new(rng: &mut Rng, p: &Problem, spatial: usize, dtype: DType, transposed: bool) -> Data {
        let (low, high) = if dtype == DType::U8 { (0, 255) } else { (-128, 127) };
        let zero_point = rng.pick(&[0, 0, low, high, 7]);
        let (cg, og) = (p.c / p.groups, p.o / p.groups);
        let taps = p.kernel.iter().product::<usize>();
        let x = draw(rng, p.n * p.c * p.input.iter().product::<usize>(), low, high);
        let w = draw(rng, p.o * cg * taps, -128, 127);
        let bias = draw(rng, p.o, -(1 << 20), 1 << 20);
        // Padding stands for 0.
        let centred: Vec<f32> = x.iter().map(|v| v - zero_point as f32).collect();
        let t = Transposed { of: p.clone(), output_padding: [0; 3] };
        let (want, output) = match transposed {
            true => (t.solve(&centred, &w, Some(&bias)).0, t.output().unwrap()),
            false => (p.solve(&centred, &w, Some(&bias)).0, p.output()),
        };
        let dims = |first: [usize; 2], rest: [usize; 3]| [&first[..], &rest[3 - spatial..]].concat();
        let list = |l: [usize; 3]| -> Value {
            l[3 - spatial..].iter().map(|&v| v as i64).collect::<Vec<i64>>().into()
        };
        let padding: Vec<i64> =
            [p.pad_begin, p.pad_end].iter().flat_map(|l| &l[3 - spatial..]).map(|&v| v as i64).collect();
        let ops =
            [["conv1d", "conv2d", "conv3d"], ["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]];
        let weights = if transposed { dims([p.c, og], p.kernel) } else { dims([p.o, cg], p.kernel) };
        Data {
            op: ops[usize::from(transposed)][spatial - 1],
            x: bytes(dtype, &x, &dims([p.n, p.c], p.input)),
            w: bytes(DType::S8, &w, &weights),
            bias: StridedTensor::from_slice(&bias, &[p.o]).unwrap(),
            params: vec![
                ("stride", list(p.stride)),
                ("dilation", list(p.dilation)),
                ("padding", padding.into()),
                ("groups", (p.groups as i64).into()),
                ("x_zero_point", i64::from(zero_point).into()),
            ],
            want,
            dims: dims([p.n, p.o], output),
        }
    }

    /// Source and residual in each layout that the kernel takes. Weights of strided tensors are plain.
    fn forms(&self, residual: &StridedTensor) -> Vec<(Source, Tensor, Tensor)> {
        let rank = self.x.rank();
        let mut forms = Vec::new();
        for format in [MemoryFormat::Contiguous, MemoryFormat::channels_last_of(rank).unwrap()] {
            let [x, r] = [&self.x, residual].map(|t| t.contiguous(format).unwrap().into());
            forms.push((Source::strided(self.x.dims(), format).unwrap().dtype(self.x.dtype()), x, r));
        }
        for block in [4, 8, 16, 32, 64] {
            let layout = Layout::blocked_activation(rank, block).unwrap();
            let [x, r] = [&self.x, residual].map(|t| t.to_blocked(&layout).unwrap().into());
            forms.push((Source::blocked(self.x.dims(), &layout).unwrap().dtype(self.x.dtype()), x, r));
        }
        forms
    }

    fn params(&self, post_ops: &str) -> Vec<(&'static str, Value)> {
        let mut params = self.params.clone();
        params.push(("post_ops", post_ops.into()));
        params
    }

    /// The result in each layout, packed, and for strided tensors also as a plain call.
    fn run(
        &self,
        post_ops: &str,
        residual: &StridedTensor,
        channel: &[&StridedTensor],
    ) -> Vec<(String, Tensor)> {
        let mut results = Vec::new();
        let params = self.params(post_ops);
        let packer = AnyConvPacker::new(self.op, &self.w, Some(&self.bias), &params).unwrap();
        for (source, x, r) in self.forms(residual) {
            let fusion = ops::Fusion { residual: post_ops.contains("residual").then_some(&r), channel };
            let packed = packer.pack_for(&source).unwrap();
            assert_eq!(packed.implementation(), "blocktensor:int8");
            assert_eq!(packed.algorithm(), Algorithm::Direct);
            results.push((format!("{source}, packed"), packed.run_fused(&x, fusion).unwrap()));
            if let Tensor::Strided(_) = x {
                let mut args: Vec<(&str, Value)> = vec![
                    ("x", x.into()),
                    ("weights", self.w.clone().into()),
                    ("bias", self.bias.clone().into()),
                ];
                if fusion.residual.is_some() {
                    args.push(("residual", r.clone().into()));
                }
                let list: Vec<Tensor> = channel.iter().map(|&c| c.clone().into()).collect();
                args.push(("channel", list.into()));
                args.extend(params.iter().cloned());
                results.push((source.to_string(), dispatch::call(self.op, &args).unwrap().remove(0)));
            }
        }
        results
    }
}

fn cases(rng: &mut Rng, rounds: usize) -> Vec<Data> {
    let mut all = Vec::new();
    for round in 0..rounds {
        let spatial = 1 + round % 3;
        let transposed = round % 7 == 6;
        let p = problem(rng, spatial);
        let dtype = if rng.below(2) == 0 { DType::U8 } else { DType::S8 };
        let fits = !transposed || Transposed { of: p.clone(), output_padding: [0; 3] }.output().is_some();
        if fits {
            all.push(Data::new(rng, &p, spatial, dtype, transposed));
        }
    }
    // Rows that are longer than a tile, several tasks, and depthwise.
    let large = |c: usize, o: usize, groups: usize, input: [usize; 3], k: usize, s: usize| Problem {
        groups,
        stride: [1, s, s],
        ..Problem::new([2, c, o], input, [1, k, k]).padded([0, k / 2, k / 2])
    };
    for p in [
        large(64, 80, 1, [1, 9, 70], 3, 1),
        large(48, 32, 1, [1, 14, 14], 1, 1),
        large(48, 33, 1, [1, 15, 13], 1, 2),
        large(40, 40, 40, [1, 12, 67], 3, 1),
        large(33, 33, 33, [1, 11, 9], 5, 2),
        large(48, 48, 48, [1, 10, 21], 3, 2),
        large(17, 17, 17, [1, 9, 30], 5, 1),
        large(16, 16, 16, [1, 7, 7], 3, 1),
        large(20, 20, 20, [1, 8, 19], 7, 1),
        // More blocks than tasks: one after the other in the same memory.
        large(150, 150, 150, [1, 5, 6], 3, 1),
        large(161, 161, 161, [1, 7, 7], 5, 2),
        large(161, 161, 161, [1, 1, 1], 3, 1),
        large(1, 1, 1, [1, 6, 5], 3, 1),
        large(3, 3, 3, [1, 9, 8], 5, 2),
        large(15, 15, 15, [1, 4, 17], 3, 2),
        large(32, 40, 1, [1, 15, 29], 3, 2),
        Problem { n: 0, ..large(17, 17, 17, [1, 6, 5], 3, 1) },
        large(3, 32, 1, [1, 19, 37], 3, 2),
        large(4, 18, 2, [1, 9, 16], 3, 1),
        large(24, 48, 3, [1, 8, 8], 3, 1),
    ] {
        for dtype in [DType::U8, DType::S8] {
            all.push(Data::new(rng, &p, 2, dtype, false));
        }
    }
    all
}

#[test]
fn sums_are_those_of_integers() {
    let mut rng = Rng(0x5eed_0147);
    let mut ran = 0;
    for data in cases(&mut rng, 90) {
        let nothing = StridedTensor::full(&data.dims, 0f32, MemoryFormat::Contiguous).unwrap();
        for (form, got) in data.run("", &nothing, &[]) {
            assert_eq!(got.tensor_ref().dtype(), DType::S32);
            assert_eq!(got.tensor_ref().dims(), data.dims);
            let Tensor::Strided(plain) = to_strided(&got) else { unreachable!() };
            let got: Vec<f64> = plain.to_vec::<i32>().unwrap().into_iter().map(f64::from).collect();
            let what =
                format!("{} {:?} by {:?} {:?}, {form}", data.op, data.x.dims(), data.w.dims(), data.params);
            assert!(got == data.want, "{what}");
            ran += 1;
        }
    }
    assert!(ran > 400, "{ran}");
}

fn to_strided(t: &Tensor) -> Tensor {
    match t {
        Tensor::Blocked(t) => {
            t.check_tail().unwrap();
            t.to_strided(MemoryFormat::Contiguous).unwrap().into()
        }
        other => other.clone(),
    }
}

/// Whether a byte is the value, rounded half to even and saturated; off by one only within 9e-6 of a tie, relative to what was added.
fn is_rounded(got: f32, value: f64, zero_point: f64, (low, high): (f64, f64), magnitude: f64) -> bool {
    let byte = |v: f64| (v.round_ties_even() + zero_point).clamp(low, high);
    let got = f64::from(got);
    let to_tie = (value - value.floor() - 0.5).abs();
    got == byte(value) || (to_tie <= 9e-6 * magnitude.max(1.0) && (got - byte(value)).abs() <= 1.0)
}

#[test]
fn quantised_results_are_rounded_once() {
    let mut rng = Rng(0x5eed_0148);
    let cases = cases(&mut rng, 40);
    for (i, data) in cases.iter().enumerate() {
        let o = data.dims[1];
        let pixels: usize = data.dims[2..].iter().product();
        let count = data.want.len();
        let largest = data.want.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        let scales: Vec<f32> =
            (0..o).map(|_| ((0.3 + f64::from(rng.real().abs())) * 150.0 / largest) as f32).collect();
        let to = rng.pick(&[DType::U8, DType::S8]);
        let (low, high) = if to == DType::U8 { (0.0, 255.0) } else { (-128.0, 127.0) };
        let zero_point = rng.pick(&[0, 5, high as i64]) as f64;
        let (of, r_zero) = if i % 2 == 0 { (DType::U8, 13.0) } else { (DType::S8, -5.0) };
        let r =
            if of == DType::U8 { draw(&mut rng, count, 0, 255) } else { draw(&mut rng, count, -128, 127) };
        let r_scale = 0.37f32;
        let residual = bytes(of, &r, &data.dims);
        let channel = StridedTensor::from_slice(&scales, &[o]).unwrap();
        // Without a function all of it happens in registers.
        let (relu, least) = if i % 3 == 0 { ("relu,", 0.0) } else { ("", f64::NEG_INFINITY) };
        let post_ops =
            format!("mul_channel,residual({of},{r_scale},{r_zero}),{relu}quantize({to},{zero_point})");
        let want = |i: usize| {
            let product = data.want[i] * f64::from(scales[i / pixels % o]);
            let added = f64::from(r_scale) * (f64::from(r[i]) - r_zero);
            ((product + added).max(least), product.abs() + added.abs())
        };
        for (form, got) in data.run(&post_ops, &residual, &[&channel]) {
            assert_eq!(got.tensor_ref().dtype(), to);
            for (i, &got) in elements(&got).iter().enumerate() {
                let (value, magnitude) = want(i);
                let what = format!("{} {:?} {form} {post_ops}, element {i}", data.op, data.x.dims());
                let fits = is_rounded(got, value, zero_point, (low, high), magnitude / 100.0);
                assert!(
                    fits,
                    "{what}: {got} of {value} + {zero_point}; {} * {} + {r_scale} * ({} - {r_zero}); {:?} {:?}",
                    data.want[i],
                    scales[i / pixels % o],
                    r[i],
                    data.params,
                    data.dims
                );
            }
        }
        // Without `quantize` the result is f32.
        for (form, got) in data.run("mul_channel,relu", &residual, &[&channel]) {
            assert_eq!(got.tensor_ref().dtype(), DType::F32);
            for (i, &got) in elements(&got).iter().enumerate() {
                let value = (data.want[i] * f64::from(scales[i / pixels % o])).max(0.0);
                assert!((f64::from(got) - value).abs() <= 2e-7 * value.abs(), "{form}: {got}, not {value}");
            }
        }
    }
}

/// Numbers that no integer of 32 bits holds saturate as others do, and NaN is 0.
#[test]
fn numbers_beyond_all_ranges_saturate() {
    let mut rng = Rng(0x5eed_014a);
    let (o, dims) = (37, [1, 37, 3, 15]);
    let pixels = 45;
    let p = Problem::new([1, 5, o], [1, 3, 15], [1, 1, 1]);
    let data = Data::new(&mut rng, &p, 2, DType::U8, false);
    // The second block has none of them.
    let extreme = [1e30, -1e30, f32::INFINITY, f32::NAN, 3e9, -3e9, f32::MAX, 0.0, f32::MIN_POSITIVE];
    let scales: Vec<f32> = (0..o)
        .map(|c| if (16..32).contains(&c) { 0.001 * c as f32 } else { extreme[c % extreme.len()] })
        .collect();
    let more: Vec<f32> = (0..o).map(|c| [0.25, -1e30, 7.0][c % 3]).collect();
    let [scales_of, more_of] = [&scales, &more].map(|list| StridedTensor::from_slice(list, &[o]).unwrap());
    let nothing = StridedTensor::full(&dims, 0u8, MemoryFormat::Contiguous).unwrap();
    for (to, low, high) in [(DType::U8, 0.0, 255.0), (DType::S8, -128.0, 127.0)] {
        for zero_point in [low, 3.0, high] {
            for post_ops in ["mul_channel", "mul_channel,add_channel"] {
                let text = format!("{post_ops},quantize({to},{zero_point})");
                let channel = [&scales_of, &more_of];
                let channel = &channel[..post_ops.split(',').count()];
                for (form, got) in data.run(&text, &nothing, channel) {
                    for (i, got) in elements(&got).into_iter().enumerate() {
                        let c = i / pixels % o;
                        let product = data.want[i] as f32 * scales[c];
                        let x = if channel.len() == 2 { product + more[c] } else { product };
                        let x = if x.is_nan() { 0.0 } else { x };
                        let want = (x.round_ties_even() + zero_point).clamp(low, high);
                        assert_eq!(got, want, "{form}: channel {c}, {} by {text}", data.want[i]);
                    }
                }
            }
        }
    }
}

/// Packed integer weights come back, from memory and from a file, and give the same bits.
#[test]
fn packed_weights_are_kept_in_files() {
    let mut rng = Rng(0x5eed_0149);
    let dir = std::env::temp_dir().join(format!("blocktensor-int8-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for (i, data) in cases(&mut rng, 8).iter().enumerate() {
        let layout = Layout::blocked_activation(data.x.rank(), 16).unwrap();
        let x: Tensor = data.x.to_blocked(&layout).unwrap().into();
        let params = data.params("");
        let packer = AnyConvPacker::new(data.op, &data.w, Some(&data.bias), &params).unwrap();
        let packed = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
        let plain = packed.unpack_weights().unwrap();
        assert_eq!(plain.dtype(), DType::S8);
        if !data.op.contains("transpose") {
            let given = data.w.reshape(plain.dims()).unwrap();
            assert_eq!(plain.to_vec::<i8>().unwrap(), given.to_vec::<i8>().unwrap());
        }
        let want = packed.run(&x).unwrap();
        let path = dir.join(format!("{i}.packed"));
        let op = PackedOp::from(packed);
        let mut writer = PackedWriter::new();
        writer.add("conv", &op).unwrap();
        writer.save(&path).unwrap();
        let again: PackedOp = PackedFile::read(&path).unwrap().get("conv").unwrap();
        let PackedOp::Conv(again) = again else { panic!("a convolution") };
        assert_eq!(elements(&again.run(&x).unwrap()), elements(&want));
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// A sum that 32 bits do not hold would wrap around.
#[test]
fn weights_whose_sums_have_more_than_32_bits_are_refused() {
    let c = 70_000;
    let full = |dtype, value: f32| bytes(dtype, &vec![value; c], &[1, c, 1, 1]);
    let x = full(DType::U8, 255.0);
    let call = |value: f32, zero_point: i64| {
        let args = [
            ("x", x.clone().into()),
            ("weights", full(DType::S8, value).into()),
            ("x_zero_point", zero_point.into()),
        ];
        dispatch::call("conv2d", &args).map(|mut got| elements(&got.remove(0))[0])
    };
    assert_eq!(call(100.0, 0).unwrap(), (c * 255 * 100) as f32);
    // Sources are as far as 128 from this zero point.
    assert_eq!(call(-128.0, 128).unwrap(), -((c * 127 * 128) as f32));
    for value in [127.0, -128.0] {
        let error = call(value, 0).unwrap_err().to_string();
        assert!(
            error.contains("sums of 32 bits hold up to") && error.contains("output channel 0"),
            "{error}"
        );
    }
}

/// An output of a transposed convolution meets the taps of its phase alone: here one of 16.
#[test]
fn sums_of_a_phase_are_what_must_fit() {
    let (c, stride) = (4200, 4);
    let x = bytes(DType::U8, &vec![255.0; c * 4], &[1, c, 2, 2]);
    let w = bytes(DType::S8, &vec![-128.0; c * 3 * stride * stride], &[c, 3, stride, stride]);
    let args = [("x", x.into()), ("weights", w.into()), ("stride", vec![stride as i64; 2].into())];
    let got = elements(&dispatch::call("conv_transpose2d", &args).unwrap()[0]);
    assert_eq!(got, vec![-((c * 255 * 128) as f32); 3 * 8 * 8]);
}

/// Of taps that are far apart each is copied, without what lies between them: that would be 230 GB.
#[test]
fn far_taps_are_read_alone() {
    let far = 60_000;
    let mut rng = Rng(0x5eed_0150);
    for (channels, groups, input, kernel, stride, dilation) in [
        (17, 1, [1, 3, 2], [1, 3, 3], [1, 1, 1], [1, far, far]),
        (17, 1, [1, 5, 3], [1, 3, 3], [1, 2, 2], [1, far, far]),
        (3, 1, [1, 2, 3], [1, 3, 3], [1, 1, 1], [1, far, 1]),
        (16, 16, [1, 3, 9], [1, 3, 3], [1, 1, 1], [1, far, 1]),
        (16, 16, [1, 3, 200], [1, 3, 3], [1, 1, 40], [1, far, 1]),
        (17, 1, [1, 3, 200], [1, 3, 3], [1, 1, 40], [1, far, 1]),
        (3, 1, [1, 3, 200], [1, 5, 5], [1, 1, 40], [1, far, 1]),
        (20, 2, [2, 3, 2], [3, 3, 3], [1, 1, 1], [far, far, far]),
    ] {
        let padding = [0, 1, 2].map(|a| (kernel[a] - 1) / 2 * dilation[a]);
        let p = Problem {
            groups,
            stride,
            dilation,
            pad_begin: padding,
            pad_end: padding,
            ..Problem::new([2, channels, if groups == 1 { 33 } else { channels }], input, kernel)
        };
        for dtype in [DType::U8, DType::S8] {
            let data = Data::new(&mut rng, &p, if input[0] > 1 { 3 } else { 2 }, dtype, false);
            let nothing = StridedTensor::full(&data.dims, 0f32, MemoryFormat::Contiguous).unwrap();
            for (form, got) in data.run("", &nothing, &[]) {
                let Tensor::Strided(plain) = to_strided(&got) else { unreachable!() };
                let got: Vec<f64> = plain.to_vec::<i32>().unwrap().into_iter().map(f64::from).collect();
                assert!(got == data.want, "{p:?} {dtype} {form}");
            }
        }
    }
}

#[test]
fn what_does_not_go_together_is_an_error() {
    let x = bytes(DType::U8, &[1.0; 32], &[1, 2, 4, 4]);
    let w = bytes(DType::S8, &[1.0; 6], &[3, 2, 1, 1]);
    let half = StridedTensor::from_slice(&[0.5f32; 3], &[3]).unwrap();
    let f32 = |t: &StridedTensor| t.to_dtype(DType::F32).unwrap();
    let call = |x: &StridedTensor, w: &StridedTensor, more: &[(&'static str, Value)]| {
        let mut args: Vec<(&str, Value)> = vec![("x", x.clone().into()), ("weights", w.clone().into())];
        args.extend(more.iter().cloned());
        dispatch::call("conv2d", &args).unwrap_err().to_string()
    };
    for (error, part) in [
        (call(&x, &f32(&w), &[]), "weights"),
        (call(&f32(&x), &w, &[]), "weights"),
        (
            call(&f32(&x), &f32(&w), &[("post_ops", "quantize(u8,0)".into())]),
            "only a convolution or linear layer of u8 or s8",
        ),
        (call(&f32(&x), &f32(&w), &[("x_zero_point", 3i64.into())]), "leave it out"),
        (call(&x, &w, &[("x_zero_point", (-1i64).into())]), "pass 0 to 255"),
        (call(&x, &w, &[("x_zero_point", 256i64.into())]), "x_zero_point"),
        (call(&x, &w, &[("bias", half.clone().into())]), "whole numbers up to 2^24"),
        (call(&x, &w, &[("algorithm", "winograd".into())]), "algorithm"),
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let source = Source::of(&f32(&x)).unwrap();
    let error =
        AnyConvPacker::new("conv2d", &w, None, &[]).unwrap().pack_for(&source).unwrap_err().to_string();
    assert!(error.contains("takes weights of f32 or bf16"), "{error}");
}

/// Weights in f32 that became s8 would be other weights.
#[test]
fn a_source_of_integers_beside_weights_in_f32_is_what_is_converted() {
    let x = StridedTensor::full(&[1, 2, 3, 3], 1u8, MemoryFormat::Contiguous).unwrap();
    let w = StridedTensor::full(&[1, 2, 1, 1], 0.5f32, MemoryFormat::Contiguous).unwrap();
    let e = ops::conv2d(&x, &w, None, &ops::Conv2d::new()).unwrap_err();
    let complaint = match &e {
        blocktensor::Error::DTypeMismatch(complaint) => complaint,
        other => panic!("{other}"),
    };
    assert_eq!(complaint.argument, "weights");
    assert!(e.to_string().ends_with("convert `x` with `to_dtype(DType::F32)`"), "{e}");
    let y = ops::conv2d(&x.to_dtype(DType::F32).unwrap(), &w, None, &ops::Conv2d::new()).unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [1.0; 9]);
    // Integers of another kind are converted themselves.
    let e = ops::conv2d(&x, &w.to_dtype(DType::S32).unwrap(), None, &ops::Conv2d::new()).unwrap_err();
    assert!(e.to_string().contains("convert it with") && e.to_string().contains("S8"), "{e}");
}

#[test]
fn packed_convolutions_refuse_quantised_tensors() {
    use blocktensor::{Error, Quantization};
    let one = Quantization::per_tensor(0.5, 3);
    let x = bytes(DType::U8, &[2.0; 32], &[1, 2, 4, 4]);
    let w = bytes(DType::S8, &[1.0; 4], &[2, 2, 1, 1]);
    let pack = |w: &StridedTensor, params: &[(&str, Value)]| AnyConvPacker::new("conv2d", w, None, params);
    let source = Source::of(&x).unwrap();
    let plain = pack(&w, &[("post_ops", "quantize(u8,0)".into())]).unwrap().pack_for(&source).unwrap();
    let mut dst = plain.run(&x).unwrap();
    let summed = pack(&w, &[("post_ops", "residual(u8,0.5,0),quantize(u8,0)".into())])
        .unwrap()
        .pack_for(&source)
        .unwrap();
    let residual = dst.quantized(one.clone()).unwrap();
    dst = dst.quantized(one.clone()).unwrap();
    let with = |residual| ops::Fusion { residual: Some(residual), ..ops::Fusion::default() };
    let quantized = x.quantized(one.clone()).unwrap();
    for (argument, result) in [
        ("weights", pack(&w.quantized(one).unwrap(), &[]).map(drop)),
        ("x", plain.run(&quantized).map(drop)),
        ("residual", summed.run_fused(&x, with(&residual)).map(drop)),
        ("dst", plain.run_into(&x, ops::Fusion::default(), &mut dst)),
    ] {
        let e = result.expect_err(argument);
        assert!(matches!(e, Error::UnsupportedDType(_)), "{e}");
        assert_eq!(e.complaint().unwrap().argument, argument, "{e}");
        assert!(e.to_string().contains("without_quantization"), "{e}");
    }
    summed.run_fused(&x, with(&residual.without_quantization())).unwrap();
}
