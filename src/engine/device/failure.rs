//! Turns the failures of burn's GPU backends into short messages for learners.
//!
//! The backends report pages of text: every error on the way, internals of a kernel, a whole source. The drivers' own
//! messages in it always look the same, so the text is searched for them. Unrecognised text stays unchanged.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::DeviceError;
use super::driver::DriverError;
use tinyllama_base::file;
use tinyllama_base::panics::Panicked;

/// Lines of a compiler's log that are shown; the file has all of them.
const LOG_LINES: usize = 12;

/// A failure of the device or of its run-time compiler.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BackendFailure {
    #[error("out of memory on the device ({message})")]
    OutOfMemory { message: String },
    #[error("the device failed{}: {message}", .kernel.as_deref().map(|name| format!(" at kernel {name}")).unwrap_or_default())]
    Fault {
        message: String,
        kernel: Option<String>,
    },
    #[error("the GPU's compiler refused kernel {kernel}:\n{log}\n{kept}")]
    Refused {
        kernel: String,
        log: String,
        /// Path of the stored source, or the reason why it was not stored.
        kept: String,
    },
}

impl BackendFailure {
    /// Returns what the user can do, in one or two sentences.
    pub fn remedy(&self) -> &'static str {
        match self {
            BackendFailure::OutOfMemory { .. } => {
                "Use a smaller --batch-size or --seq-len, or end other programs on this device."
            }
            BackendFailure::Fault { .. } => {
                "This process has lost the device: start again. If it fails again, run `tinyllama-tutor doctor`, and report this with the command you ran."
            }
            BackendFailure::Refused { .. } => {
                "Report this with the file and the compiler's version, which `tinyllama-tutor doctor` shows."
            }
        }
    }
}

/// Shortens `error` if it comes from a backend. The source of a refused kernel is stored in the user's cache.
pub fn explain(error: anyhow::Error) -> anyhow::Error {
    let typed = error.chain().any(|cause| {
        cause.is::<BackendFailure>() || cause.is::<DriverError>() || cause.is::<DeviceError>()
    });
    if typed {
        return error;
    }
    match read(&format!("{error:#}"), file::cached("refused").as_deref()) {
        Some(failure) => {
            let doing = error.to_string();
            let short = doing.lines().count() == 1 && !error.is::<Panicked>();
            let failure = anyhow::Error::new(failure);
            match short {
                true => failure.context(doing),
                false => failure,
            }
        }
        None => error,
    }
}

/// Recognises the failure in `text`. A source in it is stored in `folder`.
fn read(text: &str, folder: Option<&Path>) -> Option<BackendFailure> {
    if let Some(refused) = RefusedKernel::find(text) {
        return Some(refused.kept(folder));
    }
    // Covers messages of cubecl's pools, wgpu, CUDA and other drivers.
    let is_full = |line: &&str| {
        let line = line.to_lowercase();
        let phrase = "out of memory|outofmemory|out_of_memory|out of device memory|can't allocate";
        phrase.split('|').any(|phrase| line.contains(phrase))
    };
    if let Some(line) = text.lines().find(is_full) {
        let before = "Unknown error happened during execution: ";
        let message = line.trim().trim_start_matches(before);
        return Some(BackendFailure::OutOfMemory {
            message: message.into(),
        });
    }
    text.lines().find_map(|line| {
        let (number, message) = hip_status(line)?;
        Some(match number {
            OUT_OF_MEMORY => BackendFailure::OutOfMemory { message },
            _ => BackendFailure::Fault {
                message,
                kernel: launched(line),
            },
        })
    })
}

/// Reads the number in `hipMalloc failed with status 2`, as cubecl writes it, and the status's name.
fn hip_status(line: &str) -> Option<(u32, String)> {
    let (before, after) = line.split_once(" failed with status ")?;
    let call = before.rsplit(char::is_whitespace).next()?;
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    let number = digits.parse().ok().filter(|_| call.starts_with("hip"))?;
    let known = HIP_ERRORS.iter().find(|(known, _)| *known == number);
    let message = match known {
        Some((_, name)) => format!("{call} failed: hipError{name} ({number})"),
        None => format!("{call} failed: HIP error {number}"),
    };
    Some((number, message))
}

const OUT_OF_MEMORY: u32 = 2;

/// `hipError_t`, from `hip_runtime_api.h`: the codes that a working program meets.
const HIP_ERRORS: [(u32, &str); 21] = [
    (1, "InvalidValue"),
    (OUT_OF_MEMORY, "OutOfMemory"),
    (3, "NotInitialized"),
    (4, "Deinitialized"),
    (35, "InsufficientDriver"),
    (98, "InvalidDeviceFunction"),
    (100, "NoDevice"),
    (101, "InvalidDevice"),
    (200, "InvalidImage"),
    (209, "NoBinaryForGpu"),
    (214, "ECCNotCorrectable"),
    (400, "InvalidHandle"),
    (500, "NotFound"),
    (700, "IllegalAddress"),
    (701, "LaunchOutOfResources"),
    (702, "LaunchTimeOut"),
    (710, "Assert"),
    (719, "LaunchFailure"),
    (801, "NotSupported"),
    (900, "StreamCaptureUnsupported"),
    (999, "Unknown"),
];

/// Extracts `rmsnorm_forward` from `launching kernel KernelId { type: …::rmsnorm_forward::RmsnormForward, … }`.
fn launched(line: &str) -> Option<String> {
    let (_, id) = line.split_once("KernelId { type: ")?;
    let path = id.split([',', '<']).next()?.trim();
    let mut parts = path.rsplit("::");
    let last = parts.next()?;
    Some(parts.next().unwrap_or(last).to_owned())
}

/// A source that a run-time compiler refused, with the compiler's log.
struct RefusedKernel<'a> {
    log: &'a str,
    source: &'a str,
}

impl<'a> RefusedKernel<'a> {
    /// Finds `[Compilation Error] … [Source] … Backtrace:`, as cubecl writes it for hiprtc and for nvrtc.
    fn find(text: &'a str) -> Option<Self> {
        let (_, rest) = text.split_once("[Compilation Error]")?;
        let (log, rest) = rest.split_once("[Source]")?;
        let source = rest.split_once("\nBacktrace:");
        let source = source.map_or(rest, |(source, _)| source);
        Some(RefusedKernel {
            log,
            source: source.trim(),
        })
    }

    /// Returns the entry's name without its hash.
    fn name(&self) -> String {
        let entry = self.source.split("__global__").nth(1).and_then(|rest| {
            let rest = rest.trim_start().trim_start_matches("void").trim_start();
            let rest = match rest.strip_prefix("__launch_bounds__") {
                Some(bounds) => bounds.split_once(')')?.1.trim_start(),
                None => rest,
            };
            let rest = rest.trim_start_matches("void").trim_start();
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
            rest.get(..end).filter(|name| !name.is_empty())
        });
        let entry = entry.unwrap_or("without a name");
        match entry.rsplit_once('_') {
            Some((name, hash))
                if hash.len() == 8 && hash.chars().all(|c| c.is_ascii_hexdigit()) =>
            {
                name.to_owned()
            }
            _ => entry.to_owned(),
        }
    }

    fn kept(&self, folder: Option<&Path>) -> BackendFailure {
        let kernel = self.name();
        let lines = self.log.lines().map(|line| line.trim_matches(['\0', ' ']));
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let kept = match folder.map(|folder| self.write(folder, &kernel, &lines)) {
            Some(Ok(path)) => format!("Its source is in {}", path.display()),
            Some(Err(error)) => format!("Its source could not be kept: {error}"),
            None => "Its source could not be kept: there is no home folder".into(),
        };
        let mut log = match lines.is_empty() {
            true => "  without a message".to_owned(),
            false => {
                let first = lines.iter().take(LOG_LINES);
                itertools::join(first.map(|line| format!("  {line}")), "\n")
            }
        };
        if lines.len() > LOG_LINES {
            log += &format!("\n  … {} more lines, in the file", lines.len() - LOG_LINES);
        }
        BackendFailure::Refused { kernel, log, kept }
    }

    /// Writes the source and then the log, so that the log's line numbers match.
    fn write(&self, folder: &Path, kernel: &str, log: &[&str]) -> io::Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{kernel}.cpp"));
        let mut text = self.source.to_owned();
        text += "\n\n// What the compiler said:\n";
        for line in log {
            text += &format!("// {line}\n");
        }
        std::fs::write(&path, text)?;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    /// A message as cubecl-hip writes it, shortened in the middle.
    fn refusal(lines: usize) -> String {
        let log: String = (0..lines)
            .map(|line| {
                format!(
                    "\n    hip_source:{}:9: error: what is `nonsense{line}`?",
                    line + 3
                )
            })
            .collect();
        format!(
            "An error happened during execution\nCaused by:\n  An error caused the compilation to fail\nCaused by:\n  \
             [Compilation Error] {log}\n[Source]  \ntypedef unsigned int uint32_t;\nextern \"C\" __global__ void \
             __launch_bounds__(64) mean_of_9559bce8(float const* const __restrict__ v1) {{\nreturn;\n}}\n\nBacktrace:\nNo \
             backtrace available"
        )
    }

    #[test]
    fn a_refused_kernel_is_named_with_what_was_said_and_its_source_kept() {
        let folder = tempfile::tempdir().unwrap();
        let failure = read(&refusal(20), Some(folder.path())).unwrap();
        let shown = failure.to_string();
        insta::assert_snapshot!(shown.replace(&*folder.path().to_string_lossy(), "FOLDER"), @"
        the GPU's compiler refused kernel mean_of:
          hip_source:3:9: error: what is `nonsense0`?
          hip_source:4:9: error: what is `nonsense1`?
          hip_source:5:9: error: what is `nonsense2`?
          hip_source:6:9: error: what is `nonsense3`?
          hip_source:7:9: error: what is `nonsense4`?
          hip_source:8:9: error: what is `nonsense5`?
          hip_source:9:9: error: what is `nonsense6`?
          hip_source:10:9: error: what is `nonsense7`?
          hip_source:11:9: error: what is `nonsense8`?
          hip_source:12:9: error: what is `nonsense9`?
          hip_source:13:9: error: what is `nonsense10`?
          hip_source:14:9: error: what is `nonsense11`?
          … 8 more lines, in the file
        Its source is in FOLDER/mean_of.cpp
        ");
        let path = folder.path().join("mean_of.cpp");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(
            text.starts_with("typedef unsigned int uint32_t;\nextern"),
            "{text}"
        );
        assert!(
            text.contains("nonsense19") && !text.contains("Backtrace"),
            "{text}"
        );
    }

    #[test]
    fn a_source_that_cannot_be_kept_is_no_second_failure() {
        let folder = tempfile::tempdir().unwrap();
        let in_the_way = folder.path().join("file");
        std::fs::write(&in_the_way, "").unwrap();
        let shown = |folder| read(&refusal(0), folder).unwrap().to_string();
        insta::assert_snapshot!(shown(None), @"
        the GPU's compiler refused kernel mean_of:
          without a message
        Its source could not be kept: there is no home folder
        ");
        insta::assert_snapshot!(shown(Some(in_the_way.as_path())), @"
        the GPU's compiler refused kernel mean_of:
          without a message
        Its source could not be kept: File exists (os error 17)
        ");
    }

    #[test]
    fn codes_of_hip_get_their_names() {
        let memory = "Caused by:\n  Unknown error happened during execution: hipMalloc failed with status 2\nNo backtrace available";
        assert_eq!(
            read(memory, None),
            Some(BackendFailure::OutOfMemory {
                message: "hipMalloc failed: hipErrorOutOfMemory (2)".into()
            })
        );
        let launch = "Caused by:\n  hipModuleLaunchKernel failed with status 719, launching kernel KernelId { type: \
                      tinyllama_kernels::rmsnorm::kernels::rmsnorm_forward::RmsnormForward, address_type: U32 }\nBacktrace";
        let fault = |message: &str, kernel: Option<&str>| BackendFailure::Fault {
            message: message.into(),
            kernel: kernel.map(String::from),
        };
        let message = "hipModuleLaunchKernel failed: hipErrorLaunchFailure (719)";
        let failure = read(launch, None).unwrap();
        assert_eq!(failure, fault(message, Some("rmsnorm_forward")));
        let shown = failure.to_string();
        assert!(shown.contains("kernel rmsnorm_forward: "), "{shown}");
        assert!(shown.ends_with(message), "{shown}");
        let unknown = read("hipEventRecord failed with status 12345", None);
        let message = "hipEventRecord failed: HIP error 12345";
        assert_eq!(unknown, Some(fault(message, None)));
        let cubecl = "An IO error happened\nCaused by:\n  out of device memory allocating 4096 bytes\nNo backtrace";
        let cuda = r#"cuMemAlloc: DriverError(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")"#;
        for full in [cubecl, cuda] {
            let message = read(full, None);
            assert!(
                matches!(message, Some(BackendFailure::OutOfMemory { .. })),
                "{message:?}"
            );
        }
        assert_eq!(read("file status 2", None), None);
    }

    #[test]
    fn an_error_keeps_its_context_and_other_errors_stay_unchanged() {
        let step = "training step 1 failed on a GPU";
        let lost = explain(
            anyhow!(
                "The device is poisoned\nCaused by:\n  hipStreamSynchronize failed with status 719"
            )
            .context(step),
        );
        let fault = BackendFailure::Fault {
            message: "hipStreamSynchronize failed: hipErrorLaunchFailure (719)".into(),
            kernel: None,
        };
        assert_eq!(lost.downcast_ref(), Some(&fault));
        assert_eq!(format!("{lost:#}"), format!("{step}: {fault}"));
        let message = "hipMalloc failed with status 2";
        let driver = Err::<(), _>(DriverError::Invalid(message.into()));
        let kept = explain(driver.context("a step").unwrap_err());
        assert_eq!(format!("{kept:#}"), format!("a step: {message}"));
    }
}
