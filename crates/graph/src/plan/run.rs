//! Runs a plan.

use std::sync::PoisonError;
use std::time::Instant;

use blocktensor::ledger::{self, Site};
use blocktensor::ops::PostOps;
use blocktensor::{
    Arena, Call, MemoryFormat, Operand, Quantization, Scratchpad, StridedTensor, Tensor, TensorDesc,
    TensorRef, Text,
};

use super::forms::is_foreign;
use super::{Memory, Place, Plan, Slot, SlotId, Step, Work};
use crate::constant::ElementType;
use crate::error::{Error, Result, other_count};
use crate::network::Origin;
use crate::stop::Stop;

/// Sees each step of a run before and after it runs. An error ends the run.
pub(super) trait Watch {
    fn before(&mut self, _step: usize, _state: &State<'_>) -> Result<()> {
        Ok(())
    }

    fn after(&mut self, _step: usize, _state: &State<'_>) -> Result<()> {
        Ok(())
    }
}

/// Nobody looks.
impl Watch for () {}

/// Both look, the first one first.
impl<A: Watch, B: Watch> Watch for (A, B) {
    fn before(&mut self, step: usize, state: &State<'_>) -> Result<()> {
        self.0.before(step, state)?;
        self.1.before(step, state)
    }

    fn after(&mut self, step: usize, state: &State<'_>) -> Result<()> {
        self.0.after(step, state)?;
        self.1.after(step, state)
    }
}

/// The time that each step takes, in **seconds**.
pub(super) struct Clock {
    last: Instant,
    pub(super) seconds: Vec<f64>,
}

impl Clock {
    pub(super) fn of(plan: &Plan) -> Clock {
        Clock { last: Instant::now(), seconds: Vec::with_capacity(plan.steps.len()) }
    }
}

impl Watch for Clock {
    fn before(&mut self, _: usize, _: &State<'_>) -> Result<()> {
        self.last = Instant::now();
        Ok(())
    }

    fn after(&mut self, _: usize, _: &State<'_>) -> Result<()> {
        self.seconds.push(self.last.elapsed().as_secs_f64());
        Ok(())
    }
}

/// The tensors of a run between two steps.
pub(super) struct State<'a> {
    pub(super) plan: &'a Plan,
    tensors: &'a [Option<Tensor>],
    memory: &'a Memory,
}

impl State<'_> {
    /// The tensor in a slot. While it is held, no step may run.
    pub(super) fn tensor(&self, slot: SlotId) -> Result<Tensor> {
        let Slot { name, shared, .. } = &self.plan.slots[slot.0];
        match shared {
            true => self.plan.place(slot, self.memory),
            false => self.tensors[slot.0].clone().ok_or_else(|| broken(name)),
        }
    }
}

/// A run of a planning that the caller may end.
impl Watch for &Stop {
    fn before(&mut self, _: usize, _: &State<'_>) -> Result<()> {
        self.check()
    }
}

/// Asks before each step whether to stop.
pub(super) struct Stopper<'a> {
    pub(super) stop: &'a mut dyn FnMut() -> bool,
    pub(super) stopped: bool,
}

impl Watch for Stopper<'_> {
    fn before(&mut self, step: usize, state: &State<'_>) -> Result<()> {
        self.stopped = (self.stop)();
        match self.stopped {
            true => Err(broken(&state.plan.steps[step].name)),
            false => Ok(()),
        }
    }
}

impl Plan {
    /// Runs the plan on inputs in the order of [`inputs`](Self::inputs): contiguous, of the sizes it was made for.
    ///
    /// # Errors
    /// `Invalid` for another number of inputs, other sizes, another dtype or other strides; `Engine` and `Operator` for what
    /// operators return: `OutOfMemory`, `ReorderDenied`, `PackMismatch` on another number of threads than the plan's.
    pub fn run(&self, inputs: &[&StridedTensor]) -> Result<Vec<StridedTensor>> {
        self.run_watched(inputs, &mut ())
    }

    /// As [`run`](Self::run), but ends without results if `stop` says so. It is called before each step.
    ///
    /// # Errors
    /// As `run`.
    pub fn run_until(
        &self,
        inputs: &[&StridedTensor],
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<StridedTensor>>> {
        let mut stopper = Stopper { stop, stopped: false };
        match self.run_watched(inputs, &mut stopper) {
            // The error only carries the news out of the run.
            Err(_) if stopper.stopped => Ok(None),
            results => results.map(Some),
        }
    }

    /// As [`run`](Self::run), with the time that each step took, in **seconds**, in the order of [`steps`](Self::steps).
    ///
    /// # Errors
    /// As `run`.
    pub fn run_timed(&self, inputs: &[&StridedTensor]) -> Result<(Vec<StridedTensor>, Vec<f64>)> {
        let mut clock = Clock::of(self);
        let results = self.run_watched(inputs, &mut clock)?;
        Ok((results, clock.seconds))
    }

    /// Runs the plan under the eyes of `watch`.
    pub(super) fn run_watched(
        &self,
        inputs: &[&StridedTensor],
        watch: &mut dyn Watch,
    ) -> Result<Vec<StridedTensor>> {
        self.check(inputs)?;
        let mut tensors = self.tensors(inputs)?;
        self.run_with(&mut tensors, watch)?;
        self.outputs
            .iter()
            .map(|(name, slot)| match &tensors[slot.0] {
                // Doors hand results out as memory that programs write into.
                Some(Tensor::Strided(t)) if self.is_constant(*slot) => Ok(t.copy(MemoryFormat::Contiguous)?),
                Some(Tensor::Strided(t)) => Ok(t.clone()),
                _ => Err(broken(name)),
            })
            .collect()
    }

    /// Whether a slot has the memory of a constant.
    fn is_constant(&self, slot: SlotId) -> bool {
        match self.slots[slot.0].place {
            Place::View(of) => self.is_constant(of),
            Place::Constant(_) => true,
            _ => false,
        }
    }

    /// What is there before the first step, in the order of the slots.
    pub(super) fn tensors(&self, inputs: &[&StridedTensor]) -> Result<Vec<Option<Tensor>>> {
        let known = |slot: &Slot| {
            Ok(match &slot.place {
                Place::Input(i) => Some(restrided(inputs[*i], &slot.desc)?),
                Place::Constant(constant) => Some((**constant).clone()),
                _ => None,
            })
        };
        self.slots.iter().map(known).collect()
    }

    /// Runs all steps in memory that no other run has.
    pub(super) fn run_with(&self, tensors: &mut [Option<Tensor>], watch: &mut dyn Watch) -> Result<()> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut memory = match idle {
            Some(memory) => memory,
            None => Memory { arena: Arena::new(self.arena_bytes)?, scratchpad: Scratchpad::new() },
        };
        let done = blocktensor::run(|| self.run_steps(tensors, &mut memory, watch));
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(memory);
        done
    }

    /// Whether these are inputs of the plan.
    pub(super) fn check(&self, inputs: &[&StridedTensor]) -> Result<()> {
        let invalid = |what: String, got: String, rule: String, remedy: Text| {
            Err(Error::Invalid { what, got, rule: rule.into(), remedy })
        };
        if inputs.len() != self.inputs.len() {
            let (got, rule) = other_count(inputs.len(), "inputs", self.inputs().map(|(name, _)| name));
            return invalid("inputs".into(), got, rule, "pass one for each".into());
        }
        for (i, ((name, desc), x)) in self.inputs().zip(inputs).enumerate() {
            let what = format!("input `{name}`");
            let got = TensorRef::Strided(x).describe();
            if x.dims() != desc.dims() || x.dtype() != desc.dtype() {
                let rule = format!("this plan is for {desc}");
                let convert = Text::from("convert it with ") + Call::ToDType(desc.dtype().name());
                let remedy = match (x.dims() == desc.dims(), x.dtype() == desc.dtype()) {
                    (true, _) => convert,
                    (false, true) => "plan the graph again for other sizes".into(),
                    (false, false) => convert + ", and plan the graph again for other sizes",
                };
                return invalid(what, got, rule, remedy);
            }
            if x.quantization().is_some() {
                let rule = "a plan does not read the scales and zero points of inputs".to_string();
                return invalid(what, got, rule, Quantization::way_out());
            }
            if !x.is_contiguous(MemoryFormat::Contiguous) {
                let rule = "inputs are row-major".to_string();
                return invalid(what, got, rule, Text::from("call ") + Call::Contiguous);
            }
            if let Some(of) = self.input_types.get(i)
                && let Some((value, held)) = outside(*of, x)?
            {
                let rule = format!("the input is {of}, which holds {held}");
                return invalid(what, value.to_string(), rule, "pass values of its type".into());
            }
        }
        Ok(())
    }

    fn run_steps(
        &self,
        tensors: &mut [Option<Tensor>],
        memory: &mut Memory,
        watch: &mut dyn Watch,
    ) -> Result<()> {
        for (i, step) in self.steps.iter().enumerate() {
            watch.before(i, &State { plan: self, tensors, memory })?;
            ledger::at(Site::Node(step.name.clone()), || self.run_step(step, tensors, memory))?;
            watch.after(i, &State { plan: self, tensors, memory })?;
            for slot in &step.last_use {
                tensors[slot.0] = None;
            }
        }
        Ok(())
    }

    fn run_step(&self, step: &Step, tensors: &mut [Option<Tensor>], memory: &mut Memory) -> Result<()> {
        if let Work::Join { .. } = step.work {
            return Ok(());
        }
        let of = |source| self.origin(step).error(without_packing(source));
        if let Work::InPlace { post_ops, .. } = &step.work {
            let result = self.overwrite(step, post_ops, tensors, memory)?.map_err(of)?;
            let slot = step.outputs[0].0;
            // The operand's strides may differ where sizes are 1, and kernels go by strides.
            tensors[slot] = Some(match &result {
                Tensor::Strided(x) => restrided(x, &self.slots[slot].desc)?,
                _ => result,
            });
            return Ok(());
        }
        // What is there already is the caller's, who gets it back from there on an error, too.
        let mut results: Vec<Option<Tensor>> =
            step.outputs.iter().map(|slot| tensors[slot.0].take()).collect();
        let done = self.work(step, tensors, memory, &mut results, of);
        for (slot, result) in step.outputs.iter().zip(results) {
            if !self.slots[slot.0].shared {
                tensors[slot.0] = result;
            }
        }
        done
    }

    /// The node that a step's errors name: of several that run as one, that whose name the step has.
    fn origin(&self, step: &Step) -> Origin {
        let nodes = step.nodes.iter().map(|&node| &self.recipe.network.nodes[node]);
        let own = nodes.into_iter().find(|node| node.name == *step.name);
        own.map_or_else(
            || Origin { node: step.name.to_string(), op: step.work.op().to_string(), number: 0 },
            |node| node.origin.clone(),
        )
    }

    /// Computes the results of a step, in the tensors that are there for them or in new ones.
    fn work(
        &self,
        step: &Step,
        tensors: &[Option<Tensor>],
        memory: &mut Memory,
        results: &mut [Option<Tensor>],
        of: impl Fn(blocktensor::Error) -> Error,
    ) -> Result<()> {
        // Tensors that have parts of one piece of memory exist only while a step uses them.
        let mut shared: Vec<(SlotId, Tensor)> = Vec::new();
        for slot in &step.inputs {
            // A step may take one of them twice; its memory is lent once.
            if self.slots[slot.0].shared && !shared.iter().any(|(s, _)| s == slot) {
                shared.push((*slot, self.place(*slot, memory)?));
            }
        }
        let inputs = step
            .inputs
            .iter()
            .map(|slot| {
                let lent = shared.iter().find(|(s, _)| s == slot).map(|(_, tensor)| tensor);
                let tensor = lent.or(tensors[slot.0].as_ref());
                tensor.map(Operand::tensor_ref).ok_or_else(|| broken(&step.name))
            })
            .collect::<Result<Vec<_>>>()?;
        let made = match &step.work {
            Work::Join { .. } | Work::InPlace { .. } => vec![],
            Work::View(op) => op.run(&inputs).map_err(of)?,
            Work::Restride => match inputs[0] {
                TensorRef::Strided(x) => vec![restrided(x, &self.slots[step.outputs[0].0].desc)?],
                _ => return Err(broken(&step.name)),
            },
            Work::Reorder if self.is_foreign(step) => {
                vec![inputs[0].to_tensor().reorder(&self.slots[step.outputs[0].0].desc).map_err(of)?]
            }
            Work::Operator { op, .. } if self.is_foreign(step) => op.run(&inputs).map_err(of)?,
            Work::Reorder => return reorder(inputs[0], self.placed(step, 0, results, memory)?).map_err(of),
            Work::Operator { op, .. } => {
                for i in 0..results.len() {
                    self.placed(step, i, results, memory)?;
                }
                let places = results.iter_mut().flatten().map(Operand::tensor_mut).collect();
                let (offset, bytes) = step.scratchpad;
                return match bytes {
                    0 => op.run_into(&inputs, places, &mut memory.scratchpad).map_err(of),
                    _ => {
                        let mut scratchpad = memory.arena.scratchpad(offset, bytes)?;
                        op.run_into(&inputs, places, &mut scratchpad).map_err(of)
                    }
                };
            }
        };
        results.iter_mut().zip(made).for_each(|(result, made)| *result = Some(made));
        Ok(())
    }

    /// The tensor for a result of a step.
    fn placed<'a>(
        &self,
        step: &Step,
        i: usize,
        results: &'a mut [Option<Tensor>],
        memory: &Memory,
    ) -> Result<&'a mut Tensor> {
        match &mut results[i] {
            Some(result) => Ok(result),
            empty => Ok(empty.insert(self.place(step.outputs[i], memory)?)),
        }
    }

    /// Whether a step's results are tensors of another crate's backend, which makes them itself.
    fn is_foreign(&self, step: &Step) -> bool {
        step.outputs.iter().all(|slot| is_foreign(&self.slots[slot.0].desc))
    }

    /// Takes the first input of a step, and gives it back overwritten.
    fn overwrite(
        &self,
        step: &Step,
        post_ops: &PostOps,
        tensors: &mut [Option<Tensor>],
        memory: &Memory,
    ) -> Result<blocktensor::Result<Tensor>> {
        let missing = || broken(&step.name);
        let mut target = tensors[step.inputs[0].0].take().ok_or_else(missing)?;
        let other = |slot: &SlotId| match self.slots[slot.0].shared {
            true => self.place(*slot, memory),
            false => tensors[slot.0].clone().ok_or_else(missing),
        };
        let others = step.inputs[1..].iter().map(other).collect::<Result<Vec<Tensor>>>()?;
        let (residual, channel) = others.split_at(usize::from(post_ops.takes_residual()));
        let residual = residual.first().map(|t| t.tensor_ref());
        let channel: Vec<&StridedTensor> =
            channel.iter().filter_map(|t| if let Tensor::Strided(t) = t { Some(t) } else { None }).collect();
        Ok(post_ops.apply(target.tensor_mut(), residual, &channel).map(|()| target))
    }

    /// The tensor that a step writes.
    fn place(&self, slot: SlotId, memory: &Memory) -> Result<Tensor> {
        let Slot { desc, place, .. } = &self.slots[slot.0];
        Ok(match place {
            Place::Arena(offset) => memory.arena.tensor(*offset, desc)?,
            // Its own storage: the caller keeps it.
            _ => Arena::new(desc.bytes()?)?.tensor(0, desc)?,
        })
    }
}

/// A value of a contiguous tensor that the type cannot hold, though the tensor's dtype can, and what the type holds.
fn outside(of: ElementType, x: &StridedTensor) -> Result<Option<(i32, String)>> {
    match of {
        ElementType::Bool => {
            let value = x.as_slice::<u8>()?.iter().find(|v| **v > 1);
            Ok(value.map(|v| (i32::from(*v), "0 or 1".to_string())))
        }
        ElementType::Int(of) => {
            let Some((low, high)) = of.range_in_s32() else { return Ok(None) };
            let value = x.as_slice::<i32>()?.iter().find(|v| !(low..=high).contains(*v));
            Ok(value.map(|v| (*v, format!("integers from {low} to {high}"))))
        }
        ElementType::F32 | ElementType::Byte | ElementType::SignedByte => Ok(None),
    }
}

/// The same error with a remedy for who runs a plan: its packed weights are the plan's.
fn without_packing(error: blocktensor::Error) -> blocktensor::Error {
    match error {
        blocktensor::Error::PackMismatch(mut complaint) => {
            let remedy =
                "run the plan on the number of threads that it was made for, or make it again on this number";
            complaint.remedy = remedy.into();
            blocktensor::Error::PackMismatch(complaint)
        }
        error => error,
    }
}

pub(super) fn broken(name: &str) -> Error {
    Error::Invalid {
        what: format!("step `{name}`"),
        got: "a tensor that is not there".to_string(),
        rule: "a plan computes tensors before it uses them".into(),
        remedy: "report this".into(),
    }
}

/// The same bytes under the descriptor's strides, which differ only for axes of size 1.
fn restrided(x: &StridedTensor, desc: &TensorDesc) -> Result<Tensor> {
    match desc.strides() {
        Some(strides) if strides != x.strides() => Ok(x.as_strided(desc.dims(), strides, x.offset())?.into()),
        _ => Ok(x.clone().into()),
    }
}

pub(super) fn reorder(from: TensorRef<'_>, to: &mut Tensor) -> blocktensor::Result<()> {
    match (from, to) {
        (TensorRef::Strided(x), Tensor::Blocked(to)) => x.to_blocked_into(to),
        (TensorRef::Strided(x), Tensor::Strided(to)) => x.copy_into(to),
        (TensorRef::Blocked(x), Tensor::Strided(to)) => x.to_strided_into(to),
        (TensorRef::Blocked(x), to @ Tensor::Blocked(_)) => {
            let plain = x.to_strided(MemoryFormat::Contiguous)?;
            reorder(TensorRef::Strided(&plain), to)
        }
        // Backends of other crates make their tensors themselves, and ours of theirs by way of a row-major one.
        (from, to @ Tensor::Opaque(_)) => {
            *to = from.to_tensor().reorder(&TensorDesc::of(to.tensor_ref()))?;
            Ok(())
        }
        (from @ TensorRef::Opaque(_), to) => {
            let plain = TensorDesc::strided(from.dims(), from.dtype(), MemoryFormat::Contiguous)?;
            reorder(from.to_tensor().reorder(&plain)?.tensor_ref(), to)
        }
    }
}

/// A constant as a slot wants it.
pub(super) fn reordered(constant: &StridedTensor, desc: &TensorDesc) -> Result<Tensor> {
    if let Some(layout) = desc.layout() {
        return Ok(constant.to_blocked(layout)?.into());
    }
    if is_foreign(desc) {
        return Ok(Tensor::from(constant.clone()).reorder(desc)?);
    }
    let mut to = Arena::new(desc.bytes()?)?.tensor(0, desc)?;
    reorder(TensorRef::Strided(constant), &mut to)?;
    Ok(to)
}
