use ratatui::buffer::Buffer;

use super::*;
use crate::tui::sheet;
use tinyllama_base::roofline::{Ceilings, Roof};

fn point(name: &str, flops: f64, bytes: f64, us: f64) -> Option<Point> {
    let products = name.contains("matmul");
    Point::new(name, Grain::Kernel, products, (flops, bytes), us / 1e3)
}

fn roofline() -> Roofline {
    let mut ceilings = Ceilings::default();
    for (roof, label, value, source) in [
        (Roof::Memory, "memory", 4.1e12, CeilingSource::Measured),
        (Roof::Memory, "memory", 4.8e12, CeilingSource::DataSheet),
        (
            Roof::Products,
            "bf16 products",
            650e12,
            CeilingSource::Measured,
        ),
        (Roof::Vector, "f32 vector", 50e12, CeilingSource::Measured),
    ] {
        ceilings.add(roof, label, Some(value), source);
    }
    let points = [
        point("matmul_entry_bf16_cmma", 8.6e9, 25e6, 31.0),
        point("flash_attention_forward", 270e6, 4.2e6, 12.0),
        point("rmsnorm_forward", 2.1e6, 4.2e6, 1.4),
        point("adamw", 448e6, 896e6, 260.0),
        point("gather_kernel", 0.0, 4.2e6, 11.0),
    ];
    let points = points.into_iter().flatten().collect();
    Roofline::new("v3 on NVIDIA H200", "shapes, per launch", ceilings, points)
}

fn sheet_of(panel: &RooflinePanel) -> String {
    sheet::sheet(|pane| panel.draw(pane))
}

#[test]
fn points_under_their_roof() {
    let mut panel = RooflinePanel::new(roofline());
    insta::assert_snapshot!("roof", sheet_of(&panel));
    assert!(panel.act(PanelAction::NextSection));
    assert!(panel.act(PanelAction::Down));
    insta::assert_snapshot!("roof_table", sheet_of(&panel));
}

#[test]
fn the_key_to_the_other_section_is_named_only_where_there_is_one() {
    for (width, height, is_named) in [(58, 17, true), (78, 21, false), (198, 47, false)] {
        let panel = RooflinePanel::new(roofline());
        let area = Rect::new(0, 0, width, height);
        panel.draw(Pane::new(area, &mut Buffer::empty(area), &Theme::default()));
        let mut named = panel.commands().into_iter();
        let is_there = named.any(|(action, _)| action == PanelAction::NextSection);
        assert_eq!(is_there, is_named, "at {width}x{height}");
    }
}

/// The screen agrees with the command: the vector units limit code that multiplies no matrices.
#[test]
fn the_sentence_follows_the_one_judge() {
    let panel = RooflinePanel::new(roofline());
    let said = [0, 1, 3].map(|at| panel.sentence(&panel.roofline.points[at]));
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn figures_that_are_none_and_any_area_are_no_reason_to_panic() {
    let none = [
        point("no time", 1.0, 1.0, 0.0),
        point("nan", f64::NAN, 1.0, 1.0),
        point("nothing", 0.0, 0.0, 1.0),
    ];
    assert_eq!(none, [None, None, None]);
    let only_copies = point("copy", 0.0, 1e6, 1.0).into_iter().collect();
    let only_copies = Roofline::new("", "", Ceilings::default(), only_copies);
    for mut panel in [
        RooflinePanel::new(roofline()),
        RooflinePanel::new(only_copies),
        RooflinePanel::new(Roofline::default()),
    ] {
        for action in [
            PanelAction::Bottom,
            PanelAction::NextSection,
            PanelAction::Right,
        ] {
            panel.act(action);
            for (width, height) in [(0, 0), (1, 1), (30, 5), (60, 9), (200, 2), (150, 50)] {
                let area = Rect::new(0, 0, width, height);
                let mut buffer = Buffer::empty(area);
                let theme = Theme::new(true, true);
                panel.draw(Pane::new(area, &mut buffer, &theme));
            }
        }
        panel.commands();
    }
}

#[test]
fn the_command_line_prints_the_same_picture() {
    let text = picture_in_ascii(&roofline(), 100, 22).unwrap();
    insta::assert_snapshot!(text);
    assert!(
        text.is_ascii() && text.lines().all(|line| line.len() <= 100),
        "{text}"
    );
    let nothing = Roofline::new("", "", Ceilings::default(), vec![]);
    assert_eq!(picture_in_ascii(&nothing, 100, 22), None);
}
