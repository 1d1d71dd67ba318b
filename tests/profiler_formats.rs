//! Tests formats without a published sample. Their structure follows the tools' documentation and sources.

use std::path::Path;

use tinyllama_base::Percentage;
use tinyllama_profile::{GroupBy, KernelParts, Profile, StatisticKind, counters, hotspots, import};

const COMPUTE_ANALYSIS: &str = "rocprof-compute analysis (text)";
const COMPUTE_DATABASE: &str = "rocprof-compute analysis (SQLite)";
const LAUNCH_TABLE: &str = "launches with their counters (CSV)";
const ROCPROFV3_JSON: &str = "rocprofv3 results (JSON)";
const STATISTICS: &str = "summary statistics (CSV)";

fn read(name: &str, text: &str, format: &str) -> Profile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let import = import(&path).unwrap();
    assert_eq!(import.damage, [], "{name}");
    assert_eq!(import.taken[0].format.name, format, "{name}");
    import.profile
}

#[test]
fn launches_of_rocprof_version_1() {
    let text = "\"Index\",\"KernelName\",\"gpu-id\",\"queue-id\",\"queue-index\",\"pid\",\"tid\",\"grd\",\"wgr\",\"lds\",\"scr\",\"arch_vgpr\",\"accum_vgpr\",\"sgpr\",\"wave_size\",\"sig\",\"obj\",\"DispatchNs\",\"BeginNs\",\"EndNs\",\"CompleteNs\",\"DurationNs\"\n\
                0,\"gemm(float*, int) [clone .kd]\",2,0,0,11,12,4096,256,1024,0,64,4,32,64,0x0,0x7f,100,200,1700,1800,1500\n";
    let profile = read("results.csv", text, LAUNCH_TABLE);
    let dispatch = profile.dispatches[0];
    assert_eq!(profile.kernel_name(dispatch.variant), "gemm(float*, int)");
    assert_eq!(dispatch.time.unwrap().duration(), 1500);
    let variant = profile.variant(dispatch.variant);
    assert_eq!(
        (variant.vgpr, variant.accum_vgpr, variant.lds),
        (Some(64), Some(4), Some(1024))
    );
    assert_eq!(
        (variant.grid, variant.workgroup),
        (Some([4096, 1, 1]), Some([256, 1, 1]))
    );
    assert_eq!(profile.lane(dispatch.lane).agent, Some(2));
    assert!(
        profile.counters.is_empty(),
        "none of the columns is a counter"
    );
}

#[test]
fn counters_of_rocprof_version_1_and_2_stand_beside_the_launch() {
    let first = "Index,KernelName,gpu-id,grd,wgr,SQ_WAVES,VALUBusy,DispatchNs,BeginNs,EndNs,CompleteNs,DurationNs\n0,a,0,64,64,8,12.5,1,10,30,31,20\n";
    let second = "Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID,SQ_WAVES,VALUBusy\n1,0,1,7,7,64,64,0,0,8,0,16,64,a,10,30,5,8,12.5\n";
    for text in [first, second] {
        let profile = read("results.csv", text, LAUNCH_TABLE);
        let counters: Vec<_> = profile
            .counters
            .iter()
            .map(|c| (profile.name(c.counter), c.value))
            .collect();
        assert_eq!(counters, [("SQ_WAVES", 8.0), ("VALUBusy", 12.5)]);
        assert_eq!(profile.dispatches.len(), 1);
        assert_eq!(profile.dispatches[0].time.unwrap().duration(), 20);
    }
}

#[test]
fn the_summary_of_rocprof_version_1_has_five_columns() {
    let text = "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n\"hipsomething_kernel\",3,300,100,100.0\n";
    let profile = read("results.stats.csv", text, STATISTICS);
    let statistic = profile.statistics[0];
    assert_eq!(
        (statistic.kind, statistic.calls, statistic.total_ns),
        (StatisticKind::Kernel, 3, 300.0)
    );
    assert_eq!(statistic.min_ns, None, "not in this version");
}

#[test]
fn an_analysis_is_read_from_its_boxes_with_wrapped_names() {
    let text = "\n--------\n0. Top Stats\n0.1 Top Kernels\n\
╒════╤══════════════════════╤═════════╤══════════╤════════════╤══════════════╤════════╕\n\
│    │ Kernel_Name          │   Count │  Sum(ns) │   Mean(ns) │   Median(ns) │    Pct │\n\
╞════╪══════════════════════╪═════════╪══════════╪════════════╪══════════════╪════════╡\n\
│  0 │ vecCopy(double*, dou │    2.00 │ 40320.00 │   20160.00 │     20160.00 │ 100.00 │\n\
│    │ ble*) [clone .kd]    │         │          │            │              │        │\n\
╘════╧══════════════════════╧═════════╧══════════╧════════════╧══════════════╧════════╛\n\
2. System Speed-of-Light\n2.1 Speed-of-Light\n\
╒═════════════╤════════════╤═══════╤═══════╤═════════╤═══════════════╕\n\
│ Metric_ID   │ Metric     │ Avg   │ Unit  │ Peak    │ Pct of Peak   │\n\
╞═════════════╪════════════╪═══════╪═══════╪═════════╪═══════════════╡\n\
│ 2.1.0       │ VALU FLOPs │ 12.5  │ Gflop │ 22630.4 │ 0.06          │\n\
├─────────────┼────────────┼───────┼───────┼─────────┼───────────────┤\n\
│ 2.1.1       │ VALU IOPs  │ N/A   │ Giop  │ 22630.4 │ N/A           │\n\
╘═════════════╧════════════╧═══════╧═══════╧═════════╧═══════════════╛\n";
    let profile = read("analysis.txt", text, COMPUTE_ANALYSIS);
    let kernel = profile.statistics[0];
    assert_eq!(profile.name(kernel.name), "vecCopy(double*, double*)");
    assert_eq!((kernel.calls, kernel.total_ns), (2, 40_320.0));
    assert_eq!(profile.metrics.len(), 2);
    let flops = &profile.metrics[0];
    assert_eq!(
        (flops.table.as_str(), flops.name.as_str()),
        ("Speed-of-Light", "VALU FLOPs")
    );
    assert_eq!(
        (flops.value, flops.peak, flops.percent_of_peak),
        (Some(12.5), Some(22_630.4), Some(Percentage(0.06)))
    );
    assert_eq!(profile.metrics[1].value, None, "N/A is not 0");
}

fn database(statements: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch(statements)
        .unwrap();
    (folder, path)
}

#[test]
fn an_analysis_is_read_from_its_database() {
    let (_folder, path) = database(
        "CREATE TABLE compute_metadata (compute_version, git_version, schema_version);
         CREATE TABLE k (kernel_name, dispatch_count, duration_ns_sum, duration_ns_min, duration_ns_max);
         INSERT INTO k VALUES ('gemm(float*)', 4, 1000.0, 200, 300);
         CREATE VIEW compute_kernel_view AS SELECT * FROM k;
         CREATE TABLE m (metric_name, table_name, sub_table_name, value_name, value, unit, kernel_name);
         INSERT INTO m VALUES ('L2 Hit', 'L2', 'L2 Speed-of-Light', 'Avg', 75.5, 'Pct', 'gemm(float*)');
         INSERT INTO m VALUES ('L2 Hit', 'L2', 'L2 Speed-of-Light', 'Peak', 100.0, 'Pct', 'gemm(float*)');
         INSERT INTO m VALUES ('L2 Hit', 'L2', 'L2 Speed-of-Light', 'Pct of Peak', 75.5, 'Pct', 'gemm(float*)');
         INSERT INTO m VALUES ('L2 Hit', 'L2', 'L2 Speed-of-Light', 'Avg', 12.0, 'Pct', 'norm(float*)');
         INSERT INTO m VALUES ('IPC', 'CU', 'CU', 'Min', 9e999, '', 'norm(float*)');
         CREATE TABLE w (workload_name, gpu_model); INSERT INTO w VALUES ('vcopy', 'MI300X');
         CREATE VIEW compute_workload_view AS SELECT * FROM w;
         CREATE VIEW compute_kernel_metric_view AS SELECT * FROM m;",
    );
    let import = import(&path).unwrap();
    assert_eq!(import.damage, []);
    assert_eq!(
        (import.taken[0].format.name, import.taken[0].rows),
        (COMPUTE_DATABASE, 7)
    );
    let profile = import.profile;
    assert_eq!(
        (profile.statistics[0].calls, profile.statistics[0].max_ns),
        (4, Some(300.0))
    );
    let metrics: Vec<_> = profile
        .metrics
        .iter()
        .map(|m| {
            (
                m.name.as_str(),
                m.kernel.as_deref(),
                m.value,
                m.peak,
                m.percent_of_peak.map(|it| it.0),
            )
        })
        .collect();
    let (gemm, norm) = (Some("gemm(float*)"), Some("norm(float*)"));
    assert_eq!(
        metrics,
        [
            ("L2 Hit", gemm, Some(75.5), Some(100.0), Some(75.5)),
            ("L2 Hit", norm, Some(12.0), None, None),
            ("IPC (Min)", norm, None, None, None),
        ]
    );
    assert_eq!(profile.system["gpu_model"], "MI300X");
}

/// Two kernels have the same short name, and two workloads the same name.
#[test]
fn the_tables_of_an_analysis_are_read_by_workload_and_full_name() {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rocprof-compute/analysis_csv");
    let import = import(&folder).unwrap();
    assert_eq!(import.damage, []);
    let passed = import.passed_over.iter();
    let passed: Vec<&str> = passed
        .map(|it| it.path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(
        passed,
        ["isa_code_object_id_2_pid_7.csv", "source_lines.csv"]
    );
    let profile = import.profile;
    let (first, second) = (Some("vcopy"), Some("vcopy (workload 2)"));
    let found = hotspots(&profile, GroupBy::FullName, &KernelParts::default());
    let kernels: Vec<_> = found
        .kernels
        .iter()
        .map(|it| {
            (
                it.run.as_deref(),
                it.name.as_str(),
                it.calls,
                it.total_ns,
                it.max_ns,
            )
        })
        .collect();
    let (float, double) = (
        "void add<float>(float*, float const*)",
        "void add<double>(double*, double const*)",
    );
    assert_eq!(
        kernels,
        [
            (first, double, 2, 3000.0, Some(1600.0)),
            (first, float, 4, 1000.0, Some(300.0)),
            (second, float, 4, 900.0, Some(250.0)),
        ]
    );
    let metrics: Vec<_> = profile
        .metrics
        .iter()
        .map(|it| (it.run.as_deref(), it.kernel.as_deref(), it.value, it.peak))
        .collect();
    assert_eq!(
        metrics,
        [
            (first, Some(float), Some(12.5), Some(100.0)),
            (first, Some(double), Some(40.0), None),
            (second, Some(float), Some(14.0), None),
            (first, None, Some(33.0), None),
            (second, None, Some(14.0), None),
        ]
    );
    let samples: Vec<_> = profile
        .instructions
        .iter()
        .map(|it| {
            (
                it.kernel.map(|it| profile.name(it)),
                it.address,
                it.stall.map(|it| profile.name(it)),
                it.samples,
            )
        })
        .collect();
    assert_eq!(
        samples,
        [
            (Some(float), Some(4096), None, 2),
            (Some(float), Some(4096), Some("ARBITER_NOT_WIN"), 1),
            (Some(float), Some(4096), Some("WAITCNT"), 7),
            (Some(double), Some(8192), None, 5),
        ]
    );
}

/// As schema 2.3.0 has it: `short_name` belongs to two kernels, and metrics of a workload have a view of their own.
#[test]
fn a_database_of_an_analysis_is_never_joined_by_short_name() {
    let (_folder, path) = database(
        "CREATE TABLE compute_metadata (compute_version, git_version, schema_version);
         INSERT INTO compute_metadata VALUES ('3.6.0', '', '2.3.0');
         CREATE TABLE k (kernel_uuid, workload_id, workload_name, kernel_name, short_name, dispatch_count, duration_ns_sum, duration_ns_min, duration_ns_max);
         INSERT INTO k VALUES (1, 1, 'a', 'void add<float>(float*)', 'add', 4, 1000, 200, 300), (2, 1, 'a', 'void add<double>(double*)', 'add', 2, 3000, 1400, 1600);
         CREATE VIEW compute_kernel_view AS SELECT * FROM k;
         CREATE TABLE m (workload_id, workload_name, kernel_uuid, kernel_name, metric_name, metric_id, table_name, sub_table_name, unit, value_name, value);
         INSERT INTO m VALUES (1, 'a', 1, 'void add<float>(float*)', 'IPC', '11.1.0', 'CU', 'CU', '', 'Avg', 1.5), (1, 'a', 2, 'void add<double>(double*)', 'IPC', '11.1.0', 'CU', 'CU', '', 'Avg', 0.5);
         CREATE VIEW compute_kernel_metric_view AS SELECT * FROM m;
         CREATE VIEW compute_workload_metric_view AS SELECT workload_id, workload_name, metric_name, metric_id, table_name, sub_table_name, unit, value_name, 1.0 AS value FROM m WHERE kernel_uuid = 1;",
    );
    let import = import(&path).unwrap();
    assert_eq!(import.damage, []);
    let profile = import.profile;
    let kernels: Vec<_> = profile
        .statistics
        .iter()
        .map(|it| (profile.name(it.name), it.calls, it.total_ns))
        .collect();
    let (float, double) = ("void add<float>(float*)", "void add<double>(double*)");
    assert_eq!(kernels, [(float, 4, 1000.0), (double, 2, 3000.0)]);
    let metrics: Vec<_> = profile
        .metrics
        .iter()
        .map(|it| (it.kernel.as_deref(), it.value))
        .collect();
    assert_eq!(
        metrics,
        [
            (Some(float), Some(1.5)),
            (Some(double), Some(0.5)),
            (None, Some(1.0))
        ]
    );
}

#[test]
fn calls_copies_and_counters_of_rocpd_are_read_and_damage_is_named_by_row() {
    let (_folder, path) = database(
        "CREATE TABLE rocpd_metadata (id, tag, value);
         INSERT INTO rocpd_metadata VALUES (1, 'schema_version', '3.0.2'), (2, 'guid', 'g');
         CREATE TABLE regions (category, name, start, \"end\", tid, corr_id);
         INSERT INTO regions VALUES ('HIP_RUNTIME_API', 'hipLaunchKernel', 10, 25, 7, 1), ('HIP_RUNTIME_API', 'hipFree', 30, 20, 7, 2);
         CREATE TABLE memory_copies (name, start, \"end\", size, src_agent_log_index, dst_agent_log_index, tid, corr_id);
         INSERT INTO memory_copies VALUES ('MEMORY_COPY_HOST_TO_DEVICE', 100, 300, 4096, 0, 4, 7, 3);
         CREATE TABLE counters_collection (kernel_name, counter_name, value, start, \"end\", dispatch_id);
         INSERT INTO counters_collection VALUES ('a.kd', 'SQ_WAVES', 64, 400, 500, 1);",
    );
    let import = import(&path).unwrap();
    let profile = import.profile;
    assert_eq!(profile.name(profile.calls[0].function), "hipLaunchKernel");
    assert_eq!(profile.calls[0].time.duration(), 15);
    assert_eq!(
        (profile.copies[0].bytes, profile.copies[0].destination),
        (Some(4096), Some(4))
    );
    assert_eq!(profile.counters[0].value, 64.0);
    assert_eq!(profile.kernel_name(profile.counters[0].variant), "a");
    assert_eq!(import.damage.len(), 1);
    let location = import.damage[0].location.to_string();
    let path = path.display().to_string();
    insta::assert_snapshot!(location.replace(&path, "[file]"), @"[file] (view regions, row 2)");
}

/// As rocprof-compute keeps its passes: `out/PASS/HOST/PROCESS_results.db`. Each replays all launches.
#[test]
fn databases_of_passes_are_replays_of_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let passes = [
        ("pmc_perf_0", "SQ_WAVES", 64, 400),
        ("pmc_perf_1", "FETCH_SIZE", 8, 9400),
    ];
    for (process, (pass, counter, value, start)) in passes.iter().enumerate() {
        let host = folder
            .path()
            .join("vcopy/MI300X/out")
            .join(pass)
            .join("host");
        std::fs::create_dir_all(&host).unwrap();
        let end = start + 100;
        let statements = format!(
            "CREATE TABLE rocpd_metadata (id, tag, value);
             INSERT INTO rocpd_metadata VALUES (1, 'schema_version', '3'), (2, 'guid', 'g{process}');
             CREATE TABLE kernels (name, start, \"end\", dispatch_id);
             INSERT INTO kernels VALUES ('a.kd', {start}, {end}, 1), ('a.kd', {end}, {end} + 50, 2);
             CREATE TABLE counters_collection (kernel_name, counter_name, value, start, \"end\", dispatch_id);
             INSERT INTO counters_collection VALUES ('a.kd', '{counter}', {value}, {start}, {end}, 1);"
        );
        let path = host.join(format!("{}_results.db", 4711 + process));
        rusqlite::Connection::open(path)
            .unwrap()
            .execute_batch(&statements)
            .unwrap();
    }
    let import = import(&folder.path().join("vcopy/MI300X")).unwrap();
    assert_eq!(import.damage, []);
    let profile = import.profile;
    let found = hotspots(&profile, GroupBy::ShortName, &KernelParts::default());
    let kernels: Vec<_> = found
        .kernels
        .iter()
        .map(|it| (it.run.as_deref(), it.calls, it.total_ns))
        .collect();
    assert_eq!(kernels, [(None, 2, 150.0)]);
    let counted = &counters(&profile)[0];
    assert_eq!(
        (counted.mean("SQ_WAVES"), counted.mean("FETCH_SIZE")),
        (Some(64.0), Some(8.0))
    );
}

/// Records as in rocprofv3's JSON schema. The tables that name them come after the records.
const DOCUMENT: &str = r#"{"rocprofiler-sdk-tool":[{
  "buffer_records":{
    "kernel_dispatch":[{"thread_id":5,"correlation_id":{"internal":9},"start_timestamp":150,"end_timestamp":190,
      "dispatch_info":{"agent_id":{"handle":70},"queue_id":{"handle":3},"kernel_id":4,"dispatch_id":1,"private_segment_size":0,
        "group_segment_size":512,"workgroup_size":{"x":64,"y":1,"z":1},"grid_size":{"x":128,"y":1,"z":1}},"stream_id":{"handle":1}}],
    "hip_api":[{"kind":1,"operation":1,"thread_id":5,"correlation_id":{"internal":9},"start_timestamp":100,"end_timestamp":130}],
    "memory_copy":[{"kind":2,"operation":0,"thread_id":5,"correlation_id":{"internal":8},"start_timestamp":10,"end_timestamp":50,
      "src_agent_id":{"handle":69},"dst_agent_id":{"handle":70},"bytes":1024}]},
  "callback_records":{"counter_collection":[{"thread_id":5,"dispatch_data":{"start_timestamp":150,"end_timestamp":190,
      "dispatch_info":{"agent_id":{"handle":70},"queue_id":{"handle":3},"kernel_id":4,"dispatch_id":1,"private_segment_size":0,
        "group_segment_size":512,"workgroup_size":{"x":64,"y":1,"z":1},"grid_size":{"x":128,"y":1,"z":1}}},
      "records":[{"counter_id":{"handle":11},"value":3.0},{"counter_id":{"handle":11},"value":4.0}]}]},
  "counters":[{"id":{"handle":11},"name":"SQ_WAVES"}],
  "strings":{"buffer_records":[{"kind":"NONE","operations":[]},
    {"kind":"HIP_RUNTIME_API","operations":["hipFree","hipLaunchKernel"]},
    {"kind":"MEMORY_COPY","operations":["MEMORY_COPY_HOST_TO_DEVICE"]}]},
  "kernel_symbols":[{"kernel_id":4,"formatted_kernel_name":"rms_norm(float*)","arch_vgpr_count":12,"sgpr_count":32}],
  "agents":[{"id":{"handle":69},"type":1,"logical_node_id":0},{"id":{"handle":70},"type":2,"logical_node_id":4,"name":"gfx90a"}]
}]}"#;

#[test]
fn records_of_json_are_joined_with_tables_that_come_later() {
    let profile = read("results.json", DOCUMENT, ROCPROFV3_JSON);
    let dispatch = profile.dispatches[0];
    assert_eq!(profile.kernel_name(dispatch.variant), "rms_norm(float*)");
    assert_eq!(profile.variant(dispatch.variant).vgpr, Some(12));
    assert_eq!(profile.lane(dispatch.lane).agent, Some(4));
    assert_eq!(profile.name(profile.calls[0].function), "hipLaunchKernel");
    assert_eq!(profile.name(profile.calls[0].domain), "HIP_RUNTIME_API");
    let copy = profile.copies[0];
    assert_eq!(
        (copy.source, copy.destination, copy.bytes),
        (Some(0), Some(4), Some(1024))
    );
    assert_eq!(
        profile.counters[0].value, 7.0,
        "instances of a counter add up"
    );

    use tinyllama_profile::launch_overhead;
    let overhead = launch_overhead(&profile);
    assert_eq!(overhead.calls.unwrap().total_ns, 30.0);
    // Time from the call at 100 to the kernel at 150.
    assert_eq!(overhead.queueing.unwrap().median_ns, 50.0);
}

#[test]
fn a_run_in_several_formats_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("run_results.json", DOCUMENT);
    write(
        "run_kernel_trace.csv",
        "Kind,Kernel_Name,Start_Timestamp,End_Timestamp\nK,rms_norm,150,190\n",
    );
    write(
        "other_kernel_trace.csv",
        "Kind,Kernel_Name,Start_Timestamp,End_Timestamp\nK,softmax,150,190\n",
    );
    let import = import(folder.path()).unwrap();
    assert_eq!(import.profile.dispatches.len(), 2);
    let [passed] = &import.passed_over[..] else {
        panic!("{:?}", import.passed_over)
    };
    assert!(passed.path.ends_with(Path::new("run_kernel_trace.csv")));
    assert!(
        passed.reason.contains("run_results.json"),
        "{}",
        passed.reason
    );
}

/// Events as PyTorch's sources write them. A float would round these times since 1970 to a quarter of a microsecond.
const TORCH_TRACE: &str = r#"{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"AMD Instinct MI300X","warpSize":64,"numSms":304}],
  "traceEvents":[
    {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":1763999999000000.001,"dur":80.5,"args":{"External id":1,"stream":-1,"device":"cpu"}},
    {"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":9,"tid":9,"ts":1763999999000000,"dur":200,"args":{}},
    {"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":9,"tid":9,"ts":1763999999000010.000,"dur":5.250,"args":{"correlation":12}},
    {"ph":"X","cat":"kernel","name":"void mm<64>(float*) [clone .kd]","pid":0,"tid":7,"ts":1763999999000100.123,"dur":12.377,
      "args":{"device":0,"stream":7,"correlation":12,"registers per thread":32,"shared memory":512,"grid":[4,2,1],"block":[64,1,1]}},
    {"ph":"X","cat":"gpu_memcpy","name":"CopyHostToDevice","pid":0,"tid":7,"ts":1763999999000120,"dur":2,"args":{"device":0,"bytes":4096}},
    {"ph":"X","cat":"kernel","name":"cut","pid":0,"tid":7,"ts":1763999999000130,"dur":-1,"args":{}},
    {"ph":"s","id":12,"pid":9,"tid":9,"ts":1763999999000010,"cat":"ac2g","name":"ac2g"},
    {"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"python"}},
    {"name":"Record Window End","ph":"i","s":"g","pid":"","tid":"","ts":1763999999000300}]}"#;

#[test]
fn a_trace_of_torch_profiler_is_read_to_the_nanosecond() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    std::fs::write(&path, TORCH_TRACE).unwrap();
    let import = import(&path).unwrap();
    assert_eq!(import.taken[0].format.name, "timeline of events (JSON)");
    let [damage] = &import.damage[..] else {
        panic!("{:?}", import.damage)
    };
    assert!(damage.to_string().contains("traceEvents[5]"), "{damage}");
    let profile = import.profile;
    let [launch] = profile.dispatches[..] else {
        panic!("{:?}", profile.dispatches)
    };
    let time = launch.time.unwrap();
    assert_eq!(
        (time.start, time.duration()),
        (1_763_999_999_000_100_123, 12_377)
    );
    assert_eq!(profile.kernel_name(launch.variant), "void mm<64>(float*)");
    let variant = profile.variant(launch.variant);
    assert_eq!(
        variant.grid,
        Some([256, 2, 1]),
        "work-items, not workgroups"
    );
    assert_eq!((variant.vgpr, variant.lds), (Some(32), Some(512)));
    assert_eq!(
        profile.gpu_of(launch.lane).unwrap().compute_units,
        Some(304)
    );

    use tinyllama_profile::{api_calls, copies, launch_overhead};
    assert_eq!(api_calls(&profile), [("hipLaunchKernel", (1, 5_250.0))]);
    // Time from the call at 10 us to the kernel at 100.123 us.
    let queueing = launch_overhead(&profile).queueing.unwrap();
    assert_eq!(queueing.median_ns, 90_123.0);
    let copied = &copies(&profile)[0];
    assert_eq!(
        (copied.direction.as_str(), copied.bytes),
        ("host to device", Some(4096))
    );
}

#[test]
fn the_top_kernels_of_an_analysis_count_where_their_launches_are_missing() {
    let text = "Kernel_Name,Count,Sum(us),Mean(us),Median(us),Pct\n\"gemm(float*, int) [clone .kd]\",3.0,61.56,20.52,20.5,97.5\nfill,1.0,1.56,1.56,1.56,2.5\n";
    let profile = read(
        "pmc_kernel_top.csv",
        text,
        "rocprof-compute top kernels (CSV)",
    );
    let gemm = profile.statistics[0];
    assert_eq!(profile.name(gemm.name), "gemm(float*, int)");
    assert_eq!((gemm.kind, gemm.calls), (StatisticKind::Kernel, 3));
    assert!((gemm.total_ns - 61_560.0).abs() < 1e-6, "{}", gemm.total_ns);

    let workload =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rocprof-compute/vcopy/MI200");
    let folder = tempfile::tempdir().unwrap();
    let table = std::fs::read(workload.join("pmc_perf.csv")).unwrap();
    std::fs::write(folder.path().join("pmc_perf.csv"), table).unwrap();
    let calls = |folder: &Path| -> u64 {
        let import = import(folder).unwrap();
        let found = hotspots(&import.profile, GroupBy::ShortName, &KernelParts::default());
        found.kernels.iter().map(|kernel| kernel.calls).sum()
    };
    let alone = calls(folder.path());
    std::fs::write(folder.path().join("pmc_kernel_top.csv"), text).unwrap();
    assert_eq!(
        calls(folder.path()),
        alone,
        "sums next to their launches do not count again"
    );
}
