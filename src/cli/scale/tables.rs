//! The tables of `scale`.

use super::AtSize;
use crate::analysis::scaling::{Cell, Size, TargetScale};
use crate::base::table::{Align, TextTable};
use crate::base::units::{bytes_or_not, number_or_not};
use crate::cli::analysis::bar;

/// A row a cell.
pub fn grid(scale: &TargetScale) -> TextTable {
    let mut table = TextTable::new(
        format!("{} over its sizes", scale.name),
        &[
            ("sequence", Align::Right),
            ("batch", Align::Right),
            ("step ms", Align::Right),
            ("tokens/s", Align::Right),
            ("memory", Align::Right),
            ("launches", Align::Right),
            ("", Align::Left),
        ],
    );
    let longest = scale
        .measured()
        .iter()
        .map(|cell| cell.step_ms)
        .fold(f64::MIN_POSITIVE, f64::max);
    for cell in &scale.cells {
        let sizes = |size: &Size| {
            vec![
                size.sequence_length.to_string(),
                size.batch_size.to_string(),
            ]
        };
        table.rows.push(match cell {
            Cell::Measured(cell) => {
                let mut row = sizes(&cell.size);
                row.extend([
                    format!("{:.3}", cell.step_ms),
                    format!("{:.0}", cell.tokens_per_s),
                    bytes_or_not(cell.peak_bytes),
                    number_or_not(cell.launches, 0),
                    bar(cell.step_ms / longest, 24, '#'),
                ]);
                row
            }
            Cell::OutOfMemory { size, .. } => {
                let mut row = sizes(size);
                row.extend(["", "", "", "", "out of memory"].map(String::from));
                row
            }
            Cell::NotTried { size } => {
                let mut row = sizes(size);
                row.extend(
                    ["", "", "", "", "not tried: a smaller one did not fit"].map(String::from),
                );
                row
            }
        });
    }
    table
}

/// A row an exponent.
pub fn growth(scale: &TargetScale) -> TextTable {
    let mut table = TextTable::new(
        format!("Growth of {}", scale.name),
        &[
            ("", Align::Left),
            ("with", Align::Left),
            ("exponent", Align::Right),
            ("interval", Align::Right),
            ("between neighbours", Align::Left),
        ],
    );
    for growth in &scale.growths {
        let locals: Vec<String> = growth
            .between_neighbours
            .iter()
            .map(|local| format!("{:.2}", local.exponent))
            .collect();
        table.rows.push(vec![
            growth.of.into(),
            growth.axis.name().into(),
            format!("{:.2}", growth.exponent),
            growth
                .low
                .zip(growth.high)
                .map_or("needs more sizes".into(), |(low, high)| {
                    format!("{low:.2} to {high:.2}")
                }),
            locals.join(" "),
        ]);
    }
    table.notes.push(
        "1 is linear, 2 quadratic, 0 not at all. Where the exponents between neighbours rise, the smaller sizes are bound by something \
         that does not grow, such as launches; the fit's interval is wide then, for no single power law holds"
            .into(),
    );
    table
}

/// A row a target and size.
pub fn over_the_first(first: &str, all: &[AtSize]) -> TextTable {
    let mut table = TextTable::new(
        format!("Against {first}"),
        &[
            ("sequence", Align::Right),
            ("batch", Align::Right),
            ("", Align::Left),
            ("times as fast", Align::Right),
            ("finding", Align::Left),
        ],
    );
    for at in all {
        table.rows.push(vec![
            at.size.sequence_length.to_string(),
            at.size.batch_size.to_string(),
            at.name.clone(),
            at.relative_time.speedup_text(),
            at.relative_time.finding_text(),
        ]);
    }
    table.notes.push(
        "with one or two rounds an interval rests on the steps of single runs: what differs from one start to the next is not in it"
            .into(),
    );
    table
}
