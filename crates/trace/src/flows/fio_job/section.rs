//! Sections of a job file, and the values of their options.

use super::Around;
use super::formula;
use super::options::{Use, is_engine, known, names, read_names};
use super::variables::{self, Variables};
use crate::TraceError;
use crate::error::shown;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Files that include each other, at most.
const NESTED_MAX: usize = 8;

/// Files that are included, at most.
const INCLUDED_MAX: usize = 64;

/// A value as written, with its place.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub file: Arc<str>,
    pub line: u64,
    /// Settings count from the first on: of two that contradict each other the later counts.
    pub order: u64,
    /// The option as it was typed.
    pub typed: String,
    /// `None`: the option stands alone.
    pub value: Option<String>,
}

/// Options of a job, by their name here.
pub(super) type Settings = BTreeMap<&'static str, Setting>;

/// One job: those of `[global]` above it are among its options.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub name: String,
    pub line: u64,
    pub settings: Settings,
}

/// A parsed file: its jobs, the options that have no counterpart, and the variables that it uses.
pub(super) struct Sections {
    pub jobs: Vec<Section>,
    pub without: Vec<&'static str>,
    /// Options that fio does not know, of engines that it loads.
    pub of_engines: Vec<String>,
    pub variables: Variables,
}

/// Where complaints point.
#[derive(Clone, Copy)]
pub(super) struct File<'a>(pub &'a str);

impl File<'_> {
    pub fn wrong(self, line: u64, option: &str, message: impl Into<String>) -> TraceError {
        let option = shown(option.as_bytes());
        TraceError::Option { file: self.0.to_owned(), line, option, message: message.into(), meant: None }
    }

    /// The fault of a value.
    pub fn bad(self, setting: &Setting, wanted: &str) -> TraceError {
        let found = setting.value.as_deref().map_or("nothing".into(), |value| format!("`{}`", shown(value.as_bytes())));
        File(&setting.file).wrong(setting.line, &setting.typed, format!("found {found}, wanted {wanted}"))
    }
}

/// Cuts a file, and those that it includes, into its jobs.
pub(super) fn sections(file: File<'_>, text: &str, around: &Around<'_>) -> Result<Sections, TraceError> {
    let mut reading = Reading {
        around,
        global: Settings::new(),
        is_global: None,
        settings: 0,
        included: 0,
        unknown: None,
        loads_engine: false,
        found: Sections { jobs: Vec::new(), without: Vec::new(), of_engines: Vec::new(), variables: Variables::default() },
    };
    reading.read(&Arc::from(file.0), text, 0)?;
    if let Some(unknown) = reading.unknown.filter(|_| !reading.loads_engine) {
        return Err(unknown);
    }
    reading.found.of_engines.sort_unstable();
    reading.found.of_engines.dedup();
    reading.found.without.sort_unstable();
    Ok(reading.found)
}

/// A job file that is being read.
struct Reading<'a> {
    around: &'a Around<'a>,
    global: Settings,
    /// Whether the open section is `[global]`; `None`: none is open.
    is_global: Option<bool>,
    settings: u64,
    included: usize,
    /// The first option that fio does not know and that is no slip of one that counts: an error, unless an engine from outside fio has it.
    unknown: Option<TraceError>,
    /// A job names an engine that fio loads from outside, which has options of its own.
    loads_engine: bool,
    found: Sections,
}

impl Reading<'_> {
    fn read(&mut self, name: &Arc<str>, text: &str, depth: usize) -> Result<(), TraceError> {
        for (number, line) in text.lines().enumerate() {
            let number = number as u64 + 1;
            let line = line.trim_start_matches('\u{feff}').split([';', '#']).next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                self.begin(File(name), number, line, rest)?;
            } else if let Some(path) = included(line) {
                self.include(name, number, path, depth)?;
            } else {
                self.option(name, number, line)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, file: File<'_>, number: u64, line: &str, rest: &str) -> Result<(), TraceError> {
        let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| file.wrong(number, line, "wanted a name in brackets, such as `[reader]`"))?;
        self.is_global = Some(name == "global");
        if name != "global" {
            self.found.jobs.push(Section { name: shown(name.as_bytes()), line: number, settings: self.global.clone() });
        }
        Ok(())
    }

    fn include(&mut self, name: &Arc<str>, number: u64, path: &str, depth: usize) -> Result<(), TraceError> {
        let wrong = |message: String| File(name).wrong(number, "include", message);
        self.included += 1;
        if depth == NESTED_MAX || self.included > INCLUDED_MAX {
            return Err(wrong(format!(
                "found more than {NESTED_MAX} files that include each other, or more than {INCLUDED_MAX} in all"
            )));
        }
        let text = (self.around.file)(path).map_err(|reason| wrong(format!("{} {reason}", shown(path.as_bytes()))))?;
        self.read(&Arc::from(shown(path.as_bytes())), &text, depth + 1)
    }

    fn option(&mut self, name: &Arc<str>, line: u64, text: &str) -> Result<(), TraceError> {
        let file = File(name);
        let (typed, value) = text.split_once('=').map_or((text, None), |(name, value)| (name.trim(), Some(value.trim())));
        self.settings += 1;
        let value = value.map(str::to_owned);
        let mut setting = Setting { file: Arc::clone(name), line, order: self.settings, typed: typed.to_owned(), value };
        let (known, is) = match option(file, &setting) {
            Ok(known) => known,
            Err(unknown @ TraceError::Option { .. }) if self.is_global.is_some() && may_be_of_an_engine(typed) => {
                self.unknown.get_or_insert(unknown);
                self.found.of_engines.push(shown(typed.as_bytes()));
                return Ok(());
            }
            Err(wrong) => return Err(wrong),
        };
        if is == Use::Read {
            let expand = |value: &str| variables::expanded(value, known, self.around, &mut self.found.variables);
            let value = setting.value.as_deref().map(expand).transpose();
            setting.value = value.map_err(|message| file.wrong(line, typed, message))?;
        }
        self.loads_engine |= known == "ioengine" && setting.value.as_deref().is_some_and(|name| !is_engine(name));
        let into = match self.is_global {
            Some(true) => &mut self.global,
            Some(false) => &mut self.found.jobs.last_mut().expect("a section that is not global is a job").settings,
            None => return Err(file.wrong(line, typed, "no section is open: a job begins with its name, such as `[reader]`")),
        };
        match is {
            Use::Read => drop(into.insert(known, setting)),
            _ if !self.found.without.contains(&known) => self.found.without.push(known),
            _ => {}
        }
        Ok(())
    }
}

/// True of an option that may belong to an engine from outside fio: it is unknown here, and no slip of an option that shapes the workload.
fn may_be_of_an_engine(typed: &str) -> bool {
    let typed = typed.to_ascii_lowercase();
    known(&typed).is_none() && vocab::nearest(&typed, read_names()).is_none()
}

/// The path of a line that includes another file.
fn included(line: &str) -> Option<&str> {
    line.strip_prefix("include").filter(|rest| rest.starts_with(char::is_whitespace)).map(str::trim)
}

fn option(file: File<'_>, setting: &Setting) -> Result<(&'static str, Use), TraceError> {
    let typed = &setting.typed;
    let Some(found) = known(&typed.to_ascii_lowercase()) else {
        let TraceError::Option { file, line, option, .. } = file.wrong(setting.line, typed, "") else {
            unreachable!("it is one of an option");
        };
        let meant = vocab::nearest(typed, names()).map(str::to_owned);
        let message = "fio has no such option".to_owned();
        return Err(TraceError::Option { file, line, option, message, meant });
    };
    match found.1 {
        // An option that is switched off asks for nothing.
        Use::Refused(_) if setting.value.as_deref().is_some_and(|value| matches!(value, "0" | "none")) => {
            Ok((found.0, Use::Nothing))
        }
        Use::Refused(why) => Err(file.wrong(setting.line, typed, why)),
        _ => Ok(found),
    }
}

/// A section's values, read as what they are.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub file: File<'a>,
    pub section: &'a Section,
}

impl<'a> Values<'a> {
    pub fn get(&self, name: &str) -> Option<&'a Setting> {
        self.section.settings.get(name)
    }

    /// The text of an option that needs one.
    pub fn text(&self, name: &str, wanted: &str) -> Result<Option<&'a str>, TraceError> {
        let text = |setting: &'a Setting| setting.value.as_deref().ok_or_else(|| self.file.bad(setting, wanted));
        self.get(name).map(text).transpose()
    }

    fn parsed<T>(&self, name: &str, wanted: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, TraceError> {
        let Some(text) = self.text(name, wanted)? else { return Ok(None) };
        let setting = self.get(name).expect("it has a text");
        parse(text).map(Some).ok_or_else(|| self.file.bad(setting, &format!("{wanted}{}", of_fio(text))))
    }

    pub fn flag(&self, name: &str) -> Result<bool, TraceError> {
        match self.get(name).map(|setting| (setting, setting.value.as_deref())) {
            None | Some((_, Some("0"))) => Ok(false),
            Some((_, None | Some("1"))) => Ok(true),
            Some((setting, _)) => Err(self.file.bad(setting, "0, 1 or nothing")),
        }
    }

    pub fn number(&self, name: &str, least: u64, most: u64) -> Result<Option<u64>, TraceError> {
        let wanted = format!("a whole number from {least} to {most}");
        self.parsed(name, &wanted, |text| self.bytes(text).filter(|number| (least..=most).contains(number)))
    }

    pub fn percent(&self, name: &str) -> Result<Option<f64>, TraceError> {
        Ok(self.number(name, 0, 100)?.map(|percent| percent as f64 / 100.0))
    }

    /// A time in nanoseconds; without a suffix it is in this many.
    pub fn time(&self, name: &str, unit: u64) -> Result<Option<u64>, TraceError> {
        let most = crate::SPAN_LIMIT.0;
        self.parsed(name, "a time such as 500us, 20ms, 60s, 5m or 1h, up to 73 years", |text| {
            if formula::is_formula(text) {
                let (value, has_units) = formula::value(text, true)?;
                let micros = if has_units || unit < SECOND { value } else { value.checked_mul(1_000_000)? };
                // Options in seconds keep whole ones.
                let micros = if unit < SECOND { micros } else { micros / 1_000_000 * 1_000_000 };
                return micros.checked_mul(1000).filter(|time| *time <= most);
            }
            let (digits, suffix) = split(text);
            let unit = match suffix.as_str() {
                "" => unit,
                "us" | "usec" => 1_000,
                "ms" | "msec" => 1_000_000,
                "s" => 1_000_000_000,
                "m" => 60_000_000_000,
                "h" => 3_600_000_000_000,
                "d" => 86_400_000_000_000,
                _ => return None,
            };
            digits.parse::<u64>().ok()?.checked_mul(unit).filter(|time| *time <= most)
        })
    }

    pub fn size(&self, name: &str) -> Result<Option<u64>, TraceError> {
        self.parsed(name, SIZE, |text| self.bytes(text))
    }

    /// A size, or a percentage; one of `size` may be above 100, which is the whole.
    pub fn part(&self, name: &str) -> Result<Option<Part>, TraceError> {
        let part = |percent: u64| if name == "size" { Some(percent.min(100)) } else { Some(percent).filter(|part| *part <= 100) };
        self.parsed(name, "a size such as 4k or 1g, or a percentage", |text| match text.strip_suffix('%') {
            Some(percent) => whole(percent.trim_end_matches('%')).and_then(part).map(Part::Percent),
            None => self.bytes(text).map(Part::Bytes),
        })
    }

    /// Bytes: with `kb_base=1024`, the default, `k` is 1024 and `kib` 1000; `ki` is `k`.
    pub fn bytes(&self, text: &str) -> Option<u64> {
        if formula::is_formula(text) {
            return formula::value(text, false).map(|(value, _)| value).filter(|bytes| *bytes < 1 << 63);
        }
        let is_true = self.get("kb_base").and_then(|setting| setting.value.as_deref()) == Some("1000");
        let is_hexadecimal = text.get(..2).is_some_and(|prefix| prefix.eq_ignore_ascii_case("0x"));
        let end = if is_hexadecimal {
            text[2..].find(|c: char| !c.is_ascii_hexdigit()).map_or(text.len(), |end| end + 2)
        } else {
            split(text).0.len()
        };
        let (digits, behind) = (&text[..end], text[end..].trim());
        if is_hexadecimal && !behind.is_empty() {
            return None;
        }
        // fio leaves out what stands behind the point: `2.0` is 2, and `2.0k`, which is refused here, 2 as well.
        let is_zero = |zeros: &str| !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0');
        let suffix = if behind.strip_prefix('.').is_some_and(is_zero) { String::new() } else { behind.to_ascii_lowercase() };
        let has_i = suffix.ends_with("ib");
        let letters = suffix.trim_end_matches('b');
        let power = letters.strip_suffix('i').unwrap_or(letters);
        let power = ["", "k", "m", "g", "t", "p"].iter().position(|known| *known == power)? as u32;
        let base: u64 = if is_true == has_i { 1024 } else { 1000 };
        whole(digits)?.checked_mul(base.checked_pow(power)?).filter(|bytes| *bytes < 1 << 63)
    }

    /// Values for reads, writes and trims: `a`, `a,b`, `a,b,c`; an empty one is none, and what is left out is as the one before.
    pub fn triple<T: Copy>(
        &self,
        name: &str,
        wanted: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<[Option<T>; 3]>, TraceError> {
        self.parsed(name, wanted, |text| {
            let parts: Vec<&str> = text.split(',').map(str::trim).collect();
            let read = |part: &str| if part.is_empty() { Some(None) } else { parse(part).map(Some) };
            match parts[..] {
                [all] => parse(all).map(|all| [Some(all); 3]),
                [reads, writes] => {
                    let (reads, writes) = (read(reads)?, read(writes)?);
                    Some([reads, writes, writes])
                }
                [reads, writes, trims] => Some([read(reads)?, read(writes)?, read(trims)?]),
                _ => None,
            }
        })
    }
}

/// Nanoseconds of a second, which options in seconds have as their unit.
const SECOND: u64 = 1_000_000_000;

pub(super) const SIZE: &str = "a size such as 4k, 128m or 1g";

/// A size, or a percentage of something larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Bytes(u64),
    Percent(u64),
}

impl Part {
    pub fn of(self, whole: u64) -> u64 {
        match self {
            Part::Bytes(bytes) => bytes,
            Part::Percent(percent) => (u128::from(whole) * u128::from(percent) / 100) as u64,
        }
    }
}

/// The number that fio takes a text for, where that is surely not what is meant: it leaves out units that it does not know, and fractions.
fn of_fio(text: &str) -> String {
    let digits = split(text).0;
    let (number, behind) = match text.get(..2).filter(|prefix| prefix.eq_ignore_ascii_case("0x")) {
        Some(_) => {
            let end = text[2..].find(|c: char| !c.is_ascii_hexdigit()).map_or(text.len(), |end| end + 2);
            (u64::from_str_radix(&text[2..end], 16).ok(), &text[end..])
        }
        None => (digits.parse().ok(), &text[digits.len()..]),
    };
    let is_unit = |c: char| "kmgtpbsuhd".contains(c.to_ascii_lowercase());
    let is_no_unit = |c: char| c == '.' || c.is_ascii_alphabetic() && (!is_unit(c) || text.starts_with("0x"));
    let is_cut = text.starts_with(|c: char| c.is_ascii_digit()) && behind.starts_with(is_no_unit);
    if behind.eq_ignore_ascii_case("z") {
        return "; `z` counts the zones of a drive that has zones, which is not simulated".to_owned();
    }
    match number.filter(|_| is_cut) {
        Some(number) => format!(" (fio reads {number})"),
        None => String::new(),
    }
}

/// A whole number, decimal or hexadecimal.
fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => u64::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => text.parse().ok(),
    }
}

/// Digits, and what follows them in small letters.
fn split(text: &str) -> (&str, String) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (&text[..end], text[end..].trim().to_ascii_lowercase())
}
