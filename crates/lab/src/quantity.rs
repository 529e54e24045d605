//! Quantities as a reader takes them in: three digits or so, in the unit that fits.

/// Three significant digits, or all digits of the whole part in groups of three; `-` where there is no number.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "-".into(),
        0.0 => "0".into(),
        size if size >= 99.95 => {
            let digits = crate::table::grouped(size.round() as u64);
            if value < 0.0 { format!("-{digits}") } else { digits }
        }
        size if size >= 9.995 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.2}"),
        _ => format!("{value:.1e}"),
    }
}

/// A time given in microseconds, in us, ms, s, h, days or years.
pub(crate) fn micros(us: f64) -> String {
    const HOUR: f64 = 3.6e9;
    let (value, unit) = match us {
        us if us < 999.5 => (us, "us"),
        us if us < 999.5e3 => (us / 1e3, "ms"),
        us if us < 2.0 * HOUR => (us / 1e6, "s"),
        us if us < 48.0 * HOUR => (us / HOUR, "h"),
        us if us < 2.0 * 8_766.0 * HOUR => (us / (24.0 * HOUR), "days"),
        us => (us / (8_766.0 * HOUR), "years"),
    };
    if us.is_finite() { format!("{} {unit}", short(value)) } else { "-".into() }
}

/// A time given in seconds, as [`micros`].
pub(crate) fn seconds(s: f64) -> String {
    micros(s * 1e6)
}

/// An amount given in bytes, in kB, MB, GB or TB of powers of ten, as makers of drives count.
pub(crate) fn bytes(bytes: f64) -> String {
    let (value, unit) = match bytes {
        b if b < 999.5e3 => (b / 1e3, "kB"),
        b if b < 999.5e6 => (b / 1e6, "MB"),
        b if b < 999.5e9 => (b / 1e9, "GB"),
        b => (b / 1e12, "TB"),
    };
    if bytes.is_finite() { format!("{} {unit}", short(value)) } else { "-".into() }
}

/// A share of 1 in percent: whole, with one decimal below 10 %, and never a 0 or a 100 that it is not.
pub(crate) fn percent(share: f64) -> String {
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

/// A ratio to the baseline.
pub(crate) fn times(ratio: f64) -> String {
    format!("{} x", short(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!([0.372, 3.214, 31.9, 1234.0].map(times), ["0.37 x", "3.21 x", "31.9 x", "1 234 x"]);
    }
}
