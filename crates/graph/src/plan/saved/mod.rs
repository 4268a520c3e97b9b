//! Plans in files: every choice, and the packed weights.
//!
//! A saved plan is a packed file ([`PackedFile`]) with the text `plan`: JSON of [`Stored`]. The packed weights of node 7 are
//! called `node 7`, the constant that is tensor 12 of the network `tensor 12`.

mod misfit;
mod stored;

use std::io::Read;
use std::path::Path;

use blocktensor::{Call, Complaint, PackedFile, PackedWriter, Text};

use self::stored::{
    Elements, Stored, StoredGroup, StoredNode, StoredTensor, VERSION, bad, constant_name, inconsistent,
    packed_name,
};
use super::recipe::{Recipe, packed_only};
use super::{Plan, PlanOptions, Profiles, planned, precision};
use crate::error::{Error, Result};
use crate::network::{Tensor, TensorId};
use crate::stop::Stop;

/// The name of the text in the file.
const PLAN: &str = PackedFile::PLAN;

impl Plan {
    /// Writes the plan and its packed weights into one file. [`load`](Self::load) makes the same plan of it: every choice is in
    /// the file, and a run gives the same bits. Whatever is not a packed weight, such as a table of an embedding, is in it too.
    ///
    /// With `keep_plain`, the plain weights are written as well, so that [`load_or_replan`](Self::load_or_replan) can plan again
    /// on a machine that the packed ones do not fit. This about doubles the file. A plan in bf16 has no plain weights: its own are rounded.
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
    /// `InvalidArgument` for `keep_plain` of a plan in bf16. [`Error::Invalid`] for an operator of the program's own ([`Graph::operator`](crate::Graph::operator)): a file holds ops by name. `FileAccess`, also for a
    /// file that is no plan: it is not replaced. `OutOfMemory`.
    pub fn save(&self, path: impl AsRef<Path>, keep_plain: bool) -> Result<()> {
        Ok(self.writer(keep_plain)?.save(path)?)
    }

    /// What [`save`](Self::save) writes, for [`PackedFile::of_bytes`].
    #[doc(hidden)]
    pub fn to_bytes(&self, keep_plain: bool) -> Result<Vec<u8>> {
        Ok(self.writer(keep_plain)?.to_bytes()?)
    }

    fn writer(&self, keep_plain: bool) -> Result<PackedWriter<'_>> {
        let (network, choices) = (&self.recipe.network, &self.recipe.choices);
        if keep_plain && precision::rounds_constants(network) {
            let (got, rule) =
                ("a plan in bf16", "its weights are rounded, and plain ones are the model's own");
            let remedy = "save it without plain weights, or save a plan in f32 with them";
            let complaint = Complaint::new("Plan::save", "keep_plain", got, rule, remedy);
            return Err(blocktensor::Error::InvalidArgument(complaint).into());
        }
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
            threads: self.recipe.threads,
            input_types: self.input_types.clone(),
            output_types: Some(self.output_types.clone()),
            tensors: network.tensors.iter().enumerate().map(tensor).collect(),
            inputs: network.inputs.iter().map(|id| id.0).collect(),
            outputs: network.outputs.iter().map(|(name, id)| (name.clone(), id.0)).collect(),
            nodes: network
                .nodes
                .iter()
                .zip(choices)
                .map(|(n, c)| StoredNode::of(n, c))
                .collect::<Result<_>>()?,
            groups: StoredGroup::of_all(choices),
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
        Ok(writer)
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
            let remedy = match stored.rounds_constants() {
                true => Text::from("plan the graph itself: a plan in bf16 is saved without them"),
                false => {
                    let remedy = Text::from("save the plan with plain weights (") + Call::KeepPlainOfPlan;
                    remedy + "), or plan the graph itself"
                }
            };
            return Err(bad("packed weights without the plain ones", remedy));
        }
        let network = stored.network(file, true)?;
        let plan = stored.plan(file)?;
        Ok(Plan { recipe: Recipe { network, has_constants: true, ..plan.recipe }, ..plan })
    }

    /// As [`load`](Self::load), but where the weights do not fit this machine or its number of threads, the network is planned
    /// again, with the same [`Layouts`](super::Layouts), from the plain weights in the file. The file must have been opened with
    /// [`PackedFile::read_or_repack`] or [`PackedFile::map_or_repack`]. A plan of [`Profiles::Estimated`] is estimated again, unless
    /// `profiles` is [`Profiles::Measured`].
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
        let output_types = stored.output_types(&network)?;
        let options = PlanOptions { limits: stored.limits, stop, ..PlanOptions::new(stored.layouts) };
        // What was not to be measured is not now either, unless the caller asks for it.
        let is_asked = *profiles == Profiles::Measured;
        let profiles =
            if stored.limits.estimated && !is_asked { Profiles::Estimated } else { profiles.clone() };
        let options = options.profiles(profiles);
        let plan = planned(&network, &options, stored.passes).map_err(inconsistent)?;
        let recipe = Recipe { limits: options.limits, ..plan.recipe };
        Ok(Plan { input_types: stored.input_types, output_types, recipe, ..plan })
    }

    /// Whether the content is that of a plan's file, whole or damaged: [`save`](Self::save) replaces no other files.
    ///
    /// # Errors
    /// Those of reading.
    pub fn recognises(content: &mut dyn Read) -> std::io::Result<bool> {
        PackedFile::recognises_plan(content)
    }

    /// Whether the file holds a plan.
    pub fn is_in(file: &PackedFile) -> bool {
        file.text(PLAN).is_some()
    }
}
