//! Plans in files: every choice, and the packed weights.
//!
//! A saved plan is a packed file ([`PackedFile`]) with the text `plan`: JSON of [`Stored`]. The packed weights of node 7 are
//! called `node 7`, the constant that is tensor 12 of the network `tensor 12`.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use blocktensor::{
    BoundOp, Complaint, DType, MemoryFormat, Operator, PackedFile, PackedOp, PackedWriter, StridedTensor,
    TensorDesc, memory,
};
use serde::{Deserialize, Serialize};

use super::algorithms::Limits;
use super::build::{self, Choice};
use super::forms::Form;
use super::pack;
use super::recipe::{Recipe, packed_only, without_elements};
use super::{Layouts, Measurements, Plan, PlanOptions, Profiles, Reorder, planned};
use crate::constant::ElementType;
use crate::error::{Error, Result};
use crate::network::{Network, Node, Operation, Tensor, TensorId};
use crate::passes::PassReport;
use crate::stop::Stop;

/// The name of the text in the file.
const PLAN: &str = "plan";
/// The version of this module's format.
const VERSION: u32 = 1;

/// A plan in a file.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    layouts: Layouts,
    #[serde(default)]
    limits: Limits,
    threads: usize,
    input_types: Vec<ElementType>,
    tensors: Vec<StoredTensor>,
    inputs: Vec<usize>,
    outputs: Vec<(String, usize)>,
    nodes: Vec<StoredNode>,
    reorders: Vec<Reorder>,
    passes: Vec<PassReport>,
    measurements: Option<Measurements>,
}

/// A tensor of the network.
#[derive(Serialize, Deserialize)]
struct StoredTensor {
    name: String,
    dims: Vec<usize>,
    dtype: String,
    elements: Elements,
}

/// Where the elements of a tensor are.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Elements {
    /// A run computes them.
    Computed,
    /// A constant of the file.
    Constant,
    /// Packed weights.
    Packed,
}

/// A node, and how it runs.
#[derive(Serialize, Deserialize)]
struct StoredNode {
    name: String,
    op: BoundOp,
    inputs: Vec<usize>,
    outputs: Vec<usize>,
    /// The inputs of the kernel that runs, and what they are then.
    takes: Vec<(usize, TensorDesc)>,
    /// What its results are.
    makes: Vec<TensorDesc>,
    /// What runs, if the weights are packed.
    packed: Option<String>,
    stem: bool,
}

impl Plan {
    /// Writes the plan and its packed weights into one file. [`load`](Self::load) makes the same plan of it: every choice is in
    /// the file, and a run gives the same bits. Whatever is not a packed weight, such as a table of an embedding, is in it too.
    ///
    /// With `keep_plain`, the plain weights are written as well, so that [`load_or_replan`](Self::load_or_replan) can plan again
    /// on a machine that the packed ones do not fit. This about doubles the file.
    ///
    /// ```
    /// use blocktensor::{MemoryFormat, PackedFile, StridedTensor};
    /// use blocktensor_graph::{Constant, Graph, Layouts, Plan, PlanOptions};
    /// # let dir = std::env::temp_dir().join(format!("blocktensor-doc-plan-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let path = dir.join("model.plan");
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", &[1.into(), 3.into(), 8.into(), 8.into()])?;
    /// let weights = StridedTensor::full(&[16, 3, 3, 3], 0.1f32, MemoryFormat::Contiguous)?;
    /// let weights = graph.constant("weights", Constant::F32(weights))?;
    /// let y = graph.op("conv", "conv2d", &[("x", x), ("weights", weights)], &[])?;
    /// graph.output("y", y)?;
    /// let plan = graph.plan(&PlanOptions::new(Layouts::Nhwc))?;
    /// plan.save(&path, false)?;
    ///
    /// let loaded = Plan::load(&PackedFile::read(&path)?)?;
    /// let image = StridedTensor::full(&[1, 3, 8, 8], 1f32, MemoryFormat::Contiguous)?;
    /// assert_eq!(loaded.run(&[&image])?[0].to_vec::<f32>()?, plan.run(&[&image])?[0].to_vec::<f32>()?);
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), blocktensor_graph::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if an operator of the network is no registered op: a file holds ops by name. `FileAccess`,
    /// `OutOfMemory`.
    pub fn save(&self, path: impl AsRef<Path>, keep_plain: bool) -> Result<()> {
        let (network, choices) = (&self.recipe.network, &self.recipe.choices);
        let packed = packed_only(network, choices);
        let elements = |id: TensorId| match &network.tensor(id).constant {
            None => Elements::Computed,
            Some(_) if packed.contains(&id) => Elements::Packed,
            Some(_) => Elements::Constant,
        };
        let tensor = |(i, t): (usize, &Tensor)| StoredTensor {
            name: t.name.clone(),
            dims: t.dims.clone(),
            dtype: t.dtype.name().to_string(),
            elements: elements(TensorId(i)),
        };
        let stored = Stored {
            version: VERSION,
            layouts: self.layouts,
            limits: self.recipe.limits,
            threads: blocktensor::current_threads(),
            input_types: self.input_types.clone(),
            tensors: network.tensors.iter().enumerate().map(tensor).collect(),
            inputs: network.inputs.iter().map(|id| id.0).collect(),
            outputs: network.outputs.iter().map(|(name, id)| (name.clone(), id.0)).collect(),
            nodes: network
                .nodes
                .iter()
                .zip(choices)
                .map(|(n, c)| StoredNode::of(n, c))
                .collect::<Result<_>>()?,
            reorders: self.reorders.clone(),
            passes: self.reports.clone(),
            measurements: self.measurements.clone(),
        };
        stored.check_names()?;
        let text = serde_json::to_string(&stored).map_err(|e| bad(e.to_string(), "report this"))?;
        let mut writer = PackedWriter::new();
        if keep_plain {
            writer = writer.keep_plain();
        }
        writer.add_text(PLAN, text);
        for (i, choice) in choices.iter().enumerate() {
            if let Some(weights) = &choice.weights {
                writer.add(packed_name(i), &**weights)?;
            }
        }
        for (i, tensor) in network.tensors.iter().enumerate() {
            if let (Elements::Constant, Some(constant)) = (elements(TensorId(i)), &tensor.constant) {
                writer.add_tensor(constant_name(i), constant)?;
            }
        }
        Ok(writer.save(path)?)
    }

    /// The plan in a file that [`save`](Self::save) wrote. Its weights stay in the file's memory; the `PackedFile` may be
    /// dropped.
    ///
    /// # Errors
    /// `PackMismatch` if the weights do not fit this machine or its number of threads; [`Error::Invalid`] if the file holds no
    /// plan, or a damaged one.
    pub fn load(file: &PackedFile) -> Result<Plan> {
        Stored::of(file)?.plan(file)
    }

    /// As [`load`](Self::load), with the plain weights of a file that keeps them, for [`errors`](Self::errors).
    ///
    /// ```no_run
    /// # use blocktensor_graph::Plan;
    /// let plan = Plan::load_with_constants(&blocktensor::PackedFile::read("model.plan")?)?;
    /// # Ok::<(), blocktensor_graph::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`load`](Self::load); [`Error::Invalid`] if the file keeps no plain weights.
    pub fn load_with_constants(file: &PackedFile) -> Result<Plan> {
        let stored = Stored::of(file)?;
        if !stored.keeps_plain(file) {
            let remedy = "save the plan with plain weights (`keep_plain`), or plan the graph itself";
            return Err(bad("packed weights without the plain ones", remedy));
        }
        let network = stored.network(file, true)?;
        let plan = stored.plan(file)?;
        Ok(Plan { recipe: Recipe { network, has_constants: true, ..plan.recipe }, ..plan })
    }

    /// As [`load`](Self::load), but where the weights do not fit this machine or its number of threads, the network is planned
    /// again, with the same [`Layouts`], from the plain weights in the file. The file must have been opened with
    /// [`PackedFile::read_or_repack`] or [`PackedFile::map_or_repack`].
    ///
    /// # Errors
    /// As [`load`](Self::load); `PackMismatch` if the file keeps no plain weights.
    pub fn load_or_replan(file: &PackedFile, profiles: &Profiles) -> Result<Plan> {
        Plan::loaded(file, profiles, Stop::default())
    }

    /// As [`load_or_replan`](Self::load_or_replan), but a planning ends with [`Error::Stopped`] if `stop` says so, as that of
    /// [`PlanOptions::stop_if`].
    ///
    /// # Errors
    /// As [`load_or_replan`](Self::load_or_replan); `Stopped`.
    pub fn load_or_replan_until(
        file: &PackedFile,
        profiles: &Profiles,
        stop: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<Plan> {
        Plan::loaded(file, profiles, Stop::when(stop))
    }

    fn loaded(file: &PackedFile, profiles: &Profiles, stop: Stop) -> Result<Plan> {
        let stored = Stored::of(file)?;
        let Some(misfit) = stored.misfit(file) else { return stored.plan(file) };
        if !stored.keeps_plain(file) {
            return Err(Error::Engine(misfit));
        }
        let network = stored.network(file, true)?;
        let options = PlanOptions { limits: stored.limits, stop, ..PlanOptions::new(stored.layouts) };
        let options = options.profiles(profiles.clone());
        let plan = planned(&network, &options, stored.passes).map_err(inconsistent)?;
        let recipe = Recipe { limits: stored.limits, ..plan.recipe };
        Ok(Plan { input_types: stored.input_types, recipe, ..plan })
    }

    /// Whether the file holds a plan.
    pub fn is_in(file: &PackedFile) -> bool {
        file.text(PLAN).is_some()
    }
}

fn packed_name(node: usize) -> String {
    format!("node {node}")
}

fn constant_name(tensor: usize) -> String {
    format!("tensor {tensor}")
}

fn bad(got: impl Into<String>, remedy: &str) -> Error {
    Error::Invalid {
        what: "saved plan".to_string(),
        got: got.into(),
        rule: "`Plan::save` writes it whole".to_string(),
        remedy: remedy.to_string(),
    }
}

/// What is wrong in a file that was written by something else, or by another version.
fn damaged(got: impl Into<String>) -> Error {
    bad(got, "pack the model again")
}

/// A network that no graph becomes is a damaged file.
fn inconsistent(error: Error) -> Error {
    match error {
        Error::Invalid { what, got, .. } => damaged(format!("{what}: {got}")),
        error => error,
    }
}

impl StoredNode {
    fn of(node: &Node, choice: &Choice) -> Result<StoredNode> {
        let Operation::Bound(op) = &node.op else {
            return Err(Error::Invalid {
                what: format!("node `{}`", node.name),
                got: format!("the operator {}", node.op.op()),
                rule: "a file holds registered ops, by their names".to_string(),
                remedy: "run the model itself, which plans it at each start".to_string(),
            });
        };
        let ids = |list: &[TensorId]| list.iter().map(|id| id.0).collect();
        Ok(StoredNode {
            name: node.name.clone(),
            op: op.clone(),
            inputs: ids(&node.inputs),
            outputs: ids(&node.outputs),
            takes: choice.inputs.iter().map(|(id, desc)| (id.0, desc.clone())).collect(),
            makes: choice.outputs.clone(),
            packed: choice.weights.as_ref().and(choice.implementation.clone()),
            stem: choice.form == Form::Stem,
        })
    }

    /// How the node runs, checked against what its operator says.
    fn choice(&self, i: usize, node: &Node, network: &Network, file: &PackedFile) -> Result<Choice> {
        let wrong = |what: String| damaged(format!("node `{}`, {what}", node.name));
        let kept = match &self.packed {
            Some(_) => pack::kept(node),
            None => (0..node.inputs.len()).collect(),
        };
        let wanted: Vec<usize> = kept.iter().map(|&k| node.inputs[k].0).collect();
        if !self.takes.iter().map(|(id, _)| *id).eq(wanted) {
            return Err(wrong("operands that are not its own".to_string()));
        }
        for (id, desc) in &self.takes {
            let tensor = network.tensor(TensorId(*id));
            if desc.dims() != tensor.dims || desc.dtype() != tensor.dtype {
                return Err(wrong(format!("{desc} as tensor `{}`", tensor.name)));
            }
        }
        let weights = self.packed.as_ref().map(|_| self.weights(i, node, file)).transpose()?;
        let op: Arc<dyn Operator> = match &weights {
            Some(weights) => Arc::<PackedOp>::clone(weights),
            None => Arc::new(self.op.clone()),
        };
        let descs: Vec<TensorDesc> = self.takes.iter().map(|(_, desc)| desc.clone()).collect();
        let makes = op.infer(&descs).map_err(|e| wrong(e.to_string()))?;
        let fits = |(desc, id): (&TensorDesc, &TensorId)| {
            let tensor = network.tensor(*id);
            desc.dims() == tensor.dims && desc.dtype() == tensor.dtype
        };
        if makes != self.makes
            || makes.len() != node.outputs.len()
            || !makes.iter().zip(&node.outputs).all(fits)
        {
            return Err(wrong("other results than its operator has".to_string()));
        }
        Ok(Choice {
            form: if self.stem { Form::Stem } else { Form::Target },
            op,
            weights,
            implementation: self.packed.clone(),
            inputs: self.takes.iter().map(|(id, desc)| (TensorId(*id), desc.clone())).collect(),
            outputs: makes,
            computes: None,
            unpacked: false,
        })
    }

    /// The packed weights of node `i`.
    fn weights(&self, i: usize, node: &Node, file: &PackedFile) -> Result<Arc<PackedOp>> {
        let packed: PackedOp = file.get(&packed_name(i))?;
        let asked = match node.op.op() {
            "matmul" => "linear",
            op => op,
        };
        let is_stem = matches!(&packed, PackedOp::Conv(conv) if conv.is_stem());
        if packed.op() != asked || is_stem != self.stem {
            return Err(damaged(format!("packed weights of {packed:?} for a node of the op {asked}")));
        }
        Ok(Arc::new(packed))
    }
}

impl Stored {
    fn of(file: &PackedFile) -> Result<Stored> {
        let Some(text) = file.text(PLAN) else {
            return Err(bad("a file of packed weights without a plan", "write one with `Plan::save`"));
        };
        // The version first: another one may have other fields.
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        // What the parser makes of a byte, at most.
        memory::require("a plan in a file", text.len().saturating_mul(32))?;
        let head: Head = serde_json::from_str(text).map_err(|e| damaged(e.to_string()))?;
        if head.version != VERSION {
            return Err(damaged(format!("version {}, and this build reads {VERSION}", head.version)));
        }
        let stored: Stored = serde_json::from_str(text).map_err(|e| damaged(e.to_string()))?;
        stored.check_names()?;
        Ok(stored)
    }

    /// Names are printed, and outputs are found by theirs.
    fn check_names(&self) -> Result<()> {
        let outputs = self.outputs.iter().map(|(name, _)| name);
        let inner = self.nodes.iter().map(|n| &n.name).chain(self.tensors.iter().map(|t| &t.name));
        if let Some(name) = outputs.clone().chain(inner).find(|name| name.contains(char::is_control)) {
            let start: String = name.chars().take(80).collect();
            return Err(bad(format!("the name {start:?}, with a control character"), "rename it"));
        }
        let mut known = HashSet::new();
        match outputs.clone().find(|name| !known.insert(*name)) {
            Some(name) => Err(bad(format!("two outputs called `{name}`"), "give each output its own name")),
            None if known.is_empty() => Err(damaged("no outputs")),
            None => Ok(()),
        }
    }

    /// Whether the file has the plain weights of all nodes that are packed.
    fn keeps_plain(&self, file: &PackedFile) -> bool {
        let mut packed = (0..self.nodes.len()).filter(|&i| self.nodes[i].packed.is_some());
        packed.all(|i| file.plain(&packed_name(i)).is_ok())
    }

    /// The plan, with its packed weights.
    fn plan(self, file: &PackedFile) -> Result<Plan> {
        let network = self.network(file, false)?;
        let nodes = network.nodes.iter().zip(&self.nodes).enumerate();
        let choices =
            nodes.map(|(i, (node, s))| s.choice(i, node, &network, file)).collect::<Result<Vec<_>>>()?;
        let Stored { layouts, limits, input_types, reorders, passes, measurements, .. } = self;
        let plan = build::again(&network, choices, layouts, passes, reorders).map_err(inconsistent)?;
        let recipe = Recipe { limits, ..plan.recipe };
        Ok(Plan { input_types, measurements, recipe, ..plan })
    }

    /// Why the packed weights do not fit here, for a file that keeps no plain ones.
    fn misfit(&self, file: &PackedFile) -> Option<blocktensor::Error> {
        let remedy = "save the plan with plain weights (`keep_plain`), or plan the model again here";
        if let Some(blocktensor::Error::PackMismatch(complaint)) = file.misfit() {
            let complaint = Complaint { remedy: remedy.to_string(), ..*complaint };
            return Some(blocktensor::Error::PackMismatch(Box::new(complaint)));
        }
        let here = blocktensor::current_threads();
        (self.threads != here).then(|| {
            let got = format!("a plan packed for {} threads, without plain weights", self.threads);
            let rule = format!("a run here has {here}");
            let remedy = PackedFile::with_threads(self.threads, remedy);
            blocktensor::Error::PackMismatch(Complaint::new(
                "Plan::load_or_replan",
                "file",
                got,
                rule,
                remedy,
            ))
        })
    }

    /// The network. With `plain`, its weights have their elements.
    fn network(&self, file: &PackedFile, plain: bool) -> Result<Network> {
        let id = |i: usize| match i < self.tensors.len() {
            true => Ok(TensorId(i)),
            false => Err(damaged(format!("tensor {i} of {}", self.tensors.len()))),
        };
        let ids = |list: &[usize]| list.iter().map(|&i| id(i)).collect::<Result<Vec<_>>>();
        let node = |s: &StoredNode| -> Result<Node> {
            let (inputs, outputs) = (ids(&s.inputs)?, ids(&s.outputs)?);
            if inputs.len() != s.op.inputs().len() {
                return Err(damaged(format!("{} operands of node `{}`", inputs.len(), s.name)));
            }
            if outputs.is_empty() || outputs.len() != s.makes.len() {
                return Err(damaged(format!("{} results of node `{}`", outputs.len(), s.name)));
            }
            Ok(Node { name: s.name.clone(), op: Operation::Bound(s.op.clone()), inputs, outputs })
        };
        let nodes = self.nodes.iter().map(node).collect::<Result<Vec<_>>>()?;
        let outputs = self.outputs.iter().map(|(name, i)| Ok((name.clone(), id(*i)?)));
        let (inputs, outputs) = (ids(&self.inputs)?, outputs.collect::<Result<Vec<_>>>()?);
        let mut tensors: Vec<Tensor> = Vec::with_capacity(self.tensors.len());
        for (i, stored) in self.tensors.iter().enumerate() {
            let dtype: DType =
                stored.dtype.parse().map_err(|e: blocktensor::Error| damaged(e.to_string()))?;
            let mut tensor =
                Tensor { name: stored.name.clone(), dims: stored.dims.clone(), dtype, constant: None };
            tensor.constant = match stored.elements {
                Elements::Computed => None,
                Elements::Constant => Some(file.tensor(&constant_name(i))?),
                Elements::Packed if plain => Some(self.plain(TensorId(i), &stored.dims, &nodes, file)?),
                Elements::Packed => Some(without_elements(&tensor)?),
            };
            if let Some(c) = &tensor.constant
                && (c.dims() != tensor.dims || c.dtype() != dtype)
            {
                let got = format!(
                    "tensor {i} ({}) of {dtype} {:?} as {} {:?}",
                    tensor.name,
                    tensor.dims,
                    c.dtype(),
                    c.dims()
                );
                return Err(damaged(got));
            }
            tensors.push(tensor);
        }
        let distinct: HashSet<&TensorId> = inputs.iter().collect();
        let fits = |(id, of): (&TensorId, &ElementType)| {
            tensors[id.0].constant.is_none() && tensors[id.0].dtype == of.dtype()
        };
        if self.input_types.len() != inputs.len()
            || distinct.len() != inputs.len()
            || !inputs.iter().zip(&self.input_types).all(fits)
        {
            return Err(damaged(
                "inputs that are constants, are listed twice, or have another type than they say",
            ));
        }
        Ok(Network::of(tensors, nodes, inputs, outputs))
    }

    /// Weights as the node's op takes them.
    fn plain(
        &self,
        id: TensorId,
        dims: &[usize],
        nodes: &[Node],
        file: &PackedFile,
    ) -> Result<StridedTensor> {
        let is_it = |(i, node): &(usize, &Node)| {
            self.nodes[*i].packed.is_some() && pack::weights_of(node) == Some(id)
        };
        let found = nodes.iter().enumerate().find(is_it);
        let (i, node) = found.ok_or_else(|| damaged(format!("weights of no node, tensor {}", id.0)))?;
        let weights = file.plain(&packed_name(i))?;
        // Packed weights have output channels before input channels, and the groups apart: [G, O / G, C / G, k...].
        let grouped = weights.rank() > dims.len();
        let weights = match node.op.op() {
            op if op == "matmul" || op.starts_with("conv_transpose") => {
                weights.transpose(usize::from(grouped), 1 + usize::from(grouped))?
            }
            _ => weights,
        };
        let taken = weights.contiguous(MemoryFormat::Contiguous)?.reshape(dims);
        taken.map_err(|e| damaged(format!("weights of node `{}`: {e}", node.name)))
    }
}
