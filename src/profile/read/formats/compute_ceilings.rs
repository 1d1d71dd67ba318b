//! Reads rocprof-compute's `roofline`: one row a GPU, three columns (mean, low, high) a ceiling. The means are kept.

use super::ProfileFormat;
use crate::model::MeasuredCeiling;
use crate::read::{FileImport, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "rocprof-compute measured ceilings (CSV)",
    recognises: |file| file.has_one_of(DEVICE) && file.has(&["hbmbw"]),
    read,
};

const DEVICE: &[&str] = &["device", "devid"];

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let table = reading.table()?;
    let device = DEVICE.iter().find_map(|name| table.find(name)).unwrap_or(0);
    let units = ["bw", "flops", "ops"];
    let is_ceiling = |at: usize| units.iter().any(|unit| table.columns[at].ends_with(unit));
    let columns = table.headers.iter().enumerate();
    let columns: Vec<(usize, &String)> = columns.filter(|(at, _)| is_ceiling(*at)).collect();
    reading.rows(|records, row| {
        let empty = || row.damage(device, "is empty".to_owned());
        let device = row.whole_at(device)?.ok_or_else(empty)?;
        let mut ceilings = Vec::new();
        for &(column, name) in &columns {
            // A GPU without the unit reports 0.
            let value = row.number_at(column)?.filter(|value| *value > 0.0);
            ceilings.extend(value.map(|value| MeasuredCeiling {
                device,
                name: name.clone(),
                value,
            }));
        }
        records.profile.ceilings.extend(ceilings);
        Ok(())
    })
}
