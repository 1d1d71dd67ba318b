//! `report`: writes a session as a document, checks hand-ins, and summarises a class on one page.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;

use super::Exit;
use super::analysis::AnalysisPage;
use super::print_result::{print_document, print_prose, print_text};
use super::session::SessionArgs;
use tinyllama_base::errln;
use tinyllama_base::file::path_text;
use tinyllama_base::untrusted::{self, plain};
use tinyllama_base::{push_wrapped, wrapped};
use tinyllama_contract::flags::UsageError;
use tinyllama_lesson::{Course, CourseSource};
use tinyllama_report::class::{self, sources};
use tinyllama_report::hand_in::verify as verify_hand_in;
use tinyllama_report::{CollectOptions, HandInError, HandInFindings, card, collect, export};
use tinyllama_workbench::check::{self, CheckOptions};
use tinyllama_workbench::finding::FindingKind;
use tinyllama_workbench::{KernelFile, exercise};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ReportArgs {
    #[command(flatten)]
    place: SessionArgs,
    /// Formats to write
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "md,html,json"
    )]
    format: Vec<export::ReportFormat>,
    /// Print one screen of text to keep or to show, and write nothing
    #[arg(long, conflicts_with_all = ["format", "output"])]
    card: bool,
    /// Leave out names of people and machines, and the records that contain them
    #[arg(long)]
    anonymous: bool,
    /// Folder to write to
    #[arg(short, long, value_name = "DIR", default_value = "report")]
    output: PathBuf,
    #[command(flatten)]
    course: CourseArgs,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Option<ReportCommand>,
}

#[derive(Debug, Args)]
pub struct CourseArgs {
    /// Use the course in this folder instead of the built-in one
    #[arg(long, value_name = "DIR", global = true, env = "TINYLLAMA_LESSONS")]
    lessons: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum ReportCommand {
    /// Check that a hand-in is what the tutor writes
    Verify {
        /// session.json, the folder of a report, an exported session, or a session's folder
        file: PathBuf,
        /// Session that it should belong to: an export or a folder
        #[arg(long, value_name = "SESSION")]
        against: Option<PathBuf>,
    },
    /// Summarise a class on one page
    Merge {
        /// Class folder, folder with hand-ins, or hand-ins
        #[arg(required = true, value_name = "DIR|FILE")]
        sources: Vec<PathBuf>,
        /// Folder to write to
        #[arg(short, long, value_name = "DIR", default_value = "class-report")]
        output: PathBuf,
    },
}

pub fn run(args: &ReportArgs) -> Result<Exit> {
    let course = args.course.load()?;
    match &args.command {
        None => write(args, &course),
        Some(ReportCommand::Verify { file, against }) => {
            verify(file, against.as_deref(), &course, args.json)
        }
        Some(ReportCommand::Merge { sources, output }) => {
            merge(sources, output, &course, args.json)
        }
    }
}

impl CourseArgs {
    /// Loads the course.
    ///
    /// # Errors
    /// If the course has problems. The message contains them.
    pub fn load(&self) -> Result<Course, UsageError> {
        let course = Course::load(&CourseSource::new(self.lessons.clone()));
        course.map_err(|problems| {
            UsageError(format!(
                "the course has problems; `lessons lint` shows them all\n       {problems}"
            ))
        })
    }
}

fn write(args: &ReportArgs, course: &Course) -> Result<Exit> {
    let location = args.place.find()?;
    let options = CollectOptions {
        anonymous: args.anonymous,
    };
    let report = collect(&location, course, options)?;
    if args.card {
        let text = card::card(&report);
        return print_text(args.json, &json!({ "card": text }), &text);
    }
    let files = export::write(&report, &args.output, args.format.iter().copied())?;
    say_files(&files, &report.warnings, args.json)
}

fn say_files(files: &[PathBuf], warnings: &[String], as_json: bool) -> Result<Exit> {
    let document = json!({ "files": files.iter().map(|file| path_text(file)).collect::<Vec<_>>(), "warnings": warnings });
    print_prose(as_json, &document, |out| {
        for file in files {
            writeln!(out, "{}", file.display())?;
        }
        let mut warnings = warnings.iter();
        warnings.try_for_each(|warning| writeln!(out, "note: {}", plain(warning)))
    })
}

fn verify(file: &Path, against: Option<&Path>, course: &Course, as_json: bool) -> Result<Exit> {
    // The folder that `report --output` wrote holds the hand-in, and no session.
    let written = file.join("session.json");
    let file = match written.is_file() && !file.join("events.jsonl").exists() {
        true => written.as_path(),
        false => file,
    };
    if file.is_dir() && !file.join("events.jsonl").exists() {
        let name = plain(&file.display().to_string());
        return Err(UsageError(format!(
            "{name} holds no session: name a session.json or the folder that `report` wrote it to, an archive of \
             `instructor collect`, or the folder of a session"
        ))
        .into());
    }
    let found = verify_hand_in(file, against, Some(&check_kernel), course);
    let found = found.map_err(|error| match error {
        HandInError::Session(error) => anyhow::Error::from(error),
        error => UsageError(plain(&error.to_string())).into(),
    })?;
    let exit = match found.consistent() {
        Some(true) => Exit::Ok,
        Some(false) => Exit::Failed,
        // The command line did not name what it takes to check the rest.
        None => Exit::Usage,
    };
    let (consistent, verdict) = (found.consistent(), found.verdict());
    let value = json!({ "consistent": consistent, "verdict": verdict, "findings": found });
    print_document(as_json, &value, |out| {
        write!(out, "{}", verdict_page(&found))
    })?;
    Ok(exit)
}

/// Checks a kernel again, as `workbench check` does. A compiler that differs from the learner's is no fault of the kernel.
fn check_kernel(exercise: &str, text: &str) -> Result<Vec<String>> {
    let exercise = exercise::find(exercise)?;
    let file = KernelFile {
        path: exercise.file_name().into(),
        text: text.into(),
    };
    let checked = check::check(exercise, &file, &CheckOptions::default(), &mut |_| {})?;
    let findings = checked.findings.iter();
    if let Some(other) = findings.clone().find(|it| it.kind == FindingKind::Compile) {
        bail!(
            "the compiler of this machine takes other files: {}",
            other.message
        );
    }
    Ok(findings.map(|finding| finding.message.clone()).collect())
}

fn verdict_page(found: &HandInFindings) -> String {
    let who = found.learner.as_deref();
    let who = plain(who.unwrap_or("a learner whose name was left out"));
    let width = AnalysisPage::default().widest();
    let mut page = format!("{} of {who}, {} records\n", found.kind, found.records);
    for (label, list) in [
        ("wrong", &found.problems),
        ("unusual", &found.unusual),
        ("not checked", &found.unchecked),
        ("remark", &found.remarks),
    ] {
        for text in list {
            push_wrapped(&mut page, &format!("{label}: {}", plain(text)), width);
        }
    }
    page + &wrapped(&found.verdict(), width).join("\n") + "\n"
}

fn merge(paths: &[PathBuf], output: &Path, course: &Course, as_json: bool) -> Result<Exit> {
    let found = sources::read(paths, course);
    if found.hand_ins.is_empty() {
        for text in &found.unreadable {
            errln!("error: {}", plain(text));
        }
        errln!("error: there is nothing to merge");
        return Ok(Exit::Usage);
    }
    let class = class::merge(found.hand_ins, course, found.unreadable);
    let mut files = vec![
        ("class.html", class::page(&class)),
        ("class.json", untrusted::json(&class)?),
    ];
    files.extend(class::tables(&class));
    let mut written = Vec::new();
    for (name, text) in files {
        let path = output.join(name);
        export::save(&path, &text)?;
        written.push(path);
    }
    say_files(&written, &class.warnings, as_json)
}
