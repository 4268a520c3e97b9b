//! The reorders of a plan, as a run shows them.

use blocktensor::ledger::{self, Site};
use blocktensor::{MemoryFormat, StridedTensor, TensorDesc};

use super::{Plan, Reorder, Work};
use crate::error::Result;
use crate::stop::Stop;

impl Plan {
    /// Inputs of zeros.
    pub(super) fn zeros(&self) -> Result<Vec<StridedTensor>> {
        let zeros =
            |desc: &TensorDesc| StridedTensor::zeros(desc.dims(), desc.dtype(), MemoryFormat::Contiguous);
        Ok(self.inputs().map(|(_, desc)| zeros(desc)).collect::<blocktensor::Result<Vec<_>>>()?)
    }

    /// What one run reorders: measured by a run with inputs of zeros.
    pub(super) fn observed_reorders(&self, mut stop: &Stop) -> Result<Vec<Reorder>> {
        let zeros = self.zeros()?;
        let inputs: Vec<&StridedTensor> = zeros.iter().collect();
        let (result, ledger) =
            ledger::record(|| blocktensor::with_stand_ins(|| self.run_watched(&inputs, &mut stop)));
        result?;
        let of_step =
            |site: &str| self.steps.iter().any(|s| matches!(s.work, Work::Reorder) && *s.name == *site);
        Ok(ledger
            .reorders
            .iter()
            .map(|r| {
                let node = match &r.site {
                    Site::Node(name) => name.to_string(),
                    site => site.to_string(),
                };
                Reorder {
                    in_kernel: !of_step(&node),
                    node,
                    from: r.from.clone(),
                    to: r.to.clone(),
                    dims: r.dims.to_vec(),
                    bytes: r.bytes,
                }
            })
            .collect())
    }
}
