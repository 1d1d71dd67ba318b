//! Reads rocprofv3's `*_results.json`.
//!
//! Records refer to kernels and functions by number. Tables with the names may come before or after the records, so the
//! two are joined at the end.

mod records;

use std::collections::HashMap;

use self::records::{
    AllocationRecord, CallRecord, CopyRecord, CounterCollection, DispatchInfo, DispatchRecord,
    RecordHandle, Rocprofv3Document, ToolRecords,
};
use super::ProfileFormat;
use crate::model::{
    ApiCall, CounterSample, Dispatch, LaunchVariant, MemoryAllocation, MemoryCopy, NameId,
    ProcessId, Profile, TraceLane,
};
use crate::name;
use crate::read::damage::Damage;
use crate::read::fields::time_span;
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprofv3 results (JSON)",
    recognises: |file| file.has_keys(&["rocprofiler-sdk-tool"]),
    read,
};

/// Brackets around a record: the document, the tools, one tool, its buffers, and a list of records.
const RECORDS: usize = 5;

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let process = reading.process();
    let document: Rocprofv3Document = reading.json(RECORDS)?;
    let mut records = 0;
    for tool in document.tools {
        records += Join::new(&tool, process, reading.profile).add(tool, reading)?;
    }
    Ok(records)
}

/// Everything that records refer to by number.
struct Join {
    process: ProcessId,
    /// Facts about a kernel that are known before its launch.
    kernels: HashMap<u64, LaunchVariant>,
    agents: HashMap<u64, u64>,
    counters: HashMap<u64, NameId>,
    /// Domain and functions by kind and operation.
    functions: Vec<(NameId, Vec<NameId>)>,
}

impl Join {
    fn new(tool: &ToolRecords, process: ProcessId, profile: &mut Profile) -> Self {
        let kernels = tool.kernel_symbols.iter().map(|symbol| {
            let written = match symbol.formatted_kernel_name.as_str() {
                "" => &symbol.kernel_name,
                formatted => formatted,
            };
            let kernel = LaunchVariant {
                vgpr: symbol.arch_vgpr_count,
                accum_vgpr: symbol.accum_vgpr_count,
                sgpr: symbol.sgpr_count,
                ..LaunchVariant::unknown(profile.name_id(name::strip_suffix(written)))
            };
            (symbol.kernel_id, kernel)
        });
        let kernels = kernels.collect();
        let agents = tool.agents.iter();
        let agents = agents
            .filter_map(|agent| Some((agent.id.handle, agent.logical_node_id.or(agent.node_id)?)));
        let counters = tool.counters.iter();
        let counters = counters.map(|it| (it.id.handle, profile.name_id(&it.name)));
        let counters = counters.collect();
        let functions = tool.strings.buffer_records.iter().map(|kind| {
            let domain = profile.name_id(&kind.kind);
            let operations = kind.operations.iter().map(|name| profile.name_id(name));
            (domain, operations.collect())
        });
        Join {
            process,
            kernels,
            agents: agents.collect(),
            counters,
            functions: functions.collect(),
        }
    }

    fn add(self, tool: ToolRecords, reading: &mut FileImport<'_>) -> Result<u64, Damage> {
        if !tool.metadata.command.is_empty() {
            let command = tool.metadata.command.join(" ");
            reading.profile.commands.push(command);
        }
        for agent in &tool.agents {
            reading.profile.add_agent(agent.agent());
        }
        let buffers = tool.buffer_records;
        let mut records = 0;
        let dispatches = buffers.kernel_dispatch;
        records +=
            self.for_each_record("kernel_dispatch", dispatches, reading, Join::add_dispatch)?;
        for (name, calls) in [
            ("hip_api", buffers.hip_api),
            ("hsa_api", buffers.hsa_api),
            ("marker_api", buffers.marker_api),
            ("rccl_api", buffers.rccl_api),
        ] {
            records += self.for_each_record(name, calls, reading, Join::add_call)?;
        }
        records +=
            self.for_each_record("memory_copy", buffers.memory_copy, reading, Join::add_copy)?;
        let (name, allocations) = ("memory_allocation", buffers.memory_allocation);
        records += self.for_each_record(name, allocations, reading, Join::add_allocation)?;
        let counters = tool.callback_records.counter_collection;
        records +=
            self.for_each_record("counter_collection", counters, reading, Join::add_counters)?;
        Ok(records)
    }

    fn for_each_record<T>(
        &self,
        array: &str,
        records: Vec<T>,
        reading: &mut FileImport<'_>,
        add: fn(&Self, T, &mut Profile) -> Result<(), String>,
    ) -> Result<u64, Damage> {
        let mut good = 0;
        for (at, record) in records.into_iter().enumerate() {
            match add(self, record, reading.profile) {
                Ok(()) => good += 1,
                Err(problem) => reading.damaged_record(array, at, problem)?,
            }
        }
        Ok(good)
    }

    fn lane(&self, agent: Option<RecordHandle>, thread: Option<u64>) -> TraceLane {
        TraceLane {
            process: self.process,
            agent: agent.and_then(|agent| self.agents.get(&agent.handle).copied()),
            thread,
            ..TraceLane::default()
        }
    }

    fn variant(&self, info: &DispatchInfo, profile: &mut Profile) -> LaunchVariant {
        let kernel = self.kernels.get(&info.kernel_id).copied();
        let unnamed =
            || LaunchVariant::unknown(profile.name_id(&format!("kernel {}", info.kernel_id)));
        LaunchVariant {
            workgroup: Some(info.workgroup_size.array()),
            grid: Some(info.grid_size.array()),
            lds: Some(info.group_segment_size),
            ..kernel.unwrap_or_else(unnamed)
        }
    }

    fn add_dispatch(&self, record: DispatchRecord, profile: &mut Profile) -> Result<(), String> {
        let time = time_span(record.start_timestamp, record.end_timestamp)?;
        let info = &record.dispatch_info;
        let variant = self.variant(info, profile);
        let lane = TraceLane {
            queue: Some(info.queue_id.handle),
            stream: record.stream_id.map(|stream| stream.handle),
            ..self.lane(Some(info.agent_id), record.thread_id)
        };
        let dispatch = Dispatch {
            variant: profile.variant_id(variant),
            lane: profile.lane_id(lane),
            id: Some(info.dispatch_id),
            correlation: Some(record.correlation_id.internal),
            time: Some(time),
        };
        profile.dispatches.push(dispatch);
        Ok(())
    }

    fn function(&self, call: &CallRecord, profile: &mut Profile) -> (NameId, NameId) {
        let kind = self.functions.get(call.kind);
        let unnamed = |profile: &mut Profile| profile.name_id(&format!("kind {}", call.kind));
        let domain = kind.map_or_else(|| unnamed(profile), |(domain, _)| *domain);
        let function = kind.and_then(|(_, operations)| operations.get(call.operation));
        let unnamed = || profile.name_id(&format!("operation {}", call.operation));
        (domain, function.copied().unwrap_or_else(unnamed))
    }

    fn add_call(&self, call: CallRecord, profile: &mut Profile) -> Result<(), String> {
        let time = time_span(call.start_timestamp, call.end_timestamp)?;
        let (domain, function) = self.function(&call, profile);
        let call = ApiCall {
            domain,
            function,
            lane: profile.lane_id(self.lane(None, call.thread_id)),
            correlation: Some(call.correlation_id.internal),
            time,
        };
        profile.calls.push(call);
        Ok(())
    }

    fn add_copy(&self, record: CopyRecord, profile: &mut Profile) -> Result<(), String> {
        let call = record.call;
        let time = time_span(call.start_timestamp, call.end_timestamp)?;
        let copy = MemoryCopy {
            lane: profile.lane_id(self.lane(Some(record.dst_agent_id), call.thread_id)),
            direction: self.function(&call, profile).1,
            source: self.agents.get(&record.src_agent_id.handle).copied(),
            destination: self.agents.get(&record.dst_agent_id.handle).copied(),
            bytes: record.bytes,
            time,
        };
        profile.copies.push(copy);
        Ok(())
    }

    fn add_allocation(
        &self,
        record: AllocationRecord,
        profile: &mut Profile,
    ) -> Result<(), String> {
        let call = record.call;
        let time = time_span(call.start_timestamp, call.end_timestamp)?;
        let allocation = MemoryAllocation {
            operation: self.function(&call, profile).1,
            lane: profile.lane_id(self.lane(Some(record.agent_id), call.thread_id)),
            time,
        };
        profile.allocations.push(allocation);
        Ok(())
    }

    /// A counter has one record for each instance of its hardware block. The value of a dispatch is their sum.
    fn add_counters(&self, record: CounterCollection, profile: &mut Profile) -> Result<(), String> {
        let data = record.dispatch_data;
        let time = match (data.start_timestamp, data.end_timestamp) {
            (0, 0) => None,
            (start, end) => Some(time_span(start, end)?),
        };
        let mut variant = self.variant(&data.dispatch_info, profile);
        variant.vgpr = variant.vgpr.or(record.arch_vgpr_count);
        variant.sgpr = variant.sgpr.or(record.sgpr_count);
        let variant = profile.variant_id(variant);
        let lane = TraceLane {
            queue: Some(data.dispatch_info.queue_id.handle),
            ..self.lane(Some(data.dispatch_info.agent_id), record.thread_id)
        };
        let lane = profile.lane_id(lane);
        let mut sums: Vec<(NameId, f64)> = Vec::new();
        for value in &record.records {
            let id = value.counter_id.handle;
            let unnamed = || profile.name_id(&format!("counter {id}"));
            let counter = self.counters.get(&id).copied().unwrap_or_else(unnamed);
            match sums.iter_mut().find(|(known, _)| *known == counter) {
                Some((_, sum)) => *sum += value.value,
                None => sums.push((counter, value.value)),
            }
        }
        let samples = sums.into_iter().map(|(counter, value)| CounterSample {
            variant,
            lane,
            dispatch: Some(data.dispatch_info.dispatch_id),
            counter,
            value,
            time,
        });
        profile.counters.extend(samples);
        Ok(())
    }
}
