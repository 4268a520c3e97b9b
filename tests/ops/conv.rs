//! Convolution under every dispatch key, against f64 loops from the definition.

use blocktensor::ops::{self, Conv1d, Conv2d, Conv3d, ConvTranspose2d, Fusion, PostOp};
use blocktensor::{
    BlockedTensor, DType, Error, Layout, MemoryFormat, PackedConv1d, PackedConv2d, PackedConv3d, Source,
    StridedTensor, Tensor, WeightsKind, ledger,
};

use super::conv_activations::{ACTIVATIONS, of};
use crate::support::conv::Problem;
use crate::support::{Rng, assert_close};

/// A random problem of 1 to 3 spatial dimensions. Sizes cover channel tails, images of one pixel, padding wider than the
/// kernel, and groups of any width.
pub(super) fn problem(rng: &mut Rng, spatial: usize) -> Problem {
    let channels = [1, 3, 15, 16, 17, 31, 32, 33];
    let (mut c, mut o, groups) = match rng.below(6) {
        0 => {
            let c = rng.pick(&channels);
            (c, c, c)
        }
        1 => (32 * rng.pick(&[1, 2]), 32 * rng.pick(&[1, 2]), 2),
        // Group widths that do not divide the block, and depthwise with a channel multiplier.
        2 => {
            let groups = rng.pick(&[2, 3, 5, 8]);
            let widest = if groups < 4 { 24 } else { 8 };
            let width = |rng: &mut Rng| rng.pick(&[1, 2, 3, 4, 6, widest]);
            (groups * width(rng), groups * width(rng), groups)
        }
        _ => (rng.pick(&channels), rng.pick(&channels), 1),
    };
    if rng.below(8) == 0 && groups == 1 {
        (c, o) = (c + 16, o + 16);
    }
    let n = rng.pick(&[1, 1, 2, 3]);
    let mut p = Problem { groups, ..Problem::new([n, c, o], [1; 3], [1; 3]) };
    for a in 3 - spatial..3 {
        p.kernel[a] = if spatial == 3 { rng.pick(&[1, 2, 3]) } else { rng.pick(&[1, 2, 3, 5]) };
        p.dilation[a] = rng.pick(&[1, 1, 2, 3]);
        p.stride[a] = rng.pick(&[1, 1, 2, 3]);
        (p.pad_begin[a], p.pad_end[a]) = (rng.below(3), rng.below(4));
        let reach = p.dilation[a] * (p.kernel[a] - 1) + 1;
        let more = if spatial == 3 { rng.pick(&[0, 1, 2]) } else { rng.pick(&[0, 0, 1, 4, 9]) };
        p.input[a] = reach.saturating_sub(p.pad_begin[a] + p.pad_end[a]).max(1) + more;
    }
    p
}

/// The operands of a problem.
pub(super) struct Data {
    pub x: StridedTensor,
    pub w: StridedTensor,
    pub b: StridedTensor,
    pub want: Vec<f64>,
    pub(super) magnitude: Vec<f64>,
}

impl Data {
    pub fn new(p: &Problem, spatial: usize, mut values: impl FnMut(usize) -> Vec<f32>) -> Data {
        let cg = p.c / p.groups;
        let x = values(p.n * p.c * p.input.iter().product::<usize>());
        let w = values(p.o * cg * p.kernel.iter().product::<usize>());
        let b = values(p.o);
        let (want, magnitude) = p.solve(&x, &w, Some(&b));
        let dims = |first: [usize; 2], rest: [usize; 3]| [&first[..], &rest[3 - spatial..]].concat();
        Data {
            x: StridedTensor::from_slice(&x, &dims([p.n, p.c], p.input)).unwrap(),
            w: StridedTensor::from_slice(&w, &dims([p.o, cg], p.kernel)).unwrap(),
            b: StridedTensor::from_slice(&b, &[p.o]).unwrap(),
            want,
            magnitude,
        }
    }

    /// Weights with groups as a dimension of their own, in the layout that goes with this machine's activations.
    fn blocked_weights(&self, p: &Problem) -> BlockedTensor {
        let spatial = self.x.rank() - 2;
        let (cg, og) = (p.c / p.groups, p.o / p.groups);
        if p.groups == 1 {
            let to = Layout::native_weights(spatial + 2, WeightsKind::Dense).unwrap();
            return self.w.to_blocked(&to).unwrap();
        }
        let dims = [&[p.groups, og, cg], &self.w.dims()[2..]].concat();
        let kind = if cg == 1 && og == 1 { WeightsKind::Depthwise } else { WeightsKind::Grouped };
        let to = Layout::native_weights(spatial + 3, kind).unwrap();
        self.w.reshape(&dims).unwrap().to_blocked(&to).unwrap()
    }
}

fn conv1d(p: &Problem) -> Conv1d {
    Conv1d::new()
        .stride(p.stride[2])
        .dilation(p.dilation[2])
        .paddings([p.pad_begin[2]], [p.pad_end[2]])
        .groups(p.groups)
}

pub(super) fn conv2d(p: &Problem) -> Conv2d {
    Conv2d::new()
        .strides([p.stride[1], p.stride[2]])
        .dilations([p.dilation[1], p.dilation[2]])
        .paddings([p.pad_begin[1], p.pad_begin[2]], [p.pad_end[1], p.pad_end[2]])
        .groups(p.groups)
}

pub(super) fn conv3d(p: &Problem) -> Conv3d {
    Conv3d::new().strides(p.stride).dilations(p.dilation).paddings(p.pad_begin, p.pad_end).groups(p.groups)
}

/// Runs one problem in every way, and compares the results with the loops.
macro_rules! every_way {
    ($case:expr, $p:expr, $data:expr, $spatial:literal, $op:path, $packed:ident, $params:expr, $limit:expr) => {{
        let (p, data, params) = ($p, $data, $params);
        let check = |what: &str, y: &StridedTensor| {
            let what = format!("case {} {what} {p:?}", $case);
            assert_close(&what, &y.to_vec::<f32>().unwrap(), &data.want, $limit);
        };
        check("nchw", &$op(&data.x, &data.w, Some(&data.b), &params).unwrap());
        let packer = $packed::new(&data.w, Some(&data.b), params.clone()).unwrap();
        if let Some(last) = MemoryFormat::channels_last_of($spatial + 2) {
            let nhwc = data.x.contiguous(last).unwrap();
            check("nhwc", &$op(&nhwc, &data.w, Some(&data.b), &params).unwrap());
            let packed = packer.pack_for(&Source::of(&nhwc).unwrap()).unwrap();
            check("packed nhwc", &packed.run(&nhwc).unwrap());
        }
        let xb = data.x.to_blocked(&Layout::native_activation($spatial + 2).unwrap()).unwrap();
        let packed = packer.pack_for(&Source::of(&xb).unwrap()).unwrap();
        let (y, ledger) = ledger::record(|| packed.run(&xb).unwrap());
        assert!(ledger.reorders.is_empty(), "{ledger}");
        y.check_tail().unwrap();
        check("packed blocked", &y.to_strided(MemoryFormat::Contiguous).unwrap());
        let x8 = data.x.to_blocked(&Layout::blocked_activation($spatial + 2, 8).unwrap()).unwrap();
        let y = packer.pack_for(&Source::of(&x8).unwrap()).unwrap().run(&x8).unwrap();
        y.check_tail().unwrap();
        check("packed, blocks of 8", &y.to_strided(MemoryFormat::Contiguous).unwrap());
        let (y, ledger) =
            ledger::record(|| $op(&xb, &data.blocked_weights(p), Some(&data.b), &params).unwrap());
        y.check_tail().unwrap();
        check("blocked", &y.to_strided(MemoryFormat::Contiguous).unwrap());
        ledger
    }};
}

fn direct_runs(ledger: &ledger::Ledger) -> usize {
    ledger.runs.iter().filter(|r| r.implementation == "blocktensor:tiled").count()
}

#[test]
fn conv_of_integers_is_exact_in_every_layout_and_packed() {
    let mut rng = Rng(1);
    let mut direct = 0;
    for case in 0..300 {
        let p = problem(&mut rng, 2);
        let data = Data::new(&p, 2, |n| rng.integers(n));
        let ledger = every_way!(case, &p, &data, 2, ops::conv2d, PackedConv2d, conv2d(&p), |_| 0.0);
        direct += direct_runs(&ledger);
    }
    println!("{direct} of 300 problems ran on our own kernel");
    for case in 0..40 {
        let p = problem(&mut rng, 1);
        let data = Data::new(&p, 1, |n| rng.integers(n));
        every_way!(case, &p, &data, 1, ops::conv1d, PackedConv1d, conv1d(&p), |_| 0.0);
        let p = problem(&mut rng, 3);
        let data = Data::new(&p, 3, |n| rng.integers(n));
        every_way!(case, &p, &data, 3, ops::conv3d, PackedConv3d, conv3d(&p), |_| 0.0);
    }
}

#[test]
fn conv_of_real_numbers_stays_within_rounding() {
    let mut rng = Rng(2);
    for case in 0..60 {
        let p = problem(&mut rng, 2);
        let data = Data::new(&p, 2, |n| rng.reals(n));
        let k = (p.c / p.groups * p.kernel.iter().product::<usize>()) as f64;
        let limit = |i: usize| 4.0 * k.sqrt() * 2f64.powi(-24) * data.magnitude[i] + 1e-6;
        every_way!(case, &p, &data, 2, ops::conv2d, PackedConv2d, conv2d(&p), limit);
    }
}

/// Shapes that our own kernel always runs: few channels, groups that are narrow or cross block borders, depthwise with a
/// multiplier.
const OWN: [(usize, usize, usize); 6] =
    [(3, 40, 1), (32, 32, 8), (40, 40, 2), (18, 18, 3), (12, 36, 12), (40, 10, 10)];

fn own_problem(shape: (usize, usize, usize), stride: usize) -> Problem {
    let (c, o, groups) = shape;
    let dense = Problem::new([2, c, o], [1, 9, 21], [1, 3, 3]).padded([0, 1, 1]);
    Problem { groups, stride: [1, stride, stride], ..dense }
}

#[test]
fn conv2d_own_kernel_has_the_same_bits_for_any_number_of_threads() {
    let mut rng = Rng(3);
    for (case, shape) in OWN.into_iter().enumerate() {
        let p = own_problem(shape, 1 + case % 2);
        let data = Data::new(&p, 2, |n| rng.reals(n));
        let xb = data.x.to_blocked(&Layout::native().0).unwrap();
        let wb = data.blocked_weights(&p);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let conv = || ops::conv2d(&xb, &wb, Some(&data.b), &conv2d(&p)).unwrap();
                let (y, ledger) = ledger::record(|| blocktensor::run(conv));
                assert_eq!(direct_runs(&ledger), 1, "{shape:?} {ledger}");
                y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap()
            })
        };
        let bits = |y: Vec<f32>| y.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let one = bits(run(1));
        assert!((2..=3).all(|threads| bits(run(threads)) == one), "{shape:?}");
    }
}

/// Such weights would have to be packed on every call, unseen by the caller.
#[test]
fn conv2d_refuses_blocked_weights_in_another_layout_and_names_the_right_one() {
    let mut rng = Rng(8);
    let p = own_problem((32, 32, 1), 1);
    let data = Data::new(&p, 2, |n| rng.reals(n));
    let (act, native) = Layout::native();
    let xb = data.x.to_blocked(&act).unwrap();
    let wb = data.w.to_blocked(&act).unwrap();
    let e = ops::conv2d(&xb, &wb, None, &conv2d(&p)).unwrap_err();
    let text = e.to_string();
    assert!(matches!(e, Error::LayoutMismatch(_)), "{e}");
    assert!(text.contains(&native.to_string()) && text.contains("reorder_to"), "{e}");
    let same = ops::conv2d(&xb, &wb.reorder_to(&native).unwrap(), None, &conv2d(&p));
    assert_eq!(same.unwrap().dims(), [2, 32, 9, 21]);
    // Strided weights beside a blocked source: the remedy names the layout of the weights.
    let e = ops::conv2d(&Tensor::from(xb), &Tensor::from(data.w.clone()), None, &conv2d(&p)).unwrap_err();
    assert!(e.to_string().contains(&format!("to_blocked(&\"{native}\".parse()?)")), "{e}");
}

/// 20 channels per group are no multiple of any block, so oneDNN has only its reference implementation.
#[test]
fn conv2d_runs_a_reference_implementation_only_where_allowed() {
    let mut rng = Rng(7);
    let p = own_problem((40, 40, 2), 1);
    let data = Data::new(&p, 2, |n| rng.reals(n));
    let xb = data.x.to_blocked(&Layout::native().0).unwrap();
    let wb = data.blocked_weights(&p);
    let run = |params: blocktensor::ops::Conv2d| {
        let (y, ledger) = ledger::record(|| ops::conv2d(&xb, &wb, Some(&data.b), &params).unwrap());
        y.check_tail().unwrap();
        let y = y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
        assert_close("reference", &y, &data.want, |i| 3e-6 * (1.0 + data.magnitude[i]));
        ledger.runs.last().unwrap().implementation.to_string()
    };
    assert_eq!(run(conv2d(&p)), "blocktensor:tiled");
    let allowed = run(conv2d(&p).allow_reference());
    let engine = if cfg!(feature = "onednn") { "ref" } else { "blocktensor:tiled" };
    assert!(allowed.starts_with(engine), "{allowed}");
}

#[test]
fn conv2d_own_kernel_applies_post_ops_and_leaves_zero_tails() {
    let mut rng = Rng(4);
    for (case, activation) in ACTIVATIONS.into_iter().enumerate() {
        let p = own_problem(OWN[case % OWN.len()], 1 + case % 2);
        let data = Data::new(&p, 2, |n| rng.reals(n));
        let dims: Vec<usize> = [&[p.n, p.o], &p.output()[1..]].concat();
        let residual = rng.reals(data.want.len());
        let (scale, shift) = (rng.reals(p.o), rng.reals(p.o));
        let pixels = data.want.len() / p.n / p.o;
        let want: Vec<f64> = data
            .want
            .iter()
            .enumerate()
            .map(|(i, v)| {
                let c = i / pixels % p.o;
                of(activation, v * f64::from(scale[c]) + f64::from(residual[i])) + f64::from(shift[c])
            })
            .collect();
        let params = conv2d(&p)
            .post_op(PostOp::MulChannel)
            .residual()
            .activation(activation)
            .post_op(PostOp::AddChannel);
        let act = Layout::native().0;
        let xb = data.x.to_blocked(&act).unwrap();
        let rb = StridedTensor::from_slice(&residual, &dims).unwrap().to_blocked(&act).unwrap();
        let scale = StridedTensor::from_slice(&scale, &[p.o]).unwrap();
        let shift = StridedTensor::from_slice(&shift, &[p.o]).unwrap();
        let channel = [&scale, &shift];
        let fusion = || Fusion { residual: Some(&rb), channel: &channel };
        let packed = PackedConv2d::new(&data.w, Some(&data.b), params.clone()).unwrap();
        let packed = packed.pack_for(&Source::of(&xb).unwrap()).unwrap();
        assert_eq!(packed.implementation(), "blocktensor:tiled");
        let results = [
            ops::conv2d_fused(&xb, &data.blocked_weights(&p), Some(&data.b), &params, fusion()).unwrap(),
            packed.run_fused(&xb, fusion()).unwrap(),
        ];
        for y in results {
            y.check_tail().unwrap();
            let y = y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
            assert_close(&format!("{activation:?} {p:?}"), &y, &want, |i| 3e-6 * (1.0 + data.magnitude[i]));
        }
    }
}

#[test]
fn conv2d_keeps_a_nan_in_its_group_and_out_of_the_tail() {
    for shape in OWN {
        let p = own_problem(shape, 1);
        let mut rng = Rng(5);
        let mut data = Data::new(&p, 2, |n| rng.integers(n));
        let mut x = data.x.to_vec::<f32>().unwrap();
        let pixels = p.input[1] * p.input[2];
        x[..pixels].fill(f32::NAN);
        data.x = StridedTensor::from_slice(&x, data.x.dims()).unwrap();
        let xb = data.x.to_blocked(&Layout::native().0).unwrap();
        let y = ops::conv2d(&xb, &data.blocked_weights(&p), Some(&data.b), &conv2d(&p)).unwrap();
        y.check_tail().unwrap();
        let y = y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
        let of_group = p.o / p.groups * pixels;
        for (i, v) in y.iter().enumerate() {
            assert_eq!(v.is_nan(), i < of_group, "{shape:?}: {v} at {i}");
        }
    }
}

#[test]
fn conv2d_records_packing_on_every_call_and_refuses_interchange_layouts() {
    let mut rng = Rng(6);
    let p = own_problem((32, 32, 8), 1);
    let data = Data::new(&p, 2, |n| rng.integers(n));
    let (xb, wb) = (data.x.to_blocked(&Layout::native().0).unwrap(), data.blocked_weights(&p));
    let (_, ledger) = ledger::record(|| ops::conv2d(&xb, &wb, None, &conv2d(&p)).unwrap());
    assert_eq!(ledger.reorders.len(), 1, "{ledger}");
    assert_eq!(ledger.reorders[0].cause, ledger::Cause::Packing);
    let denied = ledger::deny_reorders(|| ops::conv2d(&xb, &wb, None, &conv2d(&p)));
    assert!(matches!(denied, Err(Error::ReorderDenied(_))));
    // Few channels in one group: the kernel reads the weights as they are.
    let p = own_problem((3, 40, 1), 1);
    let data = Data::new(&p, 2, |n| rng.integers(n));
    let (xb, wb) = (data.x.to_blocked(&Layout::native().0).unwrap(), data.blocked_weights(&p));
    let (_, ledger) = ledger::record(|| ops::conv2d(&xb, &wb, None, &conv2d(&p)).unwrap());
    assert!(ledger.reorders.is_empty(), "{ledger}");
    for layout in ["nChw4c", "nChw32c", "CHWN4"] {
        let xb = data.x.to_blocked(&layout.parse().unwrap()).unwrap();
        let e = ops::conv2d(&xb, &wb, None, &conv2d(&p)).unwrap_err();
        assert!(matches!(e, Error::UnsupportedOp(_)), "{e}");
        assert!(e.to_string().contains(layout) && e.to_string().contains("reorder_to"), "{e}");
        let packer = PackedConv2d::new(&data.w, None, conv2d(&p)).unwrap();
        let e = packer.pack_for(&Source::of(&xb).unwrap()).unwrap_err();
        assert!(matches!(e, Error::UnsupportedOp(_)), "{e}");
        assert!(e.to_string().contains("reorder_to"), "{e}");
    }
}

/// Elements that expanded axes share: kernels of any strides read them from one place. Few output channels, and many.
#[test]
fn convolutions_take_expanded_sources() {
    let close = |what: &str, got: &[f32], want: &[f32]| {
        let want: Vec<f64> = want.iter().map(|&v| v.into()).collect();
        assert_close(what, got, &want, |_| 1e-4);
    };
    let mut rng = Rng(0x5eed_0160);
    for (shared, outputs) in [([1, 4, 6, 1], 2), ([1, 4, 6, 1], 9), ([1, 1, 1, 1], 3), ([1, 1, 6, 7], 9)] {
        let x = StridedTensor::from_slice(&rng.reals(shared.iter().product()), &shared).unwrap();
        let x = x.expand(&[2, 4, 6, 7]).unwrap();
        let dense = x.contiguous(MemoryFormat::Contiguous).unwrap();
        let w = StridedTensor::from_slice(&rng.reals(outputs * 36), &[outputs, 4, 3, 3]).unwrap();
        let conv = Conv2d::new().stride(2).padding(1);
        let of = |x: &StridedTensor| ops::conv2d(x, &w, None, &conv).unwrap().to_vec::<f32>().unwrap();
        close("conv2d", &of(&x), &of(&dense));
        let w = StridedTensor::from_slice(&rng.reals(outputs * 36), &[4, outputs, 3, 3]).unwrap();
        let of = |x: &StridedTensor| {
            ops::conv_transpose2d(x, &w, None, &ConvTranspose2d::new()).unwrap().to_vec::<f32>().unwrap()
        };
        close("conv_transpose2d", &of(&x), &of(&dense));
    }
}

#[test]
fn conv2d_runs_an_empty_batch_and_an_empty_image() {
    let act = Layout::native().0;
    let wb = StridedTensor::ones(&[40, 3, 3, 3], DType::F32, MemoryFormat::Contiguous)
        .unwrap()
        .to_blocked(&Layout::native().1)
        .unwrap();
    let x = BlockedTensor::zeros(&[0, 3, 5, 5], DType::F32, &act).unwrap();
    assert_eq!(ops::conv2d(&x, &wb, None, &Conv2d::new()).unwrap().dims(), [0, 40, 3, 3]);
    let x = BlockedTensor::zeros(&[1, 3, 0, 5], DType::F32, &act).unwrap();
    let y = ops::conv2d(&x, &wb, None, &Conv2d::new().padding(2)).unwrap();
    assert_eq!(y.dims(), [1, 40, 2, 7]);
    assert_eq!(y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap(), [0.0; 560]);
}

/// oneDNN 3.14.1's `jit_uni_ncsp:matmul` reads the bias from the wrong address.
#[test]
fn conv2d_pointwise_nchw_with_bias_is_exact() {
    let mut rng = Rng(9);
    let p = Problem::new([1, 64, 48], [1, 14, 14], [1; 3]);
    let (x, w, b) = (rng.integers(64 * 196), rng.integers(48 * 64), rng.integers(48));
    let (want, _) = p.solve(&x, &w, Some(&b));
    let x = StridedTensor::from_slice(&x, &[1, 64, 14, 14]).unwrap();
    let w = StridedTensor::from_slice(&w, &[48, 64, 1, 1]).unwrap();
    let b = StridedTensor::from_slice(&b, &[48]).unwrap();
    let y = ops::conv2d(&x, &w, Some(&b), &Conv2d::new()).unwrap();
    assert_close("nchw 1x1", &y.to_vec::<f32>().unwrap(), &want, |_| 0.0);
}

#[test]
fn conv2d_names_parameters_of_another_dtype() {
    let x = StridedTensor::full(&[1, 3, 4, 4], 1f32, MemoryFormat::Contiguous).unwrap();
    let w = StridedTensor::full(&[2, 3, 1, 1], 1f32, MemoryFormat::Contiguous).unwrap();
    let bias = StridedTensor::zeros(&[2], DType::BF16, MemoryFormat::Contiguous).unwrap();
    let e = ops::conv2d(&x, &w, Some(&bias), &ops::Conv2d::new()).unwrap_err();
    assert!(matches!(e, Error::UnsupportedDType(_)), "{e}");
    for part in ["`conv2d`", "`bias`", "bf16", "to_dtype(DType::F32)"] {
        assert!(e.to_string().contains(part), "{e} lacks {part}");
    }
}
