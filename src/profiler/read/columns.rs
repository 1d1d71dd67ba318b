//! The columns that say how a kernel was launched, under the names each tool and version gives them.

use std::io::BufRead;

use super::damage::Damage;
use super::table::{Row, Table};
use crate::profiler::model::{Interval, Lane, NameId, ProcessId, Profile, Variant, VariantId};
use crate::profiler::name;

const KERNEL: &[&str] = &["kernel_name", "kernelname"];
const GRID: &[&str] = &["grid_size", "grd"];
const WORKGROUP: &[&str] = &["workgroup_size", "wgr"];
const LDS: &[&str] = &[
    "lds_block_size",
    "group_segment_size",
    "lds_per_workgroup",
    "lds",
];
const SCRATCH: &[&str] = &[
    "scratch_size",
    "private_segment_size",
    "scratch_per_workitem",
    "scr",
];
const VGPR: &[&str] = &["vgpr_count", "arch_vgpr", "arch_vgpr_count"];
const ACCUM_VGPR: &[&str] = &["accum_vgpr_count", "accum_vgpr"];
const SGPR: &[&str] = &["sgpr_count", "sgpr"];
const AGENT: &[&str] = &["agent_id", "gpu_id"];
const QUEUE: &[&str] = &["queue_id"];
const STREAM: &[&str] = &["stream_id"];
const THREAD: &[&str] = &["thread_id", "tid"];
const DISPATCH: &[&str] = &["dispatch_id", "index"];
const CORRELATION: &[&str] = &["correlation_id"];
const START: &[&str] = &["start_timestamp", "beginns"];
const END: &[&str] = &["end_timestamp", "endns"];

/// Where to find a launch in a row.
pub struct LaunchColumns {
    kernel: usize,
    grid: [Option<usize>; 3],
    workgroup: [Option<usize>; 3],
    lds: Option<usize>,
    scratch: Option<usize>,
    vgpr: Option<usize>,
    accum_vgpr: Option<usize>,
    sgpr: Option<usize>,
    dispatch: Option<usize>,
    lane: LaneColumns,
    time: Option<TimeColumns>,
    /// The name of the row before: traces repeat names, and looking one up costs more than comparing it.
    last: Option<(Vec<u8>, NameId)>,
    last_variant: Option<(Variant, VariantId)>,
}

/// A launch read from a row.
pub struct Launch {
    pub variant: VariantId,
    pub lane: Lane,
    pub id: Option<u64>,
    pub correlation: Option<u64>,
    pub time: Option<Interval>,
}

impl LaunchColumns {
    /// `None` when the table names no kernels.
    pub fn find<R: BufRead>(table: &Table<R>) -> Option<Self> {
        let axes = |names: &[&str]| match table.find(&[&format!("{}_x", names[0])]) {
            Some(x) => [
                Some(x),
                table.find(&[&format!("{}_y", names[0])]),
                table.find(&[&format!("{}_z", names[0])]),
            ],
            None => [table.find(names), None, None],
        };
        Some(LaunchColumns {
            kernel: table.find(KERNEL)?,
            grid: axes(GRID),
            workgroup: axes(WORKGROUP),
            lds: table.find(LDS),
            scratch: table.find(SCRATCH),
            vgpr: table.find(VGPR),
            accum_vgpr: table.find(ACCUM_VGPR),
            sgpr: table.find(SGPR),
            dispatch: table.find(DISPATCH),
            lane: LaneColumns::find(table),
            time: TimeColumns::find(table),
            last: None,
            last_variant: None,
        })
    }

    pub fn has_time(&self) -> bool {
        self.time.is_some()
    }

    pub fn read(
        &mut self,
        row: &Row<'_>,
        process: ProcessId,
        profile: &mut Profile,
    ) -> Result<Launch, Damage> {
        let variant = Variant {
            kernel: self.kernel(row, profile)?,
            workgroup: read_axes(row, self.workgroup)?,
            grid: read_axes(row, self.grid)?,
            lds: small(row, self.lds)?,
            scratch: small(row, self.scratch)?,
            vgpr: small(row, self.vgpr)?,
            accum_vgpr: small(row, self.accum_vgpr)?,
            sgpr: small(row, self.sgpr)?,
        };
        let time = match &self.time {
            Some(columns) => columns.read_if_exact(row)?,
            None => None,
        };
        Ok(Launch {
            variant: self.variant(variant, profile),
            lane: self.lane.read(row, process)?,
            id: optional(row, self.dispatch)?,
            correlation: self.lane.correlation(row)?,
            time,
        })
    }

    fn kernel(&mut self, row: &Row<'_>, profile: &mut Profile) -> Result<NameId, Damage> {
        let bytes = row.bytes(self.kernel);
        if let Some((last, id)) = &self.last
            && last == bytes
        {
            return Ok(*id);
        }
        let id = profile.name_id(name::strip_suffix(row.text(self.kernel)?));
        self.last = Some((bytes.to_owned(), id));
        Ok(id)
    }

    fn variant(&mut self, variant: Variant, profile: &mut Profile) -> VariantId {
        if let Some((last, id)) = &self.last_variant
            && *last == variant
        {
            return *id;
        }
        let id = profile.variant_id(variant);
        self.last_variant = Some((variant, id));
        id
    }
}

/// Where to find the lane of a row.
pub struct LaneColumns {
    agent: Option<usize>,
    queue: Option<usize>,
    stream: Option<usize>,
    thread: Option<usize>,
    correlation: Option<usize>,
}

impl LaneColumns {
    pub fn find<R: BufRead>(table: &Table<R>) -> Self {
        LaneColumns {
            agent: table.find(AGENT),
            queue: table.find(QUEUE),
            stream: table.find(STREAM),
            thread: table.find(THREAD),
            correlation: table.find(CORRELATION),
        }
    }

    pub fn read(&self, row: &Row<'_>, process: ProcessId) -> Result<Lane, Damage> {
        Ok(Lane {
            process,
            agent: optional(row, self.agent)?,
            queue: optional(row, self.queue)?,
            stream: optional(row, self.stream)?,
            thread: optional(row, self.thread)?,
        })
    }

    pub fn correlation(&self, row: &Row<'_>) -> Result<Option<u64>, Damage> {
        optional(row, self.correlation)
    }
}

/// Where to find start and end.
pub struct TimeColumns {
    start: usize,
    end: usize,
}

impl TimeColumns {
    pub fn find<R: BufRead>(table: &Table<R>) -> Option<Self> {
        Some(TimeColumns {
            start: table.find(START)?,
            end: table.find(END)?,
        })
    }

    pub fn read(&self, row: &Row<'_>) -> Result<Interval, Damage> {
        let start = self.stamp(row, self.start)?;
        let end = self.stamp(row, self.end)?;
        Interval::new(start, end).ok_or_else(|| {
            row.damage(
                self.end,
                format!("ends {} ns before it starts", start.abs_diff(end)),
            )
        })
    }

    /// `None` when a spreadsheet rounded the stamps: what is left of them says nothing about durations.
    pub fn read_if_exact(&self, row: &Row<'_>) -> Result<Option<Interval>, Damage> {
        let time = self.read(row)?;
        let is_rounded =
            row.is_in_scientific_notation(self.start) || row.is_in_scientific_notation(self.end);
        Ok((!is_rounded).then_some(time))
    }

    fn stamp(&self, row: &Row<'_>, column: usize) -> Result<i64, Damage> {
        match row.whole(column)? {
            Some(stamp) => i64::try_from(stamp)
                .map_err(|_| row.damage(column, format!("`{stamp}` is no time in nanoseconds"))),
            None => Err(row.damage(column, "is empty; a time is needed".to_owned())),
        }
    }
}

pub fn optional(row: &Row<'_>, column: Option<usize>) -> Result<Option<u64>, Damage> {
    match column {
        Some(column) => row.whole(column),
        None => Ok(None),
    }
}

fn small(row: &Row<'_>, column: Option<usize>) -> Result<Option<u32>, Damage> {
    let Some(column) = column else {
        return Ok(None);
    };
    row.whole(column)?
        .map(|number| {
            u32::try_from(number)
                .map_err(|_| row.damage(column, format!("`{number}` is too large")))
        })
        .transpose()
}

fn read_axes<T: TryFrom<u64>>(
    row: &Row<'_>,
    columns: [Option<usize>; 3],
) -> Result<Option<[T; 3]>, Damage> {
    let mut axes = [1u64; 3];
    let (mut is_known, mut empty) = (false, None);
    for (axis, column) in axes.iter_mut().zip(columns) {
        match (optional(row, column)?, column) {
            (Some(number), _) => {
                *axis = number;
                is_known = true;
            }
            (None, Some(column)) => empty = Some(column),
            (None, None) => {}
        }
    }
    match (is_known, empty) {
        (false, _) => return Ok(None),
        (true, Some(column)) => {
            return Err(row.damage(column, "is empty beside axes that are not".to_owned()));
        }
        (true, None) => {}
    }
    let too_large =
        |axis: u64| row.damage(columns[0].unwrap_or(0), format!("`{axis}` is too large"));
    let convert = |axis: u64| T::try_from(axis).map_err(|_| too_large(axis));
    Ok(Some([
        convert(axes[0])?,
        convert(axes[1])?,
        convert(axes[2])?,
    ]))
}
