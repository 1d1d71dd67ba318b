//! For each kind of figure: the number that a file has, and the text that is shown for it.

use std::path::Path;

use super::comparison::compare;
use super::hotspots::{GroupBy, hotspots};
use super::parts::KernelParts;
use super::{copies, counters, memory_chart, occupancy, report};
use crate::model::Profile;
use crate::read::import;
use tinyllama_base::table::TextTable;
use tinyllama_base::units::Percentage;

fn read(path: &str) -> Profile {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    import(&root.join(path)).unwrap().profile
}

fn of_text(name: &str, text: &str) -> Profile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    import(&path).unwrap().profile
}

/// The cell in the column `title` of the first row that begins with `name`.
fn cell(table: &TextTable, name: &str, title: &str) -> String {
    let column = table.columns.iter().position(|(name, _)| *name == title);
    let mut rows = table.rows.iter();
    let row = rows.find(|row| row[0].trim_start().starts_with(name));
    row.unwrap()[column.unwrap()].clone()
}

fn ten_hotspots(profile: &Profile) -> TextTable {
    hotspots(profile, GroupBy::ShortName, &KernelParts::default()).table(10)
}

/// `| 2.1.0 | VALU FLOPs | 12.5 | Gflop | 22630.4 | 75.5 |` of an analysis, `18.2` of rocprof-sys, and `42.56` of rocprofv3.
#[test]
fn shares_are_shown_as_the_tools_wrote_them() {
    let profile = read("tests/fixtures/rocprof-sys/wall_clock_doc_sample.txt");
    assert_eq!(profile.regions[0].self_percent, Some(Percentage(18.2)));
    assert_eq!(
        cell(&report::regions(&profile, 9), "main", "self"),
        "18.2 %"
    );
    let profile = read("lessons/profiles/wall_clock.txt");
    let table = report::regions(&profile, usize::MAX);
    for region in &profile.regions {
        let shown = cell(&table, &region.label, "self");
        let number: f64 = shown.trim_end_matches(" %").parse().unwrap();
        assert!((0.0..=100.0).contains(&number), "{}: {shown}", region.label);
    }

    let text = "2.1 Speed-of-Light\n\
        | Metric_ID | Metric     | Avg  | Unit  | Peak    | Pct of Peak |\n\
        | 2.1.0     | VALU FLOPs | 12.5 | Gflop | 22630.4 | 75.5        |\n";
    let profile = of_text("analysis.txt", text);
    assert_eq!(profile.metrics[0].percent_of_peak, Some(Percentage(75.5)));
    let shown = cell(&report::metrics(&profile, 9), "Speed-of-Light", "of peak");
    assert_eq!(shown, "75.5 %");

    let profile = read("lessons/profiles/jacobi_kernel_stats.csv");
    assert_eq!(
        cell(&ten_hotspots(&profile), "JacobiIteration", "share"),
        "42.6 %"
    );

    let profile = read("lessons/profiles/vcopy-mi200");
    let [chart] = &memory_chart::charts(&profile, 1)[..] else {
        panic!("one kernel has counters")
    };
    let memory = chart
        .levels
        .iter()
        .find(|level| level.name == "HBM")
        .unwrap();
    assert!((memory.used.unwrap().0 - 62.23).abs() < 0.01);
    assert!(
        memory.used_text().starts_with("62.2 % of "),
        "{}",
        memory.used_text()
    );
    // 72 935 hits of 204 016 requests, 69 652 of 200 735 and 70 029 of 201 111.
    let table = &counters::tables(&profile, 1)[0];
    assert_eq!(cell(table, "L2 hits", "mean a launch"), "35.1 %");
    let kernel = &occupancy::kernels(&profile)[0];
    let shown = cell(&occupancy::table(&profile, 1), "vecCopy", "occupancy");
    assert_eq!(shown, format!("{:.1} %", kernel.occupancy.percent().0));
}

fn statistics(total: u64) -> Profile {
    let rows = format!("Name,Calls,TotalDurationNs,AverageNs,Percentage\nnorm,4,{total},1,100\n");
    of_text("kernel_stats.csv", &rows)
}

#[test]
fn factors_are_shown_as_the_ratio_of_two_means() {
    let comparison = compare(
        &statistics(40_000),
        &statistics(60_000),
        GroupBy::ShortName,
        &KernelParts::default(),
    );
    assert_eq!(comparison.kernels[0].mean_ratio(), Some(1.5));
    assert_eq!(cell(&comparison.table(9), "norm", "mean ratio"), "1.50");
}

#[test]
fn times_are_shown_in_the_unit_that_suits_them() {
    let profile = statistics(40_960);
    assert_eq!(cell(&ten_hotspots(&profile), "norm", "total"), "40.96 us");
    assert_eq!(cell(&ten_hotspots(&profile), "norm", "mean"), "10.24 us");
    let profile = read("tests/fixtures/rocprof-sys/wall_clock_doc_sample.txt");
    assert_eq!(profile.regions[0].total_s, 13.360265);
    assert_eq!(
        cell(&report::regions(&profile, 9), "main", "total"),
        "13.360 s"
    );
}

#[test]
fn counts_are_shown_whole() {
    let profile = read("tests/fixtures/rocprofv3/kernel_trace.csv");
    assert_eq!(
        cell(&ten_hotspots(&profile), "addition_kernel", "calls"),
        "3"
    );
    let profile = read("lessons/profiles/jacobi_kernel_stats.csv");
    let calls = profile.statistics[0].calls;
    let shown = cell(&ten_hotspots(&profile), "JacobiIteration", "calls");
    assert_eq!((calls, shown.as_str()), (1000, "1000"));
}

#[test]
fn sizes_are_shown_in_powers_of_1024() {
    let profile = read("tests/fixtures/rocpd/stack_ids.db");
    assert_eq!(profile.copies[0].bytes, Some(65_536));
    let table = copies::table(&profile);
    assert_eq!(cell(&table, "device to host", "bytes"), "64.0 KiB");
    assert_eq!(cell(&table, "device to host", "rate"), "6.6 GB/s");
}
