//! Files of problems: the parts of benchdnn's format that are read, and errors for the others.

use std::fs;
use std::path::Path;

use blocktensor_problems::{Kind, List};

fn read(folder: &Path, name: &str) -> List {
    let mut list = List::default();
    list.add_file(&folder.join(name), Kind::Conv);
    list
}

#[test]
fn problem_files_follow_the_comments_options_and_includes_of_benchdnn() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    fs::create_dir(folder.path().join("deep")).unwrap();
    write(
        "main",
        "# --batch=nothing\n--reset --dir=FWD_B,BWD_D \\\n--attr-post-ops=, \\\n   relu\n\n\
         ic1ih3oc1kh3n\"first\" ic2ih3oc1kh3 # ic3\n--batch=deep/other\nic4ih3oc1kh3\n--pool\n ic5ih3kh3\r\n",
    );
    write("deep/other", "ic6ih3oc1kh3\n--deconv ic7ih3oc1kh3 --batch=last");
    write("last", "\tic8ih3oc1kh3\\\nn\"joined\"");
    let list = read(folder.path(), "main");
    assert_eq!(list.unreadable, [""; 0]);
    let found: Vec<_> = list
        .entries
        .iter()
        .map(|e| {
            let at = Path::new(&e.at).strip_prefix(folder.path()).unwrap().display().to_string();
            (at, e.problem.kind, e.problem.c, e.problem.name.as_str())
        })
        .collect();
    // Options of a file hold for the files that it includes, and end with it.
    let want = [
        ("main:6", Kind::Conv, 1, "first"),
        ("main:6", Kind::Conv, 2, ""),
        ("deep/other:1", Kind::Conv, 6, ""),
        ("deep/other:2", Kind::Deconv, 7, ""),
        ("deep/../last:1", Kind::Deconv, 8, "joined"),
        ("main:8", Kind::Conv, 4, ""),
        ("main:10", Kind::Pool, 5, ""),
    ];
    let want = want.map(|(at, kind, c, name)| (at.replace("deep/../", ""), kind, c, name));
    assert_eq!(found, want);
    let names: Vec<&str> = list.ignored_names.iter().map(String::as_str).collect();
    assert_eq!((list.ignored, names), (2, vec!["--dir", "--reset"]));
}

#[test]
fn a_line_that_cannot_be_parsed_is_reported_and_the_others_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let text = "ic1ih3oc1kh3\n\nic1ih3oc1\n--batch=missing\n--batch=main\nic2ih3oc1kh3\n";
    // With the byte order mark of some editors.
    fs::write(folder.path().join("main"), format!("\u{feff}{text}")).unwrap();
    let list = read(folder.path(), "main");
    let main = folder.path().join("main");
    assert_eq!(list.entries.len(), 2);
    let [size, missing, itself] = &list.unreadable[..] else { panic!("{:?}", list.unreadable) };
    assert_eq!(*size, format!("{}:3: ic1ih3oc1: `kh` is missing or 0", main.display()));
    assert!(missing.starts_with(&format!("{}:4: missing: No such file", main.display())), "{missing}");
    assert_eq!(*itself, format!("{0}:5: {0} leads to itself", main.display()));
    let (totals, text) = super::written(&list, &super::options());
    assert!(!totals.good() && totals.passed == 6 && text.contains("3 problems could not be read"), "{text}");
    let list = read(folder.path(), "nowhere");
    assert_eq!((list.entries.len(), list.unreadable.len()), (0, 1));
}
