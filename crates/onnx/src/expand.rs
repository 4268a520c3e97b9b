//! How a node of a model becomes operators.

use blocktensor_graph::{Expand, Expansion, Result, Value};

use crate::node::OnnxNode;
use crate::{fold, ops};

impl Expand for OnnxNode {
    fn op(&self) -> &str {
        &self.op_type
    }

    fn attributes(&self) -> String {
        let list = self.attributes.iter().map(|(name, value)| format!("{name} = {value}"));
        list.collect::<Vec<_>>().join(", ")
    }

    fn lacks(&self) -> Option<String> {
        self.import.as_ref().err().cloned()
    }

    fn expand(&self, inputs: &[Option<Value>], cx: &mut Expansion<'_>) -> Result<Vec<Value>> {
        let import = match &self.import {
            Ok(import) => import,
            Err(reason) => return Err(cx.unsupported(reason)),
        };
        if self.is_checked {
            ops::schema::check_types(self, inputs, cx)?;
        }
        if let Some(results) = fold::evaluate(self, inputs, cx)? {
            for value in &results {
                cx.computes(value.dims(), value.element_type())?;
            }
            return Ok(results);
        }
        let results = import(self, inputs, cx)?;
        if let Some(i) = (results.len()..self.outputs.len()).find(|&i| cx.needs(i)) {
            return Err(cx.unsupported(format!("output {i} is used, and is not computed in inference")));
        }
        Ok(results)
    }
}
