//! Known troubles of profilers: the output that reveals each, and what to do.

use serde::Serialize;

use super::ProfilerEnding;

/// A fault and its remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Remedy {
    pub trouble: &'static str,
    pub remedy: &'static str,
    /// True if the run's output can still be used.
    pub harmless: bool,
}

/// One trouble a line: texts in the output, in lower case, any of which reveals it. Then whether it is harmless, the
/// fault, and the remedy.
const KNOWN: &str = "\
invalid truth value | failure | The `--` before the program is missing: the profiler took the program's name for the value of its last flag. | Put ` -- ` between the profiler's flags and the program.
error: unrecognized arguments | failure | The profiler does not know one of the words it was given. | Look for a missing ` -- ` before the program first, then for a flag that this version lacks: `profile TOOL TARGET --print` names those that it has.
no application provided ~ no command provided ~ no application specified | failure | No program to profile was named. | Add ` -- ` and the program at the end of the line.
argument -f/--output-format: invalid choice ~ argument --output-format: invalid choice | failure | The profiler does not write that output format. | rocprofv3 writes csv, json and pftrace, otf2 since 6.3, rocpd since 7.0.
no tracing options were enabled | failure | --stats summarises a trace, and none was asked for. | Add --kernel-trace.
yaml package is not installed ~ no module named 'yaml' | failure | Input files in YAML need a Python package that is not installed. | Run `python3 -m pip install pyyaml`, or write the input file as JSON.
exceeds the capabilities of the hardware ~ error code 38 | failure | The counters do not fit into the hardware in one run. | Ask for fewer at a time: `profile rocprofv3 TARGET --kind counters` splits them into runs that fit; --arch says which GPU to split for.
unable to find all counters | failure | This GPU does not have one of the counters. | `rocprofv3-avail info --pmc` (ROCm 7) or `rocprofv3 -L` lists those it has.
unable to open /dev/kfd ~ cannot open /dev/kfd ~ failed to open /dev/kfd ~ /dev/kfd: permission denied ~ permission denied: '/dev/kfd' ~ hsa_status_error_out_of_resources | failure | The GPU's device files /dev/kfd and /dev/dri/renderD* may not be opened, or ROCm 10.0 met a GPU of RDNA 1. | Join the groups that own the files, `sudo usermod -aG render,video $USER`, then log in again. In a container add --device=/dev/kfd --device=/dev/dri --group-add video --group-add render. On gfx101x the first launch fails so with ROCm 10.0: use ROCm 7.
cannot find a supported arch in rocminfo | failure | rocprof-compute does not support this GPU. | It knows MI100, MI200, MI300, MI350, since 3.6 gfx1151 and since ROCm 10.0 other GPUs of gfx115x and gfx125x; not gfx906, gfx10xx, gfx110x and gfx120x. rocprofv3 works on more GPUs: hotspots and traces need no support for counters.
segmentation fault ~ sigsegv ~ core dumped ~ ended by signal 11 ~ ended by signal 6 ~ ended with code 139 ~ ended with code 134 | failure | The profiler or the program crashed. | Run the program without the profiler first. If that works, profile less at once: only some kernels with --kernel-include-regex, or without --hip-trace and --pmc; and try the other form of output, a database or CSV.
was not found in the current execution environment ~ modulenotfounderror ~ no module named | failure | Python packages that the profiler needs are missing. | For rocprof-compute: `python3 -m pip install -r /opt/rocm/libexec/rocprofiler-compute/requirements.txt`, best into a virtual environment.
the following arguments are required: -n/--name | failure | rocprof-compute wants a name for the workload. | Add --name.
no hip gpus are available ~ hiperrornodevice | failure | The program found no GPU. | Check HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES; a Python environment with its own ROCm can also clash with the profiler's.
is not empty ~ already exists and is not empty | failure | The folder for the workload is not empty. | Choose another folder with --out; rocprof-compute 3.8 and later take --overwrite.
cap_perfmon ~ perf_event_paranoid ~ could not be locked for profiling | harmless | Some counters may be missing: reading all of them needs more rights. | Harmless for traces of kernels. For counters an administrator can set kernel.perf_event_paranoid to 2 or less.";

/// Finds known troubles in a profiler's output. After a success only harmless ones are searched.
pub fn remedies(output: &str, ending: &ProfilerEnding) -> Vec<Remedy> {
    let output = format!("{}\n{ending}", output.to_lowercase());
    let succeeded = *ending == ProfilerEnding::Success;
    let found = KNOWN.lines().filter_map(|line| {
        let [texts, kind, trouble, remedy] =
            line.split(" | ").collect::<Vec<_>>().try_into().ok()?;
        let harmless = kind == "harmless";
        let is_printed = texts.split(" ~ ").any(|text| output.contains(text));
        (is_printed && (harmless || !succeeded)).then_some(Remedy {
            trouble,
            remedy,
            harmless,
        })
    });
    found.collect()
}
