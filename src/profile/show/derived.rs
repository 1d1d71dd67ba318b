//! Metrics derived from hardware counters, each with its formula and the range of good values.

/// The good values of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GoodRange {
    AtLeast(f64),
    AtMost(f64),
    /// A quantity without good or bad values.
    Depends,
}

impl GoodRange {
    /// Returns whether `value` is good. `None` if there is no range.
    pub fn holds(&self, value: f64) -> Option<bool> {
        match self {
            GoodRange::AtLeast(bound) => Some(value >= *bound),
            GoodRange::AtMost(bound) => Some(value <= *bound),
            GoodRange::Depends => None,
        }
    }
}

/// Returns a counter's mean per launch, by name.
pub type Counters<'a> = &'a dyn Fn(&str) -> Option<f64>;

/// A metric computed from counters, or a derived counter that the profiler reports under that name.
pub struct Derived {
    pub name: &'static str,
    pub unit: &'static str,
    /// Explains the metric, and what a bad value means.
    pub meaning: &'static str,
    pub formula: &'static str,
    pub good: GoodRange,
    /// `None` if a counter of the formula was not collected.
    pub value: fn(Counters) -> Option<f64>,
}

impl Derived {
    /// Returns whether it is a part of a whole.
    pub fn is_share(&self) -> bool {
        self.unit == "%"
    }
}

/// Defines metrics: name, unit, good values, formula as text and as code, and meaning.
macro_rules! derived {
    ($($name:literal in $unit:literal, $good:expr, $formula:literal = $value:expr; $meaning:literal)+) => {
        &[$(Derived { name: $name, unit: $unit, meaning: $meaning, formula: $formula, good: $good, value: $value }),+]
    };
}

/// Ranges are rules of thumb for kernels that should be fast, not limits of the hardware. A memory-bound kernel has idle
/// arithmetic units, and that is no fault. AMD's counter descriptions name 0 % or 100 % as the ideal.
pub const DERIVED: &[Derived] = derived! {
    "Occupancy" in "%", GoodRange::AtLeast(50.0), "OccupancyPercent"
        = |counter| counter("OccupancyPercent");
        "waves resident on the device, as a share of those it can hold; at low values there is nothing to switch to while waiting for memory"
    "VALU busy" in "%", GoodRange::Depends, "VALUBusy"
        = |counter| counter("VALUBusy");
        "time the vector units had an instruction; near 100 the kernel is bound by arithmetic"
    "Active lanes" in "%", GoodRange::AtLeast(90.0), "100 x SQ_THREAD_CYCLES_VALU / (64 x SQ_ACTIVE_INST_VALU)"
        = |counter| counter("VALUUtilization").or_else(|| {
            percent_of(counter("SQ_THREAD_CYCLES_VALU")?, 64.0 * counter("SQ_ACTIVE_INST_VALU")?)
        });
        "lanes that took part in vector instructions; branches within a wave and workgroups that are no multiple of it lower the share"
    "L2 hits" in "%", GoodRange::AtLeast(50.0), "100 x TCC_HIT_sum / (TCC_HIT_sum + TCC_MISS_sum)"
        = |counter| counter("L2CacheHit").or_else(|| {
            let hits = counter("TCC_HIT_sum")?;
            percent_of(hits, hits + counter("TCC_MISS_sum")?)
        });
        "requests to the L2 cache that it could answer; a stream of data read once cannot do better than its line size allows"
    "Memory unit stalled" in "%", GoodRange::AtMost(10.0), "MemUnitStalled"
        = |counter| counter("MemUnitStalled");
        "time the memory units waited; access in larger, neighbouring pieces"
    "Write unit stalled" in "%", GoodRange::AtMost(10.0), "WriteUnitStalled"
        = |counter| counter("WriteUnitStalled");
        "time writes waited to leave; fewer or wider stores help"
    "Stalled by LDS" in "%", GoodRange::AtMost(5.0), "ALUStalledByLDS"
        = |counter| counter("ALUStalledByLDS");
        "time the arithmetic waited for local memory; 0 is ideal"
    "LDS bank conflicts" in "%", GoodRange::AtMost(5.0), "100 x SQ_LDS_BANK_CONFLICT / SQ_LDS_IDX_ACTIVE"
        = |counter| { percent_of(counter("SQ_LDS_BANK_CONFLICT")?, counter("SQ_LDS_IDX_ACTIVE")?) };
        "cycles of local memory lost because lanes of a wave wanted the same bank; pad rows to an odd number of words"
    "GPU busy" in "%", GoodRange::AtLeast(90.0), "100 x GRBM_GUI_ACTIVE / GRBM_COUNT"
        = |counter| counter("GPUBusy").or_else(|| percent_of(counter("GRBM_GUI_ACTIVE")?, counter("GRBM_COUNT")?));
        "cycles in which the device had any work while counters ran"
    "Vector instructions a wave" in "", GoodRange::Depends, "SQ_INSTS_VALU / SQ_WAVES"
        = |counter| ratio(counter("SQ_INSTS_VALU")?, counter("SQ_WAVES")?);
        "length of the program in vector instructions"
    "Memory traffic" in "bytes", GoodRange::Depends, "bytes_from_memory + bytes_to_memory"
        = memory_bytes;
        "bytes between L2 and memory, per launch"
    "Operations" in "FLOP", GoodRange::Depends, "64 x (ADD + MUL + TRANS + 2 x FMA) + 512 x MFMA_MOPS, over F16, BF16, F32 and F64"
        = operations;
        "floating-point operations as issued, per launch: every lane of a wave counts, also one that is switched off"
};

/// The unit of a counter, as AMD documents it. Empty if it is not known.
pub fn counter_unit(counter: &str) -> &'static str {
    const PERCENT: &str = "OccupancyPercent VALUBusy VALUUtilization SALUBusy L2CacheHit MemUnitBusy MemUnitStalled WriteUnitStalled \
                           ALUStalledByLDS LDSBankConflict GPUBusy MfmaUtil";
    let is_one_of = |names: &str| names.split_ascii_whitespace().any(|name| name == counter);
    let is_request =
        || counter.contains("REQ") || counter.contains("_HIT") || counter.contains("_MISS");
    match counter {
        "FETCH_SIZE" | "WRITE_SIZE" => "KiB",
        "GRBM_COUNT" | "GRBM_GUI_ACTIVE" | "SQ_LDS_BANK_CONFLICT" => "cycles",
        "SQ_WAVES" => "waves",
        _ if is_one_of(PERCENT) => "%",
        _ if counter.starts_with("SQ_INSTS_VALU_MFMA_MOPS") => "",
        _ if counter.starts_with("SQ_INSTS_") => "instructions",
        _ if counter.starts_with("TCC_") && counter.ends_with("_sum") && is_request() => "requests",
        _ => "",
    }
}

fn ratio(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b)
}

fn percent_of(a: f64, b: f64) -> Option<f64> {
    ratio(100.0 * a, b)
}

/// Bytes between L2 and memory in both directions.
///
/// Read requests have 32 or 64 bytes on MI200. MI300 adds 128 (`TCC_BUBBLE`), and so does MI350, which has a counter for
/// each size and keeps `TCC_BUBBLE` at 0. Write requests have 32 or 64 bytes.
///
/// The formulas are those of rocprofiler's FETCH_SIZE and WRITE_SIZE, which report KiB. If these two were collected, they
/// are used directly.
pub fn memory_bytes(counter: Counters) -> Option<f64> {
    if let (Some(fetched), Some(written)) = (counter("FETCH_SIZE"), counter("WRITE_SIZE")) {
        return Some(1024.0 * (fetched + written));
    }
    let mi200 = |name: &str| counter(&format!("TCC_EA_{name}_sum"));
    let mi300 = |name: &str| counter(&format!("TCC_EA0_{name}_sum"));
    let reads = match (mi200("RDREQ"), mi200("RDREQ_32B")) {
        (Some(all), Some(small)) => 64.0 * (all - small) + 32.0 * small,
        _ => {
            let (all, small) = (mi300("RDREQ")?, mi300("RDREQ_32B")?);
            let large = mi300("RDREQ_128B").or_else(|| counter("TCC_BUBBLE_sum"))?;
            128.0 * large + 64.0 * (all - large - small) + 32.0 * small
        }
    };
    let write = |name: &str| mi200(name).or_else(|| mi300(name));
    let (all, full) = (write("WRREQ")?, write("WRREQ_64B")?);
    Some(reads + 64.0 * full + 32.0 * (all - full))
}

/// Floating-point operations as issued. `None` unless all counters of the formula were collected.
pub fn operations(counter: Counters) -> Option<f64> {
    let mut vector = 0.0;
    for kind in ["F16", "F32", "F64"] {
        let issued = |operation: &str| counter(&format!("SQ_INSTS_VALU_{operation}_{kind}"));
        vector += issued("ADD")? + issued("MUL")? + issued("TRANS")? + 2.0 * issued("FMA")?;
    }
    let mut matrix = 0.0;
    for kind in ["F16", "BF16", "F32", "F64"] {
        matrix += counter(&format!("SQ_INSTS_VALU_MFMA_MOPS_{kind}"))?;
    }
    // Only GPUs with 8-bit matrix instructions have this counter.
    matrix += counter("SQ_INSTS_VALU_MFMA_MOPS_F8").unwrap_or(0.0);
    Some(64.0 * vector + 512.0 * matrix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_of_128_bytes_are_counted_where_the_gpu_counts_them() {
        let counters = |name: &str| {
            let known = [
                ("TCC_EA0_RDREQ_sum", 100.0),
                ("TCC_EA0_RDREQ_32B_sum", 10.0),
                ("TCC_EA0_RDREQ_128B_sum", 50.0),
                ("TCC_BUBBLE_sum", 0.0),
                ("TCC_EA0_WRREQ_sum", 0.0),
                ("TCC_EA0_WRREQ_64B_sum", 0.0),
            ];
            known
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| *value)
        };
        assert_eq!(
            memory_bytes(&counters),
            Some(128.0 * 50.0 + 64.0 * 40.0 + 32.0 * 10.0)
        );
    }
}
