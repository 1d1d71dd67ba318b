//! `ablate`: every combination of a target's switches, and what each is worth.

use std::io::{self, Write};

use anyhow::{Result, bail};
use clap::Args;

use super::Exit;
use super::analysis::{
    Console, Entry, MeasureFlags, RunFlags, SizeFlags, bar, finish, print_json, print_table, timed,
};
use super::training_args::UsageError;
use crate::analysis::ablation::{Ablation, Effect, Switch, analyse, variants};
use crate::analysis::comparison::total_series;
use crate::analysis::relative::factor;
use crate::analysis::turns::take_turns;
use crate::analysis::{RunFailure, Stop};
use crate::base::statistics::{Finding, Series};
use crate::base::table::{Align, TextTable};

/// More switches would need more than 64 combinations.
const MOST_SWITCHES: usize = 6;

/// What `v2` and `v3` can switch.
const SWITCHES: [&str; 4] = [
    "qkv-fusion",
    "flash-attention",
    "swiglu-fusion",
    "graph-fusion",
];

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor ablate v2
      sixteen combinations, three rounds
  tinyllama-tutor ablate v3 --switches qkv-fusion,graph-fusion --rounds 5
      two switches, more surely")]
pub struct AblateArgs {
    /// v2 or v3, with flags of its own after a colon
    target: Entry,
    /// Switches to turn on and off; the others stay as the target has them
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values_t = SWITCHES.map(String::from))]
    switches: Vec<String>,
    #[command(flatten)]
    measure: MeasureFlags,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    size: SizeFlags,
    #[command(flatten)]
    flags: RunFlags,
}

pub fn run(args: &AblateArgs) -> Result<Exit> {
    finish(ablate(args))
}

fn ablate(args: &AblateArgs) -> Result<Exit> {
    let (rounds, confidence) = args.measure.checked()?;
    let switches = switches(&args.switches)?;
    let own = args.target.flags.clone();
    let common = [timed(), args.flags.words(), args.size.words(), own].concat();
    let variants = variants(&args.target.target, &switches, &common);
    let stop = Stop::default();
    let runner = args.flags.runner(stop.clone())?;
    Console::end_on_signals(&stop)?;
    let mut console = Console::default();
    let runs = take_turns(&runner, &variants, rounds, &mut console).map_err(say_which)?;
    drop(console);
    let times: Vec<Vec<f64>> = runs
        .iter()
        .map(|runs| total_series(runs).iter().map(Series::median).collect())
        .collect();
    let ablation = analyse(&args.target.target, &switches, &times, confidence)?;
    if args.json {
        print_json(&ablation)?;
    } else {
        print(&mut io::stdout().lock(), &ablation)?;
    }
    Ok(Exit::Ok)
}

fn switches(names: &[String]) -> Result<Vec<Switch>> {
    let mut switches: Vec<Switch> = Vec::new();
    for name in names {
        let name = name.trim().trim_start_matches("--").to_string();
        if name.is_empty() || switches.iter().any(|known| known.name == name) {
            bail!(UsageError(format!(
                "--switches: `{name}` is empty or named twice; there are: {}",
                SWITCHES.join(", ")
            )));
        }
        switches.push(Switch { name });
    }
    if switches.is_empty() || switches.len() > MOST_SWITCHES {
        bail!(UsageError(format!(
            "--switches: name 1 to {MOST_SWITCHES} of them, such as {}",
            SWITCHES.join(",")
        )));
    }
    Ok(switches)
}

/// A combination this device cannot run would leave a hole in the experiment.
fn say_which(failure: RunFailure) -> RunFailure {
    if let RunFailure::Failed(failed) = &failure {
        eprintln!(
            "the combination `{}` did not run; leave out the switch it needs with --switches",
            failed.variant
        );
    }
    failure
}

fn print(out: &mut impl Write, ablation: &Ablation) -> io::Result<()> {
    print_table(out, &combinations(ablation))?;
    print_table(
        out,
        &effects("What each switch does", &ablation.main_effects, ablation),
    )?;
    chart(out, &ablation.main_effects)?;
    if !ablation.interactions.is_empty() {
        print_table(
            out,
            &effects("What two do together", &ablation.interactions, ablation),
        )?;
    }
    Ok(())
}

fn combinations(ablation: &Ablation) -> TextTable {
    let mut table = TextTable::new(
        format!(
            "{}: every combination, {} rounds",
            ablation.target, ablation.rounds
        ),
        &[
            ("switched on", Align::Left),
            ("step ms", Align::Right),
            ("speed-up", Align::Right),
        ],
    );
    for combination in &ablation.combinations {
        table.rows.push(vec![
            match combination.on.as_slice() {
                [] => "nothing".into(),
                on => on.join(" + "),
            },
            format!("{:.3}", combination.step_ms),
            format!("{}x", factor(combination.speedup)),
        ]);
    }
    table
}

fn effects(title: &str, effects: &[Effect], ablation: &Ablation) -> TextTable {
    let mut table = TextTable::new(
        title,
        &[
            ("", Align::Left),
            ("speed-up", Align::Right),
            ("interval", Align::Right),
            ("finding", Align::Left),
        ],
    );
    for effect in effects {
        table.rows.push(vec![
            effect.switches.join(" with "),
            format!("{}x", factor(1.0 / effect.time_ratio)),
            effect.interval.map_or("not known".into(), |interval| {
                format!(
                    "{} to {}",
                    factor(1.0 / interval.high),
                    factor(1.0 / interval.low)
                )
            }),
            in_words(effect),
        ]);
    }
    table.notes.push(match effects.first().map(|effect| effect.switches.len()) {
        Some(2) => "together over the product of both alone: above 1 they help each other, below 1 they do the same work twice".into(),
        _ => format!(
            "on over off, averaged over every state of the other switches; all intervals hold together with {:.0} %{}",
            100.0 * ablation.confidence,
            ablation.scatter.map_or(String::new(), |scatter| format!(
                "; equal runs of a round scatter by {:.1} %",
                100.0 * scatter
            ))
        ),
    });
    table
}

fn in_words(effect: &Effect) -> String {
    let both = effect.switches.len() == 2;
    match effect.finding {
        Some(Finding::Faster) if both => "they help each other".into(),
        Some(Finding::Slower) if both => "they overlap".into(),
        Some(Finding::NoDifference) if both => "each as without the other".into(),
        Some(Finding::TooNoisy {
            further: Some(more),
        }) => format!("too noisy: {more} should settle it"),
        Some(finding) => finding.to_string(),
        None => "unknown: one round tells no scatter".into(),
    }
}

/// Share of time saved by each switch, as bars.
fn chart(out: &mut impl Write, effects: &[Effect]) -> io::Result<()> {
    let name = effects
        .iter()
        .filter_map(|effect| Some(effect.switches.first()?.len()))
        .max()
        .unwrap_or(0);
    let saved = |effect: &Effect| 1.0 - effect.time_ratio;
    let longest = effects
        .iter()
        .map(|effect| saved(effect).abs())
        .fold(0.01, f64::max);
    writeln!(out, "\nTime saved")?;
    for effect in effects {
        let share = saved(effect);
        writeln!(
            out,
            "  {:<name$} {:>+6.1} % {}",
            effect.switches.join(""),
            100.0 * share,
            bar(
                share.abs() / longest,
                40,
                if share >= 0.0 { '#' } else { '-' }
            )
        )?;
    }
    writeln!(out, "  # time saved, - time lost")
}
