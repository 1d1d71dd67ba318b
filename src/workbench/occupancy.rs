//! What the compiler answers for a kernel as it is, and with another block size, launch bounds or unrolling.

use itertools::Itertools as _;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::wrapped;

use crate::amd::{ARCHITECTURES, Compiled, Tuning};
use crate::compiled::facts::KernelFacts;

/// Names rows of a changed kernel.
const CHANGED: &str = "changed";

/// The answers for a file and, if something is changed, for the changed kernel.
#[derive(Clone, Copy, Debug)]
pub struct Occupancies<'a> {
    pub file: &'a Compiled,
    pub changed: Option<(Tuning, &'a Compiled)>,
}

impl<'a> Occupancies<'a> {
    /// Kernels by architecture and name: of the file, then with the change.
    pub fn rows(&self) -> Vec<(&'static str, &'a KernelFacts)> {
        let file = self.file.kernels.iter().map(|kernel| ("the file", kernel));
        let changed = self.changed.iter().flat_map(|(_, one)| &one.kernels);
        let all = file.chain(changed.map(|kernel| (CHANGED, kernel)));
        let place = |name: &str| ARCHITECTURES.iter().position(|one| *one == name);
        all.sorted_by_key(|(_, kernel)| (place(&kernel.architecture), &kernel.kernel))
            .collect()
    }

    /// Formats a table, and below it what lets more waves fit and which architectures have no figures.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let rows = self.rows();
        let mut table = TableColumns::titled("Compiled for AMD GPUs (nothing was run)", &rows)
            .left("GPU", |(_, kernel)| kernel.architecture.clone());
        if !rows.iter().map(|(_, kernel)| &kernel.kernel).all_equal() {
            table = table.left("kernel", |(_, kernel)| kernel.kernel.clone());
        }
        let table = table
            .left("of", |(what, _)| (*what).to_owned())
            .right("threads", |(_, kernel)| kernel.threads.to_string())
            .right("registers", |(_, kernel)| {
                kernel.resources.vgprs.to_string()
            })
            .right("AGPRs", |(_, kernel)| kernel.resources.agprs.to_string())
            .right("spills", |(_, kernel)| {
                kernel.resources.vgpr_spills.to_string()
            })
            .right("LDS", |(_, kernel)| kernel.lds_bytes.to_string())
            .right("waves/SIMD", |(_, kernel)| kernel.waves_text());
        let text = TextTable::from(table).render(width);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let bounds = self.changed.and_then(|(tuning, _)| tuning.launch_bounds);
        let mut broken = rows.iter().filter(|(what, kernel)| {
            *what == CHANGED && bounds.is_some_and(|bounds| kernel.threads > bounds)
        });
        if let (Some((_, kernel)), Some(bounds)) = (broken.next(), bounds) {
            let threads = kernel.threads;
            let text =
                format!("HIP refuses to launch {threads} threads where the bounds are {bounds}.");
            lines.extend(wrapped(&text, width));
        }
        let remedies = rows.iter().filter_map(|(what, kernel)| {
            let more = kernel.remedy()?;
            Some(format!("{}, {what}: {more}", kernel.architecture))
        });
        let missing = self.file.missing.iter();
        let missing = missing.map(|(name, why)| format!("{name}: not reported, because {why}"));
        lines.extend(
            remedies
                .chain(missing)
                .flat_map(|text| wrapped(&text, width)),
        );
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiled::assembly::Resources;

    fn compiled(threads: u32, vgprs: u32) -> Compiled {
        let kernel = KernelFacts {
            architecture: "gfx942".into(),
            operation: "attention".into(),
            kernel: "attention".into(),
            dtype: "f32".into(),
            case: String::new(),
            threads,
            lds_bytes: 8192,
            resources: Resources {
                target: "amdgcn-amd-amdhsa--gfx942".into(),
                wave_size: 64,
                vgprs,
                agprs: 4,
                sgprs: 20,
                vgpr_spills: 3,
                sgpr_spills: 0,
                scratch_bytes: 0,
            },
            source: String::new(),
        };
        Compiled {
            kernels: vec![kernel],
            missing: vec![("gfx950".into(), "clang 19.1.7 does not know gfx950".into())],
            ..Compiled::default()
        }
    }

    #[test]
    fn a_change_stands_below_what_the_file_takes() {
        let (file, changed) = (compiled(64, 252), compiled(256, 60));
        let tuning = Tuning {
            block: Some(256),
            launch_bounds: Some(128),
            unroll: None,
        };
        let answers = Occupancies {
            file: &file,
            changed: Some((tuning, &changed)),
        };
        // 512 registers a lane and SIMD: two waves of 252. Eight workgroups of 8 KiB of LDS have 32 waves, the most.
        let waves: Vec<_> = answers
            .rows()
            .iter()
            .map(|(_, one)| one.waves_text())
            .collect();
        assert_eq!(waves, ["2 of 8", "8 of 8"]);
        insta::assert_snapshot!(answers.lines(80).join("\n"));
        let alone = Occupancies {
            file: &file,
            changed: None,
        };
        assert_eq!(alone.rows().len(), 1);
        assert!(!alone.lines(80).join("\n").contains("refuses"));
    }
}
