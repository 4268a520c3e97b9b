//! The operations that this crate adds to burn.

use std::sync::Arc;

use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, DispatchTensor, DispatchTensorKind, ExtensionType, Flex, backend_extension};
use burn::tensor::Tensor;

use crate::conv::PackedConv;
use crate::error::{Error, Result};
use crate::region::Region;

/// What an operation returns: burn's dispatch carries tensors, and no `Result`.
#[derive(ExtensionType)]
pub enum Outcome<B: Backend> {
    /// The result.
    Computed(FloatTensor<B>),
    /// Why there is none.
    Refused(Arc<Error>),
}

/// Operations that a backend of burn has with blocktensor. [`Region::forward`] and [`PackedConv::forward`] call them on burn's tensors.
#[backend_extension(Flex)]
pub trait BlockedOps: Backend {
    /// A convolution with packed weights.
    fn packed_conv2d(x: FloatTensor<Self>, conv: PackedConv) -> Outcome<Self>;

    /// A planned part of a network.
    fn planned_region(x: FloatTensor<Self>, region: Region) -> Outcome<Self>;
}

impl BlockedOps for Flex {
    fn packed_conv2d(x: FlexTensor, conv: PackedConv) -> Outcome<Flex> {
        conv.run(&x).into()
    }

    fn planned_region(x: FlexTensor, region: Region) -> Outcome<Flex> {
        region.run(&x).into()
    }
}

impl From<Result<FlexTensor>> for Outcome<Flex> {
    fn from(result: Result<FlexTensor>) -> Outcome<Flex> {
        match result {
            Ok(y) => Outcome::Computed(y),
            Err(e) => Outcome::Refused(Arc::new(e)),
        }
    }
}

/// Runs an operation on a tensor, if it is of a backend that has it.
pub(crate) fn dispatch<const D: usize, const E: usize>(
    call: &'static str,
    x: Tensor<D>,
    op: impl FnOnce(DispatchTensor) -> Outcome<burn::backend::Dispatch>,
) -> Result<Tensor<E>> {
    let device = x.device();
    let x = x.into_dispatch();
    // Dispatch itself would panic.
    if !matches!(x.kind, DispatchTensorKind::Flex(_)) {
        return Err(Error::Backend { call, got: format!("{device:?}") });
    }
    match op(x) {
        Outcome::Computed(y) => Ok(Tensor::from_dispatch(y)),
        Outcome::Refused(e) => Err(Arc::unwrap_or_clone(e)),
    }
}
