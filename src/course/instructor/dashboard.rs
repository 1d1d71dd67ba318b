//! The dashboard as data: what is selected, what is being entered, and what a decision asks for. It is drawn elsewhere.

use super::scope::{lesson, resolve};
use crate::instructor::{LearnerView, Named, ScopeError};
use crate::lesson::Course;
use crate::session::Action;

/// What an instructor decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    To { learner: String, action: Action },
    ToAll { action: Action },
    RestoreNewest { learner: String },
    Solve { learner: String, step: String },
    Pin { lesson: Option<String> },
}

/// A line that is being entered, or a question that waits for yes or no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Message {
        to: Option<String>,
    },
    Unlock {
        learner: String,
    },
    Pin,
    /// Yes carries it out.
    ResetStep {
        learner: String,
        step: String,
    },
    ResetLesson {
        learner: String,
        lesson: String,
    },
    Solve {
        learner: String,
        step: String,
    },
}

impl Entry {
    pub fn asks_for_text(&self) -> bool {
        matches!(
            self,
            Entry::Message { .. } | Entry::Unlock { .. } | Entry::Pin
        )
    }

    pub fn prompt(&self) -> String {
        match self {
            Entry::Message { to: Some(name) } => format!("Message to {name}: "),
            Entry::Message { to: None } => "Message to everyone: ".into(),
            Entry::Unlock { learner } => format!("Lesson to open for {learner}: "),
            Entry::Pin => "Lesson for everyone (empty: free again): ".into(),
            Entry::ResetStep { learner, step } => {
                format!("Take back {learner}'s step {step}? A backup is kept. y/n")
            }
            Entry::ResetLesson { learner, lesson } => {
                format!("Take back {learner}'s lesson {lesson}? A backup is kept. y/n")
            }
            Entry::Solve { learner, step } => format!("Do the step {step} for {learner}? y/n"),
        }
    }
}

/// Lessons offered at once.
const MOST_OFFERED: usize = 8;

/// What the dashboard holds.
#[derive(Debug, Default)]
pub struct Dashboard {
    pub views: Vec<LearnerView>,
    /// By name: the order changes under the instructor's hands.
    selected: Option<String>,
    pub entry: Option<Entry>,
    pub text: String,
    /// Lessons that what is entered may mean.
    pub offer: Vec<String>,
    /// Whether attempts, hints and places are listed instead of lessons.
    pub in_figures: bool,
    /// What came of the last decision.
    pub news: String,
}

impl Dashboard {
    /// Completes the lesson that is being entered, as far as its letters tell, and offers those they fit.
    pub fn complete(&mut self, course: &Course) {
        if !matches!(self.entry, Some(Entry::Unlock { .. } | Entry::Pin)) {
            return;
        }
        let ids: Vec<&str> = course.lessons().map(|lesson| lesson.id.as_str()).collect();
        let fitting = |fits: &dyn Fn(&str) -> bool| -> Vec<String> {
            let found = ids.iter().filter(|id| fits(id));
            found.map(|id| (*id).to_owned()).collect()
        };
        let mut found = fitting(&|id| id.starts_with(&self.text));
        if found.is_empty() {
            found = fitting(&|id| id.contains(&self.text));
        }
        if let Some((first, others)) = found.split_first() {
            let common = others.iter().fold(first.len(), |common, other| {
                let same = first.bytes().zip(other.bytes());
                common.min(same.take_while(|(a, b)| a == b).count())
            });
            if common > self.text.len() || others.is_empty() {
                self.text = first[..common].to_owned();
            }
        }
        found.truncate(MOST_OFFERED);
        self.offer = found;
    }

    /// New figures; true when anything that is shown changed.
    pub fn refresh(&mut self, views: Vec<LearnerView>) -> bool {
        let changed = self.views != views;
        self.views = views;
        if self.selected().is_none() {
            self.selected = self.views.first().map(|view| view.name.clone());
        }
        changed
    }

    pub fn place(&self) -> Option<usize> {
        let name = self.selected.as_ref()?;
        self.views.iter().position(|view| view.name == *name)
    }

    pub fn selected(&self) -> Option<&LearnerView> {
        self.views.get(self.place()?)
    }

    /// Moves the selection by so many lines, as far as there are any.
    pub fn move_by(&mut self, lines: isize) {
        let last = self.views.len().saturating_sub(1);
        let place = self
            .place()
            .unwrap_or(0)
            .saturating_add_signed(lines)
            .min(last);
        self.selected = self.views.get(place).map(|view| view.name.clone());
    }

    /// Begins an entry about the selected learner; nothing where there is none, or no position.
    pub fn begin(&mut self, make: impl FnOnce(&LearnerView) -> Option<Entry>) {
        self.cancel();
        self.entry = self.selected().and_then(make);
    }

    pub fn cancel(&mut self) {
        self.entry = None;
        self.offer.clear();
        self.text.clear();
    }

    /// Ends the entry with what it asks for; the error is for the instructor.
    pub fn accept(&mut self, course: &Course) -> Result<Option<Deed>, ScopeError> {
        let Some(entry) = self.entry.take() else {
            return Ok(None);
        };
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        let reset = |learner, named: Named| {
            let (scope, workbench) = resolve(&named, course)?;
            let action = Action::Reset { scope, workbench };
            Ok(Some(Deed::To { learner, action }))
        };
        match entry {
            Entry::Message { .. } | Entry::Unlock { .. } if text.is_empty() => Ok(None),
            Entry::Message { to } => {
                let action = Action::Message { text: text.into() };
                Ok(Some(match to {
                    Some(learner) => Deed::To { learner, action },
                    None => Deed::ToAll { action },
                }))
            }
            Entry::Unlock { learner } => {
                let lesson = lesson(text, course)?.id.clone();
                let action = Action::Unlock { lesson };
                Ok(Some(Deed::To { learner, action }))
            }
            Entry::Pin if text.is_empty() => Ok(Some(Deed::Pin { lesson: None })),
            Entry::Pin => {
                let lesson = Some(lesson(text, course)?.id.clone());
                Ok(Some(Deed::Pin { lesson }))
            }
            Entry::ResetStep { learner, step } => reset(learner, Named::Step(step)),
            Entry::ResetLesson { learner, lesson } => reset(learner, Named::Lesson(lesson)),
            Entry::Solve { learner, step } => Ok(Some(Deed::Solve { learner, step })),
        }
    }
}
