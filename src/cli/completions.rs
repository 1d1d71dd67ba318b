//! `completions`: prints shell completion scripts.

use std::io::Write;

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, CommandFactory};
use clap_complete::Shell;

use super::Exit;
use tinyllama_contract::targets;
use tinyllama_course::lesson::{Course, CourseSource};
use tinyllama_course::recording::{self, Library};

const PROGRAM: &str = "tinyllama-tutor";

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell for the script, e.g. `tinyllama-tutor completions bash >
    /// ~/.local/share/bash-completion/completions/tinyllama-tutor`
    shell: Shell,
}

pub fn run<C: CommandFactory>(args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    let names = CompletionValues::built_in()?;
    clap_complete::generate(
        args.shell,
        &mut names.add(C::command()),
        PROGRAM,
        &mut script,
    );
    let mut script = String::from_utf8(script)?;
    if args.shell == Shell::Bash {
        script = with_one_program_name(&script);
    }
    std::io::stdout().write_all(script.as_bytes())?;
    Ok(Exit::Ok)
}

/// Works around clap-rs/clap issue 6421: clap_complete 4.6 writes the hyphen of the program's name in two ways, so
/// the script never enters a branch below the first word.
fn with_one_program_name(script: &str) -> String {
    let [labels, states] = ["__subcmd__", "__"].map(|hyphen| PROGRAM.replace('-', hyphen));
    script.replace(&labels, &states)
}

/// Values that this program parses, so clap does not know them.
struct CompletionValues {
    targets: Vec<&'static str>,
    lessons: Vec<&'static str>,
    recordings: Vec<&'static str>,
    kernels: Vec<&'static str>,
}

impl CompletionValues {
    fn built_in() -> Result<Self> {
        let course = Course::load(&CourseSource::BuiltIn)?;
        let library = Library::load(recording::RecordingSource::BuiltIn)?;
        let recordings = library.recordings.into_iter();
        // clap needs names with a static lifetime. Leaking them is harmless, because the program ends after printing.
        Ok(CompletionValues {
            targets: targets::ALL.iter().map(|target| target.name).collect(),
            lessons: course
                .lessons()
                .map(|lesson| lesson.id.clone().leak() as &str)
                .collect(),
            recordings: recordings
                .map(|recording| recording.id.leak() as &str)
                .collect(),
            kernels: tinyllama_kernel_catalog::KERNELS
                .iter()
                .map(|kernel| kernel.name)
                .collect(),
        })
    }

    /// Adds to each argument the candidates for its value name, in all subcommands.
    fn add(&self, command: Command) -> Command {
        let inner: Vec<String> = command
            .get_subcommands()
            .map(|inner| inner.get_name().to_owned())
            .collect();
        let command = command.mut_args(|arg| match self.values(&arg) {
            Some(values) => arg.value_parser(values),
            None => arg,
        });
        inner.into_iter().fold(command, |command, name| {
            command.mut_subcommand(name, |inner| self.add(inner))
        })
    }

    fn values(&self, arg: &Arg) -> Option<PossibleValuesParser> {
        let name = arg.get_value_names()?.first()?.as_str();
        Some(match name {
            "TARGET" | "TARGETS" | "TARGET OR RUN" => self.targets.clone().into(),
            "LESSON" => self.lessons.clone().into(),
            "RECORDING" => self.recordings.clone().into(),
            "KERNEL" => self.kernels.clone().into(),
            _ => return None,
        })
    }
}
