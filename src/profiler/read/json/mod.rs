//! rocprofv3's `*_results.json`.
//!
//! The file is streamed record by record; kernels and functions are known by number and named in tables that may come
//! before or after the records, so the records are joined with them at the end.

mod records;

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use self::records::{
    AllocationRecord, CallRecord, CopyRecord, CounterCollection, DispatchInfo, DispatchRecord,
    Document, Handle, Tool,
};
use super::bounded::LongestRun;
use super::damage::{Damage, DamageLog, Place};
use super::machine::add_agent;
use crate::profiler::model::{
    Allocation, ApiCall, CounterSample, Dispatch, Interval, Lane, MemoryCopy, NameId, ProcessId,
    Profile, Variant,
};
use crate::profiler::name;

/// Reads the whole document into `profile`; the number of records read.
pub fn read(
    path: &Path,
    input: impl Read,
    process: ProcessId,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let document: Document = serde_json::from_reader(LongestRun::new(input, b'"'))
        .map_err(|error| json_damage(path, &error))?;
    let mut records = 0;
    for tool in document.tools {
        records += Join::new(&tool, path, process, profile).add(tool, profile, log)?;
    }
    Ok(records)
}

/// Places an error of the JSON parser in its file.
pub fn json_damage(path: &Path, error: &serde_json::Error) -> Damage {
    let place = Place {
        column: Some(error.column() as u64),
        ..Place::line(path, error.line() as u64)
    };
    let hint = if error.is_eof() {
        " (the file was cut off: profile again, and let the program end by itself)"
    } else {
        ""
    };
    Damage::new(place, format!("{error}{hint}"))
}

struct Kernel {
    name: NameId,
    vgpr: Option<u32>,
    accum_vgpr: Option<u32>,
    sgpr: Option<u32>,
}

/// What records refer to by number.
struct Join<'a> {
    path: &'a Path,
    process: ProcessId,
    kernels: HashMap<u64, Kernel>,
    agents: HashMap<u64, u64>,
    counters: HashMap<u64, NameId>,
    /// Domain and functions by kind and operation.
    functions: Vec<(NameId, Vec<NameId>)>,
}

impl<'a> Join<'a> {
    fn new(tool: &Tool, path: &'a Path, process: ProcessId, profile: &mut Profile) -> Self {
        let kernels = tool.kernel_symbols.iter().map(|symbol| {
            let written = match symbol.formatted_kernel_name.as_str() {
                "" => &symbol.kernel_name,
                formatted => formatted,
            };
            let kernel = Kernel {
                name: profile.name_id(name::strip_suffix(written)),
                vgpr: symbol.arch_vgpr_count,
                accum_vgpr: symbol.accum_vgpr_count,
                sgpr: symbol.sgpr_count,
            };
            (symbol.kernel_id, kernel)
        });
        let kernels = kernels.collect();
        let agents = tool
            .agents
            .iter()
            .filter_map(|agent| Some((agent.id.handle, agent.logical_node_id.or(agent.node_id)?)));
        let counters = tool
            .counters
            .iter()
            .map(|counter| (counter.id.handle, profile.name_id(&counter.name)));
        let counters = counters.collect();
        let functions = tool.strings.buffer_records.iter().map(|kind| {
            let domain = profile.name_id(&kind.kind);
            let operations = kind.operations.iter().map(|name| profile.name_id(name));
            (domain, operations.collect())
        });
        Join {
            path,
            process,
            kernels,
            agents: agents.collect(),
            counters,
            functions: functions.collect(),
        }
    }

    fn add(self, tool: Tool, profile: &mut Profile, log: &mut DamageLog) -> Result<u64, Damage> {
        if !tool.metadata.command.is_empty() {
            profile.commands.push(tool.metadata.command.join(" "));
        }
        for agent in &tool.agents {
            add_agent(profile, agent.agent());
        }
        let buffers = tool.buffer_records;
        let mut records = 0;
        records += self.each("kernel_dispatch", buffers.kernel_dispatch, log, |record| {
            self.add_dispatch(record, profile)
        })?;
        let calls = [
            ("hip_api", buffers.hip_api),
            ("hsa_api", buffers.hsa_api),
            ("marker_api", buffers.marker_api),
            ("rccl_api", buffers.rccl_api),
        ];
        for (name, calls) in calls {
            records += self.each(name, calls, log, |record| self.add_call(record, profile))?;
        }
        records += self.each("memory_copy", buffers.memory_copy, log, |record| {
            self.add_copy(record, profile)
        })?;
        records += self.each(
            "memory_allocation",
            buffers.memory_allocation,
            log,
            |record| self.add_allocation(record, profile),
        )?;
        let collections = tool.callback_records.counter_collection;
        records += self.each("counter_collection", collections, log, |record| {
            self.add_counters(record, profile)
        })?;
        Ok(records)
    }

    /// Adds each record of an array; a damaged one is named by the array and its number in it.
    fn each<T>(
        &self,
        array: &str,
        records: Vec<T>,
        log: &mut DamageLog,
        mut add: impl FnMut(T) -> Result<(), String>,
    ) -> Result<u64, Damage> {
        let mut good = 0;
        for (at, record) in records.into_iter().enumerate() {
            match add(record) {
                Ok(()) => good += 1,
                Err(problem) => {
                    let place = Place {
                        name: Some(format!("{array}[{at}]")),
                        ..Place::file(self.path)
                    };
                    log.add(Damage::new(place, problem))?;
                }
            }
        }
        Ok(good)
    }

    fn lane(&self, agent: Option<Handle>, thread: Option<u64>) -> Lane {
        Lane {
            process: self.process,
            agent: agent.and_then(|agent| self.agents.get(&agent.handle).copied()),
            queue: None,
            stream: None,
            thread,
        }
    }

    fn variant(&self, info: &DispatchInfo, profile: &mut Profile) -> Variant {
        let kernel = self.kernels.get(&info.kernel_id);
        let name = match kernel {
            Some(kernel) => kernel.name,
            None => profile.name_id(&format!("kernel {}", info.kernel_id)),
        };
        Variant {
            kernel: name,
            workgroup: Some(info.workgroup_size.array()),
            grid: Some(info.grid_size.array()),
            lds: Some(info.group_segment_size),
            scratch: Some(info.private_segment_size),
            vgpr: kernel.and_then(|kernel| kernel.vgpr),
            accum_vgpr: kernel.and_then(|kernel| kernel.accum_vgpr),
            sgpr: kernel.and_then(|kernel| kernel.sgpr),
        }
    }

    fn add_dispatch(&self, record: DispatchRecord, profile: &mut Profile) -> Result<(), String> {
        let time = interval(record.start_timestamp, record.end_timestamp)?;
        let info = &record.dispatch_info;
        let variant = self.variant(info, profile);
        let lane = Lane {
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
        let domain = match kind {
            Some((domain, _)) => *domain,
            None => profile.name_id(&format!("kind {}", call.kind)),
        };
        let function = kind.and_then(|(_, operations)| operations.get(call.operation));
        let function = match function {
            Some(function) => *function,
            None => profile.name_id(&format!("operation {}", call.operation)),
        };
        (domain, function)
    }

    fn add_call(&self, call: CallRecord, profile: &mut Profile) -> Result<(), String> {
        let time = interval(call.start_timestamp, call.end_timestamp)?;
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
        let time = interval(call.start_timestamp, call.end_timestamp)?;
        let copy = MemoryCopy {
            lane: profile.lane_id(self.lane(Some(record.dst_agent_id), call.thread_id)),
            direction: self.function(&call, profile).1,
            source: self.agents.get(&record.src_agent_id.handle).copied(),
            destination: self.agents.get(&record.dst_agent_id.handle).copied(),
            bytes: record.bytes,
            correlation: Some(call.correlation_id.internal),
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
        let time = interval(call.start_timestamp, call.end_timestamp)?;
        let allocation = Allocation {
            operation: self.function(&call, profile).1,
            lane: profile.lane_id(self.lane(Some(record.agent_id), call.thread_id)),
            bytes: record.allocation_size,
            address: None,
            time,
        };
        profile.allocations.push(allocation);
        Ok(())
    }

    /// A counter has one record for each instance of its hardware block: the value of a dispatch is their sum.
    fn add_counters(&self, record: CounterCollection, profile: &mut Profile) -> Result<(), String> {
        let data = record.dispatch_data;
        let time = match (data.start_timestamp, data.end_timestamp) {
            (0, 0) => None,
            (start, end) => Some(interval(start, end)?),
        };
        let mut variant = self.variant(&data.dispatch_info, profile);
        variant.vgpr = variant.vgpr.or(record.arch_vgpr_count);
        variant.sgpr = variant.sgpr.or(record.sgpr_count);
        let variant = profile.variant_id(variant);
        let lane = Lane {
            queue: Some(data.dispatch_info.queue_id.handle),
            ..self.lane(Some(data.dispatch_info.agent_id), record.thread_id)
        };
        let lane = profile.lane_id(lane);
        let mut sums: Vec<(NameId, f64)> = Vec::new();
        for value in &record.records {
            let id = value.counter_id.handle;
            let counter = match self.counters.get(&id) {
                Some(counter) => *counter,
                None => profile.name_id(&format!("counter {id}")),
            };
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

fn interval(start: i64, end: i64) -> Result<Interval, String> {
    Interval::new(start, end)
        .ok_or_else(|| format!("ends {} ns before it starts", start.abs_diff(end)))
}
