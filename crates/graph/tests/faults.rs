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
        let mut failed = 0;
        for fault in engine.chain(allocations) {
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
