//! Single records of what happened on the machine, and figures that a tool derived from them.

use serde::Serialize;
use tinyllama_base::units::Percentage;

use super::{LaneId, NameId, ProcessId, VariantId};

/// Start and end in nanoseconds of the profiler's clock. The end is never before the start, and differences fit in `i64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    pub start: i64,
    pub end: i64,
}

impl TimeSpan {
    /// 146 years.
    const FARTHEST: i64 = 1 << 62;

    /// Returns `None` if the end is before the start, or if one is too far from 0 for differences.
    pub fn new(start: i64, end: i64) -> Option<Self> {
        let is_near = |time: i64| (-Self::FARTHEST..Self::FARTHEST).contains(&time);
        (end >= start && is_near(start) && is_near(end)).then_some(TimeSpan { start, end })
    }

    /// Nanoseconds.
    pub fn duration(&self) -> u64 {
        self.end.abs_diff(self.start)
    }
}

/// How a kernel was launched. `None` means that the format does not have the figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaunchVariant {
    pub kernel: NameId,
    /// Work-items in a workgroup. Formats with a single figure put it first.
    pub workgroup: Option<[u32; 3]>,
    /// Work-items (not workgroups) of the launch. Formats with a single figure put it first.
    pub grid: Option<[u64; 3]>,
    /// Bytes of local data share a workgroup.
    pub lds: Option<u32>,
    /// Vector registers a work-item.
    pub vgpr: Option<u32>,
    /// Accumulation registers of the matrix cores a work-item.
    pub accum_vgpr: Option<u32>,
    /// Scalar registers a wave.
    pub sgpr: Option<u32>,
}

impl LaunchVariant {
    /// A launch with a known name and nothing else.
    pub fn unknown(kernel: NameId) -> Self {
        LaunchVariant {
            kernel,
            ..LaunchVariant::default()
        }
    }

    pub fn workgroup_size(&self) -> Option<u64> {
        self.workgroup
            .map(|w| w.iter().map(|&n| u64::from(n.max(1))).product())
    }
}

/// A sequence of work: a device's queue or stream, or a host thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TraceLane {
    pub process: ProcessId,
    /// The profiler's number of the device.
    pub agent: Option<u64>,
    pub queue: Option<u64>,
    pub stream: Option<u64>,
    /// Host thread that launched the work.
    pub thread: Option<u64>,
}

/// One execution of a program: a rank, or a replay that collected other counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProfiledProcess {
    /// Label that the profiler gave its files, usually host and process id.
    pub label: String,
    /// The folder of its files. Two runs may have the same label.
    pub folder: String,
    /// The replay of the program, if the profiler made several.
    pub pass: Option<ReplayPass>,
}

/// One of several replays of a program, each with other counters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplayPass {
    /// The folder that contains all replays of the program.
    pub workload: String,
    /// The profiler's name for the replay: `pass_1`, `pmc_perf_0`.
    pub name: String,
}

#[derive(Clone, Copy, Debug)]
pub struct Dispatch {
    pub variant: VariantId,
    pub lane: LaneId,
    /// The profiler's number of the dispatch. `None` in formats without one.
    pub id: Option<u64>,
    /// Number that connects a dispatch with the API call that made it.
    pub correlation: Option<u64>,
    /// `None` if the file has no usable time stamps.
    pub time: Option<TimeSpan>,
}

#[derive(Clone, Copy, Debug)]
pub struct MemoryCopy {
    pub lane: LaneId,
    /// The direction by the name that the profiler gives it, such as `MEMORY_COPY_HOST_TO_DEVICE`.
    pub direction: NameId,
    pub source: Option<u64>,
    pub destination: Option<u64>,
    /// `None` in CSV, which has no sizes.
    pub bytes: Option<u64>,
    pub time: TimeSpan,
}

/// A host call into a library, or a marker of the program.
#[derive(Clone, Copy, Debug)]
pub struct ApiCall {
    pub domain: NameId,
    pub function: NameId,
    pub lane: LaneId,
    pub correlation: Option<u64>,
    pub time: TimeSpan,
}

/// Returns whether a domain has the markers of programs (ROCTx), not calls of a library.
pub fn is_marker_domain(domain: &str) -> bool {
    let domain = domain.to_ascii_uppercase();
    domain.contains("MARKER") || domain.contains("ROCTX")
}

#[derive(Clone, Copy, Debug)]
pub struct MemoryAllocation {
    pub operation: NameId,
    pub lane: LaneId,
    pub time: TimeSpan,
}

/// A hardware counter's value for one dispatch.
#[derive(Clone, Copy, Debug)]
pub struct CounterSample {
    pub variant: VariantId,
    pub lane: LaneId,
    pub dispatch: Option<u64>,
    pub counter: NameId,
    pub value: f64,
    /// Time of the dispatch. Collecting counters slows it down.
    pub time: Option<TimeSpan>,
}

/// The subject of a summary table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatisticKind {
    Kernel,
    Api,
    MemoryCopy,
    MemoryAllocation,
    Domain,
}

/// A row of a summary that the profiler computed.
#[derive(Clone, Copy, Debug)]
pub struct ProfilerStatistic {
    pub kind: StatisticKind,
    /// The process that the file is about.
    pub process: ProcessId,
    pub name: NameId,
    pub calls: u64,
    pub total_ns: f64,
    pub min_ns: Option<f64>,
    pub max_ns: Option<f64>,
}

/// A node of the call tree of rocprof-sys, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRegion {
    pub label: String,
    pub thread: Option<u64>,
    pub depth: u32,
    pub calls: u64,
    pub total_s: f64,
    /// Part of the node's time that was not spent in nodes below it.
    pub self_percent: Option<Percentage>,
}

/// A device that the profiler saw.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agent {
    /// The number by which dispatches refer to it. `None` if the tool describes a GPU without that number.
    pub number: Option<u64>,
    pub gpu: bool,
    /// `gfx942` for a GPU.
    pub name: String,
    pub compute_units: Option<u64>,
}

/// A ceiling that rocprof-compute measured with its own micro-benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCeiling {
    pub device: u64,
    /// The name in the file: `HBMBw`, `MFMABF16Flops`, ….
    pub name: String,
    /// GB/s for bandwidths, otherwise GFLOP/s or GOP/s.
    pub value: f64,
}

impl MeasuredCeiling {
    pub fn is_bandwidth(&self) -> bool {
        self.name.ends_with("Bw")
    }

    pub fn unit(&self) -> &'static str {
        if self.is_bandwidth() {
            "GB/s"
        } else {
            "GFLOP/s"
        }
    }
}

/// A figure that rocprof-compute derived.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProfilerMetric {
    /// Name of the workload, in files that may have several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Table of the metric: `System Speed-of-Light`, ….
    pub table: String,
    pub name: String,
    /// `None` if the tool printed `N/A`.
    pub value: Option<f64>,
    pub unit: String,
    pub peak: Option<f64>,
    pub percent_of_peak: Option<Percentage>,
    pub kernel: Option<String>,
}

/// Samples of the program counter at one instruction, in one state, or cycles that a thread trace found there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InstructionSamples {
    /// `None` if the file does not say.
    pub kernel: Option<NameId>,
    pub code_object: Option<u64>,
    /// Address within the code object.
    pub address: Option<u64>,
    pub instruction: NameId,
    /// `FILE:LINE`. `None` in code without line numbers.
    pub line: Option<NameId>,
    /// Why the wave could not issue the instruction. `None` if it did, or if the samples do not say.
    pub stall: Option<NameId>,
    /// Number of samples, or of cycles.
    pub samples: u64,
    /// How often the traced waves executed it. `None` if these are samples.
    pub executed: Option<u64>,
}
