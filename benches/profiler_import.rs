//! Measures time and memory of reading large profiles, which are made from real ones.
//!
//! `cargo bench --bench profiler_import` reads a kernel trace of a million rows in under 2 s and 200 MB, and a JSON
//! document of 43 000 dispatches in under 1 s. It ends with an error if a limit is exceeded.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use tinyllama_profile::import;

const CSV_ROWS: u64 = 1_000_000;
const JSON_DISPATCHES: usize = 43_000;

/// Name, limit in seconds and limit in MiB of each case.
const CASES: &[(&str, f64, f64)] = &[
    ("kernel_trace.csv", 2.0, 200.0),
    ("results.json", 1.0, 200.0),
];

fn main() -> ExitCode {
    // Each case runs in its own process, so that the process's peak memory is the peak of the import.
    if let Ok(path) = std::env::var("PROFILER_IMPORT_CASE") {
        read_one(Path::new(&path));
        return ExitCode::SUCCESS;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let csv = folder.path().join(CASES[0].0);
    let json = folder.path().join(CASES[1].0);
    write_csv(&csv);
    write_json(&json);
    let mut is_within = true;
    for (path, &(name, most_seconds, most_mib)) in [csv, json].iter().zip(CASES) {
        let (seconds, mib) = measure(path);
        let size = fs::metadata(path).expect("the case").len() as f64 / (1 << 20) as f64;
        println!(
            "{name}: {size:.0} MiB read in {seconds:.2} s (bound {most_seconds} s), {mib:.0} MiB at most (bound {most_mib} MiB)"
        );
        is_within &= seconds < most_seconds && mib < most_mib;
    }
    if is_within {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn measure(path: &Path) -> (f64, f64) {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program)
        .env("PROFILER_IMPORT_CASE", path)
        .output()
        .expect("this program runs");
    let text = String::from_utf8(output.stdout).expect("figures");
    let mut figures = text
        .split_whitespace()
        .map(|word| word.parse::<f64>().expect("a figure"));
    (
        figures.next().expect("seconds"),
        figures.next().expect("MiB"),
    )
}

fn read_one(path: &Path) {
    let start = Instant::now();
    let import = import(path).expect("the case is read");
    let seconds = start.elapsed().as_secs_f64();
    assert!(import.damage.is_empty(), "{:?}", import.damage);
    let expected = if path.extension().is_some_and(|e| e == "csv") {
        CSV_ROWS as usize
    } else {
        JSON_DISPATCHES
    };
    assert_eq!(import.profile.dispatches.len(), expected);
    println!("{seconds} {}", peak_mib());
}

/// Returns the peak memory of this process in MiB, as Linux reports it.
fn peak_mib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("VmHWM");
    let kib: f64 = line
        .split_whitespace()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .expect("KiB");
    kib / 1024.0
}

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(path)
}

/// Writes the rows of a real trace repeatedly, each launch later than the one before.
fn write_csv(path: &Path) {
    let real = fs::read_to_string(fixture("rocprofv3/kernel_trace.csv")).expect("the fixture");
    let mut lines = real.lines();
    let mut file = BufWriter::new(File::create(path).expect("the case"));
    writeln!(file, "{}", lines.next().expect("a header")).expect("room");
    let rows: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    for (number, row) in (0..CSV_ROWS).zip(rows.iter().cycle()) {
        // Kernel names contain commas, so the times are counted from the end of the row: fields 10 and 11 of 13.
        let fields: Vec<&str> = row.rsplitn(14, ',').collect();
        let start = 1_550_151_853_029_637 + 20_000 * number;
        let tail: Vec<&str> = fields[..11].iter().rev().copied().collect();
        writeln!(
            file,
            "{},{start},{},{}",
            fields[13],
            start + 9_000 + number % 1000,
            tail.join(",")
        )
        .expect("room");
    }
}

fn write_json(path: &Path) {
    let real = fs::read_to_string(fixture("json/908_results_trim400.json")).expect("the fixture");
    let mut document: serde_json::Value = serde_json::from_str(&real).expect("JSON");
    let records = &mut document["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"];
    let few = records.as_array().expect("dispatches").clone();
    *records = few.iter().cycle().take(JSON_DISPATCHES).cloned().collect();
    fs::write(path, document.to_string()).expect("room");
}
