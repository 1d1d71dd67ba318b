//! What each kind of step adds below its text.

use ratatui::text::{Line, Span};

use super::{Document, indented};
use crate::analysis::Unit;
use crate::lesson::quiz::{Answer, Choice, Quiz};
use crate::lesson::{Step, StepKind};
use crate::recording::label;
use crate::session::event::{RunExit, StepRef};
use crate::session::state::StepProgress;
use crate::tui::keys::Action;
use crate::tui::markdown;
use crate::tui::markdown::wrap::{wrap, wrap_plain};
use crate::tui::model::Model;
use crate::tui::model::run::Phase;
use crate::tui::model::step::StepView;
use crate::tutor::say;

pub fn add(model: &Model, document: &mut Document, width: u16) {
    let Some((lesson, step, view)) = model.current() else {
        return;
    };
    let progress = model.progress_of(lesson, step);
    match &step.kind {
        StepKind::Read => {}
        StepKind::Predict { measure } => {
            let words = say::guess(measure, Some(&progress), &*model.measured);
            let text = words.unwrap_or_else(|| {
                "Your guess comes before the measurement: there is no wrong one.".into()
            });
            document.begin_news();
            plain(model, document, &text, width);
        }
        StepKind::Quiz(Quiz::Choices(choices)) => choices_of(model, document, choices, view, width),
        StepKind::Quiz(Quiz::Number(_)) => number(model, document, &progress, width),
        StepKind::Run { target, .. } => run(model, document, step, target, view, width),
        StepKind::Compare { runs, .. } => {
            let names: Vec<String> = runs.iter().map(|run| run.step.clone()).collect();
            plain(
                model,
                document,
                &format!("Side by side: {}.", names.join(", ")),
                width,
            );
        }
        StepKind::Profile { .. } => profile(model, document, view, width),
        StepKind::Kernel { file } => {
            let path = model.workbench.join(file);
            let key = |action: Action| model.keys.shown(action).unwrap_or_default();
            let text = if path.exists() {
                format!("File: {}", path.display())
            } else {
                format!(
                    "The workbench that checks and times a kernel of yours is not part of this version. {} shows this \
                     project's kernels with their source; {} skips the step with a note.",
                    key(Action::Kernels),
                    key(Action::Skip)
                )
            };
            plain(model, document, &text, width);
        }
        StepKind::Reflect => reflection(model, document, &progress, width),
    }
}

fn plain(model: &Model, document: &mut Document, text: &str, width: u16) {
    let lines = wrap_plain(text, usize::from(width), model.theme.text());
    document.lines.extend(lines);
}

fn choices_of(
    model: &Model,
    document: &mut Document,
    choices: &[Choice],
    view: &StepView,
    width: u16,
) {
    let theme = &model.theme;
    for (index, choice) in choices.iter().enumerate() {
        let from = document.lines.len();
        let is_under_cursor = index == view.choice;
        let marked = view
            .marked
            .as_ref()
            .filter(|marked| marked.answer == Answer::Choice(index));
        let (glyph, style) = match marked {
            Some(marked) if marked.correct => (theme.glyphs.check, theme.good()),
            Some(_) => (theme.glyphs.cross, theme.bad()),
            None if is_under_cursor => (theme.glyphs.here, theme.accent()),
            None => (" ", theme.text()),
        };
        let text_style = if is_under_cursor {
            theme.emphasis()
        } else {
            theme.text()
        };
        let room = usize::from(width).saturating_sub(5).max(1);
        let lines = wrap(vec![Span::styled(choice.text.clone(), text_style)], room);
        for (number, mut line) in lines.into_iter().enumerate() {
            let lead = if number == 0 {
                vec![
                    Span::styled(format!("{glyph} "), style),
                    Span::styled(format!("{}. ", index + 1), theme.accent()),
                ]
            } else {
                vec![Span::raw("     ")]
            };
            line.spans.splice(0..0, lead);
            document.lines.push(line);
        }
        if let Some(marked) = marked {
            document.news = Some(from);
            let words = if marked.correct {
                "Right. "
            } else {
                "Not so. "
            };
            indented_by_five(
                document,
                &format!("{words}{}", marked.because.trim()),
                style,
                width,
            );
        }
        if is_under_cursor {
            document.choice = Some((from, document.lines.len()));
        }
    }
}

fn indented_by_five(document: &mut Document, text: &str, style: ratatui::style::Style, width: u16) {
    let room = usize::from(width).saturating_sub(5).max(1);
    for mut line in wrap_plain(text, room, style) {
        line.spans.insert(0, Span::raw("     "));
        document.lines.push(line);
    }
}

fn number(model: &Model, document: &mut Document, progress: &StepProgress, width: u16) {
    let theme = &model.theme;
    let Some(last) = progress.answers.last() else {
        return;
    };
    document.begin_news();
    let (glyph, style, word) = if last.correct {
        (theme.glyphs.check, theme.good(), "right")
    } else {
        (theme.glyphs.cross, theme.bad(), "not so")
    };
    document.lines.push(Line::styled(
        format!("{glyph} Your answer {}: {word}", last.answer),
        style,
    ));
    let because = model
        .step
        .as_ref()
        .and_then(|view| view.marked.as_ref())
        .filter(|marked| marked.correct)
        .map(|marked| marked.because.clone());
    // How one gets there is told to those who got there: for the others it would be the answer.
    if let Some(because) = because {
        document
            .lines
            .extend(markdown::render(&because, width, theme, None));
    }
}

fn run(
    model: &Model,
    document: &mut Document,
    step: &Step,
    target: &str,
    view: &StepView,
    width: u16,
) {
    let theme = &model.theme;
    let flags = model.flags_at(&view.at);
    let shown = shlex::try_join(flags.iter().map(String::as_str)).unwrap_or_default();
    let spans = vec![
        Span::styled("Run: ".to_string(), theme.muted()),
        Span::styled(
            format!("tinyllama-tutor run {target} {shown}"),
            theme.code(),
        ),
    ];
    document.lines.extend(wrap(spans, usize::from(width)));
    let is_changed = view.flags.is_some();
    if let StepKind::Run { editable: true, .. } = step.kind
        && !is_changed
    {
        let key = model.keys.shown(Action::Flags).unwrap_or_default();
        plain(
            model,
            document,
            &format!("Change its flags with {key}."),
            width,
        );
    }
    offer(model, document, view, width);
    if let Some((count, last)) = earlier(model, &view.at) {
        let times = if count == 1 {
            "once".to_string()
        } else {
            format!("{count} times")
        };
        let text = format!("Run {times} before{last}.");
        let lines = wrap_plain(&text, usize::from(width), theme.muted());
        document.lines.extend(lines);
    }
    let Some(run) = model.run_at(&view.at) else {
        return;
    };
    match &run.phase {
        Phase::Queued => plain(model, document, "It waits for the run before it.", width),
        Phase::Running if run.played.is_some() => {
            plain(model, document, "It is playing.", width);
        }
        Phase::Running => plain(model, document, "It is running.", width),
        Phase::Stopping => plain(model, document, "It ends after this step.", width),
        Phase::Over(ending) => {
            document.begin_news();
            let style = if ending.is_success() {
                theme.good()
            } else {
                theme.bad()
            };
            document
                .lines
                .extend(wrap_plain(&ending.words, usize::from(width), style));
            if let Some(remedy) = &ending.remedy {
                plain(model, document, remedy, width);
            }
            if !ending.is_success() && !ending.stderr.is_empty() {
                document
                    .lines
                    .push(Line::styled("Its last lines:", theme.muted()));
                indented(document, &ending.stderr, theme.muted(), width);
            }
        }
    }
}

/// A recording, where there is no GPU to run on.
fn offer(model: &Model, document: &mut Document, view: &StepView, width: u16) {
    if model.may_have_gpu {
        return;
    }
    let Some(recording) = model.recording_at(&view.at) else {
        return;
    };
    let key = model.keys.shown(Action::Play).unwrap_or_default();
    let text = format!(
        "No GPU was found on this machine: the processor would do the work. {key} plays {} {} instead ({}).",
        recording.target,
        recording.config,
        recording.label()
    );
    plain(model, document, &text, width);
}

/// How often a run was finished here, and its median step the last time.
fn earlier(model: &Model, at: &StepRef) -> Option<(usize, String)> {
    let runs = &model.state.step(&at.lesson, &at.step)?.runs;
    let finished: Vec<_> = runs
        .iter()
        .filter_map(|id| model.state.runs.get(id))
        .filter(|run| run.exit == Some(RunExit::Status(0)))
        .collect();
    let last = finished.last()?;
    let mut words = last
        .values
        .get("total_ms")
        .map_or_else(String::new, |value| {
            format!(", last with {} a step", Unit::Milliseconds.show(*value))
        });
    if let Some(origin) = &last.recording {
        words.push_str(&format!(" ({})", label(origin)));
    }
    Some((finished.len(), words))
}

fn profile(model: &Model, document: &mut Document, view: &StepView, width: u16) {
    let theme = &model.theme;
    match &view.profile.prepared {
        None => plain(model, document, "Looking for the profiler…", width),
        Some(Err(problem)) => plain(model, document, problem, width),
        Some(Ok(prepared)) => {
            if let Some(line) = view.profile.line() {
                let command = vec![Span::styled(line.shell(), theme.code())];
                document.lines.extend(wrap(command, usize::from(width)));
                for note in &line.notes {
                    plain(model, document, note, width);
                }
            }
            plain(
                model,
                document,
                &format!("It shows {}.", prepared.shows),
                width,
            );
            if !prepared.is_installed {
                document.blank();
                let text = format!(
                    "{} is not installed here. {} Or run the command above on a machine that has it, copy the folder \
                     here and import it.",
                    prepared.tool.name(),
                    prepared.tool.how_to_install()
                );
                document
                    .lines
                    .extend(wrap_plain(&text, usize::from(width), theme.warning()));
            }
        }
    }
    if view.profile.is_running || !view.profile.log.is_empty() {
        document.begin_news();
        let title = if view.profile.is_running {
            "The profiler is running:"
        } else {
            "Its last lines:"
        };
        document.lines.push(Line::styled(title, theme.emphasis()));
        for line in &view.profile.log {
            indented(document, line, theme.muted(), width);
        }
    }
    for words in &view.profile.ending {
        plain(model, document, words, width);
    }
}

fn reflection(model: &Model, document: &mut Document, progress: &StepProgress, width: u16) {
    let theme = &model.theme;
    match progress.reflection.as_ref().filter(|text| !text.is_empty()) {
        Some(text) => {
            document.begin_news();
            document
                .lines
                .push(Line::styled("You wrote:", theme.emphasis()));
            indented(document, text, theme.text(), width);
        }
        None => plain(model, document, "Nothing written yet.", width),
    }
}
