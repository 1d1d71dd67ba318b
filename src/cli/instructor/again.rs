//! Repeats every learner's best run of the contest under equal conditions.

use anyhow::Result;
use serde_json::json;

use super::Instructor;
use super::args::AgainArgs;
use crate::cli::Exit;
use crate::cli::analysis::{AnalysisRunner, TIMED};
use tinyllama_analysis::{MeasuredRun, RunFailure, RunVariant};
use tinyllama_base::errln;
use tinyllama_base::statistics::median;
use tinyllama_base::untrusted::plain;
use tinyllama_contract::flags::RunSpec;
use tinyllama_lesson::refused_flag;
use tinyllama_runs::Launcher;
use tinyllama_tutor_core::instructor::ladder::{BestRun, ladder};

impl Instructor<'_> {
    pub fn run_again(&mut self, args: &AgainArgs) -> Result<Exit> {
        let rungs = ladder(&mut self.class, &self.course)?;
        let mut runner = AnalysisRunner::open(&args.flags)?;
        runner.runner.launcher =
            Launcher::from_settings(args.flags.launcher.as_deref(), Some(&self.class.folder))?;
        if args.sweep.jobs.is_some() {
            runner.runner.launcher.check_several()?;
            runner.jobs = args.sweep.jobs;
        }
        let mut entrants = Vec::new();
        for rung in &rungs {
            match variant(rung, &args.flags.args) {
                Ok(variant) => entrants.push((rung, variant)),
                Err(why) => {
                    runner.print_line(&plain(&format!("{} is left out: {why}", rung.learner)))
                }
            }
        }
        let (rungs, variants): (Vec<&BestRun>, Vec<RunVariant>) = entrants.into_iter().unzip();
        let mut complete = true;
        let runs = runner.run_rounds_skipping(&variants, args.measure.rounds, |failed| {
            complete = false;
            errln!("{}", plain(&RunFailure::FailedRun(failed).to_string()));
            Ok(())
        })?;
        let rate = |runs: &[MeasuredRun]| {
            let rates = runs.iter().filter_map(|run| run.summary.samples_per_s);
            median(&rates.collect::<Vec<_>>())
        };
        let again = rungs.into_iter().zip(&runs);
        let again = again.filter_map(|(rung, runs)| Some((rung, rate(runs)?)));
        let mut again: Vec<(&BestRun, f64)> = again.collect();
        again.sort_by(|a, b| b.1.total_cmp(&a.1));
        let text = (1..).zip(&again).map(|(place, (rung, rate))| {
            format!(
                "{place:>3}. {:<16} {rate:>9.1} samples/s here, {:>9.1} there  {}\n",
                rung.learner, rung.samples_per_s, rung.flags
            )
        });
        let text: String = text.chain(runner.nodes_note()).collect();
        let row = |(rung, rate): &(&BestRun, f64)| json!({ "learner": rung.learner, "samples_per_s": rate, "rung": rung });
        let rows: Vec<_> = again.iter().map(row).collect();
        let document = json!({ "complete": complete, "again": rows });
        self.print(&document, text.trim_end())?;
        Ok(Exit::from_passed(complete))
    }
}

/// A learner's run with the instructor's flags instead of its own. The records come from the learner, so their flags
/// are checked like those of a course.
fn variant(rung: &BestRun, after: &[String]) -> Result<RunVariant> {
    let flags = shlex::split(&rung.flags).unwrap_or_default();
    if let Some(why) = refused_flag(&flags) {
        anyhow::bail!(why);
    }
    let before = TIMED.map(str::to_owned);
    let spec = RunSpec::parse(&rung.target, &flags)?;
    Ok(RunVariant::new(
        rung.learner.clone(),
        &spec,
        &before,
        after,
    )?)
}
