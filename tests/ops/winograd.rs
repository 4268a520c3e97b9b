//! Convolution by Winograd's algorithm, against f64 loops from the definition of convolution.

use blocktensor::ops::{Activation, Algorithm, Conv2d, Fusion, PostOp, conv2d, conv2d_fused};
use blocktensor::{
    BlockedTensor, Error, Layout, MemoryFormat, PackedConv2d, PackedFile, PackedWriter, Source,
    StridedTensor, ledger,
};

use crate::support::Rng;
use crate::support::conv::Problem;

/// Every way in which it computes.
const WAYS: [(usize, &str); 4] =
    [(2, "winograd2"), (2, "winograd2:each_run"), (4, "winograd4"), (4, "winograd4:each_run")];

struct Case {
    problem: Problem,
    x: StridedTensor,
    w: StridedTensor,
    b: StridedTensor,
    want: Vec<f64>,
    /// The sum of the absolute values of what each output adds.
    magnitude: Vec<f64>,
}

impl Case {
    fn new(rng: &mut Rng, problem: Problem) -> Case {
        let (n, c, o) = (problem.n, problem.c, problem.o);
        let [_, h, w] = problem.input;
        let cg = c / problem.groups;
        let x = rng.reals(n * c * h * w);
        let weights = rng.reals(o * cg * 9);
        let bias = rng.reals(o);
        let (want, magnitude) = problem.solve(&x, &weights, Some(&bias));
        Case {
            problem,
            x: StridedTensor::from_slice(&x, &[n, c, h, w]).unwrap(),
            w: StridedTensor::from_slice(&weights, &[o, cg, 3, 3]).unwrap(),
            b: StridedTensor::from_slice(&bias, &[o]).unwrap(),
            want,
            magnitude,
        }
    }

    fn params(&self, outputs: usize) -> Conv2d {
        let pads = |list: [usize; 3]| [list[1], list[2]];
        let (begin, end) = (pads(self.problem.pad_begin), pads(self.problem.pad_end));
        Conv2d::new().paddings(begin, end).groups(self.problem.groups).algorithm(Algorithm::Winograd(outputs))
    }

    fn packed(&self, way: (usize, &str), params: Conv2d, x: &BlockedTensor) -> PackedConv2d {
        let packer =
            PackedConv2d::new(&self.w, Some(&self.b), params).unwrap().implementation(way.1).unwrap();
        packer.pack_for(&Source::of(x).unwrap()).unwrap()
    }

    /// The norm of all errors is at most 3e-6 of the norm of what was added.
    fn check(&self, what: &str, got: &BlockedTensor) {
        got.check_tail().unwrap();
        let got = got.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(got.len(), self.want.len(), "{what}");
        let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
        let error = norm(&mut got.iter().zip(&self.want).map(|(g, w)| f64::from(*g) - w));
        let limit = 3e-6 * norm(&mut self.magnitude.iter().copied());
        assert!(error <= limit, "{what}: {error:e}, at most {limit:e}");
    }
}

fn layouts() -> Vec<Layout> {
    [8, 16].into_iter().map(|block| Layout::blocked_activation(4, block).unwrap()).collect()
}

/// The weights that go with activations in this layout.
fn weights_layout(layout: &Layout) -> Layout {
    let block = layout.block_of(1);
    format!("OIhw{block}i{block}o").parse().unwrap()
}

/// Channel tails, groups, odd sizes, images of one pixel and without, uneven padding, no image at all.
fn problems() -> Vec<Problem> {
    let mut all = vec![];
    let channels = [[1, 1], [3, 16], [15, 17], [16, 33], [31, 15], [33, 31], [64, 48]];
    let sizes = [[1, 1], [3, 5], [4, 4], [7, 7], [5, 18], [13, 8]];
    for (i, [c, o]) in channels.into_iter().enumerate() {
        for (j, [h, w]) in sizes.into_iter().enumerate() {
            let mut p = Problem::new([1 + (i + j) % 3, c, o], [1, h, w], [1, 3, 3]);
            (p.pad_begin, p.pad_end) = ([0, 1 + j % 2, 1], [0, 1, 1 + (i + j) % 3]);
            all.push(p);
        }
    }
    for (c, o, groups) in [(32, 32, 2), (48, 72, 3), (40, 64, 2), (66, 34, 2), (128, 64, 4)] {
        all.push(Problem { groups, ..Problem::new([2, c, o], [1, 6, 9], [1, 3, 3]).padded([0, 1, 1]) });
    }
    // No padding, and padding wider than the kernel.
    all.push(Problem::new([1, 16, 16], [1, 9, 3], [1, 3, 3]));
    all.push(Problem::new([1, 16, 16], [1, 2, 3], [1, 3, 3]).padded([0, 4, 7]));
    all.push(Problem::new([0, 16, 16], [1, 5, 5], [1, 3, 3]).padded([0, 1, 1]));
    all
}

#[test]
fn winograd_convolutions_agree_with_f64_loops() {
    let mut rng = Rng(23);
    for problem in problems() {
        let case = Case::new(&mut rng, problem.clone());
        for layout in layouts() {
            let block = layout.block_of(1);
            let narrow = problem.c / problem.groups < block || problem.o / problem.groups < block;
            let x = case.x.to_blocked(&layout).unwrap();
            for way in WAYS {
                if problem.groups > 1 && narrow {
                    continue;
                }
                let conv = case.packed(way, case.params(way.0), &x);
                assert_eq!(conv.implementation(), format!("blocktensor:{}", way.1));
                let what = format!("{way:?} {layout} {:?} {:?}", problem, conv);
                case.check(&what, &conv.run(&x).unwrap());
                let same = conv.unpack_weights().unwrap().to_vec::<f32>().unwrap();
                assert_eq!(same, case.w.to_vec::<f32>().unwrap(), "{what}: unpacked");
            }
        }
    }
}

/// By name and with blocked weights: what runs is in the ledger.
#[test]
fn single_calls_are_direct_unless_asked() {
    let mut rng = Rng(5);
    let problem = Problem::new([1, 32, 48], [1, 7, 9], [1, 3, 3]).padded([0, 1, 1]);
    let case = Case::new(&mut rng, problem.clone());
    let layout = Layout::native_activation(4).unwrap();
    let x = case.x.to_blocked(&layout).unwrap();
    let to = weights_layout(&layout);
    let w = case.w.to_blocked(&to).unwrap();
    for (algorithm, name) in
        [(Algorithm::Winograd(4), "winograd4:each_run"), (Algorithm::Winograd(2), "winograd2:each_run")]
    {
        let params = case.params(4).algorithm(algorithm);
        let (got, report) = ledger::record(|| conv2d(&x, &w, Some(&case.b), &params).unwrap());
        case.check(name, &got);
        assert!(report.to_string().contains(name), "{report}");
    }
    let params = case.params(4).algorithm(Algorithm::Direct);
    let (got, report) = ledger::record(|| conv2d(&x, &w, Some(&case.b), &params).unwrap());
    case.check("direct", &got);
    assert!(!report.to_string().contains("winograd"), "{report}");
}

/// Bias, residual, and numbers a channel, over a tail of channels and tiles that leave the image.
#[test]
fn winograd_convolutions_fuse_every_post_op() {
    let mut rng = Rng(7);
    let problem = Problem::new([2, 16, 21], [1, 5, 7], [1, 3, 3]).padded([0, 1, 1]);
    let mut case = Case::new(&mut rng, problem.clone());
    let residual = rng.reals(2 * 21 * 35);
    let scale = rng.reals(21);
    let channel = StridedTensor::from_slice(&scale, &[21]).unwrap();
    let residual_tensor = StridedTensor::from_slice(&residual, &[2, 21, 5, 7]).unwrap();
    for (i, want) in case.want.iter_mut().enumerate() {
        *want = ((*want + f64::from(residual[i])) * f64::from(scale[i / 35 % 21])).max(0.0);
        case.magnitude[i] =
            (case.magnitude[i] + f64::from(residual[i]).abs()) * f64::from(scale[i / 35 % 21]).abs();
    }
    for layout in layouts() {
        let (x, r) = (case.x.to_blocked(&layout).unwrap(), residual_tensor.to_blocked(&layout).unwrap());
        for way in WAYS {
            let params = case
                .params(way.0)
                .residual()
                .post_op(PostOp::MulChannel)
                .post_op(PostOp::Activation(Activation::Relu));
            let fusion = Fusion { residual: Some(&r), channel: &[&channel] };
            let conv = case.packed(way, params.clone(), &x);
            case.check(&format!("{conv:?}"), &conv.run_fused(&x, fusion).unwrap());
            let to = weights_layout(&layout);
            let w = case.w.to_blocked(&to).unwrap();
            case.check("a call", &conv2d_fused(&x, &w, Some(&case.b), &params, fusion).unwrap());
        }
    }
}

/// Small integers are exact with tiles of 2, whose numbers are halves and quarters.
#[test]
fn winograd_with_tiles_of_two_is_exact_for_small_integers() {
    let mut rng = Rng(11);
    let problem = Problem::new([1, 20, 18], [1, 6, 5], [1, 3, 3]).padded([0, 1, 1]);
    let mut case = Case::new(&mut rng, problem.clone());
    let (x, w, b) = (rng.integers(20 * 30), rng.integers(18 * 20 * 9), rng.integers(18));
    case.want = problem.solve(&x, &w, Some(&b)).0;
    case.x = StridedTensor::from_slice(&x, &[1, 20, 6, 5]).unwrap();
    case.w = StridedTensor::from_slice(&w, &[18, 20, 3, 3]).unwrap();
    case.b = StridedTensor::from_slice(&b, &[18]).unwrap();
    case.magnitude.fill(0.0);
    for layout in layouts() {
        let x = case.x.to_blocked(&layout).unwrap();
        for way in &WAYS[..2] {
            case.check("integers", &case.packed(*way, case.params(2), &x).run(&x).unwrap());
        }
    }
}

#[test]
fn winograd_gives_the_same_bits_on_any_number_of_threads_and_in_any_batch() {
    let mut rng = Rng(13);
    let problem = Problem::new([5, 48, 80], [1, 11, 14], [1, 3, 3]).padded([0, 1, 1]);
    let case = Case::new(&mut rng, problem.clone());
    let layout = Layout::native_activation(4).unwrap();
    for way in WAYS {
        let results = [1, 2, 3, 7].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let x = case.x.to_blocked(&layout).unwrap();
                let conv = case.packed(way, case.params(way.0), &x);
                let all = conv.run(&x).unwrap().to_strided(MemoryFormat::Contiguous).unwrap();
                let first = case.x.narrow(0, 0, 1).unwrap().to_blocked(&layout).unwrap();
                let first = conv.run(&first).unwrap().to_strided(MemoryFormat::Contiguous).unwrap();
                let (all, first) = (all.to_vec::<f32>().unwrap(), first.to_vec::<f32>().unwrap());
                assert!(all.starts_with(&first), "{way:?} {threads}");
                all.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
            })
        });
        assert!(results.iter().all(|r| *r == results[0]), "{way:?}");
    }
}

#[test]
fn winograd_weights_are_saved_and_mapped_and_packed_again_where_they_do_not_fit() {
    let mut rng = Rng(17);
    let problem = Problem::new([1, 20, 33], [1, 9, 6], [1, 3, 3]).padded([0, 1, 1]);
    let case = Case::new(&mut rng, problem.clone());
    let layout = Layout::native_activation(4).unwrap();
    let x = case.x.to_blocked(&layout).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (i, way) in WAYS.into_iter().enumerate() {
        let path = folder.path().join(format!("{i}.packed"));
        let conv = case.packed(way, case.params(way.0).relu(), &x);
        let mut writer = PackedWriter::new();
        writer.add("conv", &conv).unwrap();
        writer.save(&path).unwrap();
        let loaded = PackedFile::read(&path).unwrap().get::<PackedConv2d>("conv").unwrap();
        assert_eq!(loaded.implementation(), conv.implementation());
        assert_eq!(loaded.weights_layout(), conv.weights_layout());
        let bits = |conv: &PackedConv2d| {
            let y = conv.run(&x).unwrap().to_strided(MemoryFormat::Contiguous).unwrap();
            y.to_vec::<f32>().unwrap().iter().map(|v| v.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(bits(&loaded), bits(&conv));
    }
}

fn refused(result: blocktensor::Result<impl Sized>, rule: &str) {
    match result.err() {
        Some(Error::InvalidArgument(complaint)) => {
            let text = complaint.to_string();
            assert!(text.contains("`algorithm`") && text.contains(rule), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_winograd_cannot_compute_is_refused_with_the_reason() {
    let tensor = |dims: &[usize]| StridedTensor::full(dims, 1f32, MemoryFormat::Contiguous).unwrap();
    let layout = Layout::native_activation(4).unwrap();
    let (x, w) = (tensor(&[1, 32, 8, 8]), tensor(&[32, 32, 3, 3]));
    let blocked = x.to_blocked(&layout).unwrap();
    let winograd = || Conv2d::new().algorithm(Algorithm::Winograd(4));
    let pack = |w: &StridedTensor, params: Conv2d| {
        PackedConv2d::new(w, None, params)?.pack_for(&Source::of(&blocked)?)
    };
    refused(conv2d(&x, &w, None, &winograd()), "blocked tensors");
    refused(conv2d(&x, &w, None, &Conv2d::new().algorithm(Algorithm::Measured)), "measured layouts");
    refused(conv2d(&x, &w, None, &Conv2d::new().algorithm(Algorithm::Winograd(3))), "name of an algorithm");
    refused(pack(&w, winograd().stride(2)), "stride 1");
    refused(pack(&w, winograd().dilation(2)), "dilation 1");
    refused(pack(&tensor(&[32, 32, 1, 1]), winograd()), "3x3");
    refused(pack(&tensor(&[32, 4, 3, 3]), winograd().groups(8)), "a block of input channels");
    refused(pack(&w, Conv2d::new().algorithm(Algorithm::Measured)), "measured layouts");
    let error = "winograd6".parse::<Algorithm>().unwrap_err().to_string();
    assert!(error.contains("winograd2, winograd4"), "{error}");
}

/// Data that is hard on rounding: the error stays within a few units of what was added, as of a direct convolution; where sums
/// cancel (an offset of 1000), little of the result is left in both.
#[test]
fn hostile_data_keeps_its_error_beside_what_was_added() {
    let mut rng = Rng(29);
    let problem = Problem::new([1, 64, 32], [1, 12, 12], [1, 3, 3]).padded([0, 1, 1]);
    let layout = Layout::native_activation(4).unwrap();
    type Change = fn(usize, f32) -> f32;
    let kinds: [(&str, Change); 5] = [
        ("offset", |_, v| v + 1000.0),
        ("alternating", |i, v| if i % 2 == 0 { v.abs() } else { -v.abs() }),
        ("large", |_, v| v * 1e20),
        ("small", |_, v| v * 1e-20),
        ("outlier", |i, v| if i == 777 { 1e6 } else { v }),
    ];
    for (kind, change) in kinds {
        let mut case = Case::new(&mut rng, problem.clone());
        let x: Vec<f32> = case.x.to_vec::<f32>().unwrap();
        let x: Vec<f32> = x.into_iter().enumerate().map(|(i, v)| change(i, v)).collect();
        let (w, b) = (case.w.to_vec::<f32>().unwrap(), case.b.to_vec::<f32>().unwrap());
        (case.want, case.magnitude) = problem.solve(&x, &w, Some(&b));
        case.x = StridedTensor::from_slice(&x, case.x.dims()).unwrap();
        let blocked = case.x.to_blocked(&layout).unwrap();
        for way in WAYS {
            case.check(
                &format!("{kind} {way:?}"),
                &case.packed(way, case.params(way.0), &blocked).run(&blocked).unwrap(),
            );
        }
    }
}

/// An infinity or NaN reaches the tiles that read it, and no pixel beyond.
#[test]
fn an_infinity_reaches_its_tiles_and_no_farther() {
    let mut rng = Rng(31);
    let problem = Problem::new([1, 16, 16], [1, 24, 24], [1, 3, 3]).padded([0, 1, 1]);
    let layout = Layout::native_activation(4).unwrap();
    for value in [f32::INFINITY, f32::NAN] {
        let case = Case::new(&mut rng, problem.clone());
        let mut x = case.x.to_vec::<f32>().unwrap();
        x[11 * 24 + 13] = value;
        let x = StridedTensor::from_slice(&x, &[1, 16, 24, 24]).unwrap().to_blocked(&layout).unwrap();
        for way in WAYS {
            let y = case.packed(way, case.params(way.0), &x).run(&x).unwrap();
            y.check_tail().unwrap();
            let y = y.to_strided(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
            for (i, v) in y.iter().enumerate() {
                let (row, column) = (i / 24 % 24, i % 24);
                let reads = row.abs_diff(11) <= 1 && column.abs_diff(13) <= 1;
                let near = row.abs_diff(11) <= way.0 && column.abs_diff(13) <= way.0;
                assert!(!reads || !v.is_finite(), "{way:?} {value} {i}");
                assert!(near || v.is_finite(), "{way:?} {value} {i}");
            }
        }
    }
}
