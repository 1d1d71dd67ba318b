//! Two runs in one file or folder stay two.

use tinyllama_profile::export::json;
use tinyllama_profile::{GroupBy, Hotspot, KernelParts, hotspots};

use super::*;

fn kernels(profile: &Profile) -> Vec<Hotspot> {
    hotspots(profile, GroupBy::ShortName, &KernelParts::default()).kernels
}

/// Run, name, calls and nanoseconds of each kernel.
fn by_run(kernels: &[Hotspot]) -> Vec<(Option<&str>, &str, u64, f64)> {
    let lines = kernels.iter();
    lines
        .map(|it| (it.run.as_deref(), it.name.as_str(), it.calls, it.total_ns))
        .collect()
}

/// Files by their names in a folder of their own.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// A trace with a launch of each name, of 10 ns and 100 ns apart.
fn trace(first: u64, names: &[&str]) -> String {
    let head = "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Thread_Id\",\"Dispatch_Id\",\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"";
    let mut text = format!("{head}\n");
    for (at, name) in names.iter().enumerate() {
        let start = first + 100 * at as u64;
        let end = start + 10;
        text += &format!("\"KERNEL_DISPATCH\",1,1,7,{at},1,\"{name}\",{at},{start},{end}\n");
    }
    text
}

const SUMS: &str = "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n";

/// The second path has its own columns, and figures with their difference from the first.
#[test]
fn a_report_of_two_paths_has_two_runs() {
    let profile = read("rocprof-compute/analysis_text/two_paths.txt").profile;
    let kernels = kernels(&profile);
    assert_eq!(
        by_run(&kernels),
        [
            (Some("path 2"), "gemm", 4, 5000.0),
            (Some("path 1"), "gemm", 3, 3000.5),
            (Some("path 1"), "fill", 2, 1000.0),
        ]
    );
    assert_eq!(kernels[0].percent, Percentage(100.0), "of its own run");
    let metrics = profile.metrics.iter();
    let metrics: Vec<_> = metrics
        .map(|it| (it.run.as_deref(), it.value, it.percent_of_peak))
        .collect();
    assert_eq!(
        metrics,
        [
            (Some("path 1"), Some(1.5), Some(Percentage(30.0))),
            (Some("path 2"), Some(3.0), Some(Percentage(60.0))),
        ]
    );
    let document = json::document(&profile, GroupBy::ShortName, &KernelParts::default());
    assert_eq!(document["runs"][1]["name"], "path 2");
    assert_eq!(document["runs"][1]["kernel_ns"], 5000.0);
    assert_eq!(document["kernels"][1]["run"], "path 1");
}

/// One file has launches and the other sums of other launches, so neither can stand for the other.
#[test]
fn statistics_of_another_run_are_not_added_to_a_trace() {
    let sums = format!("{SUMS}\"norm\",5,900,180,90\n\"gemm\",1,100,100,10\n");
    let folder = folder(&[
        ("monday_kernel_trace.csv", &trace(1000, &["gemm", "gemm"])),
        ("tuesday_kernel_stats.csv", &sums),
    ]);
    let profile = import(folder.path()).unwrap().profile;
    let kernels = kernels(&profile);
    assert_eq!(
        by_run(&kernels),
        [
            (Some("tuesday"), "norm", 5, 900.0),
            (Some("tuesday"), "gemm", 1, 100.0),
            (Some("monday"), "gemm", 2, 20.0),
        ]
    );
    let shares: Vec<f64> = kernels.iter().map(|it| it.percent.0).collect();
    assert_eq!(shares, [90.0, 10.0, 100.0]);
    assert!(
        profile.notes.iter().any(|it| it.contains("2 runs")),
        "{:?}",
        profile.notes
    );
}

/// The same sums under another name are a copy: they count once, and import says so.
#[test]
fn statistics_that_repeat_a_trace_count_once() {
    let sums = format!("{SUMS}\"gemm\",2,20,10,100\n");
    let folder = folder(&[
        ("monday_kernel_trace.csv", &trace(1000, &["gemm", "gemm"])),
        ("copy.csv", &sums),
    ]);
    let profile = import(folder.path()).unwrap().profile;
    assert_eq!(by_run(&kernels(&profile)), [(None, "gemm", 2, 20.0)]);
    assert_eq!(
        profile.notes,
        ["sums in copy are those of another file, and count once"]
    );
}

/// Traces of two folders with the same name are two runs unless their kernels ran at the same time, as those of ranks do.
#[test]
fn traces_one_after_the_other_are_two_runs() {
    let runs = |second: u64| {
        let folder = folder(&[
            ("a/7_kernel_trace.csv", &trace(1000, &["gemm", "norm"])),
            ("b/7_kernel_trace.csv", &trace(second, &["gemm"])),
        ]);
        let profile = import(folder.path()).unwrap().profile;
        let kernels = kernels(&profile);
        let runs = kernels.into_iter().map(|it| (it.run, it.name, it.calls));
        runs.collect::<Vec<_>>()
    };
    let (a, b) = (Some("a/7".to_owned()), Some("b/7".to_owned()));
    assert_eq!(
        runs(5000),
        [
            (a.clone(), "gemm".to_owned(), 1),
            (b, "gemm".to_owned(), 1),
            (a, "norm".to_owned(), 1)
        ]
    );
    assert_eq!(
        runs(1050),
        [(None, "gemm".to_owned(), 2), (None, "norm".to_owned(), 1)]
    );
}
