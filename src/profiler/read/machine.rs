//! CSV about the machine: rocprofv3's `agent_info`, rocprof-compute's `sysinfo` and `roofline`.

use std::io::BufRead;

use super::columns::optional;
use super::damage::{Damage, DamageLog};
use super::table::{Row, Table};
use crate::profiler::model::{Agent, Ceiling, Profile};

/// `agent_info`: one row a processor or GPU.
pub fn read_agents<R: BufRead>(
    table: &mut Table<R>,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let Some(columns) = AgentColumns::find(table) else {
        return Ok(0);
    };
    let mut rows = 0;
    while let Some(row) = table.next_row()? {
        match row.check_width().and_then(|()| columns.read(&row)) {
            Ok(agent) => {
                rows += 1;
                add_agent(profile, agent);
            }
            Err(damage) => log.add(damage)?,
        }
    }
    Ok(rows)
}

/// Every process of a run writes the same devices: each is kept once.
pub fn add_agent(profile: &mut Profile, agent: Agent) {
    let known = agent
        .number
        .is_some_and(|number| profile.agent(number).is_some());
    if !known {
        profile.agents.push(agent);
    }
}

struct AgentColumns {
    number: usize,
    kind: usize,
    name: usize,
    product: Option<usize>,
    figures: [Option<usize>; 6],
}

impl AgentColumns {
    fn find<R: BufRead>(table: &Table<R>) -> Option<Self> {
        Some(AgentColumns {
            number: table.find(&["logical_node_id", "node_id"])?,
            kind: table.find(&["agent_type"])?,
            name: table.find(&["name"])?,
            product: table.find(&["product_name"]),
            figures: [
                "cu_count",
                "simd_per_cu",
                "max_waves_per_simd",
                "wave_front_size",
                "lds_size_in_kb",
                "max_engine_clk_fcompute",
            ]
            .map(|name| table.find(&[name])),
        })
    }

    fn read(&self, row: &Row<'_>) -> Result<Agent, Damage> {
        let mut figures = [None; 6];
        for (figure, column) in figures.iter_mut().zip(self.figures) {
            *figure = optional(row, column)?.filter(|&figure| figure > 0);
        }
        let [compute_units, simds, waves, wave_size, lds_kib, max_clock] = figures;
        Ok(Agent {
            number: row.whole(self.number)?,
            gpu: row.text(self.kind)?.eq_ignore_ascii_case("gpu"),
            name: row.text(self.name)?.to_owned(),
            product: match self.product {
                Some(column) => row.text(column)?.to_owned(),
                None => String::new(),
            },
            compute_units,
            simds_per_compute_unit: simds,
            max_waves_per_simd: waves,
            wave_size,
            lds_kib,
            max_clock,
        })
    }
}

/// `sysinfo`: one row, every column kept under its own name.
pub fn read_system<R: BufRead>(
    table: &mut Table<R>,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let columns = table.columns().to_vec();
    let mut rows = 0;
    while let Some(row) = table.next_row()? {
        match row
            .check_width()
            .and_then(|()| read_system_row(&row, &columns))
        {
            Ok(values) => {
                rows += 1;
                profile.system.extend(values);
            }
            Err(damage) => log.add(damage)?,
        }
    }
    if let Some(command) = profile.system.get("command") {
        profile.commands.push(command.clone());
    }
    add_system_agent(profile);
    Ok(rows)
}

fn read_system_row(row: &Row<'_>, columns: &[String]) -> Result<Vec<(String, String)>, Damage> {
    let mut values = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let value = row.text(at)?;
        if !value.is_empty()
            && !value.eq_ignore_ascii_case("na")
            && !value.eq_ignore_ascii_case("n/a")
        {
            values.push((column.clone(), value.to_owned()));
        }
    }
    Ok(values)
}

/// rocprof-compute describes the one GPU it profiled in `sysinfo`, not in a list of agents.
fn add_system_agent(profile: &mut Profile) {
    let figure = |key: &str| {
        let value = profile.system.get(key)?.parse::<f64>().ok()?;
        (value >= 1.0).then_some(value as u64)
    };
    let Some(name) = profile.system.get("gpu_arch").cloned() else {
        return;
    };
    let simds = figure("simd_per_cu");
    let agent = Agent {
        number: None,
        gpu: true,
        name,
        product: profile.system.get("gpu_model").cloned().unwrap_or_default(),
        compute_units: figure("cu_per_gpu"),
        simds_per_compute_unit: simds,
        max_waves_per_simd: figure("max_waves_per_cu")
            .zip(simds)
            .map(|(waves, simds)| waves / simds),
        wave_size: figure("wave_size"),
        lds_kib: None,
        max_clock: figure("max_sclk"),
    };
    add_agent(profile, agent);
}

/// `roofline`: one row a GPU, three columns (mean, low, high) a ceiling; the means are kept.
pub fn read_ceilings<R: BufRead>(
    table: &mut Table<R>,
    profile: &mut Profile,
    log: &mut DamageLog,
) -> Result<u64, Damage> {
    let Some(device) = table.find(&["device", "devid"]) else {
        return Ok(0);
    };
    let columns: Vec<(usize, String)> = table
        .columns()
        .iter()
        .zip(table.headers())
        .enumerate()
        .filter(|(_, (name, _))| {
            ["bw", "flops", "ops"]
                .iter()
                .any(|unit| name.ends_with(unit))
        })
        .map(|(at, (_, header))| (at, header.clone()))
        .collect();
    let mut rows = 0;
    while let Some(row) = table.next_row()? {
        match row
            .check_width()
            .and_then(|()| read_ceiling_row(&row, device, &columns))
        {
            Ok(ceilings) => {
                rows += 1;
                profile.ceilings.extend(ceilings);
            }
            Err(damage) => log.add(damage)?,
        }
    }
    Ok(rows)
}

fn read_ceiling_row(
    row: &Row<'_>,
    device: usize,
    columns: &[(usize, String)],
) -> Result<Vec<Ceiling>, Damage> {
    let device = row
        .whole(device)?
        .ok_or_else(|| row.damage(device, "is empty".to_owned()))?;
    let mut ceilings = Vec::new();
    for (column, name) in columns {
        // A GPU without the unit reports 0.
        if let Some(value) = row.number(*column)?.filter(|value| *value > 0.0) {
            ceilings.push(Ceiling {
                device,
                name: name.clone(),
                value,
            });
        }
    }
    Ok(ceilings)
}
