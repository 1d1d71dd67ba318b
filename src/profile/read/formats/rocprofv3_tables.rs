//! Reads the tables of rocprofv3 that have one row a record: CSV.

use super::ProfileFormat;
use crate::read::fields::{Field, FieldSource};

/// `agent_info`: one row a processor or GPU.
pub const AGENTS: ProfileFormat = ProfileFormat {
    name: "rocprofv3 agents (CSV)",
    recognises: |file| {
        file.has(&["agent_type", "name"]) && file.has_one_of(&["logical_node_id", "node_id"])
    },
    read: |reading| {
        reading.rows(|records, row| records.agent(row, row.unsigned(Field::ComputeUnits)?))
    },
};

/// `memory_allocation_trace` and `scratch_memory_trace`.
pub const ALLOCATIONS: ProfileFormat = ProfileFormat {
    name: "rocprofv3 allocations (CSV)",
    recognises: |file| file.has(&["operation"]) && file.is_timed(),
    read: |reading| reading.rows(|records, row| records.allocation(row)),
};

/// One row an API call or marker: `hip_api_trace`, `hsa_api_trace`, `marker_api_trace`, `rccl_api_trace`, ….
pub const CALLS: ProfileFormat = ProfileFormat {
    name: "rocprofv3 API trace (CSV)",
    recognises: |file| file.has(&["domain", "function"]) && file.is_timed(),
    read: |reading| reading.rows(|records, row| records.call(row)),
};

/// One row a launch and counter: `counter_collection`, and rocprof-compute's long `pmc_perf`.
pub const COUNTERS: ProfileFormat = ProfileFormat {
    name: "counters, one row each (CSV)",
    recognises: |file| file.names_kernels() && file.has(&["counter_name", "counter_value"]),
    read: |reading| reading.rows(|records, row| records.counter(row)),
};

/// `kernel_trace`: one row a launch.
pub const KERNELS: ProfileFormat = ProfileFormat {
    name: "rocprofv3 kernel trace (CSV)",
    recognises: |file| file.names_kernels() && file.has(&["kind"]) && file.is_timed(),
    read: |reading| super::launches::read(reading, false),
};

/// `memory_copy_trace`.
pub const COPIES: ProfileFormat = ProfileFormat {
    name: "rocprofv3 memory copies (CSV)",
    recognises: |file| file.has(&["direction"]) && file.is_timed(),
    read: |reading| reading.rows(|records, row| records.copy(row)),
};
