use super::*;
use crate::tui::sheet;
use crate::tui::theme::{Glyphs, Palette};

/// Entries of the tests' own, so that a snapshot does not change with every kernel.
fn entries() -> Vec<KernelEntry> {
    let file = |name: &str, text: &str| SourceFile {
        name: name.into(),
        language: "rust".into(),
        text: text.into(),
    };
    let entry = |name: &str, summary: &str| KernelEntry {
        name: name.into(),
        summary: summary.into(),
        launches: "1 forward, 2 backward".into(),
        shape: "R rows (tokens) of W features, s bytes an element".into(),
        costs: vec![
            PassCost {
                pass: "forward".into(),
                bytes: "(2 R W + W) s".into(),
                flops: "4 R W + 3 R".into(),
            },
            PassCost {
                pass: "backward".into(),
                bytes: "(3 R W + 2 W) s".into(),
                flops: "11 R W + 8 R".into(),
            },
        ],
        tunables: vec![Tunable {
            name: "units_per_row".into(),
            means: "units that share a row; a power of two".into(),
        }],
        files: vec![
            file(
                "kernels.rs",
                "#[cube(launch)]\nfn rmsnorm_forward<F: Float>(x: &Tensor<F>) {\n    // One team a row.\n    let row = CUBE_POS * 4 + UNIT_POS_Y;\n}\n",
            ),
            file(
                "mod.rs",
                "//! RMSNorm: every row divided by its root mean square.\n//!\n//! `y = x · w · s` with `s = 1 / sqrt(mean(x²) + ε)`. The work is all traffic: a row is read once and written once.\n\nmod kernels;\n",
            ),
        ],
    };
    vec![
        entry(
            "rmsnorm",
            "x / sqrt(mean(x^2) + eps) * weight, one team of units a row",
        ),
        entry(
            "flash_attention",
            "causal attention over grouped heads; scores never leave the chip",
        ),
    ]
}

fn sheet_of(panel: &KernelsPanel) -> String {
    sheet::sheet(|area, buffer, theme| panel.render(area, buffer, theme))
}

#[test]
fn kernels_listed_described_and_shown_in_source() {
    let mut panel = KernelsPanel::new(entries());
    insta::assert_snapshot!("list", sheet_of(&panel));
    assert!(panel.act(PanelAction::Select));
    insta::assert_snapshot!("about", sheet_of(&panel));
    assert!(panel.act(PanelAction::Select));
    insta::assert_snapshot!("source", sheet_of(&panel));
    assert!(panel.act(PanelAction::Toggle));
    assert_eq!(panel.source().unwrap().name, "mod.rs");
    assert!(panel.act(PanelAction::NextSection));
    assert!(panel.act(PanelAction::Down));
    assert_eq!(
        (panel.selected, panel.file),
        (1, 0),
        "another kernel begins with its first file"
    );
    assert!(!panel.act(PanelAction::Down));
}

#[test]
fn every_kernel_of_this_project_is_drawn_at_any_size() {
    let mut panel = KernelsPanel::new(kernels());
    for _ in 0..panel.kernels.len() {
        assert!(!panel.kernel().unwrap().about().is_empty());
        for section in [Section::List, Section::About, Section::Source] {
            panel.section = section;
            panel.act(PanelAction::Bottom);
            for (width, height) in [(0, 0), (1, 1), (30, 5), (60, 17), (120, 3)] {
                let area = Rect::new(0, 0, width, height);
                let mut buffer = Buffer::empty(area);
                panel.render(area, &mut buffer, &Theme::new(Palette::Mono, Glyphs::ASCII));
                assert!(sheet::text(&buffer).is_ascii());
            }
        }
        let next = panel.selected + 1;
        panel.select(next);
    }
    let mut none = KernelsPanel::new(vec![]);
    none.act(PanelAction::Select);
    none.act(PanelAction::Toggle);
    none.act(PanelAction::Toggle);
    let mut buffer = Buffer::empty(Rect::new(0, 0, 40, 5));
    none.render(buffer.area, &mut buffer, &Theme::default());
}
