//! The gradients of layer norm, of means and element-wise functions: with `r = 1 / deviation` and `g = diff * weight`,
//! `r * (g - mean(g)) - r^3 * (x - m) * mean(g * (x - m))`.

use crate::error::Result;
use crate::kernels::blocked_map::{self, MapOperand};
use crate::kernels::gradient::map::{map2, map3};
use crate::layout::dims::Dims;
use crate::layout::memory_format::MemoryFormat;
use crate::layout::reorder;
use crate::op::params::Params;
use crate::op::{Backward, Gradients};
use crate::ops::norm::layer_norm::LayerNormOptions;
use crate::ops::reduce::{mean, sum};
use crate::tensor::any::{Operand, Tensor, TensorRef};
use crate::tensor::blocked::BlockedTensor;
use crate::tensor::strided::StridedTensor;

pub(super) fn gradient(call: &Backward<'_>) -> Result<Gradients> {
    let (op, x, diff) = (call.args.op(), call.args.tensor(0)?, call.diff()?);
    let LayerNormOptions { normalized_shape: shape, eps } = LayerNormOptions::read(&call.args)?;
    let rank = x.dims().len();
    let axes: Vec<usize> = (rank - shape.len()..rank).collect();
    let leading: Vec<usize> = (0..rank - shape.len()).collect();
    let mean_of = |t: &Tensor| mean(t, &axes, true);
    let center = mean_of(&x.to_tensor())?;
    let centered = map2(op, x, (x, center.tensor_ref()), |x, m| x - m)?;
    let centered = centered.tensor_ref();
    let variance = mean_of(&map2(op, x, (centered, centered), |a, b| a * b)?)?;
    let inverse = variance.tensor_ref();
    let inverse =
        map2(op, inverse, (inverse, inverse), move |v, _| (1.0 / (f64::from(v) + eps).sqrt()) as f32)?;
    call.by_name(|name| match name {
        "x" => {
            let scaled = match call.args.optional_strided(1)? {
                Some(weight) => times_weight(op, diff, weight, &shape)?,
                None => diff.to_tensor(),
            };
            let scaled_mean = mean_of(&scaled)?;
            let product = mean_of(&map2(op, x, (scaled.tensor_ref(), centered), |g, c| g * c)?)?;
            let (r, product) = (inverse.tensor_ref(), product.tensor_ref());
            let pull = map2(op, r, (r, product), |r, p| r * r * r * p)?;
            let tensors = (scaled.tensor_ref(), scaled_mean.tensor_ref(), r);
            let rest = map3(op, x, tensors, |g, mean, r| (g - mean) * r)?;
            let tensors = (rest.tensor_ref(), centered, pull.tensor_ref());
            Ok(Some(map3(op, x, tensors, |rest, c, pull| rest - c * pull)?))
        }
        "weight" => {
            let tensors = (diff, centered, inverse.tensor_ref());
            Ok(Some(to_param(&map3(op, x, tensors, |g, c, r| g * c * r)?, &leading, &shape)?))
        }
        _ => Ok(Some(to_param(&diff.to_tensor(), &leading, &shape)?)),
    })
}

/// `diff` times the weight, which has the sizes `shape` of its last axes.
fn times_weight(
    op: &'static str,
    diff: TensorRef<'_>,
    weight: &StridedTensor,
    shape: &Dims,
) -> Result<Tensor> {
    let TensorRef::Blocked(diff) = diff else {
        let weight = weight.reshape(shape)?;
        return map2(op, diff, (diff, weight.tensor_ref()), |g, w| g * w);
    };
    let mut dims = Dims::filled(1, diff.rank() - shape.len());
    shape.iter().for_each(|&size| dims.push(size));
    let weight = weight.reshape(&dims)?;
    let of_channels = shape.len() + 1 >= diff.rank();
    let weight =
        if of_channels { MapOperand::of_features(op, &weight, diff) } else { MapOperand::of_pixels(&weight) };
    let mut dst = BlockedTensor::for_result(op, diff.dims(), diff.layout(), diff.dtype())?;
    let diff = MapOperand::of(op, diff, diff.dims()[1])?;
    // The sum makes +0 of -0, which a negative weight would make of padding lanes.
    blocked_map::map2(op, &mut dst, (&diff, &weight?), |g: f32, w: f32| g * w + 0.0)?;
    Ok(dst.into())
}

/// The sum over the leading axes as a parameter, which is a vector.
fn to_param(t: &Tensor, leading: &[usize], shape: &Dims) -> Result<Tensor> {
    let sums = if leading.is_empty() { t.clone() } else { sum(t, leading, true)? };
    let count = shape.iter().product::<usize>();
    match &sums {
        Tensor::Strided(sums) => Ok(sums.reshape(&[count])?.into()),
        Tensor::Blocked(sums) => {
            // A small tensor that becomes a parameter: no reorder of data.
            let (dims, size) = (Dims::from_slice(sums.dims()), sums.dtype().size_bytes());
            let strides = MemoryFormat::Contiguous.strides("layer_norm", &dims)?;
            let mut plain = StridedTensor::for_result("layer_norm", dims, strides, sums.dtype())?;
            let (bytes, layout) = (sums.storage_bytes(), sums.layout());
            reorder::blocked_to_strided(size, bytes, layout, &dims, &strides, plain.result_bytes());
            Ok(plain.reshape(&[count])?.into())
        }
        Tensor::Opaque(_) => unreachable!("the kernel is registered for strided and blocked tensors"),
    }
}
