//! The views of a database, row by row into a profile. A view may lack a column in an older schema: what is missing is not
//! reported.

use std::path::Path;

use rusqlite::Connection;

use super::values::Values;
use super::{exists, explain};
use crate::profiler::model::{
    Agent, Allocation, ApiCall, CounterSample, Dispatch, Lane, MemoryCopy, ProcessId, Profile,
    Variant,
};
use crate::profiler::name;
use crate::profiler::read::damage::{Damage, DamageLog, Place};
use crate::profiler::read::machine::add_agent;

pub(super) struct Reading<'a> {
    pub connection: &'a Connection,
    pub path: &'a Path,
    pub process: ProcessId,
    pub profile: &'a mut Profile,
    pub log: &'a mut DamageLog,
}

impl Reading<'_> {
    pub fn rocpd(&mut self) -> Result<u64, Damage> {
        self.each("processes", &["command"], |_, profile, row| {
            if let Some(command) = row.text(0)? {
                profile.commands.push(command);
            }
            Ok(())
        })?;
        self.agents()?;
        let rows = self.dispatches()?
            + self.regions()?
            + self.copies()?
            + self.allocations()?
            + self.counters()?;
        Ok(rows)
    }

    /// Calls `add` with each row of a view; columns the view lacks are read as NULL. A view that is not there has no rows.
    pub fn each(
        &mut self,
        view: &str,
        columns: &[&str],
        mut add: impl FnMut(ProcessId, &mut Profile, &Values<'_, '_>) -> Result<(), String>,
    ) -> Result<u64, Damage> {
        let place = |row: Option<u64>| Place {
            name: Some(match row {
                Some(row) => format!("view {view}, row {row}"),
                None => format!("view {view}"),
            }),
            ..Place::file(self.path)
        };
        let sql = |error: rusqlite::Error| Damage::new(place(None), explain(&error));
        if !exists(self.connection, view).map_err(sql)? {
            return Ok(0);
        }
        let present = view_columns(self.connection, view).map_err(sql)?;
        let selected: Vec<String> = columns
            .iter()
            .map(|&column| match present.iter().any(|name| name == column) {
                true => format!("\"{column}\""),
                false => "NULL".to_owned(),
            })
            .collect();
        let query = format!("SELECT {} FROM \"{view}\"", selected.join(", "));
        let mut statement = self.connection.prepare(&query).map_err(sql)?;
        let mut rows = statement.query([]).map_err(sql)?;
        let (mut good, mut number) = (0, 0);
        while let Some(row) = rows.next().map_err(sql)? {
            number += 1;
            match add(self.process, self.profile, &Values { row, columns }) {
                Ok(()) => good += 1,
                Err(problem) => self.log.add(Damage::new(place(Some(number)), problem))?,
            }
        }
        Ok(good)
    }

    fn agents(&mut self) -> Result<(), Damage> {
        let columns = ["logical_index", "type", "name", "product_name", "extdata"];
        self.each("rocpd_info_agent", &columns, |_, profile, row| {
            let extra = row.text(4)?.unwrap_or_default();
            // A bag of further properties in JSON; without it the agent still has a name.
            let extra: serde_json::Value = serde_json::from_str(&extra).unwrap_or_default();
            let figure = |key: &str| extra.get(key)?.as_u64().filter(|&value| value > 0);
            let agent = Agent {
                number: row.whole(0)?,
                gpu: row.text(1)?.as_deref() == Some("GPU"),
                name: row.text(2)?.unwrap_or_default(),
                product: row.text(3)?.unwrap_or_default(),
                compute_units: figure("cu_count"),
                simds_per_compute_unit: figure("simd_per_cu"),
                max_waves_per_simd: figure("max_waves_per_simd"),
                wave_size: figure("wave_front_size"),
                lds_kib: figure("lds_size_in_kb"),
                max_clock: figure("max_engine_clk_fcompute"),
            };
            add_agent(profile, agent);
            Ok(())
        })?;
        Ok(())
    }

    fn dispatches(&mut self) -> Result<u64, Damage> {
        let columns = [
            "name",
            "start",
            "end",
            "agent_log_index",
            "queue_id",
            "stream_id",
            "tid",
            "dispatch_id",
            "corr_id",
            "grid_x",
            "grid_y",
            "grid_z",
            "workgroup_x",
            "workgroup_y",
            "workgroup_z",
            "lds_size",
            "scratch_size",
            "vgpr_count",
            "accum_vgpr_count",
            "sgpr_count",
        ];
        self.each("kernels", &columns, |process, profile, row| {
            let time = row.interval(1, 2)?;
            let variant = variant(profile, row)?;
            let lane = Lane {
                process,
                agent: row.whole(3)?,
                queue: row.whole(4)?,
                stream: row.whole(5)?,
                thread: row.whole(6)?,
            };
            let dispatch = Dispatch {
                variant: profile.variant_id(variant),
                lane: profile.lane_id(lane),
                id: row.whole(7)?,
                correlation: row.whole(8)?,
                time: Some(time),
            };
            profile.dispatches.push(dispatch);
            Ok(())
        })
    }

    fn regions(&mut self) -> Result<u64, Damage> {
        let columns = ["category", "name", "start", "end", "tid", "corr_id"];
        self.each("regions", &columns, |process, profile, row| {
            let time = row.interval(2, 3)?;
            let call = ApiCall {
                domain: profile.name_id(&row.text(0)?.unwrap_or_default()),
                function: profile.name_id(&row.needed_text(1)?),
                lane: profile.lane_id(Lane {
                    process,
                    agent: None,
                    queue: None,
                    stream: None,
                    thread: row.whole(4)?,
                }),
                correlation: row.whole(5)?,
                time,
            };
            profile.calls.push(call);
            Ok(())
        })
    }

    fn copies(&mut self) -> Result<u64, Damage> {
        let columns = [
            "name",
            "start",
            "end",
            "size",
            "src_agent_log_index",
            "dst_agent_log_index",
            "queue_id",
            "stream_id",
            "tid",
            "corr_id",
        ];
        self.each("memory_copies", &columns, |process, profile, row| {
            let time = row.interval(1, 2)?;
            let destination = row.whole(5)?;
            let copy = MemoryCopy {
                direction: profile.name_id(&row.needed_text(0)?),
                bytes: row.whole(3)?,
                source: row.whole(4)?,
                destination,
                lane: profile.lane_id(Lane {
                    process,
                    agent: destination,
                    queue: row.whole(6)?,
                    stream: row.whole(7)?,
                    thread: row.whole(8)?,
                }),
                correlation: row.whole(9)?,
                time,
            };
            profile.copies.push(copy);
            Ok(())
        })
    }

    fn allocations(&mut self) -> Result<u64, Damage> {
        let columns = [
            "type",
            "start",
            "end",
            "size",
            "address",
            "agent_log_index",
            "tid",
        ];
        self.each("memory_allocations", &columns, |process, profile, row| {
            let time = row.interval(1, 2)?;
            let allocation = Allocation {
                operation: profile.name_id(&row.needed_text(0)?),
                bytes: row.whole(3)?,
                address: row.whole(4)?,
                lane: profile.lane_id(Lane {
                    process,
                    agent: row.whole(5)?,
                    queue: None,
                    stream: None,
                    thread: row.whole(6)?,
                }),
                time,
            };
            profile.allocations.push(allocation);
            Ok(())
        })
    }

    fn counters(&mut self) -> Result<u64, Damage> {
        let columns = [
            "kernel_name",
            "counter_name",
            "value",
            "start",
            "end",
            "dispatch_id",
            "agent_log_index",
            "queue_id",
            "tid",
            "grid_size_x",
            "grid_size_y",
            "grid_size_z",
            "workgroup_size_x",
            "workgroup_size_y",
            "workgroup_size_z",
            "lds_block_size",
            "scratch_size",
            "vgpr_count",
            "accum_vgpr_count",
            "sgpr_count",
        ];
        self.each("counters_collection", &columns, |process, profile, row| {
            let variant = variant(profile, row)?;
            let Some(value) = row.number(2)? else {
                return Ok(());
            };
            let sample = CounterSample {
                variant: profile.variant_id(variant),
                lane: profile.lane_id(Lane {
                    process,
                    agent: row.whole(6)?,
                    queue: row.whole(7)?,
                    stream: None,
                    thread: row.whole(8)?,
                }),
                dispatch: row.whole(5)?,
                counter: profile.name_id(&row.needed_text(1)?),
                value,
                time: Some(row.interval(3, 4)?),
            };
            profile.counters.push(sample);
            Ok(())
        })
    }
}

/// A launch shape, in views whose columns begin with the kernel's name and have the shape from the tenth on.
fn variant(profile: &mut Profile, row: &Values<'_, '_>) -> Result<Variant, String> {
    Ok(Variant {
        kernel: profile.name_id(name::strip_suffix(&row.needed_text(0)?)),
        grid: row.axes([9, 10, 11])?,
        workgroup: row.axes([12, 13, 14])?,
        lds: row.small(15)?,
        scratch: row.small(16)?,
        vgpr: row.small(17)?,
        accum_vgpr: row.small(18)?,
        sgpr: row.small(19)?,
    })
}

fn view_columns(connection: &Connection, view: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let columns = statement.query_map([view], |row| row.get(0))?;
    columns.collect()
}
