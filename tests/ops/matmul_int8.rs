//! Products of matrices of u8 and s8: the sums are those of a loop over integers.

use blocktensor::dispatch::{self, Value};
use blocktensor::{DType, MemoryFormat, StridedTensor, Tensor, ledger, ops};

use crate::support::Rng;

fn bytes(dtype: DType, values: &[i32], dims: &[usize]) -> StridedTensor {
    StridedTensor::from_slice(values, dims).unwrap().to_dtype(dtype).unwrap()
}

fn range(dtype: DType) -> (i32, i32) {
    if dtype == DType::U8 { (0, 255) } else { (-128, 127) }
}

fn draw(rng: &mut Rng, dtype: DType, dims: &[usize]) -> StridedTensor {
    let (low, _) = range(dtype);
    let values: Vec<i32> = (0..dims.iter().product()).map(|_| low + rng.below(256) as i32).collect();
    bytes(dtype, &values, dims)
}

/// The same elements in a view that is not dense.
fn turned(t: &StridedTensor) -> StridedTensor {
    let axes: Vec<usize> = (0..t.rank()).rev().collect();
    t.permute(&axes).unwrap().contiguous(MemoryFormat::Contiguous).unwrap().permute(&axes).unwrap()
}

/// The definition, as sums of integers. Matrices alone.
fn want(a: &StridedTensor, b: &StridedTensor, [p, q]: [i64; 2], dims: &[usize]) -> Vec<i32> {
    let wide = |t: &StridedTensor, outer: &[usize]| {
        let inner = &t.dims()[t.rank() - 2..];
        let all = t.to_dtype(DType::S32).unwrap().expand(&[outer, inner].concat()).unwrap();
        all.to_vec::<i32>().unwrap()
    };
    let outer = &dims[..dims.len() - 2];
    let (m, k, n) = (dims[dims.len() - 2], a.dims()[a.rank() - 1], dims[dims.len() - 1]);
    let (a, b) = (wide(a, outer), wide(b, outer));
    let mut sums = Vec::new();
    for i in 0..outer.iter().product() {
        for at in 0..m * n {
            let product = |l: usize| {
                (a[(i * m + at / n) * k + l] - p as i32) * (b[(i * k + l) * n + at % n] - q as i32)
            };
            sums.push((0..k).map(product).sum());
        }
    }
    sums
}

fn call(a: &StridedTensor, b: &StridedTensor, zero_points: [i64; 2]) -> StridedTensor {
    let args: [(&str, Value); 4] = [
        ("a", a.clone().into()),
        ("b", b.clone().into()),
        ("a_zero_point", zero_points[0].into()),
        ("b_zero_point", zero_points[1].into()),
    ];
    assert_eq!(blocktensor::testing::check_operator("matmul", &args).unwrap(), None);
    match dispatch::call("matmul", &args).unwrap().remove(0) {
        Tensor::Strided(y) => y,
        other => panic!("{other:?}"),
    }
}

#[test]
fn sums_are_those_of_integers() {
    let mut rng = Rng(0x5eed_4411);
    let sizes = [1, 3, 15, 16, 17, 31, 33];
    // Those before the matrices, of `a`, of `b`, and of the result.
    let batches: [[&[usize]; 3]; 9] = [
        [&[], &[], &[]],
        [&[3], &[3], &[3]],
        [&[2, 3], &[], &[2, 3]],
        [&[], &[2, 3], &[2, 3]],
        [&[2, 1], &[3], &[2, 3]],
        [&[4], &[1], &[4]],
        [&[1, 2], &[3, 1], &[3, 2]],
        [&[0], &[1], &[0]],
        [&[1], &[1, 0], &[1, 0]],
    ];
    let mut ran = 0;
    for round in 0..90 {
        let of = [DType::U8, DType::S8];
        let (of_a, of_b) = (of[round % 2], of[round / 2 % 2]);
        let [m, k, n] = [0; 3].map(|_| rng.pick(&sizes));
        let [outer_a, outer_b, outer] = batches[round % batches.len()];
        let a = draw(&mut rng, of_a, &[outer_a, &[m, k]].concat());
        let b = draw(&mut rng, of_b, &[outer_b, &[k, n]].concat());
        let zero = |rng: &mut Rng, dtype| {
            let (low, high) = range(dtype);
            i64::from(rng.pick(&[0, low, high, 7]))
        };
        let zero_points = [zero(&mut rng, of_a), zero(&mut rng, of_b)];
        let dims = [outer, &[m, n]].concat();
        let want = want(&a, &b, zero_points, &dims);
        for (a, b) in [(&a, &b), (&turned(&a), &turned(&b))] {
            let y = call(a, b, zero_points);
            assert_eq!((y.dims(), y.dtype()), (&dims[..], DType::S32));
            let what = format!("{of_a} {:?} by {of_b} {:?}, {zero_points:?}", a.dims(), b.dims());
            assert!(y.to_vec::<i32>().unwrap() == want, "{what}");
            ran += y.numel();
        }
    }
    assert!(ran > 20_000, "{ran}");
}

#[test]
fn vectors_are_rows_and_columns() {
    let v = bytes(DType::U8, &[200, 1, 255], &[3]);
    let m = bytes(DType::S8, &[1, -2, 3, 4, -128, 127], &[3, 2]);
    let row = ops::matmul(&v, &m).unwrap();
    assert_eq!((row.dims(), row.to_vec::<i32>().unwrap()), (&[2][..], vec![-32437, 31989]));
    let column = ops::matmul(&m.transpose(0, 1).unwrap(), &v).unwrap();
    assert_eq!((column.dims(), column.to_vec::<i32>().unwrap()), (&[2][..], vec![-32437, 31989]));
    assert_eq!(ops::matmul(&v, &v).unwrap().to_vec::<i32>().unwrap(), [200 * 200 + 1 + 255 * 255]);
    let nothing = |dims: &[usize]| StridedTensor::full(dims, 1u8, MemoryFormat::Contiguous).unwrap();
    let empty = ops::matmul(&nothing(&[2, 0]), &nothing(&[0, 3])).unwrap();
    assert_eq!(empty.to_vec::<i32>().unwrap(), [0; 6]);
}

#[test]
fn the_ledger_has_one_packing_of_all_matrices() {
    let mut rng = Rng(0x5eed_4412);
    let (a, b) = (draw(&mut rng, DType::U8, &[4, 5, 33]), draw(&mut rng, DType::U8, &[4, 33, 17]));
    let (_, book) = ledger::record(|| ops::matmul(&a, &b).unwrap());
    let causes: Vec<_> = book.reorders.iter().map(|r| (&*r.op, r.cause)).collect();
    assert_eq!(causes, [("matmul", ledger::Cause::Packing)], "{book}");
    assert_eq!(book.runs.len(), 1, "{book}");
    assert_eq!(book.runs[0].implementation, "blocktensor:int8");
}

#[test]
fn sums_of_more_than_32_bits_are_refused() {
    let k = 70_000;
    let rows = |dtype, value: i32| bytes(dtype, &vec![value; k], &[1, k]);
    let column = |dtype, value: i32| rows(dtype, value).transpose(0, 1).unwrap();
    let full = rows(DType::U8, 255);
    let sum = |b: &StridedTensor, zero: [i64; 2]| {
        ops::matmul_integers(&full, b, zero).map(|y| y.to_vec::<i32>().unwrap()[0])
    };
    assert_eq!(sum(&column(DType::S8, 100), [0, 0]).unwrap(), (k * 255 * 100) as i32);
    assert_eq!(sum(&column(DType::U8, 228), [0, 128]).unwrap(), (k * 255 * 100) as i32);
    // Integers are as far as 128 from this zero point.
    assert_eq!(sum(&column(DType::S8, -128), [128, 0]).unwrap(), -((k * 127 * 128) as i32));
    for (b, zero) in [
        (column(DType::S8, 127), [0, 0]),
        (column(DType::U8, 228), [0, 0]),
        (column(DType::S8, 100), [0, -27]),
        (column(DType::U8, 255), [255, 255]),
    ] {
        let e = sum(&b, zero).unwrap_err();
        assert_eq!(&*e.complaint().unwrap().argument, "b", "{e}");
        assert!(
            e.to_string().contains("column 0") && e.to_string().contains("sums of 32 bits hold up to"),
            "{e}"
        );
    }
}
