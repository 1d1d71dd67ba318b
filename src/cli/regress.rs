//! `regress`: compares new runs with a baseline file, for continuous integration.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::TypedValueParser;
use serde_json::json;

use super::analysis::{
    Analysis, AnalysisPage, AnalysisResult, AnalysisRunner, Flags, Measure, TIMED,
};
use tinyllama_analysis::comparison::{paths, total_series};
use tinyllama_analysis::regression::{
    Baseline, FigureOutcome, RegressionFigure, RegressionVerdict, RunFigures, check, check_speedup,
};
use tinyllama_analysis::{MeasuredRun, RunVariant};
use tinyllama_base::clock::unix_time;
use tinyllama_base::table::TableColumns;
use tinyllama_contract::bounds;
use tinyllama_contract::flags::{RunSpec, UsageError};
use tinyllama_report::layout;

#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tinyllama-tutor regress v1 v3 --config small --baseline base.json --save
      keep today's figures
  tinyllama-tutor regress --baseline base.json --ci junit.xml
      compare with them, same targets and flags
  tinyllama-tutor regress v3 --against v1 --min-speedup 1.3
      no baseline, one target against another")]
pub struct RegressArgs {
    /// Targets to run (default: those of the baseline, with its flags)
    targets: Vec<RunSpec>,
    /// File with the figures to compare with, or to save to; not needed with --min-speedup
    #[arg(long, value_name = "FILE", required_unless_present = "min_speedup")]
    baseline: Option<PathBuf>,
    /// Save the new figures as the baseline instead of comparing with it
    #[arg(long, requires = "baseline")]
    save: bool,
    /// How much worse a figure may become, in per cent
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = bounds::TOLERANCE.map(|percent| percent / 100.0))]
    tolerance: f64,
    /// Minimum speed-up of every target over the target of --against
    #[arg(long, value_name = "FACTOR", requires = "against", value_parser = bounds::FACTOR)]
    min_speedup: Option<f64>,
    /// Target for speed-ups to refer to; it takes turns with the others
    #[arg(long, value_name = "TARGET", requires = "min_speedup")]
    against: Option<RunSpec>,
    /// Also fail if the spread is too large for a decision [default: only a proven regression fails]
    #[arg(long)]
    strict: bool,
    /// Write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    ci: Option<PathBuf>,
    #[command(flatten)]
    measure: Measure,
    #[command(flatten)]
    flags: Flags,
}

/// The targets to run. The target of --against is the last one unless it is among the others.
struct RegressPlan {
    entries: Vec<RunSpec>,
    common: Vec<String>,
    against: Option<usize>,
}

impl Analysis for RegressArgs {
    fn analyze(&self) -> Result<AnalysisResult> {
        let baseline = match &self.baseline {
            Some(path) if !self.save => {
                Some(Baseline::read(path).map_err(|error| UsageError(error.to_string()))?)
            }
            _ => None,
        };
        let plan = self.plan(baseline.as_ref())?;
        let specs = plan.entries.iter();
        let variants = specs.map(|spec| RunVariant::new(spec.to_string(), spec, &plan.common, &[]));
        let variants = variants.collect::<Result<Vec<_>, _>>()?;
        let runs = AnalysisRunner::open(&self.flags)?.run_rounds(&variants, self.measure.rounds)?;
        if let (Some(path), true) = (&self.baseline, self.save) {
            let mut saved = Baseline::new(plan.common, unix_time().as_secs());
            for (entry, runs) in plan.entries.iter().zip(&runs) {
                saved.add(entry.command_name(), runs);
            }
            saved.write(path)?;
            let names = itertools::join(plan.entries.iter().map(RunSpec::command_name), ", ");
            let mut page = AnalysisPage::default();
            page.line(format_args!("saved {names} in {}", path.display()));
            return AnalysisResult::new(&saved, page);
        }
        let outcomes = self.judge(&plan, baseline.as_ref(), &runs)?;
        if let Some(path) = &self.ci {
            std::fs::write(path, junit(&outcomes, self.strict))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        let fails = |outcome: &FigureOutcome| match outcome.verdict {
            RegressionVerdict::Regression => true,
            RegressionVerdict::Inconclusive => self.strict,
            RegressionVerdict::Passed | RegressionVerdict::NotCompared => false,
        };
        let passed = !outcomes.iter().any(fails);
        let document = json!({
            "passed": passed,
            "baseline": self.baseline,
            "strict": self.strict,
            "rounds": self.measure.rounds,
            "tolerance": self.tolerance,
            "confidence": self.measure.confidence,
            "outcomes": outcomes,
            "runs": paths(runs.iter().flatten()),
        });
        Ok(AnalysisResult::new(&document, self.page(&outcomes))?.with_passed(passed))
    }
}

impl RegressArgs {
    /// Names what the figures are compared with.
    fn source(&self) -> String {
        let file = self.baseline.as_ref();
        file.map_or("each other".into(), |path| {
            format!("the baseline {}", path.display())
        })
    }

    fn plan(&self, baseline: Option<&Baseline>) -> Result<RegressPlan> {
        let source = self.source();
        let mut common = self.flags.merged_with(&TIMED);
        let mut entries = self.targets.clone();
        if entries.is_empty() {
            let Some(baseline) = baseline else {
                bail!(UsageError(
                    "name the targets: `regress v1 v3 --baseline FILE --save`, `regress v3 --against v1 --min-speedup 1.3`"
                        .into()
                ));
            };
            for target in &baseline.targets {
                let entry = target.entry.parse::<RunSpec>();
                entries.push(entry.map_err(|error| UsageError(format!("{source}: {error}")))?);
            }
            common = [&baseline.flags[..], &common].concat();
        }
        let against = self.against.as_ref().map(|against| {
            let known = entries.iter().position(|entry| entry == against);
            known.unwrap_or_else(|| {
                entries.push(against.clone());
                entries.len() - 1
            })
        });
        if entries.is_empty() {
            bail!(UsageError(format!("{source} names no target")));
        }
        Ok(RegressPlan {
            entries,
            common,
            against,
        })
    }

    fn judge(
        &self,
        plan: &RegressPlan,
        baseline: Option<&Baseline>,
        runs: &[Vec<MeasuredRun>],
    ) -> Result<Vec<FigureOutcome>> {
        let confidence = self.measure.confidence;
        let mut outcomes = Vec::new();
        for (at, (entry, runs)) in plan.entries.iter().zip(runs).enumerate() {
            let Some(baseline) = baseline else { continue };
            let Some(target) = baseline.target(&entry.command_name()) else {
                if plan.against != Some(at) {
                    outcomes.push(not_in_baseline(entry.command_name()));
                }
                continue;
            };
            if let Some(run) = runs.first() {
                let same = target.check_circumstances(&run.hello);
                same.map_err(|error| UsageError(error.to_string()))?;
            }
            let today: Vec<RunFigures> = runs.iter().map(RunFigures::from_run).collect();
            let (entry, tolerance) = (entry.command_name(), self.tolerance);
            let checked = check(&entry, &today, &target.runs, tolerance, confidence);
            outcomes.extend(checked);
        }
        if let (Some(least), Some(against)) = (self.min_speedup, plan.against) {
            let name = plan.entries[against].command_name();
            let others = total_series(&runs[against]);
            let entries = plan.entries.iter().zip(runs).enumerate();
            for (_, (entry, runs)) in entries.filter(|(at, _)| *at != against) {
                let (entry, own) = (entry.command_name(), total_series(runs));
                let outcome = check_speedup(&entry, &own, &name, &others, least, confidence);
                outcomes.push(outcome);
            }
        }
        let is_nothing =
            |outcome: &FigureOutcome| outcome.verdict == RegressionVerdict::NotCompared;
        if outcomes.iter().all(is_nothing) {
            bail!(UsageError(format!(
                "{} holds none of these targets, and there is no --min-speedup: nothing was compared",
                self.source()
            )));
        }
        Ok(outcomes)
    }

    fn page(&self, outcomes: &[FigureOutcome]) -> AnalysisPage {
        let mut page = AnalysisPage::default();
        page.table(
            TableColumns::titled(format!("Against {}", self.source()), outcomes)
                .left("target", |row| row.target.clone())
                .left("figure", |row| row.figure.to_string())
                .left("verdict", |row| row.verdict.to_string())
                .left("", |row| row.message.clone()),
        );
        page
    }
}

/// The outcomes as JUnit XML, which continuous integration shows: one suite per target, one case per figure. An
/// inconclusive outcome is skipped, or failed if `strict`.
fn junit(outcomes: &[FigureOutcome], strict: bool) -> String {
    let case = |outcome: &FigureOutcome| {
        let result = match outcome.verdict {
            RegressionVerdict::Passed => "passed",
            RegressionVerdict::NotCompared => "skipped",
            RegressionVerdict::Inconclusive if !strict => "skipped",
            RegressionVerdict::Regression | RegressionVerdict::Inconclusive => "failure",
        };
        json!({"target": outcome.target, "name": outcome.figure.name(), "result": result, "message": outcome.message})
    };
    let cases: Vec<_> = outcomes.iter().map(case).collect();
    layout::render("junit.html", &json!({"cases": cases}))
}

fn not_in_baseline(target: String) -> FigureOutcome {
    FigureOutcome {
        target,
        figure: RegressionFigure::StepTime,
        verdict: RegressionVerdict::NotCompared,
        ratio: None,
        interval: None,
        message: "the baseline holds no figures of it: save it there first".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_messages_cannot_leave_their_quotes() {
        let bad = FigureOutcome {
            verdict: RegressionVerdict::Regression,
            message: "a<b & \"c\"\u{1b}[1m\u{ffff}".to_owned(),
            ..not_in_baseline("\"x\"".to_owned())
        };
        insta::assert_snapshot!(junit(&[not_in_baseline("v1".into()), bad], false));
    }
}
