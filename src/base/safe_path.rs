//! Paths below folders that several accounts write into, such as a class folder.
//!
//! A learner owns a folder in the class and can put anything there: links, pipes, files of others under a second name.
//! Somebody else could have made the folder before. So each part of a path is opened in the open folder before it, and
//! its owner is compared with what the mode of that folder allows:
//!
//! - A folder is *trusted* if it belongs to this user, or if it lies in a trusted folder and belongs to the owner of
//!   that one or to root.
//! - Links are followed only in trusted folders, and only those of the same owners.
//! - A file has to belong to the owner of its folder, unless the folder is trusted or its mode lets others write.
//!
//! [`SafeFolder::open_owned`] is for settings, code and caches, which only the owner of the named folder may provide.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

pub use rustix::fs::FileType as FileKind;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::untrusted;

const OTHERS_WRITE: RawMode = 0o022;
const ROOT: u32 = 0;
/// As many links as the system itself follows.
const MOST_LINKS: usize = 40;

/// Flags for a folder that may be entered but not listed, as learners' access to a class folder.
#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Why a part of a path is not used. It is the source of an [`io::Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    #[error("it is a link of another account, and such links are not followed")]
    Link,
    /// The account's number.
    #[error("it belongs to another account, number {0}, than the folder around it")]
    Owner(u32),
    #[error("others than its owner may write it; `chmod go-w` changes that")]
    Writable,
}

impl Refused {
    /// The reason of an error of this module; `None` if it is the file system's.
    pub fn from_error(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }

    fn at(self, path: &Path) -> io::Error {
        tracing::debug!(?path, reason = %self, "refuses a part of a path");
        io::Error::other(self)
    }
}

/// An open folder, whose path was checked.
#[derive(Debug)]
pub struct SafeFolder {
    fd: OwnedFd,
    path: PathBuf,
    owner: u32,
    mode: RawMode,
    is_trusted: bool,
    /// The only account, besides root, that may own what is below.
    only: Option<u32>,
}

/// An entry of a folder. Nothing is known of its owner yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEntry {
    pub name: OsString,
    pub kind: FileKind,
}

/// A part of a path on the way to its end.
enum Part {
    Folder(SafeFolder),
    Link(PathBuf),
}

impl SafeFolder {
    /// Opens a folder. The path begins at the root of the file system or at the current folder.
    ///
    /// # Errors
    /// Fails like the file system, or with a [`Refused`].
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut opened = vec![Self::root()?];
        let mut ahead = parts(&std::path::absolute(path)?);
        let mut links = 0;
        while let Some(name) = ahead.pop_front() {
            if name == ".." {
                opened.truncate(opened.len().saturating_sub(1).max(1));
                continue;
            }
            let Some(here) = opened.last() else { break };
            match here.part(&name)? {
                Part::Folder(folder) => opened.push(folder),
                Part::Link(_) if links == MOST_LINKS => return Err(Errno::LOOP.into()),
                Part::Link(to) => {
                    links += 1;
                    if to.is_absolute() {
                        opened.truncate(1);
                    }
                    let mut first = parts(&to);
                    first.append(&mut ahead);
                    ahead = first;
                }
            }
        }
        opened.pop().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens a folder that the user named, for content that only its owner may have put there. No link below is
    /// followed, and every file and folder below has to belong to the owner, who alone may write it.
    ///
    /// # Errors
    /// Fails like the file system.
    pub fn open_owned(path: &Path) -> io::Result<Self> {
        let fd = rustix::fs::open(path, FOLDER, Mode::empty())?;
        let facts = rustix::fs::fstat(&fd)?;
        Ok(Self {
            fd,
            path: path.to_path_buf(),
            owner: facts.st_uid,
            mode: facts.st_mode,
            is_trusted: true,
            only: Some(facts.st_uid),
        })
    }

    fn root() -> io::Result<Self> {
        let folder = Self::open_owned(Path::new("/"))?;
        Ok(Self {
            only: None,
            ..folder
        })
    }

    /// Number of the account that owns the folder.
    pub fn owner(&self) -> u32 {
        self.owner
    }

    /// Whether this user may make entries in the name of the folder's owner.
    pub fn is_own(&self) -> bool {
        [self.owner, ROOT].contains(&user())
    }

    /// Opens a folder in this one.
    ///
    /// # Errors
    /// Fails like the file system, or with a [`Refused`].
    pub fn folder(&self, name: &OsStr) -> io::Result<Self> {
        match self.part(name)? {
            Part::Folder(folder) => Ok(folder),
            Part::Link(_) => Self::open(&self.path.join(name)),
        }
    }

    /// Opens a regular file in this folder for reading.
    ///
    /// # Errors
    /// Fails like the file system, if it is a pipe or a device, or with a [`Refused`].
    pub fn file(&self, name: &OsStr) -> io::Result<File> {
        let path = self.path.join(name);
        let check = |facts: &Stat| self.check_file(facts).map_err(|refused| refused.at(&path));
        if let Some(only) = self.only {
            // What another account put here is refused as such, even if it cannot be opened.
            let owner = self.stat(name)?.st_uid;
            if ![only, ROOT].contains(&owner) {
                return Err(Refused::Owner(owner).at(&path));
            }
        }
        // Opens without blocking, because a pipe without a writer would block forever.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        match self.open_at(name, flags, 0) {
            Ok(file) => {
                check(&rustix::fs::fstat(&file)?)?;
                untrusted::regular(file)
            }
            // `part` finds out whether the link may be followed.
            Err(error) if is_link(&error) => match self.part(name)? {
                Part::Link(to) => open(&self.path.join(to)),
                Part::Folder(_) => Err(io::ErrorKind::IsADirectory.into()),
            },
            Err(error) => Err(error),
        }
    }

    /// Size, times and mode of the folder.
    ///
    /// # Errors
    /// Fails like the file system.
    pub fn metadata(&self) -> io::Result<Metadata> {
        File::from(self.fd.try_clone()?).metadata()
    }

    /// Lists the folder, sorted by name.
    ///
    /// # Errors
    /// Fails like the file system.
    pub fn entries(&self) -> io::Result<Vec<FolderEntry>> {
        let readable = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listed = rustix::fs::openat(&self.fd, ".", readable, Mode::empty())?;
        let mut entries = Vec::new();
        for entry in Dir::new(listed)? {
            let entry = entry?;
            let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
            if name == "." || name == ".." {
                continue;
            }
            // Some file systems do not say what an entry is.
            let kind = match entry.file_type() {
                FileKind::Unknown => match self.stat(&name) {
                    Ok(facts) => FileKind::from_raw_mode(facts.st_mode),
                    Err(_) => continue,
                },
                kind => kind,
            };
            entries.push(FolderEntry { name, kind });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// Number of the account that put an entry here, whatever it is, if it is not the folder's owner or root.
    pub fn stranger(&self, name: &OsStr) -> Option<u32> {
        let owner = self.stat(name).ok()?.st_uid;
        (owner != self.owner && owner != ROOT).then_some(owner)
    }

    /// Replaces a file in this folder in one step, with exactly this mode.
    ///
    /// # Errors
    /// Fails like the file system.
    pub fn replace(&self, name: &OsStr, content: &[u8], mode: u32) -> io::Result<()> {
        let mut unfinished = OsString::from(".");
        unfinished.push(name);
        unfinished.push(format!(".{}.unfinished", std::process::id()));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let written = || {
            let mut file = self.open_at(&unfinished, flags, 0o600)?;
            file.write_all(content)?;
            rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
            file.sync_all()?;
            rustix::fs::renameat(&self.fd, &unfinished, &self.fd, name)?;
            Ok(())
        };
        // A process of this number may have been killed before its file was renamed.
        let _ = rustix::fs::unlinkat(&self.fd, &unfinished, AtFlags::empty());
        let written: io::Result<()> = written();
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.fd, &unfinished, AtFlags::empty());
        }
        written
    }

    /// Opens a folder in this one and creates it, with exactly this mode, if it is missing.
    ///
    /// # Errors
    /// Fails like the file system, or with a [`Refused`] if there is one of another account.
    pub fn create_folder(&self, name: &OsStr, mode: u32) -> io::Result<Self> {
        match rustix::fs::mkdirat(&self.fd, name, Mode::from_raw_mode(mode)) {
            Ok(()) => {
                let folder = self.folder(name)?;
                // The umask may have taken rights away.
                let mode = Mode::from_raw_mode(mode);
                rustix::fs::chmodat(&self.fd, name, mode, AtFlags::empty())?;
                Ok(folder)
            }
            Err(Errno::EXIST) => self.folder(name),
            Err(error) => Err(error.into()),
        }
    }

    fn open_at(&self, name: &OsStr, flags: OFlags, mode: RawMode) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.fd, name, flags, Mode::from_raw_mode(mode))?;
        Ok(File::from(opened))
    }

    fn stat(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(rustix::fs::statat(
            &self.fd,
            name,
            AtFlags::SYMLINK_NOFOLLOW,
        )?)
    }

    /// Opens a folder, or reads a link that may be followed.
    fn part(&self, name: &OsStr) -> io::Result<Part> {
        let path = self.path.join(name);
        let flags = FOLDER | OFlags::NOFOLLOW;
        let error = match rustix::fs::openat(&self.fd, name, flags, Mode::empty()) {
            Ok(fd) => {
                let facts = rustix::fs::fstat(&fd)?;
                let is_trusted = self
                    .trusts_folder(&facts)
                    .map_err(|refused| refused.at(&path))?;
                return Ok(Part::Folder(Self {
                    fd,
                    path,
                    owner: facts.st_uid,
                    mode: facts.st_mode,
                    is_trusted,
                    only: self.only,
                }));
            }
            Err(error) => error,
        };
        let facts = self.stat(name)?;
        if FileKind::from_raw_mode(facts.st_mode) != FileKind::Symlink {
            return Err(error.into());
        }
        if self.only.is_some() || !self.is_trusted || !self.is_trusted_owner(facts.st_uid) {
            return Err(Refused::Link.at(&path));
        }
        let to = rustix::fs::readlinkat(&self.fd, name, Vec::new())?;
        Ok(Part::Link(OsString::from_vec(to.into_bytes()).into()))
    }

    /// Whether an entry of a trusted folder with this owner is trusted.
    fn is_trusted_owner(&self, owner: u32) -> bool {
        owner == user() || owner == ROOT || owner == self.owner
    }

    fn others_may_write(&self) -> bool {
        self.mode & OTHERS_WRITE != 0
    }

    fn trusts_folder(&self, facts: &Stat) -> Result<bool, Refused> {
        if let Some(only) = self.only {
            return match [only, ROOT].contains(&facts.st_uid) {
                true => Ok(true),
                false => Err(Refused::Owner(facts.st_uid)),
            };
        }
        let is_own = facts.st_uid == user();
        Ok(match self.is_trusted {
            true => self.is_trusted_owner(facts.st_uid),
            // A folder cannot get into another account's folder unless that account or its mode lets it.
            false => is_own && self.others_may_write(),
        })
    }

    fn check_file(&self, facts: &Stat) -> Result<(), Refused> {
        if let Some(only) = self.only {
            return match () {
                () if ![only, ROOT].contains(&facts.st_uid) => Err(Refused::Owner(facts.st_uid)),
                () if facts.st_mode & OTHERS_WRITE != 0 => Err(Refused::Writable),
                () => Ok(()),
            };
        }
        let is_roots = facts.st_uid == ROOT && facts.st_nlink == 1;
        let may =
            self.is_trusted || facts.st_uid == self.owner || self.others_may_write() || is_roots;
        may.then_some(()).ok_or(Refused::Owner(facts.st_uid))
    }
}

/// Opens a regular file for reading.
///
/// # Errors
/// Fails like the file system, if it is a pipe or a device, or with a [`Refused`].
pub fn open(path: &Path) -> io::Result<File> {
    let Some(name) = path.file_name() else {
        return Err(io::ErrorKind::IsADirectory.into());
    };
    tracing::debug!(?path, "reads a file of a session");
    SafeFolder::open(folder_of(path))?.file(name)
}

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// As [`open`], and if the file is larger.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    untrusted::read_from(open(path)?, most)
}

/// Reads a JSON document, also with a byte order mark.
///
/// # Errors
/// As [`read`], and if the content is not such a document.
pub fn read_json<T: DeserializeOwned>(path: &Path, most: u64) -> io::Result<T> {
    let bytes = read(path, most)?;
    Ok(serde_json::from_slice(untrusted::without_mark(&bytes))?)
}

/// Resolves the links in a path that the user typed, if others made one of them: what a user names is meant.
pub fn as_named(path: &Path) -> PathBuf {
    match SafeFolder::open(path) {
        Err(error) if Refused::from_error(&error) == Some(Refused::Link) => {
            std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
        }
        _ => path.to_path_buf(),
    }
}

/// The folder that a path lies in.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn user() -> u32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

fn is_link(error: &io::Error) -> bool {
    // Systems differ in the error for a link that is not to be followed.
    let known = Errno::from_io_error(error);
    known.is_some_and(|errno| [Errno::LOOP, Errno::MLINK].contains(&errno))
}

/// The names of a path, without its root.
fn parts(path: &Path) -> VecDeque<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    const ADA: u32 = 61_001;
    const EVE: u32 = 61_002;
    const TEACHER: u32 = 61_003;

    fn content(path: &Path) -> Result<String, String> {
        let read = read(path, 1 << 10).map_err(|error| error.to_string());
        read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn owned(folder: &Path, name: &str) -> Result<(), Option<Refused>> {
        let file = SafeFolder::open_owned(folder).and_then(|folder| folder.file(name.as_ref()));
        file.map(drop).map_err(|error| Refused::from_error(&error))
    }

    #[test]
    fn links_of_this_user_are_followed_but_not_where_only_the_owner_counts() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        fs::write(&file, "text").unwrap();
        fs::create_dir(root.path().join("folder")).unwrap();
        symlink("../file", root.path().join("folder/link")).unwrap();
        symlink("folder", root.path().join("way")).unwrap();
        symlink("loop", root.path().join("loop")).unwrap();
        for path in ["file", "folder/link", "way/link", "folder/../way/./link"] {
            let path = root.path().join(path);
            assert_eq!(content(&path).as_deref(), Ok("text"), "{}", path.display());
        }
        assert!(content(&root.path().join("loop/x")).is_err());
        let missing = read(&root.path().join("none"), 9).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(owned(root.path(), "file"), Ok(()));
        fs::set_permissions(&file, Permissions::from_mode(0o664)).unwrap();
        assert_eq!(owned(root.path(), "file"), Err(Some(Refused::Writable)));
        let link = owned(&root.path().join("folder"), "link");
        assert_eq!(link, Err(Some(Refused::Link)));
    }

    #[test]
    fn a_file_is_replaced_with_its_mode_and_leaves_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let folder = SafeFolder::open(root.path()).unwrap();
        let inner = folder.create_folder("inner".as_ref(), 0o755).unwrap();
        for text in ["one", "two"] {
            inner
                .replace("file".as_ref(), text.as_bytes(), 0o644)
                .unwrap();
        }
        let path = root.path().join("inner/file");
        assert_eq!(content(&path).as_deref(), Ok("two"));
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o644
        );
        let names: Vec<OsString> = inner
            .entries()
            .unwrap()
            .into_iter()
            .map(|it| it.name)
            .collect();
        assert_eq!(names, ["file"]);
    }

    /// A class folder as the documents describe it, read by root, to whom everybody is a stranger. `None` for others than
    /// root, who cannot give files away.
    fn class_folder() -> Option<(tempfile::TempDir, PathBuf)> {
        let root = tempfile::tempdir().unwrap();
        let class = root.path().join("class");
        fs::create_dir(&class).unwrap();
        if chown(&class, Some(TEACHER), None).is_err() {
            eprintln!("SKIPPED: only root can give files to others");
            return None;
        }
        fs::set_permissions(&class, Permissions::from_mode(0o3773)).unwrap();
        Some((root, class))
    }

    #[test]
    fn nothing_of_a_stranger_leads_out_of_the_strangers_folder() {
        let Some((root, class)) = class_folder() else {
            return;
        };
        let secret = root.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        for (name, owner) in [("ada", ADA), ("eve", EVE)] {
            for folder in [class.join(name), class.join(name).join("runs")] {
                fs::create_dir(&folder).unwrap();
                chown(&folder, Some(owner), None).unwrap();
                fs::write(folder.join("log"), name).unwrap();
                chown(folder.join("log"), Some(owner), None).unwrap();
            }
        }
        let eve = class.join("eve");
        assert_eq!(content(&eve.join("runs/log")).as_deref(), Ok("eve"));
        for (link, to) in [
            ("link", "../ada/log"),
            ("out", "../../secret"),
            ("own", "log"),
        ] {
            symlink(to, eve.join(link)).unwrap();
            std::os::unix::fs::lchown(eve.join(link), Some(EVE), None).unwrap();
            assert!(
                content(&eve.join(link)).unwrap_err().contains("a link"),
                "{link}"
            );
        }
        symlink("../ada/runs", eve.join("others")).unwrap();
        std::os::unix::fs::lchown(eve.join("others"), Some(EVE), None).unwrap();
        assert!(
            content(&eve.join("others/log"))
                .unwrap_err()
                .contains("a link")
        );
        // Names of files of others, as old kernels let anybody make them.
        for (name, of) in [("hard", &class.join("ada/log")), ("root", &secret)] {
            fs::hard_link(of, eve.join(name)).unwrap();
            assert!(
                content(&eve.join(name))
                    .unwrap_err()
                    .contains("another account"),
                "{name}"
            );
        }
        fs::write(eve.join("of-root"), "help").unwrap();
        assert_eq!(content(&eve.join("of-root")).as_deref(), Ok("help"));
        // A folder that its owner opened to others holds files of others.
        fs::create_dir(eve.join("inbox")).unwrap();
        fs::set_permissions(eve.join("inbox"), Permissions::from_mode(0o770)).unwrap();
        fs::write(eve.join("inbox/order"), "order").unwrap();
        chown(eve.join("inbox"), Some(EVE), None).unwrap();
        chown(eve.join("inbox/order"), Some(TEACHER), None).unwrap();
        assert_eq!(content(&eve.join("inbox/order")).as_deref(), Ok("order"));
    }

    #[test]
    fn settings_and_code_of_a_class_are_the_teachers_or_roots() {
        let Some((_root, class)) = class_folder() else {
            return;
        };
        for (name, owner, expected) in [
            (".teacher", TEACHER, Ok(())),
            (".root", ROOT, Ok(())),
            (".eve", EVE, Err(Some(Refused::Owner(EVE)))),
        ] {
            fs::write(class.join(name), "x").unwrap();
            fs::set_permissions(class.join(name), Permissions::from_mode(0o600)).unwrap();
            chown(class.join(name), Some(owner), None).unwrap();
            assert_eq!(owned(&class, name), expected, "{name}");
            fs::create_dir(class.join(name).with_extension("d")).unwrap();
            chown(class.join(name).with_extension("d"), Some(owner), None).unwrap();
            let opened = SafeFolder::open_owned(&class).unwrap();
            let folder = opened.folder(format!("{name}.d").as_ref());
            let folder = folder
                .map(drop)
                .map_err(|error| Refused::from_error(&error));
            assert_eq!(folder, expected, "{name}.d");
        }
        let folder = SafeFolder::open_owned(&class).unwrap();
        let strangers =
            [".teacher", ".root", ".eve", ".none"].map(|name| folder.stranger(name.as_ref()));
        assert_eq!(strangers, [None, None, Some(EVE), None]);
    }
}
