//! Graphs of blocktensor operators.
//!
//! A [`Graph`] holds a model as it was written: nodes with names, values, and sizes that may be names such as `batch`.
//! [`Graph::with_sizes`] makes a [`Network`] of it: every size is a number, what depends on constants alone is computed, and
//! every node is a [`blocktensor::Operator`]. [`Graph::plan`] also applies the [passes](Pass), chooses layouts, inserts the
//! reorders that they need as nodes that everybody can see, packs the weights and assigns memory. A [`Plan`] runs, from many
//! threads at once.
//!
//! ```
//! use blocktensor::{MemoryFormat, StridedTensor};
//! use blocktensor_graph::{Constant, Graph, Layouts, PlanOptions};
//!
//! let mut graph = Graph::new();
//! let x = graph.input("image", &["batch".into(), 3.into(), 8.into(), 8.into()])?;
//! let weights = StridedTensor::full(&[16, 3, 3, 3], 0.1f32, MemoryFormat::Contiguous)?;
//! let weights = graph.constant("weights", Constant::F32(weights))?;
//! let y = graph.op("conv", "conv2d", &[("x", x), ("weights", weights)], &[("padding", 1i64.into())])?;
//! let y = graph.op("activation", "relu", &[("x", y)], &[])?;
//! graph.output("features", y)?;
//!
//! let options = PlanOptions::new(Layouts::Blocked).size("batch", 2);
//! let plan = graph.plan(&options)?;
//! let image = StridedTensor::full(&[2, 3, 8, 8], 1f32, MemoryFormat::Contiguous)?;
//! let features = plan.run(&[&image])?;
//! assert_eq!(features[0].dims(), [2, 16, 8, 8]);
//! println!("{plan}"); // every node with its layout, every reorder with its bytes
//! # Ok::<(), blocktensor_graph::Error>(())
//! ```

mod constant;
mod draw;
mod error;
mod expand;
mod graph;
mod integers;
mod minimise;
mod network;
mod partition;
mod passes;
mod plan;
mod reference;
mod sizes;
mod stop;

pub use blocktensor::dispatch::Value as Param;
pub use constant::{Constant, ElementType, Integer};
pub use error::{Error, Missing, Result};
pub use expand::{Expand, Expansion};
pub use graph::{Graph, Outcome, ValueId};
pub use integers::{IntegerFunction, broadcast_dims};
pub use network::{Network, Node, Tensor, TensorId, Value};
pub use partition::{partition, schedule};
pub use passes::{Pass, PassReport};
pub use plan::{
    AsWritten, CandidateMeasurement, ComparedWithF32, ConstantError, Errors, FasterInF32, Layouts,
    Measurements, NodeMeasurement, OutputError, Plan, PlanOptions, Precision, Profiles, Reorder, StepError,
    StepInfo, StepKind, StepTensor,
};
pub use sizes::{Dim, Misfit, Sizes};
