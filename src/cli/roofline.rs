//! `roofline`: where a target stands under this device's ceilings.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use super::Exit;
use super::analysis::{
    Console, Entry, RunFlags, SizeFlags, finish, kept_run, print_json, print_table, width,
};
use super::training_args::UsageError;
use crate::analysis::calibration::{Calibration, DeviceFacts};
use crate::analysis::gpus;
use crate::analysis::roofline::{
    Bound, CounterCheck, KernelWork, Point, Roofline, against_counters, draw, svg,
};
use crate::analysis::turns::{Turn, run_one};
use crate::analysis::{MeasuredRun, Stop};
use crate::base::table::{Align, TextTable, push_wrapped};
use crate::base::units::rate;
use crate::base::units::{bytes, figure};
use crate::model::ModelConfig;
use crate::profiler::read::import;
use crate::run::folder;

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor roofline v3 --config small --svg v3.svg
      run it, draw it, and write the diagram
  tinyllama-tutor roofline RUN --counters results/
      a kept run, against hardware counters of rocprofv3 or rocprof-compute")]
pub struct RooflineArgs {
    /// A target, with flags of its own after a colon, or a kept run by id or folder
    #[arg(value_name = "TARGET OR RUN")]
    target: String,
    /// Steps whose kernels are timed
    #[arg(long, value_name = "N", default_value_t = 5)]
    profile_steps: usize,
    /// Write the diagram as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// A profile with hardware counters to hold the counted work against
    #[arg(long, value_name = "FILE OR FOLDER")]
    counters: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: SizeFlags,
    #[command(flatten)]
    flags: RunFlags,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    roofline: &'a Roofline,
    counters: &'a [CounterCheck],
    /// What changed since the ceilings were measured.
    stale: &'a [String],
    run: String,
}

/// Runs the command; `works` counts what each of this project's kernels does with a model.
pub fn run(args: &RooflineArgs, works: impl Fn(&ModelConfig) -> Vec<KernelWork>) -> Result<Exit> {
    finish(show(args, works))
}

fn show(args: &RooflineArgs, works: impl Fn(&ModelConfig) -> Vec<KernelWork>) -> Result<Exit> {
    let root = folder::state_folder()?;
    let run = measured(args, &root)?;
    let hello = &run.hello;
    let calibration = Calibration::load(&root, &hello.backend, &hello.device)?;
    let stale = calibration.as_ref().map_or(vec![], |calibration| {
        calibration.staleness(&DeviceFacts {
            backend: hello.backend.clone(),
            device: hello.device.clone(),
            arch: hello.arch.clone(),
            driver: hello.driver.clone(),
            memory: hello.device_memory,
        })
    });
    let sheet = gpus::find(&hello.device);
    let roofline = Roofline::of(
        &run,
        calibration.as_ref(),
        sheet.as_ref(),
        &works(&hello.config),
    );
    let counters = match &args.counters {
        Some(path) => {
            let imported = import(path).map_err(|error| UsageError(error.to_string()))?;
            against_counters(&roofline, &imported.profile)
        }
        None => vec![],
    };
    if let Some(path) = &args.svg {
        std::fs::write(path, svg::document(&roofline))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        print_json(&Document {
            roofline: &roofline,
            counters: &counters,
            stale: &stale,
            run: run.path.display().to_string(),
        })?;
    } else {
        print(&mut io::stdout().lock(), args, &roofline, &counters, &stale)?;
    }
    Ok(Exit::Ok)
}

fn measured(args: &RooflineArgs, root: &std::path::Path) -> Result<MeasuredRun> {
    if let Some(kept) = kept_run(&args.target, root)? {
        return MeasuredRun::read(&kept.path);
    }
    let entry: Entry = args.target.parse().map_err(UsageError)?;
    let mut flags = vec![
        "--repeatability=off".into(),
        "--flops".into(),
        format!("--profile-steps={}", args.profile_steps).into(),
    ];
    flags.extend(args.flags.words());
    flags.extend(args.size.words());
    let variant = entry.variant(&flags);
    let stop = Stop::default();
    let runner = args.flags.runner(stop.clone())?;
    Console::end_on_signals(&stop)?;
    let mut console = Console::default();
    let turn = Turn {
        run: 1,
        of: 1,
        name: &entry.text(),
    };
    Ok(run_one(&runner, &variant, &[], turn, &mut console)?)
}

/// Rows of the diagram.
const DIAGRAM_HEIGHT: usize = 20;

fn print(
    out: &mut impl Write,
    args: &RooflineArgs,
    roofline: &Roofline,
    counters: &[CounterCheck],
    stale: &[String],
) -> io::Result<()> {
    writeln!(
        out,
        "{} on {} ({}), products in {}\n",
        roofline.target, roofline.device, roofline.backend, roofline.dtype
    )?;
    write!(
        out,
        "{}",
        draw::text(roofline, width().min(110), DIAGRAM_HEIGHT)
    )?;
    print_ceilings(out, roofline)?;
    print_table(out, &points(roofline))?;
    if args.counters.is_some() {
        print_table(out, &counter_table(counters))?;
    }
    let mut notes = String::new();
    for note in &roofline.notes {
        push_wrapped(&mut notes, note, width());
    }
    for change in stale {
        let text = format!(
            "The ceilings were measured earlier, and since then changed: {change}. Run `calibrate` again."
        );
        push_wrapped(&mut notes, &text, width());
    }
    out.write_all(notes.as_bytes())
}

fn print_ceilings(out: &mut impl Write, roofline: &Roofline) -> io::Result<()> {
    let (arithmetic, bandwidth) = roofline.ceilings.all();
    for ceiling in arithmetic {
        let value = rate(ceiling.value, "FLOP");
        writeln!(
            out,
            "  - {}: {value}, {}",
            ceiling.label,
            ceiling.source.name()
        )?;
    }
    for ceiling in bandwidth {
        let value = rate(ceiling.value, "B");
        writeln!(
            out,
            "  / {}: {value}, {}",
            ceiling.label,
            ceiling.source.name()
        )?;
    }
    Ok(())
}

fn points(roofline: &Roofline) -> TextTable {
    let mut table = TextTable::new(
        "Counted work, measured time",
        &[
            ("", Align::Left),
            ("", Align::Left),
            ("ms", Align::Right),
            ("GFLOP", Align::Right),
            ("MB", Align::Right),
            ("FLOP/byte", Align::Right),
            ("reached", Align::Right),
            ("of limit", Align::Right),
            ("bound by", Align::Left),
        ],
    );
    let shown = draw::shown(roofline);
    for point in &roofline.points {
        let letter = shown
            .iter()
            .position(|drawn| std::ptr::eq(*drawn, point))
            .map_or(' ', draw::letter);
        table.rows.push(row(point, letter));
    }
    let mut advice: Vec<&str> = Vec::new();
    for point in &shown {
        if let Some(help) = &point.what_would_help
            && !advice.contains(&help.as_str())
        {
            advice.push(help);
        }
    }
    for help in advice {
        let who: Vec<&str> = shown
            .iter()
            .filter(|point| point.what_would_help.as_deref() == Some(help))
            .map(|point| point.name.as_str())
            .collect();
        table.notes.push(format!("{}: {help}", who.join(", ")));
    }
    table
}

fn row(point: &Point, letter: char) -> Vec<String> {
    let bound = match point.bound {
        Some(Bound::Memory) => "memory",
        Some(Bound::Arithmetic) => "arithmetic",
        Some(Bound::Overhead) => "neither",
        None => "no ceilings known",
    };
    let grain = match point.grain {
        crate::analysis::roofline::Grain::Step => "step",
        crate::analysis::roofline::Grain::Phase => "phase",
        crate::analysis::roofline::Grain::Part => "part",
        crate::analysis::roofline::Grain::Kernel => "kernel",
    };
    vec![
        format!("{letter} {}", point.name),
        grain.into(),
        format!("{:.3}", point.ms),
        format!("{:.3}", point.flops / 1e9),
        format!("{:.2}", point.bytes / 1e6),
        format!("{:.2}", point.intensity),
        rate(point.flops_per_s, "FLOP"),
        point
            .share
            .map_or("-".into(), |share| format!("{:.1} %", 100.0 * share)),
        bound.into(),
    ]
}

fn counter_table(checks: &[CounterCheck]) -> TextTable {
    let mut table = TextTable::new(
        "Counted from shapes against hardware counters, a launch",
        &[
            ("kernel", Align::Left),
            ("FLOP counted", Align::Right),
            ("by counters", Align::Right),
            ("bytes counted", Align::Right),
            ("by counters", Align::Right),
        ],
    );
    for check in checks {
        table.rows.push(vec![
            check.point.clone(),
            figure(check.counted_flops),
            figure(check.counter_flops),
            bytes(check.counted_bytes),
            bytes(check.counter_bytes),
        ]);
    }
    table.notes.push(if checks.is_empty() {
        "no kernel of the profile has both counters and a name that was counted".into()
    } else {
        "counters see what really happened: bytes read again after they left a cache, operations of masked lanes, addresses".into()
    });
    table
}
