//! `lessons`: lists the course's content and checks a course.

use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;

use super::Exit;
use super::analysis::{AnalysisPage, plural};
use super::lessons_verify::{self, VerifyArgs};
use super::print_result::{print_json, print_markdown, print_page, print_text};
use tinyllama_base::locale;
use tinyllama_base::table::TableColumns;
use tinyllama_base::terminal::{self, Stderr, Stdout};
use tinyllama_base::untrusted::plain;
use tinyllama_contract::flags::{RunSpec, UsageError};
use tinyllama_course_walk::{blind_strategies, lint, scaffold};
use tinyllama_lesson as lesson;
use tinyllama_lesson::path::WHOLE;
use tinyllama_lesson::quiz::Quiz;
use tinyllama_lesson::{
    Course, CourseSource, Lesson, Problems, SessionDocument, Step, Style, is_id,
};
use tinyllama_tutor_core::slide;
use tinyllama_ui::plain::handout;

#[derive(Debug, Args)]
pub struct LessonsArgs {
    /// Use the course in this folder instead of the built-in one
    #[arg(long, value_name = "DIR", global = true, env = "TINYLLAMA_LESSONS")]
    lessons: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: LessonsCommand,
}

#[derive(Debug, Subcommand)]
enum LessonsCommand {
    /// List sessions and lessons
    List,
    /// Print a lesson, its answers, or the slides of a lesson or session
    Show {
        /// Id of the lesson; with --slides also of a session
        lesson: String,
        /// Every question with its right answer and reason, hints and flags that pass
        #[arg(long)]
        answers: bool,
        /// One page per step, under a rule
        #[arg(long, conflicts_with = "answers")]
        slides: bool,
    },
    /// Write a template file for a new lesson
    New {
        /// Session that the lesson belongs to
        session: String,
        /// Id of the lesson: lower-case letters, digits and hyphens
        id: String,
        /// Title of the lesson
        #[arg(long, default_value = "A new lesson")]
        title: String,
    },
    /// Check the whole course and report every problem
    Lint,
    /// Walk through every lesson with real runs, and report every problem that a learner would meet
    Verify(VerifyArgs),
}

pub fn run(args: &LessonsArgs) -> Result<Exit> {
    let source = CourseSource::new(args.lessons.clone());
    let course = match Course::load_with(&source, &check_flags) {
        Ok(course) => course,
        Err(problems) => {
            report(&problems, args.json)?;
            let checking = matches!(
                args.command,
                LessonsCommand::Lint | LessonsCommand::Verify(_)
            );
            return Ok(if checking { Exit::Failed } else { Exit::Usage });
        }
    };
    match &args.command {
        LessonsCommand::List => list(&course, args.json),
        LessonsCommand::Show {
            lesson,
            slides: true,
            ..
        } => {
            let ascii = !locale::is_utf8(locale::variable);
            if course.session(lesson).is_none() {
                named(&course, lesson)?;
            }
            let text = handout::slides(&course, lesson, ascii).unwrap_or_default();
            print_text(args.json, &json!({ "slides": text }), &text)
        }
        LessonsCommand::Show {
            lesson,
            answers: true,
            ..
        } => {
            let text = handout::answers(named(&course, lesson)?, &source).map_err(UsageError)?;
            print_markdown(args.json, &json!({ "answers": text }), &text)
        }
        LessonsCommand::Show { lesson, .. } => show(&course, lesson, args.json),
        LessonsCommand::New { session, id, title } => new(&course, &source, session, id, title),
        LessonsCommand::Lint => {
            let problems = Problems(lint(&course, &source));
            if problems.0.is_empty() {
                return sound(&course, args.json);
            }
            report(&problems, args.json)?;
            Ok(Exit::Failed)
        }
        LessonsCommand::Verify(verify) => lessons_verify::run(verify, &course, &source, args.json),
    }
}

/// Checks a step's flags with the command that will parse them: `run`, or one of the tutor's other commands.
fn check_flags(target: &str, flags: &[String]) -> Result<(), String> {
    if let Ok(command) = lesson::LessonCommand::parse(target) {
        let args = command.args(flags, "session")?;
        return super::check_args(&args);
    }
    let spec = RunSpec::parse(target, flags);
    spec.map(drop).map_err(|error| error.to_string())
}

fn report(problems: &Problems, as_json: bool) -> Result<()> {
    if as_json {
        return print_json(&json!({ "problems": problems.0 }));
    }
    let style = error_style();
    for problem in &problems.0 {
        terminal::write_coloured_error(&format!("{}\n", problem.render(style)))?;
    }
    writeln!(Stderr, "{}", plural(problems.0.len(), "problem"))?;
    Ok(())
}

/// Colour on a terminal unless NO_COLOR is set; box-drawing characters if the locale has UTF-8.
pub(super) fn error_style() -> Style {
    let terminal = io::stderr().is_terminal();
    Style {
        colour: terminal && !locale::no_color(locale::variable),
        unicode: locale::is_utf8(locale::variable),
        width: 100,
    }
}

fn list(course: &Course, as_json: bool) -> Result<Exit> {
    let sessions = course.sessions.iter().map(|session| {
        let lessons = session.lessons.iter().filter_map(|id| course.lesson(id));
        json!({ "session": session, "lessons": lessons.map(lesson_json).collect::<Vec<_>>() })
    });
    let sessions: Vec<_> = sessions.collect();
    let document = json!({ "title": course.title, "version": course.version, "sessions": sessions, "paths": course.paths });
    let mut page = AnalysisPage::default();
    page.line(format_args!("{} ({})", course.title, course.version));
    for session in &course.sessions {
        let lessons = session.lessons.iter().filter_map(|id| course.lesson(id));
        let lessons = lessons.map(|lesson| {
            let level = lesson.level.name();
            let optional = match lesson.optional_minutes().round() {
                some if some >= 1.0 => format!(" ({some:.0} min more may be left out)"),
                _ => String::new(),
            };
            [
                lesson.id.clone(),
                level.to_string(),
                format!("{}{optional}", plain(&lesson.title)),
                lesson.minutes.to_string(),
            ]
        });
        let planned = session.planned.iter().map(|planned| {
            let minutes = planned.minutes.to_string();
            [&planned.id, "not written", &plain(&planned.title), &minutes].map(String::from)
        });
        let rows: Vec<[String; 4]> = lessons.chain(planned).collect();
        let title = session_title(course, session);
        page.table(
            TableColumns::titled(title, &rows)
                .left("lesson", |row| row[0].clone())
                .right("min", |row| row[3].clone())
                .left("level", |row| row[1].clone())
                .left("title", |row| row[2].clone()),
        );
    }
    let paths: Vec<_> = std::iter::once(None)
        .chain(course.paths.iter().map(Some))
        .collect();
    page.table(
        TableColumns::titled(
            "Paths, with the minutes and the required kernels of their lessons",
            &paths,
        )
        .left("path", |path| {
            path.map_or(WHOLE.to_string(), |path| path.id.clone())
        })
        .right("min", |path| match path {
            Some(path) => format!("{:.0}", course.minutes_of_path(path)),
            None => course
                .lessons()
                .map(|lesson| lesson.minutes)
                .sum::<u32>()
                .to_string(),
        })
        .right("kernels", |path| course.required_kernels(*path).to_string())
        .left("what", |path| {
            path.map_or_else(|| "the whole course".into(), |path| plain(&path.title))
        }),
    );
    print_page(as_json, &document, &page)
}

/// The title of a session's table, with the sums over its lessons.
fn session_title(course: &Course, session: &SessionDocument) -> String {
    let lessons = session.lessons.iter().filter_map(|id| course.lesson(id));
    let estimated: f64 = lessons.clone().map(Lesson::estimated_minutes).sum();
    let optional: f64 = lessons.clone().map(Lesson::optional_minutes).sum();
    let kernels: usize = lessons.map(Lesson::required_kernels).sum();
    format!(
        "{}: {} minutes planned, {estimated:.0} estimated, {optional:.0} more may be left out; {} required",
        session.title,
        session.minutes,
        plural(kernels, "kernel")
    )
}

/// # Errors
/// If the course has no lesson with this id.
pub(super) fn named<'a>(course: &'a Course, id: &str) -> Result<&'a Lesson, UsageError> {
    course.lesson(id).ok_or_else(|| {
        let ids = itertools::join(course.lessons().map(|lesson| &lesson.id), ", ");
        UsageError(format!("there is no lesson `{id}`; there are: {ids}"))
    })
}

fn show(course: &Course, id: &str, as_json: bool) -> Result<Exit> {
    let lesson = named(course, id)?;
    let mut shown = String::new();
    write_lesson(&mut shown, lesson)?;
    print_markdown(as_json, &lesson_json(lesson), shown.trim_end())
}

fn write_lesson(out: &mut String, lesson: &Lesson) -> fmt::Result {
    writeln!(out, "# {}\n", lesson.title)?;
    let (minutes, level) = (lesson.minutes, lesson.level.name());
    writeln!(out, "{minutes} minutes, {level}. Afterwards you can:\n")?;
    for objective in &lesson.objectives {
        writeln!(out, "- {objective}")?;
    }
    for (number, step) in lesson.steps.iter().enumerate() {
        let text = slide::without_runs(&step.text, lesson);
        let (title, kind, text) = (&step.title, step.kind().name(), text.trim_end());
        let (number, of) = (number + 1, lesson.steps.len());
        writeln!(
            out,
            "\n## {title} ({kind}, step {number} of {of})\n\n{text}"
        )?;
        write_task(out, step)?;
    }
    Ok(())
}

/// Prints the task without its answer.
fn write_task(out: &mut String, step: &Step) -> fmt::Result {
    if let Some(job) = step.job() {
        writeln!(out, "\n    {}", job.line(&step.flags))?;
    }
    if let Some(Quiz::Choices(choices)) = step.as_quiz() {
        writeln!(out)?;
        for (number, choice) in choices.iter().enumerate() {
            writeln!(out, "{}. {}", number + 1, choice.text)?;
        }
    }
    for check in &step.checks {
        let (measure, bounds) = (check.measure.in_words(), check.bounds());
        writeln!(out, "\nCheck: {measure}, {bounds}")?;
    }
    Ok(())
}

fn new(
    course: &Course,
    source: &CourseSource,
    session: &str,
    id: &str,
    title: &str,
) -> Result<Exit> {
    let CourseSource::Folder(folder) = source else {
        bail!(UsageError(
            "the built-in course cannot be changed; name your own folder with --lessons DIR".into()
        ));
    };
    if course.session(session).is_none() || !is_id(id) {
        let ids = itertools::join(course.sessions.iter().map(|session| &session.id), ", ");
        bail!(UsageError(format!(
            "write one of the sessions {ids} and an id of lower-case letters, digits and hyphens"
        )));
    }
    let path = folder.join(session).join(format!("{id}.yaml"));
    fs::create_dir_all(folder.join(session))
        .with_context(|| format!("creating {}", folder.join(session).display()))?;
    fs::File::create_new(&path)
        .and_then(|mut file| file.write_all(scaffold::lesson(id, title).as_bytes()))
        .with_context(|| format!("writing {}", path.display()))?;
    let mut out = Stdout;
    writeln!(out, "{}", path.display())?;
    writeln!(
        out,
        "Now add `- {id}` to the `lessons` of session `{session}` in workshop.yaml."
    )?;
    Ok(Exit::Ok)
}

fn sound(course: &Course, as_json: bool) -> Result<Exit> {
    let lessons = course.lessons().count();
    let steps = course.steps().count();
    let checks: usize = course.steps().map(|(_, step)| step.checks.len()).sum();
    let planned = course.sessions.iter().map(|session| session.planned.len());
    let planned: usize = planned.sum();
    let blind = blind_strategies(course).map(|all| all[0]);
    let counts = json!({
        "problems": [], "lessons": lessons, "planned": planned, "steps": steps, "checks": checks,
        "blind": blind.map(|best| json!({ "strategy": best.name, "share": best.share })),
    });
    let blind = blind.map_or(String::new(), |best| format!("\n{best}"));
    let text = format!(
        "{lessons} lessons with {steps} steps and {checks} checks: no problem; {planned} lessons are planned{blind}"
    );
    print_text(as_json, &counts, &text)
}

fn lesson_json(lesson: &Lesson) -> serde_json::Value {
    let steps = lesson.steps.iter().map(|step| {
        let checks = step.checks.iter().map(|check| {
            json!({ "id": check.id, "measure": check.measure.to_string(), "bounds": check.bounds(), "required": check.required })
        });
        json!({
            "id": step.id,
            "kind": step.kind(),
            "title": step.title,
            "text": step.text,
            "checks": checks.collect::<Vec<_>>(),
            "hints": step.hints.len(),
            "estimated_minutes": step.estimated_minutes(),
        })
    });
    json!({
        "id": lesson.id,
        "session": lesson.session,
        "title": lesson.title,
        "minutes": lesson.minutes,
        "estimated_minutes": lesson.estimated_minutes(),
        "optional_minutes": lesson.optional_minutes(),
        "level": lesson.level,
        "requires": lesson.requires,
        "objectives": lesson.objectives,
        "steps": steps.collect::<Vec<_>>(),
    })
}
