use super::*;
use crate::tui::sheet;
use crate::tui::theme::{Glyphs, Palette};

fn point(name: &str, flops: f64, bytes: f64, us: f64) -> Point {
    Point {
        name: name.into(),
        flops,
        bytes,
        seconds: us * 1e-6,
        compute: None,
        advice: None,
    }
}

fn input() -> RooflineInput {
    let mut gemm = point("matmul_entry_bf16_cmma", 8.6e9, 25e6, 31.0);
    gemm.advice = Some("a larger batch: its tiles do not fill the device".into());
    RooflineInput {
        device: "NVIDIA H200".into(),
        ceilings: vec![
            Ceiling {
                name: "memory".into(),
                limit: Limit::Bandwidth(4.1e12),
                origin: Origin::Measured,
            },
            Ceiling {
                name: "memory".into(),
                limit: Limit::Bandwidth(4.8e12),
                origin: Origin::DataSheet,
            },
            Ceiling {
                name: "bf16 matrix".into(),
                limit: Limit::Compute(650e12),
                origin: Origin::Measured,
            },
        ],
        points: vec![
            gemm,
            point("flash_attention_forward", 270e6, 4.2e6, 12.0),
            point("rmsnorm_forward", 2.1e6, 4.2e6, 1.4),
            point("adamw", 448e6, 896e6, 260.0),
            point("gather_kernel", 0.0, 4.2e6, 11.0),
        ],
        work: "shapes, per launch".into(),
    }
}

fn sheet_of(panel: &RooflinePanel) -> String {
    sheet::sheet(|area, buffer, theme| panel.render(area, buffer, theme))
}

#[test]
fn points_under_their_roof() {
    let mut panel = RooflinePanel::new(input());
    insta::assert_snapshot!("roof", sheet_of(&panel));
    assert!(panel.act(PanelAction::NextSection));
    assert!(panel.act(PanelAction::Down));
    insta::assert_snapshot!("roof_table", sheet_of(&panel));
}

/// By hand: adamw moves 896 MB in 260 us = 3.446 TB/s of 4.1; the product reaches 8.6e9/31e-6 = 277 of 650 TFLOP/s.
#[test]
fn a_point_is_held_against_the_limit_it_is_nearest_to() {
    let input = input();
    let judge = |at: usize| input.judge(&input.points[at]).unwrap();
    assert_eq!(judge(3).bound, Bound::Memory);
    assert!((judge(3).reached - 896e6 / 260e-6 / 4.1e12).abs() < 1e-9);
    assert_eq!(
        judge(3).ceiling.origin,
        Origin::Measured,
        "what was measured counts before what is promised"
    );
    assert_eq!(judge(0).bound, Bound::Compute);
    assert!((judge(0).reached - 8.6e9 / 31e-6 / 650e12).abs() < 1e-9);
    assert_eq!(
        judge(1).bound,
        Bound::Neither,
        "350 GB/s and 22 TFLOP/s are far from both"
    );
    assert_eq!(judge(4).bound, Bound::Neither);
    let no_ceilings = RooflineInput {
        ceilings: vec![],
        ..input.clone()
    };
    assert_eq!(no_ceilings.judge(&input.points[0]), None);
}

#[test]
fn figures_that_are_none_and_any_area_are_no_reason_to_panic() {
    let mut broken = input();
    broken.points.extend([
        point("no time", 1.0, 1.0, 0.0),
        point("nan", f64::NAN, 1.0, 1.0),
        point("nothing", 0.0, 0.0, 1.0),
    ]);
    broken.ceilings.push(Ceiling {
        name: "zero".into(),
        limit: Limit::Compute(0.0),
        origin: Origin::DataSheet,
    });
    let panel = RooflinePanel::new(broken);
    assert_eq!(panel.input.points.len(), 5);
    let only_copies = RooflineInput {
        points: vec![point("copy", 0.0, 1e6, 1.0)],
        ..RooflineInput::default()
    };
    for mut panel in [
        panel,
        RooflinePanel::new(only_copies),
        RooflinePanel::new(RooflineInput::default()),
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
                panel.render(area, &mut buffer, &Theme::new(Palette::Mono, Glyphs::ASCII));
            }
        }
        panel.commands();
    }
}
