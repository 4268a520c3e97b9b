//! Chooses a layout for every step, and adds the reorders that the choice needs.

use std::sync::{Arc, Mutex};

use blocktensor::dispatch::ArgKind;
use blocktensor::dispatch::DispatchKey;
use blocktensor::{Layout, MemoryFormat, Operator, ParamValue, TensorDesc};

use super::join;
use super::memory::{self, Piece};
use super::pack::{self, Packed};
use super::{Layouts, Place, Plan, Reorder, Slot, SlotId, Step, Work};
use crate::error::{Error, Result};
use crate::network::{Network, Node, Operation, TensorId};
use crate::passes::PassReport;

pub(super) fn plan(network: &Network, layouts: Layouts, passes: Vec<PassReport>) -> Result<Plan> {
    let mut builder = Builder {
        network,
        layouts,
        steps: Vec::new(),
        slots: Vec::new(),
        forms: vec![Vec::new(); network.tensors.len()],
        cat_axes: Vec::new(),
    };
    let mut inputs = Vec::new();
    for (i, &id) in network.inputs.iter().enumerate() {
        let tensor = network.tensor(id);
        let desc = TensorDesc::strided(&tensor.dims, tensor.dtype, MemoryFormat::Contiguous)?;
        let slot = builder.add_slot(desc, Place::Input(i));
        builder.forms[id.0].push(slot);
        inputs.push((tensor.name.clone(), slot));
    }
    for node in &network.nodes {
        builder.node(node)?;
    }
    let mut outputs = Vec::new();
    for (name, id) in &network.outputs {
        let tensor = network.tensor(*id);
        let desc = TensorDesc::strided(&tensor.dims, tensor.dtype, MemoryFormat::Contiguous)?;
        outputs.push((name.clone(), builder.fetch(*id, &desc)?));
    }
    builder.finish(inputs, outputs, passes)
}

/// In which order of its elements a node takes its data operands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// Each as its producer left it.
    AsItIs,
    /// Row-major.
    Contiguous,
    /// The layout that the plan is for.
    Target,
    /// Channels-last, for a permutation that makes a row-major view of it.
    ChannelsLast,
    /// A convolution from a strided source of few channels to a blocked result.
    Stem,
}

/// How a node will run.
struct Choice {
    op: Arc<dyn Operator>,
    implementation: Option<String>,
    inputs: Vec<(TensorId, TensorDesc)>,
    outputs: Vec<TensorDesc>,
}

struct Builder<'a> {
    network: &'a Network,
    layouts: Layouts,
    steps: Vec<Step>,
    slots: Vec<Slot>,
    /// The slots that each tensor of the network has: one for each order of its elements.
    forms: Vec<Vec<SlotId>>,
    /// For each step the axis along which it concatenates.
    cat_axes: Vec<Option<usize>>,
}

/// Ops, by the beginning of their names, whose strided kernels would copy an operand that is not dense in a memory format.
const DENSE: [&str; 20] = [
    "conv",
    "linear",
    "max_pool",
    "avg_pool",
    "adaptive_",
    "global_",
    "upsample_",
    "grid_sample",
    "pixel_",
    "channel_shuffle",
    "batch_norm",
    "layer_norm",
    "instance_norm",
    "group_norm",
    "local_response_norm",
    "softmax",
    "log_softmax",
    "argmax",
    "pad",
    "cumsum",
];

/// Ops whose results share their operand's storage.
const VIEWS: [&str; 12] = [
    "view",
    "permute",
    "transpose",
    "narrow",
    "slice",
    "select",
    "expand",
    "squeeze",
    "unsqueeze",
    "flatten",
    "split",
    "chunk",
];

impl Builder<'_> {
    fn node(&mut self, node: &Node) -> Result<()> {
        let mut refused = None;
        for form in self.forms_of(node) {
            match self.attempt(node, form) {
                Ok(choice) => return self.add_step(node, choice),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or_else(|| Error::Invalid {
            what: format!("node `{}`", node.name),
            got: node.op.op().to_string(),
            rule: "it has no form to run in".to_string(),
            remedy: "report this".to_string(),
        }))
    }

    /// The forms to try, in order.
    fn forms_of(&self, node: &Node) -> Vec<Form> {
        let op = node.op.op();
        if VIEWS.contains(&op) {
            // `flatten` would copy a view that strides cannot express.
            return match op {
                "flatten" => vec![Form::Contiguous],
                "permute" if channels_to_the_end(node) && !self.is_strided(node.inputs[0]) => {
                    vec![Form::ChannelsLast]
                }
                _ => vec![Form::AsItIs, Form::Contiguous],
            };
        }
        if self.layouts == Layouts::Nchw {
            return vec![Form::Contiguous];
        }
        if op.starts_with("conv") {
            let mut forms = vec![Form::Target, Form::Contiguous];
            if self.layouts == Layouts::Blocked && !self.has_target(node.inputs[0]) {
                forms.insert(0, Form::Stem);
            }
            return forms;
        }
        let data = || node.inputs.iter().zip(kinds(&node.op)).filter(|(_, data)| *data).map(|(id, _)| *id);
        match data().any(|id| self.has_target(id)) {
            true => vec![Form::Target, Form::Contiguous],
            false => vec![Form::Contiguous],
        }
    }

    /// Whether the tensor is there as a strided tensor.
    fn is_strided(&self, id: TensorId) -> bool {
        self.forms[id.0].iter().any(|s| self.slots[s.0].desc.key() == DispatchKey::STRIDED)
    }

    /// Whether the tensor is there in the layout that the plan is for.
    fn has_target(&self, id: TensorId) -> bool {
        let tensor = self.network.tensor(id);
        let Some(target) = self.target(&tensor.dims) else { return false };
        let Ok(target) = target.desc(tensor.dims(), tensor.dtype) else { return false };
        tensor.constant.is_none() && self.forms[id.0].iter().any(|s| self.slots[s.0].desc == target)
    }

    /// The layout that the plan is for, for a tensor of these sizes. `None` if that is row-major.
    fn target(&self, dims: &[usize]) -> Option<Order> {
        match (self.layouts, dims.len()) {
            (Layouts::Nhwc, 4) => Some(Order::Strided(MemoryFormat::ChannelsLast)),
            (Layouts::Nhwc, 5) => Some(Order::Strided(MemoryFormat::ChannelsLast3d)),
            (Layouts::Blocked, rank @ 3..=5) => Layout::native_activation(rank).ok().map(Order::Blocked),
            _ => None,
        }
    }

    fn attempt(&mut self, node: &Node, form: Form) -> Result<Choice> {
        let of_operator = |source: blocktensor::Error| Error::Operator {
            node: node.name.clone(),
            op: node.op.op().to_string(),
            source,
        };
        let op_name = node.op.op();
        // Packed weights meet rows that lie one after another.
        let packs = op_name == "matmul" && self.network.tensor(node.inputs[1]).constant.is_some();
        let any_strides = !packs && (form != Form::Contiguous || !VIEWS.contains(&op_name));
        let any_strides =
            any_strides && !DENSE.iter().any(|name| op_name.starts_with(name)) && node.op.bound().is_some();
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for (&id, is_data) in node.inputs.iter().zip(kinds(&node.op)) {
            let tensor = self.network.tensor(id);
            let target = if is_data { self.target(&tensor.dims) } else { None };
            let order = match form {
                Form::AsItIs => match self.forms[id.0].first() {
                    Some(slot) => {
                        inputs.push((id, self.slots[slot.0].desc.clone()));
                        continue;
                    }
                    None => Order::Strided(MemoryFormat::Contiguous),
                },
                Form::ChannelsLast => {
                    let last = if tensor.dims.len() == 5 {
                        MemoryFormat::ChannelsLast3d
                    } else {
                        MemoryFormat::ChannelsLast
                    };
                    Order::Strided(last)
                }
                Form::Contiguous | Form::Stem => Order::Strided(MemoryFormat::Contiguous),
                Form::Target => target.unwrap_or(Order::Strided(MemoryFormat::Contiguous)),
            };
            let own = self.forms[id.0].first().map(|slot| &self.slots[slot.0].desc);
            let own = own.filter(|own| any_strides && matches!(order, Order::Strided(_)) && is_sparse(own));
            inputs.push((
                id,
                match own {
                    Some(own) => own.clone(),
                    None => order.desc(&tensor.dims, tensor.dtype).map_err(of_operator)?,
                },
            ));
        }
        let stem = match form {
            Form::Stem => {
                let dims = self.network.tensor(node.outputs[0]).dims();
                match self.target(dims) {
                    Some(Order::Blocked(layout)) => Some(layout),
                    _ => None,
                }
            }
            _ => None,
        };
        let packed = pack::pack(self.network, node, &inputs, stem).map_err(of_operator)?;
        let (op, implementation) = match packed {
            Some(Packed { op, implementation, inputs: kept }) => {
                inputs = kept.into_iter().map(|i| inputs[i].clone()).collect();
                (op, Some(implementation))
            }
            None if form == Form::Stem => return Err(not_a_stem(node)),
            None => (shared(&node.op), None),
        };
        let descs: Vec<TensorDesc> = inputs.iter().map(|(_, desc)| desc.clone()).collect();
        let outputs = op.infer(&descs).map_err(of_operator)?;
        Ok(Choice { op, implementation, inputs, outputs })
    }

    fn add_step(&mut self, node: &Node, choice: Choice) -> Result<()> {
        let inputs =
            choice.inputs.iter().map(|(id, desc)| self.fetch(*id, desc)).collect::<Result<Vec<_>>>()?;
        let strided = choice.inputs.first().is_some_and(|(_, desc)| desc.key() == DispatchKey::STRIDED);
        let is_view = strided && VIEWS.contains(&choice.op.op());
        let mut outputs = Vec::with_capacity(choice.outputs.len());
        for (&id, desc) in node.outputs.iter().zip(&choice.outputs) {
            let place = if is_view { Place::View(inputs[0]) } else { Place::Arena(0) };
            let slot = self.add_slot(desc.clone(), place);
            self.forms[id.0].push(slot);
            outputs.push(slot);
        }
        let work = match is_view {
            true => Work::View(choice.op),
            false => Work::Operator { op: choice.op, implementation: choice.implementation },
        };
        self.push(&node.name, work, inputs, outputs);
        if let (Some(ParamValue::Int(axis)), "cat") = (node.op.param("axis"), node.op.op()) {
            let last = self.cat_axes.len() - 1;
            self.cat_axes[last] = usize::try_from(*axis).ok();
        }
        Ok(())
    }

    /// The slot of a tensor with this descriptor. If there is none, a reorder makes it; constants are reordered now.
    fn fetch(&mut self, id: TensorId, desc: &TensorDesc) -> Result<SlotId> {
        let tensor = self.network.tensor(id);
        let exact = self.forms[id.0].iter().copied().find(|s| self.slots[s.0].desc == *desc);
        if let Some(slot) = exact {
            return Ok(slot);
        }
        let slot = match (&tensor.constant, self.forms[id.0].first().copied()) {
            (Some(constant), _) => {
                let reordered = super::run::reordered(constant, desc)?;
                self.add_slot(desc.clone(), Place::Constant(Box::new(reordered)))
            }
            (None, Some(first)) => {
                let same = self.forms[id.0].iter().copied().find(|s| same_order(&self.slots[s.0].desc, desc));
                let (from, place, work) = match same {
                    Some(slot) => (slot, Place::View(slot), Work::Restride),
                    None => (first, Place::Arena(0), Work::Reorder),
                };
                let slot = self.add_slot(desc.clone(), place);
                let name = format!("{} to {}", tensor.name, desc.layout_name());
                self.push(&name, work, vec![from], vec![slot]);
                slot
            }
            (None, None) => {
                return Err(Error::Invalid {
                    what: format!("tensor `{}`", tensor.name),
                    got: "no node that computes it".to_string(),
                    rule: "nodes come in an order in which they can run".to_string(),
                    remedy: "report this".to_string(),
                });
            }
        };
        self.forms[id.0].push(slot);
        Ok(slot)
    }

    fn add_slot(&mut self, desc: TensorDesc, place: Place) -> SlotId {
        self.slots.push(Slot { shared: false, desc, place });
        SlotId(self.slots.len() - 1)
    }

    fn push(&mut self, name: &str, work: Work, inputs: Vec<SlotId>, outputs: Vec<SlotId>) {
        let name = name.into();
        self.cat_axes.push(None);
        self.steps.push(Step { name, work, inputs, outputs, scratchpad: (0, 0), last_use: vec![] });
    }

    /// The slot whose storage a slot uses.
    fn root(&self, slot: SlotId) -> SlotId {
        match self.slots[slot.0].place {
            Place::View(of) => self.root(of),
            _ => slot,
        }
    }

    fn finish(
        mut self,
        inputs: Vec<(String, SlotId)>,
        outputs: Vec<(String, SlotId)>,
        reports: Vec<PassReport>,
    ) -> Result<Plan> {
        for (_, slot) in &outputs {
            let root = self.root(*slot);
            if matches!(self.slots[root.0].place, Place::Arena(_)) {
                self.slots[root.0].place = Place::Output;
            }
        }
        let (arena_bytes, live_bytes) = self.assign_memory(&outputs)?;
        let mut plan = Plan {
            layouts: self.layouts,
            steps: self.steps,
            slots: self.slots,
            inputs,
            outputs,
            arena_bytes,
            live_bytes,
            reorders: vec![],
            reports,
            idle: Mutex::default(),
        };
        plan.reorders = plan.observed_reorders()?;
        Ok(plan)
    }

    /// Gives every intermediate result its place in the arena. Returns the arena's size and the largest live set.
    fn assign_memory(&mut self, outputs: &[(String, SlotId)]) -> Result<(usize, usize)> {
        let parts = join::join(&self.slots, &mut self.steps, &self.cat_axes)?;
        let last = self.last_uses(outputs);
        // Where each slot's memory is: in which slot's, and from which byte on. A result comes after its parts.
        let mut places: Vec<(SlotId, usize)> = (0..self.slots.len()).map(|i| (SlotId(i), 0)).collect();
        for i in (0..self.slots.len()).rev() {
            if let Some((whole, offset)) = parts[i] {
                let (root, start) = places[whole.0];
                places[i] = (root, start + offset);
                self.slots[i].shared = true;
                self.slots[whole.0].shared = true;
            }
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut piece_of: Vec<Option<usize>> = vec![None; self.slots.len()];
        let mut scratchpads = Vec::new();
        for (i, step) in self.steps.iter().enumerate() {
            for &slot in &step.outputs {
                let (Place::Arena(_), Some(last)) = (&self.slots[slot.0].place, last[slot.0]) else {
                    continue;
                };
                let (root, _) = places[slot.0];
                match piece_of[root.0] {
                    Some(piece) => pieces[piece].last = pieces[piece].last.max(last),
                    None => {
                        piece_of[root.0] = Some(pieces.len());
                        pieces.push(Piece { bytes: self.slots[root.0].desc.bytes()?, first: i, last });
                    }
                }
            }
            let Work::Operator { op, .. } = &step.work else { continue };
            let descs: Vec<TensorDesc> = step.inputs.iter().map(|s| self.slots[s.0].desc.clone()).collect();
            let bytes = op.scratchpad_bytes(&descs)?;
            if bytes > 0 {
                scratchpads.push((i, pieces.len()));
                pieces.push(Piece { bytes, first: i, last: i });
            }
        }
        let (offsets, end, live) = memory::assign(&pieces);
        for (slot, (root, start)) in self.slots.iter_mut().zip(&places) {
            if let (Place::Arena(_), Some(piece)) = (&slot.place, piece_of[root.0]) {
                slot.place = Place::Arena(offsets[piece] + start);
            }
        }
        for (step, piece) in scratchpads {
            self.steps[step].scratchpad = (offsets[piece], pieces[piece].bytes);
        }
        Ok((end, live))
    }

    /// The last step that uses each slot or a view of it; `None` for outputs.
    fn last_uses(&mut self, outputs: &[(String, SlotId)]) -> Vec<Option<usize>> {
        let mut last = vec![None; self.slots.len()];
        for (i, step) in self.steps.iter().enumerate() {
            step.inputs.iter().chain(&step.outputs).for_each(|s| last[s.0] = Some(i));
        }
        // A view keeps what it views.
        for i in (0..self.slots.len()).rev() {
            if let Place::View(of) = self.slots[i].place {
                last[of.0] = last[of.0].max(last[i]);
            }
        }
        for (_, slot) in outputs {
            last[slot.0] = None;
        }
        for (slot, step) in last.iter().enumerate() {
            if let Some(step) = step {
                self.steps[*step].last_use.push(SlotId(slot));
            }
        }
        last
    }
}

/// An order of elements.
#[derive(Clone, Copy, Debug)]
enum Order {
    Strided(MemoryFormat),
    Blocked(Layout),
}

impl Order {
    fn desc(self, dims: &[usize], dtype: blocktensor::DType) -> blocktensor::Result<TensorDesc> {
        match self {
            Order::Strided(format) => TensorDesc::strided(dims, dtype, format),
            Order::Blocked(layout) => TensorDesc::blocked(dims, dtype, &layout),
        }
    }
}

/// For each input of an operator: whether its layout is that of the result (data), or always row-major (parameters).
fn kinds(op: &Operation) -> Vec<bool> {
    let Some(bound) = op.bound() else { return vec![true; op.inputs().len()] };
    let args = bound.registered().schema().args;
    let is_data = |name: &&str| {
        args.iter().any(|arg| {
            arg.name == *name && matches!(arg.kind, ArgKind::Data | ArgKind::DataList | ArgKind::OptionalData)
        })
    };
    op.inputs().iter().map(is_data).collect()
}

fn shared(op: &Operation) -> Arc<dyn Operator> {
    match op {
        Operation::Bound(op) => Arc::new(op.clone()),
        Operation::Other(op) => Arc::clone(op),
    }
}

/// Whether it is strided, and neither row-major nor channels-last.
fn is_sparse(desc: &TensorDesc) -> bool {
    let formats = [MemoryFormat::Contiguous, MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d];
    desc.key() == DispatchKey::STRIDED
        && !formats.into_iter().any(|format| {
            TensorDesc::strided(desc.dims(), desc.dtype(), format).is_ok_and(|dense| same_order(&dense, desc))
        })
}

/// Whether both describe the same bytes: strides of axes of size 1 say nothing.
pub(super) fn same_order(a: &TensorDesc, b: &TensorDesc) -> bool {
    match (a.strides(), b.strides()) {
        (Some(x), Some(y)) => a.dims().iter().zip(x.iter().zip(y)).all(|(&d, (s, t))| d <= 1 || s == t),
        _ => false,
    }
}

/// Whether a permutation moves the channels behind the spatial axes.
fn channels_to_the_end(node: &Node) -> bool {
    let Some(ParamValue::Ints(axes)) = node.op.param("axes") else { return false };
    matches!(axes[..], [0, 2, 3, 1] | [0, 2, 3, 4, 1])
}

fn not_a_stem(node: &Node) -> Error {
    Error::Invalid {
        what: format!("node `{}`", node.name),
        got: "a convolution that is no stem".to_string(),
        rule: "a stem has constant weights".to_string(),
        remedy: "it runs in another form".to_string(),
    }
}

impl Plan {
    /// What one run reorders: measured by a run with inputs of zeros.
    fn observed_reorders(&self) -> Result<Vec<Reorder>> {
        let zeros = self
            .inputs()
            .map(|(_, desc)| {
                blocktensor::StridedTensor::zeros(desc.dims(), desc.dtype(), MemoryFormat::Contiguous)
            })
            .collect::<blocktensor::Result<Vec<_>>>()?;
        let (result, ledger) = blocktensor::ledger::record(|| self.run(&zeros.iter().collect::<Vec<_>>()));
        result?;
        let of_step =
            |site: &str| self.steps.iter().any(|s| matches!(s.work, Work::Reorder) && *s.name == *site);
        Ok(ledger
            .reorders
            .iter()
            .map(|r| {
                let node = match &r.site {
                    blocktensor::ledger::Site::Node(name) => name.to_string(),
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
