//! The parts of the document that are read, as the tool writes them. Everything else in it is skipped.

use serde::Deserialize;

use crate::profiler::model::Agent;

#[derive(Deserialize)]
pub struct Document {
    #[serde(rename = "rocprofiler-sdk-tool")]
    pub tools: Vec<Tool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Tool {
    pub metadata: Metadata,
    pub agents: Vec<AgentRecord>,
    pub counters: Vec<CounterRecord>,
    pub strings: Strings,
    pub kernel_symbols: Vec<KernelSymbol>,
    pub callback_records: CallbackRecords,
    pub buffer_records: BufferRecords,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Metadata {
    pub command: Vec<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
pub struct Handle {
    pub handle: u64,
}

#[derive(Deserialize)]
pub struct AgentRecord {
    pub id: Handle,
    /// 1 for a processor, 2 for a GPU.
    #[serde(rename = "type")]
    pub kind: u32,
    #[serde(default)]
    pub logical_node_id: Option<u64>,
    #[serde(default)]
    pub node_id: Option<u64>,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub product_name: String,
    #[serde(default)]
    pub cu_count: u64,
    #[serde(default)]
    pub simd_per_cu: u64,
    #[serde(default)]
    pub max_waves_per_simd: u64,
    #[serde(default)]
    pub wave_front_size: u64,
    #[serde(default)]
    pub lds_size_in_kb: u64,
    #[serde(default)]
    pub max_engine_clk_fcompute: u64,
}

#[derive(Deserialize)]
pub struct CounterRecord {
    pub id: Handle,
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
    #[serde(default)]
    pub arch_vgpr_count: Option<u32>,
    #[serde(default)]
    pub accum_vgpr_count: Option<u32>,
    #[serde(default)]
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
    #[serde(default)]
    pub thread_id: Option<u64>,
    #[serde(default)]
    pub correlation_id: Correlation,
    pub start_timestamp: i64,
    pub end_timestamp: i64,
    pub dispatch_info: DispatchInfo,
    #[serde(default)]
    pub stream_id: Option<Handle>,
}

#[derive(Deserialize)]
pub struct DispatchInfo {
    pub agent_id: Handle,
    pub queue_id: Handle,
    pub kernel_id: u64,
    pub dispatch_id: u64,
    pub private_segment_size: u32,
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
    #[serde(default)]
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
    pub src_agent_id: Handle,
    #[serde(default)]
    pub dst_agent_id: Handle,
    #[serde(default)]
    pub bytes: Option<u64>,
}

#[derive(Deserialize)]
pub struct AllocationRecord {
    #[serde(flatten)]
    pub call: CallRecord,
    #[serde(default)]
    pub agent_id: Handle,
    #[serde(default)]
    pub allocation_size: Option<u64>,
}

#[derive(Deserialize)]
pub struct CounterCollection {
    pub dispatch_data: DispatchData,
    pub records: Vec<CounterValue>,
    #[serde(default)]
    pub thread_id: Option<u64>,
    #[serde(default)]
    pub arch_vgpr_count: Option<u32>,
    #[serde(default)]
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
    pub counter_id: Handle,
    pub value: f64,
}

impl<T: Copy> Axes<T> {
    pub fn array(&self) -> [T; 3] {
        [self.x, self.y, self.z]
    }
}

impl AgentRecord {
    pub fn agent(&self) -> Agent {
        let figure = |value: u64| (value > 0).then_some(value);
        Agent {
            number: self.logical_node_id.or(self.node_id),
            gpu: self.kind == 2,
            name: self.name.clone(),
            product: self.product_name.clone(),
            compute_units: figure(self.cu_count),
            simds_per_compute_unit: figure(self.simd_per_cu),
            max_waves_per_simd: figure(self.max_waves_per_simd),
            wave_size: figure(self.wave_front_size),
            lds_kib: figure(self.lds_size_in_kb),
            max_clock: figure(self.max_engine_clk_fcompute),
        }
    }
}
