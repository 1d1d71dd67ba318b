//! Getting an order to a session.

use crate::session::{Notice, Order, Place, Session, SessionError, inbox};

/// What became of an order.
#[derive(Clone, Debug, PartialEq)]
pub enum Delivery {
    /// It is done; nobody had the session open.
    Done(Notice),
    /// It lies in the inbox: the learner's open tutor takes it within two seconds.
    Sent,
    /// It lies in the inbox: it is taken when the learner next opens the tutor.
    Waits,
}

/// Carries an order out where the session is this user's to write and nobody has it open, else puts it into the inbox.
///
/// A session of another user is never written to, even by root: files of another owner would lock the learner out.
///
/// # Errors
/// When the file system does not let it, or the order asks for what is not there.
pub fn deliver(place: &Place, order: &Order) -> Result<Delivery, SessionError> {
    if !place.is_own() {
        inbox::send(place, order)?;
        let open = crate::session::lock::holder(&place.lock()).is_some();
        return Ok(if open {
            Delivery::Sent
        } else {
            Delivery::Waits
        });
    }
    match Session::open(place.clone()) {
        Ok(mut session) => {
            // What was sent before comes first.
            session.poll_notices()?;
            let name = inbox::new_name();
            Ok(Delivery::Done(session.obey(&name, order)?))
        }
        Err(SessionError::Held { .. }) => {
            inbox::send(place, order)?;
            Ok(Delivery::Sent)
        }
        Err(error) => Err(error),
    }
}
