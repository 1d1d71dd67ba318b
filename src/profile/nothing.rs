//! Explains a profile without any work of a GPU: what the files do hold, and what usually helps.

use std::io;
use std::path::Path;

use itertools::Itertools;
use serde::Serialize;

use super::model::{Agent, Profile, StatisticKind};
use super::read::{EMPTY, Import, PassedOver, formats};
use super::show::launches::launches_a_kernel;
use super::show::report::api_calls;
use tinyllama_base::{plural, untrusted};

/// Why nothing of a GPU is in a profile, and what to try, the likeliest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NothingRecorded {
    pub cause: String,
    pub remedies: Vec<&'static str>,
}

const BACKEND: &str = "ROCm's profilers see only what goes through HIP, and neither Vulkan nor the CPU: run the target with --backend rocm.";
const ENDING: &str =
    "Let the program finish: the output is written at its end. Ctrl-C once ends it in order.";
const WORKERS: &str = "Kernels of worker processes may be missing. vLLM: set VLLM_ENABLE_V1_MULTIPROCESSING=0. A DataLoader: num_workers=0. \
     torchrun: start the profiler behind it, `torchrun --no-python rocprofv3 … -- python3 train.py`. A process that runs: \
     `tinyllama-tutor profile rocprofv3 v3 --kind attach --pid PROCESS` (ROCm 7.1).";
const FILTER: &str = "A filter may have matched no kernel: leave out --kernel-include-regex, --kernel or -k, and --selected-regions for a \
     program that selects nothing.";
const CRASHED: &str = "If the profiler crashed (its log says so), profile less at once: only some kernels with --kernel-include-regex, or \
     without --hip-trace; or write the database.";
const KERNEL_TRACE: &str = "The host's calls alone are what --hip-trace records: add --kernel-trace, or use `tinyllama-tutor profile rocprofv3 v3 \
     --kind runtime`.";
const RDNA_1: &str = "On ROCm 10.0 the first launch on a GPU of RDNA 1 (gfx101x) fails with HSA_STATUS_ERROR_OUT_OF_RESOURCES: use ROCm 7.";
const WHOLE_PROFILE: &str =
    "Profile the kernels as well: `tinyllama-tutor profile rocprof-compute v3`.";
const TORCH_ACTIVITIES: &str = "Give torch.profiler activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], also on AMD, and see that \
     torch.cuda.is_available() is true and the model is on the device.";
const OUTPUT_FOLDER: &str = "Name the folder or the file that the profiler wrote.";

impl NothingRecorded {
    /// `None` if the profile has kernels, or at least copies, counters, metrics or a call tree.
    pub fn explain(import: &Import) -> Option<Self> {
        let profile = &import.profile;
        if has_work(profile) {
            return None;
        }
        let (cause, mut remedies) = cause(import);
        let is_rdna_1 = |agent: &Agent| agent.gpu && agent.name.starts_with("gfx101");
        if profile.agents.iter().any(is_rdna_1) {
            remedies.insert(0, RDNA_1);
        }
        Some(NothingRecorded { cause, remedies })
    }

    /// The cause and each remedy.
    pub fn lines(&self) -> Vec<String> {
        let remedies = self.remedies.iter().map(|remedy| (*remedy).to_owned());
        std::iter::once(self.cause.clone())
            .chain(remedies)
            .collect()
    }
}

fn has_work(profile: &Profile) -> bool {
    let is_of_gpu = |kind| matches!(kind, StatisticKind::Kernel | StatisticKind::MemoryCopy);
    !(profile.dispatches.is_empty()
        && profile.copies.is_empty()
        && profile.counters.is_empty()
        && profile.metrics.is_empty()
        && profile.instructions.is_empty()
        && profile.regions.is_empty())
        || profile.statistics.iter().any(|row| is_of_gpu(row.kind))
}

fn cause(import: &Import) -> (String, Vec<&'static str>) {
    let profile = &import.profile;
    let calls = api_calls(profile);
    let count =
        |calls: &[(&str, (u64, f64))]| calls.iter().map(|(_, (count, _))| *count).sum::<u64>();
    if !calls.is_empty() {
        let launches = calls.iter().filter(|(name, _)| launches_a_kernel(name));
        let launches: u64 = launches.map(|(_, (count, _))| *count).sum();
        let all = plural(count(&calls) as usize, "call");
        return match launches {
            0 => (
                format!(
                    "The host made {all}, none of which launches a kernel. ROCm was in use, so the backend is right."
                ),
                vec![WORKERS, FILTER, ENDING],
            ),
            launches => (
                format!(
                    "The host made {all} and launched {}, but no kernel was recorded. The backend is right: the launches \
                     reached HIP.",
                    plural(launches as usize, "kernel")
                ),
                vec![KERNEL_TRACE, CRASHED, ENDING],
            ),
        };
    }
    if import.taken.is_empty() {
        return without_tables(import);
    }
    if import.took(&formats::event_trace::FORMAT) {
        let cause = "This trace of PyTorch holds what the host did, and nothing of a GPU.";
        return (cause.to_owned(), vec![TORCH_ACTIVITIES, WORKERS]);
    }
    let found = devices(profile);
    let filters = filters(import);
    if !filters.is_empty() {
        let cause = format!(
            "{found}The workload was profiled with a filter, {}, and holds no kernel.",
            filters.join("; ")
        );
        return (cause, vec![FILTER, WORKERS]);
    }
    if !profile.ceilings.is_empty() {
        let cause =
            "Only the GPU's ceilings were measured (a roofline), and no kernel was profiled.";
        return (cause.to_owned(), vec![WHOLE_PROFILE, WORKERS, FILTER]);
    }
    if !profile.system.is_empty() || !profile.agents.is_empty() {
        let cause = format!("{found}The files describe the machine, and hold no kernel.");
        return (cause, vec![BACKEND, WORKERS, FILTER, CRASHED, ENDING]);
    }
    let cause = match import.taken.as_slice() {
        [one] => format!("The file has the form of {} and no rows.", one.format.name),
        files => format!(
            "The {} that were read have no rows.",
            plural(files.len(), "file")
        ),
    };
    (cause, vec![BACKEND, WORKERS, FILTER, CRASHED, ENDING])
}

/// The GPUs that a profiler saw, as a sentence. Empty if the files list no device.
fn devices(profile: &Profile) -> String {
    let gpus = profile.agents.iter().filter(|agent| agent.gpu);
    let counts = gpus.counts_by(|agent| agent.name.as_str());
    let gpus = counts.iter().sorted();
    let gpus = gpus.map(|(name, count)| match count {
        1 => (*name).to_owned(),
        several => format!("{several} GPUs ({name})"),
    });
    match (profile.agents.is_empty(), counts.is_empty()) {
        (true, _) => String::new(),
        (_, true) => "The profiler saw processors, and no GPU. ".to_owned(),
        _ => format!("The profiler saw {}. ", itertools::join(gpus, ", ")),
    }
}

/// The cause if no file was read.
fn without_tables(import: &Import) -> (String, Vec<&'static str>) {
    let passed = &import.passed_over;
    let is_log = |passed: &PassedOver| passed.path.ends_with("profiler.log");
    let (cause, remedies) = if !import.damage.is_empty() {
        (
            "Nothing could be read: the files are damaged.",
            vec![CRASHED, ENDING],
        )
    } else if passed.is_empty() {
        ("There is no file here.", vec![OUTPUT_FOLDER])
    } else if passed.iter().all(|passed| passed.reason == EMPTY) {
        ("There is nothing in the file.", vec![ENDING, CRASHED])
    } else if passed.iter().all(is_log) {
        (
            "The profiler wrote nothing besides its log.",
            vec![BACKEND, WORKERS, ENDING, CRASHED],
        )
    } else {
        ("None of these files holds kernels.", Vec::new())
    };
    (cause.to_owned(), remedies)
}

/// Filters of kernels that rocprof-compute was given, from the settings and the log that it writes into a workload.
fn filters(import: &Import) -> Vec<String> {
    let paths = import
        .passed_over
        .iter()
        .map(|passed| passed.path.as_path());
    let mut filters = paths.map(|path| filters_in(path).unwrap_or_default());
    // Both files say the same.
    filters.find(|found| !found.is_empty()).unwrap_or_default()
}

/// Longest settings or log that is searched, in bytes.
const LONGEST: u64 = 1 << 20;

fn filters_in(path: &Path) -> io::Result<Vec<String>> {
    let name = path.file_name().unwrap_or_default();
    if name != "log.txt" && name != "profiling_config.yaml" {
        return Ok(Vec::new());
    }
    let text = untrusted::read_text(path, LONGEST)?;
    let mut lines = text.lines().peekable();
    let mut filters = Vec::new();
    while let Some(line) = lines.next() {
        let Some((key, value)) = line.split_once(':') else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        let is_filter = [
            "kernel",
            "dispatch",
            "Kernel Selection",
            "Dispatch Selection",
        ]
        .contains(&key);
        if !is_filter || ["None", "null", "[]", "~"].contains(&value) {
            continue;
        }
        let mut values: Vec<&str> = Vec::from_iter((!value.is_empty()).then_some(value));
        while let Some(item) = lines.next_if(|line| line.trim_start().starts_with("- ")) {
            values.push(item.trim_start().trim_start_matches("- "));
        }
        if !values.is_empty() {
            filters.push(format!("{key} {}", values.join(" ")));
        }
    }
    Ok(filters)
}

#[cfg(test)]
mod tests;
