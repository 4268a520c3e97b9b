//! PyTorch's own answers (computed in f64), on every key: strided contiguous, strided channels-last, blocked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use blocktensor::dispatch;
use blocktensor::testing::{Backend, Blocked, Cases, Outcome, Strided, conformance};
use serde_json::Value as Json;

/// `$GOLDENS_DIR`, or the copies in the repository.
pub fn directory() -> PathBuf {
    match std::env::var_os("GOLDENS_DIR") {
        Some(dir) => dir.into(),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data"),
    }
}

const BACKENDS: [(&str, &dyn Backend); 3] = [
    ("strided contiguous", &Strided { channels_last: false }),
    ("strided channels-last", &Strided { channels_last: true }),
    ("blocked", &Blocked),
];

/// How many gradients of operands each case has.
fn gradients_of_cases(folder: &Path) -> BTreeMap<String, usize> {
    let index = std::fs::read_to_string(folder.join("index.jsonl")).unwrap();
    let of = |line: &str| {
        let case: Json = serde_json::from_str(line).unwrap();
        let names = case["tensors"].as_object().unwrap().keys();
        let count = names.filter(|name| name.starts_with('d') && !name.starts_with("dy")).count();
        (case["case"].as_str().unwrap().to_string(), count)
    };
    index.lines().map(of).collect()
}

#[test]
fn goldens_ops() {
    // The second has gradients of ops that have none in the first, and at the points where functions bend.
    for folder in ["ops", "gradients"] {
        let path = directory().join(folder);
        let (cases, gradients) = (Cases::read(&path).unwrap(), gradients_of_cases(&path));
        for (name, backend) in BACKENDS {
            let report = conformance(backend, &cases).unwrap();
            println!("{folder}, {name}: {report}");
            assert!(report.wrong().is_empty(), "{folder}, {name}: {report}");
            assert!(report.passed() > 30, "{folder}, {name}: {report}");
            // Every gradient of every case that ran, and none is passed over.
            let ran = report.cases.iter().filter(|case| case.2 == Outcome::Passed);
            let wanted: usize = ran.map(|case| gradients[&case.0]).sum();
            let compared: usize = report.gradients.values().sum();
            assert_eq!(compared, wanted, "{folder}, {name}: {:?}", report.gradients);
        }
    }
}

/// Ops with a gradient for which PyTorch's would be another, and why.
const WITHOUT_GOLDEN: [(&str, &str); 2] = [
    ("dropout", "PyTorch draws what it keeps from another generator"),
    ("feature_dropout", "PyTorch draws what it keeps from another generator"),
];

/// An op that gets a gradient needs a case in scripts/goldens_gradients.py.
#[test]
fn every_gradient_has_an_answer_of_pytorch() {
    let backends: [&dyn Backend; 2] = [&Strided { channels_last: false }, &Blocked];
    for backend in backends {
        let compared: BTreeSet<String> = ["ops", "gradients"]
            .into_iter()
            .flat_map(|folder| {
                let cases = Cases::read(&directory().join(folder)).unwrap();
                conformance(backend, &cases).unwrap().gradients.into_keys()
            })
            .collect();
        let ops = dispatch::ops();
        let names = ops.iter().filter(|op| op.gradients(backend.key()).next().is_some());
        let missing: Vec<&str> =
            names.map(|op| op.schema().name).filter(|name| !compared.contains(*name)).collect();
        assert_eq!(missing, WITHOUT_GOLDEN.map(|(name, _)| name), "on {}", backend.key());
    }
}
