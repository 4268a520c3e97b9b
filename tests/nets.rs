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
fn networks_agree_in_every_layout_and_reorder_weights_once() {
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
                ledger::record(|| Network::pack(&arch, &mut weights.clone(), mode, 2, 64).unwrap());
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
fn loading_a_network_names_the_weights_that_do_not_fit() {
    let arch = Arch::by_name("resnet18").unwrap();
    let mut other = Weights::random(&Arch::by_name("resnet50").unwrap(), 1).unwrap();
    let e = Network::pack(&arch, &mut other, Mode::Nhwc, 1, 64).map(|_| ()).unwrap_err();
    let text = e.to_string();
    assert!(text.contains("layer1.0.conv1.weight") && text.contains("[64, 64, 3, 3]"), "{text}");
    let dir = std::env::temp_dir().join(format!("blocktensor-nets-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("cut.safetensors");
    std::fs::write(&path, [9, 0, 0, 0, 0, 0, 0, 0, b'{']).unwrap();
    let e = Weights::load(&path, &arch, false).map(|_| ()).unwrap_err();
    assert!(matches!(e, blocktensor::Error::CorruptFile(_)), "{e}");
    let e = Weights::load(&dir.join("none.safetensors"), &arch, false).map(|_| ()).unwrap_err();
    assert!(e.to_string().contains("none.safetensors"), "{e}");
    // A file of another network: with `strict` the error names every missing and unexpected tensor; without, they are listed.
    Weights::random(&Arch::by_name("mobilenet_v2").unwrap(), 1).unwrap().save(&path).unwrap();
    let e = Weights::load(&path, &arch, true).map(|_| ()).unwrap_err();
    assert!(e.to_string().contains("missing conv1.weight") && e.to_string().contains("left over"), "{e}");
    let (mut weights, keys) = Weights::load(&path, &arch, false).unwrap();
    assert!(keys.missing.len() == 102 && keys.left_over.contains(&"features.0.0.weight".to_string()));
    let e = Network::pack(&arch, &mut weights, Mode::Nhwc, 1, 64).map(|_| ()).unwrap_err();
    assert!(e.to_string().contains("conv1.weight"), "{e}");
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
    let pack = || Network::pack(&arch, &mut weights.clone(), mode, 1, 33).unwrap();
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

/// The names that timm and torchvision give to the tensors of MobileNetV2.
#[test]
fn networks_load_weights_under_the_names_of_timm() {
    let arch = Arch::by_name("mobilenet_v2").unwrap();
    let pairs = [
        ("conv_stem.weight", "features.0.0.weight"),
        ("bn1.running_mean", "features.0.1.running_mean"),
        ("blocks.0.0.conv_dw.weight", "features.1.conv.0.0.weight"),
        ("blocks.0.0.conv_pw.weight", "features.1.conv.1.weight"),
        ("blocks.1.0.conv_pw.weight", "features.2.conv.0.0.weight"),
        ("blocks.1.1.bn2.weight", "features.3.conv.1.1.weight"),
        ("blocks.5.2.conv_pwl.weight", "features.16.conv.2.weight"),
        ("blocks.6.0.bn3.bias", "features.17.conv.3.bias"),
        ("conv_head.weight", "features.18.0.weight"),
        ("bn2.running_var", "features.18.1.running_var"),
        ("classifier.bias", "classifier.1.bias"),
    ];
    let mut all = Weights::random(&arch, 1).unwrap();
    let mut timm = blocktensor::StateDict::new();
    for (theirs, ours) in pairs {
        timm.insert(theirs, all.dict().take(ours).unwrap().to_dtype(blocktensor::DType::F16).unwrap());
    }
    let path = std::env::temp_dir().join(format!("blocktensor-timm-{}.safetensors", std::process::id()));
    timm.save(&path).unwrap();
    let (mut weights, keys) = Weights::load(&path, &arch, false).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(keys.left_over.is_empty(), "{:?}", keys.left_over);
    for (_, ours) in pairs {
        assert!(!keys.missing.iter().any(|m| m == ours), "{ours}");
        // Half precision is converted to f32.
        assert_eq!(weights.dict().take(ours).unwrap().dtype(), blocktensor::DType::F32);
    }
}

#[test]
fn a_network_comes_back_from_its_packed_file_to_the_bit() {
    let arch = Arch::by_name("resnet18").unwrap();
    let path = std::env::temp_dir().join(format!("blocktensor-net-{}.packed", std::process::id()));
    for mode in Mode::ALL.into_iter().filter(|&m| m != Mode::Blocked || cfg!(feature = "onednn")) {
        let network = Network::pack(&arch, &mut Weights::random(&arch, 1).unwrap(), mode, 1, 64).unwrap();
        let image = blocktensor_nets::noise(1, 64, 5).unwrap().contiguous(mode.image_format()).unwrap();
        let want = network.run(&image).unwrap().to_vec::<f32>().unwrap();
        network.save(&path, false).unwrap();
        let bytes = std::fs::metadata(&path).unwrap().len() as usize;
        assert!(bytes < network.packed_bytes() + 64 * 1024, "{bytes}");
        let read = ledger::deny_reorders(|| {
            let file = blocktensor::PackedFile::read(&path)?;
            Network::load(&arch, &file, mode, 1, 64)
        });
        assert_eq!(read.unwrap().run(&image).unwrap().to_vec::<f32>().unwrap(), want, "{}", mode.name());
        let file = blocktensor::PackedFile::read(&path).unwrap();
        let e = Network::load(&arch, &file, mode, 1, 32).map(|_| ()).unwrap_err();
        assert!(matches!(e, blocktensor::Error::PackMismatch(_)) && e.to_string().contains("conv1"), "{e}");
    }
    std::fs::remove_file(&path).unwrap();
}
