//! rocprof-compute's `pmc_dispatch_info`: names of dispatches without figures.

use super::Format;
use crate::profiler::read::Refusal;

pub const FORMAT: Format = Format {
    name: "list of dispatches (CSV)",
    recognises: |file| file.names_kernels() && file.has(&["dispatch_id", "gpu_id"]),
    read: |_| {
        let reason = "only lists the dispatches that pmc_perf.csv has with their figures";
        Err(Refusal::PassedOver(reason.to_owned()))
    },
};
