//! Does again what led to one record: what the learner answered, what a run reported, what a kernel's text does, and what an
//! instructor ordered.

use super::orders;
use super::rebuild::{Rebuilt, Wrong};
use super::stream::{contradictions, is_known, played};
use tinyllama_base::checksum::sha256_hex;
use tinyllama_lesson::kinds::Kind;
use tinyllama_lesson::{Lesson, QuizAnswer, Step};
use tinyllama_runs::RunExit;
use tinyllama_session::runs::events_file;
use tinyllama_session::{
    Access, AnswerGiven, SessionError, SessionEvent, StepRef, access, check_name, is_complete,
    order_copy,
};
use tinyllama_workbench::exercise;

impl<'a> Rebuilt<'a> {
    /// Does again what led to this event. The session then records it, or what the tutor writes in its place.
    pub(super) fn redo(&mut self, event: &SessionEvent) -> Result<(), Wrong> {
        let state = self.session.state();
        match event {
            SessionEvent::Created { .. } => match state.records {
                0 => self.as_it_says(event),
                _ => Err("a session begins only once".into()),
            },
            _ if state.records == 0 => Err("a session does not begin this way".into()),
            SessionEvent::Opened {
                version,
                course,
                course_version,
                ..
            } => {
                self.opened([course, course_version, version])?;
                self.as_it_says(event)
            }
            SessionEvent::Note { .. }
            | SessionEvent::Pinned { .. }
            | SessionEvent::OpenedEarly { .. } => self.as_it_says(event),
            SessionEvent::RunStarted {
                run, at, target, ..
            } => {
                self.run_started(run, at.as_ref(), target)?;
                self.as_it_says(event)
            }
            SessionEvent::Recorded { run, .. } => {
                self.recorded(run)?;
                self.as_it_says(event)
            }
            SessionEvent::RunFinished { run, exit, .. } => self.run_finished(run, *exit, event),
            SessionEvent::Sealed { run, .. } => self.sealed(run, event),
            SessionEvent::KernelChecked { .. } | SessionEvent::KernelTimed { .. } => {
                self.kernel(event)
            }
            SessionEvent::PathChosen {
                path: Some(path), ..
            } if self.is_judged && self.course.path(&path.id).ok().flatten() != Some(path) => {
                Err("the course has no such path".into())
            }
            SessionEvent::PathChosen { .. } => self.as_it_says(event),
            SessionEvent::Ordered { order, events } => {
                self.ordered(order, events)?;
                self.undo();
                self.as_it_says(event)
            }
            SessionEvent::Unlocked { .. }
            | SessionEvent::Reset { .. }
            | SessionEvent::Restored { .. }
            | SessionEvent::Message { .. }
            | SessionEvent::Solved { .. } => {
                Err("the tutor writes this only within an instructor's order".into())
            }
            SessionEvent::Unknown => Err("it is not known".into()),
            SessionEvent::StepEntered { at }
            | SessionEvent::TimeSpent { at, .. }
            | SessionEvent::Predicted { at, .. }
            | SessionEvent::Checked { at, .. }
            | SessionEvent::Answered { at, .. }
            | SessionEvent::Recalled { at, .. }
            | SessionEvent::Suspected { at, .. }
            | SessionEvent::HintShown { at, .. }
            | SessionEvent::Reflected { at, .. }
            | SessionEvent::StepDone { at }
            | SessionEvent::StepSkipped { at, .. } => self.at_step(at, event),
        }
    }

    /// Takes over what the record says: nothing before it decides about that.
    fn as_it_says(&mut self, event: &SessionEvent) -> Result<(), Wrong> {
        self.session.record(event.clone()).map_err(why)
    }

    fn opened(&mut self, [course, course_version, program]: [&String; 3]) -> Result<(), Wrong> {
        let mut runs = self.session.state().runs.iter();
        if let Some((run, _)) = runs.find(|(_, run)| run.exit.is_none()) {
            return Err(format!(
                "run {run} was still going on, and the tutor notes it as lost first"
            ));
        }
        self.is_judged = (course, course_version) == (&self.course.title, &self.course.version)
            && program == env!("CARGO_PKG_VERSION");
        Ok(())
    }

    /// Finds a step of the course. `None` if another course, or another version of the program, recorded it.
    fn step(&mut self, at: &StepRef) -> Result<Option<(&'a Lesson, &'a Step)>, Wrong> {
        if !self.is_judged {
            let course = self.session.state().course.clone();
            let (title, version) = course.unwrap_or_default();
            let (this, program) = (&self.course.version, env!("CARGO_PKG_VERSION"));
            self.cannot_check(format!(
                "steps done with {title} ({version}) or another version of the tutor, and this is {} ({this}) with {program}; \
                 name the other course with --lessons",
                self.course.title
            ));
            return Ok(None);
        }
        let found = self.course.find_step(at);
        found
            .map(Some)
            .ok_or_else(|| format!("the course has no step {at}"))
    }

    fn at_step(&mut self, at: &StepRef, event: &SessionEvent) -> Result<(), Wrong> {
        let is_new = !self.entered.contains(at);
        if matches!(event, SessionEvent::StepEntered { .. }) {
            self.entered.insert(at.clone());
        }
        let Some((lesson, step)) = self.step(at)? else {
            return self.as_it_says(event);
        };
        if self.lacks_stream && depends_on_runs(event) {
            self.cannot_check(LACKS_STREAM.into());
            return self.as_it_says(event);
        }
        if is_new && !may_come_first(event) {
            return Err("the learner was never there".into());
        }
        if is_new && matches!(event, SessionEvent::StepEntered { .. }) {
            self.check_is_open(lesson)?;
        }
        self.work_on_step(at.clone(), lesson, step, event)
    }

    /// Refuses a lesson that was locked when the learner entered the first step of it.
    fn check_is_open(&self, lesson: &Lesson) -> Result<(), Wrong> {
        let is_locked = access(self.course, self.session.state(), lesson) != Access::Open;
        let entered = self.entered.iter().filter(|at| at.lesson == lesson.id);
        match is_locked && entered.count() == 1 {
            true => Err("its lesson was locked".into()),
            false => Ok(()),
        }
    }

    fn work_on_step(
        &mut self,
        at: StepRef,
        lesson: &Lesson,
        step: &Step,
        event: &SessionEvent,
    ) -> Result<(), Wrong> {
        let (course, session) = (self.course, &mut self.session);
        let progress = session.state().progress(&at);
        let done = match event {
            SessionEvent::StepEntered { .. } => session.turn_to(lesson, step),
            SessionEvent::TimeSpent { seconds, .. } => {
                if !(seconds.is_finite() && *seconds >= 0.0) {
                    return Err(format!("{seconds} seconds cannot be spent"));
                }
                session.spend(at, *seconds)
            }
            SessionEvent::Predicted { value, .. } if step.kind() == Kind::Predict => {
                session.predict(at, *value)
            }
            SessionEvent::Reflected { text, .. } if step.kind() == Kind::Reflect => {
                session.reflect(at, text)
            }
            SessionEvent::Suspected { suspect, .. }
                if step
                    .as_case()
                    .is_some_and(|case| case.suspect(suspect).is_some()) =>
            {
                session.suspect(at, step, suspect)
            }
            SessionEvent::Predicted { .. }
            | SessionEvent::Reflected { .. }
            | SessionEvent::Suspected { .. } => return Err("the step does not ask for that".into()),
            SessionEvent::Answered { given, .. } => {
                return self.answered(at, step, given, false);
            }
            SessionEvent::Recalled { given, .. } if !progress.answers.is_empty() => {
                return self.answered(at, step, given, true);
            }
            SessionEvent::Recalled { .. } => return Err("it was never answered before".into()),
            SessionEvent::HintShown { .. } => session.next_hint(at, step).map(drop),
            SessionEvent::Checked { .. } => session.check(course, lesson, step).map(drop),
            SessionEvent::StepSkipped { note, .. } => session.skip(at, note),
            SessionEvent::StepDone { .. } if !is_complete(step, &progress, session.state()) => {
                return Err("no record shows that it was done".into());
            }
            SessionEvent::StepDone { .. } => session.complete_if(at, step),
            SessionEvent::Created { .. }
            | SessionEvent::Opened { .. }
            | SessionEvent::RunStarted { .. }
            | SessionEvent::RunFinished { .. }
            | SessionEvent::Unlocked { .. }
            | SessionEvent::OpenedEarly { .. }
            | SessionEvent::Reset { .. }
            | SessionEvent::Restored { .. }
            | SessionEvent::Message { .. }
            | SessionEvent::Note { .. }
            | SessionEvent::Recorded { .. }
            | SessionEvent::Sealed { .. }
            | SessionEvent::Solved { .. }
            | SessionEvent::KernelChecked { .. }
            | SessionEvent::KernelTimed { .. }
            | SessionEvent::Pinned { .. }
            | SessionEvent::PathChosen { .. }
            | SessionEvent::Ordered { .. }
            | SessionEvent::Unknown => return Err("no learner's step writes it".into()),
        };
        done.map_err(why)
    }

    /// A number, or the choice of this index, whichever the step asks for.
    fn answered(
        &mut self,
        at: StepRef,
        step: &Step,
        given: &AnswerGiven,
        again: bool,
    ) -> Result<(), Wrong> {
        let number = given.answer;
        for answer in [
            QuizAnswer::Number(number),
            QuizAnswer::Choice(number as usize),
        ] {
            let (session, at) = (&mut self.session, at.clone());
            let marked = match again {
                true => session.recall(at, self.course, step, answer),
                false => session.answer(at, self.course, step, answer),
            };
            if marked.map_err(why)?.is_some() {
                return Ok(());
            }
        }
        Err("it is no answer to this step".into())
    }

    fn run_started(&mut self, run: &str, at: Option<&StepRef>, target: &str) -> Result<(), Wrong> {
        if check_name(run).is_err() {
            return Err(format!("`{run}` cannot be the name of a run"));
        }
        if self.session.state().runs.contains_key(run) {
            return Err(format!("run {run} is started a second time"));
        }
        let Some(at) = at else { return Ok(()) };
        let Some((_, step)) = self.step(at)? else {
            return Ok(());
        };
        let job = step.job();
        let asked = match step.kind() {
            Kind::Profile => Some(step.target.as_deref().unwrap_or_default()),
            _ => job.as_ref().map(|job| job.name()),
        };
        match asked {
            Some(asked) if asked == target => Ok(()),
            Some(asked) => Err(format!("the step runs {asked}, and not {target}")),
            None => Err("the step starts no run".into()),
        }
    }

    fn recorded(&mut self, run: &str) -> Result<(), Wrong> {
        let entry = self.session.state().runs.get(run);
        let entry = entry.ok_or_else(|| format!("run {run} was never started"))?;
        match played(&entry.command) {
            _ if entry.exit.is_some() => Err(format!("run {run} had ended")),
            _ if entry.recording.is_some() => Err(format!("run {run} is marked a second time")),
            None => Err(format!("run {run} plays no recording")),
            Some(id) => {
                if !is_known(id) {
                    let what = format!("the recording `{id}` is not one of this program");
                    self.cannot_check(what);
                }
                Ok(())
            }
        }
    }

    fn run_finished(
        &mut self,
        run: &String,
        exit: RunExit,
        event: &SessionEvent,
    ) -> Result<(), Wrong> {
        let entry = self.session.state().runs.get(run);
        let entry = entry.ok_or_else(|| format!("run {run} was never started"))?;
        if entry.exit.is_some() {
            return Err(format!("run {run} ends a second time"));
        }
        if exit == RunExit::Lost {
            let (run, values) = (run.clone(), Default::default());
            let lost = SessionEvent::RunFinished { run, exit, values };
            return self.session.record(lost).map_err(why);
        }
        let folder = self.session.location.runs().join(run);
        if !events_file(&self.session.location.runs(), run).is_file() {
            if self.hand_in.left_out.contains(run) {
                self.lacks_stream = true;
                self.cannot_check(LACKS_STREAM.into());
            } else if exit.is_success() {
                return Err(format!(
                    "run {run} ended well, and its event stream is not there"
                ));
            } else {
                let what = "Runs that did not end well, whose files are not there.";
                self.remarks.insert(what.into());
            }
            return self.as_it_says(event);
        }
        if exit.is_success() {
            let (wrong, unusual) =
                contradictions(entry, &folder).map_err(|error| error.to_string())?;
            if let Some(wrong) = wrong {
                return Err(format!("run {run} {wrong}"));
            }
            if let Some(what) = unusual {
                self.note_unusual(&format!("run {run} {what}"));
            }
        }
        self.session.run_ended(run, exit).map_err(why)
    }

    fn sealed(&mut self, run: &String, event: &SessionEvent) -> Result<(), Wrong> {
        let entry = self.session.state().runs.get(run);
        let entry = entry.ok_or_else(|| format!("run {run} was never started"))?;
        match (entry.exit, &entry.sha256) {
            (None, _) => return Err(format!("run {run} had not ended")),
            (_, Some(_)) => return Err(format!("run {run} is sealed a second time")),
            _ => {}
        }
        match self
            .session
            .runs
            .get(run)
            .map_err(|error| error.to_string())?
        {
            Some(finished) => {
                let (run, sha256) = (run.clone(), finished.sha256.clone());
                self.session
                    .record(SessionEvent::Sealed { run, sha256 })
                    .map_err(why)
            }
            // The record of its end says that the stream is not there.
            None => self.as_it_says(event),
        }
    }

    fn kernel(&mut self, event: &SessionEvent) -> Result<(), Wrong> {
        let known = |name: &String| {
            let found = exercise::find(name).ok().filter(|it| it.name == *name);
            found
                .map(drop)
                .ok_or_else(|| format!("there is no exercise {name}"))
        };
        match event {
            SessionEvent::KernelTimed { exercise, .. } => {
                known(exercise)?;
                let what = "Times of kernels on a GPU: only the GPU could show them again.";
                self.remarks.insert(what.into());
            }
            SessionEvent::KernelChecked {
                at,
                exercise,
                passed,
                findings,
                sha256,
                text,
            } => {
                known(exercise)?;
                if *passed != findings.is_empty() {
                    return Err("a kernel passes exactly if nothing was found".into());
                }
                if let Some(at) = at
                    && let Some((_, step)) = self.step(at)?
                    && step
                        .as_kernel()
                        .is_none_or(|it| it.exercise.name != *exercise)
                {
                    return Err(format!("the step does not ask for {exercise}"));
                }
                match (passed, text) {
                    (true, Some(text)) => self.kernel_passed(exercise, sha256, text)?,
                    (true, None) => return Err("it passed, and its text is not there".into()),
                    (false, Some(_)) => return Err("only a kernel that passed is kept".into()),
                    (false, None) => {}
                }
            }
            _ => {}
        }
        self.session.record_kernel(event.clone()).map_err(why)
    }

    /// Returns whether the class folder has the order. The folder that `--against` names lies in it. The hand-in's own does
    /// not count, because a learner may have packed what is beside it.
    fn has_copy(&self, order: &str, events: &[SessionEvent]) -> bool {
        let session = self
            .judging
            .against
            .filter(|session| session.kind == "session");
        let class = session.and_then(|session| session.location.folder.parent());
        let id = &self.session.state().session;
        class.is_some_and(|class| order_copy::confirms(class, order, id, events))
    }

    /// Checks a kernel once more.
    fn kernel_passed(&mut self, exercise: &str, sha256: &str, text: &str) -> Result<(), Wrong> {
        if sha256_hex([text]) != sha256 {
            return Err("its text has another checksum".into());
        }
        let key = (exercise.to_owned(), sha256.to_owned());
        if self.passed.contains(&key) {
            return Ok(());
        }
        let Some(check) = self.judging.kernels else {
            self.cannot_check("kernels that passed; `report verify` checks them again".into());
            return Ok(());
        };
        match check(exercise, text) {
            Ok(findings) if findings.is_empty() => drop(self.passed.insert(key)),
            Ok(findings) => return Err(format!("it does not pass: {}", findings.join("; "))),
            Err(error) => self.cannot_check(format!("kernels cannot be checked here: {error:#}")),
        }
        Ok(())
    }

    /// Examines each event of an order. Whether an instructor gave it, only the class folder shows.
    fn ordered(&mut self, order: &str, events: &[SessionEvent]) -> Result<(), Wrong> {
        if self.session.state().orders.contains(order) {
            return Err(format!("the order {order} is taken a second time"));
        }
        orders::check_form(events)?;
        for event in events {
            match event {
                SessionEvent::Reset { backup, .. } => {
                    let next = format!("reset-{}", self.session.state().backups.len() + 1);
                    if *backup != next {
                        return Err(format!(
                            "its backup is {backup}, and the tutor calls it {next}"
                        ));
                    }
                }
                SessionEvent::Restored { backup, .. } => {
                    let known = self.session.state().backups.get(backup);
                    if known.is_none_or(|known| known.restored) {
                        return Err(format!("there is no backup {backup} to restore"));
                    }
                }
                SessionEvent::Solved { at, .. } => drop(self.step(at)?),
                SessionEvent::Unlocked { .. } | SessionEvent::Message { .. } => {}
                event if self.is_expected(event) => {}
                event => {
                    self.entered.extend(event.step().cloned());
                    self.redo(event)?;
                    if let Some(wrong) = self.compare(event) {
                        return Err(wrong);
                    }
                }
            }
        }
        if !orders::needs_no_copy(events) && !self.has_copy(order, events) {
            self.cannot_check(LACKS_COPY.into());
        }
        Ok(())
    }
}

/// Only orders of the class folder's owner have a copy there.
const LACKS_COPY: &str =
    "orders of an instructor; name the session in the class folder with --against";

const LACKS_STREAM: &str =
    "the stream of a run was too large for the report; name the session with --against";

fn depends_on_runs(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::Checked { .. }
            | SessionEvent::Answered { .. }
            | SessionEvent::Recalled { .. }
            | SessionEvent::StepDone { .. }
    )
}

/// Returns whether the tutor records this about a step at which the learner never was.
fn may_come_first(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::StepEntered { .. }
            | SessionEvent::TimeSpent { .. }
            | SessionEvent::StepSkipped { .. }
    )
}

fn why(error: SessionError) -> Wrong {
    error.to_string()
}
