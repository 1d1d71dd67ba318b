//! A session as one file: to hand in, to move to another machine.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write, repeat};
use std::path::{Component, Path};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, EntryType, Header};

use super::error::SessionError;
use super::log;
use super::place::Place;
use crate::base::file;

/// What belongs to a session; the lock and the cache do not travel.
const PARTS: [&str; 4] = ["events.jsonl", "runs", "workbench", "backups"];

/// An archive that unpacks to more is refused.
const MOST_BYTES: u64 = 4 << 30;

/// Writes the session to a new `.tar.gz`. An existing file is not overwritten.
pub fn export(place: &Place, to: &Path) -> Result<(), SessionError> {
    let io = |action| SessionError::io(action, to);
    let file = File::create_new(to).map_err(io("creating"))?;
    let mut archive = Builder::new(GzEncoder::new(file, Compression::default()));
    for part in PARTS {
        add(&mut archive, &place.folder, Path::new(part))?;
    }
    let file = archive
        .into_inner()
        .and_then(GzEncoder::finish)
        .map_err(io("writing"))?;
    file.sync_all().map_err(io("saving"))
}

/// Packs a file or a folder with all in it. A tutor may be writing meanwhile: of a file, as many bytes are taken as it had.
fn add(archive: &mut Builder<impl Write>, root: &Path, part: &Path) -> Result<(), SessionError> {
    let path = root.join(part);
    let io = |action| SessionError::io(action, &path);
    let found = match fs::symlink_metadata(&path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io("packing")(error)),
    };
    if found.is_dir() {
        archive.append_dir(part, &path).map_err(io("packing"))?;
        let mut names = fs::read_dir(&path)
            .and_then(|entries| {
                entries
                    .map(|entry| Ok(entry?.file_name()))
                    .collect::<Result<Vec<_>, _>>()
            })
            .map_err(io("packing"))?;
        names.sort();
        return names
            .iter()
            .try_for_each(|name| add(archive, root, &part.join(name)));
    }
    if !found.is_file() {
        return Ok(());
    }
    let file = File::open(&path).map_err(io("packing"))?;
    let mut header = Header::new_gnu();
    header.set_metadata(&found);
    // A file that shrinks meanwhile is filled up, or the archive would be unreadable behind it.
    let content = file.take(found.len()).chain(repeat(0)).take(found.len());
    archive
        .append_data(&mut header, part, content)
        .map_err(io("packing"))
}

/// Unpacks an archive as the session at `place`, where there must be none yet. Returns its damaged lines.
///
/// Everything is unpacked and read beside the place first: a bad archive leaves nothing behind.
pub fn import(from: &Path, place: &Place) -> Result<Vec<log::Damage>, SessionError> {
    if place.events().exists() {
        let why = "there is a session already; move it away or import under another name".into();
        return Err(SessionError::NoSession {
            path: place.folder.clone(),
            why,
        });
    }
    let parent = place.folder.parent().unwrap_or(Path::new("."));
    super::place::create_private(parent)?;
    let unpacked = tempfile::Builder::new()
        .prefix(".import-")
        .tempdir_in(parent)
        .map_err(SessionError::io("creating", parent))?;
    unpack(from, unpacked.path())?;
    let scan = log::scan(&unpacked.path().join("events.jsonl"))?;
    if scan.records.is_empty() {
        let why = "the archive holds no events".into();
        return Err(SessionError::NoSession {
            path: from.to_path_buf(),
            why,
        });
    }
    place.create()?;
    // The events come last: a session exists once they do.
    for part in PARTS.iter().rev() {
        let (source, target) = (unpacked.path().join(part), place.folder.join(part));
        if source.is_dir() {
            fs::remove_dir(&target).map_err(SessionError::io("replacing", &target))?;
        }
        if source.exists() {
            fs::rename(&source, &target).map_err(SessionError::io("moving to", &target))?;
        }
    }
    file::sync_folder(&place.events()).map_err(SessionError::io("saving", &place.folder))?;
    Ok(scan.damage)
}

fn unpack(from: &Path, to: &Path) -> Result<(), SessionError> {
    let io = |action| SessionError::io(action, from);
    let refuse = |why: String| SessionError::NoSession {
        path: from.to_path_buf(),
        why,
    };
    let mut archive = Archive::new(GzDecoder::new(File::open(from).map_err(io("opening"))?));
    let mut bytes = 0;
    for entry in archive.entries().map_err(io("reading"))? {
        let mut entry = entry.map_err(io("reading"))?;
        let path = entry.path().map_err(io("reading"))?.into_owned();
        let plain = matches!(
            entry.header().entry_type(),
            EntryType::Regular | EntryType::Directory
        );
        if !plain || !belongs(&path) {
            return Err(refuse(format!(
                "`{}` does not belong in a session",
                path.display()
            )));
        }
        bytes += entry.size();
        if bytes > MOST_BYTES {
            return Err(refuse("it unpacks to more than a session can hold".into()));
        }
        entry.unpack_in(to).map_err(io("unpacking"))?;
    }
    Ok(())
}

/// Whether a path is one of [`PARTS`] or below, without a way out.
fn belongs(path: &Path) -> bool {
    let mut components = path.components();
    let Some(Component::Normal(first)) = components.next() else {
        return false;
    };
    PARTS.iter().any(|part| first == *part)
        && components.all(|component| matches!(component, Component::Normal(_)))
}
