//! Copies of orders in the class folder. A session's records show that an order was carried out. Only its copy, which the
//! learner cannot write, shows that an instructor gave it.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::order::MOST_BYTES;
use crate::{InstructorOrder, OrderAction, SessionEvent, check_name};
use tinyllama_base::safe_path::SafeFolder;
use tinyllama_base::untrusted;

/// The folder in the class folder that holds the copies.
pub const FOLDER: &str = ".orders";

/// Keeps a copy of an order that the owner of the class gives. Orders of others have no copy, because nobody could tell
/// them from a learner's.
///
/// # Errors
/// Fails like the file system.
pub(super) fn keep(class: &Path, name: &str, order: &InstructorOrder) -> io::Result<()> {
    let class = SafeFolder::open(class)?;
    if !class.is_own() {
        return Ok(());
    }
    // A learner must not read what others are told, nor what solves a step. Other instructors may.
    let folder = class.create_folder(OsStr::new(FOLDER), 0o2750)?;
    folder.replace(
        OsStr::new(&file_name(name)),
        &serde_json::to_vec(order)?,
        0o640,
    )
}

/// Returns whether the class has a copy of this order to this session, and it does what the session recorded.
pub fn confirms(class: &Path, name: &str, session: &str, events: &[SessionEvent]) -> bool {
    let copy = check_name(name).ok().and_then(|()| read(class, name).ok());
    copy.is_some_and(|order| order.session == session && does(&order, events))
}

fn read(class: &Path, name: &str) -> io::Result<InstructorOrder> {
    let folder = SafeFolder::open_owned(class)?.folder(OsStr::new(FOLDER))?;
    let file = folder.file(OsStr::new(&file_name(name)))?;
    Ok(serde_json::from_slice(&untrusted::read_from(
        file, MOST_BYTES,
    )?)?)
}

fn file_name(order: &str) -> String {
    format!("{order}.json")
}

/// Returns whether a session that takes this order records these events.
fn does(order: &InstructorOrder, events: &[SessionEvent]) -> bool {
    let Some((last, before)) = events.split_last() else {
        return false;
    };
    let given = match &order.action {
        OrderAction::Solve { events, .. } => &events[..],
        _ => &[],
    };
    let same = match (&order.action, last) {
        (
            OrderAction::Reset { scope, .. },
            SessionEvent::Reset {
                scope: done, by, ..
            },
        ) => scope == done && *by == order.by,
        (OrderAction::Restore { backup }, SessionEvent::Restored { backup: done, by }) => {
            backup == done && *by == order.by
        }
        (
            OrderAction::Unlock { lesson, others },
            SessionEvent::Unlocked {
                lesson: done,
                others: further,
                by,
            },
        ) => lesson == done && others == further && *by == order.by,
        (OrderAction::Solve { at, .. }, SessionEvent::Solved { at: done, by }) => {
            at == done && *by == order.by
        }
        _ => false,
    };
    same && given == before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_order_that_was_given_is_confirmed() {
        let class = tempfile::tempdir().unwrap();
        let unlock = |lesson: &str, by: &str| SessionEvent::Unlocked {
            lesson: lesson.into(),
            others: vec![],
            by: by.into(),
        };
        let action = OrderAction::Unlock {
            lesson: "roofline".into(),
            others: vec![],
        };
        let order = InstructorOrder {
            session: "s1".into(),
            ..InstructorOrder::new("sam", action)
        };
        keep(class.path(), "o1", &order).unwrap();
        let confirmed =
            |name, session, events: &[SessionEvent]| confirms(class.path(), name, session, events);
        assert!(confirmed("o1", "s1", &[unlock("roofline", "sam")]));
        assert!(!confirmed("o2", "s1", &[unlock("roofline", "sam")]));
        assert!(!confirmed("o1", "s2", &[unlock("roofline", "sam")]));
        assert!(!confirmed("o1", "s1", &[unlock("roofline", "ada")]));
        assert!(!confirmed("o1", "s1", &[unlock("launches", "sam")]));
        assert!(!confirmed("o1", "s1", &[]));
    }
}
