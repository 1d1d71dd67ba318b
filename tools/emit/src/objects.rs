//! Code objects from LLVM in this process, cubecl's other route. This program does not use them for training.

use std::path::Path;

use anyhow::Result;
#[cfg(feature = "rocm")]
use tinyllama_base::errln;

use crate::selection::KernelSelection;
use crate::source::Target;

/// Writes `FOLDER/ARCHITECTURE/DTYPE/ENTRY.co`, an ELF image each, for one of each selected kernel and size.
///
/// # Errors
/// If a kernel cannot be lowered, the folder cannot be written, or the build has no LLVM.
#[cfg(feature = "rocm")]
pub fn write(targets: &[Target], folder: &Path, selection: &KernelSelection) -> Result<()> {
    use anyhow::Context as _;
    use std::collections::BTreeSet;
    use std::fs;
    use std::io::Write as _;
    use tinyllama_base::terminal::Stdout;
    use tinyllama_contract::model::kernels::{TYPICAL, preset_sizes};

    use crate::source::variants;

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
    Ok(())
}

#[cfg(not(feature = "rocm"))]
pub fn write(_: &[Target], _: &Path, _: &KernelSelection) -> Result<()> {
    use tinyllama_contract::flags::UsageError;
    Err(UsageError(
        "this build has no LLVM for it; build with --features rocm, or print the C++ with `source`"
            .into(),
    )
    .into())
}
