//! Formats a check as lines of text, equal for the command line, the plain course and the screen.

use tinyllama_base::count;
use tinyllama_base::units::{Share, percent};
use tinyllama_base::untrusted::plain;
use tinyllama_base::{push_wrapped, shortened, wrapped};

use super::amd::{COUNTED, Compiled};
use super::check::ExerciseCheck;
use super::costs::KernelCosts;
use super::exercise::{Exercise, next};
use super::file::KernelFile;
use super::finding::KernelFinding;
use super::picture::{ASCII, DrawingGlyphs, UNICODE};

/// Columns of a line.
const WIDTH: usize = 80;

/// Formats a check: the verdict, and every finding with the kernel's lines that it names.
pub fn lines(checked: &ExerciseCheck, file: &KernelFile) -> Vec<String> {
    let mut lines = vec![verdict(checked)];
    for finding in &checked.findings {
        lines.push(String::new());
        lines.extend(finding_lines(finding, file));
    }
    for warning in &checked.warnings {
        lines.push(String::new());
        let at = warning
            .line
            .map_or(String::new(), |line| format!(", line {line}"));
        lines.push(format!("the compiler warns{at}: {}", warning.message));
        lines.extend(warning.line.and_then(|line| quoted(file, line)));
    }
    lines.extend(cost_lines(checked.costs.as_ref(), &checked.compiled, file));
    if !checked.compiled.kernels.is_empty() {
        let text = format!(
            "`workbench occupancy {}` asks for another `--block`, `--launch-bounds` or `--unroll`.",
            checked.exercise
        );
        lines.extend(wrapped(&text, WIDTH));
    }
    if let Some(seed) = checked.seed {
        lines.push(String::new());
        let drawn = checked.drawn.join("; ");
        let text = format!("Drawn for this check: {drawn} (`--seed {seed}` draws them again).");
        lines.extend(wrapped(&text, WIDTH));
    }
    lines
}

/// Formats what the machine knows of a checked kernel: costs, and the waves that fit on each architecture.
fn cost_lines(costs: Option<&KernelCosts>, compiled: &Compiled, file: &KernelFile) -> Vec<String> {
    let mut lines = costs.map_or(vec![], |costs| spent_lines(costs, file));
    let kernels = compiled.kernels.iter();
    let several = kernels
        .clone()
        .any(|one| one.kernel != compiled.kernels[0].kernel);
    for kernel in kernels {
        let name = if several {
            format!(" {}", kernel.kernel)
        } else {
            String::new()
        };
        let text = format!("{}{name}: {}", kernel.architecture, kernel.describe());
        lines.extend(wrapped(&text, WIDTH));
    }
    for (architecture, why) in &compiled.missing {
        lines.extend(wrapped(
            &format!("{architecture}: registers are not reported, because {why}"),
            WIDTH,
        ));
    }
    if !lines.is_empty() {
        lines.insert(0, String::new());
        lines.insert(
            1,
            "Counted by the compiler and the emulator, not on a GPU:".into(),
        );
    }
    lines
}

/// Formats one line each, with the source line that costs most.
fn spent_lines(costs: &KernelCosts, file: &KernelFile) -> Vec<String> {
    let mut lines = vec![];
    let mut add = |text: String, line: Option<u32>| {
        lines.extend(wrapped(&text, WIDTH));
        lines.extend(line.and_then(|line| quoted(file, line)));
    };
    if let Some(spent) = &costs.instructions {
        let each = spent.all as f64 / spent.needed.max(1) as f64;
        let share = percent(Share(spent.of_line as f64 / spent.all.max(1) as f64));
        let most = spent
            .line
            .map(|line| format!("; {share} of them in line {line}"));
        let (each, array, most) = (count(each), &costs.array, most.unwrap_or_default());
        let text = format!("instructions: {each} for each element of {array} on {COUNTED}{most}");
        add(text, spent.line);
    }
    let all = [
        ("memory", "cache lines touched", &costs.memory),
        ("local memory", "passes through the banks", &costs.local),
    ];
    for (what, unit, spent) in all {
        let Some(spent) = spent else { continue };
        if spent.of_line == 0 {
            add(
                format!("{what}: {} {unit}, as few as possible", spent.all),
                None,
            );
        } else {
            let (all, needed) = (spent.all, spent.needed);
            let line = spent
                .line
                .map_or(String::new(), |line| format!("; most in line {line}"));
            add(
                format!("{what}: {all} {unit} where {needed} would do{line}"),
                spent.line,
            );
        }
    }
    lines
}

/// Formats `rmsnorm: passed` in one line.
pub fn verdict(checked: &ExerciseCheck) -> String {
    let (name, cases) = (&checked.exercise, checked.cases);
    match checked.findings.len() {
        0 => format!("{name}: passed, {cases} cases"),
        1 => format!("{name}: not yet, 1 finding"),
        count => format!("{name}: not yet, {count} findings"),
    }
}

/// Formats the text that a learner reads after the check has passed, in lines of `width` columns. It explains the
/// solution, names the place in the model that does the same, asks the question to measure, and lists what comes next.
pub fn after_pass(exercise: &Exercise, width: usize) -> Vec<String> {
    let name = &exercise.name;
    let question = itertools::join(exercise.question.split_whitespace(), " ");
    let next = next(exercise).unwrap_or_default();
    let mut parts = vec![
        format!(
            "The solution (`workbench solution {name}`): {}",
            exercise.reason
        ),
        format!("In the model: {}", exercise.model),
        format!(
            "Answer by measuring (`workbench bench {name}`; without a GPU it gives the answer): {question}"
        ),
    ];
    if !next.is_empty() {
        let names = itertools::join(next.iter().map(|one| &one.name), ", ");
        parts.push(format!("Next: {names}"));
    }
    parts.iter().flat_map(|part| wrapped(part, width)).collect()
}

/// Formats one finding: its kind and place, the lines that it names, the message, and the wave sizes and cases that showed
/// it.
pub fn finding_lines(finding: &KernelFinding, file: &KernelFile) -> Vec<String> {
    let mut lines = vec![match finding.line {
        Some(line) => format!("{}, line {line}", finding.kind.name()),
        None => finding.kind.name().to_owned(),
    }];
    let mut named: Vec<u32> = finding.line.into_iter().chain(finding.other_line).collect();
    named.sort_unstable();
    named.dedup();
    lines.extend(named.into_iter().filter_map(|line| quoted(file, line)));
    lines.extend(finding.message.lines().flat_map(indented));
    if let Some(case) = &finding.case {
        let waves = itertools::join(&finding.waves, " and ");
        lines.push(format!("  seen at waves of {waves}, first with {case}"));
    }
    lines
}

/// Wraps a text into lines that are indented by two.
pub(super) fn indented(text: &str) -> Vec<String> {
    let mut wrapped = String::new();
    push_wrapped(&mut wrapped, text, WIDTH);
    wrapped.lines().map(str::to_owned).collect()
}

/// Quotes a line of the kernel: `  12 | part[threadIdx.x] = v;`
fn quoted(file: &KernelFile, line: u32) -> Option<String> {
    let text = plain(&file.line(line)?.replace('\t', "    "));
    Some(format!(
        "  {line:>4} | {}",
        shortened(text.trim_end(), WIDTH - 10)
    ))
}

/// Formats the access pictures of every wave size.
pub fn pictures(checked: &ExerciseCheck, file: &KernelFile, unicode: bool) -> Vec<String> {
    let mut lines = vec![];
    for wave in &checked.pictures {
        if wave.pictures.is_empty() {
            continue;
        }
        lines.push(format!(
            "How a wavefront of {} lanes meets memory",
            wave.wave
        ));
        for picture in &wave.pictures {
            lines.push(String::new());
            lines.extend(picture.draw(Some(file), unicode));
        }
        lines.push(String::new());
    }
    if !lines.is_empty() {
        let DrawingGlyphs { free, once, often } = if unicode { UNICODE } else { ASCII };
        lines.push(format!(
            "{once} 4 bytes of one lane, {often} of several lanes, {free} of no lane. Global memory: a row"
        ));
        lines.push(
            "is a cache line of 128 bytes. Local memory: a column is a bank, a row a pass.".into(),
        );
    }
    lines
}
