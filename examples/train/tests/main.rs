//! What the example promises, on small networks: bits that depend neither on threads nor on a stop between, equal losses in both formats,
//! and few reorders.

use blocktensor::ledger::{self, Cause, Ledger};
use blocktensor::ops::Algorithm;
use blocktensor::{StateDict, StridedTensor, run_with_threads};
use blocktensor_grad::Sgd;
use blocktensor_train::data::{Data, SIZE, Task};
use blocktensor_train::model::{Format, Model};
use blocktensor_train::net::Net;
use blocktensor_train::step::{accuracy, prepare, step};

// Channel tails on purpose.
const NETS: [Net; 2] = [Net::ResNet18 { width: 5 }, Net::UNet { width: 5 }];
const FORMATS: [Format; 2] = [Format::Blocked, Format::Nhwc];

fn model(format: Format) -> Model {
    Model::new(format, 3, sgd())
}

fn sgd() -> Sgd {
    Sgd::new(0.02).momentum(0.9)
}

fn data(net: Net, format: Format) -> Data {
    Data::new(net.task(), format, 3, [2, 4, SIZE]).unwrap()
}

/// The losses of steps up to `to`.
fn train(net: Net, model: &mut Model, data: &Data, to: usize) -> Vec<u32> {
    (model.steps..to).map(|_| step(net, model, data).unwrap().to_bits()).collect()
}

/// Weights, statistics and velocities, as a file has them.
fn bits(model: &Model) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    model.save(&path).unwrap();
    std::fs::read(path).unwrap()
}

/// Whether oneDNN computes convolutions of this format by calls, which pack their weights each time.
fn is_of_onednn(format: Format) -> bool {
    cfg!(feature = "onednn") && matches!(format, Format::Nhwc)
}

#[test]
fn the_bits_depend_neither_on_threads_nor_on_a_stop() {
    for net in NETS {
        for format in FORMATS {
            let data = data(net, format);
            let run = |threads| {
                run_with_threads(threads, || {
                    let mut model = model(format);
                    let losses = train(net, &mut model, &data, 4);
                    (losses, bits(&model), accuracy(net, &mut model, &data).unwrap())
                })
            };
            let whole = run(1);
            for threads in [2, 3] {
                // How oneDNN divides sums over channels-last sources depends on the number of threads; two runs agree.
                let same = if is_of_onednn(format) { &run(threads) } else { &whole };
                assert!(run(threads) == *same, "{net:?}, {format:?}: {threads} threads");
            }
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("half.safetensors");
            let mut first = model(format);
            let mut losses = run_with_threads(1, || train(net, &mut first, &data, 2));
            first.save(&path).unwrap();
            let mut second = Model::resume(&path, format, sgd()).unwrap();
            losses.extend(run_with_threads(1, || train(net, &mut second, &data, 4)));
            assert!(losses == whole.0 && bits(&second) == whole.1, "{net:?}, {format:?}: resumed");
        }
    }
}

#[test]
fn losses_agree_and_reorders_are_few() {
    for net in NETS {
        let recorded = FORMATS.map(|format| {
            let (data, mut model) = (data(net, format), model(format));
            let mut losses = train(net, &mut model, &data, 1);
            let (rest, book) = ledger::record(|| train(net, &mut model, &data, 2));
            losses.extend(rest);
            (losses.into_iter().map(f32::from_bits).collect::<Vec<f32>>(), book)
        });
        let [(blocked, book), (nhwc, plain)] = recorded;
        for (a, b) in blocked.iter().zip(&nhwc) {
            assert!((a - b).abs() <= 1e-4 * b.abs(), "{net:?}: {blocked:?} and {nhwc:?}");
        }
        let of = |book: &Ledger, cause| book.reorders.iter().filter(|r| r.cause == cause).count();
        // The logits' way out and their gradient's way back.
        assert_eq!(of(&book, Cause::Call), 2, "{book}");
        // All convolutions of the network but the first, whose source is the image: once each.
        let convolutions = match net {
            Net::ResNet18 { .. } => 20,
            _ => 12,
        };
        assert_eq!(of(&book, Cause::Packing), convolutions, "{book}");
        assert_eq!(book.reorders.len(), 2 + convolutions, "{book}");
        // In NHWC the same weights; activations only inside of kernels of transposed convolutions, and where oneDNN wants them dense.
        let of_weights = |r: &ledger::ReorderRecord| r.cause == Cause::Packing;
        let transposed =
            |r: &ledger::ReorderRecord| r.cause == Cause::DenseCopy && r.op == "conv_transpose2d";
        if is_of_onednn(Format::Nhwc) {
            let others = plain.reorders.iter().filter(|r| !of_weights(r) && !transposed(r)).count();
            assert!(others <= 2 && plain.reorders.len() <= 2 * convolutions + 3, "{plain}");
        } else {
            assert!(plain.reorders.iter().all(transposed) && plain.reorders.len() <= convolutions, "{plain}");
        }
    }
}

/// Winograd's algorithm computes convolutions forward and the gradients of their sources and weights: three of four calls have 3x3
/// kernels here.
#[test]
fn winograds_algorithm_has_nearly_the_same_losses() {
    let net = Net::ResNet18 { width: 16 };
    let data = data(net, Format::Blocked);
    let [direct, winograd] = [Algorithm::Direct, Algorithm::Winograd(4)].map(|algorithm| {
        let mut model = model(Format::Blocked);
        model.algorithm = algorithm;
        let mut losses = train(net, &mut model, &data, 3);
        let (loss, book) = ledger::record(|| train(net, &mut model, &data, 4));
        losses.extend(loss);
        let runs = book.runs.iter().filter(|run| run.implementation.contains("winograd4")).count();
        (losses.into_iter().map(f32::from_bits).collect::<Vec<f32>>(), runs)
    });
    for (a, b) in direct.0.iter().zip(&winograd.0) {
        assert!((a - b).abs() <= 1e-4 * a.abs(), "{direct:?} and {winograd:?}");
    }
    // 14 of the 20 convolutions; the first one's source needs no gradient.
    assert_eq!((direct.1, winograd.1), (0, 14 + 13));
}

#[test]
fn the_large_networks_agree_in_both_formats() {
    for net in [Net::ResNet50, Net::MobileNetV2] {
        let [blocked, nhwc] = FORMATS.map(|format| {
            let (data, mut model) = (data(net, format), model(format));
            f32::from_bits(train(net, &mut model, &data, 1)[0])
        });
        assert!((blocked - nhwc).abs() <= 1e-4 * nhwc.abs(), "{net:?}: {blocked} and {nhwc}");
    }
}

#[test]
fn evaluation_uses_the_running_statistics() {
    let net = NETS[1];
    let (data, mut model) = (data(net, Format::Blocked), model(Format::Blocked));
    train(net, &mut model, &data, 3);
    let (_folder, path) = saved(&model);
    let dict = StateDict::read(path).unwrap();
    for (of, start) in [("running_mean", 0.0), ("running_var", 1.0)] {
        let statistics = dict.get(&format!("bottom.bn1.{of}")).unwrap().to_vec::<f32>().unwrap();
        assert!(statistics.iter().all(|&v| v != start), "{of}: {statistics:?}");
    }
    let before = bits(&model);
    let right = accuracy(net, &mut model, &data).unwrap();
    assert!(bits(&model) == before, "evaluation changes nothing");
    // Batches that are evaluated alone give the same classes: nothing depends on the others of a batch.
    let alone = |i: usize| {
        let one = Data { images: vec![data.images[i].clone()], classes: vec![data.classes[i].clone()] };
        let (_folder, path) = saved(&model);
        accuracy(net, &mut Model::resume(&path, Format::Blocked, sgd()).unwrap(), &one).unwrap()
    };
    assert_eq!(right, (alone(0) + alone(1)) / 2.0);
}

/// A model in a file; the folder is deleted when it is dropped.
fn saved(model: &Model) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    model.save(&path).unwrap();
    (folder, path)
}

#[test]
fn a_file_of_another_network_is_refused() {
    let data = data(NETS[0], Format::Nhwc);
    let mut narrow = model(Format::Nhwc);
    prepare(NETS[0], &mut narrow, &data).unwrap();
    let (_folder, path) = saved(&narrow);
    let mut wide = Model::resume(&path, Format::Nhwc, sgd()).unwrap();
    let error = prepare(Net::ResNet18 { width: 6 }, &mut wide, &data).unwrap_err().to_string();
    assert!(error.contains("conv1.weight") && error.contains("same network"), "{error}");
}

#[test]
fn a_number_of_steps_is_one_of_0_or_more() {
    let (_folder, path) = saved(&model(Format::Nhwc));
    for steps in [&[-1][..], &[], &[1, 2]] {
        let mut dict = StateDict::read(&path).unwrap();
        dict.insert("train.steps", StridedTensor::from_slice(steps, &[steps.len()]).unwrap());
        dict.save(&path).unwrap();
        let error = Model::resume(&path, Format::Nhwc, sgd()).unwrap_err().to_string();
        assert!(error.contains("`train.steps` is one number of 0 or more"), "{error}");
    }
}

#[test]
fn a_velocity_is_for_its_weights() {
    let net = Net::ResNet18 { width: 4 };
    let mut small = model(Format::Nhwc);
    let data = data(net, Format::Nhwc);
    train(net, &mut small, &data, 1);
    let (_folder, path) = saved(&small);
    let mut dict = StateDict::read(&path).unwrap();
    // It would be broadcast to the sizes of the weights.
    let name = dict
        .names()
        .find(|name| name.starts_with("train.velocity.") && name.contains("bn"))
        .unwrap()
        .to_string();
    dict.insert(name, StridedTensor::from_slice(&[1f32], &[1]).unwrap());
    dict.save(&path).unwrap();
    let mut second = Model::resume(&path, Format::Nhwc, sgd()).unwrap();
    prepare(net, &mut second, &data).unwrap();
    let error = step(net, &mut second, &data).unwrap_err().to_string();
    assert!(error.contains("argument `state`: got [1] f32"), "{error}");
}

fn command(arguments: &[&str]) -> String {
    let program =
        std::process::Command::new(env!("CARGO_BIN_EXE_blocktensor-train")).args(arguments).output();
    let program = program.unwrap();
    assert!(!program.status.success(), "{arguments:?}");
    String::from_utf8(program.stderr).unwrap()
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    for (arguments, part) in [
        (&["--task", "textures"][..], "--task is for `--net linear`"),
        (&["--net", "resnet50", "--width", "8"], "--width is for resnet18 and unet"),
        (&["--width", "0"], "at least 1"),
        (&["--rate", "nan"], "--rate is a finite number"),
        (&["--rate=-1"], "--rate is a finite number"),
        (&["--threads", "0"], "0 is not in 1.."),
        (&["--save", "x.safetensors"], "--layout"),
    ] {
        let error = command(arguments);
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
}

#[test]
fn every_class_has_the_same_share_of_images() {
    let data = Data::new(Task::Directions, Format::Nhwc, 5, [2, 16, SIZE]).unwrap();
    let mut counts = [0; 8];
    for class in data.classes.iter().flat_map(|t| t.to_vec::<i32>().unwrap()) {
        counts[class as usize] += 1;
    }
    assert_eq!(counts, [4; 8]);
}
