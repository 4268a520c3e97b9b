//! The file of measured times: what others put in its place, and what the plan says of it.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use blocktensor_graph::{Constant, Graph, Layouts, Plan, PlanOptions, Profiles};

use crate::support::random;

/// Plans one op with measured layouts, whose times are kept in this folder.
fn plan(folder: &Path, op: &str) -> Plan {
    let mut graph = Graph::new();
    let x = graph.input("x", &[1.into(), 8.into(), 3.into(), 3.into()]).unwrap();
    let y = graph.op("node", op, &[("x", x)], &[]).unwrap();
    graph.output("y", y).unwrap();
    let options = PlanOptions::new(Layouts::Measured).profiles(Profiles::KeptIn(folder.into()));
    graph.plan(&options).unwrap()
}

/// The file in a folder that has nothing else.
fn only_file(folder: &Path) -> PathBuf {
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    file.clone()
}

/// A folder, and where the file of measured times is in it, which is not there yet.
fn empty() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let told = plan(folder.path(), "relu").to_string();
    assert!(!told.contains("profile"), "{told}");
    let file = only_file(folder.path());
    std::fs::remove_file(&file).unwrap();
    (folder, file)
}

#[track_caller]
fn says(plan: &Plan, file: &Path, parts: &[&str]) {
    let text = plan.to_string();
    let line = text.lines().find(|line| line.contains(file.to_str().unwrap())).expect(&text);
    for part in parts.iter().chain(&["BLOCKTENSOR_CACHE"]) {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn a_link_in_place_of_the_file_is_not_followed() {
    let (folder, file) = empty();
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("mine");
    symlink(&target, &file).unwrap();
    says(&plan(folder.path(), "relu"), &file, &["symbolic link"]);
    assert!(!target.exists() && file.is_symlink());
    std::fs::write(&target, "mine").unwrap();
    says(&plan(folder.path(), "relu"), &file, &["symbolic link"]);
    assert_eq!(std::fs::read(&target).unwrap(), b"mine");
    assert!(file.is_symlink());
}

/// A folder may be a link: only the file of measured times changes in its target.
#[test]
fn a_folder_that_is_a_link_keeps_what_else_is_in_it() {
    let (there, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(there.path().join("mine.json"), "mine").unwrap();
    std::fs::write(there.path().join(".blocktensor-mine.part"), "mine").unwrap();
    let link = beside.path().join("profiles");
    symlink(there.path(), &link).unwrap();
    let told = plan(&link, "relu").to_string();
    assert!(!told.contains("profile"), "{told}");
    assert!(link.is_symlink());
    for name in ["mine.json", ".blocktensor-mine.part"] {
        assert_eq!(std::fs::read(there.path().join(name)).unwrap(), b"mine");
    }
    assert_eq!(std::fs::read_dir(there.path()).unwrap().count(), 3);
}

#[test]
fn a_pipe_in_place_of_the_file_is_not_waited_for() {
    let (folder, file) = empty();
    assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
    says(&plan(folder.path(), "relu"), &file, &["not a regular file"]);
    assert_eq!(only_file(folder.path()), file);
}

#[test]
fn a_lock_that_another_process_holds_is_not_waited_for() {
    let (folder, file) = empty();
    plan(folder.path(), "relu");
    let before = std::fs::read(&file).unwrap();
    let held = File::open(&file).unwrap();
    held.lock().unwrap();
    says(&plan(folder.path(), "tanh"), &file, &["another process holds its lock"]);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    drop(held);
    let told = plan(folder.path(), "tanh").to_string();
    assert!(!told.contains("profile"), "{told}");
    assert_ne!(std::fs::read(&file).unwrap(), before);
}

#[test]
fn a_file_of_another_user_is_not_used() {
    let (folder, file) = empty();
    std::fs::write(&file, "{}").unwrap();
    if std::os::unix::fs::chown(&file, Some(12345), None).is_err() {
        // Only root may give a file away.
        return;
    }
    says(&plan(folder.path(), "relu"), &file, &["another user"]);
    assert_eq!(std::fs::read(&file).unwrap(), b"{}");
}

#[test]
fn the_file_is_replaced_whole() {
    let (folder, file) = empty();
    plan(folder.path(), "relu");
    let before = std::fs::read(&file).unwrap();
    let mut old = File::open(&file).unwrap();
    plan(folder.path(), "tanh");
    // Who reads the old file reads all of it.
    let mut text = Vec::new();
    old.read_to_end(&mut text).unwrap();
    assert!(text == before, "the old file has changed");
    assert_ne!(std::fs::metadata(&file).unwrap().ino(), old.metadata().unwrap().ino());
    assert_eq!(only_file(folder.path()), file);
    let both = std::fs::read_to_string(&file).unwrap();
    assert!(both.contains("relu") && both.contains("tanh"));
}

#[test]
fn a_folder_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    says(&plan(&file, "relu"), &file, &["directory"]);
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
}

/// Changes the times of these keys in the file of measured times, and says whether other work disturbed them.
fn set_times(file: &Path, disturbed: bool, time: impl Fn(&str) -> Option<f64>) {
    let mut contents: serde_json::Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let mut changed = 0;
    for (key, entry) in contents["profiles"].as_object_mut().unwrap() {
        if let Some(seconds) = time(key).filter(|_| !entry["profile"].is_null()) {
            entry["profile"] = serde_json::json!({"runs": 3, "lower": seconds, "seconds": seconds, "upper": seconds, "disturbed": disturbed});
            changed += 1;
        }
    }
    assert!(changed > 0);
    std::fs::write(file, contents.to_string()).unwrap();
}

/// Other tests register kernels of `relu`, which would be candidates.
#[test]
fn disturbed_times_are_measured_again_and_sure_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    plan(folder.path(), "gelu");
    let file = only_file(folder.path());
    // Where all candidates take as long, the choice is another, whose plans are timed now.
    set_times(&file, false, |_| Some(1.0));
    plan(folder.path(), "gelu");
    for disturbed in [false, true] {
        set_times(&file, disturbed, |_| Some(1.0));
        let plan = plan(folder.path(), "gelu");
        let measurements = plan.measurements().unwrap();
        let alone = measurements.nodes[0].candidates.iter().filter_map(|c| c.seconds).collect::<Vec<_>>();
        let whole = measurements.plans.iter().map(|(_, seconds)| *seconds).collect::<Vec<_>>();
        for times in [alone, whole] {
            assert!(
                !times.is_empty() && times.iter().all(|s| (*s < 1.0) == disturbed),
                "{disturbed}: {times:?}"
            );
        }
    }
}

#[test]
fn times_that_no_machine_takes_are_measured_again() {
    let folder = tempfile::tempdir().unwrap();
    plan(folder.path(), "gelu");
    let file = only_file(folder.path());
    set_times(&file, false, |key| (!key.starts_with("plan ")).then_some(1e-15));
    let plan = plan(folder.path(), "gelu");
    let seconds = plan.measurements().unwrap().nodes[0].candidates.iter().filter_map(|c| c.seconds);
    assert!(
        seconds.clone().count() > 0 && seconds.clone().all(|s| s > 1e-10),
        "{:?}",
        seconds.collect::<Vec<_>>()
    );
}

/// The mixture takes blocks for every node, and the plan with one layout that stays has none.
#[test]
fn the_explanation_lists_what_runs_and_then_why() {
    let folder = tempfile::tempdir().unwrap();
    let made = || {
        let mut graph = Graph::new();
        let x = graph.input("x", &[1.into(), 32.into(), 6.into(), 6.into()]).unwrap();
        let weights = graph.constant("w", Constant::F32(random(&[32, 32, 3, 3], 1))).unwrap();
        let mut x = graph.op("a", "conv2d", &[("x", x), ("weights", weights)], &[]).unwrap();
        for name in ["b", "c"] {
            x = graph.op(name, "max_pool2d", &[("x", x)], &[("kernel", vec![2, 2].into())]).unwrap();
        }
        graph.output("y", x).unwrap();
        let options = PlanOptions::new(Layouts::Measured).profiles(Profiles::KeptIn(folder.path().into()));
        graph.plan(&options).unwrap()
    };
    made();
    let file = only_file(folder.path());
    // Blocked images and reorders cost next to nothing, so the mixture is blocked.
    let cheap = |key: &str| key.contains("-> [1, 32") && key.contains("nChw") || key.starts_with("reorder");
    set_times(&file, false, |key| Some(if cheap(key) { 1e-6 } else { 1e-3 }));
    // Times the mixture as a whole.
    made();
    for kept in [Layouts::Measured, Layouts::Nhwc, Layouts::Blocked] {
        set_times(&file, false, |key| {
            let is_kept = key.contains(&format!("with {} layouts", kept.name()));
            key.starts_with("plan ").then_some(if is_kept { 1e-6 } else { 1e-3 })
        });
        let plan = made();
        let measurements = plan.measurements().unwrap();
        assert_eq!(measurements.kept, kept);
        assert_eq!(plan.to_string().contains("nChw"), kept != Layouts::Nhwc, "{plan}");
        for node in &measurements.nodes {
            let step = plan.steps().find(|step| step.name == node.name).unwrap();
            let runs = format!("-> {}", step.outputs[0].desc.layout_name());
            assert!(node.candidates[0].layouts.ends_with(&runs), "{kept:?}: {node:?} runs {runs}");
        }
        let (text, explained) = (plan.to_string(), measurements.to_string());
        let first = text.lines().next().unwrap();
        let is_mixture = kept == Layouts::Measured;
        assert_eq!(first == "layouts: measured", is_mixture, "{first}");
        assert!(is_mixture || first.contains(kept.name()), "{first}");
        assert_eq!(explained.contains("it is not kept"), !is_mixture, "{explained}");
        assert!(explained.find("a: conv2d") < explained.find("kept"), "{explained}");
    }
}
