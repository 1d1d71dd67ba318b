//! Packs a session into one file, to hand it in or to move it to another machine.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, repeat};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, Entry, EntryType, Header};

use crate::{SessionError, SessionLocation, log};
use tinyllama_base::file::create_unique;
use tinyllama_base::safe_path::{FileKind, FolderEntry, Refused, SafeFolder, folder_of};
use tinyllama_base::{ScratchFolder, create_private, file, untrusted};
use tinyllama_profile::read::private_copy::PrivateCopy;

/// The parts of a session that travel. The lock and the cache stay.
const PARTS: [&str; 4] = [LOG, "runs", "workbench", "backups"];
const LOG: &str = "events.jsonl";

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
    /// Files and folders that are not in the archive, each with the reason. Some may not be read by this user.
    pub left_out: Vec<(PathBuf, String)>,
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
        let left_out = self.left_out.iter();
        let left_out =
            left_out.map(|(path, why)| format!("{} was left out: {why}.", path.display()));
        rewritten.into_iter().chain(left_out).collect()
    }
}

/// Writes the session to a new `.tar.gz`. An existing file is not overwritten. Databases of profilers are copied without
/// what they say of the program and its machine.
pub fn export(location: &SessionLocation, to: &Path) -> Result<Withheld, SessionError> {
    let io = |action| SessionError::io(action, to);
    // The file has another name until it is complete, so that a cut export is not taken for a hand-in.
    let unfinished = tempfile::Builder::new()
        .prefix(".tinyllama-tutor-export-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder_of(to))
        .map_err(io("creating"))?;
    let withheld = pack(location, unfinished.as_file(), to)?;
    let kept = unfinished.persist_noclobber(to);
    kept.map_err(|error| io("creating")(error.error))?;
    Ok(withheld)
}

fn pack(location: &SessionLocation, file: &File, to: &Path) -> Result<Withheld, SessionError> {
    let io = |action| SessionError::io(action, to);
    let mut archive = SessionArchive {
        file: Builder::new(GzEncoder::new(file, Compression::default())),
        withheld: Withheld::default(),
    };
    archive.add_session(location)?;
    let SessionArchive { file, withheld } = archive;
    let written = file.into_inner().and_then(GzEncoder::finish);
    let file = written.map_err(io("writing"))?;
    file.sync_all().map_err(io("saving"))?;
    Ok(withheld)
}

/// An archive while it is written.
struct SessionArchive<'a> {
    file: Builder<GzEncoder<&'a File>>,
    withheld: Withheld,
}

impl SessionArchive<'_> {
    fn add_session(&mut self, location: &SessionLocation) -> Result<(), SessionError> {
        let session = SafeFolder::open(&location.folder);
        let session = session.map_err(SessionError::io("packing", &location.folder))?;
        let packed = self.add_all(&session, Path::new(""), |name| {
            PARTS.iter().any(|part| name == *part)
        });
        packed.map_err(SessionError::io("packing", &location.folder))
    }

    /// Packs the files and folders of a folder. Links and the like stay out.
    fn add_all(
        &mut self,
        folder: &SafeFolder,
        at: &Path,
        wanted: impl Fn(&OsStr) -> bool,
    ) -> io::Result<()> {
        for FolderEntry { name, kind } in folder.entries()? {
            if !wanted(&name) {
                continue;
            }
            let part = at.join(&name);
            let added = match kind {
                FileKind::Directory => folder
                    .folder(&name)
                    .and_then(|inner| self.add_folder(&inner, &part)),
                FileKind::RegularFile => self.add_file(folder, &name, &part),
                _ => Ok(()),
            };
            match added {
                Err(error) if may_be_left_out(&error) && part != Path::new(LOG) => {
                    self.withheld.left_out.push((part, error.to_string()));
                }
                added => added?,
            }
        }
        Ok(())
    }
    fn add_folder(&mut self, folder: &SafeFolder, part: &Path) -> io::Result<()> {
        let mut header = Header::new_gnu();
        header.set_metadata(&folder.metadata()?);
        self.file.append_data(&mut header, part, io::empty())?;
        self.add_all(folder, part, |_| true)
    }

    /// Packs a file, of a profiler's database a copy that gives nothing of its program away.
    fn add_file(&mut self, folder: &SafeFolder, name: &OsStr, part: &Path) -> io::Result<()> {
        let mut file = folder.file(name)?;
        let head = head(&mut file)?;
        if !PrivateCopy::concerns(name, &head) {
            return self.add_content(&file, part);
        }
        let copied = copied(folder, name)?;
        match PrivateCopy::from_file(&copied.path().join(name)) {
            PrivateCopy::AsIs => self.add_content(&file, part)?,
            PrivateCopy::Rewritten { database, .. } => {
                self.withheld.rewritten.push(part.to_path_buf());
                self.add_content(&File::open(database)?, part)?;
            }
            PrivateCopy::Withheld(why) => self.withheld.left_out.push((part.to_path_buf(), why)),
        }
        Ok(())
    }

    /// Packs a file up to its length at the start, because a tutor may append meanwhile.
    fn add_content(&mut self, file: &File, part: &Path) -> io::Result<()> {
        let found = file.metadata()?;
        let mut header = Header::new_gnu();
        header.set_metadata(&found);
        // A file that shrinks meanwhile is filled with zeros. Otherwise the rest of the archive would be unreadable.
        let content = file.take(found.len()).chain(repeat(0)).take(found.len());
        self.file.append_data(&mut header, part, content)
    }
}

/// The first bytes of a file, which is at its start afterwards.
fn head(file: &mut File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    Read::by_ref(file).take(16).read_to_end(&mut head)?;
    file.rewind()?;
    Ok(head)
}

/// Copies a file and those that SQLite keeps beside it into a folder where nobody can exchange them meanwhile.
fn copied(folder: &SafeFolder, name: &OsStr) -> io::Result<ScratchFolder> {
    let to = ScratchFolder::new()?;
    for name in PrivateCopy::family(name) {
        let from = match folder.file(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            from => from?,
        };
        io::copy(&mut &from, &mut File::create(to.path().join(&name))?)?;
    }
    Ok(to)
}

/// Whether an error concerns one part, which its owner or another account made unreadable.
fn may_be_left_out(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied || Refused::from_error(error).is_some()
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
    let parent = folder_of(&location.folder);
    create_private(parent).map_err(SessionError::io("creating", parent))?;
    // The parts are moved from here, so they get the rights of the place that they will have.
    let unpacked =
        create_unique(parent, ".import-").map_err(SessionError::io("creating", parent))?;
    let taken = take_over(from, &unpacked, location);
    drop(fs::remove_dir_all(&unpacked));
    taken
}

/// Unpacks an archive to the folder `unpacked`, and moves the parts from there.
fn take_over(
    from: &Path,
    unpacked: &Path,
    location: &SessionLocation,
) -> Result<Vec<log::LogDamage>, SessionError> {
    unpack(from, unpacked)?;
    let scan = log::scan(&unpacked.join(LOG))?;
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
        let (source, target) = (unpacked.join(part), location.folder.join(part));
        if source.is_dir() {
            fs::remove_dir(&target).map_err(SessionError::io("replacing", &target))?;
        }
        if source.exists() {
            fs::rename(&source, &target).map_err(SessionError::io("moving to", &target))?;
        }
    }
    file::sync_folder(&location.events()).map_err(SessionError::io("saving", &location.folder))?;
    Ok(scan.damage)
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
