//! Reads a course: files become documents, documents become a [`Course`], and all problems on the way are collected.

use std::collections::{BTreeMap, HashMap};

use super::document::FORMAT;
use super::file::CourseFile;
use super::kinds::StepKind;
use super::step_reader::StepReader;
use crate::{
    CommandCheck, Course, CourseSource, FIXED, Lesson, LessonDocument, Problem, Problems, StepRef,
    WorkshopDocument, text, validate,
};

/// The file that lists sessions and lessons.
pub const WORKSHOP: &str = "workshop.yaml";

/// Limit in bytes for all reference pages together. The pages of the built-in course have a tenth of a megabyte.
const MOST_PAGE_BYTES: usize = 16 << 20;

impl Course {
    /// Reads and checks a whole course.
    pub fn load(source: &CourseSource) -> Result<Self, Problems> {
        Self::load_with(source, &|_, _| Ok(()))
    }

    /// Like [`Course::load`], and lets `commands` check the flags of every run step.
    pub fn load_with(source: &CourseSource, commands: CommandCheck) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let course = read(source, commands, &mut problems);
        match course {
            Some(course) if problems.is_empty() => Ok(course),
            _ => Err(Problems(problems)),
        }
    }
}

fn read(
    source: &CourseSource,
    commands: CommandCheck,
    problems: &mut Vec<Problem>,
) -> Option<Course> {
    let file = CourseFile::open(source, WORKSHOP)
        .map_err(|problem| problems.push(problem))
        .ok()?;
    let workshop: WorkshopDocument = file.parse(problems)?;
    if workshop.format != FORMAT {
        let message = format!(
            "this is format {}; this program reads format {FORMAT}",
            workshop.format
        );
        problems.push(file.problem("format", message));
        return None;
    }
    validate::workshop(&workshop, source, &file, problems);

    let mut files = BTreeMap::new();
    let mut lessons = BTreeMap::new();
    for session in &workshop.sessions {
        // Both ids become part of a path.
        let is_path = |id: &&String| validate::is_id(&session.id) && validate::is_id(id);
        for id in session.lessons.iter().filter(is_path) {
            let Some((file, lesson)) = read_lesson(source, &session.id, id, commands, problems)
            else {
                continue;
            };
            files.insert(id.clone(), file);
            lessons.insert(id.clone(), lesson);
        }
    }
    name_runs(&mut lessons);
    let course = Course {
        title: workshop.title,
        version: workshop.version,
        summary: workshop.summary,
        sessions: workshop.sessions,
        paths: workshop.paths,
        lessons,
        reference: read_reference(source, problems),
    };
    validate::course(&course, &file, &files, problems);
    Some(course)
}

/// A step as the measures of other steps need it.
struct NamedStep {
    index: usize,
    title: String,
    recording: Option<String>,
}

/// Names the runs of checks and predictions by the titles of their steps, and the recordings of earlier steps.
fn name_runs(lessons: &mut BTreeMap<String, Lesson>) {
    let steps = lessons.values().flat_map(|lesson| {
        let steps = lesson.steps.iter().enumerate();
        steps.map(|(index, step)| {
            let named = NamedStep {
                index,
                title: step.title.clone(),
                recording: step.recording.clone(),
            };
            (StepRef::new(&lesson.id, &step.id), named)
        })
    });
    let steps: HashMap<StepRef, NamedStep> = steps.collect();
    let title = |run: &StepRef| match run.step.strip_suffix(FIXED) {
        Some(step) => {
            let step = steps.get(&StepRef::new(&run.lesson, step))?;
            Some(format!("{}, fixed", step.title))
        }
        None => steps.get(run).map(|step| step.title.clone()),
    };
    for lesson in lessons.values_mut() {
        for (index, step) in lesson.steps.iter_mut().enumerate() {
            let recording = |run: &StepRef| {
                let earlier = steps.get(run)?;
                let is_earlier = run.lesson != lesson.id || earlier.index < index;
                earlier.recording.clone().filter(|_| is_earlier)
            };
            for check in &mut step.checks {
                check.measure.take_titles(&title);
                check.measure.take_recordings(&recording);
            }
            match &mut step.kind {
                StepKind::Predict(predict) => {
                    predict.measure.take_titles(&title);
                    predict.measure.take_recordings(&recording);
                }
                StepKind::Compare(compare) => {
                    let titles = compare.runs.iter().zip(&compare.titles);
                    let titles = titles.map(|(run, id)| title(run).unwrap_or_else(|| id.clone()));
                    compare.titles = titles.collect();
                }
                _ => {}
            }
        }
    }
}

fn read_lesson(
    source: &CourseSource,
    session: &str,
    id: &str,
    commands: CommandCheck,
    problems: &mut Vec<Problem>,
) -> Option<(CourseFile, Lesson)> {
    let file = CourseFile::open(source, &format!("{session}/{id}.yaml"))
        .map_err(|problem| problems.push(problem))
        .ok()?;
    let document: LessonDocument = file.parse(problems)?;
    if document.id != id {
        let message = format!(
            "the id is `{}`, but {WORKSHOP} calls this lesson `{id}`",
            document.id
        );
        problems.push(file.problem("id", message));
    }
    let before = problems.len();
    let steps = document
        .steps
        .iter()
        .enumerate()
        .filter_map(|(index, step)| {
            StepReader {
                file: &file,
                lesson: id,
                index,
                commands,
                problems,
            }
            .read(step)
        })
        .collect();
    // A lesson with unreadable steps would only cause misleading problems later.
    (problems.len() == before).then(|| {
        let lesson = Lesson {
            id: id.to_string(),
            session: session.to_string(),
            title: document.title,
            minutes: document.minutes,
            level: document.level,
            requires: document.requires,
            objectives: document.objectives,
            steps,
        };
        (file, lesson)
    })
}

fn read_reference(source: &CourseSource, problems: &mut Vec<Problem>) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    let mut bytes = 0;
    for name in source.files("reference", "md") {
        if bytes > MOST_PAGE_BYTES {
            break;
        }
        let page = CourseFile::open(source, &format!("reference/{name}")).and_then(|file| {
            bytes += file.text.len();
            let page = match bytes > MOST_PAGE_BYTES {
                true => Err(format!(
                    "up to here the pages have more than the {MOST_PAGE_BYTES} bytes that are read"
                )),
                false => text::fill_known(&file.text),
            };
            page.map_err(|message| file.problem_in_line(1, message))
        });
        match page {
            Ok(page) => drop(pages.insert(name, page)),
            Err(problem) => problems.push(problem),
        }
    }
    pages
}

/// A problem about the node at `path` in the file of `lesson`, with line and column if the file can still be read.
pub fn problem_in(
    source: &CourseSource,
    lesson: &Lesson,
    path: &str,
    message: impl Into<String>,
) -> Problem {
    let file = format!("{}/{}.yaml", lesson.session, lesson.id);
    match CourseFile::open(source, &file) {
        Ok(file) => file.problem(path, message),
        Err(unreadable) => unreadable,
    }
}
