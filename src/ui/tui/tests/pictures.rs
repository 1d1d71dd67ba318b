//! Pictures of real screens for the README and the documents. The program draws them, and the tests compare them with
//! the stored files, so no picture is outdated. `tools/generate screens` draws them anew.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crossterm::event::Event;
use ratatui::prelude::{Buffer, Rect};

use super::script::Script;
use super::svg::svg;
use crate::tui::view::draw;
use tinyllama_lesson::{Course, CourseSource};
use tinyllama_runs::recording::{self, Library};
use tinyllama_session::StepRef;

/// A screen: its file, its description, its size, and its keys. The keys follow a prediction and its finished run;
/// without keys the picture shows a learner's first screen.
type PictureScreen = (&'static str, &'static str, (u16, u16), Option<&'static str>);

const SCREENS: [PictureScreen; 5] = [
    (
        "run",
        "A run that has ended, next to its step",
        (120, 40),
        Some(""),
    ),
    ("first", "The first screen of a learner", (80, 24), None),
    ("end", "The end of a run at 80 columns", (80, 24), Some("")),
    (
        "kernels",
        "Kernels of a step and their times",
        (100, 24),
        Some("tab tab tab tab enter"),
    ),
    ("reading", "A step to read", (100, 30), Some("v n")),
];

fn picture((columns, rows): (u16, u16), keys: Option<&str>, title: &str) -> String {
    let course = Course::load(&CourseSource::BuiltIn).expect("the course is sound");
    let mut script = Script::with_course(course);
    script.event(Event::Resize(columns, rows));
    if let Some(keys) = keys {
        let library = Library::load(recording::RecordingSource::BuiltIn).expect("recordings");
        script.model.recordings = Arc::new(library);
        let state = Arc::make_mut(&mut script.model.state);
        let unlocked = &mut state.unlocked;
        unlocked.insert("first-baseline".into(), "a picture".into());
        script.model.clear_overlays();
        script.open(StepRef::new("first-baseline", "guess-time"));
        script.keys("enter 3 0 enter n r");
        let (id, recording) = script.played().expect("a recording");
        let library = Arc::clone(&script.model.recordings);
        let tape = library.tape(library.find(&recording).expect("it"));
        let lines = tape.expect("its tape").lines.into_iter();
        let lines: Vec<String> = lines.map(|(_, line)| line).collect();
        script.finish_with(id, &lines.join("\n"));
        script.keys(keys);
    }
    let area = Rect::new(0, 0, columns, rows);
    let mut buffer = Buffer::empty(area);
    draw(&script.model, area, &mut buffer);
    svg(&buffer, title)
}

#[test]
fn pictures_of_screens_show_what_is_so() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/screens");
    let updates = std::env::var_os("UPDATE_GENERATED").is_some();
    let mut stale = Vec::new();
    for (name, title, size, keys) in SCREENS {
        let drawn = picture(size, keys, title);
        let path = folder.join(format!("{name}.svg"));
        if updates {
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(&path, &drawn).expect("a file");
        }
        if fs::read_to_string(&path).unwrap_or_default() != drawn {
            stale.push(name);
        }
    }
    assert!(
        stale.is_empty(),
        "{stale:?} show what is no longer so; run tools/generate screens"
    );
}
