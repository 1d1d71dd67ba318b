//! Executes an exercise's reference on the GPU, so that a check there needs no other compiler than the GPU's.

use anyhow::{Context, Result};
use tinyllama_engine::device::driver::{
    DeviceBuffer, DeviceKernel, Driver, LaunchArgument, LaunchSettings, SourceCode, Stream,
};
use tinyllama_workbench::exercise::Exercise;
use tinyllama_workbench::problem::PreparedCase;
use tinyllama_workbench::reference::{
    BLOCK, Expected, KERNEL, ReferenceArgument, ReferenceLaunch, computed, reference_file,
};

use crate::gpu::source;

/// A compiled reference. Mathematics in f64 is that of the GPU's own library.
pub(super) struct GpuReference(DeviceKernel);

impl GpuReference {
    /// # Errors
    /// Fails if the exercise has no reference, or the driver cannot compile it.
    pub(super) fn compile(driver: &Driver, exercise: &Exercise) -> Result<Self> {
        let file = reference_file(exercise)?;
        let path = file.path.display().to_string();
        let module = driver.compile(&SourceCode::new(&path, source(&file)));
        let kernel = module.and_then(|module| module.kernel(KERNEL));
        Ok(GpuReference(kernel.context(path)?))
    }

    /// Computes the outputs of `problem`, a case of the exercise that this is the reference of.
    ///
    /// # Errors
    /// Fails if the driver fails, or an element of an output is not computed.
    pub(super) fn results<'a>(
        &self,
        driver: &Driver,
        stream: &Stream,
        problem: &PreparedCase<'a>,
    ) -> Result<Expected<'a>> {
        let prepared = ReferenceLaunch::of(problem)?;
        let mut placed: Vec<DeviceBuffer> = vec![];
        let mut outputs = vec![];
        let mut arguments: Vec<LaunchArgument<'_>> = vec![];
        for argument in &prepared.arguments {
            let memory = match argument {
                ReferenceArgument::Word(word) => {
                    arguments.push((*word).into());
                    continue;
                }
                ReferenceArgument::Input(_, words) => {
                    let memory = driver.allocate(size_of_val(&**words))?;
                    stream.upload(memory.as_slice(), words)?;
                    memory
                }
                ReferenceArgument::Output(name, first) => {
                    let memory = driver.allocate(size_of_val(&**first))?;
                    stream.upload(memory.as_slice(), first)?;
                    outputs.push((*name, placed.len(), first.len()));
                    memory
                }
            };
            arguments.push(memory.address().into());
            placed.push(memory);
        }
        let shape = LaunchSettings::new([prepared.workgroups, 1, 1], [BLOCK, 1, 1]);
        // SAFETY: the arguments are those that the exercise names for its reference, which the emulator executes with
        // every access checked in the tests. The buffers outlive the work, because the downloads wait for it.
        unsafe { stream.launch(&self.0, &shape, &arguments)? };
        let outputs = outputs.into_iter().map(|(name, index, elements)| {
            let elements = stream.download(placed[index].as_slice(), elements)?;
            Ok((name, elements))
        });
        computed(problem, outputs.collect::<Result<_>>()?)
    }
}

#[cfg(test)]
mod tests {
    use tinyllama_workbench::compiled::compiler::Compiler;
    use tinyllama_workbench::exercise::find;
    use tinyllama_workbench::reference::Reference;

    use super::*;
    use crate::stand_in::on;

    #[test]
    fn a_gpu_and_the_emulator_compute_the_same_reference() {
        on("gfx90a", &[], |stand_in| {
            let driver = stand_in.open();
            let stream = driver.stream(0).unwrap();
            let emulated = Compiler::find().unwrap();
            // Exponentials, logarithms, rounding and an infinity.
            for name in ["attention", "cross-entropy", "quantise", "top-k"] {
                let exercise = find(name).unwrap();
                let problem = PreparedCase::new(exercise, &exercise.cases[1], 64).unwrap();
                let reference = GpuReference::compile(&driver, exercise).unwrap();
                let found = reference.results(&driver, &stream, &problem).unwrap();
                let reference = Reference::compile(&emulated, exercise).unwrap();
                let expected = reference.results(&problem).unwrap();
                assert_eq!(found.len(), expected.len(), "{name}");
                for ((_, found), (output, expected)) in found.iter().zip(&expected) {
                    assert_eq!(found.len(), expected.len());
                    let far = found.iter().zip(expected).position(|(found, expected)| {
                        let near = (found - expected).abs() <= 1e-12 * (1.0 + expected.abs());
                        !near
                    });
                    assert_eq!(far, None, "{name}: {output}");
                }
            }
        });
    }
}
