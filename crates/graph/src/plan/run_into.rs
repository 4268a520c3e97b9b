//! Runs a plan into the caller's memory.

use blocktensor::{Call, Complaint, MemoryFormat, StridedTensor, Tensor, TensorRef, Text};

use super::run::{Stopper, Watch, broken};
use super::{Place, Plan, SlotId};
use crate::error::{Result, other_count};

impl Plan {
    /// As [`run`](Self::run), into tensors that are there already: one for each of [`outputs`](Self::outputs), in their order, of
    /// its sizes and dtype, row-major and writable.
    ///
    /// Kernels write into this memory. What no step of the run computes, such as an input that is an output too, or a part of
    /// another tensor, is copied into it. Inputs are read where they are: slices of Rust are aligned by their type, and memory of other
    /// libraries that is not comes as a [`ForeignInput`](blocktensor::ForeignInput), which is copied for each run.
    ///
    /// ```
    /// use blocktensor::{DType, MemoryFormat, StridedTensor};
    /// use blocktensor_graph::{Graph, PlanOptions};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", &[2.into()])?;
    /// let y = graph.op("y", "relu", &[("x", x)], &[])?;
    /// graph.output("y", y)?;
    /// let plan = graph.plan(&PlanOptions::default())?;
    /// let x = StridedTensor::from_slice(&[-1f32, 2.0], &[2])?;
    /// let mut y = StridedTensor::zeros(&[2], DType::F32, MemoryFormat::Contiguous)?;
    /// plan.run_into(&[&x], &mut [&mut y])?;
    /// assert_eq!(y.to_vec::<f32>()?, [0.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As `run`; `Engine` with `InvalidArgument` for another number of outputs, `ShapeMismatch`, `DTypeMismatch`, `LayoutMismatch` for
    /// one that is not row-major, and `Aliasing` for one whose storage another tensor shares, that is read-only, or that has memory of
    /// an input or of another output. All this is checked before anything runs. Where a step fails, the elements of the outputs are
    /// those of before or of results.
    pub fn run_into(&self, inputs: &[&StridedTensor], outputs: &mut [&mut StridedTensor]) -> Result<()> {
        self.run_into_watched(inputs, outputs, &mut ())
    }

    /// As [`run_into`](Self::run_into), but ends early if `stop` says so, which is called before each step. Returns whether the run
    /// came to its end.
    ///
    /// # Errors
    /// As `run_into`.
    pub fn run_into_until(
        &self,
        inputs: &[&StridedTensor],
        outputs: &mut [&mut StridedTensor],
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        let mut stopper = Stopper { stop, stopped: false };
        match self.run_into_watched(inputs, outputs, &mut stopper) {
            Err(_) if stopper.stopped => Ok(false),
            done => done.map(|()| true),
        }
    }

    fn run_into_watched(
        &self,
        inputs: &[&StridedTensor],
        outputs: &mut [&mut StridedTensor],
        watch: &mut dyn Watch,
    ) -> Result<()> {
        self.check(inputs)?;
        self.check_outputs(inputs, outputs)?;
        let mut tensors = self.tensors(inputs)?;
        let mut lent: Vec<Lent> = Vec::new();
        let lending = outputs.iter_mut().enumerate().try_for_each(|(i, output)| {
            lent.extend(self.lend(i, output, &lent, &mut tensors)?);
            Ok(())
        });
        let done = lending.and_then(|()| self.run_with(&mut tensors, watch));
        let is_lent = |i: usize| lent.iter().any(|lent| lent.output == i);
        let copied =
            |(i, (_, slot)): (usize, &(String, SlotId))| (!is_lent(i)).then(|| tensors[slot.0].clone());
        let results: Vec<Option<Option<Tensor>>> = self.outputs.iter().enumerate().map(copied).collect();
        let own: Vec<_> = lent.iter().map(|lent| (lent.output, lent.found(&tensors))).collect();
        // All of the run's views of it end here: the caller is its only owner again.
        drop(tensors);
        for (i, own) in own {
            *outputs[i] = own.ok_or_else(|| broken(&self.outputs[i].0))??;
        }
        done?;
        for ((result, output), (name, _)) in results.into_iter().zip(outputs).zip(&self.outputs) {
            match result {
                None => {}
                Some(Some(Tensor::Strided(result))) => copy(&result, output)?,
                Some(_) => return Err(broken(name)),
            }
        }
        Ok(())
    }

    /// Puts an output of the caller's where the step that computes it looks for it, and leaves an empty one in its place. `None` where
    /// no step computes all of it, and nothing else.
    fn lend(
        &self,
        i: usize,
        output: &mut StridedTensor,
        before: &[Lent],
        tensors: &mut [Option<Tensor>],
    ) -> Result<Option<Lent>> {
        let mut slots = vec![self.outputs[i].1];
        while let Place::View(of) = self.slots[slots[0].0].place {
            slots.insert(0, of);
        }
        let (root, last) = (&self.slots[slots[0].0], &self.slots[self.outputs[i].1.0]);
        let is_whole = root.desc.dtype() == last.desc.dtype()
            && root.desc.bytes()? == last.desc.bytes()?
            && root.desc.strides().is_some();
        let is_free = !before.iter().any(|other| other.slots[0] == slots[0]);
        if !matches!(root.place, Place::Output) || !is_whole || !is_free {
            return Ok(None);
        }
        let empty = StridedTensor::zeros(&[0], output.dtype(), MemoryFormat::Contiguous)?;
        let own = std::mem::replace(output, empty);
        let lent = Lent {
            output: i,
            slots,
            dims: own.dims().to_vec(),
            strides: own.strides().to_vec(),
            offset: own.offset(),
        };
        let strides = root.desc.strides().unwrap_or_default();
        match own.as_strided(root.desc.dims(), strides, own.offset()) {
            Ok(place) => tensors[lent.slots[0].0] = Some(place.into()),
            Err(e) => {
                *output = own;
                return Err(e.into());
            }
        }
        Ok(Some(lent))
    }

    fn check_outputs(&self, inputs: &[&StridedTensor], outputs: &mut [&mut StridedTensor]) -> Result<()> {
        if outputs.len() != self.outputs.len() {
            let (got, rule) = other_count(outputs.len(), "outputs", self.outputs().map(|(name, _)| name));
            let complaint = Complaint::new(OP, "outputs", got, rule, "pass one for each");
            return Err(blocktensor::Error::InvalidArgument(complaint).into());
        }
        for (i, (name, desc)) in self.outputs().enumerate() {
            let y = &mut *outputs[i];
            let (got, makes) = (TensorRef::Strided(y).describe(), format!("a run gives {desc}"));
            let complain = |got: String, rule: &str, remedy: Text| {
                Complaint::new(OP, "outputs", format!("{got} for `{name}`"), rule.to_string(), remedy)
            };
            let refused = |got: String, rule: &str, remedy: &str| complain(got, rule, remedy.into());
            if y.dims() != desc.dims() {
                let complaint = refused(got, &makes, "make a tensor of these sizes");
                return Err(blocktensor::Error::ShapeMismatch(complaint).into());
            }
            if y.dtype() != desc.dtype() {
                let complaint = refused(got, &makes, "make a tensor of this dtype");
                return Err(blocktensor::Error::DTypeMismatch(complaint).into());
            }
            if y.quantization().is_some() {
                let remedy = Text::from("pass ") + Call::WithoutQuantization + " of it";
                let complaint = complain(got, "results have no scales and zero points", remedy);
                return Err(blocktensor::Error::DTypeMismatch(complaint).into());
            }
            if !y.is_contiguous(MemoryFormat::Contiguous) {
                let complaint = refused(got, "results are row-major", "make a row-major tensor");
                return Err(blocktensor::Error::LayoutMismatch(complaint).into());
            }
            let shared = (0..self.inputs.len()).find(|&k| outputs[i].overlaps(inputs[k]));
            let shared = shared.map(|k| format!("input `{}`", self.inputs[k].0));
            let before = || (0..i).find(|&k| outputs[i].overlaps(outputs[k]));
            let shared = shared.or_else(|| before().map(|k| format!("output `{}`", self.outputs[k].0)));
            if let Some(other) = shared {
                let got = format!("memory that {other} has too");
                let complaint =
                    refused(got, "a run writes into it", "pass memory of its own for each result");
                return Err(blocktensor::Error::Aliasing(complaint).into());
            }
            if !outputs[i].is_writable() {
                let got = "storage that another tensor shares, or that is read-only".into();
                let remedy = "drop the other tensor, pass a copy, or let the run make the result";
                let complaint = refused(got, "a run writes into it", remedy);
                return Err(blocktensor::Error::Aliasing(complaint).into());
            }
        }
        Ok(())
    }
}

/// The name of the call in errors.
const OP: &str = "run_into";

/// The same elements, of which only strides of axes of size 1 may differ.
fn copy(from: &StridedTensor, to: &mut StridedTensor) -> Result<()> {
    match from.strides() == to.strides() {
        true => Ok(from.copy_into(to)?),
        false => Ok(from.as_strided(from.dims(), to.strides(), from.offset())?.copy_into(to)?),
    }
}

/// An output of the caller's that a run writes into.
struct Lent {
    output: usize,
    /// The slot that is written, its views, and the output's: one of them has the memory.
    slots: Vec<SlotId>,
    dims: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
}

impl Lent {
    /// The caller's tensor, from where the run left its memory.
    fn found(&self, tensors: &[Option<Tensor>]) -> Option<blocktensor::Result<StridedTensor>> {
        let held = self.slots.iter().find_map(|slot| match &tensors[slot.0] {
            Some(Tensor::Strided(t)) => Some(t),
            _ => None,
        });
        held.map(|t| t.as_strided(&self.dims, &self.strides, self.offset))
    }
}
