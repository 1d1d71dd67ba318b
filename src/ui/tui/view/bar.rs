//! The command bar: the actions that are possible now, with their keys from the key map.

use ratatui::text::{Line, Span};

use crate::tui::update::primary::{Primary, primary};
use crate::tui::update::scroll::is_searching;
use crate::tui::{Area, FocusedScreen, Model, OpenStep, Overlay, Pane, Panel, RunPhase};
use tinyllama_tutor_core::document::{Figures, PrimaryAction};
use tinyllama_tutor_core::{Action, PanelAction, behavior};

/// A key and the description of its action.
type BarEntry = (String, &'static str);

pub fn draw(model: &Model, mut pane: Pane) {
    let mut spans: Vec<Span> = vec![Span::raw(" ")];
    let mut width = 1;
    for (key, does) in commands(model) {
        width += key.chars().count() + does.chars().count() + 3;
        if width > pane.width() {
            break;
        }
        spans.push(Span::styled(key, model.theme.accent()));
        spans.push(Span::raw(format!(" {does}  ")));
    }
    pane.put([Line::from(spans)]);
}

/// Most useful first. Keys that do not fit are only on the help page; the help key itself always fits.
pub fn commands(model: &Model) -> Vec<BarEntry> {
    let fixed: &[(&str, &'static str)] = match &model.overlay {
        Some(Overlay::Ask(ask)) if ask.has_lines => {
            &[("esc", "keep and close"), ("ctrl-c", "leave unchanged")]
        }
        Some(Overlay::Ask(_)) => &[("enter", "take it"), ("esc", "leave it")],
        Some(Overlay::Palette(palette)) if palette.list.takes_marks() => &[
            ("up/down", "choose"),
            ("enter", "go"),
            ("space", "mark to copy together"),
            ("?", "help"),
            ("esc", "close"),
        ],
        Some(Overlay::Palette(_)) => &[
            ("up/down", "choose"),
            ("enter", "go"),
            ("?", "help"),
            ("esc", "close"),
        ],
        Some(Overlay::Confirm(_)) => &[("y", "yes"), ("any other key", "no")],
        Some(Overlay::Panel(_)) | None => &[],
    };
    if !fixed.is_empty() {
        let fixed = fixed.iter();
        return fixed.map(|(key, does)| (key.to_string(), *does)).collect();
    }
    let mut list = BarEntries(model, Vec::new());
    if let Some(panel) = model.top_panel() {
        let close = match model.covered_panels.is_empty() {
            true => "close",
            false => "back",
        };
        if panel.area() == Area::Welcome {
            list.usual(Area::Welcome, &[Action::Begin, Action::Close]);
            list.usual(Area::Everywhere, &[Action::Help, Action::Quit]);
            return list.1;
        }
        if let Some(does) = panel.on_enter() {
            list.1.push(("enter".into(), does));
        }
        list.add(panel.area(), Action::Close, close);
        list.panel(panel);
        if panel.area() == Area::Page {
            list.usual(Area::Page, &[Action::Search]);
            if panel.text().is_some_and(|text| text.contains("](")) {
                list.usual(Area::Page, &[Action::Follow]);
            }
        }
        return list.1;
    }
    match model.screen {
        FocusedScreen::Outline => {
            list.usual(Area::Outline, &[Action::Open]);
            list.add(Area::Outline, Action::Continue, "continue");
        }
        FocusedScreen::Step => step(&mut list),
    }
    let rest = list.1.split_off(list.1.len().min(2));
    list.usual(Area::Everywhere, &[Action::Help]);
    list.1.extend(rest);
    let last = [Action::Quit, Action::Outline, Action::Palette];
    list.usual(Area::Everywhere, &last);
    list.1
}

struct BarEntries<'a>(&'a Model, Vec<BarEntry>);

impl BarEntries<'_> {
    /// Adds an action, if it has a key.
    fn add(&mut self, area: Area, action: Action, does: &'static str) {
        let key = self.0.keys.shown(area, action);
        if !key.is_empty() {
            self.1.push((key, does));
        }
    }

    /// Adds actions with their default descriptions.
    fn usual(&mut self, area: Area, actions: &[Action]) {
        for binding in actions
            .iter()
            .filter_map(|action| self.0.keys.binding(area, *action))
        {
            self.add(area, binding.action, binding.does);
        }
    }

    /// Adds the actions of a panel.
    fn panel(&mut self, panel: &dyn Panel) {
        for (action, does) in panel.commands() {
            self.add(panel.area(), Action::Move(action), does);
        }
    }
}

fn step(list: &mut BarEntries) {
    let model = list.0;
    let Some(here) = model.open_step(&model.course) else {
        return;
    };
    let run = model.run_at(&here.at);
    let is_alive = run.is_some_and(|run| !matches!(run.phase, RunPhase::Over(_)));
    let behavior = behavior(here.step);
    let is_kernel = behavior.figures() == Some(Figures::Kernel);
    let actions = behavior.actions();
    if model.has_panel_open() {
        return beside_panel(list, &here, is_alive, is_kernel);
    }
    if is_searching(model) {
        list.1.push(("n/N".into(), "matches"));
        list.1.push(("esc".into(), "end the search"));
    }
    let is_longer = model
        .step
        .as_ref()
        .is_some_and(|view| view.scroll.hidden().1 > 0);
    let primary = primary(model, &here);
    // Enter is named below, also where it reads on.
    let reads_on = |primary: &Primary| matches!(primary, Primary::Do("read on", _));
    if is_longer && !primary.as_ref().is_some_and(reads_on) {
        list.add(Area::Step, Action::Forward, "read on");
    }
    let chosen = model.step.as_ref().and_then(|view| view.choice).is_some();
    let action = model.context(&here).map(|context| context.document().1);
    match (action, &primary) {
        // Enter does nothing before the learner has chosen.
        (Some(PrimaryAction::Choose { by_digit: true, .. }), Some(Primary::Do(..))) if !chosen => {
            list.1.push(("1-9".into(), "choose"));
        }
        (_, Some(primary)) => list.add(Area::Step, Action::Act, primary.label()),
        _ => {}
    }
    let add = |list: &mut BarEntries, action, does| list.add(Area::Step, action, does);
    if is_alive {
        add(list, Action::Stop, "stop");
    }
    if !here.step.hints.is_empty() {
        add(list, Action::Hint, "hint");
    }
    let is_next = matches!(primary, Some(Primary::Next));
    let is_offered = |action| match action {
        Action::View => {
            run.is_some_and(|run| run.phase != RunPhase::Queued)
                || model.step.as_ref().is_some_and(|it| it.panel.is_some())
        }
        Action::Again => run.is_some() && !is_alive && is_next,
        Action::Play => !model.may_have_gpu && model.recording_at(&here.at).is_some(),
        Action::Follow => here.step.text.contains("]("),
        _ => true,
    };
    for (action, does) in actions.iter().filter(|(action, _)| is_offered(*action)) {
        let area = match action {
            Action::Copy => Area::Everywhere,
            _ => Area::Step,
        };
        list.add(area, *action, does);
    }
    if !here.step.checks.is_empty() && !is_alive {
        add(list, Action::Check, "check");
    }
    if !is_next {
        add(list, Action::Next, "next");
    }
    add(list, Action::Previous, "back");
}

/// The actions of a step next to its panel.
fn beside_panel(list: &mut BarEntries, here: &OpenStep, is_alive: bool, is_kernel: bool) {
    let model = list.0;
    let panel = model.step_panel();
    let selects = panel.is_some_and(|panel| {
        let mut commands = panel.commands().into_iter();
        commands.any(|(action, _)| action == PanelAction::Select)
    });
    let primary = primary(model, here).filter(|_| !is_alive && !selects);
    let is_next = matches!(primary, Some(Primary::Next));
    let opens = |primary: &Primary| is_kernel && !matches!(primary, Primary::Next);
    if let Some(primary) = primary.filter(|primary| !opens(primary)) {
        list.add(Area::Step, Action::Act, primary.label());
    }
    if is_kernel {
        list.add(Area::Step, Action::Edit, "edit");
        list.add(Area::Step, Action::Hint, "hint");
    }
    list.add(Area::Panel, Action::Close, "text");
    match is_alive {
        true => list.add(Area::Step, Action::Stop, "stop"),
        false if model.run_at(&here.at).is_some() => {
            list.add(Area::Step, Action::Again, "run again")
        }
        false => {}
    }
    if let Some(panel) = panel {
        list.panel(panel);
    }
    let actions = behavior(here.step).actions();
    let of_kernel = actions.iter().filter(|(action, _)| *action != Action::Edit);
    for (action, does) in of_kernel.filter(|_| is_kernel) {
        list.add(Area::Step, *action, does);
    }
    // Where Enter goes on, it is named above.
    if !is_alive && !is_next {
        list.usual(Area::Step, &[Action::Next]);
    }
}
