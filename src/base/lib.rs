//! Shared basics: tables, units, statistics, files, the locale, facts about a machine, untrusted text.
//!
//! Nothing here knows about runs or lessons. The main types are [`TextTable`] and [`TableColumns`] for tables,
//! [`Series`] and [`Interval`] for measurements, [`DeviceFacts`] for a device, and [`plain`] for text that others
//! wrote.
//!
//! ```
//! use tinyllama_base::{Series, percent};
//!
//! let steps = Series::new(vec![2.0, 1.0, 3.0])?;
//! assert_eq!(steps.median(), 2.0);
//! # Ok::<(), tinyllama_base::statistics::SeriesError>(())
//! ```

#[macro_use]
pub mod named;

pub mod architecture;
pub mod checksum;
pub mod child;
pub mod clock;
pub mod columns;
pub mod device_facts;
pub mod expression;
pub mod file;
pub mod kfd;
pub mod locale;
pub mod panics;
pub mod process;
pub mod rocm;
pub mod rocminfo;
pub mod roofline;
pub mod safe_path;
pub mod scratch;
pub mod statistics;
pub mod table;
pub mod terminal;
pub mod triage;
pub mod tutor_log;
pub mod units;
pub mod untrusted;
pub mod wrap;

pub use child::die_with_parent;
pub use clock::{now, unix_time};
pub use columns::Align;
pub use device_facts::DeviceFacts;
pub use expression::Expression;
pub use file::{create_private, create_private_file, if_there, inside, replace};
pub use process::host_name;
pub use roofline::{Ceiling, Ceilings, Point, Roofline, RooflinePicture};
pub use scratch::ScratchFolder;
pub use statistics::{
    Basis, CompareError, Finding, Interval, LEAST_RUNS, Series, half_width, median, quantile,
    ratio_in_rounds, ratio_of_medians, relative_difference,
};
pub use table::{TableColumns, TextTable, shortened};
pub use units::{
    NOT_REPORTED, Percentage, Share, bytes_or_not, count, duration, factor, figure, human_bytes,
    milliseconds, moment, number, number_or_not, or_not_reported, percent, plural, rate, rounded,
    same_number, signed_percent, time, times, whole_percent,
};
pub use untrusted::{HtmlWriter, plain, plain_lines};
pub use wrap::{push_wrapped, wrapped};
