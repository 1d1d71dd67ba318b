//! What every layer uses: files, tables, units, statistics, the locale, what is known of a device. Knows of nothing above it.

pub mod clock;
pub mod device_facts;
pub mod file;
pub mod foreign;
pub mod locale;
pub mod matrix;
pub mod named;
pub mod process;
pub mod roofline;
pub mod statistics;
pub mod table;
pub mod units;
