//! Chooses a layout for every step, and adds the reorders that the choice needs.

use std::sync::{Arc, Mutex};

use blocktensor::dispatch::{DispatchKey, Sharing};
use blocktensor::{MemoryFormat, Operator, ParamValue, TensorDesc};

use super::algorithms::Limits;
use super::choice::Choice;
use super::forms::{
    Form, Order, Target, channels_last, is_foreign, is_sparse, kinds, same_order, views_channels_last,
};
use super::fuse;
use super::in_place::{self, Overwrite};
use super::pack;
use super::packed_weights::{PackedWeights, not_a_stem};
use super::recipe::Recipe;
use super::steps::Effort;
use super::{Layouts, Place, Plan, Precision, Reorder, Slot, SlotId, Step, Work};
use crate::error::{Error, Result};
use crate::network::{Network, Node, Operation, TensorId, facts, is_convolution};
use crate::passes::PassReport;
use crate::stop::Stop;

/// A plan whose nodes all run in one target order where they can.
pub(super) fn uniform(
    network: &Network,
    target: Target,
    weights: &PackedWeights,
    limits: Limits,
    layouts: Layouts,
    passes: Vec<PassReport>,
) -> Result<Plan> {
    let groups = fuse::largest(network, target, weights, limits)?;
    let mut builder = Builder::new(network, target, weights)?;
    for (i, (node, group)) in network.nodes.iter().zip(&groups).enumerate() {
        match group {
            Some(group) => builder.run_as(i, node, &group.choice(network, i)?)?,
            None => builder.node(i, node)?,
        }
    }
    builder.finish(layouts, passes, None)
}

/// How the nodes could run in a plan for one target order. Weights are not packed, so some may turn out not to run.
pub(super) fn choices(network: &Network, target: Target, stop: &Stop) -> Result<Vec<Vec<Choice>>> {
    let weights = PackedWeights::dry(stop);
    let mut builder = Builder::new(network, target, &weights)?;
    let mut all = Vec::with_capacity(network.nodes.len());
    for (i, node) in network.nodes.iter().enumerate() {
        let mut own: Vec<Choice> = Vec::new();
        if pack::packs(network, node) {
            own.extend(builder.forms_of(node).into_iter().filter_map(|f| builder.attempt(i, node, f).ok()));
        }
        let foreign = node.op.foreign_keys().into_iter().map(Form::Key);
        own.extend(foreign.filter_map(|f| builder.attempt(i, node, f).ok()));
        builder.node(i, node)?;
        own.extend(builder.choices.pop());
        all.push(own);
    }
    Ok(all)
}

/// A plan whose nodes run as they are told.
pub(super) fn chosen(
    network: &Network,
    choices: &[Choice],
    weights: &PackedWeights,
    layouts: Layouts,
    passes: Vec<PassReport>,
) -> Result<Plan> {
    let mut builder = Builder::new(network, Target::RowMajor, weights)?;
    for (i, (node, choice)) in network.nodes.iter().zip(choices).enumerate() {
        builder.run_as(i, node, choice)?;
    }
    builder.finish(layouts, passes, None)
}

/// A plan whose nodes run as they did when it was saved; its reorders are known.
pub(super) fn again(
    network: &Network,
    choices: Vec<Choice>,
    layouts: Layouts,
    passes: Vec<PassReport>,
    reorders: Vec<Reorder>,
) -> Result<Plan> {
    let weights = PackedWeights::default();
    let mut builder = Builder::new(network, Target::RowMajor, &weights)?;
    for (i, (node, choice)) in network.nodes.iter().zip(&choices).enumerate() {
        builder.add_step(i, node, choice.clone())?;
    }
    builder.choices = choices;
    builder.finish(layouts, passes, Some(reorders))
}

pub(super) struct Builder<'a> {
    network: &'a Network,
    target: Target,
    weights: &'a PackedWeights,
    choices: Vec<Choice>,
    pub(super) steps: Vec<Step>,
    pub(super) slots: Vec<Slot>,
    /// The slots that each tensor of the network has: one for each order of its elements.
    forms: Vec<Vec<SlotId>>,
    /// For each step the axis along which it concatenates.
    pub(super) cat_axes: Vec<Option<usize>>,
    /// For each step how it would overwrite an operand.
    pub(super) overwrites: Vec<Option<Overwrite>>,
}

impl<'a> Builder<'a> {
    fn new(network: &'a Network, target: Target, weights: &'a PackedWeights) -> Result<Builder<'a>> {
        let mut builder = Builder {
            network,
            target,
            weights,
            choices: Vec::new(),
            steps: Vec::new(),
            slots: Vec::new(),
            forms: vec![Vec::new(); network.tensors.len()],
            cat_axes: Vec::new(),
            overwrites: Vec::new(),
        };
        for (i, &id) in network.inputs.iter().enumerate() {
            let tensor = network.tensor(id);
            let desc = TensorDesc::strided(&tensor.dims, tensor.dtype, MemoryFormat::Contiguous)?;
            let slot = builder.add_slot(id, desc, Place::Input(i));
            builder.forms[id.0].push(slot);
        }
        Ok(builder)
    }

    fn node(&mut self, i: usize, node: &Node) -> Result<()> {
        self.weights.stop.check()?;
        let mut refused = None;
        // Backends of other crates run what nothing here can.
        let foreign = node.op.foreign_keys().into_iter().map(Form::Key);
        for form in self.forms_of(node).into_iter().chain(foreign) {
            match self.attempt(i, node, form) {
                Ok(choice) => {
                    self.choices.push(choice.clone());
                    return self.add_step(i, node, choice);
                }
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or_else(|| Error::Invalid {
            what: format!("node `{}`", node.name),
            got: node.op.op().to_string(),
            rule: "it has no form to run in".into(),
            remedy: "report this".into(),
        }))
    }

    /// The forms to try, in order.
    fn forms_of(&self, node: &Node) -> Vec<Form> {
        match facts(&*node.op).sharing {
            Sharing::Never => {}
            Sharing::RowMajor => return vec![Form::Contiguous],
            _ => {
                let x = node.inputs[0];
                let from_last = !self.is_strided(x) && views_channels_last(&node.op, self.network.tensor(x));
                return if from_last {
                    vec![Form::ChannelsLast]
                } else {
                    vec![Form::AsItIs, Form::Contiguous]
                };
            }
        }
        if self.target == Target::RowMajor {
            return vec![Form::Contiguous];
        }
        if is_convolution(&*node.op) {
            let mut forms = vec![Form::Target, Form::Contiguous];
            if self.target.is_blocked() && !self.has_target(node.inputs[0]) {
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
        let Some(target) = self.target.order(tensor.dims.len()) else { return false };
        let Ok(target) = target.desc(tensor.dims(), tensor.dtype) else { return false };
        tensor.constant.is_none() && self.forms[id.0].iter().any(|s| self.slots[s.0].desc == target)
    }

    fn attempt(&self, i: usize, node: &Node, form: Form) -> Result<Choice> {
        let of_operator = |source: blocktensor::Error| node.origin.error(source);
        if let Form::Key(key) = form {
            return self.in_key(node, key).map_err(of_operator);
        }
        // Packed weights meet rows that lie one after another.
        let packs = pack::weights_of(node).is_some_and(|id| self.network.tensor(id).constant.is_some());
        let any_strides = !packs && (form != Form::Contiguous || !facts(&*node.op).sharing.is_view());
        let any_strides = any_strides && node.op.takes_any_strides();
        let data_operands = kinds(&node.op).into_iter().filter(|is_data| *is_data).count();
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for (&id, is_data) in node.inputs.iter().zip(kinds(&node.op)) {
            let tensor = self.network.tensor(id);
            let target = if is_data { self.target.order(tensor.dims.len()) } else { None };
            let order = match form {
                Form::AsItIs => match self.forms[id.0].first() {
                    Some(slot) => {
                        inputs.push((id, self.slots[slot.0].desc.clone()));
                        continue;
                    }
                    None => Order::Strided(MemoryFormat::Contiguous),
                },
                Form::ChannelsLast => Order::Strided(channels_last(tensor.dims.len())),
                Form::Contiguous | Form::Stem | Form::Key(_) => Order::Strided(MemoryFormat::Contiguous),
                Form::Target => target.unwrap_or(Order::Strided(MemoryFormat::Contiguous)),
            };
            let own = self.forms[id.0].first().map(|slot| &self.slots[slot.0].desc);
            // Kernels of one data operand take its strides as they are; several operands had better agree.
            let own = own.filter(|own| {
                let asked = any_strides && matches!(order, Order::Strided(_)) && own.strides().is_some();
                asked && form != Form::ChannelsLast && (data_operands == 1 || is_sparse(own))
            });
            inputs.push((
                id,
                match own {
                    Some(own) => own.clone(),
                    None => order.desc(&tensor.dims, tensor.dtype).map_err(of_operator)?,
                },
            ));
        }
        if !pack::packs(self.network, node) {
            if form == Form::Stem {
                return Err(not_a_stem(node));
            }
            let descs: Vec<TensorDesc> = inputs.iter().map(|(_, desc)| desc.clone()).collect();
            let outputs = node.op.infer(&descs).map_err(of_operator)?;
            let choice = Choice::unpacked(form, shared(&node.op));
            return Ok(Choice { inputs, outputs, unpacked: false, ..choice });
        }
        let result = self.network.tensor(node.outputs[0]);
        let order = match form {
            Form::Target | Form::Stem => self.target.order(result.dims.len()),
            _ => None,
        };
        let order = order.unwrap_or(Order::Strided(MemoryFormat::Contiguous));
        let outputs = vec![order.desc(&result.dims, result.dtype).map_err(of_operator)?];
        let choice = Choice { inputs, outputs, ..Choice::unpacked(form, shared(&node.op)) };
        if self.weights.is_dry { Ok(choice) } else { self.weights.packed(self.network, i, &choice) }
    }

    /// The node as another crate's backend prefers it.
    fn in_key(&self, node: &Node, key: DispatchKey) -> blocktensor::Result<Choice> {
        let plain = |id: &TensorId| {
            let tensor = self.network.tensor(*id);
            TensorDesc::strided(&tensor.dims, tensor.dtype, MemoryFormat::Contiguous)
        };
        let plain = node.inputs.iter().map(plain).collect::<blocktensor::Result<Vec<_>>>()?;
        let preferred = node.op.preferred(key, &plain)?.unwrap_or(plain);
        let outputs = node.op.infer(&preferred)?;
        Ok(Choice {
            inputs: node.inputs.iter().copied().zip(preferred).collect(),
            outputs,
            unpacked: false,
            ..Choice::unpacked(Form::Key(key), shared(&node.op))
        })
    }

    /// Runs the node as it is told.
    fn run_as(&mut self, i: usize, node: &Node, choice: &Choice) -> Result<()> {
        let choice = self.weights.packed(self.network, i, choice)?;
        self.choices.push(choice.clone());
        self.add_step(i, node, choice)
    }

    fn add_step(&mut self, i: usize, node: &Node, choice: Choice) -> Result<()> {
        if choice.is_inner(i) {
            return Ok(());
        }
        if choice.unpacked {
            // Nothing will run: only what the result is counts.
            for (&id, desc) in node.outputs.iter().zip(&choice.outputs) {
                let slot = self.add_slot(id, desc.clone(), place_of(desc));
                self.forms[id.0].push(slot);
            }
            return Ok(());
        }
        let inputs =
            choice.inputs.iter().map(|(id, desc)| self.fetch(*id, desc)).collect::<Result<Vec<_>>>()?;
        let strided = choice.inputs.first().is_some_and(|(_, desc)| desc.key() == DispatchKey::STRIDED);
        let is_view = strided && facts(&*choice.op).sharing.is_view();
        let mut outputs = Vec::with_capacity(choice.outputs.len());
        for (&id, desc) in node.outputs.iter().zip(&choice.outputs) {
            let place = if is_view { Place::View(inputs[0]) } else { place_of(desc) };
            let slot = self.add_slot(id, desc.clone(), place);
            self.forms[id.0].push(slot);
            outputs.push(slot);
        }
        let work = match is_view {
            true => Work::View(choice.op),
            false => {
                let fused = match &choice.group {
                    Some(group) => group.words(self.network),
                    None => post_ops(node).unwrap_or_default(),
                };
                Work::Operator { op: choice.op, implementation: choice.implementation, fused }
            }
        };
        let overwrite = match (&work, &choice.outputs[..]) {
            (Work::Operator { .. }, [output]) if choice.group.is_none() => {
                let inputs: Vec<&TensorDesc> = choice.inputs.iter().map(|(_, desc)| desc).collect();
                in_place::overwrite(node, &inputs, output)
            }
            _ => None,
        };
        let nodes = choice.group.as_ref().map_or(vec![i], |group| group.nodes.clone());
        // A group has the name of the node that it begins with.
        self.push(&self.network.nodes[nodes[0]].name, work, inputs, outputs);
        if let Some(last) = self.overwrites.last_mut() {
            *last = overwrite;
        }
        if let Some(last) = self.steps.last_mut() {
            last.effort = Effort::of_all(self.network, &nodes);
            last.nodes = nodes;
        }
        if choice.group.is_none()
            && let Some(ParamValue::Int(axis)) =
                facts(&*node.op).concatenates.and_then(|axis| node.op.param(axis))
        {
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
                self.add_slot(id, desc.clone(), Place::Constant(Box::new(reordered)))
            }
            (None, Some(first)) => {
                let same = self.forms[id.0].iter().copied().find(|s| same_order(&self.slots[s.0].desc, desc));
                let (from, place, work) = match same {
                    Some(slot) => (slot, Place::View(slot), Work::Restride),
                    None => (first, place_of(desc), Work::Reorder),
                };
                let slot = self.add_slot(id, desc.clone(), place);
                let name = format!("{} to {}", tensor.name, desc.layout_name());
                self.push(&name, work, vec![from], vec![slot]);
                slot
            }
            (None, None) => {
                return Err(Error::Invalid {
                    what: format!("tensor `{}`", tensor.name),
                    got: "no node that computes it".to_string(),
                    rule: "nodes come in an order in which they can run".into(),
                    remedy: "report this".into(),
                });
            }
        };
        self.forms[id.0].push(slot);
        Ok(slot)
    }

    fn add_slot(&mut self, id: TensorId, desc: TensorDesc, place: Place) -> SlotId {
        let name = self.network.tensor(id).name.as_str().into();
        self.slots.push(Slot { name, tensor: id, shared: false, desc, place });
        SlotId(self.slots.len() - 1)
    }

    fn push(&mut self, name: &str, work: Work, inputs: Vec<SlotId>, outputs: Vec<SlotId>) {
        let name = name.into();
        self.cat_axes.push(None);
        self.overwrites.push(None);
        self.steps.push(Step {
            name,
            nodes: vec![],
            work,
            inputs,
            outputs,
            scratchpad: (0, 0),
            last_use: vec![],
            effort: Effort::default(),
        });
    }

    /// The slot whose storage a slot uses.
    fn root(&self, mut slot: SlotId) -> SlotId {
        while let Place::View(of) = self.slots[slot.0].place {
            slot = of;
        }
        slot
    }

    /// The plan. Its reorders are what one run with zeros shows, unless they are known.
    fn finish(
        mut self,
        layouts: Layouts,
        reports: Vec<PassReport>,
        reorders: Option<Vec<Reorder>>,
    ) -> Result<Plan> {
        let names = self.network.inputs.iter().map(|id| self.network.tensor(*id).name.clone());
        let inputs = names.enumerate().map(|(i, name)| (name, SlotId(i))).collect();
        let mut outputs = Vec::new();
        for (name, id) in &self.network.outputs {
            let tensor = self.network.tensor(*id);
            let desc = TensorDesc::strided(&tensor.dims, tensor.dtype, MemoryFormat::Contiguous)?;
            outputs.push((name.clone(), self.fetch(*id, &desc)?));
        }
        for (_, slot) in &outputs {
            let root = self.root(*slot);
            if matches!(self.slots[root.0].place, Place::Arena(_)) {
                self.slots[root.0].place = Place::Output;
            }
        }
        let (arena_bytes, live_bytes) = self.place_in_arena(&outputs)?;
        let recipe = Recipe::new(self.network, std::mem::take(&mut self.choices))?;
        let mut plan = Plan {
            layouts,
            steps: self.steps,
            slots: self.slots,
            inputs,
            outputs,
            arena_bytes,
            live_bytes,
            reorders: vec![],
            reports,
            measurements: None,
            asked: Precision::F32,
            recipe,
            input_types: vec![],
            output_types: vec![],
            idle: Mutex::default(),
        };
        plan.reorders = match reorders {
            Some(reorders) => reorders,
            None => plan.observed_reorders(&self.weights.stop)?,
        };
        Ok(plan)
    }
}

/// Where a result goes.
fn place_of(desc: &TensorDesc) -> Place {
    if is_foreign(desc) { Place::Foreign } else { Place::Arena(0) }
}

/// The words of the post-ops of a node's own.
pub(super) fn post_ops(node: &Node) -> Option<String> {
    match node.op.param("post_ops") {
        Some(ParamValue::Str(words)) => Some(words.clone()),
        _ => None,
    }
}

pub(super) fn shared(op: &Operation) -> Arc<dyn Operator> {
    match op {
        Operation::Bound(op) => Arc::new(op.clone()),
        Operation::Integers(op) => Arc::new(op.clone()),
        Operation::Other(op) => Arc::clone(op),
    }
}
