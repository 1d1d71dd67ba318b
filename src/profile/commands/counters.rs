//! Chooses hardware counters, and divides them into sets that fit into one run of the program.
//!
//! A hardware block has a few registers that count, so a set of counters may need several runs. With too many in one run
//! rocprofv3 refuses ("Request exceeds the capabilities of the hardware to collect") or crashes, in some versions after
//! the program has started. The planner therefore stays within what every block is known to count at once.

use std::collections::BTreeMap;

use itertools::Itertools;

/// Number of counters that each CDNA block counts at once, from rocprof-compute's own settings.
const BLOCKS: &[(&str, usize)] = &[
    ("SQ", 8),
    ("TA", 2),
    ("TD", 2),
    ("TCP", 4),
    ("TCC", 4),
    ("CPC", 2),
    ("CPF", 2),
    ("SPI", 2),
    ("GRBM", 2),
    ("GDS", 4),
];

/// Counters from which the tutor's tables are made.
pub fn default_counters(architecture: Option<&str>) -> Vec<String> {
    let mut counters: Vec<String> = ["SQ_WAVES", "GRBM_COUNT", "GRBM_GUI_ACTIVE"]
        .map(str::to_owned)
        .to_vec();
    let architecture = architecture.unwrap_or_default();
    let is_mi300 = ["gfx940", "gfx941", "gfx942", "gfx950"].contains(&architecture);
    let is_mi200 = architecture == "gfx90a";
    if !is_mi300 && !is_mi200 && architecture != "gfx908" {
        // Other GPUs use other names for these counters, and some can count only one at a time.
        return counters;
    }
    let instructions = "SQ_INSTS_VALU SQ_ACTIVE_INST_VALU SQ_THREAD_CYCLES_VALU SQ_LDS_BANK_CONFLICT SQ_LDS_IDX_ACTIVE";
    counters.extend(instructions.split(' ').map(str::to_owned));
    counters.extend(["TCC_HIT_sum", "TCC_MISS_sum"].map(str::to_owned));
    let memory = if is_mi300 { "TCC_EA0" } else { "TCC_EA" };
    for request in ["RDREQ", "RDREQ_32B", "WRREQ", "WRREQ_64B"] {
        counters.push(format!("{memory}_{request}_sum"));
    }
    match architecture {
        // On gfx950 TCC_BUBBLE counts nothing, and reads of each size have their own counter.
        "gfx950" => {
            counters.extend(["TCC_EA0_RDREQ_64B_sum", "TCC_EA0_RDREQ_128B_sum"].map(str::to_owned))
        }
        _ if is_mi300 => counters.push("TCC_BUBBLE_sum".to_owned()),
        _ => {}
    }
    if is_mi300 || is_mi200 {
        for kind in ["F16", "F32", "F64"] {
            for operation in ["ADD", "MUL", "TRANS", "FMA"] {
                counters.push(format!("SQ_INSTS_VALU_{operation}_{kind}"));
            }
        }
        for kind in ["F16", "BF16", "F32", "F64"] {
            counters.push(format!("SQ_INSTS_VALU_MFMA_MOPS_{kind}"));
        }
    }
    counters
}

/// Divides counters into sets that fit into one run each. This simple packing tries to need few runs.
pub fn passes(counters: &[String], architecture: Option<&str>) -> Vec<Vec<String>> {
    let is_cdna = architecture.is_none_or(|name| name.starts_with("gfx9"));
    let mut passes: Vec<CounterPass> = Vec::new();
    for counter in counters.iter().unique() {
        let block = block_of(counter).filter(|_| is_cdna);
        let place = passes.iter().position(|pass| pass.has_room(block));
        let place = place.unwrap_or_else(|| {
            passes.push(CounterPass::default());
            passes.len() - 1
        });
        passes[place].add(counter, block);
    }
    passes.into_iter().map(|pass| pass.counters).collect()
}

#[derive(Default)]
struct CounterPass {
    counters: Vec<String>,
    used: BTreeMap<&'static str, usize>,
    /// Set if the run has a counter with unknown needs. No other counter fits next to it.
    is_full: bool,
}

impl CounterPass {
    fn has_room(&self, block: Option<(&'static str, usize)>) -> bool {
        match block {
            Some((name, limit)) => {
                !self.is_full && self.used.get(name).copied().unwrap_or(0) < limit
            }
            None => self.counters.is_empty(),
        }
    }

    fn add(&mut self, counter: &str, block: Option<(&'static str, usize)>) {
        self.counters.push(counter.to_owned());
        match block {
            Some((name, _)) => *self.used.entry(name).or_default() += 1,
            // A metric such as FETCH_SIZE is computed from several counters. Alone it fits, but with others often not.
            None => self.is_full = true,
        }
    }
}

/// Returns the block of a plain counter, and how many the block counts at once. `None` for a derived metric or an unknown
/// block.
fn block_of(counter: &str) -> Option<(&'static str, usize)> {
    let prefix = counter.split('_').next()?;
    // The sequencer's registers also count the instruction cache.
    let prefix = if prefix == "SQC" { "SQ" } else { prefix };
    BLOCKS.iter().copied().find(|(name, _)| *name == prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(counters: &[&str]) -> Vec<String> {
        counters.iter().map(|&counter| counter.to_owned()).collect()
    }

    #[test]
    fn no_pass_asks_a_block_for_more_than_it_counts() {
        for architecture in [Some("gfx90a"), Some("gfx942"), None] {
            let counters = default_counters(Some("gfx942"));
            let passes = passes(&counters, architecture);
            for pass in &passes {
                for (block, limit) in BLOCKS {
                    let used = pass
                        .iter()
                        .filter(|c| block_of(c).is_some_and(|(name, _)| name == *block));
                    assert!(used.count() <= *limit, "{pass:?}");
                }
            }
            let mut all: Vec<_> = passes.into_iter().flatten().collect();
            let mut wanted = counters;
            all.sort();
            wanted.sort();
            assert_eq!(all, wanted, "every counter is collected once");
        }
    }

    #[test]
    fn reads_are_counted_by_what_each_gpu_counts_them_with() {
        let asks = |gpu, counter: &str| {
            default_counters(Some(gpu))
                .iter()
                .any(|name| name == counter)
        };
        assert!(asks("gfx950", "TCC_EA0_RDREQ_128B_sum") && !asks("gfx950", "TCC_BUBBLE_sum"));
        assert!(asks("gfx942", "TCC_BUBBLE_sum") && !asks("gfx942", "TCC_EA0_RDREQ_128B_sum"));
    }

    #[test]
    fn derived_metrics_run_alone() {
        let passes = passes(
            &names(&["SQ_WAVES", "FETCH_SIZE", "WRITE_SIZE", "TCC_HIT_sum"]),
            Some("gfx942"),
        );
        assert_eq!(
            passes,
            [
                names(&["SQ_WAVES", "TCC_HIT_sum"]),
                names(&["FETCH_SIZE"]),
                names(&["WRITE_SIZE"])
            ]
        );
    }

    #[test]
    fn gpus_that_count_one_at_a_time_get_one_at_a_time() {
        let passes = passes(
            &names(&["SQ_WAVES", "GRBM_COUNT", "SQ_WAVES"]),
            Some("gfx1151"),
        );
        assert_eq!(passes, [names(&["SQ_WAVES"]), names(&["GRBM_COUNT"])]);
    }
}
