//! Delivers orders to sessions.

use tinyllama_session::{
    InstructorOrder, OutsideChange, Session, SessionError, SessionLocation, inbox,
};

/// The result of delivering an order.
#[derive(Clone, Debug, PartialEq)]
pub enum Delivery {
    /// Carried out. No tutor had the session open.
    Done(OutsideChange),
    /// In the inbox. The learner's open tutor takes it within two seconds.
    Sent,
    /// In the inbox. The tutor takes it when the learner opens it next.
    Waits,
}

/// Carries an order out if the session belongs to this user and no tutor has it open. Otherwise puts it into the inbox.
///
/// A session of another user is never written to, not even by root: files of another owner would lock the learner out.
///
/// # Errors
/// Fails if the file system refuses, or the order names something that does not exist.
pub fn deliver(
    location: &SessionLocation,
    order: &InstructorOrder,
) -> Result<Delivery, SessionError> {
    if !location.is_own() {
        inbox::send(location, order)?;
        let open = tinyllama_session::lock::holder(&location.lock()).is_some();
        return Ok(if open {
            Delivery::Sent
        } else {
            Delivery::Waits
        });
    }
    match Session::open(location.clone()) {
        Ok(mut session) => {
            // Earlier orders come first.
            session.poll_notices()?;
            let name = inbox::new_name();
            Ok(Delivery::Done(session.apply_order(&name, order)?))
        }
        Err(SessionError::Held { .. }) => {
            inbox::send(location, order)?;
            Ok(Delivery::Sent)
        }
        Err(error) => Err(error),
    }
}
