//! Finds the part of the model that a kernel works for, from the event stream of the same run.

use std::collections::BTreeMap;

use crate::name;
use tinyllama_contract::event::Kernels;

/// Kernel names with the parts of the model that issued them.
#[derive(Clone, Debug, Default)]
pub struct KernelParts {
    by_name: BTreeMap<String, Vec<String>>,
}

impl KernelParts {
    /// Adds a kernel under its bare function name, because profilers and compilers add different texts to it.
    pub fn add(&mut self, kernel: &str, part: &str) {
        let name = name::short(kernel).to_owned();
        let parts = self.by_name.entry(name).or_default();
        if !parts.iter().any(|known| known == part) {
            parts.push(part.to_owned());
        }
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Returns the parts that issued `kernel`. `None` if the run did not report it.
    pub fn part_of(&self, kernel: &str) -> Option<String> {
        const MOST_NAMED: usize = 3;
        let parts = self.by_name.get(name::short(kernel))?;
        let mut text = parts[..parts.len().min(MOST_NAMED)].join(", ");
        if parts.len() > MOST_NAMED {
            text.push_str(&format!(" and {} more", parts.len() - MOST_NAMED));
        }
        Some(text)
    }

    /// Collects the kernels that runs timed.
    pub fn of_kernels<'a>(timed: impl IntoIterator<Item = &'a Kernels>) -> Self {
        let mut parts = KernelParts::default();
        for kernel in timed.into_iter().flat_map(|kernels| &kernels.kernels) {
            parts.add(&kernel.name, &kernel.part);
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_a_run_are_named_after_its_parts() {
        let mut parts = KernelParts::default();
        parts.add("rms_norm", "layer 0 attention");
        parts.add("rms_norm", "layer 1 attention");
        assert_eq!(
            parts.part_of("void rms_norm<float>(float*)").as_deref(),
            Some("layer 0 attention, layer 1 attention")
        );
        assert_eq!(parts.part_of("other"), None);
    }
}
