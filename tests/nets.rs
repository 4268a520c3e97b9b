//! The networks of the examples: all layouts agree, and nothing is reordered on the way.

use std::sync::atomic::{AtomicUsize, Ordering};

use blocktensor::StridedTensor;
use blocktensor::ledger::{self, Cause};
use blocktensor_nets::{Arch, Mode, Network, Weights};

fn relative_l2(a: &[f32], b: &[f32]) -> f64 {
    let square = |v: f64| v * v;
    let difference: f64 = a.iter().zip(b).map(|(x, y)| square(f64::from(x - y))).sum();
    (difference / a.iter().map(|&x| square(f64::from(x))).sum::<f64>()).sqrt()
}

#[test]
fn layouts_agree_and_weights_are_reordered_once() {
    for name in Arch::NAMES.into_iter().filter(|n| ["resnet18", "mobilenet_v2"].contains(n)) {
        let arch = Arch::by_name(name).unwrap();
        let weights = Weights::random(&arch, 1).unwrap();
        let image = blocktensor_nets::noise(2, 64, 5).unwrap();
        let mut logits: Vec<Vec<f32>> = Vec::new();
        for mode in Mode::ALL {
            if mode == Mode::Blocked && !cfg!(feature = "onednn") {
                continue;
            }
            let (network, packing) =
                ledger::record(|| Network::pack(&arch, &mut weights.share(), mode, 2, 64).unwrap());
            assert!(packing.reorders.iter().all(|r| r.cause == Cause::Packing), "{packing}");
            assert!(network.packed_bytes() > 4_000_000);
            let image = image.contiguous(mode.image_format()).unwrap();
            let (y, book) = ledger::record(|| blocktensor::run(|| network.run(&image).unwrap()));
            let moved: Vec<_> = book.reorders.iter().filter(|r| r.cause != Cause::Internal).collect();
            match mode {
                // One reorder out, none in: the stem reads the plain image.
                Mode::Blocked => assert!(moved.len() == 1 && &*moved[0].op == "to_strided", "{name}: {book}"),
                _ => assert!(moved.is_empty(), "{name} {}: {book}", mode.name()),
            }
            assert!(book.runs.iter().all(|r| !r.implementation.starts_with("ref")));
            logits.push(y.to_vec::<f32>().unwrap());
        }
        for other in &logits[1..] {
            let distance = relative_l2(&logits[0], other);
            assert!(distance < 1e-5, "{}: {distance:e}", arch.name);
        }
    }
}

#[test]
fn weights_that_do_not_fit_are_named() {
    let arch = Arch::by_name("resnet18").unwrap();
    let mut other = Weights::random(&Arch::by_name("resnet50").unwrap(), 1).unwrap();
    let e = Network::pack(&arch, &mut other, Mode::Nhwc, 1, 64).map(|_| ()).unwrap_err();
    let text = e.to_string();
    assert!(text.contains("layer1.0.conv1.weight") && text.contains("[64, 64, 3, 3]"), "{text}");
    let dir = std::env::temp_dir().join(format!("blocktensor-nets-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("cut.safetensors");
    std::fs::write(&path, [9, 0, 0, 0, 0, 0, 0, 0, b'{']).unwrap();
    let e = Weights::load(&path).map(|_| ()).unwrap_err();
    assert!(matches!(e, blocktensor::Error::CorruptFile(_)), "{e}");
    let e = Weights::load(&dir.join("none.safetensors")).map(|_| ()).unwrap_err();
    assert!(e.to_string().contains("none.safetensors"), "{e}");
    // A whole file that lacks a tensor.
    let bytes = 1f32.to_le_bytes();
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![1], &bytes).unwrap();
    safetensors::serialize_to_file([("bn1.weight", view)], None, &path).unwrap();
    let e =
        Network::pack(&arch, &mut Weights::load(&path).unwrap(), Mode::Nhwc, 1, 64).map(|_| ()).unwrap_err();
    assert!(e.to_string().contains("conv1.weight") && e.to_string().contains("cut.safetensors"), "{e}");
    std::fs::remove_dir_all(&dir).unwrap();
}

/// A packed network is shared by reference: many threads run it at once, while others pack and drop networks.
#[test]
fn thirty_two_threads_run_one_packed_network_to_the_same_bits() {
    fn shared<T: Send + Sync>(t: &T) -> &T {
        t
    }
    let arch = Arch::by_name("resnet18").unwrap();
    let weights = Weights::random(&arch, 3).unwrap();
    let mode = if cfg!(feature = "onednn") { Mode::Blocked } else { Mode::Nhwc };
    let pack = || Network::pack(&arch, &mut weights.share(), mode, 1, 33).unwrap();
    let network = pack();
    let network = shared(&network);
    let image = blocktensor_nets::noise(1, 33, 5).unwrap().contiguous(mode.image_format()).unwrap();
    let bits =
        |y: StridedTensor| y.to_vec::<f32>().unwrap().into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let want = bits(network.run(&image).unwrap());
    let running = AtomicUsize::new(32);
    std::thread::scope(|s| {
        for i in 0..32 {
            let (image, want, running) = (&image, &want, &running);
            s.spawn(move || {
                struct Done<'a>(&'a AtomicUsize);
                impl Drop for Done<'_> {
                    fn drop(&mut self) {
                        self.0.fetch_sub(1, Ordering::Relaxed);
                    }
                }
                let _done = Done(running);
                for _ in 0..3 {
                    let y =
                        if i % 2 == 0 { network.run(image) } else { blocktensor::run(|| network.run(image)) };
                    assert!(bits(y.unwrap()) == *want);
                }
            });
        }
        s.spawn(|| {
            while running.load(Ordering::Relaxed) > 0 {
                drop(pack());
            }
        });
    });
}
