//! The instructor's dashboard on a full screen.
//!
//! ```text
//! Class /data/course                                     12 learners, pinned to memory
//! learner   position              steps tries hints  min  last   remarks
//! > ada     memory/long (6 of 7)  28/36    38     4   83  2 min  missed checks 3 times
//!   eve     welcome/doctor        3/36      1     0    4  now    open
//! ─────────────────────────────────────────────────────────────────────────────────────
//! what came of the last decision, or the line that is being entered
//! m message  M all  r reset step  l reset lesson  b restore  u unlock  s solve  p pin  q quit
//! ```

mod draw;
mod keys;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use crossterm::event::{Event, KeyEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tokio::sync::mpsc;
use tokio::time::sleep;

use self::draw::{draw, title};
use self::keys::{Answer, on_key};
use super::pane::Pane;
use super::runtime::stage::{CHANNEL, Play, Stage};
use super::runtime::{Screenful, on_one_thread, set_up};
use super::theme::Theme;
use crate::instructor::Class;
use crate::instructor::carry_out::carry_out;
use crate::instructor::dashboard::{Dashboard, Entry};
use crate::instructor::view::views;
use crate::lesson::Course;
use crate::run::Processes;
use crate::session::class_file;
use crate::tutor::signals::SharedSession;

/// How often the class folder is looked at.
const INTERVAL: Duration = Duration::from_secs(2);

/// What happens beside keys.
enum Message {
    /// Time to look into the class folder.
    Look,
    /// The dashboard goes on after a stop from outside.
    Continued,
}

/// Runs the dashboard until the instructor leaves.
///
/// # Errors
/// When the terminal or the class folder cannot be used any more.
pub fn run(class: Class, course: &Course, by: &str, theme: Theme) -> Result<()> {
    let mut board = Board {
        class,
        course,
        by,
        theme,
        dashboard: Dashboard::default(),
        title: String::new(),
        dirty: true,
        is_over: false,
    };
    board.look()?;
    on_one_thread()?.block_on(async {
        let (sender, mut messages) = mpsc::channel(CHANNEL);
        let face = Screenful::new(
            sender.clone(),
            || Message::Continued,
            Arc::<AtomicBool>::default(),
        );
        // The dashboard keeps nothing of its own: a signal gives the terminal back and ends it.
        let (mut stage, signals) = set_up(
            false,
            &SharedSession::default(),
            &Processes::default(),
            face,
        )?;
        tokio::spawn(async move {
            while !sender.is_closed() {
                sleep(INTERVAL).await;
                // Nobody looks any more when the dashboard ends.
                let _ = sender.send(Message::Look).await;
            }
        });
        let result = stage.hold(&mut board, &mut messages).await;
        signals.done();
        stage.lend()?;
        result
    })
}

struct Board<'a> {
    class: Class,
    course: &'a Course,
    by: &'a str,
    theme: Theme,
    dashboard: Dashboard,
    title: String,
    dirty: bool,
    is_over: bool,
}

impl Board<'_> {
    /// Reads what the learners did since the last time.
    fn look(&mut self) -> Result<()> {
        self.dirty |= self.dashboard.refresh(views(&mut self.class, self.course)?);
        let pinned = class_file::read(self.class.folder())?.and_then(|pin| pin.lesson);
        let title = title(&self.class, &self.dashboard, pinned.as_deref());
        self.dirty |= title != self.title;
        self.title = title;
        Ok(())
    }
}

impl Play for Board<'_> {
    type Message = Message;
    type Error = anyhow::Error;

    fn hear(&mut self, event: Event, _: &mut Stage) -> Result<()> {
        self.dirty = true;
        let dashboard = &mut self.dashboard;
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                match on_key(dashboard, key, self.course) {
                    Answer::Leave => self.is_over = true,
                    Answer::Nothing => {}
                    Answer::Do(deed) => {
                        let done = carry_out(deed, &mut self.class, self.course, self.by);
                        dashboard.news = done.unwrap_or_else(|error| format!("{error:#}"));
                        self.look()?;
                    }
                }
            }
            Event::Paste(text) if dashboard.entry.as_ref().is_some_and(Entry::asks_for_text) => {
                dashboard
                    .text
                    .extend(text.chars().filter(|c| !c.is_control()));
            }
            Event::Resize(..) => {}
            _ => self.dirty = false,
        }
        Ok(())
    }

    fn take_in(&mut self, message: Message, stage: &mut Stage) -> Result<()> {
        match message {
            Message::Look => self.look(),
            Message::Continued => {
                self.dirty = true;
                Ok(stage.take_back()?)
            }
        }
    }

    fn draw(&self, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        let pane = Pane::new(area, buffer, &self.theme);
        draw(&self.dashboard, &self.title, pane);
        None
    }

    fn dirty(&mut self) -> &mut bool {
        &mut self.dirty
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}
