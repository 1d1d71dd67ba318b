//! The profile pass in the words of the event stream.

use anyhow::Result;
use burn::tensor::Device;

use crate::model::Part;
use crate::model::ultra::{NodeTime, Phase, Trainer, Wait};
use crate::train::data::Batch;
use crate::train::event::{Kernel, Kernels};
use crate::train::stop::StopSignal;
use crate::train::telemetry::{KernelLaunch, ProfilePass, Recording};

/// Some more steps through burn on `device`, with the device's time of every launch.
pub fn observe(
    trainer: &mut Trainer,
    batch: &Batch,
    device: &Device,
    steps: usize,
    stop: &StopSignal,
) -> Result<Recording> {
    trainer.wait()?;
    let mut pass = ProfilePass::start(device);
    for _ in 0..steps {
        if stop.reason().is_some() {
            break;
        }
        pass.span("step", || {
            trainer.step(&batch.tokens, &batch.targets, Wait::Never)
        })?;
        pass.span("wait for the device", || trainer.wait())?;
        pass.step_done();
    }
    Ok(pass.finish())
}

/// Launches of one step, summed by name and part; parts of the backward pass keep their layer.
pub fn table(times: &[NodeTime]) -> Kernels {
    let mut kernels: Vec<Kernel> = Vec::new();
    for time in times {
        let part = match time.phase {
            Phase::Forward => time.part.to_string(),
            Phase::Backward => format!("{} backward", time.part),
            Phase::Optimizer => Part::Optimizer.to_string(),
        };
        let there = kernels
            .iter_mut()
            .find(|kernel| kernel.name == time.name && kernel.part == part);
        match there {
            Some(kernel) => {
                kernel.launches_per_step += 1.0;
                for (sum, more) in [
                    (&mut kernel.device_ms_per_step, time.milliseconds),
                    (&mut kernel.flops_per_step, time.cost.flops),
                    (&mut kernel.bytes_per_step, time.cost.bytes),
                ] {
                    *sum = sum.map(|sum| sum + more);
                }
            }
            None => kernels.push(Kernel {
                name: time.name.to_string(),
                part,
                launches_per_step: 1.0,
                device_ms_per_step: Some(time.milliseconds),
                fused_operations: None,
                flops_per_step: Some(time.cost.flops),
                bytes_per_step: Some(time.cost.bytes),
            }),
        }
    }
    kernels.sort_by(|a, b| {
        let time = |kernel: &Kernel| kernel.device_ms_per_step.unwrap_or_default();
        time(b).total_cmp(&time(a))
    });
    let total = times.iter().map(|time| time.milliseconds).sum();
    Kernels {
        steps: 1,
        launches_per_step: times.len() as f64,
        device_ms_per_step: Some(total),
        span_ms_per_step: None,
        kernels,
    }
}

/// The launches one after the other, as they were timed.
pub fn recording(times: &[NodeTime]) -> Recording {
    let mut now = 0.0;
    let launches = times
        .iter()
        .map(|time| {
            let start = now;
            now += time.milliseconds / 1e3;
            KernelLaunch {
                kernel: time.name,
                part: match time.phase {
                    // Counted work has every norm that is launched by itself under one part.
                    Phase::Forward if time.name == "normalize" => Part::Norm,
                    Phase::Forward => time.part,
                    Phase::Backward => Part::Backward,
                    Phase::Optimizer => Part::Optimizer,
                },
                fused_operations: None,
                device: Some((start, now)),
            }
        })
        .collect();
    Recording {
        steps: 1,
        launches,
        host: vec![],
    }
}
