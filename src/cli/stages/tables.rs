//! The scenario's tables.

use std::io::{self, Write};
use std::path::Path;

use crate::analysis::MeasuredRun;
use crate::analysis::comparison::Comparison;
use crate::analysis::relative::{RelativeTime, factor};
use crate::analysis::stages::{EffectId, Findings, Shows, StageRow, WORKSHOP_NOTES};
use crate::base::table::{Align, TextTable, push_wrapped};
use crate::base::units::{bytes_or_not, number_or_not};
use crate::cli::analysis::{print_table, width};

/// Kernels shown of each stage.
const KERNELS: usize = 5;

pub fn print(
    out: &mut impl Write,
    comparison: &Comparison,
    rows: &[StageRow],
    findings: &Findings,
    failed: &[(String, String)],
) -> io::Result<()> {
    writeln!(
        out,
        "{} ({}), {} round{}",
        findings.device,
        findings.backend,
        findings.rounds,
        if findings.rounds == 1 { "" } else { "s" }
    )?;
    print_table(out, &measured(rows, comparison.confidence))?;
    print_table(out, &workshop(rows))?;
    effects(out, findings)?;
    for (target, why) in failed {
        writeln!(out, "{target} did not run: {why}")?;
    }
    for warning in &comparison.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    Ok(())
}

fn measured(rows: &[StageRow], confidence: f64) -> TextTable {
    let mut table = TextTable::new(
        "Measured here",
        &[
            ("", Align::Left),
            ("loss", Align::Right),
            ("samples/s", Align::Right),
            ("step ms", Align::Right),
            ("forward", Align::Right),
            ("memory", Align::Right),
            ("gradients", Align::Right),
            ("over the one before", Align::Right),
            ("over v1", Align::Right),
        ],
    );
    for stage in rows {
        let row = &stage.row;
        table.rows.push(vec![
            row.name.clone(),
            format!(
                "{} to {}",
                number_or_not(row.first_loss, 2),
                number_or_not(row.final_loss, 2)
            ),
            number_or_not(row.samples_per_s, 1),
            number_or_not(row.step_ms, 3),
            number_or_not(row.phases.forward_ms, 3),
            bytes_or_not(row.peak_bytes_reserved.or(row.peak_bytes_in_use)),
            row.parameters_with_gradient
                .map_or("not reported".into(), |with| {
                    format!("{with} of {}", row.parameter_tensors)
                }),
            speedup(stage.relative_to_before.as_ref()),
            speedup(row.relative_time.as_ref()),
        ]);
    }
    table.notes.push(format!(
        "times in ms; how many times faster, with {:.0} % intervals; stages 1 to 3 read their parts without waiting for the device",
        100.0 * confidence
    ));
    table
}

fn speedup(time: Option<&RelativeTime>) -> String {
    time.map_or("-".into(), RelativeTime::speedup_text)
}

fn workshop(rows: &[StageRow]) -> TextTable {
    let mut table = TextTable::new(
        "The workshop's figures beside them",
        &[
            ("", Align::Left),
            ("loss: workshop", Align::Right),
            ("here", Align::Right),
            ("samples/s: workshop", Align::Right),
            ("here", Align::Right),
            ("over v1: workshop", Align::Right),
            ("here", Align::Right),
            ("what is wrong", Align::Left),
        ],
    );
    let or_dash = |text: &str| {
        if text.is_empty() {
            "-".to_string()
        } else {
            text.to_string()
        }
    };
    for stage in rows {
        let row = &stage.row;
        table.rows.push(vec![
            row.name.clone(),
            or_dash(stage.workshop.loss),
            number_or_not(row.first_loss, 1),
            or_dash(stage.workshop.samples_per_s),
            number_or_not(row.samples_per_s, 1),
            or_dash(stage.workshop.to_v1),
            row.relative_time
                .as_ref()
                .map_or("1x".into(), |time| format!("{}x", factor(1.0 / time.ratio))),
            stage.issue.into(),
        ]);
    }
    table.notes = WORKSHOP_NOTES.map(String::from).to_vec();
    table
}

fn effects(out: &mut impl Write, findings: &Findings) -> io::Result<()> {
    let mut text = String::from("\nDoes it show on this device?\n");
    for effect in &findings.effects {
        let name = match effect.id {
            EffectId::BrokenLoss => "broken loss",
            EffectId::StridedKeyValue => "strided keys and values",
            EffectId::MissingTime => "missing time",
            EffectId::NaiveSwiglu => "naive SwiGLU",
            EffectId::HybridWins => "hybrid beats the baseline",
            EffectId::FastWithoutGradients => "fast without gradients",
            EffectId::NoGradients => "no gradients",
        };
        let shows = match effect.shows {
            Shows::Yes => "yes",
            Shows::No => "no",
            Shows::Unclear => "unclear",
            Shows::NotMeasured => "not measured",
        };
        push_wrapped(
            &mut text,
            &format!("{name}: {shows}; {}", effect.text),
            width(),
        );
    }
    out.write_all(text.as_bytes())
}

/// The longest kernels of each stage's last run, where the backend reports kernels.
pub fn kernels(out: &mut impl Write, runs: &[(String, Vec<MeasuredRun>)]) -> io::Result<()> {
    let timed: Vec<_> = runs
        .iter()
        .filter_map(|(target, runs)| Some((target, runs.last()?.kernels.as_ref()?)))
        .collect();
    if timed.is_empty() {
        return writeln!(out, "\nThis backend times no kernels.");
    }
    for (target, kernels) in timed {
        let mut table = TextTable::new(
            format!("Longest kernels of {target}, a step"),
            &[
                ("kernel", Align::Left),
                ("part", Align::Left),
                ("launches", Align::Right),
                ("ms", Align::Right),
            ],
        );
        table.rows = kernels
            .kernels
            .iter()
            .take(KERNELS)
            .map(|kernel| {
                vec![
                    kernel.name.clone(),
                    kernel.part.clone(),
                    format!("{:.1}", kernel.launches_per_step),
                    number_or_not(kernel.device_ms_per_step, 3),
                ]
            })
            .collect();
        print_table(out, &table)?;
    }
    Ok(())
}

pub fn where_kept(out: &mut impl Write, folder: &Path, kept: &Path) -> io::Result<()> {
    writeln!(
        out,
        "\nLogs and events are in {}; what shows on this device is kept in {}.",
        folder.display(),
        kept.display()
    )
}
