//! `pytorch`: runs a PyTorch script of `assets/pytorch`, or a learner's version of one.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Args;
use include_dir::{Dir, include_dir};
use serde_json::Value;

use super::Exit;
use super::print_result::print_text;
use tinyllama_base::{ScratchFolder, die_with_parent, errln};
use tinyllama_contract::flags::UsageError;

static SCRIPTS: Dir = include_dir!("$CARGO_MANIFEST_DIR/assets/pytorch");

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor pytorch tiny_llama
      counts the parameters that receive a gradient
  tinyllama-tutor pytorch triton_rms_norm --file mine.py
      writes the exercise to mine.py, and checks that file in later calls")]
pub struct PytorchArgs {
    /// Name of the script, without its ending
    script: String,
    /// Arguments of the script
    args: Vec<String>,
    /// Run this version of the script; it is written if it does not exist
    #[arg(long, value_name = "FILE", conflicts_with = "solution")]
    file: Option<PathBuf>,
    /// Run the solution of an exercise
    #[arg(long)]
    solution: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(args: &PytorchArgs) -> Result<Exit> {
    let name = format!("{}.py", args.script);
    let scripts = SCRIPTS.files().filter_map(|file| file.path().to_str());
    let scripts = scripts.filter_map(|file| file.strip_suffix(".py"));
    let known: Vec<&str> = scripts.collect();
    let source = match args.solution {
        true => SCRIPTS.get_file(format!("solutions/{name}")),
        false => SCRIPTS.get_file(&name),
    };
    let source = source.filter(|_| known.contains(&args.script.as_str()));
    let source = source.ok_or_else(|| {
        let what = if args.solution {
            "solution of"
        } else {
            "script"
        };
        let known = known.join(", ");
        UsageError(format!(
            "there is no {what} `{}`; scripts: {known}",
            args.script
        ))
    })?;
    let folder = ScratchFolder::new()?;
    SCRIPTS.extract(folder.path())?;
    let mut text = source.contents().to_vec();
    if let Some(file) = &args.file {
        match fs::read(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => fs::write(file, &text),
            read => read.map(|learners| text = learners),
        }
        .map_err(|error| UsageError(format!("cannot use {}: {error}", file.display())))?;
    }
    let path = folder.path().join(&name);
    fs::write(&path, text)?;
    let mut command = Command::new("python3");
    command.arg("-B").arg(path).args(&args.args);
    command.env("TINYLLAMA_JSON", "1");
    die_with_parent(&mut command, libc::SIGKILL);
    errln!("python3 runs {name}; its output follows when it has ended");
    let ended = match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            errln!(
                "error: there is no python3 on your PATH\n       Install Python 3, or skip this step."
            );
            return Ok(Exit::Environment);
        }
        ended => ended.context("python3 cannot be started")?,
    };
    let [output, log] =
        [ended.stdout, ended.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    let output = output.trim_end();
    let (shown, last) = output.rsplit_once('\n').unwrap_or(("", output));
    let document = serde_json::from_str(last).ok().filter(Value::is_object);
    if let Some(mut document) = document.filter(|_| ended.status.success()) {
        document["file"] = args
            .file
            .as_ref()
            .map(|file| file.display().to_string())
            .into();
        return print_text(args.json, &document, shown);
    }
    errln!("{output}{log}");
    if log.contains("No module named") {
        errln!(
            "Get what is missing with `python3 -m pip install torch triton numpy`, or skip this step."
        );
        return Ok(Exit::Environment);
    }
    Ok(Exit::Failed)
}
