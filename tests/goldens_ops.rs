//! PyTorch's own answers (computed in f64), on every key: strided contiguous, strided channels-last, blocked.

use std::path::PathBuf;

use blocktensor::testing::{Backend, Blocked, Cases, Strided, conformance};

/// `$GOLDENS_DIR`, or the copies in the repository.
pub fn directory() -> PathBuf {
    match std::env::var_os("GOLDENS_DIR") {
        Some(dir) => dir.into(),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data"),
    }
}

#[test]
fn goldens_ops() {
    let backends: [(&str, &dyn Backend); 3] = [
        ("strided contiguous", &Strided { channels_last: false }),
        ("strided channels-last", &Strided { channels_last: true }),
        ("blocked", &Blocked),
    ];
    // The second has gradients of ops that have none in the first, and at the points where functions bend.
    for folder in ["ops", "gradients"] {
        let cases = Cases::read(&directory().join(folder)).unwrap();
        for (name, backend) in backends {
            let report = conformance(backend, &cases).unwrap();
            println!("{folder}, {name}: {report}");
            assert!(report.wrong().is_empty(), "{folder}, {name}: {report}");
            assert!(report.passed() > 30, "{folder}, {name}: {report}");
        }
    }
}
