//! One packed file in several processes: shared pages, and other instruction sets.

use blocktensor::{Error, PackedConv2d, PackedFile, PackedLinear, PackedWriter};

use super::Folder;
use super::packed::{noise, plain, small_file};
use crate::support::child;

/// The variable that tells a child process the path of the file. Without it the children's tests do nothing.
const SHARE: &str = "BLOCKTENSOR_TEST_SHARE";
const OTHER_ISA: &str = "BLOCKTENSOR_TEST_ISA";

/// Kilobytes of a mapped file, by kind, from /proc/self/smaps.
#[cfg(target_os = "linux")]
fn pages(path: &str, kinds: &[&str]) -> Vec<usize> {
    let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut sums = vec![0; kinds.len()];
    let mut ours = false;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or("");
        if !first.ends_with(':') {
            ours = line.ends_with(path);
        } else if let Some(i) = kinds.iter().position(|k| ours && first.strip_suffix(':') == Some(k)) {
            sums[i] += words.next().unwrap().parse::<usize>().unwrap();
        }
    }
    sums
}

#[cfg(target_os = "linux")]
#[test]
fn two_processes_share_the_pages_of_one_packed_file() {
    let folder = Folder::new("share");
    let path = folder.file("big.packed");
    let fc = PackedLinear::new(&noise(&[1024, 2048], 1), None, 1).unwrap();
    let mut writer = PackedWriter::new();
    writer.add("fc", &fc).unwrap();
    writer.save(&path).unwrap();
    let x = noise(&[1, 2048], 2);
    let want = fc.run(&x).unwrap().to_vec::<f32>().unwrap();
    drop(writer);
    drop(fc);
    // SAFETY: the file is this test's own, and nothing changes it.
    let mapped: PackedLinear = unsafe { PackedFile::map(&path) }.unwrap().get("fc").unwrap();
    assert_eq!(mapped.run(&x).unwrap().to_vec::<f32>().unwrap(), want);
    let threads = blocktensor::current_threads().to_string();
    let set = [(SHARE, path.to_str().unwrap()), ("RAYON_NUM_THREADS", &threads)];
    let text = child("file::processes::child_that_shares_pages", &set);
    let line = text.lines().find_map(|l| l.strip_prefix("pages ")).expect(&text);
    let kb: Vec<usize> = line.split(' ').map(|n| n.parse().unwrap()).collect();
    // Both processes have read all 8 MB of weights: the pages are shared, and none is copied.
    let (resident, shared, dirty) = (kb[0], kb[1], kb[2]);
    assert!(resident >= 8192 && shared >= 8192 && dirty == 0, "{line}");
    // This process has no copy of its own either.
    assert_eq!(pages(path.to_str().unwrap(), &["Private_Dirty"]), [0]);
}

#[cfg(target_os = "linux")]
#[test]
fn child_that_shares_pages() {
    let Ok(path) = std::env::var(SHARE) else { return };
    // SAFETY: the file belongs to the test that started this process, and nothing changes it.
    let fc: PackedLinear = unsafe { PackedFile::map(&path) }.unwrap().get("fc").unwrap();
    fc.run(&noise(&[1, 2048], 2)).unwrap();
    let kb = pages(&path, &["Rss", "Shared_Clean", "Private_Dirty"]);
    println!("\npages {} {} {}", kb[0], kb[1], kb[2]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn packed_file_for_other_instructions_is_refused_or_packed_again() {
    if !is_x86_feature_detected!("avx2") {
        return;
    }
    let lowered = std::env::var("ONEDNN_MAX_CPU_ISA").unwrap_or_default();
    let other = if lowered == "AVX2" { "SSE41" } else { "AVX2" };
    let folder = Folder::new("isa");
    let threads = blocktensor::current_threads().to_string();
    for keep in [false, true] {
        let path = small_file(&folder, keep);
        let set = [
            (OTHER_ISA, path.to_str().unwrap()),
            ("ONEDNN_MAX_CPU_ISA", other),
            ("RAYON_NUM_THREADS", &threads),
        ];
        let text = child("file::processes::child_with_other_instructions", &set);
        assert!(text.contains(if keep { "packed again" } else { "nothing to pack" }), "{text}");
    }
}

#[test]
fn child_with_other_instructions() {
    let Ok(path) = std::env::var(OTHER_ISA) else { return };
    let e = PackedFile::read(&path).unwrap_err();
    assert!(matches!(e, Error::PackMismatch(_)), "{e}");
    assert!(e.to_string().contains("packed with isa") && e.to_string().contains("here isa is"), "{e}");
    let file = PackedFile::read_or_repack(&path).unwrap();
    match file.get::<PackedConv2d>("conv") {
        Ok(conv) => {
            // Packed for the blocks of this machine.
            let layout = blocktensor::Layout::native_activation(4).unwrap();
            let x = noise(&[1, 16, 5, 5], 1).to_blocked(&layout).unwrap();
            let y = conv.run(&x).unwrap();
            let whole = noise(&[1, 16, 5, 5], 1);
            let (w, b) = (noise(&[5, 16, 3, 3], 2), noise(&[5], 3));
            let params = blocktensor::ops::Conv2d::new().padding(1).relu();
            let want = blocktensor::ops::conv2d(&whole, &w, Some(&b), &params).unwrap();
            let want: Vec<f64> = want.to_vec::<f32>().unwrap().into_iter().map(f64::from).collect();
            crate::support::assert_close("conv", &plain(&y), &want, |_| 1e-5);
            println!("\npacked again");
        }
        Err(e) => {
            assert!(matches!(e, Error::PackMismatch(_)) && e.to_string().contains("keep_plain"), "{e}");
            println!("\nnothing to pack");
        }
    }
}
