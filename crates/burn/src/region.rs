//! A planned region of a network as an operation of burn's.

use std::sync::Arc;

use blocktensor_graph::{ElementType, Plan};
use burn::backend::Dispatch;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;

use crate::error::{Error, Result};
use crate::extension::{BlockedOps, dispatch};
use crate::memory::{self, Place};

const NAME: &str = "Region";

/// A plan with one input and one output of f32. Clones share the plan; many threads may run it.
///
/// A run reads `Flex`'s memory where it is, and writes into new memory. Its reorders are those that [`plan`](Self::plan) lists. A tensor of
/// other sizes, another type or other strides than row-major ones is an error that says what to call.
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
                rule: "a region has one input and one output of f32".to_string(),
                remedy: "choose one output with `Graph::with_outputs`, or call `Plan::run` yourself",
            });
        }
        Ok(Region { plan: Arc::new(plan) })
    }

    /// The plan: print it to see every layout and every reorder.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Runs it.
    ///
    /// # Errors
    /// `Backend` for a tensor of another backend or one with autodiff, `DType`; `Graph` with the errors of [`Plan::run_into`]; `Invalid`
    /// where the result has another rank than `E`.
    pub fn forward<const D: usize, const E: usize>(&self, x: Tensor<D>) -> Result<Tensor<E>> {
        let dims = self.dst_dims();
        if dims.len() != E {
            return Err(Error::Invalid {
                call: NAME,
                got: format!("a result of type `Tensor<{E}>`"),
                rule: format!("it has sizes {dims:?}"),
                remedy: "name a tensor of their number",
            });
        }
        dispatch(NAME, x, |x| <Dispatch as BlockedOps>::planned_region(x, self.clone()))
    }

    /// Sizes of the result.
    fn dst_dims(&self) -> &[usize] {
        self.plan.outputs().next().map_or(&[], |(_, desc)| desc.dims())
    }

    pub(crate) fn run(&self, x: &FlexTensor) -> Result<FlexTensor> {
        let x = memory::share(NAME, x)?;
        let mut y = Place::<f32>::new(NAME, self.dst_dims())?;
        self.plan.run_into(&[&x], &mut [y.tensor()])?;
        Ok(y.into_flex())
    }
}
