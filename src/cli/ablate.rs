//! `ablate`: runs every combination of a target's switches and reports how much time each switch saves.

use anyhow::Result;
use clap::Args;

use super::analysis::{
    Analysis, AnalysisPage, AnalysisResult, AnalysisRunner, Flags, Measure, Sweep, TIMED, bar,
    interval, plural, switches,
};
use tinyllama_analysis::ablation::{Ablation, States, SwitchEffect, analyse};
use tinyllama_analysis::comparison::total_series;
use tinyllama_analysis::{RunFailure, RunVariant};
use tinyllama_base::statistics::{Finding, Series};
use tinyllama_base::table::TableColumns;
use tinyllama_base::{Share, errln, percent, signed_percent, times, whole_percent};
use tinyllama_contract::flags::{RunSpec, UsageError};

/// With more switches there would be more than 64 combinations.
const MOST_SWITCHES: usize = 6;

/// The switches of `v2` and `v3`.
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
      two switches, with more rounds")]
pub struct AblateArgs {
    /// v2 or v3, optionally with flags after a colon
    target: RunSpec,
    /// Switches to turn on and off; the others keep the target's setting
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = switch, default_values_t = SWITCHES.map(String::from))]
    switches: Vec<String>,
    #[command(flatten)]
    measure: Measure,
    #[command(flatten)]
    sweep: Sweep,
    #[command(flatten)]
    flags: Flags,
}

fn switch(name: &str) -> Result<String, String> {
    let name = name.trim().trim_start_matches("--");
    let known = switches();
    if known.iter().any(|known| known == name) {
        return Ok(name.into());
    }
    let known = known.join(", ");
    Err(format!("there is no such switch; there are: {known}"))
}

impl Analysis for AblateArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let switches = &self.switches;
        let again = (1..switches.len()).find(|at| switches[..*at].contains(&switches[*at]));
        if again.is_some() || switches.len() > MOST_SWITCHES {
            return Err(UsageError(format!(
                "--switches: name 1 to {MOST_SWITCHES} of them, each once"
            ))
            .into());
        }
        let common = self.flags.merged_with(&TIMED);
        let variants = States::all_states(switches.len())
            .map(|states| {
                let name = match states.switched_on(switches).join(" + ") {
                    none if none.is_empty() => "none".into(),
                    on => on,
                };
                RunVariant::new(name, &self.target, &common, &states.flags(switches))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut runner = AnalysisRunner::open_for(&self.flags, &self.sweep)?;
        let runs = runner.run_rounds(&variants, self.measure.rounds);
        let runs = runs.inspect_err(explain_failure)?;
        let medians = |series: Vec<Series>| series.iter().map(Series::median).collect();
        let times = runs.iter().map(|runs| medians(total_series(runs)));
        let times: Vec<Vec<f64>> = times.collect();
        let Measure { confidence, .. } = self.measure;
        let found = analyse(self.target.target.name, switches, &times, confidence)?;
        Ok(AnalysisResult::new(&found, page(&found))?.with_nodes(&runner))
    }
}

/// Names the combination that this device cannot run, because the experiment needs all of them.
fn explain_failure(failure: &RunFailure) {
    if let RunFailure::FailedRun(failed) = failure {
        errln!(
            "the combination `{}` did not run; choose --switches without the one it needs",
            failed.variant
        );
    }
}

fn page(found: &Ablation) -> AnalysisPage {
    let mut page = AnalysisPage::default();
    let rounds = plural(found.rounds, "round");
    let title = format!("{}: every combination, {rounds}", found.target);
    let combinations = TableColumns::titled(title, &found.combinations)
        .left("switched on", |row| match &*row.on {
            [] => "nothing".into(),
            on => on.join(" + "),
        })
        .right("step ms", |row| format!("{:.3}", row.step_ms))
        .right("speed-up", |row| times(row.speedup));
    page.table(combinations);
    let scatter = found.scatter.map_or(String::new(), |scatter| {
        format!(
            "; equal runs in a round differ by {}",
            percent(Share(scatter))
        )
    });
    page.table(effects("Effect of each switch", &found.main_effects).note(format!(
        "on over off, averaged over every state of the other switches; all intervals hold together with {}{scatter}",
        whole_percent(Share(found.confidence))
    )));
    chart(&mut page, &found.main_effects);
    if !found.interactions.is_empty() {
        page.table(effects("Effect of two switches together", &found.interactions).note(
            "together over the product of both alone: above 1 they help each other, below 1 they do the same work twice",
        ));
    }
    page
}

fn effects<'a>(title: &str, effects: &'a [SwitchEffect]) -> TableColumns<'a, SwitchEffect> {
    TableColumns::titled(title, effects)
        .left("", |row| row.switches.join(" with "))
        .right("speed-up", |row| times(1.0 / row.time_ratio))
        .right("interval", |row| row.interval.as_ref().map(interval))
        .left("finding", finding_text)
}

fn finding_text(effect: &SwitchEffect) -> String {
    let both = effect.switches.len() == 2;
    match effect.finding {
        Some(Finding::Faster) if both => "they help each other".into(),
        Some(Finding::Slower) if both => "they overlap".into(),
        Some(Finding::NoDifference) if both => "independent of each other".into(),
        Some(Finding::TooNoisy {
            further: Some(more),
        }) => format!("too noisy: {more} should settle it"),
        Some(finding) => finding.to_string(),
        None => "unknown: one round does not show the scatter".into(),
    }
}

/// A bar chart with the share of time that each switch saves.
fn chart(page: &mut AnalysisPage, effects: &[SwitchEffect]) {
    let name = |effect: &SwitchEffect| effect.switches.join("");
    let saved = |effect: &SwitchEffect| 1.0 - effect.time_ratio;
    let width = effects.iter().map(|effect| name(effect).len()).max();
    let width = width.unwrap_or(0);
    let shares = effects.iter().map(|effect| saved(effect).abs());
    let longest = shares.fold(0.01, f64::max);
    page.line("\nTime saved");
    for effect in effects {
        let share = saved(effect);
        let glyph = if share >= 0.0 { '#' } else { '-' };
        let bar = bar(share.abs() / longest, 40, glyph);
        let (name, saved) = (name(effect), signed_percent(Share(share)));
        page.line(format_args!("  {name:<width$} {saved:>8} {bar}"));
    }
    page.line("  # time saved, - time lost");
}
