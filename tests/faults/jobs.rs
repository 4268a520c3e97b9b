//! One call of every kind that reaches the engine or allocates storage. Each makes its operands, and returns elements in
//! row-major order.

use blocktensor::dispatch::Isa;
use blocktensor::ops::{self, Conv1d, Conv2d, Conv3d, ConvTranspose2d, Fusion};
use blocktensor::{
    AnyConvPacker, BlockedTensor, BoundOp, DType, Layout, MemoryFormat, Operand, Operator, PackedConv2d,
    PackedConvTranspose2d, PackedFile, PackedLinear, PackedWriter, Result, Source, StridedTensor, Tensor,
};

use crate::support::Rng;

pub type Job = (&'static str, fn() -> Result<Vec<f32>>);

fn plain(dims: &[usize]) -> Result<StridedTensor> {
    StridedTensor::from_slice(&Rng(dims.len() as u64).integers(dims.iter().product()), dims)
}

fn nhwc(dims: &[usize]) -> Result<StridedTensor> {
    plain(dims)?.contiguous(MemoryFormat::channels_last_of(dims.len()).unwrap())
}

fn blocked(dims: &[usize]) -> Result<BlockedTensor> {
    plain(dims)?.to_blocked(&Layout::native_activation(dims.len())?)
}

fn weights(dims: &[usize]) -> Result<BlockedTensor> {
    plain(dims)?.to_blocked(&Layout::native_weights(dims.len(), blocktensor::WeightsKind::Dense)?)
}

/// Any result, as f32.
fn as_f32(y: Tensor) -> Result<Vec<f32>> {
    let y = match y {
        Tensor::Blocked(y) => {
            y.check_tail()?;
            y.to_strided(MemoryFormat::Contiguous)?
        }
        Tensor::Strided(y) => y,
        Tensor::Opaque(_) => unreachable!("no key but ours"),
    };
    y.to_dtype(DType::F32)?.to_vec()
}

fn numbers(y: &BlockedTensor) -> Result<Vec<f32>> {
    as_f32(y.clone().into())
}

fn fused<T>(residual: &T) -> Fusion<'_, T> {
    Fusion { residual: Some(residual), channel: &[] }
}

fn file() -> std::path::PathBuf {
    std::env::temp_dir().join(format!("blocktensor-faults-{}.packed", std::process::id()))
}

/// The gradients of a convolution, or of a transposed one, by its source and its weights.
fn gradients(op: &str, x: Tensor, weights: Tensor) -> Result<Vec<f32>> {
    let op = BoundOp::new(op, &["x", "weights"], &[("padding", vec![1i64].into())])?;
    let y = op.run(&[x.tensor_ref(), weights.tensor_ref()])?;
    let diff = y[0].clone();
    let made = op.backward_by(&[x, weights], &y, &[Some(diff)], &["x", "weights"])?;
    let mut all = Vec::new();
    for t in made {
        all.extend(as_f32(t)?);
    }
    Ok(all)
}

/// A packed convolution of such a source, with 3x3 weights of a dtype.
fn typed(x: Tensor, weights: DType) -> Result<Vec<f32>> {
    let w = plain(&[33, x.tensor_ref().dims()[1], 3, 3])?.to_dtype(weights)?;
    let packer = AnyConvPacker::new("conv2d", &w, None, &[("padding", vec![1i64].into())])?;
    as_f32(packer.pack_for(&Source::of(&x)?)?.run(&x)?)
}

pub const JOBS: &[Job] = &[
    ("conv2d, nchw", || {
        ops::conv2d(&plain(&[2, 20, 6, 5])?, &plain(&[17, 20, 3, 3])?, None, &Conv2d::new().padding(1))?
            .to_vec()
    }),
    ("conv2d, nhwc, with a bias and post-ops", || {
        let (x, w, b) = (nhwc(&[2, 20, 6, 5])?, plain(&[17, 20, 3, 3])?, plain(&[17])?);
        let params = Conv2d::new().padding(1).residual().relu();
        let residual = nhwc(&[2, 17, 6, 5])?;
        ops::conv2d_fused(&x, &w, Some(&b), &params, fused(&residual))?.to_vec()
    }),
    ("conv2d, blocked", || {
        let (x, w) = (blocked(&[2, 33, 6, 5])?, weights(&[17, 33, 3, 3])?);
        numbers(&ops::conv2d(&x, &w, None, &Conv2d::new().stride(2))?)
    }),
    ("conv1d, nchw", || {
        ops::conv1d(&plain(&[2, 20, 9])?, &plain(&[17, 20, 3])?, None, &Conv1d::new())?.to_vec()
    }),
    ("conv3d, blocked", || {
        let (x, w) = (blocked(&[1, 16, 4, 3, 5])?, weights(&[16, 16, 2, 2, 2])?);
        numbers(&ops::conv3d(&x, &w, None, &Conv3d::new())?)
    }),
    ("conv_transpose2d, nhwc", || {
        let (x, w) = (nhwc(&[1, 20, 4, 5])?, plain(&[20, 17, 3, 3])?);
        ops::conv_transpose2d(&x, &w, None, &ConvTranspose2d::new().stride(2))?.to_vec()
    }),
    ("packed conv2d, blocked, another batch, unpacked", || {
        let (x, w, b) = (blocked(&[1, 32, 6, 5])?, plain(&[33, 32, 3, 3])?, plain(&[33])?);
        let packer = PackedConv2d::new(&w, Some(&b), Conv2d::new().padding(1).residual().relu())?;
        let conv = packer.pack_for(&Source::of(&x)?)?;
        let residual = blocked(&[1, 33, 6, 5])?;
        let mut all = numbers(&conv.run_fused(&x, fused(&residual))?)?;
        let (x, residual) = (blocked(&[3, 32, 6, 5])?, blocked(&[3, 33, 6, 5])?);
        all.extend(numbers(&conv.run_fused(&x, fused(&residual))?)?);
        all.extend(conv.unpack_weights()?.to_vec::<f32>()?);
        Ok(all)
    }),
    ("packed conv2d, nhwc", || {
        let (x, w) = (nhwc(&[1, 32, 6, 5])?, plain(&[33, 32, 3, 3])?);
        PackedConv2d::new(&w, None, Conv2d::new())?.pack_for(&Source::of(&x)?)?.run(&x)?.to_vec()
    }),
    ("packed stem", || {
        let (x, w) = (plain(&[1, 3, 9, 8])?, plain(&[16, 3, 3, 3])?);
        let packer = PackedConv2d::new(&w, None, Conv2d::new().stride(2))?;
        let stem = packer.pack_stem(&Source::of(&x)?, &Layout::native_activation(4)?)?;
        numbers(&stem.run(&x)?)
    }),
    ("packed conv_transpose2d, blocked", || {
        let (x, w) = (blocked(&[1, 16, 4, 5])?, plain(&[16, 17, 2, 2])?);
        let packer = PackedConvTranspose2d::new(&w, None, ConvTranspose2d::new().stride(2))?;
        numbers(&packer.pack_for(&Source::of(&x)?)?.run(&x)?)
    }),
    ("linear, and packed", || {
        let (x, w, b) = (plain(&[5, 40])?, plain(&[33, 40])?, plain(&[33])?);
        let mut all = ops::linear(&x, &w, Some(&b))?.to_vec::<f32>()?;
        let layer = PackedLinear::new(&w, Some(&b), 5)?;
        all.extend(layer.run(&x)?.to_vec::<f32>()?);
        all.extend(layer.run(&plain(&[2, 40])?)?.to_vec::<f32>()?);
        all.extend(layer.unpack_weights()?.to_vec::<f32>()?);
        Ok(all)
    }),
    ("conv2d, gradients, nchw", || {
        gradients("conv2d", plain(&[2, 20, 6, 5])?.into(), plain(&[17, 20, 3, 3])?.into())
    }),
    ("conv2d, gradients, nhwc", || {
        gradients("conv2d", nhwc(&[2, 20, 6, 5])?.into(), nhwc(&[17, 20, 3, 3])?.into())
    }),
    ("conv2d, gradients, blocked", || {
        gradients("conv2d", blocked(&[2, 33, 6, 5])?.into(), weights(&[17, 33, 3, 3])?.into())
    }),
    ("conv_transpose2d, gradients, nchw", || {
        gradients("conv_transpose2d", plain(&[2, 20, 4, 5])?.into(), plain(&[20, 17, 3, 3])?.into())
    }),
    ("conv_transpose2d, gradients, nhwc", || {
        gradients("conv_transpose2d", nhwc(&[2, 20, 4, 5])?.into(), nhwc(&[20, 17, 3, 3])?.into())
    }),
    ("conv_transpose2d, gradients, blocked", || {
        gradients("conv_transpose2d", blocked(&[2, 33, 4, 5])?.into(), weights(&[17, 33, 3, 3])?.into())
    }),
    ("conv2d of integers, packed, nchw", || {
        typed(plain(&[2, 20, 6, 5])?.to_dtype(DType::U8)?.into(), DType::S8)
    }),
    ("conv2d of integers, packed, nhwc", || {
        typed(nhwc(&[2, 20, 6, 5])?.to_dtype(DType::S8)?.into(), DType::S8)
    }),
    ("conv2d of integers, packed, blocked", || {
        typed(blocked(&[2, 20, 6, 5])?.to_dtype(DType::U8)?.into(), DType::S8)
    }),
    ("conv2d in bf16 where there is a kernel, packed, nhwc", || {
        let dtype = match cfg!(feature = "onednn") && Isa::Avx512Bf16.is_here() {
            true => DType::BF16,
            false => DType::F32,
        };
        typed(nhwc(&[2, 32, 6, 5])?.to_dtype(dtype)?.into(), DType::F32)
    }),
    ("quantised, and back, blocked", || {
        let (scale, zero) =
            (StridedTensor::from_slice(&[0.5f32], &[1])?, StridedTensor::from_slice(&[3i32], &[1])?);
        let y = ops::quantize(&blocked(&[2, 20, 6, 5])?, &scale, &zero, 1, DType::S8)?;
        numbers(&ops::dequantize(&y, &scale, &zero, 1)?)
    }),
    ("matmul", || ops::matmul(&plain(&[7, 40])?, &plain(&[40, 9])?)?.to_vec()),
    ("packed file, written and read", || {
        let (x, w) = (blocked(&[1, 32, 6, 5])?, plain(&[16, 32, 1, 1])?);
        let conv = PackedConv2d::new(&w, None, Conv2d::new())?.pack_for(&Source::of(&x)?)?;
        let layer = PackedLinear::new(&plain(&[9, 16])?, None, 9)?;
        let path = file();
        let mut writer = PackedWriter::new();
        writer.add("conv", &conv)?;
        writer.add("layer", &layer)?;
        writer.save(&path)?;
        let opened = PackedFile::read(&path);
        std::fs::remove_file(&path).unwrap();
        let opened = opened?;
        let (conv, layer): (PackedConv2d, PackedLinear) = (opened.get("conv")?, opened.get("layer")?);
        let mut all = numbers(&conv.run(&x)?)?;
        all.extend(layer.run(&plain(&[3, 16])?)?.to_vec::<f32>()?);
        Ok(all)
    }),
];
