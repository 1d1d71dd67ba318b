//! This project's kernels with their sources, embedded when the program was built.

use include_dir::{Dir, include_dir};
use tinyllama_kernel_catalog::{KERNELS, KernelDescriptor};

static CODE: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../kernels/src");
static CATALOG: Dir = include_dir!("$CARGO_MANIFEST_DIR/../../kernels/catalog/src");

/// Name in the panel of the file that explains a kernel.
const DESCRIPTOR: &str = "catalog/mod.rs";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Path below the kernel's folder; files of the catalogue get the prefix `catalog/`.
    pub name: String,
    /// The language's name for the highlighter.
    pub language: &'static str,
    pub text: String,
}

/// A kernel and its files, device code first.
#[derive(Clone, Debug)]
pub struct KernelEntry {
    pub kernel: &'static KernelDescriptor,
    pub files: Vec<SourceFile>,
}

impl KernelEntry {
    /// The module documentation of the descriptor, as Markdown; empty if it has none.
    pub fn about(&self) -> String {
        let module = self.files.iter().find(|file| file.name == DESCRIPTOR);
        let lines = module.map_or("", |file| &file.text).lines();
        let comment = lines.map_while(|line| line.strip_prefix("//!"));
        itertools::join(
            comment.map(|line| line.strip_prefix(' ').unwrap_or(line)),
            "\n",
        )
    }
}

/// All kernels of this project.
pub fn kernels() -> Vec<KernelEntry> {
    let entry = |kernel: &&'static KernelDescriptor| KernelEntry {
        kernel,
        files: files(kernel.name),
    };
    KERNELS.iter().map(entry).collect()
}

/// Rust files of the kernel's two folders: device code first, then descriptor and launch, checks last.
fn files(kernel: &str) -> Vec<SourceFile> {
    let mut files = folder(&CODE, kernel, "");
    files.extend(folder(&CATALOG, kernel, "catalog/"));
    let last = [
        DESCRIPTOR,
        "workload.rs",
        "launch.rs",
        "catalog/reference.rs",
        "binding.rs",
        "check.rs",
        "mod.rs",
    ];
    files.sort_by_cached_key(|file| {
        let named = last.iter().position(|name| *name == file.name);
        let rank = named.map_or(usize::from(!file.text.contains("#[cube")), |at| 2 + at);
        (rank, file.name.clone())
    });
    files
}

/// The files directly in a kernel's folder, with `prefix` before their names.
fn folder(sources: &Dir<'static>, kernel: &str, prefix: &str) -> Vec<SourceFile> {
    let files = sources.get_dir(kernel).into_iter().flat_map(Dir::files);
    let source = |file: &include_dir::File| {
        let name = file.path().file_name()?.to_str()?;
        Some(SourceFile {
            name: format!("{prefix}{name}"),
            language: "rust",
            text: file.contents_utf8()?.to_owned(),
        })
    };
    files.filter_map(source).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_comes_with_its_folder_device_code_first() {
        for entry in kernels() {
            let name = entry.kernel.name;
            assert!(entry.files[0].text.contains("#[cube(launch"), "{name}");
            for name in ["catalog/reference.rs", "check.rs"] {
                assert!(entry.files.iter().any(|file| file.name == name));
            }
            assert!(!entry.about().is_empty(), "{name}");
        }
    }
}
