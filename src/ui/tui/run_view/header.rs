//! The lines above every section: the target, the device, the progress, and how the run ended.

use ratatui::prelude::{Line, Span, Style};

use super::state::RunState;
use crate::tui::{Theme, bar, both_ends, cut, duration, paragraph, width};
use tinyllama_base::wrap::NO_BREAK;
use tinyllama_base::{Share, whole_percent};
use tinyllama_contract::{FailureCode, PhaseName};
use tinyllama_session::RunExit;
use tinyllama_tutor_core::{RunEnding, say};

/// The device, and the phase with its progress. After the end, the second line says how the run ended.
pub fn lines(state: &RunState, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
    let elapsed = Span::styled(duration(state.clock), theme.muted());
    let left = wide.saturating_sub(u16::try_from(elapsed.width() + 1).unwrap_or(0));
    // Two runs may differ in what stands at its end.
    let place = paragraph(&place(state), left, theme.text());
    let mut place = place.into_iter().map(with_blanks);
    let first = place.next().unwrap_or_default();
    let second = match &state.ended {
        None => progress(state, wide, theme),
        Some(ending) => outcome(state, ending, wide, theme),
    };
    let mut lines = vec![both_ends(first.spans, elapsed, 1, wide, theme)];
    lines.extend(place.chain([second]));
    if let Some(round) = &state.context.round {
        lines.extend(paragraph(&round.text(state.clock), wide, theme.accent()));
    }
    lines
}

/// Replaces [`NO_BREAK`] once the lines are broken.
fn with_blanks(mut line: Line<'static>) -> Line<'static> {
    for span in &mut line.spans {
        span.content = span.content.replace(NO_BREAK, " ").into();
    }
    line
}

/// A text such as `v1 on NVIDIA H200 (cuda, sm_90), bf16`. For a recording, its label comes first.
fn place(state: &RunState) -> String {
    match &state.context.recording {
        Some(recording) => format!("{recording}: {}", made(state)),
        None => made(state),
    }
}

fn made(state: &RunState) -> String {
    let Some(hello) = &state.hello else {
        // A newer version may use a phase that this version does not know. Its steps still count.
        let doing = if state.step.is_some() {
            "running"
        } else {
            "starting"
        };
        return format!("{}: {doing}", state.context.target);
    };
    let backend = match &hello.arch {
        Some(arch) => format!("{},{NO_BREAK}{arch}", hello.backend),
        None => hello.backend.clone(),
    };
    if state.context.recording.is_some() {
        // The recording's label names the device.
        return format!("{} ({backend}),{NO_BREAK}{}", hello.target, hello.dtype);
    }
    format!(
        "{} on {} ({backend}),{NO_BREAK}{}",
        hello.target, hello.device, hello.dtype
    )
}

fn phase_name(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Queue => "waiting",
        PhaseName::Setup => "setting up",
        PhaseName::Compile => "compiling",
        PhaseName::Tune => "tuning",
        PhaseName::WarmUp => "warming up",
        PhaseName::Measure => "measuring",
        PhaseName::Profile => "timing kernels",
    }
}

fn progress(state: &RunState, wide: u16, theme: &Theme) -> Line<'static> {
    if let Some(seconds) = state.silent {
        let text = format!("nothing heard for {}", duration(seconds));
        return Line::styled(text, theme.warning());
    }
    let Some((_, phase)) = &state.phase else {
        return Line::styled("waiting for its first line", theme.muted());
    };
    let name = phase_name(phase.phase);
    let counted = matches!(phase.phase, PhaseName::WarmUp | PhaseName::Measure);
    let steps = state.step.as_ref().filter(|_| counted);
    if let Some((_, step)) = steps.filter(|(_, step)| step.n >= step.of) {
        let text = format!(": all {} steps are made; now the test at the end", step.of);
        let spans = [Span::styled("ending", theme.accent()), Span::raw(text)];
        return Line::from_iter(spans);
    }
    let mut text = match steps {
        Some((_, step)) => format!(" step {} of {}", step.n, step.of),
        None => String::new(),
    };
    if let Some(left) = state.seconds_left().filter(|left| *left >= 0.05) {
        text.push_str(&format!(", about {} left", duration(left)));
    }
    let mut spans = vec![Span::styled(name, theme.accent())];
    match state.progress() {
        Some(share) => {
            let room = usize::from(wide).saturating_sub(width(name) + width(&text) + 10);
            let (full, empty) = bar(share, room.min(30), theme);
            spans.extend([
                Span::raw(" "),
                Span::styled(full, theme.accent()),
                Span::styled(empty, theme.muted()),
                Span::raw(format!(" {}", whole_percent(Share(share)))),
            ]);
            let text = text.trim_start_matches([',', ' ']).to_owned();
            if !text.is_empty() {
                spans.push(Span::raw(format!("  {text}")));
            }
        }
        None => spans.push(Span::raw(format!("{text}: {}", phase.message))),
    }
    Line::from(spans)
}

fn outcome(state: &RunState, ending: &RunEnding, wide: u16, theme: &Theme) -> Line<'static> {
    let (glyph, text, style) = if state.succeeded() {
        let text = match &state.summary {
            Some(summary) => format!(
                "finished: {} measured of {} steps",
                summary.measured_steps, summary.steps
            ),
            None => "finished without a summary".to_owned(),
        };
        (theme.glyphs.check, text, theme.good())
    } else {
        let (text, style) = failed(state, ending, theme);
        (theme.glyphs.cross, text, style)
    };
    let text = cut(&text, usize::from(wide).saturating_sub(2), theme);
    Line::styled(format!("{glyph} {text}"), style)
}

/// One line about how the run ended, if it did not end as planned.
fn failed(state: &RunState, ending: &RunEnding, theme: &Theme) -> (String, Style) {
    let code = state.failure.as_ref().map(|failure| failure.code);
    let is_stopped = ending.stopped || code == Some(FailureCode::Interrupted);
    let is_cut = ending.exit == Some(RunExit::SUCCESS) && !is_stopped;
    let reason = match is_cut {
        true => "ended before its last step".to_owned(),
        false => ending.reason(code),
    };
    let after = match (&ending.exit, &state.step) {
        (None, _) => String::new(),
        (_, Some((_, step))) => format!(" after step {} of {}", step.n, step.of),
        (_, None) => " before its first step".to_owned(),
    };
    let style = match is_stopped || is_cut {
        true => theme.warning(),
        false => theme.bad(),
    };
    (reason + &after, style)
}

/// The problem and its remedy; empty if there was no problem.
pub fn trouble(state: &RunState, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(seconds) = state.silent.filter(|_| state.is_running()) {
        let text = say::silence(seconds, "Stopping the run");
        lines.extend(paragraph(&text, wide, theme.warning()));
    }
    let ending = state.ended.as_ref();
    let lost = |ending: &&RunEnding| matches!(ending.exit, None | Some(RunExit::Lost));
    if let Some(ending) = ending.filter(lost) {
        lines.extend(paragraph(&ending.message, wide, theme.text()));
    }
    let failure = state.failure.as_ref();
    if let Some(failure) = failure {
        lines.extend(paragraph(&failure.message, wide, theme.text()));
    }
    let remedy = failure.map(|failure| &failure.remedy);
    let known = ending.and_then(|ending| ending.remedy.as_ref());
    let known = known.filter(|known| remedy != Some(*known));
    for remedy in remedy
        .into_iter()
        .chain(known)
        .filter(|text| !text.is_empty())
    {
        let text = format!("{} {remedy}", theme.glyphs.arrow);
        lines.extend(paragraph(&text, wide, theme.emphasis()));
    }
    lines
}
