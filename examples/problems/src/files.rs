//! Lists of problems in benchdnn's files: comments, options, other files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::notation::{Kind, Problem};

/// A problem and its place in a file.
#[derive(Clone, Debug)]
pub struct Entry {
    pub at: String,
    pub problem: Problem,
}

/// The problems of all files.
#[derive(Clone, Debug, Default)]
pub struct List {
    pub entries: Vec<Entry>,
    /// What could not be read: file, line, and what is wrong.
    pub unreadable: Vec<String>,
    /// How many of benchdnn's options were ignored, and their names.
    pub ignored: usize,
    pub ignored_names: BTreeSet<String>,
}

impl List {
    /// Reads a file of problems. A word that begins with `#` begins a comment. `--conv`, `--deconv`, `--pool` and `--bnorm`
    /// set the kind of the problems that follow. `--batch=FILE` reads another file there, searched for beside this file,
    /// beside the files that read it, and in the working directory. Other options are counted.
    pub fn add_file(&mut self, path: &Path, kind: Kind) {
        self.file(path, &path.display().to_string(), kind, &mut Vec::new());
    }

    /// Reads one problem.
    pub fn add_text(&mut self, text: &str, kind: Kind) {
        self.problem("--problem", text, kind);
    }

    fn problem(&mut self, at: &str, text: &str, kind: Kind) {
        match Problem::read(kind, text) {
            Ok(problem) => self.entries.push(Entry { at: at.to_string(), problem }),
            Err(wrong) => self.unreadable.push(format!("{at}: {text}: {wrong}")),
        }
    }

    /// `readers` are the files that led to this one, by canonical path.
    fn file(&mut self, path: &Path, at: &str, kind: Kind, readers: &mut Vec<PathBuf>) {
        let bytes = path.canonicalize().and_then(|real| fs::read(&real).map(|bytes| (real, bytes)));
        let (real, bytes) = match bytes {
            Ok(found) => found,
            Err(e) if readers.is_empty() => return self.unreadable.push(format!("{at}: {e}")),
            Err(e) => return self.unreadable.push(format!("{at}: {}: {e}", path.display())),
        };
        if readers.contains(&real) {
            return self.unreadable.push(format!("{at}: {} leads to itself", path.display()));
        }
        readers.push(real);
        let mut kind = kind;
        let text = String::from_utf8_lossy(&bytes);
        // Editors on some systems write a byte order mark first.
        for (line, word) in words(text.trim_start_matches('\u{feff}')) {
            let at = format!("{}:{line}", path.display());
            let driver = Kind::ALL.into_iter().find(|k| word.strip_prefix("--") == Some(k.name()));
            if let Some(driver) = driver {
                kind = driver;
            } else if let Some(other) = word.strip_prefix("--batch=") {
                let other = beside(Path::new(other.trim_matches('"')), path, readers);
                self.file(&other, &at, kind, readers);
            } else if word.starts_with('-') {
                self.ignored += 1;
                let name = word.split('=').next().unwrap_or(&word);
                self.ignored_names.insert(name.to_string());
            } else {
                self.problem(&at, &word, kind);
            }
        }
        readers.pop();
    }
}

/// The path of a file that another file names.
fn beside(name: &Path, file: &Path, readers: &[PathBuf]) -> PathBuf {
    let folders = std::iter::once(file).chain(readers.iter().rev().map(|r| r.as_path()));
    let places = folders.filter_map(Path::parent).map(|folder| folder.join(name));
    places.chain([name.to_path_buf()]).find(|p| p.is_file()).unwrap_or_else(|| name.to_path_buf())
}

/// The words of a file with the lines on which they begin. A `\` at the end of a line joins it to the next.
fn words(text: &str) -> Vec<(usize, String)> {
    let mut words: Vec<(usize, String)> = Vec::new();
    let mut joined = false;
    for (i, line) in text.lines().enumerate() {
        for word in line.split_whitespace().take_while(|w| !w.starts_with('#')) {
            let (part, goes_on) = match word.strip_suffix('\\') {
                Some(part) => (part, true),
                None => (word, false),
            };
            match words.last_mut() {
                Some((_, last)) if joined || part.is_empty() => last.push_str(part),
                _ => words.push((i + 1, part.to_string())),
            }
            joined = goes_on;
        }
    }
    words.retain(|(_, w)| !w.is_empty());
    words
}
