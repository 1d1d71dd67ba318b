//! Tests what `profile import` says and writes.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tinyllama_profile::{GroupBy, KernelParts, Profile, export, hotspots, import};

fn fixture(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(path)
}

fn read(path: &str) -> Profile {
    import(&fixture(path)).unwrap().profile
}

#[test]
fn a_trace_for_perfetto_has_every_launch_with_its_nanoseconds() {
    let profile = read("json/908_results_trim400.json");
    let mut bytes = Vec::new();
    export::perfetto::write(&profile, &mut bytes).unwrap();
    let document: Value = serde_json::from_slice(&bytes).unwrap();
    let events = document["traceEvents"].as_array().unwrap();
    let spans: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(spans.len(), 400);
    let total: f64 = spans.iter().map(|span| span["dur"].as_f64().unwrap()).sum();
    assert!((total - 20_419.735).abs() < 1e-6, "{total}");
    let first = spans
        .iter()
        .map(|span| span["ts"].as_f64().unwrap())
        .fold(f64::MAX, f64::min);
    assert_eq!(first, 0.0);
    let tracks = events
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .count();
    assert_eq!(tracks, 5, "one for each queue");
}

#[test]
fn the_document_has_the_figures_of_the_tables() {
    let profile = read("rocprofv3/kernel_trace.csv");
    let document = export::json::document(&profile, GroupBy::ShortName, &KernelParts::default());
    let found = hotspots(&profile, GroupBy::ShortName, &KernelParts::default());
    assert_eq!(
        document["kernels"][0]["total_ns"],
        found.kernels[0].total_ns
    );
    assert_eq!(document["kernel_ns"], 96_160.0);
    assert_eq!(
        document["launches"]["calls"],
        Value::Null,
        "not reported is null"
    );
    assert_eq!(document["devices"][0]["busy_ns"], 96_160);
}

fn tutor(words: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
        .arg("profile")
        .args(words)
        .output()
        .unwrap();
    let text =
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), text)
}

#[test]
fn import_says_what_it_took_and_what_it_left() {
    let (code, text) = tutor(&["import", fixture("rocprofv3").to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("kernel_trace.csv: rocprofv3 kernel trace (CSV), 9 rows"),
        "{text}"
    );
    let files = text.lines().take_while(|line| !line.is_empty());
    let files = files.collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(files.replace(fixture("rocprofv3").to_str().unwrap(), "[folder]"));
}

#[test]
fn import_of_a_damaged_file_ends_with_1_and_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel_trace.csv");
    let whole = std::fs::read_to_string(fixture("rocprofv3/kernel_trace.csv")).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 40]).unwrap();
    let (code, text) = tutor(&["import", path.to_str().unwrap()]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("kernel_trace.csv:10:"), "{text}");
    assert!(text.contains("cut off"), "{text}");
    assert_eq!(
        tutor(&["import", folder.path().join("nothing").to_str().unwrap()]).0,
        2
    );
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(tutor(&["import", empty.path().to_str().unwrap()]).0, 1);
}

#[test]
fn trace_and_comparison_from_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.json");
    let source = fixture("rocprofv3/kernel_trace.csv");
    let source = source.to_str().unwrap();
    let (code, text) = tutor(&["import", source, "--perfetto", trace.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    assert!(
        std::fs::read_to_string(&trace)
            .unwrap()
            .contains("addition_kernel")
    );
    let other = fixture("rocprofv3_6.4/kernel_trace.csv");
    let (code, text) = tutor(&["compare", source, other.to_str().unwrap(), "--json"]);
    assert_eq!(code, 0, "{text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["calls"], serde_json::json!([9, 7]));
    assert_eq!(
        document["total_ns"],
        serde_json::json!([96_160.0, 795_453.0])
    );
}

#[test]
fn a_sample_of_the_course_is_read_in_every_folder_and_its_gaps_are_in_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let import = |path: &str| {
        Command::new(env!("CARGO_BIN_EXE_tinyllama-tutor"))
            .args(["profile", "import", path, "--perfetto", "copy.json"])
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    let written = import("lessons/profiles/vcopy-mi200");
    assert!(written.status.success(), "{written:?}");
    let document = std::fs::read(folder.path().join("copy.json")).unwrap();
    let document: Value = serde_json::from_slice(&document).unwrap();
    let events = document["traceEvents"].as_array().unwrap();
    let spans = events.iter().filter(|event| event["ph"] == "X");
    let times: Vec<_> = spans
        .map(|span| (span["ts"].as_f64(), span["dur"].as_f64()))
        .collect();
    let expected = [(0.0, 20.48), (113.76, 16.32), (150.88, 15.52)];
    assert_eq!(
        times,
        expected.map(|(start, length)| (Some(start), Some(length)))
    );
    for wrong in ["lessons/profiles/no-such-sample", "profiles/vcopy-mi200"] {
        let refused = import(wrong);
        let message = String::from_utf8_lossy(&refused.stderr);
        assert!(
            !refused.status.success() && message.contains(wrong),
            "{message}"
        );
    }
}
