//! Reads ONNX models into [`blocktensor_graph::Graph`]s, and shows plans as ONNX files.
//!
//! [`from_path`] and [`from_bytes`] read operator sets 11 to 25. Sizes that the model leaves open stay names. Each ONNX node is a
//! node of the graph, and becomes operators of blocktensor when the graph gets its sizes
//! ([`Graph::with_sizes`](blocktensor_graph::Graph::with_sizes)). Shape arithmetic (`Shape`, `Gather`, `Concat`, ...) is computed
//! at that moment and leaves no operators.
//!
//! Anything that cannot be read is an error that names it; no attribute is ignored silently. Nodes without an importer are listed
//! all at once when the graph gets its sizes. [`Importer::register`] adds importers for ops of other domains.
//!
//! ```no_run
//! use blocktensor_graph::Sizes;
//!
//! let graph = blocktensor_onnx::from_path("resnet50.onnx".as_ref())?;
//! for (name, element_type, dims) in graph.inputs() {
//!     println!("{name}: {element_type} {dims:?}");
//! }
//! let network = graph.with_sizes(&Sizes::new().with("batch", 1))?;
//! println!("{} operators", network.nodes().len());
//! # Ok::<(), blocktensor_onnx::Error>(())
//! ```

mod adopt;
mod data;
mod declared;
mod error;
mod expand;
mod external;
mod fold;
mod host;
mod importer;
mod lists;
mod model;
mod node;
mod ops;
mod reader;
mod registry;
mod scan;
mod show;
mod sort;
mod tensor;
mod text;

pub use error::{Error, Result};
#[doc(hidden)]
pub use external::{LOCATION, file_beside};
pub use host::{HostModel, HostNode, HostValue, constant_of};
pub use importer::{from_bytes, from_path};
pub use node::{Attribute, Import, OnnxNode, Subgraph};
pub use registry::{Importer, NEWEST_OPSET, OLDEST_OPSET};
pub use show::{is_shown, show};

/// Compiles the program in docs/models.md.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("../../../docs/models.md")]
    struct Models;
}
