//! A fused node: its graph, and a plan for each shape that it is run with.

use std::sync::{Arc, Mutex, PoisonError};

use blocktensor_graph::{Dim, Graph, Plan, Sizes};
use blocktensor_onnx::{HostModel, Importer};

use crate::failure::{Failure, Result};
use crate::options::Options;

/// Plans of a region that are kept. Each has packed weights of its own.
const MOST_PLANS: usize = 16;

/// A plan that is being made or there. Others who need it wait.
type Made = Arc<Mutex<Option<Arc<Plan>>>>;

/// The sizes of each input.
type Shapes = Vec<Vec<usize>>;

#[derive(Debug)]
pub(crate) struct Region {
    name: String,
    graph: Graph,
    options: Options,
    /// For each input of the graph, its number among the fused node's.
    pub(crate) places: Vec<usize>,
    /// Plans by the sizes of the inputs, the least recently used first.
    plans: Mutex<Vec<(Shapes, Made)>>,
}

impl Region {
    /// The region of a fused node. Its plan is made at once if all sizes are known.
    pub(crate) fn new(name: String, mut model: HostModel, options: Options) -> Result<Region> {
        let is_constant = |name: &str| model.constants.iter().any(|(constant, _)| constant == name);
        let places: Vec<usize> =
            (0..model.inputs.len()).filter(|&i| !is_constant(&model.inputs[i].name)).collect();
        model.inputs = places.iter().map(|&i| model.inputs[i].clone()).collect();
        let graph = Importer::new().from_host(model)?;
        let region = Region { name, graph, options, places, plans: Mutex::default() };
        if region.graph.named_sizes().is_empty() {
            let numbers = |dims: &[Dim]| dims.iter().filter_map(|dim| Sizes::new().number(dim)).collect();
            region.plan_for(&region.graph.inputs().map(|(_, _, dims)| numbers(dims)).collect::<Shapes>())?;
        }
        Ok(region)
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The plan for inputs of these sizes.
    pub(crate) fn plan_for(&self, shapes: &[Vec<usize>]) -> Result<Arc<Plan>> {
        let made = self.made(shapes);
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = &*made {
            return Ok(Arc::clone(plan));
        }
        let options = self.options.planning().sizes(self.sizes(shapes)?);
        let plan = self.options.run(|| self.graph.plan(&options)).map_err(Failure::from)?;
        Ok(Arc::clone(made.insert(Arc::new(plan))))
    }

    fn made(&self, shapes: &[Vec<usize>]) -> Made {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = match plans.iter().position(|(known, _)| known == shapes) {
            Some(i) => plans.remove(i),
            None => (shapes.to_vec(), Made::default()),
        };
        if plans.len() >= MOST_PLANS {
            plans.remove(0);
        }
        let made = Arc::clone(&entry.1);
        plans.push(entry);
        made
    }

    /// The numbers of the named sizes. ONNX Runtime has checked the dtypes.
    fn sizes(&self, shapes: &[Vec<usize>]) -> Result<Sizes> {
        let of = self.graph.inputs().map(|(_, of, _)| of.dtype());
        let given: Vec<_> = of.zip(shapes.iter().map(Vec::as_slice)).collect();
        self.graph.sizes_of(&given).map_err(|e| Failure::invalid(e.to_string()).at(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use blocktensor_graph::Layouts;
    use blocktensor_onnx::{HostNode, HostValue};

    use super::*;

    fn region() -> Region {
        let value = |name: &str| HostValue {
            name: name.into(),
            data_type: 1,
            dims: Some(vec![Dim::from("n"), Dim::from(3)]),
        };
        let relu = HostNode {
            name: "relu".into(),
            op_type: "Relu".into(),
            inputs: vec!["x".into()],
            outputs: vec!["y".into()],
            ..HostNode::default()
        };
        let model = HostModel {
            opsets: vec![(String::new(), 17)],
            inputs: vec![value("x")],
            nodes: vec![relu],
            outputs: vec![value("y")],
            ..HostModel::default()
        };
        let options = Options { layouts: Layouts::Nchw, ..Options::default() };
        Region::new("fused".into(), model, options).unwrap()
    }

    #[test]
    fn plans_are_made_once_for_a_shape_and_bounded() {
        let region = region();
        let first = region.plan_for(&[vec![1, 3]]).unwrap();
        assert!(Arc::ptr_eq(&first, &region.plan_for(&[vec![1, 3]]).unwrap()));
        assert_eq!(region.plans.lock().unwrap().len(), 1);
        for n in 2..40 {
            region.plan_for(&[vec![n, 3]]).unwrap();
            // Used in between, it stays.
            assert!(Arc::ptr_eq(&first, &region.plan_for(&[vec![1, 3]]).unwrap()));
        }
        assert_eq!(region.plans.lock().unwrap().len(), MOST_PLANS);
    }

    #[test]
    fn other_sizes_are_refused_by_name() {
        let region = region();
        for shape in [vec![1, 4], vec![3], vec![1, 3, 1]] {
            let text = region.plan_for(std::slice::from_ref(&shape)).unwrap_err().text;
            assert!(text.contains("input `x`") && text.contains(&format!("got {shape:?}")), "{text}");
        }
    }
}
