//! Carries out decisions from the dashboard.

use anyhow::Result;
use itertools::Itertools;
use serde::Serialize;

use crate::instructor::{
    Class, ClassError, Delivery, InstructorAction, Learner, deliver, scope, solve,
};
use tinyllama_base::plural;
use tinyllama_lesson::Course;
use tinyllama_session::class_file::ClassSettings;
use tinyllama_session::{
    InstructorOrder, OrderAction, SessionError, SessionLocation, class_file, read_only,
};

/// Carries out a decision and describes the result.
///
/// # Errors
/// Fails if the file system refuses, or a learner or lesson of that name does not exist.
pub fn carry_out(
    case_move: InstructorAction,
    class: &mut Class,
    course: &Course,
    by: &str,
) -> Result<String> {
    match case_move {
        InstructorAction::To { orders } => match <[_; 1]>::try_from(orders) {
            Ok([(learner, action)]) => Ok(send_one(class, &learner, action, by)?.text),
            Err(orders) => Ok(in_words(&send_each(class, orders, by)?)),
        },
        InstructorAction::ToAll { action } => Ok(in_words(&everyone(class, action, by)?)),
        InstructorAction::RestoreNewest { learners } => {
            let found = learners
                .into_iter()
                .map(|learner| match newest_backup(class, &learner) {
                    Ok(backup) => Ok((learner, OrderAction::Restore { backup })),
                    Err(error) => Err(format!(" {learner}: {error:#}.")),
                });
            let (orders, errors): (Vec<_>, String) = found.partition_result();
            if orders.is_empty() {
                return Ok(errors.trim_start().to_owned());
            }
            let sent = carry_out(InstructorAction::To { orders }, class, course, by)?;
            Ok(sent + &errors)
        }
        InstructorAction::Solve { learner, step } => {
            let at = scope::step(&step, course)?;
            let Some(step) = course.step(&at.lesson, &at.step) else {
                return Ok(format!("There is no step {step}."));
            };
            let action = solve::solve(at, step, &mut |_| {})?;
            Ok(send_one(class, &learner, action, by)?.text)
        }
        InstructorAction::Pin { lesson } => pin(class, |pin| pin.lesson = lesson, by),
    }
}

/// Changes what the class is asked to do, and describes the result.
///
/// # Errors
/// Fails if the file in the class folder cannot be read or written.
pub fn pin(class: &Class, change: impl FnOnce(&mut ClassSettings), by: &str) -> Result<String> {
    let mut pin = class_file::read(&class.folder)?.unwrap_or_default();
    change(&mut pin);
    pin.by = by.into();
    class_file::write(&class.folder, &pin)?;
    let path = pin.path.map(|path| path.title);
    Ok(match (pin.lesson, path) {
        (Some(lesson), None) => format!("The class is asked to work on {lesson}."),
        (Some(lesson), Some(path)) => {
            format!("The class is asked to work on {lesson}, and to take {path}.")
        }
        (None, Some(path)) => format!("The class is asked to take {path}."),
        (None, None) => "Everyone may work on any lesson again.".into(),
    })
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
pub struct SentOrder {
    pub learner: String,
    pub state: &'static str,
    pub text: String,
}

impl SentOrder {
    pub fn is_failed(&self) -> bool {
        self.state == FAILED
    }
}

const FAILED: &str = "failed";

/// Delivers an order to one learner.
///
/// # Errors
/// Fails if the learner is not in the class, or the order cannot be delivered.
pub fn send_one(class: &Class, learner: &str, action: OrderAction, by: &str) -> Result<SentOrder> {
    Ok(send(
        &class.place(learner)?,
        &InstructorOrder::new(by, action),
    )?)
}

fn send(location: &SessionLocation, order: &InstructorOrder) -> Result<SentOrder, SessionError> {
    let delivery = deliver(location, order)?;
    Ok(SentOrder {
        state: delivery.name(),
        text: delivery.in_words(&location.learner),
        learner: location.learner.clone(),
    })
}

/// Delivers an order to each learner. A failure for one does not stop the others.
///
/// # Errors
/// Fails if a learner is not in the class. No order is delivered then.
pub fn send_each(
    class: &Class,
    orders: Vec<(String, OrderAction)>,
    by: &str,
) -> Result<Vec<SentOrder>> {
    let places = orders.into_iter().map(|(learner, action)| {
        let location = class.place(&learner)?;
        Ok((location, InstructorOrder::new(by, action)))
    });
    let places: Vec<(SessionLocation, InstructorOrder)> =
        places.collect::<Result<_, ClassError>>()?;
    let sent = places
        .into_iter()
        .map(|(location, order)| send_or_say(&location, &order));
    Ok(sent.collect())
}

fn send_or_say(location: &SessionLocation, order: &InstructorOrder) -> SentOrder {
    send(location, order).unwrap_or_else(|error| SentOrder {
        state: FAILED,
        text: format!("{}: {error}", location.learner),
        learner: location.learner.clone(),
    })
}

/// Delivers an order to every learner. A failure for one does not stop the others.
///
/// # Errors
/// Fails if the class folder may no longer be read.
pub fn everyone(class: &mut Class, action: OrderAction, by: &str) -> Result<Vec<SentOrder>> {
    let order = InstructorOrder::new(by, action);
    let learners = class.learners()?.into_iter();
    let sent = learners.map(|Learner { location, .. }| send_or_say(&location, &order));
    Ok(sent.collect())
}

fn in_words(sent: &[SentOrder]) -> String {
    let failed = sent.iter().filter(|sent| sent.is_failed());
    let failed: Vec<&str> = failed.map(|sent| sent.text.as_str()).collect();
    let reached = sent.len() - failed.len();
    match failed.is_empty() {
        true => format!("Sent to {}.", plural(reached, "learner")),
        false => format!(
            "Sent to {}, not to {}.",
            plural(reached, "learner"),
            failed.join("; ")
        ),
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
