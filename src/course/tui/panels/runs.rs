//! Lists the runs of this session and of commands, newest first. The learner can open any run and compare any two.

use crate::lesson::Verdict;
use crate::recording::label;
use crate::run::{FinishedRun, RunExit};
use crate::session::stored_runs::kept;
use crate::session::{StoredRun, read_only};
use crate::tui::{
    Action, Cell, ComparePanel, ComparedRun, Cursor, Effect, Effects, Handler, KeyBinding, Message,
    Model, Pane, Panel, PanelAction, PanelCommand, RunContext, RunView, Snippet, TableView,
    TaskContext, Tone, milliseconds, paragraph,
};
use tinyllama_base::Align;

pub const PANEL: KeyBinding = (
    Action::Panel("runs"),
    "H",
    "runs so far",
    Handler::Any(open),
);

#[derive(Debug, Default)]
pub struct RunsPanel {
    /// Newest first.
    runs: Vec<StoredRun>,
    cursor: Cursor,
    /// The run that the next one is compared with.
    marked: Option<usize>,
}

impl RunsPanel {
    pub fn new(runs: Vec<StoredRun>) -> Self {
        Self {
            runs,
            ..Self::default()
        }
    }

    fn selected(&self) -> Option<&StoredRun> {
        self.runs.get(self.cursor.row)
    }

    /// The marked run and the selected one, if they are two different runs.
    fn pair(&self) -> Option<(&StoredRun, &StoredRun)> {
        let marked = self.marked.filter(|marked| *marked != self.cursor.row)?;
        Some((self.runs.get(marked)?, self.selected()?))
    }

    fn table(&self) -> TableView {
        let mut table = TableView::new(&[
            ("started (UTC)", Align::Left),
            ("target", Align::Left),
            ("step", Align::Right),
            ("ended", Align::Left),
            ("checks", Align::Left),
            ("size", Align::Left),
            ("device", Align::Left),
        ]);
        for (at, run) in self.runs.iter().enumerate() {
            let mark = if self.marked == Some(at) { "* " } else { "" };
            let ended = match run.exit {
                Some(RunExit::SUCCESS) => Tone::Plain,
                _ => Tone::Warning,
            };
            let all_passed = run.verdicts.iter().all(|it| *it == Verdict::Passed);
            let judged = if all_passed {
                Tone::Good
            } else {
                Tone::Warning
            };
            let device = match &run.recording {
                Some(origin) => label(origin),
                None => run.device.clone().unwrap_or_default(),
            };
            table.rows.push(vec![
                // The id below contains the year.
                format!("{mark}{}", run.day().get(5..).unwrap_or_default()).into(),
                run.target.clone().unwrap_or_default().into(),
                Cell::figure(run.step_ms.map(milliseconds)),
                Cell::new(run.ending(), ended),
                Cell::new(run.judged().unwrap_or_default(), judged),
                run.size().unwrap_or_default().into(),
                device.into(),
            ]);
        }
        table.with_cursor(&self.cursor)
    }

    /// The machine and the command line of the selected run.
    fn about(&self) -> Vec<String> {
        let Some(run) = self.selected() else {
            return Vec::new();
        };
        let place = match &run.at {
            Some(at) => at.to_string(),
            None => "made by a command".into(),
        };
        vec![format!("{place}: {}", run.id), run.command.join(" ")]
    }
}

impl Panel for RunsPanel {
    fn title(&self) -> String {
        "Runs so far".into()
    }

    fn paint(&self, pane: &mut Pane) {
        if self.runs.is_empty() {
            return pane.remark("No run was made yet. The first lesson starts one.");
        }
        let (wide, muted) = (pane.area.width, pane.theme.muted());
        let about = self.about().into_iter();
        let about = about
            .flat_map(|text| paragraph(&text, wide, muted))
            .collect();
        self.table().draw_over(about, 4, pane);
    }

    fn act(&mut self, action: PanelAction) -> bool {
        match action {
            PanelAction::Toggle if self.runs.is_empty() => false,
            PanelAction::Toggle => {
                self.marked = self.marked.is_none().then_some(self.cursor.row);
                true
            }
            _ => self.table().move_cursor(&mut self.cursor, action),
        }
    }

    fn filter(&mut self, text: &str) -> bool {
        self.table().filter(&mut self.cursor, text)
    }

    fn effects(&self, action: PanelAction) -> Effects {
        let runs = match (action, self.selected(), self.pair()) {
            (PanelAction::Select, Some(run), _) => vec![run.clone()],
            (PanelAction::Toggle, _, Some((base, other))) => vec![base.clone(), other.clone()],
            _ => return None,
        };
        Some(vec![Effect::background_work(
            "Reading the run…",
            move |_| {
                Message::Opened(match runs.as_slice() {
                    [run] => rerun(run),
                    runs => compare_pair(runs),
                })
            },
        )])
    }

    fn copies(&self) -> Vec<Snippet> {
        let Some(run) = self.selected() else {
            return Vec::new();
        };
        let command = shlex::try_join(run.command.iter().map(String::as_str));
        vec![
            Snippet::new("the run's id", &run.id),
            Snippet::new("the run's command", command.unwrap_or_default()),
            Snippet::new("the run's folder", run.path.display()),
        ]
    }

    fn commands(&self) -> Vec<PanelCommand> {
        if self.runs.is_empty() {
            return Vec::new();
        }
        let mark = match (self.marked, self.pair()) {
            (None, _) => "mark to compare",
            (Some(_), None) => "unmark",
            (Some(_), Some(_)) => "compare with the marked",
        };
        vec![
            (PanelAction::Select, "open"),
            (PanelAction::Toggle, mark),
            (PanelAction::Sort, "sort"),
        ]
    }
}

fn open(model: &mut Model) -> Effects {
    model.open_later("Looking for runs…", |context| {
        Ok(Box::new(RunsPanel::new(read_runs(context)?)))
    })
}

fn read_runs(context: &TaskContext) -> Result<Vec<StoredRun>, String> {
    let (state, _) = read_only(&context.options.location).map_err(|error| error.to_string())?;
    kept(&context.runs.folder, &state).map_err(|error| format!("The runs cannot be read: {error}."))
}

/// A run as the learner saw it when it ended.
fn rerun(run: &StoredRun) -> Result<Box<dyn Panel>, String> {
    let context = RunContext {
        target: run.target.clone().unwrap_or_default(),
        recording: run.recording.as_deref().map(label),
        ..RunContext::default()
    };
    match RunView::read(&run.path, context) {
        Ok((view, _)) => Ok(Box::new(view)),
        Err(error) => Err(format!("{} cannot be read: {error}.", run.path.display())),
    }
}

/// Compares two runs side by side; the first is the base.
fn compare_pair(pair: &[StoredRun]) -> Result<Box<dyn Panel>, String> {
    let compared = pair.iter().map(|run| {
        let read = FinishedRun::read(&run.path)
            .map_err(|error| format!("{} cannot be read: {error}.", run.path.display()))?;
        Ok(ComparedRun {
            label: format!("{} {}", run.target.as_deref().unwrap_or("?"), run.day()),
            repeats: vec![read.measurements],
            recorded: run.recording.clone(),
            setup: run.command.clone(),
        })
    });
    let compared: Result<Vec<_>, String> = compared.collect();
    Ok(Box::new(ComparePanel::new(compared?, Vec::new())))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::session::event::StepRef;
    use crate::tui::sheet;

    fn run(at: u64, target: &str, exit: Option<RunExit>) -> StoredRun {
        StoredRun {
            id: format!("{:010}-000-abcd", 1_790_000_000 + at * 3600),
            path: PathBuf::from("/nowhere"),
            command: ["tinyllama-tutor", "run", target].map(String::from).into(),
            target: Some(target.into()),
            size: Some([256, 4, 8, 128]),
            device: Some("AMD EPYC (2 cores)".into()),
            started: 1_790_000_000 + at * 3600,
            exit,
            step_ms: exit.map(|_| 441.0 + at as f64),
            at: at
                .is_multiple_of(2)
                .then(|| StepRef::new("first-baseline", "baseline")),
            verdicts: vec![Verdict::Passed; at as usize % 3],
            recording: None,
            in_session: true,
        }
    }

    #[test]
    fn runs_are_listed_opened_and_compared_by_marking_one() {
        let mut panel = RunsPanel::new(vec![
            run(3, "v2", Some(RunExit::SUCCESS)),
            run(2, "v1", Some(RunExit::Signal(9))),
            run(1, "v1", None),
        ]);
        insta::assert_snapshot!(sheet::sheet(|pane| panel.draw(pane)));
        assert!(panel.effects(PanelAction::Select).is_some());
        assert!(panel.effects(PanelAction::Toggle).is_none());
        assert!(panel.act(PanelAction::Toggle));
        assert!(panel.act(PanelAction::Down));
        assert!(panel.effects(PanelAction::Toggle).is_some());
        assert!(compare_pair(&[run(1, "v1", None), run(2, "v1", None)]).is_err());
    }
}
