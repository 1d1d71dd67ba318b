//! What every layer uses: files, tables, units, statistics, the locale, what is known of a device. Knows of nothing above it.

pub mod child;
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

pub use child::ends_with_this;
pub use clock::{now, since_1970};
pub use device_facts::DeviceFacts;
pub use file::{create_private, create_private_file, if_there, inside, replace};
pub use foreign::{Html, plain, plain_lines};
pub(crate) use named::named;
pub use process::host_name;
pub use roofline::{Ceiling, Ceilings, Picture, Point, Roofline};
pub use statistics::{
    Basis, CompareError, Finding, Interval, LEAST_RUNS, Series, half_width, median, quantile,
    ratio_in_rounds, ratio_of_medians, relative_difference,
};
pub use table::{Align, Columns, TextTable, push_wrapped, shortened, wrapped};
pub use units::{
    NOT_REPORTED, bytes_or_not, figure, human_bytes, number, number_or_not, or_not_reported,
    percent, plural, rate, same_number, time,
};
