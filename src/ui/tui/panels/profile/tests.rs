use std::path::Path;

use ratatui::prelude::{Buffer, Rect};

use super::hotspots::HotspotTable;
use super::timeline::Timeline;
use super::*;
use crate::tui::model::panel::Panel;
use crate::tui::{Pane, Theme, sheet};
use tinyllama_profile::model::{
    CounterSample, Dispatch, LaunchVariant, MeasuredCeiling, TimeSpan, TraceLane,
};
use tinyllama_profile::read::import;
use tinyllama_profile::show::timeline::rows;
use tinyllama_tutor_core::PanelAction;

/// Reads a fixture and shortens its paths, so that they do not name the machine.
fn read(path: &str) -> Import {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let mut import = import(&root.join(path)).unwrap();
    let short = |path: &mut std::path::PathBuf| {
        if let Ok(rest) = path.strip_prefix(&root) {
            *path = rest.to_owned();
        }
    };
    import
        .taken
        .iter_mut()
        .for_each(|taken| short(&mut taken.path));
    import
        .passed_over
        .iter_mut()
        .for_each(|passed| short(&mut passed.path));
    import
        .damage
        .iter_mut()
        .for_each(|damage| short(&mut damage.location.file));
    import
}

fn sheet_of(panel: &Sections) -> String {
    sheet::sheet(|pane| panel.draw(pane))
}

fn read_sections(path: &str) -> Sections {
    panel(read(path), &KernelParts::default())
}

#[test]
fn a_trace_of_kernels_calls_and_copies() {
    let mut panel = read_sections("json/908_results_trim400.json");
    insta::assert_snapshot!("hotspots", sheet_of(&panel));
    for name in ["Timeline", "Idle", "Launches", "Occupancy", "Files"] {
        panel.go(name);
        insta::assert_snapshot!(name.to_lowercase(), sheet_of(&panel));
    }
}

#[test]
fn counters_and_ceilings_of_a_workload() {
    let mut panel = read_sections("rocprof-compute/vcopy");
    panel.go("Counters");
    insta::assert_snapshot!("counters", sheet_of(&panel));
    panel.go("Memory");
    insta::assert_snapshot!("memory", sheet_of(&panel));
    panel.go("Roofline");
    insta::assert_snapshot!("roofline", sheet_of(&panel));
}

#[test]
fn durations_without_starts_and_samples_of_lines() {
    let mut panel = read_sections("nsight_compute/raw.csv");
    assert_eq!(panel.names(), ["Hotspots", "Counters", "Files"]);
    panel.go("Counters");
    insta::assert_snapshot!("nsight_compute", sheet_of(&panel));
    let mut panel = read_sections("rocprofv3_debug/pc_sampling_stochastic.csv");
    panel.go("Samples");
    insta::assert_snapshot!("samples", sheet_of(&panel));
}

#[test]
fn damaged_files_are_listed_first() {
    let folder = tempfile::tempdir().unwrap();
    let whole = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/fixtures/rocprofv3/kernel_trace.csv");
    let text = std::fs::read_to_string(whole)
        .unwrap()
        .replacen("1550151853029637", "soon", 1);
    std::fs::write(folder.path().join("kernel_trace.csv"), text).unwrap();
    let mut panel = panel(import(folder.path()).unwrap(), &KernelParts::default());
    panel.go("Files");
    let area = Rect::new(0, 0, 300, 10);
    let mut buffer = Buffer::empty(area);
    panel.draw(Pane::new(area, &mut buffer, &Theme::default()));
    let text = sheet::text(&buffer);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].starts_with("Sets the pace: "), "{text}");
    assert!(lines[2].starts_with("damaged: "), "{text}");
    // The line about the damage goes on in the next one.
    assert!(lines[4].starts_with("read: "), "{text}");
}

#[test]
fn hotspots_are_sorted_and_grouped_by_keys() {
    let import = Arc::new(read("rocprofv3/kernel_trace.csv"));
    let mut panel = HotspotTable::new(import, KernelParts::default());
    let first = |panel: &HotspotTable| panel.found.kernels[0].clone();
    let top = |panel: &HotspotTable| panel.copies()[0].text.clone();
    assert_eq!(top(&panel), "addition_kernel");
    let columns = ["kernel", "share", "total", "calls", "mean"];
    for _ in columns {
        panel.act(PanelAction::Sort);
    }
    assert_eq!(
        top(&panel),
        "divide_kernel",
        "23.64 us over 2 calls is the longest mean"
    );
    assert!(panel.filter("sub"));
    assert_eq!(top(&panel), "subtract_kernel");
    assert_eq!(panel.commands()[1].1, "full names");
    panel.act(PanelAction::Toggle);
    assert!(first(&panel).name.contains('('));
    panel.act(PanelAction::Toggle);
    assert!(first(&panel).variant.is_some());
}

/// At every zoom, the sums over the columns equal the lane's busy time.
#[test]
fn the_timeline_loses_no_time_and_counts_none_twice() {
    let import = Arc::new(read("json/908_results_trim400.json"));
    let timeline = Timeline::new(Arc::clone(&import));
    let rows = rows(&import.profile);
    assert_eq!(rows.len(), timeline.lanes.len());
    for lane in &timeline.lanes {
        let mut busy_ns = 0;
        let mut end = i64::MIN;
        for span in &rows[&lane.row] {
            busy_ns += (span.time.end - span.time.start.max(end)).max(0);
            end = end.max(span.time.end);
        }
        for columns in [10, 57, 1000] {
            let shares = timeline.busy_shares(lane, columns);
            let ns = shares.iter().sum::<f64>() * timeline.span / columns as f64;
            assert!((ns - busy_ns as f64).abs() < 1.0, "{ns} of {busy_ns}");
            let most = shares.into_iter().fold(0.0, f64::max);
            assert!(most <= 1.0 + 1e-9, "{most}");
        }
    }
}

#[test]
fn the_timeline_is_zoomed_and_moved_within_its_bounds() {
    let mut panel = Timeline::new(Arc::new(read("rocprofv3/kernel_trace.csv")));
    assert!(!panel.act(PanelAction::Toggle), "it is whole already");
    assert!(!panel.act(PanelAction::Left));
    let whole = panel.span;
    assert!(panel.act(PanelAction::Select));
    assert_eq!(panel.span, whole / 2.0);
    assert!(panel.act(PanelAction::Bottom));
    assert_eq!(panel.from, whole / 2.0);
    assert!(!panel.act(PanelAction::Right), "there is nothing later");
    for _ in 0..60 {
        panel.act(PanelAction::Select);
    }
    assert!(panel.span >= timeline::CLOSEST);
}

#[test]
fn an_empty_profile_and_any_area_are_no_reason_to_panic() {
    let folder = tempfile::tempdir().unwrap();
    let empty = import(folder.path()).unwrap();
    let panels = [
        panel(empty, &KernelParts::default()),
        read_sections("rocprofv3/hip_api_stats.csv"),
        read_sections("rocprof-compute/vcopy"),
        read_sections("rocprofv3"),
    ];
    for mut panel in panels {
        for _ in 0..=panel.names().len() {
            for action in [
                PanelAction::Bottom,
                PanelAction::Right,
                PanelAction::Toggle,
                PanelAction::Sort,
                PanelAction::Select,
                PanelAction::PageUp,
            ] {
                panel.act(action);
                for (width, height) in [(0, 0), (1, 1), (30, 5), (60, 9), (200, 2), (9, 40)] {
                    let area = Rect::new(0, 0, width, height);
                    let mut buffer = Buffer::empty(area);
                    let theme = Theme::new(true, true);
                    panel.draw(Pane::new(area, &mut buffer, &theme));
                }
            }
            panel.commands();
            panel.act(PanelAction::NextSection);
        }
    }
}

/// A kernel of 2 MFLOP and 6 MiB in 10 us, by its counters.
fn with_counters() -> Import {
    let folder = tempfile::tempdir().unwrap();
    let mut import = import(folder.path()).unwrap();
    let profile = &mut import.profile;
    let kernel = profile.name_id("void saxpy(float*)");
    let variant = profile.variant_id(LaunchVariant::unknown(kernel));
    let process = profile.process_id("host", "", None);
    let lane = profile.lane_id(TraceLane {
        process,
        agent: None,
        queue: None,
        stream: None,
        thread: None,
    });
    profile.dispatches.push(Dispatch {
        variant,
        lane,
        id: Some(1),
        correlation: None,
        time: TimeSpan::new(1_700_000_000_000_000_000, 1_700_000_000_000_010_000),
    });
    let mut add = |counter: &str, value: f64| {
        let counter = profile.name_id(counter);
        profile.counters.push(CounterSample {
            variant,
            lane,
            dispatch: Some(1),
            counter,
            value,
            time: None,
        });
    };
    for kind in ["F16", "F32", "F64"] {
        for operation in ["ADD", "MUL", "TRANS", "FMA"] {
            let is_fma = (operation, kind) == ("FMA", "F32");
            let value = if is_fma { 15_625.0 } else { 0.0 };
            add(&format!("SQ_INSTS_VALU_{operation}_{kind}"), value);
        }
    }
    for kind in ["F16", "BF16", "F32", "F64"] {
        add(&format!("SQ_INSTS_VALU_MFMA_MOPS_{kind}"), 0.0);
    }
    add("FETCH_SIZE", 4096.0);
    add("WRITE_SIZE", 2048.0);
    for (name, value) in [("HBMBw", 1389.0), ("FP32Flops", 20_942.0)] {
        profile.ceilings.push(MeasuredCeiling {
            device: 0,
            name: name.into(),
            value,
        });
    }
    import
}

#[test]
fn kernels_that_compute_are_drawn_under_the_ceilings_that_were_measured() {
    let mut panel = panel(with_counters(), &KernelParts::default());
    panel.go("Roofline");
    let area = Rect::new(0, 0, 100, 27);
    let mut buffer = Buffer::empty(area);
    panel.draw(Pane::new(area, &mut buffer, &Theme::default()));
    let text = sheet::text(&buffer);
    // 15 625 fused multiply-adds of 64 lanes are 2e6 operations; over 6 MiB; 629 of 1389 GB/s.
    assert!(text.contains("A saxpy") && text.contains("0.32"), "{text}");
    assert!(text.contains("45.3 %") && text.contains("HBMBw"), "{text}");
    assert!(panel.act(PanelAction::Toggle));
    assert!(
        panel.act(PanelAction::NextSection),
        "the section key goes on"
    );
}

/// A clock of nanoseconds since 1970 must not blur a kernel of microseconds.
#[test]
fn times_since_1970_keep_their_nanoseconds() {
    let timeline = Timeline::new(Arc::new(with_counters()));
    assert_eq!(timeline.span, 10_000.0);
    let shares = timeline.busy_shares(&timeline.lanes[0], 7);
    assert!(
        (shares.iter().sum::<f64>() - 7.0).abs() < 1e-9,
        "{shares:?}"
    );
}

/// Template names have thousands of characters, and those that differ only at their ends are different kernels.
#[test]
fn a_name_of_seven_thousand_characters_is_read_to_its_end() {
    let mut import = with_counters();
    let name = format!(
        "void scan<{}>(float*)",
        "rocprim::tuple<float>, ".repeat(310) + "THE_END"
    );
    let profile = &mut import.profile;
    let kernel = profile.name_id(&name);
    let variant = profile.variant_id(LaunchVariant::unknown(kernel));
    let launch = profile.dispatches[0];
    profile.dispatches = vec![Dispatch { variant, ..launch }];
    assert!(name.len() > 7000);
    let mut panel = HotspotTable::new(Arc::new(import), KernelParts::default());
    let draw = |panel: &HotspotTable| {
        let area = Rect::new(0, 0, 120, 20);
        let mut buffer = Buffer::empty(area);
        panel.draw(Pane::new(area, &mut buffer, &Theme::default()));
        sheet::text(&buffer)
    };
    let text = draw(&panel);
    let header = text.lines().find(|line| line.contains("share")).unwrap();
    assert!(
        ["mean", "min", "max"]
            .iter()
            .all(|title| header.contains(title)),
        "{text}"
    );
    assert!(panel.act(PanelAction::Select));
    let text = draw(&panel);
    assert!(
        text.contains("void scan<rocprim") && !text.contains("THE_END"),
        "{text}"
    );
    assert!(panel.act(PanelAction::Bottom));
    assert!(draw(&panel).contains("THE_END>(float*)"));
    assert!(panel.act(PanelAction::Select));
    assert!(draw(&panel).contains("share"), "Enter closes the name");
}

#[test]
fn kernels_of_two_runs_are_listed_by_run() {
    let panel = read_sections("rocprof-compute/analysis_text/two_paths.txt");
    let area = Rect::new(0, 0, 120, 12);
    let mut buffer = Buffer::empty(area);
    panel.draw(Pane::new(area, &mut buffer, &Theme::default()));
    let text = sheet::text(&buffer);
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let begins = |row: &[&str]| rows.iter().any(|it| it.starts_with(row));
    assert!(begins(&["gemm", "path", "2", "100.0", "%"]), "{text}");
    assert!(begins(&["gemm", "path", "1", "75.0", "%"]), "{text}");
    assert!(begins(&["fill", "path", "1", "25.0", "%"]), "{text}");
}
