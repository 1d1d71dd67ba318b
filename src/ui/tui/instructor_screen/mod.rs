//! The instructor's dashboard on a full screen.
//!
//! ```text
//! Class /data/course                                     12 learners, pinned to memory
//!           Foundation   Optimization
//!  learner  F1 F2 F3 F4  O1 O2 O3 O4   min  last   remarks
//!  ada      ✓  ✓  –  4   .  .  .  .    83   2 min  missed checks 3 times
//!  eve      3  .  .  .   .  .  .  .    4    now    open
//!  past it  1  1  1                                learners past each lesson
//! ─────────────────────────────────────────────────────────────────────────────────────
//! what came of the last decision, or the line that is being entered
//! enter report  tab figures  m message  M to all  r reset step  l reset lesson  b restore
//! ```

mod draw;
mod keys;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use crossterm::event::{Event, KeyCode, KeyEvent};
use ratatui::prelude::{Buffer, Position, Rect};
use tokio::sync::mpsc;
use tokio::time::sleep;

use self::draw::{draw, labels, title};
use self::keys::{HELP, KeyOutcome, on_key};
use super::panels::page::TextPage;
use super::runtime::event_loop::{App, CHANNEL, TerminalGuard};
use super::runtime::{on_one_thread, set_up};
use crate::tui::{PageText, Pane, Panel, Screenful, Theme, Tone, view, width};
use tinyllama_lesson::Course;
use tinyllama_report::{CollectOptions, collect, markdown};
use tinyllama_runs::Processes;
use tinyllama_session::{StepRef, class_file};
use tinyllama_tutor_core::PanelAction;
use tinyllama_tutor_core::SharedSession;
use tinyllama_tutor_core::instructor::carry_out::carry_out;
use tinyllama_tutor_core::instructor::{Class, Dashboard, Prompt, present, views};

/// Interval at which the class folder is read.
const INTERVAL: Duration = Duration::from_secs(2);

/// Events other than keys.
enum BoardMessage {
    /// It is time to read the class folder.
    Look,
    /// The dashboard goes on after a stop from outside.
    Continued,
}

/// Runs the dashboard until the instructor leaves.
///
/// # Errors
/// If the terminal or the class folder can no longer be used.
pub fn run(class: Class, course: &Course, by: &str, theme: Theme) -> Result<()> {
    let mut board = Board {
        class,
        course,
        by,
        theme,
        dashboard: Dashboard::default(),
        page: None,
        presented: None,
        title: String::new(),
        dirty: true,
        is_over: false,
    };
    board.look()?;
    on_one_thread()?.block_on(async {
        let (sender, mut messages) = mpsc::channel(CHANNEL);
        let face = Screenful::new(
            sender.clone(),
            || BoardMessage::Continued,
            Arc::<AtomicBool>::default(),
        );
        // The dashboard stores nothing, so a signal only has to restore the terminal and end it.
        let (mut terminal, signals) = set_up(
            false,
            &SharedSession::default(),
            &Processes::default(),
            face,
        )?;
        tokio::spawn(async move {
            while !sender.is_closed() {
                sleep(INTERVAL).await;
                // The receiver is gone once the dashboard ends.
                let _ = sender.send(BoardMessage::Look).await;
            }
        });
        let result = terminal.event_loop(&mut board, &mut messages).await;
        signals.done();
        terminal.suspend()?;
        result
    })
}

/// Applies a key to a page. Returns `None` if the key closes it.
fn turned(mut page: TextPage, key: KeyEvent) -> Option<TextPage> {
    let action = match key.code {
        KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q' | '?') => return None,
        KeyCode::Up | KeyCode::Char('k') => PanelAction::Up,
        KeyCode::Down | KeyCode::Char('j') => PanelAction::Down,
        KeyCode::PageUp | KeyCode::Char('b') => PanelAction::PageUp,
        KeyCode::PageDown | KeyCode::Char(' ') => PanelAction::PageDown,
        KeyCode::Home | KeyCode::Char('g') => PanelAction::Top,
        KeyCode::End | KeyCode::Char('G') => PanelAction::Bottom,
        _ => return Some(page),
    };
    page.act(action);
    Some(page)
}

struct Board<'a> {
    class: Class,
    course: &'a Course,
    by: &'a str,
    theme: Theme,
    dashboard: Dashboard,
    /// A page over the dashboard.
    page: Option<TextPage>,
    /// The step on that page.
    presented: Option<StepRef>,
    title: String,
    dirty: bool,
    is_over: bool,
}

impl Board<'_> {
    /// Reads what the learners did since the last call.
    fn look(&mut self) -> Result<()> {
        self.dirty |= self.dashboard.refresh(views(&mut self.class, self.course)?);
        let pinned = class_file::read(&self.class.folder)?.and_then(|pin| pin.lesson);
        let title = title(&self.class, &self.dashboard, pinned.as_deref());
        self.dirty |= title != self.title;
        self.title = title;
        match self.presented.clone() {
            Some(at) => self.present(at),
            None => Ok(()),
        }
    }

    /// Shows a step with the answers of the class so far.
    fn present(&mut self, at: StepRef) -> Result<()> {
        let Some(lesson) = self.course.lesson(&at.lesson) else {
            return Ok(());
        };
        let Some(step) = lesson.step(&at.step).or(lesson.steps.first()) else {
            return Ok(());
        };
        let block = if self.theme.glyphs.unicode {
            "█"
        } else {
            "#"
        };
        let text = PageText::Markdown(present::page(lesson, step, &mut self.class, block)?);
        let all = &lesson.steps;
        let number = all.iter().position(|it| it.id == step.id).unwrap_or(0) + 1;
        let title = format!(
            "{} ({number} of {}): {}",
            lesson.title,
            all.len(),
            step.title
        );
        match &mut self.page {
            Some(page) if page.title() == title => page.renew(text),
            page => *page = Some(TextPage::new(title, text)),
        }
        self.presented = Some(StepRef::new(&lesson.id, &step.id));
        self.dirty = true;
        Ok(())
    }

    /// The selected learner's step if the class may choose or the step is in the pinned lesson; else that lesson's first.
    fn step_to_present(&self) -> Result<StepRef> {
        let pinned = class_file::read(&self.class.folder)?.and_then(|pin| pin.lesson);
        let selected = self
            .dashboard
            .selected()
            .and_then(|view| view.position.as_ref());
        let here = selected.map(|position| position.at.clone());
        let here = here.filter(|at| pinned.as_ref().is_none_or(|lesson| *lesson == at.lesson));
        let first = self.course.lessons().next().map(|lesson| lesson.id.clone());
        let lesson = pinned.or(first).unwrap_or_default();
        Ok(here.unwrap_or_else(|| StepRef::new(&lesson, "")))
    }

    /// Applies a key to a page.
    fn turn(&mut self, page: TextPage, key: KeyEvent) -> Result<()> {
        let steps = match key.code {
            KeyCode::Left => -1,
            KeyCode::Right => 1,
            _ => 0,
        };
        if let Some(at) = self.presented.as_ref().filter(|_| steps != 0) {
            return self.present(present::neighbour(self.course, at, steps));
        }
        self.page = turned(page, key);
        self.presented.take_if(|_| self.page.is_none());
        Ok(())
    }

    /// Opens the report of a learner.
    fn report(&mut self, name: &str) -> Result<()> {
        let place = self.class.place(name)?;
        self.page = Some(
            match collect(&place, self.course, CollectOptions::default()) {
                Ok(report) => TextPage::new(name, PageText::Markdown(markdown(&report))),
                Err(error) => {
                    let text = format!("{error}. {}", error.remedy());
                    TextPage::new(name, PageText::Paragraphs(vec![(text, Tone::Warning)]))
                }
            },
        );
        Ok(())
    }

    fn help(&mut self) {
        let keys = HELP
            .map(|(key, _, does)| format!("| {key} | {does} |\n"))
            .concat();
        let (check, skipped) = (self.theme.glyphs.check, self.theme.glyphs.skipped);
        let lessons = self.course.lessons().zip(labels(self.course));
        let lessons = lessons
            .map(|(lesson, label)| format!("| {label} | {} | {} |\n", lesson.title, lesson.id));
        let lessons: String = lessons.collect();
        let text = format!(
            "| key | what it does |\n| --- | --- |\n{keys}\nA column is a lesson: {check} done, {skipped} finished with \
             skipped steps, or the tenths of its steps that are done.\n\n| column | lesson | its id |\n\
             | --- | --- | --- |\n{lessons}"
        );
        self.page = Some(TextPage::new("Help", PageText::Markdown(text)));
    }
}

impl App for Board<'_> {
    type Message = BoardMessage;
    type Error = anyhow::Error;

    fn on_terminal_event(&mut self, event: Event, _: &mut TerminalGuard) -> Result<()> {
        self.dirty = true;
        let dashboard = &mut self.dashboard;
        match event {
            Event::Key(key) if !key.is_release() => match self.page.take() {
                Some(page) => self.turn(page, key)?,
                None => match on_key(dashboard, key, self.course) {
                    KeyOutcome::Leave => self.is_over = true,
                    KeyOutcome::Nothing => {}
                    KeyOutcome::Help => self.help(),
                    KeyOutcome::Report(name) => self.report(&name)?,
                    KeyOutcome::Present => self.present(self.step_to_present()?)?,
                    KeyOutcome::Do(case_move) => {
                        let done = carry_out(case_move, &mut self.class, self.course, self.by);
                        dashboard.news = done.unwrap_or_else(|error| format!("{error:#}"));
                        self.look()?;
                    }
                },
            },
            Event::Paste(text) if dashboard.entry.as_ref().is_some_and(Prompt::asks_for_text) => {
                dashboard
                    .text
                    .extend(text.chars().filter(|c| !c.is_control()));
            }
            Event::Resize(..) => {}
            _ => self.dirty = false,
        }
        Ok(())
    }

    fn on_message(&mut self, message: BoardMessage, terminal: &mut TerminalGuard) -> Result<()> {
        match message {
            BoardMessage::Look => self.look(),
            BoardMessage::Continued => {
                self.dirty = true;
                Ok(terminal.resume()?)
            }
        }
    }

    fn draw(&self, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        let mut pane = Pane::new(area, buffer, &self.theme);
        match &self.page {
            Some(page) => {
                let title = page.title();
                let fits = width(&title) + 4 <= usize::from(area.width);
                let (place, step) = title
                    .split_once(": ")
                    .filter(|_| !fits)
                    .unwrap_or((&title, ""));
                let mut inside = view::framed(place, area, &mut pane);
                inside.area.x += 1;
                inside.area.width = inside.area.width.saturating_sub(2);
                if !step.is_empty() {
                    inside.heading(step);
                    inside.take(1);
                }
                page.draw(inside);
                if area.height < 3 {
                    return None;
                }
                let turns = self.presented.as_ref().map_or("", |_| "left right turn  ");
                let keys = format!(" {turns}space page down  esc back ");
                let below = Rect::new(
                    area.x + 1,
                    area.bottom() - 1,
                    area.width.saturating_sub(2),
                    1,
                );
                pane.buffer.set_stringn(
                    below.x,
                    below.y,
                    keys,
                    below.width.into(),
                    self.theme.muted(),
                );
                view::more(below, page.hidden(), &mut pane);
            }
            None => draw(&self.dashboard, self.course, &self.title, pane),
        }
        None
    }

    fn dirty(&mut self) -> &mut bool {
        &mut self.dirty
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}
