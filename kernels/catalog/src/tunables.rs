//! The block sizes that can be set, by the names of their kernels.

use thiserror::Error;

use crate::KERNELS;
use crate::kernel::BlockSizeOption;

/// A block size for an unknown kernel, or a size that its kernel cannot have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TunableError {
    #[error("no kernel `{kernel}` has a block size; these have: {}", names.join(", "))]
    UnknownKernel {
        kernel: String,
        names: Vec<&'static str>,
    },
    #[error("{kernel} cannot have {size} {counts}; it can have one of {sizes:?}")]
    Size {
        kernel: &'static str,
        size: usize,
        counts: &'static str,
        sizes: &'static [usize],
    },
}

/// Returns every kernel with a block size.
fn block_sizes() -> impl Iterator<Item = (&'static str, BlockSizeOption)> {
    KERNELS
        .iter()
        .filter_map(|kernel| Some((kernel.name, kernel.block_size?)))
}

/// Finds the kernel of this name and checks that it can have this block size.
///
/// # Errors
/// [`TunableError`] with the possible names or sizes.
pub fn check(kernel: &str, size: usize) -> Result<&'static str, TunableError> {
    let Some((name, block)) = block_sizes().find(|(name, _)| *name == kernel) else {
        return Err(TunableError::UnknownKernel {
            kernel: kernel.to_owned(),
            names: block_sizes().map(|(name, _)| name).collect(),
        });
    };
    match block.sizes.contains(&size) {
        true => Ok(name),
        false => Err(TunableError::Size {
            kernel: name,
            size,
            counts: block.counts,
            sizes: block.sizes,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_choice_is_told_what_there_is() {
        assert_eq!(check("rope", 64), Ok("rope"));
        let unknown = check("add_rmsnorm", 64).unwrap_err().to_string();
        assert!(unknown.contains("these have: rmsnorm, rope,"), "{unknown}");
        let rope = block_sizes().find(|(name, _)| *name == "rope").unwrap().1;
        assert_eq!(rope.sizes[..2], [32, 64]);
        let refused = check("rope", 48).unwrap_err();
        let expected = TunableError::Size {
            kernel: "rope",
            size: 48,
            counts: rope.counts,
            sizes: rope.sizes,
        };
        assert_eq!(refused, expected);
        let (text, choice) = (refused.to_string(), format!("48 {}", rope.counts));
        for part in ["rope", &choice, &format!("{:?}", rope.sizes)] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
