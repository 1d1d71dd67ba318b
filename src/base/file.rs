//! Writes that either succeed completely or change nothing, and the rights of new files.
//!
//! New files and folders are for their owner alone. In a folder that passes its group on, such as a learner's folder in a
//! class, the group may read them as well: instructors are in it.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use etcetera::BaseStrategy;
use serde::Serializer;
use tempfile::NamedTempFile;

use crate::safe_path::folder_of;

const SET_GROUP: u32 = 0o2000;
const STICKY: u32 = 0o1000;
const GROUP_READS: u32 = 0o050;
const OTHERS: u32 = 0o007;

/// The path of `name` in this program's part of the user's cache, `$XDG_CACHE_HOME/tinyllama-tutor`; `None` without a
/// home folder.
pub fn cached(name: &str) -> Option<PathBuf> {
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.cache_dir().join("tinyllama-tutor").join(name))
}

/// A path as text for a document. JSON has text only, so bytes that are none are replaced.
pub fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The same for a field of a document.
///
/// # Errors
/// The serializer's.
pub fn serialize_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Replaces a file in one step: readers see the old content or the new one, even after a power cut.
///
/// # Errors
/// Returns the file system's error.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    let file = NamedTempFile::new_in(folder)?;
    let shared = group_rights(folder);
    if shared != 0 {
        add_rights(file.as_file(), shared)?;
    }
    put_in_place(file, path, |file| file.write_all(content))
}

fn put_in_place(
    mut file: NamedTempFile,
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_folder(path)
}

/// Writes a file that the user named: a regular one in one step, so that a full disk leaves what was there; a pipe or a
/// device as the bytes come.
///
/// # Errors
/// Returns the file system's error.
pub fn write_output(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let buffered = |file: &mut File| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()
    };
    let target = if_there(fs::canonicalize(path))?.unwrap_or_else(|| path.to_owned());
    if target.exists() && !target.is_file() {
        return buffered(&mut OpenOptions::new().write(true).open(target)?);
    }
    // The user's own umask decides who reads it.
    let draft = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder_of(&target))?;
    put_in_place(draft, &target, buffered)
}

/// Finds out ahead of a long computation whether [`write_output`] can write there. It changes nothing.
///
/// # Errors
/// Returns the file system's error.
pub fn check_output(path: &Path) -> io::Result<()> {
    match if_there(OpenOptions::new().append(true).open(path))? {
        Some(_) => Ok(()),
        None => NamedTempFile::new_in(folder_of(path)).map(drop),
    }
}

/// Makes a new or renamed file in its folder survive a power cut.
///
/// # Errors
/// Returns the file system's error.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// True if an error means that the disk or quota is full.
pub fn is_full(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded)
}

/// Turns "not found" into `None`.
///
/// # Errors
/// Returns every other error of the file system.
pub fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Lists a folder's entries, sorted. The list is empty if the folder does not exist.
///
/// # Errors
/// Returns every other error of the file system.
pub fn inside(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = if_there(fs::read_dir(folder))?.into_iter().flatten();
    let mut paths = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Rights of the group in new files of this folder: to read them if the folder passes its group on (`chmod g+s`) and is
/// open to the group, but not to everybody. Otherwise none.
pub fn group_rights(folder: &Path) -> u32 {
    let mode = fs::metadata(folder).map_or(0, |found| found.mode());
    let is_for_group = mode & SET_GROUP != 0 && mode & GROUP_READS == GROUP_READS;
    // Everybody may enter a class folder, and its sticky bit keeps its learners apart.
    match is_for_group && (mode & STICKY != 0 || mode & OTHERS == 0) {
        true => GROUP_READS,
        false => 0,
    }
}

/// Creates a folder with its missing parents, readable by its owner and those who have [`group_rights`]. Existing folders
/// stay unchanged.
///
/// # Errors
/// Returns the file system's error.
pub fn create_private(folder: &Path) -> io::Result<()> {
    let parent = folder_of(folder);
    // The folder of a path without folders is the current one.
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    create_private(parent)?;
    match create_folder(folder, 0o700 | group_rights(parent)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        made => made,
    }
}

/// Creates a folder with this mode, whatever the umask is.
///
/// # Errors
/// Returns the file system's error, also if the folder exists.
pub fn create_folder(folder: &Path, mode: u32) -> io::Result<()> {
    static UMASK: Mutex<()> = Mutex::new(());
    let mut builder = DirBuilder::new();
    builder.mode(mode);
    builder.create(folder)?;
    if fs::metadata(folder)?.mode() & mode == mode {
        return Ok(());
    }
    // The umask took rights of the group. Adding them to the folder would clear its set-group bit, because a learner is
    // not in the group of instructors. So the folder is created again with a umask that lets the group in.
    fs::remove_dir(folder)?;
    let _one_at_a_time = UMASK.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the call takes a number and cannot fail. Files of other threads that have a mode are not affected.
    let umask = unsafe { libc::umask(0o007) };
    let made = builder.create(folder);
    // SAFETY: as above.
    unsafe { libc::umask(umask) };
    made
}

/// Creates a folder in `parent` with a name that begins with `prefix`, and returns its path.
///
/// # Errors
/// Returns the file system's error.
pub fn create_unique(parent: &Path, prefix: &str) -> io::Result<PathBuf> {
    loop {
        let random = RandomState::new().build_hasher().finish();
        let folder = parent.join(format!("{prefix}{:04x}", random & 0xffff));
        match create_folder(&folder, 0o700 | group_rights(parent)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
}

/// Creates or empties a file that only its owner and those who have [`group_rights`] can read.
///
/// # Errors
/// Returns the file system's error.
pub fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open_private(options.write(true).create(true).truncate(true), path)
}

/// Opens a file with these options. If they create it, only its owner and those who have [`group_rights`] can read it.
///
/// # Errors
/// Returns the file system's error.
pub fn open_private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let shared = group_rights(folder_of(path));
    let file = options.mode(0o600).open(path)?;
    if shared != 0 {
        add_rights(&file, shared)?;
    }
    Ok(file)
}

/// Lets the group read a file.
fn add_rights(file: &File, shared: u32) -> io::Result<()> {
    let mode = file.metadata()?.mode();
    // A file has no use for the right to enter it.
    let wanted = mode | shared & 0o040;
    match mode == wanted {
        true => Ok(()),
        false => file.set_permissions(Permissions::from_mode(wanted)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn the_group_reads_what_is_made_in_a_folder_that_passes_it_on() {
        let root = tempfile::tempdir().unwrap();
        for (of_folder, folder_mode, file_mode) in [
            (0o3773, 0o2750, 0o640),
            (0o2750, 0o2750, 0o640),
            // A home of a site that sets the bit everywhere stays private.
            (0o2755, 0o2700, 0o600),
            (0o2700, 0o2700, 0o600),
            (0o755, 0o700, 0o600),
        ] {
            let parent = root.path().join(format!("{of_folder:o}"));
            fs::create_dir(&parent).unwrap();
            fs::set_permissions(&parent, Permissions::from_mode(of_folder)).unwrap();
            let below = parent.join("a/b");
            create_private(&below).unwrap();
            let unique = create_unique(&below, "run-").unwrap();
            let [new, replaced] = ["new", "replaced"].map(|name| unique.join(name));
            create_private_file(&new).unwrap();
            replace(&replaced, b"text").unwrap();
            let modes = [&below, &unique, &new, &replaced].map(|path| mode(path));
            let expected = [folder_mode, folder_mode, file_mode, file_mode];
            assert_eq!(modes, expected, "{of_folder:o}: {modes:?}");
        }
    }
}
