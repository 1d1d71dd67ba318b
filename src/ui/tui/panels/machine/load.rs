//! Compiles and executes the open step's kernel, then shows it from the first finding on.

use std::path::PathBuf;

use super::MachinePanel;
use crate::tui::{Effect, Effects, Message, Model, OpenStep, Panel};
use tinyllama_session::kernel::start_exercise;
use tinyllama_workbench::compiled::compiler::Compiler;
use tinyllama_workbench::machine::ARCHITECTURES;
use tinyllama_workbench::machine::trace::trace;
use tinyllama_workbench::{Exercise, KernelFile, KernelFinding};

/// What to execute.
#[derive(Clone, Debug)]
pub struct TraceRequest {
    pub exercise: &'static Exercise,
    pub path: PathBuf,
    pub architecture: &'static str,
    pub finding: Option<KernelFinding>,
}

/// Opens the machine at the first finding of the last check, or at the start.
pub fn open(model: &mut Model, here: &OpenStep) -> Effects {
    let Some(kernel) = here.step.as_kernel() else {
        return model.notify("This step asks for no kernel.");
    };
    let (path, _) = match start_exercise(kernel.exercise, &model.workbench) {
        Ok(started) => started,
        Err(error) => return model.warn(format!("{error:#}")),
    };
    let finding = model.step.as_ref().and_then(|view| view.finding.clone());
    let only_small = finding
        .as_ref()
        .is_some_and(|finding| finding.waves == [32]);
    let request = TraceRequest {
        exercise: kernel.exercise,
        path,
        architecture: if only_small { "gfx1100" } else { "gfx942" },
        finding,
    };
    Some(vec![request.effect()])
}

impl TraceRequest {
    pub fn effect(self) -> Effect {
        let meanwhile = "Compiling the kernel for an AMD GPU and executing it…";
        Effect::background_work(meanwhile, |_| Message::Opened(self.load()))
    }

    /// The same for another architecture.
    pub fn next_architecture(&self) -> TraceRequest {
        let mut all = ARCHITECTURES.iter();
        let here = all.position(|one| *one == self.architecture).unwrap_or(0);
        let architecture = ARCHITECTURES[(here + 1) % ARCHITECTURES.len()];
        TraceRequest {
            architecture,
            ..self.clone()
        }
    }

    pub fn load(self) -> Result<Box<dyn Panel>, String> {
        let failed = |error: anyhow::Error| format!("The machine cannot show this: {error:#}.");
        let refused = |finding: KernelFinding| {
            let line = finding
                .line
                .map_or(String::new(), |line| format!(" (line {line})"));
            let message = finding.message;
            format!("The kernel does not compile{line}: {message}. Correct the file and come back.")
        };
        let file = KernelFile::read(&self.path)
            .map_err(failed)?
            .map_err(refused)?;
        let compiler = Compiler::find().map_err(|error| failed(error.into()))?;
        let finding = self.finding.as_ref();
        let traced = trace(&compiler, self.exercise, file, self.architecture, finding);
        let traced = traced.map_err(failed)?.map_err(refused)?;
        Ok(Box::new(MachinePanel::new(traced, self)))
    }
}
