//! A run from start to end, told to the loop line by line.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use crate::profiler::live::meter::EnergyMeter;
use crate::run::{AsyncRun, Line, RunCommand, signal_group};
use crate::tui::message::{Message, RunId};
use crate::tutor::{Ending, Processes};

/// How long a child may take to end after it was asked to: a step on a slow machine, but not a compilation.
pub const GRACE: Duration = Duration::from_millis(1500);
/// The same when the learner asked for it and goes on meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);

pub async fn drive(
    id: RunId,
    command: Result<RunCommand>,
    root: PathBuf,
    processes: Processes,
    sender: mpsc::Sender<Message>,
    stopped: oneshot::Receiver<()>,
) {
    let mut run = None;
    let ending = match go(id, command, root, processes, &sender, stopped, &mut run).await {
        Ok(ending) => ending,
        Err(error) => Ending::not_started(&error),
    };
    // Nobody listens any more when the tutor ends.
    let _ = sender.send(Message::RunEnded { id, run, ending }).await;
}

async fn go(
    id: RunId,
    command: Result<RunCommand>,
    root: PathBuf,
    processes: Processes,
    sender: &mpsc::Sender<Message>,
    mut stopped: oneshot::Receiver<()>,
    run_id: &mut Option<String>,
) -> Result<Ending> {
    let command = command?;
    let mut run = AsyncRun::start(&command, &root)?;
    let mut meter = EnergyMeter::beside(&command);
    let leader = run.leader();
    let registered = leader.map(|leader| processes.add(leader));
    let run_name = run.folder().id();
    let started = Message::RunStarted {
        id,
        run: run_name.clone(),
        command: run.folder().record.command.clone(),
    };
    let _ = sender.send(started).await;
    *run_id = Some(run_name);

    let begin = Instant::now();
    let second = Duration::from_secs(1);
    let mut clock = interval_at(begin + second, second);
    clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut deadline: Option<Instant> = None;
    loop {
        let until_deadline = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            line = run.next_line() => match line? {
                Some(line) => {
                    if let Line::Event(event) = &line {
                        meter.hear(event);
                    }
                    drop(sender.send(Message::RunLine { id, line }).await);
                }
                None => break,
            },
            _ = clock.tick() => {
                let seconds = begin.elapsed().as_secs_f64();
                let _ = sender.send(Message::RunClock { id, seconds }).await;
                let monitor = meter.monitor();
                if let Some((reading, source)) = monitor.latest().zip(monitor.describe()) {
                    let gpus = reading.gpus;
                    let _ = sender.send(Message::RunGpu { id, seconds, gpus, source }).await;
                }
            }
            Ok(()) = &mut stopped, if deadline.is_none() => {
                deadline = Some(Instant::now() + PATIENCE);
                signal(leader, libc::SIGTERM);
            }
            () = until_deadline => {
                signal(leader, libc::SIGKILL);
                deadline = Some(Instant::now() + PATIENCE);
            }
        }
    }
    let mut exited = run.wait().await?;
    drop(registered);
    exited.note_energy(meter.finish())?;
    Ok(Ending::of(&exited, deadline.is_some()))
}

fn signal(leader: Option<u32>, signal: i32) {
    if let Some(leader) = leader {
        signal_group(leader, signal);
    }
}
