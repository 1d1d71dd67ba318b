//! Code objects from LLVM in this process, cubecl's other route. This program does not use them for training.

use std::path::Path;

use anyhow::Result;
use tinyllama_base::errln;
use tinyllama_base::terminal::Stdout;
use tinyllama_kernels::source::Target;

use super::super::KernelSelection;
use crate::cli::Exit;

/// Writes `FOLDER/ARCHITECTURE/DTYPE/ENTRY.co`, an ELF image each, for one of each selected kernel and size.
///
/// # Errors
/// If a kernel cannot be lowered, the folder cannot be written, or the build has no LLVM.
#[cfg(feature = "rocm")]
pub fn write(targets: &[Target], folder: &Path, selection: &KernelSelection<'_>) -> Result<Exit> {
    use anyhow::Context as _;
    use std::collections::BTreeSet;
    use std::fs;
    use std::io::{self, Write as _};
    use tinyllama_kernels::source::variants;

    use tinyllama_engine::model::kernels::{TYPICAL, preset_sizes};

    // Launches of one kernel that differ only in numbers share a code object.
    let mut written = BTreeSet::new();
    for target in targets {
        for variant in variants(&preset_sizes(), &TYPICAL.to_string()) {
            let dtype = variant.dtype_name();
            if !variant.typical || !selection.takes(variant.kernel().name, dtype) {
                continue;
            }
            errln!("{target} {dtype} {}", variant.kernel().name);
            let to = folder.join(target.to_string()).join(dtype);
            fs::create_dir_all(&to).with_context(|| format!("cannot create {}", to.display()))?;
            for object in variant.code_objects(target)?.unwrap_or_default() {
                let path = to.join(format!("{}.co", object.entry));
                fs::write(&path, &object.image)
                    .with_context(|| format!("cannot write {}", path.display()))?;
                written.insert(path);
            }
        }
    }
    let (count, folder) = (written.len(), folder.display());
    writeln!(Stdout, "{count} code objects in {folder}")?;
    Ok(Exit::Ok)
}

#[cfg(not(feature = "rocm"))]
pub fn write(_: &[Target], _: &Path, _: &KernelSelection<'_>) -> Result<Exit> {
    use tinyllama_contract::flags::UsageError;
    Err(UsageError(
        "--code-objects: this build has no LLVM for it; build with --features rocm, or use --source for the C++".into(),
    )
    .into())
}
