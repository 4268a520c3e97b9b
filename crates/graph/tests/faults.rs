//! Planning, loading and running where any call of the engine, or any allocation, fails.

use blocktensor::testing::{Fault, inject};
use blocktensor::{PackedFile, StridedTensor};
use blocktensor_graph::{Constant, Error, Graph, Layouts, Plan, PlanOptions, Profiles, Result};

use crate::support::{random, relative_error};

/// A stem, a residual in place, a concatenation, a linear layer.
fn graph() -> Graph {
    let mut graph = Graph::new();
    let weights = |graph: &mut Graph, name: &str, dims: &[usize]| {
        graph.constant(name, Constant::F32(random(dims, dims.len() as u64))).unwrap()
    };
    let x = graph.input("x", &[1.into(), 3.into(), 8.into(), 7.into()]).unwrap();
    let w = weights(&mut graph, "w1", &[16, 3, 3, 3]);
    let padding = [("padding", 1i64.into())];
    let y = graph.op("stem", "conv2d", &[("x", x), ("weights", w)], &padding).unwrap();
    let w = weights(&mut graph, "w2", &[16, 16, 3, 3]);
    let z = graph.op("conv", "conv2d", &[("x", y), ("weights", w)], &padding).unwrap();
    let y = graph.op("add", "add", &[("a", z), ("b", y)], &[]).unwrap();
    let y = graph.op("cat", "cat", &[("tensors", y), ("tensors", z)], &[("axis", 1i64.into())]).unwrap();
    let y = graph.op("pool", "global_avg_pool", &[("x", y)], &[]).unwrap();
    let y = graph.op("flat", "view", &[("x", y)], &[("dims", vec![1i64, 32].into())]).unwrap();
    let w = weights(&mut graph, "w3", &[5, 32]);
    let y = graph.op("fc", "linear", &[("x", y), ("weights", w)], &[]).unwrap();
    graph.output("y", y).unwrap();
    graph
}

/// Runs `work` with every call of the engine and every allocation failing in turn: it returns a typed error, or the right
/// numbers, and the next time it works.
fn with_faults(what: &str, work: impl Fn() -> Result<StridedTensor> + Sync) {
    // Everything on one thread, which is where faults happen. Each attempt makes its kernels anew.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        let fresh = |fault| {
            #[cfg(feature = "onednn")]
            blocktensor::onednn::clear_cache();
            inject(fault, &work)
        };
        let (want, seen) = fresh(None);
        let want = want.unwrap();
        let statuses = [1, 2, 3, 5];
        let engine =
            (0..seen.engine_calls).flat_map(|nth| statuses.map(|status| Fault::Engine { nth, status }));
        let allocations = (0..seen.allocations).map(|nth| Fault::Allocation { nth });
        let heap = (0..seen.heap_allocations).map(|nth| Fault::Heap { nth });
        let mut failed = 0;
        for fault in engine.chain(allocations).chain(heap) {
            match fresh(Some(fault)).0 {
                Ok(got) => assert!(relative_error(&got, &want) < 1e-6, "{what}, {fault:?}"),
                Err(Error::Engine(_) | Error::Operator { .. } | Error::Invalid { .. }) => failed += 1,
                Err(error) => panic!("{what}, {fault:?}: {error}"),
            }
        }
        assert!(failed > 5, "{what}: {failed} of {seen:?} failed");
        let again = fresh(None).0.unwrap();
        assert!(relative_error(&again, &want) < 1e-6, "{what}");
    });
}

#[test]
fn every_call_of_the_engine_and_every_allocation_may_fail_in_a_planning_and_a_run() {
    let (graph, x) = (graph(), random(&[1, 3, 8, 7], 7));
    for layouts in Layouts::ALL {
        with_faults(layouts.name(), || {
            let plan = graph.plan(&PlanOptions::new(layouts).profiles(Profiles::Estimated))?;
            Ok(plan.run(&[&x])?.remove(0))
        });
    }
}

#[test]
fn they_may_fail_where_a_plan_is_loaded_and_in_the_run_of_a_plan_that_stays_usable() {
    let x = random(&[1, 3, 8, 7], 8);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.plan");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for layouts in Layouts::FIXED {
        let plan = pool.install(|| graph().plan(&PlanOptions::new(layouts)).unwrap());
        plan.save(&path, false).unwrap();
        with_faults("loading", || {
            let plan = Plan::load(&PackedFile::read(&path)?)?;
            Ok(plan.run(&[&x])?.remove(0))
        });
        pool.install(|| {
            let want = plan.run(&[&x]).unwrap();
            let (_, seen) = inject(None, || plan.run(&[&x]));
            for nth in 0..seen.engine_calls {
                let (result, _) = inject(Some(Fault::Engine { nth, status: 5 }), || plan.run(&[&x]));
                assert!(
                    matches!(result, Err(Error::Operator { .. } | Error::Engine(_))),
                    "{layouts:?}, call {nth}"
                );
                let next = plan.run(&[&x]).unwrap();
                assert_eq!(next[0].to_vec::<f32>().unwrap(), want[0].to_vec::<f32>().unwrap());
            }
        });
    }
}

/// Layers of many channels: their lists are large allocations.
fn wide() -> Graph {
    let channels = 17_000;
    let mut graph = Graph::new();
    let list = |graph: &mut Graph, name: &str, dims: &[usize]| {
        let values = random(dims, name.len() as u64).to_vec::<f32>().unwrap();
        let values: Vec<f32> = values.iter().map(|v| v.abs() + 0.5).collect();
        graph.constant(name, Constant::F32(StridedTensor::from_slice(&values, dims).unwrap())).unwrap()
    };
    let x = graph.input("x", &[1.into(), 1.into(), 2.into(), 2.into()]).unwrap();
    let w = list(&mut graph, "weights", &[channels, 1, 1, 1]);
    let b = list(&mut graph, "bias", &[channels]);
    let mut y = graph.op("conv", "conv2d", &[("x", x), ("weights", w), ("bias", b)], &[]).unwrap();
    for name in ["first", "other"] {
        let numbers = ["mean", "var", "weight", "bias"]
            .map(|n| (n, list(&mut graph, &format!("{name}_{n}"), &[channels])));
        let inputs: Vec<_> = [("x", y)].into_iter().chain(numbers).collect();
        y = graph.op(name, "batch_norm", &inputs, &[]).unwrap();
        let slopes = list(&mut graph, &format!("{name}_slopes"), &[channels]);
        y = graph.op(&format!("{name}_prelu"), "prelu", &[("x", y), ("weights", slopes)], &[]).unwrap();
    }
    y = graph.op("halved", "mul_scalar", &[("x", y)], &[("other", 0.5.into())]).unwrap();
    graph.output("y", y).unwrap();
    graph
}

#[test]
fn every_large_list_may_fail_where_a_plan_is_made_saved_loaded_compared_and_run() {
    let (graph, x) = (wide(), random(&[1, 1, 2, 2], 7));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.plan");
    for layouts in Layouts::ALL {
        let options = || PlanOptions::new(layouts).profiles(Profiles::Estimated).keep_constants();
        with_faults(layouts.name(), || {
            let plan = graph.plan(&options())?;
            plan.save(&path, true)?;
            let plan = Plan::load_with_constants(&PackedFile::read(&path)?)?;
            plan.errors(&[&x])?;
            Ok(plan.run(&[&x])?.remove(0))
        });
    }
}
