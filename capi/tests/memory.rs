//! No limit of memory ends a process that calls the C interface.

use std::process::{Command, Output};

use blocktensor_c::*;

mod support;

use support::{Outcome, array, load, plan, run, stored, take, tensor};

/// `OutOfMemory`.
const OUT_OF_MEMORY: bt_status = 20;

/// Reads, plans and runs a network.
fn answer() -> Outcome<Vec<f32>> {
    let (dims, image) = array("resnet.image.npy");
    let (_, want) = array("resnet.output.npy");
    let model = load(&stored("resnet.onnx"))?;
    let plan = plan(model, Some("nchw"), &[("batch", dims[0])], &[])?;
    let outs = run(bt_plan_run, plan, &[tensor(&dims, &image)])?;
    Ok(take(outs[0], want.len()))
}

/// What a process under a limit does.
#[test]
#[ignore = "the next test runs it in processes of their own"]
fn under_a_limit() {
    match answer() {
        Ok(values) => println!("answer {}", values.len()),
        Err((status, text)) => {
            assert_eq!(status, OUT_OF_MEMORY, "{text}");
            println!("no memory: {text}");
        }
    }
}

/// This program under a limit of its address space in KiB. glibc finds no room for a heap of each thread under such a limit.
fn limited(kib: u64, args: &[&str]) -> Output {
    let program = std::env::current_exe().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v $0; exec \"$@\"", &kib.to_string()]).arg(program).args(args);
    shell.envs([("MALLOC_ARENA_MAX", "1"), ("RAYON_NUM_THREADS", "2")]).output().unwrap()
}

#[test]
fn ten_limits_of_memory_give_a_status_or_an_answer() {
    let (mut low, mut high) = (1 << 10, 1 << 20);
    while high - low > 64 {
        let middle = u64::midpoint(low, high);
        match limited(middle, &["--list"]).status.success() {
            true => high = middle,
            false => low = middle,
        }
    }
    // What the test itself takes: its thread's stack, and the image.
    let least = high + 4096;
    let (mut refused, mut answered) = (0, 0);
    for mib in [0, 1, 2, 4, 8, 12, 16, 32, 64, 256] {
        let out = limited(
            least + (mib << 10),
            &["--ignored", "--exact", "under_a_limit", "--nocapture", "--test-threads=1"],
        );
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert!(
            out.status.success(),
            "{mib} MiB: {:?} {text}{}",
            out.status,
            String::from_utf8_lossy(&out.stderr)
        );
        refused += usize::from(text.contains("no memory: "));
        answered += usize::from(text.contains("answer "));
    }
    assert_eq!(refused + answered, 10);
    assert!(refused > 0 && answered > 0, "{refused} refused, {answered} answered");
}
