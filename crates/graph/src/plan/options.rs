//! How a graph is planned.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::algorithms::Limits;
use super::measured::like::Pattern;
use super::{Layouts, Plan, Precision};
use crate::passes::Pass;
use crate::sizes::Sizes;
use crate::stop::Stop;

/// Where the times come from that measured layouts are chosen by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Profiles {
    /// What was measured before on this machine is taken from the user's cache folder, and what is measured is kept there:
    /// `profiles` in `$BLOCKTENSOR_CACHE`, or `blocktensor/profiles` in the cache folder. `BLOCKTENSOR_CACHE=off` keeps
    /// nothing.
    #[default]
    Kept,
    /// As `Kept`, in this folder.
    KeptIn(PathBuf),
    /// Everything is measured, nothing is kept.
    Measured,
    /// Nothing is measured: times are computed from bytes and multiply-adds. Two plannings choose the same.
    Estimated,
}

/// How to plan: layouts, sizes, passes.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    pub(super) layouts: Layouts,
    pub(super) profiles: Profiles,
    pub(super) sizes: Sizes,
    pub(super) off: BTreeSet<Pass>,
    pub(super) keep_constants: bool,
    pub(super) limits: Limits,
    pub(super) precision: Precision,
    pub(super) strict: bool,
    pub(super) like: Option<Pattern>,
    pub(super) stop: Stop,
}

/// Measured layouts, which choose also how convolutions compute, all passes, no named sizes. Two plannings may choose otherwise,
/// and so round otherwise; the runs of one plan are the same to the bit. [`Plan::save`] fixes a choice; so do other layouts, and
/// [`Profiles::Estimated`]. [`exact`](PlanOptions::exact) fixes how convolutions compute.
///
/// ```
/// # use blocktensor_graph::{Graph, Layouts, PlanOptions, Profiles};
/// # let mut graph = Graph::new();
/// # let x = graph.input("x", &[2.into()])?;
/// # let y = graph.op("y", "relu", &[("x", x)], &[])?;
/// # graph.output("y", y)?;
/// let plan = graph.plan(&PlanOptions::default().profiles(Profiles::Measured))?;
/// assert_eq!(plan.layouts(), Layouts::Measured);
/// # Ok::<(), blocktensor_graph::Error>(())
/// ```
impl Default for PlanOptions {
    fn default() -> PlanOptions {
        PlanOptions::new(Layouts::Measured)
    }
}

impl PlanOptions {
    /// These layouts, all passes, no named sizes.
    pub fn new(layouts: Layouts) -> PlanOptions {
        PlanOptions {
            layouts,
            profiles: Profiles::Kept,
            sizes: Sizes::new(),
            off: BTreeSet::new(),
            keep_constants: false,
            limits: Limits::default(),
            precision: Precision::F32,
            strict: false,
            like: None,
            stop: Stop::default(),
        }
    }

    /// The layouts.
    ///
    /// ```
    /// # use blocktensor_graph::{Layouts, PlanOptions};
    /// assert_eq!(PlanOptions::default().layouts(), Layouts::Measured);
    /// ```
    pub fn layouts(&self) -> Layouts {
        self.layouts
    }

    /// A number for a named size.
    pub fn size(mut self, name: &str, size: usize) -> PlanOptions {
        self.sizes = self.sizes.with(name, size);
        self
    }

    /// Numbers for the named sizes.
    pub fn sizes(mut self, sizes: Sizes) -> PlanOptions {
        self.sizes = sizes;
        self
    }

    /// Where the times of [`Layouts::Measured`] come from.
    pub fn profiles(mut self, profiles: Profiles) -> PlanOptions {
        self.limits.estimated = profiles == Profiles::Estimated;
        self.profiles = profiles;
        self
    }

    /// Chooses as a plan of the same graph at other sizes did, without measuring: each node runs as it does there if it can.
    /// For the others times are computed, as with [`Profiles::Estimated`], and for all where its choices do not go together at these
    /// sizes. It is for [`Layouts::Measured`], and takes far less time than measuring does. The plan's
    /// [measurements](Plan::measurements) say whose choices it has.
    ///
    /// ```
    /// # use blocktensor_graph::{Graph, Layouts, PlanOptions};
    /// # let mut graph = Graph::new();
    /// # let x = graph.input("x", &["n".into()])?;
    /// # let y = graph.op("y", "relu", &[("x", x)], &[])?;
    /// # graph.output("y", y)?;
    /// let one = graph.plan(&PlanOptions::default().size("n", 1))?;
    /// let eight = graph.plan(&PlanOptions::default().size("n", 8).like(&one))?;
    /// assert!(eight.measurements().is_some_and(|m| m.estimated && m.like.is_some()));
    /// # Ok::<(), blocktensor_graph::Error>(())
    /// ```
    pub fn like(mut self, plan: &Plan) -> PlanOptions {
        self.like = Some(Pattern::of(&plan.recipe));
        self
    }

    /// Whether planning runs kernels to time them, which takes a while.
    ///
    /// ```
    /// # use blocktensor_graph::{Layouts, PlanOptions, Profiles};
    /// assert!(PlanOptions::default().measures());
    /// assert!(!PlanOptions::default().profiles(Profiles::Estimated).measures());
    /// assert!(!PlanOptions::new(Layouts::Nhwc).measures());
    /// ```
    pub fn measures(&self) -> bool {
        self.layouts == Layouts::Measured && self.profiles != Profiles::Estimated && self.like.is_none()
    }

    /// Switches a pass off.
    pub fn without(mut self, pass: Pass) -> PlanOptions {
        self.off.insert(pass);
        self
    }

    /// Keeps convolutions to the direct algorithm, unless a node asks for another one. Without this option, a plan with measured
    /// layouts also measures Winograd's ([`Algorithm`](blocktensor::ops::Algorithm)), which rounds otherwise.
    ///
    /// ```
    /// # use blocktensor_graph::{Layouts, PlanOptions};
    /// let options = PlanOptions::new(Layouts::Measured).exact();
    /// ```
    pub fn exact(mut self) -> PlanOptions {
        self.limits.exact = true;
        self
    }

    /// Computes in bf16 where ops have kernels for it: convolutions and linear layers with constant weights, and what follows them. Sums
    /// are f32. Inputs and outputs stay f32; casts are nodes of the plan (`to_dtype`), every step shows its dtype, and
    /// [`Plan::in_f32`](crate::Plan::in_f32) lists what stays in f32. Convolutions and linear layers need AVX512_BF16 and oneDNN: where none
    /// of a graph's has a kernel, planning is an error.
    ///
    /// ```
    /// # use blocktensor_graph::{PlanOptions, Precision};
    /// let options = PlanOptions::default().precision(Precision::Bf16);
    /// ```
    pub fn precision(mut self, precision: Precision) -> PlanOptions {
        self.precision = precision;
        self
    }

    /// Refuses a graph that quantises what this machine has no kernel of integers for. Without this option such a node computes in f32,
    /// between `dequantize` and `quantize` steps that the plan lists.
    ///
    /// ```
    /// # use blocktensor_graph::{Layouts, PlanOptions};
    /// let options = PlanOptions::new(Layouts::Blocked).strict();
    /// ```
    pub fn strict(mut self) -> PlanOptions {
        self.strict = true;
        self
    }

    /// Runs each node as a step of its own. Without this option, a plan runs nodes as one step where a kernel computes them
    /// together, such as a linear layer and the activation after it, and where that costs less.
    ///
    /// ```
    /// # use blocktensor_graph::{Layouts, PlanOptions};
    /// let options = PlanOptions::new(Layouts::Nchw).node_by_node();
    /// ```
    pub fn node_by_node(mut self) -> PlanOptions {
        self.limits.node_by_node = true;
        self
    }

    /// How large packed weights may become, as a multiple of the plain ones: 1.25 unless it is said. Weights that are
    /// transformed ahead for Winograd's algorithm are 5 times as large as plain ones; those that save the most time for their
    /// bytes come first. Below 1 counts as 1.
    ///
    /// ```
    /// # use blocktensor_graph::{Layouts, PlanOptions};
    /// let options = PlanOptions::new(Layouts::Measured).weight_growth(2.0);
    /// ```
    pub fn weight_growth(mut self, times: f64) -> PlanOptions {
        self.limits.weight_growth = if times > 1.0 { times } else { 1.0 };
        self
    }

    /// A run makes at most so many reorders, counted as [`Plan::reorders`] lists them: steps, and those inside kernels. Of measured
    /// layouts, the cheapest choice stays that was found to keep to it. Where there is none, the error names the smallest number
    /// that was found, and the places. Other layouts are as they are, and refused with more reorders.
    ///
    /// ```
    /// # use blocktensor_graph::{Layouts, PlanOptions};
    /// let options = PlanOptions::new(Layouts::Measured).at_most_reorders(1);
    /// ```
    pub fn at_most_reorders(mut self, count: usize) -> PlanOptions {
        self.limits.most_reorders = Some(count);
        self
    }

    /// Ends the planning with [`Error::Stopped`](crate::Error::Stopped) if `stop` says so. It is asked often, at the latest
    /// after a few runs of one kernel, and once it said yes it must go on saying so. Nothing is kept in files then.
    ///
    /// ```
    /// # use blocktensor_graph::{Error, Graph, Layouts, PlanOptions};
    /// # let mut graph = Graph::new();
    /// # let x = graph.input("x", &[2.into()])?;
    /// # let y = graph.op("y", "relu", &[("x", x)], &[])?;
    /// # graph.output("y", y)?;
    /// let options = PlanOptions::new(Layouts::Nchw).stop_if(|| true);
    /// assert!(matches!(graph.plan(&options), Err(Error::Stopped)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn stop_if(mut self, stop: impl Fn() -> bool + Send + Sync + 'static) -> PlanOptions {
        self.stop = Stop::when(stop);
        self
    }

    /// Keeps the plain weights beside the packed ones, for [`Plan::errors`]. Without this option, a plan drops them.
    ///
    /// ```
    /// # use blocktensor_graph::{Layouts, PlanOptions};
    /// let options = PlanOptions::new(Layouts::Nchw).keep_constants();
    /// ```
    pub fn keep_constants(mut self) -> PlanOptions {
        self.keep_constants = true;
        self
    }
}
