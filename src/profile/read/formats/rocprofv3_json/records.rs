//! The parts of the document that are read, in the tool's form. Everything else is skipped.

use serde::Deserialize;
use serde_json::Value;

use crate::model::Agent;

#[derive(Deserialize)]
pub struct Rocprofv3Document {
    #[serde(rename = "rocprofiler-sdk-tool")]
    pub tools: Vec<ToolRecords>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ToolRecords {
    pub metadata: ToolMetadata,
    pub agents: Vec<AgentRecord>,
    pub counters: Vec<CounterRecord>,
    pub strings: Strings,
    pub kernel_symbols: Vec<KernelSymbol>,
    pub callback_records: CallbackRecords,
    pub buffer_records: BufferRecords,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ToolMetadata {
    pub command: Vec<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
pub struct RecordHandle {
    pub handle: u64,
}

#[derive(Deserialize)]
pub struct AgentRecord {
    pub id: RecordHandle,
    /// 1 for a processor, 2 for a GPU.
    #[serde(rename = "type")]
    pub kind: u32,
    pub logical_node_id: Option<u64>,
    pub node_id: Option<u64>,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub cu_count: Value,
}

#[derive(Deserialize)]
pub struct CounterRecord {
    pub id: RecordHandle,
    pub name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Strings {
    pub buffer_records: Vec<KindNames>,
}

#[derive(Deserialize)]
pub struct KindNames {
    pub kind: String,
    #[serde(default)]
    pub operations: Vec<String>,
}

#[derive(Deserialize)]
pub struct KernelSymbol {
    pub kernel_id: u64,
    #[serde(default)]
    pub formatted_kernel_name: String,
    #[serde(default)]
    pub kernel_name: String,
    pub arch_vgpr_count: Option<u32>,
    pub accum_vgpr_count: Option<u32>,
    pub sgpr_count: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct CallbackRecords {
    pub counter_collection: Vec<CounterCollection>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct BufferRecords {
    pub kernel_dispatch: Vec<DispatchRecord>,
    pub hip_api: Vec<CallRecord>,
    pub hsa_api: Vec<CallRecord>,
    pub marker_api: Vec<CallRecord>,
    pub rccl_api: Vec<CallRecord>,
    pub memory_copy: Vec<CopyRecord>,
    pub memory_allocation: Vec<AllocationRecord>,
}

#[derive(Clone, Copy, Default, Deserialize)]
pub struct Correlation {
    pub internal: u64,
}

#[derive(Deserialize)]
pub struct DispatchRecord {
    pub thread_id: Option<u64>,
    #[serde(default)]
    pub correlation_id: Correlation,
    pub start_timestamp: i64,
    pub end_timestamp: i64,
    pub dispatch_info: DispatchInfo,
    pub stream_id: Option<RecordHandle>,
}

#[derive(Deserialize)]
pub struct DispatchInfo {
    pub agent_id: RecordHandle,
    pub queue_id: RecordHandle,
    pub kernel_id: u64,
    pub dispatch_id: u64,
    pub group_segment_size: u32,
    pub workgroup_size: Axes<u32>,
    pub grid_size: Axes<u64>,
}

#[derive(Deserialize)]
pub struct Axes<T> {
    pub x: T,
    pub y: T,
    pub z: T,
}

#[derive(Deserialize)]
pub struct CallRecord {
    pub kind: usize,
    pub operation: usize,
    pub thread_id: Option<u64>,
    #[serde(default)]
    pub correlation_id: Correlation,
    pub start_timestamp: i64,
    pub end_timestamp: i64,
}

#[derive(Deserialize)]
pub struct CopyRecord {
    #[serde(flatten)]
    pub call: CallRecord,
    #[serde(default)]
    pub src_agent_id: RecordHandle,
    #[serde(default)]
    pub dst_agent_id: RecordHandle,
    pub bytes: Option<u64>,
}

#[derive(Deserialize)]
pub struct AllocationRecord {
    #[serde(flatten)]
    pub call: CallRecord,
    #[serde(default)]
    pub agent_id: RecordHandle,
}

#[derive(Deserialize)]
pub struct CounterCollection {
    pub dispatch_data: DispatchData,
    pub records: Vec<CounterValue>,
    pub thread_id: Option<u64>,
    pub arch_vgpr_count: Option<u32>,
    pub sgpr_count: Option<u32>,
}

#[derive(Deserialize)]
pub struct DispatchData {
    #[serde(default)]
    pub start_timestamp: i64,
    #[serde(default)]
    pub end_timestamp: i64,
    pub dispatch_info: DispatchInfo,
}

#[derive(Deserialize)]
pub struct CounterValue {
    pub counter_id: RecordHandle,
    pub value: f64,
}

impl<T: Copy> Axes<T> {
    pub fn array(&self) -> [T; 3] {
        [self.x, self.y, self.z]
    }
}

impl AgentRecord {
    pub fn agent(&self) -> Agent {
        Agent {
            number: self.logical_node_id.or(self.node_id),
            gpu: self.kind == 2,
            name: self.name.clone(),
            compute_units: self.cu_count.as_u64().filter(|&units| units > 0),
        }
    }
}
