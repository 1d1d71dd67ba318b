//! The dashboard as data: the selection, the current entry, and what a decision asks for. Other code draws it.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::scope::{self, lesson, resolve};
use crate::instructor::{LearnerView, ScopeError, ScopeName};
use tinyllama_base::plural;
use tinyllama_lesson::Course;
use tinyllama_session::OrderAction;

/// A decision of an instructor.
#[derive(Clone, Debug, PartialEq)]
pub enum InstructorAction {
    /// Each learner with an order.
    To {
        orders: Vec<(String, OrderAction)>,
    },
    ToAll {
        action: OrderAction,
    },
    RestoreNewest {
        learners: Vec<String>,
    },
    Solve {
        learner: String,
        step: String,
    },
    Pin {
        lesson: Option<String>,
    },
}

/// A line that is being entered, or a question that waits for yes or no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    Message {
        to: Vec<String>,
    },
    MessageToAll,
    Unlock {
        learners: Vec<String>,
    },
    Pin,
    /// A text that the names or lessons of the learners to list contain.
    Filter,
    /// Yes resets these: each learner with the step or lesson to reset.
    ResetStep {
        of: Vec<(String, String)>,
    },
    ResetLesson {
        of: Vec<(String, String)>,
    },
    Solve {
        learner: String,
        step: String,
    },
}

impl Prompt {
    pub fn asks_for_text(&self) -> bool {
        matches!(
            self,
            Prompt::Message { .. }
                | Prompt::MessageToAll
                | Prompt::Unlock { .. }
                | Prompt::Pin
                | Prompt::Filter
        )
    }

    pub fn prompt(&self) -> String {
        match self {
            Prompt::Message { to } => format!("Message to {}: ", to.join(", ")),
            Prompt::MessageToAll => "Message to everyone: ".into(),
            Prompt::Unlock { learners } => format!(
                "Lesson to open for {} (tab completes): ",
                learners.join(", ")
            ),
            Prompt::Pin => "Lesson for everyone (tab completes; empty: free again): ".into(),
            Prompt::Filter => "Learners or lessons with (empty: all): ".into(),
            Prompt::ResetStep { of } => {
                format!("Reset {}? A backup is kept. y/n", counted_items("step", of))
            }
            Prompt::ResetLesson { of } => {
                format!(
                    "Reset {}? A backup is kept. y/n",
                    counted_items("lesson", of)
                )
            }
            Prompt::Solve { learner, step } => format!("Do the step {step} for {learner}? y/n"),
        }
    }
}

/// Formats `ada's step x/y, eve's step x/z`.
fn counted_items(what: &str, of: &[(String, String)]) -> String {
    itertools::join(
        of.iter()
            .map(|(learner, name)| format!("{learner}'s {what} {name}")),
        ", ",
    )
}

/// Largest number of lessons that are offered at once.
const MOST_OFFERED: usize = 8;

/// State of the dashboard.
#[derive(Debug, Default)]
pub struct Dashboard {
    /// The learners that are listed, in their order.
    pub views: Vec<LearnerView>,
    /// All learners, those who need help first.
    class: Vec<LearnerView>,
    filter: String,
    /// Index in [`ORDERS`].
    order: usize,
    /// A name instead of an index, because the order changes while the instructor works.
    selected: Option<String>,
    /// Names of the learners that the next decision is about. If empty, it is about the selected learner.
    marked: BTreeSet<String>,
    /// Index from 0 of the lesson whose column is described. `None` means the lesson that the selected learner is at.
    pub column: Option<usize>,
    pub entry: Option<Prompt>,
    pub text: String,
    /// Lessons that match the entry so far.
    pub offer: Vec<String>,
    /// If true, attempts, hints and places are listed in place of lessons.
    pub in_figures: bool,
    /// The result of the last decision.
    pub news: String,
}

/// An order of the learners, and its name.
type LearnerOrder = (&'static str, fn(&LearnerView, &LearnerView) -> Ordering);

const ORDERS: [LearnerOrder; 4] = [
    ("those who need help first", |_, _| Ordering::Equal),
    ("by name", |a, b| a.name.cmp(&b.name)),
    ("least done first", |a, b| {
        a.steps_finished.cmp(&b.steps_finished)
    }),
    ("most minutes first", |a, b| b.minutes.total_cmp(&a.minutes)),
];

impl Dashboard {
    /// Lists the learners in the next order.
    pub fn sort(&mut self) {
        self.order = (self.order + 1) % ORDERS.len();
        self.news = format!("Learners: {}.", ORDERS[self.order].0);
        self.list();
    }

    /// Lists the learners that pass the filter, in the chosen order.
    fn list(&mut self) {
        let filter = self.filter.to_lowercase();
        let is_listed = |view: &&LearnerView| {
            let lesson = view.position.as_ref().map(|it| it.lesson.as_str());
            let texts = [view.name.as_str(), lesson.unwrap_or_default()];
            texts.iter().any(|it| it.to_lowercase().contains(&filter))
        };
        self.views = self.class.iter().filter(is_listed).cloned().collect();
        self.views.sort_by(ORDERS[self.order].1);
        if self.selected().is_none() {
            self.selected = self.views.first().map(|view| view.name.clone());
        }
    }

    /// Number of all learners, with that of the listed ones if some are not.
    pub fn count(&self) -> String {
        let (listed, all) = (self.views.len(), self.class.len());
        match listed == all {
            true => plural(all, "learner"),
            false => {
                let all = plural(all, "learner");
                format!("{listed} of {all}, with \"{}\"", self.filter)
            }
        }
    }

    /// Completes the lesson in the entry as far as its letters are unique, and offers the lessons that match.
    pub fn complete(&mut self, course: &Course) {
        if !matches!(self.entry, Some(Prompt::Unlock { .. } | Prompt::Pin)) {
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
        if found.is_empty() {
            // A part of a title, as the screen shows it.
            let text = self.text.to_lowercase();
            let lessons = course.lessons();
            let titled = lessons.filter(|lesson| lesson.title.to_lowercase().contains(&text));
            found = titled.map(|lesson| lesson.id.clone()).collect();
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

    /// Takes new figures. Returns true if anything on screen changed.
    pub fn refresh(&mut self, views: Vec<LearnerView>) -> bool {
        let changed = self.class != views;
        self.class = views;
        self.list();
        changed
    }

    pub fn place(&self) -> Option<usize> {
        let name = self.selected.as_ref()?;
        self.views.iter().position(|view| view.name == *name)
    }

    pub fn selected(&self) -> Option<&LearnerView> {
        self.views.get(self.place()?)
    }

    /// Moves the selection by `lines` lines, within the list.
    pub fn move_by(&mut self, lines: isize) {
        let last = self.views.len().saturating_sub(1);
        let location = self
            .place()
            .unwrap_or(0)
            .saturating_add_signed(lines)
            .min(last);
        self.selected = self.views.get(location).map(|view| view.name.clone());
    }

    /// Marks the selected learner, or removes the mark, and selects the next one.
    pub fn mark(&mut self) {
        let Some(name) = self.selected.clone() else {
            return;
        };
        if !self.marked.remove(&name) {
            self.marked.insert(name);
        }
        self.move_by(1);
    }

    pub fn is_marked(&self, view: &LearnerView) -> bool {
        self.marked.contains(&view.name)
    }

    pub fn clear_marks(&mut self) {
        self.marked.clear();
    }

    /// The marked learners, otherwise the selected one.
    pub fn chosen(&self) -> Vec<&LearnerView> {
        match self.marked.is_empty() {
            true => self.selected().into_iter().collect(),
            false => self
                .views
                .iter()
                .filter(|view| self.is_marked(view))
                .collect(),
        }
    }

    /// Index of the lesson whose column is described.
    pub fn described(&self) -> Option<usize> {
        let view = self.selected()?;
        let here = view.position.as_ref().map(|position| &position.at.lesson);
        let here = || {
            view.lessons
                .iter()
                .position(|lesson| Some(&lesson.id) == here)
        };
        self.column.or_else(here)
    }

    /// Moves the description to another lesson.
    pub fn move_column_by(&mut self, columns: isize) {
        let lessons = self.views.iter().map(|view| view.lessons.len()).max();
        let last = lessons.unwrap_or(0).saturating_sub(1);
        let at = self.described().unwrap_or(0).saturating_add_signed(columns);
        self.column = Some(at.min(last));
    }

    /// Begins an entry about the chosen learners. Does nothing if there are none, or if `make` returns `None`.
    pub fn begin(&mut self, make: impl FnOnce(&[&LearnerView]) -> Option<Prompt>) {
        self.cancel();
        let chosen = self.chosen();
        self.entry = match chosen.is_empty() {
            true => None,
            false => make(&chosen),
        };
    }

    pub fn cancel(&mut self) {
        self.entry = None;
        self.offer.clear();
        self.text.clear();
    }

    /// Ends the entry and returns its decision. The error is a message for the instructor.
    ///
    /// # Errors
    /// Fails if the entry names a step or lesson that the course does not have.
    pub fn accept(&mut self, course: &Course) -> Result<Option<InstructorAction>, ScopeError> {
        let Some(entry) = self.entry.take() else {
            return Ok(None);
        };
        let text = std::mem::take(&mut self.text);
        let text = text.trim();
        let reset = |of: Vec<(String, String)>, named: fn(String) -> ScopeName| {
            let orders = of.into_iter().map(|(learner, name)| {
                let (scope, workbench) = resolve(&named(name), course)?;
                Ok((learner, OrderAction::Reset { scope, workbench }))
            });
            let orders = orders.collect::<Result<_, ScopeError>>()?;
            Ok(Some(InstructorAction::To { orders }))
        };
        let to = |learners: Vec<String>, action: OrderAction| {
            let orders = learners
                .into_iter()
                .map(|learner| (learner, action.clone()));
            Ok(Some(InstructorAction::To {
                orders: orders.collect(),
            }))
        };
        match entry {
            Prompt::Message { .. } | Prompt::MessageToAll | Prompt::Unlock { .. }
                if text.is_empty() =>
            {
                Ok(None)
            }
            Prompt::Filter => {
                text.clone_into(&mut self.filter);
                self.list();
                Ok(None)
            }
            Prompt::Message { to: learners } => {
                to(learners, OrderAction::Message { text: text.into() })
            }
            Prompt::MessageToAll => {
                let action = OrderAction::Message { text: text.into() };
                Ok(Some(InstructorAction::ToAll { action }))
            }
            Prompt::Unlock { learners } => {
                match scope::unlock(scope::lessons(text.split_whitespace(), course)?) {
                    Some(action) => to(learners, action),
                    None => Ok(None),
                }
            }
            Prompt::Pin if text.is_empty() => Ok(Some(InstructorAction::Pin { lesson: None })),
            Prompt::Pin => {
                let lesson = Some(lesson(text, course)?.id.clone());
                Ok(Some(InstructorAction::Pin { lesson }))
            }
            Prompt::ResetStep { of } => reset(of, ScopeName::Step),
            Prompt::ResetLesson { of } => reset(of, ScopeName::Lesson),
            Prompt::Solve { learner, step } => Ok(Some(InstructorAction::Solve { learner, step })),
        }
    }
}
