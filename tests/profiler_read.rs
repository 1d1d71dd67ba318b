//! Tests every sample output against totals that a separate program computed.

#[path = "profiler_read/runs.rs"]
mod runs;
#[path = "profiler_read/samples.rs"]
mod samples;

use std::path::{Path, PathBuf};

use tinyllama_base::Percentage;
use tinyllama_profile::{Import, Profile, StatisticKind, import};

const ALLOCATION_TRACE: &str = "rocprofv3 allocations (CSV)";
const API_TRACE: &str = "rocprofv3 API trace (CSV)";
const COUNTER_COLLECTION: &str = "counters, one row each (CSV)";
const KERNEL_TRACE: &str = "rocprofv3 kernel trace (CSV)";
const LAUNCH_TABLE: &str = "launches with their counters (CSV)";
const MEMORY_COPY_TRACE: &str = "rocprofv3 memory copies (CSV)";
const ROCPD: &str = "rocpd (SQLite)";
const ROCPROFV3_JSON: &str = "rocprofv3 results (JSON)";

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(path)
}

fn read(path: &str) -> Import {
    let import = import(&fixture(path)).unwrap();
    assert_eq!(import.damage, [], "{path}");
    import
}

/// Nanoseconds of all timed records.
fn total_ns(profile: &Profile) -> u64 {
    let dispatches = profile.dispatches.iter().filter_map(|d| d.time);
    let copies = profile.copies.iter().map(|c| c.time);
    let calls = profile.calls.iter().map(|c| c.time);
    let allocations = profile.allocations.iter().map(|a| a.time);
    dispatches
        .chain(copies)
        .chain(calls)
        .chain(allocations)
        .map(|time| time.duration())
        .sum()
}

/// File, format, rows, nanoseconds. Python's csv module computed the sums.
const TRACES: &[(&str, &str, u64, u64)] = &[
    ("rocprofv3/kernel_trace.csv", KERNEL_TRACE, 9, 96_160),
    (
        "rocprofv3/kernel_trace_truncated.csv",
        KERNEL_TRACE,
        4,
        44_840,
    ),
    ("rocprofv3_6.4/kernel_trace.csv", KERNEL_TRACE, 7, 795_453),
    (
        "readme_csv/Rocprofv3__HIP__README.md_L125_repaired.csv",
        KERNEL_TRACE,
        4,
        419_681,
    ),
    (
        "readme_csv/Rocprofv3__OpenMP__README.md_L114.csv",
        KERNEL_TRACE,
        9,
        501_080,
    ),
    (
        "readme_csv/Rocprofv3__rocpd__README.md_L167.csv",
        KERNEL_TRACE,
        9,
        551_280,
    ),
    (
        "rocprof-compute/vcopy/MI100/timestamps.csv",
        LAUNCH_TABLE,
        3,
        62_560,
    ),
    (
        "rocprof-compute/vcopy/MI200/timestamps.csv",
        LAUNCH_TABLE,
        3,
        52_320,
    ),
    (
        "rocprof-compute/kernel_names/MI200/timestamps.csv",
        LAUNCH_TABLE,
        3,
        52_480,
    ),
    ("rocprofv3/hip_trace.csv", API_TRACE, 17, 476_345_901),
    ("rocprofv3/hip_compile_trace.csv", API_TRACE, 5, 44_990),
    ("rocprofv3/hip_runtime_trace.csv", API_TRACE, 8, 972_177_644),
    ("rocprofv3/hsa_api_trace.csv", API_TRACE, 10, 13_473),
    (
        "rocprofv3/hsa_core_api_trace.csv",
        API_TRACE,
        32,
        108_547_274,
    ),
    ("rocprofv3/marker_api_trace.csv", API_TRACE, 5, 4_962_639),
    ("rocprofv3/python_bindings.csv", API_TRACE, 6, 150_211),
    ("rocprofv3/rccl_trace.csv", API_TRACE, 21, 430_140_109),
    (
        "rocprofv3/rocdecode_api_trace.csv",
        API_TRACE,
        6,
        881_421_797,
    ),
    ("rocprofv3/rocjpeg_api_trace.csv", API_TRACE, 4, 218_830_427),
    ("rocprofv3/rocpd-to-csv.csv", API_TRACE, 13, 173_915_064),
    ("rocprofv3_6.4/hip_compile_trace.csv", API_TRACE, 4, 23_324),
    (
        "rocprofv3_6.4/hip_runtime_trace.csv",
        API_TRACE,
        8,
        972_177_644,
    ),
    ("rocprofv3_6.4/hsa_api_trace.csv", API_TRACE, 10, 13_473),
    (
        "rocprofv3_6.4/marker_api_trace.csv",
        API_TRACE,
        5,
        4_962_639,
    ),
    ("rocprofv3_6.4/rccl_trace.csv", API_TRACE, 21, 430_140_109),
    (
        "rocprofv3_6.4/rocdecode_api_trace.csv",
        API_TRACE,
        6,
        881_421_797,
    ),
    (
        "readme_csv/Rocprofv3__HIP__README.md_L39.csv",
        API_TRACE,
        3,
        11_460,
    ),
    (
        "rocprofv3/memory_copy_trace.csv",
        MEMORY_COPY_TRACE,
        4,
        329_162,
    ),
    (
        "rocprofv3_6.4/memory_copy_trace.csv",
        MEMORY_COPY_TRACE,
        2,
        1_145_680,
    ),
    (
        "rocprofv3/memory_allocation_trace.csv",
        ALLOCATION_TRACE,
        4,
        430_862,
    ),
    (
        "rocprofv3_6.4/memory_allocation_trace.csv",
        ALLOCATION_TRACE,
        6,
        894_894,
    ),
    (
        "rocprofv3/scratch_memory_trace.csv",
        ALLOCATION_TRACE,
        2,
        609_107_599,
    ),
    (
        "json/908_results_trim400.json",
        ROCPROFV3_JSON,
        400,
        20_419_735,
    ),
    (
        "rocpd/derived_from_908_schema300.db",
        ROCPD,
        400,
        20_419_735,
    ),
];

#[test]
fn traces_add_up() {
    for &(path, format, rows, ns) in TRACES {
        let import = read(path);
        let [taken] = &import.taken[..] else {
            panic!("{path}: {:?}", import.passed_over);
        };
        assert_eq!((taken.format.name, taken.rows), (format, rows), "{path}");
        assert_eq!(total_ns(&import.profile), ns, "{path}");
    }
}

/// File, rows, sum of the values, nanoseconds of the dispatches that they belong to.
const COUNTERS: &[(&str, u64, f64, u64)] = &[
    ("rocprofv3/counter_collection.csv", 4, 65_536.0, 196_900),
    ("rocprofv3/kernel_names.csv", 4, 65_536.0, 0),
    (
        "rocprofv3_6.4/counter_collection.csv",
        7,
        114_688.0,
        169_120,
    ),
    ("rocprofv3_6.4/kernel_names.csv", 4, 65_536.0, 0),
    (
        "readme_csv/Profiling-by-example__shallow-water__novice__0_baseline__README.md_L88.csv",
        8,
        103.764617218,
        61_975,
    ),
    (
        "readme_csv/Profiling-by-example__shallow-water__novice__1_larger_domain__README.md_L60.csv",
        8,
        388.001550663,
        409_838,
    ),
    (
        "readme_csv/Profiling-by-example__shallow-water__novice__2_no_device_sync__README.md_L108.csv",
        8,
        130.8930774236,
        410_890,
    ),
    (
        "readme_csv/Profiling-by-example__shallow-water__novice__3_block_32x32__README.md_L71.csv",
        8,
        321.499326758,
        309_084,
    ),
];

#[test]
fn counters_add_up() {
    for &(path, rows, sum, ns) in COUNTERS {
        let import = read(path);
        assert_eq!(import.taken[0].format.name, COUNTER_COLLECTION, "{path}");
        assert_eq!(import.taken[0].rows, rows, "{path}");
        let values: f64 = import.profile.counters.iter().map(|c| c.value).sum();
        assert!((values - sum).abs() <= 1e-9 * sum, "{path}: {values}");
        assert_eq!(total_ns(&import.profile), ns, "{path}");
    }
}

#[test]
fn summaries_add_up() {
    let cases = [
        (
            "rocprofv3/hip_api_stats.csv",
            StatisticKind::Api,
            155,
            308_269_675.0,
        ),
        (
            "rocprofv3_6.4/hip_api_stats.csv",
            StatisticKind::Api,
            155,
            308_269_675.0,
        ),
        (
            "rocprofv3/hip_domain_stats.csv",
            StatisticKind::Domain,
            13,
            458_514_859.0,
        ),
        (
            "rocprofv3_6.4/hip_domain_stats.csv",
            StatisticKind::Domain,
            13,
            458_514_859.0,
        ),
        (
            "readme_csv/Profiling-by-example__jacobi__README.md_L107.csv",
            StatisticKind::Kernel,
            5002,
            1_216_325_706.0,
        ),
        (
            "readme_csv/Profiling-by-example__shallow-water__advanced__0_baseline__README.md_L125.csv",
            StatisticKind::Kernel,
            6002,
            38_150_342.0,
        ),
        (
            "readme_csv/Profiling-by-example__shallow-water__advanced__4_vectorized_loads__README.md_L269.csv",
            StatisticKind::Kernel,
            6002,
            910_537_447.0,
        ),
        (
            "readme_csv/Rocprofv3__HIP__README.md_L112.csv",
            StatisticKind::Kernel,
            6004,
            1_267_306_899.0,
        ),
        (
            "readme_csv/Rocprofv3__HIP__README.md_L69.csv",
            StatisticKind::Domain,
            24_044,
            1_660_103_043.0,
        ),
        (
            "readme_csv/Rocprofv3__HIP__README.md_L76.csv",
            StatisticKind::Api,
            24_044,
            1_660_103_043.0,
        ),
        (
            "readme_csv/Rocprofv3__OpenMP__README.md_L145.csv",
            StatisticKind::Kernel,
            4001,
            201_048_351.0,
        ),
    ];
    for (path, kind, calls, total) in cases {
        let profile = read(path).profile;
        assert!(profile.statistics.iter().all(|s| s.kind == kind), "{path}");
        assert_eq!(
            profile.statistics.iter().map(|s| s.calls).sum::<u64>(),
            calls,
            "{path}"
        );
        let sum: f64 = profile.statistics.iter().map(|s| s.total_ns).sum();
        assert_eq!(sum, total, "{path}");
    }
}

#[test]
fn the_printed_summary_is_read_domain_by_domain() {
    let import = read("rocprofv3/summary.txt");
    let profile = &import.profile;
    let kernels: Vec<_> = profile
        .statistics
        .iter()
        .filter(|s| s.kind == StatisticKind::Kernel)
        .collect();
    assert_eq!(kernels.len(), 4);
    let total: f64 = kernels.iter().map(|s| s.total_ns).sum();
    assert_eq!(total, 184_324.0 + 94_482.0 + 91_763.0 + 82_521.0);
    // The overall table repeats every row, so it must not count twice.
    let creations: Vec<_> = profile
        .statistics
        .iter()
        .filter(|s| profile.name(s.name) == "hipStreamCreateWithFlags")
        .collect();
    assert_eq!(creations.len(), 1);
    assert_eq!(creations[0].max_ns, Some(233_800_881.0));
}

#[test]
fn agents_are_read_with_what_occupancy_needs() {
    let profile = read("readme_csv/Rocprofv3__OpenMP__README.md_L104.csv").profile;
    assert_eq!(profile.agents.len(), 8);
    let gpus: Vec<_> = profile.agents.iter().filter(|a| a.gpu).collect();
    assert_eq!(gpus.len(), 4);
    let gpu = gpus[0];
    assert_eq!(gpu.number, Some(4));
    assert_eq!(gpu.name, "gfx942");
    assert_eq!(gpu.compute_units, Some(228));
}

#[test]
fn launches_carry_registers_and_shape_where_the_format_has_them() {
    let profile = read("rocprofv3/kernel_trace.csv").profile;
    let variant = profile.variant(profile.dispatches[1].variant);
    assert_eq!(
        profile.name(variant.kernel),
        "divide_kernel(float*, float const*, float const*, int, int)"
    );
    assert_eq!(
        (variant.vgpr, variant.accum_vgpr, variant.sgpr),
        (Some(12), Some(4), Some(16))
    );
    assert_eq!(variant.workgroup, Some([64, 1, 1]));
    assert_eq!(variant.grid, Some([1024, 1024, 1]));
    assert_eq!(profile.lane(profile.dispatches[1].lane).agent, Some(4));

    let older = read("rocprofv3_6.4/kernel_trace.csv").profile;
    let variant = older.variant(older.dispatches[0].variant);
    assert_eq!(variant.vgpr, None, "6.4 writes no registers");
    assert_eq!(variant.lds, Some(0));
}

#[test]
fn json_and_database_of_one_run_tell_the_same() {
    let json = read("json/908_results_trim400.json").profile;
    let database = read("rocpd/derived_from_908_schema300.db").profile;
    let launches = |profile: &Profile| {
        let mut launches: Vec<_> = profile
            .dispatches
            .iter()
            .map(|d| {
                let time = d.time.unwrap();
                (
                    time.start,
                    time.end,
                    profile.kernel_name(d.variant).to_owned(),
                    d.id,
                )
            })
            .collect();
        launches.sort();
        launches
    };
    assert_eq!(launches(&json), launches(&database));
    let gpu = json.agent(2).unwrap();
    assert!(gpu.gpu);
    assert_eq!(
        (gpu.name.as_str(), gpu.compute_units),
        ("gfx950", Some(256))
    );
    assert!(json.commands[0].starts_with("python3.10 -u app/train.py"));
    assert_eq!(json.commands, database.commands);
}

#[test]
fn a_workload_of_rocprof_compute_is_read_as_a_whole() {
    let import = read("rocprof-compute/kernel_names/MI200");
    let profile = &import.profile;
    // Times come from timestamps.csv, so the table of counters adds no second set.
    assert_eq!(profile.dispatches.len(), 3);
    assert_eq!(total_ns(profile), 52_480);
    assert_eq!(
        profile.kernel_name(profile.dispatches[0].variant),
        "vecCopy(double*, double*, double*, int, int)"
    );
    let sum = |name: &str| -> f64 {
        let samples = profile
            .counters
            .iter()
            .filter(|c| profile.name(c.counter) == name);
        samples.map(|c| c.value).sum()
    };
    assert_eq!(
        sum("TCC_EA_RDREQ_sum"),
        131_080.0 + 131_073.0 + third_read_requests()
    );
    assert_eq!(
        sum("wave_size_1"),
        0.0,
        "a description of the launch is no counter"
    );
    assert_eq!(profile.system["gpu_arch"], "gfx90a");
    assert_eq!(profile.agents[0].compute_units, Some(104));
    // Four GPUs with eleven ceilings each.
    assert_eq!(profile.ceilings.len(), 4 * 11);
    let hbm = profile.ceilings.iter().find(|c| c.name == "HBMBw").unwrap();
    assert_eq!((hbm.device, hbm.value), (0, 1388.9282));
    let list = &import.passed_over[0];
    assert!(list.path.ends_with("pmc_dispatch_info.csv"));
}

fn third_read_requests() -> f64 {
    let table = std::fs::read_to_string(fixture("rocprof-compute/kernel_names/MI200/pmc_perf.csv"))
        .unwrap();
    let header: Vec<_> = table.lines().next().unwrap().split(',').collect();
    let from_the_end = header.len()
        - header
            .iter()
            .position(|h| *h == "TCC_EA_RDREQ_sum")
            .unwrap();
    // The kernel's name contains commas, so the field is counted from the right.
    let last: Vec<_> = table.lines().nth(3).unwrap().rsplit(',').collect();
    last[from_the_end - 1].parse().unwrap()
}

#[test]
fn the_long_form_of_rocprof_compute_is_read_too() {
    let import = read("rocprof-compute/vcopy/MI300X_A1_rocpd");
    let profile = &import.profile;
    assert_eq!(profile.counters.len(), 6027);
    let sum: f64 = profile.counters.iter().map(|c| c.value).sum();
    assert_eq!(sum, 2_167_658_160.0);
    insta::assert_snapshot!(profile.notes.join("\n"));
}

#[test]
fn times_that_a_spreadsheet_rounded_are_not_reported() {
    for folder in ["MI300A_A1", "MI300X_A1"] {
        let profile = read(&format!("rocprof-compute/vcopy/{folder}")).profile;
        assert_eq!(profile.dispatches.len(), 3, "{folder}");
        assert!(
            profile.dispatches.iter().all(|d| d.time.is_none()),
            "{folder}"
        );
        assert!(
            profile
                .notes
                .iter()
                .any(|note| note.contains("spreadsheet")),
            "{folder}"
        );
    }
}

#[test]
fn the_call_tree_of_rocprof_sys_is_read() {
    let profile = read("rocprof-sys/wall_clock_doc_sample.txt").profile;
    assert_eq!(profile.regions.len(), 173);
    let total: f64 = profile.regions.iter().map(|r| r.total_s).sum();
    assert!((total - 546.951807).abs() < 1e-6, "{total}");
    let gradient = profile
        .regions
        .iter()
        .find(|r| r.label == "conj_grad")
        .unwrap();
    assert_eq!(
        (gradient.thread, gradient.depth, gradient.calls),
        (Some(0), 5, 76)
    );
    assert_eq!(gradient.self_percent, Some(Percentage(1.0)));

    let import = import(&fixture("rocprof-sys/wall_clock_doc_L673.json")).unwrap();
    let total: f64 = import.profile.regions.iter().map(|r| r.total_s).sum();
    assert_eq!(import.profile.regions.len(), 5);
    assert!((total - 2.68773975).abs() < 1e-9, "{total}");
    // The documentation's sample abbreviates further nodes by one without figures.
    assert_eq!(import.damage.len(), 1);
    assert!(
        import.damage[0].to_string().contains("graph[5]"),
        "{}",
        import.damage[0]
    );
}

#[test]
fn files_that_are_not_read_are_named_with_a_reason() {
    let import = read("rocprofv3");
    let passed = import.passed_over.iter().map(|passed| {
        let name = passed.path.file_name().unwrap().to_string_lossy();
        format!("{name}: {}", passed.reason)
    });
    insta::assert_snapshot!(passed.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_missing_path_is_an_error() {
    let error = import(&fixture("no-such-file")).unwrap_err();
    assert!(error.to_string().contains("no-such-file"), "{error}");
}

#[test]
fn a_file_of_nothing_but_names_of_columns_and_one_in_utf_16_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let table = std::fs::read_to_string(fixture("rocprofv3/kernel_trace.csv")).unwrap();
    let head = folder.path().join("a_kernel_trace.csv");
    std::fs::write(&head, table.lines().next().unwrap()).unwrap();
    let found = import(&head).unwrap();
    assert_eq!((found.taken.len(), found.taken[0].rows), (1, 0));
    assert_eq!(found.damage, []);
    let wide: Vec<u8> = table.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let path = folder.path().join("b_kernel_trace.csv");
    std::fs::write(&path, [b"\xff\xfe", &wide[..]].concat()).unwrap();
    let found = import(&path).unwrap();
    assert!(found.taken.is_empty());
    assert!(
        found.passed_over[0].reason.contains("UTF-16"),
        "{}",
        found.passed_over[0].reason
    );
}
