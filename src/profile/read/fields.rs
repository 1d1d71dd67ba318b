//! Fields of rows: the column names that each tool and version gives them, and how to read a row.

use crate::model::{ProcessId, TimeSpan, TraceLane};

macro_rules! fields {
    ($($field:ident: $($name:literal)+,)+) => {
        /// The meaning of a column.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field { $($field),+ }

        /// Column names of each field. If a table has several of them, the first counts.
        const NAMES: &[&[&str]] = &[$(&[$($name),+]),+];
    };
}

fields! {
    Kernel: "kernel_name" "kernelname",
    // Formats with a single figure put it first.
    GridX: "grid_x" "grid_size_x" "grid_size" "grd",
    GridY: "grid_y" "grid_size_y",
    GridZ: "grid_z" "grid_size_z",
    WorkgroupX: "workgroup_size_x" "workgroup_x" "workgroup_size" "wgr",
    WorkgroupY: "workgroup_size_y" "workgroup_y",
    WorkgroupZ: "workgroup_size_z" "workgroup_z",
    Lds: "lds_block_size" "group_segment_size" "lds_per_workgroup" "lds_size" "lds",
    Vgpr: "vgpr_count" "arch_vgpr" "arch_vgpr_count" "vgpr",
    AccumVgpr: "accum_vgpr_count" "accum_vgpr",
    Sgpr: "sgpr_count" "sgpr",
    Dispatch: "dispatch_id" "index",
    Agent: "agent_log_index" "agent_id" "gpu_id" "dev_id",
    Queue: "queue_id",
    Stream: "stream_id",
    Thread: "thread_id" "tid",
    Guid: "guid",
    Process: "pid" "process_id",
    Host: "hostname",
    // In rocpd, `stack_id` is the number that a call and its kernel share, and `corr_id` one that the program may set.
    Correlation: "stack_id" "correlation_id" "corr_id",
    Start: "start_timestamp" "beginns" "start",
    End: "end_timestamp" "endns" "end",
    Counter: "counter_name",
    Value: "counter_value" "value",
    Domain: "domain" "category",
    Function: "function" "name",
    Direction: "direction" "name",
    Source: "source_agent_id" "src_agent_log_index",
    Destination: "destination_agent_id" "dst_agent_log_index",
    // rocprofv3 writes no sizes of copies to CSV, but the tutor's own export does.
    Bytes: "bytes" "allocation_size" "size",
    Operation: "operation" "type",
    Instruction: "instruction",
    SourceLine: "instruction_comment" "source",
    Executed: "hitcount",
    Latency: "latency",
    StallCycles: "stall",
    IdleCycles: "idle",
    Issued: "wave_issued_instruction",
    CodeObject: "code_object_id" "codeobj",
    Offset: "offset" "vaddr",
    Samples: "count",
    Stall: "stall_reason",
    Calls: "calls" "dispatch_count",
    Total: "totaldurationns" "duration_(nsec)" "duration_ns_sum",
    Least: "minns" "min_(nsec)" "duration_ns_min",
    Most: "maxns" "max_(nsec)" "duration_ns_max",
    Number: "logical_node_id" "node_id" "logical_index",
    Type: "agent_type" "type",
    Name: "name" "kernel_name",
    ComputeUnits: "cu_count",
    Extra: "extdata",
    Command: "command",
    Workload: "workload_name",
    WorkloadId: "workload_id",
    Metric: "metric_name" "name",
    MetricId: "metric_id",
    Table: "table_name",
    SubTable: "sub_table_name",
    Figure: "value_name",
    Unit: "unit",
    Share: "percentage" "percent_(inc)",
}

/// Returns whether some field has this name.
pub fn is_known(column: &str) -> bool {
    NAMES.iter().any(|names| names.contains(&column))
}

/// Index of each field in a table.
#[derive(Clone, Debug, Default)]
pub struct FieldColumns(Vec<Option<usize>>);

impl FieldColumns {
    pub fn from_names(names: &[String]) -> Self {
        let place = |known: &&str| names.iter().position(|name| name == known);
        let places = NAMES.iter().map(|known| known.iter().find_map(place));
        FieldColumns(places.collect())
    }

    pub fn column_of(&self, field: Field) -> Option<usize> {
        self.0.get(field as usize).copied().flatten()
    }
}

/// A row whose fields may be missing, empty or wrong.
pub trait FieldSource {
    /// A fault and its place.
    type Problem;

    fn has(&self, field: Field) -> bool;
    fn text(&self, field: Field) -> Result<Option<&str>, Self::Problem>;
    fn unsigned(&self, field: Field) -> Result<Option<u64>, Self::Problem>;
    fn number(&self, field: Field) -> Result<Option<f64>, Self::Problem>;
    /// Returns a number that may be infinite or missing.
    fn any_number(&self, field: Field) -> Result<Option<f64>, Self::Problem> {
        self.number(field)
    }
    /// Returns a time in nanoseconds.
    fn stamp(&self, field: Field) -> Result<Option<i64>, Self::Problem>;
    fn problem(&self, field: Field, problem: String) -> Self::Problem;

    /// Describes a row that ends before it starts.
    fn disorder(&self, problem: String) -> Self::Problem {
        self.problem(Field::End, problem)
    }

    fn needed<T>(&self, field: Field, value: Option<T>) -> Result<T, Self::Problem> {
        value.ok_or_else(|| self.problem(field, "is empty".to_owned()))
    }

    fn needed_text(&self, field: Field) -> Result<&str, Self::Problem> {
        self.needed(field, self.text(field)?)
    }

    /// Returns a figure that is never negative.
    fn amount(&self, field: Field) -> Result<f64, Self::Problem> {
        self.number(field)?
            .filter(|number| *number >= 0.0)
            .ok_or_else(|| self.problem(field, "is empty or negative".to_owned()))
    }

    fn small(&self, field: Field) -> Result<Option<u32>, Self::Problem> {
        let number = self.unsigned(field)?;
        number.map(|number| self.fitting(field, number)).transpose()
    }

    fn fitting<T: TryFrom<u64>>(&self, field: Field, number: u64) -> Result<T, Self::Problem> {
        T::try_from(number).map_err(|_| self.problem(field, format!("`{number}` is too large")))
    }

    /// Returns three numbers. Formats with a single figure have only the first. `None` if none is known.
    fn axes<T: TryFrom<u64>>(&self, fields: [Field; 3]) -> Result<Option<[T; 3]>, Self::Problem> {
        let mut axes = [None; 3];
        for (axis, field) in axes.iter_mut().zip(fields) {
            *axis = self.unsigned(field)?;
        }
        if axes == [None; 3] {
            return Ok(None);
        }
        let axis = |at: usize| match axes[at] {
            None if self.has(fields[at]) => Err(self.problem(
                fields[at],
                "is empty, but the other axes are not".to_owned(),
            )),
            number => self.fitting(fields[at], number.unwrap_or(1)),
        };
        Ok(Some([axis(0)?, axis(1)?, axis(2)?]))
    }

    /// Returns `None` if the row has no columns of times.
    fn time(&self) -> Result<Option<TimeSpan>, Self::Problem> {
        if !self.has(Field::Start) || !self.has(Field::End) {
            return Ok(None);
        }
        let stamp = |field| {
            let missing = || self.problem(field, "is empty; a time is needed".to_owned());
            self.stamp(field)?.ok_or_else(missing)
        };
        let (start, end) = (stamp(Field::Start)?, stamp(Field::End)?);
        let time = time_span(start, end).map(Some);
        time.map_err(|problem| self.disorder(problem))
    }

    /// Returns the time. `None` also if a spreadsheet rounded it, because rounded stamps say nothing about durations.
    fn exact_time(&self) -> Result<Option<TimeSpan>, Self::Problem> {
        self.time()
    }

    fn lane(&self, process: ProcessId) -> Result<TraceLane, Self::Problem> {
        Ok(TraceLane {
            process,
            agent: self.unsigned(Field::Agent)?,
            queue: self.unsigned(Field::Queue)?,
            stream: self.unsigned(Field::Stream)?,
            thread: self.unsigned(Field::Thread)?,
        })
    }
}

/// The time from `start` to `end`, or what is wrong with it.
pub fn time_span(start: i64, end: i64) -> Result<TimeSpan, String> {
    TimeSpan::new(start, end).ok_or_else(|| match end < start {
        true => format!("ends {} ns before it starts", start.abs_diff(end)),
        false => format!("lasts from {start} to {end} ns, and no clock shows such times"),
    })
}
