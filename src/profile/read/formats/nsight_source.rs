//! Reads `ncu --page source --csv`: samples of the program counter, counted by SASS instruction and reason of a stall.
//!
//! Each kernel has a line with its name, a header, and one row an instruction.

use super::ProfileFormat;
use super::instructions::{InstructionCounts, InstructionPlace};
use crate::name;
use crate::read::table::CsvTable;
use crate::read::{FileImport, ReadRefusal, RowCount};

pub const FORMAT: ProfileFormat = ProfileFormat {
    name: "Nsight Compute source page (CSV)",
    recognises: |file| file.contains_all(&["\"Warp Stall Sampling (All ", "\"Source\""]),
    read,
};

const NO_TABLE: &str = "is a source page of Nsight Compute without instructions: write it with `ncu --import FILE.ncu-rep \
     --page source --print-source sass --csv`";

const KERNEL: &str = "Kernel Name";

fn is_kernel(line: &str) -> bool {
    line.replace('"', "").starts_with(&format!("{KERNEL},"))
}

fn read(reading: &mut FileImport<'_>) -> RowCount {
    let no_table = || ReadRefusal::PassedOver(NO_TABLE.to_owned());
    let mut table = CsvTable::open_below(reading.path, is_kernel)?.ok_or_else(no_table)?;
    let short = |kernel: &str| name::short(kernel).to_owned();
    let mut kernel = table
        .headers
        .get(1)
        .map_or_else(String::new, |it| short(it));
    table.read_header()?;
    if !table
        .headers
        .starts_with(&["Address".into(), "Source".into()])
    {
        return Err(no_table());
    }
    let headers = table.headers.clone();
    let is_all = |header: &String| header.starts_with("Warp Stall Sampling (All ");
    let all = headers.iter().position(is_all).ok_or_else(no_table)?;
    let reasons = headers.iter().enumerate().filter_map(|(at, header)| {
        let reason = header.strip_prefix("stall_")?;
        // A selected warp issued its instruction.
        (!reason.contains(' ') && reason != "selected").then_some((at, reason))
    });
    let reasons: Vec<(usize, &str)> = reasons.collect();
    // The lines with names are short.
    table.least_width = 2;
    let mut first = None;
    let mut counts = InstructionCounts::default();
    let profile = &mut *reading.profile;
    let rows = table.for_each_row(reading.log, |row| {
        match row.text_at(0)? {
            KERNEL => {
                (kernel, first) = (short(row.text_at(1)?), None);
                return Ok(());
            }
            "Address" => return Ok(()),
            _ => {}
        }
        let count = |at| Ok(row.whole_at(at)?.unwrap_or(0));
        let address = count(0)?;
        let offset = address.saturating_sub(*first.get_or_insert(address));
        let place = InstructionPlace {
            kernel: &kernel,
            address: Some(offset),
            instruction: row.text_at(1)?,
            ..InstructionPlace::default()
        };
        let mut issued = count(all)?;
        for &(at, reason) in &reasons {
            let samples = count(at)?;
            issued = issued.saturating_sub(samples);
            if samples > 0 {
                let place = InstructionPlace {
                    stall: reason,
                    ..place
                };
                counts.add(profile, place, (samples, None));
            }
        }
        if issued > 0 {
            counts.add(profile, place, (issued, None));
        }
        Ok(())
    })?;
    counts.keep(profile);
    Ok(rows)
}
