//! Files of profilers that are known but not read, each with the reason and what to import instead.

use super::{FormatContent, ProfileFormat};
use crate::read::ReadRefusal;

/// Defines a format that is recognised and refused.
macro_rules! refused {
    ($constant:ident, $name:literal, $recognises:expr, $reason:literal) => {
        pub const $constant: ProfileFormat = ProfileFormat {
            name: $name,
            recognises: $recognises,
            read: |_| Err(ReadRefusal::PassedOver($reason.to_owned())),
            content: FormatContent::Part,
        };
    };
}

refused!(
    DISPATCH_LIST,
    "list of dispatches (CSV)",
    |file| file.names_kernels() && file.has(&["dispatch_id", "gpu_id"]),
    "only lists the dispatches that pmc_perf.csv has with their figures"
);

refused!(
    STREAMING_COUNTERS,
    "rocprofv3 counters over time (CSV)",
    |file| {
        file.has(&["dispatch_id", "counter_name", "counter_value"]) && !file.has(&["kernel_id"])
    },
    "has samples of counters over time (rocprofv3 --spm) by the number of the launch, without its kernel and without times: \
     write them with --output-format json and open that in ROCprof Compute Viewer, or collect the counters with --pmc"
);

refused!(
    NATIVE_COUNTERS,
    "rocprof-compute native counters (CSV)",
    |file| {
        let by_number = file.has(&["dispatch_id", "kernel_id"]) && !file.names_kernels();
        by_number || file.has(&["kernel_id", "kernel_short_name"])
    },
    "is one of the tables that the collector of rocprof-compute writes, which name kernels by their number \
     (as _native_counter_collection.csv): the database or results_*.csv of the same run has the same with \
     names; if there is none, `rocprof-compute analyze -p FOLDER` makes pmc_perf.csv"
);

refused!(
    PACKAGE,
    "rocpd package (YAML)",
    |file| file.contains_all(&["rocprofiler-sdk:", "rocpd"]),
    "is the index of a rocpd package (.rpdb), which names databases and holds none: import the .db files it names, \
     or make one of them with `rocpd merge`"
);
