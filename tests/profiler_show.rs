//! Tests shown figures against values computed separately, by hand or with a few lines of Python.

#[path = "profiler_show/details.rs"]
mod details;

use std::path::Path;

use tinyllama_profile::{
    DERIVED, Dispatch, GroupBy, KernelChange, KernelParts, LaunchVariant, Profile, ReportOptions,
    TimeSpan, TraceLane, activity, api_calls, compare, copies, counters, hotspots, import,
    launch_overhead, memory_bytes, operations, report, roofline, tables as counter_tables,
};

fn read(path: &str) -> Profile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(path);
    import(&path).unwrap().profile
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

#[test]
fn hotspots_add_up_by_name() {
    let profile = read("rocprofv3/kernel_trace.csv");
    let found = hotspots(&profile, GroupBy::ShortName, &KernelParts::default());
    let rows: Vec<_> = found
        .kernels
        .iter()
        .map(|k| (k.name.as_str(), k.calls, k.total_ns, k.min_ns, k.max_ns))
        .collect();
    assert_eq!(
        rows,
        [
            ("addition_kernel", 3, 34_040.0, Some(9840.0), Some(12_800.0)),
            ("divide_kernel", 2, 23_640.0, Some(11_200.0), Some(12_440.0)),
            ("multiply_kernel", 2, 21_080.0, Some(9920.0), Some(11_160.0)),
            ("subtract_kernel", 2, 17_400.0, Some(8240.0), Some(9160.0)),
        ]
    );
    assert_eq!(found.total_ns, 96_160.0);
    assert!(close(
        found.kernels[0].percent.0,
        100.0 * 34_040.0 / 96_160.0
    ));
    let shares: f64 = found.kernels.iter().map(|k| k.percent.0).sum();
    assert!(close(shares, 100.0));
}

/// A run with two counted steps of 100 ns each from 1000 on. Launches are (kernel, start).
fn marked_run(launches: &[(&str, i64)]) -> Profile {
    let folder = tempfile::tempdir().unwrap();
    let mut kernels = String::from(
        "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\",\
         \"Start_Timestamp\",\"End_Timestamp\"\n",
    );
    for (index, (name, start)) in launches.iter().enumerate() {
        let end = start + 5;
        kernels +=
            &format!("\"KERNEL_DISPATCH\",1,1,7,{index},1,\"{name}\",{index},{start},{end}\n");
    }
    let mut markers = String::from(
        "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n",
    );
    let ranges = [
        ("step", 800, 900),
        ("counted steps", 1000, 1210),
        ("step", 1000, 1100),
        ("forward", 1000, 1050),
        ("step", 1100, 1200),
    ];
    for (index, (name, start, end)) in ranges.iter().enumerate() {
        markers += &format!("\"MARKER_CORE_RANGE_API\",\"{name}\",7,7,{index},{start},{end}\n");
    }
    std::fs::write(folder.path().join("v1_7_kernel_trace.csv"), kernels).unwrap();
    std::fs::write(folder.path().join("v1_7_marker_api_trace.csv"), markers).unwrap();
    import(folder.path()).unwrap().profile
}

#[test]
fn calls_a_step_are_of_the_counted_steps_and_of_nothing_else() {
    let counted = [
        ("a", 1010),
        ("a", 1020),
        ("b", 1030),
        ("a", 1110),
        ("a", 1120),
        ("b", 1130),
    ];
    let per_step = |launches: &[(&str, i64)]| {
        let found = hotspots(
            &marked_run(launches),
            GroupBy::ShortName,
            &KernelParts::default(),
        );
        let table = found.table(9).render(80);
        let header = table.lines().find(|line| line.contains("share")).unwrap();
        insta::allow_duplicates! {
            match found.kernels[0].calls_per_step {
                Some(_) => insta::assert_snapshot!(
                    header,
                    @"kernel  calls  total  mean   min   max   share  calls a step"
                ),
                None => insta::assert_snapshot!(
                    header,
                    @"kernel  calls  total  mean   min   max   share"
                ),
            }
        }
        found
            .kernels
            .iter()
            .map(|kernel| kernel.calls_per_step)
            .collect::<Vec<_>>()
    };
    assert_eq!(per_step(&counted), [Some(2.0), Some(1.0)]);
    // One launch belongs to the warm-up, so the profiler did not keep to the counted steps.
    let with_warm_up = [&counted[..], &[("a", 850)]].concat();
    assert_eq!(per_step(&with_warm_up), [None, None]);
}

#[test]
fn hotspots_of_a_summary_are_those_of_the_profiler() {
    let profile = read("readme_csv/Profiling-by-example__jacobi__README.md_L107.csv");
    let found = hotspots(&profile, GroupBy::ShortName, &KernelParts::default());
    assert!(found.from_summary);
    assert_eq!(found.kernels[0].name, "JacobiIterationKernel");
    assert_eq!(found.kernels[0].mean_ns(), 517_647.434);
    // The profiler itself printed 42.56 %.
    assert!((found.kernels[0].percent.0 - 42.56).abs() < 0.005);
}

/// One process has single launches, and the other only the profiler's summary. Both count, and figures in both forms
/// count once.
#[test]
fn a_process_with_a_summary_only_counts_beside_one_with_launches() {
    let folder = tempfile::tempdir().unwrap();
    let trace = include_str!("fixtures/rocprofv3/kernel_trace.csv");
    let rows = "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n";
    let kernels = |addition_ns: u64| {
        format!(
            "{rows}\"addition_kernel\",3,{addition_ns},11346.7,60\n\"other_kernel\",2,20000,10000,40\n"
        )
    };
    let calls = |ns: u64| format!("{rows}\"hipLaunchKernel\",5,{ns},1400,100\n");
    for (name, text) in [
        ("12_kernel_trace.csv", trace),
        ("12_kernel_stats.csv", &kernels(34_040)),
        ("13_kernel_stats.csv", &kernels(34_050)),
        (
            "12_hip_api_trace.csv",
            include_str!("fixtures/rocprofv3/hip_runtime_trace.csv"),
        ),
        ("12_hip_api_stats.csv", &calls(7000)),
        ("13_hip_api_stats.csv", &calls(7001)),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let profile = import(folder.path()).unwrap().profile;
    let found = hotspots(&profile, GroupBy::ShortName, &KernelParts::default());
    let of = |name: &str| {
        let found = found.kernels.iter().find(|kernel| kernel.name == name);
        found.map(|kernel| (kernel.calls, kernel.total_ns))
    };
    assert_eq!(of("addition_kernel"), Some((6, 68_090.0)));
    assert_eq!(of("other_kernel"), Some((2, 20_000.0)));
    assert!(!found.from_summary);
    let text = found.table(10).render(80);
    assert!(
        text.contains("process 13") && !text.contains("process 12"),
        "{text}"
    );
    let called = api_calls(&profile);
    let alone = read("rocprofv3/hip_runtime_trace.csv");
    let before = api_calls(&alone)
        .iter()
        .map(|(_, (count, _))| count)
        .sum::<u64>();
    let after = called.iter().map(|(_, (count, _))| count).sum::<u64>();
    assert_eq!(after, before + 5);
}

/// A trace of PyTorch with two launches, one kernel, and `graphs` launches of a graph that has one kernel each time.
fn trace_of_graphs(hip: &str, graphs: usize) -> Profile {
    let mut events = vec![
        event("cuda_runtime", "hipLaunchKernel", 10, 1),
        event("cuda_runtime", "hipExtModuleLaunchKernel", 20, 2),
        event("kernel", "gemm", 15, 1),
    ];
    for at in 0..graphs {
        let (start, number) = (100 + 10 * at, 10 + at);
        events.push(event("cuda_runtime", "hipGraphLaunch", start, number));
        events.push(event("kernel", "norm", start + 5, number));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let text = format!(
        "{{\"schemaVersion\": 1, \"hip_runtime_version\": {hip}, \"traceEvents\": [{}]}}",
        events.join(",")
    );
    std::fs::write(&path, text).unwrap();
    import(&path).unwrap().profile
}

fn event(category: &str, name: &str, start: usize, number: usize) -> String {
    format!(
        "{{\"ph\": \"X\", \"cat\": \"{category}\", \"name\": \"{name}\", \"pid\": 1, \"tid\": 1, \"ts\": {start}, \
         \"dur\": 2, \"args\": {{\"correlation\": {number}, \"device\": 0, \"stream\": 0}}}}"
    )
}

#[test]
fn launches_without_a_kernel_are_counted() {
    let counts = launch_overhead(&trace_of_graphs("70226015", 3)).against_kernels;
    let counts = counts.expect("launch calls");
    assert_eq!((counts.called, counts.graphs, counts.recorded), (2, 3, 4));
    assert_eq!((counts.without_kernel, counts.missing()), (Some(1), 1));
    assert_eq!(
        counts.line(),
        "the host launched 2 kernels and 3 graphs, and 4 kernels are recorded: 1 launch has no kernel here, because of a \
         filter, because recording ended before, or because the profiler lost them"
    );
}

/// The table of calls says it where only sums are known.
#[test]
fn sums_of_launches_are_compared_too() {
    let rows = "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n";
    let folder = tempfile::tempdir().unwrap();
    let calls = format!("{rows}\"hipLaunchKernel\",5,7000,1400,90\n\"hipMemcpy\",9,700,77,10\n");
    std::fs::write(folder.path().join("7_hip_api_stats.csv"), calls).unwrap();
    let kernels = format!("{rows}\"gemm\",3,34040,11346.7,100\n");
    std::fs::write(folder.path().join("7_kernel_stats.csv"), kernels).unwrap();
    let profile = import(folder.path()).unwrap().profile;
    let options = ReportOptions {
        group: GroupBy::ShortName,
        rows: 9,
    };
    let tables = report(&profile, &KernelParts::default(), options);
    let calls = tables
        .iter()
        .find(|table| table.title == "Calls of the host");
    let note = &calls.expect("the calls").notes[0];
    assert!(
        note.starts_with(
            "the host launched 5 kernels, and 3 kernels are recorded: 2 launches have"
        ),
        "{note}"
    );
}

#[test]
fn a_trace_of_a_hip_that_loses_kernels_of_graphs_says_so() {
    let note = |hip: &str, graphs| trace_of_graphs(hip, graphs).notes.concat();
    let first = note("70226015", 3);
    assert!(
        first.contains("HIP 7.2.26015")
            && first.contains("3 graphs are launched")
            && first.contains("ROCm 7.2.2 and later"),
        "{first}"
    );
    assert!(note("70253211", 1).contains("HIP 7.2.53211"));
    for (hip, graphs) in [
        ("70226015", 0),
        ("70253212", 3),
        ("70151831", 3),
        ("null", 3),
        ("\"12.4\"", 3),
    ] {
        assert_eq!(note(hip, graphs), "", "{hip}");
    }
}

/// GRBM_GUI_ACTIVE and GRBM_COUNT from different passes once gave 100.4 %.
#[test]
fn a_share_of_counters_from_two_passes_is_no_more_than_all() {
    let folder = tempfile::tempdir().unwrap();
    let head = "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Name,Workgroup_Size,\
                LDS_Block_Size,Scratch_Size,VGPR_Count,SGPR_Count,Counter_Name,Counter_Value";
    for (pass, counter, value) in [(1, "GRBM_COUNT", 1000), (2, "GRBM_GUI_ACTIVE", 1004)] {
        let folder = folder.path().join(format!("pass_{pass}"));
        std::fs::create_dir(&folder).unwrap();
        let row = format!("1,1,4,1,12,12,1024,add,64,0,0,8,16,{counter},{value}");
        std::fs::write(
            folder.join("12_counter_collection.csv"),
            format!("{head}\n{row}\n"),
        )
        .unwrap();
    }
    let profile = import(folder.path()).unwrap().profile;
    let text: String = counter_tables(&profile, 5)
        .iter()
        .map(|table| table.render(100))
        .collect();
    let busy = text.lines().find(|line| line.contains("GPU busy")).unwrap();
    assert!(busy.contains(" 100.0 %"), "{text}");
    assert!(text.contains("100.4 %"), "{text}");
}

#[test]
fn one_name_with_two_launch_shapes_is_told_apart_by_variant() {
    let profile = read("json/908_results_trim400.json");
    let by_name = hotspots(&profile, GroupBy::ShortName, &KernelParts::default());
    let by_variant = hotspots(&profile, GroupBy::Variant, &KernelParts::default());
    assert!(by_variant.kernels.len() > by_name.kernels.len());
    let sum = |kernels: &[tinyllama_profile::Hotspot]| kernels.iter().map(|k| k.calls).sum::<u64>();
    assert_eq!(
        (sum(&by_name.kernels), sum(&by_variant.kernels)),
        (400, 400)
    );
}

#[test]
fn kernels_get_the_part_of_the_model_that_issued_them() {
    let profile = read("rocprofv3/kernel_trace.csv");
    let mut parts = KernelParts::default();
    parts.add("addition_kernel", "optimizer");
    let found = hotspots(&profile, GroupBy::FullName, &parts);
    assert_eq!(found.kernels[0].part.as_deref(), Some("optimizer"));
    assert_eq!(found.kernels[1].part, None);
}

#[test]
fn busy_and_idle_time_of_a_device() {
    let activities = activity(&read("rocprofv3/kernel_trace.csv"));
    let [device] = &activities[..] else {
        panic!("{activities:?}")
    };
    assert_eq!((device.busy_ns, device.span.duration()), (96_160, 144_400));
    assert_eq!(device.gaps.len(), 4);
    assert_eq!(device.gaps[0].duration(), 34_960);
    assert!(close(
        device.idle_share().unwrap(),
        1.0 - 96_160.0 / 144_400.0
    ));

    // Kernels of a real training run overlap, so the union is less than the sum of 20 419 735 ns.
    let device = &activity(&read("json/908_results_trim400.json"))[0];
    assert_eq!(
        (device.busy_ns, device.span.duration()),
        (18_466_544, 22_008_551)
    );
    assert_eq!(
        (device.gaps.len(), device.gaps[0].duration()),
        (70, 607_367)
    );
}

#[test]
fn gaps_between_launches_of_each_queue() {
    let overhead = launch_overhead(&read("json/908_results_trim400.json"));
    let gaps = overhead.gaps.unwrap();
    assert_eq!(
        (gaps.count, gaps.total_ns, gaps.median_ns, gaps.p90_ns),
        (370, 28_451_117.0, 97.0, 22_330.0)
    );
    assert_eq!(overhead.overlapping, 25);
    assert!(close(
        overhead.gap_share.unwrap(),
        28_451_117.0 / 48_866_762.0
    ));
    assert_eq!(
        overhead.calls, None,
        "the file has no API calls, and none is not zero"
    );
}

#[test]
fn traffic_and_ceiling_of_a_copy_kernel() {
    let profile = read("rocprof-compute/kernel_names/MI200");
    let roofline = roofline(&profile);
    let [copy] = &roofline.points[..] else {
        panic!("{roofline:?}")
    };
    assert_eq!(copy.flops, 0.0, "a copy computes nothing");
    assert!(close(copy.bytes, 15_078_272.0), "{}", copy.bytes);
    let gigabytes = copy.bytes_per_s / 1e9;
    assert!(close(gigabytes, 861.943_902_439_024_4), "{gigabytes}");
    let judgement = roofline.ceilings.judge(copy).unwrap();
    assert_eq!(judgement.ceiling.label, "HBMBw");
    assert!(close(judgement.share, 861.943_902_439_024_4 / 1388.9282));
}

#[test]
fn derived_metrics_follow_their_formulas() {
    let values = [
        ("TCC_HIT_sum", 300.0),
        ("TCC_MISS_sum", 100.0),
        ("SQ_LDS_BANK_CONFLICT", 8.0),
        ("SQ_LDS_IDX_ACTIVE", 80.0),
        ("SQ_THREAD_CYCLES_VALU", 3200.0),
        ("SQ_ACTIVE_INST_VALU", 100.0),
        ("TCC_EA0_RDREQ_sum", 10.0),
        ("TCC_EA0_RDREQ_32B_sum", 2.0),
        ("TCC_BUBBLE_sum", 3.0),
        ("TCC_EA0_WRREQ_sum", 5.0),
        ("TCC_EA0_WRREQ_64B_sum", 4.0),
    ];
    let counter = |name: &str| values.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    let derived = |name: &str| {
        let metric = DERIVED.iter().find(|metric| metric.name == name).unwrap();
        (metric.value)(&counter)
    };
    assert_eq!(derived("L2 hits"), Some(75.0));
    assert_eq!(derived("LDS bank conflicts"), Some(10.0));
    assert_eq!(derived("Active lanes"), Some(50.0));
    // 3 reads of 128 bytes, 5 of 64, 2 of 32; 4 writes of 64 bytes and one of 32.
    assert_eq!(
        memory_bytes(&counter),
        Some(384.0 + 320.0 + 64.0 + 256.0 + 32.0)
    );
    assert_eq!(derived("Occupancy"), None, "not collected");
    assert_eq!(
        operations(&counter),
        None,
        "a sum with a term missing is no sum"
    );

    let issued = |name: &str| {
        let value = match name {
            "SQ_INSTS_VALU_FMA_F32" => 10.0,
            "SQ_INSTS_VALU_ADD_F16" => 3.0,
            "SQ_INSTS_VALU_MFMA_MOPS_BF16" => 2.0,
            _ if name.starts_with("SQ_INSTS_VALU") => 0.0,
            _ => return None,
        };
        Some(value)
    };
    assert_eq!(
        operations(&issued),
        Some(64.0 * (2.0 * 10.0 + 3.0) + 512.0 * 2.0)
    );
}

#[test]
fn counters_are_means_over_a_kernels_launches() {
    let profile = read(
        "readme_csv/Profiling-by-example__shallow-water__novice__0_baseline__README.md_L88.csv",
    );
    let kernels = counters(&profile);
    let boundary = kernels
        .iter()
        .find(|k| k.kernel == "apply_reflect_bc")
        .unwrap();
    let summary = boundary.counters["OccupancyPercent"];
    let expected = reference_mean("apply_reflect_bc");
    assert!(close(summary.mean, expected), "{} {expected}", summary.mean);
    assert_eq!(summary.launches, boundary.launches);
}

/// Parses the file in the simplest way, because no name in it has a comma.
fn reference_mean(kernel: &str) -> f64 {
    let path = "tests/fixtures/readme_csv/Profiling-by-example__shallow-water__novice__0_baseline__README.md_L88.csv";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let values: Vec<f64> = text
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|fields| fields.get(8) == Some(&format!("\"{kernel}\"").as_str()))
        .map(|fields| fields[16].parse().unwrap())
        .collect();
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn copies_without_sizes_have_no_bandwidth() {
    let copies = copies(&read("rocprofv3/memory_copy_trace.csv"));
    assert_eq!(copies.len(), 2);
    assert_eq!(copies.iter().map(|c| c.total_ns).sum::<u64>(), 329_162);
    assert!(
        copies
            .iter()
            .all(|c| c.bytes.is_none() && c.bandwidth().is_none())
    );
}

/// A profile with one kernel per name and the given durations.
fn profile(kernels: &[(&str, &[i64])]) -> Profile {
    let mut profile = Profile::default();
    let process = profile.process_id("test", "", None);
    let mut now = 1000;
    for (name, durations) in kernels {
        for &duration in *durations {
            let kernel = profile.name_id(name);
            let dispatch = Dispatch {
                variant: profile.variant_id(LaunchVariant::unknown(kernel)),
                lane: profile.lane_id(TraceLane {
                    process,
                    agent: Some(0),
                    queue: Some(1),
                    stream: None,
                    thread: None,
                }),
                id: None,
                correlation: None,
                time: TimeSpan::new(now, now + duration),
            };
            profile.dispatches.push(dispatch);
            now += duration + 10;
        }
    }
    profile
}

#[test]
fn a_comparison_names_what_vanished_appeared_and_stayed() {
    let before = profile(&[
        ("softmax", &[100, 100]),
        ("matmul", &[500]),
        ("scale", &[7]),
    ]);
    let after = profile(&[("flash", &[90]), ("matmul", &[450]), ("scale", &[7])]);
    let comparison = compare(&before, &after, GroupBy::FullName, &KernelParts::default());
    let rows: Vec<_> = comparison
        .kernels
        .iter()
        .map(|k| (k.name.as_str(), k.change(), k.difference_ns()))
        .collect();
    assert_eq!(
        rows,
        [
            ("softmax", KernelChange::Vanished, -200.0),
            ("flash", KernelChange::Appeared, 90.0),
            ("matmul", KernelChange::Stayed, -50.0),
            ("scale", KernelChange::Stayed, 0.0),
        ]
    );
    assert_eq!(comparison.total_ns, [707.0, 547.0]);
    assert_eq!(comparison.calls, [4, 3]);
}

#[test]
fn every_sample_can_be_shown_within_eighty_columns_of_figures() {
    for path in [
        "rocprofv3",
        "rocprof-compute/vcopy/MI200",
        "rocprof-sys",
        "json",
        "rocpd",
    ] {
        let options = ReportOptions {
            group: GroupBy::ShortName,
            rows: 10,
        };
        let tables = report(&read(path), &KernelParts::default(), options);
        assert!(!tables.is_empty(), "{path}");
        for table in tables {
            let text = table.render(100);
            assert!(
                !text.contains("NaN") && !text.contains("inf"),
                "{path}: {text}"
            );
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= 100, "{path}: {widest} columns\n{text}");
        }
    }
}
