//! Draws the blocks below a step's text on the screen.

use ratatui::prelude::Span;

use super::StepWriter;
use crate::tui::{RunPhase, duration, markdown, wrap};
use tinyllama_lesson::command::AcceptedFlags;
use tinyllama_runs::recording::label;
use tinyllama_tutor_core::Action;
use tinyllama_tutor_core::document::{Block, Mark, MenuLine};
use tinyllama_tutor_core::output;

impl StepWriter<'_> {
    pub(super) fn blocks(&mut self) {
        let context = self.model.context(&self.here);
        let blocks = context.map_or(Vec::new(), |context| context.document().0);
        blocks.into_iter().for_each(|block| self.block(block));
    }

    fn block(&mut self, block: Block) {
        let theme = self.theme;
        match block {
            Block::News => self.begin_news(),
            Block::Blank => self.blank(),
            Block::Text(tone, text) => self.styled(&text, theme.tone(tone)),
            Block::Markdown(text) => self.markdown(&text),
            Block::Quote(tone, text) => self.indented(&text, 2, theme.tone(tone)),
            Block::Code(line) => {
                let command = vec![Span::styled(line, theme.code())];
                self.document.lines.extend(wrap(command, self.width.into()));
            }
            Block::Verdict(correct, text) => {
                let (glyph, style) = match correct {
                    true => (theme.glyphs.check, theme.good()),
                    false => (theme.glyphs.cross, theme.bad()),
                };
                self.styled(&format!("{glyph} {text}"), style);
            }
            Block::Job(flags) => self.job(&flags),
            Block::Flags if self.view.flags.is_none() => {
                let key = self.key(Action::Flags);
                self.plain(&format!("Change its flags with {key}."));
            }
            Block::Offer => self.offer(),
            Block::RunPhase => self.phase(),
            Block::Output(title, document, views) => {
                self.output = Some(self.document.lines.len());
                self.styled(&title, theme.emphasis());
                for line in output::lines(&document, &views, self.width.into()) {
                    self.line(line, theme.code());
                }
            }
            Block::File(path) => self.plain(&format!(
                "Your file: {}. It is checked whenever it is saved; no GPU is needed.",
                path.display()
            )),
            Block::Sample => {
                let key = self.key(Action::Act);
                self.plain(&format!(
                    "{key} imports the sample that comes with the course instead."
                ));
            }
            Block::Menu(lines) => {
                for (place, line) in lines.iter().enumerate() {
                    self.choice(place, line);
                }
            }
            Block::Flags | Block::Figures(_) => {}
        }
    }

    /// Draws the command line that would start the job.
    fn job(&mut self, flags: &[String]) {
        let Some(job) = self.here.step.job() else {
            return;
        };
        let spans = vec![
            Span::styled("Run: ", self.theme.muted()),
            Span::styled(job.line(flags), self.theme.code()),
        ];
        self.document.lines.extend(wrap(spans, self.width.into()));
    }

    fn is_under_cursor(&self, place: usize) -> bool {
        self.view.choice == Some(place)
    }

    /// Draws a line of the menu and the comment on it.
    fn choice(&mut self, place: usize, line: &MenuLine) {
        let (theme, from) = (self.theme, self.document.lines.len());
        let (glyph, style) = match line.mark {
            Mark::Right => (theme.glyphs.check, theme.good()),
            Mark::Wrong => (theme.glyphs.cross, theme.bad()),
            _ if self.is_under_cursor(place) => (theme.glyphs.here, theme.accent()),
            Mark::Done => (theme.glyphs.check, theme.muted()),
            Mark::None => (" ", theme.text()),
        };
        if !line.comment.is_empty() {
            self.document.news = Some(from);
        }
        let mark = Span::styled(format!("{glyph} "), style);
        let number = Span::styled(format!("{}. ", place + 1), theme.accent());
        let mut front = vec![mark, number];
        let width = self.width.saturating_sub(5);
        for mut text in markdown::render(&line.text, width, theme, None) {
            if self.is_under_cursor(place) {
                for span in &mut text.spans {
                    span.style = span.style.patch(theme.emphasis());
                }
            }
            text.spans.splice(0..0, front);
            self.document.lines.push(text);
            front = vec![Span::raw("     ")];
        }
        let comment = markdown::render(&line.comment, width, theme, None);
        self.document
            .lines
            .extend(comment.into_iter().map(|mut line| {
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

    fn phase(&mut self) {
        let theme = self.theme;
        let Some(run) = self.model.run_at(&self.here.at) else {
            return;
        };
        match &run.phase {
            RunPhase::Queued => self.queued(),
            RunPhase::Running if run.played.is_some() => self.plain("It is playing."),
            RunPhase::Running => {
                let seconds = run.view.state.clock;
                self.plain(&match seconds < 1.0 {
                    true => "It is running.".into(),
                    false => format!("It is running, for {}.", duration(seconds.floor())),
                });
            }
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

    /// Says for which run this one waits, and for how long that one has been running.
    fn queued(&mut self) {
        let first = self.model.running();
        let title =
            first.and_then(|first| self.model.course.step(&first.at.lesson, &first.at.step));
        let text = match first.zip(title) {
            Some((first, step)) => format!(
                "It waits for the run \"{}\", which has taken {} so far.",
                step.title,
                duration(first.view.state.clock.floor())
            ),
            None => "It waits for the run before it.".into(),
        };
        self.plain(&text);
    }

    /// Draws the offer of a recording, if the machine has no GPU for a run.
    fn offer(&mut self) {
        if let Some(recording) = self.model.recording_instead(&self.here.at) {
            let why = match self.model.plays_recordings {
                true => "You chose recordings",
                false => "Only a GPU can show this, and none was found",
            };
            let (what, label) = (recording.what, label(&recording.origin));
            let [act, again] = [Action::Act, Action::Again].map(|action| self.key(action));
            return self.plain(&format!(
                "{why}: {act} plays {what} ({label}). {again} runs it here."
            ));
        }
        let recording = self.model.recording_at(&self.here.at);
        let Some(recording) = recording.filter(|_| !self.model.may_have_gpu) else {
            return;
        };
        let flags = self.model.flags_at(&self.here.at);
        let needs_gpus = flags.iter().any(|flag| flag.starts_with("--gpus"));
        let reason = match self.here.step.as_command().map(|it| it.command.takes) {
            // It computes nothing on a device.
            Some(AcceptedFlags::None) => "",
            _ if needs_gpus => "No GPU was found on this machine, and this run needs several. ",
            _ => "No GPU was found on this machine: the CPU would do the work. ",
        };
        self.plain(&format!(
            "{reason}{} plays {} instead ({}).",
            self.key(Action::Play),
            recording.what,
            label(&recording.origin)
        ));
    }
}
