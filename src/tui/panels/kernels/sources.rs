//! This project's kernels with their sources as they were when the program was built.

use include_dir::{Dir, include_dir};
use tinyllama_kernels::{KERNELS, Kernel};

static SOURCES: Dir = include_dir!("$CARGO_MANIFEST_DIR/kernels/src");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Below the kernel's folder.
    pub name: String,
    /// For the highlighter.
    pub language: &'static str,
    pub text: String,
}

/// A kernel and its files, device code first.
#[derive(Clone, Debug)]
pub struct KernelEntry {
    pub kernel: &'static Kernel,
    pub files: Vec<SourceFile>,
}

impl KernelEntry {
    /// What the module's own documentation says, as Markdown; empty without a `mod.rs`.
    pub fn about(&self) -> String {
        let module = self.files.iter().find(|file| file.name == "mod.rs");
        let lines = module.map_or("", |file| &file.text).lines();
        let said = lines.map_while(|line| line.strip_prefix("//!"));
        itertools::join(
            said.map(|line| line.strip_prefix(' ').unwrap_or(line)),
            "\n",
        )
    }
}

/// Every kernel of this project.
pub fn kernels() -> Vec<KernelEntry> {
    let entry = |kernel: &&'static Kernel| KernelEntry {
        kernel,
        files: files(kernel.name),
    };
    KERNELS.iter().map(entry).collect()
}

/// Rust files of the kernel's folder: device code first, then what it says of itself and what launches it, checks last.
fn files(kernel: &str) -> Vec<SourceFile> {
    let folder = SOURCES.get_dir(kernel).into_iter();
    let mut files: Vec<SourceFile> = folder
        .flat_map(Dir::files)
        .filter_map(|file| {
            Some(SourceFile {
                name: file.path().file_name()?.to_str()?.to_owned(),
                language: "rust",
                text: file.contents_utf8()?.to_owned(),
            })
        })
        .collect();
    let last = [
        "mod.rs",
        "launch.rs",
        "reference.rs",
        "binding.rs",
        "check.rs",
    ];
    files.sort_by_cached_key(|file| {
        let named = last.iter().position(|name| *name == file.name);
        let rank = named.map_or(usize::from(!file.text.contains("#[cube")), |at| 2 + at);
        (rank, file.name.clone())
    });
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_comes_with_its_folder_device_code_first() {
        for entry in kernels() {
            let name = entry.kernel.name;
            assert!(entry.files[0].text.contains("#[cube(launch"), "{name}");
            assert!(entry.files.iter().any(|file| file.name == "reference.rs"));
            assert!(!entry.about().is_empty(), "{name}");
        }
    }
}
