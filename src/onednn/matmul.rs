//! Matrix product: descriptor, key, choice of implementation.

use std::sync::Arc;

use onednn_sys as sys;

use super::memory::{MemoryDesc, Spec};
use super::primitive::{Answer, Executable, PrimitiveDesc, is_reference};
use super::{Refused, cache};
use crate::dtype::DType;
use crate::error::Unsupported;

/// Everything that decides a product of an m x k by a k x n matrix. The arguments of a run, in order: src, weights, bias if
/// there is one, dst.
pub(crate) struct MatmulSpec<'a> {
    pub src: Spec<'a>,
    pub weights: Spec<'a>,
    /// Number of columns, if there is a bias.
    pub bias: Option<usize>,
    pub dst: Spec<'a>,
    pub threads: usize,
}

impl MatmulSpec<'_> {
    pub(crate) fn executable(&self) -> Result<Arc<Executable>, Refused> {
        cache::get(
            |key| {
                key.extend([5, self.threads as u64, self.bias.map_or(0, |b| b as u64 + 1)]);
                self.src.push_key(key);
                self.weights.push_key(key);
                self.dst.push_key(key);
            },
            || self.create(),
        )
    }

    /// A new primitive, outside the cache, for weights that are given by oneDNN's own descriptor.
    pub(crate) fn create(&self) -> Result<Executable, Refused> {
        let (src, weights, dst) = (self.src.describe()?, self.weights.describe()?, self.dst.describe()?);
        let bias = match self.bias {
            Some(n) => MemoryDesc::strided(&[1, n], &[n, 1], DType::F32)?,
            None => MemoryDesc::none(),
        };
        // SAFETY: all descriptors are alive.
        let answer = unsafe {
            PrimitiveDesc::ask(
                "dnnl_matmul_primitive_desc_create",
                self.threads,
                &[],
                |place, engine, attr| {
                    sys::dnnl_matmul_primitive_desc_create(
                        place,
                        engine,
                        src.raw(),
                        weights.raw(),
                        bias.raw(),
                        dst.raw(),
                        attr,
                    )
                },
            )?
        };
        let Answer::Found(desc) = answer else { return Err(Unsupported::NoImplementation.into()) };
        let implementation = desc.implementation()?;
        if is_reference(&implementation) {
            return Err(Unsupported::RefOnly { implementation }.into());
        }
        let mut args = vec![sys::DNNL_ARG_SRC, sys::DNNL_ARG_WEIGHTS];
        if self.bias.is_some() {
            args.push(sys::DNNL_ARG_BIAS);
        }
        args.push(sys::DNNL_ARG_DST);
        Ok(Executable::new(&desc, &args)?)
    }
}
