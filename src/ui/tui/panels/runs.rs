//! Lists the runs of this session and of commands, newest first. The learner can open any run and compare any two.

use std::time::Duration;

use crate::tui::{
    Cell, ComparePanel, ComparedRun, Cursor, Effect, Effects, Handler, KeyBinding, Message, Model,
    Pane, Panel, PanelCommand, RunContext, RunView, Snippet, TableView, TaskContext, Tone,
    milliseconds, paragraph,
};
use tinyllama_base::Align;
use tinyllama_lesson::Verdict;
use tinyllama_runs::recording::label;
use tinyllama_runs::{FinishedRun, RunExit};
use tinyllama_session::stored_runs::{kept, prunable, remove};
use tinyllama_session::{StoredRun, read_only};
use tinyllama_tutor_core::{Action, PanelAction};

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

    /// The marked runs, otherwise the selected one.
    fn chosen(&self) -> Vec<&StoredRun> {
        let marked = self.table().marked(&self.cursor);
        match marked.is_empty() {
            true => self.selected().into_iter().collect(),
            false => marked.iter().map(|at| &self.runs[*at]).collect(),
        }
    }

    /// The runs to compare: the marked ones, or a single one with the selected run.
    fn compared(&self) -> Option<Vec<StoredRun>> {
        let mut runs = self.chosen();
        if let ([one], Some(selected)) = (&runs[..], self.selected())
            && one.id != selected.id
        {
            runs.push(selected);
        }
        (runs.len() > 1).then(|| runs.into_iter().cloned().collect())
    }

    /// The chosen runs that nothing depends on.
    fn removable(&self) -> Vec<StoredRun> {
        let chosen = self.chosen().into_iter().cloned();
        prunable(chosen.collect(), 0, Duration::ZERO)
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
        for run in &self.runs {
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
                run.day().get(5..).unwrap_or_default().into(),
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
            PanelAction::Toggle if self.compared().is_some() => self.cursor.marks.clear(),
            PanelAction::Remove => {
                let gone = self.removable();
                self.runs
                    .retain(|run| gone.iter().all(|it| it.id != run.id));
                self.cursor.marks.clear();
            }
            PanelAction::Toggle => return self.act(PanelAction::Mark),
            _ => return self.table().move_cursor(&mut self.cursor, action),
        }
        true
    }

    fn filter(&mut self, text: &str) -> bool {
        self.table().filter(&mut self.cursor, text)
    }

    fn effects(&self, action: PanelAction) -> Effects {
        let runs = match action {
            PanelAction::Select => vec![self.selected()?.clone()],
            PanelAction::Toggle => self.compared()?,
            PanelAction::Remove => {
                let gone = Some(self.removable()).filter(|gone| !gone.is_empty())?;
                let work = move |_: &TaskContext| Message::WorkDone(removed(&gone));
                return Some(vec![Effect::background_work("Deleting runs…", work)]);
            }
            _ => return None,
        };
        Some(vec![Effect::background_work(
            "Reading the run…",
            move |_| {
                Message::Opened(match runs.as_slice() {
                    [run] => rerun(run),
                    runs => compare(runs),
                })
            },
        )])
    }

    fn copies(&self) -> Vec<Snippet> {
        let chosen = self.chosen();
        if chosen.is_empty() {
            return Vec::new();
        }
        let of = if chosen.len() > 1 {
            "the runs'"
        } else {
            "the run's"
        };
        let all = |text: fn(&StoredRun) -> String| {
            itertools::join(chosen.iter().map(|it| text(it)), "\n")
        };
        let command = |run: &StoredRun| {
            let words = run.command.iter().map(String::as_str);
            shlex::try_join(words).unwrap_or_default()
        };
        let copies = [
            Snippet::new(format!("{of} id"), all(|run| run.id.clone())),
            Snippet::new(format!("{of} command"), all(command)),
            Snippet::new(
                format!("{of} folder"),
                all(|run| run.path.display().to_string()),
            ),
        ];
        let tables = self.table().copies().into_iter().skip(1);
        copies.into_iter().chain(tables).collect()
    }

    fn commands(&self) -> Vec<PanelCommand> {
        if self.runs.is_empty() {
            return Vec::new();
        }
        vec![
            (PanelAction::Select, "open"),
            (PanelAction::Mark, "mark"),
            (PanelAction::Toggle, "compare marked"),
            (PanelAction::Sort, "sort"),
            (PanelAction::Remove, "delete"),
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

/// Deletes runs, and says how many.
fn removed(runs: &[StoredRun]) -> Result<String, String> {
    for run in runs {
        remove(run).map_err(|error| error.to_string())?;
    }
    Ok(format!("Runs deleted: {}.", runs.len()))
}

/// The target and the time of a run, without its year, and behind its number if another run has the same.
fn label_of(runs: &[StoredRun], run: &StoredRun) -> String {
    let label = |run: &StoredRun| {
        let day = run.day();
        let target = run.target.as_deref().unwrap_or("?");
        format!("{target} {}", day.get(5..).unwrap_or_default())
    };
    let is_alike = |other: &&StoredRun| other.id != run.id && label(other) == label(run);
    match runs.iter().find(is_alike) {
        Some(_) => {
            let place = runs.iter().position(|other| other.id == run.id);
            format!("{}: {}", place.unwrap_or(0) + 1, label(run))
        }
        None => label(run),
    }
}

/// Compares runs side by side; the first is the base.
fn compare(runs: &[StoredRun]) -> Result<Box<dyn Panel>, String> {
    let compared = runs.iter().map(|run| {
        let read = FinishedRun::read(&run.path)
            .map_err(|error| format!("{} cannot be read: {error}.", run.path.display()))?;
        Ok(ComparedRun {
            label: label_of(runs, run),
            repeats: vec![read.measurements],
            recorded: run.recording.clone(),
            setup: run.command.clone(),
            rounds: 0,
        })
    });
    let compared: Result<Vec<_>, String> = compared.collect();
    Ok(Box::new(ComparePanel::new(compared?, Vec::new())))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::tui::sheet;
    use tinyllama_session::event::StepRef;

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
        // The two marked runs, both named in what is copied.
        assert!(panel.act(PanelAction::Mark));
        let command = &panel.copies()[1];
        insta::assert_snapshot!(command.name, @"the runs' command");
        assert_eq!(
            command.text,
            "tinyllama-tutor run v2\ntinyllama-tutor run v1"
        );
        // Runs of the course stay; the one of a command goes.
        assert!(panel.effects(PanelAction::Remove).is_none());
        panel.runs[0].in_session = false;
        assert!(panel.effects(PanelAction::Remove).is_some());
        assert!(panel.act(PanelAction::Remove));
        assert_eq!(panel.runs.len(), 2);
        assert!(compare(&[run(1, "v1", None), run(2, "v1", None)]).is_err());
    }
}
