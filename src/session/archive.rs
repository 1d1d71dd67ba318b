//! Packs a session into one file, to hand it in or to move it to another machine.

use std::fs::{self, File};
use std::io::{self, Read, Write, repeat};
use std::path::{Component, Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, Entry, EntryType, Header};

use crate::{SessionError, SessionLocation, log};
use tinyllama_base::{file, if_there, inside, untrusted};
use tinyllama_profile::read::private_copy::PrivateCopy;
use tinyllama_runs::EVENTS;

/// The parts of a session that travel. The lock and the cache stay.
const PARTS: [&str; 4] = ["events.jsonl", "runs", "workbench", "backups"];

/// An archive that unpacks to more bytes is refused.
const MOST_BYTES: u64 = 1 << 30;
/// No session has more files and folders than this.
const MOST_ENTRIES: usize = 100_000;
/// Deepest path: `runs/ID/profiles/NAME/...`
const DEEPEST: usize = 12;
/// Longest path. An archive may give it in a separate header.
const LONGEST_PATH: u64 = 1 << 12;

/// What an export does not give away.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Withheld {
    /// Databases of profilers that were rewritten without environment, command and names of host and files.
    pub rewritten: Vec<PathBuf>,
    /// Files that are not in the archive, each with the reason.
    pub files: Vec<(PathBuf, String)>,
}

impl Withheld {
    /// Sentences for the person who exports.
    pub fn lines(&self) -> Vec<String> {
        let rewritten = (!self.rewritten.is_empty()).then(|| {
            let paths = self.rewritten.iter().map(|path| path.display());
            format!(
                "The program's environment, its command and the names of host and files were taken out of the copy of {}.",
                itertools::join(paths, ", ")
            )
        });
        let files = self.files.iter();
        let files = files.map(|(path, why)| format!("{} was left out: {why}.", path.display()));
        rewritten.into_iter().chain(files).collect()
    }
}

/// Writes the session to a new `.tar.gz`. An existing file is not overwritten. Databases of profilers are copied without
/// what they say of the program and its machine.
pub fn export(location: &SessionLocation, to: &Path) -> Result<Withheld, SessionError> {
    let file = File::create_new(to).map_err(SessionError::io("creating", to))?;
    let written = write(location, file, to);
    if written.is_err() {
        // Half an archive would block the next try.
        drop(fs::remove_file(to));
    }
    written
}

fn write(location: &SessionLocation, file: File, to: &Path) -> Result<Withheld, SessionError> {
    let io = |action| SessionError::io(action, to);
    let mut archive = Builder::new(GzEncoder::new(file, Compression::default()));
    let mut withheld = Withheld::default();
    for part in PARTS {
        add(
            &mut archive,
            &location.folder,
            Path::new(part),
            &mut withheld,
        )?;
    }
    let file = archive
        .into_inner()
        .and_then(GzEncoder::finish)
        .map_err(io("writing"))?;
    file.sync_all().map_err(io("saving"))?;
    Ok(withheld)
}

/// Packs a file, or a folder with its content. A tutor may append meanwhile, so a file is packed up to its length at
/// the start.
fn add(
    archive: &mut Builder<impl Write>,
    root: &Path,
    part: &Path,
    withheld: &mut Withheld,
) -> Result<(), SessionError> {
    let path = root.join(part);
    let io = |action| SessionError::io(action, &path);
    let Some(found) = if_there(fs::symlink_metadata(&path)).map_err(io("packing"))? else {
        return Ok(());
    };
    if found.is_dir() {
        archive.append_dir(part, &path).map_err(io("packing"))?;
        let found = inside(&path).map_err(io("packing"))?;
        let mut names = found.iter().filter_map(|path| path.file_name());
        return names.try_for_each(|name| add(archive, root, &part.join(name), withheld));
    }
    if !found.is_file() {
        return Ok(());
    }
    let copy = PrivateCopy::from_file(&path);
    let (path, found) = match &copy {
        PrivateCopy::AsIs => (path.as_path(), found),
        PrivateCopy::Rewritten { database, .. } => {
            withheld.rewritten.push(part.to_path_buf());
            let found = fs::metadata(database).map_err(io("packing"))?;
            (database.as_path(), found)
        }
        PrivateCopy::Withheld(why) => {
            withheld.files.push((part.to_path_buf(), why.clone()));
            return Ok(());
        }
    };
    let io = |action| SessionError::io(action, path);
    let file = File::open(path).map_err(io("packing"))?;
    let mut header = Header::new_gnu();
    header.set_metadata(&found);
    // A file that shrinks meanwhile is filled with zeros. Otherwise the rest of the archive would be unreadable.
    let content = file.take(found.len()).chain(repeat(0)).take(found.len());
    archive
        .append_data(&mut header, part, content)
        .map_err(io("packing"))
}

/// Unpacks an archive as the session at `location`, where there must be none yet. Returns its damaged lines.
///
/// The archive is first unpacked and read in a temporary folder, so a bad archive leaves nothing behind.
pub fn import(
    from: &Path,
    location: &SessionLocation,
) -> Result<Vec<log::LogDamage>, SessionError> {
    if location.events().exists() {
        return Err(SessionError::Exists {
            path: location.folder.clone(),
        });
    }
    let parent = location.folder.parent().unwrap_or(Path::new("."));
    super::location::create_private(parent)?;
    let unpacked = tempfile::Builder::new()
        .prefix(".import-")
        .tempdir_in(parent)
        .map_err(SessionError::io("creating", parent))?;
    unpack(from, unpacked.path())?;
    let scan = log::scan(&unpacked.path().join("events.jsonl"))?;
    if scan.records.is_empty() {
        let why = "it holds no events".into();
        return Err(SessionError::NoExport {
            path: from.to_path_buf(),
            why,
        });
    }
    location.create()?;
    // The events come last, because a session exists as soon as they do.
    for part in PARTS.iter().rev() {
        let (source, target) = (unpacked.path().join(part), location.folder.join(part));
        if source.is_dir() {
            fs::remove_dir(&target).map_err(SessionError::io("replacing", &target))?;
        }
        if source.exists() {
            fs::rename(&source, &target).map_err(SessionError::io("moving to", &target))?;
        }
    }
    file::sync_folder(&location.events()).map_err(SessionError::io("saving", &location.folder))?;
    share(location)?;
    Ok(scan.damage)
}

/// Lets the instructors of a shared class read the parts that they could read if the session had begun there.
fn share(location: &SessionLocation) -> Result<(), SessionError> {
    let runs = location.runs();
    let made = inside(&runs).map_err(SessionError::io("reading", &runs))?;
    let streams = made.iter().map(|run| run.join(EVENTS));
    let mut all = [location.events(), runs].into_iter().chain(streams);
    all.try_for_each(|path| location.share(&path))?;
    made.iter().try_for_each(|run| location.share(run))
}

fn unpack(from: &Path, to: &Path) -> Result<(), SessionError> {
    let io = |action| SessionError::io(action, from);
    let refuse = |why: String| SessionError::NoExport {
        path: from.to_path_buf(),
        why,
    };
    let open = || {
        let file = untrusted::open(from).map_err(io("opening"))?;
        // The limit is doubled for headers and padding.
        Ok(Archive::new(GzDecoder::new(file).take(2 * MOST_BYTES)))
    };
    // Readers load an entry that describes the next one as a whole. This first pass reads without them, so their
    // sizes can be checked.
    let is_plain = |kind| matches!(kind, EntryType::Regular | EntryType::Directory);
    let mut raw = open()?;
    let mut bytes = 0;
    for (count, entry) in raw.entries().map_err(io("reading"))?.raw(true).enumerate() {
        let entry = entry.map_err(io("reading"))?;
        let (kind, size) = (entry.header().entry_type(), entry.size());
        bytes += size;
        if bytes > MOST_BYTES || count >= MOST_ENTRIES {
            return Err(refuse("it unpacks to more than a session can hold".into()));
        }
        let is_long_name = kind == EntryType::GNULongName && size <= LONGEST_PATH;
        if !(is_long_name || is_plain(kind)) {
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            return Err(refuse(format!("`{path}` does not belong in a session")));
        }
    }
    let mut archive = open()?;
    for entry in archive.entries().map_err(io("reading"))? {
        let mut entry = entry.map_err(io("reading"))?;
        let path = entry.path().map_err(io("reading"))?.into_owned();
        if !is_plain(entry.header().entry_type()) || !belongs(&path) {
            let path = path.display();
            return Err(refuse(format!("`{path}` does not belong in a session")));
        }
        unpack_entry(&mut entry, &to.join(&path)).map_err(io("unpacking"))?;
    }
    Ok(())
}

/// Writes a file or folder that only its owner can use, regardless of the rights in the archive.
fn unpack_entry(entry: &mut Entry<impl Read>, target: &Path) -> io::Result<()> {
    if entry.header().entry_type() == EntryType::Directory {
        return file::create_private(target);
    }
    if let Some(folder) = target.parent() {
        file::create_private(folder)?;
    }
    io::copy(entry, &mut file::create_private_file(target)?).map(drop)
}

/// Returns whether a path is one of [`PARTS`] or lies below one, and does not lead out of it.
fn belongs(path: &Path) -> bool {
    let mut components = path.components();
    let Some(Component::Normal(first)) = components.next() else {
        return false;
    };
    PARTS.iter().any(|part| first == *part)
        && path.components().count() <= DEEPEST
        && components.all(|component| matches!(component, Component::Normal(_)))
}
