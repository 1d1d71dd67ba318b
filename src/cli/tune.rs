//! `tune`: finds the block sizes and types with which a target runs fastest on this device.

use std::slice;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use tinyllama_contract::bounds;
use tinyllama_kernel_catalog::{KERNELS, KernelDescriptor, Role};

use super::analysis::{
    Analysis, AnalysisPage, AnalysisResult, AnalysisRunner, Flags, Measure, Sweep, TIMED, plural,
};
use tinyllama_analysis::comparison::{step_ms, total_series};
use tinyllama_analysis::relative::{RelativeTime, USUAL_MARGIN, middle};
use tinyllama_analysis::tuning::{
    BLOCK_SIZE, FlagChoice, FlagSet, SearchStrategy, TriedCandidate, Tuned, TunedTarget,
    candidates, disagreement, finalists,
};
use tinyllama_analysis::{MeasuredRun, RunFailure, RunVariant};
use tinyllama_base::clock::unix_time;
use tinyllama_base::statistics::Finding;
use tinyllama_base::table::TableColumns;
use tinyllama_base::units::number;
use tinyllama_contract::flags::{RunSpec, UsageError};
use tinyllama_runs::folder;

const DTYPE: &str = "--dtype=";

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor tune v3 --config small
      every block size of every kernel
  tinyllama-tutor tune v3 --kernels rmsnorm,adamw --sizes 64,128,256 --dtypes bf16
      a smaller search")]
pub struct TuneArgs {
    /// Target to tune, optionally with flags after a colon: v3, v3:--graph-fusion=on
    target: RunSpec,
    /// Kernels whose block sizes are tried [default: all that have one]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    kernels: Vec<String>,
    /// Block sizes to try, if a kernel supports them [default: all it supports]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = bounds::BLOCK)]
    sizes: Vec<usize>,
    /// Also try these operand types (bf16, f16); they change the results a little
    #[arg(long, value_name = "TYPE,…", value_delimiter = ',')]
    dtypes: Vec<String>,
    /// Try every combination if there are at most this many, otherwise each flag separately
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = bounds::COMBINATIONS)]
    most: usize,
    #[command(flatten)]
    measure: Measure,
    /// Do not store the result; later runs of the target use the stored result
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    sweep: Sweep,
    #[command(flatten)]
    flags: Flags,
}

/// A kernel with a block size, and the sizes it supports.
type Tunable = (&'static str, &'static [usize]);

/// A candidate that is measured again and takes turns with the default flags.
#[derive(Debug, Serialize)]
struct Finalist {
    #[serde(flatten)]
    candidate: FlagSet,
    step_ms: Option<f64>,
    relative_time: Option<RelativeTime>,
    wrong: Option<String>,
}

/// The document that `--json` prints.
#[derive(Serialize)]
struct TuneDocument<'a> {
    target: &'a str,
    search: SearchStrategy,
    tried: &'a [TriedCandidate],
    finalists: &'a [Finalist],
    /// Empty if no candidate was faster than the default flags beyond the noise.
    winner: &'a [String],
    kept: Option<String>,
}

impl Analysis for TuneArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let choices = self.choices(&tunables_of(&self.target))?;
        let (search, first) = candidates(&choices, self.most);
        for candidate in &first {
            self.variant(candidate)?;
        }
        let mut runner = AnalysisRunner::open_for(&self.flags, &self.sweep)?;
        // Runs with the default flags must not use the result of an earlier search.
        let launcher = runner.runner.launcher.clone();
        runner.runner.launcher = launcher.with_variable("TINYLLAMA_TUNING", "off");
        let (tried, usual) = self.try_each(&mut runner, &first)?;
        let best = finalists(search, &choices, &tried);
        let finalists = self.measure_again(&mut runner, &best)?;
        let winner = winner(&finalists);
        let kept = match &usual {
            Some(usual) if !self.dry_run => Some(self.keep(usual, winner)?),
            _ => None,
        };
        let document = TuneDocument {
            target: self.target.target.name,
            search,
            tried: &tried,
            finalists: &finalists,
            winner: winner.map_or(&[], |winner| &winner.candidate.flags),
            kept,
        };
        Ok(AnalysisResult::new(&document, self.page(&document))?.with_nodes(&runner))
    }
}

/// The target's kernels that have a block size. The naive kernel is not among them, because it is meant to be slow.
fn tunables_of(spec: &RunSpec) -> Vec<Tunable> {
    let launched = spec.target.kernels(&spec.target.recipe);
    let kernels = KERNELS
        .iter()
        .filter(|kernel| kernel.role != Role::NaiveActivation && launched.contains(&kernel.name));
    let tunable = |kernel: &&KernelDescriptor| Some((kernel.name, kernel.block_size?.sizes));
    kernels.filter_map(tunable).collect()
}

impl TuneArgs {
    fn choices(&self, tunables: &[Tunable]) -> Result<Vec<FlagChoice>, UsageError> {
        let known: Vec<&str> = tunables.iter().map(|(kernel, _)| *kernel).collect();
        let target = self.target.target;
        let mut named = self.kernels.iter();
        if let Some(unknown) = named.find(|name| !known.contains(&name.as_str())) {
            return Err(UsageError(match known.is_empty() {
                true => format!(
                    "--kernels {unknown}: {target} launches no kernel whose block size can be chosen; v3 does"
                ),
                false => format!(
                    "--kernels: no kernel `{unknown}` has a block size; these have: {}",
                    known.join(", ")
                ),
            }));
        }
        let is_named = |kernel: &str| {
            self.kernels.is_empty() || self.kernels.iter().any(|name| name == kernel)
        };
        let may_have = |size: &&usize| self.sizes.is_empty() || self.sizes.contains(size);
        let sizes = |(kernel, sizes): &Tunable| {
            let flag = |size| format!("{BLOCK_SIZE}{kernel}={size}");
            sizes.iter().filter(may_have).map(flag).collect()
        };
        let named = tunables.iter().filter(|(kernel, _)| is_named(kernel));
        let mut choices: Vec<FlagChoice> = named.map(sizes).collect();
        let dtypes = self.dtypes.iter();
        choices.push(dtypes.map(|dtype| format!("{DTYPE}{dtype}")).collect());
        choices.retain(|choice| !choice.is_empty());
        if choices.is_empty() {
            let why = match tunables {
                [] => "it launches no kernel whose block size can be chosen",
                _ => "none of the kernels can have one of --sizes",
            };
            return Err(UsageError(format!(
                "nothing to try with {target}: {why}, and there are no --dtypes"
            )));
        }
        Ok(choices)
    }

    fn variant(&self, candidate: &FlagSet) -> Result<RunVariant, UsageError> {
        let name = format!("{} {}", self.target.target, candidate.name());
        let common = self.flags.merged_with(&TIMED);
        RunVariant::new(name, &self.target, &common, &candidate.flags)
    }

    /// Runs every candidate once, and the default flags to compare them with.
    fn try_each(
        &self,
        runner: &mut AnalysisRunner,
        candidates: &[FlagSet],
    ) -> Result<(Vec<TriedCandidate>, Option<MeasuredRun>)> {
        let mut usual: Option<MeasuredRun> = None;
        let mut all = Vec::new();
        let variants = candidates.iter().map(|candidate| self.variant(candidate));
        runner.submit_ahead(&variants.collect::<Result<Vec<_>, _>>()?)?;
        for (at, candidate) in candidates.iter().enumerate() {
            let (ms, wrong) =
                match runner.run(&self.variant(candidate)?, (at + 1, candidates.len())) {
                    Ok(run) => {
                        let ms = step_ms(slice::from_ref(&run));
                        let wrong = usual.as_ref().and_then(|usual| disagreement(&run, usual));
                        if candidate.flags.is_empty() {
                            refuse_cpu(&run, candidates)?;
                            usual = Some(run);
                        }
                        (ms, wrong)
                    }
                    // A device may refuse a block size. But if the default flags fail, there is nothing to compare with.
                    Err(RunFailure::FailedRun(failed)) if !candidate.flags.is_empty() => {
                        let text = RunFailure::FailedRun(failed).to_string();
                        (None, Some(text.lines().next().unwrap_or_default().into()))
                    }
                    Err(other) => return Err(other.into()),
                };
            all.push(TriedCandidate {
                candidate: candidate.clone(),
                step_ms: ms,
                wrong,
            });
        }
        Ok((all, usual))
    }

    /// Measures the best candidates again in turns with the default flags. Each interval is wider for several
    /// candidates, so that all hold together.
    fn measure_again(
        &self,
        runner: &mut AnalysisRunner,
        best: &[FlagSet],
    ) -> Result<Vec<Finalist>> {
        if best.is_empty() {
            return Ok(vec![]);
        }
        runner.print_line("measuring the best again, in turns with the usual flags");
        let usual = FlagSet::default();
        let candidates = slice::from_ref(&usual).iter().chain(best);
        let variants = candidates.map(|candidate| self.variant(candidate));
        let variants = variants.collect::<Result<Vec<_>, _>>()?;
        let runs = runner.run_rounds(&variants, self.measure.rounds)?;
        let each = 1.0 - (1.0 - self.measure.confidence) / best.len() as f64;
        let usual = total_series(&runs[0]);
        let finalist = |(candidate, own): (&FlagSet, &Vec<MeasuredRun>)| {
            let series = total_series(own);
            let mut pairs = own.iter().zip(&runs[0]);
            Finalist {
                candidate: candidate.clone(),
                step_ms: middle(&series),
                relative_time: RelativeTime::from_rounds(&series, &usual, each, USUAL_MARGIN),
                wrong: pairs.find_map(|(run, usual)| disagreement(run, usual)),
            }
        };
        Ok(best.iter().zip(&runs[1..]).map(finalist).collect())
    }

    fn keep(&self, usual: &MeasuredRun, winner: Option<&Finalist>) -> Result<String> {
        let hello = &usual.hello;
        if hello.config.validate().is_err() {
            bail!("the run reported an impossible model");
        }
        let interval = winner.and_then(|winner| winner.relative_time.as_ref()?.interval);
        let flags = winner.map_or(vec![], |winner| winner.candidate.flags.clone());
        let dtype = flags.iter().find_map(|flag| flag.strip_prefix(DTYPE));
        let root = folder::state_folder()?;
        let mut tuned = Tuned::load(&root, &hello.backend, &hello.device)?;
        tuned.put(TunedTarget {
            target: self.target.target.to_string(),
            config: hello.config,
            recipe: hello.recipe,
            dtype: dtype.unwrap_or(&hello.dtype).to_string(),
            flags,
            speedup: interval.map(|time| [1.0 / time.value, 1.0 / time.high, 1.0 / time.low]),
            found: unix_time().as_secs(),
            program: env!("CARGO_PKG_VERSION").into(),
            driver: hello.driver.clone(),
        });
        Ok(tuned.save(&root)?.display().to_string())
    }

    fn page(&self, found: &TuneDocument<'_>) -> AnalysisPage {
        let mut page = AnalysisPage::default();
        page.table(
            TableColumns::titled(
                format!("{}, each once", self.target.command_name()),
                found.tried,
            )
            .left("flags", |row| row.candidate.name().to_string())
            .right("step ms", |row| number(row.step_ms, 3))
            .left("", |row| row.wrong.clone().unwrap_or_default()),
        );
        if !found.finalists.is_empty() {
            let rounds = plural(self.measure.rounds, "round");
            let title = format!("The best measured again, {rounds} in turns with the usual flags");
            page.table(
                TableColumns::titled(title, found.finalists)
                    .left("flags", |row| row.candidate.name().to_string())
                    .right("step ms", |row| number(row.step_ms, 3))
                    .right("speed-up", |row| {
                        Some(row.relative_time.as_ref()?.speedup_text())
                    })
                    .left("finding", |row| {
                        let found = || Some(row.relative_time.as_ref()?.finding_text());
                        row.wrong.clone().or_else(found)
                    }),
            );
        }
        match found.winner {
            [] => page.line(
                "\nNothing was faster than the usual flags beyond the noise; they stay. More rounds show smaller differences.",
            ),
            flags => page.line(format_args!("\nfastest: {}", flags.join(" "))),
        }
        let Some(path) = &found.kept else { return page };
        page.line(format_args!("kept in {path}"));
        if found.winner.iter().any(|flag| flag.starts_with(BLOCK_SIZE)) {
            page.line(format_args!(
                "Runs of {} with this model and type use these block sizes from now on; TINYLLAMA_TUNING=off ignores them.",
                found.target
            ));
        }
        if let Some(dtype) = found.winner.iter().find(|flag| flag.starts_with(DTYPE)) {
            page.line(format_args!(
                "{dtype} changes the numbers, so a run uses it only if you give it."
            ));
        }
        page
    }
}

/// Refuses block sizes on a CPU: its kernels have none, so the search would only find noise.
fn refuse_cpu(usual: &MeasuredRun, candidates: &[FlagSet]) -> Result<(), UsageError> {
    let mut flags = candidates.iter().flat_map(|candidate| &candidate.flags);
    if usual.hello.backend == "cpu" && flags.any(|flag| flag.starts_with(BLOCK_SIZE)) {
        return Err(UsageError(
            "on a CPU the kernels have no block size, so there is none to tune; name a GPU with --backend"
                .into(),
        ));
    }
    Ok(())
}

/// Returns the fastest candidate that is faster beyond the noise and computes the same.
fn winner(finalists: &[Finalist]) -> Option<&Finalist> {
    finalists
        .iter()
        .filter(|finalist| finalist.wrong.is_none())
        .filter_map(|finalist| Some((finalist, finalist.relative_time.as_ref()?)))
        .filter(|(_, time)| time.finding == Some(Finding::Faster))
        .min_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio))
        .map(|(finalist, _)| finalist)
}
