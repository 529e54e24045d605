//! Schedules: files that say what happens to a drive at which request or time.

use crate::document::Document;
use common::Problem;
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use ssd::disk::{Control, Planned, When};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use vocab::{Geometry, Nanos, Stream, Streams};

/// A value, or two that one is drawn between.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span(u64, u64);

/// The latest request.
const REQUEST_MAX: u64 = 1 << 48;

/// How often a control is repeated at most, and how many a schedule has at most.
const TIMES_MAX: u32 = 10_000;
const CONTROLS_MAX: usize = 100_000;

/// Mark of a drawn number.
const DRAWN: &str = "?";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default = "one")]
    seed: u64,
    #[serde(default)]
    control: Vec<Entry>,
}

fn one() -> u64 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    at_request: Option<Requests>,
    at: Option<Times>,
    #[serde(rename = "do")]
    what: String,
    #[serde(default = "once")]
    times: u32,
}

fn once() -> u32 {
    1
}

struct Requests(Span);
struct Times(Span);

/// Reads a value or a list of two.
struct OneOrTwo<T> {
    wanted: &'static str,
    of: fn(T) -> Result<u64, String>,
}

impl<'de, T: Deserialize<'de> + FromWord> Visitor<'de> for OneOrTwo<T> {
    type Value = Span;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wanted)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Span, E> {
        let value = T::from_number(number).ok_or_else(|| E::invalid_type(de::Unexpected::Unsigned(number), &self))?;
        let value = (self.of)(value).map_err(E::custom)?;
        Ok(Span(value, value))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Span, E> {
        let number = u64::try_from(number).map_err(|_| E::invalid_type(de::Unexpected::Signed(number), &self))?;
        self.visit_u64(number)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
        let value = T::from_text(text).ok_or_else(|| E::invalid_type(de::Unexpected::Str(text), &self))?;
        let value = (self.of)(value).map_err(E::custom)?;
        Ok(Span(value, value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Span, A::Error> {
        let mut next = || {
            let value = items.next_element::<T>()?.ok_or_else(|| de::Error::custom(format!("wanted {}", self.wanted)))?;
            (self.of)(value).map_err(de::Error::custom)
        };
        let (from, to) = (next()?, next()?);
        if items.next_element::<T>()?.is_some() || from > to {
            return Err(de::Error::custom(format!("wanted {}", self.wanted)));
        }
        Ok(Span(from, to))
    }
}

trait FromWord: Sized {
    fn from_number(_: u64) -> Option<Self> {
        None
    }
    fn from_text(_: &str) -> Option<Self> {
        None
    }
}

impl FromWord for u64 {
    fn from_number(number: u64) -> Option<Self> {
        Some(number)
    }
}

impl FromWord for String {
    fn from_text(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }
}

impl<'de> Deserialize<'de> for Requests {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let of = |number: u64| match number {
            0..=REQUEST_MAX => Ok(number),
            _ => Err(format!("found {number}, valid are 0 to {REQUEST_MAX}")),
        };
        let wanted = "a number of requests, or two in order, such as [1000, 5000]";
        deserializer.deserialize_any(OneOrTwo::<u64> { wanted, of }).map(Self)
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let of = |text: String| match Nanos::from_str(&text) {
            Ok(time) if time <= Nanos::SETTING_MAX => Ok(time.0),
            Ok(_) => Err(format!("found {text}, valid are times up to {}", Nanos::SETTING_MAX)),
            Err(error) => Err(error.to_string()),
        };
        let wanted = "a time such as \"5s\", or two in order, such as [\"1s\", \"5s\"]";
        deserializer.deserialize_any(OneOrTwo::<String> { wanted, of }).map(Self)
    }
}

impl Span {
    fn draw(self, draws: &mut Stream) -> u64 {
        if self.0 == self.1 { self.0 } else { self.0 + draws.below(self.1 - self.0 + 1) }
    }
}

/// Numbers of parts that were drawn already, by what they are of.
type Drawn = BTreeMap<String, Vec<u64>>;

/// How many of a part the drive has.
fn count_of(part: &[&str], geometry: &Geometry) -> Option<u32> {
    Some(match *part {
        ["kill" | "slow", "die"] => geometry.dies(),
        ["kill", "block"] | ["wear-out"] => geometry.blocks(),
        ["kill", "page"] => geometry.pages(),
        ["kill", "channel"] => geometry.channels,
        _ => return None,
    })
}

/// The words with a number for each `?`: one that was not drawn before, as long as there is any.
fn drawn(words: &str, geometry: &Geometry, draws: &mut Stream, before: &mut Drawn) -> Result<String, String> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let Some(place) = words.iter().position(|word| *word == DRAWN) else { return Ok(words.join(" ")) };
    let parts = "kill die|block|page|channel ?, wear-out ? and slow die ? x FACTOR";
    let Some(count) = count_of(&words[..place], geometry) else {
        return Err(format!("found `{}`: what can be drawn is {parts}", words.join(" ")));
    };
    let taken = before.entry(words[..place].join(" ")).or_default();
    if taken.len() >= count as usize {
        taken.clear();
    }
    let mut number = draws.below(count.into());
    while taken.contains(&number) {
        number = draws.below(count.into());
    }
    taken.push(number);
    let number = number.to_string();
    let filled = words.iter().enumerate().map(|(at, word)| if at == place { number.as_str() } else { *word });
    Ok(filled.collect::<Vec<_>>().join(" "))
}

/// Plan of the schedule `text` for a drive of this geometry; `name` is its name in complaints. `?` in place of the number of a
/// part, and a point between two, are drawn from its seed.
///
/// # Errors
/// Syntax, unknown keys, a control that is none or that the drive has no part for, with file, line and field.
pub fn schedule(name: &str, text: &str, geometry: &Geometry) -> Result<Vec<Planned>, Problem> {
    let document = Document::parse(name, text)?;
    let written: Written = document.read()?;
    let (streams, mut before, mut planned) = (Streams::new(written.seed), Drawn::new(), Vec::new());
    for (number, entry) in written.control.iter().enumerate() {
        // Each has draws of its own: what is added at the end changes nothing before.
        let mut draws = streams.stream_of("schedule", number as u64);
        let at = |field: &str| format!("control.{number}.{field}");
        let problem = |field: &str, message: String| document.locate(Problem::new(at(field), message));
        if entry.times == 0 || entry.times > TIMES_MAX || planned.len() + entry.times as usize > CONTROLS_MAX {
            let valid = format!("valid are 1 to {TIMES_MAX}, and {CONTROLS_MAX} controls in all");
            return Err(problem("times", format!("found {}, {valid}", entry.times)));
        }
        for _ in 0..entry.times {
            let when = match (&entry.at_request, &entry.at) {
                (Some(Requests(span)), None) => When::Request(span.draw(&mut draws)),
                (None, Some(Times(span))) => When::Time(Nanos(span.draw(&mut draws))),
                (Some(_), Some(_)) => return Err(problem("at", "found `at` beside at_request; valid is one of them".into())),
                (None, None) => return Err(problem("do", "when is missing: wanted at_request or at".into())),
            };
            let words = drawn(&entry.what, geometry, &mut draws, &mut before).map_err(|what| problem("do", what))?;
            let control: Control = words.parse().map_err(|what| problem("do", what))?;
            control.check(geometry).map_err(|what| problem("do", what))?;
            planned.push(Planned { when, control });
        }
    }
    Ok(planned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd::disk::Part;

    fn plan(text: &str) -> Result<Vec<Planned>, Problem> {
        let experiment = crate::Experiment::parse("test.toml", "drive.preset = \"mlc-2014\"").expect("a preset");
        let setup = crate::disk_setup(&crate::one_drive(&experiment, false).expect("one")).expect("a drive");
        schedule("faults.toml", text, &setup.drive.geometry)
    }

    #[test]
    fn what_is_written_is_planned_and_draws_are_those_of_the_seed() {
        let text = "seed = 7\n[[control]]\nat_request = 10000\ndo = \"kill die 3\"\n[[control]]\nat = \"5s\"\ndo = \"cut-power\"\n\
                    [[control]]\nat_request = [1000, 5000]\ntimes = 3\ndo = \"kill die ?\"\n";
        let planned = plan(text).expect("a schedule");
        let control = |words: &str| words.parse::<Control>().expect("words");
        assert_eq!(planned[0], Planned { when: When::Request(10_000), control: control("kill die 3") });
        assert_eq!(planned[1], Planned { when: When::Time(Nanos(5_000_000_000)), control: control("cut-power") });
        let mut dies = Vec::new();
        for Planned { when, control } in &planned[2..] {
            assert!(matches!(when, When::Request(1000..=5000)));
            let Control::Fail(Part::Die(die)) = control else { panic!("{control}") };
            dies.push(*die);
        }
        dies.sort_unstable();
        dies.dedup();
        assert_eq!(dies.len(), 3, "each die dies once");
        assert_eq!(plan(text).expect("a schedule"), planned);
        let others: Vec<Vec<Planned>> =
            (8..12).map(|seed| plan(&text.replace("seed = 7", &format!("seed = {seed}"))).expect("a schedule")).collect();
        assert!(others.iter().all(|other| other[..2] == planned[..2] && other[2..] != planned[2..]));
        assert_eq!(plan("").expect("nothing"), []);
    }

    #[test]
    fn what_makes_no_sense_is_named_by_file_line_and_field() {
        let entry = |lines: &str| format!("[[control]]\nat = \"1s\"\ndo = \"cut-power\"\n[[control]]\n{lines}\n");
        for (lines, line, field, what) in [
            ("at = \"1s\"\ndo = \"explode\"", 6, "control.1.do", "unknown command `explode`"),
            ("at = \"1s\"\ndo = \"kill die 900\"", 6, "control.1.do", "die 900: valid are 0 to"),
            ("at = \"1s\"\ndo = \"silent 2\"", 6, "control.1.do", "valid are 0 to 1"),
            ("at = \"1s\"\ndo = \"age ?\"", 6, "control.1.do", "what can be drawn is"),
            ("at = \"soon\"\ndo = \"cut-power\"", 5, "control.1.at", "`soon` is not a valid quantity"),
            ("at = 5\ndo = \"cut-power\"", 5, "control.1.at", "wanted a time such as"),
            ("at_request = -1\ndo = \"cut-power\"", 5, "control.1.at_request", "wanted a number of requests"),
            ("at_request = [5, 1]\ndo = \"cut-power\"", 5, "control.1.at_request", "two in order"),
            ("at_request = 1\nat = \"1s\"\ndo = \"cut-power\"", 6, "control.1.at", "valid is one of them"),
            ("do = \"cut-power\"", 5, "control.1.do", "at_request or at"),
            ("at = \"1s\"", 4, "control.1", "`do` is missing"),
            ("at = \"1s\"\ndo = \"cut-power\"\ntimes = 0", 7, "control.1.times", "valid are 1 to 10000"),
            ("at = \"1s\"\ndo = \"cut-power\"\nwhen = 3", 7, "control.1.when", "unknown key"),
        ] {
            let problem = plan(&entry(lines)).expect_err(lines);
            let spot = problem.spot();
            assert!(problem.to_string().contains(what), "{lines}: {problem}");
            assert_eq!((spot.file.as_deref(), spot.line), (Some("faults.toml"), Some(line)), "{lines}: {problem}");
            assert_eq!(spot.field.as_deref(), Some(field), "{lines}: {problem}");
        }
    }
}
