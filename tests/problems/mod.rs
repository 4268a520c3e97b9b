//! Problems in benchdnn's notation: the notation, files, the reference loops, the judge, and our lists.

mod files;
mod judge;
mod notation;
mod oracle;

use std::path::Path;

use blocktensor_problems::{Kind, List, Options, Totals, Types, run};

fn options() -> Options {
    Options {
        seed: 1,
        alg: None,
        types: Types::F32,
        max_macs: None,
        mb: None,
        max_bytes: 4 << 30,
        verbose: false,
        command: "conv_problems".into(),
    }
}

/// Runs a list. Returns the totals and the written report.
fn written(list: &List, options: &Options) -> (Totals, String) {
    let mut out = Vec::new();
    let totals = run(list, options, &mut out).unwrap();
    (totals, String::from_utf8(out).unwrap())
}

/// The files of problems of convolutions.
const CONVOLUTIONS: &[&str] = &["conv_nets", "conv_1d_3d", "conv_odd", "deconv"];

/// The problems in these files.
fn lists<'a>(names: impl IntoIterator<Item = &'a &'a str>) -> List {
    let mut list = List::default();
    for name in names {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/problems/{name}.txt"));
        list.add_file(&path, Kind::Conv);
    }
    list
}

fn one(kind: Kind, text: &str) -> List {
    let mut list = List::default();
    list.add_text(text, kind);
    list
}

/// Each layout must run a minimum of problems of each kind, so that a list of unsupported problems alone fails.
#[test]
fn every_problem_of_the_lists_is_right_or_unsupported_in_every_layout() {
    let list = lists(CONVOLUTIONS.iter().chain(&["pool", "bnorm"]));
    let (totals, text) = written(&list, &Options { max_macs: Some(150_000_000), ..options() });
    assert!(totals.good(), "{text}{:#?}", list.unreadable);
    for (kind, least) in [("conv", 750), ("deconv", 65), ("pool", 190), ("bnorm", 130)] {
        for layout in blocktensor_problems::LAYOUTS {
            let passed = totals.passed_in.get(&(kind, layout)).copied().unwrap_or(0);
            assert!(passed >= least, "{passed} {kind} on {layout}, at least {least} expected:\n{text}");
        }
    }
}

/// Each implementation by itself, with packed weights: a kernel that packing would never choose is right too.
#[test]
fn every_implementation_is_right_on_the_problems_that_it_computes() {
    let list = lists(CONVOLUTIONS);
    for alg in blocktensor::AnyConvPacker::implementations() {
        let options = Options { alg: Some(alg.into()), max_macs: Some(20_000_000), ..options() };
        let (totals, text) = written(&list, &options);
        assert!(totals.good(), "{alg}: {text}");
        let passed: usize = totals.passed_in.values().sum();
        assert!(passed >= 20, "{alg}: {passed} passed:\n{text}");
    }
}

/// Sums of integers bit for bit, and results of 8 bits that are limited to them.
#[test]
fn convolutions_of_integers_are_right_on_the_lists() {
    let list = lists(CONVOLUTIONS);
    for types in ["u8:s8:s32", "s8:s8:s32", "u8:s8:u8", "s8:s8:s8"] {
        let options = Options { types: types.parse().unwrap(), max_macs: Some(5_000_000), ..options() };
        let (totals, text) = written(&list, &options);
        assert!(totals.good(), "{types}: {text}");
        for layout in blocktensor_problems::LAYOUTS {
            let passed = totals.passed_in.get(&("conv", layout)).copied().unwrap_or(0);
            assert!(passed >= 300, "{types}: {passed} on {layout}:\n{text}");
        }
    }
    for types in ["u8", "f32:s8:f32", "u8:u8:s32", "s8:s8:f32", "s8:s8", ""] {
        assert!(types.parse::<Types>().is_err(), "{types}");
    }
}

#[test]
fn a_problem_has_the_same_data_alone_and_in_a_list() {
    // A limit gives another list with some of the same problems. The report of each must stay.
    let mut list = one(Kind::Conv, "mb1ic3ih5oc4kh3");
    list.add_text("mb1ic40ih9oc40kh3", Kind::Conv);
    list.add_text("mb1ic3ih5oc4kh3n\"again\"", Kind::Conv);
    let (totals, text) = written(&list, &Options { max_macs: Some(10_000), ..options() });
    assert_eq!((totals.passed, totals.repeated), (3, 1));
    assert_eq!(
        text,
        "1 problem named otherwise before, run once\n1 problem left out: more than 10000 multiply-adds\n\
         3 passed, 0 failed, 0 unsupported\n"
    );
}

#[test]
fn problems_beyond_memory_are_skipped() {
    for (kind, text, why) in [
        (Kind::Conv, "mb1ic1oc1iw4294967311kw3", "more than 4096 MB of memory"),
        (Kind::Conv, "mb1ic1oc1iw9ow2kw2sw1000000000pw0", "more than 4096 MB of memory"),
        (Kind::Pool, "mb4294967311ic1iw1pw1kw3", "more than 4096 MB of memory"),
        (Kind::Pool, "ic1iw9ow1kw1sw9000000000000000000", "a size of more than 31 bits"),
        (Kind::Conv, "mb1ic4000000oc1ih2kh3ph1", "sums of so many terms are not exact in f32"),
    ] {
        let (totals, said) = written(&one(kind, text), &options());
        assert_eq!(said, format!("1 problem left out: {why}\n0 passed, 0 failed, 0 unsupported\n"), "{text}");
        assert!(totals.good());
    }
}

#[test]
fn problems_that_pytorch_cannot_express_are_unsupported_with_the_reason() {
    for (kind, text, runs, reason) in [
        (Kind::Conv, "ic8oc8ih9oh4kh3ph0", 3, "conv: the result ends before the source does"),
        (Kind::Conv, "ic8oc8ih56oh20kh1", 3, "conv: padding before an axis is negative"),
        (Kind::Deconv, "ic8oc8ih5oh13kh3sh2ph0", 3, "conv_transpose2d: output padding of a step or more"),
        (Kind::Pool, "ic8ih8oh9kh3ph1", 9, "pool: padding after an axis is another than before it"),
        (Kind::Pool, "ic8ih8kh3ph2", 6, "avg_pool2d: padding is more than half of the window"),
        (Kind::Pool, "ic8ih8kh3dh1", 6, "pool: average pooling has no dilation"),
        (Kind::Pool, "ic8ih6oh3kh3sh2ph0", 3, "pool: the average counts what reaches beyond the padding"),
        (Kind::BatchNorm, "mb1ic8ih1", 3, "batch_norm_train: one value for each channel has no variance"),
        (Kind::BatchNorm, "mb4ic8", 2, "there is no blocked of rank 2"),
    ] {
        let (totals, said) = written(&one(kind, text), &options());
        assert_eq!((totals.failed, totals.reasons.get(reason)), (0, Some(&runs)), "{text}: {said}");
        assert!(said.ends_with(&format!("{runs:>7} {reason}\n")) || totals.reasons.len() > 1, "{said}");
    }
}
