//! Quantities as a reader takes them in: three digits or so, in the unit that fits.

use crate::table::grouped;
use vocab::Bytes;

/// Three significant digits, or all digits of the whole part in groups of three; `-` where there is no number.
pub fn short(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "-".into(),
        0.0 => "0".into(),
        size if size >= 99.95 => {
            let digits = grouped(size.round() as u64);
            if value < 0.0 { format!("-{digits}") } else { digits }
        }
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.1e}"),
    }
}

/// The unit that fits a time given in microseconds, in microseconds.
fn time_unit(us: f64) -> (f64, &'static str) {
    const HOUR: f64 = 3.6e9;
    match us {
        us if us < 999.5 => (1.0, "us"),
        us if us < 999.5e3 => (1e3, "ms"),
        us if us < 2.0 * HOUR => (1e6, "s"),
        us if us < 48.0 * HOUR => (HOUR, "h"),
        us if us < 2.0 * 8_766.0 * HOUR => (24.0 * HOUR, "days"),
        _ => (8_766.0 * HOUR, "years"),
    }
}

/// A time given in microseconds, in us, ms, s, h, days or years.
pub fn micros(us: f64) -> String {
    let (size, unit) = time_unit(us);
    if us.is_finite() { format!("{} {unit}", short(us / size)) } else { "-".into() }
}

/// A time given in seconds, as [`micros`].
pub fn seconds(s: f64) -> String {
    micros(s * 1e6)
}

/// The unit that fits an amount given in bytes, in bytes.
fn bytes_unit(bytes: f64) -> (f64, &'static str) {
    match bytes {
        b if b < 999.5e3 => (1e3, "kB"),
        b if b < 999.5e6 => (1e6, "MB"),
        b if b < 999.5e9 => (1e9, "GB"),
        _ => (1e12, "TB"),
    }
}

/// An amount given in bytes, in kB, MB, GB or TB of powers of ten, as makers of drives count.
pub fn bytes(bytes: f64) -> String {
    let (size, unit) = bytes_unit(bytes);
    if bytes.is_finite() { format!("{} {unit}", short(bytes / size)) } else { "-".into() }
}

/// A size in whole MiB.
pub fn mib(size: Bytes) -> String {
    format!("{:.0} MiB", size.0 as f64 / f64::from(1 << 20))
}

/// The unit that fits an energy given in joules, in joules.
fn joules_unit(joules: f64) -> (f64, &'static str) {
    match joules {
        0.0 => (1.0, "J"),
        j if j < 999.5e-6 => (1e-6, "uJ"),
        j if j < 0.9995 => (1e-3, "mJ"),
        j if j < 999.5 => (1.0, "J"),
        j if j < 999.5e3 => (1e3, "kJ"),
        _ => (1e6, "MJ"),
    }
}

/// An energy given in joules, in uJ, mJ, J, kJ or MJ.
pub fn joules(joules: f64) -> String {
    let (size, unit) = joules_unit(joules);
    if joules.is_finite() { format!("{} {unit}", short(joules / size)) } else { "-".into() }
}

/// A share of 1 in percent: whole, with one decimal below 10 %, and never a 0 or a 100 that it is not.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if !percent.is_finite() => "-".into(),
        0.0 => "0 %".into(),
        p if p < 0.05 => "less than 0.1 %".into(),
        p if p < 9.95 => format!("{p:.1} %"),
        p if (99.5..99.95).contains(&p) => format!("{p:.1} %"),
        p if (99.95..100.0).contains(&p) => "more than 99.9 %".into(),
        p => format!("{p:.0} %"),
    }
}

/// A share in percent, with one decimal unless that is 0: of sums that a reader checks, as 1/8.
pub fn tenths(share: f64) -> String {
    let percent = format!("{:.1}", 100.0 * share);
    format!("{} %", percent.trim_end_matches(".0"))
}

/// The ends of the interval of a ratio: three digits or so, in one number where they look alike.
pub fn ratio_span(low: f64, high: f64) -> String {
    let (low, high) = (short(low), short(high));
    if low == high { low } else { format!("{low} to {high}") }
}

/// A ratio to the baseline.
pub fn times(ratio: f64) -> String {
    format!("{} x", short(ratio))
}

/// Quantity of a figure, which decides its unit in output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A number without a unit.
    Plain,
    /// A number of things.
    Count,
    /// A time in microseconds.
    Micros,
    /// A time in seconds.
    Seconds,
    /// A time in years.
    Years,
    /// An amount of data in TB (10^12 bytes).
    Terabytes,
    /// A share of 1.
    Share,
    /// A share to a tenth of a percent.
    Tenths,
    /// An energy in joules.
    Joules,
}

/// Seconds of a year of 365.25 days.
pub const YEAR_S: f64 = 31_557_600.0;

impl Quantity {
    /// A value as text, in the unit that fits.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Quantity::Plain => short(value),
            Quantity::Count => grouped(value.round() as u64),
            Quantity::Micros => micros(value),
            Quantity::Seconds => seconds(value),
            Quantity::Years => seconds(value * YEAR_S),
            Quantity::Terabytes => bytes(value * 1e12),
            Quantity::Share => percent(value),
            Quantity::Tenths => tenths(value),
            Quantity::Joules => joules(value),
        }
    }

    /// The unit that fits a value, as a multiple of what values are given in.
    fn unit(self, value: f64) -> (f64, &'static str) {
        let scaled = |(size, unit): (f64, &'static str), given: f64| (size / given, unit);
        match self {
            Quantity::Plain | Quantity::Count => (1.0, ""),
            Quantity::Micros => time_unit(value),
            Quantity::Seconds => scaled(time_unit(value * 1e6), 1e6),
            Quantity::Years => scaled(time_unit(value * YEAR_S * 1e6), YEAR_S * 1e6),
            Quantity::Terabytes => scaled(bytes_unit(value * 1e12), 1e12),
            Quantity::Share | Quantity::Tenths => (0.01, " %"),
            Quantity::Joules => joules_unit(value),
        }
    }

    /// A mean with the half-width of its interval, `4.11 +- 0.05 ms`: two digits of the half-width, rounded up, and as many
    /// decimals of the mean. Where all values were equal, the value.
    #[must_use]
    pub fn show_interval(self, mean: f64, half_width: f64) -> String {
        if half_width == 0.0 {
            return self.show(mean);
        }
        let (size, unit) = self.unit(mean);
        let (mean, half) = (mean / size, half_width / size);
        let whole_digits = mean.abs().log10().floor().max(0.0) as i32 + 1;
        let decimals = (1 - half.log10().floor() as i32).clamp(0, (5 - whole_digits).max(0));
        let place = 10f64.powi(decimals);
        // A hair less, so that what is a whole number of places is not rounded up by how it is stored.
        let half = (half * place - 1e-9).ceil() / place;
        let number = |value: f64| match decimals {
            0 if value >= 0.0 => grouped(value.round() as u64),
            _ => format!("{value:.*}", decimals as usize),
        };
        format!("{} +- {} {}", number(mean), number(half), unit.trim_start()).trim_end().to_owned()
    }
}

/// The ends of an interval, in one number where they look alike: `28 to 31`. As many decimals as tell them apart, none where
/// both ends are far from zero, two at most.
pub fn span(low: f64, high: f64) -> String {
    let shown = |decimals: usize| {
        // A minus before a zero is none.
        let number =
            |value: f64| format!("{:.decimals$}", if value.abs() < 0.5 / 10f64.powi(decimals as i32) { 0.0 } else { value });
        (number(low), number(high))
    };
    let needed = if low.abs().min(high.abs()) < 0.95 || high - low < 0.95 { 1 } else { 0 };
    let decimals = (needed..2).find(|&decimals| {
        let (low_text, high_text) = shown(decimals);
        low_text != high_text && (low == 0.0 || low_text.parse() != Ok(0.0)) && (high == 0.0 || high_text.parse() != Ok(0.0))
    });
    let (low, high) = shown(decimals.unwrap_or(2));
    if low == high { low } else { format!("{low} to {high}") }
}

/// The ending of a noun after a number of things.
#[must_use]
pub fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_has_the_decimals_of_its_half_width() {
        let shown = |quantity: Quantity, mean, half_width| quantity.show_interval(mean, half_width);
        assert_eq!(shown(Quantity::Micros, 4_112.34, 51.2), "4.112 +- 0.052 ms");
        assert_eq!(shown(Quantity::Micros, 4_112.34, 0.0), "4.11 ms");
        assert_eq!(shown(Quantity::Micros, 257_000.0, 31_000.0), "257 +- 31 ms");
        assert_eq!(shown(Quantity::Micros, 257_000.0, 0.4), "257.00 +- 0.01 ms");
        assert_eq!(shown(Quantity::Plain, 1.614, 0.0123), "1.614 +- 0.013");
        assert_eq!(shown(Quantity::Plain, 0.0, 0.5), "0.00 +- 0.50");
        assert_eq!(shown(Quantity::Count, 180_244.4, 1_234.5), "180 244 +- 1 235");
        assert_eq!(shown(Quantity::Share, 0.583, 0.011), "58.3 +- 1.1 %");
        assert_eq!(shown(Quantity::Years, 0.0424, 0.001), "15.49 +- 0.37 days");
        assert_eq!(shown(Quantity::Terabytes, 6.34, 0.2), "6.34 +- 0.20 TB");
        assert_eq!(shown(Quantity::Joules, 72.1, 150.0), "72 +- 150 J");
    }

    #[test]
    fn ends_of_a_span_are_told_apart_and_from_zero() {
        assert_eq!(
            [(28.2, 31.4), (3.12, 3.28), (28.2, 28.4), (5.2, 8.1)].map(|(a, b)| span(a, b)),
            ["28 to 31", "3.1 to 3.3", "28.2 to 28.4", "5 to 8"]
        );
        assert_eq!(
            [(0.3, 4.0), (0.004, 0.02), (28.001, 28.002), (7.0, 7.0)].map(|(a, b)| span(a, b)),
            ["0.3 to 4.0", "0.00 to 0.02", "28.00", "7.00"]
        );
        assert_eq!(span(-3.2, 4.4), "-3 to 4");
    }

    #[test]
    fn times_take_the_unit_that_fits() {
        let shown = [0.25, 99.65, 999.6, 5_674.0, 477_102.0, 752_260_852.0, 7.3e9, 5.184e11, 1e14].map(micros);
        assert_eq!(shown, ["0.25 us", "99.7 us", "1.00 ms", "5.67 ms", "477 ms", "752 s", "2.03 h", "6.00 days", "3.17 years"]);
        assert_eq!([f64::NAN, f64::INFINITY].map(micros), ["-", "-"]);
    }

    #[test]
    fn shares_are_never_rounded_to_all_or_nothing() {
        let shown = [0.0, 1e-6, 0.001, 0.586, 0.9951, 0.99999, 1.0].map(percent);
        assert_eq!(shown, ["0 %", "less than 0.1 %", "0.1 %", "59 %", "99.5 %", "more than 99.9 %", "100 %"]);
    }

    #[test]
    fn amounts_count_by_thousands() {
        assert_eq!([512.0, 2.5e6, 1.23e12, 4.56e15].map(bytes), ["0.51 kB", "2.50 MB", "1.23 TB", "4 560 TB"]);
        assert_eq!(
            [0.0, 4.2e-5, 0.0123, 61.5, 4_321.0, 2.5e7].map(joules),
            ["0 J", "42.0 uJ", "12.3 mJ", "61.5 J", "4.32 kJ", "25.0 MJ"]
        );
        assert_eq!([0.372, 3.214, 31.9, 1234.0].map(times), ["0.37 x", "3.21 x", "31.9 x", "1 234 x"]);
    }
}
