//! Profiles in a file, so that the next planning need not measure again.
//!
//! A file belongs to one machine, engine and version: these are its header, and another header is another file. A writer locks
//! the file, reads it again, and replaces it by a new one. What is wrong with a file never fails a planning: then everything is
//! measured, and the plan says why ([`Measurements::cache_note`](super::Measurements::cache_note)).

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use blocktensor::files;
use serde::{Deserialize, Serialize};

use super::super::Profiles;
use super::profile::Profile;

/// How many profiles a file keeps: those that were used last.
const MOST: usize = 20_000;
/// **Bytes** of a file with so many, and room.
const MOST_BYTES: u64 = 64 << 20;
/// How long to wait for another process that writes the file.
const LOCK_WAIT: Duration = Duration::from_secs(1);

/// What a file holds.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents {
    header: String,
    /// How often the file was written.
    generation: u64,
    profiles: BTreeMap<String, Entry>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entry {
    /// `None` for what cannot run.
    profile: Option<Profile>,
    /// The generation in which it was used last.
    used: u64,
}

/// The profiles of this machine.
#[derive(Debug)]
pub(super) struct Cache {
    file: Option<PathBuf>,
    contents: Contents,
    /// Profiles that were used or measured.
    touched: BTreeMap<String, Option<Profile>>,
    /// Why the file is not used.
    note: Option<String>,
}

impl Cache {
    /// Where these options keep profiles.
    pub(super) fn of(profiles: &Profiles) -> Cache {
        match profiles {
            Profiles::Kept => default_folder().map_or_else(Cache::none, |folder| Cache::open(&folder)),
            Profiles::KeptIn(folder) => Cache::open(folder),
            Profiles::Measured | Profiles::Estimated => Cache::none(),
        }
    }

    /// No file: nothing is known, nothing is kept.
    fn none() -> Cache {
        Cache { file: None, contents: Contents::default(), touched: BTreeMap::new(), note: None }
    }

    /// The profiles in a folder.
    fn open(folder: &Path) -> Cache {
        let header = header();
        let mut hasher = DefaultHasher::new();
        header.hash(&mut hasher);
        let file = folder.join(format!("{:016x}.json", hasher.finish()));
        let contents = match files::open_own(&file, false) {
            Ok(opened) => read(opened),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Contents::default()),
            Err(e) => Err(e),
        };
        let contents = match contents {
            Ok(contents) => contents,
            Err(e) => return Cache { note: Some(note("not used", &file, &e)), ..Cache::none() },
        };
        let is_ours = contents.header == header;
        let contents = if is_ours { contents } else { Contents { header, ..Contents::default() } };
        Cache { file: Some(file), contents, touched: BTreeMap::new(), note: None }
    }

    /// What is known of this key: a profile, or that it cannot run.
    pub(super) fn get(&mut self, key: &str) -> Option<Option<Profile>> {
        let profile = self.contents.profiles.get(key)?.profile;
        self.touched.insert(key.to_string(), profile);
        Some(profile)
    }

    /// Forgets a time that cannot be.
    pub(super) fn forget(&mut self, key: &str) {
        self.contents.profiles.remove(key);
        self.touched.remove(key);
    }

    /// Keeps what was measured. Of times that other work disturbed, the least stay.
    pub(super) fn put(&mut self, key: String, profile: Option<Profile>) {
        let before = self.contents.profiles.get(&key).and_then(|entry| entry.profile);
        let least = match (before, profile) {
            (Some(before), Some(now)) if now.disturbed && before.seconds < now.seconds => Some(before),
            _ => profile,
        };
        self.touched.insert(key, least);
    }

    /// Writes what was used and measured beside what the file has by now. Returns why the file was not used or not written.
    pub(super) fn save(self) -> Option<String> {
        let Some(file) = &self.file else { return self.note };
        let written = write(file, &self.contents.header, self.touched);
        written.err().map(|e| note("not kept", file, &e))
    }
}

/// A line for the plan's text.
fn note(what: &str, file: &Path, why: &std::io::Error) -> String {
    let remedy = "repair that, or name another folder in BLOCKTENSOR_CACHE";
    format!("profiles: {what}: {}: {why}; {remedy}", blocktensor::shown_path(file))
}

/// What a file holds: nothing, if it is damaged. Times that no measurement gives are left out.
fn read(mut file: File) -> std::io::Result<Contents> {
    if file.metadata()?.len() > MOST_BYTES {
        return Err(std::io::Error::new(ErrorKind::FileTooLarge, "it is too large"));
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let mut contents: Contents = serde_json::from_slice(&text).unwrap_or_default();
    contents.profiles.retain(|_, entry| entry.profile.as_ref().is_none_or(Profile::is_possible));
    Ok(contents)
}

fn write(path: &Path, header: &str, touched: BTreeMap<String, Option<Profile>>) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let file = files::lock_own(path, LOCK_WAIT)?;
    // Another process may have written since.
    let mut contents = read(file.try_clone()?).ok().filter(|c| c.header == header).unwrap_or_default();
    contents.header = header.to_string();
    contents.generation += 1;
    let used = contents.generation;
    contents.profiles.extend(touched.into_iter().map(|(key, profile)| (key, Entry { profile, used })));
    while contents.profiles.len() > MOST {
        let oldest = contents.profiles.values().map(|e| e.used).min().unwrap_or(0);
        let before = contents.profiles.len();
        let mut room = before - MOST;
        contents.profiles.retain(|_, e| {
            let goes = e.used == oldest && room > 0;
            room -= usize::from(goes);
            !goes
        });
    }
    let text = serde_json::to_string(&contents)?;
    files::replace(path, |out| out.write_all(text.as_bytes()))
}

/// What a time depends on beside what runs: processor, caches, engine, versions.
fn header() -> String {
    let info = blocktensor::build_info();
    let engine =
        info.engine.as_ref().map(|e| format!("{} {:?} {} {}", e.name, e.version, e.cpu_runtime, e.isa));
    let engine = engine.unwrap_or_else(|| "no engine".to_string());
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = ["vendor_id", "cpu family", "model", "model name", "stepping"];
    let first = cpu.lines().take_while(|line| !line.is_empty());
    let cpu: Vec<&str> = first
        .filter(|line| line.split(':').next().is_some_and(|name| named.contains(&name.trim())))
        .collect();
    format!(
        "profiles 3, blocktensor {} {}, opt-level {} of {}, kernels {}, {engine}, {}, {:?}",
        info.version,
        env!("CARGO_PKG_VERSION"),
        info.opt_level,
        info.profile,
        info.simd,
        cpu.join("; ").replace('\t', ""),
        blocktensor::machine().caches
    )
}

/// The folder of the user's cache. `None` if the user has none, or has switched it off with `BLOCKTENSOR_CACHE=off`.
fn default_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = match set("BLOCKTENSOR_CACHE") {
        Some(off) if off.as_os_str() == "off" => return None,
        Some(folder) => folder,
        None => match set("XDG_CACHE_HOME") {
            Some(folder) => folder.join("blocktensor"),
            None => set("HOME")?.join(".cache/blocktensor"),
        },
    };
    Some(base.join("profiles"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(seconds: f64) -> Option<Profile> {
        Some(Profile { runs: 3, lower: seconds / 2.0, seconds, upper: seconds * 2.0, disturbed: false })
    }

    #[test]
    fn profiles_are_found_again_and_two_writers_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (mut first, mut second) = (Cache::open(folder.path()), Cache::open(folder.path()));
        first.put("a".to_string(), profile(1.0));
        first.put("b".to_string(), None);
        second.put("c".to_string(), profile(3.0));
        first.save();
        second.save();
        let mut third = Cache::open(folder.path());
        assert_eq!(third.get("a"), Some(profile(1.0)));
        assert_eq!(third.get("b"), Some(None));
        assert_eq!(third.get("c"), Some(profile(3.0)));
        assert_eq!(third.get("d"), None);
    }

    #[test]
    fn a_file_of_another_machine_or_a_broken_one_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let mut cache = Cache::open(folder.path());
        cache.put("a".to_string(), profile(1.0));
        let file = cache.file.clone().unwrap();
        cache.save();
        let text = std::fs::read_to_string(&file).unwrap();
        for other in [text.replace("blocktensor", "blocktensor of another machine"), text[..20].to_string()] {
            std::fs::write(&file, other).unwrap();
            assert_eq!(Cache::open(folder.path()).get("a"), None);
        }
        // It is written anew.
        let mut cache = Cache::open(folder.path());
        cache.put("a".to_string(), profile(2.0));
        cache.save();
        assert_eq!(Cache::open(folder.path()).get("a"), Some(profile(2.0)));
    }

    #[test]
    fn a_file_keeps_what_was_used_last() {
        let folder = tempfile::tempdir().unwrap();
        let mut cache = Cache::open(folder.path());
        (0..MOST).for_each(|i| cache.put(format!("old {i}"), profile(1.0)));
        cache.save();
        let mut cache = Cache::open(folder.path());
        cache.get("old 0");
        (0..10).for_each(|i| cache.put(format!("new {i}"), None));
        cache.save();
        let cache = Cache::open(folder.path());
        assert_eq!(cache.contents.profiles.len(), MOST);
        assert!(
            cache.contents.profiles.contains_key("old 0") && cache.contents.profiles.contains_key("new 9")
        );
    }

    #[test]
    fn times_that_no_measurement_gives_are_measured_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut cache = Cache::open(folder.path());
        cache.put("good".to_string(), profile(1.0));
        let file = cache.file.clone().unwrap();
        cache.save();
        let text = std::fs::read_to_string(&file).unwrap();
        for (from, to) in [
            (r#""runs":3"#, r#""runs":0"#),
            (r#""lower":0.5"#, r#""lower":0.0"#),
            (r#""lower":0.5"#, r#""lower":-0.5"#),
            (r#""lower":0.5"#, r#""lower":1.5"#),
            (r#""upper":2.0"#, r#""upper":0.75"#),
        ] {
            assert!(text.contains(from), "{text}");
            std::fs::write(&file, text.replace(from, to)).unwrap();
            assert_eq!(Cache::open(folder.path()).get("good"), None, "{to}");
            // Nor does the next writer keep it.
            let mut cache = Cache::open(folder.path());
            cache.put("other".to_string(), profile(1.0));
            cache.save();
            let mut cache = Cache::open(folder.path());
            assert_eq!((cache.get("good"), cache.get("other")), (None, Some(profile(1.0))), "{to}");
        }
    }

    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut cache = Cache::open(folder.path());
        cache.put("a".to_string(), profile(1.0));
        let file = cache.file.clone().unwrap();
        cache.save();
        // JSON may end with spaces: the content stays readable.
        let text = std::fs::read_to_string(&file).unwrap();
        let padded = |bytes: u64| {
            let mut padded = text.clone().into_bytes();
            padded.resize(usize::try_from(bytes).unwrap(), b' ');
            std::fs::write(&file, padded).unwrap();
            Cache::open(folder.path())
        };
        assert_eq!(padded(MOST_BYTES).get("a"), Some(profile(1.0)));
        let mut large = padded(MOST_BYTES + 1);
        assert_eq!(large.get("a"), None);
        let note = large.save().unwrap();
        assert!(note.contains("not used") && note.contains("too large"), "{note}");
        assert_eq!(std::fs::metadata(&file).unwrap().len(), MOST_BYTES + 1);
    }
}
