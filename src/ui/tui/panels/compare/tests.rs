use ratatui::prelude::{Buffer, Rect};

use super::*;
use crate::tui::sheet;
use tinyllama_runs::Line as RunLine;
use tinyllama_runs::read_line;

/// A run whose steps take `ms` with a variation of `spread`, with or without parts.
fn run(ms: f64, spread: f64, parts: bool, seed: u64) -> Measurements {
    let mut state = seed;
    let mut events = Vec::new();
    let mut take = |line: String| {
        let RunLine::Event(event) = read_line(&line) else {
            panic!("{line}");
        };
        events.push(*event);
    };
    for n in 1..=60 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let wobble = ((state >> 33) as f64 / f64::from(1u32 << 31) - 0.5) * spread;
        let total = ms + wobble;
        let part = |share: f64| {
            if parts {
                format!("{}", share * total)
            } else {
                "null".to_owned()
            }
        };
        take(format!(
            r#"{{"t":{n},"event":"step","n":{n},"of":60,"measured":true,"loss":6.5,"total_ms":{total},"forward_ms":{},"backward_ms":{},"optimizer_ms":{},"synchronized":true,"launches":null,"bytes_in_use":null,"bytes_reserved":null,"samples_per_s":{}}}"#,
            part(0.3),
            part(0.55),
            part(0.1),
            8000.0 / total
        ));
    }
    let launches = if parts { "1033.0" } else { "null" };
    take(format!(
        r#"{{"t":99,"event":"summary","complete":true,"steps":60,"measured_steps":60,"samples":480,"samples_per_s":{},"tokens_per_s":null,"total_ms":null,"forward_ms":null,"backward_ms":null,"optimizer_ms":null,"synchronized":true,"first_step_ms":900.0,"launches_per_step":{launches},"peak_bytes_in_use":547608330,"peak_bytes_reserved":null,"first_loss":6.9,"final_loss":2.31,"parameters":100,"parameter_tensors":74,"parameters_with_gradient":74,"repeatability":null}}"#,
        8000.0 / ms
    ));
    Measurements::collect(&events)
}

fn compared(label: &str, repeats: Vec<Measurements>) -> ComparedRun {
    ComparedRun {
        label: label.into(),
        repeats,
        recorded: None,
        setup: Vec::new(),
        rounds: 0,
    }
}

/// Runs that took turns with the first one.
fn in_turns(label: &str, repeats: Vec<Measurements>) -> ComparedRun {
    ComparedRun {
        rounds: repeats.len(),
        ..compared(label, repeats)
    }
}

#[test]
fn the_same_command_is_never_called_faster() {
    let of = |ms, seed| ComparedRun {
        setup: vec!["run".into(), "v1".into()],
        ..in_turns(
            "baseline",
            (seed..seed + 3)
                .map(|seed| run(ms, 1.0, true, seed))
                .collect(),
        )
    };
    let drawn = |other: ComparedRun| {
        let panel = ComparePanel::new(vec![of(31.4, 1), other], vec![]);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 120, 30));
        let theme = Theme::new(true, true);
        panel.draw(Pane::new(buffer.area, &mut buffer, &theme));
        sheet::text(&buffer)
    };
    let same = drawn(of(15.7, 2));
    assert!(
        same.contains("differs") && !same.contains("faster"),
        "{same}"
    );
    let changed = ComparedRun {
        setup: vec!["run".into(), "v2".into()],
        ..of(15.7, 2)
    };
    assert!(drawn(changed.clone()).contains("faster"));
    let apart = drawn(ComparedRun {
        rounds: 2,
        ..changed
    });
    assert!(
        !apart.contains("faster") && apart.contains("not in turns"),
        "{apart}"
    );
}

fn panel() -> ComparePanel {
    ComparePanel::new(
        vec![
            compared("Run the baseline", vec![run(31.4, 1.0, true, 1)]),
            compared(
                "Fuse everything that can be fused",
                vec![run(21.2, 1.0, true, 2)],
            ),
            compared("v2, once more", vec![run(31.35, 6.0, false, 3)]),
        ],
        vec![],
    )
}

fn sheet_of(panel: &ComparePanel) -> String {
    sheet::sheet(|pane| panel.draw(pane))
}

#[test]
fn three_runs_side_by_side() {
    let mut panel = panel();
    insta::assert_snapshot!("three_runs", sheet_of(&panel));
    assert!(panel.act(PanelAction::NextSection));
    insta::assert_snapshot!("three_runs_as_bars", sheet_of(&panel));
}

#[test]
fn a_faster_run_in_turns_is_called_faster_and_noise_is_not() {
    let thrice = |ms, spread, parts, seed: u64| {
        let repeats = (seed..seed + 3).map(|seed| run(ms, spread, parts, seed));
        in_turns("run", repeats.collect())
    };
    let runs = vec![
        thrice(31.4, 1.0, true, 1),
        thrice(21.2, 1.0, true, 4),
        thrice(31.35, 6.0, false, 7),
    ];
    let panel = ComparePanel::new(runs, vec![]);
    let table = panel.table(0, &Theme::default());
    let text = |row: usize, column: usize| table.rows[row][column].text.clone();
    assert!(
        text(0, 3).starts_with("0.67") || text(0, 3).starts_with("0.68"),
        "{}",
        text(0, 3)
    );
    assert!(text(0, 3).ends_with("faster"), "{}", text(0, 3));
    assert!(
        !text(0, 5).contains("faster") && !text(0, 5).contains("slower"),
        "{}",
        text(0, 5)
    );
    assert_eq!(text(1, 4), "not reported", "forward of a run without parts");
    assert_eq!(text(5, 1), "1033 launches");
    assert_eq!(text(5, 5), "-");
}

#[test]
fn two_runs_and_the_figures_a_lesson_names() {
    let runs = vec![
        in_turns(
            "v1",
            vec![
                run(31.4, 1.0, true, 1),
                run(31.0, 1.0, true, 4),
                run(31.8, 1.0, true, 5),
            ],
        ),
        in_turns(
            "v2",
            vec![
                run(21.2, 1.0, true, 2),
                run(21.4, 1.0, true, 6),
                run(21.3, 1.0, true, 7),
            ],
        ),
    ];
    let mut panel = ComparePanel::new(runs, vec![Metric::TotalMs, Metric::PeakBytesInUse]);
    insta::assert_snapshot!("two_runs", sheet_of(&panel));
    assert!(panel.act(PanelAction::Down));
    assert!(!panel.act(PanelAction::Down), "there are only two figures");
}

#[test]
fn nothing_to_compare_and_any_area_are_no_reason_to_panic() {
    let panels = [
        ComparePanel::new(vec![], vec![]),
        ComparePanel::new(vec![compared("v1", vec![])], vec![]),
        ComparePanel::new(vec![compared("v1", vec![Measurements::default()])], vec![]),
        panel(),
    ];
    for mut panel in panels {
        for action in [
            PanelAction::Bottom,
            PanelAction::Right,
            PanelAction::NextSection,
        ] {
            panel.act(action);
            for (width, height) in [(0, 0), (1, 1), (30, 5), (60, 9), (200, 2)] {
                let area = Rect::new(0, 0, width, height);
                let mut buffer = Buffer::empty(area);
                let theme = Theme::new(true, true);
                panel.draw(Pane::new(area, &mut buffer, &theme));
            }
        }
    }
}

#[test]
fn a_recording_is_named_and_not_held_against_a_run_made_here() {
    let thrice = |ms, seed: u64| {
        (seed..seed + 3)
            .map(|seed| run(ms, 1.0, true, seed))
            .collect()
    };
    let mut runs = vec![
        in_turns("Run the baseline", thrice(31.4, 1)),
        in_turns("Fuse it", thrice(21.2, 4)),
    ];
    let drawn = |runs: &[ComparedRun]| {
        let area = Rect::new(0, 0, 100, 40);
        let mut buffer = Buffer::empty(area);
        let theme = Theme::default();
        let pane = Pane::new(area, &mut buffer, &theme);
        ComparePanel::new(runs.to_vec(), vec![]).draw(pane);
        sheet::text(&buffer)
    };
    let before = drawn(&runs);
    assert!(
        before.contains("faster") && !before.contains("recording"),
        "{before}"
    );
    runs[1].recorded = Some("NVIDIA H200, 21 November 2026".into());
    let mixed = drawn(&runs);
    assert!(
        mixed.contains("Fuse it: recording: NVIDIA H200, 21 November 2026"),
        "{mixed}"
    );
    assert!(!mixed.contains("faster"), "{mixed}");
    runs[0].recorded = runs[1].recorded.clone();
    assert!(drawn(&runs).contains("faster"));
}
