//! Over-provisioning: flash beyond the user capacity. SNIA and data sheets state it over the user capacity, papers on flash
//! translation layers over raw flash; a setting says which.

use common::printable;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How an experiment states its over-provisioning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OverProvisioning {
    /// (raw - user) / user, as SNIA defines it: `0.07` or `"7%"`.
    OfUser(f64),
    /// (raw - user) / raw: `"28% of raw"`.
    OfRaw(f64),
}

/// The largest share of raw flash that a drive may keep from its host.
pub const MOST_OF_RAW: f64 = 0.95;

impl OverProvisioning {
    /// (raw - user) / raw.
    #[must_use]
    pub fn of_raw(self) -> f64 {
        match self {
            OverProvisioning::OfUser(share) => share / (1.0 + share),
            OverProvisioning::OfRaw(share) => share,
        }
    }

    /// (raw - user) / user.
    #[must_use]
    pub fn of_user(self) -> f64 {
        match self {
            OverProvisioning::OfUser(share) => share,
            OverProvisioning::OfRaw(share) => of_user(share),
        }
    }

    /// As the value of a key in an experiment file.
    pub(crate) fn to_toml(self) -> String {
        match self {
            OverProvisioning::OfUser(_) => self.to_string(),
            OverProvisioning::OfRaw(_) => format!("\"{self}\""),
        }
    }
}

/// (raw - user) / user of a share of raw flash.
#[must_use]
pub fn of_user(of_raw: f64) -> f64 {
    of_raw / (1.0 - of_raw)
}

impl std::str::FromStr for OverProvisioning {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || {
            let found = printable(text);
            format!(
                "found `{found}`, wanted a share of the user capacity such as 0.07 or \"7%\", or one of raw flash such as \"28% of raw\""
            )
        };
        let (number, is_of_raw) = match text.trim().strip_suffix("of raw") {
            Some(number) => (number.trim(), true),
            None => (text.trim(), false),
        };
        let share = match number.strip_suffix('%') {
            // As the nearest number to the decimal, which a division is not.
            Some(percent) if !percent.contains(['e', 'E']) => format!("{}e-2", percent.trim()).parse::<f64>(),
            Some(_) => return Err(wanted()),
            None => number.parse::<f64>(),
        };
        let share = share.ok().filter(|share| share.is_finite()).ok_or_else(wanted)?;
        Ok(if is_of_raw { OverProvisioning::OfRaw(share) } else { OverProvisioning::OfUser(share) })
    }
}

impl std::fmt::Display for OverProvisioning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OverProvisioning::OfUser(share) => write!(f, "{share:?}"),
            OverProvisioning::OfRaw(share) => {
                write!(f, "{}% of raw", percent(*share))
            }
        }
    }
}

/// The decimal of a share with its point two digits further to the right, so that it is read back as the same share.
fn percent(share: f64) -> String {
    let text = share.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let part = format!("{part:0<2}");
    let (two, rest) = part.split_at(2);
    let digits = format!("{whole}{two}");
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |digits| ("-", digits));
    let whole = digits.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    if rest.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}

impl Serialize for OverProvisioning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            OverProvisioning::OfUser(share) => serializer.serialize_f64(*share),
            OverProvisioning::OfRaw(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for OverProvisioning {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl serde::de::Visitor<'_> for Reader {
            type Value = OverProvisioning;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a share such as 0.07, \"7%\" or \"28% of raw\"")
            }

            fn visit_f64<E: serde::de::Error>(self, share: f64) -> Result<OverProvisioning, E> {
                Ok(OverProvisioning::OfUser(share))
            }

            fn visit_i64<E: serde::de::Error>(self, share: i64) -> Result<OverProvisioning, E> {
                Ok(OverProvisioning::OfUser(share as f64))
            }

            fn visit_u64<E: serde::de::Error>(self, share: u64) -> Result<OverProvisioning, E> {
                Ok(OverProvisioning::OfUser(share as f64))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<OverProvisioning, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_user_and_raw_are_read_and_written_as_they_were() {
        for (text, of_raw, of_user, written) in [
            ("0.07", 0.07 / 1.07, 0.07, "0.07"),
            ("7%", 0.07 / 1.07, 0.07, "0.07"),
            ("28% of raw", 0.28, 0.28 / 0.72, "28% of raw"),
            ("10.2272727 % of raw", 0.102_272_727, 0.102_272_727 / 0.897_727_273, "10.2272727% of raw"),
            ("0", 0.0, 0.0, "0.0"),
        ] {
            let read: OverProvisioning = text.parse().expect(text);
            assert!((read.of_raw() - of_raw).abs() < 1e-15 && (read.of_user() - of_user).abs() < 1e-12, "{text}: {read:?}");
            assert_eq!(read.to_string(), written, "{text}");
            let again: OverProvisioning = written.parse().expect(written);
            assert_eq!(again.of_raw().to_bits(), read.of_raw().to_bits(), "{text}");
        }
    }

    #[test]
    fn each_share_of_raw_with_nine_digits_is_written_and_read_back_bit_by_bit() {
        for digits in (0..950_000_000_u32).step_by(7_919_377).chain([590_595_238, 96_948_863, 123_456_818, 59_523_809]) {
            let share = format!("0.{digits:09}").parse::<f64>().expect("a number");
            let written = OverProvisioning::OfRaw(share).to_string();
            let read: OverProvisioning = written.parse().expect(&written);
            assert_eq!(read.of_raw().to_bits(), share.to_bits(), "{share}: {written}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_two_forms() {
        for text in ["", "of raw", "seven", "7 percent", "nan", "inf%", "7% of user"] {
            let error = text.parse::<OverProvisioning>().expect_err(text);
            assert!(error.contains("28% of raw") && error.contains("0.07"), "{text}: {error}");
        }
    }
}
