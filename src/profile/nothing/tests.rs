use std::path::PathBuf;

use super::*;
use crate::read::import;

fn fixture(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut folders = root.map(|folder| folder.join("tests/fixtures"));
    folders.find(|folder| folder.is_dir()).unwrap().join(name)
}

fn explained(path: &Path) -> NothingRecorded {
    let import = import(path).unwrap();
    NothingRecorded::explain(&import).unwrap_or_else(|| panic!("{} has work", path.display()))
}

/// The explanation of a file with this name and text.
fn of_file(name: &str, text: &str) -> NothingRecorded {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    explained(&path)
}

#[test]
fn work_of_a_gpu_needs_no_explanation() {
    for name in [
        "rocprofv3/kernel_trace.csv",
        "rocprofv3/counter_collection.csv",
        "rocprofv3/memory_copy_trace.csv",
        "rocprofv3/pc_sampling_host_trap.csv",
        "readme_csv/Profiling-by-example__jacobi__README.md_L107.csv",
        "rocm_2026/v1_results.copy_stats.csv",
        "rocprof-sys/wall_clock_doc_sample.txt",
        "rocprof-compute/vcopy/MI200",
        "rocpd/derived_from_908_schema300.db",
    ] {
        let import = import(&fixture(name)).unwrap();
        assert_eq!(NothingRecorded::explain(&import), None, "{name}");
    }
}

#[test]
fn the_devices_alone_are_named() {
    let nothing = explained(&fixture("readme_csv/Rocprofv3__OpenMP__README.md_L104.csv"));
    assert!(
        nothing.cause.contains("The profiler saw 4 GPUs (gfx942)"),
        "{}",
        nothing.cause
    );
    assert_eq!(nothing.remedies[0], BACKEND);
    assert!(nothing.remedies.contains(&WORKERS));
    let text = std::fs::read_to_string(fixture("readme_csv/Rocprofv3__OpenMP__README.md_L104.csv"))
        .unwrap();
    let nothing = of_file("1_agent_info.csv", &text.replace("gfx942", "gfx1010"));
    assert_eq!(nothing.remedies[0], RDNA_1);
}

#[test]
fn ceilings_alone_are_no_profile() {
    let nothing = explained(&fixture("rocprof-compute/kernel_names/MI200/roofline.csv"));
    assert!(nothing.cause.contains("ceilings"), "{}", nothing.cause);
    assert_eq!(nothing.remedies[0], WHOLE_PROFILE);
}

#[test]
fn a_filter_that_matched_nothing_is_named_with_its_value() {
    let nothing = explained(&fixture("unread/workload_without_kernels"));
    assert!(
        nothing.cause.contains("no_such_kernel"),
        "{}",
        nothing.cause
    );
    assert_eq!(nothing.remedies[0], FILTER);
}

#[test]
fn calls_of_the_host_exclude_a_wrong_backend() {
    let head = "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n";
    let call = |name: &str| format!("\"HIP_RUNTIME_API\",\"{name}\",1,1,1,10,20\n");
    let text = format!("{head}{}{}", call("hipMalloc"), call("hipFree"));
    let without = of_file("1_hip_api_trace.csv", &text);
    assert!(
        without.cause.contains("2 calls, none of which launches"),
        "{}",
        without.cause
    );
    assert_eq!(without.remedies[0], WORKERS);
    let text = format!("{text}{}", call("hipLaunchKernel"));
    let with = of_file("1_hip_api_trace.csv", &text);
    assert!(
        with.cause.contains("3 calls and launched 1 kernel"),
        "{}",
        with.cause
    );
    assert_eq!(with.remedies[0], KERNEL_TRACE);
    for nothing in [without, with] {
        assert!(!nothing.remedies.contains(&BACKEND), "{nothing:?}");
        assert!(
            nothing.cause.contains("backend is right"),
            "{}",
            nothing.cause
        );
    }
}

#[test]
fn a_trace_of_pytorch_on_the_cpu_says_what_to_switch_on() {
    let text = r#"{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9, "ts": 1, "dur": 80, "args": {}},
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 9, "tid": 9, "ts": 1, "dur": 200, "args": {}}]}"#;
    let nothing = of_file("trace.json", text);
    assert!(nothing.cause.contains("PyTorch"), "{}", nothing.cause);
    assert_eq!(nothing.remedies[0], TORCH_ACTIVITIES);
}

#[test]
fn headers_and_empty_files_are_told_apart() {
    let table = std::fs::read_to_string(fixture("rocprofv3/kernel_trace.csv")).unwrap();
    let header = table.lines().next().unwrap();
    let nothing = of_file("1_kernel_trace.csv", header);
    assert!(nothing.cause.contains("no rows"), "{}", nothing.cause);
    let empty = of_file("1_kernel_trace.csv", "");
    assert_eq!(empty.cause, "There is nothing in the file.");
    let foreign = of_file("1.txt", "nothing of this\n");
    assert_eq!(foreign.cause, "None of these files holds kernels.");
    let log = of_file("profiler.log", "Opened result file: none\n");
    assert_eq!(log.remedies[0], BACKEND, "{}", log.cause);
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(explained(folder.path()).cause, "There is no file here.");
    let damaged = of_file(
        "1_results.json",
        "{\"rocprofiler-sdk-tool\":[{\"agents\": 7}]}",
    );
    assert!(damaged.cause.contains("damaged"), "{}", damaged.cause);
}
