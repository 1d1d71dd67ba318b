//! Problems that only show when a course is used, pointed at the lines they come from.

use super::course::Lesson;
use super::file::File;
use super::locate::Part;
use super::problem::Problem;
use super::source::Source;

/// A part of a lesson's file. Numbers are positions, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// A key of the lesson, such as `minutes`.
    Lesson(&'a str),
    /// A step, or one of its keys.
    Step(usize, Option<&'a str>),
    /// A key of a step's check.
    Check(usize, usize, &'a str),
    /// A step's hint.
    Hint(usize, usize),
    /// A choice of a quiz.
    Choice(usize, usize),
    /// What a quiz takes for the right number.
    Tolerance(usize),
}

/// `message` about `place` in the file of `lesson`, with line and column where the file can still be read.
pub fn problem(
    source: &Source,
    lesson: &Lesson,
    place: Place,
    message: impl Into<String>,
) -> Problem {
    let path = format!("{}/{}.yaml", lesson.session, lesson.id);
    match File::open(source, &path) {
        Ok(file) => file.problem(&parts(place), message),
        Err(unreadable) => unreadable,
    }
}

fn parts(place: Place) -> Vec<Part> {
    let step = |index| vec![Part::Key("steps"), Part::Index(index)];
    match place {
        Place::Lesson(key) => vec![Part::Key(key)],
        Place::Step(index, key) => {
            let mut parts = step(index);
            parts.extend(key.map(Part::Key));
            parts
        }
        Place::Check(index, check, key) => {
            let check = [Part::Key("checks"), Part::Index(check), Part::Key(key)];
            [&step(index)[..], &check].concat()
        }
        Place::Hint(index, hint) => {
            [&step(index)[..], &[Part::Key("hints"), Part::Index(hint)]].concat()
        }
        Place::Choice(index, choice) => {
            let choice = [Part::Key("choices"), Part::Index(choice)];
            [&step(index)[..], &choice].concat()
        }
        Place::Tolerance(index) => {
            let tolerance = [Part::Key("number"), Part::Key("tolerance")];
            [&step(index)[..], &tolerance].concat()
        }
    }
}
