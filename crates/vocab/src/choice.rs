//! How a scheme is named and configured from outside.

use crate::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::fmt;

/// A scheme by registry name with its options as written (`key = "value"`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeChoice {
    /// Registry name; that of a scheme may have names of additions behind it: `ds-raid+limits`.
    pub name: String,
    /// Options by name; a scheme refuses those it does not know. Those of an addition have its name before them:
    /// `limits.t_read`.
    pub options: BTreeMap<String, String>,
}

impl SchemeChoice {
    /// The scheme called `name` with its default options.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self { name: name.into(), options: BTreeMap::new() }
    }
}

impl fmt::Display for SchemeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.options.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

/// A scheme that cannot be built as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {scheme}, {setting}: {reason}")]
pub struct SchemeError {
    /// Kind of the choice: `scheme`, `ecc`.
    pub kind: &'static str,
    /// The scheme.
    pub scheme: String,
    /// The setting at fault.
    pub setting: String,
    /// The name found, and the valid ones.
    pub reason: String,
}

/// The entry of a registry called `name`.
///
/// # Errors
/// Lists the known entries; `kind` and `noun` say of what.
pub fn find_named<'a, T>(
    kind: &'static str,
    noun: &str,
    entries: &'a [T],
    name_of: impl Fn(&T) -> &'static str,
    name: &str,
) -> Result<&'a T, SchemeError> {
    entries.iter().find(|entry| name_of(entry) == name).ok_or_else(|| {
        let known: Vec<_> = entries.iter().map(&name_of).collect();
        let reason = format!("unknown {noun}; known are {}", known.join(", "));
        SchemeError { kind, scheme: name.into(), setting: "name".into(), reason }
    })
}

/// The options of one scheme with its defaults filled in.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    kind: &'static str,
    scheme: &'a str,
    given: &'a BTreeMap<String, String>,
    known: &'a [(&'a str, &'a str, &'a str)],
}

impl<'a> Options<'a> {
    /// Options `given` to `scheme` (a `kind` of thing), of those it knows: `(name, default, help)`.
    ///
    /// # Errors
    /// Names the first unknown option and lists the known ones.
    pub fn new(
        kind: &'static str,
        scheme: &'a str,
        given: &'a BTreeMap<String, String>,
        known: &'a [(&'a str, &'a str, &'a str)],
    ) -> Result<Self, SchemeError> {
        match given.keys().find(|key| known.iter().all(|(name, ..)| name != key)) {
            None => Ok(Self { kind, scheme, given, known }),
            Some(key) => {
                let names: Vec<_> = known.iter().map(|(name, ..)| *name).collect();
                let list = if names.is_empty() { "it has no options".into() } else { format!("known are {}", names.join(", ")) };
                Err(Self { kind, scheme, given, known }.error(key, format!("unknown option; {list}")))
            }
        }
    }

    /// An error about one setting of this scheme.
    #[must_use]
    pub fn error(&self, setting: &str, reason: String) -> SchemeError {
        SchemeError { kind: self.kind, scheme: self.scheme.into(), setting: setting.into(), reason }
    }

    /// Whether the option was given, be it its default.
    #[must_use]
    pub fn is_given(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// An option as written, or its default.
    pub fn text(&self, name: &str) -> &'a str {
        let default = self.known.iter().find(|(known, ..)| *known == name).expect("a declared option").1;
        self.given.get(name).map_or(default, String::as_str)
    }

    /// A number in a range.
    ///
    /// # Errors
    /// Says what was found and what would be valid.
    pub fn number(&self, name: &str, valid: std::ops::RangeInclusive<u32>) -> Result<u32, SchemeError> {
        let text = self.text(name);
        text.parse()
            .ok()
            .filter(|n| valid.contains(n))
            .ok_or_else(|| self.error(name, format!("found `{text}`, valid are {} to {}", valid.start(), valid.end())))
    }

    /// A real number in a range.
    ///
    /// # Errors
    /// Says what was found and what would be valid.
    pub fn real(&self, name: &str, valid: std::ops::RangeInclusive<f64>) -> Result<f64, SchemeError> {
        let text = self.text(name);
        text.parse()
            .ok()
            .filter(|x| valid.contains(x))
            .ok_or_else(|| self.error(name, format!("found `{text}`, valid are {:?} to {:?}", valid.start(), valid.end())))
    }

    /// A size; `None` for `auto`.
    ///
    /// # Errors
    /// Says what was found and what would be valid.
    pub fn size(&self, name: &str) -> Result<Option<Bytes>, SchemeError> {
        self.parsed(name, "a size such as 512KiB")
    }

    /// A time up to [`Nanos::SETTING_MAX`]; `None` for `auto`.
    ///
    /// # Errors
    /// Says what was found and what would be valid.
    pub fn time(&self, name: &str) -> Result<Option<Nanos>, SchemeError> {
        let wanted = format!("times up to {} such as 381d", Nanos::SETTING_MAX);
        match self.parsed(name, &wanted)? {
            Some(time) if time > Nanos::SETTING_MAX => {
                Err(self.error(name, format!("found `{time}`, valid are `auto` and {wanted}")))
            }
            time => Ok(time),
        }
    }

    fn parsed<T: std::str::FromStr>(&self, name: &str, wanted: &str) -> Result<Option<T>, SchemeError> {
        match self.text(name) {
            "auto" => Ok(None),
            text => match text.parse() {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(self.error(name, format!("found `{text}`, valid are `auto` and {wanted}"))),
            },
        }
    }

    /// Whether the option is this word.
    #[must_use]
    pub fn is(&self, name: &str, word: &str) -> bool {
        self.text(name) == word
    }

    /// A number in a range; `None` for `auto`.
    ///
    /// # Errors
    /// Says what was found and what would be valid.
    pub fn number_or_auto(&self, name: &str, valid: std::ops::RangeInclusive<u32>) -> Result<Option<u32>, SchemeError> {
        if self.text(name) == "auto" { Ok(None) } else { self.number(name, valid).map(Some) }
    }

    /// One of several words; its index.
    ///
    /// # Errors
    /// Says what was found and what would be valid.
    pub fn word(&self, name: &str, words: &[&str]) -> Result<usize, SchemeError> {
        let text = self.text(name);
        words
            .iter()
            .position(|word| *word == text)
            .ok_or_else(|| self.error(name, format!("found `{text}`, valid are {}", words.join(", "))))
    }
}
