use ratatui::prelude::{Buffer, Rect};

use super::*;
use crate::tui::{Theme, sheet};

const REPORT: &str = "# Session report

Learner **ada**, workshop *GPU performance on a tiny LLaMA*.

## First baseline

You said 30 ms, measured was **31.4 ms** (95 % within 31.0 to 31.8).

| version | step | launches |
|---|---:|---:|
| v1 | 31.4 ms | 2803 |
| v2 | 21.2 ms | 1033 |

- passed: v2 is faster than v1
- not yet: memory below 500 MiB

```sh
tinyllama-tutor run v2 --num-steps 40
```
";

fn panel() -> ReportPanel {
    ReportPanel::new(REPORT.into(), PathBuf::from("reports/ada/report.md"))
}

#[test]
fn a_report_is_shown_with_the_place_it_goes_to() {
    let panel = panel();
    let sheet = sheet::sheet(|pane| panel.draw(pane));
    insta::assert_snapshot!("report", sheet);
}

#[test]
fn it_scrolls_to_its_end_and_no_further_at_any_size() {
    let mut panel = panel();
    assert!(panel.act(PanelAction::Bottom));
    assert!(!panel.act(PanelAction::Down));
    let area = Rect::new(0, 0, 60, 6);
    let mut buffer = Buffer::empty(area);
    panel.draw(Pane::new(area, &mut buffer, &Theme::default()));
    let text = sheet::text(&buffer);
    assert!(text.contains("100 %"), "{text}");
    assert!(
        text.lines()
            .last()
            .is_some_and(|line| line.contains("num-steps")),
        "{text}"
    );
    assert!(panel.act(PanelAction::Top));
    for (width, height) in [(0, 0), (1, 1), (5, 40), (200, 2)] {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        let theme = Theme::new(true, true);
        panel.draw(Pane::new(area, &mut buffer, &theme));
    }
    let mut empty = ReportPanel::new(String::new(), PathBuf::new());
    let mut buffer = Buffer::empty(area);
    empty.draw(Pane::new(area, &mut buffer, &Theme::default()));
    assert!(!empty.act(PanelAction::Down));
}
