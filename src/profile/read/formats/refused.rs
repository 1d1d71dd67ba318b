//! Files that tools write and that are not read. Each is named, with what it holds and what to do instead.
//!
//! A new kind is one entry in [`REFUSED`].

use crate::read::sample::FileSample;

/// A kind of file that is known but not read.
pub struct RefusedFile {
    /// Name of the kind. It is unique.
    pub name: &'static str,
    pub recognises: fn(&FileSample<'_>) -> bool,
    /// What it holds.
    pub holds: &'static str,
    /// What to do for figures, or for what the file holds. Commands in it write files that are read.
    pub next_step: &'static str,
}

impl RefusedFile {
    /// The first kind that recognises a file which no format reads.
    pub fn find(file: &FileSample<'_>) -> Option<&'static RefusedFile> {
        REFUSED.iter().find(|kind| (kind.recognises)(file))
    }

    pub fn reason(&self) -> String {
        let RefusedFile {
            name,
            holds,
            next_step,
            ..
        } = self;
        format!("{name}: {holds}. {next_step}")
    }
}

const KERNEL_TIMES: &str = "For times of kernels profile: `tinyllama-tutor profile rocprofv3 v3`.";
const FIRST_ROCPROF_TABLES: &str = "Import the tables it wrote next to it: results.csv, results.stats.csv, results.hip_stats.csv and \
     results.copy_stats.csv.";
const WORKLOAD: &str = "Import the folder of the workload, with its tables.";
const THREAD_TRACE: &str = "Open the folder in ROCprof Compute Viewer. The tutor reads the table stats_ui_output_….csv next to it, \
     which `tinyllama-tutor profile rocprofv3 v3 --kind thread-trace` writes, too.";
const UNPACK: &str = "Unpack it and import the result.";

/// Fields of amd-smi's documents. Each GPU has its number, and some of these.
const AMD_SMI_FIELDS: [&str; 14] = [
    "\"asic\"",
    "\"bdf\"",
    "\"bus\"",
    "\"clock\"",
    "\"energy\"",
    "\"fan\"",
    "\"ifwi\"",
    "\"mem_usage\"",
    "\"power\"",
    "\"process_info\"",
    "\"process_list\"",
    "\"temperature\"",
    "\"usage\"",
    "\"vbios\"",
];

/// All kinds. If several recognise a file, the first names it.
pub static REFUSED: &[RefusedFile] = &[
    // The driver and the machine.
    RefusedFile {
        name: "rocminfo",
        recognises: |file| file.says_all(&["HSA Agents", "Agent 1"]),
        holds: "the devices of a machine, and no run",
        next_step: "`tinyllama-tutor doctor --machine FILE` describes that machine.",
    },
    RefusedFile {
        name: "rocminfo that failed",
        recognises: |file| {
            file.says_one(&[
                "ROCk module is loaded",
                "ROCk module version",
                "ROCk module is NOT loaded",
            ]) && !file.says_one(&["Agent 1"])
        },
        holds: "why rocminfo found no device",
        next_step: "`tinyllama-tutor doctor` on that machine says what is missing.",
    },
    RefusedFile {
        name: "node of the AMD driver (KFD)",
        recognises: |file| {
            file.says_all(&["simd_count ", "cpu_cores_count "])
                || file.is_below("nodes") && file.is_named(&["properties", "gpu_id", "name"])
                || file.is_named(&["generation_id", "system_properties"])
        },
        holds: "the properties of one processor or GPU, and no run",
        next_step: "`tinyllama-tutor doctor --machine FOLDER` describes the machine whose `topology` folder it is from.",
    },
    RefusedFile {
        name: "rocm_agent_enumerator",
        recognises: |file| {
            let is_architecture =
                |line: &str| line.starts_with("gfx") && !line.contains([' ', ',', '\t']);
            file.lines().next().is_some() && file.lines().all(is_architecture)
        },
        holds: "the architectures of a machine, and no run",
        next_step: "rocminfo says more of that machine: `tinyllama-tutor doctor --machine FILE` reads its output.",
    },
    RefusedFile {
        name: "rocm-smi",
        recognises: |file| {
            let is_document = file.says_one(&["\"card0\"", "\"card1\""])
                || file.has_line(|line| line.starts_with("device,"));
            let figures = [
                "GPU use (%)",
                "VRAM Total",
                "(Sensor",
                "Card Series",
                "Card series",
                "Card SKU",
                "GFX Version",
            ];
            file.says_one(&["ROCm System Management Interface", "End of ROCm SMI Log"])
                || is_document && file.says_one(&figures)
        },
        holds: "what GPUs did at one moment, and no kernels",
        next_step: KERNEL_TIMES,
    },
    RefusedFile {
        name: "amd-smi",
        recognises: |file| {
            let is_document = file.says_one(&["\"gpu_data\"", "\"gpu\": ", "\"gpu\":"]);
            let is_text = file.says_one(&["AMDSMI Tool:", "| AMD-SMI "]);
            let is_list = file.has_line(|line| line.starts_with("GPU: "))
                && file.says_one(&["BDF:", "ASIC:", "USAGE:", "POWER:"]);
            let is_table = file.has_line(|line| line.starts_with("gpu,") || line.contains(",gpu,"))
                && file.says_one(&[
                    "gfx_activity",
                    "market_name",
                    "socket_power",
                    "gpu_bdf",
                    "used_vram",
                ]);
            is_text || is_list || is_table || is_document && file.says_one(&AMD_SMI_FIELDS)
        },
        holds: "what GPUs are or did at one moment, and no kernels",
        next_step: KERNEL_TIMES,
    },
    RefusedFile {
        name: "nvidia-smi",
        recognises: |file| file.says_one(&["NVIDIA-SMI", "<nvidia_smi_log>"]),
        holds: "what GPUs did at one moment, and no kernels",
        next_step: "For figures of kernels: `ncu --csv --page raw --log-file FILE.csv PROGRAM`.",
    },
    // rocprofv3.
    RefusedFile {
        name: "list of dispatches (CSV)",
        recognises: |file| file.names_kernels() && file.has(&["dispatch_id", "gpu_id"]),
        holds: "the launches that pmc_perf.csv has with their figures",
        next_step: WORKLOAD,
    },
    RefusedFile {
        name: "rocprof-compute native counters (CSV)",
        recognises: |file| {
            let by_number = file.has(&["dispatch_id", "kernel_id"]) && !file.names_kernels();
            by_number || file.has(&["kernel_id", "kernel_short_name"])
        },
        holds: "counters of kernels by their number, as the collector writes them (_native_counter_collection.csv)",
        next_step: "The database or results_*.csv of the same run has them with names. If there is none, \
             `rocprof-compute analyze -p FOLDER` makes pmc_perf.csv.",
    },
    RefusedFile {
        name: "rocprofv3 counters over time (CSV)",
        recognises: |file| {
            file.has(&["dispatch_id", "counter_name", "counter_value"]) && !file.has(&["kernel_id"])
        },
        holds: "samples of counters over time (rocprofv3 --spm) by the number of the launch, without its kernel and times",
        next_step: "Written with --output-format json it opens in ROCprof Compute Viewer. For the tutor collect the counters \
             with --pmc: `tinyllama-tutor profile rocprofv3 v3 --kind counters`.",
    },
    RefusedFile {
        name: "rocpd package (YAML)",
        recognises: |file| file.says_all(&["rocprofiler-sdk:", "rocpd"]),
        holds: "the names of databases (.rpdb), and none itself",
        next_step: "Import the .db files it names, or make one of them with `rocpd merge`.",
    },
    RefusedFile {
        name: "rocprofv3's list of counters",
        recognises: |file| {
            file.says_one(&["Counter_Name        :", "PC Sampling"])
                && file.says_one(&["Description", "Unit"])
        },
        holds: "what a GPU can count",
        next_step: "`tinyllama-tutor profile rocprofv3 v3 --kind counters --counters NAME,NAME` counts it.",
    },
    RefusedFile {
        name: "rocprofv3's doctor",
        recognises: |file| file.says_one(&["rocprofv3-doctor", "rocprofv3 --doctor"]),
        holds: "checks of an installation of ROCm, and no run",
        next_step: "Mend what it marks as failed, then profile: `tinyllama-tutor profile rocprofv3 v3`.",
    },
    RefusedFile {
        name: "input file of a profiler",
        recognises: |file| {
            let is_list = |line: &str| line.starts_with("pmc:");
            file.has_line(is_list)
                || file.says_one(&["jobs:", "\"jobs\""]) && file.says_one(&["pmc", "trace"])
        },
        holds: "what to collect, and no run",
        next_step: "`tinyllama-tutor profile rocprofv3 v3 --kind input --input FILE` collects it.",
    },
    RefusedFile {
        name: "thread trace for a viewer (JSON)",
        recognises: |file| {
            file.is_below("ui_output_")
                || file.has_keys(&["wave_filenames"])
                || file.has_keys(&["num_insts", "wave"])
                || file.has_keys(&["code", "header", "version"])
        },
        holds: "the instructions of single wavefronts with their cycles",
        next_step: THREAD_TRACE,
    },
    RefusedFile {
        name: "thread trace (.att)",
        recognises: |file| file.ends_in(&["att"]),
        holds: "what the hardware wrote, before it was decoded",
        next_step: "rocprofv3 decodes it with AMD's library rocprof-trace-decoder while it profiles: \
             `tinyllama-tutor profile rocprofv3 v3 --kind thread-trace`.",
    },
    RefusedFile {
        name: "OTF2 trace",
        recognises: |file| file.ends_in(&["otf2", "def", "evt"]),
        holds: "a timeline for Vampir and Score-P",
        next_step: "Profile again without --output-format otf2: `tinyllama-tutor profile rocprofv3 v3 --kind runtime`.",
    },
    RefusedFile {
        name: "Perfetto trace",
        recognises: |file| {
            file.ends_in(&["pftrace", "proto", "perfetto-trace"])
                || file.is_binary() && file.starts_with(b"\x0a")
        },
        holds: "a timeline, which opens in ui.perfetto.dev",
        next_step: "Its rows cannot be imported, and `rocpd convert` cannot read them. Profile again without --output-format \
             pftrace, or with a database besides: `tinyllama-tutor profile rocprofv3 v3 --kind runtime`.",
    },
    // rocprof-compute.
    RefusedFile {
        name: "log of rocprof-compute",
        recognises: |file| file.says_all(&["Kernel Selection:", "Dispatch Selection:"]),
        holds: "what the tool printed while it profiled",
        next_step: "Import the folder of the workload. If that has no kernels, the log's last lines say why.",
    },
    RefusedFile {
        name: "settings of rocprof-compute (profiling_config.yaml)",
        recognises: |file| file.says_all(&["filter_blocks:", "mode: profile"]),
        holds: "the flags with which a workload was profiled",
        next_step: WORKLOAD,
    },
    RefusedFile {
        name: "page or picture",
        recognises: |file| {
            let starts: [&[u8]; 5] = [b"%PDF", b"\x89PNG", b"<!DOCTYPE html", b"<html", b"<svg"];
            starts.iter().any(|start| file.starts_with(start))
        },
        holds: "a report to look at, such as the roofline of rocprof-compute",
        next_step: "Its figures are in tables next to it, roofline.csv and pmc_perf.csv: import the folder.",
    },
    // rocprof-sys.
    RefusedFile {
        name: "rocprof-sys settings or metadata",
        recognises: |file| {
            // Every metric has such a table, and that of time is read.
            let is_table = file.says_all(&["LABEL", "COUNT", "DEPTH", "METRIC"]);
            let marks = [
                "\"timemory\"",
                "\"rocprofsys\"",
                "\"omnitrace\"",
                "ROCPROFSYS_",
                "OMNITRACE_",
            ];
            is_table || file.says_one(&marks)
        },
        holds: "settings, the machine or another metric than time",
        next_step: "Import wall_clock-….txt or .json from the same folder.",
    },
    // The first rocprof.
    RefusedFile {
        name: "raw output of the first rocprof",
        recognises: |file| {
            file.is_below("rpl_data_")
                || file
                    .has_line(|line| line.starts_with("dispatch[") && line.contains("kernel-name("))
                || file.lines().next().is_some() && file.lines().all(is_record_of_first_rocprof)
        },
        holds: "records from which rocprof made its tables when the program ended",
        next_step: "Import these tables: results.csv, results.stats.csv, results.hip_stats.csv. If there are none, the run was cut \
             off: profile again, `tinyllama-tutor profile rocprofv3 v3`.",
    },
    RefusedFile {
        name: "statistics of the first rocprof without their header (CSV)",
        recognises: |file| {
            let columns = file.columns();
            columns.len() == 5 && columns.iter().skip(1).all(|column| is_figure(column))
        },
        holds: "five columns without names",
        next_step: "Put this line above them, then import: \"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\".",
    },
    RefusedFile {
        name: "table without a header (CSV)",
        recognises: |file| {
            let columns = file.columns();
            let figures = columns.iter().filter(|column| is_figure(column)).count();
            columns.len() > 5 && 2 * figures > columns.len()
        },
        holds: "columns without names, so nobody can know what they count",
        next_step: "Put the line with the names above them. Another table of the same kind has it; results.csv of the first rocprof \
             begins with \"Index\",\"KernelName\",\"gpu-id\".",
    },
    RefusedFile {
        name: "first rocprof's database without launches (SQLite)",
        recognises: |file| {
            let tables = ["OPS", "COPY", "KERN", "HIP", "HSA", "rocTX"];
            tables.iter().filter(|table| file.has_table(table)).count() > 1
        },
        holds: "calls of the host at most, and no table of launches",
        next_step: FIRST_ROCPROF_TABLES,
    },
    // PyTorch and NVIDIA.
    RefusedFile {
        name: "execution trace of PyTorch (JSON)",
        recognises: |file| file.has_keys(&["schema", "nodes"]),
        holds: "which operators depend on which, without kernels",
        next_step: "Export the profiler's own trace: `prof.export_chrome_trace(\"trace.json\")`, and import that.",
    },
    RefusedFile {
        name: "pickle of Python",
        recognises: |file| file.starts_with(b"\x80"),
        holds: "objects that only Python reads, such as a snapshot of PyTorch's memory",
        next_step: "Snapshots open at pytorch.org/memory_viz. For kernels: `prof.export_chrome_trace(\"trace.json\")`, and import that.",
    },
    RefusedFile {
        name: "report of Nsight Compute",
        recognises: |file| file.starts_with(b"NVR\0"),
        holds: "figures in NVIDIA's own form",
        next_step: "`ncu --import FILE --csv --page raw > FILE.csv` writes its table: import that.",
    },
    RefusedFile {
        name: "report of Nsight Systems",
        recognises: |file| {
            file.ends_in(&["nsys-rep", "qdrep"])
                || file.has_table("StringIds") && file.has_table("TARGET_INFO_SYSTEM_ENV")
        },
        holds: "a timeline in NVIDIA's own form",
        next_step: "Nsight Systems shows it. For figures of kernels: `ncu --csv --page raw --log-file FILE.csv PROGRAM`.",
    },
    // This program.
    RefusedFile {
        name: "event stream of a run of this tutor",
        recognises: |file| {
            file.lines()
                .next()
                .is_some_and(|line| line.contains("\"event\":"))
        },
        holds: "what a training run reported",
        next_step: "`--events FILE` next to a profile of the same target names the part of the model that launched each kernel.",
    },
    RefusedFile {
        name: "index of profiles of this tutor",
        recognises: |file| file.has_keys(&["profiles", "target", "version"]),
        holds: "what `profile all` did",
        next_step: "Import one of the folders that it names.",
    },
    RefusedFile {
        name: "log of a profiler",
        recognises: |file| file.is_named(&["profiler.log"]),
        holds: "what the profiler and the program printed",
        next_step: "Import the folder that it lies in. If that has no kernels, the log says why.",
    },
    // Packed and foreign files.
    RefusedFile {
        name: "database compressed with gzip",
        recognises: |file| file.is_binary() && file.starts_with(b"SQLite format 3\0"),
        holds: "an SQLite database",
        next_step: "Unpack it with gunzip and import the result.",
    },
    RefusedFile {
        name: "file compressed with gzip twice",
        recognises: |file| file.starts_with(b"\x1f\x8b"),
        holds: "a compressed file",
        next_step: "Unpack it with gunzip and import the result.",
    },
    RefusedFile {
        name: "file compressed with zstd",
        recognises: |file| file.starts_with(b"\x28\xb5\x2f\xfd"),
        holds: "a compressed file",
        next_step: "Unpack it with unzstd and import the result.",
    },
    RefusedFile {
        name: "zip archive",
        recognises: |file| file.starts_with(b"PK\x03\x04"),
        holds: "other files",
        next_step: UNPACK,
    },
    RefusedFile {
        name: "archive of tar",
        recognises: |file| file.has_bytes_at(257, b"ustar"),
        holds: "other files",
        next_step: UNPACK,
    },
    RefusedFile {
        name: "Parquet or Arrow table",
        recognises: |file| file.starts_with(b"PAR1") || file.starts_with(b"ARROW1"),
        holds: "columns in a form for data frames",
        next_step: "Write it as a database (--output-format rocpd) or as CSV, and import that.",
    },
    RefusedFile {
        name: "compiled code (ELF)",
        recognises: |file| file.starts_with(b"\x7fELF"),
        holds: "a program or a GPU's code object, and no figures",
        next_step: "Import the tables or the database that the profiler wrote next to it.",
    },
    RefusedFile {
        name: "text in UTF-16",
        recognises: |file| file.starts_with(b"\xff\xfe") || file.starts_with(b"\xfe\xff"),
        holds: "text that another program saved",
        next_step: "Save it as UTF-8 and import the result.",
    },
];

/// A line of the traces of the first rocprof, such as `123:456 78:90 hipMalloc(...)`.
fn is_record_of_first_rocprof(line: &str) -> bool {
    let mut words = line.split(' ');
    let mut next_is = |is_wanted: fn(&str) -> bool| words.next().is_some_and(is_wanted);
    next_is(is_pair) && next_is(is_pair) && next_is(|word| !word.is_empty())
}

/// Two whole numbers with a colon between them.
fn is_pair(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    word.split_once(':')
        .is_some_and(|(first, second)| is_number(first) && is_number(second))
}

/// Names of columns have underscores where the file has minus signs.
fn is_figure(column: &str) -> bool {
    column.replace('_', "-").parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests;
