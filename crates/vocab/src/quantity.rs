//! Quantities: multiplied first, rounded once, and the direction of rounding is said.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A text that is no quantity of the kind wanted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{found}` is not a valid quantity: wanted {wanted}")]
pub struct QuantityError {
    /// The text found.
    pub found: String,
    /// The valid form.
    pub wanted: &'static str,
}

/// A span of virtual time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// A point in virtual time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimTime(pub u64);

/// A number of bytes. Texts use IEC prefixes: `4KiB` = 4096, `4kB` = 4000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// Energy in nanojoules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanojoules(pub u64);

/// Program/erase cycles a block has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PeCycles(pub u32);

/// Bits that the ECC of a codeword corrects (t; FLARES' p). 0: it corrects nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Capability(pub u8);

/// Transfer rate of an 8-bit bus in mega-transfers (= megabytes, 10^6) a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct BusRate(pub u32);

/// Whoever takes input bounds times so that no run reaches this. Wrapped, a time would look like any other, and what
/// follows from it like results.
const END_OF_TIME: &str = "virtual time passes 584 years, its end: an input has a time beyond its bounds";
const BEFORE_ITS_BEGINNING: &str = "a span of virtual time ends before it begins";

impl Nanos {
    /// Longest span that a setting may name: 50 years. With a trace of 73 years and 50 years of retention a run
    /// has 460 years of virtual time left for what flash does.
    pub const SETTING_MAX: Self = Nanos(50 * 365 * 86_400_000_000_000);
    /// Longest operation of flash, and longest answer of a buffer. NAND needs 20 ms at worst, NOR erases in a second.
    /// One after the other, 10^10 of these are what virtual time has room for behind trace and retention.
    pub const OPERATION_MAX: Self = Nanos(1_000_000_000);

    /// Whole microseconds.
    ///
    /// # Panics
    /// Beyond 584 years, which is the end of virtual time.
    #[must_use]
    pub const fn from_micros(us: u64) -> Self {
        Nanos(us.checked_mul(1_000).expect(END_OF_TIME))
    }

    /// In microseconds, for reports.
    #[must_use]
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// In seconds, for reports.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl PeCycles {
    /// Most P/E cycles that a setting may name, and their greatest deviation. SLC bears 10^5. Nine deviations above the mean
    /// still fit 32 bits.
    pub const SETTING_MAX: u32 = 100_000_000;
}

impl Nanojoules {
    /// Most energy of an operation: ten thousand times what a block needs to be erased.
    pub const OPERATION_MAX: Self = Nanojoules(1_000_000_000);
}

impl SimTime {
    /// The start of the run.
    pub const ZERO: SimTime = SimTime(0);

    /// Time passed since `earlier`.
    ///
    /// # Panics
    /// Where that lies ahead.
    #[inline]
    #[must_use]
    pub fn since(self, earlier: SimTime) -> Nanos {
        Nanos(self.0.checked_sub(earlier.0).expect(BEFORE_ITS_BEGINNING))
    }
}

impl BusRate {
    /// Time to move `size` over the bus, rounded up to a whole nanosecond.
    #[must_use]
    pub fn transfer(self, size: Bytes) -> Nanos {
        Nanos((size.0 * 1_000).div_ceil(u64::from(self.0)))
    }
}

impl Add<Nanos> for SimTime {
    type Output = SimTime;
    #[inline]
    fn add(self, span: Nanos) -> SimTime {
        SimTime(self.0.checked_add(span.0).expect(END_OF_TIME))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    #[inline]
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.checked_add(other.0).expect(END_OF_TIME))
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    #[inline]
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.checked_sub(other.0).expect(BEFORE_ITS_BEGINNING))
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl Mul<u64> for Nanos {
    type Output = Nanos;
    #[inline]
    fn mul(self, times: u64) -> Nanos {
        Nanos(self.0.checked_mul(times).expect(END_OF_TIME))
    }
}

/// Units of one kind of quantity, the base unit last; the largest that divides a value exactly prints it.
type Units = &'static [(&'static str, u64)];

const TIME: Units =
    &[("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
const SIZE: Units = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];
const ENERGY: Units = &[("J", 1_000_000_000), ("mJ", 1_000_000), ("uJ", 1_000), ("nJ", 1)];

/// Reads `12.5us`-like texts: a decimal number and a unit, exact to the base unit.
fn parse(text: &str, units: Units, wanted: &'static str) -> Result<u64, QuantityError> {
    let fail = || QuantityError { found: text.chars().take(40).collect(), wanted };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(fail)?;
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim_start());
    let scale = units.iter().find(|(name, _)| *name == unit).ok_or_else(fail)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.len() > 15 {
        return Err(fail());
    }
    let whole: u64 = whole.parse().map_err(|_| fail())?;
    let mut value = u128::from(whole) * u128::from(scale);
    if !fraction.is_empty() {
        let digits: u128 = fraction.parse().map_err(|_| fail())?;
        let scaled = digits * u128::from(scale);
        let unit_of_fraction = 10u128.pow(fraction.len() as u32);
        if !scaled.is_multiple_of(unit_of_fraction) {
            return Err(fail());
        }
        value += scaled / unit_of_fraction;
    }
    u64::try_from(value).map_err(|_| fail())
}

fn print(value: u64, units: Units, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let fits = |scale: u64| value >= scale && value.is_multiple_of(scale);
    let (name, scale) = units.iter().find(|u| fits(u.1)).or(units.last()).expect("a kind has units");
    write!(f, "{}{name}", value / scale)
}

/// `format` is the `format` of its JSON schema.
macro_rules! textual {
    ($name:ident, $format:literal, $units:expr, $wanted:literal) => {
        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "format": $format })
            }
        }

        impl std::str::FromStr for $name {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<Self, QuantityError> {
                parse(text, $units, $wanted).map($name)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                print(self.0, $units, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    };
}

textual!(Nanos, "time", TIME, "a time such as \"75us\", \"1.6ms\" or \"30d\" (ns, us, ms, s, h, d)");
textual!(Bytes, "size", SIZE, "a size such as \"16KiB\" or \"4GB\" (B, KiB, MiB, GiB, TiB; kB, MB, GB, TB)");
textual!(Nanojoules, "energy", ENERGY, "an energy such as \"131uJ\" (nJ, uJ, mJ, J)");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_faster_than_a_gigatransfer_still_takes_time() {
        // A known peer computes (1000/rate)*2 in integers and makes such a bus free.
        assert_eq!(BusRate(1200).transfer(Bytes(4096)), Nanos(3414));
        assert_eq!(BusRate(333).transfer(Bytes(4096)), Nanos(12301));
    }

    #[test]
    fn a_sum_of_times_panics_at_the_end_of_time_and_never_wraps() {
        let (most, one) = (Nanos(u64::MAX), Nanos(1));
        let sums: [fn(Nanos, Nanos) -> u64; 6] = [
            |most, one| (most + one).0,
            |most, one| (SimTime(most.0) + one).0,
            |most, mut one| {
                one += most;
                one.0
            },
            |most, one| (most * (one.0 + 1)).0,
            |most, one| (one - most).0,
            |most, one| SimTime(one.0).since(SimTime(most.0)).0,
        ];
        for (number, sum) in sums.into_iter().enumerate() {
            assert!(std::panic::catch_unwind(|| sum(most, one)).is_err(), "sum {number}");
        }
        assert_eq!((most - one) + one, most);
    }

    #[test]
    fn texts_round_trip_and_are_exact() {
        for text in ["75us", "1600us", "30d", "41722ns"] {
            assert_eq!(text.parse::<Nanos>().unwrap().to_string().parse::<Nanos>(), text.parse());
        }
        assert_eq!("1.6ms".parse(), Ok(Nanos(1_600_000)));
        assert_eq!("4KiB".parse(), Ok(Bytes(4096)));
        assert_eq!("4kB".parse(), Ok(Bytes(4000)));
        assert_eq!(Bytes(16 << 10).to_string(), "16KiB");
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "5", "us", "-3us", "1.23456ns", "99999999999999999999GiB", "4 kib", "1e3us", "\u{0}us", "1..2us"] {
            assert!(text.parse::<Nanos>().is_err() && text.parse::<Bytes>().is_err(), "{text:?}");
        }
    }
}
