//! Limits for what each kernel takes of a compute unit. They catch a compiler update or a kernel change that costs
//! registers. Without them the project would see only a slower run, on a GPU that it does not have.

use tinyllama_kernel_catalog::{KERNELS, ResourceBudget};

use tinyllama_base::architecture;
use tinyllama_workbench::compiled::facts::KernelFacts;

/// Limits of V4's kernels in the sizes that are compiled. Those of other kernels are in the catalogue.
/// Clang 22 takes a step of eight registers more for two of them on gfx950 than clang 19 for the others.
const V4_BUDGETS: [ResourceBudget; 13] = [
    ResourceBudget::new("v4_lookup_normalize", 56, 0),
    ResourceBudget::new("v4_normalize", 56, 0),
    ResourceBudget::new("v4_normalize_backward", 152, 16_384),
    ResourceBudget::new("v4_norm_gradients", 16, 1024),
    ResourceBudget::new("v4_swiglu", 72, 0),
    ResourceBudget::new("v4_swiglu_backward", 80, 0),
    ResourceBudget::new("v4_cross_entropy", 48, 32),
    ResourceBudget::new("v4_loss", 16, 2048),
    ResourceBudget::new("v4_embedding_gradient", 72, 4228),
    ResourceBudget::new("v4_adamw", 56, 0),
    ResourceBudget::new("v4_adamw_halves", 56, 0),
    ResourceBudget::new("v4_attention", 192, 52_224),
    ResourceBudget::new("v4_attention_backward", 256, 56_320),
];

/// Returns one sentence for each compiled kernel that breaks its budget; empty if all kernels keep theirs.
pub fn violations(kernels: &[KernelFacts]) -> Vec<String> {
    let budgets = KERNELS.iter().flat_map(|kernel| kernel.budgets);
    let budgets = budgets.copied().chain(V4_BUDGETS);
    violations_of(&budgets.collect::<Vec<_>>(), kernels)
}

fn violations_of(budgets: &[ResourceBudget], kernels: &[KernelFacts]) -> Vec<String> {
    let mut violations = Vec::new();
    for kernel in kernels {
        let budget = budgets.iter().find(|budget| budget.kernel == kernel.kernel);
        let (name, dtype, case) = (&kernel.kernel, &kernel.dtype, &kernel.case);
        let of = format!("{name} ({dtype}, {case}) for {}", kernel.architecture);
        let found = over_budget(budget, kernel).into_iter();
        violations.extend(found.map(|what| format!("{of} {what}")));
    }
    for ResourceBudget { kernel: name, .. } in budgets {
        if !kernels.iter().any(|kernel| kernel.kernel == *name) {
            violations.push(format!("the budget names `{name}`, which was not compiled"));
        }
    }
    violations
}

fn over_budget(budget: Option<&ResourceBudget>, kernel: &KernelFacts) -> Vec<String> {
    let taken = &kernel.resources;
    let mut found = Vec::new();
    if !taken.target.ends_with(&format!("-{}", kernel.architecture)) {
        found.push(format!("was compiled for {}", taken.target));
    }
    let wave = architecture::find(&kernel.architecture).map(|known| known.wave_size);
    if wave != Some(taken.wave_size) {
        let known = wave.map_or("those of a known architecture".into(), |wave| {
            wave.to_string()
        });
        found.push(format!(
            "has waves of {} lanes, not {known}",
            taken.wave_size
        ));
    }
    let spills = budget.map_or(&[][..], |budget| budget.spills);
    let spill = spills.iter().find(|spill| spill.case == kernel.case);
    let (scratch, vgprs) = spill.map_or((0, 0), |it| (it.scratch_bytes, it.vgpr_spills));
    for (what, count, allowed) in [
        ("bytes of scratch memory", taken.scratch_bytes, scratch),
        ("spilled vector registers", taken.vgpr_spills, vgprs),
        ("spilled scalar registers", taken.sgpr_spills, 0),
    ] {
        if count > allowed {
            found.push(format!("has {count} {what}"));
        }
    }
    let Some(budget) = budget else {
        found.push("has no budget".to_owned());
        return found;
    };
    for (what, count, allowed) in [
        ("vector registers", taken.vgprs, budget.vgprs),
        ("bytes of local memory", kernel.lds_bytes, budget.lds_bytes),
    ] {
        if count > allowed {
            found.push(format!("takes {count} {what} of {allowed}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use tinyllama_kernel_catalog::Spill;

    use super::*;
    use tinyllama_workbench::compiled::assembly::Resources;
    use tinyllama_workbench::compiled::facts::recorded;

    const BUDGET: ResourceBudget = ResourceBudget {
        kernel: "k",
        vgprs: 32,
        lds_bytes: 1024,
        spills: &[Spill {
            case: "large",
            vgpr_spills: 1,
            scratch_bytes: 8,
            reason: "never the default",
        }],
    };

    fn kernel() -> KernelFacts {
        KernelFacts {
            architecture: "gfx942".into(),
            operation: "o".into(),
            kernel: "k".into(),
            dtype: "f32".into(),
            case: "small".into(),
            threads: 64,
            lds_bytes: 1024,
            resources: Resources {
                target: "amdgcn-amd-amdhsa--gfx942".into(),
                wave_size: 64,
                vgprs: 32,
                agprs: 0,
                sgprs: 8,
                vgpr_spills: 0,
                sgpr_spills: 0,
                scratch_bytes: 0,
            },
            source: String::new(),
        }
    }

    /// Breaks every rule once.
    #[test]
    fn each_rule_is_enforced() {
        type Change = fn(&mut KernelFacts);
        assert_eq!(violations_of(&[BUDGET], &[kernel()]), [""; 0]);
        let changes: [(Change, &str); 8] = [
            (
                |k| k.resources.target = "amdgcn-amd-amdhsa--gfx90a".into(),
                "compiled for",
            ),
            (|k| k.resources.wave_size = 32, "waves of 32"),
            (|k| k.resources.scratch_bytes = 4, "scratch"),
            (|k| k.resources.vgpr_spills = 1, "spilled vector"),
            (|k| k.resources.sgpr_spills = 1, "spilled scalar"),
            (|k| k.resources.vgprs = 33, "33 vector registers"),
            (|k| k.lds_bytes = 1025, "1025 bytes"),
            (|k| k.kernel = "j".into(), "no budget"),
        ];
        for (change, expected) in changes {
            let mut changed = kernel();
            change(&mut changed);
            let violations = violations_of(&[BUDGET], &[kernel(), changed]);
            assert_eq!(violations.len(), 1, "{expected}: {violations:?}");
            assert!(violations[0].contains(expected), "{violations:?}");
        }
    }

    #[test]
    fn a_known_spill_is_allowed_to_its_variant_and_to_its_size() {
        let spilling = |case: &str, scratch_bytes| {
            let mut kernel = kernel();
            kernel.case = case.into();
            kernel.resources.vgpr_spills = 1;
            kernel.resources.scratch_bytes = scratch_bytes;
            [kernel]
        };
        assert_eq!(violations_of(&[BUDGET], &spilling("large", 8)), [""; 0]);
        assert_eq!(violations_of(&[BUDGET], &spilling("large", 12)).len(), 1);
        assert_eq!(violations_of(&[BUDGET], &spilling("small", 8)).len(), 2);
    }

    #[test]
    fn the_recorded_table_keeps_its_budgets() {
        let recorded = recorded().unwrap();
        assert_eq!(violations(&recorded.kernels), [""; 0]);
    }

    #[test]
    fn budgets_of_nothing_are_noticed() {
        let violations = violations_of(&[BUDGET], &[]);
        assert!(
            violations.len() == 1 && violations[0].contains("not compiled"),
            "{violations:?}"
        );
    }
}
