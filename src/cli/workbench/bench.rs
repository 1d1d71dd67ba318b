//! `workbench bench`: times a learner's kernel on this machine's GPU.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::super::Exit;
use super::super::print_result::print_json;
use super::{DeviceArgs, GPU_LIMIT, WorkbenchArgs, with_time_limit};
use tinyllama_analysis::calibration::Calibration;
use tinyllama_base::device_facts::DeviceFacts;
use tinyllama_base::table::{TableColumns, TextTable};
use tinyllama_base::{Share, errln, or_not_reported, outln, percent, wrapped};
use tinyllama_contract::ceilings::{DeviceCeilings, Level};
use tinyllama_contract::flags::UsageError;
use tinyllama_engine::device::ceilings;
use tinyllama_engine::device::driver::Driver;
use tinyllama_learner_kernels::bench::{self, BenchReport, DeviceRates, TimedKernel};
use tinyllama_learner_kernels::gpu;
use tinyllama_runs::folder;
use tinyllama_session::SessionEvent;
use tinyllama_session::event::KernelTime;
use tinyllama_workbench::file::KernelFile;
use tinyllama_workbench::{Exercise, text};

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Name or number of the exercise
    exercise: String,
    /// The learner's file (default: the one in the session)
    #[arg(long, value_name = "FILE", overrides_with = "file")]
    file: Option<PathBuf>,
    /// Skip the comparison with the device's peak rates; measuring them takes some 20 seconds, once
    #[arg(long)]
    no_ceilings: bool,
    #[command(flatten)]
    device: DeviceArgs,
}

pub fn run(args: &WorkbenchArgs, asked: &BenchArgs) -> Result<Exit> {
    let (exercise, path) = args.file_of(&asked.exercise, asked.file.as_deref())?;
    if let Some(exit) = asked.device.run_on_launcher(&path)? {
        return Ok(exit);
    }
    let file = KernelFile::read(&path)?.map_err(|finding| UsageError(finding.message))?;
    let driver = asked.device.open().inspect_err(|_| {
        if !args.json {
            question_and_answer(exercise);
        }
    })?;
    // Checks the results first, because the time of a wrong kernel means nothing.
    let checked = with_time_limit(GPU_LIMIT, &exercise.name, || {
        gpu::check(&driver, exercise, &file)
    })?;
    if !checked.passed {
        for line in text::lines(&checked, &file) {
            outln!("{line}");
        }
        return Ok(Exit::Failed);
    }
    let device = driver.properties().name.clone();
    let reached = match asked.no_ceilings {
        true => None,
        false => device_rates(asked, &driver)?,
    };
    let files = kernels_to_time(exercise, &file)?;
    let BenchReport { timed, notes } = with_time_limit(GPU_LIMIT, &exercise.name, || {
        bench::bench(&driver, exercise, &exercise.bench, &files, reached)
    })?;
    let note = timed.first().and_then(|own| {
        args.record(SessionEvent::KernelTimed {
            exercise: exercise.name.clone(),
            timed: KernelTime {
                device: device.clone(),
                milliseconds: own.milliseconds,
                gigabytes_per_s: own.gigabytes_per_s,
                gigaflops_per_s: own.gigaflops_per_s,
            },
            sha256: file.digest(),
        })
    });
    if args.json {
        print_json(
            &json!({ "exercise": exercise.name, "device": device, "timed": timed, "notes": notes, "note": note }),
        )?;
        return Ok(Exit::Ok);
    }
    show(exercise, &device, &timed, &notes);
    if let Some(note) = note {
        outln!("({note})");
    }
    Ok(Exit::Ok)
}

/// The learner's kernel and the kernels to compare it with.
fn kernels_to_time(exercise: &Exercise, file: &KernelFile) -> Result<Vec<(String, KernelFile)>> {
    let mut files = vec![("yours".to_owned(), file.clone())];
    let others = [("naive", "naive.hip"), ("a solution", "solution.hip")];
    for (what, name) in others {
        if let Ok(text) = exercise.file(name) {
            let (path, text) = (name.into(), text.to_owned());
            files.push((what.to_owned(), KernelFile { path, text }));
        }
    }
    Ok(files)
}

/// This device's stored calibration, or a new measurement.
fn device_rates(asked: &BenchArgs, driver: &Driver) -> Result<Option<DeviceRates>> {
    let facts = DeviceFacts::from(driver.properties());
    let kept = folder::state_folder()
        .and_then(|root| Calibration::load(&root, &facts.backend, &facts.device));
    let both = |reached: &DeviceCeilings| {
        Some(DeviceRates {
            bytes_per_s: reached.bytes_per_s(Level::Cold)?,
            flops_per_s: reached.flops_per_s("f32", None)?,
        })
    };
    if let Ok(Some(kept)) = kept
        && let Some(reached) = both(&kept)
    {
        return Ok(Some(reached));
    }
    errln!("measuring what this device reaches; `calibrate` keeps it ...");
    let (backend, device) = (asked.device.backend, asked.device.device.as_deref());
    let measured = ceilings::measure(backend, device, &mut |_| {})?;
    Ok(both(&measured))
}

fn show(exercise: &Exercise, device: &str, timed: &[TimedKernel], notes: &[String]) {
    let sizes = exercise.bench.iter();
    let sizes = itertools::join(sizes.map(|(name, value)| format!("{name} {value}")), ", ");
    let title = format!("{} on {device}, {sizes}", exercise.name);
    let mut table = TableColumns::titled(title, timed)
        .left("kernel", |one| one.what.clone())
        .right("ms", |one| format!("{:.4}", one.milliseconds))
        .right("GB/s", |one| format!("{:.0}", one.gigabytes_per_s))
        .right("GFLOP/s", |one| format!("{:.0}", one.gigaflops_per_s))
        .right("of ceiling", |one| {
            or_not_reported(one.of_ceiling.map(Share).map(percent))
        })
        .right("registers", |one| {
            one.registers.map(|count| count.to_string())
        })
        .left("yours is", |one| match (&one.ratio, one.finding) {
            (Some(ratio), Some(finding)) => format!(
                "{finding}, {:.2}x [{:.2}, {:.2}]",
                ratio.value, ratio.low, ratio.high
            ),
            _ => String::new(),
        })
        .note("Your time over the other's, with its 95 % interval; kernels took turns.");
    for note in notes {
        table = table.note(note.clone());
    }
    outln!("{}", TextTable::from(table).render(80));
    question_and_answer(exercise);
}

/// Columns of a text.
const COLUMNS: usize = 80;

fn question_and_answer(exercise: &Exercise) {
    for text in [&exercise.question, &exercise.answer] {
        let words = itertools::join(text.split_whitespace(), " ");
        for line in wrapped(&words, COLUMNS) {
            outln!("{line}");
        }
        outln!("");
    }
}
