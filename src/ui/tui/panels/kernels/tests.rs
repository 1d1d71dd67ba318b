use ratatui::prelude::{Buffer, Rect};
use tinyllama_kernel_catalog::{KERNELS, KernelPass};

use super::*;
use crate::tui::sheet;

/// Entries defined by the tests, so that a snapshot does not change with every kernel.
fn entries() -> Vec<KernelEntry> {
    static RMSNORM: KernelDescriptor = KernelDescriptor {
        name: "rmsnorm",
        summary: "x / sqrt(mean(x²) + ε) · weight, one team of units a row",
        launches: "1 forward, 2 backward",
        shape: "rows (tokens) of width features, s bytes an element",
        passes: &[
            pass(
                "forward",
                [
                    "(rows * width + width) * s",
                    "rows * width * s",
                    "4 * rows * width",
                ],
            ),
            pass(
                "backward",
                [
                    "2 * rows * width * s",
                    "rows * width * s",
                    "11 * rows * width",
                ],
            ),
        ],
        block: &[["units_per_row", "units that share a row; a power of two"]],
        ..*KERNELS[0]
    };
    static FLASH_ATTENTION: KernelDescriptor = KernelDescriptor {
        name: "flash_attention",
        summary: "causal attention over grouped heads; scores never leave the chip",
        ..*KERNELS[0]
    };
    const fn pass(name: &'static str, formulas: [&'static str; 3]) -> KernelPass {
        KernelPass {
            name,
            formulas,
            ..KERNELS[0].passes[0]
        }
    }
    let file = |name: &str, text: &str| SourceFile {
        name: name.into(),
        language: "rust",
        text: text.into(),
    };
    let files = vec![
        file(
            "kernels.rs",
            "#[cube(launch)]\nfn rmsnorm_forward<F: Float>(x: &Tensor<F>) {\n    // One team a row.\n    let row = CUBE_POS * 4 + UNIT_POS_Y;\n}\n",
        ),
        file(
            "catalog/mod.rs",
            "//! RMSNorm: every row divided by its root mean square.\n//!\n//! `y = x · w · s` with `s = 1 / sqrt(mean(x²) + ε)`. The work is all traffic: a row is read once and written once.\n\nmod kernels;\n",
        ),
    ];
    [&RMSNORM, &FLASH_ATTENTION]
        .map(|kernel| KernelEntry {
            kernel,
            files: files.clone(),
        })
        .into()
}

fn sheet_of(panel: &KernelsPanel) -> String {
    sheet::sheet(|pane| panel.draw(pane))
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
    assert_eq!(panel.source().unwrap().name, "catalog/mod.rs");
    assert!(panel.act(PanelAction::NextSection));
    assert!(panel.act(PanelAction::Down));
    assert_eq!(
        (panel.cursor.row, panel.file),
        (1, 0),
        "another kernel begins with its first file"
    );
    assert!(!panel.act(PanelAction::Down));
}

#[test]
fn what_a_kernel_does_is_whole_in_the_list_at_every_size() {
    let panel = KernelsPanel::new(kernels());
    // Within the frame of the smallest terminal, and of the usual ones.
    for (width, height) in [(58, 17), (78, 21), (118, 37), (198, 47)] {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        panel.draw(Pane::new(area, &mut buffer, &Theme::default()));
        let shown = sheet::text(&buffer);
        for kernel in KERNELS {
            let words: Vec<&str> = kernel.summary.split(' ').collect();
            let column = shown
                .lines()
                .next()
                .and_then(|line| line.find("what it does"));
            let column = column.expect("the column");
            // Only this column of the list, without the facts below it.
            let cells = shown.lines().take_while(|line| !line.is_empty());
            let cells = cells.map(|line| line.chars().skip(column).collect::<String>());
            let cells: Vec<String> = cells.collect();
            let cells = cells.join(" ");
            let cells: Vec<&str> = cells.split_whitespace().collect();
            let mut next = cells.iter();
            // The launches of a row may stand between two lines of it.
            let is_whole = words.iter().all(|word| next.any(|cell| cell == word));
            assert!(
                is_whole && !shown.contains('…'),
                "{words:?} at {width}:\n{shown}"
            );
        }
    }
}

#[test]
fn every_kernel_of_this_project_is_drawn_at_any_size() {
    let mut panel = KernelsPanel::new(kernels());
    for number in 1..=panel.kernels.len() {
        assert!(!panel.kernel().unwrap().about().is_empty());
        for section in 0..SECTIONS {
            panel.section.at = section;
            panel.act(PanelAction::Bottom);
            for (width, height) in [(0, 0), (1, 1), (30, 5), (60, 17), (120, 3)] {
                let area = Rect::new(0, 0, width, height);
                let mut buffer = Buffer::empty(area);
                let theme = Theme::new(true, true);
                panel.draw(Pane::new(area, &mut buffer, &theme));
                assert!(sheet::text(&buffer).is_ascii());
            }
        }
        panel.section.at = LIST_OF_ALL;
        panel.act(PanelAction::Top);
        for _ in 0..number {
            panel.act(PanelAction::Down);
        }
    }
    let mut none = KernelsPanel::new(vec![]);
    none.act(PanelAction::Select);
    none.act(PanelAction::Toggle);
    none.act(PanelAction::Toggle);
    let mut buffer = Buffer::empty(Rect::new(0, 0, 40, 5));
    none.draw(Pane::new(buffer.area, &mut buffer, &Theme::default()));
}
