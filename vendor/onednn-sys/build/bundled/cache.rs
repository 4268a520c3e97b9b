//! The place of the compiled library: outside Cargo's target folders, so that other profiles, crates and clones share it.
//!
//! It is `$BLOCKTENSOR_CACHE` or the user's cache folder, with one folder `onednn/KEY` for each library. A library appears
//! under its key only when it is complete, in one step. Until then its folder is called `KEY.partial`, and a lock keeps other
//! builds out.

use crate::{env, fail};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How many libraries are kept. The least recently used ones are deleted.
const KEPT: usize = 4;

/// The folder of the library with this key. If there is none yet, `compile` fills it.
pub fn library(key: &str, compile: impl Fn(&Path)) -> PathBuf {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("onednn");
    let folder = folder().unwrap_or_else(|| out.clone());
    let done = folder.join(key);
    if done.exists() {
        note_use(&done);
        return done;
    }
    match open_lock(&folder) {
        Ok(lock) => compile_locked(lock, &folder, key, compile),
        // For example, a read-only home.
        Err(error) => {
            println!("{} cannot be written ({error}): oneDNN is kept in {}", folder.display(), out.display());
            match open_lock(&out) {
                Ok(lock) => compile_locked(lock, &out, key, compile),
                Err(error) => fail(&format!("cannot write to {}: {error}", out.display())),
            }
        }
    }
}

/// Compiles the library, unless another build did so while this one waited for the lock.
fn compile_locked(lock: File, folder: &Path, key: &str, compile: impl Fn(&Path)) -> PathBuf {
    if lock.try_lock().is_err() {
        println!("another build is compiling oneDNN; waiting for it");
        lock.lock().unwrap_or_else(|error| fail(&format!("cannot lock {}: {error}", folder.display())));
    }
    let done = folder.join(key);
    if !done.exists() {
        // Object files of an interrupted build are reused: the key identifies everything that determines them.
        let partial = folder.join(format!("{key}.partial"));
        compile(&partial);
        if let Err(error) = fs::rename(&partial, &done) {
            fail(&format!("cannot rename {} to {}: {error}", partial.display(), done.display()));
        }
    }
    note_use(&done);
    delete_oldest(folder, &done);
    done
}

/// Records when the library was last used. Does nothing if the cache is read-only.
fn note_use(library: &Path) {
    let _ = fs::write(library.join("used"), "");
}

/// The folder of all libraries, or `None` with `BLOCKTENSOR_CACHE=off`.
fn folder() -> Option<PathBuf> {
    let base = match env("BLOCKTENSOR_CACHE") {
        Some(off) if off == "off" => return None,
        Some(dir) if Path::new(&dir).is_relative() => {
            fail(&format!("BLOCKTENSOR_CACHE is `{dir}`: pass an absolute path, or `off`"))
        }
        Some(dir) => PathBuf::from(dir),
        None => match (env("XDG_CACHE_HOME"), env("HOME")) {
            (Some(dir), _) if Path::new(&dir).is_absolute() => PathBuf::from(dir).join("blocktensor"),
            (_, Some(home)) => PathBuf::from(home).join(".cache").join("blocktensor"),
            _ => return None,
        },
    };
    Some(base.join("onednn"))
}

/// Opens the folder's lock. A build holds it while it compiles or deletes.
fn open_lock(folder: &Path) -> std::io::Result<File> {
    fs::create_dir_all(folder)?;
    File::options().create(true).truncate(false).write(true).open(folder.join("lock"))
}

/// Deletes all but the `KEPT` most recently used libraries.
fn delete_oldest(folder: &Path, mine: &Path) {
    let used = |dir: &Path| {
        let time = |path: &Path| fs::metadata(path).and_then(|m| m.modified()).ok();
        time(&dir.join("used")).or_else(|| time(dir)).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut others: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir() && path != mine).collect();
    others.sort_by_key(|dir| std::cmp::Reverse(used(dir)));
    for dir in others.iter().skip(KEPT - 1) {
        // Renamed first, so that a folder with a key as its name is always complete.
        let doomed = dir.with_extension("deleted");
        let _ = fs::rename(dir, &doomed);
        let _ = fs::remove_dir_all(&doomed);
    }
}
