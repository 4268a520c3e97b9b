use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};

use super::*;

/// Tells a child process which file to write, and how.
const CHILD: &str = "BLOCKTENSOR_TEST_WHOLE";

/// Names of the files in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let name = |e: io::Result<std::fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// This program, running only the test `child`. A shell starts it: `before` may set limits.
fn child(before: &str, way: &str, path: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before} exec \"$@\""), "sh"]).arg(std::env::current_exe().unwrap());
    command.args(["file::whole::tests::child_writes_its_input", "--exact", "--nocapture"]);
    command.env(CHILD, format!("{way}:{}", path.display())).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// Copies its input into the file, and says when it is in the middle.
#[test]
fn child_writes_its_input() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let (way, path) = what.split_once(':').unwrap();
    let content = |out: &mut dyn Write| {
        let mut first = [0];
        io::stdin().read_exact(&mut first)?;
        out.write_all(&first)?;
        out.flush()?;
        println!("\nbegun");
        io::copy(&mut io::stdin(), out).map(drop)
    };
    let written = match way {
        "write" => write(path, content),
        _ => {
            let part = Part::named(folder_of(Path::new(path))).unwrap();
            fill(&part.file, content).and_then(|()| part.finish(Path::new(path)))
        }
    };
    println!("\nend {written:?}");
}

/// A child that has written the beginning of its file, and waits for more.
fn begun(way: &str, path: &Path) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut child = child("", way, path).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    child.stdin.as_mut().unwrap().write_all(b"new").unwrap();
    assert!(lines.any(|line| line == "begun"));
    (child, lines)
}

#[test]
fn a_killed_process_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan");
    std::fs::write(&path, "old").unwrap();
    let (mut child, _lines) = begun("write", &path);
    assert_eq!(names(folder.path()), ["plan"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names(folder.path()), ["plan"]);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
}

/// On file systems that have no files without names.
#[test]
fn what_a_killed_process_left_is_removed_by_the_next_write() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("plan"), folder.path().join("other"));
    std::fs::write(&path, "old").unwrap();
    let (mut living, mut lines) = begun("named", &path);
    let (mut killed, _lines) = begun("named", &path);
    assert_eq!(names(folder.path()).len(), 3);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(names(folder.path()).len(), 3);
    write(&other, |out| out.write_all(b"x")).unwrap();
    // That of the living process stays.
    let after = names(folder.path());
    assert!(after.len() == 3 && is_part(&after[0]) && after[1..] == ["other", "plan"], "{after:?}");
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    living.stdin.take().unwrap().write_all(b"er").unwrap();
    assert!(lines.any(|line| line == "end Ok(())"));
    assert!(living.wait().unwrap().success());
    assert_eq!(std::fs::read(&path).unwrap(), b"newer");
    assert_eq!(names(folder.path()), ["other", "plan"]);
}

/// The limit on the size of files stands for a disk that is full.
#[test]
fn a_full_disk_leaves_the_old_file_and_no_part() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan");
    std::fs::write(&path, "old").unwrap();
    for way in ["write", "named"] {
        let mut child = child("trap '' XFSZ; ulimit -f 64;", way, &path).spawn().unwrap();
        // The child stops reading where it fails.
        let _ = child.stdin.take().unwrap().write_all(&vec![b'n'; 1 << 20]);
        let text = child.wait_with_output().unwrap();
        let text = String::from_utf8(text.stdout).unwrap();
        assert!(
            text.contains("begun") && text.contains("end Err") && text.contains("FileTooLarge"),
            "{text}"
        );
        assert_eq!(names(folder.path()), ["plan"], "{way}");
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }
}

#[test]
fn an_error_or_a_panic_of_the_content_leaves_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plan");
    for old in [None, Some("old")] {
        if let Some(old) = old {
            std::fs::write(&path, old).unwrap();
        }
        let before = names(folder.path());
        let failed = write(&path, |out| {
            out.write_all(b"new")?;
            Err(io::Error::other("no more"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no more");
        let panicked = std::panic::catch_unwind(|| write(&path, |_| panic!("no more")));
        assert!(panicked.is_err());
        assert_eq!(names(folder.path()), before);
        assert_eq!(std::fs::read_to_string(&path).ok().as_deref(), old);
    }
}

#[test]
fn other_files_with_similar_names_stay() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let stay = [
        ".blocktensor-config",
        ".blocktensor-x7Gh2k",
        ".blocktensor-0123456789abcdef",
        ".blocktensor-0123456789ABCDEF.part",
        ".blocktensor-0123456789abcdef.part.bak",
        "blocktensor-0123456789abcdef.part",
    ];
    stay.iter().for_each(|name| std::fs::write(file(name), "kept").unwrap());
    let (link, fifo) =
        (file(".blocktensor-0000000000000001.part"), file(".blocktensor-0000000000000002.part"));
    symlink(file(stay[0]), &link).unwrap();
    pipe(&fifo);
    let (locked, left) =
        (file(".blocktensor-0000000000000003.part"), file(".blocktensor-0000000000000004.part"));
    let lock = File::create(&locked).unwrap();
    lock.lock().unwrap();
    std::fs::write(&left, "left").unwrap();
    write(file("new"), |_| Ok(())).unwrap();
    assert!(!left.exists());
    assert!(link.is_symlink() && fifo.exists() && locked.exists());
    stay.iter().for_each(|name| assert_eq!(std::fs::read(file(name)).unwrap(), b"kept"));
    // Not only dropped: a process that another test starts has the file open for a moment too, and the lock with it.
    lock.unlock().unwrap();
    write(file("new"), |_| Ok(())).unwrap();
    assert!(!locked.exists());
}

#[test]
fn a_part_of_another_user_stays() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join(".blocktensor-0000000000000004.part");
    std::fs::write(&left, "left").unwrap();
    std::os::unix::fs::chown(&left, Some(12345), None).unwrap();
    write(folder.path().join("new"), |_| Ok(())).unwrap();
    assert!(left.exists());
    let denied = open_own(&left, false).unwrap_err();
    assert!(denied.to_string().contains("another user"), "{denied}");
    // The owner of a file that is replaced stays its owner.
    write(&left, |out| out.write_all(b"new")).unwrap();
    assert_eq!(std::fs::metadata(&left).unwrap().uid(), 12345);
}

#[test]
fn the_target_of_a_link_is_replaced_and_keeps_its_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let (target, link) = (folder.path().join("there/file"), folder.path().join("link"));
    std::fs::create_dir(folder.path().join("there")).unwrap();
    std::fs::write(&target, "old").unwrap();
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("there/file", &link).unwrap();
    let before = File::open(&target).unwrap();
    write(&link, |out| out.write_all(b"new")).unwrap();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&target).unwrap(), b"new");
    let now = std::fs::metadata(&target).unwrap();
    assert_eq!(now.mode() & 0o7777, 0o640);
    // It is another file: whoever has the old one open still reads the old content.
    assert_eq!(io::read_to_string(before).unwrap(), "old");
    assert_eq!(names(&folder.path().join("there")), ["file"]);

    std::fs::remove_file(&target).unwrap();
    let refused = write(&link, |_| panic!("nothing is written")).unwrap_err();
    assert!(refused.to_string().contains("symbolic link to a file that does not exist"), "{refused}");
    // The library's own files are never behind a link.
    std::fs::write(&target, "old").unwrap();
    replace(&link, |out| out.write_all(b"new")).unwrap();
    assert!(!link.is_symlink());
    assert_eq!(
        (std::fs::read(&target).unwrap(), std::fs::read(&link).unwrap()),
        (b"old".into(), b"new".into())
    );
}

#[test]
fn pipes_and_devices_are_written_directly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    pipe(&path);
    let unread = open_pipe(&path, Duration::ZERO).unwrap_err();
    assert_eq!(unread.kind(), ErrorKind::TimedOut);
    check(&path).unwrap();
    let reader = std::thread::spawn({
        let path = path.clone();
        move || std::fs::read(path).unwrap()
    });
    // More than a pipe holds: writing waits for the reader.
    let content = vec![7; 1 << 18];
    write(&path, |out| out.write_all(&content)).unwrap();
    assert_eq!(reader.join().unwrap(), content);
    assert!(std::fs::metadata(&path).unwrap().file_type().is_fifo());
    assert_eq!(names(folder.path()), ["pipe"]);

    write("/dev/null", |out| out.write_all(b"x")).unwrap();
    let full = write("/dev/full", |out| out.write_all(b"x")).unwrap_err();
    assert_eq!(full.kind(), ErrorKind::StorageFull);
    for device in ["/dev/null", "/dev/full"] {
        assert!(std::fs::metadata(device).unwrap().file_type().is_char_device());
    }
}

/// The child's standard output is a file, and the child writes it by its name.
#[test]
fn the_own_standard_output_is_written_in_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for path in [Path::new("/dev/stdout"), &out] {
        let mut child = child("", "write", path).stdout(File::create(&out).unwrap()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"content").unwrap();
        assert!(child.wait().unwrap().success());
        let text = std::fs::read_to_string(&out).unwrap();
        let parts = ["begun", "content", "end Ok(())", "1 passed"];
        let at: Vec<Option<usize>> = parts.iter().map(|part| text.find(&part[1..])).collect();
        assert!(at.iter().all(Option::is_some) && at.is_sorted(), "{text}");
    }
}

/// A program that runs may not be written, not even by root: this one.
#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    let program = std::env::current_exe().unwrap();
    let written = write(&program, |_| Err(io::Error::other("it would be replaced")));
    for refused in [check(&program), written] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::ExecutableFileBusy);
    }
}

#[test]
fn what_cannot_be_written_is_known_before() {
    let folder = tempfile::tempdir().unwrap();
    for (path, kind) in [("", ErrorKind::IsADirectory), ("none/x", ErrorKind::NotFound)] {
        let path = folder.path().join(path);
        assert_eq!(check(&path).unwrap_err().kind(), kind);
        assert_eq!(write(&path, |_| Ok(())).unwrap_err().kind(), kind);
    }
    check(folder.path().join("x")).unwrap();
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn own_files_are_no_links_and_no_pipes_and_their_locks_have_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    pipe(&file("pipe"));
    std::fs::write(file("target"), "old").unwrap();
    symlink("target", file("link")).unwrap();
    for create in [false, true] {
        let of = |name: &str| open_own(file(name), create).unwrap_err().to_string();
        assert_eq!(of("link"), "it is a symbolic link");
        assert_eq!(of("pipe"), "it is not a regular file");
    }
    assert_eq!(open_own(file("none"), false).unwrap_err().kind(), ErrorKind::NotFound);
    let held = lock_own(file("new"), Duration::ZERO).unwrap();
    assert_eq!(lock_own(file("new"), Duration::ZERO).unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(is_at(&held, &file("new")).unwrap());
    // After this, the lock is that of a file that nobody finds any more: the next one locks the new file.
    replace(file("new"), |out| out.write_all(b"new")).unwrap();
    assert!(!is_at(&held, &file("new")).unwrap());
    assert!(!is_at(&held, &file("none")).unwrap());
    let mut next = lock_own(file("new"), Duration::ZERO).unwrap();
    let mut text = String::new();
    next.read_to_string(&mut text).unwrap();
    assert_eq!(text, "new");
    drop(held);
}

/// A child process has a copy of the descriptor from its start until it runs another program.
#[test]
fn a_finished_file_is_unlocked_though_a_copy_of_its_descriptor_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new");
    let part = Part::new(folder.path()).unwrap();
    let copy = part.file.try_clone().unwrap();
    part.finish(&path).unwrap();
    lock_own(&path, Duration::ZERO).unwrap();
    drop(copy);
}

#[test]
fn only_a_file_of_the_same_kind_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let of = |path: &Path| {
        check_kind(path, |content| {
            let mut text = String::new();
            content.read_to_string(&mut text)?;
            Ok(text.starts_with("mine"))
        })
    };
    std::fs::write(file("mine"), "mine").unwrap();
    std::fs::write(file("other"), "other").unwrap();
    std::fs::write(file("empty"), "").unwrap();
    symlink("other", file("link")).unwrap();
    pipe(&file("pipe"));
    for name in ["mine", "empty", "none", "pipe"] {
        of(&file(name)).unwrap();
    }
    of(Path::new("/dev/null")).unwrap();
    for name in ["other", "link"] {
        assert_eq!(of(&file(name)).unwrap_err().kind(), ErrorKind::AlreadyExists, "{name}");
    }
    assert_eq!(of(folder.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
    // What cannot be read may be anything.
    assert!(check_kind(file("mine"), |_| Err(ErrorKind::Other.into())).is_err());
}

#[test]
fn a_descriptor_that_is_not_open_is_no_missing_folder() {
    for path in ["/dev/fd/987654", "/proc/self/fd/987654"] {
        for refused in [check(path), write(path, |_| Ok(()))] {
            assert_eq!(refused.unwrap_err().to_string(), "no open file has this descriptor", "{path}");
        }
    }
}
