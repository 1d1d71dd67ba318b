//! Writes the part of each kind of step that follows its text.

use std::sync::Arc;

use ratatui::prelude::{Span, Style};

use super::StepWriter;
use crate::analysis::MetricUnit;
use crate::lesson::quiz::NumberQuestion;
use crate::lesson::{
    Case, CommandOutputs, MarkedAnswer, Quiz, QuizAnswer, QuizChoice, Runs, StepKind, live,
};
use crate::recording::label;
use crate::session::{Evidence, RunExit, Standing};
use crate::tui::{Action, RunPhase, hanging, markdown, wrap};
use crate::tutor::say::moment;
use crate::tutor::{Job, output, say};
use crate::workbench::Exercise;
use tinyllama_base::{plural, wrapped};

/// An answer that was once right stays right, even if a command's output has changed since.
fn is_right(marked: MarkedAnswer) -> MarkedAnswer {
    MarkedAnswer {
        correct: true,
        ..marked
    }
}

impl StepWriter<'_> {
    pub(super) fn kind(&mut self) {
        match &self.here.step.kind {
            StepKind::Read => {}
            StepKind::Predict { measure } => {
                let message = say::guess(measure, Some(&self.progress), &*self.model.measured);
                self.begin_news();
                self.plain(&message.unwrap_or_else(|| {
                    "Your guess comes before the measurement: there is no wrong one.".into()
                }));
            }
            StepKind::Quiz(Quiz::Choices(choices)) => self.choices(choices),
            StepKind::Command { editable, .. } => self.command(*editable),
            StepKind::Investigate(case) => self.investigate(case),
            StepKind::Quiz(Quiz::NumberQuestion(number)) => self.number(number),
            StepKind::Run {
                editable, contest, ..
            } => self.run(*editable, *contest),
            StepKind::Compare { runs, .. } => {
                let names: Vec<&str> = runs.iter().map(|run| run.step.as_str()).collect();
                self.plain(&format!("Side by side: {}.", names.join(", ")));
            }
            StepKind::Profile { .. } => self.profile(),
            StepKind::Kernel { exercise } => self.kernel(exercise),
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

    fn choices(&mut self, choices: &[QuizChoice]) {
        let theme = self.theme;
        let order = self.model.order_at(&self.here.at);
        let marked = self.view.marked.clone().or_else(|| {
            let answer = QuizAnswer::QuizChoice(self.right()? as usize);
            Quiz::Choices(choices.into())
                .mark_answer(answer)
                .map(is_right)
        });
        let ordered = order
            .iter()
            .filter_map(|index| Some((*index, choices.get(*index)?)));
        for (place, (index, choice)) in ordered.enumerate() {
            let marked = marked.as_ref();
            let marked = marked.filter(|marked| marked.answer == QuizAnswer::QuizChoice(index));
            let (glyph, style) = match marked {
                Some(marked) if marked.correct => (theme.glyphs.check, theme.good()),
                Some(_) => (theme.glyphs.cross, theme.bad()),
                None if self.is_under_cursor(place) => (theme.glyphs.here, theme.accent()),
                None => (" ", theme.text()),
            };
            let mut said = String::new();
            if let Some(marked) = marked {
                self.document.news = Some(self.document.lines.len());
                let word = if marked.correct { "Right." } else { "Not so." };
                // Line breaks of the course's file do not matter here.
                let because: Vec<&str> = marked.because.split_whitespace().collect();
                said = format!("{word} {}", because.join(" "));
            }
            self.choice(place, (glyph, style), &choice.text, &said);
        }
    }

    /// The last right answer of the learner, on any day.
    fn right(&self) -> Option<f64> {
        let given = self.progress.answers.iter().rfind(|given| given.correct)?;
        Some(given.answer)
    }

    fn number(&mut self, number: &NumberQuestion) {
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
        let marked = self.view.marked.as_ref();
        let because = marked.map(|marked| marked.because.clone());
        let because = because.or_else(|| correct.then(|| number.because.clone()));
        self.markdown(&because.unwrap_or_default());
    }

    /// The command to start, as the learner would type it.
    fn job(&mut self, flags: &[String]) {
        let Some(job) = Job::from_step(self.here.step) else {
            return;
        };
        let spans = vec![
            Span::styled("Run: ", self.theme.muted()),
            Span::styled(job.line(flags), self.theme.code()),
        ];
        self.document.lines.extend(wrap(spans, self.width.into()));
    }

    fn command(&mut self, editable: bool) {
        self.job(&self.model.flags_at(&self.here.at));
        self.flags(editable);
        self.offer();
        self.phase();
        let name = self.here.at.clone();
        let measured = Arc::clone(&self.model.measured);
        let Some(document) = measured.document(&name) else {
            return;
        };
        self.begin_news();
        let origin = measured.recorded(&name).map(label);
        let title = origin.map_or("It says:".to_string(), |origin| {
            format!("It says ({origin}):")
        });
        self.line(title, self.theme.emphasis());
        for line in output::lines(document, self.width.into()) {
            self.line(line, self.theme.code());
        }
    }

    fn investigate(&mut self, case: &Case) {
        let theme = self.theme;
        let standing = Standing::from_progress(case, &self.progress, &self.model.state);
        self.job(&case.flags);
        self.offer();
        self.phase();
        let evidence = standing.evidence(case);
        if !evidence.is_empty() {
            self.begin_news();
            self.line("What you know", theme.emphasis());
            let measured = Arc::clone(&self.model.measured);
            for Evidence { text, run } in evidence {
                let seen = measured.seen(run);
                self.markdown(&live::fill(text, &self.here.lesson.id, seen, seen));
                self.blank();
            }
        }
        self.blank();
        let taken = plural(standing.measurements, "measurement");
        let missing = standing.missing(case);
        self.line(format!("{taken} taken. {missing}"), theme.emphasis());
        for (place, item) in standing.menu(case).iter().enumerate() {
            let mark = match item.done {
                _ if self.is_under_cursor(place) => (theme.glyphs.here, theme.accent()),
                true => (theme.glyphs.check, theme.muted()),
                false => (" ", theme.text()),
            };
            self.choice(place, mark, &item.text, "");
        }
    }

    fn is_under_cursor(&self, place: usize) -> bool {
        self.view.choice == Some(place)
    }

    /// A line of a list of choices, and the remark about it.
    fn choice(&mut self, place: usize, (glyph, style): (&str, Style), text: &str, said: &str) {
        let (theme, from) = (self.theme, self.document.lines.len());
        let mark = Span::styled(format!("{glyph} "), style);
        let text_style = match self.is_under_cursor(place) {
            true => theme.emphasis(),
            false => theme.text(),
        };
        let number = Span::styled(format!("{}. ", place + 1), theme.accent());
        let text = vec![Span::styled(text.to_owned(), text_style)];
        let rest = Span::raw("     ");
        let lines = hanging(vec![mark, number], rest, text, self.width.into());
        self.document.lines.extend(lines);
        let said = markdown::render(said, self.width.saturating_sub(5), theme, None);
        self.document.lines.extend(said.into_iter().map(|mut line| {
            for span in &mut line.spans {
                span.style.fg = style.fg.or(span.style.fg);
            }
            line.spans.insert(0, Span::raw("     "));
            line
        }));
        if self.is_under_cursor(place) {
            self.document.choice = Some((from, self.document.lines.len()));
        }
    }

    fn run(&mut self, editable: bool, contest: bool) {
        self.job(&self.model.flags_at(&self.here.at));
        if contest {
            self.plain(
                "A contest: the best step of everyone in the class is on the instructor's ladder.",
            );
        }
        self.flags(editable);
        self.offer();
        self.earlier();
        self.phase();
    }

    fn flags(&mut self, editable: bool) {
        if editable && self.view.flags.is_none() {
            let key = self.key(Action::Flags);
            self.plain(&format!("Change its flags with {key}."));
        }
    }

    /// The phase of the run that was started here, and its result.
    fn phase(&mut self) {
        let theme = self.theme;
        let Some(run) = self.model.run_at(&self.here.at) else {
            return;
        };
        match &run.phase {
            RunPhase::Queued => self.plain("It waits for the run before it."),
            RunPhase::Running if run.played.is_some() => self.plain("It is playing."),
            RunPhase::Running => self.plain("It is running."),
            RunPhase::Stopping => self.plain("It ends after this step."),
            RunPhase::Over(ending) => {
                self.begin_news();
                let is_success = ending.is_success();
                let style = if is_success {
                    theme.good()
                } else {
                    theme.bad()
                };
                self.styled(&ending.message, style);
                self.plain(ending.remedy.as_deref().unwrap_or_default());
                if !is_success && !ending.stderr.is_empty() {
                    self.line("Its last lines:", theme.muted());
                    self.indented(&ending.stderr, 2, theme.muted());
                }
            }
        }
    }

    /// Offers a recording if there is no GPU.
    fn offer(&mut self) {
        let recording = self.model.recording_at(&self.here.at);
        let Some(recording) = recording.filter(|_| !self.model.may_have_gpu) else {
            return;
        };
        self.plain(&format!(
            "No GPU was found on this machine: the CPU would do the work. {} plays {} instead ({}).",
            self.key(Action::Play),
            recording.what,
            label(&recording.origin)
        ));
    }

    /// Number of runs that succeeded here, and the median step of the last one.
    fn earlier(&mut self) {
        let state = &self.model.state;
        let runs = self.progress.runs.iter();
        let finished = runs
            .filter_map(|id| state.runs.get(id))
            .filter(|run| run.exit == Some(RunExit::Status(0)));
        let finished: Vec<_> = finished.collect();
        let last_of_all = self.progress.runs.last().and_then(|id| state.runs.get(id));
        if let Some(run) = last_of_all.filter(|run| run.exit == Some(RunExit::Lost)) {
            let text = format!(
                "The run of {} was lost: the tutor ended before it did. Start it again.",
                moment(&run.started)
            );
            self.styled(&text, self.theme.warning());
        }
        let Some(last) = finished.last() else {
            return;
        };
        let mut text = match finished.len() {
            1 => "Run once before".to_string(),
            count => format!("Run {count} times before"),
        };
        if let Some(value) = last.values.get("total_ms") {
            let shown = MetricUnit::Milliseconds.show(*value);
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
                    if self.here.step.golden.import.is_some() {
                        let key = self.key(Action::Act);
                        self.plain(&format!(
                            "{key} imports the sample that comes with the course instead."
                        ));
                    }
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
        for message in &profile.ending {
            self.plain(message);
        }
    }

    /// The task, and the path of the file.
    fn kernel(&mut self, exercise: &Exercise) {
        let heads = exercise
            .launches
            .iter()
            .map(|launch| wrapped(&exercise.signature(launch), 70).join("\n    "));
        let heads: String = heads.map(|head| format!("{head};\n")).collect();
        self.markdown(&format!("{}\n\n```cpp\n{heads}```\n", exercise.text));
        let path = self.model.workbench.join(exercise.file_name());
        self.plain(&format!(
            "Your file: {}. It is checked whenever it is saved; no GPU is needed.",
            path.display()
        ));
    }
}
