//! What each kind of step adds below its text.

use ratatui::text::Span;

use super::Writer;
use crate::analysis::Unit;
use crate::lesson::StepKind;
use crate::lesson::quiz::{Answer, Choice, Quiz};
use crate::recording::label;
use crate::session::event::RunExit;
use crate::tui::keys::{Action, Area};
use crate::tui::markdown::wrap::{hanging, wrap};
use crate::tui::model::run::Phase;
use crate::tutor::say;

impl Writer<'_> {
    pub(super) fn kind(&mut self) {
        match &self.here.step.kind {
            StepKind::Read => {}
            StepKind::Predict { measure } => {
                let words = say::guess(measure, Some(&self.progress), &*self.model.measured);
                self.begin_news();
                self.plain(&words.unwrap_or_else(|| {
                    "Your guess comes before the measurement: there is no wrong one.".into()
                }));
            }
            StepKind::Quiz(Quiz::Choices(choices)) => self.choices(choices),
            StepKind::Quiz(Quiz::Number(_)) => self.number(),
            StepKind::Run {
                target, editable, ..
            } => self.run(target, *editable),
            StepKind::Compare { runs, .. } => {
                let names: Vec<&str> = runs.iter().map(|run| run.step.as_str()).collect();
                self.plain(&format!("Side by side: {}.", names.join(", ")));
            }
            StepKind::Profile { .. } => self.profile(),
            StepKind::Kernel { file } => self.kernel(file),
            StepKind::Reflect => {
                let text = self.progress.reflection.clone();
                let Some(text) = text.filter(|text| !text.is_empty()) else {
                    return self.plain("Nothing written yet.");
                };
                self.begin_news();
                self.line("You wrote:", self.theme.emphasis());
                self.indented(&text, 2, self.theme.text());
            }
        }
    }

    fn choices(&mut self, choices: &[Choice]) {
        let theme = self.theme;
        for (index, choice) in choices.iter().enumerate() {
            let from = self.document.lines.len();
            let is_under_cursor = index == self.view.choice;
            let marked = self.view.marked.as_ref();
            let marked = marked.filter(|marked| marked.answer == Answer::Choice(index));
            let (glyph, style) = match marked {
                Some(marked) if marked.correct => (theme.glyphs.check, theme.good()),
                Some(_) => (theme.glyphs.cross, theme.bad()),
                None if is_under_cursor => (theme.glyphs.here, theme.accent()),
                None => (" ", theme.text()),
            };
            let text_style = match is_under_cursor {
                true => theme.emphasis(),
                false => theme.text(),
            };
            let lead = vec![
                Span::styled(format!("{glyph} "), style),
                Span::styled(format!("{}. ", index + 1), theme.accent()),
            ];
            let text = vec![Span::styled(choice.text.clone(), text_style)];
            let lines = hanging(lead, Span::raw("     "), text, self.width.into());
            self.document.lines.extend(lines);
            if let Some(marked) = marked {
                self.document.news = Some(from);
                let word = if marked.correct { "Right." } else { "Not so." };
                let text = format!("{word} {}", marked.because.trim());
                self.indented(&text, 5, style);
            }
            if is_under_cursor {
                self.document.choice = Some((from, self.document.lines.len()));
            }
        }
    }

    fn number(&mut self) {
        let theme = self.theme;
        let Some((answer, correct)) = self
            .progress
            .answers
            .last()
            .map(|it| (it.answer, it.correct))
        else {
            return;
        };
        self.begin_news();
        let (glyph, style, word) = match correct {
            true => (theme.glyphs.check, theme.good(), "right"),
            false => (theme.glyphs.cross, theme.bad(), "not so"),
        };
        self.line(format!("{glyph} Your answer {answer}: {word}"), style);
        // How one gets there is told to those who got there: for the others it would be the answer.
        let marked = self.view.marked.as_ref();
        if let Some(marked) = marked.filter(|marked| marked.correct) {
            self.markdown(&marked.because);
        }
    }

    fn run(&mut self, target: &str, editable: bool) {
        let theme = self.theme;
        let flags = self.model.flags_at(&self.here.at);
        let flags = shlex::try_join(flags.iter().map(String::as_str)).unwrap_or_default();
        let command = format!("tinyllama-tutor run {target} {flags}");
        let spans = vec![
            Span::styled("Run: ", theme.muted()),
            Span::styled(command, theme.code()),
        ];
        self.document.lines.extend(wrap(spans, self.width.into()));
        if editable && self.view.flags.is_none() {
            self.plain(&format!(
                "Change its flags with {}.",
                self.key(Action::Flags)
            ));
        }
        self.offer();
        self.earlier();
        let Some(run) = self.model.run_at(&self.here.at) else {
            return;
        };
        match &run.phase {
            Phase::Queued => self.plain("It waits for the run before it."),
            Phase::Running if run.played.is_some() => self.plain("It is playing."),
            Phase::Running => self.plain("It is running."),
            Phase::Stopping => self.plain("It ends after this step."),
            Phase::Over(ending) => {
                self.begin_news();
                let is_success = ending.is_success();
                let style = if is_success {
                    theme.good()
                } else {
                    theme.bad()
                };
                self.styled(&ending.words, style);
                self.plain(ending.remedy.as_deref().unwrap_or_default());
                if !is_success && !ending.stderr.is_empty() {
                    self.line("Its last lines:", theme.muted());
                    self.indented(&ending.stderr, 2, theme.muted());
                }
            }
        }
    }

    /// A recording, where there is no GPU to run on.
    fn offer(&mut self) {
        let recording = self.model.recording_at(&self.here.at);
        let Some(recording) = recording.filter(|_| !self.model.may_have_gpu) else {
            return;
        };
        self.plain(&format!(
            "No GPU was found on this machine: the processor would do the work. {} plays {} {} instead ({}).",
            self.key(Action::Play),
            recording.target,
            recording.config,
            recording.label()
        ));
    }

    /// How often a run was finished here, and its median step the last time.
    fn earlier(&mut self) {
        let state = &self.model.state;
        let runs = self.progress.runs.iter();
        let finished = runs
            .filter_map(|id| state.runs.get(id))
            .filter(|run| run.exit == Some(RunExit::Status(0)));
        let finished: Vec<_> = finished.collect();
        let Some(last) = finished.last() else {
            return;
        };
        let mut text = match finished.len() {
            1 => "Run once before".to_string(),
            count => format!("Run {count} times before"),
        };
        if let Some(value) = last.values.get("total_ms") {
            let shown = Unit::Milliseconds.show(*value);
            text.push_str(&format!(", last with {shown} a step"));
        }
        if let Some(origin) = &last.recording {
            text.push_str(&format!(" ({})", label(origin)));
        }
        self.styled(&format!("{text}."), self.theme.muted());
    }

    fn profile(&mut self) {
        let (theme, profile) = (self.theme, &self.view.profile);
        match &profile.prepared {
            None => self.plain("Looking for the profiler…"),
            Some(Err(problem)) => self.plain(problem),
            Some(Ok(prepared)) => {
                if let Some(line) = profile.line() {
                    let command = vec![Span::styled(line.shell(), theme.code())];
                    let lines = wrap(command, self.width.into());
                    self.document.lines.extend(lines);
                    for note in &line.notes {
                        self.plain(note);
                    }
                }
                self.plain(&format!("It shows {}.", prepared.shows));
                if !prepared.is_installed {
                    self.blank();
                    let text = format!(
                        "{} is not installed here. {} Or run the command above on a machine that has it, copy the \
                         folder here and import it.",
                        prepared.tool.name(),
                        prepared.tool.how_to_install()
                    );
                    self.styled(&text, theme.warning());
                }
            }
        }
        if profile.is_running || !profile.log.is_empty() {
            self.begin_news();
            let title = match profile.is_running {
                true => "The profiler is running:",
                false => "Its last lines:",
            };
            self.line(title, theme.emphasis());
            for line in &profile.log {
                self.indented(line, 2, theme.muted());
            }
        }
        for words in &profile.ending {
            self.plain(words);
        }
    }

    fn kernel(&mut self, file: &str) {
        let path = self.model.workbench.join(file);
        if path.exists() {
            return self.plain(&format!("File: {}", path.display()));
        }
        let kernels = Action::Panel("kernels");
        self.plain(&format!(
            "The workbench that checks and times a kernel of yours is not part of this version. {} shows this \
             project's kernels with their source; {} skips the step with a note.",
            self.model.keys.shown(Area::Everywhere, kernels),
            self.key(Action::Skip)
        ));
    }
}
