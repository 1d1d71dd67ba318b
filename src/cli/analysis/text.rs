//! Figures and tables as the analysis commands print them.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::analysis::workshop::Confronted;
use crate::base::table::{Align, TextTable};

/// Columns to print in: those of the terminal, or enough for every table where there is none.
pub fn width() -> usize {
    if io::stdout().is_terminal() {
        usize::from(console::Term::stdout().size().1)
    } else {
        120
    }
}

pub fn print_table(out: &mut impl Write, table: &TextTable) -> io::Result<()> {
    write!(out, "\n{}", table.render(width()))
}

/// One JSON document on standard output.
///
/// # Errors
/// When it cannot be written.
pub fn print_json(document: &impl Serialize) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, document).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// A bar of at most `width` characters for `share` (0 to 1) of it.
pub fn bar(share: f64, width: usize, glyph: char) -> String {
    let length = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    std::iter::repeat_n(glyph, length).collect()
}

/// What the workshop states, and the same measured here.
pub fn workshop_table(confronted: &[Confronted], notes: &[&str]) -> TextTable {
    let mut table = TextTable::new(
        "The workshop's figures beside this machine's",
        &[
            ("", Align::Left),
            ("version", Align::Left),
            ("workshop", Align::Right),
            ("measured", Align::Right),
            ("where in the workshop", Align::Left),
        ],
    );
    table.rows = confronted
        .iter()
        .map(|claim| {
            vec![
                claim.what.clone(),
                claim.version.clone(),
                claim.workshop.clone(),
                claim.measured_text.clone(),
                claim.source.into(),
            ]
        })
        .collect();
    table.notes = notes.iter().map(ToString::to_string).collect();
    table
}
