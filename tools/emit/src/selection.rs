//! The kernels and architectures that a command line selects.

use anyhow::{Result, bail};
use clap::Args;
use tinyllama_contract::flags::UsageError;
use tinyllama_workbench::compiled::facts::ARCHITECTURES;

use crate::source::Target;

/// The name under which V4's kernels are listed.
pub const V4: &str = "v4";

/// The kernels of a command.
#[derive(Debug, Default, Args)]
pub struct KernelSelection {
    /// Operations, such as rmsnorm or v4; default: all
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Element type: f32, bf16 or f16; default: all
    #[arg(long, value_name = "DTYPE")]
    pub dtype: Option<String>,
}

impl KernelSelection {
    /// Returns whether the operation is selected.
    pub fn has_operation(&self, operation: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == operation)
    }

    pub fn takes(&self, operation: &str, dtype: &str) -> bool {
        let wanted = self.dtype.as_deref();
        self.has_operation(operation) && wanted.is_none_or(|wanted| wanted == dtype)
    }
}

/// Parses architectures between commas: `gfx…` or `sm_…`. `all` means [`ARCHITECTURES`].
///
/// # Errors
/// If one is unknown.
pub fn targets(names: &str) -> Result<Vec<Target>> {
    let names: Vec<&str> = match names {
        "all" => ARCHITECTURES.to_vec(),
        names => names.split(',').map(str::trim).collect(),
    };
    let parse =
        |name: &&str| Target::parse(name).map_err(|error| UsageError(error.to_string()).into());
    names.iter().map(parse).collect()
}

/// Parses AMD's architectures as [`targets`] does.
///
/// # Errors
/// If one is unknown or NVIDIA's.
pub fn amd_targets(names: &str) -> Result<Vec<Target>> {
    let targets = targets(names)?;
    if let Some(target) = targets.iter().find(|target| !target.is_hip()) {
        bail!(UsageError(format!(
            "{target} is not an AMD architecture: only its source can be shown"
        )));
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_architectures_are_usage_errors() {
        assert_eq!(targets("gfx942,sm_90").unwrap().len(), 2);
        for error in [targets("gfx1"), amd_targets("gfx942,sm_90")] {
            let error = error.unwrap_err();
            assert!(error.is::<UsageError>(), "{error}");
        }
    }
}
