//! rocprof and rocprofv2: no command is built for them, only the way to today's tools is shown.

/// An option of the old tools with what to use instead.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    pub old: &'static str,
    pub new: &'static str,
    pub differs: &'static str,
}

pub const WHY: &str = "rocprof and rocprofv2 have printed notices of their end since ROCm 6.2, and AMD announced the end of their support for the middle of 2026. \
New installations lack them, and with current runtimes rocprof may record nothing at all. Files they wrote can still be imported here.";

pub const MOVES: &[Move] = &[
    Move {
        old: "rocprof --stats app",
        new: "rocprofv3 --kernel-trace --stats --output-format csv -- app",
        differs: "a `--` now stands before the program, and --stats needs a trace to summarise",
    },
    Move {
        old: "rocprof --hip-trace app",
        new: "rocprofv3 --hip-trace --kernel-trace --memory-copy-trace -- app",
        differs: "--hip-trace alone records only the calls, no kernels and no copies",
    },
    Move {
        old: "rocprof --sys-trace app",
        new: "rocprofv3 --sys-trace -- app",
        differs: "the timeline is a .pftrace file with --output-format pftrace",
    },
    Move {
        old: "rocprof -i counters.txt app",
        new: "rocprofv3 --pmc SQ_WAVES -- app",
        differs: "input files in plain text are read up to ROCm 7.12 only",
    },
    Move {
        old: "rocprof --basenames on app",
        new: "rocprofv3 --truncate-kernels --kernel-trace -- app",
        differs: "",
    },
    Move {
        old: "rocprof -o results.csv app",
        new: "rocprofv3 -d out -o name --kernel-trace -- app",
        differs: "-o takes a beginning of file names without an extension",
    },
    Move {
        old: "rocprofv2 --kernel-trace app",
        new: "rocprofv3 --kernel-trace -- app",
        differs: "",
    },
];
