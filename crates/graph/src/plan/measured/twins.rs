//! Quantised operators beside the same in f32: which nodes a model had better leave in f32.
//!
//! A model names its types, and a plan keeps to them. So this changes nothing: it tells what f32 would take ([`Twins`]). The twins are
//! measured last, in the time that is left, as any other candidates, and their times are kept as those of f32 models are.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::budget::{Budget, Part};
use super::cache::Cache;
use super::costs::{Measuring, NodeProfiles};
use super::profile::Profile;
use super::{candidates, targets};
use crate::error::{Error, Result};
use crate::network::Network;
use crate::passes::Twins;
use crate::plan::algorithms;
use crate::plan::choice::Choice;
use crate::plan::options::PlanOptions;
use crate::plan::packed_weights::PackedWeights;

/// A node that computes with integers of 8 bits, and that would take clearly less time in f32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FasterInF32 {
    /// The name of the graph's node.
    pub name: String,
    /// What it takes in the plan, in **seconds**.
    pub seconds: f64,
    /// What the same takes in f32, in **seconds**, in its fastest layout: without the conversions that its neighbours may need.
    pub f32_seconds: f64,
}

/// What a planning found when it compared quantised operators with the same in f32.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedWithF32 {
    /// The nodes that f32 would compute faster, in order.
    pub faster: Vec<FasterInF32>,
    /// How many operators of f32 the quantised nodes stand for: nodes of the same sizes and parameters have the same one.
    pub operators: usize,
    /// For how many of these it is not known which is faster: there was no time to measure, or other work disturbed.
    pub unknown: usize,
}

/// By how much a quantised node has to take longer than in f32 before the plan says so: a share of its time in f32, and **seconds**.
const CLEARLY: (f64, f64) = (0.1, 1e-6);

/// Whether f32 is clearly faster. `None` if other work disturbed a measurement that would have to tell.
fn is_faster(in_f32: &Profile, quantised: &Profile) -> Option<bool> {
    let longer = quantised.seconds - in_f32.seconds;
    let is_clear = longer > CLEARLY.0 * in_f32.seconds && longer > CLEARLY.1;
    (!in_f32.disturbed && !quantised.disturbed).then_some(is_clear)
}

/// What is known of a twin.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The fastest way that was measured.
    profile: Option<Profile>,
    /// Whether all ways were measured that run.
    is_complete: bool,
}

impl ComparedWithF32 {
    /// Compares each node with its twin. `quantised` has what each node of the network takes in the plan.
    fn of(network: &Network, twins: &Twins, known: &[Known], quantised: &[Option<Profile>]) -> Self {
        let (mut faster, mut unknown) = (Vec::new(), BTreeSet::new());
        for &(node, twin) in &twins.of {
            let Known { profile, is_complete } = known[twin];
            let pair = quantised[node].zip(profile);
            match pair.map(|(quantised, in_f32)| (is_faster(&in_f32, &quantised), quantised, in_f32)) {
                // What was not measured could only be faster still.
                Some((Some(true), quantised, in_f32)) => faster.push(FasterInF32 {
                    name: network.nodes[node].origin.node.clone(),
                    seconds: quantised.seconds,
                    f32_seconds: in_f32.seconds,
                }),
                Some((Some(false), ..)) if is_complete => {}
                // Nothing computes it in f32.
                None if is_complete && profile.is_none() => {}
                _ => drop(unknown.insert(twin)),
            }
        }
        ComparedWithF32 { faster, operators: twins.len(), unknown: unknown.len() }
    }
}

/// The time that a planning has.
#[derive(Clone, Copy)]
pub(super) struct Time<'a> {
    pub(super) budget: &'a Budget,
    /// What a run of the plan takes, in **seconds**.
    pub(super) run: f64,
    /// Whether other work disturbed it so far.
    pub(super) disturbed: bool,
}

/// Compares the quantised nodes of a network with f32, if it has any. `quantised` has what each node takes in the plan.
pub(super) fn compared(
    network: &Network,
    twins: &Twins,
    quantised: &[Option<Profile>],
    options: &PlanOptions,
    time: Time<'_>,
    cache: &mut Cache,
) -> Result<Option<ComparedWithF32>> {
    if twins.of.is_empty() {
        return Ok(None);
    }
    let known = match known(twins, options, time, cache) {
        Ok(known) => known,
        Err(Error::Stopped) => return Err(Error::Stopped),
        // The plan is there without it, and memory may be short.
        Err(_) => vec![Known::default(); twins.len()],
    };
    Ok(Some(ComparedWithF32::of(network, twins, &known, quantised)))
}

/// Measures the twins of which nothing is known.
fn known(twins: &Twins, options: &PlanOptions, time: Time<'_>, cache: &mut Cache) -> Result<Vec<Known>> {
    let (network, nodes) = &twins.network()?;
    let Time { budget, run, disturbed } = time;
    let weights = PackedWeights::new(&options.stop);
    let candidates = candidates::candidates(network, &targets(), options.limits, &options.stop)?;
    // Else the weights of all would be packed, and none of them measured.
    let last = budget.half(Part::Twins, run, disturbed);
    let mut measuring = Measuring::new(network, &weights, cache, Some(last));
    let places = measuring.candidates(&candidates)?;
    let tasks = measuring.measured(*budget, (Part::Twins, disturbed), &|_| run)?;
    let each = |list: &Vec<_>| list.iter().map(|place: &super::costs::Place| place.profile(&tasks)).collect();
    let mut profiles: NodeProfiles = places.iter().map(each).collect();
    let seconds = |list: &Vec<Option<Profile>>| {
        list.iter().map(|profile| profile.map_or(f64::INFINITY, |p| p.seconds)).collect()
    };
    let seconds: Vec<Vec<f64>> = profiles.iter().map(seconds).collect();
    for (node, candidate) in algorithms::beyond(network, &candidates, &seconds, options.limits) {
        profiles[node][candidate] = None;
    }
    let is_complete =
        |nodes: &Range<usize>| !places[nodes.clone()].iter().flatten().any(|p| p.is_late(&tasks));
    let known = |nodes: &Range<usize>| Known {
        profile: fastest(&candidates, &profiles, nodes.clone()),
        is_complete: is_complete(nodes),
    };
    Ok(nodes.iter().map(known).collect())
}

/// What these nodes take, one after another or as one.
fn fastest(candidates: &[Vec<Choice>], profiles: &NodeProfiles, nodes: Range<usize>) -> Option<Profile> {
    let of = |node: usize| candidates[node].iter().zip(&profiles[node]);
    let least = |a: Profile, b: Profile| if b.seconds < a.seconds { b } else { a };
    let alone = |node| {
        let profiles = of(node).filter(|(choice, _)| choice.group.is_none()).filter_map(|(_, p)| *p);
        profiles.reduce(least)
    };
    let one_by_one = nodes.clone().map(alone).reduce(|all, own| {
        let (all, own) = (all?, own?);
        Some(Profile::once(all.seconds + own.seconds, all.disturbed || own.disturbed))
    });
    let is_whole = |choice: &Choice| {
        choice.group.as_ref().is_some_and(|group| group.nodes.iter().copied().eq(nodes.clone()))
    };
    let as_one = of(nodes.end - 1).filter(|(choice, _)| is_whole(choice)).filter_map(|(_, p)| *p);
    one_by_one.flatten().into_iter().chain(as_one).reduce(least)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use blocktensor::StridedTensor;
    use blocktensor::dispatch::Isa;

    use super::super::costs::key;
    use super::*;
    use crate::plan::algorithms::Limits;
    use crate::{Constant, Graph, Integer, Param, Profiles, Sizes, ValueId};

    fn profile(seconds: f64, disturbed: bool) -> Profile {
        Profile::once(seconds, disturbed)
    }

    #[test]
    fn f32_is_faster_by_a_clear_margin_or_not_at_all() {
        let faster = |quantised: f64, in_f32: f64| {
            is_faster(&profile(in_f32 * 1e-6, false), &profile(quantised * 1e-6, false))
        };
        assert_eq!([faster(50.0, 100.0), faster(100.0, 100.0), faster(109.0, 100.0)], [Some(false); 3]);
        assert_eq!([faster(111.0, 100.0), faster(400.0, 100.0)], [Some(true); 2]);
        // Below the resolution of a measurement.
        assert_eq!([faster(3.9, 3.0), faster(4.1, 3.0)], [Some(false), Some(true)]);
        for (a, b) in [(true, false), (false, true), (true, true)] {
            assert_eq!(is_faster(&profile(1.0, a), &profile(9.0, b)), None);
        }
    }

    /// A convolution with a bias and relu, one with a residual, one with relu6, and a linear layer, in f32 or quantised.
    fn network(quantised: bool) -> Network {
        let mut graph = Graph::new();
        let mut names = 0;
        let mut constant = |graph: &mut Graph, constant: Constant| {
            names += 1;
            graph.constant(&format!("c{names}"), constant).unwrap()
        };
        let floats =
            |values: &[f32]| Constant::F32(StridedTensor::from_slice(values, &[values.len()]).unwrap());
        let zero = || Constant::Int { of: Integer::I32, dims: vec![1], values: vec![0] };
        let mut rounded = |graph: &mut Graph, x: ValueId, name: &str| {
            if !quantised {
                return x;
            }
            let scale = constant(graph, floats(&[0.01]));
            let zero = constant(graph, zero());
            let inputs = |x| [("x", x), ("scale", scale), ("zero_point", zero)];
            let of = [("dtype", Param::from("u8"))];
            let x = graph.op(&format!("q {name}"), "quantize", &inputs(x), &of).unwrap();
            graph.op(&format!("dq {name}"), "dequantize", &inputs(x), &[]).unwrap()
        };
        let mut made = 0;
        let mut weights = |graph: &mut Graph, dims: &[usize]| {
            made += 1;
            let values: Vec<i8> = (0..dims.iter().product()).map(|i: usize| (i % 251) as u8 as i8).collect();
            let integers = StridedTensor::from_slice(&values, dims).unwrap();
            if !quantised {
                let w = integers.to_dtype(blocktensor::DType::F32).unwrap();
                return graph.constant(&format!("w{made}"), Constant::F32(w)).unwrap();
            }
            let w = graph.constant(&format!("w{made}"), Constant::SignedByte(integers)).unwrap();
            let scale = graph.constant(&format!("scale {made}"), floats(&[0.002])).unwrap();
            let zero = graph.constant(&format!("zero {made}"), zero()).unwrap();
            let inputs = [("x", w), ("scale", scale), ("zero_point", zero)];
            graph.op(&format!("dq w{made}"), "dequantize", &inputs, &[]).unwrap()
        };
        let g = &mut graph;
        let image = g.input("image", &[1.into(), 16.into(), 12.into(), 10.into()]).unwrap();
        let x = rounded(g, image, "image");
        let bias = g.constant("bias", floats(&[0.1234567; 24])).unwrap();
        let w = weights(g, &[24, 16, 3, 3]);
        let inputs = [("x", x), ("weights", w), ("bias", bias)];
        let y = g.op("first", "conv2d", &inputs, &[("padding", Param::Int(1))]).unwrap();
        let y = g.op("relu", "relu", &[("x", y)], &[]).unwrap();
        let y = rounded(g, y, "first");
        let w = weights(g, &[24, 24, 1, 1]);
        let z = g.op("second", "conv2d", &[("x", y), ("weights", w)], &[]).unwrap();
        let z = rounded(g, z, "second");
        let z = g.op("sum", "add", &[("a", z), ("b", y)], &[]).unwrap();
        let z = g.op("sum relu", "relu", &[("x", z)], &[]).unwrap();
        let z = rounded(g, z, "sum");
        let w = weights(g, &[24, 1, 3, 3]);
        let params = [("padding", Param::Int(1)), ("groups", Param::Int(24))];
        let z = g.op("third", "conv2d", &[("x", z), ("weights", w)], &params).unwrap();
        // As ONNX writes relu6.
        let bounds = [("min", Param::Float(0.0)), ("max", Param::Float(6.0))];
        let z = g.op("clamp", "clamp", &[("x", z)], &bounds).unwrap();
        let z = rounded(g, z, "third");
        g.output("z", z).unwrap();
        let rows = g.input("rows", &[3.into(), 5.into(), 16.into()]).unwrap();
        let rows = rounded(g, rows, "rows");
        let w = weights(g, &[7, 16]);
        let rows = g.op("layer", "linear", &[("x", rows), ("weights", w)], &[]).unwrap();
        let rows = g.op("silu", "silu", &[("x", rows)], &[]).unwrap();
        g.output("rows", rows).unwrap();
        let mut network = graph.with_sizes(&Sizes::new()).unwrap();
        crate::passes::run(&mut network, &Default::default(), false, &Default::default()).unwrap();
        network
    }

    /// The keys of all candidates that run.
    fn keys(network: &Network) -> HashSet<String> {
        let weights = PackedWeights::default();
        let all =
            candidates::candidates(network, &targets(), Limits::default(), &Default::default()).unwrap();
        let nodes = all.iter().enumerate().flat_map(|(n, list)| list.iter().map(move |choice| (n, choice)));
        let runs = nodes.filter(|(n, choice)| weights.packed(network, *n, choice).is_ok());
        runs.map(|(n, choice)| key(network, n, choice).unwrap()).collect()
    }

    #[test]
    fn twins_are_the_operators_of_the_same_model_in_f32() {
        if !Isa::has_byte_products() {
            return;
        }
        let (quantised, plain) = (network(true), network(false));
        assert!(Twins::of(&plain).of.is_empty());
        let twins = Twins::of(&quantised);
        let named = |&(node, _): &(usize, usize)| quantised.nodes[node].origin.node.as_str();
        assert_eq!(twins.of.iter().map(named).collect::<Vec<_>>(), ["first", "second", "third", "layer"]);
        let (made, nodes) = twins.network().unwrap();
        assert_eq!((twins.len(), nodes.len(), made.nodes.len()), (4, 4, 5));
        let (own, plain) = (keys(&made), keys(&plain));
        assert!(own.len() > 4 && own.is_subset(&plain), "{:#?}\n{plain:#?}", own.difference(&plain));
    }

    #[test]
    fn what_is_not_known_is_counted_and_what_is_faster_is_named() {
        if !Isa::has_byte_products() {
            return;
        }
        let network = network(true);
        let twins = Twins::of(&network);
        let of = |known: [(Option<Profile>, bool); 4], quantised: [Option<Profile>; 4]| {
            let known = known.map(|(profile, is_complete)| Known { profile, is_complete });
            let mut taken = vec![None; network.nodes.len()];
            twins.of.iter().zip(quantised).for_each(|((node, _), profile)| taken[*node] = profile);
            ComparedWithF32::of(&network, &twins, &known, &taken)
        };
        let some = |seconds| Some(profile(seconds, false));
        let all = [some(2e-3); 4];
        let slow = (some(3e-3), true);
        let none = of([slow; 4], all);
        assert_eq!(none, ComparedWithF32 { operators: 4, ..ComparedWithF32::default() });
        assert_eq!(none.to_string(), "faster in f32: none of the quantised nodes that were compared\n");
        // Not all ways were measured: one of them may be faster. The one that is tells enough.
        let part = of([(some(1e-3), false), (some(3e-3), false), (None, false), (None, true)], all);
        let names: Vec<&str> = part.faster.iter().map(|node| node.name.as_str()).collect();
        assert_eq!((names, part.unknown), (vec!["first"], 2));
        let text = part.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["faster in f32:", "  first: 2000.0 us in 8 bits, 1000.0 us in f32"]);
        assert!(lines[2].contains("nodes_to_exclude"), "{text}");
        assert!(lines[3].starts_with("not compared with f32: 2 of 4 quantised operators"), "{text}");
        // Nor does a disturbed time tell.
        let disturbed = Some(profile(2e-3, true));
        assert_eq!(of([slow; 4], [disturbed, all[1], None, all[3]]).unknown, 2);
        let nothing = of([(None, false); 4], all).to_string();
        assert!(nothing.starts_with("not compared with f32: 4 of 4"), "{nothing}");
    }

    #[test]
    fn what_there_is_no_time_for_is_not_known_and_not_kept() {
        let twins = Twins::of(&network(true));
        let folder = tempfile::tempdir().unwrap();
        let profiles = Profiles::KeptIn(folder.path().into());
        let options = PlanOptions::default().profiles(profiles.clone());
        let mut cache = Cache::of(&profiles);
        let time = Time { budget: &Budget::over(), run: 1e-9, disturbed: true };
        let known = known(&twins, &options, time, &mut cache).unwrap();
        assert!(known.len() == twins.len() && known.iter().all(|k| k.profile.is_none() && !k.is_complete));
        assert_eq!(cache.save(), None);
        let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let text = std::fs::read_to_string(file).unwrap();
        assert!(!text.contains("conv2d"), "{text}");
    }

    #[test]
    fn a_layer_and_its_function_take_the_sum_or_what_they_take_as_one() {
        let twins = Twins::of(&network(true));
        let Some((made, nodes)) = (!twins.of.is_empty()).then(|| twins.network().unwrap()) else { return };
        let all = candidates::candidates(&made, &targets(), Limits::default(), &Default::default()).unwrap();
        let layer = nodes[3].clone();
        assert_eq!(layer.len(), 2);
        let fastest_of = |alone: f64, as_one: Option<f64>| {
            let of = |choice: &Choice| match &choice.group {
                None => Some(profile(alone, false)),
                Some(_) => as_one.map(|seconds| profile(seconds, false)),
            };
            let profiles = all.iter().map(|list| list.iter().map(of).collect()).collect();
            fastest(&all, &profiles, layer.clone()).map(|profile| profile.seconds)
        };
        assert_eq!([fastest_of(1.0, None), fastest_of(1.0, Some(3.0))], [Some(2.0); 2]);
        assert_eq!(fastest_of(1.0, Some(1.5)), Some(1.5));
    }
}
