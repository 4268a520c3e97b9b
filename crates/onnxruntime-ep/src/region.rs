//! A fused node: its graph, and a plan for each shape that it is run with.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use blocktensor::counted;
use blocktensor_graph::{Dim, Graph, Layouts, Plan, Profiles, Sizes};
use blocktensor_onnx::{HostModel, Importer};

use crate::failure::{Failure, Result};
use crate::options::Options;

/// Plans of a region that are kept. Each has packed weights of its own.
pub(crate) const MOST_PLANS: usize = 16;

/// A plan that is being made or there. Others who need it wait.
type Made = Arc<Mutex<Option<Arc<Plan>>>>;

/// A new plan, with what there is to tell.
pub(crate) type Told = (Arc<Plan>, News);

/// The sizes of each input.
type Shapes = Vec<Vec<usize>>;

#[derive(Debug)]
pub(crate) struct Region {
    /// Its first and its last node.
    pub(crate) name: String,
    graph: Graph,
    options: Options,
    /// For each input of the graph, its number among the fused node's.
    pub(crate) places: Vec<usize>,
    /// Plans by the sizes of the inputs, the least recently used first.
    plans: Mutex<Vec<(Shapes, Made)>>,
    /// Whether the program knows that new shapes are not measured.
    has_warned: AtomicBool,
}

/// What a new plan is, for people.
#[derive(Clone, Debug)]
pub(crate) struct News {
    pub(crate) text: String,
    /// Whether the program could do something about it.
    pub(crate) is_warning: bool,
}

/// How a plan chooses layouts.
enum How {
    Fixed,
    Measured,
    Estimated,
    /// A compiled model has the plan.
    Read,
    /// A run waits for it, so that nothing is measured: as the plan for these shapes did.
    Like(Shapes, Arc<Plan>),
    /// A run waits for it, and there is no other plan.
    Unmeasured,
}

impl Region {
    /// The region of a fused node. Plans whose sizes are known are made at once.
    pub(crate) fn new(mut model: HostModel, options: Options) -> Result<(Region, Vec<Told>)> {
        let is_constant = |name: &str| model.constants.iter().any(|(constant, _)| constant == name);
        let places: Vec<usize> =
            (0..model.inputs.len()).filter(|&i| !is_constant(&model.inputs[i].name)).collect();
        model.inputs = places.iter().map(|&i| model.inputs[i].clone()).collect();
        let name = match &model.nodes[..] {
            [] => "no nodes".to_string(),
            [node] => format!("node `{}`", node.name),
            [first, .., last] => {
                format!("nodes `{}` to `{}` ({})", first.name, last.name, model.nodes.len())
            }
        };
        let graph = Importer::new().from_host(model).map_err(|e| Failure::from(e).at(&name))?;
        let (plans, has_warned) = (Mutex::default(), AtomicBool::new(false));
        let mut region = Region { name, graph, options, places, plans, has_warned };
        let mut made = Vec::new();
        for shapes in region.known_shapes() {
            let (plan, news) = region.plan_of(&shapes, false)?;
            made.extend(news.map(|news| (plan, news)));
        }
        if region.graph.named_sizes().is_empty() {
            region.drop_weights()?;
        }
        Ok((region, made))
    }

    /// The region of a node with as many inputs and outputs as `ends` says. Its plan was read, which took this long.
    pub(crate) fn compiled(
        name: String,
        plan: Plan,
        ends: (usize, usize),
        options: Options,
        seconds: f64,
    ) -> Result<(Region, Vec<Told>)> {
        let of_plan = (plan.inputs().count(), plan.outputs().count());
        if of_plan != ends {
            return Err(Failure::invalid(format!(
                "{name}: it has {} and {}, and its plan {} and {}; compile the model again",
                counted(ends.0, "input"),
                counted(ends.1, "output"),
                of_plan.0,
                of_plan.1
            )));
        }
        let (mut graph, mut shapes) = (Graph::new(), Shapes::new());
        for ((name, desc), of) in plan.inputs().zip(plan.input_types()) {
            let dims: Vec<Dim> = desc.dims().iter().map(|&size| Dim::Size(size)).collect();
            graph.input_of(name, *of, &dims)?;
            shapes.push(desc.dims().to_vec());
        }
        let (plan, places) = (Arc::new(plan), (0..ends.0).collect());
        let plans = Mutex::new(vec![(shapes.clone(), Arc::new(Mutex::new(Some(Arc::clone(&plan)))))]);
        let region = Region { name, graph, options, places, plans, has_warned: AtomicBool::new(false) };
        let news = region.news(&shapes, &How::Read, &plan, seconds);
        Ok((region, vec![(plan, news)]))
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    /// The names of sizes that runs give.
    pub(crate) fn named_sizes(&self) -> Vec<&str> {
        self.graph.named_sizes()
    }

    /// The shapes that are known before any run.
    fn known_shapes(&self) -> Vec<Shapes> {
        let of = |sizes: &Sizes| -> Option<Shapes> {
            let numbers = |dims: &[Dim]| dims.iter().map(|dim| sizes.number(dim)).collect();
            self.graph.inputs().map(|(_, _, dims)| numbers(dims)).collect()
        };
        match self.graph.named_sizes().is_empty() {
            true => of(&Sizes::new()).into_iter().collect(),
            false => self.options.sizes.iter().take(MOST_PLANS).filter_map(of).collect(),
        }
    }

    /// Drops everything but the inputs: all shapes that there can be have plans, and these have packed weights.
    fn drop_weights(&mut self) -> Result<()> {
        let mut graph = Graph::new();
        for (name, of, dims) in self.graph.inputs() {
            graph.input_of(name, of, dims)?;
        }
        self.graph = graph;
        Ok(())
    }

    /// The plan for inputs of these sizes, and what there is to tell if it is new.
    pub(crate) fn plan_for(&self, shapes: &[Vec<usize>]) -> Result<(Arc<Plan>, Option<News>)> {
        self.plan_of(shapes, true)
    }

    fn plan_of(&self, shapes: &[Vec<usize>], in_run: bool) -> Result<(Arc<Plan>, Option<News>)> {
        let made = self.made(shapes)?;
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = &*made {
            return Ok((Arc::clone(plan), None));
        }
        let options = self.options.planning.clone().sizes(self.sizes(shapes)?);
        let how = self.how(shapes, in_run);
        let options = match &how {
            How::Like(_, plan) => options.like(plan),
            How::Unmeasured => options.profiles(Profiles::Estimated),
            How::Fixed | How::Measured | How::Estimated | How::Read => options,
        };
        let start = Instant::now();
        let plan = self.options.run(|| self.graph.plan(&options));
        let plan = Arc::new(plan.map_err(|e| Failure::from(e).at(&self.name))?);
        let news = self.news(shapes, &how, &plan, start.elapsed().as_secs_f64());
        *made = Some(Arc::clone(&plan));
        Ok((plan, Some(news)))
    }

    fn how(&self, shapes: &[Vec<usize>], in_run: bool) -> How {
        if self.options.planning.layouts() != Layouts::Measured {
            return How::Fixed;
        }
        match self.options.measures() {
            false => How::Estimated,
            true if !in_run || self.options.measure_new_shapes => How::Measured,
            true => self.nearest(shapes).map_or(How::Unmeasured, |(shapes, plan)| How::Like(shapes, plan)),
        }
    }

    /// The plan that is there for the nearest shapes.
    fn nearest(&self, shapes: &[Vec<usize>]) -> Option<(Shapes, Arc<Plan>)> {
        let plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is being made is locked.
        let there = plans.iter().filter_map(|(of, made)| Some((of, made.try_lock().ok()?.clone()?)));
        let nearest = there.min_by(|(a, _), (b, _)| distance(a, shapes).total_cmp(&distance(b, shapes)));
        nearest.map(|(shapes, plan)| (shapes.clone(), plan))
    }

    fn news(&self, shapes: &[Vec<usize>], how: &How, plan: &Plan, seconds: f64) -> News {
        let told = |shapes: &[Vec<usize>]| {
            let inputs = self.graph.inputs().zip(shapes);
            let inputs = inputs.map(|((name, ..), dims)| format!("`{name}` {dims:?}"));
            inputs.collect::<Vec<_>>().join(", ")
        };
        let how_it_was = match how {
            How::Fixed => format!("planned with {} layouts", self.options.planning.layouts().name()),
            How::Measured => "planned with measured layouts".to_string(),
            How::Read => "read with the compiled model".to_string(),
            How::Estimated => "planned by estimated times".to_string(),
            How::Like(other, _) => {
                format!("a new shape, planned like {}, without measuring", told(other))
            }
            How::Unmeasured => "a new shape, planned by estimated times, without measuring".to_string(),
        };
        let unmeasured = matches!(how, How::Like(..) | How::Unmeasured);
        let is_warning = unmeasured && !self.has_warned.swap(true, Relaxed);
        let remedy = match unmeasured {
            true => {
                "; to have it measured, name its sizes in the option `sizes`, or set `measure_new_shapes` to 1"
            }
            false => "",
        };
        let (steps, reorders) = (counted(plan.len(), "step"), counted(plan.reorders().len(), "reorder"));
        let arena = plan.arena_bytes() as f64 / 1e6;
        let text = format!(
            "{}, inputs {}: {how_it_was}, in {seconds:.2} s: {steps}, {reorders}, {arena:.1} MB for intermediate results{remedy}",
            self.name,
            told(shapes)
        );
        News { text, is_warning }
    }

    /// The place of the plan for these shapes. Wrong ones have none: they would take that of a plan that is there.
    fn made(&self, shapes: &[Vec<usize>]) -> Result<Made> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = match plans.iter().position(|(known, _)| known == shapes) {
            Some(i) => plans.remove(i),
            None => {
                self.sizes(shapes)?;
                (shapes.to_vec(), Made::default())
            }
        };
        if plans.len() >= MOST_PLANS {
            plans.remove(0);
        }
        let made = Arc::clone(&entry.1);
        plans.push(entry);
        Ok(made)
    }

    /// The numbers of the named sizes. ONNX Runtime has checked the dtypes.
    fn sizes(&self, shapes: &[Vec<usize>]) -> Result<Sizes> {
        let of = self.graph.inputs().map(|(_, of, _)| of.dtype());
        let given: Vec<_> = of.zip(shapes.iter().map(Vec::as_slice)).collect();
        self.graph.sizes_of(&given).map_err(|e| Failure::invalid(e.to_string()).at(&self.name))
    }
}

/// How far shapes are from each other: the sum of the logarithms of the ratios of their sizes.
fn distance(a: &[Vec<usize>], b: &[Vec<usize>]) -> f64 {
    let sizes = a.iter().flatten().zip(b.iter().flatten());
    sizes.map(|(&a, &b)| (a.max(1) as f64 / b.max(1) as f64).ln().abs()).sum()
}

#[cfg(test)]
pub(crate) mod tests {
    use blocktensor::PackedFile;
    use blocktensor_graph::PlanOptions;
    use blocktensor_onnx::{HostNode, HostValue};

    use super::*;

    fn model(dims: Vec<Dim>) -> HostModel {
        let value = |name: &str| HostValue { name: name.into(), data_type: 1, dims: Some(dims.clone()) };
        let relu = HostNode {
            name: "relu".into(),
            op_type: "Relu".into(),
            inputs: vec!["x".into()],
            outputs: vec!["y".into()],
            ..HostNode::default()
        };
        HostModel {
            opsets: vec![(String::new(), 17)],
            inputs: vec![value("x")],
            nodes: vec![relu],
            outputs: vec![value("y")],
            ..HostModel::default()
        }
    }

    /// One op on [n, 3].
    pub(crate) fn region(options: Options) -> Region {
        Region::new(model(vec!["n".into(), 3.into()]), options).unwrap().0
    }

    fn nchw() -> Options {
        Options { planning: PlanOptions::new(Layouts::Nchw), ..Options::default() }
    }

    #[test]
    fn plans_are_made_once_for_a_shape_and_bounded() {
        let region = region(nchw());
        let (first, news) = region.plan_for(&[vec![1, 3]]).unwrap();
        assert!(news.unwrap().text.contains("node `relu`, inputs `x` [1, 3]: planned with nchw layouts"));
        let again = |n: usize| region.plan_for(&[vec![n, 3]]).unwrap();
        assert!(Arc::ptr_eq(&first, &again(1).0) && again(1).1.is_none());
        assert_eq!(region.plans.lock().unwrap().len(), 1);
        for n in 2..40 {
            again(n);
            // Used in between, it stays.
            assert!(Arc::ptr_eq(&first, &again(1).0));
        }
        assert_eq!(region.plans.lock().unwrap().len(), MOST_PLANS);
    }

    #[test]
    fn threads_that_ask_for_a_new_shape_at_once_get_one_plan_and_one_of_them_tells() {
        let region = region(nchw());
        let (plans, told) = (Mutex::new(Vec::new()), std::sync::atomic::AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let (plan, news) = region.plan_for(&[vec![5, 3]]).unwrap();
                    told.fetch_add(usize::from(news.is_some()), Relaxed);
                    plans.lock().unwrap().push(plan);
                });
            }
        });
        let plans = plans.into_inner().unwrap();
        assert!(plans.iter().all(|plan| Arc::ptr_eq(plan, &plans[0])));
        assert_eq!((plans.len(), told.into_inner()), (8, 1));
    }

    #[test]
    fn other_sizes_are_refused_by_name() {
        let fixed = Region::new(model(vec![1.into(), 3.into()]), nchw()).unwrap().0;
        for region in [region(nchw()), fixed] {
            for shape in [vec![1, 4], vec![3], vec![1, 3, 1]] {
                let text = region.plan_for(std::slice::from_ref(&shape)).unwrap_err().text;
                let named = text.starts_with("node `relu`: input `x`");
                assert!(named && text.contains(&format!("got {shape:?}")), "{text}");
            }
        }
    }

    #[test]
    fn a_model_without_named_sizes_keeps_no_graph() {
        let (region, made) = Region::new(model(vec![2.into(), 3.into()]), nchw()).unwrap();
        assert_eq!((region.graph.nodes().count(), made.len()), (0, 1));
        // Its plan stays, whatever else is asked for.
        for n in 3..3 + 2 * MOST_PLANS {
            assert!(region.plan_for(&[vec![n, 3]]).is_err());
        }
        assert!(Arc::ptr_eq(&region.plan_for(&[vec![2, 3]]).unwrap().0, &made[0].0));
    }

    #[test]
    fn a_compiled_region_has_its_plan_and_no_other_shape() {
        let (_, made) = Region::new(model(vec![2.into(), 3.into()]), nchw()).unwrap();
        let bytes = made[0].0.to_bytes(false).unwrap();
        let plan = || Plan::load(&PackedFile::of_bytes("plan", &bytes).unwrap()).unwrap();
        let (region, told) = Region::compiled("node `c`".into(), plan(), (1, 1), nchw(), 0.5).unwrap();
        assert!(
            told[0].1.text.contains("node `c`, inputs `x` [2, 3]: read with the compiled model, in 0.50 s"),
            "{told:?}"
        );
        assert!(Arc::ptr_eq(&region.plan_for(&[vec![2, 3]]).unwrap().0, &told[0].0) && region.places == [0]);
        let text = region.plan_for(&[vec![3, 3]]).unwrap_err().text;
        assert!(text.starts_with("node `c`: input `x`"), "{text}");
        for ends in [(0, 1), (2, 1), (1, 0), (1, 2)] {
            let text = Region::compiled("node `c`".into(), plan(), ends, nchw(), 0.5).unwrap_err().text;
            assert!(text.contains("its plan 1 and 1"), "{text}");
        }
    }

    /// What a shape is planned by: whether it was estimated, and the news.
    fn planned(region: &Region, n: usize) -> (bool, News) {
        let (plan, news) = region.plan_for(&[vec![n, 3]]).unwrap();
        (plan.measurements().unwrap().estimated, news.unwrap())
    }

    #[test]
    fn shapes_that_a_run_brings_are_not_measured() {
        let measured =
            Options { planning: PlanOptions::default().profiles(Profiles::Measured), ..Options::default() };
        let unknown = region(measured.clone());
        let (estimated, news) = planned(&unknown, 2);
        let parts = ["a new shape, planned by estimated times", "option `sizes`", "`measure_new_shapes`"];
        assert!(estimated && news.is_warning && parts.iter().all(|p| news.text.contains(p)), "{news:?}");
        let sizes = [1, 8].map(|n| Sizes::new().with("n", n)).to_vec();
        let (known, made) =
            Region::new(model(vec!["n".into(), 3.into()]), Options { sizes, ..measured.clone() }).unwrap();
        let estimated: Vec<bool> = made.iter().map(|(p, _)| p.measurements().unwrap().estimated).collect();
        assert_eq!(estimated, [false, false]);
        assert!(made.iter().all(|(_, news)| !news.is_warning && news.text.contains("measured layouts")));
        for (n, nearest) in [(2, 1), (6, 8), (64, 8)] {
            let (estimated, news) = planned(&known, n);
            assert!(estimated && news.text.contains(&format!("like `x` [{nearest}, 3]")), "{news:?}");
            // One warning is enough.
            assert_eq!(news.is_warning, n == 2);
            let mut plans = known.plans.lock().unwrap();
            plans.pop();
        }
        let asked = region(Options { measure_new_shapes: true, ..measured });
        let (estimated, news) = planned(&asked, 2);
        assert!(!estimated && !news.is_warning, "{news:?}");
        let offline = region(Options {
            planning: PlanOptions::default().profiles(Profiles::Estimated),
            ..Options::default()
        });
        let (estimated, news) = planned(&offline, 2);
        assert!(estimated && !news.is_warning && !news.text.contains("new shape"), "{news:?}");
    }
}
