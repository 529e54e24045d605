//! Sections of a job file, and the values of their options.

use super::options::{Use, known, names};
use crate::TraceError;
use crate::error::shown;
use std::collections::BTreeMap;

/// A value as written, with its line.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub line: u64,
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

/// What a file says: its jobs, and the options that have no counterpart.
pub(super) struct Sections {
    pub jobs: Vec<Section>,
    pub without: Vec<&'static str>,
}

/// Where complaints point.
#[derive(Clone, Copy)]
pub(super) struct File<'a>(pub &'a str);

impl File<'_> {
    pub fn wrong(self, line: u64, option: &str, message: impl Into<String>) -> TraceError {
        let option = shown(option.as_bytes());
        TraceError::Option { file: self.0.to_owned(), line, option, message: message.into(), meant: None }
    }

    /// What is wrong with a value.
    pub fn bad(self, setting: &Setting, wanted: &str) -> TraceError {
        let found = setting.value.as_deref().map_or("nothing".into(), |value| format!("`{}`", shown(value.as_bytes())));
        self.wrong(setting.line, &setting.typed, format!("found {found}, wanted {wanted}"))
    }
}

/// Cuts a file into its jobs.
pub(super) fn sections(file: File<'_>, text: &str) -> Result<Sections, TraceError> {
    let (mut global, mut jobs, mut without) = (Settings::new(), Vec::<Section>::new(), Vec::new());
    let mut is_global = None;
    for (number, line) in text.lines().enumerate() {
        let number = number as u64 + 1;
        let line = line.trim_start_matches('\u{feff}').split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| file.wrong(number, line, "wanted a name in brackets, such as `[reader]`"))?;
            is_global = Some(name == "global");
            if name != "global" {
                jobs.push(Section { name: shown(name.as_bytes()), line: number, settings: global.clone() });
            }
            continue;
        }
        let (typed, value) = line.split_once('=').map_or((line, None), |(name, value)| (name.trim(), Some(value.trim())));
        // `include FILE` has no `=`.
        let typed = if value.is_none() { typed.split_whitespace().next().unwrap_or(typed) } else { typed };
        let setting = Setting { line: number, typed: typed.to_owned(), value: value.map(str::to_owned) };
        let into = match is_global {
            Some(true) => &mut global,
            Some(false) => &mut jobs.last_mut().expect("a section that is not global is a job").settings,
            None => return Err(file.wrong(number, typed, "no section is open: a job begins with its name, such as `[reader]`")),
        };
        match option(file, &setting)? {
            (name, Use::Read) => {
                into.insert(name, setting);
            }
            (name, _) if !without.contains(&name) => without.push(name),
            _ => {}
        }
    }
    without.sort_unstable();
    Ok(Sections { jobs, without })
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
        Use::Refused(why) => Err(file.wrong(setting.line, typed, why)),
        _ if setting.value.as_deref().is_some_and(|value| value.contains(['$', '('])) => {
            Err(file.bad(setting, "a plain value: variables and formulas of fio are not computed here"))
        }
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
        parse(text).map(Some).ok_or_else(|| self.file.bad(setting, wanted))
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
        self.parsed(name, &wanted, |text| text.parse().ok().filter(|number| (least..=most).contains(number)))
    }

    pub fn percent(&self, name: &str) -> Result<Option<f64>, TraceError> {
        Ok(self.number(name, 0, 100)?.map(|percent| percent as f64 / 100.0))
    }

    /// A time in nanoseconds; without a suffix it is in so many.
    pub fn time(&self, name: &str, unit: u64) -> Result<Option<u64>, TraceError> {
        let most = crate::SPAN_LIMIT.0;
        self.parsed(name, "a time such as 500us, 20ms, 60s, 5m or 1h, up to 73 years", |text| {
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

    /// A size, or a percentage of `whole`, if that is known.
    pub fn size_of(&self, name: &str, whole: Option<u64>) -> Result<Option<u64>, TraceError> {
        let wanted = if whole.is_some() { "a size such as 4k or 1g, or a percentage" } else { SIZE };
        self.parsed(name, wanted, |text| match (text.strip_suffix('%'), whole) {
            (Some(percent), Some(whole)) => {
                let percent = percent.parse::<u64>().ok().filter(|percent| *percent <= 100)?;
                Some((u128::from(whole) * u128::from(percent) / 100) as u64)
            }
            _ => self.bytes(text),
        })
    }

    /// Bytes: with `kb_base=1024`, the default, `k` is 1024 and `ki` 1000.
    pub fn bytes(&self, text: &str) -> Option<u64> {
        let is_true = self.get("kb_base").and_then(|setting| setting.value.as_deref()) == Some("1000");
        let (digits, suffix) = split(text);
        let letters = suffix.trim_end_matches('b');
        let (power, has_i) = match letters.strip_suffix('i') {
            Some(letter) => (letter, true),
            None => (letters, false),
        };
        let power = ["", "k", "m", "g", "t", "p"].iter().position(|known| *known == power)? as u32;
        let base: u64 = if is_true == has_i { 1024 } else { 1000 };
        digits.parse::<u64>().ok()?.checked_mul(base.checked_pow(power)?).filter(|bytes| *bytes < 1 << 63)
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

pub(super) const SIZE: &str = "a size such as 4k, 128m or 1g";

/// Digits, and what follows them in small letters.
fn split(text: &str) -> (&str, String) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (&text[..end], text[end..].trim().to_ascii_lowercase())
}
