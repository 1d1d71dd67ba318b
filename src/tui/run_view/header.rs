//! What runs, where, how far it is, and how it ended: the lines above every section.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::context::Ended;
use super::state::RunState;
use crate::train::event::{FailureCode, PhaseName};
use crate::tui::panels::text::{bar, both_ends, cut, duration, paragraph, width};
use crate::tui::theme::Theme;

/// The device, and the phase with its progress; once the run is over, how it ended.
pub fn lines(state: &RunState, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
    let elapsed = Span::styled(duration(state.clock), theme.muted());
    let place = Span::styled(place(state), theme.text());
    let mut lines = vec![both_ends(place, elapsed, wide, theme)];
    lines.push(match state.ended {
        None => progress(state, wide, theme),
        Some(_) => outcome(state, wide, theme),
    });
    lines
}

/// `v1 on NVIDIA H200 (cuda, sm_90), bf16`; what was recorded says so first.
fn place(state: &RunState) -> String {
    match &state.context.recording {
        Some(recording) => format!("{recording}: {}", made(state)),
        None => made(state),
    }
}

fn made(state: &RunState) -> String {
    let Some(hello) = &state.hello else {
        // A newer version may describe itself in words this one does not know; its steps still count.
        let doing = if state.step.is_some() {
            "running"
        } else {
            "starting"
        };
        return format!("{}: {doing}", state.context.target);
    };
    let backend = match &hello.arch {
        Some(arch) => format!("{}, {arch}", hello.backend),
        None => hello.backend.clone(),
    };
    if state.context.recording.is_some() {
        // Its label names the device.
        return format!("{} ({backend}), {}", hello.target, hello.dtype);
    }
    format!(
        "{} on {} ({backend}), {}",
        hello.target, hello.device, hello.dtype
    )
}

pub fn phase_name(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Setup => "setting up",
        PhaseName::Compile => "compiling",
        PhaseName::Tune => "tuning",
        PhaseName::WarmUp => "warming up",
        PhaseName::Measure => "measuring",
        PhaseName::Profile => "timing kernels",
    }
}

fn progress(state: &RunState, wide: u16, theme: &Theme) -> Line<'static> {
    let Some((_, phase)) = &state.phase else {
        return Line::styled("waiting for its first word", theme.muted());
    };
    let name = phase_name(phase.phase);
    let counted = matches!(phase.phase, PhaseName::WarmUp | PhaseName::Measure);
    let steps = state.step.as_ref().filter(|_| counted);
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
                Span::raw(format!(" {:.0} %", 100.0 * share)),
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

fn outcome(state: &RunState, wide: u16, theme: &Theme) -> Line<'static> {
    let wide = usize::from(wide).saturating_sub(2);
    if state.succeeded() {
        let text = match &state.summary {
            Some(summary) => format!(
                "finished: {} measured of {} steps",
                summary.measured_steps, summary.steps
            ),
            None => "finished without a summary".to_owned(),
        };
        return Line::from(vec![
            Span::styled(format!("{} ", theme.glyphs.check), theme.good()),
            Span::styled(cut(&text, wide, theme), theme.good()),
        ]);
    }
    let (text, style) = ending(state, theme);
    Line::from(vec![
        Span::styled(format!("{} ", theme.glyphs.cross), style),
        Span::styled(cut(&text, wide, theme), style),
    ])
}

/// How it ended when not as planned, in one line.
fn ending(state: &RunState, theme: &Theme) -> (String, Style) {
    let interrupted = state
        .failure
        .as_ref()
        .is_some_and(|failure| failure.code == FailureCode::Interrupted);
    match &state.ended {
        Some(Ended::NotStarted { .. }) => ("did not start".to_owned(), theme.bad()),
        Some(Ended::Signal { signal, name }) => (
            format!("ended by signal {signal} ({name}){}", after(state)),
            theme.bad(),
        ),
        Some(Ended::Exit { .. }) if interrupted => {
            (format!("stopped{}", after(state)), theme.warning())
        }
        Some(Ended::Exit { code: 0 }) => (
            format!("ended before its last step{}", after(state)),
            theme.warning(),
        ),
        Some(Ended::Exit { code }) => (
            match &state.failure {
                Some(failure) => format!("{}{}", failure_name(failure.code), after(state)),
                None => format!("ended with status {code}{}", after(state)),
            },
            theme.bad(),
        ),
        None => (String::new(), theme.text()),
    }
}

fn after(state: &RunState) -> String {
    match &state.step {
        Some((_, step)) => format!(" after step {} of {}", step.n, step.of),
        None => " before its first step".to_owned(),
    }
}

fn failure_name(code: FailureCode) -> &'static str {
    match code {
        FailureCode::Usage => "the command line was refused",
        FailureCode::Environment => "no usable device",
        FailureCode::OutOfMemory => "out of memory",
        FailureCode::Device => "the device refused or lost work",
        FailureCode::NotFinite => "the loss is no longer finite",
        FailureCode::Interrupted => "stopped",
        FailureCode::Internal => "a bug of this program",
    }
}

/// What went wrong and what to do about it; empty when nothing did.
pub fn trouble(state: &RunState, wide: u16, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(Ended::NotStarted { message }) = &state.ended {
        lines.extend(paragraph(message, wide, theme.text()));
    }
    if let Some(failure) = &state.failure {
        lines.extend(paragraph(&failure.message, wide, theme.text()));
    }
    let remedies = [
        state.failure.as_ref().map(|failure| &failure.remedy),
        state.remedy.as_ref(),
    ];
    let mut told: Option<&String> = None;
    for remedy in remedies.into_iter().flatten() {
        if told == Some(remedy) || remedy.is_empty() {
            continue;
        }
        told = Some(remedy);
        let text = format!("{} {remedy}", theme.glyphs.arrow);
        lines.extend(paragraph(&text, wide, theme.emphasis()));
    }
    lines
}
