//! Formats numbers with their units. All tables and sentences use these functions.

use serde::Serialize;

/// Formats a time in nanoseconds with a suitable unit.
pub fn time(ns: f64) -> String {
    match ns.abs() {
        ns_abs if ns_abs < 1e3 => format!("{ns:.0} ns"),
        ns_abs if ns_abs < 1e6 => format!("{:.2} us", ns / 1e3),
        ns_abs if ns_abs < 1e9 => format!("{:.2} ms", ns / 1e6),
        _ => format!("{:.3} s", ns / 1e9),
    }
}

/// Formats milliseconds, [`rounded`].
pub fn milliseconds(ms: f64) -> String {
    format!("{} ms", rounded(ms))
}

/// Formats seconds in the unit that a person would use.
pub fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return NOT_REPORTED.to_owned();
    }
    let seconds = seconds.max(0.0);
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match whole {
        0..=119 => format!("{whole} s"),
        120..=7199 => format!("{} min {:02} s", whole / 60, whole % 60),
        7200..=172_799 => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
        _ => plural((whole / 86_400) as usize, "day"),
    }
}

/// Formats `1536` as `1.5 KiB`.
pub fn human_bytes(bytes: u64) -> String {
    self::bytes(bytes as f64)
}

/// Formats bytes with a suitable unit, in powers of 1024.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{value:.0} {}", UNITS[0]),
        _ => format!("{value:.1} {}", UNITS[unit]),
    }
}

/// A part of a whole, or a change of it: 0.25 is a quarter. A measured share may be above 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Share(pub f64);

/// The same in hundredths, as most tools write it: 25 is a quarter. A type of its own, so that no formatter multiplies it
/// by 100 again.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Percentage(pub f64);

impl From<Percentage> for Share {
    fn from(percentage: Percentage) -> Self {
        Share(percentage.0 / 100.0)
    }
}

impl From<Share> for Percentage {
    fn from(share: Share) -> Self {
        Percentage(100.0 * share.0)
    }
}

/// Formats a measured share: 0.426 as `42.6 %`.
pub fn percent(share: impl Into<Share>) -> String {
    format!("{:.1} %", 100.0 * share.into().0)
}

/// Formats a share that somebody chose, or the progress of something: 0.95 as `95 %`.
pub fn whole_percent(share: impl Into<Share>) -> String {
    format!("{:.0} %", 100.0 * share.into().0)
}

/// Formats a change as a share: 0.032 as `+3.2 %`.
pub fn signed_percent(change: impl Into<Share>) -> String {
    format!("{:+.1} %", 100.0 * change.into().0)
}

/// Formats the significant digits of a ratio.
pub fn factor(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Formats a ratio as `2.31x`.
pub fn times(ratio: f64) -> String {
    format!("{}x", factor(ratio))
}

/// Rounds to four significant digits, but to at most three decimals and to a whole number at least. A value below 0.001
/// gets an exponent.
pub fn rounded(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size == 0.0 => "0".into(),
        _ if size < 1e-3 => format!("{value:.1e}"),
        _ if size < 10.0 => format!("{value:.3}"),
        _ if size < 100.0 => format!("{value:.2}"),
        _ => format!("{value:.0}"),
    }
}

/// Formats a number with four significant digits.
pub fn figure(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e7).contains(&size) {
        return format!("{value:.3e}");
    }
    let decimals = match size {
        size if size >= 1000.0 || value.fract() == 0.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 1.0 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

pub const NOT_REPORTED: &str = "not reported";

/// Returns the text, or [`NOT_REPORTED`].
pub fn or_not_reported(value: Option<String>) -> String {
    value.unwrap_or_else(|| NOT_REPORTED.to_owned())
}

/// Formats a reported number with `decimals` decimals.
pub fn number(value: Option<f64>, decimals: usize) -> Option<String> {
    value.map(|value| format!("{value:.decimals$}"))
}

/// Formats a number with `decimals` decimals, or returns [`NOT_REPORTED`].
pub fn number_or_not(value: Option<f64>, decimals: usize) -> String {
    or_not_reported(number(value, decimals))
}

pub fn bytes_or_not(bytes: Option<u64>) -> String {
    bytes.map_or(NOT_REPORTED.into(), human_bytes)
}

/// Formats `1.2e12` FLOP/s as `1.20 TFLOP/s`.
pub fn rate(value: f64, unit: &str) -> String {
    let (scaled, prefix) = match value.abs() {
        size if size >= 1e12 => (value / 1e12, "T"),
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        _ => (value, ""),
    };
    format!("{scaled:.2} {prefix}{unit}/s")
}

/// True if two numbers are equal up to rounding. Writing a number in decimals and reading it again, in any build of
/// this program, may change it that much.
pub fn same_number(a: f64, b: f64) -> bool {
    const ROUNDING: f64 = 1e-12;
    a == b || (a - b).abs() <= ROUNDING * a.abs().max(b.abs())
}

/// Formats a count with separated thousands.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Formats a mean count, without decimals if it is close to a whole number.
pub fn count(value: f64) -> String {
    if value.fract().abs() < 0.05 && value.abs() < 1e15 {
        grouped(value.round().max(0.0) as u64)
    } else {
        format!("{value:.1}")
    }
}

/// Turns `2026-11-22T17:42:17Z` into `2026-11-22 17:42 UTC`.
pub fn moment(time: &str) -> String {
    match (time.get(..10), time.get(11..16)) {
        (Some(day), Some(minute)) => format!("{day} {minute} UTC"),
        _ => time.to_owned(),
    }
}

/// Formats `1 step`, `2 steps` or `2 passes`.
pub fn plural(count: usize, one: &str) -> String {
    let ending = match count {
        1 => "",
        _ if ["s", "x", "ch", "sh"].iter().any(|end| one.ends_with(end)) => "es",
        _ => "s",
    };
    format!("{count} {one}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_get_their_number_and_moments_their_minute() {
        let counted =
            [(1, "pass"), (2, "pass"), (0, "step"), (3, "launch")].map(|(n, one)| plural(n, one));
        assert_eq!(counted, ["1 pass", "2 passes", "0 steps", "3 launches"]);
        assert_eq!(moment("2026-11-22T17:42:17Z"), "2026-11-22 17:42 UTC");
        assert_eq!(moment("yesterday"), "yesterday");
    }

    #[test]
    fn times_and_sizes_get_a_unit_that_suits_them() {
        assert_eq!(time(999.0), "999 ns");
        assert_eq!(time(20_480.0), "20.48 us");
        assert_eq!(time(1.5e9), "1.500 s");
        assert_eq!(milliseconds(21.456), "21.46 ms");
        assert_eq!(bytes(8.0 * 1024.0 * 1024.0), "8.0 MiB");
        assert_eq!(times(2.3149), "2.31x");
        let shares = [
            percent(Share(0.4264)),
            percent(Percentage(42.64)),
            whole_percent(Share(0.95)),
            signed_percent(Share(0.03)),
        ];
        assert_eq!(shares, ["42.6 %", "42.6 %", "95 %", "+3.0 %"]);
        assert_eq!(Percentage::from(Share(0.5)), Percentage(50.0));
        assert_eq!(figure(0.0), "0");
        assert_eq!(figure(12.345), "12.35");
    }

    #[test]
    fn durations_get_the_unit_that_a_person_would_use() {
        let seconds = [3.21, 61.0, 135.0, 7384.0, 200_000.0, f64::NAN];
        let shown = [
            "3.2 s",
            "61 s",
            "2 min 15 s",
            "2 h 03 min",
            "2 days",
            NOT_REPORTED,
        ];
        assert_eq!(seconds.map(duration), shown);
    }

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(31_977_984), "31 977 984");
        assert_eq!(grouped(12), "12");
        assert_eq!([2803.0, 2803.5].map(count), ["2 803", "2803.5"]);
    }
}
