//! Instructors' orders in a session's records.

use tinyllama_session::SessionEvent;

/// Refuses events that no order has together.
///
/// # Errors
/// Says what is wrong.
pub fn check_form(events: &[SessionEvent]) -> Result<(), String> {
    let Some((last, before)) = events.split_last() else {
        return Err("the order does nothing".into());
    };
    let is_work = |event: &SessionEvent| event.may_be_ordered() && !is_decision(event);
    let is_whole = match last {
        SessionEvent::Solved { .. } => before.iter().all(is_work),
        last => before.is_empty() && (is_decision(last) || last.is_of_command_line()),
    };
    is_whole
        .then_some(())
        .ok_or("it does what an order cannot do".into())
}

/// Returns whether an order consists of this event, or ends with it.
fn is_decision(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::Reset { .. }
            | SessionEvent::Restored { .. }
            | SessionEvent::Unlocked { .. }
            | SessionEvent::Message { .. }
            | SessionEvent::Solved { .. }
    )
}

/// Returns whether the learner gives such an order, from another terminal, or it changes nothing that counts.
pub fn needs_no_copy(events: &[SessionEvent]) -> bool {
    let is_plain = |event: &SessionEvent| {
        event.is_of_command_line() || matches!(event, SessionEvent::Message { .. })
    };
    events.iter().all(is_plain)
}
