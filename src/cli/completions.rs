//! `completions`: shell completion scripts.

use std::io::Write;

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Exit;

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell to print the script for, e.g. `tinyllama-tutor completions bash > ~/.local/share/bash-completion/completions/tinyllama-tutor`
    shell: Shell,
}

pub fn run<C: CommandFactory>(args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(
        args.shell,
        &mut C::command(),
        "tinyllama-tutor",
        &mut script,
    );
    std::io::stdout().write_all(&script)?;
    Ok(Exit::Ok)
}
