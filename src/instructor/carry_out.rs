//! Carrying out what was decided on the dashboard.

use anyhow::Result;

use super::class::Class;
use super::dashboard::Deed;
use super::{Delivery, deliver, scope, solve};
use crate::lesson::Course;
use crate::session::class_file::{self, Pin};
use crate::session::order::{Action, Order};
use crate::session::store::read_only;
use crate::session::{SessionError, State};

/// Does it and says what came of it.
///
/// # Errors
/// When the file system does not let it, or nobody and nothing is called so.
pub fn carry_out(deed: Deed, class: &mut Class, course: &Course, by: &str) -> Result<String> {
    match deed {
        Deed::To { learner, action } => one(class, &learner, action, by),
        Deed::ToAll { action } => everyone(class, action, by),
        Deed::RestoreNewest { learner } => {
            let (state, _) = read_only(&class.place(&learner)?)?;
            let backup = newest_backup(&state)?;
            one(class, &learner, Action::Restore { backup }, by)
        }
        Deed::Solve { learner, step } => {
            let at = scope::step(&step, course)?;
            let Some(step) = course.step(&at.lesson, &at.step) else {
                return Ok(format!("There is no step {step}."));
            };
            let action = solve::solve(at, step, &mut |_| {})?;
            one(class, &learner, action, by)
        }
        Deed::Pin { lesson } => {
            let text = match &lesson {
                Some(lesson) => format!("The class is asked to work on {lesson}."),
                None => "Everybody may go on where they like.".into(),
            };
            let by = by.into();
            class_file::write(class.folder(), &Pin { lesson, by })?;
            Ok(text)
        }
    }
}

/// The backup that a restore without a name means.
///
/// # Errors
/// When there is none that was not restored already.
pub fn newest_backup(state: &State) -> Result<String, SessionError> {
    let number = |name: &str| name.rsplit('-').next().and_then(|n| n.parse::<u64>().ok());
    state
        .backups
        .iter()
        .filter(|(_, backup)| !backup.restored)
        .max_by_key(|(name, _)| number(name))
        .map(|(name, _)| name.clone())
        .ok_or(SessionError::NothingToRestore)
}

fn one(class: &Class, learner: &str, action: Action, by: &str) -> Result<String> {
    let delivery = deliver(&class.place(learner)?, &Order::new(by, action))?;
    Ok(delivery.in_words(learner))
}

fn everyone(class: &mut Class, action: Action, by: &str) -> Result<String> {
    let order = Order::new(by, action);
    let learners = class.learners()?;
    let mut failed = Vec::new();
    for learner in &learners {
        if let Err(error) = deliver(&learner.place, &order) {
            failed.push(format!("{}: {error}", learner.place.learner));
        }
    }
    let reached = learners.len() - failed.len();
    Ok(match failed.is_empty() {
        true => format!("Sent to {reached} learners."),
        false => format!("Sent to {reached} learners, not to {}.", failed.join("; ")),
    })
}

impl Delivery {
    pub fn in_words(&self, learner: &str) -> String {
        match self {
            Delivery::Done(notice) => format!("{learner} is told: {notice}"),
            Delivery::Sent => {
                format!("{learner} has the tutor open, which takes it within two seconds.")
            }
            Delivery::Waits => format!("{learner} is told when the tutor is next opened."),
        }
    }

    /// `done`, `sent` or `waits`.
    pub fn name(&self) -> &'static str {
        match self {
            Delivery::Done(_) => "done",
            Delivery::Sent => "sent",
            Delivery::Waits => "waits",
        }
    }
}
