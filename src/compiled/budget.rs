//! How much of a compute unit each kernel may take. A compiler update or a change of a kernel that costs registers is
//! noticed here instead of as a slower run on a GPU nobody in the project has.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::facts::KernelFacts;
use crate::profiler::architecture;

/// Limits by kernel name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budgets {
    pub kernels: BTreeMap<String, Budget>,
    /// Known spills of single variants.
    #[serde(default)]
    pub exceptions: Vec<Exception>,
}

/// What one variant of a kernel may spill, and why nobody minds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    pub kernel: String,
    pub case: String,
    pub vgpr_spills: u32,
    pub scratch_bytes: u32,
    pub reason: String,
}

/// The most that any variant of a kernel may take on any architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub vgprs: u32,
    pub lds_bytes: u32,
}

impl Budgets {
    pub fn read(yaml: &str) -> Result<Budgets, serde_yaml::Error> {
        serde_yaml::from_str(yaml)
    }

    /// What is wrong with `kernels`, one sentence each; nothing where all is well.
    pub fn violations(&self, kernels: &[KernelFacts]) -> Vec<String> {
        let mut violations: Vec<String> = kernels
            .iter()
            .flat_map(|kernel| self.violations_of(kernel))
            .collect();
        for name in self.kernels.keys() {
            if !kernels.iter().any(|kernel| kernel.kernel == *name) {
                violations.push(format!("the budget names `{name}`, which was not compiled"));
            }
        }
        violations
    }

    fn violations_of(&self, kernel: &KernelFacts) -> Vec<String> {
        let mut found = Vec::new();
        if !kernel
            .target
            .ends_with(&format!("-{}", kernel.architecture))
        {
            found.push(format!("was compiled for {}", kernel.target));
        }
        let wave = architecture::find(&kernel.architecture).map(|known| known.wave_size);
        if wave != Some(kernel.wave_size) {
            found.push(format!(
                "has waves of {} lanes, not {}",
                kernel.wave_size,
                wave.map_or("those of a known architecture".to_owned(), |wave| wave
                    .to_string())
            ));
        }
        let known = self
            .exceptions
            .iter()
            .find(|known| known.kernel == kernel.kernel && known.case == kernel.case);
        let (spills, scratch) =
            known.map_or((0, 0), |known| (known.vgpr_spills, known.scratch_bytes));
        for (what, count, allowed) in [
            ("bytes of scratch memory", kernel.scratch_bytes, scratch),
            ("spilled vector registers", kernel.vgpr_spills, spills),
            ("spilled scalar registers", kernel.sgpr_spills, 0),
        ] {
            if count > allowed {
                found.push(format!("has {count} {what}"));
            }
        }
        match self.kernels.get(&kernel.kernel) {
            None => found.push("has no budget".to_owned()),
            Some(budget) => {
                if kernel.vgprs > budget.vgprs {
                    found.push(format!(
                        "takes {} vector registers of {}",
                        kernel.vgprs, budget.vgprs
                    ));
                }
                if kernel.lds_bytes > budget.lds_bytes {
                    found.push(format!(
                        "takes {} bytes of local memory of {}",
                        kernel.lds_bytes, budget.lds_bytes
                    ));
                }
            }
        }
        found
            .into_iter()
            .map(|what| {
                format!(
                    "{} ({}, {}) for {} {what}",
                    kernel.kernel, kernel.dtype, kernel.case, kernel.architecture
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budgets() -> Budgets {
        Budgets::read("kernels:\n  k: { vgprs: 32, lds_bytes: 1024 }\n").unwrap()
    }

    fn kernel() -> KernelFacts {
        KernelFacts {
            architecture: "gfx942".into(),
            operation: "o".into(),
            kernel: "k".into(),
            dtype: "f32".into(),
            case: "small".into(),
            threads: 64,
            lds_bytes: 1024,
            target: "amdgcn-amd-amdhsa--gfx942".into(),
            wave_size: 64,
            vgprs: 32,
            agprs: 0,
            sgprs: 8,
            vgpr_spills: 0,
            sgpr_spills: 0,
            scratch_bytes: 0,
            source: String::new(),
        }
    }

    /// Every rule, broken once.
    #[test]
    fn each_rule_is_enforced() {
        type Change = fn(&mut KernelFacts);
        assert_eq!(budgets().violations(&[kernel()]), [""; 0]);
        let changes: [(Change, &str); 8] = [
            (
                |k| k.target = "amdgcn-amd-amdhsa--gfx90a".into(),
                "compiled for",
            ),
            (|k| k.wave_size = 32, "waves of 32"),
            (|k| k.scratch_bytes = 4, "scratch"),
            (|k| k.vgpr_spills = 1, "spilled vector"),
            (|k| k.sgpr_spills = 1, "spilled scalar"),
            (|k| k.vgprs = 33, "33 vector registers of 32"),
            (|k| k.lds_bytes = 1025, "1025 bytes of local memory of 1024"),
            (|k| k.kernel = "j".into(), "no budget"),
        ];
        for (change, expected) in changes {
            let mut changed = kernel();
            change(&mut changed);
            let violations = budgets().violations(&[kernel(), changed]);
            assert_eq!(violations.len(), 1, "{expected}: {violations:?}");
            assert!(violations[0].contains(expected), "{violations:?}");
        }
    }

    #[test]
    fn a_known_spill_is_allowed_to_its_variant_and_to_its_size() {
        let text = "kernels:\n  k: { vgprs: 32, lds_bytes: 1024 }\nexceptions:\n  - { kernel: k, case: large, vgpr_spills: 1, \
                    scratch_bytes: 8, reason: never the default }\n";
        let budgets = Budgets::read(text).unwrap();
        let spilling = |case: &str, scratch_bytes| KernelFacts {
            case: case.into(),
            vgpr_spills: 1,
            scratch_bytes,
            ..kernel()
        };
        assert_eq!(budgets.violations(&[spilling("large", 8)]), [""; 0]);
        assert_eq!(budgets.violations(&[spilling("large", 12)]).len(), 1);
        assert_eq!(budgets.violations(&[spilling("small", 8)]).len(), 2);
    }

    #[test]
    fn budgets_of_nothing_are_noticed() {
        let violations = budgets().violations(&[]);
        assert!(
            violations.len() == 1 && violations[0].contains("not compiled"),
            "{violations:?}"
        );
        assert!(Budgets::read("kernels:\n  k: { vgpr: 1 }\n").is_err());
    }
}
