//! How virtual time and the wall clock go together.

use std::fmt;
use std::str::FromStr;

/// How fast virtual time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pace {
    /// Answers come as soon as they are computed.
    #[default]
    None,
    /// The same, and no time passes but that of requests: what one client finds who asks one thing after the other depends on nothing
    /// but what it asks.
    Still,
    /// Answers are held until virtual time, so many times as fast as the wall clock, says so.
    Times(f64),
}

impl FromStr for Pace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let times = |factor: &str| factor.parse().ok().filter(|factor: &f64| (1e-3..=1e6).contains(factor));
        match text {
            "none" => Ok(Self::None),
            "still" => Ok(Self::Still),
            "real" => Ok(Self::Times(1.0)),
            _ => text
                .strip_suffix('x')
                .and_then(times)
                .map(Self::Times)
                .ok_or_else(|| format!("found `{text}`; valid are none, still, real, or a factor from 0.001x to 1000000x")),
        }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Still => f.write_str("still"),
            Self::Times(factor) => write!(f, "{factor}x"),
        }
    }
}
