//! Prints a kernel's source or instructions.

use std::io::Write;

use anyhow::{Result, bail};
use tinyllama_base::terminal::Stdout;
use tinyllama_contract::flags::UsageError;
use tinyllama_workbench::compiled::assembly::AssemblyError;
use tinyllama_workbench::compiled::compiler::Compiler;

use crate::candidates::{self, EmittedLaunch};
use crate::selection::KernelSelection;
use crate::source::Target;

/// The typical launches of a kernel or an operation called `name`.
fn named(target: &Target, name: &str, selection: &KernelSelection) -> Result<Vec<EmittedLaunch>> {
    let mut all = candidates::candidates(target, false)?;
    all.retain(|candidate| selection.takes(candidate.operation, candidate.dtype));
    let mut kernels: Vec<String> = all.iter().map(|one| one.launch.kernel.clone()).collect();
    kernels.dedup();
    all.retain(|candidate| candidate.launch.kernel == name || candidate.operation == name);
    if all.is_empty() {
        bail!(UsageError(format!(
            "there is no kernel `{name}` here; there are: {}",
            kernels.join(", ")
        )));
    }
    // Shows one element type unless the user asked for another.
    if selection.dtype.is_none() {
        let first = all[0].dtype;
        all.retain(|candidate| candidate.dtype == first);
    }
    Ok(all)
}

/// Prints the C++ of a kernel.
///
/// # Errors
/// If there is no kernel of this name, or it cannot be emitted.
pub fn sources(targets: &[Target], name: &str, selection: &KernelSelection) -> Result<()> {
    for target in targets {
        for launch in named(target, name, selection)? {
            let source = launch.launch.source.trim();
            writeln!(Stdout, "{}", with_header(target, &launch, source, "//"))?;
        }
    }
    Ok(())
}

/// Prints the instructions of a kernel.
///
/// # Errors
/// As for [`sources`], and if there is no compiler or it refuses the source.
pub fn listings(targets: &[Target], name: &str, selection: &KernelSelection) -> Result<()> {
    let compiler = Compiler::find()?;
    for target in targets {
        for candidate in named(target, name, selection)? {
            let launch = &candidate.launch;
            let assembly =
                compiler.assembly(&launch.kernel, &candidate.text(), &target.to_string(), &[])?;
            let text = instructions(&assembly, &launch.entry)?;
            let text = with_header(target, &candidate, text.trim_end(), ";");
            writeln!(Stdout, "{text}")?;
        }
    }
    Ok(())
}

/// Returns the instructions of the kernel `entry` with their labels, but without directives and comment lines.
fn instructions(assembly: &str, entry: &str) -> Result<String, AssemblyError> {
    let label = format!("{entry}:");
    let lines = assembly.lines();
    let mut lines = lines.skip_while(|line| !line.starts_with(&label));
    let none = || AssemblyError::NoKernel(entry.to_owned());
    lines.next().ok_or_else(none)?;
    let mut listing = String::new();
    for line in lines {
        let text = line.trim();
        if text.starts_with(".section") || text.starts_with(".Lfunc_end") {
            break;
        }
        let is_label = text.starts_with(".LBB");
        if text.is_empty() || text.starts_with(';') || (text.starts_with('.') && !is_label) {
            continue;
        }
        if !is_label {
            listing.push_str("    ");
        }
        listing.push_str(text);
        listing.push('\n');
    }
    Ok(listing)
}

/// Returns a text below a comment that names its kernel, ended by a line break.
pub fn with_header(
    target: &Target,
    candidate: &EmittedLaunch,
    text: &str,
    comment: &str,
) -> String {
    let EmittedLaunch {
        dtype,
        case,
        launch,
        ..
    } = candidate;
    let [x, y, z] = launch.cube_dim;
    format!(
        "{comment} {} in {dtype}, {case} configuration, for {target}: {x} x {y} x {z} threads, {} bytes of dynamic local memory\n{text}\n",
        launch.kernel, launch.shared_memory_bytes
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASSEMBLY: &str = "\t.section\t.text.k,\"axG\",@progbits,k,comdat
k:                                      ; @k
; %bb.0:
\ts_load_dwordx2 s[0:1], s[2:3], 0x0
\t.p2align\t6
.LBB0_1:                                ; =>This Inner Loop Header
\tv_add_f32_e32 v0, v1, v2
\ts_endpgm
\t.section\t.rodata,\"a\",@progbits
\t.amdhsa_kernel k
.Lfunc_end0:
";

    #[test]
    fn listings_hold_instructions_and_labels_only() {
        let listing = instructions(ASSEMBLY, "k").unwrap();
        let lines: Vec<&str> = listing.lines().collect();
        assert_eq!(lines.len(), 4, "{listing}");
        assert_eq!(lines[0], "    s_load_dwordx2 s[0:1], s[2:3], 0x0");
        assert!(lines[1].starts_with(".LBB0_1:"));
        assert_eq!(lines[3], "    s_endpgm");
    }

    #[test]
    fn kernels_are_found_by_their_own_name_and_by_operation() {
        let target = Target::hip("gfx1100").unwrap();
        let kernels = |name| -> Vec<String> {
            named(&target, name, &KernelSelection::default())
                .unwrap()
                .into_iter()
                .map(|candidate| format!("{} {}", candidate.launch.kernel, candidate.dtype))
                .collect()
        };
        assert_eq!(kernels("rmsnorm_forward"), ["rmsnorm_forward f32"]);
        assert_eq!(
            kernels("rmsnorm"),
            [
                "rmsnorm_forward f32",
                "rmsnorm_backward f32",
                "column_sums f32"
            ]
        );
        let error = named(&target, "rmsnorm_sideways", &KernelSelection::default()).unwrap_err();
        assert!(
            error.to_string().contains("flash_attention_forward"),
            "{error}"
        );
    }
}
