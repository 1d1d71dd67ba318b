//! Live values: `{{ run.metric }}` in a lesson's text stands for what was measured here.

use super::check::{Runs, Undecided, exact, recorded};
use super::quantity::{Quantity, RunName};
use crate::recording::label;

/// A piece of text, or what stands between double braces.
enum Piece<'a> {
    Text(&'a str),
    Value(&'a str),
}

/// `text` with every live value filled in, for a step of `lesson`.
pub fn fill(text: &str, lesson: &str, runs: &dyn Runs) -> String {
    let shown = pieces(text).map(|piece| match piece {
        Piece::Text(text) => text.to_string(),
        Piece::Value(expression) => show(expression, lesson, runs),
    });
    shown.collect()
}

/// Every run that the live values of `text` name, for a step of `lesson`.
pub fn runs(text: &str, lesson: &str) -> Vec<RunName> {
    values(text)
        .filter_map(|expression| Quantity::parse(expression, lesson).ok())
        .flat_map(|quantity| quantity.runs().cloned().collect::<Vec<_>>())
        .collect()
}

/// Every live value of `text`, as written.
pub(super) fn values(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).filter_map(|piece| match piece {
        Piece::Value(expression) => Some(expression),
        Piece::Text(_) => None,
    })
}

fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    let mut pieces = Vec::new();
    while let Some((before, from)) = rest.split_once("{{") {
        let Some((expression, after)) = from.split_once("}}") else {
            break;
        };
        pieces.push(Piece::Text(before));
        pieces.push(Piece::Value(expression.trim()));
        rest = after;
    }
    pieces.push(Piece::Text(rest));
    pieces.into_iter()
}

fn show(expression: &str, lesson: &str, runs: &dyn Runs) -> String {
    let Ok(quantity) = Quantity::parse(expression, lesson) else {
        return format!("{{{{ {expression} }}}}");
    };
    match exact(&quantity, runs) {
        Ok(value) => {
            let shown = quantity.unit().show(value);
            match recorded(&quantity, runs) {
                Some(origin) => format!("{shown} ({})", label(origin)),
                None => shown,
            }
        }
        Err(Undecided::OtherMachine { .. }) => {
            "(one of the runs is a recording of another machine)".into()
        }
        Err(Undecided::NotReported(_)) => "(not reported)".into(),
        Err(Undecided::NotFinite(_)) => "(not a finite number)".into(),
        Err(Undecided::OtherDevice { .. }) => "(of different devices)".into(),
        Err(_) => "(not measured yet)".into(),
    }
}
