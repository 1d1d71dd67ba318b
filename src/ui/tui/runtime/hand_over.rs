//! Gives the terminal to another program: an editor, a shell, a profiler.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::tui::update::profiler::send_import;
use crate::tui::{BackgroundTask, HandOver, Message, ProfileMessage, TaskContext};
use tinyllama_base::child::{STARTER, die_with_parent};
use tinyllama_runs::launcher;
use tinyllama_session::SessionLocation;
use tinyllama_tutor_core::TutorOptions;

/// Sends the result once the program has ended: a description of the trouble, or `None`.
type OnProgramEnd = Box<dyn FnOnce(&TaskContext, io::Result<Option<String>>) + Send>;

/// Returns the work that starts the program and waits for it. The terminal has to be free by then; runs go on
/// meanwhile.
///
/// # Errors
/// A message for the learner, if there is nothing to start.
pub fn program(request: HandOver, options: &TutorOptions) -> Result<BackgroundTask, String> {
    let greeting = match request {
        HandOver::Shell => "`exit` returns to the tutor.\n",
        _ => "",
    };
    let is_shell = matches!(request, HandOver::Shell);
    let (argv, then) = prepare(request)?;
    let Some((program, arguments)) = argv.split_first() else {
        return Err("There is no program to start.".into());
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(path) = path_with_this_program() {
        // The course writes `tinyllama-tutor` in its commands, whichever path started this program.
        command.env("PATH", path);
    }
    if !options.launcher.is_local() {
        // Commands of this program make their runs through the same launcher as the tutor.
        command.env(launcher::VARIABLE, options.launcher.json());
    }
    let SessionLocation { folder, learner } = &options.location;
    if let Some(class) = folder.parent().filter(|_| options.in_class) {
        // They are also about the session that the tutor has open.
        command
            .env(launcher::CLASS, class)
            .env(launcher::LEARNER, learner);
    }
    let job = move |context: &TaskContext| {
        print!("{greeting}");
        // As if its terminal was gone: an editor keeps what was written, and a shell ends its jobs.
        die_with_parent(&mut command, libc::SIGHUP);
        if is_shell {
            // What somebody starts in the background there may go on.
            command.env_remove(STARTER);
        }
        let status = command.status();
        let how = match &status {
            Ok(status) if status.success() => "ok".into(),
            Ok(status) => status.to_string(),
            Err(_) => "not started".into(),
        };
        context.send(Message::Back(how));
        then(context, status.map(trouble));
    };
    Ok(BackgroundTask {
        meanwhile: "",
        job: Box::new(job),
    })
}

/// The `PATH` of this process with the program's own folder added at its end.
fn path_with_this_program() -> Option<OsString> {
    let program = std::env::current_exe().ok()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(program.parent().map(Path::to_path_buf));
    std::env::join_paths(folders).ok()
}

fn trouble(status: ExitStatus) -> Option<String> {
    (!status.success()).then(|| format!("It ended with {status}."))
}

fn not_started(error: &io::Error) -> String {
    format!("It could not be started: {error}.")
}

fn prepare(request: HandOver) -> Result<(Vec<OsString>, OnProgramEnd), String> {
    match request {
        HandOver::Shell => {
            let shell = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
            Ok((vec![shell], Box::new(say_if_not_started)))
        }
        HandOver::Command(argv) => {
            let program = std::env::current_exe().map_err(|error| not_started(&error))?;
            let argv = argv.into_iter().map(OsString::from);
            // The learner has to read the program's output before the tutor draws its screen again.
            let line =
                r#""$@"; code=$?; printf '\nEnter returns to the tutor. '; read -r _; exit $code"#;
            let shell = ["/bin/sh", "-c", line, "sh"].map(OsString::from);
            let argv = shell.into_iter().chain([program.into()]).chain(argv);
            Ok((argv.collect(), Box::new(say_if_not_started)))
        }
        HandOver::Open(path) => Ok((editor(&path)?, Box::new(say_if_not_started))),
        HandOver::Write { at, text } => {
            let file = tempfile::Builder::new()
                .prefix("reflection-")
                .suffix(".md")
                .tempfile()
                .and_then(|file| std::fs::write(file.path(), text).map(|()| file))
                .map_err(|error| format!("A temporary file cannot be created: {error}."))?;
            let argv = editor(file.path())?;
            let then: OnProgramEnd = Box::new(move |context, ended| {
                let result = match ended.unwrap_or_else(|error| Some(not_started(&error))) {
                    Some(problem) => Err(format!("The editor failed. {problem}")),
                    None => std::fs::read_to_string(file.path())
                        .map_err(|error| format!("Your text cannot be read: {error}.")),
                };
                context.send(Message::Edited(at, result));
            });
            Ok((argv, then))
        }
        HandOver::Profile { at, target, line } => {
            std::fs::create_dir_all(&line.folder)
                .and_then(|()| {
                    line.files
                        .iter()
                        .try_for_each(|(path, text)| std::fs::write(path, text))
                })
                .map_err(|error| format!("{}: {error}", line.folder.display()))?;
            let argv = line.args();
            let then: OnProgramEnd = Box::new(move |context, ended| {
                let problem = ended.unwrap_or_else(|error| Some(not_started(&error)));
                let finished = ProfileMessage::Finished {
                    succeeded: problem.is_none(),
                    lines: problem.into_iter().collect(),
                };
                context.send(Message::Profile(at.clone(), finished));
                send_import(context, at, &target, &line.folder);
            });
            Ok((argv, then))
        }
    }
}

fn say_if_not_started(context: &TaskContext, ended: io::Result<Option<String>>) {
    if let Err(error) = ended {
        context.send(Message::WorkDone(Err(not_started(&error))));
    }
}

/// The words of `$VISUAL`, `$EDITOR` or `vi`, followed by `path`.
fn editor(path: &Path) -> Result<Vec<OsString>, String> {
    let chosen = ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.trim().is_empty())
        .unwrap_or_else(|| "vi".into());
    let argv = shlex::split(&chosen)
        .filter(|argv| !argv.is_empty())
        .ok_or_else(|| format!("EDITOR is `{chosen}`, which cannot be understood."))?;
    let argv = argv.into_iter().map(OsString::from);
    Ok(argv.chain([path.into()]).collect())
}
