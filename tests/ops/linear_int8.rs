//! Linear layers of u8 and s8: the sums are those of a loop over integers, and all else is what the convolution of single pixels makes.

use blocktensor::dispatch::{self, Value};
use blocktensor::{BoundOp, DType, Error, MemoryFormat, StridedTensor, Tensor, WeightsPacker, ledger, ops};

use crate::support::Rng;
use crate::support::activation::elements;

const SIZES: [usize; 8] = [1, 3, 15, 16, 17, 31, 33, 70];

fn draw(rng: &mut Rng, n: usize, low: i32, high: i32) -> Vec<i32> {
    (0..n).map(|_| low + rng.below((high - low + 1) as usize) as i32).collect()
}

fn bytes(dtype: DType, values: &[i32], dims: &[usize]) -> StridedTensor {
    StridedTensor::from_slice(values, dims).unwrap().to_dtype(dtype).unwrap()
}

/// A layer with integers: `x` [..., k], `weights` [o, k].
struct Layer {
    x: StridedTensor,
    w: StridedTensor,
    bias: StridedTensor,
    zero_point: i64,
    want: Vec<i32>,
}

impl Layer {
    fn new(rng: &mut Rng, leading: &[usize], k: usize, o: usize, dtype: DType) -> Layer {
        let (low, high) = if dtype == DType::U8 { (0, 255) } else { (-128, 127) };
        let zero_point = rng.pick(&[0, low, high, 7]);
        let rows: usize = leading.iter().product();
        let x = draw(rng, rows * k, low, high);
        let w = draw(rng, o * k, -128, 127);
        let bias = draw(rng, o, -(1 << 20), 1 << 20);
        let mut want = bias.repeat(rows);
        for (i, sum) in want.iter_mut().enumerate() {
            let (row, of) = (&x[i / o * k..][..k], &w[i % o * k..][..k]);
            *sum += row.iter().zip(of).map(|(x, w)| (x - zero_point) * w).sum::<i32>();
        }
        Layer {
            x: bytes(dtype, &x, &[leading, &[k]].concat()),
            w: bytes(DType::S8, &w, &[o, k]),
            bias: StridedTensor::from_slice(&bias, &[o]).unwrap().to_dtype(DType::F32).unwrap(),
            zero_point: zero_point.into(),
            want,
        }
    }

    fn call(&self, x: &StridedTensor, w: &StridedTensor, more: &[(&'static str, Value)]) -> StridedTensor {
        let mut args: Vec<(&str, Value)> = vec![
            ("x", x.clone().into()),
            ("weights", w.clone().into()),
            ("bias", self.bias.clone().into()),
            ("x_zero_point", self.zero_point.into()),
        ];
        args.extend(more.iter().cloned());
        assert_eq!(blocktensor::testing::check_operator("linear", &args).unwrap(), None);
        match dispatch::call("linear", &args).unwrap().remove(0) {
            Tensor::Strided(y) => y,
            other => panic!("{other:?}"),
        }
    }
}

/// The same elements in a view that is not dense.
fn turned(t: &StridedTensor) -> StridedTensor {
    let axes: Vec<usize> = (0..t.rank()).rev().collect();
    t.permute(&axes).unwrap().contiguous(MemoryFormat::Contiguous).unwrap().permute(&axes).unwrap()
}

#[test]
fn sums_are_those_of_integers() {
    let mut rng = Rng(0x5eed_4401);
    let leadings: [&[usize]; 8] = [&[], &[1], &[3], &[17], &[2, 33], &[0], &[3, 0, 2], &[130]];
    let mut ran = 0;
    for dtype in [DType::U8, DType::S8] {
        for (i, k) in SIZES.into_iter().enumerate() {
            for (j, o) in SIZES.into_iter().enumerate() {
                let leading = leadings[(i + j) % leadings.len()];
                let layer = Layer::new(&mut rng, leading, k, o, dtype);
                let what =
                    format!("{dtype} {:?} by {:?}, {}", layer.x.dims(), layer.w.dims(), layer.zero_point);
                for (x, w) in [(&layer.x, &layer.w), (&turned(&layer.x), &turned(&layer.w))] {
                    let y = layer.call(x, w, &[]);
                    assert_eq!(y.dims(), [leading, &[o]].concat(), "{what}");
                    assert!(y.is_contiguous(MemoryFormat::Contiguous), "{what}");
                    assert!(y.to_vec::<i32>().unwrap() == layer.want, "{what}");
                    ran += y.numel();
                }
            }
        }
    }
    assert!(ran > 100_000, "{ran}");
}

/// Post-ops see outputs as channels, and are those of the convolution, bit for bit.
#[test]
fn post_ops_are_those_of_a_convolution_of_single_pixels() {
    let mut rng = Rng(0x5eed_4402);
    for dtype in [DType::U8, DType::S8] {
        for (rows, k, o) in [(5, 33, 17), (1, 16, 31), (40, 70, 16), (0, 3, 15), (7, 1, 1)] {
            let layer = Layer::new(&mut rng, &[rows], k, o, dtype);
            let numbers = |rng: &mut Rng| {
                let values: Vec<f32> = rng.reals(o).into_iter().map(|v| v / k as f32 / 200.0).collect();
                StridedTensor::from_slice(&values, &[o]).unwrap()
            };
            let channel = [numbers(&mut rng), numbers(&mut rng)];
            let residual = bytes(DType::U8, &draw(&mut rng, rows * o, 0, 255), &[rows, o]);
            let in_f32 = StridedTensor::from_slice(&rng.reals(rows * o), &[rows, o]).unwrap();
            for (words, residual, to) in [
                ("mul_channel", None, DType::F32),
                ("mul_channel,add_channel,relu", None, DType::F32),
                ("mul_channel,residual,gelu", Some(&in_f32), DType::F32),
                ("mul_channel,quantize(u8,3)", None, DType::U8),
                ("mul_channel,residual(u8,0.02,100),relu,quantize(s8,-9)", Some(&residual), DType::S8),
            ] {
                let of_list = words.matches("_channel").count();
                let list: Vec<Tensor> = channel[..of_list].iter().map(|c| c.clone().into()).collect();
                let mut more: Vec<(&str, Value)> = vec![("channel", list.into()), ("post_ops", words.into())];
                if let Some(residual) = residual {
                    more.push(("residual", residual.clone().into()));
                }
                let y = layer.call(&layer.x, &layer.w, &more);
                assert_eq!((y.dims(), y.dtype()), (&[rows, o][..], to), "{words}");
                let pixels = |t: &StridedTensor| t.reshape(&[t.dims()[0], t.dims()[1], 1, 1]).unwrap();
                if let Some(residual) = residual {
                    more.last_mut().unwrap().1 = pixels(residual).into();
                }
                let mut args: Vec<(&str, Value)> = vec![
                    ("x", pixels(&layer.x).into()),
                    ("weights", pixels(&layer.w).into()),
                    ("bias", layer.bias.clone().into()),
                    ("x_zero_point", layer.zero_point.into()),
                ];
                args.extend(more);
                let want = dispatch::call("conv2d", &args).unwrap().remove(0);
                assert!(elements(&y.into()) == elements(&want), "{words}, {rows} rows of {k} to {o}");
            }
        }
    }
}

#[test]
fn a_vector_of_weights_is_one_output() {
    let x = bytes(DType::S8, &[1, -2, 3, 4, 5, -128], &[2, 3]);
    let w = bytes(DType::S8, &[2, 3, -128], &[3]);
    let y = ops::linear(&x, &w, None).unwrap();
    assert_eq!((y.dims(), y.to_vec::<i32>().unwrap()), (&[2][..], vec![-388, 8 + 15 + 128 * 128]));
}

/// In f32 they are what the ops of the same names do, one after the other.
#[test]
fn post_ops_of_f32_are_ops_of_their_own() {
    let mut rng = Rng(0x5eed_4403);
    for rows in [1, 4, 9] {
        let mut of =
            |dims: &[usize]| StridedTensor::from_slice(&rng.reals(dims.iter().product()), dims).unwrap();
        let (x, w, b, r, c) = (of(&[rows, 33]), of(&[17, 33]), of(&[17]), of(&[rows, 17]), of(&[17]));
        let params = ops::Linear::new()
            .post_op(ops::PostOp::MulChannel)
            .post_op(ops::PostOp::Residual)
            .post_op(ops::PostOp::Activation(ops::Activation::Relu));
        let fusion = ops::Fusion { residual: Some(&r), channel: &[&c] };
        let y = ops::linear_fused(&x, &w, Some(&b), &params, fusion).unwrap();
        let want = ops::mul(&ops::linear(&x, &w, Some(&b)).unwrap(), &c).unwrap();
        let want = ops::relu(&ops::add(&want, &r).unwrap()).unwrap();
        assert_eq!(y.to_vec::<f32>().unwrap(), want.to_vec::<f32>().unwrap());
    }
}

/// Nothing is packed in secret, and no run of a layer with post-ops is one of a layer without.
#[test]
fn weights_are_packed_on_every_call_and_the_ledger_says_so() {
    let mut rng = Rng(0x5eed_4404);
    let layer = Layer::new(&mut rng, &[5], 33, 17, DType::U8);
    let (_, book) = ledger::record(|| layer.call(&layer.x, &layer.w, &[]));
    let packed = book.reorders.iter().filter(|r| r.cause == ledger::Cause::Packing);
    assert!(packed.count() >= 1 && book.reorders.iter().all(|r| r.op == "linear"), "{book}");
    assert!(book.runs.iter().all(|r| r.op == "linear" && r.implementation == "blocktensor:int8"), "{book}");
    let denied = ledger::deny_reorders(|| ops::linear(&layer.x, &layer.w, None));
    assert!(matches!(denied, Err(Error::ReorderDenied { .. })), "{denied:?}");

    let w = StridedTensor::full(&[3, 4], 0.5f32, MemoryFormat::Contiguous).unwrap();
    let packs = |params: &[(&str, Value)], w: &StridedTensor| {
        let op = BoundOp::new("linear", &["x", "weights"], params).unwrap();
        (WeightsPacker::new(&op, &[2, 4], &[None, Some(w)]).is_some(), op.packed_op())
    };
    assert_eq!(packs(&[], &w), (true, Some("linear")));
    assert_eq!(packs(&[("post_ops", "relu".into())], &w), (false, None));
    assert!(!packs(&[], &w.to_dtype(DType::S8).unwrap()).0);
}

/// The rules and texts of convolutions of integers.
#[test]
fn what_does_not_go_together_is_an_error() {
    let x = bytes(DType::U8, &[1; 8], &[4, 2]);
    let w = bytes(DType::S8, &[1; 6], &[3, 2]);
    let f32 = |t: &StridedTensor| t.to_dtype(DType::F32).unwrap();
    let call = |x: &StridedTensor, w: &StridedTensor, more: &[(&'static str, Value)]| {
        let mut args: Vec<(&str, Value)> = vec![("x", x.clone().into()), ("weights", w.clone().into())];
        args.extend(more.iter().cloned());
        let e = dispatch::call("linear", &args).unwrap_err().to_string();
        assert!(e.contains("linear"), "{e}");
        e
    };
    let half = StridedTensor::from_slice(&[0.5f32; 3], &[3]).unwrap();
    let of_two = StridedTensor::from_slice(&[0.5f32; 2], &[2]).unwrap();
    for (error, part) in [
        (call(&x, &f32(&w), &[]), "convert `x` with"),
        (call(&f32(&x), &w, &[]), "weights"),
        (call(&x, &w.to_dtype(DType::U8).unwrap(), &[]), "weights"),
        (call(&f32(&x), &f32(&w), &[("post_ops", "quantize(u8,0)".into())]), "pass x as u8 or s8"),
        (call(&f32(&x), &f32(&w), &[("x_zero_point", 3i64.into())]), "leave it out"),
        (call(&x, &w, &[("x_zero_point", (-1i64).into())]), "pass 0 to 255"),
        (call(&x, &w, &[("x_zero_point", 256i64.into())]), "x_zero_point"),
        (call(&x, &w, &[("bias", half.into())]), "whole numbers up to 2^24"),
        (call(&x, &w, &[("post_ops", "residual".into())]), "residual"),
        (call(&x, &w, &[("residual", f32(&x).into())]), "add `residual` to the post-ops"),
        (
            call(
                &x,
                &w,
                &[("post_ops", "mul_channel".into()), ("channel", Value::Tensors(vec![of_two.into()]))],
            ),
            "one value for each of the 3 channels",
        ),
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let (x, w) =
        (bytes(DType::U8, &[255; 70_000], &[1, 70_000]), bytes(DType::S8, &[127; 70_000], &[1, 70_000]));
    assert!(call(&x, &w, &[]).contains("sums of 32 bits hold up to"));
}
