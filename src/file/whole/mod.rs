//! Writing a file whole or not at all.
//!
//! [`write()`] writes a file that a user names, [`replace`] a file of the library's own. Both write a new file in the same folder,
//! sync it to the disk, and rename it over the old one. Until the rename the new file has no name (`O_TMPFILE`), so a process
//! that is killed leaves nothing. Some file systems cannot do that. There the new file is called `.blocktensor-*.part` from the
//! start, and its writer holds a lock on it: the next write into the folder removes each such file that nobody has locked.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long [`write()`] waits for a process that reads a named pipe.
const READER: Duration = Duration::from_secs(10);
/// How long to wait before asking again.
const PAUSE: Duration = Duration::from_millis(10);

/// Writes a file that a user names.
///
/// - A regular file is replaced whole, or on an error not at all. It keeps its permissions, and its owner where the system lets
///   this process set it. A file that this process may not write is not replaced.
/// - Of a symbolic link, the target is replaced. A link without a target is an error.
/// - Pipes and devices are written directly. A named pipe that no process reads within 10 seconds is an error.
/// - The file that is this process's standard output or standard error is written through that stream, whatever its kind: what
///   the process prints comes before or after it.
///
/// ```
/// # let dir = std::env::temp_dir().join(format!("blocktensor-doc-write-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir)?;
/// # let path = dir.join("plan.svg");
/// blocktensor::files::write(&path, |out| out.write_all(b"<svg/>"))?;
/// # assert_eq!(std::fs::read(&path)?, b"<svg/>");
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// The system's, and those of `content`. `NotFound` if the folder is missing.
pub fn write(
    path: impl AsRef<Path>,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    match Target::of(path.as_ref())? {
        Target::Direct(file) => fill(&file, content),
        Target::Pipe(path) => fill(&open_pipe(&path, READER)?, content),
        Target::Name(path) => replace(path, content),
    }
}

/// Whether [`write()`] could begin to write this file: its folder takes new files, and nothing forbids to replace it. Changes
/// nothing, and waits for nobody.
///
/// # Errors
/// As [`write()`].
pub fn check(path: impl AsRef<Path>) -> io::Result<()> {
    match Target::of(path.as_ref())? {
        Target::Direct(_) | Target::Pipe(_) => Ok(()),
        Target::Name(path) => Part::new(folder_of(&path)).map(drop),
    }
}

/// Refuses a path where [`write()`] would replace a regular file of another kind, which may be a model's weights. `writes` is given
/// the content of the file there, and says whether the caller writes such files. An empty file is of every kind; pipes and devices
/// are not looked at.
///
/// ```
/// # let dir = std::env::temp_dir().join(format!("blocktensor-doc-kind-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir)?;
/// # let path = dir.join("plan.svg");
/// use std::io::Read as _;
/// std::fs::write(&path, "weights")?;
/// let refused = blocktensor::files::check_kind(&path, |content| {
///     let mut begin = [0; 4];
///     Ok(content.read(&mut begin)? == 4 && &begin == b"<svg")
/// });
/// assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
/// # std::fs::remove_dir_all(&dir)?;
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// `AlreadyExists` for a file of another kind; the system's for a file that cannot be read; as [`write()`].
pub fn check_kind(
    path: impl AsRef<Path>,
    writes: impl FnOnce(&mut dyn Read) -> io::Result<bool>,
) -> io::Result<()> {
    let Target::Name(path) = Target::of(path.as_ref())? else { return Ok(()) };
    let mut file = match File::open(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    if file.metadata()?.len() == 0 || writes(&mut file)? {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "it exists, and is a file of another kind"))
}

/// What is at a path that a user names.
enum Target {
    /// A device, or one of the process's own streams.
    Direct(File),
    Pipe(PathBuf),
    /// A regular file, or none yet.
    Name(PathBuf),
}

impl Target {
    fn of(path: &Path) -> io::Result<Target> {
        let is_link = path.is_symlink();
        match std::fs::metadata(path) {
            Ok(m) if m.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(m) => {
                if let Some(stream) = own_stream(&m) {
                    return Ok(Target::Direct(stream));
                }
                if m.file_type().is_fifo() {
                    return Ok(Target::Pipe(path.to_path_buf()));
                }
                // Without this, a rename would replace a file that is protected against writing.
                let file = open_now(path)?;
                if !m.is_file() {
                    return Ok(Target::Direct(blocking(file)?));
                }
            }
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            Err(e) if is_link => {
                return Err(io::Error::new(e.kind(), "it is a symbolic link to a file that does not exist"));
            }
            Err(_) if is_descriptor(path) => {
                return Err(io::Error::new(ErrorKind::InvalidInput, "no open file has this descriptor"));
            }
            Err(_) => {}
        }
        Ok(Target::Name(if is_link { std::fs::canonicalize(path)? } else { path.to_path_buf() }))
    }
}

/// Whether the path names a descriptor of a process, such as `/dev/fd/3`: no file can be made there.
fn is_descriptor(path: &Path) -> bool {
    let folder = folder_of(path).canonicalize().unwrap_or_default();
    folder.starts_with("/proc") && folder.ends_with("fd")
}

/// The standard output or standard error, if it is this file.
fn own_stream(file: &Metadata) -> Option<File> {
    let (out, err) = (io::stdout(), io::stderr());
    [out.as_fd(), err.as_fd()].into_iter().find_map(|stream| {
        let stream = File::from(stream.try_clone_to_owned().ok()?);
        stream.metadata().is_ok_and(|m| is_same(&m, file)).then_some(stream)
    })
}

/// Whether two files are one.
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Opens a file for writing without waiting: for a pipe's reader, or for the other end of a line.
fn open_now(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

/// From here on, writing waits until there is room.
fn blocking(file: File) -> io::Result<File> {
    rustix::fs::fcntl_setfl(&file, rustix::fs::OFlags::empty())?;
    Ok(file)
}

/// Opens a named pipe for writing. Waits for a reader, at most for `limit`.
fn open_pipe(path: &Path, limit: Duration) -> io::Result<File> {
    let start = Instant::now();
    loop {
        match open_now(path) {
            Err(e) if e.raw_os_error() == Some(libc::ENXIO) && start.elapsed() >= limit => {
                return Err(io::Error::new(ErrorKind::TimedOut, "it is a pipe that no process reads"));
            }
            Err(e) if e.raw_os_error() == Some(libc::ENXIO) => std::thread::sleep(PAUSE),
            opened => return blocking(opened?),
        }
    }
}

fn fill(file: &File, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut buffered = BufWriter::with_capacity(32 << 10, file);
    content(&mut buffered)?;
    buffered.flush()
}

/// Replaces what is at this path by a new regular file, or on an error leaves it as it was. A symbolic link is replaced itself:
/// its target stays. The new file has the permissions of a regular file that was there.
///
/// # Errors
/// As [`write()`].
pub fn replace(
    path: impl AsRef<Path>,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let path = path.as_ref();
    let folder = folder_of(path);
    let part = Part::new(folder)?;
    remove_leftovers(folder, part.file.metadata()?.uid());
    fill(&part.file, content)?;
    part.finish(path)
}

/// The folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Opens a file of the library's own for reading, with `create` also for writing, where others could have put something else in
/// its place: it follows no symbolic link, waits for no pipe, and refuses a file of another user.
///
/// # Errors
/// The system's. `InvalidInput` unless it is a regular file, `PermissionDenied` if another user owns it.
pub fn open_own(path: impl AsRef<Path>, create: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(create).create(create).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path).map_err(|e| match e.raw_os_error() {
        Some(libc::ELOOP) => io::Error::new(ErrorKind::InvalidInput, "it is a symbolic link"),
        _ => e,
    })?;
    let m = file.metadata()?;
    if !m.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    if m.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    Ok(file)
}

/// Opens and locks a file of the library's own ([`open_own`]), which others may [`replace`] while they hold its lock. Makes an
/// empty one if there is none. Waits at most for `limit`.
///
/// # Errors
/// As [`open_own`]. `TimedOut` if another process still holds the lock then.
pub fn lock_own(path: impl AsRef<Path>, limit: Duration) -> io::Result<File> {
    let (path, start) = (path.as_ref(), Instant::now());
    loop {
        let file = open_own(path, true)?;
        match file.try_lock() {
            // It may have been replaced between the two calls: then the lock is on the old file.
            Ok(()) if is_at(&file, path)? => return Ok(file),
            Ok(()) => {}
            Err(TryLockError::Error(e)) => return Err(e),
            Err(TryLockError::WouldBlock) if start.elapsed() >= limit => {
                return Err(io::Error::new(ErrorKind::TimedOut, "another process holds its lock"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
}

/// Whether the file is what is at the path now.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(m) => Ok(is_same(&m, &file.metadata()?)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// A new file that is not finished. It disappears when this is dropped.
struct Part {
    file: File,
    /// Its name, if it has one already.
    name: Option<PathBuf>,
    folder: PathBuf,
}

impl Part {
    /// A new file in this folder.
    fn new(folder: &Path) -> io::Result<Part> {
        Part::nameless(folder).or_else(|_| Part::named(folder)).map_err(|e| match e.kind() {
            ErrorKind::NotFound => io::Error::new(e.kind(), "its folder does not exist"),
            ErrorKind::PermissionDenied => io::Error::new(e.kind(), "its folder takes no new file"),
            _ => e,
        })
    }

    /// Without a name.
    fn nameless(folder: &Path) -> io::Result<Part> {
        #[cfg(target_os = "linux")]
        {
            let mut options = OpenOptions::new();
            options.read(true).write(true).mode(0o666).custom_flags(libc::O_TMPFILE);
            let part = Part { file: options.open(folder)?, name: None, folder: folder.to_path_buf() };
            // Without /proc it could get no name.
            std::fs::metadata(part.proc_path())?;
            // Before it has a name, so that nobody finds it unlocked. Some file systems have no locks; there nothing is removed.
            let _ = part.file.try_lock();
            Ok(part)
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = folder;
            Err(ErrorKind::Unsupported.into())
        }
    }

    /// With a name.
    fn named(folder: &Path) -> io::Result<Part> {
        loop {
            let name = folder.join(new_name());
            let mut options = OpenOptions::new();
            options.read(true).write(true).mode(0o666).create_new(true);
            let file = match options.open(&name) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
                file => file?,
            };
            let part = Part { file, name: Some(name), folder: folder.to_path_buf() };
            // Another process may remove it before it is locked.
            let is_taken = matches!(part.file.try_lock(), Err(TryLockError::WouldBlock));
            if !is_taken && part.file.metadata()?.nlink() > 0 {
                return Ok(part);
            }
        }
    }

    fn proc_path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }

    /// Renames it to `path`, with the permissions of the file there.
    fn finish(mut self, path: &Path) -> io::Result<()> {
        if let Some(old) = std::fs::symlink_metadata(path).ok().filter(Metadata::is_file) {
            self.take_access(&old)?;
        }
        self.file.sync_all()?;
        while self.name.is_none() {
            let name = self.folder.join(new_name());
            #[cfg(target_os = "linux")]
            {
                use rustix::fs::{AtFlags, CWD, linkat};
                match linkat(CWD, self.proc_path(), CWD, &name, AtFlags::SYMLINK_FOLLOW) {
                    Err(rustix::io::Errno::EXIST) => continue,
                    linked => linked?,
                }
            }
            self.name = Some(name);
        }
        if let Some(name) = &self.name {
            std::fs::rename(name, path)?;
        }
        self.name = None;
        // Closing it would not do: a child process that another thread starts has a copy of the descriptor until it becomes another
        // program, and with it the lock. Some file systems have no locks.
        let _ = self.file.unlock();
        // The new name is on the disk only after the folder is synced.
        File::open(&self.folder)?.sync_all()
    }

    /// Those who may read or write the old file may do so with the new one, and nobody else.
    fn take_access(&self, old: &Metadata) -> io::Result<()> {
        let new = self.file.metadata()?;
        let mut mode = old.permissions();
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            let (user, group) = (Some(old.uid()), Some(old.gid()));
            // Only root may give a file away, but all may give it to a group of theirs.
            let given = std::os::unix::fs::fchown(&self.file, user, group)
                .or_else(|_| std::os::unix::fs::fchown(&self.file, None, group));
            if given.is_err() {
                // What the old group might do is nothing that the new one may do.
                mode.set_mode(mode.mode() & !0o070);
            }
        }
        self.file.set_permissions(mode)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // If it cannot be removed now, the next write into this folder tries again.
            let _ = std::fs::remove_file(name);
        }
    }
}

const PREFIX: &str = ".blocktensor-";
const SUFFIX: &str = ".part";

/// A random name for an unfinished file.
fn new_name() -> String {
    let random = RandomState::new().hash_one(std::process::id());
    format!("{PREFIX}{random:016x}{SUFFIX}")
}

/// Whether [`new_name`] makes such names.
fn is_part(name: &str) -> bool {
    let middle = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    middle.is_some_and(|m| m.len() == 16 && m.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

/// Removes unfinished files of this user that no living process has locked.
fn remove_leftovers(folder: &Path, uid: u32) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(is_part) {
            continue;
        }
        let path = entry.path();
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(&path) else { continue };
        let is_ours = file.metadata().is_ok_and(|m| m.is_file() && m.uid() == uid);
        if is_ours && file.try_lock().is_ok() {
            // The lock is held until the name is gone, so its writer cannot begin to use it. Another process may be quicker.
            let _ = std::fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests;
