//! A planned region of a network as a module of candle's.

use std::sync::Arc;

use blocktensor::TensorDesc;
use blocktensor_graph::{ElementType, Plan};
use candle_core::{CpuStorage, CudaStorage, CustomOp1, Layout, MetalStorage, Module, Shape, Tensor};

use crate::error::{Error, Result};
use crate::memory::{self, Place};
use crate::reorder::{of_storage, on_cpu};

/// What errors and candle call it.
const NAME: &str = "Region";

/// A plan with one input and one output of f32: a [`Module`] and a [`CustomOp1`]. Clones share the plan; many threads may run it.
///
/// A run reads candle's memory where it is, and writes into new memory of candle's. Its reorders are those that [`plan`](Self::plan)
/// lists. A tensor of other sizes, another type or other strides than row-major ones is an error that says what to call.
#[derive(Clone, Debug)]
pub struct Region {
    plan: Arc<Plan>,
}

impl Region {
    /// Takes a plan, of [`Builder`](crate::Builder), of `blocktensor_graph` or of a file.
    ///
    /// # Errors
    /// `Invalid` for a plan with other inputs or outputs than one of f32 each.
    pub fn new(plan: Plan) -> Result<Region> {
        if plan.input_types() != [ElementType::F32] || plan.output_types() != [ElementType::F32] {
            let listed =
                |types: &[ElementType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            return Err(Error::Invalid {
                call: "Region::new",
                got: format!(
                    "a plan of ({}) -> ({})",
                    listed(plan.input_types()),
                    listed(plan.output_types())
                ),
                rule: "a module has one input and one output of f32".to_string(),
                remedy: "choose one output with `Graph::with_outputs`, or call `Plan::run` yourself"
                    .to_string(),
            });
        }
        Ok(Region { plan: Arc::new(plan) })
    }

    /// The plan: print it to see every layout and every reorder.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Runs it. The result has no gradient; [`forward`](Module::forward) refuses one in the backward pass.
    ///
    /// # Errors
    /// `Device`, `DType`; `Graph` with the errors of [`Plan::run_into`].
    pub fn run(&self, x: &Tensor) -> Result<Tensor> {
        let (storage, layout) = x.storage_and_layout();
        let (storage, dims) = self.on_storage(on_cpu(NAME, &storage)?, layout)?;
        Ok(of_storage(storage, dims))
    }

    fn on_storage(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, &[usize])> {
        let x = memory::borrow(NAME, storage, layout)?;
        let dims = self.plan.outputs().next().map_or(&[][..], |(_, desc): (_, &TensorDesc)| desc.dims());
        let mut y = Place::<f32>::new(NAME, dims)?;
        self.plan.run_into(&[&x], &mut [y.tensor()])?;
        Ok((CpuStorage::F32(y.into_vec()), dims))
    }
}

impl Module for Region {
    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        x.apply_op1(self.clone())
    }
}

impl CustomOp1 for Region {
    fn name(&self) -> &'static str {
        NAME
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> candle_core::Result<(CpuStorage, Shape)> {
        let (storage, dims) = self.on_storage(storage, layout)?;
        Ok((storage, dims.into()))
    }

    fn cuda_fwd(&self, _: &CudaStorage, _: &Layout) -> candle_core::Result<(CudaStorage, Shape)> {
        Err(Error::Device { call: NAME, got: "on a CUDA device" }.into())
    }

    fn metal_fwd(&self, _: &MetalStorage, _: &Layout) -> candle_core::Result<(MetalStorage, Shape)> {
        Err(Error::Device { call: NAME, got: "on a Metal device" }.into())
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, _: &Tensor) -> candle_core::Result<Option<Tensor>> {
        Err(Error::Invalid {
            call: NAME,
            got: format!("a backward pass to a tensor of sizes {:?}", x.dims()),
            rule: "a region has no gradients".to_string(),
            remedy: "train with candle's layers, or pass `x.detach()`".to_string(),
        }
        .into())
    }
}
