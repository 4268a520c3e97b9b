//! Definitions for the checks of gradients.

use super::super::{Evaluate, Values};
use blocktensor::{BoundOp, MemoryFormat, Operand, Operator, StridedTensor};

/// Definitions of ops that graphs do not have, or not with these parameters.
pub(super) fn other_definition(op: &BoundOp) -> Option<Evaluate> {
    match op.registered().schema().name {
        "batch_norm_train" => Some(|call| {
            let x = call.input("x")?;
            let (c, eps) = (x.dims[1], call.double("eps")?);
            let pixels: usize = x.dims[2..].iter().product();
            let channel = |i: usize| i / pixels % c;
            let count = (x.data.len() / c) as f64;
            let mut y = x.data.clone();
            for of in 0..c {
                let own = || (0..x.data.len()).filter(|&i| channel(i) == of);
                let mean = own().map(|i| x.data[i]).sum::<f64>() / count;
                let var = own().map(|i| (x.data[i] - mean).powi(2)).sum::<f64>() / count;
                let param = |name: &str, default| call.optional(name).map_or(default, |p| p.data[of]);
                let (w, b) = (param("weight", 1.0), param("bias", 0.0));
                own().for_each(|i| y[i] = (x.data[i] - mean) / (var + eps).sqrt() * w + b);
            }
            Ok(vec![y])
        }),
        // Kept or dropped is read from the result of ones.
        "dropout" | "feature_dropout" => Some(|call| {
            let x = call.input("x")?;
            let ones = StridedTensor::full(&x.dims, 1f32, MemoryFormat::Contiguous)?;
            let kept = call.op.run(&[ones.tensor_ref()])?;
            let kept = Values::of(kept[0].tensor_ref())?;
            Ok(vec![x.data.iter().zip(&kept.data).map(|(x, k)| x * k).collect()])
        }),
        // Of finite coordinates: cubic convolution with the weights of its paper, a = -0.75.
        "grid_sample" => Some(|call| {
            let (x, grid) = (call.input("x")?, call.input("grid")?);
            let [n, c, h, w] = [x.dims[0], x.dims[1], x.dims[2], x.dims[3]];
            let points: usize = grid.dims[1..3].iter().product();
            let (align, padding) = (call.flag("align_corners")?, call.word("padding_mode")?);
            let place = |v: f64, size: usize| {
                let size = size as f64;
                if align { (v + 1.0) / 2.0 * (size - 1.0) } else { ((v + 1.0) * size - 1.0) / 2.0 }
            };
            let index = |mut i: i64, size: usize| -> Option<usize> {
                let last = size as i64 - 1;
                match padding {
                    "border" => i = i.clamp(0, last),
                    // Of one pixel there is no other.
                    "reflection" if last == 0 => i = 0,
                    "reflection" => {
                        while i < 0 || i > last {
                            i = match (i < 0, align) {
                                (true, true) => -i,
                                (true, false) => -1 - i,
                                (false, true) => 2 * last - i,
                                (false, false) => 2 * last + 1 - i,
                            };
                        }
                    }
                    _ => {}
                }
                usize::try_from(i).ok().filter(|&i| i < size)
            };
            let kernel = |t: f64| {
                let (t, a) = (t.abs(), -0.75);
                if t <= 1.0 {
                    (a + 2.0) * t.powi(3) - (a + 3.0) * t.powi(2) + 1.0
                } else {
                    a * t.powi(3) - 5.0 * a * t.powi(2) + 8.0 * a * t - 4.0 * a
                }
            };
            let mut y = Vec::new();
            for i in 0..n * c * points {
                let (image, plane, point) = (i / points / c, i / points, i % points);
                let at = |k: usize| grid.data[(image * points + point) * 2 + k];
                let (px, py) = (place(at(0), w), place(at(1), h));
                let mut sum = 0.0;
                for dy in -1..=2 {
                    for dx in -1..=2 {
                        let (qy, qx) = (py.floor() as i64 + dy, px.floor() as i64 + dx);
                        if let (Some(row), Some(column)) = (index(qy, h), index(qx, w)) {
                            let weight = kernel(py - qy as f64) * kernel(px - qx as f64);
                            sum += weight * x.data[(plane * h + row) * w + column];
                        }
                    }
                }
                y.push(sum);
            }
            Ok(vec![y])
        }),
        _ => None,
    }
}
