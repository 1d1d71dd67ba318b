//! Carries out decisions from the dashboard.

use anyhow::Result;
use serde::Serialize;

use crate::instructor::{Class, ClassError, Deed, Delivery, Learner, deliver, scope, solve};
use crate::lesson::Course;
use crate::session::class_file::Pin;
use crate::session::{Action, Order, Place, SessionError, class_file, read_only};

/// Carries out a decision and describes the result.
///
/// # Errors
/// Fails if the file system refuses, or a learner or lesson of that name does not exist.
pub fn carry_out(deed: Deed, class: &mut Class, course: &Course, by: &str) -> Result<String> {
    match deed {
        Deed::To { orders } => match <[_; 1]>::try_from(orders) {
            Ok([(learner, action)]) => Ok(one(class, &learner, action, by)?.text),
            Err(orders) => Ok(in_words(&each(class, orders, by)?)),
        },
        Deed::ToAll { action } => Ok(in_words(&everyone(class, action, by)?)),
        Deed::RestoreNewest { learner } => {
            let backup = newest_backup(class, &learner)?;
            Ok(one(class, &learner, Action::Restore { backup }, by)?.text)
        }
        Deed::Solve { learner, step } => {
            let at = scope::step(&step, course)?;
            let Some(step) = course.step(&at.lesson, &at.step) else {
                return Ok(format!("There is no step {step}."));
            };
            let action = solve::solve(at, step, &mut |_| {})?;
            Ok(one(class, &learner, action, by)?.text)
        }
        Deed::Pin { lesson } => pin(class, lesson, by),
    }
}

/// Asks the class to work on one lesson, or lets each learner choose, and describes the result.
///
/// # Errors
/// Fails if the file in the class folder cannot be written.
pub fn pin(class: &Class, lesson: Option<String>, by: &str) -> Result<String> {
    let text = match &lesson {
        Some(lesson) => format!("The class is asked to work on {lesson}."),
        None => "Everyone may work on any lesson again.".into(),
    };
    let by = by.into();
    class_file::write(&class.folder, &Pin { lesson, by })?;
    Ok(text)
}

/// Finds the backup that a restore without a name takes.
///
/// # Errors
/// Fails if every backup was restored already, or there is none.
pub fn newest_backup(class: &Class, learner: &str) -> Result<String> {
    let (state, _) = read_only(&class.place(learner)?)?;
    let number = |name: &str| name.rsplit('-').next().and_then(|n| n.parse::<u64>().ok());
    let newest = state
        .backups
        .iter()
        .filter(|(_, backup)| !backup.restored)
        .max_by_key(|(name, _)| number(name));
    let (name, _) = newest.ok_or(SessionError::NothingToRestore)?;
    Ok(name.clone())
}

/// The result of an order to one learner.
#[derive(Debug, Serialize)]
pub struct Sent {
    pub learner: String,
    pub state: &'static str,
    pub text: String,
}

impl Sent {
    pub fn is_failed(&self) -> bool {
        self.state == FAILED
    }
}

const FAILED: &str = "failed";

/// Delivers an order to one learner.
///
/// # Errors
/// Fails if the learner is not in the class, or the order cannot be delivered.
pub fn one(class: &Class, learner: &str, action: Action, by: &str) -> Result<Sent> {
    Ok(send(&class.place(learner)?, &Order::new(by, action))?)
}

fn send(place: &Place, order: &Order) -> Result<Sent, SessionError> {
    let delivery = deliver(place, order)?;
    Ok(Sent {
        state: delivery.name(),
        text: delivery.in_words(&place.learner),
        learner: place.learner.clone(),
    })
}

/// Delivers an order to each learner. A failure for one does not stop the others.
///
/// # Errors
/// Fails if a learner is not in the class. No order is delivered then.
pub fn each(class: &Class, orders: Vec<(String, Action)>, by: &str) -> Result<Vec<Sent>> {
    let places = orders.into_iter().map(|(learner, action)| {
        let place = class.place(&learner)?;
        Ok((place, Order::new(by, action)))
    });
    let places: Vec<(Place, Order)> = places.collect::<Result<_, ClassError>>()?;
    let sent = places
        .into_iter()
        .map(|(place, order)| send_or_say(&place, &order));
    Ok(sent.collect())
}

fn send_or_say(place: &Place, order: &Order) -> Sent {
    send(place, order).unwrap_or_else(|error| Sent {
        state: FAILED,
        text: format!("{}: {error}", place.learner),
        learner: place.learner.clone(),
    })
}

/// Delivers an order to every learner. A failure for one does not stop the others.
///
/// # Errors
/// Fails if the class folder may no longer be read.
pub fn everyone(class: &mut Class, action: Action, by: &str) -> Result<Vec<Sent>> {
    let order = Order::new(by, action);
    let learners = class.learners()?.into_iter();
    let sent = learners.map(|Learner { place, .. }| send_or_say(&place, &order));
    Ok(sent.collect())
}

fn in_words(sent: &[Sent]) -> String {
    let failed = sent.iter().filter(|sent| sent.is_failed());
    let failed: Vec<&str> = failed.map(|sent| sent.text.as_str()).collect();
    let reached = sent.len() - failed.len();
    match failed.is_empty() {
        true => format!("Sent to {reached} learners."),
        false => format!("Sent to {reached} learners, not to {}.", failed.join("; ")),
    }
}

impl Delivery {
    pub fn in_words(&self, learner: &str) -> String {
        match self {
            Delivery::Done(notice) => format!("{learner} gets this message: {notice}"),
            Delivery::Sent => {
                format!("{learner} has the tutor open and gets this within two seconds.")
            }
            Delivery::Waits => {
                format!("{learner} gets this message when the tutor is opened next.")
            }
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
