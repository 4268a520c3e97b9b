//! `Plan`: a network with a layout for every tensor, packed weights, and a place in memory for every intermediate result.

mod algorithms;
mod arena;
mod build;
mod choice;
mod describe;
mod errors;
mod forms;
mod fuse;
mod in_place;
mod join;
mod measured;
mod named;
mod observe;
mod options;
mod pack;
mod packed_weights;
mod precision;
mod recipe;
mod run;
mod run_into;
mod saved;
mod steps;
#[cfg(test)]
mod unwritten;

pub use errors::{AsWritten, ConstantError, Errors, OutputError, StepError};
pub use measured::{CandidateMeasurement, ComparedWithF32, FasterInF32, Measurements, NodeMeasurement};
pub use options::{PlanOptions, Profiles};
pub use precision::Precision;
pub use steps::{StepInfo, StepKind, StepTensor};

use std::sync::{Arc, Mutex};

use blocktensor::ops::PostOps;
use blocktensor::{Arena, Operator, Scratchpad, TensorDesc};
use serde::{Deserialize, Serialize};

use crate::constant::ElementType;
use crate::error::Result;
use crate::graph::Graph;
use crate::network::{Network, TensorId};
use crate::passes::{self, PassReport};
use forms::Target;
use packed_weights::PackedWeights;
use recipe::Recipe;
use steps::Effort;

/// Which layouts a plan uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Layouts {
    /// Row-major everywhere.
    Nchw,
    /// Channels-last for images (rank 4 and 5), row-major for everything else.
    Nhwc,
    /// The machine's native blocked layout from convolution to convolution; strided where an op has no blocked kernel.
    Blocked,
    /// For each node the layout with which the whole network is fastest on this machine, found by measuring: the default
    /// ([`PlanOptions::default`]). It may be one layout for all. Another planning may choose otherwise.
    Measured,
}

impl Layouts {
    /// The ways that need no measuring, in the order of this list.
    pub const FIXED: [Layouts; 3] = [Layouts::Nchw, Layouts::Nhwc, Layouts::Blocked];

    /// Every way.
    pub const ALL: [Layouts; 4] = [Layouts::Nchw, Layouts::Nhwc, Layouts::Blocked, Layouts::Measured];

    /// `nchw`, `nhwc`, `blocked`, `measured`.
    pub const fn name(self) -> &'static str {
        match self {
            Layouts::Nchw => "nchw",
            Layouts::Nhwc => "nhwc",
            Layouts::Blocked => "blocked",
            Layouts::Measured => "measured",
        }
    }
}

/// A reorder in a plan: a step of the plan's own, or one that a kernel makes inside itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reorder {
    /// The step's name, or the node's whose kernel reorders.
    pub node: String,
    /// The layout before.
    pub from: String,
    /// The layout after.
    pub to: String,
    /// Sizes of the tensor.
    pub dims: Vec<usize>,
    /// **Bytes** written.
    pub bytes: usize,
    /// Whether a kernel makes it inside itself.
    pub in_kernel: bool,
}

/// A network that is ready to run. Many threads may run it at once; each run in flight has memory of its own.
#[derive(Debug)]
pub struct Plan {
    layouts: Layouts,
    steps: Vec<Step>,
    slots: Vec<Slot>,
    inputs: Vec<(String, SlotId)>,
    /// The types of the graph's inputs, which name integers and Booleans more narrowly than dtypes do.
    input_types: Vec<ElementType>,
    outputs: Vec<(String, SlotId)>,
    /// The types of the graph's outputs.
    output_types: Vec<ElementType>,
    /// Size of the arena in **bytes**, and the largest sum of what lives at the same time.
    arena_bytes: usize,
    live_bytes: usize,
    reorders: Vec<Reorder>,
    reports: Vec<PassReport>,
    measurements: Option<Measurements>,
    /// The precision that was asked for. A plan of a file knows only whether it has one.
    asked: Precision,
    recipe: Recipe,
    idle: Mutex<Vec<Memory>>,
}

/// The memory of one run.
#[derive(Debug)]
struct Memory {
    arena: Arena,
    scratchpad: Scratchpad,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SlotId(usize);

/// A tensor of a plan: a tensor of the network in one order of its elements.
#[derive(Clone, Debug)]
struct Slot {
    /// The name of the network's tensor.
    name: Arc<str>,
    /// The network's tensor.
    tensor: TensorId,
    /// Whether other slots have parts of the same memory. Then its tensor exists only during a step.
    shared: bool,
    desc: TensorDesc,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    /// The caller's.
    Input(usize),
    Constant(Box<blocktensor::Tensor>),
    /// In the arena, at this **byte**.
    Arena(usize),
    /// New storage in each run: the caller gets it.
    Output,
    /// A tensor of another crate's backend, which makes it in each run.
    Foreign,
    /// A view of another slot.
    View(SlotId),
}

#[derive(Clone, Debug)]
struct Step {
    name: Arc<str>,
    /// The numbers of the network's nodes that it runs, in order. None for steps of the plan's own.
    nodes: Vec<usize>,
    work: Work,
    inputs: Vec<SlotId>,
    outputs: Vec<SlotId>,
    /// Where the scratchpad is in the arena, and its size, in **bytes**.
    scratchpad: (usize, usize),
    /// Slots that no later step uses.
    last_use: Vec<SlotId>,
    effort: Effort,
}

#[derive(Clone, Debug)]
enum Work {
    Operator {
        op: Arc<dyn Operator>,
        implementation: Option<String>,
        /// What it does to its own result: the words of its post-ops.
        fused: String,
    },
    /// The results share the input's storage.
    View(Arc<dyn Operator>),
    /// The same bytes under other strides of axes of size 1.
    Restride,
    Reorder,
    /// Element-wise ops on the first input, in its place. The others are a residual and numbers for each channel.
    InPlace {
        op: &'static str,
        post_ops: PostOps,
    },
    /// A concatenation whose operands were computed in their places.
    Join {
        op: &'static str,
    },
}

impl Graph {
    /// Plans the graph: sizes, passes, layouts, packed weights, memory.
    ///
    /// # Errors
    /// As [`Graph::with_sizes`]; the operators' own; [`Error::Invalid`](crate::Error::Invalid) if each plan makes more reorders
    /// than [`PlanOptions::at_most_reorders`] allows; [`Error::InFloat`](crate::Error::InFloat) for what
    /// [`PlanOptions::strict`] refuses; `Stopped`.
    pub fn plan(&self, options: &PlanOptions) -> Result<Plan> {
        let before = blocktensor::recycled_bytes();
        #[cfg(feature = "onednn")]
        let misses = blocktensor::onednn::cache_stats().misses;
        let plan = self.planned(options);
        // Constants that passes changed, and what was measured, leave no storage behind: a program may have little memory, and runs use
        // other sizes. Nor do candidates that were not chosen leave primitives, whose code takes as much memory as a light network.
        blocktensor::trim_recycled(before);
        #[cfg(feature = "onednn")]
        blocktensor::onednn::drop_unused_since(misses);
        plan
    }

    fn planned(&self, options: &PlanOptions) -> Result<Plan> {
        let mut network = self.expanded(&options.sizes, &options.stop, options.keep_constants)?;
        let written = options.keep_constants.then(|| network.clone());
        network.folds = None;
        let reports = passes::run(&mut network, &options.off, options.strict, &options.stop)?;
        if options.precision == Precision::Bf16 {
            precision::run(&mut network, &targets_of(options.layouts), &options.stop)?;
        }
        let input_types = self.inputs().map(|(_, of, _)| of).collect();
        let output_types = network.output_types.clone();
        let plan = planned(&network, options, reports)?;
        let recipe = match options.keep_constants {
            true => Recipe { network, written, has_constants: true, ..plan.recipe },
            false => plan.recipe,
        };
        let recipe = Recipe { limits: options.limits, ..recipe };
        Ok(Plan { input_types, output_types, recipe, asked: options.precision, ..plan })
    }
}

/// The order that a plan in one layout is for.
fn target_of(layouts: Layouts) -> Target {
    match layouts {
        Layouts::Nhwc => Target::ChannelsLast,
        Layouts::Blocked => Target::Native,
        Layouts::Nchw | Layouts::Measured => Target::RowMajor,
    }
}

/// The orders that nodes of such a plan may run in.
fn targets_of(layouts: Layouts) -> Vec<Target> {
    match layouts {
        Layouts::Measured => measured::targets(),
        layouts => vec![target_of(layouts), Target::RowMajor],
    }
}

/// Plans a network that has been through the passes.
fn planned(network: &Network, options: &PlanOptions, reports: Vec<PassReport>) -> Result<Plan> {
    let layouts = options.layouts;
    if layouts == Layouts::Measured {
        return measured::plan(network, options, reports);
    }
    let target = target_of(layouts);
    let plan = build::uniform(
        network,
        target,
        &PackedWeights::new(&options.stop),
        options.limits,
        layouts,
        reports,
    )?;
    measured::limit::check(
        &plan.reorders,
        options.limits.most_reorders,
        ", or plan measured layouts, which keep to it where they can",
    )?;
    Ok(plan)
}

impl Plan {
    /// The layouts that it was made with.
    pub fn layouts(&self) -> Layouts {
        self.layouts
    }

    /// Names of the inputs, and what each run takes for them.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &TensorDesc)> {
        self.inputs.iter().map(|(name, id)| (name.as_str(), &self.slots[id.0].desc))
    }

    /// The types of the inputs, in their order: a run takes integers of all widths as s32, and Booleans as u8.
    pub fn input_types(&self) -> &[ElementType] {
        &self.input_types
    }

    /// Names of the outputs, and what each run returns for them.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, &TensorDesc)> {
        self.outputs.iter().map(|(name, id)| (name.as_str(), &self.slots[id.0].desc))
    }

    /// The types of the outputs, in their order: a run returns integers of all widths as s32, and Booleans as u8 that are 0 or 1.
    ///
    /// ```
    /// use blocktensor_graph::{ElementType, Graph, Layouts, PlanOptions};
    ///
    /// let mut graph = Graph::new();
    /// let x = graph.input("x", &[2.into()])?;
    /// let y = graph.op("y", "gt_scalar", &[("x", x)], &[("other", 0.5f64.into())])?;
    /// graph.output("y", y)?;
    /// let plan = graph.plan(&PlanOptions::new(Layouts::Nchw))?;
    /// assert_eq!(plan.output_types(), [ElementType::Bool]);
    /// # Ok::<(), blocktensor_graph::Error>(())
    /// ```
    pub fn output_types(&self) -> &[ElementType] {
        &self.output_types
    }

    /// All reorders of one run: steps of the plan, and those that kernels make inside themselves.
    pub fn reorders(&self) -> &[Reorder] {
        &self.reorders
    }

    /// What each pass did.
    pub fn passes(&self) -> &[PassReport] {
        &self.reports
    }

    /// **Bytes** of memory that a run takes for intermediate results.
    pub fn arena_bytes(&self) -> usize {
        self.arena_bytes
    }

    /// **Bytes** of the intermediate results that live at the same time, at most: no arena can be smaller.
    pub fn live_bytes(&self) -> usize {
        self.live_bytes
    }

    /// How the layouts were chosen, if they were measured.
    pub fn measurements(&self) -> Option<&Measurements> {
        self.measurements.as_ref()
    }

    /// The nodes that compute with integers of 8 bits and would take clearly less time in f32, in order: leave these out when
    /// quantising. Empty unless layouts were measured; [`Measurements::compared_with_f32`] says what is not known.
    pub fn faster_in_f32(&self) -> &[FasterInF32] {
        let compared = self.measurements.as_ref().and_then(|m| m.compared_with_f32.as_ref());
        compared.map_or(&[], |compared| &compared.faster)
    }

    /// The type in which its nodes compute: [`Precision::Bf16`] if one of them does.
    pub fn precision(&self) -> Precision {
        precision::of(&self.recipe.network)
    }

    /// The nodes that compute in f32 in a plan of another precision, with their ops: those without a kernel for it, and those beside
    /// them. Casts and views are not among them.
    pub fn in_f32(&self) -> Vec<(&str, &str)> {
        precision::in_f32(&self.recipe.network, self.asked_precision())
    }

    /// The precision that was asked for, as far as a plan of a file knows it.
    fn asked_precision(&self) -> Precision {
        self.asked.max(self.precision())
    }

    /// How many steps a run has: operators, views and reorders.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether a run has no step.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}
