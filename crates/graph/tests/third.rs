//! Plans with a backend of another crate.

use blocktensor::ledger;
use blocktensor::{PackedFile, StridedTensor};
use blocktensor_graph::{Constant, Error, Graph, Layouts, Plan, PlanOptions, Profiles};

use crate::support::random;

/// A convolution, an op that only the other backend has, and one that all have.
fn graph() -> Graph {
    blocktensor_third_backend::key();
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 3.into(), 6.into(), 5.into()]).unwrap();
    let w = graph.constant("w", Constant::F32(random(&[17, 3, 3, 3], 1))).unwrap();
    let y = graph.op("conv", "conv2d", &[("x", x), ("weights", w)], &[]).unwrap();
    let y = graph.op("shift", "reversed_shift", &[("x", y)], &[("by", 0.25f64.into())]).unwrap();
    let y = graph.op("act", "relu", &[("x", y)], &[]).unwrap();
    graph.output("y", y).unwrap();
    graph
}

fn by_hand(x: &StridedTensor) -> Vec<f32> {
    let y = blocktensor::ops::conv2d(x, &random(&[17, 3, 3, 3], 1), None, &Default::default()).unwrap();
    y.to_vec::<f32>().unwrap().iter().map(|v| (v + 0.25).max(0.0)).collect()
}

#[test]
fn an_op_of_another_backend_runs_there_between_reorders_that_the_plan_shows() {
    let x = random(&[1, 3, 6, 5], 2);
    let folder = tempfile::tempdir().unwrap();
    for layouts in Layouts::ALL {
        let plan = graph().plan(&PlanOptions::new(layouts).profiles(Profiles::Measured)).unwrap();
        let there = plan.reorders().iter().filter(|r| r.to == "back_to_front").count();
        let back = plan.reorders().iter().filter(|r| r.from == "back_to_front").count();
        assert_eq!((there, back), (1, 1), "{plan}");
        let (got, book) = ledger::record(|| plan.run(&[&x]).unwrap());
        assert_eq!(book.reorders.len(), plan.reorders().len(), "{plan}{book}");
        for (got, want) in got[0].to_vec::<f32>().unwrap().iter().zip(by_hand(&x)) {
            assert!((got - want).abs() < 1e-5, "{got} and {want} with {layouts:?}");
        }
        assert!(plan.to_dot().contains("back_to_front") && plan.to_svg(None).contains("back_to_front"));
        let path = folder.path().join("model.plan");
        plan.save(&path, false).unwrap();
        let loaded = Plan::load(&PackedFile::read(&path).unwrap()).unwrap();
        assert_eq!(loaded.to_string(), plan.to_string());
        let again = loaded.run(&[&x]).unwrap();
        assert_eq!(again[0].to_vec::<f32>().unwrap(), got[0].to_vec::<f32>().unwrap());
    }
}

#[test]
fn a_limit_of_reorders_is_kept_or_the_error_says_how_few_are_possible() {
    for layouts in Layouts::ALL {
        for profiles in [Profiles::Measured, Profiles::Estimated] {
            let options = |most| PlanOptions::new(layouts).profiles(profiles.clone()).at_most_reorders(most);
            let error = graph().plan(&options(1)).unwrap_err();
            assert!(matches!(&error, Error::Invalid { what, .. } if what == "reorders"), "{error:?}");
            let text = error.to_string();
            assert!(text.contains("conv to back_to_front (") && text.contains("at most 1 may be"), "{text}");
            let measured = layouts == Layouts::Measured;
            assert_eq!(text.contains(" reorders at least in each run"), measured, "{text}");
            // There and back; oneDNN's kernels reorder once more.
            let least = if cfg!(feature = "onednn") { 2..=3 } else { 2..=2 };
            let found: usize =
                text.rsplit("`reorders=").next().unwrap().split('`').next().unwrap().parse().unwrap();
            assert!(!measured || least.contains(&found), "{text}");
            assert_eq!(
                text.contains("or plan measured layouts, which keep to it where they can"),
                !measured,
                "{text}"
            );
            match graph().plan(&options(found)) {
                Ok(plan) => assert_eq!(plan.reorders().len(), found, "{plan}"),
                Err(error) => assert!(!measured, "{error}"),
            }
        }
    }
}
