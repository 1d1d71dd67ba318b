//! The help page, made from the key map. Help for the current area comes first.

use ratatui::text::{Line, Span};

use crate::tui::update::primary::primary;
use crate::tui::view::bar::commands;
use crate::tui::{Area, Effects, Model, PageText, TextPage, wrap_plain};
use tinyllama_tutor_core::Action;

const TITLE: &str = "Help";

/// Columns of the keys.
const KEYS: usize = 20;

/// Columns of frame and margin around the text.
const MARGIN: u16 = 6;

pub fn open(model: &mut Model) -> Effects {
    if model
        .top_panel()
        .is_some_and(|panel| panel.title() == TITLE)
    {
        // The key that opened the page closes it, too.
        model.pop_overlay();
        return None;
    }
    let page = TextPage::new(TITLE, PageText::Lines(lines(model)));
    model.open(page)
}

fn lines(model: &Model) -> Vec<Line<'static>> {
    let theme = &model.theme;
    let width = usize::from(model.size.0.saturating_sub(MARGIN));
    let here = model.areas();
    // A panel says what its keys do there.
    let panel = model.top_panel().or_else(|| model.step_panel());
    let own = panel.map(|panel| panel.commands()).unwrap_or_default();
    let mut lines = Vec::new();
    if let Some(area) = here.first() {
        lines.extend(wrap_plain(&about(*area, model), width, theme.text()));
        lines.push(Line::default());
    }
    // All that the command bar may have no room for.
    lines.push(Line::styled("Here", theme.heading()));
    for (key, does) in commands(model) {
        let key = Span::styled(format!("  {key:<KEYS$} "), theme.accent());
        lines.push(Line::from(vec![key, Span::raw(does)]));
    }
    lines.push(Line::default());
    let others = Area::ALL.into_iter().filter(|area| !here.contains(area));
    for area in here.iter().copied().chain(others) {
        lines.push(Line::styled(area.title(), theme.heading()));
        for binding in model
            .keys
            .bindings_in(area)
            .filter(|it| !it.keys.is_empty())
        {
            let keys: Vec<String> = binding.keys.iter().map(ToString::to_string).collect();
            let keys = format!("  {:<KEYS$} ", keys.join(", "));
            let own = own
                .iter()
                .find(|(action, _)| area == Area::Panel && binding.action == Action::Move(*action));
            let does = Span::raw(own.map_or(binding.does, |(_, does)| *does));
            lines.push(Line::from(vec![Span::styled(keys, theme.accent()), does]));
        }
        lines.push(Line::default());
    }
    let end = "A digit goes to a choice of a question.\nThe keys can be changed in tinyllama-tutor/keys.yaml in your \
               configuration folder, such as";
    lines.extend(wrap_plain(end, width, theme.text()));
    let example = "  step: { next: [n, ctrl-n] }";
    lines.push(Line::styled(example, theme.code()));
    lines
}

/// Describes what the learner can do in an area.
fn about(area: Area, model: &Model) -> String {
    match area {
        Area::Outline => "Sessions, their lessons, and the steps of one of them. Enter lists a lesson's steps, and opens it \
                          when pressed again. A lesson that opens after others names them, in its row or below the list."
            .into(),
        Area::Step => {
            let here = model.open_step(&model.course);
            let does = here.and_then(|here| Some(primary(model, &here)?.label()));
            let does = does.unwrap_or("wait for what is running");
            format!(
                "A step of a lesson. Space reads on. Enter does what the step needs now: {does}. Nothing \
                 is lost by leaving: every answer, guess and run is kept."
            )
        }
        Area::Panel => "Figures. Tab turns to the next section, the arrows move through tables and pictures, Esc goes back."
            .into(),
        Area::Page => "A page to read. Space turns it, / searches, L follows its links, Esc goes back.".into(),
        Area::Welcome | Area::Everywhere => String::new(),
    }
}
