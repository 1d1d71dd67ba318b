//! rocprof and rocprofv2. The tutor builds no commands for them, but shows what replaces them in today's tools.

pub const WHY: &str = "rocprof and rocprofv2 have printed deprecation notices since ROCm 6.2, and AMD \
announced the end of their support for the middle of 2026. New installations lack them, and with current \
runtimes rocprof may record nothing at all. Files they wrote can still be imported here.";

/// One line per option of the old tools: the option, its replacement, and other differences.
pub const MOVES: &str = "\
rocprof --stats app | rocprofv3 --kernel-trace --stats --output-format csv -- app | a `--` now stands before the program, and --stats needs a trace to summarise
rocprof --hip-trace app | rocprofv3 --hip-trace --kernel-trace --memory-copy-trace -- app | --hip-trace alone records only the calls, no kernels and no copies
rocprof --sys-trace app | rocprofv3 --sys-trace -- app | the timeline is a .pftrace file with --output-format pftrace
rocprof -i counters.txt app | rocprofv3 --pmc SQ_WAVES -- app | since ROCm 7.13 input files in plain text are deprecated
rocprof --basenames on app | rocprofv3 --truncate-kernels --kernel-trace -- app
rocprof -o results.csv app | rocprofv3 -d out -o name --kernel-trace -- app | -o takes a beginning of file names without an extension
rocprofv2 --kernel-trace app | rocprofv3 --kernel-trace -- app";
