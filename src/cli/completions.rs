//! `completions`: prints shell completion scripts.

use std::collections::HashMap;
use std::io::Write;

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use super::Exit;
use tinyllama_base::terminal::Stdout;
use tinyllama_contract::targets;
use tinyllama_kernel_catalog::KERNELS;
use tinyllama_lesson::{Course, CourseSource};
use tinyllama_runs::recording::{self, Library};

const PROGRAM: &str = "tinyllama-tutor";

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell for the script, e.g. `tinyllama-tutor completions bash >
    /// ~/.local/share/bash-completion/completions/tinyllama-tutor`
    shell: Shell,
}

pub fn run<C: CommandFactory>(args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    let mut command = with_values(C::command(), &built_in()?);
    clap_complete::generate(args.shell, &mut command, PROGRAM, &mut script);
    let mut script = String::from_utf8(script)?;
    if args.shell == Shell::Bash {
        script = with_one_program_name(&script);
    }
    Stdout.write_all(script.as_bytes())?;
    Ok(Exit::Ok)
}

/// Works around clap-rs/clap issue 6421: clap_complete 4.6 writes the hyphen of the program's name in two ways, so
/// the script never enters a branch below the first word.
fn with_one_program_name(script: &str) -> String {
    let [labels, states] = ["__subcmd__", "__"].map(|hyphen| PROGRAM.replace('-', hyphen));
    script.replace(&labels, &states)
}

/// Values that this program parses, so clap does not know them, by the name of an argument's value.
type CompletionValues = HashMap<&'static str, Vec<&'static str>>;

fn built_in() -> Result<CompletionValues> {
    let course = Course::load(&CourseSource::BuiltIn)?;
    let library = Library::load(recording::RecordingSource::BuiltIn)?;
    let targets: Vec<_> = targets::ALL.iter().map(|target| target.name).collect();
    // clap needs names with a static lifetime. Leaking them is harmless, because the program ends after printing.
    let lessons = course.lessons().map(|it| it.id.clone().leak() as &str);
    let recordings = library.recordings.into_iter();
    let recordings = recordings.map(|it| it.id.leak() as &str);
    let kernels = KERNELS.iter().map(|kernel| kernel.name);
    Ok(HashMap::from([
        ("TARGET", targets.clone()),
        ("TARGETS", targets.clone()),
        ("TARGET OR RUN", targets),
        ("LESSON", lessons.collect()),
        ("RECORDING", recordings.collect()),
        ("KERNEL", kernels.collect()),
    ]))
}

/// Adds to each argument the candidates for its value name, in all subcommands.
fn with_values(command: Command, values: &CompletionValues) -> Command {
    let command = command.mut_args(|arg| {
        let names = arg.get_value_names().unwrap_or_default();
        match names.first().and_then(|name| values.get(name.as_str())) {
            Some(values) => arg.value_parser(PossibleValuesParser::new(values)),
            None => arg,
        }
    });
    command.mut_subcommands(|inner| with_values(inner, values))
}
