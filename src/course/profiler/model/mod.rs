//! A profile in memory, whichever tool and format it came from.
//!
//! Names and launch shapes repeat a million times over, so they are interned: a dispatch is 64 bytes, and a trace of a
//! million rows fits in well under 100 MB.

mod interned;
mod records;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use self::interned::Interned;
pub use self::records::{
    Agent, Allocation, ApiCall, CounterSample, Dispatch, InstructionSamples, Interval, Lane,
    MeasuredCeiling, MemoryCopy, Metric, Pass, Process, Region, Statistic, StatisticKind, Variant,
};

/// A string of [`Profile::names`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u32);

/// A launch shape of [`Profile::variants`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariantId(u32);

/// A place work runs in, of [`Profile::lanes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(u32);

/// A program run of [`Profile::processes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(u32);

/// Everything read from one file or folder.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// What was profiled, where a file says so.
    pub commands: Vec<String>,
    pub dispatches: Vec<Dispatch>,
    pub copies: Vec<MemoryCopy>,
    pub calls: Vec<ApiCall>,
    pub allocations: Vec<Allocation>,
    pub counters: Vec<CounterSample>,
    pub statistics: Vec<Statistic>,
    pub regions: Vec<Region>,
    pub agents: Vec<Agent>,
    pub ceilings: Vec<MeasuredCeiling>,
    pub metrics: Vec<Metric>,
    pub instructions: Vec<InstructionSamples>,
    /// What rocprof-compute says about the machine, by its own keys.
    pub system: BTreeMap<String, String>,
    /// What a reader should know about the figures.
    pub notes: Vec<String>,
    /// The files it was read from.
    pub sources: Vec<PathBuf>,
    names: Interned<Arc<str>>,
    variants: Interned<Variant>,
    lanes: Interned<Lane>,
    processes: Interned<Process>,
}

impl Profile {
    /// Whether it holds single launches, calls, copies or counters, and not only sums of them.
    pub fn has_records(&self) -> bool {
        !(self.dispatches.is_empty()
            && self.calls.is_empty()
            && self.copies.is_empty()
            && self.allocations.is_empty()
            && self.counters.is_empty())
    }

    pub fn name_id(&mut self, name: &str) -> NameId {
        NameId(self.names.number_of(name, |name| name.into()))
    }

    pub fn variant_id(&mut self, variant: Variant) -> VariantId {
        VariantId(self.variants.number_of(&variant, Variant::clone))
    }

    pub fn lane_id(&mut self, lane: Lane) -> LaneId {
        LaneId(self.lanes.number_of(&lane, Lane::clone))
    }

    pub fn process_id(&mut self, label: &str, pass: Option<Pass>) -> ProcessId {
        let process = Process {
            label: label.to_owned(),
            pass,
        };
        ProcessId(self.processes.number_of(&process, Process::clone))
    }

    /// Rows of the profilers' summaries of a kind, of processes of which `recorded` has no single record.
    pub fn only_summarised(
        &self,
        kind: StatisticKind,
        recorded: impl Iterator<Item = LaneId>,
    ) -> impl Iterator<Item = (&Statistic, &str)> {
        // By name: several passes are one process.
        let label = |id| self.process(id).label.as_str();
        let known: HashSet<&str> = recorded
            .map(|lane| label(self.lane(lane).process))
            .collect();
        self.summary(kind)
            .filter_map(move |row| Some((row, label(row.process?))))
            .filter(move |(_, label)| !known.contains(label))
    }

    pub fn name(&self, id: NameId) -> &str {
        &self.names.values[id.0 as usize]
    }

    pub fn variant(&self, id: VariantId) -> &Variant {
        &self.variants.values[id.0 as usize]
    }

    pub fn lane(&self, id: LaneId) -> &Lane {
        &self.lanes.values[id.0 as usize]
    }

    pub fn process(&self, id: ProcessId) -> &Process {
        &self.processes.values[id.0 as usize]
    }

    pub fn lane_ids(&self) -> impl Iterator<Item = LaneId> {
        (0..self.lanes.values.len() as u32).map(LaneId)
    }

    /// What tells the launch of a sample from others. Within a replay the number of the dispatch does; a table of several
    /// replays has it once for each, with another time.
    pub fn launch_of(&self, sample: &CounterSample) -> (ProcessId, Option<u64>, Option<i64>) {
        let process = self.lane(sample.lane).process;
        let is_numbered = self.process(process).pass.is_some() && sample.dispatch.is_some();
        let start = sample.time.map(|time| time.start);
        (process, sample.dispatch, start.filter(|_| !is_numbered))
    }

    pub fn processes(&self) -> &[Process] {
        &self.processes.values
    }

    /// Name of the kernel a dispatch ran, as the profiler wrote it.
    pub fn kernel_name(&self, variant: VariantId) -> &str {
        self.name(self.variant(variant).kernel)
    }

    /// The device with the profiler's number `number`.
    pub fn agent(&self, number: u64) -> Option<&Agent> {
        self.agents
            .iter()
            .find(|agent| agent.number == Some(number))
    }

    /// Every process of a run writes the same devices: each is kept once.
    pub fn add_agent(&mut self, agent: Agent) {
        let known = agent.number.and_then(|number| self.agent(number));
        if known.is_none() {
            self.agents.push(agent);
        }
    }

    /// The device a lane ran on; the only GPU there is, where the lane does not say.
    pub fn gpu_of(&self, lane: LaneId) -> Option<&Agent> {
        let named = self.lane(lane).agent.and_then(|number| self.agent(number));
        named.filter(|agent| agent.gpu).or_else(|| {
            let mut gpus = self.agents.iter().filter(|agent| agent.gpu);
            gpus.next().filter(|_| gpus.next().is_none())
        })
    }

    /// The launches that have a usable time.
    pub fn timed(&self) -> impl Iterator<Item = (&Dispatch, Interval)> {
        let launches = self.dispatches.iter();
        launches.filter_map(|launch| Some((launch, launch.time?)))
    }

    /// What a profiler summed up of one kind.
    pub fn summary(&self, kind: StatisticKind) -> impl Iterator<Item = &Statistic> {
        self.statistics.iter().filter(move |row| row.kind == kind)
    }

    /// Whether a launch has a usable time.
    pub fn is_timed(&self) -> bool {
        self.timed().next().is_some()
    }

    /// Whether anything at all was read.
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
