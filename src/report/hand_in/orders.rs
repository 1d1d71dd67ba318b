//! Instructors' orders in a session's records.

use tinyllama_session::SessionEvent;
use tinyllama_session::event::OrderPart;

/// Refuses events that no order has together.
///
/// # Errors
/// Says what is wrong.
pub fn check_form(events: &[SessionEvent]) -> Result<(), String> {
    let Some((last, before)) = events.split_last() else {
        return Err("the order does nothing".into());
    };
    let is = |part, event: &SessionEvent| event.order_part() == Some(part);
    let is_whole = match last {
        SessionEvent::Solved { .. } => before.iter().all(|it| is(OrderPart::StepWork, it)),
        _ if !before.is_empty() => false,
        last => is(OrderPart::Decision, last) || last.is_of_command_line(),
    };
    is_whole
        .then_some(())
        .ok_or("it does what an order cannot do".into())
}

/// Returns whether the learner gives such an order, from another terminal, or it changes nothing that counts.
pub fn needs_no_copy(events: &[SessionEvent]) -> bool {
    let is_plain = |event: &SessionEvent| {
        event.is_of_command_line() || matches!(event, SessionEvent::Message { .. })
    };
    events.iter().all(is_plain)
}
