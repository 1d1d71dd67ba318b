//! Shows messages and changes of instructors, and notes of the tutor itself.

use crate::tui::{Effects, Handler, KeyBinding, Model, PageText, TextPage};
use tinyllama_base::moment;
use tinyllama_session::order::received;
use tinyllama_tutor_core::Action;

pub const ACTION: Action = Action::Panel("messages");

pub const PANEL: KeyBinding = (ACTION, "m", "messages", Handler::Any(open));

fn open(model: &mut Model) -> Effects {
    model.messages_seen += model.unread_messages();
    let state = &model.state;
    let received = received(state, &model.course).into_iter();
    let messages =
        received.map(|(time, from, text)| format!("**{from}**, {}\n\n{text}\n\n", moment(time)));
    let notes = state.notes.iter().rev().take(20);
    let notes = notes.map(|note| format!("*The tutor:* {note}\n\n"));
    let mut text: String = messages.chain(notes).collect();
    if text.is_empty() {
        text.push_str("You have no messages.");
    }
    model.open(TextPage::new("Messages", PageText::Markdown(text)))
}
