//! Settings that are written as one text: reading, printing, and serde through both.

use vocab::{Bytes, Nanos};

/// How host requests arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// At recorded times, slowed by one factor for all schemes until `none` is half busy and no
    /// compared scheme is overloaded.
    Auto,
    /// At recorded times, slowed by one factor for all schemes until `none` is half busy; others
    /// may be overloaded.
    HalfBusy,
    /// At recorded times.
    Recorded,
    /// At recorded times, each multiplied by this.
    Scaled(f64),
    /// At recorded times, multiplied by one factor for all schemes, below 1 too, such that the dies (or channels) of the busiest
    /// compared scheme work for this share of the time.
    Load(f64),
    /// As soon as fewer than this many requests are unanswered.
    Closed(u32),
}

/// Part of the workload that is replayed before it is measured, at full speed, without its reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Warmup {
    /// As much as makes write amplification steady, where preconditioning overwrites until it is.
    #[default]
    Auto,
    /// Nothing.
    None,
    /// This many requests, reads counted.
    Requests(u64),
    /// So much time of the workload.
    Time(Nanos),
}

impl Warmup {
    /// Whether nothing was said.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        *self == Warmup::Auto
    }
}

/// How much the host may store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// As much as the trace touches; the drive is scaled to it.
    Auto,
    /// The space that the drive at its own size leaves after over-provisioning.
    Drive,
    /// This much; the drive is scaled to it.
    User(Bytes),
}

/// How much a write buffer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BufferSize {
    /// The size that a drive of this shape needs: [`ssd::Buffer::usual_size`].
    #[default]
    Auto,
    /// This much.
    Of(Bytes),
}

/// How much of the drive a generator writes and reads, from address 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AddressRange {
    /// This much.
    Of(Bytes),
    /// This many percent of what the host may store, above 0 and up to 100.
    Percent(f64),
}

impl std::str::FromStr for Arrival {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = || {
            format!(
                "found `{}`, wanted auto, half-busy, recorded, load=SHARE, scaled=FACTOR or closed=QUEUE_DEPTH",
                common::printable(text)
            )
        };
        match text.split_once('=') {
            None if text == "auto" => Ok(Arrival::Auto),
            None if text == "half-busy" => Ok(Arrival::HalfBusy),
            None if text == "recorded" => Ok(Arrival::Recorded),
            Some(("scaled", factor)) => match factor.parse::<f64>() {
                Ok(f) if f > 0.0 && f <= 1e9 => Ok(Arrival::Scaled(f)),
                _ => Err(format!("{}; the factor is a number above 0 and at most 1e9", wanted())),
            },
            Some(("load", share)) => {
                let number = |text: &str| text.trim().parse::<f64>().ok();
                let share = share.strip_suffix('%').map_or_else(|| number(share), |percent| Some(number(percent)? / 100.0));
                let valid = share.filter(|share| *share >= 1e-6 && *share <= 1.0);
                valid.map(Arrival::Load).ok_or_else(|| format!("{}; the share is from 1e-6 to 1, such as 30%", wanted()))
            }
            Some(("closed", depth)) => match depth.parse::<u32>() {
                Ok(depth @ 1..=65_536) => Ok(Arrival::Closed(depth)),
                _ => Err(format!("{}; the queue depth is a whole number from 1 to 65536", wanted())),
            },
            _ => Err(wanted()),
        }
    }
}

impl std::fmt::Display for Arrival {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Arrival::Auto => f.write_str("auto"),
            Arrival::HalfBusy => f.write_str("half-busy"),
            Arrival::Recorded => f.write_str("recorded"),
            Arrival::Scaled(factor) => write!(f, "scaled={factor}"),
            Arrival::Load(share) => write!(f, "load={share}"),
            Arrival::Closed(depth) => write!(f, "closed={depth}"),
        }
    }
}

/// Requests of a warm-up at most: weeks of simulation.
const WARMUP_MAX: u64 = 1_000_000_000_000;

impl std::str::FromStr for Warmup {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = common::printable(text);
        match text {
            "auto" => Ok(Warmup::Auto),
            "none" => Ok(Warmup::None),
            number if number.chars().all(|c| c.is_ascii_digit()) => match number.parse() {
                Ok(requests @ 1..=WARMUP_MAX) => Ok(Warmup::Requests(requests)),
                _ => Err(format!("found `{found}` requests, valid is 1 to {WARMUP_MAX}")),
            },
            time => match time.parse::<Nanos>() {
                Ok(time) if time > Nanos(0) && time <= Nanos::SETTING_MAX => Ok(Warmup::Time(time)),
                Ok(_) => Err(format!("found `{found}`, valid is above 0s, up to {}", Nanos::SETTING_MAX)),
                Err(_) => Err(format!("found `{found}`, wanted auto, none, a number of requests or a time such as \"10s\"")),
            },
        }
    }
}

impl std::fmt::Display for Warmup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warmup::Auto => f.write_str("auto"),
            Warmup::None => f.write_str("none"),
            Warmup::Requests(requests) => write!(f, "{requests}"),
            Warmup::Time(time) => write!(f, "{time}"),
        }
    }
}

impl serde::Serialize for Warmup {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Warmup {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        OptionText::deserialize(deserializer)?.0.parse().map_err(serde::de::Error::custom)
    }
}

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Size::Auto),
            "drive" => Ok(Size::Drive),
            other => match other.parse::<Bytes>() {
                Ok(Bytes(0)) => Err("found 0B, wanted a size above 0".into()),
                Ok(size) => Ok(Size::User(size)),
                Err(_) => Err(format!(
                    "found `{}`, wanted auto, drive or a size such as \"4GiB\" (B, KiB, MiB, GiB, TiB; kB, MB, GB, TB)",
                    common::printable(other)
                )),
            },
        }
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Size::Auto => f.write_str("auto"),
            Size::Drive => f.write_str("drive"),
            Size::User(size) => write!(f, "{size}"),
        }
    }
}

impl std::str::FromStr for BufferSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(BufferSize::Auto);
        }
        let wanted = || {
            format!(
                "found `{}`, wanted auto or a size such as \"4MiB\" (B, KiB, MiB, GiB, TiB; kB, MB, GB, TB)",
                common::printable(text)
            )
        };
        text.parse().map(BufferSize::Of).map_err(|_| wanted())
    }
}

impl std::fmt::Display for BufferSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BufferSize::Auto => f.write_str("auto"),
            BufferSize::Of(size) => write!(f, "{size}"),
        }
    }
}

impl std::str::FromStr for AddressRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = common::printable(text);
        if let Some(number) = text.strip_suffix('%') {
            return match number.trim().parse::<f64>() {
                Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(AddressRange::Percent(percent)),
                _ => Err(format!("found `{found}`, valid is above 0% and up to 100% of the user capacity")),
            };
        }
        let wanted = "wanted a size such as \"4GiB\" (B, KiB, MiB, GiB, TiB; kB, MB, GB, TB), or a share such as \"85%\"";
        text.parse().map(AddressRange::Of).map_err(|_| format!("found `{found}`, {wanted}"))
    }
}

impl std::fmt::Display for AddressRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AddressRange::Of(size) => write!(f, "{size}"),
            AddressRange::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

macro_rules! serde_as_text {
    ($($name:ty),*) => { $(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Text)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )* };
}

/// A text, or a number as text: what is wrong with it is said by its setting, which knows what is valid.
struct Text;

impl serde::de::Visitor<'_> for Text {
    type Value = String;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<String, E> {
        Ok(number.to_string())
    }
}

serde_as_text!(Arrival, Size, BufferSize, AddressRange);

/// The schema of settings that are one text; its `format` says of which kind.
macro_rules! schema_of_text {
    ($($name:ty: $format:literal),*) => { $(
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "format": $format })
            }
        }
    )* };
}

schema_of_text!(
    Arrival: "arrival",
    Warmup: "warmup",
    Size: "size",
    BufferSize: "size",
    AddressRange: "size-or-share",
    OptionText: "option",
    crate::over_provisioning::OverProvisioning: "over-provisioning"
);

/// An option of a scheme or generator: any single value, kept as its text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OptionText(pub String);

impl serde::Serialize for OptionText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> serde::Deserialize<'de> for OptionText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyScalar;
        impl serde::de::Visitor<'_> for AnyScalar {
            type Value = OptionText;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text, a number, true or false")
            }

            fn visit_str<E>(self, value: &str) -> Result<OptionText, E> {
                Ok(OptionText(value.into()))
            }

            fn visit_bool<E>(self, value: bool) -> Result<OptionText, E> {
                Ok(OptionText(value.to_string()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<OptionText, E> {
                Ok(OptionText(value.to_string()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<OptionText, E> {
                Ok(OptionText(value.to_string()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<OptionText, E> {
                Ok(OptionText(value.to_string()))
            }
        }
        deserializer.deserialize_any(AnyScalar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_settings_round_trip() {
        for text in ["auto", "half-busy", "recorded", "scaled=3.25", "scaled=0.001", "load=0.3", "closed=32"] {
            assert_eq!(text.parse::<Arrival>().unwrap().to_string(), text);
        }
        for text in ["auto", "drive", "4GiB", "1536MiB", "5GB"] {
            assert_eq!(text.parse::<Size>().unwrap().to_string(), text);
        }
        for text in ["85%", "0.5%", "100%", "1GiB"] {
            assert_eq!(text.parse::<AddressRange>().unwrap().to_string(), text);
        }
        for text in ["auto", "none", "20000", "10s", "250ms"] {
            assert_eq!(text.parse::<Warmup>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_arrival_and_no_size_is_refused_with_what_would_be_valid() {
        for text in [
            "",
            "Auto",
            "scaled",
            "scaled=",
            "scaled=0",
            "load=0",
            "load=130%",
            "scaled=-1",
            "scaled=NaN",
            "scaled=inf",
            "closed=0",
            "closed=1.5",
            "x=1",
        ] {
            assert!(text.parse::<Arrival>().unwrap_err().contains("wanted auto, half-busy, recorded"), "{text}");
        }
        for text in ["", "0", "-1", "1.5", "0s", "always", "1000000000001", "999999999999d"] {
            let refused = text.parse::<Warmup>().unwrap_err();
            assert!(refused.contains("wanted auto, none") || refused.contains("valid is"), "{text}: {refused}");
        }
        for (text, wanted) in [("0%", "above 0%"), ("101%", "up to 100%"), ("NaN%", "up to 100%"), ("85", "such as \"85%\"")] {
            assert!(text.parse::<AddressRange>().unwrap_err().contains(wanted), "{text}");
        }
        for text in ["", "4", "0B", "GiB", "-1GiB", "full"] {
            assert!(text.parse::<Size>().unwrap_err().contains("wanted"), "{text}");
        }
    }
}
