//! PyTorch's gradients of the losses, made by scripts/goldens_gradients.py.

use std::path::Path;

use blocktensor::testing::{Cases, Strided, conformance};

#[test]
fn losses_agree_with_pytorch() {
    let names = ["cross_entropy", "mse_loss"];
    for name in names {
        blocktensor_grad::loss(name).unwrap();
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/gradients/losses");
    let report = conformance(&Strided { channels_last: false }, &Cases::read(&folder).unwrap()).unwrap();
    assert!(report.wrong().is_empty(), "{report}");
    // By the logits three times, by both operands twice.
    let counts: Vec<usize> = names.iter().map(|name| report.gradients[*name]).collect();
    assert_eq!((report.passed(), counts), (5, vec![3, 4]), "{report}");
}
