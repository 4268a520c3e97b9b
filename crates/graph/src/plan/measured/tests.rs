//! Choices by made-up costs: no clock decides here.

use blocktensor::ledger::ReorderBudget;
use blocktensor::{MemoryFormat, StridedTensor};

use super::super::algorithms::Limits;
use super::choose::Costs;
use super::costs::settle;
use super::*;
use crate::{Constant, Graph, Param, Sizes, ValueId};

pub(in crate::plan) struct Random(pub(in crate::plan) u64);

impl Random {
    pub(in crate::plan) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn cost(&mut self) -> f64 {
        self.below(1 << 20) as f64 / f64::from(1 << 20)
    }

    pub(in crate::plan) fn tensor(&mut self, dims: &[usize]) -> StridedTensor {
        let values: Vec<f32> = (0..dims.iter().product()).map(|_| self.cost() as f32 - 0.5).collect();
        StridedTensor::from_slice(&values, dims).unwrap()
    }
}

/// A random network of images with sums, concatenations and several outputs.
pub(in crate::plan) fn graph(random: &mut Random, nodes: usize) -> Graph {
    let mut graph = Graph::new();
    let channels = [3, 8, 17, 24][random.below(4)];
    let x = graph.input("image", &[1.into(), channels.into(), 6.into(), 5.into()]).unwrap();
    let mut values: Vec<(ValueId, usize)> = vec![(x, channels)];
    for i in 0..nodes {
        let (x, c) = values[values.len() - 1 - random.below(values.len().min(2))];
        let name = format!("n{i}");
        let value = match random.below(6) {
            0 | 1 => {
                let out = [8, 16, 24, c][random.below(4)];
                let size = [1, 3][random.below(2)];
                let weights = Constant::F32(random.tensor(&[out, c, size, size]));
                let weights = graph.constant(&format!("w{i}"), weights).unwrap();
                let params = [("padding", Param::Int(size as i64 / 2))];
                (graph.op(&name, "conv2d", &[("x", x), ("weights", weights)], &params).unwrap(), out)
            }
            2 => (graph.op(&name, "relu", &[("x", x)], &[]).unwrap(), c),
            3 => {
                let params =
                    [("kernel", Param::Int(3)), ("stride", Param::Int(1)), ("padding", Param::Int(1))];
                (graph.op(&name, "max_pool2d", &[("x", x)], &params).unwrap(), c)
            }
            4 => match values.iter().rev().find(|(v, k)| *k == c && *v != x) {
                Some(&(y, _)) => (graph.op(&name, "add", &[("a", x), ("b", y)], &[]).unwrap(), c),
                None => (graph.op(&name, "tanh", &[("x", x)], &[]).unwrap(), c),
            },
            _ => {
                let (y, d) = values[random.below(values.len())];
                let inputs = [("tensors", x), ("tensors", y)];
                (graph.op(&name, "cat", &inputs, &[("axis", 1i64.into())]).unwrap(), c + d)
            }
        };
        values.push(value);
    }
    for (i, (value, _)) in values.iter().rev().take(1 + random.below(2)).enumerate() {
        graph.output(&format!("y{i}"), *value).unwrap();
    }
    graph
}

fn network(graph: &Graph) -> Network {
    let mut network = graph.with_sizes(&Sizes::new()).unwrap();
    crate::passes::run(&mut network, &Default::default(), false, &Default::default()).unwrap();
    network
}

/// Random costs for all reorders, and for all candidates that can be packed.
fn costs(
    random: &mut Random,
    network: &Network,
    candidates: &[Vec<Choice>],
    edges: &[choose::Edge],
    reorder: f64,
) -> Costs {
    let weights = PackedWeights::default();
    let mut cost = |node: usize, choice: &Choice| match weights.packed(network, node, choice) {
        Ok(_) => random.cost(),
        Err(_) => crate::minimise::IMPOSSIBLE,
    };
    let nodes = candidates.iter().enumerate().map(|(n, list)| list.iter().map(|c| cost(n, c)).collect());
    let nodes = nodes.collect();
    let reorders = edges.iter().flat_map(choose::Edge::pairs).map(|pair| (pair, reorder * random.cost()));
    Costs { nodes, reorders: reorders.collect(), price_of_reorder: 0.0 }
}

/// The cost of a choice, counted by the steps of the plan that it makes.
fn cost_of_plan(network: &Network, plan: &Plan, values: &[usize], costs: &Costs) -> f64 {
    let nodes: f64 = (0..network.nodes.len()).map(|n| costs.nodes[n][values[n]]).sum();
    let reorders = plan.steps.iter().filter(|step| matches!(step.work, super::super::Work::Reorder));
    let desc = |slot: super::super::SlotId| plan.slots[slot.0].desc.clone();
    let of = |(from, to): (TensorDesc, TensorDesc)| {
        let found = costs
            .reorders
            .iter()
            .find(|((a, b), _)| candidates::is_free(a, &from) && candidates::is_free(b, &to));
        *found.expect("a reorder that was thought of").1
    };
    nodes + reorders.map(|step| of((desc(step.inputs[0]), desc(step.outputs[0])))).sum::<f64>()
}

/// Nodes run as one where that costs less than one by one, also by estimated costs.
#[test]
fn a_group_competes_with_its_nodes_one_by_one() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[4.into(), 8.into()]).unwrap();
    let w = Constant::F32(StridedTensor::full(&[6, 8], 0.5f32, MemoryFormat::Contiguous).unwrap());
    let w = graph.constant("w", w).unwrap();
    let y = graph.op("layer", "linear", &[("x", x), ("weights", w)], &[]).unwrap();
    let y = graph.op("first", "tanh", &[("x", y)], &[]).unwrap();
    let y = graph.op("second", "gelu", &[("x", y)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let network = network(&graph);
    let weights = PackedWeights::default();
    let candidates =
        candidates::candidates(&network, &targets(), Limits::default(), &Default::default()).unwrap();
    let edges = choose::edges(&network, &candidates).unwrap();
    // Alone each node costs 2; what two and three cost as one decides.
    for (two, three, want) in [
        (4.5, 6.5, vec![vec![0], vec![1], vec![2]]),
        (3.5, 6.5, vec![vec![0, 1], vec![2]]),
        (3.5, 5.0, vec![vec![0, 1, 2]]),
        (4.5, 5.0, vec![vec![0, 1, 2]]),
    ] {
        let cost = |node: usize, choice: &Choice| match &choice.group {
            None => 2.0,
            Some(_) if choice.is_inner(node) => 0.0,
            Some(group) => [two, three][group.nodes.len() - 2],
        };
        let nodes = candidates.iter().enumerate();
        let nodes = nodes.map(|(n, list)| list.iter().map(|c| cost(n, c)).collect()).collect();
        let costs = Costs { nodes, ..Costs::default() };
        let solution = choose::choose(&candidates, &edges, &costs, LARGEST_TABLE);
        let chosen: Vec<Choice> =
            candidates.iter().zip(&solution.values).map(|(list, &v)| list[v].clone()).collect();
        let plan = build::chosen(&network, &chosen, &weights, Layouts::Measured, vec![]).unwrap();
        let steps: Vec<Vec<usize>> = plan.steps.iter().map(|step| step.nodes.clone()).collect();
        assert_eq!(steps, want, "{two} and {three}: {plan}");
    }
    let estimated = PlanOptions::new(Layouts::Measured).profiles(Profiles::Estimated);
    assert_eq!(graph.plan(&estimated).unwrap().len(), 1);
    assert_eq!(graph.plan(&estimated.node_by_node()).unwrap().len(), 3);
    let measured = PlanOptions::new(Layouts::Measured).profiles(Profiles::Measured);
    let plan = graph.plan(&measured).unwrap();
    let measurements = plan.measurements().unwrap();
    let timed = |c: &CandidateMeasurement| c.nodes == ["layer", "first", "second"] && c.seconds.is_some();
    assert!(measurements.nodes[2].candidates.iter().any(timed), "{measurements}");
}

#[test]
fn the_choice_costs_what_its_plan_costs_and_no_other_choice_costs_less() {
    // The backend of another crate takes part.
    blocktensor_third_backend::key();
    let mut random = Random(11);
    let (mut mixed, mut rounds) = (0, 0);
    while rounds < 60 {
        let network = network(&graph(&mut random, 6));
        let candidates =
            candidates::candidates(&network, &targets(), Limits::default(), &Default::default()).unwrap();
        let combinations: usize = candidates.iter().map(Vec::len).product();
        if combinations > 3000 {
            continue;
        }
        rounds += 1;
        let edges = choose::edges(&network, &candidates).unwrap();
        let reorder = [0.01, 0.2, 2.0][rounds % 3];
        let costs = costs(&mut random, &network, &candidates, &edges, reorder);
        let solution = choose::choose(&candidates, &edges, &costs, LARGEST_TABLE);
        assert!(solution.proven);
        let weights = PackedWeights::default();
        let plan_of = |values: &[usize]| {
            let chosen: Vec<Choice> =
                candidates.iter().zip(values).map(|(list, &v)| list[v].clone()).collect();
            build::chosen(&network, &chosen, &weights, Layouts::Measured, vec![])
        };
        let plan = plan_of(&solution.values).unwrap();
        let cost = cost_of_plan(&network, &plan, &solution.values, &costs);
        assert!((cost - solution.cost).abs() < 1e-5, "{cost} and {}\n{plan}", solution.cost);
        let layouts: std::collections::HashSet<String> =
            plan.slots.iter().map(|s| s.desc.layout_name()).collect();
        mixed += usize::from(layouts.len() > 2);
        // Some other choices, all if there are few.
        for k in 0..combinations.min(40) {
            let mut k = if combinations <= 40 { k } else { random.below(combinations) };
            let values: Vec<usize> = candidates
                .iter()
                .map(|list| {
                    let value = k % list.len();
                    k /= list.len();
                    value
                })
                .collect();
            // Some candidates have no kernel.
            let Ok(plan) = plan_of(&values) else { continue };
            let other = cost_of_plan(&network, &plan, &values, &costs);
            assert!(other > solution.cost - 1e-5, "{other} is less than {}\n{plan}", solution.cost);
        }
    }
    assert!(mixed > 10, "{mixed} plans have several layouts");
}

#[test]
fn plans_of_any_choice_agree_with_the_plan_without_passes_and_reorder_what_they_list() {
    blocktensor_third_backend::key();
    let mut random = Random(12);
    for round in 0..80 {
        let graph = graph(&mut random, 4 + round % 9);
        let bare = crate::Pass::ALL
            .into_iter()
            .fold(crate::PlanOptions::new(Layouts::Nchw), crate::PlanOptions::without);
        let bare = graph.plan(&bare).unwrap();
        let network = network(&graph);
        let candidates =
            candidates::candidates(&network, &targets(), Limits::default(), &Default::default()).unwrap();
        let edges = choose::edges(&network, &candidates).unwrap();
        let costs = costs(&mut random, &network, &candidates, &edges, 0.05);
        let solution = choose::choose(&candidates, &edges, &costs, LARGEST_TABLE);
        let chosen: Vec<Choice> =
            candidates.iter().zip(&solution.values).map(|(list, &v)| list[v].clone()).collect();
        let plan =
            build::chosen(&network, &chosen, &PackedWeights::default(), Layouts::Measured, vec![]).unwrap();
        let dims = plan.inputs().next().map(|(_, desc)| desc.dims().to_vec()).unwrap();
        let x = random.tensor(&dims);
        let want = bare.run(&[&x]).unwrap();
        let budget = ReorderBudget::at_most(plan.reorders().len());
        let got = budget.run(|| plan.run(&[&x])).unwrap();
        for (got, want) in got.iter().zip(&want) {
            let got = got.contiguous(MemoryFormat::Contiguous).unwrap().to_vec::<f32>().unwrap();
            let want = want.to_vec::<f32>().unwrap();
            let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
            let difference = norm(&mut got.iter().zip(&want).map(|(a, b)| f64::from(a - b)));
            assert!(difference <= 1e-5 * norm(&mut want.iter().map(|v| f64::from(*v))) + 1e-12, "{plan}");
        }
        if !plan.reorders().is_empty() {
            let less = ReorderBudget::at_most(plan.reorders().len() - 1);
            assert!(less.run(|| plan.run(&[&x])).is_err(), "{plan}");
        }
    }
}

/// Where another crate's backend is fastest by far, the plan goes through its layout, and says so.
#[test]
fn the_cheapest_way_may_go_through_another_backend() {
    let key = blocktensor_third_backend::key();
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 5.into()]).unwrap();
    let y = graph.op("tanh", "tanh", &[("x", x)], &[]).unwrap();
    let z = graph.op("relu", "relu", &[("x", y)], &[]).unwrap();
    let z = graph.op("relu again", "relu", &[("x", z)], &[]).unwrap();
    let z = graph.op("sum", "add", &[("a", z), ("b", y)], &[]).unwrap();
    graph.output("z", z).unwrap();
    let network = graph.with_sizes(&Sizes::new()).unwrap();
    let candidates =
        candidates::candidates(&network, &targets(), Limits::default(), &Default::default()).unwrap();
    let edges = choose::edges(&network, &candidates).unwrap();
    for (there, through) in [(0.1, true), (0.9, false)] {
        let cost = |c: &Choice| if c.outputs[0].key() == key { there } else { 1.0 };
        let costs = Costs {
            nodes: candidates.iter().map(|list| list.iter().map(cost).collect()).collect(),
            reorders: edges.iter().flat_map(choose::Edge::pairs).map(|pair| (pair, 0.4)).collect(),
            price_of_reorder: 0.0,
        };
        let solution = choose::choose(&candidates, &edges, &costs, LARGEST_TABLE);
        let chosen: Vec<Choice> =
            candidates.iter().zip(&solution.values).map(|(list, &v)| list[v].clone()).collect();
        let plan =
            build::chosen(&network, &chosen, &PackedWeights::default(), Layouts::Measured, vec![]).unwrap();
        let ways: Vec<(&str, &str)> =
            plan.reorders().iter().map(|r| (r.from.as_str(), r.to.as_str())).collect();
        let both = [("contiguous", "back_to_front"), ("back_to_front", "contiguous")];
        assert_eq!(ways, if through { &both[..] } else { &[] }, "{plan}");
        assert_eq!(plan.to_string().contains("back_to_front"), through, "{plan}");
        let x = StridedTensor::from_slice(&[-2.0f32, -0.5, 0.0, 0.5, 2.0], &[1, 5]).unwrap();
        let (y, book) = blocktensor::ledger::record(|| plan.run(&[&x]).unwrap());
        let want = [-2f32, -0.5, 0.0, 0.5, 2.0].map(|v| v.tanh().max(0.0) + v.tanh());
        for (y, want) in y[0].to_vec::<f32>().unwrap().iter().zip(want) {
            assert!((y - want).abs() < 1e-6, "{y} and {want}");
        }
        assert_eq!(book.reorders.len(), plan.reorders().len());
    }
}

/// All choices of small networks are built: the limit holds wherever a choice can hold it, and what is said of cheaper choices is
/// true.
#[test]
fn a_limit_of_reorders_is_kept_wherever_a_choice_keeps_it() {
    blocktensor_third_backend::key();
    let mut random = Random(13);
    let (mut rounds, mut narrowed, mut best, mut limits) = (0, 0, 0, 0);
    while rounds < 40 {
        let network = network(&graph(&mut random, 5));
        let candidates =
            candidates::candidates(&network, &targets(), Limits::default(), &Default::default()).unwrap();
        let combinations: usize = candidates.iter().map(Vec::len).product();
        if !(3..=250).contains(&combinations) {
            continue;
        }
        rounds += 1;
        let edges = choose::edges(&network, &candidates).unwrap();
        let costs = costs(&mut random, &network, &candidates, &edges, [0.01, 0.1, 0.5][rounds % 3]);
        let weights = PackedWeights::default();
        let plan_of = |values: &[usize]| {
            let chosen: Vec<Choice> =
                candidates.iter().zip(values).map(|(list, &v)| list[v].clone()).collect();
            build::chosen(&network, &chosen, &weights, Layouts::Measured, vec![])
        };
        let mut all: Vec<(usize, f64)> = vec![];
        for k in 0..combinations {
            let mut k = k;
            let value = |list: &Vec<Choice>| {
                let value = k % list.len();
                k /= list.len();
                value
            };
            let values: Vec<usize> = candidates.iter().map(value).collect();
            let Ok(plan) = plan_of(&values) else { continue };
            all.push((plan.reorders.len(), cost_of_plan(&network, &plan, &values, &costs)));
        }
        let least = all.iter().map(|(reorders, _)| *reorders).min().unwrap();
        let open = limit::Open { network: &network, candidates: &candidates, edges: &edges, costs: &costs };
        for most in 0..8 {
            let solution = limit::within(&open, most, |solution| plan_of(&solution.values)).unwrap();
            let plan = plan_of(&solution.values).unwrap();
            let cost = cost_of_plan(&network, &plan, &solution.values, &costs);
            assert!((cost - solution.cost).abs() < 1e-5, "{cost} and {}\n{plan}", solution.cost);
            if most < least {
                assert_eq!(plan.reorders.len(), least, "{plan}");
                let error = limit::check(&plan.reorders, Some(most), "").unwrap_err().to_string();
                assert!(error.contains(&format!("{least} reorder")), "{error}");
                assert!(error.ends_with(&format!("; allow that with `reorders={least}`")), "{error}");
                continue;
            }
            assert!(plan.reorders.len() <= most, "{most}\n{plan}");
            limit::check(&plan.reorders, Some(most), "").unwrap();
            let allowed = all.iter().filter(|(reorders, _)| *reorders <= most).map(|(_, cost)| *cost);
            let cheapest = allowed.fold(f64::INFINITY, f64::min);
            assert!(solution.lower_bound < cheapest + 1e-5, "{} and {cheapest}", solution.lower_bound);
            assert!(!solution.proven || cost < cheapest + 1e-5, "{cost} and {cheapest}\n{plan}");
            limits += 1;
            best += usize::from(cost < cheapest + 1e-5);
            narrowed += usize::from(all.iter().any(|(_, other)| *other < cost - 1e-5));
        }
    }
    assert!(narrowed > 20, "{narrowed} limits cost something");
    assert!(best * 10 > limits * 9, "{best} of {limits} choices are the cheapest");
}

/// Costs that differ by noise are the same.
#[test]
fn alternatives_whose_quartiles_overlap_cost_the_same() {
    let profile = |lower, seconds, upper| Some(Profile { runs: 5, lower, seconds, upper, disturbed: false });
    let list = [profile(1.0, 1.1, 1.3), profile(1.2, 1.4, 1.5), None, profile(1.31, 1.35, 1.4)];
    assert_eq!(settle(&list), [Some(1.1), Some(1.1), None, Some(1.35)]);
}

#[test]
fn what_fails_for_want_of_memory_is_tried_again() {
    let memory = StridedTensor::zeros(&[1 << 45], blocktensor::DType::F32, MemoryFormat::Contiguous);
    assert!(!costs::is_lasting(&memory.unwrap_err().into()));
    let rank = StridedTensor::zeros(&[2, 3], blocktensor::DType::F32, MemoryFormat::ChannelsLast);
    let operator = |source| crate::Error::Operator { node: "n".into(), op: "op".into(), source };
    assert!(!costs::is_lasting(&operator(rank.unwrap_err())));
    let kernel = blocktensor::BoundOp::new("linear", &["x", "weights"], &[]).unwrap();
    let shapes = [[2, 3], [5, 4]].map(|dims: [usize; 2]| {
        TensorDesc::strided(&dims, blocktensor::DType::F32, MemoryFormat::Contiguous).unwrap()
    });
    assert!(costs::is_lasting(&operator(blocktensor::Operator::infer(&kernel, &shapes).unwrap_err())));
}

/// Packed linear layers take no blocked source, which dry candidates have: that candidate is impossible, and not the plan.
#[test]
fn estimates_do_without_a_candidate_whose_layout_is_refused() {
    let mut graph = Graph::new();
    let x = graph.input("x", &[2.into(), 16.into(), 12.into()]).unwrap();
    let mut constant =
        |name: &str, dims: &[usize]| graph.constant(name, Constant::F32(Random(3).tensor(dims))).unwrap();
    let (w, v) = (constant("w", &[16, 16, 3]), constant("v", &[7, 10]));
    let y = graph.op("conv", "conv1d", &[("x", x), ("weights", w)], &[]).unwrap();
    let y = graph.op("fc", "linear", &[("x", y), ("weights", v)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let options = crate::PlanOptions::new(Layouts::Measured).profiles(Profiles::Estimated);
    assert_eq!(graph.plan(&options).unwrap().outputs().next().unwrap().1.dims(), [2, 16, 7]);
}

/// Times in a file are those of this crate's kernels: nothing tells the versions of others.
#[test]
fn no_times_are_kept_for_ops_with_kernels_of_other_crates() {
    use blocktensor::dispatch::{DTypeTuple, DispatchKey, Engine, Kernel, register_backend};

    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 3.into(), 4.into(), 4.into()]).unwrap();
    let y = graph.op("a", "softsign", &[("x", x)], &[]).unwrap();
    let y = graph.op("b", "softplus", &[("x", y)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let network = network(&graph);
    let keys = || {
        let candidates =
            candidates::candidates(&network, &targets(), Limits::default(), &Default::default()).unwrap();
        [0, 1].map(|node| costs::key(&network, node, &candidates[node][0]))
    };
    assert!(keys().iter().all(Option::is_some));
    let integers: &[_] = &[DTypeTuple { operands: &[blocktensor::DType::S32], results: &[] }];
    let kernel = Kernel::rust(&|_, _| unreachable!("nothing runs")).with_dtypes(integers);
    register_backend(|r| r.kernel("softplus", DispatchKey::STRIDED, kernel.with_engine(Engine::Other)))
        .unwrap();
    let [own, extended] = keys();
    assert!(own.is_some() && extended.is_none(), "{own:?} {extended:?}");
}

#[test]
fn a_plan_of_a_busy_machine_says_so() {
    let profile = |disturbed| Some(Profile::once(1.0, disturbed));
    let of = |disturbed: usize, race| {
        let list = (0..40).map(|i| vec![profile(i < disturbed), None]).collect();
        is_busy(&list, race)
    };
    assert_eq!([of(0, false), of(2, false), of(3, false), of(0, true)], [false, false, true, true]);
    assert!(!is_busy(&vec![], false));

    let mut graph = Graph::new();
    let x = graph.input("x", &[2.into()]).unwrap();
    let y = graph.op("y", "relu", &[("x", x)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let estimated = PlanOptions::new(Layouts::Measured).profiles(Profiles::Estimated);
    let mut plan = graph.plan(&estimated).unwrap();
    for busy in [false, true] {
        plan.measurements.as_mut().unwrap().busy = busy;
        for text in [plan.to_string(), plan.measurements.as_ref().unwrap().to_string()] {
            assert_eq!(text.contains("measured on a busy machine"), busy, "{text}");
        }
        // A saved plan keeps it.
        let file = blocktensor::PackedFile::of_bytes("bytes", &plan.to_bytes(false).unwrap()).unwrap();
        assert_eq!(Plan::load(&file).unwrap().measurements().unwrap().busy, busy);
    }
}

/// Estimates of steps that move and compute nothing are 0: no alternative is so many percent slower.
#[test]
fn the_text_compares_with_no_time_of_0() {
    let candidate = |layouts: &str, seconds| CandidateMeasurement {
        layouts: layouts.to_string(),
        nodes: Vec::new(),
        algorithm: None,
        implementation: None,
        seconds: Some(seconds),
    };
    let told = |first, second| {
        let candidates = vec![candidate("nchw -> nchw", first), candidate("nhwc -> nhwc", second)];
        let node = NodeMeasurement { name: "a".to_string(), op: "relu".to_string(), candidates };
        let measured = Measurements {
            nodes: vec![node],
            cost: first,
            lower_bound: first,
            proven: true,
            plans: Vec::new(),
            kept: Layouts::Measured,
            estimated: true,
            like: None,
            busy: false,
            compared_with_f32: None,
            cache_note: None,
        };
        measured.to_string().lines().nth(1).unwrap_or_default().to_string()
    };
    assert_eq!(told(0.0, 0.0), "  a: relu nchw -> nchw, 0.0 us; nhwc -> nhwc: 0.0 us");
    assert_eq!(told(0.0, 2e-6), "  a: relu nchw -> nchw, 0.0 us; nhwc -> nhwc: 2.0 us");
    assert_eq!(told(1e-6, 2e-6), "  a: relu nchw -> nchw, 1.0 us; nhwc -> nhwc: 2.0 us (+100 %)");
}
