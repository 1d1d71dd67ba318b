//! The summary at the end of a run.

use tinyllama_base::units::{
    Share, human_bytes, milliseconds, number_or_not, or_not_reported, percent,
};
use tinyllama_contract::event::{RankCheck, Repeatability, Spread, Summary};

pub(super) fn summary_text(summary: &Summary) -> String {
    let spread = |spread: Option<Spread>| {
        or_not_reported(spread.map(|s| {
            format!(
                "mean {:.2}  median {:.2}  p10 {:.2}  p90 {:.2} ms",
                s.mean, s.median, s.p10, s.p90
            )
        }))
    };
    let launches = number_or_not(summary.launches_per_step, 0);
    let losses = [summary.first_loss, summary.final_loss].map(|loss| number_or_not(loss, 4));
    let with_gradient = number_or_not(summary.parameters_with_gradient.map(|n| n as f64), 0);
    let with_gradient = format!("{with_gradient} of {} tensors", summary.parameter_tensors);
    let first_step = summary.first_step_ms;
    let first_step = first_step.map(|ms| format!("{}, compiling included", milliseconds(ms)));
    let steps = format!("{} counted of {}", summary.measured_steps, summary.steps);
    let rows = [
        ("steps", steps),
        ("samples", summary.samples.to_string()),
        ("samples/s", number_or_not(summary.samples_per_s, 1)),
        ("tokens/s", number_or_not(summary.tokens_per_s, 0)),
        ("step", spread(summary.total_ms)),
        ("forward", spread(summary.forward_ms)),
        ("backward", spread(summary.backward_ms)),
        ("optimizer", spread(summary.optimizer_ms)),
        ("first step", or_not_reported(first_step)),
        (
            "launches/step",
            match summary.captured_per_step.filter(|captured| *captured > 0.0) {
                Some(captured) => format!(
                    "{launches} by the host, {captured:.0} kernels in the graph they replay"
                ),
                None => launches,
            },
        ),
        ("most memory", most_memory(summary)),
        ("loss", losses.join(" to ")),
        ("with a gradient", with_gradient),
    ];
    let title = match summary.complete {
        true => "\nSummary",
        false => "\nSummary of the steps before the run ended",
    };
    let row = |(name, value): (&str, String)| format!("  {name:<18} {value}");
    let mut lines = vec![title.to_string()];
    lines.extend(rows.map(row));
    let phases = [
        ("step", summary.total_ms),
        ("forward", summary.forward_ms),
        ("backward", summary.backward_ms),
        ("optimizer", summary.optimizer_ms),
    ];
    lines.extend(
        phases
            .iter()
            .filter_map(|(name, spread)| mixed_text(name, (*spread)?)),
    );
    if !summary.synchronized {
        lines.push(unsynchronised_text(summary));
    }
    let repeatability = summary.repeatability.as_ref().map(repeatability_text);
    lines.extend(repeatability.map(|found| row(("repeatability", found))));
    if summary.waited_ms.is_some() || summary.rank_check.is_some() {
        lines.push(row(("waited for sums", spread(summary.waited_ms))));
    }
    let sums = summary.rank_check.as_ref().map(rank_check_text);
    lines.extend(sums.map(|found| row(("summed gradients", found))));
    lines.join("\n")
}

fn repeatability_text(repeat: &Repeatability) -> String {
    let differ = format!(
        "differ by up to {:.1e} in the loss and {:.1e} in a gradient",
        repeat.loss_difference, repeat.gradient_difference
    );
    let found = match repeat.identical {
        true => "agree in every bit",
        false => &differ,
    };
    format!("{} repeats of a step {found}", repeat.repeats)
}

fn rank_check_text(check: &RankCheck) -> String {
    let verdict = match check.passed {
        true => "are one GPU's",
        false => "DIFFER FROM ONE GPU'S",
    };
    let worst = check.worst_parameter.as_deref().unwrap_or("none");
    format!(
        "{verdict}: {:.1e} apart at most ({worst}), {:.0e} allowed",
        check.gradient_difference, check.tolerance
    )
}

/// A remark about a phase that is fast in some steps and slow in others.
fn mixed_text(name: &str, spread: Spread) -> Option<String> {
    let Spread {
        mean, median, p90, ..
    } = spread;
    spread.is_mixed().then(|| {
        format!(
            "  {name}: half of the steps took at most {median:.2} ms, a tenth {p90:.2} or more, in the mean {mean:.2}:\n  \
             fast and slow steps are mixed, and no single figure stands for them"
        )
    })
}

/// Explains which figures are missing because the clock did not wait for the device.
fn unsynchronised_text(summary: &Summary) -> String {
    let median = |spread: Option<Spread>| spread.map(|spread| spread.median);
    let (forward, backward) = (summary.forward_ms, summary.backward_ms);
    let phases = [forward, backward, summary.optimizer_ms].map(median);
    let parts: Option<f64> = phases.into_iter().sum();
    match (parts, median(summary.total_ms)) {
        (Some(parts), Some(total)) if parts < 0.9 * total => format!(
            "  the parts add up to {parts:.2} of {total:.2} ms: {:.2} ms ({}) of the step are in none of them,\n  \
             because their clock did not wait for the device",
            total - parts,
            percent(Share(1.0 - parts / total))
        ),
        _ => "  times come from the host's clock, which did not wait for the device: they are not the device's times"
            .into(),
    }
}

fn most_memory(summary: &Summary) -> String {
    match (summary.peak_bytes_in_use, summary.peak_bytes_reserved) {
        (Some(in_use), Some(reserved)) => {
            let [in_use, reserved] = [in_use, reserved].map(human_bytes);
            format!("{in_use} in use between phases, {reserved} taken from the device")
        }
        (Some(in_use), None) => format!("{} in use", human_bytes(in_use)),
        _ => {
            let most = summary.process_peak_bytes.map(human_bytes);
            or_not_reported(most.map(|most| format!("{most} at most in the whole process")))
        }
    }
}
