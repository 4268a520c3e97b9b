//! Where the compiled library is kept: outside Cargo's target folders, so that other profiles, other crates and other
//! clones find it.
//!
//! `$BLOCKTENSOR_CACHE` or the user's cache folder, with one folder `onednn/KEY` for each library. A library appears under its
//! key in one step, when it is complete. Until then its folder is called `KEY.partial`, and a lock keeps other builds out.

use crate::{env, fail};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How many libraries stay. The ones that were not used for the longest time are deleted.
const KEPT: usize = 4;

/// The folder of the library with this key, which `compile` fills where there is none yet.
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
        // A home that is read-only, say.
        Err(error) => {
            println!("{} cannot be written ({error}): oneDNN is kept in {}", folder.display(), out.display());
            match open_lock(&out) {
                Ok(lock) => compile_locked(lock, &out, key, compile),
                Err(error) => fail(&format!("cannot write to {}: {error}", out.display())),
            }
        }
    }
}

/// Compiles the library unless another build has done so while this one waited for the lock.
fn compile_locked(lock: File, folder: &Path, key: &str, compile: impl Fn(&Path)) -> PathBuf {
    if lock.try_lock().is_err() {
        println!("another build is compiling oneDNN; waiting for it");
        lock.lock().unwrap_or_else(|error| fail(&format!("cannot lock {}: {error}", folder.display())));
    }
    let done = folder.join(key);
    if !done.exists() {
        // Object files of a build that was stopped are used again: the key names everything that decides them.
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

/// Writes down when the library was used last. Without effect where the cache is read-only.
fn note_use(library: &Path) {
    let _ = fs::write(library.join("used"), "");
}

/// The folder of all libraries, or none with `BLOCKTENSOR_CACHE=off`.
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

/// One lock for the folder: whoever compiles or deletes holds it.
fn open_lock(folder: &Path) -> std::io::Result<File> {
    fs::create_dir_all(folder)?;
    File::options().create(true).truncate(false).write(true).open(folder.join("lock"))
}

/// Deletes all but the `KEPT` libraries that were used last.
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
        // Renamed first: a folder under its key is always complete.
        let doomed = dir.with_extension("deleted");
        let _ = fs::rename(dir, &doomed);
        let _ = fs::remove_dir_all(&doomed);
    }
}
