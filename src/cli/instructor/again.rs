//! Repeats every learner's best run of the contest under equal conditions.

use anyhow::Result;
use serde_json::json;

use super::Instructor;
use super::args::AgainArgs;
use crate::cli::Exit;
use crate::cli::analysis::{Lab, TIMED};
use tinyllama_base::foreign::plain;
use tinyllama_base::statistics::median;
use tinyllama_course::analysis::{MeasuredRun, RunFailure, Variant};
use tinyllama_course::instructor::ladder::{Rung, ladder};
use tinyllama_course::lesson::refused_flag;
use tinyllama_course::run::{Launcher, RunSpec};

impl Instructor<'_> {
    pub fn run_again(&mut self, args: &AgainArgs) -> Result<Exit> {
        let rungs = ladder(&mut self.class, &self.course)?;
        let mut lab = Lab::open(&args.flags)?;
        lab.runner.launcher =
            Launcher::choose(args.flags.launcher.as_deref(), Some(&self.class.folder))?;
        if args.sweep.jobs.is_some() {
            lab.runner.launcher.check_several()?;
            lab.jobs = args.sweep.jobs;
        }
        let mut entrants = Vec::new();
        for rung in &rungs {
            match variant(rung, &args.flags.words) {
                Ok(variant) => entrants.push((rung, variant)),
                Err(why) => lab.say(&plain(&format!("{} is left out: {why}", rung.learner))),
            }
        }
        let (rungs, variants): (Vec<&Rung>, Vec<Variant>) = entrants.into_iter().unzip();
        let mut complete = true;
        let runs = lab.take_turns_without(&variants, args.measure.rounds, |failed| {
            complete = false;
            eprintln!("{}", plain(&RunFailure::Failed(failed).to_string()));
            Ok(())
        })?;
        let rate = |runs: &[MeasuredRun]| {
            let rates = runs.iter().filter_map(|run| run.summary.samples_per_s);
            median(&rates.collect::<Vec<_>>())
        };
        let again = rungs.into_iter().zip(&runs);
        let again = again.filter_map(|(rung, runs)| Some((rung, rate(runs)?)));
        let mut again: Vec<(&Rung, f64)> = again.collect();
        again.sort_by(|a, b| b.1.total_cmp(&a.1));
        let text = (1..).zip(&again).map(|(place, (rung, rate))| {
            format!(
                "{place:>3}. {:<16} {rate:>9.1} samples/s here, {:>9.1} there  {}\n",
                rung.learner, rung.samples_per_s, rung.flags
            )
        });
        let text: String = text.chain(lab.places()).collect();
        let row = |(rung, rate): &(&Rung, f64)| json!({ "learner": rung.learner, "samples_per_s": rate, "rung": rung });
        let rows: Vec<_> = again.iter().map(row).collect();
        let document = json!({ "complete": complete, "again": rows });
        self.print(&document, text.trim_end())?;
        Ok(Exit::of(complete))
    }
}

/// A learner's run with the instructor's flags instead of its own. The records come from the learner, so their flags
/// are checked like those of a course.
fn variant(rung: &Rung, after: &[String]) -> Result<Variant> {
    let flags = shlex::split(&rung.flags).unwrap_or_default();
    if let Some(why) = refused_flag(&flags) {
        anyhow::bail!(why);
    }
    let before = TIMED.map(str::to_owned);
    let spec = RunSpec::parse(&rung.target, &flags)?;
    Ok(Variant::new(rung.learner.clone(), &spec, &before, after)?)
}
