//! `Builder`: candle-nn's layers as nodes of a graph.

mod layers;

use blocktensor_graph::{Graph, Param, PlanOptions, ValueId};
use candle_core::{Shape, Tensor};

use crate::error::{Error, Result};
use crate::region::Region;
use crate::reorder::to_strided;

/// Builds a region with the names and arguments of candle-nn's layers and candle's tensor methods.
///
/// Layers read the weights that candle-nn's would read: the same names, from the same `VarBuilder`. A node has the name of its weights'
/// prefix, so that plans and errors name it. Methods that end in `_of` take a layer that exists already. What is missing here can be added
/// by the name of an op ([`op`](Self::op)).
#[derive(Clone, Debug, Default)]
pub struct Builder {
    graph: Graph,
}

impl Builder {
    /// A region whose input has these sizes, and the input.
    ///
    /// # Errors
    /// None today.
    pub fn new<S: Into<Shape>>(sizes: S) -> Result<(Builder, ValueId)> {
        let mut graph = Graph::new();
        let dims: Vec<_> = sizes.into().dims().iter().map(|&d| d.into()).collect();
        let x = graph.input("x", &dims)?;
        Ok((Builder { graph }, x))
    }

    /// Adds a registered op by its name, with inputs and parameters by their names (`blocktensor::dispatch::ops()` lists them).
    ///
    /// ```
    /// # use blocktensor_candle::{Builder, Layouts, PlanOptions};
    /// let (mut net, x) = Builder::new((1, 8, 4, 4))?;
    /// let y = net.op("shuffle", "channel_shuffle", &[("x", x)], &[("groups", 2i64.into())])?;
    /// let region = net.region(y, &PlanOptions::new(Layouts::Blocked))?;
    /// # Ok::<(), blocktensor_candle::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Graph` for an op, an input or a parameter that is not there.
    pub fn op(
        &mut self,
        name: &str,
        op: &str,
        inputs: &[(&str, ValueId)],
        params: &[(&str, Param)],
    ) -> Result<ValueId> {
        let name = self.fresh(if name.is_empty() { op } else { name });
        Ok(self.graph.op(&name, op, inputs, params)?)
    }

    /// Adds weights: a copy.
    ///
    /// # Errors
    /// As [`to_strided`]; `DType` unless they are f32.
    pub fn constant(&mut self, name: &str, weights: &Tensor) -> Result<ValueId> {
        if weights.dtype() != candle_core::DType::F32 {
            return Err(Error::DType {
                call: "Builder",
                got: format!("{} for `{name}`", weights.dtype().as_str()),
                rule: "regions compute in f32",
                remedy: "make the `VarBuilder` with `DType::F32`, or call `to_dtype(DType::F32)?`",
            });
        }
        let name = self.fresh(name);
        Ok(self.graph.constant(&name, to_strided(weights)?)?)
    }

    /// Plans the nodes that `y` needs.
    ///
    /// # Errors
    /// `Graph` with the errors of [`Graph::plan`]: sizes that do not fit, with the node's name; more reorders than allowed.
    pub fn region(mut self, y: ValueId, options: &PlanOptions) -> Result<Region> {
        self.graph.output("y", y)?;
        Region::new(self.graph.plan(options)?)
    }

    /// The name, with a number if another value has it.
    fn fresh(&self, name: &str) -> String {
        let numbered = (2..).map(|n: u64| format!("{name}_{n}"));
        let mut names = std::iter::once(name.to_string()).chain(numbered);
        names.find(|name| self.graph.find(name).is_none()).unwrap_or_default()
    }
}
