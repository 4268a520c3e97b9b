//! Packed linear layers in files.

use std::sync::Arc;

#[cfg(feature = "onednn")]
use super::engine::Packed;
use super::{PackedLinear, Weights, check_rows};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::file::entry::{Entry, LinearEntry, WeightsEntry};
use crate::file::{Loaded, Packable, Saved, sealed};
use crate::layout::dims::Dims;
use crate::ops::linear::LinearShape;
use crate::tensor::strided::StridedTensor;
use crate::threads;

/// The ways to compute a linear layer, by their names in files.
const ONEDNN: &str = "onednn";
const GEMM: &str = "gemm";

impl sealed::Sealed for PackedLinear {}

impl Packable for PackedLinear {
    fn saved(&self) -> Result<Saved<'_>> {
        let (way, identity, weights) = match &self.weights {
            #[cfg(feature = "onednn")]
            Weights::Packed(p) => (ONEDNN, Some(p.identity()?), p.weights()?),
            Weights::Plain(w) => (GEMM, None, w.clone()),
        };
        let weights_entry = WeightsEntry {
            dims: vec![self.o, self.k],
            dtype: self.dtype.to_string(),
            way: way.into(),
            layout: self.weights_layout(),
            implementation: self.implementation(),
            identity,
            subnormals: self.subnormals,
        };
        let entry = LinearEntry { rows: self.rows, threads: self.threads, weights: weights_entry };
        let plain = Box::new(|| self.unpack_weights());
        Ok(Saved { entry: Entry::Linear(Box::new(entry)), weights, bias: self.bias.as_deref(), plain })
    }

    #[track_caller]
    fn loaded(from: Loaded<'_>) -> Result<Self> {
        threads::enter("PackedFile::get")?;
        let e = match from.entry {
            Entry::Linear(e) => e,
            Entry::Conv(_) => return Err(from.wrong_kind("a convolution", "a linear layer")),
        };
        let &[o, k] = &e.weights.dims[..] else {
            return Err(from.corrupt(format!("weights {:?} of a linear layer", e.weights.dims)));
        };
        let dtype: DType = e.weights.dtype.parse().map_err(|e: Error| from.corrupt(e))?;
        if !matches!(dtype, DType::F32 | DType::BF16) {
            return Err(from.corrupt(format!("{dtype} weights of a linear layer")));
        }
        let (data, bias) = (from.weights(&[o, k], dtype)?, from.bias()?);
        let bias_dims = bias.as_ref().map(|b| [b.len()]);
        let shape = LinearShape::new(&[e.rows, k], &[o, k], bias_dims.as_ref().map(|d| &d[..]))
            .and_then(|shape| check_rows(&shape).map(|()| shape))
            .map_err(|e| from.corrupt(e))?;
        let misfit = match from.misfit_of(e.threads) {
            Some(misfit) => misfit,
            None => {
                let weights = match (&e.weights.way[..], &e.weights.identity) {
                    (GEMM, _) if dtype == DType::F32 && data.len() == o * k * 4 => {
                        let dims = Dims::from_slice(&[o, k]);
                        let plain = StridedTensor::of_storage("linear", Arc::clone(&data), dims, DType::F32)?;
                        Ok(Weights::Plain(plain))
                    }
                    #[cfg(feature = "onednn")]
                    (ONEDNN, Some(identity)) => {
                        Packed::stored(&shape, dtype, bias.is_some(), e.threads, data, identity)?
                            .map(Weights::Packed)
                    }
                    #[cfg(not(feature = "onednn"))]
                    (ONEDNN, Some(_)) => Err(format!("this build has no oneDNN for {} rows", shape.rows)),
                    _ => {
                        return Err(
                            from.corrupt(format!("{} bytes of weights of a linear layer", data.len()))
                        );
                    }
                };
                match weights {
                    Ok(weights) => {
                        return Ok(PackedLinear {
                            rows: e.rows,
                            threads: e.threads,
                            k,
                            o,
                            dtype,
                            bias,
                            weights,
                            subnormals: e.weights.subnormals,
                        });
                    }
                    Err(here) => from.misfit(format!("packed as {}", e.weights.layout), here),
                }
            }
        };
        let plain = from.plain(misfit, &e.weights.dims)?;
        let bias = bias.map(|b| StridedTensor::from_slice(&b, &[b.len()])).transpose()?;
        PackedLinear::for_dtype(&plain, bias.as_ref(), e.rows, dtype)
    }
}
