//! What every layer uses: tables, units, statistics, the locale. Knows of nothing above it.

pub mod locale;
pub mod statistics;
pub mod table;
pub mod units;
