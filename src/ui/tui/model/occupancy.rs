//! The settings that a learner moves in the occupancy panel, and what the compiler answers for them.

use std::sync::Arc;

use crate::tui::{Effect, Effects, Message, Scroll, TaskContext};
use tinyllama_tutor_core::PanelAction;
use tinyllama_workbench::amd::{self, Compiled, Tuning};
use tinyllama_workbench::compiled::compiler::Compiler;
use tinyllama_workbench::{Exercise, KernelFile};

/// Values to choose from, after the one of the file or exercise.
const THREADS: [u32; 5] = [64, 128, 256, 512, 1024];
const UNROLLS: [u32; 5] = [1, 2, 4, 8, 16];

const CHOICES: [[u32; 5]; 3] = [THREADS, THREADS, UNROLLS];

/// What the compiler says to one question of an [`OccupancyPanel`].
#[derive(Debug)]
pub struct OccupancyAnswer {
    /// Tells the panel that asked from one that was opened later.
    pub(crate) file: Arc<KernelFile>,
    pub(crate) tuning: Tuning,
    pub(crate) reply: CompilerReply,
}

#[derive(Debug)]
pub(crate) enum CompilerReply {
    /// So many architectures are done.
    Progress(usize),
    Compiled(Result<Compiled, String>),
}

#[derive(Debug)]
pub struct OccupancyPanel {
    pub(crate) exercise: &'static Exercise,
    pub(crate) file: Arc<KernelFile>,
    /// The setting under the cursor.
    pub(crate) row: usize,
    /// For each setting, 0 or the position of the chosen value plus 1.
    pub(crate) chosen: [usize; 3],
    pub(crate) answers: Vec<(Tuning, Result<Compiled, String>)>,
    /// What the compiler works on, and the architectures that are done.
    pub(crate) asked: Option<(Tuning, usize)>,
    pub(crate) scroll: Scroll,
}

/// The settings that stand for these positions.
pub(crate) fn tuning(chosen: [usize; 3]) -> Tuning {
    let value = |setting: usize| {
        let at = chosen[setting].checked_sub(1)?;
        CHOICES[setting].get(at).copied()
    };
    Tuning {
        block: value(0),
        launch_bounds: value(1),
        unroll: value(2),
    }
}

impl OccupancyPanel {
    pub fn new(exercise: &'static Exercise, file: KernelFile) -> Self {
        Self {
            exercise,
            file: Arc::new(file),
            row: 0,
            chosen: [0; 3],
            answers: vec![],
            asked: None,
            scroll: Scroll::default(),
        }
    }

    pub(crate) fn answer(&self, tuning: Tuning) -> Option<&Result<Compiled, String>> {
        let mut answers = self.answers.iter();
        Some(&answers.find(|(of, _)| *of == tuning)?.1)
    }

    /// The cursor and the chosen values after an action.
    pub(crate) fn moved(&self, action: PanelAction) -> (usize, [usize; 3]) {
        let (row, mut chosen) = (self.row, self.chosen);
        let settings = CHOICES.len();
        match action {
            PanelAction::Up => return ((row + settings - 1) % settings, chosen),
            PanelAction::Down => return ((row + 1) % settings, chosen),
            PanelAction::Left => chosen[row] = chosen[row].saturating_sub(1),
            PanelAction::Right => chosen[row] = CHOICES[row].len().min(chosen[row] + 1),
            _ => {}
        }
        (row, chosen)
    }

    /// What the compiler has to be asked for these values. One question is asked at a time, and the file as it is comes
    /// first.
    pub(crate) fn question(&self, chosen: [usize; 3]) -> Option<Tuning> {
        let mut wanted = [Tuning::default(), tuning(chosen)].into_iter();
        let wanted = wanted.find(|tuning| self.answer(*tuning).is_none())?;
        self.asked.is_none().then_some(wanted)
    }

    /// Asks the compiler on another thread.
    pub(crate) fn job(&self, tuning: Tuning) -> Effects {
        let (exercise, file) = (self.exercise, Arc::clone(&self.file));
        let job = move |context: &TaskContext| {
            let message = |reply| {
                let file = Arc::clone(&file);
                Message::Occupancy(Box::new(OccupancyAnswer {
                    file,
                    tuning,
                    reply,
                }))
            };
            let say = |done| context.send(message(CompilerReply::Progress(done)));
            let compiled = Compiler::find()
                .map_err(anyhow::Error::from)
                .and_then(|compiler| amd::compile(&compiler, exercise, &file, tuning, &say));
            let compiled = compiled.map_err(|error| format!("{error:#}"));
            message(CompilerReply::Compiled(compiled))
        };
        Some(vec![Effect::background_work("", job)])
    }

    /// Notes that the compiler is asked what these values need, and returns the effect.
    pub(crate) fn ask(&mut self) -> Effects {
        let tuning = self.question(self.chosen)?;
        self.asked = Some((tuning, 0));
        self.job(tuning)
    }

    /// Takes over what the compiler says. Returns the next question, if the learner has moved on.
    pub fn take(&mut self, answer: OccupancyAnswer) -> Effects {
        if !Arc::ptr_eq(&answer.file, &self.file) {
            return None;
        }
        match answer.reply {
            CompilerReply::Progress(done) => self.asked = Some((answer.tuning, done)),
            CompilerReply::Compiled(compiled) => {
                self.asked = None;
                self.answers.push((answer.tuning, compiled));
            }
        }
        self.ask()
    }
}
