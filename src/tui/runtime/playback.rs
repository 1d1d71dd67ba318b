//! A recording, told to the loop line by line as a run is, and kept in a folder of its own like one.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use crate::recording::Recording;
use crate::recording::play::{Playhead, Speed};
use crate::run::Line;
use crate::run::folder::RunFolder;
use crate::session::event::RunExit;
use crate::train::event::Body;
use crate::tui::message::{Message, RunId};
use crate::tutor::Ending;

/// What a shell reports of a program that was asked to end.
const STOPPED: i32 = 128 + libc::SIGTERM;

/// A recording with its stream.
pub struct Tape {
    pub recording: Recording,
    pub lines: Vec<(f64, String)>,
}

pub async fn drive(
    id: RunId,
    tape: Result<Tape>,
    root: PathBuf,
    sender: mpsc::Sender<Message>,
    speed: watch::Receiver<Speed>,
    stopped: oneshot::Receiver<()>,
) {
    let mut run = None;
    let ending = match play(id, tape, root, &sender, speed, stopped, &mut run).await {
        Ok(ending) => ending,
        Err(error) => Ending::not_played(&error),
    };
    // Nobody listens any more when the tutor ends.
    let _ = sender.send(Message::RunEnded { id, run, ending }).await;
}

async fn play(
    id: RunId,
    tape: Result<Tape>,
    root: PathBuf,
    sender: &mpsc::Sender<Message>,
    mut speed: watch::Receiver<Speed>,
    mut stopped: oneshot::Receiver<()>,
    run: &mut Option<String>,
) -> Result<Ending> {
    let tape = tape?;
    let mut folder = RunFolder::create(&root, tape.recording.words())?;
    let name = folder.id();
    let command = folder.record.command.clone();
    let started = Message::RunStarted {
        id,
        run: name.clone(),
        command,
    };
    let _ = sender.send(started).await;
    *run = Some(name);

    let begin = Instant::now();
    let mut head = Playhead::new(*speed.borrow_and_update(), Duration::ZERO);
    let second = Duration::from_secs(1);
    let mut clock = interval_at(begin + second, second);
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut code = 0;
    for (t, text) in &tape.lines {
        loop {
            let wait = head.wait(*t, begin.elapsed());
            if wait.is_zero() {
                break;
            }
            tokio::select! {
                () = sleep(wait) => {}
                // The sender lives as long as the tutor.
                Ok(()) = speed.changed() => {
                    head.turn_to(*speed.borrow_and_update(), begin.elapsed());
                }
                _ = clock.tick() => {
                    let seconds = head.position(begin.elapsed());
                    let _ = sender.send(Message::RunClock { id, seconds }).await;
                }
                _ = &mut stopped => return end(folder, STOPPED),
            }
        }
        if stopped.try_recv().is_ok() {
            return end(folder, STOPPED);
        }
        head.reached(*t, begin.elapsed());
        let line = folder.keep(text.as_bytes())?;
        if matches!(&line, Line::Event(event) if matches!(event.body, Body::Error(_))) {
            code = 1;
        }
        let _ = sender.send(Message::RunLine { id, line }).await;
    }
    end(folder, code)
}

/// Completes the run's record.
fn end(mut folder: RunFolder, code: i32) -> Result<Ending> {
    folder.record.exit = Some(format!("exit status: {code}"));
    folder.save()?;
    Ok(Ending {
        exit: Some(RunExit::Status(code)),
        words: match code {
            0 => "The recording was played to its end.",
            STOPPED => "The recording was stopped.",
            _ => "The recorded run did not end as planned.",
        }
        .into(),
        remedy: None,
        stderr: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{Library, Source};

    const INDEX: &str = "- { id: a, target: v1, config: tiny, machine: NVIDIA H200, date: 2026-11-21, version: 0.1.0, command: run v1 }";

    fn tape(lines: &[(f64, &str)]) -> Tape {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("INDEX.yaml"), INDEX).unwrap();
        let library = Library::load(Source::Folder(folder.path().into())).unwrap();
        let lines = lines.iter().map(|(t, text)| (*t, (*text).to_string()));
        Tape {
            recording: library.find("a").unwrap().clone(),
            lines: lines.collect(),
        }
    }

    fn note(t: f64) -> String {
        format!(r#"{{"t":{t},"event":"note","message":"at {t}"}}"#)
    }

    /// An hour of recorded time passes at once when asked to, and a stop leaves what was played.
    #[tokio::test]
    async fn a_change_of_speed_takes_effect_in_mid_wait_and_a_stop_ends_it() {
        let root = tempfile::tempdir().unwrap();
        let (sender, mut received) = mpsc::channel(64);
        let (faster, speed) = watch::channel(Speed::Real);
        let (stop, stopped) = oneshot::channel();
        let lines = [(0.0, note(0.0)), (3600.0, note(3600.0))];
        let lines: Vec<(f64, &str)> = lines.iter().map(|(t, text)| (*t, text.as_str())).collect();
        let task = tokio::spawn(drive(
            RunId(1),
            Ok(tape(&lines)),
            root.path().to_path_buf(),
            sender,
            speed,
            stopped,
        ));
        let Some(Message::RunStarted { run, command, .. }) = received.recv().await else {
            panic!("it is not started");
        };
        assert_eq!(command.last().map(String::as_str), Some("a"));
        assert!(matches!(
            received.recv().await,
            Some(Message::RunLine { .. })
        ));
        faster.send(Speed::End).unwrap();
        let ending = loop {
            match received.recv().await {
                Some(Message::RunEnded { ending, .. }) => break ending,
                Some(_) => {}
                None => panic!("no end"),
            }
        };
        assert!(ending.is_success(), "{ending:?}");
        let kept = root.path().join("runs").join(&run).join("events.jsonl");
        assert_eq!(std::fs::read_to_string(kept).unwrap().lines().count(), 2);
        task.await.unwrap();
        drop(stop);

        let (sender, mut received) = mpsc::channel(64);
        let (_kept, speed) = watch::channel(Speed::Real);
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(drive(
            RunId(2),
            Ok(tape(&lines)),
            root.path().to_path_buf(),
            sender,
            speed,
            stopped,
        ));
        received.recv().await.unwrap();
        stop.send(()).unwrap();
        let ending = loop {
            match received.recv().await {
                Some(Message::RunEnded { ending, .. }) => break ending,
                Some(_) => {}
                None => panic!("no end"),
            }
        };
        assert_eq!(ending.exit, Some(RunExit::Status(STOPPED)));
        task.await.unwrap();
    }
}
