//! One case of an exercise on the stand-in: a job for the child, and what it answers.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::compile::{Module, SOURCE};
use super::finding::{self, Finding, Kind};
use super::picture::Picture;
use super::problem::{Passed, Problem};
use super::toolchain::Toolchain;

/// Computing time of a case, in seconds: a hundred times what the slowest solution takes.
pub const SECONDS: u32 = 5;

/// The last line before the buffers.
const END: &[u8] = b"{\"kind\":\"end\"}\n";

/// What a case came to.
#[derive(Debug, Default)]
pub struct Answer {
    pub findings: Vec<Finding>,
    pub pictures: Vec<Picture>,
    /// The outputs by name; none where the kernel did not come to its end.
    pub outputs: Option<BTreeMap<String, Output>>,
}

/// An output as the kernel left it.
#[derive(Debug)]
pub struct Output {
    /// Bits of the elements.
    pub words: Vec<u32>,
    /// The line that wrote each last; 0: nobody did.
    pub lines: Vec<u32>,
}

/// Runs `problem` on `module` in a process of its own.
///
/// # Errors
/// Where the process cannot be started or talked to.
pub fn run(
    toolchain: &Toolchain,
    module: &Module,
    problem: &Problem<'_>,
    pictures: bool,
) -> Result<Answer> {
    let job = job(problem, pictures);
    let mut child = Command::new(toolchain.program())
        .arg(module.path())
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("{}", toolchain.program().display()))?;
    let mut input = child.stdin.take().context("the stand-in's input")?;
    let output = std::thread::scope(|scope| {
        // A child that ends early does not read everything: its answer says why.
        scope.spawn(move || input.write_all(&job));
        child.wait_with_output()
    })?;
    let mut answer = read(&output.stdout, problem);
    if let Some(signal) = output.status.signal() {
        let (kind, why) = match signal {
            libc::SIGSYS => (Kind::Crash, "the kernel called the system, and was ended: a kernel computes, and has no files, network or processes".to_owned()),
            libc::SIGKILL | libc::SIGXCPU | libc::SIGALRM => (Kind::Endless, format!("the kernel did not end within {SECONDS} s of computing, and was ended")),
            signal => (Kind::Endless, format!("the kernel ended the process that ran it (signal {signal})")),
        };
        answer.findings.push(Finding::new(kind, None, why));
    } else if !output.status.success() && answer.findings.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        answer.findings.push(Finding::new(
            Kind::Crash,
            None,
            format!("the stand-in failed: {}", said.trim()),
        ));
    }
    Ok(answer)
}

fn job(problem: &Problem<'_>, pictures: bool) -> Vec<u8> {
    let mut head = format!(
        "job {SOURCE} {} {SECONDS} {}\n",
        problem.wave,
        u8::from(pictures)
    );
    for buffer in &problem.buffers {
        let (name, bytes) = (&buffer.argument.name, buffer.elements * 4);
        let [filled, output] = [buffer.words.is_some(), buffer.argument.output].map(u8::from);
        head += &format!("buffer {name} {bytes} {filled} {output}\n");
    }
    for launch in &problem.launches {
        let sides = launch.grid.iter().chain(&launch.block).map(u32::to_string);
        let sides = sides.collect::<Vec<_>>().join(" ");
        head += &format!("launch {} {sides} {}\n", launch.entry, launch.shared);
        for passed in &launch.arguments {
            head += &match passed {
                Passed::Buffer(index) => format!("b {index}\n"),
                Passed::Word(bits) => format!("w {bits}\n"),
            };
        }
    }
    head += "data\n";
    let mut job = head.into_bytes();
    for words in problem
        .buffers
        .iter()
        .filter_map(|buffer| buffer.words.as_ref())
    {
        job.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    }
    job
}

fn read(said: &[u8], problem: &Problem<'_>) -> Answer {
    let end = memchr::memmem::find(said, END);
    let (lines, data) = match end {
        Some(at) => (&said[..at], Some(&said[at + END.len()..])),
        None => (said, None),
    };
    let mut answer = Answer::default();
    for line in lines.split(|byte| *byte == b'\n') {
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        answer.pictures.extend(Picture::of_stand_in(&value));
        answer.findings.extend(finding::of_stand_in(&value));
    }
    answer.outputs = data.map(|mut data| {
        let mut take = |elements: usize| {
            let (now, rest) = data.split_at(data.len().min(elements * 4));
            data = rest;
            let words = now.as_chunks::<4>().0.iter();
            words
                .map(|bytes| u32::from_ne_bytes(*bytes))
                .collect::<Vec<_>>()
        };
        let outputs = problem
            .buffers
            .iter()
            .filter(|buffer| buffer.argument.output);
        let outputs = outputs.map(|buffer| {
            let [words, lines] = [take(buffer.elements), take(buffer.elements)];
            (buffer.argument.name.clone(), Output { words, lines })
        });
        outputs.collect()
    });
    answer
}
