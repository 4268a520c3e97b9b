//! Transposed convolution under every dispatch key, against f64 loops from the definition.

use blocktensor::ops::{self, ConvTranspose, ConvTranspose2d, PostOp};
use blocktensor::{
    BlockedTensor, Error, Layout, MemoryFormat, PackedConvTranspose1d, PackedConvTranspose2d,
    PackedConvTranspose3d, Source, StridedTensor, WeightsKind, ledger,
};

use crate::support::conv::{Problem, Transposed};
use crate::support::{Rng, assert_close};

pub(super) fn problem(rng: &mut Rng, spatial: usize) -> Transposed {
    loop {
        let channels = [1, 3, 15, 16, 17, 32, 33];
        let (c, o, groups) = match rng.below(5) {
            0 => {
                let c = rng.pick(&channels);
                (c, c, c)
            }
            1 => (32, 32 * rng.pick(&[1, 2]), 2),
            2 => {
                let groups = rng.pick(&[2, 3, 5]);
                (groups * rng.pick(&[1, 3, 4, 8]), groups * rng.pick(&[1, 2, 6, 8]), groups)
            }
            _ => (rng.pick(&channels), rng.pick(&channels), 1),
        };
        let n = rng.pick(&[1, 1, 2, 3]);
        let mut of = Problem { groups, ..Problem::new([n, c, o], [1; 3], [1; 3]) };
        let mut output_padding = [0; 3];
        for a in 3 - spatial..3 {
            of.input[a] = if spatial == 3 { rng.pick(&[1, 2, 3]) } else { rng.pick(&[1, 2, 5, 7]) };
            of.kernel[a] = rng.pick(&[1, 2, 3, 4]);
            of.stride[a] = rng.pick(&[1, 2, 2, 3]);
            of.dilation[a] = rng.pick(&[1, 1, 1, 2, 3]);
            (of.pad_begin[a], of.pad_end[a]) = (rng.below(3), rng.below(3));
            output_padding[a] = rng.below(of.stride[a].max(of.dilation[a]));
        }
        let p = Transposed { of, output_padding };
        if p.output().is_some() {
            return p;
        }
    }
}

/// The operands of a problem, and its expected result with a bias.
pub(super) struct Data {
    pub x: StridedTensor,
    pub w: StridedTensor,
    pub b: StridedTensor,
    pub want: Vec<f64>,
    magnitude: Vec<f64>,
}

impl Data {
    pub fn new(p: &Transposed, spatial: usize, mut values: impl FnMut(usize) -> Vec<f32>) -> Data {
        let (of, og) = (&p.of, p.of.o / p.of.groups);
        let x = values(of.n * of.c * of.input.iter().product::<usize>());
        let w = values(of.c * og * of.kernel.iter().product::<usize>());
        let b = values(of.o);
        let (want, magnitude) = p.solve(&x, &w, Some(&b));
        let dims = |first: [usize; 2], rest: [usize; 3]| [&first[..], &rest[3 - spatial..]].concat();
        Data {
            x: StridedTensor::from_slice(&x, &dims([of.n, of.c], of.input)).unwrap(),
            w: StridedTensor::from_slice(&w, &dims([of.c, og], of.kernel)).unwrap(),
            b: StridedTensor::from_slice(&b, &[of.o]).unwrap(),
            want,
            magnitude,
        }
    }

    /// Weights with output channels first and groups as a dimension of their own, in the layout that goes with this machine's
    /// activations.
    fn blocked_weights(&self, p: &Problem) -> BlockedTensor {
        let spatial = self.x.rank() - 2;
        if p.groups == 1 {
            let to = Layout::native_weights(spatial + 2, WeightsKind::Dense).unwrap();
            return self.w.transpose(0, 1).unwrap().to_blocked(&to).unwrap();
        }
        let (cg, og) = (p.c / p.groups, p.o / p.groups);
        let dims = [&[p.groups, cg, og], &self.w.dims()[2..]].concat();
        let kind = if cg == 1 && og == 1 { WeightsKind::Depthwise } else { WeightsKind::Grouped };
        let to = Layout::native_weights(spatial + 3, kind).unwrap();
        self.w.reshape(&dims).unwrap().transpose(1, 2).unwrap().to_blocked(&to).unwrap()
    }
}

pub(super) fn params<const N: usize>(p: &Transposed) -> ConvTranspose<N> {
    let last = |v: [usize; 3]| -> [usize; N] { std::array::from_fn(|i| v[3 - N + i]) };
    ConvTranspose::new()
        .strides(last(p.of.stride))
        .dilations(last(p.of.dilation))
        .paddings(last(p.of.pad_begin), last(p.of.pad_end))
        .output_paddings(last(p.output_padding))
        .groups(p.of.groups)
}

macro_rules! every_way {
    ($case:expr, $p:expr, $data:expr, $spatial:literal, $op:path, $packed:ident, $limit:expr) => {{
        let (p, data, params) = ($p, $data, params::<$spatial>($p));
        let check = |what: &str, y: &StridedTensor| {
            let what = format!("case {} {what} {p:?}", $case);
            assert_eq!(y.dims()[2..], p.output().unwrap()[3 - $spatial..], "{what}");
            assert_close(&what, &y.to_vec::<f32>().unwrap(), &data.want, $limit);
        };
        check("nchw", &$op(&data.x, &data.w, Some(&data.b), &params).unwrap());
        let packer = $packed::new(&data.w, Some(&data.b), params.clone()).unwrap();
        let packed = packer.pack_for(&Source::of(&data.x).unwrap()).unwrap();
        check("packed nchw", &packed.run(&data.x).unwrap());
        if let Some(last) = MemoryFormat::channels_last_of($spatial + 2) {
            let nhwc = data.x.contiguous(last).unwrap();
            check("nhwc", &$op(&nhwc, &data.w, Some(&data.b), &params).unwrap());
            let packed = packer.pack_for(&Source::of(&nhwc).unwrap()).unwrap();
            check("packed nhwc", &packed.run(&nhwc).unwrap());
        }
        for block in [8, 16] {
            let act = Layout::blocked_activation($spatial + 2, block).unwrap();
            let xb = data.x.to_blocked(&act).unwrap();
            let packed = packer.pack_for(&Source::of(&xb).unwrap()).unwrap();
            let (y, ledger) = ledger::record(|| packed.run(&xb).unwrap());
            assert!(ledger.reorders.is_empty(), "{ledger}");
            y.check_tail().unwrap();
            check(&format!("packed, blocks of {block}"), &y.to_strided(MemoryFormat::Contiguous).unwrap());
        }
        let xb = data.x.to_blocked(&Layout::native_activation($spatial + 2).unwrap()).unwrap();
        let y = $op(&xb, &data.blocked_weights(&p.of), Some(&data.b), &params).unwrap();
        y.check_tail().unwrap();
        check("blocked", &y.to_strided(MemoryFormat::Contiguous).unwrap());
    }};
}

#[test]
fn conv_transpose_of_integers_is_exact_in_every_layout_and_packed() {
    let mut rng = Rng(11);
    for case in 0..150 {
        let p = problem(&mut rng, 2);
        let data = Data::new(&p, 2, |n| rng.integers(n));
        every_way!(case, &p, &data, 2, ops::conv_transpose2d, PackedConvTranspose2d, |_| 0.0);
    }
    for case in 0..40 {
        let p = problem(&mut rng, 1);
        let data = Data::new(&p, 1, |n| rng.integers(n));
        every_way!(case, &p, &data, 1, ops::conv_transpose1d, PackedConvTranspose1d, |_| 0.0);
        let p = problem(&mut rng, 3);
        let data = Data::new(&p, 3, |n| rng.integers(n));
        every_way!(case, &p, &data, 3, ops::conv_transpose3d, PackedConvTranspose3d, |_| 0.0);
    }
}

#[test]
fn conv_transpose_of_real_numbers_stays_within_rounding() {
    let mut rng = Rng(12);
    for case in 0..40 {
        let p = problem(&mut rng, 2);
        let data = Data::new(&p, 2, |n| rng.reals(n));
        let k = (p.of.c / p.of.groups * p.of.kernel.iter().product::<usize>()) as f64;
        let limit = |i: usize| 4.0 * k.sqrt() * 2f64.powi(-24) * data.magnitude[i] + 1e-6;
        every_way!(case, &p, &data, 2, ops::conv_transpose2d, PackedConvTranspose2d, limit);
    }
}

#[test]
fn conv_transpose_packed_runs_post_ops_batch_norm_and_other_batches() {
    let mut rng = Rng(13);
    let dense = Problem::new([2, 20, 24], [1, 5, 6], [1, 4, 4]).padded([0, 1, 1]);
    let p = Transposed { of: Problem { groups: 2, stride: [1, 2, 2], ..dense }, output_padding: [0; 3] };
    let data = Data::new(&p, 2, |n| rng.integers(n));
    let [_, h, w] = p.output().unwrap();
    let residual = rng.integers(data.want.len());
    let scale: Vec<f32> = rng.integers(24);
    let params = params::<2>(&p).residual().post_op(PostOp::MulChannel).relu();
    let want: Vec<f64> = (0..data.want.len())
        .map(|i| ((data.want[i] + f64::from(residual[i])) * f64::from(scale[i / (h * w) % 24])).max(0.0))
        .collect();
    let residual = StridedTensor::from_slice(&residual, &[2, 24, h, w]).unwrap();
    let scale = StridedTensor::from_slice(&scale, &[24]).unwrap();
    let channel = [&scale];
    let packer = PackedConvTranspose2d::new(&data.w, Some(&data.b), params.clone()).unwrap();
    for format in [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast] {
        let (x, r) = (data.x.contiguous(format).unwrap(), residual.contiguous(format).unwrap());
        let fusion = || ops::Fusion { residual: Some(&r), channel: &channel };
        let y = ops::conv_transpose2d_fused(&x, &data.w, Some(&data.b), &params, fusion()).unwrap();
        assert_close("strided", &y.to_vec::<f32>().unwrap(), &want, |_| 0.0);
        let packed = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
        let y = packed.run_fused(&x, fusion()).unwrap();
        assert_close("packed strided", &y.to_vec::<f32>().unwrap(), &want, |_| 0.0);
    }
    let act = Layout::native().0;
    let (x, r) = (data.x.to_blocked(&act).unwrap(), residual.to_blocked(&act).unwrap());
    let packed = packer.pack_for(&Source::of(&x).unwrap()).unwrap();
    let y = packed.run_fused(&x, ops::Fusion { residual: Some(&r), channel: &channel }).unwrap();
    assert_close(
        "packed blocked",
        &y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap(),
        &want,
        |_| 0.0,
    );
    // The same packed weights run a batch of one image.
    let x = data.x.narrow(0, 1, 1).unwrap().to_blocked(&act).unwrap();
    let r = residual.narrow(0, 1, 1).unwrap().to_blocked(&act).unwrap();
    let y = packed.run_fused(&x, ops::Fusion { residual: Some(&r), channel: &channel }).unwrap();
    let y = y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
    assert_close("one image", &y, &want[want.len() / 2..], |_| 0.0);
    assert_eq!(
        packed.unpack_weights().unwrap().to_vec::<f32>().unwrap(),
        data.w.reshape(&[2, 10, 12, 4, 4]).unwrap().transpose(1, 2).unwrap().to_vec::<f32>().unwrap()
    );
}

/// Some kernels read the residual as if each row of the result were a multiple of the stride.
#[test]
fn conv_transpose_adds_residuals_to_rows_that_the_stride_does_not_divide() {
    let mut rng = Rng(14);
    let mut cases = 0;
    while cases < 80 {
        let mut p = problem(&mut rng, 2);
        (p.of.stride[2], p.of.input[2]) = (rng.pick(&[2, 3, 5]), rng.pick(&[1, 1, 2, 9]));
        p.output_padding[2] = rng.below(p.of.stride[2]);
        let Some([_, h, w]) = p.output().filter(|out| out[2] % p.of.stride[2] != 0) else { continue };
        cases += 1;
        let data = Data::new(&p, 2, |n| rng.integers(n));
        let residual = rng.integers(data.want.len());
        let want: Vec<f64> = data.want.iter().zip(&residual).map(|(v, &r)| v + f64::from(r)).collect();
        let residual = StridedTensor::from_slice(&residual, &[p.of.n, p.of.o, h, w]).unwrap();
        let params = params::<2>(&p).residual();
        let packer = PackedConvTranspose2d::new(&data.w, Some(&data.b), params.clone()).unwrap();
        let what = |form: &dyn std::fmt::Display| format!("case {cases} {form} {p:?}");
        for format in [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast] {
            let (x, r) = (data.x.contiguous(format).unwrap(), residual.contiguous(format).unwrap());
            let fusion = ops::Fusion { residual: Some(&r), channel: &[] };
            let y = ops::conv_transpose2d_fused(&x, &data.w, Some(&data.b), &params, fusion).unwrap();
            assert_close(&what(&format), &y.to_vec::<f32>().unwrap(), &want, |_| 0.0);
            let source = Source::strided(x.dims(), format).unwrap();
            let y = packer.pack_for(&source).unwrap().run_fused(&x, fusion).unwrap();
            assert_close(&format!("packed {}", what(&format)), &y.to_vec::<f32>().unwrap(), &want, |_| 0.0);
        }
        for layout in [16, 8].map(|b| Layout::blocked_activation(4, b).unwrap()) {
            let (x, r) = (data.x.to_blocked(&layout).unwrap(), residual.to_blocked(&layout).unwrap());
            let fusion = ops::Fusion { residual: Some(&r), channel: &[] };
            let y = packer.pack_for(&Source::of(&x).unwrap()).unwrap().run_fused(&x, fusion).unwrap();
            let y = y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
            assert_close(&what(&layout), &y, &want, |_| 0.0);
        }
    }
}

/// With as many input as output channels, weights that were reordered without the transposition would run and give wrong
/// results.
#[test]
fn conv_transpose_remedies_for_weights_of_another_key_give_the_same_numbers() {
    let mut rng = Rng(15);
    let x = StridedTensor::from_slice(&rng.integers(32 * 20), &[1, 32, 4, 5]).unwrap();
    let xb = x.to_blocked(&Layout::native().0).unwrap();
    for groups in [1, 2] {
        let (params, og) = (ConvTranspose2d::new().groups(groups), 32 / groups);
        let w = StridedTensor::from_slice(&rng.integers(32 * og * 9), &[32, og, 3, 3]).unwrap();
        let want = ops::conv_transpose2d(&x, &w, None, &params).unwrap().to_vec::<f32>().unwrap();
        let (given, t) = (blocktensor::Tensor::from(w.clone()), blocktensor::Tensor::from(xb.clone()));
        let e = ops::conv_transpose2d(&t, &given, None, &params).unwrap_err();
        assert!(matches!(e, Error::KeyMismatch(_)), "{e}");
        let way = ["`transpose(0, 1)`", "`reshape(&[2, 16, 16, 3, 3])`, `transpose(1, 2)`"][groups - 1];
        for part in ["`PackedConvTranspose`", "output channels", way] {
            assert!(e.to_string().contains(part), "{e} lacks {part}");
        }
        let blocked = match groups {
            1 => w.transpose(0, 1).unwrap().to_blocked(&Layout::native().1).unwrap(),
            _ => {
                let as_it_is = w.to_blocked(&Layout::native().1).unwrap();
                let e = ops::conv_transpose2d(&xb, &as_it_is, None, &params).unwrap_err();
                assert!(matches!(e, Error::RankMismatch(_)), "{e}");
                for part in
                    ["view the plain ones as [2, 16, 16, 3, 3]", "`transpose(1, 2)`", "to_blocked(&\"gOI"]
                {
                    assert!(e.to_string().contains(part), "{e} lacks {part}");
                }
                let apart = w.reshape(&[2, 16, 16, 3, 3]).unwrap().transpose(1, 2).unwrap();
                apart.to_blocked(&Layout::native_weights(5, WeightsKind::Grouped).unwrap()).unwrap()
            }
        };
        let y = ops::conv_transpose2d(&xb, &blocked, None, &params).unwrap();
        assert_eq!(y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap(), want);
    }
    let w = StridedTensor::ones(&[32, 16, 3, 3], blocktensor::DType::F32, MemoryFormat::Contiguous).unwrap();
    let w = w.to_blocked(&Layout::native().1).unwrap();
    let e = ops::conv_transpose2d(&xb, &w, None, &ConvTranspose2d::new()).unwrap_err();
    assert!(
        matches!(e, Error::ShapeMismatch(_)) && e.to_string().contains("blocked ones output channels"),
        "{e}"
    );
}

#[test]
fn conv_transpose_refuses_shapes_and_parameters_that_do_not_fit() {
    let x = StridedTensor::ones(&[1, 4, 5, 5], blocktensor::DType::F32, MemoryFormat::Contiguous).unwrap();
    let w = |dims: &[usize]| {
        StridedTensor::ones(dims, blocktensor::DType::F32, MemoryFormat::Contiguous).unwrap()
    };
    let run = |w: &StridedTensor, p: ConvTranspose2d| ops::conv_transpose2d(&x, w, None, &p).unwrap_err();
    let base = || ConvTranspose2d::new().stride(2);
    let e = run(&w(&[4, 3, 3, 3]), base().output_padding(2));
    assert!(matches!(e, Error::InvalidArgument(_)) && e.to_string().contains("output_padding"), "{e}");
    let e = run(&w(&[5, 3, 3, 3]), base());
    assert!(matches!(e, Error::ShapeMismatch(_)), "{e}");
    let e = run(&w(&[4, 3, 3, 3]), base().groups(3));
    assert!(matches!(e, Error::InvalidArgument(_)) && e.to_string().contains("groups"), "{e}");
    let e = run(&w(&[4, 3, 3, 3]), base().padding(6));
    assert!(matches!(e, Error::ShapeMismatch(_)) && e.to_string().contains("padding"), "{e}");
    let e = run(&w(&[4, 3, 3, 3]), ConvTranspose2d::new().stride(0));
    assert!(matches!(e, Error::InvalidArgument(_)) && e.to_string().contains("stride"), "{e}");
    let e = run(&w(&[4, 3, 3]), base());
    assert!(matches!(e, Error::RankMismatch(_)), "{e}");
    let e = run(&w(&[4, 3, 3, 3]), ConvTranspose2d::new().stride(usize::MAX / 2));
    assert!(matches!(e, Error::Overflow(_)), "{e}");
    for groups in [1, 2, 1 << 62, usize::MAX] {
        let e = run(&w(&[0, 3, 3, 3]), base().groups(groups));
        assert!(e.to_string().contains("`weights`"), "{e}");
    }
    let empty =
        StridedTensor::zeros(&[1, 4, 0, 5], blocktensor::DType::F32, MemoryFormat::Contiguous).unwrap();
    let e = ops::conv_transpose2d(&empty, &w(&[4, 3, 3, 3]), None, &base()).unwrap_err();
    assert!(matches!(e, Error::ShapeMismatch(_)), "{e}");
    let none =
        StridedTensor::zeros(&[0, 4, 5, 5], blocktensor::DType::F32, MemoryFormat::Contiguous).unwrap();
    assert_eq!(
        ops::conv_transpose2d(&none, &w(&[4, 3, 3, 3]), None, &base()).unwrap().dims(),
        [0, 3, 11, 11]
    );
}
