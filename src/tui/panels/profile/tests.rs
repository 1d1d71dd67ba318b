use super::*;
use std::path::Path;

use crate::profiler::model::{Ceiling, CounterSample, Dispatch, Interval, Lane, Variant};
use crate::profiler::read::import;
use crate::profiler::show::timeline::rows;
use crate::tui::sheet;
use crate::tui::theme::{Glyphs, Palette};

/// A fixture, its paths without the machine they were read on.
fn read(path: &str) -> Import {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
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
        .for_each(|damage| short(&mut damage.place.file));
    import
}

fn sheet_of(panel: &ProfilePanel) -> String {
    sheet::sheet(|area, buffer, theme| panel.render(area, buffer, theme))
}

/// Turns to the section called so.
fn go(panel: &mut ProfilePanel, name: &str) {
    for _ in 0..panel.sections.len() {
        if panel.section().unwrap().name == name {
            return;
        }
        panel.act(PanelAction::NextSection);
    }
    panic!(
        "no section {name} among {:?}",
        panel.sections.iter().map(|s| s.name).collect::<Vec<_>>()
    );
}

#[test]
fn a_trace_of_kernels_calls_and_copies() {
    let mut panel = ProfilePanel::new(read("json/908_results_trim400.json"));
    insta::assert_snapshot!("hotspots", sheet_of(&panel));
    for name in ["Timeline", "Launches", "Occupancy", "Files"] {
        go(&mut panel, name);
        insta::assert_snapshot!(name.to_lowercase(), sheet_of(&panel));
    }
}

#[test]
fn counters_and_ceilings_of_a_workload() {
    let mut panel = ProfilePanel::new(read("rocprof-compute/vcopy"));
    go(&mut panel, "Counters");
    insta::assert_snapshot!("counters", sheet_of(&panel));
    go(&mut panel, "Roofline");
    insta::assert_snapshot!("roofline", sheet_of(&panel));
}

#[test]
fn two_profiles_side_by_side() {
    let before = read("rocprofv3/kernel_trace.csv");
    let after = read("rocprofv3_6.4/kernel_trace.csv");
    let mut panel = ProfilePanel::new(before).beside("ROCm 6.4", after);
    go(&mut panel, "Beside");
    insta::assert_snapshot!("beside", sheet_of(&panel));
}

#[test]
fn damage_is_the_first_that_is_said_of_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let whole =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rocprofv3/kernel_trace.csv");
    let text = std::fs::read_to_string(whole)
        .unwrap()
        .replacen("1550151853029637", "soon", 1);
    std::fs::write(folder.path().join("kernel_trace.csv"), text).unwrap();
    let mut panel = ProfilePanel::new(import(folder.path()).unwrap());
    go(&mut panel, "Files");
    let Some(Content::Lines(lines)) = panel.section().map(|section| &section.content) else {
        panic!("no lines");
    };
    assert!(lines[0].text.starts_with("damaged: "), "{lines:?}");
    assert!(lines[1].text.starts_with("read: "), "{lines:?}");
}

#[test]
fn hotspots_are_sorted_and_grouped_by_keys() {
    let mut panel = ProfilePanel::new(read("rocprofv3/kernel_trace.csv"));
    let first = |panel: &ProfilePanel| panel.hotspots.found.kernels[0].clone();
    assert_eq!(first(&panel).name, "addition_kernel");
    assert_eq!(panel.commands()[1].does, "sort by calls");
    panel.act(PanelAction::Sort);
    panel.act(PanelAction::Sort);
    assert_eq!(
        first(&panel).name,
        "divide_kernel",
        "23.64 us over 2 calls is the longest mean"
    );
    assert_eq!(panel.commands()[2].does, "full names");
    panel.act(PanelAction::Toggle);
    assert!(first(&panel).name.starts_with("divide_kernel("));
    panel.act(PanelAction::Toggle);
    assert!(first(&panel).variant.is_some());
}

/// Sums over the columns are the lane's busy time, however close one looks.
#[test]
fn the_timeline_loses_no_time_and_counts_none_twice() {
    let panel = ProfilePanel::new(read("json/908_results_trim400.json"));
    let timeline = &panel.timeline;
    let rows = rows(&panel.import.profile);
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
    let mut panel = ProfilePanel::new(read("rocprofv3/kernel_trace.csv"));
    go(&mut panel, "Timeline");
    assert!(!panel.act(PanelAction::Toggle), "it is whole already");
    assert!(!panel.act(PanelAction::Left));
    let whole = panel.timeline.span;
    assert!(panel.act(PanelAction::Select));
    assert_eq!(panel.timeline.span, whole / 2.0);
    assert!(panel.act(PanelAction::Bottom));
    assert_eq!(panel.timeline.from, whole / 2.0);
    assert!(!panel.act(PanelAction::Right), "there is nothing later");
    for _ in 0..60 {
        panel.act(PanelAction::Select);
    }
    assert!(panel.timeline.span >= timeline::CLOSEST);
}

#[test]
fn an_empty_profile_and_any_area_are_no_reason_to_panic() {
    let empty = || {
        let folder = tempfile::tempdir().unwrap();
        import(folder.path()).unwrap()
    };
    let panels = [
        ProfilePanel::new(empty()),
        ProfilePanel::new(read("rocprofv3/hip_api_stats.csv")).beside("nothing", empty()),
        ProfilePanel::new(read("rocprof-compute/vcopy")),
        ProfilePanel::new(read("rocprofv3")),
    ];
    for mut panel in panels {
        for _ in 0..=panel.sections.len() {
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
                    panel.render(area, &mut buffer, &Theme::new(Palette::Mono, Glyphs::ASCII));
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
    let variant = profile.variant_id(Variant::unknown(kernel));
    let process = profile.process_id("host", None);
    let lane = profile.lane_id(Lane {
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
        time: Interval::new(1_700_000_000_000_000_000, 1_700_000_000_000_010_000),
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
        profile.ceilings.push(Ceiling {
            device: 0,
            name: name.into(),
            value,
        });
    }
    import
}

#[test]
fn kernels_that_compute_are_drawn_under_the_ceilings_that_were_measured() {
    let mut panel = ProfilePanel::new(with_counters());
    go(&mut panel, "Roofline");
    let area = Rect::new(0, 0, 100, 27);
    let mut buffer = Buffer::empty(area);
    panel.render(area, &mut buffer, &Theme::default());
    let text = sheet::text(&buffer);
    // 15 625 fused multiply-adds of 64 lanes are 2e6 operations; over 6 MiB; 629 of 1389 GB/s.
    assert!(text.contains("a saxpy") && text.contains("0.32"), "{text}");
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
    let panel = ProfilePanel::new(with_counters());
    assert_eq!(panel.timeline.span, 10_000.0);
    let shares = panel.timeline.busy_shares(&panel.timeline.lanes[0], 7);
    assert!(
        (shares.iter().sum::<f64>() - 7.0).abs() < 1e-9,
        "{shares:?}"
    );
}
