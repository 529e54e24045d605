//! Events of a drive, as words: those of the control socket and of schedules.

use super::Part;
use crate::config::{CELSIUS, SLOWER};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use vocab::{DieId, Geometry, Nanos};

/// Something that happens to a drive.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// A part of the flash is lost.
    Fail(Part),
    /// A spare die takes the place of a dead one.
    Replace(DieId),
    /// The power goes and comes back.
    CutPower,
    /// It lies switched off for so long.
    Age(Nanos),
    /// No one asks anything for so long.
    Idle(Nanos),
    /// Every block has this many P/E cycles more.
    Wear(u32),
    /// It has this temperature, in degrees Celsius, from now on.
    Temperature(f64),
    /// Page reads return another page with this probability.
    Silent(f64),
    /// The array times of a die are multiplied.
    Slow(DieId, f64),
    /// The firmware does nothing for so long.
    Pause(Nanos),
    /// Requests wait, or wait no longer. Whoever serves the drive sees to that.
    Hang(bool),
    /// Requests of this kind are answered and dropped, or no longer. Whoever serves the drive sees to that.
    Lie(Lie, bool),
    /// Requests fail in windows of virtual time, or no longer. Whoever serves the drive sees to that.
    Errors(Option<Windows>),
    /// This byte reads as another until it is written. Whoever serves the drive sees to that.
    Corrupt(u64),
}

/// Kind of a lie of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Flushes, and that a write with FUA is durable.
    Flushes,
    /// Writes, zeros and discards.
    Writes,
}

/// Windows of virtual time, over and over: first requests are answered, then they fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// How long requests are answered.
    pub up: Nanos,
    /// How long they fail.
    pub down: Nanos,
}

/// Forms of the control words, and their effects.
pub const CONTROLS: &[(&str, &str)] = &[
    (
        "kill die|block|page|channel N",
        "the part is lost permanently; a page until its block is erased; a channel is all its dies",
    ),
    ("wear-out N", "block N accepts no program and no erase any more; its data stay readable"),
    (
        "replace die N",
        "a new, erased spare die takes the place of dead die N and is rebuilt; under ds-raid and mds-groups once the rebuild around it is over",
    ),
    ("cut-power", "volatile memory is lost, outstanding requests fail, the drive mounts and recovers"),
    ("age TIME", "the drive is switched off for this time, such as 90d"),
    ("idle TIME", "no requests for this time: GC, refresh and scrub continue"),
    ("wear +CYCLES", "every block gets this many more P/E cycles, such as +1000"),
    ("temperature CELSIUS", "the temperature from now on, such as 55C"),
    ("silent CHANCE", "page reads return another page and report success with this probability, such as 1e-4; 0 ends it"),
    ("slow die N x FACTOR", "reads, programs and erases of the die take longer by this factor; x 1 undoes it"),
    ("pause TIME", "the firmware stalls for this time, such as 300ms; at most 60s"),
    ("hang on|off", "new requests wait until `off`"),
    ("lie flushes|writes on|off", "flushes, or writes, complete without effect until `off`"),
    ("errors --up TIME --down TIME|off", "requests succeed for the first time, all fail for the second, and so on, until `off`"),
    ("corrupt OFFSET", "the byte at this offset reads with all its bits changed, without an error, until it is written"),
];

/// The longest pause.
const PAUSE_MAX: Nanos = Nanos(60_000_000_000);

/// The invalid text, shortened: it may be anything.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("found `{}`, wanted a number", shown(text)))
}

fn time(text: &str) -> Result<Nanos, String> {
    text.parse().map_err(|error: vocab::QuantityError| error.to_string())
}

impl Control {
    /// Whether it happens between clients and the drive, so that whoever serves it sees to it.
    #[must_use]
    pub fn is_of_the_server(&self) -> bool {
        matches!(self, Self::Hang(_) | Self::Lie(..) | Self::Errors(_) | Self::Corrupt(_))
    }

    /// Checks what can be checked without a look at the drive.
    ///
    /// # Errors
    /// Says what was found and what would be valid.
    pub fn check(&self, geometry: &Geometry) -> Result<(), String> {
        let below = |what: &str, found: u32, end: u32| {
            if found < end { Ok(()) } else { Err(format!("{what} {found}: valid are 0 to {}", end - 1)) }
        };
        let within = |what: &str, found: f64, valid: &RangeInclusive<f64>| {
            if valid.contains(&found) {
                return Ok(());
            }
            Err(format!("{what} {found}: valid are {} to {}", valid.start(), valid.end()))
        };
        match *self {
            Self::Fail(Part::Die(die)) => below("die", die.into(), geometry.dies()),
            Self::Replace(die) => below("die", die.0.into(), geometry.dies()),
            Self::Fail(Part::Block(block) | Part::WornOut(block)) => below("block", block, geometry.blocks()),
            Self::Fail(Part::Page(page)) => below("page", page, geometry.pages()),
            Self::Fail(Part::Channel(channel)) => below("channel", channel, geometry.channels),
            Self::Silent(chance) => within("chance", chance, &(0.0..=1.0)),
            Self::Temperature(celsius) => within("temperature", celsius, &CELSIUS),
            Self::Slow(die, factor) => {
                below("die", die.0.into(), geometry.dies())?;
                within("factor", factor, &SLOWER)
            }
            Self::Pause(time) if time > PAUSE_MAX => Err(format!("pause {time}: valid is up to {PAUSE_MAX}")),
            Self::Errors(Some(Windows { up, down })) if up.max(down) > Nanos::SETTING_MAX || down == Nanos(0) => {
                Err(format!("errors --up {up} --down {down}: valid are up to {}, and some time down", Nanos::SETTING_MAX))
            }
            Self::Age(time) | Self::Idle(time) if time > Nanos::SETTING_MAX => {
                Err(format!("{time}: valid is up to {}", Nanos::SETTING_MAX))
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for Control {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        Ok(match words[..] {
            ["kill", "die", n] => Self::Fail(Part::Die(number(n)?)),
            ["kill", "block", n] => Self::Fail(Part::Block(number(n)?)),
            ["kill", "page", n] => Self::Fail(Part::Page(number(n)?)),
            ["kill", "channel", n] => Self::Fail(Part::Channel(number(n)?)),
            ["kill", what, _] => return Err(format!("kill {}: valid are die, block, page, channel", shown(what))),
            ["replace", "die", n] => Self::Replace(DieId(number(n)?)),
            ["wear-out", n] => Self::Fail(Part::WornOut(number(n)?)),
            ["cut-power"] => Self::CutPower,
            ["age", span] => Self::Age(time(span)?),
            ["idle", span] => Self::Idle(time(span)?),
            ["wear", cycles] if cycles.starts_with('+') => Self::Wear(number(&cycles[1..])?),
            ["temperature", celsius] => Self::Temperature(number(celsius.trim_end_matches(['C', 'c']))?),
            ["silent", chance] => Self::Silent(number(chance)?),
            ["slow", "die", n, "x", factor] => Self::Slow(DieId(number(n)?), number(factor)?),
            ["slow", "die", n, factor] if factor.starts_with('x') => Self::Slow(DieId(number(n)?), number(&factor[1..])?),
            ["pause", span] => Self::Pause(time(span)?),
            ["hang", "on"] => Self::Hang(true),
            ["hang", "off"] => Self::Hang(false),
            ["lie", what @ ("flushes" | "writes"), how @ ("on" | "off")] => {
                Self::Lie(if what == "flushes" { Lie::Flushes } else { Lie::Writes }, how == "on")
            }
            ["errors", "--up", up, "--down", down] => Self::Errors(Some(Windows { up: time(up)?, down: time(down)? })),
            ["errors", "off"] => Self::Errors(None),
            ["corrupt", offset] => Self::Corrupt(number(offset)?),
            [] => return Err("no command; `help` lists them".into()),
            [first, ..] => {
                let forms = CONTROLS.iter().map(|(form, _)| *form);
                return Err(match forms.clone().find(|form| form.split(' ').next() == Some(first)) {
                    Some(form) => format!("found `{}`, valid is `{form}`", shown(text)),
                    None => format!("unknown command `{}`; known: {}", shown(first), forms.collect::<Vec<_>>().join(", ")),
                });
            }
        })
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fail(Part::Die(n)) => write!(f, "kill die {n}"),
            Self::Fail(Part::Block(n)) => write!(f, "kill block {n}"),
            Self::Fail(Part::Page(n)) => write!(f, "kill page {n}"),
            Self::Fail(Part::Channel(n)) => write!(f, "kill channel {n}"),
            Self::Fail(Part::WornOut(n)) => write!(f, "wear-out {n}"),
            Self::Replace(die) => write!(f, "replace die {}", die.0),
            Self::CutPower => f.write_str("cut-power"),
            Self::Age(time) => write!(f, "age {time}"),
            Self::Idle(time) => write!(f, "idle {time}"),
            Self::Wear(cycles) => write!(f, "wear +{cycles}"),
            Self::Temperature(celsius) => write!(f, "temperature {celsius}C"),
            Self::Silent(chance) => write!(f, "silent {chance}"),
            Self::Slow(die, factor) => write!(f, "slow die {} x {factor}", die.0),
            Self::Pause(time) => write!(f, "pause {time}"),
            Self::Hang(true) => f.write_str("hang on"),
            Self::Hang(false) => f.write_str("hang off"),
            Self::Lie(what, is_on) => {
                let what = if *what == Lie::Flushes { "flushes" } else { "writes" };
                write!(f, "lie {what} {}", if *is_on { "on" } else { "off" })
            }
            Self::Errors(Some(Windows { up, down })) => write!(f, "errors --up {up} --down {down}"),
            Self::Errors(None) => f.write_str("errors off"),
            Self::Corrupt(offset) => write!(f, "corrupt {offset}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_back() {
        for words in [
            "kill die 3",
            "kill block 70",
            "kill page 9",
            "kill channel 1",
            "wear-out 4",
            "cut-power",
            "age 90d",
            "idle 10s",
            "wear +1000",
            "temperature -5.5C",
            "silent 0.0001",
            "slow die 3 x 10",
            "pause 300ms",
            "hang on",
            "hang off",
            "lie flushes on",
            "lie writes off",
            "errors --up 10s --down 2s",
            "errors off",
            "corrupt 4097",
        ] {
            let control: Control = words.parse().unwrap_or_else(|error| panic!("{words}: {error}"));
            assert_eq!(control.to_string(), words);
        }
        assert_eq!("slow die 3 x10".parse(), Ok(Control::Slow(DieId(3), 10.0)));
        assert_eq!("temperature 55".parse(), Ok(Control::Temperature(55.0)));
    }

    #[test]
    fn nonsense_is_named() {
        for (words, what) in [
            ("", "no command"),
            ("kill", "valid is `kill die|block|page|channel N`"),
            ("kill moon 3", "valid are die, block, page, channel"),
            ("kill die -1", "found `-1`, wanted a number"),
            ("temperature hot", "found `hot`, wanted a number"),
            ("slow die 3", "valid is `slow die N x FACTOR`"),
            ("wear 1000", "found `wear 1000`, valid is `wear +CYCLES`"),
            ("lie reads on", "valid is `lie flushes|writes on|off`"),
            ("errors --up 1s", "valid is `errors --up TIME --down TIME|off`"),
            ("explode", "unknown command `explode`; known: kill die"),
        ] {
            let error = words.parse::<Control>().expect_err(words);
            assert!(error.contains(what), "{words}: {error}");
        }
    }
}
