//! Small things that were read or shown wrongly once.

use tinyllama_profile::export::json;
use tinyllama_profile::show::memory_chart::{MemoryLevel, charts};

use super::*;

/// Files by their names in a folder of their own.
fn imported(files: &[(&str, &str)]) -> Profile {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let import = import(folder.path()).unwrap();
    assert_eq!(import.damage, []);
    import.profile
}

fn tables(profile: &Profile) -> String {
    let options = ReportOptions {
        group: GroupBy::FullName,
        rows: 20,
    };
    let tables = report(profile, &KernelParts::default(), options);
    tables.iter().map(|table| table.render(120)).collect()
}

/// One launch of 1000 ns with 1000 KiB read and 500 KiB written.
const COUNTED: &str = "\
Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,Workgroup_Size,LDS_Block_Size,Scratch_Size,VGPR_Count,Accum_VGPR_Count,SGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp
1,1,4,1,12,12,1024,1,k,64,0,0,8,0,16,FETCH_SIZE,1000,1000,2000
1,1,4,1,12,12,1024,1,k,64,0,0,8,0,16,WRITE_SIZE,500,1000,2000
1,1,4,1,12,12,1024,1,k,64,0,0,8,0,16,L2CacheHit,50,1000,2000
1,1,4,1,12,12,1024,1,k,64,0,0,8,0,16,SQ_WAVES,16,1000,2000
1,1,4,1,12,12,1024,1,k,64,0,0,8,0,16,SOME_COUNTER,7,1000,2000
";

/// The memory of the chart, with a ceiling that was measured and one that is computed from a fact of the machine.
fn memory(files: &[(&str, &str)]) -> MemoryLevel {
    let files = [&[("12_counter_collection.csv", COUNTED)], files].concat();
    let mut chart = charts(&imported(&files), 1).remove(0);
    chart.levels.pop().unwrap()
}

#[test]
fn labels_of_copies_keep_their_words() {
    let head = "Kind,Direction,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n";
    let names = [
        ("DEVICE_TO_HOST", "device to host"),
        ("MEMORY_COPY_HOST_TO_DEVICE", "host to device"),
        ("CopyDeviceToDevice", "device to device"),
        (
            "Memcpy HtoD (Host -> Device)",
            "Memcpy HtoD (Host -> Device)",
        ),
        ("CopyHost 2", "CopyHost 2"),
    ];
    for (written, shown) in names {
        let text = format!("{head}MEMORY_COPY,{written},Agent 0,Agent 4,1,100,200\n");
        let profile = imported(&[("7_memory_copy_trace.csv", &text)]);
        assert_eq!(copies(&profile)[0].direction, shown);
    }
}

#[test]
fn counters_carry_their_units() {
    let profile = imported(&[("12_counter_collection.csv", COUNTED)]);
    let table = &counter_tables(&profile, 1)[0];
    let shown = |counter: &str| {
        let row = table.rows.iter().find(|row| row[0] == counter);
        row.expect(counter)[1].clone()
    };
    let names = [
        "FETCH_SIZE",
        "WRITE_SIZE",
        "L2CacheHit",
        "SQ_WAVES",
        "SOME_COUNTER",
    ];
    assert_eq!(
        names.map(shown),
        ["1000 KiB", "500 KiB", "50.0 %", "16 waves", "7"]
    );
    let document = json::document(&profile, GroupBy::FullName, &KernelParts::default());
    let units = document["counters"][0]["units"].as_object().unwrap();
    assert_eq!((units.len(), &units["FETCH_SIZE"]), (4, &"KiB".into()));
}

#[test]
fn fetched_and_written_sizes_fill_the_memory_of_the_chart() {
    let memory = memory(&[]);
    assert_eq!(memory.name, "HBM");
    let traffic: Vec<Option<f64>> = memory.traffic.iter().map(|it| it.value).collect();
    assert_eq!(traffic, [Some(1_024_000.0), Some(512_000.0)]);
    assert_eq!((memory.rate, memory.ceiling), (Some(1536.0), None));
}

#[test]
fn a_share_above_a_measured_ceiling_says_what_that_means() {
    let memory = memory(&[("roofline.csv", "device,HBMBw\n0,1000.0\n")]);
    assert!(memory.used.is_some_and(|used| close(used.0, 153.6)));
    let sources = memory.sources().concat();
    assert!(
        sources.contains("more than 100 % of a measured ceiling: the benchmark"),
        "{sources}"
    );
}

/// The GPU moves 1000 GB/s at most, and the counters give 1536.
#[test]
fn a_rate_that_the_gpu_cannot_reach_is_not_reported() {
    let machine = "gpu_arch,command,hbm_bw\ngfx90a,./a,1000\n";
    let impossible = memory(&[("sysinfo.csv", machine)]);
    assert_eq!(
        (
            impossible.rate,
            impossible.used,
            impossible.rate_text().as_str()
        ),
        (None, None, "not reported")
    );
    let sources = impossible.sources().concat();
    assert!(
        sources.contains("counters and time give 1536 GB/s, and the GPU can do 1000 GB/s"),
        "{sources}"
    );
    let possible = memory(&[("sysinfo.csv", &machine.replace("1000", "2000"))]);
    assert_eq!((possible.rate, possible.above), (Some(1536.0), None));
}

#[test]
fn a_column_of_microseconds_is_a_duration_and_a_name_with_spaces_is_whole() {
    let text = "Index,KernelName,gpu-id,grd,wgr,lds,scr,vgpr,sgpr,\"time,us\",SQ_WAVES\n\
                0,my kernel of step 2,4,1024,64,0,0,8,16,12.5,16\n1,my kernel of step 2,4,1024,64,0,0,8,16,13.75,16\n";
    let profile = imported(&[("results.csv", text)]);
    let found = hotspots(&profile, GroupBy::ShortName, &KernelParts::default());
    let kernel = &found.kernels[0];
    assert_eq!(
        (kernel.name.as_str(), kernel.calls, kernel.total_ns),
        ("my kernel of step 2", 2, 26_250.0)
    );
    assert_eq!(
        (kernel.min_ns, kernel.max_ns),
        (Some(12_500.0), Some(13_750.0))
    );
    let counted = &counters(&profile)[0];
    assert_eq!(counted.mean_ns, Some(13_125.0));
    let names: Vec<&str> = counted.counters.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["SQ_WAVES"],
        "neither `time,us` nor `vgpr` is a counter"
    );
}

/// PyTorch's traces have streams and no queues. On one queue the second kernel would overlap the first.
#[test]
fn gaps_lie_between_kernels_of_a_stream() {
    let kernel = |stream: u64, start: u64, length: u64| {
        format!(
            "{{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": {stream}, \"ts\": {start}, \"dur\": {length}, \
             \"args\": {{\"device\": 0, \"stream\": {stream}}}}}"
        )
    };
    let events = [
        kernel(1, 0, 10),
        kernel(2, 5, 10),
        kernel(1, 30, 10),
        kernel(2, 35, 10),
    ];
    let text = format!(
        "{{\"schemaVersion\": 1, \"traceEvents\": [{}]}}",
        events.join(",")
    );
    let overhead = launch_overhead(&imported(&[("trace.json", &text)]));
    let gaps = overhead.gaps.expect("two gaps");
    assert_eq!((gaps.count, gaps.total_ns), (2, 40_000.0));
    assert_eq!(overhead.overlapping, 0);
}

/// Two kernels 90 us apart: the call comes after 40 us and takes 5.
#[test]
fn json_has_idle_time_by_cause_and_the_least_way_to_a_kernel() {
    let kernels = "Kind,Agent_Id,Queue_Id,Kernel_Name,Correlation_Id,Start_Timestamp,End_Timestamp\n\
                   KERNEL_DISPATCH,4,1,a,1,1000,11000\nKERNEL_DISPATCH,4,1,b,2,101000,111000\n";
    let calls = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n\
                 HIP_RUNTIME_API,hipLaunchKernel,7,7,1,100,200\nHIP_RUNTIME_API,hipLaunchKernel,7,7,2,51000,56000\n";
    let document = |files: &[(&str, &str)]| {
        json::document(&imported(files), GroupBy::FullName, &KernelParts::default())
    };
    let whole = document(&[
        ("7_kernel_trace.csv", kernels),
        ("7_hip_api_trace.csv", calls),
    ]);
    let figures = [
        "idle_ns",
        "host_ns",
        "launch_ns",
        "copy_ns",
        "kernel_ns",
        "unknown_ns",
    ];
    // After the call, 10 of 45 us count as the way to the device.
    let expected = [90_000, 40_000, 15_000, 0, 0, 35_000].map(serde_json::Value::from);
    assert_eq!(
        figures.map(|figure| whole["idle"][figure].clone()),
        expected
    );
    assert_eq!(whole["launches"]["queueing"]["least_ns"], 900.0);
    assert_eq!(whole["launches"]["against_kernels"]["without_kernel"], 0);
    let alone = document(&[("7_kernel_trace.csv", kernels)]);
    assert!(alone["idle"]["host_ns"].is_null() && alone["idle"]["idle_ns"] == 90_000);
}

/// Maps with another seed each time must not decide an order.
#[test]
fn the_same_files_give_the_same_text() {
    for path in [
        "rocprofv3",
        "rocprof-compute/vcopy/MI300X_A1",
        "rocprof-compute/kernel_names",
        "trace_events",
    ] {
        let shown = || {
            let profile = read(path);
            let document = json::document(&profile, GroupBy::Variant, &KernelParts::default());
            tables(&profile) + &document.to_string()
        };
        let first = shown();
        for _ in 0..4 {
            assert!(first == shown(), "{path}");
        }
    }
    // Formulas with several counters that are missing.
    let profile = || imported(&[("12_counter_collection.csv", COUNTED)]);
    let first = tables(&profile());
    let words = first.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("not reported: SQ_LDS_IDX_ACTIVE, SQ_LDS_BANK_CONFLICT"),
        "{first}"
    );
    for _ in 0..4 {
        assert_eq!(first, tables(&profile()));
    }
}
