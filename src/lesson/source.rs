//! The source of a course: built into the program, or a folder.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use include_dir::{Dir, DirEntry, include_dir};

use tinyllama_base::{inside, untrusted};

static BUILT_IN: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../lessons");

/// A larger file is no lesson.
const MOST_BYTES: u64 = 1 << 20;

/// The place from which course files are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CourseSource {
    BuiltIn,
    Folder(PathBuf),
}

impl CourseSource {
    /// The folder if one is given, else the built-in course.
    pub fn new(folder: Option<PathBuf>) -> Self {
        folder.map_or(CourseSource::BuiltIn, CourseSource::Folder)
    }

    /// Name of a course file in reports.
    pub fn display(&self, path: &str) -> String {
        match self {
            CourseSource::BuiltIn => format!("lessons/{path}"),
            CourseSource::Folder(folder) => folder.join(path).display().to_string(),
        }
    }

    /// The text at `path`, relative to the course.
    ///
    /// # Errors
    /// A message that says what to do.
    pub fn read(&self, path: &str) -> Result<String, String> {
        let bytes = match self {
            CourseSource::BuiltIn => BUILT_IN
                .get_file(path)
                .map(|file| file.contents().to_vec())
                .ok_or_else(|| "the built-in course has no such file".to_string())?,
            CourseSource::Folder(folder) => read_file(&path_below(folder, path)?)?,
        };
        // Editors on Windows put a byte order mark in front of a text.
        let bytes = match bytes.strip_prefix(b"\xef\xbb\xbf") {
            Some(text) => text.to_vec(),
            None => bytes,
        };
        String::from_utf8(bytes).map_err(|error| {
            format!(
                "is not UTF-8 text: byte {} cannot be read",
                error.utf8_error().valid_up_to() + 1
            )
        })
    }

    /// A path on disk for a binary file or a folder of the course: its own path, or that of a copy in `folder`.
    pub fn extract(&self, path: &str, folder: &Path) -> Result<PathBuf, String> {
        let missing = || "the course has no such file or folder".to_string();
        let target = match self {
            CourseSource::Folder(root) => path_below(root, path)?,
            CourseSource::BuiltIn => {
                let entry = BUILT_IN.get_entry(path).ok_or_else(missing)?;
                let target = folder.join(path);
                copy(entry, folder)
                    .map_err(|error| format!("cannot write {}: {error}", target.display()))?;
                target
            }
        };
        target.exists().then_some(target).ok_or_else(missing)
    }

    /// Sorted names of the files in a folder of the course that end in `extension`; empty if there is no such folder.
    pub fn files(&self, folder: &str, extension: &str) -> Vec<String> {
        let mut paths: Vec<PathBuf> = match self {
            CourseSource::BuiltIn => {
                let files = BUILT_IN.get_dir(folder).into_iter().flat_map(Dir::files);
                files.map(|file| file.path().to_path_buf()).collect()
            }
            CourseSource::Folder(root) => inside(&root.join(folder)).unwrap_or_default(),
        };
        paths.retain(|path| path.extension().is_some_and(|found| found == extension));
        paths.sort();
        let names = paths.iter().filter_map(|path| path.file_name()?.to_str());
        names.map(str::to_owned).collect()
    }
}

/// Writes an entry of the built-in course below `folder`, under the same path.
fn copy(entry: &DirEntry, folder: &Path) -> std::io::Result<()> {
    let target = folder.join(entry.path());
    match entry {
        DirEntry::Dir(dir) => {
            fs::create_dir_all(&target)?;
            dir.entries()
                .iter()
                .try_for_each(|entry| copy(entry, folder))
        }
        DirEntry::File(file) => {
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(target, file.contents())
        }
    }
}

/// The real path of a course file after following links, which may not lead out of the course's folder.
fn path_below(root: &Path, path: &str) -> Result<PathBuf, String> {
    let found = |path: &Path| {
        fs::canonicalize(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => "the course has no such file or folder".to_string(),
            _ => format!("cannot be read: {error}"),
        })
    };
    let (root, target) = (found(root)?, found(&root.join(path))?);
    match target.starts_with(&root) {
        true => Ok(target),
        false => {
            Err("is a link that leads out of the course, whose files must be in its folder".into())
        }
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    untrusted::read(path, MOST_BYTES).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => {
            format!("is too large: a course file has at most {MOST_BYTES} bytes")
        }
        _ => format!("cannot be read: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_may_lead_anywhere_within_the_course_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("course");
        fs::create_dir_all(root.join("reference")).unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        fs::write(root.join("page.md"), "a page").unwrap();
        symlink("../page.md", root.join("reference/inside.md")).unwrap();
        symlink(
            folder.path().join("secret"),
            root.join("reference/outside.md"),
        )
        .unwrap();
        symlink(folder.path(), root.join("out")).unwrap();
        let source = CourseSource::Folder(root);
        assert_eq!(source.read("reference/inside.md").unwrap(), "a page");
        for path in ["reference/outside.md", "out/secret"] {
            assert!(
                source.read(path).unwrap_err().contains("leads out"),
                "{path}"
            );
            assert!(source.extract(path, folder.path()).is_err(), "{path}");
        }
    }
}
