//! A profile in memory, from any tool and format.
//!
//! Names and launch shapes repeat a million times, so they are interned. A dispatch takes 64 bytes, and a trace of a
//! million rows fits into less than 100 MB.

mod records;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use indexmap::IndexSet;
use itertools::Itertools as _;

pub use self::records::{
    Agent, ApiCall, CallRegion, CounterSample, Dispatch, InstructionSamples, LaunchVariant,
    MeasuredCeiling, MemoryAllocation, MemoryCopy, ProfiledProcess, ProfilerMetric,
    ProfilerStatistic, ReplayPass, StatisticKind, TimeSpan, TraceLane, is_marker_domain,
};

/// Index of a string in `Profile::names`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u32);

/// Index of a launch shape in `Profile::variants`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariantId(u32);

/// Index of an execution lane in `Profile::lanes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(u32);

/// Index of a program run in [`Profile::processes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(u32);

/// Everything read from one file or folder.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The profiled command lines, if a file has them.
    pub commands: Vec<String>,
    pub dispatches: Vec<Dispatch>,
    pub copies: Vec<MemoryCopy>,
    pub calls: Vec<ApiCall>,
    pub allocations: Vec<MemoryAllocation>,
    pub counters: Vec<CounterSample>,
    pub statistics: Vec<ProfilerStatistic>,
    pub regions: Vec<CallRegion>,
    pub agents: Vec<Agent>,
    pub ceilings: Vec<MeasuredCeiling>,
    pub metrics: Vec<ProfilerMetric>,
    pub instructions: Vec<InstructionSamples>,
    /// Facts about the machine from rocprof-compute, under its own keys.
    pub system: BTreeMap<String, String>,
    /// Notes that a reader of the figures should know.
    pub notes: Vec<String>,
    /// Names of the runs, by process. Empty if all files are of one run.
    pub runs: BTreeMap<ProcessId, String>,
    names: IndexSet<Arc<str>>,
    variants: IndexSet<LaunchVariant>,
    lanes: IndexSet<TraceLane>,
    processes: IndexSet<ProfiledProcess>,
}

impl Profile {
    /// Returns whether the profile has single launches, calls, copies or counters, and not only sums.
    pub fn has_records(&self) -> bool {
        !(self.dispatches.is_empty()
            && self.calls.is_empty()
            && self.copies.is_empty()
            && self.allocations.is_empty()
            && self.counters.is_empty())
    }

    pub fn name_id(&mut self, name: &str) -> NameId {
        let known = self.names.get_index_of(name);
        NameId(known.unwrap_or_else(|| self.names.insert_full(name.into()).0) as u32)
    }

    pub fn variant_id(&mut self, variant: LaunchVariant) -> VariantId {
        VariantId(self.variants.insert_full(variant).0 as u32)
    }

    pub fn lane_id(&mut self, lane: TraceLane) -> LaneId {
        LaneId(self.lanes.insert_full(lane).0 as u32)
    }

    /// `folder` tells processes apart that have the same label.
    pub fn process_id(&mut self, label: &str, folder: &str, pass: Option<ReplayPass>) -> ProcessId {
        let process = ProfiledProcess {
            label: label.to_owned(),
            folder: folder.to_owned(),
            pass,
        };
        ProcessId(self.processes.insert_full(process).0 as u32)
    }

    /// Rows of the profilers' summaries of a kind, for processes without a single record in `recorded`.
    pub fn only_summarised(
        &self,
        kind: StatisticKind,
        recorded: impl Iterator<Item = LaneId>,
    ) -> impl Iterator<Item = &ProfilerStatistic> {
        // Processes are compared by name, because several passes are one process.
        let name = |id| {
            let process = self.process(id);
            (process.label.as_str(), process.folder.as_str())
        };
        let known: HashSet<(&str, &str)> =
            recorded.map(|lane| name(self.lane(lane).process)).collect();
        self.summary(kind)
            .filter(move |row| !known.contains(&name(row.process)))
    }

    /// As [`Profile::only_summarised`], but with all rows if nothing is recorded.
    pub fn summarised_besides(
        &self,
        kind: StatisticKind,
        recorded: impl Iterator<Item = LaneId>,
    ) -> Vec<&ProfilerStatistic> {
        let mut recorded = recorded.peekable();
        if recorded.peek().is_none() {
            return self.summary(kind).collect();
        }
        self.only_summarised(kind, recorded).collect()
    }

    pub fn name(&self, id: NameId) -> &str {
        &self.names[id.0 as usize]
    }

    pub fn variant(&self, id: VariantId) -> &LaunchVariant {
        &self.variants[id.0 as usize]
    }

    pub fn lane(&self, id: LaneId) -> &TraceLane {
        &self.lanes[id.0 as usize]
    }

    pub fn process(&self, id: ProcessId) -> &ProfiledProcess {
        &self.processes[id.0 as usize]
    }

    /// Label of a process, with its folder if another process has the same label.
    pub fn process_label(&self, id: ProcessId) -> String {
        let own = self.process(id);
        let is_namesake =
            |other: &ProfiledProcess| other.label == own.label && other.folder != own.folder;
        match self.processes().any(is_namesake) {
            true => {
                let folder = own.folder.rsplit('/').next().unwrap_or_default();
                format!("{folder}/{}", own.label)
            }
            false => own.label.clone(),
        }
    }

    /// Name of the run that a process belongs to. `None` if all files are of one run.
    pub fn run_of(&self, process: ProcessId) -> Option<&str> {
        self.runs.get(&process).map(String::as_str)
    }

    /// Returns whether several processes had work on a device or called a library.
    pub fn has_several_processes(&self) -> bool {
        let mut processes = self.lanes.iter().map(|lane| lane.process);
        !processes.all_equal()
    }

    pub fn lane_ids(&self) -> impl Iterator<Item = LaneId> {
        (0..self.lanes.len() as u32).map(LaneId)
    }

    /// Identifies the launch of a sample. Within a replay the dispatch number is enough. A table of several replays
    /// repeats each number with another time.
    pub fn launch_of(&self, sample: &CounterSample) -> (ProcessId, Option<u64>, Option<i64>) {
        let process = self.lane(sample.lane).process;
        let is_numbered = self.process(process).pass.is_some() && sample.dispatch.is_some();
        let start = sample.time.map(|time| time.start);
        (process, sample.dispatch, start.filter(|_| !is_numbered))
    }

    pub fn processes(&self) -> impl Iterator<Item = &ProfiledProcess> {
        self.processes.iter()
    }

    /// Name of a dispatch's kernel, as the profiler wrote it.
    pub fn kernel_name(&self, variant: VariantId) -> &str {
        self.name(self.variant(variant).kernel)
    }

    /// Finds the device with the profiler's number `number`.
    pub fn agent(&self, number: u64) -> Option<&Agent> {
        self.agents
            .iter()
            .find(|agent| agent.number == Some(number))
    }

    /// Adds a device once. Every process of a run writes the same devices.
    pub fn add_agent(&mut self, agent: Agent) {
        let known = agent.number.and_then(|number| self.agent(number));
        if known.is_none() {
            self.agents.push(agent);
        }
    }

    /// Returns the device of a lane. If the lane names none, returns the only GPU there is.
    pub fn gpu_of(&self, lane: LaneId) -> Option<&Agent> {
        let named = self.lane(lane).agent.and_then(|number| self.agent(number));
        named.filter(|agent| agent.gpu).or_else(|| {
            let mut gpus = self.agents.iter().filter(|agent| agent.gpu);
            gpus.next().filter(|_| gpus.next().is_none())
        })
    }

    /// The launches that have a usable time.
    pub fn timed(&self) -> impl Iterator<Item = (&Dispatch, TimeSpan)> {
        let launches = self.dispatches.iter();
        launches.filter_map(|launch| Some((launch, launch.time?)))
    }

    /// Rows of one kind in the profiler's summaries.
    pub fn summary(&self, kind: StatisticKind) -> impl Iterator<Item = &ProfilerStatistic> {
        self.statistics.iter().filter(move |row| row.kind == kind)
    }

    /// Returns whether any launch has a usable time.
    pub fn is_timed(&self) -> bool {
        self.timed().next().is_some()
    }

    /// Returns whether nothing was read.
    pub fn is_empty(&self) -> bool {
        !self.has_records()
            && self.statistics.is_empty()
            && self.regions.is_empty()
            && self.agents.is_empty()
            && self.ceilings.is_empty()
            && self.metrics.is_empty()
            && self.instructions.is_empty()
            && self.system.is_empty()
    }
}
