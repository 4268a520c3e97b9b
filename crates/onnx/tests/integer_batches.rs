//! `MatMulInteger` with a matrix for each of a batch, against a loop over integers.

use blocktensor::StridedTensor;
use rten_onnx::onnx::DataType;

use crate::integer_products::Drawn;
use crate::support::Model;

impl Drawn {
    /// The element of a matrix of the batch, whose sizes are broadcast.
    fn at(&self, batch: &[usize], i: usize, row: usize, column: usize) -> i64 {
        let [outer @ .., rows, columns] = &self.dims[..] else { panic!("no matrix") };
        let (mut rest, mut step, mut at) = (i, 1, 0);
        for (axis, size) in batch.iter().enumerate().rev() {
            let index = rest % size;
            rest /= size;
            if let Some(own) = (axis + outer.len()).checked_sub(batch.len()).map(|axis| outer[axis]) {
                at += if own == 1 { 0 } else { index * step };
                step *= own;
            }
        }
        let (row, column) = (row.min(rows - 1), column.min(columns - 1));
        self.values[(at * rows + row) * columns + column]
    }
}

#[test]
fn products_with_a_matrix_for_each_of_a_batch_are_exact() {
    let mut rng = 0x5eed_0161;
    // Those before the matrices, of A, of B, and of the result.
    let batches: [[&[usize]; 3]; 5] = [
        [&[3], &[3], &[3]],
        [&[], &[2, 3], &[2, 3]],
        [&[2, 1], &[3], &[2, 3]],
        [&[1, 2], &[3, 1], &[3, 2]],
        [&[0], &[1, 0], &[1, 0]],
    ];
    for case in 0..64usize {
        let bit = |i: usize| case >> i & 1 == 1;
        let (m, k, n) = ([1, 3, 16][case % 3], [1, 15, 17, 33][case / 3 % 4], [1, 4, 31][case / 2 % 3]);
        let [outer_a, outer_b, outer] = batches[case % batches.len()];
        let a = Drawn::new(&mut rng, bit(0), &[outer_a, &[m, k]].concat());
        let b = Drawn::new(&mut rng, bit(1), &[outer_b, &[k, n]].concat());
        // One, one for each row or column, or these for each matrix.
        let a_zero: Vec<usize> = match case % 3 {
            0 => vec![1, 1],
            1 => vec![m, 1],
            _ => [outer_a, &[m, 1]].concat(),
        };
        let b_zero: Vec<usize> = match case / 3 % 3 {
            0 => vec![1, 1],
            1 => vec![1, n],
            _ => [outer_b, &[1, n]].concat(),
        };
        let a_zero = Drawn::new(&mut rng, bit(0), &a_zero);
        let b_zero = Drawn::new(&mut rng, bit(1), &b_zero);
        let (mut model, mut given) = (Model::new(), Vec::new());
        for (of, name, constant) in
            [(&a, "a", false), (&b, "b", bit(2)), (&a_zero, "a_zero", bit(3)), (&b_zero, "b_zero", bit(4))]
        {
            // A zero point of one matrix may come as a vector.
            let is_vector = name.ends_with("zero") && of.dims.len() == 2;
            let dims = if is_vector { vec![of.values.len()] } else { of.dims.clone() };
            let sizes: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
            if constant && !of.values.is_empty() {
                let values: Vec<i16> = of.values.iter().map(|&v| v as i16).collect();
                model = model.bytes_of(name, of.of, &sizes, &values);
            } else {
                let values: Vec<i32> = of.values.iter().map(|&v| v as i32).collect();
                model = model.input_of(name, of.of, &sizes);
                given.push((name, StridedTensor::from_slice(&values, &dims).unwrap()));
            }
        }
        let model = model.node("MatMulInteger", &["a", "b", "a_zero", "b_zero"], &["y"]).output("y");
        let mut want = Vec::new();
        for i in 0..outer.iter().product() {
            for row in 0..m {
                for column in 0..n {
                    let product = |l: usize| {
                        (a.at(outer, i, row, l) - a_zero.at(outer, i, row, 0))
                            * (b.at(outer, i, l, column) - b_zero.at(outer, i, 0, column))
                    };
                    want.push((0..k).map(product).sum::<i64>() as f32);
                }
            }
        }
        let got = model.run_on(given).unwrap().remove(0);
        assert_eq!(got, ([outer, &[m, n]].concat(), want), "case {case}");
    }
}

#[test]
fn a_vector_has_no_axis_in_the_result() {
    let model = Model::new()
        .input_of("a", DataType::UINT8, &[2])
        .bytes_of("b", DataType::INT8, &[3, 2, 1], &[1, 2, 3, 4, -5, -6])
        .node("MatMulInteger", &["a", "b"], &["y"])
        .output("y");
    let a = StridedTensor::from_slice(&[200, 1], &[2]).unwrap();
    assert_eq!(model.run_on(vec![("a", a)]).unwrap()[0], (vec![3, 1], vec![202.0, 604.0, -1006.0]));
}

/// More products than 32 bits hold are added up in parts.
#[test]
fn long_sums_are_added_up_in_parts() {
    let k = 40_000;
    let model = |a: i16, b: i16| {
        Model::new()
            .bytes_of("a_zero", DataType::UINT8, &[], &[3])
            .bytes_of("b", DataType::UINT8, &[2, k as i64, 1], &vec![b; 2 * k])
            .input_of("a", DataType::UINT8, &[2, 1, k as i64])
            .node("MatMulInteger", &["a", "b", "a_zero"], &["y"])
            .output("y")
            .run_on(vec![("a", StridedTensor::from_slice(&vec![i32::from(a); 2 * k], &[2, 1, k]).unwrap())])
    };
    assert_eq!(model(200, 250).unwrap()[0].1, [(197 * 250 * k) as f32; 2]);
    // This sum has 33 bits.
    let e = model(255, 255).unwrap_err().to_string();
    assert!(e.contains("MatMulInteger"), "{e}");
}
