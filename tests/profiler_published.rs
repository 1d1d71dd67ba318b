//! Tests files that AMD's tools and tutorials published in 2026. The test computes totals from each raw file in the
//! simplest way.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use tinyllama_profile::{
    GroupBy, Import, KernelParts, Profile, ReportOptions, StatisticKind, copies, counters,
    hotspots, import, report,
};

fn published(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/rocm_2026")
        .join(name)
}

fn text_of(name: &str) -> String {
    fs::read_to_string(published(name)).unwrap()
}

fn read(path: &Path) -> Import {
    let import = import(path).unwrap();
    assert_eq!(import.damage, [], "{}", path.display());
    import
}

/// A folder with these files. Their names may contain folders.
fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// All text that the program shows for a profile.
fn shown(profile: &Profile) -> String {
    let options = ReportOptions {
        group: GroupBy::ShortName,
        rows: 20,
    };
    let tables = report(profile, &KernelParts::default(), options);
    tables.iter().map(|table| table.render(100)).collect()
}

/// The only reason why a file is refused.
fn refusal(name: &str, bytes: &[u8]) -> String {
    let folder = folder(&[(name, bytes)]);
    let import = read(&folder.path().join(name));
    assert!(import.taken.is_empty(), "{:?}", import.taken);
    import.passed_over[0].reason.clone()
}

const PASSES: [&str; 2] = ["results_pmc_perf_0.csv", "results_pmc_perf_10.csv"];

fn pass(name: &str) -> String {
    text_of(&format!("compute_RDNA35_KRACKAN2/{name}"))
}

/// Nanoseconds of each launch in a replay, by its number. Only the kernel's name is quoted, so fields after it are
/// counted from the quotes.
fn durations(table: &str) -> BTreeMap<u32, u64> {
    let launch = |line: &str| {
        let (before, after) = line.rsplit_once("\",").unwrap();
        let number = before.split(',').nth(3).unwrap().parse().unwrap();
        let mut times = after.split(',').map(|field| field.parse::<u64>());
        let start = times.next().unwrap().unwrap();
        (number, times.next().unwrap().unwrap() - start)
    };
    table.lines().skip(1).map(launch).collect()
}

/// The table that `analyze` makes: the rows of all replays under one header.
fn merged() -> String {
    let second = pass(PASSES[1]);
    let (_, rows) = second.split_once('\n').unwrap();
    pass(PASSES[0]) + rows
}

fn assert_three_launches(import: &Import) {
    let expected = durations(&pass(PASSES[0]));
    assert_eq!(expected.len(), 3);
    let found = hotspots(&import.profile, GroupBy::ShortName, &KernelParts::default());
    let [kernel] = &found.kernels[..] else {
        panic!("{found:?}")
    };
    let total: u64 = expected.values().sum();
    let files = &import.taken;
    assert_eq!(
        (kernel.calls, kernel.total_ns),
        (3, total as f64),
        "{files:?}"
    );
    let [counted] = &counters(&import.profile)[..] else {
        panic!("one kernel has counters")
    };
    assert_eq!(counted.launches, 3, "{files:?}");
}

#[test]
fn replays_in_files_of_their_own_count_once() {
    let import = read(&published("compute_RDNA35_KRACKAN2"));
    assert_three_launches(&import);
    let kernel = &counters(&import.profile)[0];
    // One counter of each replay, as the mean of the file's rows.
    for (name, counter) in [
        (PASSES[0], "CPC_ALWAYS_COUNT"),
        (PASSES[1], "CPC_STAT_BUSY"),
    ] {
        let table = pass(name);
        let rows = table
            .lines()
            .filter(|line| line.contains(&format!(",{counter},")));
        let values = rows.map(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap());
        let values: Vec<f64> = values.collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let found = kernel.counters[counter].mean;
        assert!(
            (found - mean).abs() < 1e-6 * mean,
            "{counter}: {found} {mean}"
        );
    }
}

#[test]
fn a_merged_table_and_the_replays_it_is_made_of_count_once() {
    let (first, second, merged) = (pass(PASSES[0]), pass(PASSES[1]), merged());
    let both = folder(&[
        (PASSES[0], first.as_bytes()),
        (PASSES[1], second.as_bytes()),
        ("pmc_perf.csv", merged.as_bytes()),
    ]);
    let import = read(both.path());
    assert_three_launches(&import);
    let reason = &import.passed_over[0].reason;
    insta::assert_snapshot!(reason, @"tells what results_pmc_perf_0.csv told");
    assert_three_launches(&read(folder(&[("pmc_perf.csv", merged.as_bytes())]).path()));
    // Files of older versions. They stay in the folder after they are joined into one table.
    let parts = folder(&[
        ("pmc_perf.csv", merged.as_bytes()),
        ("SQ_LEVEL_WAVES.csv", second.as_bytes()),
    ]);
    assert_three_launches(&read(parts.path()));
}

#[test]
fn replays_of_two_workloads_are_kept_apart() {
    let (first, second) = (pass(PASSES[0]), pass(PASSES[1]));
    let two = folder(&[
        ("a/results_pmc_perf_0.csv", first.as_bytes()),
        ("a/results_pmc_perf_10.csv", second.as_bytes()),
        ("b/results_pmc_perf_0.csv", first.as_bytes()),
    ]);
    let profile = read(two.path()).profile;
    let found = hotspots(&profile, GroupBy::ShortName, &KernelParts::default());
    assert_eq!(found.kernels[0].calls, 6);
    assert_eq!(counters(&profile)[0].launches, 6);
}

#[test]
fn compressed_tables_of_rocprof_compute_are_read() {
    let (first, second, merged) = (pass(PASSES[0]), pass(PASSES[1]), merged());
    let packed = folder(&[
        ("results_pmc_perf_0.csv.gz", &gzip(first.as_bytes())),
        ("results_pmc_perf_10.csv.gz", &gzip(second.as_bytes())),
        ("pmc_perf.csv.gz", &gzip(merged.as_bytes())),
        // An unpacked copy in the folder of its compressed form.
        ("results_pmc_perf_0.csv", first.as_bytes()),
    ]);
    let import = read(packed.path());
    assert_three_launches(&import);
    assert_eq!((import.taken.len(), import.passed_over.len()), (2, 2));
    let alone = folder(&[("pmc_perf.csv.gz", &gzip(merged.as_bytes()))]);
    assert_three_launches(&read(alone.path()));
}

#[test]
fn a_compressed_file_that_was_cut_off_keeps_its_rows_and_a_database_is_refused() {
    // All rows differ, because compression would pack repeated rows into the last bytes.
    let row = |at: u64| format!("K,k{},{},{}\n", at * 7919 % 1000, at * 1000, at * 1000 + 7);
    let rows: String = (0..20_000).map(row).collect();
    let table = format!("Kind,Kernel_Name,Start_Timestamp,End_Timestamp\n{rows}");
    let whole = gzip(table.as_bytes());
    let cut = folder(&[("a_kernel_trace.csv.gz", &whole[..whole.len() / 2])]);
    let import = import(cut.path()).unwrap();
    assert!((1000..20_000).contains(&import.profile.dispatches.len()));
    assert_eq!(import.damage.len(), 1);
    let whole = read(folder(&[("a_kernel_trace.csv.gz", &whole)]).path());
    assert_eq!(whole.profile.dispatches.len(), 20_000);

    let database = fs::read(published("v1_results.db")).unwrap();
    let reason = refusal("a.db.gz", &gzip(&database));
    assert!(reason.contains("gunzip"), "{reason}");
}

/// rocprof-compute stores a database for each process of each replay.
#[test]
fn databases_of_replays_count_once() {
    let database = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/rocpd/derived_from_908_schema300.db");
    let database = fs::read(database).unwrap();
    let files: [(&str, &[u8]); 2] = [
        ("out/pmc_perf_0/100/100.db", &database),
        ("out/pmc_perf_SQ_LEVEL_WAVES/200/200.db", &database),
    ];
    let profile = read(folder(&files).path()).profile;
    let total: u64 = profile
        .dispatches
        .iter()
        .map(|it| it.time.unwrap().duration())
        .sum();
    // The number and total time equal those of the JSON from which the database was made.
    assert_eq!((profile.dispatches.len(), total), (400, 20_419_735));
    assert!(profile.notes.iter().any(|note| note.contains("replayed")));
    // A run without counters was timed, so only its times count.
    let table: &[u8] = b"Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Start_Timestamp,End_Timestamp\n0,vecCopy,2,64,100,150\n";
    let timed = folder(&[files[0], files[1], ("timestamps.csv", table)]);
    let profile = read(timed.path()).profile;
    assert_eq!(profile.dispatches.len(), 1);
}

#[test]
fn replays_of_rocprofv3_with_traces_count_once() {
    let trace = "Kind,Kernel_Name,Start_Timestamp,End_Timestamp\nK,norm,100,150\n";
    let calls = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\nHIP_RUNTIME_API,hipFree,7,7,1,10,30\n";
    let stats = "Name,Calls,TotalDurationNs,AverageNs,Percentage\nhipFree,1,20,20,100\n";
    let files: [(&str, &[u8]); 5] = [
        ("pass_1/7_kernel_trace.csv", trace.as_bytes()),
        ("pass_1/7_hip_api_trace.csv", calls.as_bytes()),
        ("pass_2/8_kernel_trace.csv", trace.as_bytes()),
        ("pass_2/8_hip_api_trace.csv", calls.as_bytes()),
        ("pass_2/8_hip_api_stats.csv", stats.as_bytes()),
    ];
    let profile = read(folder(&files).path()).profile;
    assert_eq!((profile.dispatches.len(), profile.calls.len()), (1, 1));
    assert_eq!(profile.statistics.len(), 0);
}

#[test]
fn the_lists_of_kernels_and_launches_are_read() {
    let text = text_of("jacobi_compute_analyze_L216.txt");
    let (_, list) = text.split_once("Dispatch list").unwrap();
    let mut expected: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for line in list.lines().filter(|line| line.starts_with('│')).skip(1) {
        let cells: Vec<&str> = line.split('│').map(str::trim).collect();
        let kernel = cells[3].split(['(', '.']).next().unwrap();
        expected
            .entry(kernel)
            .or_default()
            .push(cells[2].parse().unwrap());
    }
    let launches: usize = expected.values().map(Vec::len).sum();
    assert_eq!(launches, 7, "{expected:?}");
    let import = read(&published("jacobi_compute_analyze_L216.txt"));
    assert_eq!(import.profile.dispatches.len(), launches);
    for (kernel, numbers) in expected {
        let of_kernel = import.profile.dispatches.iter().filter(|launch| {
            import
                .profile
                .kernel_name(launch.variant)
                .starts_with(kernel)
        });
        assert_eq!(
            of_kernel.filter_map(|launch| launch.id).collect::<Vec<_>>(),
            numbers
        );
    }
    let text = shown(&import.profile);
    assert!(text.contains("JacobiIterationKernel"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_summary_without_its_caption_is_read_once() {
    let text = text_of("shallow_novice_summary_L56.txt");
    let rows = text.lines().filter(|line| line.contains("KERNEL_DISPATCH"));
    let sums = rows.map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        (
            cells[3].parse::<u64>().unwrap(),
            cells[4].parse::<f64>().unwrap(),
        )
    });
    let (calls, total) = sums.fold((0, 0.0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    for text in [text.clone(), format!("{text}\n{text}")] {
        let folder = folder(&[("summary.txt", text.as_bytes())]);
        let profile = read(folder.path()).profile;
        let statistics = &profile.statistics;
        assert!(
            statistics
                .iter()
                .all(|row| row.kind == StatisticKind::Kernel)
        );
        assert_eq!(statistics.iter().map(|row| row.calls).sum::<u64>(), calls);
        assert_eq!(
            statistics.iter().map(|row| row.total_ns).sum::<f64>(),
            total
        );
    }
}

#[test]
fn sums_of_copies_are_shown() {
    let text = text_of("v1_results.copy_stats.csv");
    let profile = read(&published("v1_results.copy_stats.csv")).profile;
    let found: Vec<_> = copies(&profile)
        .into_iter()
        .map(|it| (it.direction, it.count, it.total_ns))
        .collect();
    let expected: Vec<_> = ["device to host", "host to device"]
        .into_iter()
        .zip(text.lines().skip(1))
        .map(|(direction, line)| {
            let fields: Vec<&str> = line.split(',').collect();
            (
                direction.to_owned(),
                fields[1].parse().unwrap(),
                fields[2].parse().unwrap(),
            )
        })
        .collect();
    assert_eq!(found, expected);
    let shown = shown(&profile);
    assert!(shown.contains(&found[0].0), "{shown}");
}

/// Domains and allocations, like sums of copies, were once read but never shown.
#[test]
fn no_rows_that_were_read_are_left_out_of_what_is_shown() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rocprofv3");
    for (file, told) in [
        ("hip_domain_stats.csv", "HIP_API"),
        ("memory_allocation_trace.csv", "MEMORY_ALLOCATION_ALLOCATE"),
        ("scratch_memory_trace.csv", "SCRATCH_MEMORY_ALLOC"),
    ] {
        let text = shown(&read(&fixtures.join(file)).profile);
        assert!(text.contains(told), "{file}: {text}");
    }
}

#[test]
fn sums_that_were_printed_with_signs_and_dots_are_read() {
    let name = "inference_benchmark_kernel_stats_L2222.csv";
    let text = text_of(name);
    let total = |line: &str| -> u64 {
        let mut numbers = line.rsplit(',').map(|field| field.trim_matches('"'));
        numbers.nth(2).unwrap().parse().unwrap()
    };
    let rows = text.lines().skip(1).filter(|line| line.contains(','));
    let expected: u64 = rows.map(total).sum();
    let profile = read(&published(name)).profile;
    let sum: f64 = profile.statistics.iter().map(|row| row.total_ns).sum();
    assert_eq!(sum, expected as f64);
    for told in ["rows are left out", "62.5 %"] {
        assert!(
            profile.notes.iter().any(|note| note.contains(told)),
            "{:?}",
            profile.notes
        );
    }
}

#[test]
fn known_files_that_are_not_read_are_named_with_reason_and_remedy() {
    let bytes = |name: &str| fs::read(published(name)).unwrap();
    let native: &[u8] = b"dispatch_id,gpu_id,kernel_id,lds_per_workgroup,counter_id,counter_name,counter_value\n1,2,7,0,5,SQ_WAVES,10\n";
    let index: &[u8] = b"rocprofiler-sdk:\n  rocpd:\n    version: '1.0'\n    files:\n    - a.db\n";
    let cases: [(&str, &[u8], &[&str]); 3] = [
        (
            "1_spm.csv",
            &bytes("streaming_performance_monitor.csv"),
            &["over time", "--spm", "--pmc"],
        ),
        (
            "9_native_counter_collection.csv.gz",
            &gzip(native),
            &["_native_counter_collection.csv", "analyze"],
        ),
        ("index.yaml", index, &[".rpdb", "rocpd merge"]),
    ];
    for (name, bytes, told) in cases {
        let reason = refusal(name, bytes);
        for part in told {
            assert!(reason.contains(part), "{name}: {reason}");
        }
    }
}

#[test]
fn counters_of_instances_of_one_kernel_are_told_apart() {
    let mut table = String::from(
        "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Name,Workgroup_Size,\
         LDS_Block_Size,Scratch_Size,VGPR_Count,SGPR_Count,Counter_Name,Counter_Value\n",
    );
    for (at, number) in [2, 8].into_iter().enumerate() {
        table += &format!(
            "{at},{at},4,1,12,12,1024,\"void mul_mat_vec_q<(ggml_type){number}, 1, true>(float*)\",64,0,0,8,16,SQ_WAVES,16\n"
        );
    }
    let folder = folder(&[("1_counter_collection.csv", table.as_bytes())]);
    let text = shown(&read(folder.path()).profile);
    for title in [
        "Counters of mul_mat_vec_q<(ggml_type)2, 1, true> (1 launches)",
        "Counters of mul_mat_vec_q<(ggml_type)8, 1, true> (1 launches)",
    ] {
        assert!(text.contains(title), "{text}");
    }
}

/// Sums that a script of its own added up from each file: spans of all queues, gaps between their kernels, and how long
/// another queue's kernel was busy in the gaps.
#[test]
fn idle_time_adds_up_to_what_the_raw_files_say() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for (file, queues, span_and_idle, of_kernels) in [
        (
            "rocprofv3/kernel_trace.csv",
            4,
            "2.20 us of 98.36 us",
            "0 ns",
        ),
        (
            "rocprofv3_6.4/kernel_trace.csv",
            4,
            "16.15 us of 811.60 us",
            "13.78 us",
        ),
        (
            "json/908_results_trim400.json",
            5,
            "28.45 ms of 48.87 ms",
            "20.42 ms",
        ),
    ] {
        let text = shown(&import(&fixtures.join(file)).unwrap().profile);
        let title = format!("Idle time of {queues} queues by cause: {span_and_idle}");
        assert!(text.contains(&title), "{file}: {text}");
        let row = |cause: &str| text.lines().find(|line| line.starts_with(cause)).unwrap();
        assert!(
            row("another kernel").contains(of_kernels),
            "{file}: {}",
            row("another kernel")
        );
        assert!(
            row("the host").contains("not reported"),
            "{file}: {}",
            row("the host")
        );
    }
}
