//! Runs one case of an exercise on the stand-in: a job for the child, and its answer.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::child::{self, Ended, Stopped};
use super::compile::{HostModule, SOURCE};
use super::finding::{self, FindingKind, KernelFinding};
use super::picture::AccessPicture;
use super::problem::{KernelArgument, PreparedCase};
use super::toolchain::Toolchain;

/// Computing time of a case in seconds: a hundred times that of the slowest solution.
pub const SECONDS: u32 = 5;

/// Largest number of bytes of findings and pictures that are read from a run. Outputs are not included.
const MOST_SAID: u64 = 4 << 20;

/// Wall-clock limit for busy machines. The process ends itself after its computing time.
const LONGEST: Duration = Duration::from_secs(30 * SECONDS as u64);

/// The result of a case.
#[derive(Debug, Default)]
pub struct CaseResult {
    pub findings: Vec<KernelFinding>,
    pub pictures: Vec<AccessPicture>,
    /// The most barriers that a workgroup passed.
    pub barriers: u64,
    /// The outputs by name. `None` if the kernel did not return.
    pub outputs: Option<BTreeMap<String, KernelOutput>>,
}

/// An output after the kernel.
#[derive(Debug)]
pub struct KernelOutput {
    /// Bits of the elements.
    pub words: Vec<u32>,
    /// For each element, the line that wrote it last. 0 means that no line did.
    pub lines: Vec<u32>,
}

/// Runs `problem` on `module` in a separate process.
///
/// # Errors
/// Fails if the process cannot be started, or communication with it fails.
pub fn run(
    toolchain: &Toolchain,
    module: &HostModule,
    problem: &PreparedCase<'_>,
    pictures: bool,
) -> Result<CaseResult> {
    let secret = secret();
    let job = job(problem, pictures, &secret);
    let mut command = Command::new(toolchain.program());
    command.arg(module.path()).env_clear().current_dir("/");
    let outputs = problem.buffers.iter().filter(|one| one.argument.output);
    let data = outputs
        .map(|buffer| buffer.elements as u64 * 8)
        .sum::<u64>();
    let ended = child::run(&mut command, &job, MOST_SAID + data, LONGEST)
        .with_context(|| format!("{}", toolchain.program().display()))?;
    let mut answer = read(&ended.stdout, problem, &secret);
    if !ended.status.success() || ended.stopped.is_some() {
        answer.outputs = None;
    }
    let why = early_end(&ended).or_else(|| {
        let nothing = answer.outputs.is_none() && answer.findings.is_empty();
        nothing.then(|| crash("the kernel ended the process that ran it before its results were written: a kernel only returns"))
    });
    answer.findings.extend(why);
    Ok(answer)
}

/// Explains the end of the process. Returns `None` if its own messages explain it.
fn early_end(ended: &Ended) -> Option<KernelFinding> {
    let endless = || {
        let why =
            format!("the kernel did not end within {SECONDS} s of computing, and was stopped");
        KernelFinding::new(FindingKind::Endless, None, why)
    };
    match (ended.stopped, ended.status.signal()) {
        (Some(Stopped::TooMuch), _) => Some(crash(&format!(
            "the kernel wrote more than {} MiB into its results, and was stopped: a kernel writes to its arguments",
            MOST_SAID >> 20
        ))),
        (Some(Stopped::TooLong), _) => Some(endless()),
        (None, None) => None,
        (None, Some(libc::SIGSYS)) => Some(crash(
            "the kernel called the system, and was stopped: a kernel computes, and has no files, network or processes",
        )),
        (None, Some(libc::SIGKILL | libc::SIGXCPU | libc::SIGALRM)) => Some(endless()),
        (None, Some(signal)) => {
            let why = format!("the kernel ended the process that ran it (signal {signal})");
            Some(crash(&why))
        }
    }
}

fn crash(why: &str) -> KernelFinding {
    KernelFinding::new(FindingKind::Crash, None, why)
}

/// A secret for one run, shared by this process and the one that runs the kernel. The standard library seeds the keys of
/// its hashes with the system's random numbers.
fn secret() -> String {
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

fn job(problem: &PreparedCase<'_>, pictures: bool, secret: &str) -> Vec<u8> {
    let mut head = format!(
        "job {SOURCE} {} {SECONDS} {} {secret}\n",
        problem.wave,
        u8::from(pictures)
    );
    for buffer in &problem.buffers {
        let (name, bytes) = (&buffer.argument.name, buffer.elements * 4);
        let [filled, output] = [buffer.bits.is_some(), buffer.argument.output].map(u8::from);
        head += &format!("buffer {name} {bytes} {filled} {output}\n");
    }
    for launch in &problem.launches {
        let sides = launch.grid.iter().chain(&launch.block).map(u32::to_string);
        let sides = sides.collect::<Vec<_>>().join(" ");
        head += &format!("launch {} {sides} {}\n", launch.entry, launch.shared);
        for passed in &launch.arguments {
            head += &match passed {
                KernelArgument::Buffer(index) => format!("b {index}\n"),
                KernelArgument::Word(bits) => format!("w {bits}\n"),
            };
        }
    }
    head += "data\n";
    let mut job = head.into_bytes();
    for words in problem
        .buffers
        .iter()
        .filter_map(|buffer| buffer.bits.as_ref())
    {
        job.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    }
    job
}

fn read(said: &[u8], problem: &PreparedCase<'_>, secret: &str) -> CaseResult {
    // The last line before the buffers.
    let end = format!("{{\"kind\":\"end\",\"secret\":\"{secret}\"}}\n");
    let (lines, data) = match memchr::memmem::find(said, end.as_bytes()) {
        Some(at) => (&said[..at], Some(&said[at + end.len()..])),
        None => (said, None),
    };
    let mut answer = CaseResult::default();
    for line in lines.split(|byte| *byte == b'\n') {
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        if value["kind"] == "barriers" {
            answer.barriers = value["count"].as_u64().unwrap_or_default();
        }
        answer.pictures.extend(AccessPicture::of_stand_in(&value));
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
            (buffer.argument.name.clone(), KernelOutput { words, lines })
        });
        outputs.collect()
    });
    answer
}
