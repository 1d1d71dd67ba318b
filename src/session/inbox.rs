//! Delivers orders as files in a session's `inbox`. Each is written as a whole and taken once.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use uzers::get_effective_uid;

pub use super::location::new_name;
use super::log::replace;
use super::order::{FORMAT, MOST_BYTES};
use super::runs::events_file;
use crate::{
    InstructorOrder, OrderAction, OutsideChange, Session, SessionError, SessionEvent,
    SessionLocation, SolvedRun, check_name, class_file, order_copy, store,
};
use tinyllama_base::safe_path::{SafeFolder, folder_of};
use tinyllama_base::{create_private, if_there, safe_path, untrusted};

/// Puts an order into the inbox of a session. The learner's tutor takes it within two seconds, or when it next opens.
/// Returns the order's name.
pub fn send(location: &SessionLocation, order: &InstructorOrder) -> Result<String, SessionError> {
    let path = location.inbox();
    let io = |action| SessionError::io(action, &path);
    let session = store::session_id(location)?;
    if location.is_own() {
        location.create_inbox()?;
    }
    let order = InstructorOrder {
        session,
        ..order.clone()
    };
    let name = new_name();
    let text = serde_json::to_vec(&order).map_err(|error| io("writing")(error.into()))?;
    if !location.is_own() {
        let class = folder_of(&location.folder);
        order_copy::keep(class, &name, &order).map_err(SessionError::io("writing in", class))?;
    }
    let inbox = open(location).map_err(io("opening"))?;
    let file = format!("{name}.json");
    // The learner has to read another user's file. The folder's rights keep all others out.
    let written = inbox.replace(OsStr::new(&file), &text, 0o644);
    written.map_err(io("writing in"))?;
    Ok(name)
}

/// Opens the inbox, which lies in the session's folder itself.
fn open(location: &SessionLocation) -> io::Result<SafeFolder> {
    let inbox = location.inbox();
    let name = inbox.file_name().unwrap_or_default();
    SafeFolder::open(&location.folder)?.folder(name)
}

/// Names of the waiting orders, oldest first.
pub fn waiting(location: &SessionLocation) -> Result<Vec<String>, SessionError> {
    let entries = if_there(open(location).and_then(|inbox| inbox.entries()));
    let entries = entries.map_err(SessionError::io("reading", &location.inbox()))?;
    let names = entries.into_iter().flatten().filter_map(|entry| {
        let name = entry.name.to_str()?.strip_suffix(".json")?.to_owned();
        check_name(&name).is_ok().then_some(name)
    });
    Ok(names.collect())
}

/// Reads an order to the session with this id. The error is a text that says why the file is no order.
fn read(path: &Path, session: &str) -> Result<InstructorOrder, String> {
    let file = safe_path::open(path).map_err(|error| error.to_string())?;
    let sender = file.metadata().map_err(|error| error.to_string())?.uid();
    let text = untrusted::read_from(file, MOST_BYTES).map_err(|error| error.to_string())?;
    #[derive(Deserialize)]
    struct OrderFormat {
        format: u32,
    }
    match serde_json::from_slice(&text) {
        Ok(OrderFormat { format: FORMAT }) => {}
        Ok(OrderFormat { format }) => {
            return Err(format!(
                "it is of format {format}; this program reads format {FORMAT}"
            ));
        }
        Err(error) => return Err(error.to_string()),
    }
    let order: InstructorOrder =
        serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let may = match &order.action {
        OrderAction::Solve { events, .. } => {
            events.iter().all(|event| event.order_part().is_some())
        }
        OrderAction::Record { event } => {
            event.is_of_command_line() && sender == get_effective_uid()
        }
        _ => true,
    };
    match () {
        () if order.session != session => Err("it is for another session".into()),
        () if !may => Err("it does what an order cannot do".into()),
        () => Ok(order),
    }
}

impl Session {
    /// Takes the waiting orders and returns what they did. Without orders it is cheap: it looks at one folder
    /// and one file.
    ///
    /// # Errors
    /// If the disk fails. The order stays and is taken the next time.
    pub fn poll_notices(&mut self) -> Result<Vec<OutsideChange>, SessionError> {
        // An order counts as taken only once its record is on the disk.
        self.save()?;
        let mut notices = Vec::new();
        for name in waiting(&self.location)? {
            let path = self.location.inbox().join(format!("{name}.json"));
            match read(&path, &self.state().session) {
                Ok(order) => {
                    notices.extend(self.process_order(&name, &path, &order)?);
                    if_there(fs::remove_file(&path))
                        .map_err(SessionError::io("removing", &path))?;
                }
                Err(why) => notices.push(quarantine(&path, &why)?),
            }
        }
        notices.extend(self.poll_pin()?);
        Ok(notices)
    }

    fn process_order(
        &mut self,
        name: &str,
        path: &Path,
        order: &InstructorOrder,
    ) -> Result<Option<OutsideChange>, SessionError> {
        if self.state().orders.contains(name) {
            // The tutor was killed after writing the record and before finishing the order.
            self.finish_order(order)?;
            return Ok(None);
        }
        match self.apply_order(name, order) {
            Ok(notice) => Ok(Some(notice)),
            Err(error) if error.is_final() => quarantine(path, &error.to_string()).map(Some),
            Err(error) => Err(error),
        }
    }

    /// Carries out an order and records it as one event.
    pub fn apply_order(
        &mut self,
        name: &str,
        order: &InstructorOrder,
    ) -> Result<OutsideChange, SessionError> {
        let by = order.by.clone();
        let mut events = Vec::new();
        let done = match &order.action {
            OrderAction::Reset { scope, workbench } => {
                self.prepare_reset(scope.clone(), workbench, &by)?
            }
            OrderAction::Restore { backup } => self.prepare_restore(backup, &by)?,
            OrderAction::Unlock { lesson, others } => SessionEvent::Unlocked {
                lesson: lesson.clone(),
                others: others.clone(),
                by,
            },
            OrderAction::Message { text } => SessionEvent::Message {
                from: by,
                text: text.clone(),
            },
            OrderAction::Solve {
                at,
                events: before,
                run,
            } => {
                if let Some(run) = run {
                    store_run(&self.location.runs(), run)?;
                }
                events.clone_from(before);
                SessionEvent::Solved { at: at.clone(), by }
            }
            OrderAction::Record { event } => event.clone(),
        };
        events.push(done.clone());
        self.record(SessionEvent::Ordered {
            order: name.into(),
            events,
        })?;
        self.finish_order(order)?;
        Ok(OutsideChange::Done(done))
    }

    /// Does the work that follows the record of an order. Repeating it does no harm.
    fn finish_order(&mut self, order: &InstructorOrder) -> Result<(), SessionError> {
        match &order.action {
            OrderAction::Reset { .. } => self.finish_resets(),
            _ => Ok(()),
        }
    }

    fn poll_pin(&mut self) -> Result<Vec<OutsideChange>, SessionError> {
        let Some(pin) = class_file::read_for(&self.location)? else {
            return Ok(Vec::new());
        };
        let state = self.state();
        let path = pin.path.as_ref().map(|path| &path.id);
        let chosen = (path != state.class_path.as_ref()).then(|| SessionEvent::PathChosen {
            path: pin.path.clone(),
            by: Some(pin.by.clone()),
        });
        let pinned = (pin.lesson != state.pinned).then_some(SessionEvent::Pinned {
            lesson: pin.lesson,
            by: pin.by,
        });
        let events: Vec<SessionEvent> = chosen.into_iter().chain(pinned).collect();
        if !events.is_empty() {
            self.record_all(events.clone())?;
        }
        Ok(events.into_iter().map(OutsideChange::Done).collect())
    }
}

fn store_run(runs: &Path, run: &SolvedRun) -> Result<(), SessionError> {
    check_name(&run.id)?;
    let path = events_file(runs, &run.id);
    let folder = folder_of(&path);
    create_private(folder).map_err(SessionError::io("creating", folder))?;
    replace(&path, run.stream.as_bytes())
}

/// Renames a file that is no order, so that it is reported once and kept.
fn quarantine(path: &Path, why: &str) -> Result<OutsideChange, SessionError> {
    let kept: PathBuf = path.with_extension("refused");
    fs::rename(path, &kept).map_err(SessionError::io("renaming", path))?;
    Ok(OutsideChange::Refused {
        why: format!("{why} (kept as {})", kept.display()),
    })
}
