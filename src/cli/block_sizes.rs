//! The block sizes of a run: the given ones, and those that `tune` found on this device for the other kernels.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use tinyllama_kernel_catalog::tunables::check as check_size;
use tinyllama_kernels::tunables;

use tinyllama_analysis::tuning::{TakenOver, Tuned};
use tinyllama_contract::event::Hello;
use tinyllama_contract::flags::{BlockSize, UsageError};
use tinyllama_engine::targets::Target;
use tinyllama_engine::train::TrainingOptions;
use tinyllama_runs::folder;

/// Environment variable; `off` ignores the results of `tune`.
const TUNING: &str = "TINYLLAMA_TUNING";

/// Refuses block sizes that would have no effect.
///
/// # Errors
/// [`UsageError`] if the target does not launch one of the named kernels.
pub fn check(options: &TrainingOptions) -> Result<(), UsageError> {
    let target = options.target;
    let launched = target.kernels(&options.recipe);
    let given = &options.flags.switches.block_size;
    let Some(idle) = given
        .iter()
        .find(|size| !launched.contains(&size.kernel.as_str()))
    else {
        return Ok(());
    };
    let kernel = &idle.kernel;
    Err(UsageError(match launched.as_slice() {
        _ if !target.engine.takes_block_sizes() => {
            format!(
                "--block-size {kernel}: {target} chooses its block sizes itself; use v3 or a stage"
            )
        }
        [] => format!(
            "--block-size {kernel}: {target} launches none of this project's kernels, so it would change nothing; v3 and the stages do"
        ),
        _ => format!(
            "--block-size {kernel}: {target} does not launch it, so it would change nothing; it launches {}",
            launched.join(", ")
        ),
    }))
}

/// Sets the block sizes of this process's kernels and enters them in `hello`. Returns a note for the reader of the
/// run.
///
/// # Errors
/// If a kernel refuses a given size, or if the environment variable is neither on nor off.
pub fn apply_block_sizes(
    given: &[BlockSize],
    target: Target,
    hello: &mut Hello,
) -> Result<Option<String>> {
    let mut sizes: BTreeMap<String, usize> = given
        .iter()
        .map(|size| (size.kernel.clone(), size.units))
        .collect();
    let mut note = None;
    // The CPU runs the model without these kernels.
    let is_wanted =
        !target.kernels(&hello.recipe).is_empty() && hello.backend != "cpu" && tuning_is_on()?;
    if is_wanted {
        match found(hello, &sizes) {
            Ok(Some(taken)) => {
                sizes.extend(taken.block_sizes);
                note = Some(taken.note);
            }
            Ok(None) => {}
            // An unreadable file must not prevent training.
            Err(error) => {
                note = Some(format!(
                    "the block sizes that `tune` found are not used: {error:#}"
                ));
            }
        }
    }
    for (kernel, size) in &sizes {
        tunables::set(kernel, *size)?;
    }
    hello.block_sizes = sizes;
    Ok(note)
}

fn tuning_is_on() -> Result<bool> {
    match std::env::var(TUNING).as_deref() {
        Ok("off") => Ok(false),
        Ok("on" | "") | Err(_) => Ok(true),
        Ok(other) => bail!(UsageError(format!("{TUNING}={other}: expected on or off"))),
    }
}

fn found(hello: &Hello, given: &BTreeMap<String, usize>) -> Result<Option<TakenOver>> {
    let root = folder::state_folder()?;
    let taken = Tuned::load(&root, &hello.backend, &hello.device)?.block_sizes_for(hello, given);
    if let Some(taken) = &taken {
        for (kernel, size) in &taken.block_sizes {
            check_size(kernel, *size)?;
        }
    }
    Ok(taken)
}
